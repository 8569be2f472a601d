"""Kernels of the scaled distance: k(x, z) = variance · κ(s), s = Σ_d (x_d − z_d)²/ℓ_d².

Each is one profile κ(s) and its slope κ′(s); everything else is shared.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gainful.checks import is_number
from gainful.errors import InvalidInput
from gainful.kernels.base import Features, Kernel, Pullback, batched, waves, without_features
from gainful.kernels.distance import (
    check_lengthscale,
    rowwise_differences,
    squared_distance,
    weighted_differences,
    weighted_squares,
)
from gainful.numerics.blas import dot
from gainful.parameters import positive

Array = NDArray[np.float64]
Weights = Callable[[Array], tuple[Array, tuple[float, ...]]]


def _times(variance: Any, values: Array) -> Array:
    """variance · values in place, for one variance or a batch of them."""
    if np.ndim(variance) == 0:
        if variance != 1.0:
            values *= variance
        return values
    return np.asarray(variance)[:, None, None] * values


def _as_row(apart: Array) -> Array:
    """s of pairs of rows as a matrix (1, N), which profiles take; batched (S, 1, N)."""
    return np.asarray(np.einsum("...nd,...nd->...n", apart, apart))[..., None, :]


@dataclass(frozen=True)
class Stationary(Kernel):
    """The shared part; a subclass gives `profile` and `linearise`."""

    lengthscale: Any = positive(1.0, "length", per_dimension=True)
    variance: Any = positive(1.0, "variance")

    @abstractmethod
    def profile(self, s: Array) -> Array:
        """κ(s); may overwrite s."""

    @abstractmethod
    def linearise(self, s: Array) -> tuple[Array, Weights]:
        """K = variance · κ(s) and G -> (G ∘ ∂K/∂s, dL/d log of the profile's own parameters); may overwrite s."""

    def scales(self, count: int, rng: np.random.Generator) -> Array:
        """Random scales c (count,) with κ(s) = E[exp(−c² s/2)]; without them a kernel has no random features."""
        raise without_features(self)

    def features(self, dimensions: int, count: int, rng: np.random.Generator) -> Features:
        check_lengthscale(self.lengthscale, dimensions)
        normal = rng.standard_normal((count, dimensions)) * self.scales(count, rng)[:, None]
        return waves(normal / np.asarray(self.lengthscale, dtype=float), np.sqrt(self.variance), rng)

    def matrix(self, X: Array, Z: Array) -> Array:
        return _times(self.variance, self.profile(squared_distance(X, Z, self.lengthscale)))

    def diag(self, X: Array) -> Array:
        check_lengthscale(self.lengthscale, X.shape[1])
        return np.asarray(self.variance, dtype=float)[..., None] * np.ones(len(X))

    def vjp(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        K, weights = self.linearise(squared_distance(X, Z, self.lengthscale))

        def back(G: Array) -> Array:
            slope, own = weights(G)
            squares = weighted_squares(slope, X, Z, self.lengthscale)
            return np.concatenate([self._in_lengthscale(squares), [dot(G, K)], own])

        return K, back

    def rowwise(self, X: Array, Z: Array) -> Array:
        apart = rowwise_differences(X, Z, self.lengthscale)
        return _times(self.variance, self.profile(_as_row(apart)))[..., 0, :]

    def rowwise_vjp(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        apart = rowwise_differences(X, Z, self.lengthscale)
        K, weights = self.linearise(_as_row(apart))

        def back(g: Array) -> Array:
            slope, own = weights(g[None])
            squares = np.einsum("n,nd,nd->d", slope[0], apart, apart)
            return np.concatenate([self._in_lengthscale(squares), [dot(g[None], K)], own])

        return K[0], back

    def _in_lengthscale(self, squares: Array) -> Array:
        """dL/d log ℓ from Σ (dL/ds) (x_d − z_d)²/ℓ_d² of each dimension, (D,)."""
        own_each = np.ndim(self.lengthscale) and np.shape(self.lengthscale)[-1] == len(squares)
        return -2.0 * (squares if own_each else squares.sum(keepdims=True))

    def vjp_inputs(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        K, weights = self.linearise(squared_distance(X, Z, self.lengthscale))
        return K, lambda G: 2.0 * weighted_differences(weights(G)[0], X, Z, self.lengthscale)

    def pullback_diag_inputs(self, X: Array, g: Array) -> Array:
        return np.zeros_like(X)

    @property
    def slopes_together(self) -> bool:
        return True


@dataclass(frozen=True)
class SE(Stationary):
    """Squared exponential: k = variance · exp(−s/2). Smooth functions.

    >>> SE(lengthscale=2.0)([[0.0]], [[2.0]]).round(4).tolist()
    [[0.6065]]
    """

    def scales(self, count: int, rng: np.random.Generator) -> Array:
        return np.ones(count)

    def profile(self, s: Array) -> Array:
        s *= -0.5
        return np.exp(s, out=s)

    def linearise(self, s: Array) -> tuple[Array, Weights]:
        K = _times(self.variance, self.profile(s))

        def weights(G: Array) -> tuple[Array, tuple[float, ...]]:
            GK = G * K
            GK *= -0.5
            return GK, ()

        return K, weights


@dataclass(frozen=True)
class RationalQuadratic(Stationary):
    """k = variance · (1 + s/(2 alpha))^−alpha: a mixture of squared exponentials of many lengthscales."""

    alpha: Any = positive(1.0, "shape")

    def scales(self, count: int, rng: np.random.Generator) -> Array:
        """c² ~ Gamma(alpha, 1/alpha), whose Laplace transform at s/2 is (1 + s/(2 alpha))^−alpha."""
        return np.sqrt(rng.gamma(float(self.alpha), size=count) / float(self.alpha))

    def profile(self, s: Array) -> Array:
        alpha = batched(self.alpha, 2)
        return np.exp(-alpha * np.log1p(s / (2.0 * alpha)))

    def linearise(self, s: Array) -> tuple[Array, Weights]:
        u = s / (2.0 * batched(self.alpha, 2))
        K = _times(self.variance, self.profile(s))

        def weights(G: Array) -> tuple[Array, tuple[float, ...]]:
            GK = G * K
            if np.ndim(self.alpha):  # in the places alone
                return -0.5 * GK / (1.0 + u), ()
            own = self.alpha * dot(GK, u / (1.0 + u) - np.log1p(u))
            return -0.5 * GK / (1.0 + u), (own,)

        return K, weights


@dataclass(frozen=True)
class Matern(Stationary):
    """Matérn kernels with nu = 1/2, 3/2 or 5/2: functions with 0, 1 or 2 derivatives.

    With r = √(2 nu s): exp(−r), (1 + r) exp(−r), (1 + r + r²/3) exp(−r).
    """

    nu: float = 2.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_number(self.nu) or self.nu not in (0.5, 1.5, 2.5):
            raise InvalidInput("nu", "0.5, 1.5 or 2.5", self.nu, "use SE for nu = infinity")

    def scales(self, count: int, rng: np.random.Generator) -> Array:
        """c² = nu / Gamma(nu, 1): frequencies are Student's t with 2 nu degrees of freedom."""
        return np.sqrt(self.nu / rng.gamma(self.nu, size=count))

    def profile(self, s: Array) -> Array:
        s *= 2.0 * self.nu
        r = np.sqrt(s, out=s)
        decay = np.exp(-r)
        if self.nu == 0.5:
            return decay
        decay *= (1.0 + r) if self.nu == 1.5 else (1.0 + r * (1.0 + r / 3.0))
        return decay

    def linearise(self, s: Array) -> tuple[Array, Weights]:
        r = np.sqrt(2.0 * self.nu * s)
        K = _times(self.variance, self.profile(s))

        def weights(G: Array) -> tuple[Array, tuple[float, ...]]:
            # ∂κ/∂s as a multiple of κ: no second exponential.
            if self.nu == 0.5:
                # Not differentiable at r = 0; zero is right for parameters (the distance stays 0) and a subgradient
                # for x.
                ratio = np.divide(-0.5, r, out=np.zeros_like(r), where=r > 0.0)
            elif self.nu == 1.5:
                ratio = -1.5 / (1.0 + r)
            else:
                ratio = (-5.0 / 6.0) * (1.0 + r) / (1.0 + r * (1.0 + r / 3.0))
            ratio *= K
            ratio *= G
            return ratio, ()

        return K, weights
