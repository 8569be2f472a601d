"""What was asked and answered: queries, and the data so far as an immutable value.

    data = Data().add(lab, X, y).add(look, X2, ranks)

Observations keep the order in which they were added. Inference reads them through their `Layout`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.checks import (
    column_names,
    finite_table,
    is_number,
    is_whole,
    listed,
    numbers,
    require,
    require_columns,
    require_whole,
)
from gainful.coordinates import output_code, require_output
from gainful.errors import InvalidInput
from gainful.instruments.base import Instrument
from gainful.layout import Layout, lay_out
from gainful.space import Places, as_codes, code_in, in_words, natural_in, require_places

__all__ = ["Batch", "Data", "Query", "as_queries", "require_instrument"]

Array = NDArray[np.float64]

_SHAPES = {"place": "(n, d)", "pair": "(n, 2, d), a pair of places each", "set": "(n, k, d), a set of k places each"}


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Query:
    """An instrument and the place, or places, to use it at: (d,), a pair (2, d) or a set (k, d).

    With a `space` the place is given as people speak of it, levels by name: a row in the order of the space, or a
    mapping from names to values. `place` has its codes, `at` and `query["name"]` its values, `words` says it.

    `number` is the campaign's own, None for a query that no campaign asked; `columns` are the names of the table that
    the place was a row of, if it was one.

    >>> from gainful.instruments import Point
    >>> Query(Point(noise=0.1, name="lab"), [0.2, 0.5])
    Query(lab at (0.2, 0.5))
    >>> from gainful.space import Categorical, Real, Space
    >>> space = Space(Real("temperature", 20, 90, unit="°C"), Categorical("catalyst", ["Pd", "Ni"]))
    >>> query = Query(Point(noise=0.1, name="lab"), {"catalyst": "Ni", "temperature": 40}, space=space)
    >>> query, query.place.tolist(), query["catalyst"]
    (Query(lab at temperature 40 °C, catalyst Ni), [40.0, 1.0], 'Ni')
    """

    instrument: Instrument
    place: Array
    number: int | None
    columns: tuple[str, ...] | None
    space: Places | None

    def __init__(
        self, instrument: Instrument, place: Any, number: int | None = None, space: Places | None = None
    ) -> None:
        require_instrument(instrument)
        if space is not None:
            require_places("space", space)
            place = _codes(instrument, place, space, "place", one=True)
        elif _is_worded(place):
            remedy = "give the space that has these names: Query(instrument, place, space=space)"
            raise InvalidInput("place", "numbers, or a space to read it by", place, remedy)
        queries, _ = as_given(instrument, place, "place")
        if len(queries) != 1:
            raise InvalidInput("place", "one query", f"{len(queries)} of them", "make one Query of each")
        if number is not None:
            number = require_whole("number", number, 0, "leave it out: a campaign numbers what it asks")
        own = np.asarray(queries[0] + 0.0)  # −0 is 0: equal queries have equal hashes
        own.flags.writeable = False
        object.__setattr__(self, "instrument", instrument)
        object.__setattr__(self, "place", own)
        object.__setattr__(self, "number", number)
        object.__setattr__(self, "columns", column_names(place) if space is None else column_names(space))
        object.__setattr__(self, "space", space)

    def seen_in(self, space: Places | None) -> Query:
        """The same query, whose codes are read by this space."""
        return self._with(space=space)

    def using(self, instrument: Instrument) -> Query:
        """The same query with what has been learned about its instrument."""
        return self._with(instrument=instrument)

    def _with(self, **changes: Any) -> Query:
        new = object.__new__(Query)
        for each in ("instrument", "place", "number", "columns", "space"):
            object.__setattr__(new, each, changes.get(each, getattr(self, each)))
        return new

    @property
    def at(self) -> Any:
        """The place as people speak of it, by name, None for what is absent; of a pair or a set, a tuple of them."""
        rows = np.atleast_2d(self.place)
        if self.space is not None:
            found = tuple(natural_in(self.space, row) for row in rows)
        else:
            names = self.columns or tuple(f"x{i}" for i in range(rows.shape[1]))
            found = tuple(dict(zip(names, row.tolist(), strict=True)) for row in rows)
        return found[0] if self.place.ndim == 1 else found

    def __getitem__(self, name: str) -> Any:
        """The value of one coordinate; of a pair or a set, a tuple of them."""
        at = self.at
        several = at if isinstance(at, tuple) else (at,)
        require(
            isinstance(name, str) and name in several[0], "name", f"one of {list(several[0])}", name, "see query.at"
        )
        return tuple(each[name] for each in several) if isinstance(at, tuple) else at[name]

    @property
    def item(self) -> Any:
        """The name of the pool's item at the place, None where items have none; of a pair or a set, a tuple of them."""
        whole = getattr(self.space, "whole", self.space)
        named = getattr(whole, "item", lambda row: None)
        found = tuple(named(row) for row in np.atleast_2d(self.place))
        return found[0] if self.place.ndim == 1 else found

    @property
    def words(self) -> str:
        """The place in words, such as "temperature 40 °C, catalyst Pd"."""
        rows = np.atleast_2d(self.place)
        if self.space is None or column_names(self.space) is None:
            return ", ".join(f"({', '.join(f'{x:.6g}' for x in row)})" for row in rows)
        said = [in_words(self.space, row) for row in rows]
        return said[0] if self.place.ndim == 1 else ", ".join(f"({each})" for each in said)

    @property
    def cost(self) -> float:
        return self.instrument.cost

    @property
    def seen(self) -> Array:
        """The places that the instrument looks at, (k, d), with the number of the function where there are several."""
        return np.atleast_2d(self.instrument.sees(self.place[None])[0])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Query):
            return NotImplemented
        same = self.instrument == other.instrument and self.number == other.number
        return same and np.array_equal(self.place, other.place)

    def __hash__(self) -> int:
        return hash((self.instrument, self.place.tobytes(), self.number))

    def __repr__(self) -> str:
        numbered = "" if self.number is None else f" {self.number}"
        return f"Query{numbered}({self.instrument.label} at {self.words})"


@dataclass(frozen=True, eq=False)
class Batch:
    """Answers of one instrument: X is (n, d), (n, 2, d) for pairs or (n, k, d) for sets; answers are canonical, (n,
    ...); columns are the names of the table that X was, if it was one."""

    instrument: Instrument
    X: Array
    answers: Array
    columns: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.X)

    def take(self, index: NDArray[np.intp]) -> Batch:
        return replace(self, X=self.X[index], answers=self.answers[index])


@dataclass(frozen=True, eq=False, repr=False)
class Data:
    """The queries and answers so far; adding or removing gives a new value.

    With a `space` places are added as people speak of them: tables with level names, rows, mappings.

    >>> from gainful.instruments import Point
    >>> data = Data().add(Point(noise=0.1), [[0.0], [1.0]], [0.3, 0.7])
    >>> len(data), len(data.without(0))
    (2, 1)
    """

    batches: tuple[Batch, ...] = ()
    _layout: Layout | None = None  # where it is known: joining extends it, other instruments keep its indices
    names: tuple[str, ...] | None = None  # what a space calls the coordinates, where there is one
    space: Places | None = None
    told_by: Places | None = None  # the space of the GP that was conditioned on it: it reads what predictions ask for
    output: int | str | None = None  # of several functions the one that is meant where a place does not say which

    def __post_init__(self) -> None:
        if self.output is not None:
            object.__setattr__(self, "output", require_output("output", self.output, "a name or a number of an output"))
        if self.space is not None:
            require_places("space", self.space)
            if self.names is None:
                object.__setattr__(self, "names", column_names(self.space))

    def __repr__(self) -> str:
        counts: Counter[str] = Counter()
        for batch in self.batches:
            counts[batch.instrument.label] += len(batch)
        return f"Data({', '.join(f'{n} from {label}' for label, n in counts.items()) or 'nothing yet'})"

    def add(self, instrument: Instrument, X: ArrayLike, answers: ArrayLike) -> Data:
        """The data with these answers too. One place (d,) with its one answer is accepted as well.

        The columns of a table are taken in their order; a later table whose columns are called otherwise is refused.
        """
        require_instrument(instrument)
        if self.space is not None:
            X = _codes(instrument, X, self.space, "X", one=False)
        queries, single = as_given(instrument, X)
        columns = column_names(X)
        require_columns("X", columns, self.columns)
        if self.batches and (instrument.outputs is None) != (self.batches[0].instrument.outputs is None):
            raise InvalidInput(
                "instrument", "an output of every instrument, or of none", instrument, "say which function each sees"
            )
        if single and _axes(answers) != instrument.answer_axes:
            raise InvalidInput(
                "X",
                f"an array of shape {_SHAPES[instrument.asks]} for several answers",
                f"shape {np.shape(X)}",
                "use .reshape(-1, 1) for places in one dimension",
            )
        if self.dimensions is not None and len(queries) and queries.shape[-1] != self.dimensions:
            raise InvalidInput(
                "X",
                f"places with {self.dimensions} coordinates, as before",
                f"{queries.shape[-1]}",
                "match the columns",
            )
        several: Any = [answers] if single else answers
        canonical = instrument.validate(several, len(queries))
        queries, canonical = _own(queries, X), _own(canonical, answers)
        queries.flags.writeable = canonical.flags.writeable = False
        if not len(queries):
            return self
        return Data(
            (*self.batches, Batch(instrument, queries, canonical, columns)),
            None,
            self.names,
            self.space,
            self.told_by,
            self.output,
        )

    def join(self, more: Data) -> Data:
        """These observations, then those."""
        require(isinstance(more, Data), "more", "a Data value", more, "for instance Data().add(instrument, X, answers)")
        if None not in (self.dimensions, more.dimensions) and self.dimensions != more.dimensions:
            raise InvalidInput(
                "more", f"places with {self.dimensions} coordinates", more.dimensions, "match the columns"
            )
        require_columns("more", more.columns, self.columns)
        batches = (*self.batches, *more.batches)
        if self._layout is None or not (self.batches and more.batches):
            return replace(self, batches=batches, _layout=None, names=self.names or more.names)
        return replace(self, batches=batches, _layout=self._layout.append(more.layout), names=self.names or more.names)

    def numbers(self, observations: int | Iterable[int]) -> NDArray[np.intp]:
        """Observation numbers, sorted and without repeats; negative ones count from the end."""
        several = listed(observations)
        wanted: list[Any] = [observations] if several is None else several
        if not all(is_whole(i) and -len(self) <= i < len(self) for i in wanted):
            raise InvalidInput(
                "observations", f"whole numbers from 0 to {len(self) - 1}", wanted, "use np.flatnonzero for a mask"
            )
        return np.unique(np.array([int(i) % len(self) for i in wanted], dtype=np.intp))

    def without(self, observations: int | Iterable[int]) -> Data:
        """The data with these observations (numbered in the order of adding, from 0) taken out."""
        keep = np.ones(len(self), dtype=bool)
        keep[self.numbers(observations)] = False
        out, start = [], 0
        for batch in self.batches:
            mine = keep[start : start + len(batch)]
            start += len(batch)
            if mine.all():
                out.append(batch)
            elif mine.any():
                out.append(batch.take(np.flatnonzero(mine)))
        return replace(self, batches=tuple(out), _layout=None)

    def since(self, number: int) -> Data:
        """The data without the first so many observations.

        >>> from gainful.instruments import Point
        >>> Data().add(Point(noise=0.1), [[0.0], [1.0]], [0.3, 0.7]).since(1)
        Data(1 from Point)
        """
        out, start = [], 0
        for batch in self.batches:
            first = max(number - start, 0)
            start += len(batch)
            if first < len(batch):
                out.append(batch if first == 0 else batch.take(np.arange(first, len(batch))))
        return replace(self, batches=tuple(out), _layout=None)

    def thinned(self, count: int, rng: np.random.Generator) -> Data:
        """So many of the observations, drawn evenly, in their order; all where there are no more. The first of each
        instrument is always among them, so that the instruments and their order stay as they are.

        >>> from gainful.instruments import Point
        >>> len(Data().add(Point(noise=0.1), np.zeros((9, 1)), np.zeros(9)).thinned(4, np.random.default_rng(0)))
        4
        """
        if count >= len(self):
            return self
        firsts = self._firsts()
        return self._only(np.append(rng.choice(len(self), max(count - len(firsts), 0), replace=False), firsts))

    def around(self, distances: NDArray[np.float64], count: int) -> Data:
        """So many of the observations, those with the smallest of these distances (N,), in their order; all where there
        are no more. The first of each instrument is always among them."""
        if count >= len(self):
            return self
        firsts = self._firsts()
        left = max(count - len(firsts), 0)
        near = np.argpartition(distances, left)[:left]
        return self._only(np.append(near, firsts))

    def _firsts(self) -> list[int]:
        """The first observation of each instrument."""
        firsts: dict[Instrument, int] = {}
        at = 0
        for batch in self.batches:
            firsts.setdefault(batch.instrument, at)
            at += len(batch)
        return list(firsts.values())

    def _only(self, numbers: NDArray[np.intp]) -> Data:
        chosen = np.unique(numbers)
        out, start = [], 0
        for batch in self.batches:
            mine = chosen[(chosen >= start) & (chosen < start + len(batch))] - start
            start += len(batch)
            if len(mine):
                out.append(batch.take(mine))
        return replace(self, batches=tuple(out), _layout=None)

    def called(self, names: Sequence[str], told_by: Places | None = None) -> Data:
        """The same data with the names that a space has for the coordinates: a table in another order is refused."""
        require_columns("data", self.columns, names)
        same = self.names == tuple(names) and self.told_by is told_by
        return self if same else replace(self, names=tuple(names), told_by=told_by)

    def codes(self, X: Any, argument: str = "X", query: str = "place") -> Any:
        """Places that predictions are asked for, as codes: what is said in values is read by the space (`space/said`),
        where one is known; numbers in an array stay as they are."""
        space = self.told_by or self.space
        return X if space is None else as_codes(space, X, argument, query)

    def with_instruments(self, changed: Mapping[Instrument, Instrument]) -> Data:
        """The same answers read by other instruments (for instance with learned noise)."""
        batches = tuple(replace(b, instrument=changed.get(b.instrument, b.instrument)) for b in self.batches)
        # An optimiser comes here for every theta.
        return replace(self, batches=batches, _layout=self.layout.with_instruments(changed))

    def __len__(self) -> int:
        return sum(len(batch) for batch in self.batches)

    @property
    def dimensions(self) -> int | None:
        """How many coordinates a place has; None before the first answer, where no space says it."""
        if self.names is not None:
            return len(self.names)
        return int(self.batches[0].X.shape[-1]) if self.batches else None

    @property
    def coordinates(self) -> int | None:
        """How many coordinates f has: one more than a place where there are several functions; None if not known."""
        return int(self.batches[0].instrument.sees(self.batches[0].X[:1]).shape[-1]) if self.batches else None

    def admits(self, coordinates: int) -> bool:
        """Whether f may have so many coordinates."""
        known, named = self.coordinates, self.dimensions
        if known is None and named is not None:  # a space, and no answer that says whether there are several functions
            return coordinates in (named, named + 1)
        return known is None or coordinates == known or (self.output is not None and coordinates == named)

    def about(self, output: int | str | None) -> Data:
        """The same data, by which places are those of this output where they do not say of which."""
        one = output is not None and bool(self.batches) and self.batches[0].instrument.outputs is None
        require(not one, "output", "None, because there is one function", output, "leave .of(...) out")
        return replace(self, output=output)

    def completed(self, places: Array) -> Array:
        """Places with their output as a last coordinate, where they have none and one is meant."""
        if self.output is None or places.shape[-1] != self.dimensions:
            return places
        return np.column_stack([places, np.full(len(places), float(output_code(self.output)))])

    @cached_property
    def columns(self) -> tuple[str, ...] | None:
        """What the coordinates are called, where places came as a table with names or a space has them."""
        return self.names or next((batch.columns for batch in self.batches if batch.columns is not None), None)

    @cached_property
    def instruments(self) -> tuple[Instrument, ...]:
        """The distinct instruments, in the order of their first answers."""
        if self._layout is not None:
            return self._layout.instruments
        return tuple(dict.fromkeys(batch.instrument for batch in self.batches))

    @property
    def layout(self) -> Layout:
        """The data as inference reads it, laid out when it is first asked for."""
        if self._layout is None:
            object.__setattr__(self, "_layout", lay_out(self.batches))
        assert self._layout is not None
        return self._layout


def _own(array: Array, given: object) -> Array:
    """The array, copied unless it is a copy already, as float32 becomes one: memory maps may be large."""
    fresh = isinstance(given, np.ndarray) and not np.may_share_memory(array, given)
    return array if fresh and array.flags.owndata else np.array(array)


def _axes(answers: ArrayLike) -> int | None:
    """How many axes answers have; None for what has no shape."""
    try:
        return np.ndim(answers)
    except ValueError:  # lists of unequal length
        return None


def _codes(instrument: Instrument, place: Any, space: Places, argument: str, *, one: bool) -> Any:
    """A place, or several, as codes in the shape that the instrument's queries have."""
    if instrument.asks == "place":
        rows = code_in(space, place, argument)
        return rows[0] if len(rows) == 1 and (one or _is_one(place, space)) else rows
    several = listed(place)
    if one or several is None:
        return code_in(space, place, argument)
    return np.stack([code_in(space, each, argument) for each in several]) if several else np.zeros((0, 2, 1))


def _is_one(place: Any, space: Places) -> bool:
    """Whether this is one place and not a table of one row, nor a list of one item."""
    if isinstance(place, str):
        return True
    if isinstance(place, Mapping):
        return all(listed(value) is None for value in place.values())
    several, items = listed(place), getattr(getattr(space, "whole", space), "items", None)
    if items and several and isinstance(several[0], str) and several[0] in items:
        return False
    return several is not None and all(listed(each) is None and not isinstance(each, Mapping) for each in several)


def _is_worded(place: Any) -> bool:
    """Whether a place is given by names, or has text in it."""
    rows = place if isinstance(place, list | tuple) else [place]
    values = [each for row in rows for each in (row if isinstance(row, list | tuple) else [row])]
    text = any(isinstance(each, str) for each in values) and any(is_number(each) for each in values)
    return text or any(isinstance(each, Mapping) for each in values)


def require_instrument(instrument: object, argument: str = "instrument") -> None:
    """Refuse what is no instrument, its class for instance."""
    if not isinstance(instrument, Instrument):
        raise InvalidInput(argument, "an instrument such as Point(noise=0.1)", instrument, "make one first")


def as_queries(instrument: Instrument, X: ArrayLike, argument: str = "X") -> tuple[Array, bool]:
    """What queries X look at, in the shape that the instrument's have, and whether X was one query without its leading
    axis. Of several functions that is (n, k, d + 1), see `Instrument.sees`, and such an array is taken as it is."""
    queries, single = as_given(instrument, X, argument)
    return instrument.sees(queries), single


def as_given(instrument: Instrument, X: ArrayLike, argument: str = "X") -> tuple[Array, bool]:
    """X in the shape that users give the instrument's queries in, and whether it was one without its leading axis."""
    require_instrument(instrument)
    array = numbers(argument, X, f"numbers of shape {_SHAPES[instrument.asks]}")
    if instrument.outputs is not None and array.ndim == 3 and array.shape[2] > 1:
        given = array[:, 0, :-1]
        if np.array_equal(instrument.sees(given), array):
            return given, False
    wanted = 2 if instrument.asks == "place" else 3
    single = array.ndim == wanted - 1
    queries = array[None] if single else array
    if queries.ndim != wanted or (instrument.query == "pair" and queries.shape[1] != 2) or 0 in queries.shape[1:]:
        raise InvalidInput(
            argument,
            f"an array of shape {_SHAPES[instrument.asks]}",
            f"shape {array.shape}",
            "use .reshape(-1, 1) for places in one dimension",
        )
    most = instrument.most_places
    if most is not None and queries.shape[1] > most:
        raise InvalidInput(
            argument, f"sets of at most {most} places", queries.shape[1], "split the set into smaller queries"
        )
    finite_table(argument, queries.reshape(-1, queries.shape[-1]))
    return queries, single
