"""What a kernel is: a covariance function that is a value, and its pullback.

    k(X, Z)                       the matrix K (N, M); with a batch of S parameter settings (S, N, M)
    K, back = k.vjp(X, Z)         the matrix, and G = dL/dK -> dL/dtheta, with no stack of derivative matrices
    K, back = k.vjp_inputs(X, Z)  the same in the places: G -> dL/dX (N, D), holding Z fixed
    k.diag(X)                     the diagonal of k(X, X), with `pullback_diag_inputs` for its inputs
    k.rowwise(X, Z)               k(x_i, z_i) for each pair of rows (N,), with `rowwise_vjp` for theta
    k + k, k * k, 2.0 * k, k.on(dims)

A kernel of one's own needs `matrix` and `diag`; what it does not say about derivatives is found by differences, at the
price of two to four more matrices for each parameter and each dimension.

Sum passes G to both sides; Product passes G∘K_other. That is the whole of differentiation here. A number in such an
expression is a `Constant`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.checks import column_names, finite_table, is_number, is_whole, listed, require_kind, require_names
from gainful.errors import InvalidInput
from gainful.parameters import Parametrised, Slot, positive

Array = NDArray[np.float64]
Pullback = Callable[[Array], Array]
Features = Callable[[Array], NDArray[np.complex128]]  # places (M, D) -> φ (M, F)

FAR = 10**9  # a column number that no table has
_STEP = 1e-3  # in theta, and
_PART = 1e-4  # of the extent of the places: where pullbacks are by differences
_BLOCK = 32  # rows of the small matrices whose diagonals are pairs of rows, where a kernel gives only matrices


@dataclass(frozen=True)
class Kernel(Parametrised, ABC):
    """A covariance function; see the module for its verbs."""

    @abstractmethod
    def matrix(self, X: Array, Z: Array) -> Array:
        """K (N, M) for places X (N, D) and Z (M, D), already arrays of floats."""

    @abstractmethod
    def diag(self, X: Array) -> Array:
        """k(x, x) for each row, (N,)."""

    def vjp(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        """K and the map from G = dL/dK (N, M) to dL/dtheta (P,); by differences where there is no closed form."""
        return self.matrix(X, Z), lambda G: self._by_differences(lambda kernel: kernel.matrix(X, Z), G)

    def rowwise(self, X: Array, Z: Array) -> Array:
        """k(x_i, z_i) for each pair of rows of X and Z (N, D), (N,); with a batch of settings (S, N).

        >>> (Constant(2.0) + Constant(3.0)).rowwise(np.zeros((2, 1)), np.ones((2, 1))).tolist()
        [5.0, 5.0]
        """
        parts = [slice(i, i + _BLOCK) for i in range(0, max(len(X), 1), _BLOCK)]
        each = [np.diagonal(self.matrix(X[part], Z[part]), axis1=-2, axis2=-1) for part in parts]
        return np.concatenate(each, axis=-1)

    def rowwise_vjp(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        """`rowwise` and the map from g = dL/d of it (N,) to dL/dtheta (P,); by differences where there is no closed
        form."""
        return self.rowwise(X, Z), lambda g: self._by_differences(lambda kernel: kernel.rowwise(X, Z), g)

    def _by_differences(self, values: Callable[[Kernel], Array], G: Array) -> Array:
        """dL/dtheta (P,) from G = dL/d values."""
        theta = self.theta

        def along(i: int) -> Callable[[float], Array]:
            direction = np.arange(len(theta)) == i
            return lambda h: values(self.with_theta(theta + h * direction))

        return np.array([float(np.sum(G * slope(along(i), _STEP))) for i in range(len(theta))])

    def vjp_inputs(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        """K and the map from G = dL/dK (N, M) to dL/dX (N, D), with Z held fixed; by differences where there is no
        closed form."""

        def back(G: Array) -> Array:
            return _along_inputs(lambda moved: np.sum(G * self.matrix(moved, Z), axis=1), X, np.concatenate([X, Z]))

        return self.matrix(X, Z), back

    def pullback_diag_inputs(self, X: Array, g: Array) -> Array:
        """dL/dX (N, D) for g = dL/d diag(X), (N,); by differences where there is no closed form."""
        return _along_inputs(lambda moved: g * self.diag(moved), X, X)

    @property
    def slopes_together(self) -> bool:
        """Whether `vjp_inputs` takes a batch of settings, G (S, N, M) to one dL/dX (N, D) for all, and the diagonal has
        no slope in the inputs: posteriors that differ in their parameters alone can then be climbed as one."""
        return False

    def features(self, dimensions: int, count: int, rng: np.random.Generator) -> Features:
        """`count` random functions φ_j of places with so many coordinates, drawn independently, each with

            E[φ_j(x) φ_j(z)*] = k(x, z)

        and a phase that is uniform, so that sums and products of kernels are those of their functions (Rahimi & Recht
        2007). With normal a and b, Σ_j a_j Re φ_j + b_j Im φ_j over √count is a function from the prior.
        """
        raise without_features(self)

    def seen_together(self, columns: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
        """Of these columns, those that each term of the kernel sees at once: what no term sees together adds up.

        >>> (Constant() + Constant(2.0)).seen_together((0, 1))
        ()
        """
        return (columns,)

    def between(self, columns: tuple[int, ...]) -> frozenset[int]:
        """Of these columns, those in which it can be asked between any two values, as of a length; of levels and
        outputs there is nothing between.

        >>> sorted((Constant().on(0) * Constant().on(1)).between((0, 1)))
        []
        """
        return frozenset(columns)

    def touching(self, columns: AbstractSet[int]) -> Kernel | None:
        """The part of a sum that changes with one of these columns; None where no term does.

        >>> (Constant() + Constant(2.0)).touching({0}) is None
        True
        """
        return self

    def __call__(self, X: ArrayLike, Z: ArrayLike | None = None) -> Array:
        places = finite_table("X", X)
        others = places if Z is None else finite_table("Z", Z, names=column_names(X))
        if places.shape[1] != others.shape[1]:
            raise InvalidInput(
                "Z", f"places with {places.shape[1]} coordinates like X", others.shape, "use the same columns"
            )
        return self.matrix(places, others)

    def pullback(self, X: Array, Z: Array, G: Array) -> Array:
        """dL/dtheta (P,) for G = dL/dK (N, M)."""
        return self.vjp(X, Z)[1](G)

    def pullback_inputs(self, X: Array, Z: Array, G: Array) -> Array:
        """dL/dX (N, D) for G = dL/dK (N, M), with Z held fixed."""
        return self.vjp_inputs(X, Z)[1](G)

    def bind(self, names: Sequence[str]) -> Self:
        """The same kernel with the dimensions that it calls by name turned into column numbers."""
        changes = {
            f.name: getattr(self, f.name).bind(names) for f in fields(self) if isinstance(getattr(self, f.name), Kernel)
        }
        return replace(self, **changes)

    def on(self, dims: Sequence[int] | Sequence[str] | int | str, *more: int | str) -> On:
        """This kernel seeing only some columns, by number or by the names of the space's dimensions: one, a list, or
        several arguments."""
        several = listed(dims)
        return On(self, (*((dims,) if several is None else several), *more))

    def __add__(self, other: Kernel | float) -> Kernel:
        return Sum(self, _lift(other))

    def __radd__(self, other: float) -> Kernel:
        return Sum(_lift(other), self)

    def __mul__(self, other: Kernel | float) -> Kernel:
        return Product(self, _lift(other))

    def __rmul__(self, other: float) -> Kernel:
        return Product(_lift(other), self)


def without_features(kernel: Kernel) -> InvalidInput:
    """What is said of a kernel that has no random features."""
    remedy = "posterior.sample(X) draws at stated places under any kernel"
    return InvalidInput("kernel", "one that has random features, such as SE, Matern or Periodic", kernel, remedy)


def waves(frequencies: Array, size: Any, rng: np.random.Generator) -> Features:
    """x -> size · exp(i (w_j·x + θ_j)) for the rows w_j of `frequencies` (F, D), with uniform phases θ."""
    phases = rng.uniform(0.0, 2.0 * np.pi, len(frequencies))
    return lambda X: float(size) * np.exp(1j * (X @ frequencies.T + phases))


def planes(slopes: Array, size: Any, rng: np.random.Generator) -> Features:
    """x -> size · w_j·x · exp(iθ_j) for the rows w_j of `slopes` (F, D), with uniform phases θ."""
    turns = float(size) * np.exp(1j * rng.uniform(0.0, 2.0 * np.pi, len(slopes)))
    return lambda X: (X @ slopes.T) * turns


def batched(parameter: Any, axes: int) -> Array:
    """A scalar parameter, or a batch of them with `axes` axes to the right."""
    value = np.asarray(parameter, dtype=float)
    return value.reshape(value.shape + (1,) * axes) if value.ndim else value


class PiecewiseConstant(Kernel):
    """A kernel that has no slope in its places: a constant, or one that only knows which level a place is at."""

    def between(self, columns: tuple[int, ...]) -> frozenset[int]:
        return frozenset()

    def vjp_inputs(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        return self.matrix(X, Z), lambda G: np.zeros_like(X)

    def pullback_diag_inputs(self, X: Array, g: Array) -> Array:
        return np.zeros_like(X)

    @property
    def slopes_together(self) -> bool:
        return True


@dataclass(frozen=True)
class Constant(PiecewiseConstant):
    """k(x, z) = variance: an unknown offset."""

    variance: Any = positive(1.0, "variance")

    def seen_together(self, columns: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
        return ()

    def touching(self, columns: AbstractSet[int]) -> Kernel | None:
        return None

    def features(self, dimensions: int, count: int, rng: np.random.Generator) -> Features:
        return waves(np.zeros((count, dimensions)), np.sqrt(self.variance), rng)

    def matrix(self, X: Array, Z: Array) -> Array:
        return batched(self.variance, 2) * np.ones((len(X), len(Z)))

    def diag(self, X: Array) -> Array:
        return batched(self.variance, 1) * np.ones(len(X))

    def vjp(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        return self.matrix(X, Z), lambda G: np.array([self.variance * G.sum()])

    def rowwise(self, X: Array, Z: Array) -> Array:
        return self.diag(X)

    def rowwise_vjp(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        return self.diag(X), lambda g: np.array([self.variance * g.sum()])


def slope(function: Callable[[float], Array], step: float) -> Array:
    """The derivative at 0 by central differences at `step` and half of it, extrapolated: the error is of fourth order.

    >>> round(float(slope(lambda h: np.exp(np.array(h)), 1e-3)), 12)
    1.0
    """
    wide, narrow = ((function(h) - function(-h)) / (2.0 * h) for h in (step, 0.5 * step))
    return np.asarray((4.0 * narrow - wide) / 3.0)


def _along_inputs(rows: Callable[[Array], Array], X: Array, around: Array) -> Array:
    """The derivatives (N, D) of a function whose rows (N,) depend on one place each, in steps that suit the places."""
    width = np.ptp(around, axis=0) if len(around) else np.zeros(X.shape[1])
    out = np.zeros_like(X)
    for d in range(X.shape[1]):
        direction = np.arange(X.shape[1]) == d
        out[:, d] = slope(lambda h, along=direction: rows(X + h * along), _PART * (float(width[d]) or 1.0))  # type: ignore[misc]
    return out


def _all_text(values: list[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def _lift(value: Kernel | float) -> Kernel:
    if not isinstance(value, Kernel) and not is_number(value):
        raise InvalidInput("kernel", "a kernel, or a positive number", value, "such as SE() + Linear(), or 2.0 * SE()")
    return value if isinstance(value, Kernel) else Constant(value)


def _require_kernel(argument: str, value: object) -> None:
    require_kind(argument, value, Kernel, "a kernel", "such as SE(), not SE")


@dataclass(frozen=True)
class Sum(Kernel):
    """k(x, z) = a(x, z) + b(x, z)."""

    left: Kernel
    right: Kernel

    def __post_init__(self) -> None:
        _require_kernel("left", self.left)
        _require_kernel("right", self.right)

    def seen_together(self, columns: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
        return tuple(dict.fromkeys((*self.left.seen_together(columns), *self.right.seen_together(columns))))

    def between(self, columns: tuple[int, ...]) -> frozenset[int]:
        return self.left.between(columns) | self.right.between(columns)

    def touching(self, columns: AbstractSet[int]) -> Kernel | None:
        left, right = self.left.touching(columns), self.right.touching(columns)
        return Sum(left, right) if left is not None and right is not None else left or right

    def features(self, dimensions: int, count: int, rng: np.random.Generator) -> Features:
        left, right = (each.features(dimensions, count, rng) for each in (self.left, self.right))
        return lambda X: left(X) + right(X)

    def matrix(self, X: Array, Z: Array) -> Array:
        return self.left.matrix(X, Z) + self.right.matrix(X, Z)

    def diag(self, X: Array) -> Array:
        return self.left.diag(X) + self.right.diag(X)

    def vjp(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        a, back_a = self.left.vjp(X, Z)
        b, back_b = self.right.vjp(X, Z)
        return a + b, lambda G: np.concatenate([back_a(G), back_b(G)])

    def rowwise(self, X: Array, Z: Array) -> Array:
        return self.left.rowwise(X, Z) + self.right.rowwise(X, Z)

    def rowwise_vjp(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        a, back_a = self.left.rowwise_vjp(X, Z)
        b, back_b = self.right.rowwise_vjp(X, Z)
        return a + b, lambda g: np.concatenate([back_a(g), back_b(g)])

    def vjp_inputs(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        a, back_a = self.left.vjp_inputs(X, Z)
        b, back_b = self.right.vjp_inputs(X, Z)
        return a + b, lambda G: back_a(G) + back_b(G)

    def pullback_diag_inputs(self, X: Array, g: Array) -> Array:
        return self.left.pullback_diag_inputs(X, g) + self.right.pullback_diag_inputs(X, g)

    @property
    def slopes_together(self) -> bool:
        return self.left.slopes_together and self.right.slopes_together


@dataclass(frozen=True)
class Product(Kernel):
    """k(x, z) = a(x, z) · b(x, z)."""

    left: Kernel
    right: Kernel

    def __post_init__(self) -> None:
        _require_kernel("left", self.left)
        _require_kernel("right", self.right)

    def seen_together(self, columns: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
        """A product of sums is the sum of all products."""
        left, right = self.left.seen_together(columns) or ((),), self.right.seen_together(columns) or ((),)
        every = (tuple(sorted({*a, *b})) for a in left for b in right)
        return tuple(dict.fromkeys(each for each in every if each))

    def between(self, columns: tuple[int, ...]) -> frozenset[int]:
        return self.left.between(columns) | self.right.between(columns)

    def touching(self, columns: AbstractSet[int]) -> Kernel | None:
        still = self.left.touching(columns) is None and self.right.touching(columns) is None
        return None if still else self

    def features(self, dimensions: int, count: int, rng: np.random.Generator) -> Features:
        left, right = (each.features(dimensions, count, rng) for each in (self.left, self.right))
        return lambda X: left(X) * right(X)

    def matrix(self, X: Array, Z: Array) -> Array:
        return self.left.matrix(X, Z) * self.right.matrix(X, Z)

    def diag(self, X: Array) -> Array:
        return self.left.diag(X) * self.right.diag(X)

    def vjp(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        a, back_a = self.left.vjp(X, Z)
        b, back_b = self.right.vjp(X, Z)
        return a * b, lambda G: np.concatenate([back_a(G * b), back_b(G * a)])

    def rowwise(self, X: Array, Z: Array) -> Array:
        return self.left.rowwise(X, Z) * self.right.rowwise(X, Z)

    def rowwise_vjp(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        a, back_a = self.left.rowwise_vjp(X, Z)
        b, back_b = self.right.rowwise_vjp(X, Z)
        return a * b, lambda g: np.concatenate([back_a(g * b), back_b(g * a)])

    def vjp_inputs(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        a, back_a = self.left.vjp_inputs(X, Z)
        b, back_b = self.right.vjp_inputs(X, Z)
        return a * b, lambda G: back_a(G * b) + back_b(G * a)

    def pullback_diag_inputs(self, X: Array, g: Array) -> Array:
        a, b = self.left.diag(X), self.right.diag(X)
        return self.left.pullback_diag_inputs(X, g * b) + self.right.pullback_diag_inputs(X, g * a)

    @property
    def slopes_together(self) -> bool:
        return self.left.slopes_together and self.right.slopes_together


@dataclass(frozen=True)
class On(Kernel):
    """k(x, z) = base(x[dims], z[dims])."""

    base: Kernel
    dims: tuple[int, ...] | tuple[str, ...]

    def __post_init__(self) -> None:
        _require_kernel("base", self.base)
        listed = isinstance(self.dims, tuple) and len(self.dims) > 0
        usable = listed and all((isinstance(d, str) and d) or (is_whole(d) and 0 <= d < FAR) for d in self.dims)
        if not usable or len(set(self.dims)) < len(self.dims):
            raise InvalidInput(
                "dims", "distinct column numbers (from 0) or dimension names", self.dims, "list each dimension once"
            )

    @cached_property
    def columns(self) -> tuple[int, ...]:
        """The column numbers; names must have been bound to a space first."""
        if any(isinstance(d, str) for d in self.dims):
            raise InvalidInput(
                "dims",
                "column numbers",
                self.dims,
                "give the GP its space (GP(kernel, space=space)) or call .bind(names)",
            )
        return tuple(int(d) for d in self.dims)

    def groups(self) -> list[list[Slot]]:
        named = any(isinstance(d, str) for d in self.dims)

        def seen(slot: Slot) -> tuple[int, ...] | None:
            if named:
                return None
            return self.columns if slot.dims is None else tuple(self.columns[d] for d in slot.dims)

        return [[slot._replace(dims=seen(slot)) for slot in group] for group in self.base.groups()]

    def widened(self, dimensions: int) -> Self:
        return replace(self, base=self.base.widened(len(self.dims)))

    def bind(self, names: Sequence[str]) -> Self:
        given = listed(names) or []
        # A conditional number has two columns, which stand together.
        known = require_names("names", list(dict.fromkeys(given)) if _all_text(given) else names, "those of the space")
        own = [d for d in self.dims if isinstance(d, str) and d == "output" and d not in known]
        given, known = [*given, *own], [*known, *own]  # the coordinate that instruments of several functions append
        unknown = [d for d in self.dims if isinstance(d, str) and d not in known]
        if unknown:
            raise InvalidInput("dims", f"names among {known}", unknown, "use the space's own dimension names")
        called = [[i for i, name in enumerate(given) if name == d] if isinstance(d, str) else [d] for d in self.dims]
        columns = tuple(int(i) for each in called for i in each)
        # One column more than the space has is the number of the function, where instruments see several.
        if max(columns) > len(given):
            expected = f"columns below {len(given)}, the number of coordinates"
            raise InvalidInput("dims", expected, columns, "check the space and dims")
        return replace(self, base=self.base.bind([[*given, "output"][c] for c in columns]), dims=columns)

    def seen_together(self, columns: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
        return self.base.seen_together(tuple(columns[c] for c in self.columns))

    def between(self, columns: tuple[int, ...]) -> frozenset[int]:
        return self.base.between(tuple(columns[c] for c in self.columns))

    def touching(self, columns: AbstractSet[int]) -> Kernel | None:
        own = self.base.touching({i for i, c in enumerate(self.columns) if c in columns})
        return None if own is None or columns.isdisjoint(self.columns) else replace(self, base=own)

    def features(self, dimensions: int, count: int, rng: np.random.Generator) -> Features:
        own = self.base.features(len(self.columns), count, rng)
        return lambda X: own(self._see(X))

    def _see(self, X: Array) -> Array:
        return np.ascontiguousarray(self._view(X))

    def _view(self, X: Array) -> Array:
        columns = self.columns
        if max(columns) >= X.shape[1]:
            raise InvalidInput(
                "dims", f"columns below {X.shape[1]}, the number of coordinates", columns, "check X and dims"
            )
        together = self._together
        return X[:, columns] if together is None else X[:, together]

    @cached_property
    def _together(self) -> slice | None:
        """The columns as a slice, which is no copy, where they stand together."""
        first, size = self.columns[0], len(self.columns)
        return slice(first, first + size) if self.columns == tuple(range(first, first + size)) else None

    def _put(self, X: Array, seen: Array) -> Array:
        out = np.zeros_like(X)
        out[:, self.columns] = seen
        return out

    def matrix(self, X: Array, Z: Array) -> Array:
        return self.base.matrix(self._see(X), self._see(Z))

    def diag(self, X: Array) -> Array:
        return self.base.diag(self._see(X))

    def vjp(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        return self.base.vjp(self._see(X), self._see(Z))

    def rowwise(self, X: Array, Z: Array) -> Array:
        return self.base.rowwise(self._view(X), self._view(Z))

    def rowwise_vjp(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        return self.base.rowwise_vjp(self._view(X), self._view(Z))

    def vjp_inputs(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        K, back = self.base.vjp_inputs(self._see(X), self._see(Z))
        return K, lambda G: self._put(X, back(G))

    def pullback_diag_inputs(self, X: Array, g: Array) -> Array:
        return self._put(X, self.base.pullback_diag_inputs(self._see(X), g))

    @property
    def slopes_together(self) -> bool:
        return self.base.slopes_together
