"""What is believed of a function before it is evaluated, and what decides where, where nobody says."""

from __future__ import annotations

from gainful.acquisition import Acquisition, LogExpectedImprovement
from gainful.acquisition.optimum import MAXIMISE
from gainful.beliefs import Partitions
from gainful.beliefs.learner import Learner
from gainful.gp import GP
from gainful.space import Integer, Places, Real, Space

__all__ = ["default_goal", "default_model"]

# Of the 24 functions of BBOB in ten dimensions a sum comes lower than one GP on most (`benchmarks/additive_rivals.py`).
_MANY = 8


def default_model(space: Places) -> GP | Learner:
    """For an optimum: a GP of the space, whose scales, smoothness and mean are learned and integrated out. Of eight
    numbers or more a sum of functions of some of them, which finds out who acts together."""
    dimensions = space.dimensions if isinstance(space, Space) else ()
    numbers = all(isinstance(each, Real | Integer) and not each.when for each in dimensions)
    return Partitions(space) if numbers and len(dimensions) >= _MANY else GP(space=space)


def default_goal(model: GP | Learner, sign: int) -> Acquisition | str:
    """The knowledge gradient, by its word; log expected improvement of a sum, which is searched block by block."""
    if isinstance(model, Partitions):
        return LogExpectedImprovement(sign=sign)
    return "maximise" if sign == MAXIMISE else "minimise"
