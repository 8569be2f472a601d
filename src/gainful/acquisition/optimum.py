"""Goals for finding the largest (or smallest) value of f, the acquisition functions of Bayesian optimisation.

With f ~ N(μ, σ²) at a place, the incumbent f⁺ and z = (μ − f⁺)/σ:

    probability of improvement   Φ(z)                         Kushner 1964; lecture; structure 2.3
    expected improvement         σ (φ(z) + z Φ(z))            Mockus 1978; structure 2.3
    upper confidence bound       μ + √β σ                     Srinivas et al. 2010

They speak of f itself, whatever the instrument reads, so an instrument that sees a place is all they ask for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr, ndtr

from gainful.checks import require_not_negative
from gainful.errors import InvalidInput
from gainful.inference.posterior import Posterior
from gainful.information.watched import refuse_mixture
from gainful.instruments import Instrument

__all__ = [
    "MAXIMISE",
    "MINIMISE",
    "ExpectedImprovement",
    "LogExpectedImprovement",
    "ProbabilityOfImprovement",
    "UpperConfidenceBound",
    "best_mean",
    "log_expected_improvement",
]

Array = NDArray[np.float64]

MAXIMISE, MINIMISE = 1, -1  # the sign with which f is to be large

_TAIL = 3.0
_TERMS = 44  # from _TAIL on the continued fraction is exact to 1e-14


# ---------------------------------------------------------------------------------------------------------- formulas


def log_expected_improvement(gain: Array, sd: Array) -> Array:
    """log E[max(x, 0)] for x ~ N(gain, sd²), elementwise; −inf where nothing can be gained. Exact to 1e-13 for any z.

    With a = −gain/sd, E[max(x, 0)] = sd P(u > a) E[u − a | u > a] for a standard normal u. Both factors are positive
    and neither is a difference: log P is `log_ndtr`, and the mean excess is 1/(a + 2/(a + 3/(a + ...))), by parts from
    M_(n+1) = n M_(n−1) − a M_n for M_n = ∫ tⁿ exp(−a t − t²/2) dt. So log EI keeps its digits at 40 or at 1e8 standard
    deviations below the incumbent, where φ(z) + z Φ(z) has underflowed and LogEI (Ament et al. 2023) changes formula.
    Up to a = 3 the plain form loses one digit at most, and is used.

    >>> log_expected_improvement(np.array([0.0, -40.0]), np.ones(2)).round(6).tolist()
    [-0.918939, -808.298568]
    """
    gain, sd = np.broadcast_arrays(np.asarray(gain, dtype=float), np.asarray(sd, dtype=float))
    out = np.full(gain.shape, -np.inf)
    sure = sd <= 0.0
    won = sure & (gain > 0.0)
    out[won] = np.log(gain[won])
    a = -np.divide(gain, sd, out=np.zeros(gain.shape), where=~sure)
    near, far = ~sure & (a < _TAIL), ~sure & (a >= _TAIL)
    z = -a[near]
    out[near] = np.log(sd[near]) + np.log(np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi) + z * ndtr(z))
    out[far] = np.log(sd[far]) + log_ndtr(-a[far]) + np.log(_mean_excess(a[far]))
    return out


def _mean_excess(a: Array) -> Array:
    """E[u − a | u > a], a ≥ 3: the continued fraction, from its far end, where its tail solves r = n/(a + r)."""
    n = _TERMS + 1.0
    ratio = n / (0.5 * a + np.hypot(0.5 * a, np.sqrt(n)))
    for k in range(_TERMS, 0, -1):
        ratio = k / (a + ratio)
    return ratio


def best_mean(belief: Posterior, sign: int = MAXIMISE) -> float | None:
    """The best posterior mean, largest sign · E[f], at the places that are measured; None before the first answer."""
    if not len(belief.data):
        return None
    return float(sign * np.max(sign * belief.mean(belief.data.layout.places)))


def _gain(belief: Posterior, instrument: Instrument, places: ArrayLike,
          incumbent: float | None, sign: int) -> tuple[Array, Array]:  # fmt: skip
    """sign · (μ − f⁺) and σ, (M,) each. Before the first answer each place is compared with its own mean."""
    refuse_mixture(belief)
    if instrument.query != "place":
        raise InvalidInput("instrument", "one that sees a place", instrument, "the optimum is sought place by place")
    m, v = belief.marginals(instrument, places)
    best = best_mean(belief, sign) if incumbent is None else incumbent
    return np.zeros_like(m) if best is None else sign * (m - best), np.sqrt(v)


def _check(sign: object, incumbent: object) -> None:
    if sign not in (1, -1) or isinstance(sign, bool):
        raise InvalidInput("sign", "1 to maximise or -1 to minimise", sign, "use MAXIMISE or MINIMISE")
    if incumbent is None:
        return
    if isinstance(incumbent, bool) or not isinstance(incumbent, int | float | np.number) or not np.isfinite(incumbent):
        raise InvalidInput("incumbent", "a finite number or None", incumbent, "None takes the best posterior mean")


# ------------------------------------------------------------------------------------------------------------- goals


@dataclass(frozen=True)
class ProbabilityOfImprovement:
    """Φ((μ − f⁺ − margin)/σ): how likely a place is to beat the incumbent by more than `margin`.

    Without a margin it stays where a small gain is nearly certain. Below −38 standard deviations it is 0 in double
    precision; `LogExpectedImprovement` still ranks there. The incumbent is the best posterior mean at a measured place,
    or the one given. sign is MAXIMISE or MINIMISE.

    >>> import gainful as gf
    >>> post = gf.GP(gf.SE()).condition(gf.Data().add(gf.Point(0.1), [[0.0]], [1.0]))
    >>> ProbabilityOfImprovement().score(post, gf.Point(), [[9.0]]).round(4).tolist()
    [0.1611]
    """

    incumbent: float | None = None
    sign: int = MAXIMISE
    margin: float = 0.0

    def __post_init__(self) -> None:
        _check(self.sign, self.incumbent)
        require_not_negative("margin", self.margin, "0 counts any improvement")

    def score(self, belief: Posterior, instrument: Instrument, places: ArrayLike) -> Array:
        gain, sd = _gain(belief, instrument, places, self.incumbent, self.sign)
        gain = gain - self.margin
        z = np.divide(gain, sd, out=np.where(gain > 0.0, np.inf, -np.inf), where=sd > 0.0)
        return np.asarray(ndtr(z))


@dataclass(frozen=True)
class ExpectedImprovement:
    """E[max(f − f⁺, 0)], in the unit of f: by how much a place is expected to beat the incumbent.

    In the function's unit, so that dividing by cost makes sense; it is 0 in double precision from 38 standard
    deviations below the incumbent. `LogExpectedImprovement` ranks places alike, and there too.
    """

    incumbent: float | None = None
    sign: int = MAXIMISE

    def __post_init__(self) -> None:
        _check(self.sign, self.incumbent)

    def score(self, belief: Posterior, instrument: Instrument, places: ArrayLike) -> Array:
        return np.exp(LogExpectedImprovement(self.incumbent, self.sign).score(belief, instrument, places))


@dataclass(frozen=True)
class LogExpectedImprovement:
    """log E[max(f − f⁺, 0)]: never underflows, so a search can climb from anywhere (Ament et al. 2023)."""

    incumbent: float | None = None
    sign: int = MAXIMISE

    def __post_init__(self) -> None:
        _check(self.sign, self.incumbent)

    def score(self, belief: Posterior, instrument: Instrument, places: ArrayLike) -> Array:
        return log_expected_improvement(*_gain(belief, instrument, places, self.incumbent, self.sign))


@dataclass(frozen=True)
class UpperConfidenceBound:
    """sign · μ + √beta σ: the best that a place can reasonably be expected to hold (Srinivas et al. 2010)."""

    beta: float = 4.0
    sign: int = MAXIMISE

    def __post_init__(self) -> None:
        _check(self.sign, None)
        require_not_negative("beta", self.beta, "4 is two standard deviations")

    def score(self, belief: Posterior, instrument: Instrument, places: ArrayLike) -> Array:
        gain, sd = _gain(belief, instrument, places, 0.0, self.sign)
        return gain + np.sqrt(self.beta) * sd
