"""The laws of engines."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gainful.data import Data
from gainful.inference.engines.base import Differentiable, Engine
from gainful.inference.posterior import Posterior, solve
from gainful.instruments import Point
from gainful.kernels.base import Kernel
from gainful.kernels.stationary import SE
from gainful.means import ConstantMean
from gainful.testing.differences import assert_close, gradient

Array = NDArray[np.float64]


def check_engine(
    engine: Engine,
    kernel: Kernel | None = None,
    dimensions: int = 2,
    *,
    tolerance: float | None = None,
    slopes: float = 1e-5,
    seed: int = 0,
) -> None:
    """Mean, variance and covariance go together, covariances are positive, later answers narrow the belief as whole
    matrices would, and the gradient is that of the evidence, to `slopes` of its size.

    With a `tolerance`, the belief is held against exact inference as well: moments in standard deviations, the evidence
    in nats for each answer. Readings are sixty in the unit cube; predictions lie within it.

    >>> from gainful import Inducing
    >>> check_engine(Inducing(60), tolerance=1e-4)
    """
    rng = np.random.default_rng(seed)
    kernel = SE((0.6,) * dimensions, 1.4) if kernel is None else kernel
    mean = ConstantMean(0.3)
    X, Z = rng.uniform(size=(60, dimensions)), rng.uniform(0.1, 0.9, size=(7, dimensions))
    y = np.sin(4.0 * X.sum(axis=1)) + 0.2 * rng.normal(size=60)
    data = Data().add(Point(noise=0.2, name="reading"), X, y)
    belief = engine.believe(mean, kernel, data.layout)

    cov = belief.covariance(Z, Z)
    size = float(np.max(kernel.diag(Z)))
    assert_close(cov, cov.T, 1e-9 * size, "a covariance is symmetric")
    assert_close(np.diagonal(cov), belief.variance(Z), 1e-7 * size, "its diagonal is the variance")
    assert_close(np.minimum(np.linalg.eigvalsh(cov), 0.0), np.zeros(7), 1e-7 * size, "it is positive")
    assert_close(belief.covariance(Z[:2], Z), cov[:2], 1e-9 * size, "of two places it is that among all")
    if not belief.convergence.message:
        raise AssertionError("convergence says what was done, in a sentence")

    post = solve(mean, kernel, data, engine)
    more = Data().add(Point(noise=0.1, name="later"), Z[:2], [0.4, -0.2])
    K = cov[:2, :2] + 0.01 * np.eye(2)
    gain = np.linalg.solve(K, cov[:2]).T
    after = belief.mean(Z) + gain @ (np.array([0.4, -0.2]) - belief.mean(Z[:2]))
    later = post.condition(more)
    assert_close(later.mean(Z), after, 1e-6 * np.sqrt(size), "later answers are taken as by whole matrices")
    assert_close(later.covariance(Z), cov - gain @ cov[:2], 1e-6 * size, "and so are their covariances")

    def evidence(theta: Array) -> float:
        start = belief  # what an engine keeps of its earlier belief, neighbours or points, is held fixed
        return float(engine.believe(mean, kernel.with_theta(theta), data.layout, start).log_evidence)

    found = belief.gradient()
    by_theta = gradient(evidence, kernel.theta)
    assert_close(found.kernel, by_theta, slopes * max(1.0, float(np.abs(by_theta).max())), "the slope in theta")
    if isinstance(belief, Differentiable):
        _hold_against_differences(belief, Z)
    if tolerance is not None:
        _hold_against_exact(post, solve(mean, kernel, data), Z, tolerance)


def _hold_against_differences(belief: Any, Z: Array) -> None:
    g, G, others = np.cos(np.arange(len(Z))), np.sin(np.arange(3.0 * len(Z))).reshape(-1, 3), Z[:3] + 0.01
    values: dict[str, tuple[Array, Callable[[Array], Any]]] = {
        "mean": (belief.pull_mean(Z, g), lambda X: g @ belief.mean(X)),
        "variance": (belief.pull_variance(Z, g), lambda X: g @ belief.variance(X)),
        "covariance": (belief.pull_covariance(Z, others, G), lambda X: np.sum(G * belief.covariance(X, others))),
    }
    for what, (found, value) in values.items():
        wanted = gradient(partial(_at, value, Z.shape), Z.ravel()).reshape(Z.shape)
        assert_close(found, wanted, 1e-6 * max(1.0, float(np.abs(wanted).max())), f"the slopes of the {what} in X")


def _at(value: Callable[[Array], Any], shape: tuple[int, ...], flat: Array) -> float:
    return float(value(flat.reshape(shape)))


def _hold_against_exact(post: Posterior, exact: Posterior, Z: Array, tolerance: float) -> None:
    sd = np.sqrt(exact.variance(Z))
    assert_close(post.mean(Z) / sd, exact.mean(Z) / sd, tolerance, "the mean is the exact one")
    assert_close(np.sqrt(post.variance(Z)) / sd, np.ones(len(Z)), tolerance, "so is the standard deviation")
    each = len(exact.data)
    assert_close(np.array(post.log_evidence / each), np.array(exact.log_evidence / each), tolerance, "and the evidence")
