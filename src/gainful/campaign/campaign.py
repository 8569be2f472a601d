"""Ask, measure, tell, until the budget or the stopping rule ends it: the campaign that users hold.

    campaign = Campaign(space, [lab, strip, look], gp, goal=PerCost(Learn("function")), budget=60, seed=0)
    while query := campaign.ask():
        campaign.tell(query, measure(query))

A campaign is the replay of its journal (`events`): whatever it decides follows from the events and the seed, so one
that is stopped anywhere and resumed goes on as if nothing had happened.

Others may write to the same journal. Each verb says how many events it has seen, and the journal refuses it if there
are more; then the campaign reads what is new and does the verb again from the beginning, checks and all.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from gainful.acquisition import Acquisition, Random, RandomType
from gainful.beliefs.learner import Learner
from gainful.campaign.answer import canonical_answer
from gainful.campaign.best import Best, Wanted, best_choice, best_of, wanted_end
from gainful.campaign.codec import NotSupplied, name_of
from gainful.campaign.decide import Decision, choice_here, options, out_of_money
from gainful.campaign.design import Design
from gainful.campaign.events import (
    Asked,
    Corrected,
    Created,
    Event,
    Failed,
    Passed,
    Stopped,
    Told,
    Undone,
    Withdrawn,
    replay,
    replay_after,
)
from gainful.campaign.history import History
from gainful.campaign.initial import is_initial
from gainful.campaign.journal import FileJournal, Journal, Turn, open_journal, read_events
from gainful.campaign.learning import learn
from gainful.campaign.state import Entry, State, Status
from gainful.campaign.stopping import Ending, Rule
from gainful.campaign.trial import try_out
from gainful.campaign.trust import TrustRegion
from gainful.campaign.why import Why, explain
from gainful.checks import column_names, is_number, is_whole, numbers, require, require_columns, require_whole
from gainful.data import Query
from gainful.errors import InvalidInput, JournalChanged, JournalError
from gainful.gp import GP
from gainful.inference.belief import Belief
from gainful.inference.engines.base import Engine
from gainful.inference.posterior import Posterior
from gainful.inference.solution import Inference
from gainful.instruments import Instrument
from gainful.process import Process
from gainful.selection import Choice
from gainful.selection.choose import Search
from gainful.selection.stream import Stream
from gainful.space import Constraint, LinearLimit, Places, Within, code_in

__all__ = ["Campaign"]

Array = NDArray[np.float64]
T = TypeVar("T")

_MOST_AT_ONCE = 10_000  # queries of one ask
_TRIES = 1000  # how often others may come first; each time one of them has got something done


class Campaign:
    """What to measure next, where and with which instrument, until the budget or a stopping rule ends it.

    space         a Space, a Pool, a part of either (`space.where(...)`), or a Stream
    instruments   one or more, with distinct names and with their costs
    model         what is believed before the first answer: a GP, rival Models, KernelPrograms; left out, a GP of the
                  space. What it leaves unstated is scaled to space and answers, learned and integrated out
    goal          what a query is worth, in a word: "learn" (the default, bits about the function), "map" (predict well
                  everywhere), "minimise", "maximise", "level 0.5" (where f crosses 0.5), each per unit of cost. Where
                  instruments see several functions, these are about the first, or the one that is named after it:
                  "minimise yield". Or an acquisition such as PerCost(Learn("function")), or the name of a strategy
                  (`gainful.strategies()`), such as "expected-improvement". One that predicts somewhere does so at the
                  pool (1000 of its places, if it has more), or at 200 places spread evenly over the space. Random() and
                  RandomType() are the baselines
    budget        what may be spent; None for no limit
    seed          the same seed and the same answers give the same campaign
    limits        instrument (or its name) → constraint, for an instrument that can be used in a part of the space only
    forward       the name of a dimension, such as time, in which no query may lie before an earlier one
    repeat        False: no place is asked twice
    stop          a stopping rule, or several
    refit         learn the hyperparameters anew after every so many answers; None keeps those of a gp that is wholly
                  stated, and learns what is not stated anew when there are a quarter more answers
    journal       None keeps the events in memory, a path appends them to that file; other campaigns, threads and
                  processes may use the same journal (`Campaign.resume`), and each takes in what the others write
    search        how hard to look in a box: Search(candidates, climbers, set_size)
    initial       how many queries are spread evenly over the space before the goal decides where; none by default,
                  while the hyperparameters are stated
    trust         TrustRegion() looks for the optimum near the best place so far, for long runs in many dimensions

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
        model: GP | Learner | None = None,
        goal: Acquisition | Random | RandomType | str | None = None,
        budget: float | None = None,
        seed: int = 0,
        *,
        limits: Mapping[Instrument | str, Constraint] | None = None,
        forward: str | None = None,
        repeat: bool = True,
        stop: Rule | Sequence[Rule] = (),
        refit: int | None = None,
        inference: Inference | Engine | None = None,
        search: Search | None = None,
        initial: int | None = None,
        trust: TrustRegion | None = None,
        journal: Journal | str | os.PathLike[str] | None = None,
    ) -> None:
        given: dict[str, Any] = {
            "space": space,
            "instruments": instruments,
            "model": model,
            "goal": goal,
            "budget": budget,
            "seed": seed,
            "limits": limits,
            "forward": forward,
            "repeat": repeat,
            "stop": stop,
            "refit": refit,
            "inference": inference,
            "search": search,
            "initial": initial,
            "trust": trust,
        }
        design = Design(**given)
        try_out(design)
        kept = open_journal(journal)
        taken = JournalError(
            f"the journal{_where(kept)} already holds a campaign; go on with Campaign.resume(journal), or take another"
        )
        if read_events(kept):
            raise taken
        try:
            kept.append(Created.of(design).to_json(), after=0)
        except JournalChanged:
            raise taken from None
        self._begin(kept, State.begin(design))

    @classmethod
    def resume(cls, journal: Journal | str | os.PathLike[str], known: Any = ()) -> Campaign:
        """The campaign behind a journal, as it was after its last event.

        `known` are the user's own classes, functions and objects that the design uses (kernels, predicates, measures):
        a journal can only name them.
        """
        kept = open_journal(journal)
        events = read_events(kept)
        if not events:
            raise JournalError(f"the journal{_where(kept)} is empty or absent: there is nothing to resume")
        campaign = cls.__new__(cls)
        with _named(kept):
            campaign._begin(kept, replay(events, known))
        campaign._do(lambda: None)
        return campaign

    def _begin(self, journal: Journal, state: State) -> None:
        self._journal, self._state = journal, state
        self._ended: str | None = None  # why the last ask found no place, until the next event
        self._turn = Turn()

    def __repr__(self) -> str:
        budget = "" if self.budget is None else f" of {self.budget:g}"
        end = f", stopped: {self.stopped}" if self.stopped else ""
        return (
            f"Campaign({len(self._state.told)} answers, {len(self.pending)} pending, {self.spent:g}{budget} spent{end})"
        )

    # What is known

    @property
    def history(self) -> History:
        """Every query so far with its answer, cost and status, in the order of asking; `to_frame` and `to_csv` make a
        table of it.

        So far means what this campaign has seen: what others write to its journal is taken in by its next verb.
        """
        return History(self._state.entries)

    @property
    def pending(self) -> tuple[Query, ...]:
        """Queries that were asked and neither answered nor failed nor withdrawn."""
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
        return tuple(self._state.known.learned(i) for i in self._state.design.instruments)

    @property
    def model(self) -> GP | Learner:
        """What was believed before the first answer."""
        return self._state.design.model

    @property
    def gp(self) -> Process:
        """The gp with the hyperparameters learned so far: of a belief of several, those of its heaviest part."""
        return self._state.known.gp

    @property
    def belief(self) -> Posterior | Belief:
        """What is believed after the answers so far: one posterior, or several with weights."""
        return self._state.belief

    @property
    def posterior(self) -> Posterior:
        """What is believed, where that is one posterior; see `belief`."""
        belief = self._state.belief
        if isinstance(belief, Belief):
            expected = "a model of one gp that is wholly stated"
            raise InvalidInput("posterior", expected, belief, "use campaign.belief, whose verbs are the same")
        return belief

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
        most = 1 if count is None else require_whole("count", count, 1, "leave it out for one query")
        require(
            most <= _MOST_AT_ONCE,
            "count",
            f"at most {_MOST_AT_ONCE}",
            count,
            "each counts on those before it; tell some",
        )
        asked = self._do(lambda: self._ask(most, where), decides=True)
        return next(iter(asked), None) if count is None else asked

    def _ask(self, count: int, where: Constraint | None) -> list[Query]:
        """Up to so many queries, each counting on those before it; written down when all are chosen, or none."""
        asked: list[Event] = []
        state, ended = self._state, None
        while len(asked) < count and state.stopped is None and out_of_money(state) is None:
            decision = Decision(state, where)
            if decision.reason is not None:
                self._record(Stopped(decision.reason, closed=False))
                return []
            if decision.choice is None:
                ended = Ending.NO_PLACE
                break
            asked.append(_asked(state, decision.choice, where))
            state = state.after(asked[-1])
        if asked:
            self._record(*asked)
        self._ended = ended or self._ended
        return [entry.query for entry in self._state.entries[len(self._state.entries) - len(asked) :]]

    def confirm(self, end: str | None = None) -> Query | None:
        """Ask for the place that is believed to be best, so that it is measured itself; None when the campaign has
        stopped.

        A goal looks for what is not known, and may leave it at what is expected of the best place. `end` is as for
        `best`. Places that may not be asked now are left out: those near failures, and with `repeat=False` those that
        were asked before. Of several instruments it is the one that the goal likes best there.
        """
        if isinstance(self._state.design.space, Stream):
            raise InvalidInput("confirm", "a campaign over a space or a pool", "a stream", "use campaign.offer(place)")
        wanted = wanted_end(end, self._state.design)
        return self._do(lambda: self._confirm(wanted), decides=True)

    def _confirm(self, wanted: Wanted) -> Query | None:
        if self.stopped is not None:
            return None
        choice = best_choice(self._state, options(self._state), wanted)
        if choice is None:
            self._ended = Ending.NO_PLACE
            return None
        place, number = self._state.design.values(choice.query.place), len(self._state.entries)
        self._record(Asked(number, choice.query.instrument.label, place, confirms=True))
        return self._state.entries[-1].query

    def offer(self, place: Any) -> Query | None:
        """For a stream: the query to make at this place, or None to let it go by.

        Where the space has categories the place is given by their levels: a row, or a mapping from names to values."""
        stream = self._state.design.space
        if not isinstance(stream, Stream):
            raise InvalidInput("offer", "a campaign over a Stream", stream, "use campaign.ask()")
        here = self._here(place, stream)
        whole = here.shape[1] == len(stream.space.names) and bool(np.all(np.isfinite(here)))
        if not whole or not bool(stream.space.contains(here)[0]):
            raise InvalidInput("place", "a place of the stream's space", here[0].tolist(), "check its coordinates")
        return self._do(lambda: self._offer(stream, here), decides=True)

    def _here(self, place: Any, stream: Stream) -> Array:
        """The place (1, d) that is offered, as codes."""
        if not self._state.design.is_numeric:
            return code_in(stream.space, place, "place")[:1]
        require_columns("place", column_names(place), tuple(stream.space.names))
        return numbers("place", place, f"coordinates {list(stream.space.names)}", "give numbers").reshape(1, -1)

    def _offer(self, stream: Stream, here: Array) -> Query | None:
        if self.stopped is not None:
            return None
        if (reason := Decision(self._state).reason) is not None:
            self._record(Stopped(reason, closed=False))
            return None
        choice = choice_here(self._state, stream, here)
        if choice is None:
            self._record(Passed(self._state.design.values(here[0]), self._state.side))
            return None
        self._record(_asked(self._state, choice))
        return self._state.entries[-1].query

    def tell(self, query: Query, answer: Any, *, cost: float | None = None, note: Any = None) -> None:
        """Record the answer to a query, asked by the campaign or chosen by the user; `cost` is what it really cost.

        The user's own query lies in the space's box, or is a place of the pool. Constraints, limits and time bind what
        the campaign asks, not what was measured.
        """
        if not isinstance(query, Query):
            raise InvalidInput("query", "a query, such as campaign.ask() gives", query, "Query(instrument, place)")
        words = _canonical_note(note)
        self._do(lambda: self._record(self._told(query, answer, cost, words)))

    def _told(self, query: Query, answer: Any, cost: float | None, note: Any) -> Told:
        own: dict[str, Any] = {}
        if query.number is None:
            instrument, number = self._require_own(query), len(self._state.entries)
            own = {"instrument": instrument.label, "place": self._values(query)}
        else:
            entry = self._entry(query)
            if entry.status is not Status.PENDING:
                remedy = "use campaign.correct" if entry.status is Status.TOLD else "ask again"
                raise InvalidInput("query", "a pending query", f"{query!r}, which is {entry.status}", remedy)
            instrument, number = entry.query.instrument, query.number
        price = _price(instrument, cost)
        return Told(query=number, answer=canonical_answer(instrument, answer), cost=price, note=note, **own)

    def correct(self, query: Query | int, answer: Any, *, note: Any = None) -> None:
        """Replace a told answer that was wrong; the cost stays."""
        words = _canonical_note(note)

        def corrected() -> Corrected:
            entry = self._entry(query)
            if entry.status is not Status.TOLD:
                got = f"{entry.query!r}, which is {entry.status}"
                raise InvalidInput("query", "a query that was told", got, "use tell")
            return Corrected(_number(entry), canonical_answer(entry.query.instrument, answer), words)

        self._do(lambda: self._record(corrected()))

    def fail(self, query: Query | int, *, cost: float | None = None, note: Any = None) -> None:
        """Record that a pending query was made and gave no answer, as when a simulation breaks down.

        Its cost is spent. The belief does not change, and its place is not asked again with this instrument, nor are
        places about it that lie nearer to it than to any that was answered (`gainful.campaign.failures`). `withdraw`
        takes that back.
        """
        words = _canonical_note(note)

        def failed() -> Failed:
            entry = self._entry(query)
            if entry.status is not Status.PENDING:
                got = f"{entry.query!r}, which is {entry.status}"
                raise InvalidInput("query", "a pending query", got, "one that was told is withdrawn")
            return Failed(_number(entry), _price(entry.query.instrument, cost), words)

        self._do(lambda: self._record(failed()))

    def withdraw(self, query: Query | int, *, note: Any = None) -> None:
        """Forget a pending query, at no cost, or an answer or a failure that is not to be believed, whose cost stays
        spent."""
        words = _canonical_note(note)

        def withdrawn() -> Withdrawn:
            entry = self._entry(query)
            if entry.status is Status.WITHDRAWN:
                raise InvalidInput("query", "a query that is not withdrawn yet", entry.query, "nothing is left to do")
            return Withdrawn(_number(entry), words)

        self._do(lambda: self._record(withdrawn()))

    def undo(self) -> Query:
        """Take back the last answer, as after a slip of the hand: its query is pending again, and costs nothing yet.

        It is the last answer that this campaign has seen: one that somebody else has told since is not taken back.
        """
        order = self._state.order
        if not order:
            raise InvalidInput("undo", "an answer to take back", "none", "nothing has been told yet")

        def undone() -> Undone:
            if self._state.order != order:
                remedy = "see campaign.history, then undo again, or withdraw the one that is wrong"
                raise InvalidInput("undo", "the last answer that was seen here", "others that came since", remedy)
            return Undone(order[-1])

        self._do(lambda: self._record(undone()))
        return self._state.entries[order[-1]].query

    def stop(self, reason: str = Ending.BY_USER) -> None:
        """End the campaign for good; pending queries may still be told."""
        self._do(lambda: self._record(Stopped(str(reason) or str(Ending.BY_USER), closed=True)))

    def why(self, query: Query | int) -> Why:
        """Why this query was chosen: what it was expected to tell, what the others would have told, what they cost."""
        entry = self._entry(query)
        before = read_events(self._journal)[1 : entry.event]
        return explain(replay_after(State.begin(self._state.design), before), entry)

    def best(self, end: str | None = None, *, measured: bool = False) -> Best:
        """The place where f is best by what is believed now, with its uncertainty, and how much better another may be.

        Which end is best follows from a goal that minimises or maximises; for others say `end`, "minimise" or
        "maximise", and of several functions which after it: "minimise yield". It is sought in the whole space; with
        `measured` among the places that have an answer.
        """
        require(isinstance(measured, bool), "measured", "True or False", measured, "True: measured places alone")
        sign, output = wanted_end(end, self._state.design)
        return best_of(self.belief, self._state, sign, measured, output)

    # How it is done

    def _do(self, verb: Callable[[], T], decides: bool = False) -> T:
        """Do it on what the journal holds, one thread at a time; again, if somebody else has written meanwhile.

        Before it decides what to ask, what is to be learned is learned. What was told is learned from afterwards: a
        verb that is done is not done again, whatever becomes of that.
        """
        done: list[T] = []
        with self._turn.lock:
            for _ in range(_TRIES):
                try:
                    if not done:
                        self._journal.append(after=self._state.events)  # nothing: has anybody written?
                        if decides:
                            self._settle()
                        done.append(verb())
                    self._settle()
                    return done[0]
                except JournalChanged:
                    self._catch_up()
        raise JournalError(
            f"{_TRIES} times in a row others have written to the journal{_where(self._journal)} before this could be; "
            "repeat it when they write less"
        )

    def _catch_up(self) -> None:
        """Take in what others have written to the journal."""
        events, seen = read_events(self._journal), self._state.events
        if len(events) <= seen:
            raise JournalError(
                f"the journal{_where(self._journal)} has changed and holds {len(events)} events, where {seen} were "
                "seen before; go on with what is there by Campaign.resume"
            )
        with _named(self._journal):
            self._state, self._ended = replay_after(self._state, events[seen:]), None

    def _record(self, *events: Event) -> None:
        """Let these happen, all or none: they are refused before anything is written, and written before they count."""
        after = self._state
        for event in events:
            after = after.after(event)
        self._journal.append(*(event.to_json() for event in events), after=self._state.events)
        self._state, self._ended = after, None

    def _settle(self) -> None:
        """Learn the hyperparameters anew when the schedule says so; what was told is already kept."""
        if not self._state.due:
            return
        fitted, caught = learn(self._state)
        self._record(fitted)
        for warning in caught:  # now that it is written down, they may be errors
            warnings.warn(warning.message, warning.category, stacklevel=4)

    def _require_own(self, query: Query) -> Instrument:
        """A query of the user's own choice is made with an instrument of the campaign, somewhere in its space."""
        design = self._state.design
        labelled = [i for i in design.instruments if i.label == query.instrument.label]
        same = [i for i in labelled if query.instrument == i or query.instrument == self._state.known.learned(i)]
        if not same:
            labels = [i.label for i in design.instruments]
            raise InvalidInput("query", f"an instrument of the campaign, {labels}", query.instrument, "use the same")
        require_columns("query", query.columns, column_names(design.places))
        design.require_within(np.asarray(design.codes(self._values(query)), dtype=float))
        return same[0]

    def _values(self, query: Query) -> list[Any]:
        """The place of a query as the journal has it; by what it is called, if another space has made its codes."""
        design = self._state.design
        if query.space is None or query.space is design.places:
            return design.values(query.place)
        several = query.at if query.place.ndim > 1 else (query.at,)
        rows = code_in(design.places, list(several), "query")
        return design.values(rows if query.place.ndim > 1 else rows[0])

    def _entry(self, query: Query | int) -> Entry:
        number = query.number if isinstance(query, Query) else query
        entries = self._state.entries
        if number is None or not is_whole(number) or not 0 <= number < len(entries):
            raise InvalidInput("query", "a query of this campaign", query, "see campaign.history")
        entry = entries[int(number)]
        if isinstance(query, Query) and query != entry.query:
            raise InvalidInput("query", f"query {number} of this campaign, {entry.query!r}", query, "see its history")
        return entry


def _asked(state: State, choice: Choice, where: Constraint | None = None) -> Asked:
    limit = where if where is None or isinstance(where, Within | LinearLimit) else name_of(where)
    place = state.design.values(choice.query.place)
    side = None if is_initial(state) else state.side
    return Asked(len(state.entries), choice.query.instrument.label, place, limit, side)


def _where(journal: Journal) -> str:
    return f" {journal.path}" if isinstance(journal, FileJournal) else ""


@contextmanager
def _named(journal: Journal) -> Iterator[None]:
    """Whatever is wrong with an event is said with the file that it is in."""
    try:
        yield
    except JournalError as trouble:
        if not isinstance(journal, FileJournal) or isinstance(trouble, NotSupplied):
            raise
        remedy = "restore it from a copy, or delete that line and all that follow"
        raise JournalError(f"{journal.path}, whose lines are the events: {trouble}; {remedy}") from trouble


def _price(instrument: Instrument, cost: float | None) -> float:
    """What a query really cost: the instrument's own, where nothing is said."""
    price = instrument.cost if cost is None else cost
    usable = is_number(price) and 0 <= price <= sys.float_info.max
    require(usable, "cost", "a finite number, at least 0", cost, "leave it out for the instrument's own")
    return float(price)


def _number(entry: Entry) -> int:
    assert entry.query.number is not None  # every query of a history has one
    return entry.query.number


def _canonical_note(note: Any) -> Any:
    """A note as it will come back from the journal."""
    try:
        return json.loads(json.dumps(note, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        raise InvalidInput("note", "a value that JSON has", note, "for instance text, or a dict of numbers") from None
