"""Near ties: scores that differ in their last digits are one score, and of equal queries the first wins.

Last digits depend on the machine, on how many threads a matrix product was divided among for instance. A choice must
not: the next answers depend on it, and after a few of them nothing would be the same.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["TIE", "best_first", "better", "first_best", "on_grid", "zero_of"]

Array = NDArray[np.float64]

TIE = 1e-9  # of a score: rounding leaves it known to 1e-13 as a rule, and no goal cares for the difference
_SHIFTED = 4e-15  # of a number that was added to all scores: rounding leaves their differences known to that
_GRID = 2.0**-30  # of a dimension's range, on which places lie that were found by climbing


def zero_of(scores: Array) -> float:
    """From where scores of either sign are measured, so that a number added to all of them changes nothing: the lowest,
    and so far below it that a tie is no less than their rounding.

    >>> scores = np.array([3.0, 1.0, 2.0])
    >>> [round(zero_of(scores + shift) - shift, 1) for shift in (0.0, 1000.0)]
    [1.0, 1.0]
    """
    known = scores[np.isfinite(scores)]
    if not len(known):
        return 0.0
    return float(known.min() - np.abs(known).max() * _SHIFTED / TIE)


def first_best(scores: Array) -> int:
    """The first of the scores that are as good as the best.

    >>> first_best(np.array([1.0, 2.0, 2.0 + 1e-12]))
    1
    """
    return int(np.argmax(_coarse(scores)))


def best_first(scores: Array) -> NDArray[np.intp]:
    """All of them in order, those as good as each other by their numbers."""
    return np.argsort(-_coarse(scores), kind="stable")


def better(scores: Array | float, than: Array | float) -> NDArray[np.bool_]:
    """Which scores are larger by more than rounding."""
    with np.errstate(invalid="ignore"):  # −∞ + ∞, where nothing was found before
        return np.asarray(np.where(np.isfinite(than), scores > than + TIE * np.abs(than), scores > than))


def on_grid(place: Array, low: Array, high: Array) -> Array:
    """The nearest place (..., d) of a grid of 2⁻³⁰ of each range, the ends of the range included.

    >>> on_grid(np.array([0.1 + 1e-12, 2.0]), np.zeros(2), np.full(2, 2.0)).tolist()
    [0.09999999962747097, 2.0]
    """
    width = np.where(high > low, high - low, 1.0)
    steps = np.round((place - low) / width / _GRID) * _GRID
    return np.where(steps >= 1.0, high, np.clip(low + steps * width, low, high))


def _coarse(scores: Array) -> Array:
    """Scores in units of the rounding of the best."""
    best = float(np.max(scores))
    if best == 0.0 or not np.isfinite(best):
        return scores
    return np.round(scores / abs(best) / TIE)
