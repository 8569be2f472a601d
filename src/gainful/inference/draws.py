"""Draws of the latent values, and the belief about f that they make: a mixture of Gaussians that share a covariance.

Numbers are conditioned on exactly and first; what is drawn are the other rows of g, whitened. With c = A k(Z, x) and a
belief N(m, v) from the numbers alone, row s of the draws z ~ p(z | answers) leaves

    f(x) | z_s  ~  N(m(x) + (T c)ᵀ z_s,  v(x) − ‖T c‖²)

so the mean is that at the average draw, and the draws take (T c)ᵀ (I − Cov z) (T c) off the variance.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gainful.inference.adjusted import Adjusted
from gainful.inference.conditioned import Conditioned
from gainful.numerics.blas import matmul

__all__ = ["Draws"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Draws:
    """base: the belief given the numbers; basis T (D, F); values z (S, D); the standard error of the log evidence."""

    base: Conditioned
    basis: Array
    values: Array
    log_evidence_error: float

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def centre(self) -> Array:
        """The average draw, (D,)."""
        return np.asarray(self.values.mean(axis=0))

    @cached_property
    def adjusted(self) -> Adjusted:
        """The mean and the covariance of f: with I − Cov z = Vᵀ D V, the draws take (V T c)ᵀ D (V T c) off it."""
        off = self.values - self.centre
        values, vectors = np.linalg.eigh(np.eye(off.shape[1]) - matmul(off.T, off) / len(off))
        turned = np.sqrt(np.abs(values))[:, None] * matmul(vectors.T, self.basis)
        alpha = self.base.alpha + matmul(self.basis.T, self.centre)
        return Adjusted(self.base, turned, np.where(values < 0.0, -1.0, 1.0), alpha, self._variance())

    def _variance(self) -> Array:
        """Var[g_i] of every row, (F,)."""
        spread = np.var(matmul(matmul(self.values, self.basis), self.base.prior_cov), axis=0)
        within = self.base.variance - np.sum(matmul(self.basis, self.base.prior_cov) ** 2, axis=0)
        # What the basis leaves of a row that was drawn is rounding.
        return spread + np.where(within > 1e-9 * np.diagonal(self.base.prior_cov), within, 0.0)

    def means(self, prior: Array, seen: Array) -> Array:
        """E[f | z_s] at places of this prior mean (M,), (S, M)."""
        return prior + matmul(seen.T, self.base.alpha) + matmul(self.values, matmul(self.basis, seen))

    def within(self, seen: Array) -> tuple[Array, Array]:
        """H with Cov[f | z] = k − H′ᵀ H, (F + D, M), and H′ = D H: what is left of f given one draw."""
        numbers, drawn = self.base.reduction(seen), matmul(self.basis, seen)
        return np.concatenate([numbers, drawn]), np.concatenate([self.base.signed(numbers), drawn])
