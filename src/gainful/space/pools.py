"""A finite set of places: rows of numbers, or items with columns of any kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.checks import as_rng, finite_table, is_number, listed, require, require_names, require_whole
from gainful.coordinates import Axis, Coordinates
from gainful.errors import InvalidInput
from gainful.space.coding import code_table, columns_of
from gainful.space.constraints import Constraint
from gainful.space.dimensions import Categorical, spelled
from gainful.space.drawing import subset
from gainful.space.parts import Restricted
from gainful.space.places import Places, rows_of

__all__ = ["Pool"]

Array = NDArray[np.float64]


@dataclass(frozen=True, init=False, eq=False)
class Pool:
    """A finite set of places: the rows of an array, or of a table whose columns name the dimensions.

    Columns of text, or of True and False, are categories: of a DataFrame, or of a mapping from names to columns. The
    items may have names: `items`, or a DataFrame's index where that is text.

    >>> pool = Pool([[0.0, 1.0], [2.0, 3.0]], names=["east", "north"])
    >>> len(pool), pool.names
    (2, ('east', 'north'))
    >>> drugs = Pool({"dose": [1.0, 2.0], "form": ["pill", "syrup"]}, items=["aspirin", "ibuprofen"])
    >>> drugs.words(drugs.places[1])
    'item 1, ibuprofen'
    """

    places: Array
    names: tuple[str, ...]
    levels: tuple[tuple[Any, ...] | None, ...] | None
    items: tuple[str, ...] | None

    def __init__(
        self,
        places: Any,
        names: Sequence[str] | None = None,
        items: Sequence[str] | None = None,
        levels: Any = None,
    ) -> None:
        table, found, called = places, None, None
        if levels is None and _is_mixed(places):
            columns = _columns(places)
            table, found = _coded(columns)
            called = list(columns) if names is None else names
        elif levels is not None:
            found = _levels(levels)
        rows = np.array(finite_table("places", table))
        if not len(rows):
            raise InvalidInput("places", "at least one place", f"shape {rows.shape}", "give the rows to choose from")
        rows.flags.writeable = False
        object.__setattr__(self, "places", rows)
        object.__setattr__(self, "names", _pool_names(places, names if called is None else called, rows.shape[1]))
        object.__setattr__(self, "levels", found)
        object.__setattr__(self, "items", _item_names(places, items, len(rows)))
        self._require_codes()

    def _require_codes(self) -> None:
        known = (None,) * len(self.names) if self.levels is None else self.levels
        require(len(known) == len(self.names), "levels", f"{len(self.names)} of them", known, "None for a number")
        for i, levels in enumerate(known):
            if levels is not None and not np.all(np.isin(self.places[:, i], np.arange(len(levels)))):
                raise InvalidInput("places", f"positions of levels in column {i}", self.places[:, i], "check levels")

    def __len__(self) -> int:
        return len(self.places)

    def __repr__(self) -> str:
        return f"Pool({len(self)} {'items' if self.items else 'places'}, {', '.join(self.names)})"

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

    @cached_property
    def coordinates(self) -> Coordinates:
        """What kernels see of a place."""
        known = self.levels or (None,) * len(self.names)
        ends = zip(self.names, known, self.low.tolist(), self.high.tolist(), strict=True)
        return Coordinates(
            tuple(
                Axis(name, "real", low, high) if levels is None else Axis(name, "category", 0.0, len(levels) - 1.0)
                for name, levels, low, high in ends
            )
        )

    def contains(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Which places are in the pool, exactly, (M,)."""
        places = finite_table("X", X, self.places.shape[1], names=self.columns)
        return np.array([row.tobytes() in self._rows for row in places + 0.0], dtype=bool)

    @cached_property
    def _rows(self) -> dict[bytes, list[int]]:
        """The numbers of the items at each place."""
        found: dict[bytes, list[int]] = {}
        for i, row in enumerate(self.places + 0.0):
            found.setdefault(row.tobytes(), []).append(i)
        return found

    def numbers(self, place: ArrayLike) -> list[int]:
        """The numbers of the items at a place (D,): more than one, where items are alike in every column."""
        return self._rows.get((np.asarray(place, dtype=float) + 0.0).tobytes(), [])

    def item(self, place: ArrayLike) -> str | None:
        """The name of the item at a place (D,), None where items have none."""
        if self.items is None:
            return None
        return " or ".join(self.items[i] for i in self.numbers(place)) or None

    def code(self, table: Any, argument: str = "table") -> Array:
        """Places (M, D) as codes, from values as people give them; the name of an item stands for its place."""
        wanted = [table] if isinstance(table, str) else listed(table)
        if self.items is not None and wanted and all(isinstance(each, str) for each in wanted):
            unknown = [each for each in wanted if each not in self.items]
            require(not unknown, argument, "items of the pool", unknown, "see pool.items")
            return np.array([self.places[self.items.index(each)] for each in wanted])
        return code_table(table, self.coordinates, [self._coder(i) for i in range(len(self.names))], (), argument)

    def _coder(self, i: int) -> Any:
        levels = None if self.levels is None else self.levels[i]
        if levels is None:
            return _number
        if len(levels) == 1:
            return lambda value: 0.0 if value == levels[0] or value == 0.0 else _refuse(levels)
        return Categorical(self.names[i], levels).code

    def natural(self, place: ArrayLike) -> Any:
        """A place (D,) as a mapping from names to numbers and levels; of several (M, D), a list of them."""
        known = self.levels or (None,) * len(self.names)
        several = [
            {
                name: x if levels is None else levels[round(x)]
                for name, levels, x in zip(self.names, known, row, strict=True)
            }
            for row in self._codes(place).tolist()
        ]
        return several[0] if np.ndim(place) == 1 else several

    def _codes(self, place: ArrayLike) -> Array:
        """One place or several as codes whose levels there are."""
        rows = rows_of(self, place)
        for i, levels in enumerate(self.levels or ()):
            if levels is not None and not np.all(np.isin(rows[:, i], np.arange(len(levels)))):
                raise InvalidInput("place", f"codes of {self.names[i]}, 0 to {len(levels) - 1}", rows[:, i], "see code")
        return rows

    def words(self, place: ArrayLike) -> str:
        """A place (D,) in words: its item where items have names, its columns otherwise."""
        place = self._codes(place)[0]
        name = self.item(place)
        if name is not None:
            return f"item {' or '.join(map(str, self.numbers(place)))}, {name}"
        return ", ".join(f"{key} {spelled(value)}" for key, value in self.natural(place).items())

    def where(self, constraint: Constraint) -> Places:
        """The part of this where a constraint holds: Within(...), or a function from places (M, D) to M booleans."""
        return Restricted(self, constraint)

    def everywhere(self, most: int) -> Array:
        """All places, however many there are."""
        return self.places

    def candidates(self, n: int, rng: np.random.Generator | int) -> Array:
        """n places of the pool without repeats, in its own order; all of them when n is at least its size."""
        require_whole("n", n, 1, "len(pool) gives all of them")
        generator = as_rng(rng)
        return self.places if n >= len(self) else self.places[subset(len(self), n, generator)]


def _number(value: Any) -> float:
    if not is_number(value):
        raise ValueError("a number")
    return float(value)


def _refuse(levels: Any) -> float:
    raise ValueError(f"one of {list(levels)}")


def _numbered(size: int) -> tuple[str, ...]:
    return tuple(f"x{i}" for i in range(size))


def _columns(places: Any) -> dict[str, list[Any]]:
    """The columns of a mapping or a table by their names."""
    names = [str(each) for each in (places if isinstance(places, Mapping) else places.columns)]
    require_names("places", names, "name each column")
    if isinstance(places, Mapping):
        return columns_of(places, names, (), "places")
    return {name: list(np.asarray(places[own], dtype=object)) for name, own in zip(names, places.columns, strict=True)}


def _is_mixed(places: Any) -> bool:
    """Whether this is a table by columns some of which are text, or True and False."""
    if isinstance(places, Mapping):
        return bool(places)
    if not hasattr(places, "columns") or not hasattr(places, "dtypes"):
        return False
    try:
        columns = _columns(places)
    except InvalidInput:
        return False
    return any(column and all(map(_is_word, column)) for column in columns.values())


def _is_word(value: object) -> bool:
    return isinstance(value, str | bool | np.bool_)


def _coded(columns: Mapping[str, list[Any]]) -> tuple[Array, tuple[tuple[Any, ...] | None, ...] | None]:
    """Columns as codes (M, D), and the levels of those that are categories, sorted."""
    out: list[list[float]] = []
    known: list[tuple[Any, ...] | None] = []
    for name, column in columns.items():
        if column and all(map(_is_word, column)):
            plain = [each.item() if isinstance(each, np.generic) else each for each in column]
            alike = len({isinstance(each, bool) for each in plain}) == 1
            require(alike and "" not in plain, "places", f"text, or True and False, in {name}", column, "not both")
            levels = tuple(sorted(set(plain)))
            known.append(levels)
            out.append([float(levels.index(each)) for each in plain])
        else:
            known.append(None)
            out.append(finite_table("places", [[each] for each in column])[:, 0].tolist())
    return np.array(out).T, tuple(known) if any(levels is not None for levels in known) else None


def _levels(levels: Any) -> tuple[tuple[Any, ...] | None, ...]:
    several = listed(levels)
    usable = several is not None and all(each is None or listed(each) for each in several)
    require(usable, "levels", "for each column its levels, or None", levels, "leave it out: columns of text have them")
    return tuple(None if each is None else tuple(each) for each in several or ())


def _pool_names(places: Any, names: Any, size: int) -> tuple[str, ...]:
    """The names that were given, or the table's own, or numbers."""
    if names is None:
        columns = getattr(places, "columns", None)  # which may be numbers
        names = _numbered(size) if columns is None else [str(each) for each in columns]
    found = require_names("names", names, "name each column")
    require(len(found) == size, "names", f"{size} distinct names, one per column", names, "name each column")
    return tuple(found)


def _item_names(places: Any, items: Any, size: int) -> tuple[str, ...] | None:
    """The names that were given, or a table's index where that is text."""
    if items is None:
        index = getattr(places, "index", None) if hasattr(places, "columns") else None
        found = None if index is None or callable(index) else listed(index)
        if not found or not all(isinstance(each, str) for each in found):
            return None
        items = found
    named = require_names("items", items, "name each item once")
    require(len(named) == size, "items", f"{size} distinct names, one per place", items, "name each item once")
    return tuple(named)
