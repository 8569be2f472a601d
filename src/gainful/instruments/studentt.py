"""A number with heavy-tailed noise, for readings that are now and then far off."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, ndtri, stdtrit

from gainful.checks import require_positive
from gainful.instruments import generic
from gainful.instruments.base import Derivatives, Instrument, Outcomes, Partition
from gainful.numerics.quadrature import Tilted, sinh_lattice
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
    spans: ClassVar[tuple[str, ...]] = ("noise",)
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

    # Averages over g are taken in units of the noise, from m on: f's own unit and zero leave no trace in them.

    def tilted(self, answers: Array, m: Array, v: Array) -> Tilted:
        found = generic.tilted_by(self._unit, (answers - m) / self.noise, np.zeros_like(m), v / self.noise**2)
        return replace(found, log_z=found.log_z - np.log(self.noise), g=m[found.which] + self.noise * found.g)

    def log_partition(self, answers: Array, m: Array, v: Array) -> Partition:
        s = self.noise
        p = generic.partition(self._unit, (answers - m) / s, np.zeros_like(m), v / s**2)
        return p._replace(log_z=p.log_z - np.log(s), d1=p.d1 / s, d2=p.d2 / s**2)

    def outcomes(self, m: Array, v: Array, means: bool = True) -> Outcomes:
        x, measure = sinh_lattice(0.075)  # what is averaged may have a kink anywhere
        middle_half = stdtrit(self.df, 0.75) / ndtri(0.75)  # how much wider than a normal the middle half is
        spread = np.sqrt(v + (middle_half * self.noise) ** 2)
        return Outcomes(*generic.weighed(self, m + spread * x[:, None], spread * measure[:, None], m, v))

    def standardised(self) -> tuple[Instrument, float]:
        return self._unit, float(self.noise)

    @property
    def _unit(self) -> StudentT:
        return StudentT(1.0, self.df)

    def simulate(self, g: Array, rng: np.random.Generator) -> Array:
        return g + self.noise * rng.standard_t(self.df, np.shape(g))
