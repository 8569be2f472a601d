"""Exact inference for many readings: one array of N × N numbers, filled and factored in place.

    B = K + diag(noise),   α = B⁻¹ (y − m),   dL/dK = ½ (α αᵀ − B⁻¹)

The kernel is worked out in tiles, once for B and once more for the gradient, which meets B⁻¹ tile by tile: no second
array of the kernel's values or slopes is ever there. Evidence and gradient take three times the work of one Cholesky
factorisation (one for L, two for the inverse), and two arrays of N × N where the belief is to be kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gainful.inference.convergence import Convergence, Result
from gainful.inference.engines.base import EngineBelief, Gradient, Readings, read
from gainful.kernels.base import Kernel
from gainful.layout import Layout
from gainful.means import Mean, Zero
from gainful.numerics.blas import matmul
from gainful.numerics.cholesky import factor
from gainful.numerics.memory import in_blocks, require_room

__all__ = ["Dense", "DenseBelief", "filled", "lower_tiles"]

Array = NDArray[np.float64]

_TILE = 1024  # rows and columns of the kernel at a time: 8 MB
_LOG_2PI = float(np.log(2.0 * np.pi))


class Triangle(Protocol):
    """A Cholesky factor L of B."""

    @property
    def log_det(self) -> float:
        """log |B|."""

    @property
    def jitter(self) -> float:
        """By how much B's diagonal had to be enlarged, relative to itself."""

    def half(self, rhs: Array, /) -> Array:
        """L⁻¹ rhs."""

    def solve(self, rhs: Array, /) -> Array:
        """B⁻¹ rhs."""

    def lower_inverse(self) -> NDArray[Any]:
        """The lower triangle of B⁻¹."""

    def into_inverse(self) -> NDArray[Any]:
        """The same, written over L."""


@dataclass(frozen=True)
class Dense:
    """One Cholesky factorisation in place, for numbers read at places."""

    def require_room(self, readings: int) -> None:
        require_room("data", readings, readings, "condition with inference=Iterative(), Vecchia() or Inducing()")

    def believe(self, mean: Mean, kernel: Kernel, layout: Layout, start: EngineBelief | None = None) -> DenseBelief:
        readings = read(self, mean, layout)
        N = len(readings.X)
        self.require_room(N)
        done = factor(filled(kernel, readings), rebuild=lambda: filled(kernel, readings))
        alpha = done.solve(readings.residual)
        return DenseBelief(mean, kernel, readings, done, alpha)


@dataclass(frozen=True, eq=False)
class DenseBelief:
    """f given N readings: B = L Lᵀ and α = B⁻¹ (y − m)."""

    prior_mean: Mean
    kernel: Kernel
    readings: Readings
    factor: Triangle
    alpha: Array = field(repr=False)

    @property
    def convergence(self) -> Convergence:
        return Convergence(Result.EXACT)

    @property
    def jitter(self) -> float:
        """How much the diagonal had to be enlarged, relative to itself; 0.0 as a rule."""
        return self.factor.jitter

    @cached_property
    def misfit(self) -> float:
        """(y − m)ᵀ B⁻¹ (y − m): of a model that is right a χ² with N degrees of freedom."""
        return float(self.readings.residual @ self.alpha)

    @cached_property
    def log_evidence(self) -> float:
        """−½ (y − m)ᵀ α − ½ log|B| − ½ N log 2π."""
        return -0.5 * (self.misfit + self.factor.log_det + len(self.alpha) * _LOG_2PI)

    @property
    def _each(self) -> int:
        return 4 * len(self.alpha)

    def mean(self, X: Array) -> Array:
        """m(x) + k(x, Z) α."""

        def of(part: slice) -> Array:
            return self.prior_mean(X[part]) + matmul(self.kernel.matrix(X[part], self.readings.X), self.alpha)

        return in_blocks(of, len(X), self._each)

    def from_residual(self, residual: Array) -> Callable[[Array], Array]:
        return replace(self, prior_mean=Zero(), alpha=self.factor.solve(residual)).mean

    def variance(self, X: Array) -> Array:
        """k(x, x) − ‖L⁻¹ k(Z, x)‖²."""

        def of(part: slice) -> Array:
            half = self._half(X[part])
            left = self.kernel.diag(X[part]) - np.einsum("nm,nm->m", half, half)
            return np.maximum(left, 0.0)  # rounding, where a precise reading has left nothing

        return in_blocks(of, len(X), self._each)

    def covariance(self, X: Array, Z: Array) -> Array:
        """k(X, Z) − k(X, ·) B⁻¹ k(·, Z)."""
        there = self._half(Z)

        def of(part: slice) -> Array:
            return self.kernel.matrix(X[part], Z) - matmul(self._half(X[part]).T, there)

        return in_blocks(of, len(X), self._each + 2 * len(Z))

    def _half(self, X: Array) -> Array:
        return self.factor.half(self.kernel.matrix(self.readings.X, X))

    def pull_mean(self, X: Array, g: Array) -> Array:
        def of(part: slice) -> Array:
            in_prior = self.prior_mean.pullback_inputs(X[part], g[part])
            return in_prior + self._pull(X[part], g[part, None] * self.alpha)

        return in_blocks(of, len(X), self._each)

    def pull_variance(self, X: Array, g: Array) -> Array:
        def of(part: slice) -> Array:
            in_prior = self.kernel.pullback_diag_inputs(X[part], g[part])
            return in_prior - self._pull(X[part], 2.0 * g[part, None] * self._solved(X[part]).T)

        return in_blocks(of, len(X), self._each)

    def pull_covariance(self, X: Array, Z: Array, G: Array) -> Array:
        there = self._solved(Z)

        def of(part: slice) -> Array:
            in_prior = self.kernel.vjp_inputs(X[part], Z)[1](G[part])
            return in_prior - self._pull(X[part], matmul(G[part], there.T))

        return in_blocks(of, len(X), self._each + 2 * len(Z))

    def _pull(self, X: Array, G: Array) -> Array:
        """d Σ G_in k(x_i, z_n) / dX over the readings z_n."""
        return self.kernel.vjp_inputs(X, self.readings.X)[1](G)

    def _solved(self, X: Array) -> Array:
        """B⁻¹ k(·, X), (N, M)."""
        return self.factor.solve(self.kernel.matrix(self.readings.X, X))

    def gradient(self) -> Gradient:
        """Of the log evidence; the factor stays, and its inverse is a second array of N × N."""
        return self._pulled(self.factor.lower_inverse())

    def into_gradient(self) -> Gradient:
        """The same with the inverse written over the factor: this belief is used up."""
        return self._pulled(self.factor.into_inverse())

    def _pulled(self, inverse: NDArray[Any]) -> Gradient:
        """From the lower triangle of B⁻¹; each tile of the kernel meets one of α αᵀ − B⁻¹."""
        X, alpha = self.readings.X, self.alpha
        total = np.zeros(self.kernel.size)
        for rows, columns in lower_tiles(len(X)):
            tile = np.outer(alpha[rows], alpha[columns]) - inverse[rows, columns]
            if rows == columns:
                tile = 0.5 * (np.tril(tile) + np.tril(tile, -1).T)
            total += self.kernel.vjp(X[rows], X[columns])[1](tile)  # pairs below the diagonal count twice
        noise = self.readings.noise * (alpha**2 - np.diagonal(inverse))
        return Gradient(total, self.prior_mean.vjp(X)[1](alpha), noise)


def filled(kernel: Kernel, readings: Readings, kind: type[np.floating[Any]] = np.float64) -> NDArray[Any]:
    """The lower triangle of K + diag(noise), Fortran order, in numbers of this kind; what is above it is not set."""
    N = len(readings.X)
    out = np.empty((N, N), dtype=kind, order="F")
    for rows, columns in lower_tiles(N):
        tile = kernel.matrix(readings.X[rows], readings.X[columns])
        if rows == columns:
            tile.flat[:: len(tile) + 1] += readings.noise[rows]
        out[rows, columns] = tile
    return out


def lower_tiles(N: int) -> Iterator[tuple[slice, slice]]:
    """Rows and columns of the tiles that cover the lower triangle."""
    ends = [slice(i, min(i + _TILE, N)) for i in range(0, N, _TILE)]
    for i, rows in enumerate(ends):
        for columns in ends[: i + 1]:
            yield rows, columns
