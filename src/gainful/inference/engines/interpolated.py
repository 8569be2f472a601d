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

__all__ = ["Interpolated", "interpolation_error"]

Array = NDArray[np.float64]

_COMPARED, _VALUES = 2048, 2**18  # pairs of places at which a kernel is held against its interpolation, half of them
# equal, at most; and covariances for them in all
_NEAREST = 0.03  # steps of the grid: how far apart others are at least
_MIDDLES = (0.125, 0.25, 0.375, 0.5)  # of a cell, along all axes


def interpolation_error(kernel: Kernel, grid: Grid) -> float:
    """max |w_x K_UU w_zᵀ − k(x, z)| over the variance, as pairs of places of all distances see it.

    A kernel of distances errs alike in every cell, so that x lies in one of them, anywhere in it, and z at x, or as far
    off as the grid goes. Weights are products along the axes, and along one of them four of x meet four of z at seven
    distances: 7^D covariances for each pair, however many points the grid has.
    """
    rng, D = np.random.default_rng(0), len(grid.counts)
    steps, cells = np.array(grid.steps), np.array(grid.counts) - 3.0
    pairs = min(_COMPARED, _VALUES // 7**D)
    at = rng.random((pairs, D))
    at[: len(_MIDDLES)] = np.array(_MIDDLES)[:, None]
    apart = rng.uniform(-1.0, 1.0, size=at.shape) * _NEAREST * (cells / _NEAREST) ** rng.random((pairs, 1))
    apart[: pairs // 2] = 0.0
    lags, weight = np.zeros((pairs, 1, 0)), np.ones((pairs, 1))
    for d in range(D):
        to = at[:, d] + apart[:, d]
        cell = np.floor(to)
        here, there = (weights_1d(-1.0, 1.0, 4, each)[1] for each in (at[:, d], to - cell))
        met = np.zeros((pairs, 7))
        for i, j in product(range(4), repeat=2):
            met[:, 3 + j - i] += here[:, i] * there[:, j]
        lag = (cell[:, None] + np.arange(-3, 4)) * steps[d]
        size = weight.shape[1]
        lags = np.concatenate([np.repeat(lags, 7, axis=1), np.tile(lag, (1, size))[:, :, None]], axis=2)
        weight = (weight[:, :, None] * met[:, None, :]).reshape(pairs, -1)
    first = np.zeros((1, D))
    found = np.einsum("pl,pl->p", weight, kernel.matrix(first, lags.reshape(-1, D)).reshape(weight.shape))
    exact = kernel.matrix(first, apart * steps)[0]
    return float(np.max(np.abs(found - exact)) / kernel.diag(first)[0])


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
        """The largest error of a covariance in units of the variance, between places anywhere on the grid."""
        return interpolation_error(self.kernel, self.grid)

    def off(self, noise: Array) -> str:
        """How far covariances are off, in words, beside the variance of the readings' noise."""
        beside = self.error * float(np.max(self.among.values)) / float(np.median(noise))
        return f"covariances are off by up to {self.error:.1e} of the variance, {beside:.2g} times the noise"

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
