"""What is believed of a function before it is evaluated, and what decides where, where nobody says."""

from __future__ import annotations

from gainful.acquisition import Acquisition, LogExpectedImprovement
from gainful.acquisition.optimum import MAXIMISE
from gainful.beliefs import Partitions
from gainful.beliefs.learner import Learner
from gainful.gp import GP
from gainful.space import Places

__all__ = ["default_goal", "default_model"]


def default_model(space: Places) -> GP | Learner:
    """A GP of the space: its scales, smoothness and mean are learned and integrated out."""
    return GP(space=space)


def default_goal(model: GP | Learner | None, sign: int) -> Acquisition | str:
    """The knowledge gradient, by its word; log expected improvement of a sum, which is searched block by block."""
    if isinstance(model, Partitions):
        return LogExpectedImprovement(sign=sign)
    return "maximise" if sign == MAXIMISE else "minimise"
