"""Conditioning on sites through a low-rank root of g's covariance: a cheaper belief for the iterations of EP.

Where the covariance has a root C = Q Qᵀ with Q (n, r) and r far below n (`numerics/lowrank.py`), M = I + Qᵀ Λ Q is
r-by-r, and one sweep over the cavities costs O(n r²) instead of O(n³):

    Cov[g] = Q M⁻¹ Qᵀ,   E[g] = m + Cov[g] (ν − Λ m),   log|I + ΛC| = log|M|

This form serves to *find* the sites. It loses digits when sites are far stronger than the prior, so the last word
(belief, evidence, convergence) is always that of `Conditioned`, in full.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from gainful.errors import NumericalError
from gainful.inference.sites import Root, Sites
from gainful.instruments.base import Rows
from gainful.numerics.blas import matmul
from gainful.numerics.lowrank import NEGLIGIBLE

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Compressed:
    """What a sweep asks of a belief, by the same names as in `Conditioned`."""

    sites: Sites
    prior_mean: Array
    left_out: float  # of a prior variance, by the low-rank root
    spread: Array  # L_M⁻¹ Qᵀ, (r, n): Cov[g] = spreadᵀ spread
    log_det: float

    @property
    def root(self) -> Root:
        return self.sites.root

    @property
    def resolution(self) -> float:
        """How well a moment can be matched: what the root left out, and rounding, against the strongest site."""
        strongest = float(np.max(np.abs(self.sites.precision), initial=1.0))
        for block in self.sites.blocks:
            strongest = max(strongest, float(np.max(np.abs(block.precision), initial=0.0)))
        return 10.0 * self.left_out * strongest

    @cached_property
    def variance(self) -> Array:
        return np.einsum("ri,ri->i", self.spread, self.spread)

    @cached_property
    def mean(self) -> Array:
        pull = self.sites.shift - self.sites.times(self.prior_mean)
        return self.prior_mean + matmul(self.spread.T, matmul(self.spread, pull))

    @cached_property
    def alpha(self) -> Array:
        """ν − Λ E[g]."""
        return self.sites.shift - self.sites.times(self.mean)

    @cached_property
    def cavity_ratio(self) -> Array:
        return 1.0 - self.sites.precision * self.variance

    def correlations(self, rows: Rows) -> Array:
        """Correlations of these rows with each other, (n, n), zero on the diagonal."""
        parts = self.spread[:, rows] / np.sqrt(self.variance[rows])
        out = matmul(parts.T, parts)
        out.flat[:: len(out) + 1] = 0.0
        return out

    def block_covariance(self, rows: Rows) -> Array:
        parts = self.spread[:, rows]
        return np.einsum("rni,rnj->nij", parts, parts)


def compress(sites: Sites, mean: Array, root: Array) -> Compressed:
    """The belief after the sites: one Cholesky factorisation of r-by-r."""
    weighted = root * sites.precision[:, None]
    for block in sites.blocks:
        weighted[block.rows] = np.einsum("nij,njr->nir", block.precision, root[block.rows])
    M = matmul(root.T, weighted)
    M.flat[:: len(M) + 1] += 1.0
    lower, info = lapack.dpotrf(M.T, lower=1, clean=1, overwrite_a=1)
    if info != 0:
        raise NumericalError("the sites leave no proper belief")
    spread = blas.dtrsm(1.0, lower, np.asfortranarray(root.T), lower=1)
    left_out = NEGLIGIBLE * float(np.max(np.einsum("ir,ir->i", root, root)))
    return Compressed(sites, mean, left_out, np.asarray(spread), 2.0 * float(np.sum(np.log(np.diagonal(lower)))))
