"""What a campaign knows: its design and the replay of its events. Values only; nothing here asks, fits or writes.

created   the design
asked     a query, with its number
told      the answer to a query (asked, or made by the user's own choice), and what it cost
corrected a told answer was wrong; here is the right one
withdrawn a query will not be answered, or its answer is not to be believed
undone    the last answer was told by mistake; its query is pending again
passed    a place of a stream that was let go by
fitted    hyperparameters learned from the answers so far
stopped   why the campaign ended
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gainful.acquisition import Acquisition
from gainful.acquisition.baselines import Random, RandomType
from gainful.campaign.codec import Codec, encode
from gainful.campaign.stopping import GoodEnough, Rule, TooLittleToLearn
from gainful.data import Data, Query
from gainful.errors import JournalError
from gainful.gp import GP
from gainful.inference.posterior import Posterior
from gainful.inference.solution import Inference
from gainful.instruments import Instrument
from gainful.selection.choose import Search
from gainful.selection.stream import Stream
from gainful.space import Constraint, Places

__all__ = ["SCHEMA", "Design", "Entry", "State"]

Array = NDArray[np.float64]
Event = dict[str, Any]

SCHEMA = 1
_LEAVE_BELIEF = ("asked", "passed", "stopped")
_BELIEF = ("gp", "data", "learned_data", "posterior")


@dataclass(frozen=True, eq=False)
class Design:
    """Everything that was decided before the first query."""

    space: Places | Stream
    instruments: tuple[Instrument, ...]
    gp: GP
    goal: Acquisition | Random | RandomType
    budget: float | None
    seed: int
    limits: Mapping[str, Constraint]
    forward: str | None
    repeat: bool
    stop: tuple[Rule, ...]
    refit: int | None
    inference: Inference | None
    search: Search

    @property
    def places(self) -> Places:
        return self.space.space if isinstance(self.space, Stream) else self.space

    def to_json(self) -> Any:
        return encode(self)

    @staticmethod
    def from_json(data: Any, known: Any = ()) -> Design:
        own = (Design, Stream, TooLittleToLearn, GoodEnough)
        others = known if isinstance(known, list | tuple | set | frozenset) else (known,)
        design = Codec((*own, *others)).decode(data)
        if not isinstance(design, Design):
            raise JournalError("the journal's first event does not hold the design of a campaign")
        return design


@dataclass(frozen=True)
class Entry:
    """One line of a campaign's history. `answer` is None while the query is pending."""

    query: Query
    answer: Any = None
    cost: float = 0.0
    status: str = "pending"  # "pending", "told" or "withdrawn"
    note: Any = None
    own: bool = False  # whether the user chose it
    where: Any = None  # what limited the ask, as the journal has it
    event: int = 0  # how many events came before it was asked


@dataclass(frozen=True, eq=False)
class State:
    """The replay of events. `fitted` holds theta of the gp and of each instrument, learned from the answers to `basis`;
    it is `stale` when one of those has changed since."""

    design: Design
    entries: tuple[Entry, ...] = ()
    events: int = 1
    offered: tuple[tuple[float, ...], ...] = ()  # the places of a stream so far, measured or not
    fitted: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    basis: frozenset[int] = frozenset()
    stale: bool = False
    stopped: str | None = None
    closed: bool = False
    order: tuple[int, ...] = ()  # the told queries, in the order of telling

    def after(self, event: Event) -> State:
        """The state after one more event."""
        kind = event.get("event")
        apply = _APPLY.get(str(kind))
        if apply is None:
            raise JournalError(f"the journal has an event {kind!r} that this version of gainful does not know; upgrade")
        try:
            new = apply(self, event)
        except (KeyError, IndexError, TypeError) as trouble:
            raise JournalError(f"event {self.events + 1} of the journal ({kind}) is incomplete: {trouble}") from trouble
        new = replace(new, events=self.events + 1)
        if kind in _LEAVE_BELIEF:  # what is believed stays the same, and need not be worked out again
            new.__dict__.update({name: self.__dict__[name] for name in _BELIEF if name in self.__dict__})
        return new

    def instrument(self, label: str) -> Instrument:
        for each in self.design.instruments:
            if each.label == label:
                return each
        raise JournalError(f"the journal speaks of an instrument {label!r} that is not in its design")

    @property
    def told(self) -> tuple[Entry, ...]:
        return tuple(e for e in self.entries if e.status == "told")

    @property
    def pending(self) -> tuple[Query, ...]:
        return tuple(e.query for e in self.entries if e.status == "pending")

    @property
    def expected(self) -> tuple[Query, ...]:
        """The pending queries, with instruments as they are known by now."""
        return tuple(Query(self.learned(q.instrument), q.place, q.number) for q in self.pending)

    @property
    def spent(self) -> float:
        """What was paid: for told answers, and for those withdrawn after they were told."""
        return fsum(e.cost for e in self.entries if e.status != "pending")

    @property
    def left(self) -> float:
        """What the budget leaves when pending queries are paid for; infinite without a budget."""
        if self.design.budget is None:
            return np.inf
        return self.design.budget - fsum([self.spent, *(q.cost for q in self.pending)])

    def affords(self, cost: float) -> bool:
        """Whether the budget pays for one more; thirty uses of 0.1 are 3, whatever rounding says."""
        return cost <= self.left + 1e-12 * (self.design.budget or 0.0)

    @property
    def due(self) -> bool:
        """Whether hyperparameters are to be learned anew: enough new answers, or one of the old ones has changed."""
        every, told = self.design.refit, self.told
        if every is None:
            return False
        new = sum(e.query.number not in self.basis for e in told)
        return self.stale or (len(told) >= every and new >= every)

    @cached_property
    def gp(self) -> GP:
        return self.design.gp.with_theta(np.array(self.fitted["gp"])) if self.fitted else self.design.gp

    def learned(self, instrument: Instrument) -> Instrument:
        """The instrument with what has been learned about it."""
        theta = self.fitted.get("instrument " + instrument.label, ())
        return instrument.with_theta(np.array(theta)) if len(theta) else instrument

    @cached_property
    def data(self) -> Data:
        """The told answers, instrument by instrument, read by the instruments as they were designed."""
        groups: dict[tuple[Instrument, tuple[int, ...]], list[Entry]] = {}
        for entry in self.told:
            groups.setdefault((entry.query.instrument, entry.query.place.shape), []).append(entry)
        data = Data()
        for (instrument, _), entries in groups.items():
            data = data.add(instrument, np.stack([e.query.place for e in entries]), [e.answer for e in entries])
        return data

    @cached_property
    def learned_data(self) -> Data:
        return (
            self.data.with_instruments({i: self.learned(i) for i in self.data.instruments})
            if self.fitted
            else self.data
        )

    @cached_property
    def posterior(self) -> Posterior:
        """From the gp and all answers at once, never from an earlier posterior: it does not matter how one got here."""
        return self.gp.condition(self.learned_data, inference=self.design.inference)

    def with_entry(self, number: int, was: tuple[str, ...], **changes: Any) -> State:
        """The state with one line of its history changed, which was of one of these kinds before."""
        if not 0 <= number < len(self.entries) or self.entries[number].status not in was:
            raise JournalError(f"the journal speaks of query {number} as {' or '.join(was)}, which it is not")
        entries = list(self.entries)
        entries[number] = replace(entries[number], **changes)
        # A campaign that had nothing more to learn looks again when something changes.
        stopped = self.stopped if self.closed else None
        return replace(self, entries=tuple(entries), stopped=stopped, stale=self.stale or number in self.basis)


def _asked(state: State, event: Event) -> State:
    query = Query(state.instrument(event["instrument"]), event["place"], len(state.entries))
    if event["query"] != query.number:
        raise JournalError(f"the journal asks query {event['query']} where {query.number} was next; events are missing")
    own = event["event"] == "told"
    entry = Entry(query, own=own, where=event.get("where"), event=state.events)
    if isinstance(state.design.space, Stream) and not own:
        state = replace(state, offered=(*state.offered, tuple(query.place.tolist())))
    return replace(state, entries=(*state.entries, entry))


def _told(state: State, event: Event) -> State:
    if "place" in event:  # the user's own choice
        state = _asked(state, event)
    answer = Codec().decode(event["answer"])
    changes = {"answer": answer, "cost": float(event["cost"]), "status": "told", "note": event.get("note")}
    return replace(state.with_entry(event["query"], ("pending",), **changes), order=(*state.order, event["query"]))


def _undone(state: State, event: Event) -> State:
    if not state.order or event["query"] != state.order[-1]:
        raise JournalError(f"the journal takes back the answer to query {event['query']}, which is not the last one")
    back = state.with_entry(event["query"], ("told",), answer=None, cost=0.0, status="pending", note=None)
    return replace(back, order=state.order[:-1])


def _corrected(state: State, event: Event) -> State:
    answer = Codec().decode(event["answer"])
    return state.with_entry(event["query"], ("told",), answer=answer, **_note(event))


def _withdrawn(state: State, event: Event) -> State:
    order = tuple(n for n in state.order if n != event["query"])
    new = state.with_entry(event["query"], ("pending", "told"), status="withdrawn", **_note(event))
    return replace(new, order=order)


def _note(event: Event) -> dict[str, Any]:
    """A new note, where there is one; otherwise the old one stays."""
    return {"note": event["note"]} if "note" in event else {}


def _passed(state: State, event: Event) -> State:
    return replace(state, offered=(*state.offered, tuple(event["place"])))


def _fitted(state: State, event: Event) -> State:
    basis = frozenset(e.query.number for e in state.told if e.query.number is not None)
    if event.get("failed"):
        return replace(state, basis=basis, stale=False)
    theta = {name: tuple(values) for name, values in event["theta"].items()}
    return replace(state, fitted=theta, basis=basis if theta else frozenset(), stale=False)


def _stopped(state: State, event: Event) -> State:
    return replace(state, stopped=event["reason"], closed=bool(event["closed"]))


_APPLY = {
    "asked": _asked,
    "told": _told,
    "corrected": _corrected,
    "withdrawn": _withdrawn,
    "undone": _undone,
    "passed": _passed,
    "fitted": _fitted,
    "stopped": _stopped,
}
