"""Which of two places is better: only the difference of f is seen, and saying it the other way round says the same."""

from __future__ import annotations

import numpy as np
import oracles
import pytest
from oracles import Seen

import gainful as gf

RNG = np.random.default_rng(8)
PAIRS = RNG.uniform(-2.0, 2.0, size=(6, 2, 2))
ANSWERS = np.array([True, False, True, True, False, True])
X_NEW = RNG.uniform(-3.0, 3.0, size=(9, 2))
GP = gf.GP(gf.SE(0.9, 2.0), mean=gf.LinearMean((0.3, -0.2), 1.0))


@pytest.mark.parametrize("inference", [gf.EP(), gf.Laplace()], ids=["EP", "Laplace"])
def test_preferring_u_to_v_is_not_preferring_v_to_u(inference: object) -> None:
    rank = gf.Preference(noise=0.3)
    forth = GP.condition(gf.Data().add(rank, PAIRS, ANSWERS), inference)
    back = GP.condition(gf.Data().add(rank, PAIRS[:, ::-1], ~ANSWERS), inference)
    assert forth.log_evidence == pytest.approx(back.log_evidence, rel=1e-12)
    np.testing.assert_allclose(forth.mean(X_NEW), back.mean(X_NEW), rtol=1e-12)
    np.testing.assert_allclose(forth.covariance(X_NEW), back.covariance(X_NEW), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("inference", [gf.EP(), gf.Laplace()], ids=["EP", "Laplace"])
def test_opposite_preferences_give_opposite_means(inference: object) -> None:
    gp, rank = gf.GP(gf.SE(0.9, 2.0)), gf.Preference()
    forth = gp.condition(gf.Data().add(rank, PAIRS, [True] * 6), inference)
    back = gp.condition(gf.Data().add(rank, PAIRS[:, ::-1], [True] * 6), inference)
    assert forth.log_evidence == pytest.approx(back.log_evidence, rel=1e-12)
    np.testing.assert_allclose(forth.mean(X_NEW), -back.mean(X_NEW), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(forth.variance(X_NEW), back.variance(X_NEW), rtol=1e-12)


def test_preferences_do_not_move_an_unknown_offset() -> None:
    """f + c is as good as f: the average over u and v of one pair keeps its prior mean and variance."""
    pair = PAIRS[0]
    gp = gf.GP(gf.SE(0.9, 2.0) + gf.Constant(100.0), mean=gf.ConstantMean(5.0))
    prior, post = gp.condition(gf.Data()), gp.condition(gf.Data().add(gf.Preference(), pair[None], [True]))
    assert post.mean(pair).mean() == pytest.approx(5.0, rel=1e-12)
    assert post.covariance(pair).sum() == pytest.approx(prior.covariance(pair).sum(), rel=1e-12)
    assert post.mean(pair)[0] > 5.0 > post.mean(pair)[1]


def test_the_default_noise_makes_a_preference_a_probit_of_the_difference() -> None:
    pair = PAIRS[:1]
    post = GP.condition(gf.Data().add(gf.Point(noise=0.5), X_NEW[:3], [0.1, 0.5, -0.3]))
    C, m = post.covariance(pair[0]), post.mean(pair[0])
    variance = C[0, 0] + C[1, 1] - 2.0 * C[0, 1]
    p = post.answers(gf.Preference(), pair).probability[0]
    z = oracles.line_moments(gf.Binary(), True, m[0] - m[1], variance).log_z
    assert np.log(p) == pytest.approx(float(z), rel=1e-10)


def test_a_preference_between_a_place_and_itself_teaches_nothing() -> None:
    """P(True) = 1/2 whatever f is."""
    same = np.repeat(PAIRS[:1, :1], 2, axis=1)
    before = GP.condition(gf.Data().add(gf.Point(noise=0.5), X_NEW[:2], [0.1, 0.5]))
    for answer in (True, False):
        after = before.condition(gf.Data().add(gf.Preference(), same, [answer]))
        assert after.converged
        assert after.log_evidence == pytest.approx(before.log_evidence + np.log(0.5), rel=1e-12)
        np.testing.assert_allclose(after.mean(X_NEW), before.mean(X_NEW), rtol=1e-12)
        np.testing.assert_allclose(after.variance(X_NEW), before.variance(X_NEW), rtol=1e-12)
    assert before.answers(gf.Preference(), same).probability[0] == pytest.approx(0.5, abs=1e-12)


def test_two_preferences_that_share_a_place_are_not_independent() -> None:
    """u over v and v over w, against integration over (f(u), f(v), f(w)); EP's own gap here is 6e-4 in evidence."""
    places = np.array([[0.0], [0.7], [1.5]])
    kernel, rank = gf.SE(1.0, 1.0), gf.Preference(noise=0.5)
    seen = [Seen(rank, True, (0, 1)), Seen(rank, True, (1, 2))]
    wanted = oracles.grid_moments(seen, np.zeros(3), kernel(places))
    data = gf.Data().add(rank, places[[[0, 1], [1, 2]]], [True, True])
    post = gf.GP(kernel).condition(data)
    assert abs(post.log_evidence - wanted.log_z) < 1.2e-3
    np.testing.assert_allclose(post.mean(places), wanted.mean, atol=2e-3)
    np.testing.assert_allclose(post.covariance(places), wanted.variance, atol=2e-3)
    textbook = oracles.textbook_ep(seen, np.zeros(3), kernel(places))
    assert post.log_evidence == pytest.approx(textbook.log_z, rel=1e-9)
    np.testing.assert_allclose(post.mean(places), textbook.mean, atol=1e-9)
    np.testing.assert_allclose(post.covariance(places), textbook.variance, atol=1e-9)
