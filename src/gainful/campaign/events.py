"""The events that a campaign consists of: what each means, what it does to the state, and its form in a journal.

A campaign is created, and from then on changes by events alone; its state is their replay. Each event is a frozen
class whose fields are those of its JSON object; `to_json` writes it, `from_json` reads it back or says, as
JournalError, which event and which field is not what it should be. A new kind of event is one more class in `KINDS`.
A change to what is written raises SCHEMA.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from functools import cache
from typing import Annotated, Any, ClassVar, Self, get_type_hints

from gainful.acquisition.switch import FIRST, THEN
from gainful.beliefs import Part, Parts
from gainful.campaign.codec import Codec, decode_plain, encode
from gainful.campaign.design import Design
from gainful.campaign.goal import switch_in
from gainful.campaign.state import Hyperparameters, State, Status
from gainful.campaign.trial import try_out
from gainful.checks import is_number, is_whole
from gainful.errors import InvalidInput, JournalError, shorten
from gainful.selection.stream import Stream
from gainful.space import Limit, LinearLimit, Restricted, Within

__all__ = [
    "KINDS",
    "SCHEMA",
    "Asked",
    "Believed",
    "Corrected",
    "Created",
    "Event",
    "Failed",
    "Fitted",
    "Passed",
    "Stopped",
    "Told",
    "Undone",
    "Withdrawn",
    "read_event",
    "replay",
    "replay_after",
]

SCHEMA = 5

_LARGEST = sys.float_info.max

Place = Sequence[Any]  # the values of the coordinates, or those of each place of a pair or a set


@dataclass(frozen=True)
class Form:
    """How a field looks in a journal: what it is in words, how it is read (ValueError, if it is not that) and written.

    An optional field is left out while it is None.
    """

    expected: str
    read: Callable[[Any], Any]
    write: Callable[[Any], Any] = lambda value: value


def _that(holds: Callable[[Any], bool]) -> Callable[[Any], Any]:
    """Reads a value as it is, if this holds of it."""

    def read(value: Any) -> Any:
        if not holds(value):
            raise ValueError
        return value

    return read


def _is_finite(value: Any) -> bool:
    return is_number(value) and abs(value) <= _LARGEST


def _is_coordinate(value: Any) -> bool:
    """A number, a level of a category, or null for what is absent; the space knows which of them it has."""
    return value is None or isinstance(value, str | bool) or _is_finite(value)


def _is_row(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_coordinate, value))


def _is_place(value: Any) -> bool:
    return _is_row(value) or (isinstance(value, list) and bool(value) and all(map(_is_row, value)))


def _is_answer(value: Any) -> bool:
    parts = value if isinstance(value, list) else [value]
    open_ends = ({"number": "inf"}, {"number": "-inf"})
    return bool(parts) and all(isinstance(p, bool | str) or _is_finite(p) or p in open_ends for p in parts)


def _answer_to_json(answer: Any) -> Any:
    """Two ends may be infinite, which JSON does not have; any other answer is JSON as it is."""
    return encode(answer) if isinstance(answer, tuple) else answer


def _numbers(value: Any) -> tuple[float, ...]:
    return tuple(_that(_is_finite)(part) for part in _that(lambda v: isinstance(v, list))(value))


def _thetas(value: Any) -> dict[str, tuple[float, ...]]:
    return {_that(_is_text)(label): _numbers(v) for label, v in _that(lambda v: isinstance(v, dict))(value).items()}


_PART = {"gp", "instruments", "log_weight", "model"}


def _part(value: Any) -> Part:
    found = _that(lambda v: isinstance(v, dict) and _PART <= set(v) <= _PART | {"program"})(value)
    weight, model = _that(_is_finite)(found["log_weight"]), _that(_is_count)(found["model"])
    program = _that(_is_text)(found["program"]) if "program" in found else ""
    return Part(_numbers(found["gp"]), _thetas(found["instruments"]), float(weight), model, program)


def _parts(value: Any) -> Parts:
    return Parts(tuple(_part(each) for each in _that(lambda v: isinstance(v, list) and bool(v))(value)))


def _parts_to_json(parts: Parts) -> Any:
    return [
        {
            "gp": list(each.gp),
            "instruments": {label: list(own) for label, own in each.instruments.items()},
            "log_weight": each.log_weight,
            "model": each.model,
            **({"program": each.program} if each.program else {}),
        }
        for each in parts.parts
    ]


def _limit(value: Any) -> Limit | str:
    if isinstance(value, str):
        return value
    found = Codec().decode(value)
    if not isinstance(found, Within | LinearLimit):
        raise ValueError
    return found


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_count(value: Any) -> bool:
    return is_whole(value) and 0 <= value < 2**53


_NUMBER = Form("the number of a query", _that(_is_count))
_WHOLE = Form("a whole number, at least 0", _that(_is_count))
_COST = Form("a finite number, at least 0", _that(lambda v: _is_finite(v) and v >= 0))
_TEXT = Form("text", _that(_is_text))
_FLAG = Form("true or false", _that(lambda v: isinstance(v, bool)))
_PLACE = Form("coordinates", _that(_is_place))
_ROW = Form("coordinates of one place", _that(_is_row))
_ANSWER = Form("an answer", lambda v: decode_plain(_that(_is_answer)(v)), _answer_to_json)
_DESIGN = Form("a design", lambda value: value)
_NOTE = Form("a value", lambda value: value)
_LIMIT = Form("Within(...), or the name of a function", _limit, encode)
_SIDE = Form("'first' or 'then'", _that(lambda v: v in (FIRST, THEN)))
_THETA = Form("finite numbers", _numbers, list)
_PARTS = Form("parts of a belief", _parts, _parts_to_json)
_THETAS = Form(
    "finite numbers for each instrument", _thetas, lambda value: {label: list(v) for label, v in value.items()}
)


@dataclass(frozen=True)
class Event(ABC):
    """What all events have in common; the subclasses are final."""

    kind: ClassVar[str]

    @classmethod
    @cache
    def _forms(cls) -> dict[str, tuple[Form, bool]]:
        """The form of each field, and whether it has to be there."""
        hints = get_type_hints(cls, include_extras=True)
        return {each.name: (hints[each.name].__metadata__[0], each.default is MISSING) for each in fields(cls)}

    @abstractmethod
    def apply(self, state: State) -> State:
        """The state with what this event does; JournalError if it cannot have happened."""

    def to_json(self) -> dict[str, Any]:
        """The event as JSON has it."""
        values = ((name, form, required, getattr(self, name)) for name, (form, required) in self._forms().items())
        written = {name: form.write(value) for name, form, required, value in values if required or value is not None}
        return {"event": self.kind, **written}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], number: int) -> Self:
        """The event, the so-many-th of the journal, that was written."""
        about = f"event {number} of the journal ({cls.kind})"
        forms = cls._forms()
        strange = set(data) - {"event"} - set(forms)
        if strange:
            named = min(map(str, strange))
            raise JournalError(f"{about} has a field {named!r} that this version of gainful does not know")
        found = {}
        for name, (form, required) in forms.items():
            if name not in data:
                if required:
                    raise JournalError(f"{about} is incomplete: {name!r} is missing")
                continue
            try:
                found[name] = form.read(data[name])
            except (ValueError, TypeError, JournalError) as trouble:
                wrong = InvalidInput(name, form.expected, data[name], "that is not what was written")
                raise JournalError(f"{about} is damaged: {wrong}") from trouble
        return cls(**found)


@dataclass(frozen=True)
class Created(Event):
    """A campaign begins, with this design. The first event of every journal, and of no other place in it."""

    kind: ClassVar[str] = "created"
    schema: Annotated[int, _WHOLE]
    design: Annotated[Any, _DESIGN]  # as JSON: whoever reads it supplies what it can only name

    @staticmethod
    def of(design: Design) -> Created:
        """The event that begins a campaign of this design."""
        return Created(SCHEMA, design.to_json())

    def apply(self, state: State) -> State:
        raise JournalError("a campaign is created once; two journals were joined")


@dataclass(frozen=True)
class Asked(Event):
    """The campaign asked this query; it is pending until it is told, fails or is withdrawn. `where` is what limited the
    ask, `side` the side of a Switch by which it was chosen, where the goal is one; `confirms`: it was not chosen by the
    goal, but is the place that was believed to be best."""

    kind: ClassVar[str] = "asked"
    query: Annotated[int, _NUMBER]
    instrument: Annotated[str, _TEXT]
    place: Annotated[Place, _PLACE]
    where: Annotated[Limit | str | None, _LIMIT] = None
    side: Annotated[str | None, _SIDE] = None
    confirms: Annotated[bool | None, _FLAG] = None

    def apply(self, state: State) -> State:
        if state.stopped is not None:
            raise JournalError(f"a query is asked after the campaign has stopped ({state.stopped})")
        if isinstance(self.where, Within | LinearLimit):
            Restricted(state.design.places, self.where)  # says so, if it is of another space
        about = {"where": self.where, "confirms": self.confirms is True}
        new = _turned(state.with_query(self.query, self.instrument, self.place, **about), self.side)
        return new.with_offer(self.place) if isinstance(state.design.space, Stream) else new


@dataclass(frozen=True, kw_only=True)
class Told(Event):
    """The answer to a query, and what it cost. With instrument and place the query is the user's own choice."""

    kind: ClassVar[str] = "told"
    query: Annotated[int, _NUMBER]
    instrument: Annotated[str | None, _TEXT] = None
    place: Annotated[Place | None, _PLACE] = None
    answer: Annotated[Any, _ANSWER]
    cost: Annotated[float, _COST]
    note: Annotated[Any, _NOTE] = None

    def apply(self, state: State) -> State:
        if (self.instrument is None) != (self.place is None):
            raise JournalError("an own query has an instrument and a place, and one of them is missing")
        if self.instrument is not None and self.place is not None:
            state = state.with_query(self.query, self.instrument, self.place, own=True)
        changes = {"cost": float(self.cost), "status": Status.TOLD, "note": self.note}
        new = state.with_answer(self.query, Status.PENDING, self.answer, **changes)
        return replace(new, order=(*state.order, self.query))


@dataclass(frozen=True)
class Corrected(Event):
    """A told answer was wrong; here is the right one. Its cost stays, and its note unless there is a new one."""

    kind: ClassVar[str] = "corrected"
    query: Annotated[int, _NUMBER]
    answer: Annotated[Any, _ANSWER]
    note: Annotated[Any, _NOTE] = None

    def apply(self, state: State) -> State:
        changes = {"corrected": True, **_new_note(self.note)}
        return _anew(state.with_answer(self.query, Status.TOLD, self.answer, **changes), self.query)


@dataclass(frozen=True)
class Failed(Event):
    """A query was made and gave no answer. What it cost is paid, and its neighbourhood is not asked (`failures`)."""

    kind: ClassVar[str] = "failed"
    query: Annotated[int, _NUMBER]
    cost: Annotated[float, _COST]
    note: Annotated[Any, _NOTE] = None

    def apply(self, state: State) -> State:
        changes = {"cost": float(self.cost), "status": Status.FAILED, "note": self.note}
        return state.with_entry(self.query, (Status.PENDING,), **changes)


@dataclass(frozen=True)
class Withdrawn(Event):
    """A query will not be answered, or its answer is not to be believed, or that it failed does not count. What was
    paid stays paid."""

    kind: ClassVar[str] = "withdrawn"
    query: Annotated[int, _NUMBER]
    note: Annotated[Any, _NOTE] = None

    def apply(self, state: State) -> State:
        was = (Status.PENDING, Status.TOLD, Status.FAILED)
        new = state.with_entry(self.query, was, status=Status.WITHDRAWN, **_new_note(self.note))
        return _anew(replace(new, order=tuple(n for n in state.order if n != self.query)), self.query)


@dataclass(frozen=True)
class Undone(Event):
    """The last answer was told by mistake: its query is pending again, and has cost nothing yet."""

    kind: ClassVar[str] = "undone"
    query: Annotated[int, _NUMBER]

    def apply(self, state: State) -> State:
        if not state.order or self.query != state.order[-1]:
            raise JournalError(f"the answer to query {self.query} is taken back, which is not the last one")
        untold = {"answer": None, "cost": 0.0, "status": Status.PENDING, "note": None, "corrected": False}
        back = state.with_entry(self.query, (Status.TOLD,), **untold)
        # A belief that had counted on the answer is the one from before it again.
        earlier = tuple(each for each in back.believed if self.query not in each[0])
        before = back.with_parts(earlier) if back.design.learner is not None else back
        return replace(before, order=state.order[:-1])


@dataclass(frozen=True)
class Passed(Event):
    """A place of a stream was let go by; `side` as it is in `asked`."""

    kind: ClassVar[str] = "passed"
    place: Annotated[Sequence[Any], _ROW]
    side: Annotated[str | None, _SIDE] = None

    def apply(self, state: State) -> State:
        if not isinstance(state.design.space, Stream):
            raise JournalError("a place is let go by, where no stream offers any")
        return _turned(state.with_offer(self.place), self.side)


@dataclass(frozen=True)
class Fitted(Event):
    """Hyperparameters were learned from so many answers: theta of the gp, and of each instrument by its label.

    With `failed`, which says why, they could not be learned and stay as they were. With neither, what had been learned
    is forgotten, because too many of its answers were withdrawn.
    """

    kind: ClassVar[str] = "fitted"
    answers: Annotated[int, _WHOLE]
    gp: Annotated[tuple[float, ...] | None, _THETA] = None
    instruments: Annotated[Mapping[str, tuple[float, ...]] | None, _THETAS] = None
    failed: Annotated[str | None, _TEXT] = None

    def apply(self, state: State) -> State:
        if self.answers != len(state.told):
            raise JournalError(f"what was learned is from {self.answers} answers, where there are {len(state.told)}")
        if (self.gp is None) != (self.instruments is None) or (self.failed is not None and self.gp is not None):
            raise JournalError("hyperparameters are learned of the gp and its instruments, or of neither")
        used = {e.query.instrument.label for e in state.told}
        if self.instruments is not None and set(self.instruments) != used:
            raise JournalError(f"what was learned is of {sorted(self.instruments)}, and the answers of {sorted(used)}")
        basis = frozenset(e.query.number for e in state.told if e.query.number is not None)
        if self.failed is not None:
            return replace(state, basis=basis, stale=False)
        hyper = None if self.gp is None else Hyperparameters(self.gp, self.instruments or {})
        known = replace(state.known, hyper=hyper, base=None)
        known.require_learned()
        return replace(state, known=known, basis=frozenset() if hyper is None else basis, stale=False)


@dataclass(frozen=True)
class Believed(Event):
    """What a belief of several became from so many answers: its parts, which are weighed by all answers from now on.

    With `failed`, which says why, nothing could be learned and it stays as it was.
    """

    kind: ClassVar[str] = "believed"
    answers: Annotated[int, _WHOLE]
    parts: Annotated[Parts | None, _PARTS] = None
    failed: Annotated[str | None, _TEXT] = None

    def apply(self, state: State) -> State:
        learner = state.design.learner
        if learner is None:
            raise JournalError("parts of a belief, where the model is one gp that is wholly stated")
        if self.answers != len(state.told):
            raise JournalError(f"what is believed is from {self.answers} answers, where there are {len(state.told)}")
        if (self.parts is None) == (self.failed is None):
            raise JournalError("a belief has its parts, or a reason why it has none")
        basis = frozenset(e.query.number for e in state.told if e.query.number is not None)
        if self.parts is None:
            return replace(state, basis=basis, stale=False)
        learner.require(self.parts, state.design.instruments)
        return state.with_parts((*state.believed, (basis, self.parts)))


@dataclass(frozen=True)
class Stopped(Event):
    """The campaign ended, for this reason: for good if it is closed, otherwise until an answer changes."""

    kind: ClassVar[str] = "stopped"
    reason: Annotated[str, _TEXT]
    closed: Annotated[bool, _FLAG]

    def apply(self, state: State) -> State:
        return replace(state, stopped=self.reason, closed=self.closed)


KINDS: dict[str, type[Event]] = {
    each.kind: each
    for each in (Created, Asked, Told, Corrected, Failed, Withdrawn, Undone, Passed, Fitted, Believed, Stopped)
}


def _turned(state: State, side: str | None) -> State:
    """The state after a choice by this side of a Switch; None where the goal is none."""
    if side is None:
        return state
    if switch_in(state.design.goal) is None:
        raise JournalError(f"a query is chosen by the side {side!r} of a switch, which the goal is not")
    return replace(state, was=side)


def _anew(state: State, query: int) -> State:
    """A belief of several begins anew where it had counted on an answer that has changed."""
    counted = any(query in basis for basis, _ in state.believed)
    return replace(state.with_parts(()), stale=True) if counted else state


def read_event(data: Mapping[str, Any], number: int) -> Event:
    """The so-many-th event of a journal, from its JSON object."""
    if not isinstance(data, Mapping):
        raise JournalError(f"event {number} of the journal is a {type(data).__name__}, not a JSON object")
    kind = data.get("event")
    found = KINDS.get(kind) if isinstance(kind, str) else None
    if found is None:
        wrong = InvalidInput("event", f"one of {', '.join(KINDS)}", kind, "upgrade gainful, if a newer one wrote it")
        raise JournalError(f"event {number} of the journal is none that this version of gainful knows: {wrong}")
    return found.from_json(data, number)


def replay(events: Sequence[Mapping[str, Any]], known: Any = ()) -> State:
    """The state after all events of a journal; `known` supplies what its design can only name."""
    first = events[0]
    if not isinstance(first, Mapping):
        raise JournalError(f"event 1 of the journal is a {type(first).__name__}, not a JSON object")
    if first.get("event") != Created.kind or first.get("schema") != SCHEMA:
        raise JournalError(
            f"event 1: expected a journal of schema {SCHEMA} that begins with 'created', got schema "
            f"{shorten(first.get('schema'))} and {shorten(first.get('event'))}; it was written by another version of "
            "gainful, or is another file: go on with that version, or begin a new campaign"
        )
    created = Created.from_json(first, 1)
    about = "event 1 of the journal (created)"
    try:
        design = Design.from_json(created.design, known)
    except JournalError as trouble:
        raise type(trouble)(f"{about}: {trouble}") from trouble
    try:
        try_out(design)
    except InvalidInput as trouble:
        raise JournalError(f"{about}: {trouble}") from trouble
    return replay_after(State.begin(design), events[1:])


def replay_after(state: State, events: Sequence[Mapping[str, Any]]) -> State:
    """The state after more events of a journal."""
    for data in events:
        state = state.after(read_event(data, state.events + 1))
    return state


def _new_note(note: Any) -> dict[str, Any]:
    """A new note, where there is one; otherwise the old one stays."""
    return {} if note is None else {"note": note}
