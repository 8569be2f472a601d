"""B = L D Lᵀ with D of +1 and −1: Cholesky for the matrices of Gaussian conditioning.

Conditioning on pseudo-measurements r·g ≈ t with noise of sign s needs B = diag(s) + R C Rᵀ. With positive signs this
is the ordinary Cholesky factor. A negative sign (a likelihood that is not log-concave can widen a belief) leaves a
matrix that is indefinite but still has L D Lᵀ with D = diag(±1), as long as every measurement, in the order in which
they are factored, leaves a proper belief: so the positive ones go first.

Nothing is enlarged silently: a factor that needed jitter says how much.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from gainful.errors import NumericalError
from gainful.numerics.blas import matmul

Array = NDArray[np.float64]

_ROUNDING = 2.0 * float(np.finfo(float).eps)  # of a diagonal entry: a pivot (squared) below it has no digits left
_SMALL = 4096  # numbers on the right-hand side of a triangular system
JITTERS = (1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8)  # of the diagonal, tried in turn
NOT_POSITIVE = (
    "a covariance matrix is not positive definite even with its diagonal enlarged by 1e-8 of itself: "
    "the measurements contradict the noise they claim, or places repeat with no noise; "
    "increase the instruments' noise or remove the repeats"
)


@dataclass(frozen=True)
class Factor:
    """P B Pᵀ = L D Lᵀ: `lower` is L (Fortran order), `sign` is D or None for all ones, `order` is P or None.

    `jitter` is the relative enlargement of B's diagonal that the factorisation needed; 0.0 when it needed none.
    """

    lower: Array
    sign: Array | None = None
    order: NDArray[np.intp] | None = None
    jitter: float = 0.0

    @property
    def size(self) -> int:
        return int(self.lower.shape[0])

    @property
    def log_det(self) -> float:
        """log |det B|."""
        return 2.0 * float(np.sum(np.log(np.diagonal(self.lower))))

    def half(self, rhs: Array) -> Array:
        """L⁻¹ P rhs; with D, rhsᵀ B⁻¹ rhs = halfᵀ D half."""
        if self.size == 0:
            return np.zeros_like(rhs)
        permuted = rhs if self.order is None else rhs[self.order]
        return _triangular(self.lower, permuted)

    def solve(self, rhs: Array) -> Array:
        """B⁻¹ rhs."""
        if self.size == 0:
            return np.zeros_like(rhs)
        half = self.half(rhs)
        if self.sign is not None:
            half *= self.sign if half.ndim == 1 else self.sign[:, None]
        out = _triangular(self.lower, half, transposed=True)
        if self.order is None:
            return out
        unpermuted = np.empty_like(out)
        unpermuted[self.order] = out
        return unpermuted

    def signed(self, half: Array) -> Array:
        """D half, for half of any number of axes."""
        return half if self.sign is None else half * self.sign.reshape(-1, *[1] * (half.ndim - 1))

    def square(self, half: Array) -> Array:
        """Σ_i D_i half_i² along the first axis: rhsᵀ B⁻¹ rhs from half = L⁻¹ P rhs."""
        if self.sign is None:
            return np.einsum("i...,i...->...", half, half)
        return np.einsum("i,i...,i...->...", self.sign, half, half)

    def inverse_root(self) -> Array:
        """W = L⁻¹ P, so that B⁻¹ = Wᵀ D W."""
        if self.size == 0:
            return np.zeros((0, 0))
        inverse = np.asarray(lapack.dtrtri(self.lower, lower=1)[0])
        if self.order is None:
            return inverse
        out = np.empty_like(inverse)
        out[:, self.order] = inverse
        return out

    def inverse(self) -> Array:
        """B⁻¹ in full."""
        return self.inverse_of(self.inverse_root())

    def inverse_of(self, root: Array) -> Array:
        """B⁻¹ in full, from its root, where that is there already."""
        if self.sign is None and self.order is None and self.size:
            lower = np.asarray(lapack.dlauum(root, lower=1)[0])
            out = lower + lower.T
            out.flat[:: self.size + 1] *= 0.5
            return out
        return matmul(root.T if self.sign is None else root.T * self.sign, root)

    def lower_inverse(self) -> Array:
        """The lower triangle of B⁻¹ (zeros above, Fortran order), in an array of its own."""
        if self.sign is None and self.size:
            return np.asarray(lapack.dpotri(self.lower, lower=1, overwrite_c=0)[0])
        return np.asfortranarray(np.tril(self.inverse()))

    def into_inverse(self) -> Array:
        """The same, written over L: this factor is used up.

        For the last step of a gradient, where a second N-by-N array would be the largest thing in memory.
        """
        if self.sign is None and self.size:
            return np.asarray(lapack.dpotri(self.lower, lower=1, overwrite_c=1)[0])
        return self.lower_inverse()


def _triangular(lower: Array, rhs: Array, transposed: bool = False) -> Array:
    """L⁻¹ rhs or L⁻ᵀ rhs.

    By dtrsm, which is two to three times as fast as LAPACK's dtrtrs here and leaves small systems to one thread. Rows
    of a large C-ordered array are columns of its transpose, so that (L⁻¹ B)ᵀ = Bᵀ L⁻ᵀ needs no copy in another order;
    of a small one every column is worked out as if it were alone, to the last digit.
    """
    if rhs.ndim == 1:
        return np.asarray(lapack.dtrtrs(lower, rhs, lower=1, trans=int(transposed))[0])
    if rhs.size > _SMALL and rhs.flags.c_contiguous:
        return np.asarray(blas.dtrsm(1.0, lower, rhs.T, side=1, lower=1, trans_a=int(not transposed)).T)
    return np.asarray(blas.dtrsm(1.0, lower, rhs, lower=1, trans_a=int(transposed)))


def factor(matrix: Array, sign: Array | None = None, rebuild: Callable[[], Array] | None = None) -> Factor:
    """Factor B, enlarging its diagonal (and saying so) only when double precision leaves no other way.

    `matrix` is (N, N) symmetric; `sign` has −1 where the pseudo-measurement widens the belief, and is None when none
    does. With `rebuild`, which gives the matrix again, the factor may be written over `matrix`.

    >>> bool(np.isclose(factor(np.array([[4.0, 2.0], [2.0, 3.0]])).log_det, np.log(8.0)))
    True
    """
    if matrix.shape[0] == 0:
        return Factor(np.zeros((0, 0), order="F"))
    if sign is not None and bool(np.any(sign < 0.0)):
        return _factor_signed(matrix, sign)
    lower = _potrf(matrix, overwrite=rebuild is not None, least=_rounding(matrix, sign))
    if lower is not None:
        return Factor(lower)
    original = matrix if rebuild is None else rebuild()
    for jitter in JITTERS:
        lower = _potrf(_enlarged(original, jitter), overwrite=True)
        if lower is not None:
            return Factor(lower, jitter=jitter)
    raise NumericalError(NOT_POSITIVE)


def _potrf(matrix: Array, overwrite: bool = False, least: Array | float = 0.0) -> Array | None:
    """The Cholesky factor; None where there is none, or a pivot (squared) is not above the `least` it should be."""
    # A symmetric matrix in C order is its own transpose in Fortran order: no copy beyond the one LAPACK needs.
    fortran = matrix.T if matrix.flags.c_contiguous else matrix
    lower, info = lapack.dpotrf(fortran, lower=1, clean=1, overwrite_a=int(overwrite))
    pivots = np.diagonal(lower) ** 2
    if info != 0 or not (np.all(np.isfinite(pivots)) and np.all(pivots > least)):
        return None
    return np.asarray(lower)


def _rounding(matrix: Array, sign: Array | None) -> Array | float:
    """What is left of a diagonal entry when nothing is, (N,): for measurements without noise, whose sign is 0.

    The others have a pivot of 1 or more, whatever rounding makes of it.
    """
    if sign is None or np.all(sign != 0.0):
        return 0.0
    return np.where(sign == 0.0, _ROUNDING * np.diagonal(matrix), 0.0)


def _enlarged(matrix: Array, jitter: float) -> Array:
    out = matrix.copy()
    out[np.diag_indices_from(out)] += jitter * np.abs(np.diagonal(out))
    return out


def _factor_signed(matrix: Array, sign: Array) -> Factor:
    order = np.argsort(sign < 0.0, kind="stable").astype(np.intp)
    signs = np.where(sign[order] < 0.0, -1.0, 1.0)
    plus = int(np.sum(signs > 0.0))
    permuted = matrix[np.ix_(order, order)]
    head = factor(permuted[:plus, :plus], sign[order[:plus]])
    grown = _grow(head.lower, None, permuted[plus:, :plus], permuted[plus:, plus:], -1.0)
    if grown is None:
        raise NumericalError(
            "a likelihood that is not log-concave widens the belief without bound here; "
            "take smaller steps (damping) or give the hyperparameters tighter priors"
        )
    return Factor(grown, signs, order, head.jitter)


def _grow(
    lower: Array, sign: Array | None, cross: Array, corner: Array, new_sign: float, least: Array | float = 0.0
) -> Array | None:
    """The factor with rows appended: cross is (n, N) in factored order, corner (n, n); None when it cannot be."""
    n, size = cross.shape
    if size:
        half = np.asarray(lapack.dtrtrs(lower, np.asfortranarray(cross.T), lower=1)[0])
        rows = half if sign is None else half * sign[:, None]
        schur = corner - matmul(half.T, rows)
    else:
        rows, schur = np.zeros((0, n)), corner
    tail = _potrf(np.ascontiguousarray(new_sign * schur), least=least)
    if tail is None:
        return None
    out = np.zeros((size + n, size + n), order="F")
    out[:size, :size] = lower
    out[size:, :size] = rows.T
    # L₂₂ D Lᵀ₂₂ = S and the rows are L₂₁ = (D L⁻¹ c)ᵀ, so only D's sign is applied here, never to L itself.
    out[size:, size:] = tail
    return out


def extend(old: Factor, cross: Array, corner: Array, new_sign: Array | None = None) -> Factor:
    """Append rows to B: O(n N²) instead of O(N³). cross is (n, N) in B's own order, corner (n, n).

    new_sign is 0 where a measurement has no noise, and 1 otherwise.

    >>> B = np.array([[4.0, 2.0, 1.0], [2.0, 3.0, 0.5], [1.0, 0.5, 2.0]])
    >>> grown = extend(factor(B[:2, :2]), B[2:, :2], B[2:, 2:])
    >>> bool(np.allclose(grown.lower, factor(B).lower))
    True
    """
    n = corner.shape[0]
    ordered = cross if old.order is None else cross[:, old.order]
    enlarged = corner if old.jitter == 0.0 else _enlarged(corner, old.jitter)
    grown = _grow(old.lower, old.sign, ordered, enlarged, 1.0, _rounding(corner, new_sign))
    if grown is None:
        raise NumericalError("the new rows cannot be appended without enlarging the diagonal; factor from scratch")
    sign = None if old.sign is None else np.concatenate([old.sign, np.ones(n)])
    tail = np.arange(old.size, old.size + n, dtype=np.intp)
    order = None if old.order is None else np.concatenate([old.order, tail])
    return Factor(grown, sign, order, old.jitter)


def remove(old: Factor, index: int, block: int = 64) -> Factor:
    """Delete row and column `index` of B in O(N²): what is left below is a rank-one update of the old trailing factor.

    With l the deleted column below the diagonal, L₃₃′ L₃₃′ᵀ = L₃₃ L₃₃ᵀ + l lᵀ. The update goes block by block: an
    orthogonal Q that folds l into the diagonal block, [L_JJ, l_J] Q = [L_JJ′, 0], is applied to the rows beneath it.
    """
    if old.sign is not None or old.order is not None:
        raise NumericalError("rows can be removed only from a factor with positive signs; factor from scratch")
    n = old.size - 1
    out = np.zeros((n, n), order="F")
    out[:index, :index] = old.lower[:index, :index]
    out[index:, :index] = old.lower[index + 1 :, :index]
    trailing = old.lower[index + 1 :, index + 1 :]
    carry = old.lower[index + 1 :, index].copy()
    for start in range(0, n - index, block):
        stop = min(start + block, n - index)
        panel = np.column_stack([trailing[start:, start:stop], carry[start:]])
        orthogonal, upper = np.linalg.qr(panel[: stop - start].T, mode="complete")
        turned = matmul(panel, orthogonal)
        turned[:, :-1] *= np.where(np.diagonal(upper) < 0.0, -1.0, 1.0)
        out[index + start :, index + start : index + stop] = np.tril(turned[:, :-1])
        carry[start:] = turned[:, -1]
    return Factor(out, jitter=old.jitter)


def semidefinite_root(cov: Array, rounding: float = 0.0) -> Array:
    """Lower triangular L with L Lᵀ = cov, (B, R, R), whose pivots may be zero: two values may be one and the same.

    What is left of a variance below `rounding` of itself is taken for nothing.

    >>> semidefinite_root(np.ones((1, 2, 2)))[0].tolist()
    [[1.0, 0.0], [1.0, 0.0]]
    """
    lower = np.zeros_like(cov)
    for j in range(cov.shape[1]):
        for i in range(j):
            rest = cov[:, j, i] - np.einsum("bl,bl->b", lower[:, j, :i], lower[:, i, :i])
            pivot = lower[:, i, i]
            lower[:, j, i] = np.divide(rest, pivot, out=np.zeros(len(cov)), where=pivot > 0.0)
        left = cov[:, j, j] - np.sum(lower[:, j, :j] ** 2, axis=1)
        lower[:, j, j] = np.sqrt(np.where(left <= rounding * cov[:, j, j], 0.0, left))
    return lower
