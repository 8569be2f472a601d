"""Interpolation from a grid of few points: what is believed is the function on the grid, and exactly so.

With K_UU = L Lᵀ the interpolated function is W L z, z ~ N(0, I): linear regression on as many numbers as the grid has
points, however many readings there are. All that the readings leave are S = Wᵀ D⁻¹ W and Wᵀ D⁻¹ e:

    M = I + Lᵀ S L,   E[f_U] = L M⁻¹ Lᵀ Wᵀ D⁻¹ e,   Cov[f_U] = L M⁻¹ Lᵀ,   log|B| = log|D| + log|M|

No product is approximated and nothing is drawn: it is the evidence of the interpolated kernel, to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, lapack
from scipy.sparse import csr_array

from gainful.errors import NumericalError
from gainful.inference.convergence import Convergence, Result
from gainful.inference.engines.base import Gradient, Readings
from gainful.inference.engines.interpolated import Interpolated
from gainful.means import Mean
from gainful.numerics.blas import matmul
from gainful.numerics.interpolation import weights
from gainful.numerics.memory import in_blocks

__all__ = ["GridBelief", "grid_belief"]

Array = NDArray[np.float64]

_LOG_2PI = float(np.log(2.0 * np.pi))
_ROUNDING = 1e-14  # of the prior's variance: pivots of K_UU below it are rounding


@dataclass(frozen=True, eq=False)
class GridBelief:
    """f given N readings by its values on m grid points: their mean (m,) and covariance (m, m)."""

    prior_mean: Mean
    readings: Readings
    operator: Interpolated
    grid_mean: Array
    grid_covariance: Array
    gram: csr_array  # S
    log_det: float

    @property
    def convergence(self) -> Convergence:
        points = " × ".join(str(n) for n in self.operator.grid.counts)
        note = f" by interpolation from {points} points; {self.operator.off(self.readings.noise)}"
        return Convergence(Result.APPROXIMATED, note=note)

    @cached_property
    def alpha(self) -> Array:
        """B⁻¹ e = D⁻¹ (e − W E[f_U]), (N,)."""
        return (self.readings.residual - self.operator.W @ self.grid_mean) / self.readings.noise

    @cached_property
    def misfit(self) -> float:
        """eᵀ B⁻¹ e."""
        return float(self.readings.residual @ self.alpha)

    @property
    def log_evidence(self) -> float:
        """−½ eᵀ B⁻¹ e − ½ log|B| − ½ N log 2π."""
        return -0.5 * (self.misfit + self.log_det + len(self.readings.noise) * _LOG_2PI)

    def mean(self, X: Array) -> Array:
        """m(x) + w_x E[f_U]."""

        def of(part: slice) -> Array:
            return self.prior_mean(X[part]) + weights(self.operator.grid, X[part]) @ self.grid_mean

        return in_blocks(of, len(X), self.operator.each)

    def variance(self, X: Array) -> Array:
        """w_x Cov[f_U] w_xᵀ, from the 4^D points about each place."""

        def of(part: slice) -> Array:
            W = weights(self.operator.grid, X[part])
            return _among(W, self.grid_covariance)

        return np.maximum(in_blocks(of, len(X), 3 * self.operator.each**2 // 16), 0.0)

    def covariance(self, X: Array, Z: Array) -> Array:
        """w_X Cov[f_U] w_Zᵀ."""
        there = (weights(self.operator.grid, Z) @ self.grid_covariance).T

        def of(part: slice) -> Array:
            return np.asarray(weights(self.operator.grid, X[part]) @ there)

        return in_blocks(of, len(X), self.operator.each + 2 * len(Z))

    def gradient(self) -> Gradient:
        """Of the log evidence: dL/dK_UU = ½ (a aᵀ − S + S Cov[f_U] S), a = Wᵀ α."""
        a = self.operator.W.T @ self.alpha
        G = self.gram @ (self.gram @ self.grid_covariance).T
        G -= self.gram.toarray()
        G += np.outer(a, a)
        by_kernel = 0.5 * self.operator.pulled_dense(G)
        noise = self.readings.noise
        left = _in_rows(self.operator.W, self.grid_covariance, self.operator.each) / noise  # 1 − noise (B⁻¹)_ii
        by_noise = noise * self.alpha**2 - (1.0 - left)
        return Gradient(by_kernel, self.prior_mean.vjp(self.readings.X)[1](self.alpha), by_noise)


def grid_belief(mean: Mean, readings: Readings, operator: Interpolated) -> GridBelief:
    """The belief, from one pass over the readings and two factorisations of the grid's size."""
    W, noise = operator.W, readings.noise
    gram = (operator.W_transposed * (1.0 / noise)) @ W
    pull = W.T @ (readings.residual / noise)
    L = _root(operator.among.dense())
    M = matmul(L.T, gram @ L)
    M.flat[:: len(M) + 1] += 1.0
    lower, info = lapack.dpotrf(M.T, lower=1, clean=1, overwrite_a=1)  # symmetric, and in LAPACK's order as it is
    if info != 0:
        raise NumericalError(
            "the readings are too many or too precise for this grid in double precision: state more noise"
        )
    solved = np.asarray(lapack.dtrtrs(lower, L.T, lower=1)[0])  # C⁻¹ Lᵀ, (r, m)
    covariance = matmul(solved.T, solved)
    grid_mean = matmul(L, np.asarray(cho_solve((lower, True), matmul(L.T, pull))))
    log_det = float(np.sum(np.log(noise))) + 2.0 * float(np.sum(np.log(np.diagonal(lower))))
    return GridBelief(mean, readings, operator, grid_mean, covariance, csr_array(gram), log_det)


def _root(K: Array) -> Array:
    """L (m, r) with L Lᵀ = K to rounding, by pivoted Cholesky: points of a fine grid are dependent."""
    size = float(np.max(np.diagonal(K)))
    lower, pivots, rank, _ = lapack.dpstrf(K, tol=_ROUNDING * size, lower=1)
    out = np.zeros((len(K), int(rank)))
    out[pivots - 1] = np.tril(lower)[:, : int(rank)]
    return out


def _among(W: csr_array, covariance: Array) -> Array:
    """w C wᵀ of each row w of W, (N,), all of which have as many entries."""
    each = W.indices.reshape(W.shape[0], -1) if W.shape[0] else np.zeros((0, 1), dtype=W.indices.dtype)
    w = W.data.reshape(each.shape)
    return np.einsum("ni,nij,nj->n", w, covariance[each[:, :, None], each[:, None, :]], w, optimize=True)


def _in_rows(W: csr_array, covariance: Array, each: int) -> Array:
    return in_blocks(lambda part: _among(W[part], covariance), W.shape[0], 3 * each**2 // 16)
