"""What to do next, from the state alone: pure functions, so that a resumed campaign decides as the first one did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gainful.acquisition import Learn, PerCost, Random, RandomType
from gainful.campaign.failures import AwayFromFailures
from gainful.campaign.goal import Goal, sign_of
from gainful.campaign.initial import initial_choice, is_initial
from gainful.campaign.state import State, Status
from gainful.campaign.trust import TrustRegion
from gainful.data import Query
from gainful.instruments import Instrument
from gainful.selection import Choice, Option, choose
from gainful.selection.scoring import Scoring
from gainful.selection.stream import FEWEST, WINDOW, Stream, threshold
from gainful.space import Constraint, Fresh, Within, coordinates_of

__all__ = ["Decision", "choice_here", "next_choice", "options", "out_of_money"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Decision:
    """What a campaign does in this state: it stops, for a `reason`, or it asks its `choice`.

    `where` limits what is asked, not what the stopping rules look at. Each is worked out once, when it is wanted.
    """

    state: State
    where: Constraint | None = None

    @cached_property
    def reason(self) -> str | None:
        """What the first rule that wants to stop says. Rules judge by answers: they wait for those on their way."""
        if self.state.pending:
            return None
        reasons = (rule.reason(self.state.belief, lambda: self.richest) for rule in self.state.design.stop)
        return next((reason for reason in reasons if reason is not None), None)

    @cached_property
    def richest(self) -> Choice | None:
        """The query that tells most bits about the function per unit of cost, whatever the goal is."""
        return self._choose(_RICHEST, None, ())

    @cached_property
    def choice(self) -> Choice | None:
        """The next of the initial design, then the best query by the goal, beyond what pending ones will tell; None
        where no place is left."""
        if is_initial(self.state):
            return initial_choice(self.state, options(self.state, self.where))
        pending = self.state.expected
        if self.where is None and not pending and _is_richest(self.state.goal):
            return self.richest
        found = self._choose(self.state.goal, self.where, pending)
        if found is None and sign_of(self.state.goal) is not None and not self.state.design.repeat:
            # All seems to be known, as after a few equal answers. An optimum is sought on, far from what was measured.
            return initial_choice(self.state, options(self.state, self.where))
        return found

    def _choose(self, goal: Goal, where: Constraint | None, pending: Sequence[Query]) -> Choice | None:
        state = self.state
        rng = np.random.default_rng([state.design.seed, len(state.entries)])
        return choose(goal, state.belief, options(state, where), rng, pending=pending, search=state.design.search)


_RICHEST = PerCost(Learn("function"))


def _is_richest(goal: object) -> bool:
    """Whether the goal is the default one; of the user's own only what is certain is asked."""
    return type(goal) is PerCost and type(goal.goal) is Learn and goal == _RICHEST


def next_choice(state: State, where: Constraint | None = None) -> Choice | None:
    """The best query now, beyond what pending ones will tell; None where no place is left."""
    return Decision(state, where).choice


def options(state: State, where: Constraint | None = None) -> list[Option]:
    """Every affordable instrument and where it can be used now."""
    design = state.design
    space = design.places
    if where is not None:
        space = space.where(where)
    kept = [e.query.place for e in state.entries if e.status is not Status.WITHDRAWN]
    if design.forward is not None and kept:
        i = space.names.index(design.forward)
        latest = max(float(np.atleast_2d(place)[:, i].max()) for place in kept)
        space = space.where(Within({design.forward: (latest, None)}))
    if not design.repeat:
        space = space.where(Fresh(kept))
    near = None if design.trust is None or is_initial(state) else _trusted(state, design.trust)
    if near is not None:
        space = space.where(near)
    out = []
    for instrument in design.instruments:
        if state.affords(instrument.cost):
            limit = design.limits.get(instrument.label)
            reach = space if limit is None else space.where(limit)
            away = _away(state, instrument)
            reach = reach if away is None else reach.where(away)
            out.append(Option(state.known.learned(instrument), reach, distinct=not design.repeat))
    return out


def _trusted(state: State, trust: TrustRegion) -> Within | None:
    """The box about the best reading of what the goal is about; None: anywhere."""
    design, sign = state.design, sign_of(state.goal)
    assert sign is not None  # it was required
    told = [
        (e.query.place, sign * float(np.ravel(e.answer)[0]))  # of a reading with its error, the reading
        for e in state.entries
        if e.status is Status.TOLD and e.query.instrument.gaussian and e.query.instrument.query == "place"
        and design.output in (None, *e.query.instrument.seen_outputs)
    ]  # fmt: skip
    if not told:
        return None
    return trust.about(coordinates_of(design.places).axes, [place for place, _ in told], [value for _, value in told])


def _away(state: State, instrument: Instrument) -> AwayFromFailures | None:
    """What keeps this instrument away from where it failed; None where it has not. Of pairs and sets nothing does:
    their places may be fine in others. An initial design, which is spread out anyway, leaves out the places alone."""
    mine = [e for e in state.entries if e.query.instrument.label == instrument.label and e.query.place.ndim == 1]
    failed, told = ([e.query.place for e in mine if e.status is kind] for kind in (Status.FAILED, Status.TOLD))
    if not failed:
        return None
    return AwayFromFailures(coordinates_of(state.design.places), failed, told, only_themselves=is_initial(state))


def out_of_money(state: State) -> str | None:
    """Why nothing can be afforded, or None while something can."""
    cheapest = min(state.design.instruments, key=lambda i: i.cost)
    if state.affords(cheapest.cost):
        return None
    pending = sum(q.cost for q in state.pending)
    waiting = f" ({pending:g} of it for pending queries)" if pending else ""
    return (
        f"the budget of {state.design.budget:g}{waiting} leaves {max(state.left, 0.0):g}, and the cheapest "
        f"instrument ({cheapest.label}) costs {cheapest.cost:g}"
    )


def choice_here(state: State, stream: Stream, here: Array) -> Choice | None:
    """The best query at the place (1, d) that a stream offers, if it scores as high as the stream's threshold."""
    offers = [o for o in options(state) if bool(o.space.contains(here)[0])]
    if not offers:
        return None
    seen, measured = len(state.offered), sum(not e.own for e in state.entries)
    rng = np.random.default_rng([state.design.seed, seen])
    share = stream.share(seen, measured, state.left / min(o.instrument.cost for o in offers))
    goal = state.goal
    if isinstance(goal, Random | RandomType):
        offers = [offers[int(rng.integers(len(offers)))]]
        if isinstance(goal, Random):
            lucky = rng.random() < share
            return Choice(Query(offers[0].instrument, here[0]), float("nan")) if lucky else None
        goal = goal.goal
    lately = state.offered[-WINDOW:]
    reference = np.array(lately if len(lately) >= FEWEST else stream.space.candidates(WINDOW, rng))
    scoring = Scoring(goal, state.belief, state.expected)
    scores = np.max([scoring.score(o.instrument, reference) for o in offers], axis=0)
    mine = [float(scoring.score(o.instrument, here)[0]) for o in offers]
    best = int(np.argmax(mine))
    if mine[best] < threshold(scores, share):
        return None
    return Choice(Query(offers[best].instrument, here[0]), mine[best])
