"""Matrix products through SciPy's BLAS alone.

NumPy and SciPy each bring a BLAS with a pool of threads of its own, and an idle pool spins for a while after its last
call. Code that factors with SciPy's LAPACK and multiplies with NumPy's `@` makes two pools fight for the same cores: on
two cores, expectation propagation at n = 256 took twice as long that way as with a single thread. So every product on a
hot path goes through here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

Array = NDArray[np.float64]


def matmul(a: Array, b: Array) -> Array:
    """a @ b for a (N, M) and b (M,) or (M, P), without copies of contiguous operands, C or Fortran.

    >>> matmul(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 1.0])).tolist()
    [3.0, 7.0]
    """
    if 0 in a.shape or 0 in b.shape:
        return np.zeros((a.shape[0], *b.shape[1:]))
    if b.ndim == 1:
        matrix, turned = _fortran(a)
        return np.asarray(blas.dgemv(1.0, matrix, b, trans=turned))
    left, left_turned = _fortran(a)
    right, right_turned = _fortran(b)
    # The result in C order is the Fortran-order product of the transposes: (a b)ᵀ = bᵀ aᵀ.
    return np.asarray(blas.dgemm(1.0, right, left, trans_a=1 - right_turned, trans_b=1 - left_turned)).T


def dot(a: Array, b: Array) -> float:
    """Σ_ij a_ij b_ij of two matrices of one shape."""
    if a.size and a.flags.c_contiguous and b.flags.c_contiguous:
        return float(blas.ddot(a.reshape(-1), b.reshape(-1)))
    return float(np.einsum("ij,ij->", a, b))


def _fortran(a: Array) -> tuple[Array, int]:
    """a as a Fortran-ordered array and whether that is its transpose."""
    if a.flags.f_contiguous:
        return a, 0
    return (a.T, 1) if a.flags.c_contiguous else (np.asfortranarray(a), 0)
