"""Why a query was chosen, in words and numbers, and in the terms of the goal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gainful.acquisition import Level, Random, RandomType
from gainful.acquisition.switch import THEN, entropy_of
from gainful.campaign.best import known_places, with_error
from gainful.campaign.decide import options
from gainful.campaign.goal import innermost, sign_of, switch_in
from gainful.campaign.initial import is_initial
from gainful.campaign.state import Entry, State
from gainful.campaign.terms import Terms, called, goal_in_words, in_unit, terms_of
from gainful.data import Query
from gainful.information import information
from gainful.selection import Option, Stream
from gainful.selection.choose import best_of_each
from gainful.selection.scoring import Scoring
from gainful.space import LinearLimit, Within, in_words

__all__ = ["Offer", "Why", "explain"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Offer:
    """What an instrument would give at a place: bits about the function, its cost, what it is worth in the goal's own
    terms (of chance, its bits), and the goal's score (NaN by chance). `where` is the place in words."""

    instrument: str
    place: tuple[object, ...]
    bits: float
    cost: float
    score: float
    worth: float
    where: str = ""

    @property
    def per_cost(self) -> float:
        return self.worth / self.cost


@dataclass(frozen=True)
class Why:
    """`chosen`, the offers of the other instruments at the same place (`there`), each instrument's best (`elsewhere`).

    mean and sd are the prediction of the value that the instrument sees (of a set, at its least certain place), low and
    high the ends of its band of 95 %, all in the `unit` of f. `terms` says what an offer is worth in words, `beside`
    what else the goal looks at: the best place so far, the chance to be above a level. `str` says it all.
    """

    query: Query
    chosen: Offer
    there: tuple[Offer, ...]
    elsewhere: tuple[Offer, ...]
    mean: float
    sd: float
    answers: int
    left: float
    goal: str
    terms: Terms
    beside: str | None
    unit: str = ""

    @property
    def low(self) -> float:
        return self.mean - _BAND * self.sd

    @property
    def high(self) -> float:
        return self.mean + _BAND * self.sd

    def __str__(self) -> str:
        name, chosen = self.chosen.instrument, self.chosen
        left = "" if np.isinf(self.left) else f" of the {self.left:g} that were left"
        number = "" if self.query.number is None else f"Query {self.query.number}, "
        each = f", {self.terms.amount(chosen.per_cost)} per unit of cost" if self.terms.divisible else ""
        lines = [
            f"{number}{name} at {chosen.where}, after {self.answers} answers: it "
            f"{self.terms.sentence(chosen.worth)} for {chosen.cost:g}{left}{each}.",
            f"{_PREDICTED[self.query.instrument.asks]}: {with_error(self.mean, self.sd, self.unit)}, with 95 % between "
            f"{self.low:.3g} and {in_unit(f'{self.high:.3g}', self.unit)}.",
        ]
        if self.beside:
            lines.append(self.beside)
        if self.there:
            lines.append("At the same place: " + "; ".join(map(self._words, self.there)) + ".")
        rivals = [o for o in self.elsewhere if o.instrument != name]
        if rivals:
            own = "; ".join(f"{self._words(o)} at {o.where}" for o in rivals)
            lines.append(f"At the best places found for them: {own}.")
        lines.append(self.goal)
        return "\n".join(lines)

    def _words(self, offer: Offer) -> str:
        each = f" ({self.terms.amount(offer.per_cost)} per unit)" if self.terms.divisible else ""
        return f"{offer.instrument} {self.terms.amount(offer.worth)} for {offer.cost:g}{each}"


_BAND = 1.959963984540054  # standard deviations, of 95 %
_PREDICTED = {
    "place": "Predicted value",
    "pair": "Predicted difference",
    "set": "Predicted value at the least certain of its places",
}


def explain(state: State, entry: Entry) -> Why:
    """Offers under what was believed when the query was chosen; pending queries at that time count as answered."""
    posterior, pending, query = state.belief, state.expected, entry.query
    limit = entry.where if isinstance(entry.where, Within | LinearLimit) else None
    goal, terms = state.goal, terms_of(state.goal, posterior, state.design.unit)
    scored = None if isinstance(goal, Random) else goal.goal if isinstance(goal, RandomType) else goal
    mine = state.known.learned(query.instrument)
    by_goal = None if scored is None else Scoring(scored, posterior, pending)
    by_worth = None if scored is None else Scoring(innermost(scored), posterior, pending)

    def offer(which: Query) -> Offer:
        here, bits = which.place[None], np.nan
        if which.instrument.is_predictable:
            bits = float(information(posterior, which.instrument, here, pending=pending)[0])
        score, worth = np.nan, bits
        if by_goal is not None and by_worth is not None:
            score = float(by_goal.score(which.instrument, here)[0])
            worth = terms.worth(float(by_worth.score(which.instrument, here)[0]))
        place, words = _nested(which.place.tolist()), which.seen_in(state.design.places).words
        return Offer(which.instrument.label, place, bits, which.instrument.cost, score, worth, words)

    m, v = posterior.marginals(mine, query.place[None])
    open_now, chosen = options(state, limit), offer(Query(mine, query.place))
    there = {
        each.instrument.label: offer(Query(each.instrument, query.place))
        for each in open_now
        if each.instrument.label != mine.label and _fits(each, query)
    }
    elsewhere = []
    if scored is not None:
        rng = np.random.default_rng([state.design.seed, len(state.entries)])  # the places that were looked at then
        found = best_of_each(scored, posterior, open_now, rng, pending=pending, search=state.design.search)
        best = [offer(each.query) for each in found if each is not None]
        # A search finds what it finds: the chosen place is among those that each instrument is judged by.
        here = {mine.label: chosen, **there}
        elsewhere = [max(each, here.get(each.instrument, each), key=_score) for each in best]
    variances = np.atleast_1d(v[0] if v.ndim == 1 else np.diagonal(v[0]))
    least_certain = int(np.argmax(variances))  # of a set's places
    return Why(
        query,
        chosen,
        tuple(there.values()),
        tuple(elsewhere),
        float(np.atleast_1d(m[0])[least_certain]),
        float(np.sqrt(variances[least_certain])),
        len(state.told),
        state.left,
        _reason(state, entry, is_best=all(_score(chosen) >= _score(each) for each in there.values())),
        terms,
        _beside(state, entry),
        state.design.unit_of(next(iter(mine.seen_outputs), None)),
    )


def _beside(state: State, entry: Entry) -> str | None:
    """What a query is judged beside: the best measured place, or the level."""
    goal, posterior = state.goal, state.belief
    inner, sign = innermost(goal), sign_of(goal)
    if isinstance(inner, Level):
        if entry.query.place.ndim > 1:
            return None
        p = float(inner.probability(posterior, entry.query.place[None])[0])
        f, level = called(state.design.output), in_unit(f"{inner.value:g}", state.design.unit)
        return f"Chance that {f} is above {level} here: {100.0 * p:.2g} %."
    if sign is None or not state.told:
        return None
    known = known_places(state, state.design.output)
    if not len(known):
        return None
    best = known[int(np.argmax(sign * posterior.mean(known)))]
    mean, sd = float(posterior.mean(best[None])[0]), float(np.sqrt(posterior.variance(best[None])[0]))
    where = in_words(state.design.places, best)
    return f"The best place measured so far is {where}, where {with_error(mean, sd, state.design.unit)} is predicted."


def _reason(state: State, entry: Entry, is_best: bool) -> str:
    """Why it was chosen; `is_best`: no other instrument scores more at its place."""
    goal = state.goal
    if entry.own:
        return "It was the user's own choice."
    if entry.confirms:
        return "It was asked to confirm it: of all places it was believed to be the best."
    words = goal_in_words(goal, state.design.unit, state.design.output)
    if is_initial(state):
        turn = (
            "the instrument is the best there"
            if is_best
            else "the instrument's turn had come, so that scales are known"
        )
        reason = (
            f"It is one of the {state.design.initial} queries of the initial design, spread evenly over the space; "
            f"{turn}. The goal is {words}."
        )
    elif isinstance(goal, Random):
        reason = f"Instrument and place were drawn by chance ({goal})."
    elif isinstance(goal, RandomType):
        reason = f"The instrument was drawn by chance ({goal})."
    elif isinstance(state.design.space, Stream):
        reason = f"The goal is {words}: its score reached the threshold of the stream."
    else:
        reason = f"The goal is {words}: the highest score found wins."
    reason += _switched(state)
    if entry.where is None:
        return reason
    if isinstance(entry.where, Within | LinearLimit):
        return f"{reason} This ask was limited to {entry.where}."
    return f"{reason} This ask was limited to places where {entry.where} holds; the rivals above are not."


def _switched(state: State) -> str:
    """Which side of a switch counted, and why."""
    switch = switch_in(state.design.goal)
    if switch is None or is_initial(state):
        return ""
    open_by = f" Which structure is right is open by {entropy_of(state.belief):.2g} bits: of the two goals the "
    if state.side == THEN:
        return open_by + f"second counts, until that is more than {switch.above:g}."
    return open_by + f"first counts, until that is less than {switch.below:g}."


def _fits(option: Option, query: Query) -> bool:
    """Whether the option's instrument can be asked at the place of this query."""
    same_shape = option.instrument.asks == query.instrument.asks
    return same_shape and bool(np.all(option.space.contains(np.atleast_2d(query.place))))


def _score(offer: Offer) -> float:
    return -np.inf if np.isnan(offer.score) else offer.score


def _nested(values: Sequence[object]) -> tuple[object, ...]:
    return tuple(_nested(x) if isinstance(x, list) else x for x in values)
