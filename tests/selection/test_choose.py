"""Choosing: the best of a pool, the top of a hill, and the gradient that leads there."""

import numpy as np
import pytest

import gainful as gf
from gainful.acquisition import score_and_gradient
from gainful.inference.fantasy import fantasize
from gainful.inference.predicting import Predictor
from gainful.information.gradient import information_and_gradient
from gainful.selection import Option, choose
from gainful.selection.choose import candidates
from gainful.selection.stream import threshold

BOX = gf.Space(gf.Real("a", 0, 1), gf.Real("b", -3, 3))


def mixed_posterior(rng):
    X = rng.uniform([0, -3], [1, 3], (9, 2))
    data = (
        gf.Data()
        .add(gf.Point(0.1), X[:5], rng.normal(size=5))
        .add(gf.Binary(), X[5:], [True, False, True, True])
        .add(gf.Preference(0.3), rng.uniform(0, 1, (2, 2, 2)), [True, False])
    )
    return gf.GP(gf.SE([0.4, 1.5]) + 0.2 * gf.Linear(), gf.LinearMean([0.3, 0.1])).condition(data)


INSTRUMENTS = [
    gf.Point(0.1),
    gf.Interval(0.1, width=0.6),
    gf.Ordinal([-0.4, 0.5], 0.1),
    gf.Ordinal([-0.4, 0.5], 2.0),
    gf.Binary(0.1, 0.05),
    gf.Preference(0.5),
    gf.Detection(),
]


@pytest.mark.parametrize("instrument", INSTRUMENTS, ids=str)
def test_the_gradient_of_information_is_its_derivative_in_the_places(instrument):
    rng = np.random.default_rng(0)
    post = mixed_posterior(rng)
    shape = (3, 2) if instrument.query == "place" else (3, 2, 2)
    X = rng.uniform(0, 1, shape)
    bits, slope = information_and_gradient(post, instrument, X)
    np.testing.assert_allclose(bits, gf.information(post, instrument, X), rtol=0, atol=1e-12)
    h = 1e-4
    for i in np.ndindex(*shape[1:]):
        step = np.zeros(shape)
        step[(slice(None), *i)] = h
        by_difference = (gf.information(post, instrument, X + step) - gf.information(post, instrument, X - step)) / (
            2 * h
        )
        np.testing.assert_allclose(slope[(slice(None), *i)], by_difference, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("instrument", [gf.Point(0.1), gf.Preference(0.5), gf.Detection()], ids=str)
@pytest.mark.parametrize("known", [True, False])
def test_the_pullback_of_a_posterior_is_exact(instrument, known):
    rng = np.random.default_rng(1)
    post = mixed_posterior(rng)
    post = post if known else gf.GP(post.kernel, post.prior_mean).condition(gf.Data())
    shape = {"place": (3, 2), "pair": (3, 2, 2), "set": (3, 3, 2)}[instrument.query]
    X = rng.uniform(0, 1, shape)
    m, v = post.marginals(instrument, X)
    a, b = rng.normal(size=m.shape), rng.normal(size=v.shape)
    b = b + np.swapaxes(b, 1, 2) if b.ndim == 3 else b

    def value(places):
        mean, cov = post.marginals(instrument, places)
        return float(np.sum(a * mean) + np.sum(b * cov))

    look = post.vjp(instrument, X)
    np.testing.assert_allclose(look.mean, m, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(look.variance, v, rtol=1e-9, atol=1e-12)
    exact = look.back(a, b)
    for i in np.ndindex(*shape):
        step = np.zeros(shape)
        step[i] = 1e-5
        assert exact[i] == pytest.approx((value(X + step) - value(X - step)) / 2e-5, rel=1e-6, abs=1e-7)


def test_wrappers_scale_the_gradient_and_other_goals_have_none():
    post = mixed_posterior(np.random.default_rng(2))
    X, lab = np.array([[0.3, 0.2]]), gf.Point(0.1, cost=4.0)
    plain = score_and_gradient(gf.Learn(), post, lab, X)
    dear = score_and_gradient(gf.PerCost(gf.Learn()), post, lab, X)
    share = score_and_gradient(gf.Normalised(gf.Learn()), post, lab, X)
    np.testing.assert_allclose(plain[1] / 4.0, dear[1])
    np.testing.assert_allclose(plain[1] / np.log2(100), share[1])

    class Flat:
        def score(self, belief, instrument, places):
            return np.zeros(len(places))

    assert score_and_gradient(Flat(), post, lab, X) is None
    assert score_and_gradient(gf.PerCost(Flat()), post, lab, X) is None


@pytest.mark.parametrize("instrument", INSTRUMENTS[:5], ids=str)
def test_climbing_reaches_the_best_of_a_dense_grid(instrument):
    rng = np.random.default_rng(3)
    post = mixed_posterior(rng)
    dense = gf.information(post, instrument, BOX.grid([81, 121])).max()
    found = choose(gf.Learn(), post, [Option(instrument, BOX)], rng, search=gf.Search(200, 4))
    assert found.score >= dense - 1e-4
    assert BOX.contains(found.query.place[None])[0]
    assert found.score == pytest.approx(gf.information(post, instrument, found.query.place[None])[0], abs=1e-9)


def test_climbing_stays_where_a_constraint_holds():
    rng = np.random.default_rng(4)
    post = mixed_posterior(rng)

    def ring(X):
        return np.hypot(X[:, 0] - 0.5, X[:, 1] / 6) < 0.3

    part = BOX.where(ring).where(gf.Within(b=(None, 1.0)))
    dense = BOX.grid([81, 121])
    dense = dense[part.contains(dense)]
    found = choose(gf.Learn(), post, [Option(gf.Point(0.1), part)], rng, search=gf.Search(300, 4))
    assert part.contains(found.query.place[None])[0]
    assert found.score >= gf.information(post, gf.Point(0.1), dense).max() - 0.02


def test_a_goal_without_a_gradient_is_climbed_by_differences():
    class Hill:
        def score(self, belief, instrument, places):
            return -np.sum((places - [0.31, 1.7]) ** 2, axis=1)

    post = mixed_posterior(np.random.default_rng(5))
    found = choose(Hill(), post, [Option(gf.Point(0.1), BOX)], np.random.default_rng(0), search=gf.Search(50, 2))
    np.testing.assert_allclose(found.query.place, [0.31, 1.7], atol=1e-4)


def test_among_readings_without_noise_the_least_certain_place_wins():
    post = gf.GP(gf.SE(0.3)).condition(gf.Data().add(gf.Point(0.0), [[0.0]], [1.0]))
    pool = gf.Pool(np.linspace(0, 1, 11)[:, None])
    found = choose(gf.Learn(), post, [Option(gf.Point(0.0), pool)], np.random.default_rng(0))
    assert found.query.place[0] == 1.0


def test_random_choices_are_uniform_over_instruments_and_places():
    rng = np.random.default_rng(6)
    post = gf.GP(gf.SE()).condition(gf.Data())
    pool = gf.Pool([[0.0], [1.0], [2.0]])
    options = [Option(gf.Point(0.1, name="a"), pool), Option(gf.Binary(name="b"), pool)]
    counts = {}
    for _ in range(1200):
        query = choose(gf.Random(), post, options, rng).query
        key = query.instrument.label, float(query.place[0])
        counts[key] = counts.get(key, 0) + 1
    assert len(counts) == 6
    assert all(140 < n < 265 for n in counts.values())  # 200 ± 5 standard deviations
    box = np.array(
        [choose(gf.Random(), post, [Option(options[0].instrument, BOX)], rng).query.place for _ in range(900)]
    )
    np.testing.assert_allclose(box.mean(axis=0), [0.5, 0.0], atol=0.25)
    assert np.abs(np.corrcoef(box[:-1, 0], box[1:, 0])[0, 1]) < 0.15


def test_random_type_is_best_at_its_place():
    rng = np.random.default_rng(7)
    post = mixed_posterior(rng)
    pool = gf.Pool(BOX.candidates(60, 0))
    options = [Option(gf.Point(0.1), pool), Option(gf.Binary(), pool)]
    for _ in range(5):
        found = choose(gf.RandomType(gf.Learn()), post, options, rng)
        assert found.score == gf.information(post, found.query.instrument, pool.places).max()


def test_instruments_at_the_same_places_share_one_prediction(monkeypatch):
    post = mixed_posterior(np.random.default_rng(8))
    calls = []
    original = Predictor.cross
    monkeypatch.setattr(Predictor, "cross", lambda self, places: calls.append(len(places)) or original(self, places))
    pool = gf.Pool(BOX.candidates(60, 0))
    choose(gf.Learn(), post, [Option(i, pool) for i in INSTRUMENTS[:5]], np.random.default_rng(0))
    assert calls == [60]


def test_an_acquisition_of_ones_own_may_take_the_places_for_an_array():
    class Own:
        def score(self, belief, instrument, places):
            x, y = places[:, 0], places.T[1]
            near = np.exp(-np.sum((places - [0.3, 1.0]) ** 2, axis=1))
            assert len(places) == places.shape[0] == sum(1 for _ in places)
            return near + 1e-9 * (np.sin(places).sum(axis=1) + x * y) + 0.0 * belief.mean(places)

    post = mixed_posterior(np.random.default_rng(9))
    found = choose(Own(), post, [Option(gf.Point(0.1), BOX)], np.random.default_rng(0))
    assert found.query.place == pytest.approx([0.3, 1.0], abs=1e-3)


def test_what_is_predicted_follows_the_array_that_is_asked_about():
    post = mixed_posterior(np.random.default_rng(9))
    lab = gf.Point(0.1)
    X = BOX.candidates(5, 0)
    X.flags.writeable = False
    first = post.marginals(lab, X)[0]
    view = X[:]
    Y = BOX.candidates(5, 1)
    Y.flags.writeable = False
    assert not np.allclose(post.marginals(lab, Y)[0], first)
    np.testing.assert_array_equal(post.marginals(lab, view)[0], first)
    writable = X.copy()
    before = post.marginals(lab, writable)[0]
    writable += 0.1
    assert not np.allclose(post.marginals(lab, writable)[0], before)


def test_all_pairs_of_a_small_pool_are_candidates():
    pool = gf.Pool(np.arange(5.0)[:, None])
    pairs = candidates(Option(gf.Preference(), pool), np.random.default_rng(0), gf.Search())
    assert pairs.shape == (10, 2, 1)
    assert len({tuple(p.ravel()) for p in pairs}) == 10
    assert not np.any(pairs[:, 0] == pairs[:, 1])
    alone = candidates(Option(gf.Preference(), gf.Pool([[1.0]])), np.random.default_rng(0), gf.Search())
    assert len(alone) == 0


def test_nowhere_to_measure_is_none_and_scores_that_are_no_numbers_are_refused():
    post = gf.GP(gf.SE()).condition(gf.Data())
    nowhere = gf.Pool([[0.0]]).where(lambda X: np.zeros(len(X), dtype=bool))
    assert choose(gf.Learn(), post, [Option(gf.Point(0.1), nowhere)], np.random.default_rng(0)) is None
    assert choose(gf.Random(), post, [Option(gf.Point(0.1), nowhere)], np.random.default_rng(0)) is None
    assert choose(gf.Random(), post, [], np.random.default_rng(0)) is None

    class Broken:
        def score(self, belief, instrument, places):
            return np.full(len(places), np.nan)

    with pytest.raises(gf.InvalidInput, match="goal"):
        choose(Broken(), post, [Option(gf.Point(0.1), gf.Pool([[0.0]]))], np.random.default_rng(0))


def test_the_threshold_lets_through_the_share_asked_for():
    scores = np.random.default_rng(0).normal(size=10_000)
    for share in (0.05, 0.3, 0.9):
        assert np.mean(scores >= threshold(scores, share)) == pytest.approx(share, abs=1e-3)
    assert threshold(scores, 0.0) == np.inf


@pytest.mark.parametrize("wrong", [{"rate": 0.1, "length": 5}, {}, {"rate": 1.5}, {"length": 0}], ids=str)
def test_a_stream_needs_one_sensible_rule(wrong):
    with pytest.raises(gf.InvalidInput):
        gf.Stream(BOX, **wrong)


@pytest.mark.parametrize("wrong", [{"candidates": 0}, {"climbers": -1}, {"set_size": 1.5}], ids=str)
def test_a_search_needs_whole_numbers(wrong):
    with pytest.raises(gf.InvalidInput):
        gf.Search(**wrong)


def test_counting_on_numbers_that_are_on_their_way_is_exact():
    post = mixed_posterior(np.random.default_rng(10))
    lab, X = gf.Point(0.3), BOX.candidates(7, 0)
    pending = [gf.Query(lab, x) for x in X[:3]]
    C, cross = post.covariance(X[:3]), post.covariance(X[:3], X)
    by_hand = post.variance(X) - np.einsum("im,im->m", cross, np.linalg.solve(C + 0.09 * np.eye(3), cross))
    hoped = fantasize(post, pending)
    np.testing.assert_allclose(hoped.variance(X), by_hand, rtol=1e-8)
    np.testing.assert_allclose(hoped.mean(X), post.mean(X), atol=1e-10)
    bits = gf.information(post, lab, X, pending=pending)
    np.testing.assert_allclose(bits, gf.information(hoped, lab, X), rtol=1e-7)


def test_counting_on_other_answers_leaves_the_mean_and_lowers_the_variance_where_they_are():
    post = mixed_posterior(np.random.default_rng(11))
    pending = [gf.Query(gf.Binary(), [0.2, 0.3]), gf.Query(gf.Ordinal([0.0], 0.1), [0.8, -2.0])]
    pending += [gf.Query(gf.Preference(), [[0.1, 0.1], [0.2, 0.2]])]
    here = np.array([q.place for q in pending[:2]])
    hoped = fantasize(post, pending)
    np.testing.assert_allclose(hoped.mean(here), post.mean(here), atol=1e-10)
    assert np.all(hoped.variance(here) < post.variance(here))
    pair = pending[2].place[None]
    before, after = (belief.marginals(gf.Preference(), pair) for belief in (post, hoped))
    assert after[0] == pytest.approx(before[0], abs=1e-10)
    assert after[1] < before[1]


def test_with_queries_pending_the_place_is_still_the_best_of_a_dense_grid():
    rng = np.random.default_rng(12)
    post = mixed_posterior(rng)
    look = gf.Ordinal([-0.4, 0.5], 0.3)
    pending = [gf.Query(look, [0.9, -2.5]), gf.Query(gf.Binary(), [0.1, 2.0])]
    found = choose(gf.Learn(), post, [Option(look, BOX)], rng, pending=pending, search=gf.Search(300, 4))
    dense = BOX.grid([15, 25])
    assert found.score >= gf.information(post, look, dense, pending=pending).max() - 0.01
