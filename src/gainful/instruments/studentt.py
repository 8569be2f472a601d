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
from gainful.numerics.memory import blocks
from gainful.numerics.quadrature import Tilted, sinh_lattice
from gainful.parameters import positive

__all__ = ["StudentT"]

Array = NDArray[np.float64]

_NODES = 500  # numbers held for each answer, about: some for each of the scales
_BELOW = 40.0  # nats: what lies farther below the most probable scale is left out


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
        parts = [_partition((answers - m)[i] / s, v[i] / s**2, self.df) for i in blocks(len(m), _NODES)]
        p = Partition(*(np.concatenate(each) for each in zip(*parts, strict=True)))
        return p._replace(log_z=p.log_z - np.log(s), d1=p.d1 / s, d2=p.d2 / s**2)

    def pullback_theta(self, answers: Array, m: Array, v: Array) -> Array:
        s = self.noise
        return _Mixture((answers - m) / s, v / s**2, self.df).in_log_noise[:, None]

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


class _Mixture:
    """Answers r about N(0, w) with a noise of one, as a mixture of normal noises: t is normal with variance 1/λ, and λ
    is Gamma(ν/2, ν/2) (Lange, Little & Taylor 1989).

    log λ is integrated by the trapezoidal rule, which is exact to rounding for so smooth an integrand once its step is
    a quarter, and less where many degrees of freedom make it narrow. λ is most probable at (ν + 1)/(ν + r²) or, where g
    may be far away, at one.
    """

    def __init__(self, r: Array, w: Array, nu: float) -> None:
        a = 0.5 * nu
        lowest = float(np.log((a + 0.5) / (a + 0.5 * np.max(r**2, initial=0.0))))
        below, above = _BELOW / (a + 0.5), _BELOW / a
        low = lowest - min(below + 1.0, np.sqrt(2.0 * below) + 0.5 * below)
        high = float(np.log1p(above + np.sqrt(2.0 * above)))
        step = min(0.25, 0.65 / np.sqrt(a + 0.5))
        u = np.linspace(low, high, int(np.ceil((high - low) / step)) + 1)
        self.r, self.w, self.own = r, w, np.exp(-u)  # the noise's variance
        self.total = w[:, None] + self.own
        weight = a * np.log(a) - gammaln(a) + a * u - a * np.exp(u) + np.log(u[1] - u[0])
        logs = weight - 0.5 * np.log(2.0 * np.pi * self.total) - 0.5 * r[:, None] ** 2 / self.total
        top = logs.max(axis=1)
        self.share = np.exp(logs - top[:, None])
        mass = self.share.sum(axis=1)
        self.share /= mass[:, None]
        self.log_z = top + np.log(mass)

    def average(self, values: Array) -> Array:
        return np.einsum("nk,nk->n", self.share, values)

    @property
    def in_log_noise(self) -> Array:
        """d log Z/d log noise, (n,)."""
        inverse = 1.0 / self.total
        return self.average(self.own * inverse * (self.r[:, None] ** 2 * inverse - 1.0))


def _partition(r: Array, w: Array, nu: float) -> Partition:
    """log Z and its derivatives in m, and the cumulants of z = g/√w, by those of a mixture of normals."""
    found = _Mixture(r, w, nu)
    pull, inverse = r[:, None] / found.total, 1.0 / found.total
    first = found.average(pull)
    second = found.average(pull**2 - inverse) - first**2
    off, spread = np.sqrt(w)[:, None] * (pull - first[:, None]), found.own * inverse
    variance = found.average(spread + off**2)
    third = found.average(off**3 + 3.0 * off * spread)
    fourth = found.average(off**4 + 6.0 * off**2 * spread + 3.0 * spread**2)
    return Partition(found.log_z, first, second, variance, third, fourth - 3.0 * variance**2)
