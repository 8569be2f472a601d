"""One step ahead: exact for numbers, moment matching for other answers, against refits and brute-force integration."""

from itertools import pairwise

import ahead
import numpy as np
import oracles
import pytest

import gainful as gf
from gainful.acquisition import lookahead
from gainful.acquisition.lookahead import outcome_table, steps
from gainful.information.about import as_reference
from gainful.information.watched import Watched, watch, watch_places

EVERY = {
    "number": gf.Point(0.3),
    "interval": gf.Interval(0.1, 0.6),
    "hard interval": gf.Interval(0.0, 0.5),
    "rank": gf.Ordinal([-0.4, 0.5], 0.1),
    "yes or no": gf.Binary(),
    "careless": gf.Binary(0.2, 0.05),
    "preference": gf.Preference(),
}


def _queries(instrument, count=4, seed=0):
    shape = {"place": (count, 2), "pair": (count, 2, 2), "set": (count, 2, 2)}[instrument.query]
    return np.random.default_rng(seed).uniform(0, 2, shape)


@pytest.mark.parametrize("instrument", [gf.Point(0.3), gf.Point(0.0)], ids=["noisy", "exact"])
def test_a_step_is_the_refit_when_answers_are_numbers(instrument):
    rng = np.random.default_rng(0)
    X, places, reference = (rng.uniform(0, 2, (n, 2)) for n in (12, 3, 9))
    post = gf.GP(gf.SE(0.5, 2.0)).condition(gf.Data().add(gf.Point(0.2), X, rng.normal(size=12)))
    (_, step), *rest = steps(post, instrument, places, watch_places(post, reference))
    assert not rest
    m, v = post.marginals(instrument, places)
    assert step.outcome_table.weight.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    for i, q in [(0, 20), (1, 26), (2, 31)]:
        y = m[i] + step.outcome_table.d1[i, q, 0] * (v[i] + instrument.noise**2)
        found = post.condition(gf.Data().add(instrument, places[[i]], [y]))
        assert step.mean[i, q] == pytest.approx(found.mean(reference), abs=1e-9)
        assert step.variance[i, q] == pytest.approx(found.variance(reference), abs=1e-9)


@pytest.mark.parametrize("instrument", EVERY.values(), ids=EVERY)
def test_a_step_is_one_step_of_moment_matching_by_hand(instrument):
    post, _, reference = ahead.problem(reference=5)
    queries = _queries(instrument, 2)
    ((_, step),) = steps(post, instrument, queries, watch_places(post, reference))
    m, v = post.marginals(instrument, queries)
    for i, query in enumerate(queries):
        if step.outcome_table.values is not None:
            cases = list(enumerate(step.outcome_table.values))
        elif isinstance(instrument, gf.Point):
            cases = [(q, m[i] + step.outcome_table.d1[i, q, 0] * (v[i] + instrument.noise**2)) for q in (10, 30)]
        else:
            nodes = instrument.outcomes(m, v).answers
            cases = [(q, nodes[q, i]) for q in (5, 20, 60)]
        for q, answer in cases:
            wanted = ahead.by_hand(post, instrument, query, answer, reference, digits=True)
            own = 2 if instrument.query == "pair" else 1
            assert step.mean[i, q] == pytest.approx(wanted.mean[:-own], abs=1e-10)
            assert step.variance[i, q] == pytest.approx(np.diagonal(wanted.cov)[:-own], abs=1e-10)
            if step.outcome_table.values is not None:
                assert step.outcome_table.weight[i, q] == pytest.approx(wanted.weight, abs=1e-12)
            row = ahead.row_of(instrument, len(wanted.mean))
            assert step.own[0][i, q] == pytest.approx(row @ wanted.mean, abs=1e-10)
            assert step.own[1][i, q] == pytest.approx(row @ wanted.cov @ row, abs=1e-10)


def test_a_step_of_a_set_has_the_moments_of_brute_force_integration():
    tones, post = gf.Detection(), gf.GP(gf.SE(0.7, 2.0), mean=gf.ConstantMean(0.3)).condition(gf.Data())
    places = np.array([[0.0, 0.0], [0.5, 0.2], [0.3, 0.9]])
    ((_, step),) = steps(post, tones, places[None, :2], watch_places(post, places[2:]))
    for q, answer in enumerate(step.outcome_table.values):
        seen = [oracles.Seen(tones, answer, (0, 1))]
        wanted = oracles.grid_moments(seen, post.mean(places), post.covariance(places), spacing=0.3, reach=7.5)
        assert step.outcome_table.weight[0, q] == pytest.approx(np.exp(wanted.log_z), abs=1e-8)
        assert step.mean[0, q, 0] == pytest.approx(wanted.mean[2], abs=1e-7)
        assert step.variance[0, q, 0] == pytest.approx(wanted.variance[2, 2], abs=1e-7)


@pytest.mark.parametrize("spread", [1e-3, 0.05, 1.0, 30.0])
@pytest.mark.parametrize("instrument", EVERY.values(), ids=EVERY)
def test_answers_sum_to_one_and_keep_the_laws_of_total_expectation_and_variance(instrument, spread):
    m, v = np.array([-0.7, 0.0, 0.45, 2.0]), np.full(4, spread**2)
    found = outcome_table(instrument, m, v)
    d1, d2 = found.d1[..., 0], found.d2[..., 0, 0]
    scale = 1.0 / spread if isinstance(instrument, gf.Interval) else 1.0  # a sharp answer to a vague belief
    assert found.weight.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    assert np.sum(found.weight * d1, axis=1) == pytest.approx(0.0, abs=1e-9 * scale)
    size = np.sum(found.weight * d1**2, axis=1)
    assert size == pytest.approx(-np.sum(found.weight * d2, axis=1), rel=1e-7, abs=1e-9)
    assert found.shrink == pytest.approx(1.0 + v[:, None] * d2, abs=1e-9)


def test_interval_answers_are_integrated_over_their_lower_ends():
    instrument, m, v = gf.Interval(0.1, 0.6), np.array([0.2]), np.array([0.5])
    found = outcome_table(instrument, m, v)
    s = np.sqrt(v[0] + 0.01)
    edges = np.linspace(-0.6 - 9 * s, 9 * s, 41) + m[0]
    x, w = np.polynomial.legendre.leggauss(30)
    total = 0.0
    for a, b in pairwise(edges):
        low = 0.5 * (a + b) + 0.5 * (b - a) * x
        p = instrument.log_partition(np.column_stack([low, low + 0.6]), np.full(30, m[0]), np.full(30, v[0]))
        total += 0.5 * (b - a) * np.sum(w * np.exp(p.log_z) / 0.6 * np.cos(p.d1))
    assert np.sum(found.weight * np.cos(found.d1[..., 0])) == pytest.approx(total, abs=1e-9)


def test_what_is_watched_may_be_differences():
    post, _, _ = ahead.problem()
    pairs, query = _queries(gf.Preference(), 5, seed=1), np.array([[0.4, 1.2]])
    ((_, step),) = steps(post, gf.Binary(), query, watch(post, gf.Preference(), pairs))
    ((_, flat),) = steps(post, gf.Binary(), query, watch_places(post, pairs.reshape(-1, 2)))
    assert step.mean[0] == pytest.approx(flat.mean[0, :, 0::2] - flat.mean[0, :, 1::2], abs=1e-12)
    for q, answer in enumerate((0.0, 1.0)):
        cov = ahead.by_hand(post, gf.Binary(), query[0], answer, pairs.reshape(-1, 2)).cov[:-1, :-1]
        wanted = np.diagonal(cov)[0::2] + np.diagonal(cov)[1::2] - 2 * np.diagonal(cov, 1)[0::2]
        assert step.variance[0, q] == pytest.approx(wanted, abs=1e-10)


@pytest.mark.parametrize("instrument", [gf.Binary(), gf.Interval(0.1, 0.6), gf.Detection()])
def test_chunks_change_nothing(instrument, monkeypatch):
    post, _, reference = ahead.problem()
    queries = _queries(instrument, 7)
    watched = watch_places(post, reference)

    def everything():
        found = list(steps(post, instrument, queries, watched))
        assert [i for part, _ in found for i in range(part.start, part.stop)] == list(range(7))
        return [np.concatenate([getattr(step, name) for _, step in found]) for name in ("mean", "variance")]

    whole = everything()
    monkeypatch.setattr(lookahead, "_SOME", 1)
    monkeypatch.setattr(lookahead, "_MANY", 3 * len(reference))
    for a, b in zip(whole, everything(), strict=True):
        assert a == pytest.approx(b, abs=1e-12)


@pytest.mark.parametrize("instrument", [gf.Point(0.0), gf.Interval(0.0, 0.5), gf.Ordinal([0.0], 0.0), gf.Binary()])
def test_a_place_that_is_known_exactly_has_nothing_to_tell(instrument):
    post = gf.GP(gf.SE(0.5)).condition(gf.Data().add(gf.Point(0.0), [[0.0], [1.0]], [0.3, -0.2]))
    ((_, step),) = steps(post, instrument, [[0.0], [0.5]], watch_places(post, [[0.0], [0.4]]))
    assert np.isfinite(step.mean).all()
    assert np.isfinite(step.variance).all()
    assert step.mean[0] == pytest.approx(np.broadcast_to(post.mean([[0.0], [0.4]]), step.mean[0].shape), abs=1e-12)
    assert np.all(step.variance[1, :, 1] < post.variance([[0.4]])) or isinstance(instrument, gf.Interval)


def test_nothing_to_watch_and_nothing_to_ask_are_fine():
    post, places, reference = ahead.problem()
    nothing = Watched(np.zeros((0, 2)), np.zeros(0), np.zeros(0))
    ((_, step),) = steps(post, gf.Binary(), places, nothing)
    assert step.mean.shape == (len(places), 2, 0)
    assert not list(steps(post, gf.Binary(), places[:0], watch_places(post, reference)))


def test_references_are_checked():
    for wrong in ([], [0.0, 1.0], [[np.nan]], "here", [[[0.0], [1.0], [2.0]]]):
        with pytest.raises(gf.InvalidInput, match="reference"):
            as_reference(wrong)
    post, places, _ = ahead.problem()
    with pytest.raises(gf.InvalidInput, match="reference"):
        watch(post, gf.Preference(), places)
    with pytest.raises(gf.InvalidInput, match="reference"):
        watch(post, gf.Detection(), places[None, :2])
