"""Why a query was chosen, in words and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gainful.acquisition import Random, RandomType
from gainful.campaign.decide import options
from gainful.campaign.state import Entry, State
from gainful.data import Query
from gainful.information import information
from gainful.selection import Stream, choose
from gainful.selection.scoring import Scoring
from gainful.space import Within

__all__ = ["Offer", "Why", "explain"]


@dataclass(frozen=True)
class Offer:
    """What an instrument would give at a place: bits about the function, cost, and the goal's score (NaN by chance)."""

    instrument: str
    place: tuple[object, ...]
    bits: float
    cost: float
    score: float

    @property
    def per_cost(self) -> float:
        return self.bits / self.cost


@dataclass(frozen=True)
class Why:
    """`chosen`, the offers of the other instruments at the same place (`there`), each instrument's best (`elsewhere`).

    mean and sd are the prediction of the value that the instrument sees (of a set, at its least certain place).
    `str` says it all in words.
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

    def __str__(self) -> str:
        name = self.chosen.instrument
        left = "" if np.isinf(self.left) else f" of the {self.left:g} that were left"
        lines = [
            f"{self.query!r}, after {self.answers} answers: {name} is expected to tell {self.chosen.bits:.3g} bits "
            f"about the function for {self.chosen.cost:g}{left}, {self.chosen.per_cost:.3g} bits per unit of cost.",
            f"{_PREDICTED[self.query.instrument.query]}: {_with_error(self.mean, self.sd)}.",
        ]
        if self.there:
            lines.append("At the same place: " + "; ".join(map(_words, self.there)) + ".")
        rivals = [o for o in self.elsewhere if o.instrument != name]
        if rivals:
            lines.append(
                "At their own best places: " + "; ".join(_words(o) + f" at {_at(o.place)}" for o in rivals) + "."
            )
        lines.append(self.goal)
        return "\n".join(lines)


_PREDICTED = {
    "place": "Predicted value",
    "pair": "Predicted difference",
    "set": "Predicted value at the least certain of its places",
}


def _with_error(mean: float, sd: float) -> str:
    """Two digits of the standard deviation, and as many decimals of the mean.

    >>> _with_error(0.3123, 0.2), _with_error(1234.5, 150.2), _with_error(0.5, 0.0)
    ('0.31 ± 0.20', '1234 ± 150', '0.5 ± 0')
    """
    decimals = 1 - int(np.floor(np.log10(sd))) if sd > 0.0 else 99
    if decimals > 12:  # as good as known
        return f"{mean:.4g} ± {sd:.2g}"
    return f"{mean:.{max(decimals, 0)}f} ± {sd:.{max(decimals, 0)}f}"


def _words(offer: Offer) -> str:
    return f"{offer.instrument} {offer.bits:.3g} bits for {offer.cost:g} ({offer.per_cost:.3g} per unit)"


def _at(place: tuple[object, ...]) -> str:
    return "(" + ", ".join(_at(x) if isinstance(x, tuple) else f"{x:.4g}" for x in place) + ")"


def explain(state: State, entry: Entry) -> Why:
    """Offers under what was believed when the query was chosen; pending queries at that time count as answered."""
    posterior, pending, query = state.posterior, state.expected, entry.query
    limit = entry.where if isinstance(entry.where, Within) else None
    goal = state.design.goal
    scored = None if isinstance(goal, Random) else goal.goal if isinstance(goal, RandomType) else goal
    mine = state.known.learned(query.instrument)

    def offer(which: Query) -> Offer:
        here = which.place[None]
        bits = (
            float(information(posterior, which.instrument, here, pending=pending)[0])
            if which.instrument.is_predictable
            else np.nan
        )
        score = np.nan
        if scored is not None:
            score = float(Scoring(scored, posterior, pending).score(which.instrument, here)[0])
        return Offer(which.instrument.label, _nested(which.place.tolist()), bits, which.instrument.cost, score)

    m, v = posterior.marginals(mine, query.place[None])
    there, elsewhere = [], []
    for option in options(state, limit):
        same_shape = option.instrument.query == mine.query
        if option.instrument.label != mine.label and same_shape and bool(np.all(option.space.contains(_rows(query)))):
            there.append(offer(Query(option.instrument, query.place)))
        if scored is not None:
            rng = np.random.default_rng([state.design.seed, len(state.entries)])
            best = choose(scored, posterior, [option], rng, pending=pending, search=state.design.search)
            if best is not None:
                elsewhere.append(offer(best.query))
    variances = np.atleast_1d(v[0] if v.ndim == 1 else np.diagonal(v[0]))
    least_certain = int(np.argmax(variances))  # of a set's places
    mean, sd = float(np.atleast_1d(m[0])[least_certain]), float(np.sqrt(variances[least_certain]))
    told, left = len(state.told), state.left
    return Why(
        query,
        offer(Query(mine, query.place)),
        tuple(there),
        tuple(elsewhere),
        mean,
        sd,
        told,
        left,
        _reason(state, entry),
    )


def _reason(state: State, entry: Entry) -> str:
    goal = state.design.goal
    if entry.own:
        return "It was the user's own choice."
    if isinstance(goal, Random):
        reason = f"Instrument and place were drawn by chance ({goal})."
    elif isinstance(goal, RandomType):
        reason = f"The instrument was drawn by chance ({goal})."
    elif isinstance(state.design.space, Stream):
        reason = f"The goal is {goal}: its score reached the threshold of the stream."
    else:
        reason = f"The goal is {goal}: the highest score wins."
    if entry.where is None:
        return reason
    if isinstance(entry.where, Within):
        return f"{reason} This ask was limited to {entry.where}."
    return f"{reason} This ask was limited to places where {entry.where} holds; the rivals above are not."


def _rows(query: Query) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    return np.atleast_2d(query.place)


def _nested(values: Sequence[object]) -> tuple[object, ...]:
    return tuple(_nested(x) if isinstance(x, list) else x for x in values)
