"""What any strategy has to beat (mixed 6.1): chance, and chance with sense.

Both stand where a goal stands; they say how to choose instead of what a query is worth.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gainful.goals import Goal, Learn

__all__ = ["Random", "RandomType"]


@dataclass(frozen=True)
class Random:
    """A random instrument at a random place."""


@dataclass(frozen=True)
class RandomType:
    """A random instrument, at the place that is best for it."""

    goal: Goal = field(default_factory=Learn)
