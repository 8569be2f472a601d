"""Estimates with 95 % intervals: means, paired differences and ratios, shares, and any statistic by bootstrap.

Every function takes independent repetitions, (N,), or pairs of them, (N,) and (N,): a pair is two contenders in the
same repetition, so that what the repetition itself contributes cancels. Where several rows share one world, average
them first. Means and differences have Student's t intervals, which are exact for normal errors and good for the mean of
a few dozen of anything tame. Ratios and other statistics have percentile bootstrap intervals (Efron & Tibshirani 1993,
ch. 13) that resample whole repetitions, always with the same random numbers. Shares have Wilson's score interval
(1927). One repetition alone has no interval: the ends of a mean, a difference or a ratio are then infinite.
Ranks of truths among draws (`Ranks`) are one of each repetition, with their histogram, its band and its χ².
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, stdtrit

from gainful.errors import InvalidInput
from gainful.numerics.ranks import Ranks, rank

__all__ = ["Estimate", "Ranks", "bootstrap", "mean", "paired_difference", "paired_ratio", "rank", "share"]

Array = NDArray[np.float64]

_CONFIDENCE = 0.95
_RESAMPLES = 9999  # so that the 2.5 % and 97.5 % quantiles are the 250th smallest and largest


@dataclass(frozen=True)
class Estimate:
    """A number and the ends of its 95 % interval."""

    value: float
    low: float
    high: float

    def __contains__(self, number: float) -> bool:
        """Whether the interval holds the number.

        >>> 0.5 in Estimate(0.4, 0.3, 0.6)
        True
        """
        return self.low <= number <= self.high


def mean(values: ArrayLike) -> Estimate:
    """x̄ ± t s/√N with t the 97.5 % quantile of Student's t with N − 1 degrees of freedom.

    >>> mean([1.0, 2.0, 3.0])
    Estimate(value=2.0, low=-0.484, high=4.484)
    """
    (x,) = _columns(values)
    centre = float(x.mean())
    if x.size == 1:
        return Estimate(centre, -np.inf, np.inf)
    t = stdtrit(x.size - 1, 0.5 + _CONFIDENCE / 2.0)
    half = float(t * x.std(ddof=1) / np.sqrt(x.size))
    return Estimate(centre, centre - half, centre + half)


def paired_difference(first: ArrayLike, second: ArrayLike) -> Estimate:
    """The mean of first − second over pairs, with the t interval of the differences.

    >>> paired_difference([3.0, 13.0, 103.0], [1.0, 11.0, 101.0])
    Estimate(value=2.0, low=2.0, high=2.0)
    """
    a, b = _columns(first, second)
    return mean(a - b)


def paired_ratio(first: ArrayLike, second: ArrayLike) -> Estimate:
    """mean(first) / mean(second) over pairs of positive numbers, with a bootstrap interval over the pairs.

    >>> paired_ratio([2.0, 20.0, 200.0], [1.0, 10.0, 100.0])
    Estimate(value=2.0, low=2.0, high=2.0)
    """
    a, b = _columns(first, second)
    if not ((a > 0.0).all() and (b > 0.0).all()):
        raise InvalidInput("first, second", "positive numbers", "some that are not", "take a paired_difference instead")
    return bootstrap(lambda x, y: x.mean(axis=-1) / y.mean(axis=-1), a, b)


def share(successes: ArrayLike) -> Estimate:
    """The share of yes among N yes/no values, with Wilson's score interval.

    >>> share([True] * 10)
    Estimate(value=1.0, low=0.722, high=1.0)
    """
    (x,) = _columns(successes)
    if not np.isin(x, (0.0, 1.0)).all():
        raise InvalidInput("successes", "yes/no values", x[~np.isin(x, (0.0, 1.0))][0], "compare with something first")
    n, p, z = x.size, float(x.mean()), float(ndtri(0.5 + _CONFIDENCE / 2.0))
    centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return Estimate(p, max(float(centre - half), 0.0) if p > 0.0 else 0.0, min(float(centre + half), 1.0))


def bootstrap(statistic: Callable[..., ArrayLike], *columns: ArrayLike, level: float = _CONFIDENCE) -> Estimate:
    """A statistic of columns (N,) and its percentile interval, of 95 % or another level, when the N repetitions are
    drawn anew.

    The statistic works along the last axis: it is given arrays (N,) once and (R, N) for R draws at a time.

    >>> bootstrap(lambda x: np.median(x, axis=-1), [1.0, 1.0, 1.0])
    Estimate(value=1.0, low=1.0, high=1.0)
    """
    given = _columns(*columns)
    value, n = float(np.asarray(statistic(*given))), given[0].size
    if n == 1:
        return Estimate(value, -np.inf, np.inf)
    rng = np.random.default_rng(0)
    block = max(1, 1_000_000 // n)  # draws at a time: a few megabytes
    draws = []
    for start in range(0, _RESAMPLES, block):
        picks = rng.integers(n, size=(min(block, _RESAMPLES - start), n))
        draws.append(np.asarray(statistic(*(column[picks] for column in given))))
    low, high = np.quantile(np.concatenate(draws), [0.5 - level / 2.0, 0.5 + level / 2.0])
    return Estimate(value, float(low), float(high))


def _columns(*columns: ArrayLike) -> list[Array]:
    given = [np.asarray(column, dtype=np.float64) for column in columns]
    for column in given:
        if column.ndim != 1 or column.size == 0 or column.shape != given[0].shape:
            shapes = [each.shape for each in given]
            raise InvalidInput("values", "columns of one length, at least 1", shapes, "give one number per repetition")
        if not np.isfinite(column).all():
            raise InvalidInput(
                "values", "finite numbers", "some that are not", "leave those repetitions out, and say so"
            )
    return given
