"""What is believed of a function before it is evaluated, and what decides where, where nobody says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gainful.acquisition import Acquisition, LogExpectedImprovement
from gainful.acquisition.optimum import MAXIMISE
from gainful.beliefs import Partitions
from gainful.beliefs.learner import Learner
from gainful.campaign.goal import SIGNS, goal_named, sign_of
from gainful.errors import InvalidInput
from gainful.gp import GP
from gainful.instruments import Instrument
from gainful.space import At, Categorical, Integer, Places, Real, Space

__all__ = ["default_goal", "default_model", "goal_towards"]

# Of the 24 functions of BBOB in ten dimensions a sum comes lower than one GP on most (`benchmarks/additive_rivals.py`).
_MANY = 8


def default_model(space: Places) -> GP | Learner:
    """For an optimum: a GP of the space, whose scales, smoothness and mean are learned and integrated out. Of eight
    numbers or more, with or without categories, a sum of functions of some of them, which finds out who acts together.
    What is the same everywhere does not count; numbers that are not always there, that share a total, or that have
    limits together take a GP."""
    dimensions = space.dimensions if isinstance(space, Space) else ()
    varying = [each for each in dimensions if not isinstance(each, At)]
    simple = all(isinstance(each, Real | Integer | Categorical) and not each.when for each in varying)
    numbers = sum(isinstance(each, Real | Integer) for each in varying)
    return Partitions(space, parameters="best") if simple and numbers >= _MANY else GP(space=space)


def default_goal(model: GP | Learner, sign: int) -> Acquisition | str:
    """The knowledge gradient, by its word; log expected improvement of a sum, which is searched block by block."""
    if isinstance(model, Partitions):
        return LogExpectedImprovement(sign=sign)
    return "maximise" if sign == MAXIMISE else "minimise"


def goal_towards(goal: Any, sign: int, instruments: Sequence[Instrument], space: Places, seed: int) -> Any:
    """The goal with its end where the sign says: the name of a strategy has none of its own. One that goes to the other
    end is refused; one that goes to neither is left as it is."""
    made: Any = goal_named(goal, instruments, space, seed) if isinstance(goal, str) else goal
    found = sign_of(made)
    if found in (None, sign):
        return goal if found is None else made
    if isinstance(goal, str) and goal.strip().lower() not in SIGNS:
        return replace(made, sign=sign)
    end, other = ("maximises", "minimises") if sign == MAXIMISE else ("minimises", "maximises")
    remedy = f"give it sign={sign}" if not isinstance(goal, str) else "leave it out"
    raise InvalidInput(
        "goal", f"one that {end}", f"{goal!r}, which {other}", f"{remedy}, or say maximise={sign != MAXIMISE}"
    )
