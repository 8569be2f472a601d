"""Product kernel interpolation: a kernel that factors over dimensions, from grids along each (Gardner et al. 2018).

    K = K₁ ∘ … ∘ K_D,  K_d ≈ W_d T_d W_dᵀ

with W_d the weights of local cubic interpolation along dimension d, four for each place, and T_d a Toeplitz matrix.
The factors are decomposed by Lanczos and merged in pairs (`numerics/product.py`), so that the whole is K̂ = (Q₁ T₁ Q₁ᵀ)
∘ (Q₂ T₂ Q₂ᵀ), of rank k² at most, with products in O(k² N). Grids are as many as there are dimensions, not as many
as their product: this is for more dimensions than `SKI` can take.

Two things keep what K̂ leaves out from doing harm, since an error that is small beside K is often large beside the
noise. What is missing of each variance is added to K̂ as if it were noise (as Snelson & Ghahramani 2006 do for inducing
points). And the covariance with other places, and among these, is continued from K̂ itself, not taken from the kernel: α
is as large as one over the noise in directions that K̂ does not have, and the kernel would let them through; and where
the readings are more precise than K̂ is near the kernel, what they take off the kernel can be more than there is. So
readings and places have one positive matrix as their prior, and what is believed is positive as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from gainful.checks import finite_table, listed, require_count, require_kind
from gainful.errors import InvalidInput
from gainful.inference.engines.base import EngineBelief, read
from gainful.inference.engines.krylov import KrylovBelief, Solver, krylov_belief, require_finite
from gainful.inference.engines.metric import column_scales
from gainful.inference.engines.ski import as_counts, as_over
from gainful.kernels.base import Kernel, Sum
from gainful.layout import Layout
from gainful.means import Mean
from gainful.numerics.blas import matmul
from gainful.numerics.block_toeplitz import BlockToeplitz
from gainful.numerics.interpolation import Grid, weights_1d
from gainful.numerics.lanczos import Operator
from gainful.numerics.product import HadamardProduct, Merged, Step, merge, met, side_by_side, slopes

__all__ = ["SKIP", "Factor", "ProductOperator", "SumOperator", "factors", "require_product", "summands"]

Array = NDArray[np.float64]

_FEWEST = 6  # points along a dimension
_STEPS = 2  # of Lanczos for each vector that is kept
_COMPARED = 32  # columns of the product that are held against the kernel's
_PAIRS, _EQUAL = 32, 1e-9  # places at which a kernel is looked at for being a product, and how near it must be
_SIZES = 2.0 ** np.arange(-3, 5)  # of the steps between them, in those that change f by a twentieth of its variance


@dataclass(frozen=True)
class SKIP:
    """Interpolation along each dimension, for numbers read at places under a kernel that is a product over dimensions.

    Such are SE with one or many lengthscales, products of kernels of distances along one dimension each,
    `k.on(0) * k2.on(1)`, constants among them, and sums of these.

    rank: of each decomposition. Time is in proportion to its square for a product and to its cube for the first one.
    grid: points along each dimension, one number for all or one for each.
    over: places that the grids have to reach beyond those of the data, such as the corners of what will be predicted.
    """

    rank: int = 60
    grid: int | tuple[int, ...] = 100
    over: ArrayLike | None = None
    solver: Solver = field(default_factory=Solver)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rank", require_count("rank", self.rank, 1, "30 to 100 are usual"))
        object.__setattr__(self, "grid", as_counts(self.grid, _FEWEST))
        object.__setattr__(self, "over", as_over(self.over))
        require_kind("solver", self.solver, Solver, "a Solver", "such as Solver(tolerance=1e-6)")

    def believe(self, mean: Mean, kernel: Kernel, layout: Layout, start: EngineBelief | None = None) -> KrylovBelief:
        readings = read(self, mean, layout)
        X, D = readings.X, readings.X.shape[1]
        if self.over is not None and np.shape(self.over)[1] == D - 1:  # corners of a space
            expected, remedy = "one function of the space for SKIP()", "Vecchia(), Inducing() or Iterative() take any"
            raise InvalidInput("inference", expected, "several outputs, or too few columns in `over`", remedy)
        every = X if self.over is None else np.concatenate([X, finite_table("over", self.over, D)])
        grid = Grid.covering(every, self.grid if listed(self.grid) is None else list(self.grid))  # type: ignore[arg-type]
        terms = summands(kernel)
        for term in terms:
            require_product(term, every, grid)
        operator = SumOperator(tuple(ProductOperator(term, X, grid, self.rank, self.solver.seed) for term in terms))
        return require_finite(krylov_belief(mean, kernel, readings, operator, self.solver))


def summands(kernel: Kernel) -> tuple[Kernel, ...]:
    """The terms of a sum, in the order of its theta; a kernel that is none, alone.

    >>> from gainful.kernels import SE, Constant
    >>> [type(term).__name__ for term in summands(SE() + (SE().on(0) * SE().on(1) + Constant()))]
    ['SE', 'Product', 'Constant']
    """
    return summands(kernel.left) + summands(kernel.right) if isinstance(kernel, Sum) else (kernel,)


@dataclass(frozen=True, eq=False)
class Factor:
    """c(|x_d − z_d|) along one dimension, interpolated from a grid: `points` (m, D) are the grid's, moved along the
    dimension from the first of them, c is k(first, points) as it is, or over k(first, first) if `normed`.

    So the product of factors of which all but one are normed is the kernel, and the slope of each in the kernel's theta
    is a pullback of the kernel itself.
    """

    kernel: Kernel
    dimension: int
    points: Array
    start: float
    step: float
    normed: bool

    @cached_property
    def among(self) -> BlockToeplitz:
        """T, with c as its values."""
        values = self.kernel.matrix(self.points[:1], self.points)[0]
        return BlockToeplitz(values / values[0] if self.normed else values)

    def near(self, X: Array) -> tuple[NDArray[np.intp], Array]:
        """Indices and weights of the grid's points around each of X (M, D), (M, 4) each."""
        return weights_1d(self.start, self.step, len(self.points), X[:, self.dimension], dimension=self.dimension)

    def weights(self, X: Array) -> csr_array:
        """W (M, m)."""
        index, weight = self.near(X)
        ends = np.arange(0, 4 * len(X) + 1, 4)
        return csr_array((weight.ravel(), index.ravel(), ends), shape=(len(X), len(self.points)))

    def pulled(self, G: Array) -> Array:
        """dL/dtheta (P,) from G = dL/dc (m,), of c/c₀ alone: d(k/k₀) = (dk − k/k₀ dk₀)/k₀, and k₀ is the first of k."""
        K, back = self.kernel.vjp(self.points[:1], self.points)
        values = self.among.values
        slope = G * (values[0] / K[0, 0])
        slope[0] -= slope @ values / values[0]
        return back(slope[None])


def factors(kernel: Kernel, grid: Grid) -> tuple[Factor, ...]:
    """Those of the dimensions that the kernel sees on the grid, one at least; the first has the kernel's variance.

    >>> from gainful.kernels import SE
    >>> found = factors(2.0 * SE((0.5, 1.0)).on(0, 2), Grid((0.0,) * 3, (1.0,) * 3, (4, 4, 4)))
    >>> [(each.dimension, each.among.values.round(3).tolist()) for each in found]
    [(0, [2.0, 0.271, 0.001, 0.0]), (2, [1.0, 0.607, 0.135, 0.011])]
    """
    found: list[Factor] = []
    for d, (start, step, count) in enumerate(zip(grid.starts, grid.steps, grid.counts, strict=True)):
        points = np.tile(grid.starts, (count, 1))
        points[:, d] += step * np.arange(count)
        factor = Factor(kernel, d, points, start, step, bool(found))
        seen = bool(np.any(factor.among.values != factor.among.values[0]))
        if seen or (d == len(grid.counts) - 1 and not found):
            found.append(factor)
    return tuple(found)


def require_product(kernel: Kernel, X: Array, grid: Grid) -> None:
    """Refuse a kernel that is not the product of its factors, by its values between places of the grid: at distances of
    all sizes, since far apart every covariance is nothing, and close together every one is the variance."""
    rng = np.random.default_rng(0)
    low, high = (np.array(ends) for ends in zip(*map(grid.interior, range(X.shape[1])), strict=True))
    scales = column_scales(kernel, X)
    step = np.where(scales > 0.0, 1.0 / np.where(scales > 0.0, scales, 1.0), high - low)
    a = low + (high - low) * rng.random((len(_SIZES) * _PAIRS, len(low)))
    b = np.clip(a + np.repeat(_SIZES, _PAIRS)[:, None] * step * rng.normal(size=a.shape), low, high)
    first = float(kernel.diag(X[:1])[0])
    product = np.full(len(a), first)
    with np.errstate(all="ignore"):  # just beyond the data a kernel may not be defined, of a logarithm for instance
        for d in range(len(low)):
            moved = np.tile(low, (len(a), 1))
            moved[:, d] += np.abs(b - a)[:, d]
            product *= kernel.rowwise(np.tile(low, (len(a), 1)), moved) / first
        off = max(np.max(np.abs(kernel.rowwise(a, b) - product)), np.max(np.abs(kernel.diag(a) - first)))
    if not off <= _EQUAL * first:
        expected = "products of kernels of distances along one dimension each for SKIP(), such as SE, or sums of these"
        raise InvalidInput("inference", expected, kernel, "Vecchia(), Inducing() or Iterative() take any")


@dataclass(frozen=True, eq=False)
class ProductOperator:
    """K̂ + diag(missed) among X (N, D), with K̂ of the factors' decompositions and `missed` what it lacks of k(x, x).

    Covariances with other places and among them are those of K̂, continued; a place takes O(D k³) once and O(k²) for
    each column that it is projected on, however many readings there are. A place has what K̂ lacks of its k(x, x) in
    common with itself alone.
    """

    kernel: Kernel
    X: Array
    grid: Grid
    rank: int
    seed: int = 0

    @property
    def each(self) -> int:
        return 3 * self.rank**2 + 8 * self.rank * len(self._factors)

    @cached_property
    def _factors(self) -> tuple[Factor, ...]:
        return factors(self.kernel, self.grid)

    @cached_property
    def _weights(self) -> tuple[csr_array, ...]:
        return tuple(factor.weights(self.X) for factor in self._factors)

    @cached_property
    def _transposed(self) -> tuple[csr_array, ...]:
        return tuple(W.T.tocsr() for W in self._weights)

    def _times(self, i: int, V: Array) -> Array:
        """W T Wᵀ V of one factor."""
        return np.asarray(self._weights[i] @ self._spread(i, V))

    def _spread(self, i: int, V: Array) -> Array:
        """T Wᵀ V, (m, p), from which weights make k_i(x, Z) V anywhere."""
        return self._factors[i].among.times(np.asarray(self._transposed[i] @ V))

    @cached_property
    def merged(self) -> Merged:
        """The decompositions. A single factor is paired with one of ones, and has all the rank that its grid has."""
        products: list[Operator] = [partial(self._times, i) for i in range(len(self._factors))]
        rank = self.rank
        if len(products) == 1:
            products.append(lambda V: np.broadcast_to(V.sum(axis=0), V.shape))
            rank = max(self._factors[0].among.size, rank)
        return merge(products, len(self.X), rank, np.random.default_rng(self.seed), steps=_STEPS * rank)

    @cached_property
    def _last(self) -> HadamardProduct:
        assert self.merged.last is not None
        return self.merged.last

    @cached_property
    def missed(self) -> Array:
        """What K̂ lacks of each variance, (N,); 0 where it has too much."""
        return np.maximum(self.kernel.diag(self.X) - self._last.diagonal, 0.0)

    def times(self, V: Array) -> Array:
        return self._last.times(V) + self.missed[:, None] * V

    def diagonal(self) -> Array:
        return self._last.diagonal + self.missed

    def column(self, i: int) -> Array:
        found = self._last.column(i)
        found[i] += self.missed[i]
        return found

    def pulled(self, U: Array, V: Array) -> Array:
        """In the variance by a product, in all else along each dimension with the variance as it is."""
        first = self.X[:1]
        value = float(np.einsum("np,np->", U, self.times(V)))
        total = self.kernel.vjp(first, first)[1](np.array([[value / float(self.kernel.diag(first)[0])]]))
        # The diagonal has no other slope, where it is the kernel's.
        own = np.where(self.missed > 0.0, np.einsum("np,np->n", U, V), 0.0)
        for i, A, B in slopes(self.merged, U, V, own):
            if i < len(self._factors):
                W = self._transposed[i]
                total += self._factors[i].pulled(self._factors[i].among.pulled(np.asarray(W @ A), np.asarray(W @ B)))
        return total

    @cached_property
    def _ends(self) -> tuple[Step, Step]:
        assert self.merged.ends is not None
        return self.merged.ends

    def weigh(self, V: Array) -> Array:
        """F₁ᵀ D_v F₂ for each column, (r₁ r₂, p), with the features of the last pair."""
        return met(*self._ends, V)

    @property
    def weighs(self) -> int:
        """r₁ r₂."""
        left, right = self._ends
        return left.root.shape[1] * right.root.shape[1]

    def project(self, X: Array, weighed: Array) -> Array:
        return matmul(side_by_side(*self._features(X)), weighed)

    def _features(self, X: Array) -> tuple[Array, Array]:
        """F₁ and F₂ with K̂ = (F₁ F₁ᵀ) ∘ (F₂ F₂ᵀ), (M, r₁) and (M, r₂), at any places."""
        near = [factor.near(X) for factor in self._factors]

        def rows(i: int, Q: Array) -> Array:
            if i == len(self._factors):  # the factor of ones
                return np.broadcast_to(Q.sum(axis=0), (len(X), Q.shape[1]))
            index, weight = near[i]
            return np.asarray(np.einsum("mk,mkq->mq", weight, self._spreads[i][index]))

        left, right = self._ends
        return left.features(rows), right.features(rows)

    @cached_property
    def _spreads(self) -> dict[int, Array]:
        """T Wᵀ Q of each factor's own vectors."""
        alone = {step.factors[0]: step.form.Q for step in self.merged.steps if step.parts is None}
        return {i: self._spread(i, Q) for i, Q in alone.items() if i < len(self._factors)}

    def variance(self, X: Array) -> Array:
        """That of K̂ and what it lacks of k(x, x)."""
        return np.maximum(self._own(*self._features(X)), self.kernel.diag(X))

    def between(self, X: Array, Z: Array) -> Array:
        (left, right), (there, beside) = self._features(X), self._features(Z)
        found = matmul(left, there.T)
        found *= matmul(right, beside.T)
        seen = [factor.dimension for factor in self._factors]
        i, j = _same(X[:, seen], Z[:, seen])
        missed = np.maximum(self.kernel.diag(Z) - self._own(there, beside), 0.0)
        found[i, j] += missed[j]
        return found

    def _own(self, left: Array, right: Array) -> Array:
        """K̂(x, x), (M,), from the features of places."""
        return np.asarray(np.einsum("mr,mr->m", left, left) * np.einsum("mr,mr->m", right, right))


def _same(X: Array, Z: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """i and j of all pairs with X_i = Z_j."""
    number = np.unique(np.concatenate([X, Z]), axis=0, return_inverse=True)[1].reshape(-1)
    i, j = np.nonzero(number[: len(X), None] == number[len(X) :])
    return i, j


@dataclass(frozen=True, eq=False)
class SumOperator:
    """The sum of products, one at least; their thetas one after the other."""

    terms: tuple[ProductOperator, ...]

    @property
    def each(self) -> int:
        return sum(term.each for term in self.terms)

    @cached_property
    def product_error(self) -> float:
        """Of `times`, relative to the kernel's matrix in Frobenius norm, as some columns of that see it."""
        apart, size = self._apart
        return apart / size

    def off(self, noise: Array) -> str:
        """How far products are off, in words, beside the variance of the readings' noise.

        What is believed depends on K̂ + noise: it is that of the kernel as far as the largest eigenvalue of K̂ − K is
        small beside the noise, and that is at most the Frobenius norm.
        """
        beside = self._apart[0] / float(np.median(noise))
        return f"products are off by {self.product_error:.1e}, at most {beside:.2g} times the noise"

    @cached_property
    def _apart(self) -> tuple[float, float]:
        """|K̂ − K| and |K| in Frobenius norm."""
        X = self.terms[0].X
        N = len(X)
        some = np.random.default_rng(self.terms[0].seed).choice(N, size=min(_COMPARED, N), replace=False)
        units = np.zeros((N, len(some)))
        units[some, np.arange(len(some))] = 1.0
        exact = sum((term.kernel.matrix(X, X[some]) for term in self.terms), np.zeros(units.shape))
        scale = float(np.sqrt(N / len(some)))
        return scale * float(np.linalg.norm(self.times(units) - exact)), scale * float(np.linalg.norm(exact))

    def times(self, V: Array) -> Array:
        return sum((term.times(V) for term in self.terms), np.zeros(V.shape))

    def diagonal(self) -> Array:
        return sum((term.diagonal() for term in self.terms), np.zeros(len(self.terms[0].X)))

    def column(self, i: int) -> Array:
        return sum((term.column(i) for term in self.terms), np.zeros(len(self.terms[0].X)))

    def pulled(self, U: Array, V: Array) -> Array:
        return np.concatenate([term.pulled(U, V) for term in self.terms])

    def weigh(self, V: Array) -> Array:
        return np.concatenate([term.weigh(V) for term in self.terms])

    def project(self, X: Array, weighed: Array) -> Array:
        ends = np.cumsum([term.weighs for term in self.terms])[:-1]
        parts = zip(self.terms, np.split(weighed, ends), strict=True)
        return sum((term.project(X, part) for term, part in parts), np.zeros((len(X), weighed.shape[1])))

    def variance(self, X: Array) -> Array:
        return sum((term.variance(X) for term in self.terms), np.zeros(len(X)))

    def between(self, X: Array, Z: Array) -> Array:
        return sum((term.between(X, Z) for term in self.terms), np.zeros((len(X), len(Z))))
