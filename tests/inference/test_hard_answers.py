"""Answers without noise: several about one value are their intersection, and what is known is not scored again."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import gainful as gf
from tests import oracles

SIGN = gf.Ordinal([0.0], noise=0.0)
GP = gf.GP(gf.SE(0.3, 1.3), gf.ConstantMean(0.2))


def truncated(low: float, high: float, m: float, v: float) -> tuple[float, float, float]:
    """log Z, mean and variance of N(m, v) restricted to an interval."""
    s = np.sqrt(v)
    inside = stats.truncnorm((low - m) / s, (high - m) / s, loc=m, scale=s)
    return float(np.log(stats.norm.cdf(high, m, s) - stats.norm.cdf(low, m, s))), inside.mean(), inside.var()


@pytest.mark.parametrize("count", [1, 2, 30])
def test_equal_hard_answers_at_one_place_are_one(count: int) -> None:
    post = GP.condition(gf.Data().add(SIGN, np.full((count, 1), 0.3), [2] * count))
    log_z, mean, variance = truncated(0.0, 50.0, 0.2, 1.3)
    assert post.converged
    assert post.log_evidence == pytest.approx(log_z, abs=1e-9)
    assert post.mean([[0.3]])[0] == pytest.approx(mean, abs=1e-9)
    assert post.variance([[0.3]])[0] == pytest.approx(variance, abs=1e-9)


def test_hard_answers_of_different_instruments_at_one_place_are_their_intersection() -> None:
    data = (
        gf.Data()
        .add(gf.Ordinal([-1.0, 0.0, 1.0], noise=0.0), [[0.3], [0.3]], [3, 3])
        .add(gf.Interval(noise=0.0), [[0.3], [0.3]], [[0.25, 4.0], [-3.0, 0.9]])
        .add(SIGN, [[0.3]], [2])
    )
    post = GP.condition(data)
    log_z, mean, variance = truncated(0.25, 0.9, 0.2, 1.3)
    assert post.log_evidence == pytest.approx(log_z, abs=1e-9)
    assert post.mean([[0.3]])[0] == pytest.approx(mean, abs=1e-9)
    assert post.variance([[0.3]])[0] == pytest.approx(variance, abs=1e-9)


def test_hard_preferences_count_once_whichever_way_round_they_are_asked() -> None:
    choice = gf.Preference(noise=0.0)
    pairs = [[[0.0], [0.4]], [[0.4], [0.0]], [[0.0], [0.4]]]
    post = gf.GP(gf.SE(0.3)).condition(gf.Data().add(choice, pairs, [True, False, True]))
    assert post.log_evidence == pytest.approx(np.log(0.5), abs=1e-12)


def test_noisy_answers_are_not_intersected() -> None:
    noisy = gf.Ordinal([0.0], noise=0.5)
    data = gf.Data().add(noisy, [[0.3]] * 3, [2, 2, 2])
    assert len(data.layout.terms[0].rows) == 3


def test_adding_and_removing_hard_answers_is_conditioning_at_once() -> None:
    rng = np.random.default_rng(3)
    rank = gf.Ordinal([-0.6, 0.4], noise=0.0)
    places = np.array([[0.1], [0.5], [0.9]])
    for _ in range(20):
        f = rng.normal(size=3)
        picked = rng.integers(0, 3, size=8)
        answers = 1 + (f[picked] > -0.6) + (f[picked] > 0.4)
        wide = np.column_stack([f[picked] - rng.uniform(0.1, 1.0, 8), f[picked] + rng.uniform(0.1, 1.0, 8)])
        data = gf.Data().add(rank, places[picked], answers).add(gf.Interval(noise=0.0), places[picked], wide)
        at_once = GP.condition(data)
        step = GP.condition(gf.Data().add(rank, places[picked], answers))
        step = step.condition(gf.Data().add(gf.Interval(noise=0.0), places[picked], wide))
        assert step.log_evidence == pytest.approx(at_once.log_evidence, abs=1e-7)
        gone = [0, 3, 9]
        fewer, anew = at_once.without(gone), GP.condition(data.without(gone))
        assert fewer.log_evidence == pytest.approx(anew.log_evidence, abs=1e-7)
        assert np.allclose(fewer.mean(places), anew.mean(places), atol=1e-7)


def test_hard_answers_that_contradict_say_so() -> None:
    with pytest.raises(gf.NumericalError, match="contradict each other"):
        GP.condition(gf.Data().add(SIGN, [[0.3], [0.3]], [1, 2]))


def test_evidence_gradient_in_thresholds_whose_windows_are_intersected() -> None:
    rank = gf.Ordinal([-0.5, 0.5], noise=0.0)
    data = gf.Data().add(rank, [[0.3], [0.3], [0.7]], [2, 2, 3]).add(gf.Interval(noise=0.0), [[0.3]], [[0.0, 2.0]])
    from gainful.inference.evidence import evidence_and_gradient, log_evidence

    found = evidence_and_gradient(GP.mean, GP.kernel, data, gf.EP())
    own = dict(zip(data.instruments, found.instruments, strict=True))[rank]

    def at(theta: np.ndarray) -> float:
        return log_evidence(GP.mean, GP.kernel, data.with_instruments({rank: rank.with_theta(theta)}), gf.EP())

    assert np.allclose(own, oracles.gradient(at, np.asarray(rank.theta), step=1e-3), atol=1e-5)


def test_a_noise_free_query_already_answered_tells_nothing() -> None:
    rank = gf.Ordinal([-1.0, 0.0, 1.0], noise=0.0)
    post = GP.condition(gf.Data().add(rank, [[0.1], [0.2], [0.5]], [3, 3, 2]))
    again = gf.information(post, rank, [[0.1], [0.2], [0.5], [0.6]])
    assert again[:3].tolist() == [0.0, 0.0, 0.0]
    assert again[3] > 0.1
    assert gf.information(post, SIGN, [[0.1], [0.5]]).tolist() == [0.0, 0.0]  # follows from the rank
    assert gf.information(post, rank, [[0.1]], about=gf.Region([[0.3]])).tolist() == [0.0]
    assert gf.information(post, rank, [[0.1]], pending=[gf.Query(rank, [0.6])]).tolist() == [0.0]
    assert gf.information(gf.Belief([post, post]), rank, [[0.1]]).tolist() == [0.0]
    assert gf.joint_information(post, [gf.Query(rank, [0.1]), gf.Query(SIGN, [0.5])]) == 0.0
    known, new = gf.Query(rank, [0.1]), gf.Query(rank, [0.6])
    assert gf.joint_information(post, [known, new]) == pytest.approx(gf.joint_information(post, [new]), abs=1e-12)
    beyond = gf.information(post, rank, [[0.7]], pending=[known])
    assert beyond[0] == pytest.approx(gf.information(post, rank, [[0.7]])[0], abs=1e-9)
    choice = gf.Preference(noise=0.0)
    told = gf.GP(gf.SE(0.3)).condition(gf.Data().add(choice, [[[0.1], [0.5]]], [True]))
    assert gf.information(told, choice, [[[0.1], [0.5]], [[0.5], [0.1]]]).tolist() == [0.0, 0.0]


def test_a_finer_rank_of_a_known_window_tells_its_entropy_there() -> None:
    coarse, fine = gf.Ordinal([-1.0, 0.0, 1.0], noise=0.0), gf.Ordinal([-0.5, 0.3, 0.6], noise=0.0)
    post = GP.condition(gf.Data().add(coarse, [[0.1]], [3]))
    inside = stats.truncnorm(*((np.array([0.0, 1.0]) - 0.2) / np.sqrt(1.3)), loc=0.2, scale=np.sqrt(1.3))
    p = np.diff(inside.cdf([0.0, 0.3, 0.6, 1.0]))
    assert gf.information(post, fine, [[0.1]])[0] == pytest.approx(-np.sum(p * np.log2(p)), abs=1e-9)


def test_a_campaign_does_not_spend_on_what_noise_free_ranks_have_told() -> None:
    rank = gf.Ordinal([-0.5, 0.5], noise=0.0)
    pool = gf.Pool(np.linspace(0.0, 1.0, 30)[:, None])
    campaign = gf.Campaign(pool, [rank, gf.Ordinal([0.0], noise=0.0, name="sign")], gf.GP(gf.SE(0.2)), seed=1)
    asked = set()
    for _ in range(20):
        query = campaign.ask()
        assert query is not None
        assert (query.instrument.label, query.place[0]) not in asked
        asked.add((query.instrument.label, query.place[0]))
        g = np.sin(6.0 * query.place[0])
        campaign.tell(query, int(1 + np.sum(g > np.asarray(query.instrument.thresholds))))
