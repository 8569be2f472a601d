"""What a curve of thresholds is called: how much is lost, by the pure-tone average, and where.

The degrees are those of the World Health Organization's report of 2021, by the average over 500, 1000, 2000 and
4000 Hz: below 20 dB HL normal, below 35 mild, 50 moderate, 65 moderately severe, 80 severe, and profound from there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["AVERAGED", "degree", "pure_tone_average", "shape"]

AVERAGED = (500.0, 1000.0, 2000.0, 4000.0)  # Hz
_DEGREES = (
    (20.0, "normal"), (35.0, "mild"), (50.0, "moderate"), (65.0, "moderately severe"), (80.0, "severe"),
    (np.inf, "profound"),
)  # fmt: skip
_LOW, _HIGH = 1000.0, 3000.0  # Hz: a slope is from up to here to from here on
_STEEP, _SLOPING, _DEEP = 35.0, 12.0, 12.0  # dB


def pure_tone_average(curve: ArrayLike, frequencies: Sequence[float]) -> float:
    """The mean threshold at 500, 1000, 2000 and 4000 Hz in dB HL, of a curve (F,) at these frequencies."""
    hertz = np.asarray(frequencies, dtype=float)
    return float(np.mean(np.interp(np.log2(AVERAGED), np.log2(hertz), np.asarray(curve, dtype=float))))


def degree(average: float) -> str:
    """How much is lost, by the pure-tone average.

    >>> degree(10.0), degree(60.0), degree(121.0)
    ('normal', 'moderately severe', 'profound')
    """
    return next(word for end, word in _DEGREES if average < end)


def shape(curve: ArrayLike, frequencies: Sequence[float], margin: float = 10.0) -> str:
    """Where it is lost. A curve is rising or notched only where it comes back by so many dB: one ear's by ten, as its
    thresholds are known to some decibels; the mean of many by five.

    >>> shape([10, 10, 15, 40, 50, 45, 20], [500, 1000, 2000, 3000, 4000, 6000, 8000])
    'notched'
    """
    t, hertz = np.asarray(curve, dtype=float), np.asarray(frequencies, dtype=float)
    low = _mean_over(t, hertz <= _LOW, 0)
    slope = _mean_over(t, hertz >= _HIGH, -1) - low
    worst = int(np.argmax(t))
    inside = 0 < worst < len(t) - 1 and hertz[worst] >= _HIGH
    if inside and t[worst] - t[-1] >= margin and t[worst] - low >= _DEEP:
        return "notched"
    if slope >= _SLOPING:
        return "steeply sloping" if slope >= _STEEP else "sloping"
    return "rising" if slope <= -margin else "flat"


def _mean_over(curve: NDArray[np.float64], where: NDArray[np.bool_], otherwise: int) -> float:
    """Of the thresholds at these frequencies; where there are none, the one at the end."""
    return float(curve[where].mean() if where.any() else curve[otherwise])
