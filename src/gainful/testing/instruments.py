"""The laws of instruments with one value of g per answer."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.instruments.base import Instrument
from gainful.testing.differences import assert_close, gradient

Array = NDArray[np.float64]


def check_instrument(instrument: Instrument, answers: ArrayLike, seed: int = 0) -> None:
    """Derivatives exact, partition a Gaussian average of the likelihood, shrink consistent, theta's pullback exact.

    `answers` are a few valid answers; the likelihood must be smooth (noise above zero).

    >>> from gainful.instruments import Binary
    >>> check_instrument(Binary(guess=0.1), [True, False])
    """
    rng = np.random.default_rng(seed)
    given = np.asarray(answers)
    y = instrument.validate(given, len(given))
    n = len(given)
    m, v = rng.normal(size=n), np.exp(0.5 * rng.normal(size=n))
    p = instrument.log_partition(y, m, v)

    nodes, weights = np.polynomial.hermite_e.hermegauss(160)
    weights = weights / weights.sum()
    grid = m + np.sqrt(v) * nodes[:, None]
    likelihood = np.exp([instrument.log_prob(y, g) for g in grid])
    z = weights @ likelihood
    mean = (weights @ (likelihood * grid)) / z
    variance = (weights @ (likelihood * (grid - mean) ** 2)) / z
    assert_close(p.log_z, np.log(z), 1e-6, "log_partition averages the likelihood")
    assert_close(m + v * p.d1, mean, 1e-5, "m + v·d1 is the tilted mean")
    assert_close(v * p.shrink, variance, 1e-5, "v·shrink is the tilted variance")
    assert_close(1.0 + v * p.d2, p.shrink, 1e-9, "shrink is 1 + v·d2")

    by_m = gradient(lambda at: float(np.sum(instrument.log_partition(y, at, v).log_z)), m)
    assert_close(p.d1, by_m, 1e-7, "d1 is the derivative of log_partition")
    by_m = gradient(lambda at: float(np.sum(instrument.log_partition(y, at, v).d1)), m)
    assert_close(p.d2, by_m, 1e-7, "d2 is the derivative of d1")
    if p.third.shape == m.shape:
        by_m = gradient(lambda at: float(np.sum(instrument.log_partition(y, at, v).d2)), m)
        assert_close(p.third, v**1.5 * by_m, 1e-6, "third is v^1.5 times the derivative of d2")
        by_m = gradient(lambda at: float(np.sum(instrument.log_partition(y, at, v).third)), m)
        assert_close(p.fourth, np.sqrt(v) * by_m, 1e-6, "fourth is v^0.5 times the derivative of third")
    d = instrument.derivatives(y, m)
    assert_close(d.log_p, instrument.log_partition(y, m, np.zeros(n)).log_z, 1e-9, "log_prob is log_partition at v = 0")
    assert_close(d.d1, gradient(lambda g: float(np.sum(instrument.derivatives(y, g).log_p)), m), 1e-7, "d1 of log_prob")
    assert_close(d.d2, gradient(lambda g: float(np.sum(instrument.derivatives(y, g).d1)), m), 1e-7, "d2 of log_prob")
    assert_close(d.d3, gradient(lambda g: float(np.sum(instrument.derivatives(y, g).d2)), m), 1e-6, "d3 of log_prob")

    theta = instrument.theta
    if len(theta):
        by_theta = gradient(lambda t: float(np.sum(instrument.with_theta(t).log_partition(y, m, v).log_z)), theta)
        assert_close(instrument.pullback_theta(y, m, v).sum(axis=0), by_theta, 1e-6, "pullback_theta is the derivative")
    drawn = instrument.simulate(rng.normal(size=4), rng)
    assert_close(instrument.validate(drawn, 4), drawn, 0.0, "what it simulates is a valid answer")
