"""Ask, measure, tell, until the budget or the stopping rule ends it.

    campaign = Campaign(space, [lab, strip, look], gp, goal=PerCost(Learn("function")), budget=60, seed=0)
    while query := campaign.ask():
        campaign.tell(query, measure(query))

A campaign is the replay of its journal (`state.py`): whatever it decides follows from the events and the seed, so one
that is stopped anywhere and resumed goes on as if nothing had happened.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.acquisition import Acquisition, Random, RandomType
from gainful.campaign.codec import encode
from gainful.campaign.decide import choice_here, next_choice, out_of_money, reason_to_stop
from gainful.campaign.design import designed
from gainful.campaign.journal import FileJournal, Journal, open_journal
from gainful.campaign.state import SCHEMA, Design, Entry, State
from gainful.campaign.stopping import Rule
from gainful.campaign.why import Why, explain
from gainful.data import Query
from gainful.errors import GainfulWarning, InvalidInput, JournalError, NumericalError
from gainful.gp import GP
from gainful.hyper import fit
from gainful.inference.posterior import Posterior
from gainful.inference.solution import Inference
from gainful.instruments import Instrument
from gainful.selection import Choice
from gainful.selection.choose import Search
from gainful.selection.stream import Stream
from gainful.space import Constraint, Places

__all__ = ["Campaign"]

Array = NDArray[np.float64]


class Campaign:
    """What to measure next, where and with which instrument, until the budget or a stopping rule ends it.

    space         a Space, a Pool, a part of either (`space.where(...)`), or a Stream
    instruments   one or more, with distinct names and with their costs
    gp            what is believed before the first answer
    goal          what a query is worth; by default PerCost(Learn("function")), bits about the function per unit of
                  cost. Random() and RandomType() are the baselines
    budget        what may be spent; None for no limit
    seed          the same seed and the same answers give the same campaign
    limits        instrument (or its name) → constraint, for an instrument that can be used in a part of the space only
    forward       the name of a dimension, such as time, in which no query may lie before an earlier one
    repeat        False: no place is asked twice
    stop          a stopping rule, or several
    refit         learn the hyperparameters anew after every so many answers; None keeps those of the gp
    journal       None keeps the events in memory, a path appends them to that file
    search        how hard to look in a box: Search(candidates, climbers, set_size)

    >>> import gainful as gf
    >>> space = gf.Space(gf.Real("x", 0, 1))
    >>> lab = gf.Point(noise=0.1, cost=10, name="lab")
    >>> campaign = gf.Campaign(space, [lab], gf.GP(gf.SE(0.3)), budget=25)
    >>> while query := campaign.ask():
    ...     campaign.tell(query, float(np.sin(query.place[0])))
    >>> campaign.spent, len(campaign.history), campaign.stopped
    (20.0, 2, 'the budget of 25 leaves 5, and the cheapest instrument (lab) costs 10')
    """

    def __init__(
        self,
        space: Places | Stream,
        instruments: Sequence[Instrument] | Instrument,
        gp: GP,
        goal: Acquisition | Random | RandomType | None = None,
        budget: float | None = None,
        seed: int = 0,
        *,
        limits: Mapping[Instrument | str, Constraint] | None = None,
        forward: str | None = None,
        repeat: bool = True,
        stop: Rule | Sequence[Rule] = (),
        refit: int | None = None,
        inference: Inference | None = None,
        search: Search | None = None,
        journal: Journal | str | os.PathLike[str] | None = None,
    ) -> None:
        design = designed(
            space, instruments, gp, goal, budget, seed, limits or {}, forward, repeat, stop, refit, inference, search
        )
        kept = open_journal(journal)
        if kept.events():
            where = f" {kept.path}" if isinstance(kept, FileJournal) else ""
            raise JournalError(
                f"the journal{where} already holds a campaign; go on with Campaign.resume(journal), or take another"
            )
        kept.append({"event": "created", "schema": SCHEMA, "design": design.to_json()})
        self._journal, self._state = kept, State(design)
        self._ended: str | None = None  # why the last ask found no place, until the next event

    @classmethod
    def resume(cls, journal: Journal | str | os.PathLike[str], known: Any = ()) -> Campaign:
        """The campaign behind a journal, as it was after its last event.

        `known` are the user's own classes, functions and objects that the design uses (kernels, predicates, measures):
        a journal can only name them.
        """
        kept = open_journal(journal)
        events = kept.events()
        if not events:
            where = f" {kept.path}" if isinstance(kept, FileJournal) else ""
            raise JournalError(f"the journal{where} is empty or absent: there is nothing to resume")
        first = events[0]
        if first.get("event") != "created" or first.get("schema") != SCHEMA:
            raise JournalError(
                f"expected a journal of schema {SCHEMA} that begins with 'created', got schema {first.get('schema')!r} "
                f"and {first.get('event')!r}; it was written by another version of gainful, or is another file"
            )
        campaign = cls.__new__(cls)
        if "design" not in first:
            raise JournalError("the journal's first event holds no design: the file is damaged, or is another file")
        state = State(Design.from_json(first["design"], known))
        for event in events[1:]:
            state = state.after(event)
        campaign._journal, campaign._state, campaign._ended = kept, state, None
        campaign._refit_if_due()
        return campaign

    def __repr__(self) -> str:
        budget = "" if self.budget is None else f" of {self.budget:g}"
        end = f", stopped: {self.stopped}" if self.stopped else ""
        return (
            f"Campaign({len(self._state.told)} answers, {len(self.pending)} pending, {self.spent:g}{budget} spent{end})"
        )

    # What is known

    @property
    def history(self) -> tuple[Entry, ...]:
        """Every query so far with its answer, cost and status, in the order of asking."""
        return self._state.entries

    @property
    def pending(self) -> tuple[Query, ...]:
        """Queries that were asked and neither answered nor withdrawn."""
        return self._state.pending

    @property
    def spent(self) -> float:
        return self._state.spent

    @property
    def budget(self) -> float | None:
        return self._state.design.budget

    @property
    def instruments(self) -> tuple[Instrument, ...]:
        """The instruments, with what has been learned about them."""
        return tuple(self._state.learned(i) for i in self._state.design.instruments)

    @property
    def gp(self) -> GP:
        """What is believed before the first answer, with the hyperparameters learned so far."""
        return self._state.gp

    @property
    def posterior(self) -> Posterior:
        """What is believed after the answers so far."""
        return self._state.posterior

    @property
    def journal(self) -> Journal:
        return self._journal

    @property
    def stopped(self) -> str | None:
        """Why the campaign has nothing to ask, or None while it has."""
        return self._state.stopped or out_of_money(self._state) or self._ended

    # What to do

    @overload
    def ask(self, *, where: Constraint | None = None) -> Query | None: ...

    @overload
    def ask(self, count: int, *, where: Constraint | None = None) -> list[Query]: ...

    def ask(self, count: int | None = None, *, where: Constraint | None = None) -> Query | list[Query] | None:
        """The next query, or None when the campaign has stopped; with `count` a list of up to so many at once.

        A query counts as pending until it is told or withdrawn. Whatever is pending is expected to be answered: further
        queries are worth what they tell beyond it. `where` limits this ask, for instance Within(time=(now, None)).
        """
        if isinstance(self._state.design.space, Stream):
            raise InvalidInput("ask", "a campaign over a space or a pool", "a stream", "use campaign.offer(place)")
        if count is None:
            return self._ask(where)
        if not isinstance(count, int | np.integer) or isinstance(count, bool) or count < 1:
            raise InvalidInput("count", "a positive whole number", count, "leave it out for one query")
        found: list[Query] = []
        while len(found) < count and (query := self._ask(where)) is not None:
            found.append(query)
        return found

    def _ask(self, where: Constraint | None) -> Query | None:
        self._refit_if_due()
        choice = self._choice(where)
        return None if choice is None else self._asked(choice, where)

    def offer(self, place: ArrayLike) -> Query | None:
        """For a stream: the query to make at this place, or None to let it go by."""
        stream = self._state.design.space
        if not isinstance(stream, Stream):
            raise InvalidInput("offer", "a campaign over a Stream", stream, "use campaign.ask()")
        try:
            here = np.array(place, dtype=float).reshape(1, -1)
        except (TypeError, ValueError):
            raise InvalidInput("place", f"coordinates {list(stream.space.names)}", place, "give numbers") from None
        if here.shape[1] != len(stream.space.names) or not bool(stream.space.contains(here)[0]):
            raise InvalidInput("place", "a place of the stream's space", here[0].tolist(), "check its coordinates")
        here.flags.writeable = False
        self._refit_if_due()
        if self.stopped or self._stopped_by_rule():
            return None
        choice = choice_here(self._state, stream, here)
        if choice is None:
            self._record({"event": "passed", "place": here[0].tolist()})
            return None
        return self._asked(choice)

    def tell(self, query: Query, answer: Any, *, cost: float | None = None, note: Any = None) -> None:
        """Record the answer to a query, asked by the campaign or chosen by the user; `cost` is what it really cost."""
        if not isinstance(query, Query):
            raise InvalidInput("query", "a query, such as campaign.ask() gives", query, "Query(instrument, place)")
        state = self._state
        event: dict[str, Any] = {"event": "told", "query": len(state.entries)}
        if query.number is None:
            instrument = self._require_own(query)
            event |= {"instrument": instrument.label, "place": encode(query.place)}
        else:
            entry = self._entry(query)
            if entry.status != "pending":
                remedy = "use campaign.correct" if entry.status == "told" else "ask again"
                raise InvalidInput("query", "a pending query", f"{query!r}, which is {entry.status}", remedy)
            event["query"], instrument = query.number, entry.query.instrument
        price = instrument.cost if cost is None else cost
        if isinstance(price, bool) or not isinstance(price, int | float | np.number) or not 0 <= price < np.inf:
            raise InvalidInput("cost", "a finite number, at least 0", cost, "leave it out for the instrument's own")
        event |= {"answer": _canonical(instrument, answer), "cost": float(price)}
        self._record(event | _noted(note))
        self._refit_if_due()

    def correct(self, query: Query | int, answer: Any, *, note: Any = None) -> None:
        """Replace a told answer that was wrong; the cost stays."""
        entry = self._entry(query)
        if entry.status != "told":
            raise InvalidInput(
                "query", "a query that was told", f"{entry.query!r}, which is {entry.status}", "use tell"
            )
        event = {"event": "corrected", "query": entry.query.number}
        event["answer"] = _canonical(entry.query.instrument, answer)
        self._record(event | _noted(note))
        self._refit_if_due()

    def withdraw(self, query: Query | int, *, note: Any = None) -> None:
        """Forget a pending query, at no cost, or an answer that is not to be believed, whose cost stays spent."""
        entry = self._entry(query)
        if entry.status == "withdrawn":
            raise InvalidInput("query", "a query that is not withdrawn yet", entry.query, "nothing is left to do")
        self._record({"event": "withdrawn", "query": entry.query.number} | _noted(note))
        self._refit_if_due()

    def undo(self) -> Query:
        """Take back the last answer, as after a slip of the hand: its query is pending again, and costs nothing yet."""
        if not self._state.order:
            raise InvalidInput("undo", "an answer to take back", "none", "nothing has been told yet")
        number = self._state.order[-1]
        self._record({"event": "undone", "query": number})
        self._refit_if_due()
        return self._state.entries[number].query

    def stop(self, reason: str = "stopped by the user") -> None:
        """End the campaign for good; pending queries may still be told."""
        self._record({"event": "stopped", "reason": str(reason) or "stopped by the user", "closed": True})

    def why(self, query: Query | int) -> Why:
        """Why this query was chosen: what it was expected to tell, what the others would have told, what they cost."""
        entry = self._entry(query)
        state = self._at(entry.event)
        return explain(state, entry)

    # How it is done

    def _at(self, events: int) -> State:
        """The state after so many events."""
        state = State(self._state.design)
        for event in self._journal.events()[1:events]:
            state = state.after(event)
        return state

    def _record(self, event: dict[str, Any]) -> None:
        after = self._state.after(event)  # refused here, before anything is written
        self._journal.append(event)
        self._state = after
        self._ended = None

    def _asked(self, choice: Choice, where: Constraint | None = None) -> Query:
        number = len(self._state.entries)
        label, place = choice.query.instrument.label, encode(choice.query.place)
        event = {"event": "asked", "query": number, "instrument": label, "place": place}
        self._record(event if where is None else event | {"where": encode(where)})
        return self._state.entries[number].query

    def _choice(self, where: Constraint | None) -> Choice | None:
        state = self._state
        if state.stopped is not None or out_of_money(state) is not None:
            return None
        if self._stopped_by_rule():
            return None
        best = next_choice(state, where)
        if best is None:
            self._ended = "no place is left that the constraints allow"
        return best

    def _stopped_by_rule(self) -> bool:
        """Whether a rule says that it is time to stop; if so, that is written down."""
        reason = reason_to_stop(self._state)
        if reason is not None:
            self._record({"event": "stopped", "reason": reason, "closed": False})
        return reason is not None

    def _require_own(self, query: Query) -> Instrument:
        """A query of the user's own choice may lie anywhere, but it is made with an instrument of the campaign."""
        design = self._state.design
        same = [i for i in design.instruments if query.instrument in (i, self._state.learned(i))]
        if not same:
            labels = [i.label for i in design.instruments]
            raise InvalidInput("query", f"an instrument of the campaign, {labels}", query.instrument, "use the same")
        names = design.places.names
        if query.place.shape[-1] != len(names):
            raise InvalidInput(
                "query", f"a place with coordinates {list(names)}", query.place.tolist(), "give them all"
            )
        return same[0]

    def _entry(self, query: Query | int) -> Entry:
        number = query.number if isinstance(query, Query) else query
        entries = self._state.entries
        whole = isinstance(number, int | np.integer) and not isinstance(number, bool)
        if not whole or number is None or not 0 <= number < len(entries):
            raise InvalidInput("query", "a query of this campaign", query, "see campaign.history")
        entry = entries[int(number)]
        if isinstance(query, Query) and query != entry.query:
            raise InvalidInput("query", f"query {number} of this campaign, {entry.query!r}", query, "see its history")
        return entry

    def _refit_if_due(self) -> None:
        """Learn the hyperparameters anew when the schedule says so; what was told is already kept."""
        state = self._state
        if not state.due:
            return
        answers = len(state.told)
        event: dict[str, Any] = {"event": "fitted", "answers": answers}
        if answers < (state.design.refit or 0):  # answers were withdrawn: what was learned from them is forgotten
            self._record(event | {"theta": {}})
            return
        rng = np.random.default_rng([state.design.seed, answers])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found = fit(state.design.gp, state.data, inference=state.design.inference, rng=rng)
                theta = {"gp": encode(found.gp.theta)}
                for before, after in zip(state.data.instruments, found.data.instruments, strict=True):
                    theta["instrument " + before.label] = encode(after.theta)
                event["theta"] = theta
            except NumericalError as trouble:
                event["failed"] = f"hyperparameters could not be learned and stay as they were: {trouble}"
                warnings.warn(event["failed"], GainfulWarning, stacklevel=3)
        self._record(event)
        for warning in caught:  # now that it is written down, they may be errors
            warnings.warn(warning.message, warning.category, stacklevel=3)


def _noted(note: Any) -> dict[str, Any]:
    """A note as it will come back from the journal, or nothing."""
    if note is None:
        return {}
    try:
        return {"note": json.loads(json.dumps(note, allow_nan=False))}
    except (TypeError, ValueError):
        raise InvalidInput("note", "a value that JSON has", note, "for instance text, or a dict of numbers") from None


def _canonical(instrument: Instrument, answer: Any) -> Any:
    """One answer as JSON: a number, a rank, True or False, a pair of ends; refused if the instrument cannot give it."""
    try:
        value = instrument.validate(np.asarray(answer)[None], 1)[0]
    except InvalidInput as trouble:
        raise InvalidInput("answer", trouble.expected, answer, trouble.remedy) from None
    except ValueError:  # NumPy, of lists of unequal length
        raise InvalidInput(
            "answer", "one answer", answer, "give a number, a rank, True or False, or two ends"
        ) from None
    return encode(instrument.encode(value))
