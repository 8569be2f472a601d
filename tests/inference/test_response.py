"""Spreads by linear response: the derivative of EP's means, exact where EP is and nearer the truth where it is not."""

from __future__ import annotations

import numpy as np
import pytest

import gainful as gf
from gainful.inference.fantasy import fantasize

SIGN = gf.Ordinal([0.0], noise=0.0)
Z = np.array([[0.05], [0.33], [0.71], [1.4]])


def signs(count: int = 25, seed: int = 0) -> tuple[gf.GP, gf.Data]:
    rng = np.random.default_rng(seed)
    X = rng.random((count, 1))
    return gf.GP(gf.SE(0.2), gf.ConstantMean(0.1)), gf.Data().add(SIGN, X, 1 + (np.sin(7.0 * X[:, 0]) > 0.0))


def hard_mixture() -> tuple[gf.GP, gf.Data]:
    gp, data = signs(15)
    pairs = np.random.default_rng(1).random((10, 2, 1))
    better = np.sin(7.0 * pairs[:, 0, 0]) > np.sin(7.0 * pairs[:, 1, 0])
    return gp, data.add(gf.Preference(noise=0.0), pairs, better).add(gf.Point(0.2), [[0.5], [0.9]], [-0.3, 0.1])


def wide_yes_no() -> tuple[gf.GP, gf.Data]:
    rng = np.random.default_rng(2)
    X = rng.random((30, 1))
    return gf.GP(gf.SE(0.2, 100.0)), gf.Data().add(gf.Binary(), X, np.sin(7.0 * X[:, 0]) > 0.0)


def by_differences(gp: gf.GP, data: gf.Data, x: np.ndarray) -> np.ndarray:
    """d E[f(Z)]/dh when the prior mean is shifted by h k(·, x): EP anew on both sides."""
    layout, kernel, h = data.layout, gp.kernel, 1e-4 / np.sqrt(gp.kernel.diag(x[None])[0])
    cov = layout.covariance(kernel(layout.places, layout.places))
    mean, shift = layout.pick(gp.mean(layout.places)), layout.pick(kernel(layout.places, x[None]))[:, 0]
    up, down = (gf.EP().solve(layout, mean + step * shift, cov).state.alpha for step in (h, -h))
    moved = layout.pick(kernel(layout.places, Z)).T @ (up - down) / (2.0 * h)
    return kernel(Z, x[None])[:, 0] + moved


@pytest.mark.parametrize("problem", [signs, hard_mixture, wide_yes_no])
def test_response_is_the_derivative_of_the_means(problem) -> None:  # type: ignore[no-untyped-def]
    gp, data = problem()
    post = gp.condition(data)
    assert post.response is not None
    found = post.covariance(Z)
    right = np.column_stack([by_differences(gp, data, x) for x in Z])
    scale = np.sqrt(np.outer(np.diagonal(right), np.diagonal(right)))
    assert np.max(np.abs(found - right) / scale) < 1e-5
    assert np.allclose(post.variance(Z), np.diagonal(found), rtol=1e-9)
    assert np.allclose(post.predict(Z).variance, np.diagonal(found), rtol=1e-9)
    assert np.array_equal(post.mean(Z), gp.condition(data, inference=gf.EP(response=False)).mean(Z))


@pytest.mark.parametrize("problem", [signs, wide_yes_no])
def test_response_is_nearer_to_the_exact_spreads(problem) -> None:  # type: ignore[no-untyped-def]
    gp, data = problem()
    plain, post = gp.condition(data, inference=gf.EP(response=False)), gp.condition(data)
    exact = gp.condition(data, inference=gf.Sampled(3000)).variance(Z[:3])
    off_plain, off = (np.abs(np.log(each.variance(Z[:3]) / exact)) for each in (plain, post))
    assert off.mean() < 0.5 * off_plain.mean()
    assert np.all(plain.variance(Z[:3]) < 0.9 * exact)


def test_spreads_are_ep_s_own_where_it_has_little_to_correct() -> None:
    X = np.random.default_rng(0).random((30, 1))
    data = gf.Data().add(gf.Binary(), X, X[:, 0] > 0.4)
    post = gf.GP(gf.SE(0.3)).condition(data)
    assert post.response is None
    assert np.array_equal(
        post.variance(Z), gf.GP(gf.SE(0.3)).condition(data, inference=gf.EP(response=False)).variance(Z)
    )


def test_one_answer_is_exact_and_needs_no_response() -> None:
    post = gf.GP(gf.SE(0.3)).condition(gf.Data().add(SIGN, [[0.1]], [2]))
    assert post.variance([[0.1]])[0] == pytest.approx(1.0 - 2.0 / np.pi, abs=1e-12)


def test_answers_that_are_not_log_concave_keep_ep_s_spreads() -> None:
    gp, data = signs()
    assert gp.condition(data.add(gf.Binary(guess=0.1, lapse=0.1), [[0.3]], [True])).response is None


def test_fantasies_take_their_part_off_corrected_spreads() -> None:
    gp, data = signs()
    post = gp.condition(data)
    query = gf.Query(gf.Point(noise=0.3), [0.33])
    after = fantasize(post, [query])
    cov = post.covariance(np.vstack([Z, [[0.33]]]))
    right = np.diagonal(cov)[:-1] - cov[:-1, -1] ** 2 / (cov[-1, -1] + 0.09)
    assert np.allclose(after.mean(Z), post.mean(Z), atol=1e-9)
    # The response to a field is taken as it was before, which is not quite what it will be.
    assert np.allclose(after.variance(Z), right, rtol=0.1)
    assert np.all(after.variance(Z) <= post.variance(Z) + 1e-12)


def test_gradient_of_information_under_response_is_that_of_differences() -> None:
    gp, data = signs()
    post, goal, at = gp.condition(data), gf.Learn(), np.array([[0.4]])
    found = goal.score_and_gradient(post, SIGN, at)
    assert found is not None
    up, down = (goal.score(post, SIGN, at + step)[0] for step in (1e-5, -1e-5))
    assert found[1][0, 0] == pytest.approx((up - down) / 2e-5, rel=1e-4)


def test_adding_and_removing_answers_is_conditioning_at_once() -> None:
    gp, data = signs()
    more = gf.Data().add(SIGN, [[0.93]], [2])
    assert np.allclose(
        gp.condition(data).condition(more).variance(Z), gp.condition(data.join(more)).variance(Z), rtol=1e-6
    )
    assert np.allclose(
        gp.condition(data).without([3]).variance(Z), gp.condition(data.without([3])).variance(Z), rtol=1e-6
    )
