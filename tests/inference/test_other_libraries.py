"""GPy for probit classification, scikit-learn for regression: same models, same numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import GPy
import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk

import gainful as gf


def probit_data(seed: int, d: int, n: int = 60) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Places, noisy yes/no answers of a wavy function, and places to predict at."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, size=(n, d))
    f = 2.0 * np.sin(2.0 * X[:, 0]) + X.sum(axis=1)
    return X, f + rng.normal(size=n) > 0.0, rng.uniform(-3.0, 3.0, size=(15, d))


def gpy_model(X: np.ndarray, yes: np.ndarray, kernel: Any, method: Any) -> Any:
    likelihood = GPy.likelihoods.Bernoulli()
    return GPy.core.GP(X, yes[:, None].astype(float), kernel, likelihood, inference_method=method)


def gpy_ep() -> Any:
    method = GPy.inference.latent_function_inference.EP(epsilon=1e-22, max_iters=1000, ep_mode="nested")  # of a square
    return method


def gpy_laplace() -> Any:
    method = GPy.inference.latent_function_inference.Laplace()
    method._mode_finding_tolerance = 1e-7  # of the objective; one Newton step beyond it, the mode itself is far closer
    method._mode_finding_max_iter = 200
    return method


PROBIT = [(seed, d) for seed in (0, 1) for d in (1, 3)]


@pytest.mark.parametrize(("seed", "d"), PROBIT)
def test_probit_ep_agrees_with_gpy(seed: int, d: int) -> None:
    X, yes, X_new = probit_data(seed, d)
    theirs = gpy_model(X, yes, GPy.kern.RBF(d, variance=3.0, lengthscale=0.9), gpy_ep())
    post = gf.GP(gf.SE(0.9, 3.0)).condition(gf.Data().add(gf.Binary(), X, yes), gf.EP())
    mean, variance = theirs._raw_predict(X_new)
    np.testing.assert_allclose(post.log_evidence, theirs.log_likelihood(), rtol=1e-6)
    np.testing.assert_allclose(post.mean(X_new), mean[:, 0], atol=1e-6)
    np.testing.assert_allclose(post.variance(X_new), variance[:, 0], rtol=1e-6)


@pytest.mark.parametrize(("seed", "d"), PROBIT)
def test_probit_laplace_agrees_with_gpy(seed: int, d: int) -> None:
    X, yes, X_new = probit_data(seed, d)
    theirs = gpy_model(X, yes, GPy.kern.Matern52(d, variance=3.0, lengthscale=0.9), gpy_laplace())
    post = gf.GP(gf.Matern(0.9, 3.0, nu=2.5)).condition(gf.Data().add(gf.Binary(), X, yes), gf.Laplace())
    mean, variance = theirs._raw_predict(X_new)
    np.testing.assert_allclose(post.log_evidence, theirs.log_likelihood(), rtol=1e-6)
    np.testing.assert_allclose(post.mean(X_new), mean[:, 0], atol=1e-6)
    np.testing.assert_allclose(post.variance(X_new), variance[:, 0], rtol=1e-6)


@pytest.mark.parametrize("inference", [gf.EP(), gf.Laplace()], ids=repr)
def test_the_gradient_of_the_probit_evidence_agrees_with_gpy(inference: object) -> None:
    """GPy's gradient is in the parameters themselves; ours in their logarithms."""
    X, yes, _ = probit_data(3, 2)
    kernel = GPy.kern.RBF(2, variance=3.0, lengthscale=0.9)
    theirs = gpy_model(X, yes, kernel, gpy_ep() if isinstance(inference, gf.EP) else gpy_laplace())
    data = gf.Data().add(gf.Binary(), X, yes)
    _, ours = gf.GP(gf.SE(0.9, 3.0)).log_evidence_and_gradient(data, inference)
    wanted = [float(kernel.lengthscale.gradient[0]) * 0.9, float(kernel.variance.gradient[0]) * 3.0]
    np.testing.assert_allclose(ours, wanted, rtol=1e-5)
    assert theirs.X.shape == X.shape


Pair = tuple[gf.Kernel, Any, list[int]]

# ours, theirs, and where each entry of our theta is in theirs (theirs is sorted by the name of the parameter)
REGRESSIONS: dict[str, Callable[[], Pair]] = {
    "SE": lambda: (gf.SE(0.7, 2.0), sk.ConstantKernel(2.0) * sk.RBF(0.7), [1, 0]),
    "ARD SE": lambda: (gf.SE((0.7, 1.9), 2.0), sk.ConstantKernel(2.0) * sk.RBF([0.7, 1.9]), [1, 2, 0]),
    "Matern 1/2": lambda: (gf.Matern(0.7, 2.0, nu=0.5), sk.ConstantKernel(2.0) * sk.Matern(0.7, nu=0.5), [1, 0]),
    "Matern 3/2": lambda: (gf.Matern(0.7, 2.0, nu=1.5), sk.ConstantKernel(2.0) * sk.Matern(0.7, nu=1.5), [1, 0]),
    "ARD Matern 5/2": lambda: (
        gf.Matern((0.7, 1.9), 2.0, nu=2.5),
        sk.ConstantKernel(2.0) * sk.Matern([0.7, 1.9], nu=2.5),
        [1, 2, 0],
    ),
    "RationalQuadratic": lambda: (
        gf.RationalQuadratic(0.7, 2.0, 1.4),
        sk.ConstantKernel(2.0) * sk.RationalQuadratic(0.7, alpha=1.4),
        [2, 0, 1],
    ),
    "SE + Constant": lambda: (
        gf.SE(0.7, 2.0) + gf.Constant(0.4),
        sk.ConstantKernel(2.0) * sk.RBF(0.7) + sk.ConstantKernel(0.4),
        [1, 0, 2],
    ),
    "Linear + Matern": lambda: (
        gf.Linear(0.5) + gf.Matern(0.7, 2.0, nu=2.5),
        sk.ConstantKernel(0.5) * sk.DotProduct(0.0, sigma_0_bounds="fixed")
        + sk.ConstantKernel(2.0) * sk.Matern(0.7, nu=2.5),
        [0, 2, 1],
    ),
}


@pytest.mark.parametrize("name", REGRESSIONS)
def test_regression_agrees_with_scikit_learn(name: str) -> None:
    ours, theirs, order = REGRESSIONS[name]()
    rng = np.random.default_rng(5)
    X, X_new = rng.uniform(-2.0, 2.0, size=(40, 2)), rng.uniform(-3.0, 3.0, size=(20, 2))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=40)
    model = GaussianProcessRegressor(theirs, alpha=0.3**2, optimizer=None).fit(X, y)
    mean, sd = model.predict(X_new, return_std=True)
    value, gradient = model.log_marginal_likelihood(model.kernel_.theta, eval_gradient=True)
    gp, data = gf.GP(ours), gf.Data().add(gf.Point(noise=0.3), X, y)
    post = gp.condition(data)
    np.testing.assert_allclose(post.mean(X_new), mean, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.sqrt(post.variance(X_new)), sd, rtol=1e-9)
    assert post.log_evidence == pytest.approx(value, rel=1e-9)
    our_value, our_gradient = gp.log_evidence_and_gradient(data)
    assert our_value == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(our_gradient, gradient[order], rtol=1e-9, atol=1e-9)


def test_a_periodic_kernel_in_one_dimension_agrees_with_scikit_learn() -> None:
    rng = np.random.default_rng(6)
    X, X_new = rng.uniform(-2.0, 2.0, size=(30, 1)), rng.uniform(-9.0, 9.0, size=(20, 1))
    y = np.sin(5.0 * X[:, 0]) + 0.2 * rng.normal(size=30)
    theirs = sk.ConstantKernel(2.0) * sk.ExpSineSquared(length_scale=0.9, periodicity=1.3)
    model = GaussianProcessRegressor(theirs, alpha=0.3**2, optimizer=None).fit(X, y)
    mean, sd = model.predict(X_new, return_std=True)
    value, gradient = model.log_marginal_likelihood(model.kernel_.theta, eval_gradient=True)
    gp, data = gf.GP(gf.Periodic(0.9, 1.3, 2.0)), gf.Data().add(gf.Point(noise=0.3), X, y)
    post = gp.condition(data)
    np.testing.assert_allclose(post.mean(X_new), mean, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.sqrt(post.variance(X_new)), sd, rtol=1e-9)
    our_value, our_gradient = gp.log_evidence_and_gradient(data)
    assert our_value == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(our_gradient, gradient[[1, 2, 0]], rtol=1e-9)
