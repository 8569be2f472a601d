"""What quantiles and bands may be asked for."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.checks import is_number, numbers, require
from gainful.errors import InvalidInput

__all__ = ["as_levels", "require_level", "tails"]

Array = NDArray[np.float64]


def require_level(level: object) -> float:
    """A probability strictly between 0 and 1."""
    inside = is_number(level) and 0.0 < level < 1.0
    require(inside, "level", "a probability between 0 and 1", level, "0.95 for bands of 95 %")
    return float(level)  # type: ignore[arg-type]


def tails(level: object) -> tuple[float, float]:
    """The two quantiles that an equal-tailed band of this probability lies between."""
    beyond = 0.5 * (1.0 - require_level(level))
    return beyond, 1.0 - beyond


def as_levels(q: ArrayLike) -> Array:
    """One probability, or several (Q,), each strictly between 0 and 1."""
    expected = "a probability between 0 and 1, or several"
    levels = numbers("q", q, expected)
    if levels.ndim > 1 or not levels.size or not np.all((levels > 0.0) & (levels < 1.0)):
        raise InvalidInput("q", expected, q, "0.5 is the median")
    return levels
