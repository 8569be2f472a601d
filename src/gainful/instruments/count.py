"""Counts: how often something happened (Poisson), and how many of so many trials succeeded (binomial)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, log_ndtr

from gainful.checks import as_numbers, refuse, require_count
from gainful.instruments.base import Derivatives, Instrument
from gainful.numerics.normal import hazard

__all__ = ["Binomial", "Count"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Count(Instrument):
    """A count with log rate f: P(y | f) = exp(y f − exp(f))/y! (Poisson).

    >>> Count().log_prob(np.array([2.0]), np.array([0.0])).round(4).tolist()
    [-1.6931]
    """

    log_concave: ClassVar[bool] = True

    @property
    def answers(self) -> str:
        return "count"

    def log_prob(self, answers: Array, g: Array) -> Array:
        with np.errstate(over="ignore"):  # an endless rate: the count is impossible
            return np.asarray(answers * g - np.exp(g) - gammaln(answers + 1.0))

    def derivatives(self, answers: Array, g: Array) -> Derivatives:
        with np.errstate(over="ignore"):
            rate = np.exp(g)
        return Derivatives(self.log_prob(answers, g), answers - rate, -rate, -rate)

    def mentioned(self, answers: Array) -> Array:
        return np.log(answers + 0.5)

    def grain(self, answers: Array) -> float:
        return float(0.5 / np.sqrt(np.max(answers, initial=1.0) + 1.0))

    def simulate(self, g: Array, rng: np.random.Generator) -> Array:
        return rng.poisson(np.exp(np.minimum(g, 40.0))).astype(float)  # NumPy draws no more than about 1e18


@dataclass(frozen=True)
class Binomial(Instrument):
    """How many of `trials` succeed, each with probability Φ(f(x)): "7 of 10 passed".

    >>> Binomial(trials=10).predict(np.zeros(1), np.zeros(1) + 1e-12).mean.round(6).tolist()
    [5.0]
    """

    log_concave: ClassVar[bool] = True
    trials: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "trials", require_count("trials", self.trials, 1, "of how many each answer counts"))
        super().__post_init__()

    @property
    def answers(self) -> range:
        return range(self.trials + 1)

    def describe(self, answer: Any) -> str:
        return f"{int(answer)} of {self.trials}"

    def grain(self, answers: Array) -> float:
        return float(0.5 / np.sqrt(self.trials))

    def validate(self, answers: ArrayLike, n: int) -> Array:
        y = as_numbers(answers, (n,), f"{n} counts")
        wrong = ~((y >= 0.0) & (y <= self.trials) & (y == np.round(y)))
        refuse(wrong, y, f"whole numbers from 0 to {self.trials}", "count the trials that succeeded")
        return y

    def log_prob(self, answers: Array, g: Array) -> Array:
        n = float(self.trials)
        ways = gammaln(n + 1.0) - gammaln(answers + 1.0) - gammaln(n - answers + 1.0)
        return np.asarray(ways + _times(answers, log_ndtr(g)) + _times(n - answers, log_ndtr(-g)))

    def derivatives(self, answers: Array, g: Array) -> Derivatives:
        """Of log Φ(g) with h = φ/Φ: h, −h (g + h), h ((g + h)(g + 2h) − 1); of log Φ(−g) the same, mirrored."""
        up, down = _probit(g), _probit(-g)
        missed = self.trials - answers
        first, second, third = (
            answers * a + sign * missed * b for a, b, sign in zip(up, down, (-1, 1, -1), strict=True)
        )
        return Derivatives(self.log_prob(answers, g), first, second, third)

    def simulate(self, g: Array, rng: np.random.Generator) -> Array:
        return rng.binomial(self.trials, np.exp(log_ndtr(g))).astype(float)


def _times(count: Array, log_p: Array) -> Array:
    """count · log p, and 0 where nothing is counted."""
    return np.where(count == 0.0, 0.0, count * np.where(count == 0.0, 0.0, log_p))


def _probit(g: Array) -> tuple[Array, Array, Array]:
    h = hazard(g)
    return h, -h * (g + h), h * ((g + h) * (g + 2.0 * h) - 1.0)
