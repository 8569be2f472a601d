"""When every answer is a number with Gaussian noise, all roads lead to the closed form."""

from __future__ import annotations

import numpy as np
import pytest

import gainful as gf
from gainful.hyper.problem import Problem

KERNELS = {
    "SE": gf.SE(0.7, 2.0),
    "Matern": gf.Matern((0.7, 1.3), 0.5, nu=1.5),
    "sum and product": gf.SE(0.5) * gf.Linear(0.3) + gf.Periodic(1.0, 0.8, 0.2).on(1) + gf.Constant(4.0),
}
MEAN = gf.LinearMean((0.5, -1.0), 0.3)
X_NEW = np.array([[0.1, 0.2], [1.0, -3.0], [10.0, 10.0]])


def two_labs(seed: int = 0, n: int = 12) -> tuple[np.ndarray, np.ndarray, np.ndarray, gf.Data]:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 2)), rng.normal(size=n)
    noise = np.where(np.arange(n) < n // 2, 0.1, 0.5)
    data = (
        gf.Data().add(gf.Point(noise=0.1), X[: n // 2], y[: n // 2]).add(gf.Point(noise=0.5), X[n // 2 :], y[n // 2 :])
    )
    return X, y, noise, data


@pytest.mark.parametrize("inference", [gf.Exact(), gf.EP(), gf.Laplace(), None], ids=repr)
@pytest.mark.parametrize("name", KERNELS)
def test_gaussian_answers_give_the_closed_form(name: str, inference: object) -> None:
    """N(y; m, S), S = K + diag(noise²), with dense inverses."""
    X, y, noise, data = two_labs()
    kernel = KERNELS[name]
    S = kernel(X) + np.diag(noise**2)
    e = y - MEAN(X)
    gain = kernel(X_NEW, X) @ np.linalg.inv(S)
    post = gf.GP(kernel, mean=MEAN).condition(data, inference)
    np.testing.assert_allclose(post.mean(X_NEW), MEAN(X_NEW) + gain @ e, rtol=1e-10, atol=1e-12)
    covariance = kernel(X_NEW) - gain @ kernel(X, X_NEW)
    scale = np.sqrt(np.outer(np.diagonal(covariance), np.diagonal(covariance)))
    assert np.max(np.abs(post.covariance(X_NEW) - covariance) / scale) < 1e-10
    np.testing.assert_allclose(post.variance(X_NEW), np.diagonal(covariance), rtol=1e-10)
    log_evidence = -0.5 * e @ np.linalg.solve(S, e) - 0.5 * np.linalg.slogdet(2.0 * np.pi * S)[1]
    assert post.log_evidence == pytest.approx(log_evidence, rel=1e-11)


@pytest.mark.parametrize("inference", [gf.EP(), gf.Laplace()], ids=repr)
@pytest.mark.parametrize("name", KERNELS)
def test_ep_and_laplace_are_exact_when_every_answer_is_gaussian(name: str, inference: object) -> None:
    *_, data = two_labs(seed=1)
    gp = gf.GP(KERNELS[name], mean=MEAN)
    exact, other = gp.condition(data, gf.Exact()), gp.condition(data, inference)
    assert other.converged
    np.testing.assert_allclose(other.mean(X_NEW), exact.mean(X_NEW), rtol=1e-10)
    np.testing.assert_allclose(other.covariance(X_NEW), exact.covariance(X_NEW), rtol=1e-10, atol=1e-12)
    assert other.log_evidence == pytest.approx(exact.log_evidence, rel=1e-10)
    by_exact, by_other = (gp.log_evidence_and_gradient(data, method) for method in (gf.Exact(), inference))
    assert by_other[0] == pytest.approx(by_exact[0], rel=1e-10)
    np.testing.assert_allclose(by_other[1], by_exact[1], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("inference", [gf.EP(), gf.Laplace()], ids=repr)
def test_the_gradient_in_the_noise_is_the_same_for_ep_laplace_and_exact(inference: object) -> None:
    *_, data = two_labs(seed=2)
    gp = gf.GP(KERNELS["SE"], mean=MEAN)
    gradients = []
    for method in (gf.Exact(), inference):
        problem = Problem.of(gp, data, gf.Flat(), method)
        gradients.append(problem.evidence(problem.theta)[1])
    np.testing.assert_allclose(gradients[1], gradients[0], rtol=1e-10, atol=1e-10)


def test_no_data_gives_the_prior() -> None:
    kernel = KERNELS["sum and product"]
    post = gf.GP(kernel, mean=MEAN).condition(gf.Data())
    np.testing.assert_array_equal(post.mean(X_NEW), MEAN(X_NEW))
    np.testing.assert_allclose(post.covariance(X_NEW), kernel(X_NEW), rtol=1e-15)
    np.testing.assert_allclose(post.variance(X_NEW), kernel.diag(X_NEW), rtol=1e-15)
    assert post.log_evidence == 0.0
    assert post.converged


@pytest.mark.parametrize("inference", [gf.Exact(), gf.EP(), gf.Laplace()], ids=repr)
def test_a_posterior_of_no_data_can_be_asked_the_same_with_any_inference(inference: object) -> None:
    post = gf.GP(KERNELS["SE"], mean=MEAN).condition(gf.Data(), inference)
    np.testing.assert_array_equal(post.mean(X_NEW), MEAN(X_NEW))
    assert post.log_evidence == 0.0


def test_samples_have_the_mean_and_covariance_of_the_posterior() -> None:
    *_, data = two_labs()
    post = gf.GP(KERNELS["SE"], mean=MEAN).condition(data)
    draws = post.sample(X_NEW, 20000, np.random.default_rng(3))
    C = post.covariance(X_NEW)
    error = np.sqrt(np.diagonal(C) / 20000)
    assert np.all(np.abs(draws.mean(axis=0) - post.mean(X_NEW)) < 5.0 * error)
    spread = np.sqrt((np.outer(np.diagonal(C), np.diagonal(C)) + C**2) / 20000)
    assert np.all(np.abs(np.cov(draws.T) - C) < 5.0 * spread)


def test_the_same_seed_gives_the_same_samples() -> None:
    *_, data = two_labs()
    post = gf.GP(KERNELS["SE"], mean=MEAN).condition(data)
    once, again = (post.sample(X_NEW, 4, np.random.default_rng(7)) for _ in range(2))
    np.testing.assert_array_equal(once, again)


def test_exact_inference_refuses_answers_that_are_not_gaussian() -> None:
    data = gf.Data().add(gf.Binary(), [[0.0]], [True])
    with pytest.raises(gf.InvalidInput, match="EP"):
        gf.GP(gf.SE()).condition(data, gf.Exact())
