"""When to stop: rules that look at a campaign before it asks, and give a reason or None.

A rule is anything with `reason(belief, richest)`; `richest()` gives the query that tells most bits about the function
per unit of cost, of all that can be asked, whatever the goal is; its score is that number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gainful.errors import InvalidInput
from gainful.inference.posterior import Posterior
from gainful.selection import Choice

__all__ = ["GoodEnough", "Rule", "TooLittleToLearn"]


class Rule(Protocol):
    """Says why to stop, or None to go on."""

    def reason(self, belief: Posterior, richest: Callable[[], Choice | None]) -> str | None: ...


@dataclass(frozen=True)
class TooLittleToLearn:
    """Stop when no query is expected to tell `level` bits about the function per unit of cost.

    >>> TooLittleToLearn(0.01)
    TooLittleToLearn(level=0.01)
    """

    level: float

    def __post_init__(self) -> None:
        if not (_is_number(self.level) and np.isfinite(self.level) and self.level > 0):
            raise InvalidInput("level", "a positive number of bits per unit of cost", self.level, "for instance 0.01")

    def reason(self, belief: Posterior, richest: Callable[[], Choice | None]) -> str | None:
        best = richest()
        if best is None or best.score >= self.level:
            return None
        return (
            f"the richest query ({best.query!r}) is expected to tell {best.score:.3g} bits per unit of cost, "
            f"below the level of {self.level:g}"
        )


@dataclass(frozen=True)
class GoodEnough:
    """Stop when the user's own measure of the posterior, a number, is at most `level`.

    >>> def worst_sd(posterior):
    ...     return float(np.sqrt(posterior.variance(np.linspace(0, 1, 50)[:, None]).max()))
    >>> GoodEnough(worst_sd, 0.1).level
    0.1
    """

    measure: Callable[[Posterior], float]
    level: float

    def __post_init__(self) -> None:
        if not callable(self.measure) or not hasattr(self.measure, "__name__"):
            raise InvalidInput("measure", "a named function of the posterior", self.measure, "use def, not partial")
        if not _is_number(self.level) or np.isnan(self.level):
            raise InvalidInput("level", "a number", self.level, "the measure is good enough when it is at most that")

    def reason(self, belief: Posterior, richest: Callable[[], Choice | None]) -> str | None:
        value = self.measure(belief)
        if not _is_number(value) or np.isnan(value):
            raise InvalidInput("measure", "a number", value, f"check what {self.measure.__name__} does")
        if value > self.level:
            return None
        return f"good enough: {self.measure.__name__} is {value:.4g}, at most {self.level:g}"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.floating | np.integer) and not isinstance(value, bool)
