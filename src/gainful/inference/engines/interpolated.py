"""K among places by interpolation from a grid, W K_UU Wᵀ, and its values elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from gainful.kernels.base import Kernel
from gainful.numerics.block_toeplitz import BlockToeplitz
from gainful.numerics.interpolation import Grid, weights, weights_1d

__all__ = ["Interpolated"]

Array = NDArray[np.float64]

_COMPARED = 512  # pairs of places at which the kernel is held against its interpolation


@dataclass(frozen=True, eq=False)
class Interpolated:
    """W K_UU Wᵀ among X (N, D)."""

    kernel: Kernel
    X: Array
    grid: Grid

    @property
    def each(self) -> int:
        return 8 * 4 ** len(self.grid.counts)

    @cached_property
    def W(self) -> csr_array:
        """(N, m)."""
        return weights(self.grid, self.X)

    @cached_property
    def W_transposed(self) -> csr_array:
        return self.W.T.tocsr()

    @cached_property
    def _lags(self) -> Array:
        """Distances of the grid's points from its first one, (m, D)."""
        axes = [step * np.arange(n) for step, n in zip(self.grid.steps, self.grid.counts, strict=True)]
        return np.stack([each.ravel() for each in np.meshgrid(*axes, indexing="ij")], axis=1)

    @cached_property
    def among(self) -> BlockToeplitz:
        """K_UU."""
        first = np.zeros((1, self._lags.shape[1]))
        return BlockToeplitz(self.kernel.matrix(first, self._lags).reshape(self.grid.counts))

    @cached_property
    def error(self) -> float:
        """The largest error of a covariance in units of the variance, at some neighbours among the places."""
        some = self.X[np.unique(np.linspace(0, len(self.X) - 1, _COMPARED).astype(np.intp))]
        middle = np.argsort(some[:, int(np.argmax(np.ptp(some, axis=0)))])
        a, b = some[middle[:-1]], some[middle[1:]]
        found = np.asarray((weights(self.grid, a) @ self.among.times((weights(self.grid, b).T).toarray())).diagonal())
        exact, size = self.kernel.rowwise(a, b), float(np.max(self.among.values))
        at_once = np.abs(self.variance(some) - self.kernel.diag(some))
        return float(max(np.max(np.abs(found - exact), initial=0.0), np.max(at_once))) / size

    def times(self, V: Array) -> Array:
        return np.asarray(self.W @ self.among.times(self.W_transposed @ V))

    def diagonal(self) -> Array:
        return self.variance(self.X)

    def variance(self, X: Array) -> Array:
        """w_x K_UU w_xᵀ: weights are products along the axes, so that each distance counts as often as the weights of
        that axis meet at it."""
        meets = []
        for d, (start, step, count) in enumerate(zip(self.grid.starts, self.grid.steps, self.grid.counts, strict=True)):
            w = weights_1d(start, step, count, X[:, d], dimension=d)[1]
            apart = [np.einsum("nk,nk->n", w[:, : 4 - lag], w[:, lag:]) for lag in range(4)]
            meets.append([apart[0], *(2.0 * each for each in apart[1:])])
        out = np.zeros(len(X))
        for lags in product(range(4), repeat=len(meets)):
            term = np.full(len(X), float(self.among.values[lags]))
            for axis, lag in zip(meets, lags, strict=True):
                term *= axis[lag]
            out += term
        return out

    def column(self, i: int) -> Array:
        one = np.zeros((len(self.X), 1))
        one[i] = 1.0
        return self.times(one)[:, 0]

    def pulled(self, U: Array, V: Array) -> Array:
        G = self.among.pulled(np.asarray(self.W_transposed @ U), np.asarray(self.W_transposed @ V))
        first = np.zeros((1, self._lags.shape[1]))
        return self.kernel.vjp(first, self._lags)[1](G.reshape(1, -1))

    def weigh(self, V: Array) -> Array:
        return self.among.times(np.asarray(self.W_transposed @ V))

    def project(self, X: Array, weighed: Array) -> Array:
        return np.asarray(weights(self.grid, X) @ weighed)

    def between(self, X: Array, Z: Array) -> Array:
        there = self.among.times(np.asarray(weights(self.grid, Z).T.toarray()))
        return np.asarray(weights(self.grid, X) @ there)

    def pulled_dense(self, G: Array) -> Array:
        """The derivative in the kernel's theta, (P,), from dL/dK_UU (m, m): entries of one distance are one number."""
        at = np.stack(np.unravel_index(np.arange(self.grid.size), self.grid.counts), axis=1)
        total = np.zeros(self.grid.size)
        for i, row in enumerate(G):
            apart = np.ravel_multi_index(tuple(np.abs(at - at[i]).T), self.grid.counts)
            total += np.bincount(apart, row, self.grid.size)
        first = np.zeros((1, self._lags.shape[1]))
        return self.kernel.vjp(first, self._lags)[1](total.reshape(1, -1))
