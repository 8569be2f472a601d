"""A ≈ Q T Qᵀ with T tridiagonal, of a symmetric operator known only through products (Lanczos 1950).

Every new vector is made orthogonal to all before it, twice (Giraud et al. 2005: twice is enough), so that Q is
orthonormal to rounding and T is what A is on the Krylov space of the start.

That space need not be all that A acts on: it holds one vector per distinct eigenvalue, so of two equal eigenvalues the
second is never seen (the covariance of s tasks of one size has s). Where the space ends, a generator lets the
decomposition go on from a new random vector outside it, until A is nothing on what is left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh_tridiagonal

from gainful.errors import NumericalError
from gainful.numerics.blas import matmul

__all__ = ["Decomposition", "Operator", "Outcome", "Tridiagonal", "lanczos"]

Array = NDArray[np.float64]
Operator = Callable[[Array], Array]  # V (N, p) -> A V (N, p)

_ROUNDING = 1e-13  # of A's size: a remainder this small has no digits left after one product and two projections


@dataclass(frozen=True)
class Tridiagonal:
    """T (k, k), symmetric: `alpha` (k,) on its diagonal, `beta` (k − 1,) beside it."""

    alpha: Array
    beta: Array

    @property
    def rank(self) -> int:
        return len(self.alpha)

    @property
    def matrix(self) -> Array:
        """T in full.

        >>> Tridiagonal(np.array([2.0, 3.0]), np.array([1.0])).matrix.tolist()
        [[2.0, 1.0], [1.0, 3.0]]
        """
        return np.diag(self.alpha) + np.diag(self.beta, 1) + np.diag(self.beta, -1)

    def eigen(self) -> tuple[Array, Array]:
        """Eigenvalues (k,), ascending, and eigenvectors (k, k) in columns."""
        if self.rank == 0:
            return np.zeros(0), np.zeros((0, 0))
        values, vectors = eigh_tridiagonal(self.alpha, self.beta)
        return np.asarray(values), np.asarray(vectors)


class Outcome(Enum):
    """How a decomposition ended; the value is the sentence, with {rank} and {residual} to be filled in."""

    EXHAUSTED = "{rank} vectors span all that the operator acts on: Q T Qᵀ is the operator, to rounding"
    INVARIANT = (
        "the Krylov space of the start ended after {rank} vectors: Q T Qᵀ is the operator on it, and says nothing of "
        "what the start had no part in; give a generator to go on outside it"
    )
    TRUNCATED = (
        "{rank} vectors as asked, with {residual:.1e} of the operator's size left beside the last one; raise the rank "
        "where the approximation is not close enough"
    )


@dataclass(frozen=True)
class Decomposition:
    """Q T Qᵀ: `Q` (N, k) orthonormal, beginning with the start's direction, and `T` tridiagonal.

    `residual`: the length of what is outside Q of the last product, over that of the longest product.
    """

    Q: Array
    T: Tridiagonal
    outcome: Outcome
    residual: float

    @property
    def rank(self) -> int:
        return self.T.rank

    @property
    def message(self) -> str:
        """What happened, in a sentence."""
        return self.outcome.value.format(rank=self.rank, residual=self.residual)

    def times(self, V: Array) -> Array:
        """Q T Qᵀ V for V (N, p)."""
        return matmul(self.Q, matmul(self.T.matrix, matmul(self.Q.T, V)))

    @property
    def root(self) -> Array:
        """R (N, r), r ≤ k, with R Rᵀ = Q T Qᵀ, where that has no negative eigenvalue beyond rounding."""
        values, vectors = self.T.eigen()
        rounding = _ROUNDING * float(np.max(np.abs(values), initial=0.0))
        if np.any(values < -rounding):
            raise NumericalError(
                f"Q T Qᵀ has an eigenvalue {values[0]:.1e} beside {values[-1]:.1e} and no real root; "
                "decompose a positive semidefinite operator"
            )
        some = values > rounding
        return matmul(self.Q, vectors[:, some] * np.sqrt(values[some]))


def lanczos(rank: int, tolerance: float = _ROUNDING) -> Callable[..., Decomposition]:
    """(apply, start, rng=None) -> Decomposition of the symmetric operator `apply`, V (N, p) -> A V, by `rank` products.

    It ends earlier where what is left of a product outside Q is below `tolerance` of the operator's size: with a
    generator it then goes on from a new random vector, unless the operator is nothing there.

    >>> A = np.diag([3.0, 2.0, 2.0, 0.0, 0.0])
    >>> lanczos(5)(lambda V: A @ V, np.ones(5)).message.split(":")[0]
    'the Krylov space of the start ended after 3 vectors'
    >>> all_of_it = lanczos(5)(lambda V: A @ V, np.ones(5), np.random.default_rng(0))
    >>> all_of_it.outcome.name, bool(np.allclose(all_of_it.times(np.eye(5)), A))
    ('EXHAUSTED', True)
    """

    def decompose(apply: Operator, start: Array, rng: np.random.Generator | None = None) -> Decomposition:
        most = min(rank, len(start))
        Q = np.empty((len(start), most), order="F")
        alpha, beta = np.zeros(most), np.zeros(most)  # beta[k] leads to the vector k, and beta[0] is not of T
        w, left, size, k = start, _norm(start), 0.0, 0
        while True:
            if k == len(start):
                outcome = Outcome.EXHAUSTED
                break
            link = left
            if left <= tolerance * size:
                fresh = None if rng is None else _elsewhere(apply, Q[:, :k], tolerance * size, rng)
                if fresh is None:
                    outcome = Outcome.INVARIANT if rng is None else Outcome.EXHAUSTED
                    break
                w, left, link = fresh, _norm(fresh), 0.0
            if k == most:
                outcome = Outcome.TRUNCATED
                break
            beta[k] = link
            Q[:, k] = w / left
            w = apply(Q[:, k : k + 1])[:, 0]
            alpha[k], size = Q[:, k] @ w, max(size, _norm(w))
            k += 1
            w = _outside(w, Q[:, :k])
            left = _norm(w)
        residual = left / size if size > 0.0 else 0.0
        return Decomposition(np.ascontiguousarray(Q[:, :k]), Tridiagonal(alpha[:k], beta[1:k]), outcome, residual)

    return decompose


def _norm(v: Array) -> float:
    return float(np.linalg.norm(v))


def _outside(w: Array, Q: Array) -> Array:
    """w without its part in the span of Q, projected twice."""
    for _ in range(2):
        w = w - matmul(Q, matmul(Q.T, w))
    return w


def _elsewhere(apply: Operator, Q: Array, rounding: float, rng: np.random.Generator) -> Array | None:
    """A vector orthogonal to Q (which A maps into its own span), or None where A is nothing outside Q.

    A times a random unit vector, not that vector itself: it also has a part where A is nothing, and would spend a
    column of Q on it.
    """
    q = _outside(rng.normal(size=len(Q)), Q)
    w = _outside(apply(q[:, None] / _norm(q))[:, 0], Q)
    return w if _norm(w) > rounding else None
