"""The next query: the best of all instruments at all places, by the goal's score.

In a pool every place is scored. In a box quasi-random candidates are scored first, and the best of them climb the score
along its gradient (`ascend`), with steps between whole numbers and categories. Where f is a sum of functions of a few
dimensions, searches by blocks find more candidates (`blocks`). Pairs and sets are made of the candidates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gainful.acquisition import Acquisition, Random, RandomType
from gainful.acquisition.base import SIGNED, require_goal
from gainful.checks import as_rng, listed, require, require_kind, require_whole
from gainful.data import Query, require_instrument
from gainful.inference.belief import Belief
from gainful.inference.posterior import Posterior
from gainful.inference.predictive import Predictive
from gainful.information.readings import checked
from gainful.instruments import Instrument
from gainful.selection.ascend import ascend
from gainful.selection.blocks import blocks_of, by_blocks
from gainful.selection.chart import Chart
from gainful.selection.scoring import Scoring
from gainful.selection.ties import best_first, better, first_best, zero_of
from gainful.space import Places, Pool, Restricted, require_places

__all__ = ["Choice", "Option", "Search", "best_of_each", "candidates", "choose"]

Array = NDArray[np.float64]

_ALL = 2**62
_FEW = 100_000  # places of a box without real dimensions, to draw from
_FINALISTS = 32
_FOR_ZERO = 100  # queries of which the lowest score is the zero, where scores may have either sign
_MANY, _AMONG_MANY = 12, 100  # posteriors, under each of which every candidate is scored, and so many candidates then
_MOST = {"candidates": 10**7, "climbers": 1000, "set_size": 1000}  # of a search that can be waited for
_MOST_SETS = 100  # a set's information is a product integral: some milliseconds each


@dataclass(frozen=True)
class Option:
    """An instrument and the places where it can be used now; `distinct`: no place twice in one pair or set."""

    instrument: Instrument
    space: Places
    distinct: bool = False

    def __post_init__(self) -> None:
        require_instrument(self.instrument)
        require_places("space", self.space)
        require_kind("distinct", self.distinct, bool, "True or False", "True: no place twice in one pair or set")


@dataclass(frozen=True)
class Choice:
    """A query and its score; for a choice by chance the score is NaN."""

    query: Query
    score: float


@dataclass(frozen=True)
class Search:
    """How hard to look: candidates in a box (or pairs and sets of them), how many climb, places in a set."""

    candidates: int = 1000
    climbers: int = 4
    set_size: int = 2

    def __post_init__(self) -> None:
        for name, least in (("candidates", 1), ("climbers", 0), ("set_size", 1)):
            whole = require_whole(name, getattr(self, name), least, "leave the default")
            most = _MOST[name]
            require(
                whole <= most, name, f"at most {most}", whole, "more would be searched for minutes; leave the default"
            )
            object.__setattr__(self, name, whole)


def choose(
    goal: Acquisition | Random | RandomType,
    belief: Posterior | Belief,
    options: Sequence[Option],
    rng: np.random.Generator,
    *,
    pending: Sequence[Query] = (),
    search: Search | None = None,
) -> Choice | None:
    """The best query of all options, beyond what the `pending` queries will tell; None where there is no place left."""
    _require_choosable(goal, belief, options, search)
    rng, pending, how = as_rng(rng), checked("pending", pending), search or Search()
    if not isinstance(goal, Random | RandomType):
        return _best(Scoring(goal, belief, pending), options, rng, how)
    left = list(options)
    while left:
        drawn = left.pop(int(rng.integers(len(left))))
        if isinstance(goal, Random):
            found = _by_chance(drawn, rng, how)
        else:
            found = _best(Scoring(goal.goal, belief, pending), [drawn], rng, how)
        if found is not None:  # otherwise there is no place where this one can be used
            return found
    return None


def _require_choosable(goal: object, belief: object, options: Any, search: object) -> None:
    if not isinstance(goal, Random | RandomType):
        require_goal(goal)
    require_kind("belief", belief, (Posterior, Belief), "a posterior, or a Belief", "condition a GP on data first")
    given = listed(options)
    usable = given is not None and all(isinstance(each, Option) for each in given)
    require(usable, "options", "a list of options", options, "for instance [Option(instrument, space)]")
    usable = search is None or isinstance(search, Search)
    require(usable, "search", "Search(...)", search, "leave it out for the defaults")


def best_of_each(
    goal: Acquisition,
    belief: Posterior | Belief,
    options: Sequence[Option],
    rng: np.random.Generator,
    *,
    pending: Sequence[Query] = (),
    search: Search | None = None,
) -> list[Choice | None]:
    """The best query of each option, found as `choose` finds the best of them all; None where there is no place."""
    _require_choosable(goal, belief, options, search)
    scoring = _measured(Scoring(goal, belief, checked("pending", pending)), options)
    return [_as_scored(scoring, each) for each in _each_best(scoring, options, as_rng(rng), search or Search())]


def _best(scoring: Scoring, options: Sequence[Option], rng: np.random.Generator, search: Search) -> Choice | None:
    scoring, best = _measured(scoring, options), None
    for found in _each_best(scoring, options, rng, search):
        if found is not None and (best is None or better(found.score, best.score)):
            best = found
    return _as_scored(scoring, best)


def _measured(scoring: Scoring, options: Sequence[Option]) -> Scoring:
    """With a zero for scores that may have either sign, from places that no choice depends on."""
    if scoring.scale != SIGNED or not options:
        return scoring
    places = candidates(options[0], np.random.default_rng(0), Search(_FOR_ZERO))[:_FOR_ZERO]
    return replace(scoring, zero=zero_of(scoring.rank(options[0].instrument, places))) if len(places) else scoring


def _as_scored(scoring: Scoring, found: Choice | None) -> Choice | None:
    """The choice with the score that the goal itself gives."""
    return found if found is None or not scoring.zero else Choice(found.query, found.score + scoring.zero)


def _each_best(
    scoring: Scoring, options: Sequence[Option], rng: np.random.Generator, search: Search
) -> Iterator[Choice | None]:
    """The best query of one option after the other; they share the generator, and candidates where they can."""
    drawn: dict[tuple[int, str, bool], Array | Predictive] = {}
    for option in options:
        instrument = option.instrument
        # Instruments that can be used at the same places are offered the same candidates, and share their moments.
        key = id(option.space), instrument.asks, instrument.outputs is None
        if key not in drawn:
            drawn[key] = scoring.predict(instrument, _offered(scoring, option, rng, search))
        places = drawn[key]
        if instrument.is_certain and len(places):  # what is known, or will be, is not asked again
            places = places[~scoring.told(instrument, places)]
        if not len(places):
            yield None
            continue
        if not scoring.is_exact and len(places) > _FINALISTS:
            # The exact form beyond what is pending is dear. The fantasy ranks the candidates; the best are scored.
            ranks = scoring.rank(instrument, places)
            places = places[best_first(ranks)[:_FINALISTS]]
        scores = scoring.score(instrument, places)
        i = _best_of(scoring, instrument, places, scores)
        place, score = places[i], float(scores[i])
        if search.climbers and continuous(option.space) and np.isfinite(scores).all():
            starts = _starts(np.asarray(places), scores, option.space, search.climbers)
            climbed = ascend(scoring, instrument, option.space, starts, option.distinct)
            if better(climbed[1], score):
                place, score = climbed
        yield Choice(Query(instrument, place), score)


def _offered(scoring: Scoring, option: Option, rng: np.random.Generator, search: Search) -> Array:
    """Candidates anywhere, and those that searches by blocks find where f is a sum; the former are then fewer."""
    instrument, several = option.instrument, isinstance(scoring.belief, Belief) and len(scoring.belief.weights) > _MANY
    if instrument.asks != "place" or not continuous(option.space) or instrument.outputs is not None:
        return candidates(option, rng, search)
    if not any(blocks_of(scoring.belief, len(option.space.names))):
        return candidates(option, rng, search)
    fewer = replace(search, candidates=min(search.candidates, _AMONG_MANY)) if several else search
    places = candidates(option, rng, fewer)
    return np.concatenate([places, by_blocks(scoring, instrument, option.space, places, rng)])


def _starts(places: Array, scores: Array, space: Places, climbers: int) -> Array:
    """The best candidates; where coordinates cannot climb, also the best that differ in those from each other."""
    order = best_first(scores)
    chosen = list(order[:climbers])
    held = Chart(space).discrete
    if held:
        kept = places[order][..., held].reshape(len(order), -1)
        unlike = [order[i] for i in np.sort(np.unique(kept, axis=0, return_index=True)[1])[:climbers]]
        half = chosen[: (climbers + 1) // 2]
        chosen = list(dict.fromkeys([*half, *unlike, *chosen]))[:climbers]
    return np.array(places[chosen])


def _by_chance(option: Option, rng: np.random.Generator, search: Search) -> Choice | None:
    """A random place of the option, or as many different ones as its instrument takes."""
    instrument, space = option.instrument, option.space
    most = instrument.most_places or search.set_size
    size = {"place": 1, "pair": 2, "set": min(search.set_size, most)}[instrument.asks]
    if continuous(space) and not _few(space):
        # The first place of each shifted sequence is uniform, and sequences are shifted independently.
        places = np.concatenate([space.candidates(1, rng) for _ in range(size)])
    else:
        whole = space.candidates(_ALL if not continuous(space) else _FEW, rng)
        places = whole[rng.permutation(len(whole))[:size]]
    if len(places) < size:
        return None
    return Choice(Query(instrument, places[0] if instrument.asks == "place" else places), float("nan"))


def continuous(space: Places) -> bool:
    """Whether places of the space can be moved a little."""
    while isinstance(space, Restricted):
        space = space.space
    return not isinstance(space, Pool)


def _few(space: Places) -> bool:
    """Whether a box has so few places that all of them can be listed."""
    whole = space.whole if isinstance(space, Restricted) else space
    return bool(getattr(whole, "size", np.inf) <= _FEW)


def candidates(option: Option, rng: np.random.Generator, search: Search) -> Array:
    """Queries of the option's instrument to choose from: (M, d), pairs (M, 2, d) or sets (M, k, d).

    In a pool every place, or all pairs where they are no more than `search.candidates`.
    """
    places = option.space.candidates(search.candidates if continuous(option.space) else _ALL, rng)
    if option.instrument.asks == "pair":
        return places[_subsets(len(places), 2, search.candidates, rng)]
    if option.instrument.asks == "set":
        size = min(search.set_size, option.instrument.most_places or search.set_size)
        return places[_subsets(len(places), size, min(search.candidates, _MOST_SETS), rng)]
    return places


def _subsets(n: int, size: int, most: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Index sets (M, size) of distinct members out of n: all pairs where they are few, random sets otherwise."""
    if n < size:
        return np.zeros((0, size), dtype=np.intp)
    if size == 2 and n * (n - 1) // 2 <= most:
        return np.stack(np.triu_indices(n, 1), axis=1)
    return np.array([rng.choice(n, size, replace=False) for _ in range(most)])


def _best_of(scoring: Scoring, instrument: Instrument, places: Array | Predictive, scores: Array) -> int:
    i = first_best(scores)
    if np.isposinf(scores[i]):  # a reading without noise tells infinitely much anywhere: the least certain place first
        endless = np.flatnonzero(np.isposinf(scores))
        i = int(endless[first_best(scoring.spread(instrument, places[endless]))])
    return i
