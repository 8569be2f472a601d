"""What was asked and answered: an immutable value, and the layout in which inference reads it.

    data = Data().add(lab, X, y).add(look, X2, ranks)

Observations keep the order in which they were added. Every observation sees the function through rows of g = A
f(places), where a row of A picks one place, or the difference of two.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.errors import InvalidInput
from gainful.instruments.base import Instrument, Rows, Term
from gainful.instruments.window import Window
from gainful.kernels.base import as_places

__all__ = ["Batch", "Data", "Layout", "Query", "as_queries", "column_names", "require_columns"]

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


class Source(NamedTuple):
    """All answers of one instrument (its number among the data's, its answers, their rows of g): for its own theta."""

    instrument: Instrument
    owner: int
    answers: Array
    rows: Rows


@dataclass(frozen=True, eq=False)
class Layout:
    """Data as inference reads it.

    places (P, D); first, second (F,): row i of g is f(first_i), minus f(second_i) where second_i ≥ 0; terms with
    their rows; sources, the same by instrument; starts (N + 1,): the rows of observation n are
    starts[n]:starts[n + 1].
    """

    places: Array
    first: Rows
    second: Rows
    terms: tuple[Term, ...]
    sources: tuple[Source, ...]
    starts: Rows

    @cached_property
    def direct(self) -> bool:
        """Whether g is f at the places, one row each."""
        return not bool(np.any(self.second >= 0)) and len(self.first) == len(self.places)

    @property
    def size(self) -> int:
        return len(self.first)

    @cached_property
    def scalar_rows(self) -> Rows:
        """The rows whose sites are to be found one by one: neither Gaussian nor coupled with others."""
        alone = [t.rows[:, 0] for t in self.terms if t.rows.shape[1] == 1 and not t.likelihood.gaussian]
        return _joined(alone)

    @property
    def gaussian(self) -> bool:
        return all(term.likelihood.gaussian for term in self.terms)

    def pick(self, values: Array) -> Array:
        """A @ values, for values (P, ...)."""
        if self.direct:
            return values
        out = values[self.first]
        paired = self.second >= 0
        out[paired] -= values[self.second[paired]]
        return out

    def spread(self, values: Array) -> Array:
        """Aᵀ @ values, for values (F, ...)."""
        if self.direct:
            return values
        out = np.zeros((len(self.places), *values.shape[1:]))
        np.add.at(out, self.first, values)
        paired = self.second >= 0
        np.subtract.at(out, self.second[paired], values[paired])
        return out

    def covariance(self, K: Array) -> Array:
        """A K Aᵀ."""
        return K if self.direct else self.pick(self.pick(K).T).T

    def followed_by(self, more: Layout) -> Layout:
        """The layout of these observations and then those, without going through each again."""
        owners: dict[Instrument, int] = {}
        for part in (self, more):
            for source in sorted(part.sources, key=lambda source: source.owner):
                owners.setdefault(source.instrument, len(owners))
        groups: dict[tuple[Instrument, int], Source] = {}
        for source in (*self.sources, *(s._replace(rows=s.rows + self.size) for s in more.sources)):
            key = source.instrument, source.rows.shape[1]
            old, answers, rows = groups.get(key), source.answers, source.rows
            if old is not None:
                answers, rows = np.concatenate([old.answers, answers]), np.concatenate([old.rows, rows])
            groups[key] = Source(source.instrument, owners[source.instrument], answers, rows)
        return Layout(
            places=np.concatenate([self.places, more.places]),
            first=np.concatenate([self.first, more.first + len(self.places)]),
            second=np.concatenate([self.second, np.where(more.second >= 0, more.second + len(self.places), -1)]),
            terms=_terms(groups.values()),
            sources=tuple(groups.values()),
            starts=np.concatenate([self.starts, more.starts[1:] + self.starts[-1]]),
        )

    def tail(self, rows: int, places: int) -> Layout:
        """The picking of the rows from `rows` on, among the places from `places` on (of data added later)."""
        second = self.second[rows:]
        return Layout(
            self.places[places:],
            self.first[rows:] - places,
            np.where(second >= 0, second - places, -1),
            (),
            (),
            self.starts[:0],
        )


@dataclass(frozen=True, eq=False, repr=False)
class Data:
    """The queries and answers so far; adding or removing gives a new value.

    >>> from gainful.instruments import Point
    >>> data = Data().add(Point(noise=0.1), [[0.0], [1.0]], [0.3, 0.7])
    >>> len(data), len(data.without(0))
    (2, 1)
    """

    batches: tuple[Batch, ...] = field(default=())

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
        both = Data((*self.batches, *more.batches))
        if len(self.batches) and len(more.batches) and "layout" in self.__dict__:
            both.__dict__["layout"] = self.layout.followed_by(more.layout)
            both.__dict__["instruments"] = tuple(dict.fromkeys((*self.instruments, *more.instruments)))
        return both

    def numbers(self, observations: int | Iterable[int]) -> NDArray[np.intp]:
        """Observation numbers, sorted and without repeats; negative ones count from the end."""
        wanted = [observations] if isinstance(observations, int | np.integer) else list(observations)
        whole = all(isinstance(i, int | np.integer) and not isinstance(i, bool) for i in wanted)
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
        new = Data(tuple(replace(b, instrument=changed.get(b.instrument, b.instrument)) for b in self.batches))
        # The layout stays as it is but for the instruments: an optimiser comes here for every theta.
        sources: list[Source] = []
        terms: list[Term] = []
        for source in self.layout.sources:
            instrument = changed.get(source.instrument, source.instrument)
            sources.append(source._replace(instrument=instrument, owner=new.instruments.index(instrument)))
            terms.extend(instrument.split(source.answers, source.rows))
        new.__dict__["layout"] = replace(self.layout, terms=_together(terms), sources=tuple(sources))
        return new

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
        return tuple(dict.fromkeys(batch.instrument for batch in self.batches))

    @cached_property
    def layout(self) -> Layout:
        """The data as inference reads it."""
        places, first, second, sizes = [np.zeros((0, self.dimensions or 0))], [], [], []
        groups: dict[tuple[Instrument, int], tuple[list[Array], list[Rows]]] = {}
        place = row = 0
        for batch in self.batches:
            n, paired = len(batch), batch.instrument.query == "pair"
            each = 1 if batch.X.ndim == 2 else batch.X.shape[1]
            k = 1 if paired else each
            index = np.arange(place, place + n * each).reshape(n, each)
            places.append(batch.X.reshape(n * each, -1))
            first.append(index[:, :k].ravel())
            second.append(index[:, 1] if paired else np.full(n * k, -1))
            answers, rows = groups.setdefault((batch.instrument, k), ([], []))
            answers.append(batch.answers)
            rows.append(np.arange(row, row + n * k).reshape(n, k))
            sizes.append(np.full(n, k))
            place, row = place + n * each, row + n * k
        sources = [
            Source(instrument, self.instruments.index(instrument), np.concatenate(answers), np.concatenate(rows))
            for (instrument, _), (answers, rows) in groups.items()
        ]
        return Layout(
            places=np.concatenate(places),
            first=_joined(first),
            second=_joined(second),
            terms=_terms(sources),
            sources=tuple(sources),
            starts=np.concatenate([[0], np.cumsum(_joined(sizes))]).astype(np.intp),
        )


def _terms(sources: Iterable[Source]) -> tuple[Term, ...]:
    return _together([term for source in sources for term in source.instrument.split(source.answers, source.rows)])


def _together(terms: list[Term]) -> tuple[Term, ...]:
    """The terms with all windows in one: they differ in their numbers only."""
    others, answers, rows = [], [], []
    for term in terms:
        window = term.likelihood.window(term.answers) if isinstance(term.likelihood, Instrument) else None
        if window is None:
            others.append(term)
        else:
            answers.append(window)
            rows.append(term.rows)
    return (*others, Term(Window(), np.concatenate(answers), np.concatenate(rows))) if answers else tuple(others)


def _joined(parts: Sequence[NDArray[np.intp]]) -> Rows:
    return np.concatenate(parts).astype(np.intp) if parts else np.zeros(0, dtype=np.intp)


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
    try:
        array = np.asarray(X, dtype=float)
    except (TypeError, ValueError):
        raise InvalidInput("X", f"numbers of shape {_SHAPES[instrument.query]}", X, "convert them to numbers") from None
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
    as_places(queries.reshape(-1, queries.shape[-1]), "X")
    return queries, single
