"""Soil moisture along a hedge, from four kinds of answers about the same unknown function.

A probe gives numbers. A gauge says between which two of its marks the needle is, or only that it is off the scale. A hand
judges on a scale from 1 to 4. A gardener says whether the soil is wet enough. The moisture is simulated, so that the belief can be
held against the truth. How fast moisture varies, how noisy the instruments are and where the hand draws its lines is not
told: it is learned from the answers. Run it with `make demo`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import gainful as gf
from gainful.plots import plot_posterior

Array = NDArray[np.float64]
Function = Callable[[Array], Array]

SPACE = gf.Space(gf.Real("distance along the hedge", 0, 100, unit="m"))
MOISTURE = "moisture minus need (% of volume)"
GRID = np.linspace(0.0, 100.0, 401)[:, None]

# What is true: moisture in percent of volume, zero where it is just enough.
TRUE_GP = gf.GP(gf.SE(lengthscale=9.0, variance=5.0), space=SPACE)
TRUE_PROBE = gf.Point(noise=0.3, name="probe")
TRUE_GAUGE = gf.Interval(noise=0.2, name="gauge")
TRUE_HAND = gf.Ordinal(thresholds=[-2.0, 0.3, 1.8], noise=0.4, name="by hand")
GARDENER = gf.Binary(name="wet enough?")  # P(yes) = Φ(moisture): nothing to learn

# What is believed at first, wrong on purpose.
FIRST_GP = gf.GP(gf.SE(lengthscale=20.0, variance=1.0), space=SPACE)
FIRST_PROBE = gf.Point(noise=0.5, name="probe")
FIRST_GAUGE = gf.Interval(noise=0.5, name="gauge")
FIRST_HAND = gf.Ordinal(thresholds=[-1.0, 0.0, 1.0], noise=0.5, name="by hand")

GAUGE_MARKS = np.array([-np.inf, -2.5, -1.0, 0.5, 2.0, np.inf])


def draw_truth(rng: np.random.Generator) -> Function:
    """One function from the true gp, as a function of places (M, 1)."""
    values = rng.multivariate_normal(np.zeros(len(GRID)), TRUE_GP.kernel(GRID, GRID), method="eigh")
    return lambda X: np.interp(X[:, 0], GRID[:, 0], values)


def measure(truth: Function, rng: np.random.Generator) -> tuple[gf.Data, gf.Data]:
    """The probe's few readings, and the answers of all four instruments."""

    def places(n: int, low: float, high: float) -> Array:
        return np.sort(rng.uniform(low, high, (n, 1)), axis=0)

    X = places(9, 0, 45)
    numbers = gf.Data().add(FIRST_PROBE, X, TRUE_PROBE.simulate(truth(X), rng))
    X = places(12, 25, 100)
    bin_ = np.searchsorted(GAUGE_MARKS, truth(X) + TRUE_GAUGE.noise * rng.standard_normal(len(X)))
    answers = numbers.add(FIRST_GAUGE, X, np.column_stack([GAUGE_MARKS[bin_ - 1], GAUGE_MARKS[bin_]]))
    X = places(24, 25, 100)
    answers = answers.add(FIRST_HAND, X, TRUE_HAND.simulate(truth(X), rng))
    X = places(40, 0, 100)
    return numbers, answers.add(GARDENER, X, GARDENER.simulate(truth(X), rng))


def errors(posterior: gf.Posterior, truth: Function) -> tuple[float, float, float]:
    """RMSE of the mean, share of the truth within the 95 % band, and the band's mean width, along the hedge."""
    off = truth(GRID) - posterior.mean(GRID)
    half = 1.96 * np.sqrt(posterior.variance(GRID))
    return float(np.sqrt(np.mean(off**2))), float(np.mean(np.abs(off) <= half)), float(np.mean(2.0 * half))
