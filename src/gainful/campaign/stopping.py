"""When to stop: rules that look at a campaign before it asks, and give a reason or None.

A rule is anything with `reason(belief, best)`, where `best` is the choice that would be asked next and `goal` its goal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gainful.errors import InvalidInput
from gainful.goals import information
from gainful.inference.posterior import Posterior
from gainful.selection import Choice

__all__ = ["GoodEnough", "Rule", "TooLittleToLearn"]


class Rule(Protocol):
    """Says why to stop, or None to go on."""

    def reason(self, belief: Posterior, best: Choice) -> str | None: ...


@dataclass(frozen=True)
class TooLittleToLearn:
    """Stop when the next query is expected to tell less than `level` bits about the function per unit of cost.

    >>> TooLittleToLearn(0.01)
    TooLittleToLearn(level=0.01)
    """

    level: float

    def __post_init__(self) -> None:
        if not (isinstance(self.level, int | float) and np.isfinite(self.level) and self.level > 0):
            raise InvalidInput("level", "a positive number of bits per unit of cost", self.level, "for instance 0.01")

    def reason(self, belief: Posterior, best: Choice) -> str | None:
        bits = float(information(belief, best.query.instrument, best.query.place[None])[0])
        rate = bits / best.query.cost
        if rate >= self.level:
            return None
        return (
            f"the best query ({best.query!r}) is expected to tell {rate:.3g} bits per unit of cost, "
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

    def reason(self, belief: Posterior, best: Choice) -> str | None:
        value = float(self.measure(belief))
        if np.isnan(value):
            raise InvalidInput("measure", "a number", "NaN", f"check what {self.measure.__name__} does")
        if value > self.level:
            return None
        return f"good enough: {self.measure.__name__} is {value:.4g}, at most {self.level:g}"
