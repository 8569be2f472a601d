"""Makes a campaign's goal from the name of a strategy, with what the strategy needs from the space.

A strategy that predicts somewhere gets its reference here: the places of a pool (at most 1000 of them, drawn with the
campaign's seed), or 200 places spread evenly over a box (`space.candidates(200, seed)`). Where every instrument
compares places, a strategy that is about answers gets pairs of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gainful.acquisition import Acquisition, Random, RandomType
from gainful.acquisition.strategies import strategy
from gainful.errors import InvalidInput
from gainful.instruments import Instrument
from gainful.selection.choose import Option, Search, candidates, continuous
from gainful.space import Places

__all__ = ["Goal", "goal_named"]

Goal = Acquisition | Random | RandomType
Array = NDArray[np.float64]

_IN_A_BOX, _OF_A_POOL = 200, 1000


def goal_named(name: str, instruments: Sequence[Instrument], space: Places, seed: int) -> Goal:
    """The goal that a strategy's name stands for in this space.

    >>> from gainful.instruments import Point
    >>> from gainful.space import Real, Space
    >>> goal_named("bald-per-cost", [Point()], Space(Real("x", 0, 1)), seed=0)
    PerCost(goal=Learn(about='function'))
    """
    try:
        make = strategy(name).make
    except InvalidInput as trouble:
        expected = f"a goal such as Learn('function'), or {trouble.expected}"
        raise InvalidInput("goal", expected, name, trouble.remedy) from None
    takes = inspect.signature(make.kind).parameters
    options: dict[str, Any] = {"seed": seed} if "seed" in takes else {}
    places = space.candidates(_IN_A_BOX if continuous(space) else _OF_A_POOL, seed)
    if "over" in takes:
        options["over"] = places
    if make.reference == "queries" and all(each.query != "place" for each in instruments):
        options["reference"] = _several(instruments[0], space, seed)
    elif make.reference is not None:
        options["reference"] = places
    goal: Goal = make(**options)
    return goal


def _several(instrument: Instrument, space: Places, seed: int) -> Array:
    """Queries of an instrument that sees several places at once."""
    return candidates(Option(instrument, space), np.random.default_rng(seed), Search(_IN_A_BOX, climbers=0))
