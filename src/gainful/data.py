"""What was asked and answered: queries, and the data so far as an immutable value.

    data = Data().add(lab, X, y).add(look, X2, ranks)

Observations keep the order in which they were added. Inference reads them through their `Layout`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.checks import finite_table, is_whole, numbers
from gainful.errors import InvalidInput
from gainful.instruments.base import Instrument
from gainful.layout import Layout, lay_out

__all__ = ["Batch", "Data", "Query", "as_queries", "column_names", "require_columns"]

Array = NDArray[np.float64]

_SHAPES = {"place": "(n, d)", "pair": "(n, 2, d), a pair of places each", "set": "(n, k, d), a set of k places each"}


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Query:
    """An instrument and the place, or places, to use it at: (d,), a pair (2, d) or a set (k, d).

    `number` is the campaign's own, None for a query that no campaign asked.

    >>> from gainful.instruments import Point
    >>> Query(Point(noise=0.1, name="lab"), [0.2, 0.5])
    Query(lab at (0.2, 0.5))
    """

    instrument: Instrument
    place: Array
    number: int | None

    def __init__(self, instrument: Instrument, place: ArrayLike, number: int | None = None) -> None:
        queries, _ = as_queries(instrument, place)
        if len(queries) != 1:
            raise InvalidInput("place", "one query", f"{len(queries)} of them", "make one Query of each")
        own = np.asarray(queries[0] + 0.0)  # −0 is 0: equal queries have equal hashes
        own.flags.writeable = False
        object.__setattr__(self, "instrument", instrument)
        object.__setattr__(self, "place", own)
        object.__setattr__(self, "number", number)

    @property
    def cost(self) -> float:
        return self.instrument.cost

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Query):
            return NotImplemented
        same = self.instrument == other.instrument and self.number == other.number
        return same and np.array_equal(self.place, other.place)

    def __hash__(self) -> int:
        return hash((self.instrument, self.place.tobytes(), self.number))

    def __repr__(self) -> str:
        places = [f"({', '.join(f'{x:.6g}' for x in row)})" for row in np.atleast_2d(self.place)]
        numbered = "" if self.number is None else f" {self.number}"
        return f"Query{numbered}({self.instrument.label} at {', '.join(places)})"


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

    >>> from gainful.instruments import Point
    >>> data = Data().add(Point(noise=0.1), [[0.0], [1.0]], [0.3, 0.7])
    >>> len(data), len(data.without(0))
    (2, 1)
    """

    batches: tuple[Batch, ...] = ()
    _layout: Layout | None = None  # where it is known: joining extends it, other instruments keep its indices

    def __repr__(self) -> str:
        counts: Counter[str] = Counter()
        for batch in self.batches:
            counts[batch.instrument.label] += len(batch)
        return f"Data({', '.join(f'{n} from {label}' for label, n in counts.items()) or 'nothing yet'})"

    def add(self, instrument: Instrument, X: ArrayLike, answers: ArrayLike) -> Data:
        """The data with these answers too. One place (d,) with its one answer is accepted as well.

        The columns of a table are taken in their order; a later table whose columns are called otherwise is refused.
        """
        if not isinstance(instrument, Instrument):
            raise InvalidInput("instrument", "an instrument such as Point(noise=0.1)", instrument, "pass it first")
        queries, single = as_queries(instrument, X)
        columns = column_names(X)
        require_columns("X", columns, self.columns)
        if single and np.ndim(answers) != instrument.answer_axes:
            raise InvalidInput(
                "X",
                f"an array of shape {_SHAPES[instrument.query]} for several answers",
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
        canonical = instrument.validate(np.asarray(answers)[None] if single else answers, len(queries))
        queries, canonical = np.array(queries), np.array(canonical)
        queries.flags.writeable = canonical.flags.writeable = False
        return Data((*self.batches, Batch(instrument, queries, canonical, columns))) if len(queries) else self

    def join(self, more: Data) -> Data:
        """These observations, then those."""
        if None not in (self.dimensions, more.dimensions) and self.dimensions != more.dimensions:
            raise InvalidInput(
                "data", f"places with {self.dimensions} coordinates", more.dimensions, "match the columns"
            )
        require_columns("data", more.columns, self.columns)
        batches = (*self.batches, *more.batches)
        if self._layout is None or not (self.batches and more.batches):
            return Data(batches)
        return Data(batches, self._layout.append(more.layout))

    def numbers(self, observations: int | Iterable[int]) -> NDArray[np.intp]:
        """Observation numbers, sorted and without repeats; negative ones count from the end."""
        wanted = [observations] if isinstance(observations, int | np.integer) else list(observations)
        whole = all(is_whole(i) for i in wanted)
        counted = [int(i) + len(self) if i < 0 else int(i) for i in wanted] if whole else []
        found = np.unique(np.array(counted, dtype=np.intp))
        if not whole or (found.size and not (found[0] >= 0 and found[-1] < len(self))):
            raise InvalidInput(
                "observations", f"whole numbers from 0 to {len(self) - 1}", wanted, "use np.flatnonzero for a mask"
            )
        return found

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
        return Data(tuple(out))

    def with_instruments(self, changed: Mapping[Instrument, Instrument]) -> Data:
        """The same answers read by other instruments (for instance with learned noise)."""
        batches = tuple(replace(b, instrument=changed.get(b.instrument, b.instrument)) for b in self.batches)
        return Data(batches, self.layout.with_instruments(changed))  # an optimiser comes here for every theta

    def __len__(self) -> int:
        return sum(len(batch) for batch in self.batches)

    @property
    def dimensions(self) -> int | None:
        """How many coordinates a place has; None before the first answer."""
        return int(self.batches[0].X.shape[-1]) if self.batches else None

    @cached_property
    def columns(self) -> tuple[str, ...] | None:
        """What the coordinates are called, where places came as a table with names."""
        return next((batch.columns for batch in self.batches if batch.columns is not None), None)

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


def column_names(X: object) -> tuple[str, ...] | None:
    """The names of a table's columns (pandas, polars); None for what has none."""
    names = getattr(X, "columns", None)
    found = tuple(names) if isinstance(names, Iterable) else ()
    return found if found and all(isinstance(name, str) for name in found) else None


def require_columns(argument: str, got: tuple[str, ...] | None, known: tuple[str, ...] | None) -> None:
    """Refuse a table whose columns are not those known, in their order: they would be taken for one another."""
    if got is not None and known is not None and got != known:
        remedy = f"X[{list(known)}] puts them in order" if set(got) == set(known) else "rename, or pass X.to_numpy()"
        raise InvalidInput(argument, f"the columns {list(known)}, as before", list(got), remedy)


def as_queries(instrument: Instrument, X: ArrayLike) -> tuple[Array, bool]:
    """X in the shape that the instrument's queries have, and whether it was one query without its leading axis."""
    if not isinstance(instrument, Instrument):
        raise InvalidInput("instrument", "an instrument such as Point(noise=0.1)", instrument, "make one first")
    array = numbers("X", X, f"numbers of shape {_SHAPES[instrument.query]}")
    wanted = 2 if instrument.query == "place" else 3
    single = array.ndim == wanted - 1
    queries = array[None] if single else array
    if queries.ndim != wanted or (instrument.query == "pair" and queries.shape[1] != 2) or 0 in queries.shape[1:]:
        raise InvalidInput(
            "X",
            f"an array of shape {_SHAPES[instrument.query]}",
            f"shape {array.shape}",
            "use .reshape(-1, 1) for places in one dimension",
        )
    most = instrument.most_places
    if most is not None and queries.shape[1] > most:
        raise InvalidInput(
            "X", f"sets of at most {most} places", queries.shape[1], "split the set into smaller queries"
        )
    finite_table("X", queries.reshape(-1, queries.shape[-1]))
    return queries, single
