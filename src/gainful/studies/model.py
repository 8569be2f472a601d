"""What is believed of a function before it is evaluated, where nobody says."""

from __future__ import annotations

from gainful.beliefs.learner import Learner
from gainful.gp import GP
from gainful.space import Places

__all__ = ["default_model"]


def default_model(space: Places) -> GP | Learner:
    """A GP of the space: its scales, smoothness and mean are learned and integrated out."""
    return GP(space=space)
