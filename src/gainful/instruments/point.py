"""A number with Gaussian noise."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.checks import as_numbers, refuse
from gainful.errors import InvalidInput
from gainful.instruments.answers import NormalAnswers
from gainful.instruments.base import LARGEST, Derivatives, Instrument, Outcomes, Partition
from gainful.instruments.channel import Channel
from gainful.numerics.quadrature import normal_lattice
from gainful.parameters import positive

Array = NDArray[np.float64]
_LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True)
class Point(Instrument):
    """y = f(x) + ε, ε ~ N(0, noise²). noise = 0 means that the answer is f(x) itself.

    >>> Point(noise=0.1, cost=10, name="lab").theta.round(3).tolist()
    [-2.303]
    """

    gaussian: ClassVar[bool] = True
    spans: ClassVar[tuple[str, ...]] = ("noise",)
    noise: Any = positive(0.1, "noise", zero=True)
    buckets: int = field(default=100, kw_only=True)  # how many readings count as different, for normalised scores

    @property
    def answers(self) -> str:
        return "real"

    def channel(self) -> Channel:
        return Channel(float(self.noise))

    def mentioned(self, answers: Array) -> Array:
        return answers

    def log_prob(self, answers: Array, g: Array) -> Array:
        return self.derivatives(answers, g).log_p

    def outcomes(self, m: Array, v: Array, means: bool = True) -> Outcomes:
        return Outcomes(*normal_nodes(m, v + self.noise**2, means))

    @property
    def levels(self) -> int:
        return self.buckets

    def validate(self, answers: ArrayLike, n: int) -> Array:
        y = as_numbers(answers, (n,), f"{n} numbers")
        refuse(~np.isfinite(y), y, "finite numbers", "leave missing answers out; censored ones are Interval answers")
        refuse(np.abs(y) > LARGEST, y, f"numbers up to {LARGEST:.0e}", "check the units")
        return y

    def log_partition(self, answers: Array, m: Array, v: Array) -> Partition:
        return normal_partition(answers, self.noise, m, v)

    def derivatives(self, answers: Array, g: Array) -> Derivatives:
        if self.noise == 0.0:
            raise InvalidInput("noise", "a positive number for Laplace", 0.0, "use exact inference or EP")
        p = self.log_partition(answers, g, np.zeros_like(g))
        return Derivatives(p.log_z, p.d1, p.d2, np.zeros_like(g))

    def pullback_theta(self, answers: Array, m: Array, v: Array) -> Array:
        if self.noise == 0.0:
            return np.zeros((len(m), 0))
        p = self.log_partition(answers, m, v)
        return (self.noise**2 * (p.d1**2 + p.d2))[:, None]

    def predict(self, m: Array, v: Array) -> NormalAnswers:
        return NormalAnswers(m, v + self.noise**2)

    def simulate(self, g: Array, rng: np.random.Generator) -> Array:
        return g + self.noise * rng.standard_normal(np.shape(g))


def normal_partition(y: Array, noise: Array | float, m: Array, v: Array) -> Partition:
    """log N(y; m, v + noise²) and its derivatives in m."""
    s2 = v + noise**2
    z = (y - m) / s2
    return Partition(-0.5 * (z * (y - m) + np.log(s2) + _LOG_2PI), z, -1.0 / s2, noise**2 / s2)


def normal_nodes(mean: Array, variance: Array, means: bool) -> tuple[Array, Array]:
    """Numbers that are normal, (Q, M), and their weights (Q, M)."""
    # What depends on variances alone takes a single answer, whichever it is.
    z, weight = normal_lattice(4, 6.5) if means else (np.zeros(1), np.ones(1))
    y = mean + z[:, None] * np.sqrt(variance)
    return y, np.broadcast_to(weight[:, None], y.shape)
