"""A number with heavy-tailed noise, for readings that are now and then far off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from gainful.checks import require_positive
from gainful.instruments.base import Derivatives, Instrument
from gainful.parameters import positive

__all__ = ["StudentT"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class StudentT(Instrument):
    """y = f(x) + noise · t with t Student's t of `df` degrees of freedom: a robust reading.

    An answer far from what the others imply is discounted instead of believed. The likelihood is not log-concave, so
    that the posterior may have several modes; expectation propagation then finds one Gaussian for them, widens it where
    answers contradict each other, and says so when it does not converge.

    >>> StudentT(noise=1.0, df=4.0).log_prob(np.array([0.0]), np.array([0.0])).round(4).tolist()
    [-0.9808]
    """

    shifts: ClassVar[bool] = True
    noise: Any = positive(0.1, "noise")
    df: float = 4.0

    def __post_init__(self) -> None:
        require_positive("df", self.df, "4 is usual; the larger, the more like a Point")
        super().__post_init__()

    @property
    def answers(self) -> str:
        return "real"

    def mentioned(self, answers: Array) -> Array:
        return answers

    def log_prob(self, answers: Array, g: Array) -> Array:
        nu = self.df
        constant = gammaln(0.5 * (nu + 1.0)) - gammaln(0.5 * nu) - 0.5 * np.log(np.pi * nu) - np.log(self.noise)
        return np.asarray(constant - 0.5 * (nu + 1.0) * np.log1p(((answers - g) / self.noise) ** 2 / nu))

    def derivatives(self, answers: Array, g: Array) -> Derivatives:
        """With r = (y − g)/noise and w = ν + r²: (ν + 1) r/w, (ν + 1)(r² − ν)/w², 2 (ν + 1) r (r² − 3ν)/w³."""
        nu, scale = self.df, self.noise
        r = (answers - g) / scale
        w, n = nu + r**2, nu + 1.0
        first, second = n * r / w / scale, n * (r**2 - nu) / w**2 / scale**2
        return Derivatives(self.log_prob(answers, g), first, second, 2.0 * n * r * (r**2 - 3.0 * nu) / w**3 / scale**3)

    def simulate(self, g: Array, rng: np.random.Generator) -> Array:
        return g + self.noise * rng.standard_t(self.df, np.shape(g))
