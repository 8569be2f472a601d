"""What a campaign knows: its design, and what its events so far have made of it. Nothing here asks, fits or writes.

A State is a value. `state.after(event)` is the state after one more event; what each event does is in `events`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from math import fsum
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.acquisition.switch import entropy_of
from gainful.beliefs import Parts
from gainful.campaign.answer import canonical_answer
from gainful.campaign.design import Design
from gainful.campaign.goal import Goal, switch_in, turned
from gainful.checks import column_names
from gainful.data import Data, Query
from gainful.errors import InvalidInput, JournalError
from gainful.gp import GP
from gainful.inference.belief import Belief
from gainful.inference.engines.choosing import FEW
from gainful.inference.posterior import Posterior
from gainful.instruments import Instrument
from gainful.process import Process
from gainful.space import Limit

__all__ = ["Change", "Entry", "Hyperparameters", "Known", "State", "Status"]

Array = NDArray[np.float64]

_FEWEST = 2  # answers before anything is learned from them
_MOST_LATER = 64  # answers that are added to a belief from many, before all are taken together again


class Status(StrEnum):
    """What has become of a query."""

    PENDING = "pending"
    TOLD = "told"
    FAILED = "failed"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True)
class Entry:
    """One line of a campaign's history. `answer` is None while the query is pending, and where it failed."""

    query: Query
    answer: Any = None
    cost: float = 0.0
    status: Status = Status.PENDING
    note: Any = None
    own: bool = False  # whether the user chose it
    where: Limit | str | None = None  # what limited the ask; of the user's own function, the name
    event: int = 0  # how many events came before it was asked
    corrected: bool = False  # whether its answer is not the one that was told first
    confirms: bool = False  # whether it was asked because it was believed to be best, and not by the goal


@dataclass(frozen=True)
class Hyperparameters:
    """What was learned from answers: theta of the gp, and of each instrument by its label."""

    gp: tuple[float, ...]
    instruments: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True, eq=False)
class Known:
    """What is believed, from the design, the told answers and the hyperparameters learned so far.

    Worked out once, however many states share it: an event that changes no answer leaves it as it is.
    """

    design: Design
    told: tuple[Entry, ...] = ()
    hyper: Hyperparameters | None = None
    parts: Parts | None = None  # of a belief of several
    base: Known | None = None  # some of the answers, many, from whose belief this one goes on

    def with_told(self, told: tuple[Entry, ...]) -> Known:
        """The same with other answers. Beyond some thousands the next few go on from the belief that there is."""
        base = self if self.base is None and len(self.told) > FEW else self.base
        if base is not None:
            now = {entry.query.number: entry for entry in told}
            grown = len(base.told) <= len(told) <= len(base.told) + _MOST_LATER
            if not (grown and all(now.get(entry.query.number) is entry for entry in base.told)):
                base = None
        return replace(self, told=told, base=base)

    @cached_property
    def gp(self) -> Process:
        """The gp with what has been learned: of a belief of several, that of its heaviest part."""
        if self.design.learner is not None:
            belief = self.belief
            assert isinstance(belief, Belief)
            part = belief.posteriors[belief.heaviest]
            space = self.design.learner.space_of(belief.models[belief.heaviest])
            return Process(part.kernel, part.prior_mean, {}, space)
        assert isinstance(self.design.model, GP)
        return self.design.model if self.hyper is None else self.design.model.with_theta(np.array(self.hyper.gp))

    def learned(self, instrument: Instrument) -> Instrument:
        """The instrument with what has been learned about it: of a belief of several, that of its heaviest part."""
        if self.design.learner is not None:
            belief = self.belief
            return belief.instrument_of(belief.heaviest, instrument) if isinstance(belief, Belief) else instrument
        theta = () if self.hyper is None else self.hyper.instruments.get(instrument.label, ())
        return instrument.with_theta(np.array(theta)) if len(theta) else instrument

    def require_learned(self) -> None:
        """InvalidInput for hyperparameters that the gp or an instrument cannot have."""
        with np.errstate(over="ignore", under="ignore"):  # and then it is not finite, or not positive
            _ = self.gp, [self.learned(each) for each in self.design.instruments]

    @cached_property
    def data(self) -> Data:
        """The told answers, instrument by instrument, read by the instruments as they were designed."""
        return self._data_of(self.told)

    def _data_of(self, entries: Iterable[Entry]) -> Data:
        groups: dict[tuple[Instrument, tuple[int, ...]], list[Entry]] = {}
        for entry in entries:
            groups.setdefault((entry.query.instrument, entry.query.place.shape), []).append(entry)
        data = Data(names=column_names(self.design.places), output=self.design.output)
        for (instrument, _), alike in groups.items():
            data = data.add(instrument, np.stack([e.query.place for e in alike]), [e.answer for e in alike])
        return data

    @cached_property
    def later(self) -> Data:
        """Those of the answers that the base does not have."""
        assert self.base is not None
        before = {entry.query.number for entry in self.base.told}
        return self._data_of(entry for entry in self.told if entry.query.number not in before)

    @cached_property
    def belief(self) -> Posterior | Belief:
        """From the model and all answers at once, never from an earlier belief: it does not matter how one got here.

        Where there are so many that an engine takes them, the last few are added to what it made of the others; which
        those are depends on the events alone.
        """
        learner, instruments = self.design.learner, self.design.instruments
        before = None if self.base is None else self.base.belief
        if isinstance(before, Posterior):
            own = {each: self.learned(each) for each in self.later.instruments}
            return before.condition(self.later.with_instruments(own))
        if type(before) is Belief:  # and not one that says more of itself
            return before.condition(self.later)
        if learner is not None:
            parts = learner.typical(self.data, instruments) if self.parts is None else self.parts
            return learner.believe(parts, self.data, instruments)
        learned = {} if self.hyper is None else {each: self.learned(each) for each in self.data.instruments}
        data = self.data.with_instruments(learned) if learned else self.data
        return self.gp.posterior(data, inference=self.design.reaching)


class Change(Protocol):
    """What a state asks of an event."""

    @property
    def kind(self) -> str: ...

    def apply(self, state: State) -> State: ...


@dataclass(frozen=True, eq=False)
class State:
    """The replay of events. Hyperparameters were learned from the answers to `basis`; they are `stale` when one of
    those has changed since. `believed` are the beliefs of several so far with their bases, the last one in force. Of a
    goal that is a Switch, `was` is the side that the last query was chosen by."""

    known: Known
    entries: tuple[Entry, ...] = ()
    events: int = 1
    offered: tuple[tuple[float, ...], ...] = ()  # the places of a stream so far, measured or not
    basis: frozenset[int] = field(default_factory=frozenset)
    believed: tuple[tuple[frozenset[int], Parts], ...] = ()
    stale: bool = False
    stopped: str | None = None
    closed: bool = False
    order: tuple[int, ...] = ()  # the told queries, in the order of telling
    was: str | None = None

    @staticmethod
    def begin(design: Design) -> State:
        """The state of a campaign that was created and nothing else."""
        return State(Known(design))

    def after(self, event: Change) -> State:
        """The state after one more event; JournalError for one that cannot come now."""
        try:
            return replace(event.apply(self), events=self.events + 1)
        except (JournalError, InvalidInput) as trouble:
            raise JournalError(f"event {self.events + 1} of the journal ({event.kind}): {trouble}") from trouble

    @property
    def design(self) -> Design:
        return self.known.design

    @property
    def belief(self) -> Posterior | Belief:
        return self.known.belief

    @cached_property
    def side(self) -> str | None:
        """Of a Switch, the side that counts now: by the belief, coming from the side of the last query."""
        switch = switch_in(self.design.goal)
        return None if switch is None else switch.side(entropy_of(self.belief), self.was)

    @property
    def goal(self) -> Goal:
        """What the next query is for: the design's goal, or of a Switch the one that counts now."""
        goal: Goal = turned(self.design.goal, self.side)
        return goal

    @property
    def told(self) -> tuple[Entry, ...]:
        return self.known.told

    @property
    def pending(self) -> tuple[Query, ...]:
        return tuple(e.query for e in self.entries if e.status is Status.PENDING)

    @property
    def expected(self) -> tuple[Query, ...]:
        """The pending queries, with instruments as they are known by now."""
        return tuple(q.using(self.known.learned(q.instrument)) for q in self.pending)

    @property
    def spent(self) -> float:
        """What was paid: for told answers, for failures, and for what was withdrawn afterwards."""
        return fsum(e.cost for e in self.entries if e.status is not Status.PENDING)

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
        every, told, learner = self.design.refit, self.told, self.design.learner
        new = sum(e.query.number not in self.basis for e in told)
        if every is None:
            due = learner is not None and (self.stale or learner.due(len(self.basis), new))
            return due and len(told) >= _FEWEST
        return self.stale or (len(told) >= every and new >= every)

    # What events are made of

    def with_query(self, number: int, label: str, place: ArrayLike, **about: Any) -> State:
        """The state with one more query, pending."""
        instrument = next((each for each in self.design.instruments if each.label == label), None)
        if instrument is None:
            raise JournalError(f"instrument {label!r} is not in the design")
        query = Query(instrument, self.design.codes(place), len(self.entries)).seen_in(self.design.places)
        self.design.require_within(query.place)
        if number != query.number:
            raise JournalError(f"query {number} is asked where {query.number} was next; events are missing")
        return replace(self, entries=(*self.entries, Entry(query, event=self.events, **about)))

    def entry(self, number: int, was: tuple[Status, ...]) -> Entry:
        """One line of the history, which is of one of these kinds."""
        if not 0 <= number < len(self.entries) or self.entries[number].status not in was:
            raise JournalError(f"query {number} is taken to be {' or '.join(was)}, which it is not")
        return self.entries[number]

    def with_answer(self, number: int, was: Status, answer: Any, **changes: Any) -> State:
        """The state with an answer to a query, as the instrument gives it; InvalidInput for one that it cannot give."""
        instrument = self.entry(number, (was,)).query.instrument
        return self.with_entry(number, (was,), answer=canonical_answer(instrument, answer), **changes)

    def with_entry(self, number: int, was: tuple[Status, ...], **changes: Any) -> State:
        """The state with one line of its history changed, which was of one of these kinds before."""
        entries = list(self.entries)
        entries[number] = replace(self.entry(number, was), **changes)
        told = tuple(e for e in entries if e.status is Status.TOLD)
        known = self.known if told == self.told else self.known.with_told(told)
        # A campaign that had nothing more to learn looks again when something changes.
        stopped = self.stopped if self.closed else None
        changed = replace(self, entries=tuple(entries), known=known, stopped=stopped)
        return replace(changed, stale=True) if number in self.basis else changed

    def with_parts(self, believed: tuple[tuple[frozenset[int], Parts], ...]) -> State:
        """The state with these beliefs so far, the last one in force."""
        basis, parts = believed[-1] if believed else (frozenset(), None)
        known = self.known if parts is self.known.parts else replace(self.known, parts=parts, base=None)
        return replace(self, known=known, believed=believed, basis=basis, stale=False)

    def with_offer(self, place: Sequence[Any]) -> State:
        """The state with one more place that a stream has offered."""
        codes = np.asarray(self.design.codes(place), dtype=float)
        self.design.require_within(codes)
        return replace(self, offered=(*self.offered, tuple(codes.tolist())))
