"""A belief in the place of a prior: the mean and the covariance of f after many answers, as a mean and a kernel.

A Gaussian process that was conditioned is one again. What comes after, more answers, pending queries, slopes for a
search, then needs nothing that is particular to an engine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gainful.inference.engines.base import Differentiable, EngineBelief
from gainful.kernels.base import Kernel, slope
from gainful.means import Mean, Pullback

__all__ = ["BelievedKernel", "BelievedMean"]

Array = NDArray[np.float64]

_PART = 1e-4  # of the extent of the measured places: steps of slopes by differences


@dataclass(frozen=True, eq=False)
class BelievedMean(Mean):
    """m(x) = E[f(x)] after the engine's answers; it has no parameters."""

    belief: EngineBelief
    steps: Array  # (D,): by how much places are moved for a slope

    def __call__(self, X: Array) -> Array:
        return self.belief.mean(X)

    def vjp(self, X: Array) -> tuple[Array, Pullback]:
        return self(X), lambda g: np.zeros(0)

    def pullback_inputs(self, X: Array, g: Array) -> Array:
        if isinstance(self.belief, Differentiable):
            return self.belief.pull_mean(X, g)
        return g[:, None] * _slopes(self.belief.mean, X, self.steps)


@dataclass(frozen=True, eq=False)
class BelievedKernel(Kernel):
    """k(x, z) = Cov[f(x), f(z)] after the engine's answers; it has no parameters."""

    belief: EngineBelief
    steps: Array

    def matrix(self, X: Array, Z: Array) -> Array:
        return self.belief.covariance(X, Z)

    def diag(self, X: Array) -> Array:
        return self.belief.variance(X)

    def moments(self, X: Array) -> tuple[Array, Array]:
        """Mean and variance of f at each place, (M,) each, at once where the engine can."""
        at_once = getattr(self.belief, "moments", None)
        return at_once(X) if at_once is not None else (self.belief.mean(X), self.belief.variance(X))

    def vjp(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        return self.matrix(X, Z), lambda G: np.zeros(0)

    def vjp_inputs(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        def back(G: Array) -> Array:
            if isinstance(self.belief, Differentiable):
                return self.belief.pull_covariance(X, Z, G)
            return _slopes(lambda moved: np.sum(G * self.matrix(moved, Z), axis=1), X, self.steps)

        return self.matrix(X, Z), back

    def pullback_diag_inputs(self, X: Array, g: Array) -> Array:
        if isinstance(self.belief, Differentiable):
            return self.belief.pull_variance(X, g)
        return g[:, None] * _slopes(self.belief.variance, X, self.steps)


def steps_for(places: Array) -> Array:
    """Steps of slopes by differences that suit these places, (D,)."""
    width = np.ptp(places, axis=0) if len(places) else np.zeros(places.shape[1])
    return _PART * np.where(width > 0.0, width, 1.0)


def _slopes(rows: Callable[[Array], Array], X: Array, steps: Array) -> Array:
    """The derivatives (M, D) of a function whose entries (M,) depend on one place each."""
    out = np.zeros_like(X)
    for d in range(X.shape[1]):
        direction = np.arange(X.shape[1]) == d
        out[:, d] = slope(lambda h, along=direction: rows(X + h * along), float(steps[d]))  # type: ignore[misc]
    return out
