"""Makes a campaign's goal from a word, or from the name of a strategy, with what it needs from the space.

    learn                  bits about the function, per unit of cost: the default
    map                    how far the mean variance of f over the space falls, per unit of cost
    minimise, maximise     how much better the best place is expected to be, per unit of cost
    level 0.5              how far it is settled where f lies above 0.5, per unit of cost

A goal that looks at places gets them here: those of a pool (at most 1000 of them, drawn with the campaign's seed), or
200 places spread evenly over a box (`space.candidates(200, seed)`). Where every instrument compares places, a strategy
that is about answers gets pairs of them.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gainful.acquisition import (
    Acquisition,
    IntegratedVariance,
    KnowledgeGradient,
    Learn,
    Level,
    Normalised,
    PerCost,
    Random,
    RandomType,
)
from gainful.acquisition.optimum import MAXIMISE, MINIMISE
from gainful.acquisition.strategies import strategies, strategy
from gainful.errors import InvalidInput
from gainful.instruments import Instrument
from gainful.selection.choose import Option, Search, candidates, continuous
from gainful.space import Places

__all__ = ["SIGNS", "WORDS", "Goal", "completed", "goal_named", "innermost", "sign_of"]

Goal = Acquisition | Random | RandomType
Array = NDArray[np.float64]

_IN_A_BOX, _OF_A_POOL = 200, 1000
_RIVALS = 200  # places beside the measured ones that may be the best: every query is compared with each

SIGNS = {"minimise": MINIMISE, "minimize": MINIMISE, "maximise": MAXIMISE, "maximize": MAXIMISE}
WORDS = ("learn", "map", "minimise", "maximise", "level 0.5")


def goal_named(name: str, instruments: Sequence[Instrument], space: Places, seed: int) -> Goal:
    """The goal that a word or a strategy's name stands for in this space.

    >>> from gainful.instruments import Point
    >>> from gainful.space import Real, Space
    >>> for name in ("learn", "minimise", "level 0.5", "bald"):
    ...     print(goal_named(name, [Point()], Space(Real("x", 0, 1)), seed=0))
    PerCost(goal=Learn(about='function'))
    PerCost(goal=KnowledgeGradient(sign=-1))
    PerCost(goal=Level(value=0.5))
    Learn(about='function')
    """
    word, _, rest = name.strip().lower().partition(" ")
    if word == "level":
        return completed(PerCost(Level(_value(name, rest))), space, seed)
    if word == "learn" and not rest:
        return PerCost(Learn("function"))
    if word == "map" and not rest:
        return PerCost(IntegratedVariance(_spread(space, seed, _OF_A_POOL)))
    if word in SIGNS and not rest:
        return completed(PerCost(KnowledgeGradient(SIGNS[word])), space, seed)
    return _strategy(name, instruments, space, seed)


def completed(goal: Goal, space: Places, seed: int) -> Goal:
    """The goal with places of the space, where it looks at places and was given none."""
    if isinstance(goal, PerCost | Normalised | RandomType):
        inner = completed(goal.goal, space, seed)
        return goal if inner is goal.goal else replace(goal, goal=inner)  # type: ignore[arg-type]
    if type(goal) is Level and goal.reference is None:
        return replace(goal, reference=_spread(space, seed, _OF_A_POOL))
    if type(goal) is KnowledgeGradient and goal.over is None:
        return replace(goal, over=_spread(space, seed, _RIVALS))
    return goal


def innermost(goal: Any) -> Any:
    """The goal without what goes around a score."""
    while isinstance(goal, PerCost | Normalised | RandomType):
        goal = goal.goal
    return goal


def sign_of(goal: Any) -> int | None:
    """1 for a goal that maximises, -1 for one that minimises, None for one that does neither."""
    sign = getattr(innermost(goal), "sign", None)
    return int(sign) if sign in (MAXIMISE, MINIMISE) else None


def _value(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        expected = "the value that f crosses after the word level, as in 'level 0.5'"
        raise InvalidInput("goal", expected, name, "in the unit of f; Level(0.5) is the same")
    return value


def _spread(space: Places, seed: int, of_a_pool: int) -> Array:
    """Places that stand for the whole space."""
    places = space.candidates(_IN_A_BOX if continuous(space) else of_a_pool, seed)
    if not len(places):
        raise InvalidInput("space", "at least one place", space, "its constraints leave none")
    return places


def _strategy(name: str, instruments: Sequence[Instrument], space: Places, seed: int) -> Goal:
    try:
        make = strategy(name).make
    except InvalidInput as trouble:
        expected = f"a goal such as Learn('function'), one of the words {', '.join(WORDS)}, or {trouble.expected}"
        near = get_close_matches(name.strip().lower(), sorted({*WORDS, *SIGNS, *(s.name for s in strategies())}), n=3)
        meant = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
        raise InvalidInput("goal", expected, name, meant + trouble.remedy) from None
    takes = inspect.signature(make.kind).parameters
    options: dict[str, Any] = {"seed": seed} if "seed" in takes else {}
    places = space.candidates(_IN_A_BOX if continuous(space) else _OF_A_POOL, seed)
    if "over" in takes:
        options["over"] = places
    if make.reference == "queries" and all(each.asks != "place" for each in instruments):
        options["reference"] = _several(instruments[0], space, seed)
    elif make.reference is not None:
        options["reference"] = places
    goal: Goal = make(**options)
    return goal


def _several(instrument: Instrument, space: Places, seed: int) -> Array:
    """Queries of an instrument that sees several places at once."""
    return candidates(Option(instrument, space), np.random.default_rng(seed), Search(_IN_A_BOX, climbers=0))
