"""Index algebra between observations and the function: which rows of g = A f(places) each observation sees.

A row of A picks one place, or the difference of two. Inference works on g alone; a `Layout` holds A (as indices), the
answers grouped into terms that are treated alike, and which rows belong to which instrument and observation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gainful.instruments.base import Instrument, Rows, Term
from gainful.instruments.window import Window

__all__ = ["Layout", "Source", "lay_out"]

Array = NDArray[np.float64]


class Source(NamedTuple):
    """All answers of one instrument (its number among the data's, its answers, their rows of g): for its own theta."""

    instrument: Instrument
    owner: int
    answers: Array
    rows: Rows


class Observations(Protocol):
    """Answers of one instrument at X: (n, d), (n, 2, d) for pairs or (n, k, d) for sets."""

    @property
    def instrument(self) -> Instrument: ...

    @property
    def X(self) -> Array: ...

    @property
    def answers(self) -> Array: ...


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

    @property
    def size(self) -> int:
        """F, the rows of g."""
        return len(self.first)

    @cached_property
    def direct(self) -> bool:
        """Whether g is f at the places, one row each."""
        return not bool(np.any(self.second >= 0)) and len(self.first) == len(self.places)

    @property
    def gaussian(self) -> bool:
        """Whether every likelihood is Gaussian in g."""
        return all(term.likelihood.gaussian for term in self.terms)

    @cached_property
    def scalar_rows(self) -> Rows:
        """The rows whose sites are to be found one by one: neither Gaussian nor coupled with others."""
        alone = [t.rows[:, 0] for t in self.terms if t.rows.shape[1] == 1 and not t.likelihood.gaussian]
        return _concatenate(alone)

    @cached_property
    def instruments(self) -> tuple[Instrument, ...]:
        """The distinct instruments, in the order of their first answers."""
        by_owner = sorted(self.sources, key=lambda source: source.owner)
        return tuple(dict.fromkeys(source.instrument for source in by_owner))

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

    def append(self, more: Layout) -> Layout:
        """The layout of these observations and then those, without going through each again."""
        owners = {instrument: i for i, instrument in enumerate(dict.fromkeys((*self.instruments, *more.instruments)))}
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
        """The sub-layout of observations added after the first `rows` rows and `places` places, without their terms."""
        second = self.second[rows:]
        return Layout(
            self.places[places:],
            self.first[rows:] - places,
            np.where(second >= 0, second - places, -1),
            (),
            (),
            self.starts[:0],
        )

    def with_instruments(self, changed: Mapping[Instrument, Instrument]) -> Layout:
        """The same answers read by other instruments; no index changes."""
        numbered = {each: i for i, each in enumerate(dict.fromkeys(changed.get(i, i) for i in self.instruments))}
        sources: list[Source] = []
        terms: list[Term] = []
        for source in self.sources:
            instrument = changed.get(source.instrument, source.instrument)
            sources.append(source._replace(instrument=instrument, owner=numbered[instrument]))
            terms.extend(instrument.split(source.answers, source.rows))
        return replace(self, terms=_merge_windows(terms), sources=tuple(sources))


def lay_out(batches: Sequence[Observations]) -> Layout:
    """The layout of these observations, in their order."""
    places = [np.zeros((0, batches[0].X.shape[-1] if batches else 0))]
    first, second, sizes = [], [], []
    owners: dict[Instrument, int] = {}
    groups: dict[tuple[Instrument, int], tuple[list[Array], list[Rows]]] = {}
    place = row = 0
    for batch in batches:
        n, paired = len(batch.X), batch.instrument.query == "pair"
        each = 1 if batch.X.ndim == 2 else batch.X.shape[1]
        k = 1 if paired else each
        index = np.arange(place, place + n * each).reshape(n, each)
        places.append(batch.X.reshape(n * each, -1))
        first.append(index[:, :k].ravel())
        second.append(index[:, 1] if paired else np.full(n * k, -1))
        owners.setdefault(batch.instrument, len(owners))
        answers, rows = groups.setdefault((batch.instrument, k), ([], []))
        answers.append(batch.answers)
        rows.append(np.arange(row, row + n * k).reshape(n, k))
        sizes.append(np.full(n, k))
        place, row = place + n * each, row + n * k
    sources = [
        Source(instrument, owners[instrument], np.concatenate(answers), np.concatenate(rows))
        for (instrument, _), (answers, rows) in groups.items()
    ]
    return Layout(
        places=np.concatenate(places),
        first=_concatenate(first),
        second=_concatenate(second),
        terms=_terms(sources),
        sources=tuple(sources),
        starts=np.concatenate([[0], np.cumsum(_concatenate(sizes))]).astype(np.intp),
    )


def _terms(sources: Iterable[Source]) -> tuple[Term, ...]:
    split = (source.instrument.split(source.answers, source.rows) for source in sources)
    return _merge_windows([term for terms in split for term in terms])


def _merge_windows(terms: list[Term]) -> tuple[Term, ...]:
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


def _concatenate(parts: Sequence[NDArray[np.intp]]) -> Rows:
    return np.concatenate(parts).astype(np.intp) if parts else np.zeros(0, dtype=np.intp)
