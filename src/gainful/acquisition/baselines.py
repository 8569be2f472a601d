"""Random baselines: a random instrument at a random place, or at its best one (Fletcher 2022, sec. 6.1).

Both stand where an acquisition stands; they say how to choose instead of what a query is worth.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gainful.acquisition.base import Acquisition, require_goal
from gainful.acquisition.information import Learn

__all__ = ["Random", "RandomType"]


@dataclass(frozen=True)
class Random:
    """A random instrument at a random place."""


@dataclass(frozen=True)
class RandomType:
    """A random instrument, at the place that is best for it."""

    goal: Acquisition = field(default_factory=Learn)

    def __post_init__(self) -> None:
        require_goal(self.goal)
