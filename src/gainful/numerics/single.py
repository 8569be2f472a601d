"""A Cholesky factor in single precision: half the memory of one in double, and half its time.

Rounding in single precision makes it the factor of a matrix nearby, P = L Lᵀ. That matrix is taken as it is: products
and solves with L are in double precision, so that P is a preconditioner like any other, and conjugate gradients come
from it to the matrix that was meant in a few steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from gainful.errors import NumericalError
from gainful.numerics.blas import matmul
from gainful.numerics.cholesky import NOT_POSITIVE

__all__ = ["SingleFactor", "factor_single"]

Array = NDArray[np.float64]
SingleArray = NDArray[np.float32]

_TILE = 1024  # rows and columns that are turned into double precision at a time: 8 MB
_JITTERS = (0.0, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)  # of the diagonal, tried in turn


@dataclass(frozen=True, eq=False)
class SingleFactor:
    """P = L Lᵀ with `lower`, L, in single precision (N, N), zeros above the diagonal, Fortran order.

    `jitter` is by how much the diagonal had to be enlarged, relative to itself.

    >>> P = factor_single(lambda: np.array([[4.0, 2.0], [2.0, 3.0]], dtype=np.float32))
    >>> P.solve(np.array([8.0, 8.0])).round(5).tolist(), round(P.log_det, 5)
    ([1.0, 2.0], 2.07944)
    """

    lower: SingleArray
    jitter: float = 0.0

    @property
    def size(self) -> int:
        return int(self.lower.shape[0])

    @property
    def log_det(self) -> float:
        """log |P|."""
        return 2.0 * float(np.sum(np.log(np.diagonal(self.lower).astype(np.float64))))

    def half(self, rhs: Array) -> Array:
        """L⁻¹ rhs, of one column or several."""
        out = np.array(rhs.reshape(len(rhs), -1), dtype=np.float64)
        ends = list(_ends(self.size))
        for j, columns in enumerate(ends):
            out[columns] = blas.dtrsm(1.0, self._tile(columns, columns), out[columns], lower=1)
            for rows in ends[j + 1 :]:
                out[rows] -= matmul(self._tile(rows, columns), out[columns])
        return out.reshape(rhs.shape)

    def solve(self, rhs: Array) -> Array:
        """P⁻¹ rhs."""
        out = self.half(rhs).reshape(len(rhs), -1)
        ends = list(_ends(self.size))
        for j in reversed(range(len(ends))):
            columns = ends[j]
            for rows in ends[j + 1 :]:
                out[columns] -= matmul(self._tile(rows, columns).T, out[rows])
            out[columns] = blas.dtrsm(1.0, self._tile(columns, columns), out[columns], lower=1, trans_a=1)
        return out.reshape(rhs.shape)

    def times(self, V: Array) -> Array:
        """P V for V (N, p)."""
        half, ends = np.zeros_like(V), list(_ends(self.size))
        for i, rows in enumerate(ends):
            for columns in ends[: i + 1]:
                half[columns] += matmul(self._tile(rows, columns).T, V[rows])
        return self._lower_times(half)

    def sample(self, rng: np.random.Generator, p: int) -> Array:
        """p draws (N, p) from N(0, P)."""
        return self._lower_times(rng.normal(size=(self.size, p)))

    def _lower_times(self, V: Array) -> Array:
        out, ends = np.zeros_like(V), list(_ends(self.size))
        for i, rows in enumerate(ends):
            for columns in ends[: i + 1]:
                out[rows] += matmul(self._tile(rows, columns), V[columns])
        return out

    def lower_inverse(self) -> SingleArray:
        """The lower triangle of P⁻¹ (zeros above), in single precision, a second array of N × N."""
        return np.asarray(lapack.spotri(self.lower, lower=1, overwrite_c=0)[0])

    def into_inverse(self) -> SingleArray:
        """The same, written over L: this factor is used up."""
        return np.asarray(lapack.spotri(self.lower, lower=1, overwrite_c=1)[0])

    def _tile(self, rows: slice, columns: slice) -> Array:
        return self.lower[rows, columns].astype(np.float64, order="F")


def factor_single(build: Callable[[], SingleArray]) -> SingleFactor:
    """The factor of what `build` gives, its lower triangle, which is written over; NumericalError where there is none.

    Where single precision leaves no other way the diagonal is enlarged, after building it anew.
    """
    for jitter in _JITTERS:
        matrix = np.asfortranarray(build())
        diagonal = np.einsum("ii->i", matrix)
        diagonal *= np.float32(1.0 + jitter)
        lower, info = lapack.spotrf(matrix, lower=1, clean=1, overwrite_a=1)
        pivots = np.diagonal(lower)
        if info == 0 and bool(np.all(np.isfinite(pivots))) and bool(np.all(pivots > 0.0)):
            return SingleFactor(np.asarray(lower), jitter)
    raise NumericalError(NOT_POSITIVE.replace("1e-8", f"{_JITTERS[-1]:g}"))


def _ends(N: int) -> Iterator[slice]:
    for start in range(0, N, _TILE):
        yield slice(start, min(start + _TILE, N))
