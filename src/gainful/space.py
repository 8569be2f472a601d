"""Where one can measure: a box of named dimensions, or a finite pool of places, or a part of either.

    space = Space(Real("east", 0, 2, unit="km"), Real("north", 0, 2, unit="km"))
    pool = Pool(array_or_table)
    dry = space.where(Within(north=(0.5, None))).where(my_own_predicate)

All give candidates, know their names and bounds, and say whether places belong to them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.checks import (
    as_rng,
    column_names,
    finite_table,
    is_number,
    listed,
    numbers,
    require,
    require_count,
    require_finite,
    require_kind,
    require_name,
    require_names,
    require_whole,
)
from gainful.errors import InvalidInput

__all__ = ["Places", "Pool", "Real", "Restricted", "Space", "Within", "require_places"]

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Predicate = Callable[[Array], Mask]

_ENDLESS, _OPEN = (-np.inf, np.inf), "None leaves an end open"
_A_FEW = "a few hundred candidates are usual"
_MOST_TRIES = 1_000_000  # candidates drawn before a constraint is said to leave nothing


class Places(Protocol):
    """What selection asks of a space."""

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def low(self) -> Array: ...

    @property
    def high(self) -> Array: ...

    def contains(self, X: ArrayLike) -> Mask: ...

    def candidates(self, n: int, rng: np.random.Generator | int) -> Array: ...

    def where(self, constraint: Constraint) -> Places: ...


@dataclass(frozen=True, init=False)
class Within:
    """A constraint: named coordinates between a lower and an upper end, either of which may be None.

    >>> Within(time=(3.0, None)).ends
    (('time', 3.0, inf),)
    """

    ends: tuple[tuple[str, float, float], ...]

    def __init__(
        self,
        ends: Mapping[str, tuple[float | None, float | None]] | None = None,
        **named: tuple[float | None, float | None],
    ) -> None:
        usable = ends is None or isinstance(ends, Mapping)
        require(usable, "ends", "a mapping from names to pairs", ends, "for instance {'time': (3, None)}")
        found = []
        for name, pair in {**dict(ends or {}), **named}.items():
            require_name("ends", name, "use the names of the space")
            two = listed(pair)
            usable = two is not None and len(two) == 2 and all(end is None or is_number(end) for end in two)
            require(usable, name, "a pair (low, high)", pair, _OPEN)
            low, high = (open_end if end is None else float(end) for end, open_end in zip(pair, _ENDLESS, strict=True))
            require(low <= high, name, "low ≤ high", pair, _OPEN)
            found.append((name, low, high))
        if not found:
            raise InvalidInput("ends", "at least one coordinate", "none", "for instance Within(time=(3, None))")
        object.__setattr__(self, "ends", tuple(found))

    def mask(self, X: Array, names: Sequence[str]) -> Mask:
        """Which places lie within, (M,), where the columns have these names."""
        inside = np.ones(len(X), dtype=bool)
        for name, low, high in self.ends:
            column = X[:, _column(name, names)]
            inside &= (column >= low) & (column <= high)
        return inside


Constraint = Within | Predicate


@dataclass(frozen=True)
class Restricted:
    """The part of a space where a constraint holds: a `Within`, or a function from places (M, D) to M booleans."""

    space: Places
    constraint: Constraint

    def __post_init__(self) -> None:
        require_places("space", self.space)
        if isinstance(self.constraint, Within):
            for name, _, _ in self.constraint.ends:
                _column(name, self.space.names)
        elif not callable(self.constraint) or isinstance(self.constraint, type):
            raise InvalidInput("constraint", "Within(...) or a function of places", self.constraint, "see Within")

    @property
    def names(self) -> tuple[str, ...]:
        return self.space.names

    @property
    def columns(self) -> tuple[str, ...] | None:
        return column_names(self.space)

    @property
    def low(self) -> Array:
        return self._cut(self.space.low, 1, np.maximum)

    @property
    def high(self) -> Array:
        return self._cut(self.space.high, 2, np.minimum)

    def _cut(self, bounds: Array, which: int, tighter: Callable[[float, float], float]) -> Array:
        out = bounds.copy()
        if isinstance(self.constraint, Within):
            for end in self.constraint.ends:
                i = _column(end[0], self.names)
                out[i] = tighter(out[i], float(end[which]))
        return out

    def contains(self, X: ArrayLike) -> Mask:
        inside = self.space.contains(X)
        return inside & self.holds(numbers("X", X, "numbers, one row per place"))

    def holds(self, X: Array) -> Mask:
        """Where the constraint itself holds, (M,)."""
        if isinstance(self.constraint, Within):
            return self.constraint.mask(X, self.names)
        try:
            found = np.asarray(self.constraint(np.array(X)))  # its own copy, to do with as it likes
        except ValueError as problem:  # an array that is asked whether it is true, or lists of unequal length
            remedy = "it gets places (M, D) and gives an array of M booleans"
            raise InvalidInput("constraint", f"{len(X)} booleans", f"an error: {problem}", remedy) from problem
        if found.shape != (len(X),) or found.dtype != bool:
            got = f"{found.dtype} of shape {found.shape}"
            raise InvalidInput("constraint", f"{len(X)} booleans for {len(X)} places", got, "it gets places (M, D)")
        return found

    def candidates(self, n: int, rng: np.random.Generator | int) -> Array:
        """n places where the constraint holds; fewer, or none, where it leaves no more than that."""
        n, generator, whole = require_whole("n", n, 1, _A_FEW), as_rng(rng), self.space
        while isinstance(whole, Restricted):
            whole = whole.space
        low, high = self.low, self.high
        if isinstance(whole, Pool):
            kept = whole.places[self.contains(whole.places)]
            return kept if n >= len(kept) else kept[_subset(len(kept), n, generator)]
        require_count("n", n, 1, _A_FEW)
        if np.any(low > high):
            return np.zeros((0, len(self.names)))
        found, have, tried, block = [np.zeros((0, len(self.names)))], 0, 0, max(n, 64)
        while have < n and tried < max(_MOST_TRIES, 10 * n):
            if isinstance(whole, Space):
                drawn = low + (high - low) * evenly(block, len(low), generator)
            else:
                drawn = self.space.candidates(block, generator)
            tried += block
            found.append(drawn[self.contains(drawn)])
            have += len(found[-1])
            block = min(2 * block, 65_536)
        return np.concatenate(found)[:n]

    def where(self, constraint: Constraint) -> Places:
        """The part of this where a further constraint holds."""
        return Restricted(self, constraint)


def _column(name: str, names: Sequence[str]) -> int:
    if name not in names:
        raise InvalidInput("constraint", f"a coordinate among {list(names)}", name, "use the names of the space")
    return list(names).index(name)


@dataclass(frozen=True)
class Real:
    """A real coordinate between low and high, in a unit."""

    name: str
    low: float
    high: float
    unit: str = ""

    def __post_init__(self) -> None:
        require_name("name", self.name, "for instance 'east'")
        require_finite("low", self.low, "the smallest value that can be measured at")
        require_finite("high", self.high, "the largest value that can be measured at")
        ends = self.low, self.high
        require(
            self.low < self.high and float(self.high) - float(self.low) < np.inf,
            "low, high",
            "low < high",
            ends,
            "check the bounds",
        )
        require_kind("unit", self.unit, str, "text", "for instance 'km'")


@dataclass(frozen=True, init=False)
class Space:
    """A box of named dimensions.

    >>> space = Space(Real("east", 0, 2, unit="km"), Real("north", -1, 1, unit="km"))
    >>> space.names
    ('east', 'north')
    >>> space.contains([[1.0, 0.0], [3.0, 0.0]]).tolist()
    [True, False]
    """

    dimensions: tuple[Real, ...]

    def __init__(self, *dimensions: Real) -> None:
        names = [getattr(d, "name", None) for d in dimensions]
        if not dimensions or not all(isinstance(d, Real) for d in dimensions):
            raise InvalidInput("dimensions", "one or more dimensions such as Real('x', 0, 1)", dimensions, "name each")
        if len(set(names)) != len(names):
            raise InvalidInput("dimensions", "distinct names", names, "rename the repeated dimension")
        object.__setattr__(self, "dimensions", tuple(dimensions))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(d.name for d in self.dimensions)

    @property
    def columns(self) -> tuple[str, ...]:
        """What a table of places must call its columns."""
        return self.names

    @property
    def low(self) -> Array:
        return np.array([d.low for d in self.dimensions], dtype=float)

    @property
    def high(self) -> Array:
        return np.array([d.high for d in self.dimensions], dtype=float)

    def contains(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Which places lie in the box, its faces included, (M,)."""
        places = finite_table("X", X, len(self.dimensions), names=self.names)
        return np.asarray(np.all((places >= self.low) & (places <= self.high), axis=1))

    def where(self, constraint: Constraint) -> Places:
        """The part of this where a constraint holds: Within(...), or a function from places (M, D) to M booleans."""
        return Restricted(self, constraint)

    def candidates(self, n: int, rng: np.random.Generator | int) -> Array:
        """n places spread evenly and without a grid's alignment, (n, D): quasi-random, shifted by the generator.

        >>> Space(Real("x", 0, 10)).candidates(5, rng=0).shape
        (5, 1)
        """
        unit = evenly(require_count("n", n, 1, _A_FEW), len(self.dimensions), as_rng(rng))
        return np.asarray(self.low + (self.high - self.low) * unit)

    def grid(self, per_dimension: int | Sequence[int]) -> Array:
        """A regular grid, faces included, with the last dimension varying fastest.

        >>> Space(Real("x", 0, 1), Real("y", 0, 2)).grid([2, 3])[:, 1].tolist()
        [0.0, 1.0, 2.0, 0.0, 1.0, 2.0]
        """
        d = len(self.dimensions)
        several = isinstance(per_dimension, Sequence) or np.ndim(per_dimension) == 1
        given = list(per_dimension) if several else [per_dimension] * d  # type: ignore[arg-type]
        expected = f"one whole number, or {d} of them"
        require(len(given) == d, "per_dimension", expected, per_dimension, "at least 1 in each")
        counts = [require_count("per_dimension", each, 1, expected) for each in given]
        require_count("per_dimension", math.prod(counts), 1, "a coarser grid has fewer places")
        axes = [np.linspace(low, high, c) for low, high, c in zip(self.low, self.high, counts, strict=True)]
        return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, d)


@dataclass(frozen=True, init=False, eq=False)
class Pool:
    """A finite set of places: the rows of an array, or of a table whose columns name the dimensions.

    >>> pool = Pool([[0.0, 1.0], [2.0, 3.0]], names=["east", "north"])
    >>> len(pool), pool.names
    (2, ('east', 'north'))
    """

    places: Array
    names: tuple[str, ...]

    def __init__(self, places: Any, names: Sequence[str] | None = None) -> None:
        table = np.array(finite_table("places", places))
        if not len(table):
            raise InvalidInput("places", "at least one place", f"shape {table.shape}", "give the rows to choose from")
        called = _pool_names(places, names, table.shape[1])
        table.flags.writeable = False
        object.__setattr__(self, "places", table)
        object.__setattr__(self, "names", called)

    def __len__(self) -> int:
        return len(self.places)

    def __repr__(self) -> str:
        return f"Pool({len(self)} places, {', '.join(self.names)})"

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The names, unless they only count the columns."""
        return None if self.names == _numbered(len(self.names)) else self.names

    @property
    def low(self) -> Array:
        return np.asarray(self.places.min(axis=0))

    @property
    def high(self) -> Array:
        return np.asarray(self.places.max(axis=0))

    def contains(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Which places are in the pool, exactly, (M,)."""
        known = {row.tobytes() for row in self.places + 0.0}
        places = finite_table("X", X, self.places.shape[1], names=self.columns)
        return np.array([row.tobytes() in known for row in places + 0.0], dtype=bool)

    def where(self, constraint: Constraint) -> Places:
        """The part of this where a constraint holds: Within(...), or a function from places (M, D) to M booleans."""
        return Restricted(self, constraint)

    def candidates(self, n: int, rng: np.random.Generator | int) -> Array:
        """n places of the pool without repeats, in its own order; all of them when n is at least its size."""
        require_whole("n", n, 1, "len(pool) gives all of them")
        generator = as_rng(rng)
        return self.places if n >= len(self) else self.places[_subset(len(self), n, generator)]


def require_places(argument: str, value: object) -> None:
    """Refuse what nobody can be sent to."""
    able = all(callable(getattr(value, verb, None)) for verb in ("candidates", "contains", "where"))
    expected = "a Space, a Pool or a part of one"
    require(able and not isinstance(value, type), argument, expected, value, "for instance Space(Real('x', 0, 1))")


def evenly(n: int, d: int, rng: np.random.Generator) -> Array:
    """n places of the unit cube, (n, d): an additive recurrence x_k = (x_0 + k a) mod 1 with a = (1/φ, 1/φ², …).

    With φ the root of φ^(d+1) = φ + 1 it fills the cube more evenly than random places do, for every n (Roberts 2018).
    """
    root = 2.0
    for _ in range(60):
        root = (1.0 + root) ** (1.0 / (d + 1))
    steps = root ** -np.arange(1.0, d + 1.0)
    return np.asarray((rng.random(d) + np.arange(n)[:, None] * steps) % 1.0)


def _subset(size: int, n: int, rng: np.random.Generator) -> NDArray[np.intp]:
    return np.sort(rng.choice(size, n, replace=False))


def _numbered(size: int) -> tuple[str, ...]:
    return tuple(f"x{i}" for i in range(size))


def _pool_names(places: Any, names: Any, size: int) -> tuple[str, ...]:
    """The names that were given, or the table's own, or numbers."""
    if names is None:
        columns = getattr(places, "columns", None)  # which may be numbers
        names = _numbered(size) if columns is None else [str(each) for each in columns]
    found = require_names("names", names, "name each column")
    require(len(found) == size, "names", f"{size} distinct names, one per column", names, "name each column")
    return tuple(found)
