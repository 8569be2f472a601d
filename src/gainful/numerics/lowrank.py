"""Roots of covariance matrices whose numerical rank is far below their size.

A smooth kernel's covariance of n near places is C = Q Qᵀ to rounding, with Q (n, r) from a Cholesky factorisation that
takes the largest pivot left and stops where nothing is. The rows of the pivots form a triangle, so a place that comes
later has its row of Q from r numbers alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

NEGLIGIBLE = 3e-15  # of the largest variance: what the root leaves out
_SMALLEST = 48  # below this many rows there is nothing to gain
_AGAIN = 1.1  # a root is sought anew when there are so many times as many rows


@dataclass(frozen=True)
class LowRank:
    """The root Q (n, r) of the covariance of n rows, or None where r > n/3; and what finds it for more or fewer rows.

    `pivots`: Q's rows that form a lower triangle, or None when some have been removed; `sought`: how many rows there
    were when Q was last looked for.
    """

    root: Array | None
    pivots: Rows | None
    sought: int

    def grown(self, cov: Array) -> LowRank:
        """The root for a covariance (m, m) that begins with the one it was found for."""
        if self.root is None:
            return self if len(cov) < _AGAIN * self.sought else low_rank(cov)
        if self.pivots is None:
            return low_rank(cov)
        n, triangle = len(self.root), np.asfortranarray(self.root[self.pivots])
        new = np.asarray(blas.dtrsm(1.0, triangle, np.asfortranarray(cov[self.pivots, n:]), lower=1))
        variance = np.diagonal(cov)[n:]
        missing = float(np.max(np.abs(variance - np.einsum("ri,ri->i", new, new)), initial=0.0))
        if missing > NEGLIGIBLE * float(np.max(np.diagonal(cov), initial=0.0)):
            return low_rank(cov)
        root = np.empty((len(cov), new.shape[0]), order="F")
        root[:n], root[n:] = self.root, new.T
        return LowRank(root, self.pivots, self.sought)

    def kept(self, rows: Rows) -> LowRank:
        """The root for these rows (in order) alone."""
        if self.root is None:
            return self
        still = self.pivots is not None and bool(np.isin(self.pivots, rows).all())
        pivots = np.searchsorted(rows, self.pivots).astype(np.intp) if self.pivots is not None and still else None
        return LowRank(np.asfortranarray(self.root[rows]), pivots, self.sought)


def low_rank(cov: Array) -> LowRank:
    """Q (n, r) with Q Qᵀ = cov up to 3e-15 of its largest diagonal entry, where r ≤ n/3.

    >>> near = np.exp(-0.5 * np.subtract.outer(np.linspace(0, 1, 60), np.linspace(0, 1, 60)) ** 2)
    >>> low_rank(near).root.shape[1] < 15
    True
    >>> low_rank(np.eye(60)).root is None
    True
    """
    n = len(cov)
    nothing = LowRank(None, None, n)
    if n < _SMALLEST:
        return nothing
    tolerance = NEGLIGIBLE * float(np.max(np.diagonal(cov)))
    some = np.linspace(0, n - 1, n // 3 + 1).astype(np.intp)  # where these have full rank, the rank is too high
    if lapack.dpstrf(cov[np.ix_(some, some)], tol=tolerance, lower=1)[2] == len(some):
        return nothing
    lower, pivots, rank, _ = lapack.dpstrf(cov, tol=tolerance, lower=1)
    if rank > n // 3:
        return nothing
    root = np.empty((n, rank), order="F")
    root[pivots - 1] = np.tril(lower[:, :rank])
    return LowRank(root, (pivots[:rank] - 1).astype(np.intp), n)
