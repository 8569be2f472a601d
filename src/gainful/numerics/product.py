"""Products with K = K₁ ∘ K₂ ∘ … ∘ K_d, each factor known only through products (Gardner et al. 2018, "SKIP").

(K₁ ∘ K₂) v = diag(K₁ D_v K₂). With K_i ≈ Q_i T_i Q_iᵀ of rank k this is row i of Q₁ times T₁ (Q₁ᵀ D_v Q₂) T₂ times row
i of Q₂: O(k² N). So a product of two decomposed factors is known through products again, and can be decomposed itself:
d factors are merged in a balanced tree with d − 2 decompositions of pairs, and the last pair is used as it is.

K can have the product of the factors' ranks. Where that is high (short lengthscales, many dimensions) the last pair's,
k² at most, is not enough: every decomposition says how far off it is, and `product_error` says it of the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gainful.errors import InvalidInput
from gainful.numerics.blas import matmul
from gainful.numerics.lanczos import Decomposition, Operator, Outcome, Tridiagonal, lanczos
from gainful.numerics.memory import blocks

__all__ = [
    "BLOCK",
    "HadamardProduct",
    "Merged",
    "Step",
    "diagonal",
    "merge",
    "met",
    "product_error",
    "side_by_side",
    "slopes",
]

Array = NDArray[np.float64]

BLOCK = 2**19  # bytes of each of two working arrays: small enough to stay in the cache, and in memory at any N
_ROUNDING = 1e-13  # of the largest eigenvalue: smaller ones have no digits left
_OF_WORKING = 16  # parts of working memory, of which one is used


@dataclass(frozen=True)
class HadamardProduct:
    """(Q₁ T₁ Q₁ᵀ) ∘ (Q₂ T₂ Q₂ᵀ).

    >>> A = lanczos(2)(lambda V: np.diag([1.0, 2.0]) @ V, np.ones(2))
    >>> HadamardProduct(A, A).times(np.eye(2)).round(10).tolist()
    [[1.0, 0.0], [0.0, 4.0]]
    """

    left: Decomposition
    right: Decomposition

    def times(self, V: Array) -> Array:
        """The product with V (N, p): O(k² N) for each column, with two working arrays of `BLOCK` bytes.

        As many columns as fit are done at once, as Q₁ᵀ [D_v₁ Q₂ … D_v_p Q₂] and back, a block of rows at a time.
        """
        Q, R = self.left.Q, self.right.Q
        out = np.empty(V.shape)
        k = R.shape[1]
        if 0 in (self.left.rank, k):
            return np.zeros(V.shape)
        for columns in self._columns(V.shape[1]):
            part = V[:, columns]
            p = part.shape[1]
            middle = matmul(self.left.T.matrix, self._between(part))
            middle = matmul(middle.reshape(-1, k), self.right.T.matrix).reshape(-1, p * k)
            for rows in self._rows(p):
                near = matmul(Q[rows], middle).reshape(-1, p, k)
                out[rows, columns] = np.einsum("npk,nk->np", near, R[rows])
        return out

    def within(self, V: Array) -> Array:
        """Q₁ᵀ D_v Q₂ for each column v of V (N, p), its entries in C order as a column: (k₁ k₂, p)."""
        out = np.empty((self.left.rank, self.right.rank, V.shape[1]))
        for columns in self._columns(V.shape[1]):
            found = self._between(V[:, columns]).reshape(self.left.rank, -1, self.right.rank)
            out[:, :, columns] = found.transpose(0, 2, 1)
        return out.reshape(-1, V.shape[1])

    def _between(self, V: Array) -> Array:
        """Q₁ᵀ [D_v₁ Q₂ … D_v_p Q₂], (k₁, p k₂)."""
        Q, R = self.left.Q, self.right.Q
        width = V.shape[1] * R.shape[1]
        total = np.zeros((Q.shape[1], width))
        for rows in self._rows(V.shape[1]):
            total += matmul(Q[rows].T, (V[rows, :, None] * R[rows, None, :]).reshape(-1, width))
        return total

    def _columns(self, count: int) -> Iterator[slice]:
        """So many at once that 64 rows fit with them."""
        most = max(1, BLOCK // (8 * 64 * max(self.right.rank, 1)))
        return (slice(first, min(first + most, count)) for first in range(0, count, most))

    def _rows(self, columns: int) -> Iterator[slice]:
        most = max(1, BLOCK // (8 * columns * max(self.right.rank, 1)))
        return (slice(first, first + most) for first in range(0, len(self.left.Q), most))

    @property
    def diagonal(self) -> Array:
        """(N,)."""
        return diagonal(self.left) * diagonal(self.right)

    def column(self, i: int) -> Array:
        """Column i (N,), in O(k N)."""
        return _column(self.left, i) * _column(self.right, i)


def diagonal(form: Decomposition) -> Array:
    """That of Q T Qᵀ, (N,)."""
    return np.asarray(np.einsum("nk,nk->n", matmul(form.Q, form.T.matrix), form.Q))


def _column(form: Decomposition, i: int) -> Array:
    return matmul(form.Q, matmul(form.T.matrix, form.Q[i]))


@dataclass(frozen=True, eq=False)
class Step:
    """One decomposition on the way: of the product of these factors, and its relative error in Frobenius norm.

    The error is against what was decomposed (which for a pair, `parts`, holds the errors of its parts), as random
    probes see it.
    """

    factors: tuple[int, ...]
    form: Decomposition
    error: float
    parts: tuple[Step, Step] | None

    @property
    def rank(self) -> int:
        return self.form.rank

    @property
    def outcome(self) -> Outcome:
        return self.form.outcome

    @cached_property
    def _eigen(self) -> tuple[Array, Array]:
        """Roots s (r,) of the eigenvalues of T that stand above rounding, and their vectors V (k, r)."""
        values, vectors = self.form.T.eigen()
        some = values > _ROUNDING * np.max(values, initial=0.0)
        return np.sqrt(values[some]), vectors[:, some]

    @property
    def root(self) -> Array:
        """A = V diag(s), (k, r), with A Aᵀ = T to rounding: F = Q A among the places that were decomposed."""
        s, V = self._eigen
        return V * s

    def features(self, rows: Callable[[int, Array], Array]) -> Array:
        """F (M, r) at M other places: F Fᵀ is Q T Qᵀ among them, and F (Q A)ᵀ between them and those decomposed.

        F = k(x, Z) Q V / s, so that F (Q A)ᵀ continues the columns of Q T Qᵀ, and one positive matrix holds all, as in
        the Nyström method. `rows` (i, V) gives k_i(x, Z) V of factor i, and is asked for a single factor's Q alone.
        """
        if self.parts is None:
            s, V = self._eigen
            return matmul(rows(self.factors[0], self.form.Q), V / s)
        return matmul(side_by_side(*(part.features(rows) for part in self.parts)), self._met)

    @cached_property
    def _met(self) -> Array:
        """Σ_n f₁ₙₐ f₂ₙᵦ qₙ V / s of the parts' features and the vectors of the product, (r₁ r₂, r)."""
        assert self.parts is not None
        s, V = self._eigen
        return met(*self.parts, matmul(self.form.Q, V / s))


def met(left: Step, right: Step, V: Array) -> Array:
    """Σ_n f₁ₙₐ f₂ₙᵦ vₙ for each column v of V (N, p), from the features of two steps among the places: (r₁ r₂, p)."""
    within = HadamardProduct(left.form, right.form).within(V).reshape(left.rank, right.rank, -1)
    found = np.einsum("ka,klp,lb->abp", left.root, within, right.root, optimize=True)
    return np.ascontiguousarray(found).reshape(left.root.shape[1] * right.root.shape[1], -1)


def side_by_side(A: Array, B: Array) -> Array:
    """Each row of A (M, k) times each entry of that of B (M, l): (M, k l)."""
    return np.asarray((A[:, :, None] * B[:, None, :]).reshape(len(A), A.shape[1] * B.shape[1]))


@dataclass(frozen=True, eq=False)
class Merged:
    """K = K₁ ∘ … ∘ K_d as products `times`, V (N, p) -> K V, and the decompositions that made it.

    `last` is the pair that is used as it is, and `ends` are its two decompositions; None for a single factor, whose
    own products are used.
    """

    times: Operator
    last: HadamardProduct | None
    steps: tuple[Step, ...]
    ends: tuple[Step, Step] | None = None


def merge(
    factors: Sequence[Operator],
    size: int,
    rank: int,
    rng: np.random.Generator,
    probes: int = 4,
    steps: int = 0,
) -> Merged:
    """The Hadamard product of d ≥ 1 factors, each V (size, p) -> K_i V with K_i positive semidefinite.

    Halves are merged first, so that no decomposition stands for more than half of all factors; one factor alone is
    used as it is. d > 1 takes d decompositions of factors and d − 2 of pairs, each by at most `rank` + `probes` + 1
    products, and leaves (2d − 2) · rank · size numbers, of which products need those of `last`.

    With `steps` above the rank, each decomposition is the best that so many products show: twice the rank makes the
    error three to six times as small at the same rank, and the product a smooth function of what the factors depend on.

    >>> x = np.linspace(0.0, 1.0, 40)
    >>> K = np.exp(-0.5 * np.subtract.outer(x, x) ** 2)
    >>> merged = merge([lambda V: K @ V] * 3, 40, 15, np.random.default_rng(0))
    >>> [step.factors for step in merged.steps], bool(np.allclose(merged.times(np.eye(40)), K**3))
    ([(0,), (1,), (2,), (1, 2)], True)
    """
    if not factors:
        raise InvalidInput("factors", "at least one", "none", "give the products of each factor")
    if len(factors) == 1:
        return Merged(factors[0], None, ())
    made: list[Step] = []

    def decomposed(which: tuple[int, ...]) -> Step:
        parts = None if len(which) == 1 else halves(which)
        apply = factors[which[0]] if parts is None else HadamardProduct(parts[0].form, parts[1].form).times
        form = _decompose(apply, size, rank, steps, rng)
        Z = rng.normal(size=(size, probes))
        made.append(Step(which, form, _relative(form.times(Z), apply(Z)), parts))
        return made[-1]

    def halves(which: tuple[int, ...]) -> tuple[Step, Step]:
        middle = len(which) // 2
        return decomposed(which[:middle]), decomposed(which[middle:])

    left, right = halves(tuple(range(len(factors))))
    last = HadamardProduct(left.form, right.form)
    return Merged(last.times, last, tuple(made), (left, right))


def slopes(merged: Merged, U: Array, V: Array, less: Array) -> Iterator[tuple[int, Array, Array]]:
    """(i, A, B) for each of d ≥ 2 factors: dL/dK_i = ½ (A Bᵀ + B Aᵀ), with A and B (N, k), from that in their product,
    U Vᵀ − diag(less) with U and V (N, p) and less (N,).

    Down the tree, with P = Q Qᵀ for each decomposition P K P: if K changes, Q turns towards what was left out of it, so
    that the derivative is P K′ + K′ P − P K′ P, not P K′ P; exactly so as far as Q spans eigenvectors, and what was
    left out is small. O(k³ N) for each decomposition, O(p k² N) for the last two.

    >>> x = np.linspace(0.0, 1.0, 40)
    >>> K = [np.exp(-0.5 * np.subtract.outer(x, x) ** 2 / length**2) for length in (1.0, 2.0, 3.0)]
    >>> merged = merge([lambda V, K=K: K @ V for K in K], 40, 15, np.random.default_rng(0))
    >>> u, v = np.cos(x), np.exp(x)
    >>> found = slopes(merged, u[:, None], v[:, None], np.zeros(40))
    >>> [(i, bool(np.isclose(np.sum(K[i] * (A @ B.T)), u @ (K[0] * K[1] * K[2]) @ v))) for i, A, B in found]
    [(0, True), (1, True), (2, True)]
    """

    def under(step: Step, beside: Decomposition, U: Array, V: Array, less: Array) -> Iterator[tuple[int, Array, Array]]:
        Q = step.form.Q
        # G Q with G = dL/d of what was decomposed, made symmetric. P G + G P − P G P is then A Qᵀ but for symmetry.
        GQ = 0.5 * (_through(U, V, beside, Q) + _through(V, U, beside, Q)) - (less * diagonal(beside))[:, None] * Q
        A = 2.0 * GQ - matmul(Q, matmul(Q.T, GQ))
        if step.parts is None:
            yield step.factors[0], A, Q
            return
        for part, other in (step.parts, step.parts[::-1]):
            yield from under(part, other.form, A, Q, np.zeros(len(Q)))

    if merged.ends is not None:
        for end, other in (merged.ends, merged.ends[::-1]):
            yield from under(end, other.form, U, V, less)


def _through(U: Array, V: Array, beside: Decomposition, Q: Array) -> Array:
    """(U Vᵀ ∘ F) Q = Σ_j D_u_j F D_v_j Q, (N, k), with F that is beside."""
    R = matmul(beside.Q, beside.T.matrix)
    width = U.shape[1] * R.shape[1]
    met, out = np.zeros((width, Q.shape[1])), np.empty(Q.shape)
    for rows in blocks(len(Q), _OF_WORKING * width):
        met += matmul(side_by_side(V[rows], beside.Q[rows]).T, Q[rows])
    for rows in blocks(len(Q), _OF_WORKING * width):
        out[rows] = matmul(side_by_side(U[rows], R[rows]), met)
    return out


def _decompose(apply: Operator, size: int, rank: int, steps: int, rng: np.random.Generator) -> Decomposition:
    """Q T Qᵀ from so many steps of Lanczos; where they exceed the rank, of the largest Ritz values alone."""
    # A times a random vector has no part where A is nothing, and less where A is small; one of positive numbers
    # is near the first eigenvector of a covariance that is positive throughout, and nowhere else the worse for it.
    form = lanczos(max(rank, steps))(apply, apply(rng.random((size, 1)))[:, 0], rng)
    if form.rank <= rank:
        return form
    values, vectors = form.T.eigen()
    kept, left = values[-rank:], float(values[-rank - 1] / values[-1])
    return Decomposition(
        matmul(form.Q, np.ascontiguousarray(vectors[:, -rank:])),
        Tridiagonal(kept, np.zeros(rank - 1)),
        Outcome.TRUNCATED,
        left,
    )


def product_error(
    factors: Sequence[Operator], merged: Operator, size: int, rng: np.random.Generator, probes: int = 50
) -> float:
    """|K̂ − K|/|K| in Frobenius norm, of `merged` K̂ against the Hadamard product K of the factors themselves.

    From columns drawn at random, since a column of K is the product of the factors' columns: `probes` products with
    each. Outlying places can hold most of the error, so a few columns may see too little of it; `size` of them see all.
    It is also the root mean square of |K̂v − Kv| over that of |Kv| for normal v.
    """
    places = rng.choice(size, size=min(probes, size), replace=False)
    units = np.zeros((size, len(places)))
    units[places, np.arange(len(places))] = 1.0
    exact = np.ones_like(units)
    for factor in factors:
        exact *= factor(units)
    return _relative(merged(units), exact)


def _relative(found: Array, exact: Array) -> float:
    """|found − exact|/|exact|, 0 where both are nothing."""
    apart, size = float(np.linalg.norm(found - exact)), float(np.linalg.norm(exact))
    return apart / size if size > 0.0 else apart
