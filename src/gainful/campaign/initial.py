"""The initial design: the first queries of a campaign, spread evenly over the space, before the goal decides where.

Where nothing is known yet, a goal only repeats what the prior says. The places follow from the design and its seed
alone, and which of them is next from the history: a resumed campaign goes on with the same ones. In a box they are
places of a sequence that fills it evenly; in a pool each is the farthest from those before it. What the user has
measured counts as a part of the design, and the next place is the one farthest from all that are measured or pending.
The instrument is the one that the goal likes best there; where nothing else tells how far f varies, first numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gainful.acquisition import Acquisition, Learn, PerCost, Random, RandomType
from gainful.campaign.design import Design
from gainful.campaign.state import State, Status
from gainful.data import Query
from gainful.errors import InvalidInput
from gainful.instruments import Instrument
from gainful.selection import Choice, Option
from gainful.selection.choose import Search, candidates, continuous
from gainful.selection.scoring import Scoring
from gainful.selection.stream import Stream
from gainful.selection.ties import better, first_best
from gainful.space import Places

__all__ = ["initial_choice", "initial_queries", "is_initial", "places_apart", "with_an_instrument"]

Array = NDArray[np.float64]

_ALL = 2**62
_AT_FIRST = 4  # numbers, before other answers
_INSTEAD = Search(candidates=200, climbers=0)  # where no place of the design may be asked now


def is_initial(state: State) -> bool:
    """Whether the next query belongs to the initial design. Failures do not count to it, and while there is nothing
    else it goes on: no goal knows where an answer could be had."""
    kept = sum(e.status in (Status.PENDING, Status.TOLD) for e in state.entries)
    lost = not state.told and any(e.status is Status.FAILED for e in state.entries)
    return kept < (state.design.initial or 0) or (lost and not isinstance(state.design.space, Stream))


def initial_choice(state: State, options: Sequence[Option]) -> Choice | None:
    """The next query of the initial design; None where no option has a place. Places come before pairs and sets."""
    if not options:
        return None
    single = [option for option in options if option.instrument.asks == "place"]
    group = single or [o for o in options if o.instrument.asks == options[0].instrument.asks]
    queries = [_allowed(option, initial_queries(state.design, option)) for option in group]
    kept = [e.query.place for e in state.entries if e.status is not Status.WITHDRAWN]
    used = {place.tobytes() for place in kept}
    queries = [np.array([q for q in each if q.tobytes() not in used]) for each in queries]
    if not any(len(each) for each in queries):
        rng = np.random.default_rng([state.design.seed, len(state.entries)])
        queries = [candidates(option, rng, _INSTEAD) for option in group]
    some = [each for each in queries if len(each)]
    if not some:
        return None
    every = np.concatenate(some)
    query = every[first_best(_order(every, kept, state.design))]
    offers = [o for o, each in zip(group, queries, strict=True) if any(np.array_equal(query, q) for q in each)]
    return with_an_instrument(state, _telling_scale(state, _by_turns(state, offers)), query)


def _by_turns(state: State, offers: list[Option]) -> list[Option]:
    """Of what may be asked, the instruments whose functions were asked about least: each has a scale of its own. One
    that would take most of the money is left to the goal."""
    design = state.design
    if design.learner is None or len({each.seen_outputs for each in design.instruments}) < 2:
        return offers
    asked = Counter(e.query.instrument.seen_outputs for e in state.entries if e.status is not Status.WITHDRAWN)
    each = max(3, len(design.places.names) + 1)
    able = [o for o in offers if design.budget is None or each * o.instrument.cost <= 0.5 * design.budget] or offers
    fewest = min(asked[o.instrument.seen_outputs] for o in able)
    return [o for o in able if asked[o.instrument.seen_outputs] == fewest]


def _telling_scale(state: State, offers: list[Option]) -> list[Option]:
    """Of what may be asked, the instruments whose answers are numbers, until there are a few of them.

    No goal can compare instruments before it is known how far f varies, and one threshold never tells. Where numbers
    would take most of the money, they are left to the goal.
    """
    design = state.design
    if design.learner is None or not all(_is_single(each) or each.values is None for each in design.instruments):
        return offers
    asked = [e.query.instrument for e in state.entries if e.status is not Status.WITHDRAWN]
    numbers = [o for o in offers if o.instrument.values is None and _AT_FIRST * o.instrument.cost <= 0.5 * state.left]
    return numbers if numbers and sum(each.values is None for each in asked) < _AT_FIRST else offers


def _is_single(instrument: Instrument) -> bool:
    """Whether its answers are on one side of one threshold or on the other."""
    return instrument.values is not None and len(instrument.values) == 2


def initial_queries(design: Design, option: Option) -> Array:
    """The design's queries for an instrument: places (n, d), or as many pairs or sets (n, k, d) of them."""
    most = option.instrument.most_places or design.search.set_size
    size = {"place": 1, "pair": 2, "set": min(design.search.set_size, most)}[option.instrument.asks]
    places = places_apart(design.places, (design.initial or 0) * size, design.seed)
    if option.instrument.asks == "place":
        return places
    whole = len(places) // size
    return places[: whole * size].reshape(whole, size, places.shape[1])


def places_apart(space: Places, n: int, seed: int) -> Array:
    """n places that are spread over the space, (n, d): of a pool each the farthest from those before, the first in the
    middle; fewer where it has no more.

    >>> from gainful.space import Pool
    >>> places_apart(Pool([[0.0], [0.1], [0.4], [0.5], [1.0]]), 3, seed=0).ravel().tolist()
    [0.5, 0.0, 1.0]
    """
    if n == 0:
        return np.zeros((0, len(space.names)))
    if continuous(space):
        return space.candidates(n, seed)
    pool = np.unique(space.candidates(_ALL, seed), axis=0)
    if not len(pool):
        return pool
    scaled = (pool - space.low) / _width(space)
    chosen = [int(np.argmin(np.sum((scaled - 0.5) ** 2, axis=1)))]
    nearest = np.full(len(pool), np.inf)
    while len(chosen) < min(n, len(pool)):
        nearest = np.minimum(nearest, np.sum((scaled - scaled[chosen[-1]]) ** 2, axis=1))
        chosen.append(first_best(nearest))
    return pool[chosen]


def _allowed(option: Option, queries: Array) -> Array:
    rows = queries.reshape(-1, queries.shape[-1])
    inside = option.space.contains(rows).reshape(len(queries), -1).all(axis=1) if len(rows) else np.zeros(0, dtype=bool)
    return np.asarray(queries[inside])


def _order(queries: Array, kept: Sequence[Array], design: Design) -> Array:
    """What is asked first: the farthest from all that are known; where no query may go back, the earliest."""
    if design.forward is None:
        return _distances(queries, kept, design.places)
    rows = queries.reshape(len(queries), -1, queries.shape[-1])
    i, width = list(design.places.names).index(design.forward), _width(design.places)
    return np.asarray(design.places.high[i] + width[i] - rows[..., i].max(axis=1))


def _distances(queries: Array, kept: Sequence[Array], space: Places) -> Array:
    """How far each query is from the nearest place that is measured or pending, squared, in units of the space."""
    if not kept:
        return np.ones(len(queries))
    width = _width(space)
    known = np.concatenate([np.atleast_2d(place) for place in kept]) / width
    rows = queries.reshape(len(queries), -1, queries.shape[-1]) / width
    return np.asarray(np.min(np.sum((rows[:, :, None] - known) ** 2, axis=-1), axis=(1, 2)))


def _width(space: Places) -> Array:
    width = space.high - space.low
    return np.where(width > 0.0, width, 1.0)


def with_an_instrument(state: State, offers: Sequence[Option], query: Array) -> Choice:
    """The query with the instrument that the goal likes best there; by chance, where the goal is that."""
    goal = state.goal
    if isinstance(goal, Random | RandomType):
        rng = np.random.default_rng([state.design.seed, len(state.entries)])
        drawn = offers[int(rng.integers(len(offers)))].instrument
        return Choice(Query(drawn, query), float("nan"))
    try:
        return _best(goal, state, offers, query)
    except InvalidInput as trouble:
        if trouble.argument != "belief":
            raise
        return _best(PerCost(Learn("function")), state, offers, query)  # the goal needs answers before it can score


def _best(goal: Acquisition, state: State, offers: Sequence[Option], query: Array) -> Choice:
    scoring = Scoring(goal, state.belief, state.expected)
    scores = [float(scoring.score(o.instrument, query[None])[0]) for o in offers]
    best = 0
    for i in range(1, len(scores)):
        if better(scores[i], scores[best]):
            best = i
    return Choice(Query(offers[best].instrument, query), scores[best])
