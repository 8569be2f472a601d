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

from gainful.errors import NumericalError
from gainful.instruments.base import Instrument, Rows, Term
from gainful.instruments.window import Window

__all__ = ["Layout", "Source", "lay_out"]

Array = NDArray[np.float64]


Functional = tuple[bytes, ...]


class Seen(NamedTuple):
    """What each row of g is: f(places[first]), minus f(places[second]) where second ≥ 0."""

    places: Array
    first: Rows
    second: Rows

    def functional(self, row: int) -> tuple[Functional, bool]:
        """What two rows have in common that see the same value, and whether this one sees it with the other sign."""
        first, second = int(self.first[row]), int(self.second[row])
        places = self.places[[first] if second < 0 else [first, second]] + 0.0
        names = tuple(place.tobytes() for place in places)
        return (names, False) if names == tuple(sorted(names)) else (names[::-1], True)


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

    def hard_windows(self, paired: bool) -> tuple[Rows, Array, Array]:
        """What lies in a known window, f(x) or, `paired`, f(u) − f(v): rows (H,), places (H, k, d), ends (H, 2)."""

        windows = [term for term in self.terms if isinstance(term.likelihood, Window)]
        rows = _concatenate([term.rows[:, 0] for term in windows])
        answers = np.concatenate([np.zeros((0, 3)), *(term.answers for term in windows)])
        known = (answers[:, 2] == 0.0) & ((self.second[rows] >= 0) == paired)
        rows = rows[known]
        ends = [self.first[rows], self.second[rows]] if paired else [self.first[rows]]
        return rows, np.stack([self.places[each] for each in ends], axis=1), answers[known, :2]

    def require_possible(self) -> None:
        """NumericalError where windows without noise of one value do not overlap."""
        for term in self.terms:
            if isinstance(term.likelihood, Window):
                low, high, noise = term.answers.T
                empty = np.flatnonzero((noise == 0.0) & ~(low < high))
                if empty.size:
                    i = int(empty[0])
                    raise NumericalError(
                        "answers without noise contradict each other: of one value, some say that it is above "
                        f"{low[i] + 0.0:.6g} and others that it is below {high[i] + 0.0:.6g}; give the instrument some "
                        "noise, or remove the contradiction"
                    )

    @property
    def is_intersected(self) -> bool:
        """Whether rows without a term of their own are spoken for by another: see `intersect_hard`."""
        return sum(term.rows.size for term in self.terms) < self.size

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
        seen = Seen(
            np.concatenate([self.places, more.places]),
            np.concatenate([self.first, more.first + len(self.places)]),
            np.concatenate([self.second, np.where(more.second >= 0, more.second + len(self.places), -1)]),
        )
        return Layout(
            *seen,
            terms=_terms(groups.values(), seen),
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
        seen = Seen(self.places, self.first, self.second)
        return replace(self, terms=_merge_windows(terms, seen), sources=tuple(sources))


def lay_out(batches: Sequence[Observations]) -> Layout:
    """The layout of these observations, in their order."""
    places = [np.zeros((0, batches[0].instrument.sees(batches[0].X[:1]).shape[-1] if batches else 0))]
    first, second, sizes = [], [], []
    owners: dict[Instrument, int] = {}
    groups: dict[tuple[Instrument, int], tuple[list[Array], list[Rows]]] = {}
    place = row = 0
    for batch in batches:
        X, paired = batch.instrument.sees(batch.X), batch.instrument.query == "pair"
        n, each = len(X), 1 if X.ndim == 2 else X.shape[1]
        k = 1 if paired else each
        index = np.arange(place, place + n * each).reshape(n, each)
        places.append(X.reshape(n * each, -1))
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
    seen = Seen(np.concatenate(places), _concatenate(first), _concatenate(second))
    return Layout(
        *seen,
        terms=_terms(sources, seen),
        sources=tuple(sources),
        starts=np.concatenate([[0], np.cumsum(_concatenate(sizes))]).astype(np.intp),
    )


def _terms(sources: Iterable[Source], seen: Seen) -> tuple[Term, ...]:
    split = (source.instrument.split(source.answers, source.rows) for source in sources)
    return _merge_windows([term for terms in split for term in terms], seen)


def _merge_windows(terms: list[Term], seen: Seen) -> tuple[Term, ...]:
    """The terms with all windows in one: they differ in their numbers only."""
    others, answers, rows = [], [], []
    for term in terms:
        window = term.likelihood.window(term.answers) if isinstance(term.likelihood, Instrument) else None
        if window is None:
            others.append(term)
        else:
            answers.append(window)
            rows.append(term.rows)
    if not answers:
        return tuple(others)
    return (*others, Term(Window(), *intersect_hard(np.concatenate(answers), np.concatenate(rows), seen)))


def intersect_hard(windows: Array, rows: Rows, seen: Seen) -> tuple[Array, Rows]:
    """Windows (n, 3) and rows (n, 1) with those without noise that see the same value made one, their intersection.

    lo ≤ g ≤ hi and lo' ≤ g ≤ hi' say no more than max(lo, lo') ≤ g ≤ min(hi, hi'). As two sites they would count twice:
    expectation propagation is exact for one window, and far too sure of thirty equal ones. The first keeps the
    intersection, the rows of the others no longer have a term. f(v) − f(u) is f(u) − f(v) seen from the other side.
    """
    hard = np.flatnonzero(windows[:, 2] == 0.0)
    if len(hard) < 2:
        return windows, rows
    heads: dict[Functional, tuple[int, bool]] = {}
    kept, out = np.ones(len(windows), dtype=bool), windows.copy()
    for i in hard:
        key, mirrored = seen.functional(int(rows[i, 0]))
        head, was_mirrored = heads.setdefault(key, (int(i), mirrored))
        if head == i:
            continue
        low, high = windows[i, :2] if mirrored == was_mirrored else -windows[i, 1::-1]
        out[head, 0], out[head, 1] = max(out[head, 0], low), min(out[head, 1], high)
        kept[i] = False
    return (windows, rows) if kept.all() else (out[kept], rows[kept])


def _concatenate(parts: Sequence[NDArray[np.intp]]) -> Rows:
    return np.concatenate(parts).astype(np.intp) if parts else np.zeros(0, dtype=np.intp)
