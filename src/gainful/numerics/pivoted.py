"""K ≈ L Lᵀ by a few of its columns, and L Lᵀ + D as a preconditioner for K + D.

The Cholesky factorisation that takes the largest pivot left needs only the diagonal of K and one column for each step,
and what it leaves out, K − L Lᵀ, is positive semidefinite with a known trace (Harbrecht et al. 2012).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, svd

from gainful.errors import InvalidInput
from gainful.numerics.blas import matmul

__all__ = ["LowRankPlusDiagonal", "Outcome", "Pivoted", "pivoted_cholesky"]

Array = NDArray[np.float64]

_ROUNDING = 3e-15  # of a diagonal entry: what is left of it has no digits
_MILD = 1e7  # of L Lᵀ over the noise: up to here what rounding leaves inside U is a billionth of what belongs there
_NEGATIVE = -1e-8  # of a diagonal entry: rounding does not take it that far below zero


class Outcome(Enum):
    """How a partial factorisation ended; the value is the sentence, with {rank} and {left} to be filled in."""

    ENOUGH = "{rank} columns leave {left:.1e} of the trace"
    EXHAUSTED = "{rank} columns leave nothing but rounding"
    TRUNCATED = "{rank} columns as asked, which leave {left:.1e} of the trace; raise the rank to leave less"
    NOT_POSITIVE = (
        "after {rank} columns a diagonal entry is negative: these are not the diagonal and the columns of a positive "
        "semidefinite matrix"
    )


@dataclass(frozen=True)
class Pivoted:
    """L (N, r) with K − L Lᵀ positive semidefinite, zero in the rows of `pivots` (r,).

    `trace_left` is the trace of K − L Lᵀ, which bounds its norm; `trace` is K's.
    """

    L: Array
    pivots: NDArray[np.intp]
    trace_left: float
    trace: float
    outcome: Outcome

    @property
    def rank(self) -> int:
        return len(self.pivots)

    @property
    def message(self) -> str:
        """What happened, in a sentence."""
        return self.outcome.value.format(rank=self.rank, left=self.trace_left / (self.trace or 1.0))


def pivoted_cholesky(
    diagonal: Array, column: Callable[[int], Array], rank: int, tolerance: float = 0.0, worth: float = 0.0
) -> Pivoted:
    """L (N, r), r ≤ rank, of the matrix with this diagonal (N,) whose column(i) is (N,): O(N r²), r columns asked for.

    It ends where the trace left is at most `tolerance` of the trace, or is rounding, or where the last column has taken
    less than `worth` off it.

    >>> x = np.linspace(0.0, 1.0, 50)
    >>> K = np.exp(-0.5 * np.subtract.outer(x, x) ** 2)
    >>> few = pivoted_cholesky(np.diagonal(K), lambda i: K[:, i], rank=20, tolerance=1e-6)
    >>> few.rank, bool(np.trace(K - few.L @ few.L.T) < 1e-6 * 50)
    (5, True)
    """
    most = min(rank, len(diagonal))
    L = np.empty((len(diagonal), most), order="F")
    left, trace = np.array(diagonal, dtype=float), float(np.sum(diagonal))
    pivots: list[int] = []
    outcome, fallen = Outcome.TRUNCATED, np.inf
    while True:
        left[np.abs(left) <= _ROUNDING * diagonal] = 0.0
        k, trace_left = len(pivots), float(np.sum(left))
        if np.any(left < _NEGATIVE * np.abs(diagonal)):
            outcome = Outcome.NOT_POSITIVE
        elif trace_left > 0.0 and (trace_left <= tolerance * trace or fallen - trace_left < worth):
            outcome = Outcome.ENOUGH
        elif not np.any(left > 0.0):
            outcome = Outcome.EXHAUSTED
        if outcome is not Outcome.TRUNCATED or k == most:
            break
        pivot, fallen = int(np.argmax(left)), trace_left
        L[:, k] = (column(pivot) - matmul(L[:, :k], L[pivot, :k])) / np.sqrt(left[pivot])
        L[pivots, k] = 0.0  # rows that are matched already: only rounding is there
        left -= L[:, k] ** 2
        left[pivot] = 0.0
        pivots.append(pivot)
    kept = L if len(pivots) == most else L[:, : len(pivots)].copy(order="F")
    return Pivoted(kept, np.asarray(pivots, dtype=np.intp), trace_left, trace, outcome)


@dataclass(frozen=True)
class LowRankPlusDiagonal:
    """P = L Lᵀ + diag(noise), with L (N, r) and noise (N,) or one number, positive.

    With D^-½ L = U S Vᵀ, P⁻¹ = D^-½ (U (1 + S²)⁻¹ Uᵀ + (I − U Uᵀ)) D^-½. This is Woodbury's formula without its
    difference of large numbers: I + Lᵀ D⁻¹ L has a condition number of the variance over the noise, and its Cholesky
    factor would lose half of all digits at a noise of 1e-8. Where that number is below 1e7 the difference has digits
    enough, and takes two products for five.

    >>> P = LowRankPlusDiagonal(np.ones((3, 1)), 1e-8)
    >>> P.solve(np.ones(3)).round(6).tolist(), round(P.log_det, 4)
    ([0.333333, 0.333333, 0.333333], -35.7427)
    """

    L: Array
    noise: Array | float

    def __post_init__(self) -> None:
        if not np.all(np.asarray(self.noise) > 0.0):
            raise InvalidInput(
                "noise", "positive numbers", self.noise, "L Lᵀ alone has no inverse; give every row its noise"
            )

    @cached_property
    def _deviation(self) -> Array:
        """D^½ as a column (N, 1)."""
        return np.asarray(np.sqrt(np.broadcast_to(self.noise, len(self.L)))[:, None], dtype=np.float64)

    @cached_property
    def _singular(self) -> tuple[Array, Array]:
        """U (N, r) and S² (r,) of D^-½ L; by QR first, as r is far below N."""
        if self.L.shape[1] == 0:
            return self.L, np.zeros(0)
        Q, R = qr(self.L / self._deviation, mode="economic", overwrite_a=True)
        left, values, _ = svd(R, full_matrices=False)
        return matmul(np.asarray(Q), np.asarray(left)), np.asarray(values) ** 2

    @property
    def log_det(self) -> float:
        """log |P|."""
        return float(2.0 * np.sum(np.log(self._deviation)) + np.sum(np.log1p(self._singular[1])))

    def times(self, V: Array) -> Array:
        """P V for V (N,) or (N, p)."""
        columns = V.reshape(len(V), -1)
        return (matmul(self.L, matmul(self.L.T, columns)) + self._deviation**2 * columns).reshape(V.shape)

    def solve(self, V: Array) -> Array:
        """P⁻¹ V for V (N,) or (N, p)."""
        U, squared = self._singular
        outside = V.reshape(len(V), -1) / self._deviation
        if np.max(squared, initial=0.0) < _MILD:
            kept = (squared / (1.0 + squared))[:, None] * matmul(U.T, outside)
            return np.asarray((outside - matmul(U, kept)) / self._deviation).reshape(V.shape)
        inside = np.zeros((len(squared), outside.shape[1]))
        for _ in range(2):  # the first leaves rounding of V inside U, where P is large
            part = matmul(U.T, outside)
            outside = outside - matmul(U, part)
            inside += part
        inside /= 1.0 + squared[:, None]
        return ((matmul(U, inside) + outside) / self._deviation).reshape(V.shape)

    def leading(self, r: int) -> Array:
        """E (N, r) with E Eᵀ the part of P⁻¹ in the r directions in which P is largest beside the noise, or in all."""
        U, squared = self._singular
        return np.asarray(U[:, :r] / (np.sqrt(1.0 + squared[:r]) * self._deviation))

    @property
    def inverse_diagonal(self) -> Array:
        """The diagonal of P⁻¹, (N,)."""
        U, squared = self._singular
        return np.asarray((1.0 - U**2 @ (squared / (1.0 + squared))) / self._deviation[:, 0] ** 2)

    def sample(self, rng: np.random.Generator, p: int) -> Array:
        """p draws (N, p) from N(0, P)."""
        n, r = self.L.shape
        return matmul(self.L, rng.normal(size=(r, p))) + self._deviation * rng.normal(size=(n, p))
