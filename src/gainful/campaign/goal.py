"""Makes a campaign's goal from a word, or from the name of a strategy, with what it needs from the space.

    learn                  bits about the function, per unit of cost: the default
    map                    how far the mean variance of f over the space falls, per unit of cost
    minimise, maximise     how much better the best place is expected to be, per unit of cost
    level 0.5              how far it is settled where f lies above 0.5, per unit of cost

Where instruments see several functions, the last four are about the first instrument's, or about the one whose name
follows: "minimise yield", "level 0.5 yield".

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
    BestPlace,
    IntegratedVariance,
    KnowledgeGradient,
    Learn,
    Level,
    MaxValueEntropy,
    Normalised,
    PerCost,
    Random,
    RandomType,
    Switch,
)
from gainful.acquisition.optimum import MAXIMISE, MINIMISE
from gainful.acquisition.strategies import strategies, strategy
from gainful.coordinates import output_code
from gainful.errors import InvalidInput
from gainful.instruments import Instrument
from gainful.selection.choose import Option, Search, candidates, continuous
from gainful.space import Places

__all__ = [
    "SIGNS",
    "WORDS",
    "Goal",
    "completed",
    "goal_named",
    "innermost",
    "output_of",
    "sign_of",
    "switch_in",
    "turned",
]

Goal = Acquisition | Random | RandomType
Array = NDArray[np.float64]

_IN_A_BOX, _OF_A_POOL = 200, 1000
_RIVALS = 200  # places beside the measured ones that may be the best: every query is compared with each

_LOOKS: dict[type, tuple[str, int]] = {  # where goals keep the places that they look at
    Level: ("reference", _OF_A_POOL),
    IntegratedVariance: ("reference", _OF_A_POOL),
    KnowledgeGradient: ("over", _RIVALS),
    BestPlace: ("over", _RIVALS),
    MaxValueEntropy: ("over", _RIVALS),
}
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
    word, _, rest = name.strip().partition(" ")
    word, rest = word.lower(), rest.strip()
    if word == "learn" and not rest:
        return PerCost(Learn("function"))
    several = any(each.outputs is not None for each in instruments)
    if word == "level":
        value, _, rest = rest.partition(" ") if several else (rest, "", "")
        return _about(PerCost(Level(_value(name, value))), rest, name, instruments, space, seed)
    if rest and not several:
        return _strategy(name, instruments, space, seed)
    if word == "map":
        over = _spread(space, seed, _OF_A_POOL)
        return _about(PerCost(IntegratedVariance(over)), rest, name, instruments, space, seed)
    if word in SIGNS:
        return _about(PerCost(KnowledgeGradient(SIGNS[word])), rest, name, instruments, space, seed)
    return _strategy(name, instruments, space, seed)


def _about(goal: Goal, output: str, name: str, instruments: Sequence[Instrument], space: Places, seed: int) -> Goal:
    """The goal about the output that is named after the word, or about the first."""
    outputs = [each for instrument in instruments for each in instrument.seen_outputs]
    called = {str(each): each for each in reversed(outputs)}
    wanted = output.strip()
    if wanted and wanted not in called:
        expected = f"one of the words {', '.join(WORDS)}, with one of the outputs {list(called)[::-1]} after it"
        raise InvalidInput("goal", expected, name, "leave the rest out")
    return completed(goal, space, seed, instruments, called[wanted] if wanted else None)


def completed(
    goal: Goal, space: Places, seed: int, instruments: Sequence[Instrument] = (), output: int | str | None = None
) -> Goal:
    """The goal with places of the space, where it looks at places and was given none; of several functions, of the
    first instrument's where nothing says which."""
    if isinstance(goal, PerCost | Normalised | RandomType):
        inner = completed(goal.goal, space, seed, instruments, output)
        return goal if inner is goal.goal else replace(goal, goal=inner)  # type: ignore[arg-type]
    if isinstance(goal, Switch):
        first, then = (completed(each, space, seed, instruments, output) for each in (goal.first, goal.then))
        return goal if first is goal.first and then is goal.then else replace(goal, first=first, then=then)  # type: ignore[arg-type]
    field, of_a_pool = _LOOKS.get(type(goal), (None, 0))
    if field is None:
        return goal
    given = getattr(goal, field)
    places = _spread(space, seed, of_a_pool) if given is None else np.asarray(given, dtype=float)
    outputs = [each for instrument in instruments for each in instrument.seen_outputs]
    if outputs and places.ndim == 2 and places.shape[1] == len(space.names):
        code = output_code(outputs[0] if output is None else output)
        places = np.column_stack([places, np.full(len(places), float(code))])
    elif given is not None:
        return goal
    return replace(goal, **{field: places})  # type: ignore[type-var]  # each of those that look is a dataclass


def output_of(goal: Any, dimensions: int) -> int | None:
    """The code of the output that a goal's places are of; None where they do not say."""
    inner = innermost(goal)
    if isinstance(inner, Switch):
        found = [output_of(each, dimensions) for each in (inner.then, inner.first)]
        return next((each for each in found if each is not None), None)
    field, _ = _LOOKS.get(type(inner), (None, 0))
    places = np.zeros(0) if field is None else np.asarray(getattr(inner, field), dtype=float)
    return int(places[0, -1]) if places.ndim == 2 and places.shape[1] == dimensions + 1 else None


def innermost(goal: Any) -> Any:
    """The goal without what goes around a score."""
    while isinstance(goal, PerCost | Normalised | RandomType):
        goal = goal.goal
    return goal


def switch_in(goal: Any) -> Switch | None:
    """The switch in a goal, also within what goes around a score."""
    inner = innermost(goal)
    return inner if isinstance(inner, Switch) else None


def turned(goal: Any, side: str | None) -> Any:
    """The goal with that side of its switch in the switch's place; one that has none as it is."""
    if isinstance(goal, Switch):
        return goal.on(str(side))
    inner = switch_in(goal)
    return goal if inner is None else replace(goal, goal=turned(goal.goal, side))


def sign_of(goal: Any) -> int | None:
    """1 for a goal that maximises, -1 for one that minimises, None for one that does neither."""
    inner = innermost(goal)
    if isinstance(inner, Switch):
        return sign_of(inner.then) or sign_of(inner.first)
    sign = getattr(inner, "sign", None)
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
