"""Distributions of hyperparameters, each on the parameter's own scale (a lengthscale, not its logarithm).

    prior.log_density(x), prior.slope(x)   log p(x) and its derivative
    prior.quantile(u)                      the value below which a fraction u of the mass lies

An optimiser works with theta, and a density there is p(x(theta)) · |dx/dtheta|: `log_density_in_theta` adds the
Jacobian, so a maximum, a Laplace approximation and NUTS all see the same distribution.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincinv, betaln, gammainc, gammaincinv, gammaln, ndtr, ndtri

from gainful.checks import is_number, require, require_finite, require_positive
from gainful.errors import InvalidInput
from gainful.parameters import Slot

__all__ = ["Beta", "Fixed", "Flat", "Gamma", "LogNormal", "Normal", "Prior", "Uniform"]

Array = NDArray[np.float64]
_REMEDY = "see the prior's formula in its docstring"
_LOG_ROOT_2PI = 0.5 * float(np.log(2.0 * np.pi))


def _share(u: object) -> float:
    fine = is_number(u) and 0.0 <= u <= 1.0
    require(fine, "u", "a share of the mass, from 0 to 1", u, "0.5 gives the median")
    return float(u)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Prior(ABC):
    """A distribution of one hyperparameter."""

    @abstractmethod
    def log_density(self, x: float) -> float: ...

    @abstractmethod
    def slope(self, x: float) -> float: ...

    @abstractmethod
    def quantile(self, u: float) -> float: ...

    def share(self, x: float) -> float:
        """The fraction of the mass that lies below x: the inverse of `quantile`."""
        raise InvalidInput("prior", "a prior with quantiles", self, "give a proper one, such as LogNormal(0, 1)")

    def quantiles(self, u: Array) -> Array:
        """`quantile` of many fractions at once."""
        return np.array([self.quantile(float(each)) for each in np.ravel(u)]).reshape(np.shape(u))


@dataclass(frozen=True)
class LogNormal(Prior):
    """log x ~ N(mu, sigma²): the median is exp(mu)."""

    mu: float = 0.0
    sigma: float = 1.0

    def __post_init__(self) -> None:
        require_finite("mu", self.mu, _REMEDY)
        require_positive("sigma", self.sigma, _REMEDY)

    def log_density(self, x: float) -> float:
        z = (np.log(x) - self.mu) / self.sigma
        return float(-0.5 * z**2 - np.log(x * self.sigma) - _LOG_ROOT_2PI)

    def slope(self, x: float) -> float:
        return float(-((np.log(x) - self.mu) / self.sigma**2 + 1.0) / x)

    def quantile(self, u: float) -> float:
        return float(np.exp(self.mu + self.sigma * ndtri(_share(u))))

    def share(self, x: float) -> float:
        return float(ndtr((np.log(x) - self.mu) / self.sigma))

    def quantiles(self, u: Array) -> Array:
        return np.asarray(np.exp(self.mu + self.sigma * ndtri(u)))


@dataclass(frozen=True)
class Beside(LogNormal):
    """log x ~ N(mu + power · log(y/usual), sigma²): x as another parameter y has it, say a noise as the amplitude.

    By itself it is the prior of x where y is as usual; `log_density_in_theta` knows both.
    """

    other: str = ""
    usual: float = 1.0
    power: float = 0.5

    def moved(self, y: float) -> LogNormal:
        """The prior of x beside this y."""
        return LogNormal(self.mu + self.power * float(np.log(y / self.usual)), self.sigma)


@dataclass(frozen=True)
class Gamma(Prior):
    """p(x) ∝ x^(shape − 1) exp(−rate · x): the mean is shape/rate."""

    shape: float = 1.0
    rate: float = 1.0

    def __post_init__(self) -> None:
        require_positive("shape", self.shape, _REMEDY)
        require_positive("rate", self.rate, _REMEDY)

    def log_density(self, x: float) -> float:
        a, b = self.shape, self.rate
        return float(a * np.log(b) - gammaln(a) + (a - 1.0) * np.log(x) - b * x)

    def slope(self, x: float) -> float:
        return (self.shape - 1.0) / x - self.rate

    def quantile(self, u: float) -> float:
        return float(gammaincinv(self.shape, _share(u))) / self.rate

    def share(self, x: float) -> float:
        return float(gammainc(self.shape, self.rate * x))

    def quantiles(self, u: Array) -> Array:
        # For small shares the inverse of the incomplete gamma function is slow, and with shape 1 it is a logarithm.
        unit = -np.log1p(-u) if self.shape == 1.0 else gammaincinv(self.shape, u)
        return np.asarray(unit, dtype=float) / self.rate


@dataclass(frozen=True)
class Beta(Prior):
    """p(x) ∝ x^(a − 1) (1 − x)^(b − 1), for fractions such as a lapse rate: the mean is a/(a + b)."""

    a: float = 1.0
    b: float = 1.0

    def __post_init__(self) -> None:
        require_positive("a", self.a, _REMEDY)
        require_positive("b", self.b, _REMEDY)

    def log_density(self, x: float) -> float:
        return float((self.a - 1.0) * np.log(x) + (self.b - 1.0) * np.log1p(-x) - betaln(self.a, self.b))

    def slope(self, x: float) -> float:
        return (self.a - 1.0) / x - (self.b - 1.0) / (1.0 - x)

    def quantile(self, u: float) -> float:
        return float(betaincinv(self.a, self.b, _share(u)))

    def share(self, x: float) -> float:
        return float(betainc(self.a, self.b, x))


@dataclass(frozen=True)
class Normal(Prior):
    """x ~ N(mean, sd²), for parameters of any sign."""

    mean: float = 0.0
    sd: float = 1.0

    def __post_init__(self) -> None:
        require_finite("mean", self.mean, _REMEDY)
        require_positive("sd", self.sd, _REMEDY)

    def log_density(self, x: float) -> float:
        return float(-0.5 * ((x - self.mean) / self.sd) ** 2 - np.log(self.sd) - _LOG_ROOT_2PI)

    def slope(self, x: float) -> float:
        return (self.mean - x) / self.sd**2

    def quantile(self, u: float) -> float:
        return float(self.mean + self.sd * ndtri(_share(u)))

    def share(self, x: float) -> float:
        return float(ndtr((x - self.mean) / self.sd))


@dataclass(frozen=True)
class Uniform(Prior):
    """p(x) = 1/(high − low) between low and high, and nothing outside."""

    low: float
    high: float

    def __post_init__(self) -> None:
        require_finite("low", self.low, _REMEDY)
        require_finite("high", self.high, _REMEDY)
        require(self.low < self.high, "low, high", "low < high", (self.low, self.high), _REMEDY)

    def log_density(self, x: float) -> float:
        return float(-np.log(self.high - self.low)) if self.low <= x <= self.high else -np.inf

    def slope(self, x: float) -> float:
        return 0.0

    def quantile(self, u: float) -> float:
        return float(self.low + _share(u) * (self.high - self.low))

    def share(self, x: float) -> float:
        return float(np.clip((x - self.low) / (self.high - self.low), 0.0, 1.0))

    def quantiles(self, u: Array) -> Array:
        return np.asarray(self.low + u * (self.high - self.low))


@dataclass(frozen=True)
class Fixed(Prior):
    """The parameter stays where it is: it is not learned."""

    def log_density(self, x: float) -> float:
        return 0.0

    def slope(self, x: float) -> float:
        return 0.0

    def quantile(self, u: float) -> float:
        raise InvalidInput("prior", "a prior to draw from", self, "a fixed parameter keeps its value")


@dataclass(frozen=True)
class Flat(Prior):
    """Nothing is said: maximum likelihood, flat in theta."""

    def log_density(self, x: float) -> float:
        return 0.0

    def slope(self, x: float) -> float:
        return 0.0

    def quantile(self, u: float) -> float:
        raise InvalidInput("prior", "a prior to draw from", self, "a flat prior has no quantiles; give a proper one")


def log_density_in_theta(priors: Sequence[Prior], slots: Sequence[Slot], theta: Array) -> tuple[float, Array]:
    """Σ log p(theta_i), Jacobians included, and its gradient; `Flat` and `Fixed` contribute nothing."""
    value, gradient = 0.0, np.zeros(len(slots))
    for i, (prior, slot) in enumerate(zip(priors, slots, strict=True)):
        if isinstance(prior, Flat | Fixed):
            continue
        here = slot.transform.local(float(theta[i]))
        if isinstance(prior, Beside):
            j = [each.name for each in slots].index(prior.other)
            there = slots[j].transform.local(float(theta[j]))
            slope = (np.log(here.value) - prior.moved(there.value).mu) / prior.sigma**2
            gradient[j] += slope * prior.power * there.jacobian / there.value
            prior = prior.moved(there.value)
        value += prior.log_density(here.value) + here.log_jacobian
        gradient[i] += prior.slope(here.value) * here.jacobian + here.bend
    return value, gradient
