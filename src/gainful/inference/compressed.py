"""The belief about g through a low-rank root of its covariance, for the iterations of EP.

A smooth kernel's covariance of n near places has a numerical rank r far below n: C = Q Qᵀ to rounding, with Q (n, r)
from a pivoted Cholesky factorisation. Then M = I + Qᵀ Λ Q is r-by-r, and one look at every cavity costs O(n r²)
instead of O(n³):

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

Array = NDArray[np.float64]

_NEGLIGIBLE = 3e-15  # of the largest prior variance: what the low-rank root leaves out
_SMALLEST = 48  # below this many rows there is nothing to gain


def low_rank_root(cov: Array) -> Array | None:
    """Q (n, r) with Q Qᵀ = cov up to 3e-15 of its largest diagonal entry, where r ≤ n/3; None where there is none."""
    n = len(cov)
    if n < _SMALLEST:
        return None
    largest = float(np.max(np.diagonal(cov)))
    some = np.linspace(0, n - 1, n // 3 + 1).astype(np.intp)  # where these have full rank, the rank is too high
    if lapack.dpstrf(cov[np.ix_(some, some)], tol=_NEGLIGIBLE * largest, lower=1)[2] == len(some):
        return None
    lower, pivots, rank, _ = lapack.dpstrf(cov, tol=_NEGLIGIBLE * largest, lower=1)
    if rank > n // 3:
        return None
    root = np.empty((n, rank), order="F")
    root[pivots - 1] = np.tril(lower[:, :rank])
    return root


@dataclass(frozen=True)
class Compressed:
    """What `propose` asks of a belief: the same names as in `Conditioned`."""

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
    def keep(self) -> Array:
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
    left_out = _NEGLIGIBLE * float(np.max(np.einsum("ir,ir->i", root, root)))
    return Compressed(sites, mean, left_out, np.asarray(spread), 2.0 * float(np.sum(np.log(np.diagonal(lower)))))
