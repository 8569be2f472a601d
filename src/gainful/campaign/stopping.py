"""When to stop: rules that look at a campaign before it asks, and give a reason or None.

A rule is anything with `reason(belief, richest)`; `richest()` gives the query that tells most bits about the function
per unit of cost, of all that can be asked, whatever the goal is; its score is that number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

import numpy as np

from gainful.checks import is_number, require
from gainful.inference.belief import Belief
from gainful.inference.posterior import Posterior
from gainful.selection import Choice

__all__ = ["Ending", "GoodEnough", "Rule", "TooLittleToLearn"]


class Ending(StrEnum):
    """Why a campaign ended, where no rule of the user's and no sum of money is in the sentence."""

    BY_USER = "stopped by the user"
    NO_PLACE = "no place is left to ask: each is known already, or the constraints do not allow it"


class Rule(Protocol):
    """Says why to stop, or None to go on."""

    def reason(self, belief: Posterior | Belief, richest: Callable[[], Choice | None]) -> str | None: ...


@dataclass(frozen=True)
class TooLittleToLearn:
    """Stop when no query is expected to tell `level` bits about the function per unit of cost.

    >>> TooLittleToLearn(0.01)
    TooLittleToLearn(level=0.01)
    """

    level: float

    def __post_init__(self) -> None:
        positive = is_number(self.level) and np.isfinite(self.level) and self.level > 0
        require(positive, "level", "a positive number of bits per unit of cost", self.level, "for instance 0.01")

    def reason(self, belief: Posterior | Belief, richest: Callable[[], Choice | None]) -> str | None:
        best = richest()
        if best is None or best.score >= self.level:
            return None
        return (
            f"the richest query ({best.query!r}) is expected to tell {best.score:.3g} bits per unit of cost, "
            f"below the level of {self.level:g}"
        )


@dataclass(frozen=True)
class GoodEnough:
    """Stop when the user's own measure of the belief, a number, is at most `level`.

    >>> def worst_sd(posterior):
    ...     return float(np.sqrt(posterior.variance(np.linspace(0, 1, 50)[:, None]).max()))
    >>> GoodEnough(worst_sd, 0.1).level
    0.1
    """

    measure: Callable[[Any], float]
    level: float

    def __post_init__(self) -> None:
        named = callable(self.measure) and hasattr(self.measure, "__name__")
        require(named, "measure", "a named function of the posterior", self.measure, "use def, not partial")
        remedy = "the measure is good enough when it is at most that"
        require(is_number(self.level) and not np.isnan(self.level), "level", "a number", self.level, remedy)

    def reason(self, belief: Posterior | Belief, richest: Callable[[], Choice | None]) -> str | None:
        value, name = self.measure(belief), self.measure.__name__
        require(is_number(value) and not np.isnan(value), "measure", "a number", value, f"check what {name} does")
        return None if value > self.level else f"good enough: {name} is {value:.4g}, at most {self.level:g}"
