"""Readings at equal places as one reading of each place: exact, whatever the kernel.

    Π_i N(y_i; f, s_i) = c N(ȳ; f, s̄),   1/s̄ = Σ 1/s_i,   ȳ = s̄ Σ y_i/s_i

A design that reads each of twenty places two hundred times is one of twenty readings.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainful.inference.engines.base import Readings

__all__ = ["Merged", "Together", "merge", "together"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]


class Together(NamedTuple):
    """The first reading at each of P places (P,), and the place of each of N readings (N,)."""

    first: Index
    place: Index

    @property
    def apart(self) -> bool:
        """Whether no two readings are at the same place."""
        return len(self.first) == len(self.place)


def together(X: Array) -> Together:
    """Which rows of X (N, D) are equal.

    >>> together(np.array([[2.0], [1.0], [2.0]])).place.tolist()
    [0, 1, 0]
    """
    own = np.arange(len(X))
    mixed = np.zeros(len(X))
    for d, column in enumerate(X.T):  # equal rows have equal sums; others hardly ever
        mixed += column * np.sqrt(d + 2.0)
    ordered = np.sort(mixed)
    if not np.any(ordered[1:] == ordered[:-1]):
        return Together(own, own)
    _, first, place = np.unique(X, axis=0, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))  # places in the order in which they were first read
    return Together(np.sort(first), rank[place.reshape(-1)])


class Merged(NamedTuple):
    """One reading of each place, and log c of all that were read."""

    readings: Readings
    log_scale: float
    before: Readings
    where: Together

    def noise_slope(self, in_variance: Array, in_residual: Array) -> Array:
        """dL/d variance of each reading's noise (N,), from those in the variances and the residuals of the places."""
        (_, residual, s), place = self.before, self.where.place
        if self.where.apart:
            return in_variance
        wide, off = self.readings.noise[place], self.readings.residual[place] - residual
        through = wide**2 * in_variance[place] + wide * off * in_residual[place]
        return np.asarray((through + 0.5 * (wide - s + off**2)) / s**2)


def merge(readings: Readings, where: Together) -> Merged:
    """The readings of each place as one."""
    if where.apart:
        return Merged(readings, 0.0, readings, where)
    X, residual, s = readings
    P, place = len(where.first), where.place
    precision = np.bincount(place, 1.0 / s, P)
    wide = 1.0 / precision
    mean = wide * np.bincount(place, residual / s, P)
    off = residual - mean[place]
    mean += wide * np.bincount(place, off / s, P)  # what rounding left
    log_scale = 0.5 * (
        float(np.log(2.0 * np.pi * wide).sum()) - float(np.log(2.0 * np.pi * s).sum()) - float(off @ (off / s))
    )
    return Merged(Readings(X[where.first], mean, wide), log_scale, readings, where)
