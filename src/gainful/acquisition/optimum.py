"""Acquisition functions of Bayesian optimisation: queries that help to find the largest (or smallest) value of f.

With f ~ N(μ, σ²) at a place, the incumbent f⁺ and z = (μ − f⁺)/σ:

    probability of improvement   Φ(z)                          Kushner 1964; Gardner 2018, sec. 2.3
    expected improvement         E_y[(E[f | y] − f⁺)⁺]         Mockus 1978; Frazier 2018
    upper confidence bound       μ + √β σ                      Srinivas et al. 2010

Expected improvement is what the *answer* is expected to bring, the posterior mean that it leads to, so a precise and a
coarse instrument differ. The posterior mean after a number with noise is N(μ, σ̃²) with σ̃ = σ²/√(σ² + noise²), and the
average is σ̃ (φ(z̃) + z̃ Φ(z̃)) with z̃ = (μ − f⁺)/σ̃; without noise it is the textbook's. For other answers it is a sum over
what may be answered. The other two speak of f itself, whatever the instrument reads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr, logsumexp, ndtr

from gainful.acquisition.base import AMOUNT, LOG, SIGNED
from gainful.checks import is_number, require, require_finite, require_not_negative
from gainful.coordinates import output_code
from gainful.errors import InvalidInput
from gainful.inference.belief import Belief, parts_of, require_askable
from gainful.inference.posterior import Posterior
from gainful.instruments import Instrument
from gainful.instruments.channel import Channel
from gainful.numerics.memory import in_blocks
from gainful.numerics.normal import log_pdf

__all__ = [
    "MAXIMISE",
    "MINIMISE",
    "ExpectedImprovement",
    "LogExpectedImprovement",
    "ProbabilityOfImprovement",
    "UpperConfidenceBound",
    "best_mean",
    "log_expected_improvement",
    "require_sign",
]

Array = NDArray[np.float64]

MAXIMISE, MINIMISE = 1, -1  # the sign with which f is to be large

_TAIL = 3.0
_TERMS = 44  # from _TAIL on the continued fraction is exact to 1e-14


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


def best_mean(belief: Posterior | Belief, sign: int = MAXIMISE) -> float | None:
    """The best posterior mean, largest sign · E[f], at the places that are measured; None before the first answer."""
    if not len(belief.data):
        return None
    if belief.data.output is None or belief.data.coordinates == belief.data.dimensions:
        parts = belief.posteriors if isinstance(belief, Belief) else (belief,)
        weights = belief.weights if isinstance(belief, Belief) else np.ones(1)
        return float(sign * np.max(sign * (weights @ np.stack([part.predictor.mean_at_data for part in parts]))))
    places = measured_places(belief)
    return float(sign * np.max(sign * belief.mean(places))) if len(places) else None


def measured_places(belief: Posterior | Belief) -> Array:
    """The places of the answers, (N, d); of several functions, where one is meant, those where that one was seen."""
    places, output = belief.data.layout.places, belief.data.output
    if output is None or belief.data.coordinates == belief.data.dimensions:
        return places
    return np.asarray(places[places[:, -1] == output_code(output)])


def sees_what_counts(belief: Posterior | Belief, instrument: Instrument) -> bool:
    """Whether an instrument sees the function whose optimum is sought, where there are several."""
    output, outputs = belief.data.output, instrument.outputs
    return output is None or outputs is None or outputs == (output_code(output),)


def improvement_spread(v: Array, noise: float) -> Array:
    """σ̃ = v/√(v + noise²): the spread of the posterior mean that a number with this noise will lead to."""
    return np.divide(v, np.sqrt(v + noise**2), out=np.zeros_like(v), where=v > 0.0)


class _Gain(NamedTuple):
    """One posterior's view of M places: its weight, its instrument, mean and variance of f, by how much the mean beats
    the incumbent, with the sign that counts, and the way back to the places, where slopes are wanted."""

    weight: float
    instrument: Instrument
    mean: Array
    variance: Array
    gain: Array
    back: Callable[..., Array] | None


def _gains(
    belief: Posterior | Belief,
    instrument: Instrument,
    places: ArrayLike,
    incumbent: float | None,
    sign: int,
    slopes: bool = False,
) -> list[_Gain]:
    """Every posterior's view, all of one incumbent: that of the mixture's mean. Before the first answer each place is
    compared with its own mean."""
    require_askable(belief, instrument, places)
    if instrument.query != "place":
        raise InvalidInput("instrument", "one that sees a place", instrument, "the optimum is sought place by place")
    if not sees_what_counts(belief, instrument):
        expected = f"one that sees the output that is to be improved, {belief.data.output!r}"
        raise InvalidInput("instrument", expected, instrument, "goal='minimise' or 'maximise' takes the others too")
    parts = parts_of(belief, instrument, places)
    seen: list[tuple[Array, Array, Callable[..., Array] | None]] = []
    for part in parts:
        if slopes:
            look = part.posterior.vjp(part.instrument, part.places)
            seen.append((look.mean, look.variance, look.back))
        else:
            seen.append((*part.posterior.marginals(part.instrument, part.places), None))
    best: Array | float | None = best_mean(belief, sign) if incumbent is None else incumbent
    if best is None:
        best = np.asarray(sum(part.weight * m for part, (m, _, _) in zip(parts, seen, strict=True)))
    return [
        _Gain(part.weight, part.instrument, m, v, sign * (m - best), back)
        for part, (m, v, back) in zip(parts, seen, strict=True)
    ]


def _log_over_answers(instrument: Instrument, m: Array, v: Array, gain: Array, sign: int) -> Array:
    """log Σ_y P(y) (E[f | y] − f⁺)⁺ over what may be answered, (M,); −inf where no answer brings an improvement."""

    def of(part: slice) -> Array:
        return _log_of_some(instrument, m[part], v[part], gain[part], sign)

    if not len(m):
        return np.zeros(0)
    return in_blocks(of, len(m), 8 * max(instrument.levels, 100))  # an interval has 81 nodes


def _log_of_some(instrument: Instrument, m: Array, v: Array, gain: Array, sign: int) -> Array:
    certain = v <= 0.0
    safe = np.where(certain, 1.0, v)
    answers, weight = instrument.outcomes(m, safe)
    Q = len(answers)
    p = instrument.log_partition(answers.reshape(-1, *answers.shape[2:]), np.tile(m, Q), np.tile(safe, Q))
    share = np.exp(p.log_z).reshape(Q, -1) if weight is None else weight
    moved = np.where(share > 0.0, sign * safe * p.d1.reshape(Q, -1), 0.0)
    with np.errstate(divide="ignore"):
        found = np.log(np.sum(share * np.maximum(gain + moved, 0.0), axis=0))
        return np.where(certain, np.log(np.maximum(gain, 0.0)), found)


def require_sign(sign: object) -> None:
    """Refuse what says neither to maximise nor to minimise."""
    signed = is_number(sign) and sign in (1, -1)
    require(signed, "sign", "1 to maximise or -1 to minimise", sign, "leave it out to maximise")


def _check(sign: object, incumbent: object) -> None:
    require_sign(sign)
    if incumbent is not None:
        require_finite("incumbent", incumbent, "or None, which takes the best posterior mean")


@dataclass(frozen=True)
class ProbabilityOfImprovement:
    """Φ((μ − f⁺ − margin)/σ): how likely a place is to beat the incumbent by more than `margin`; Σ w_s of that under
    several posteriors.

    Without a margin it stays where a small gain is nearly certain. Below −38 standard deviations it is 0 in double
    precision; `LogExpectedImprovement` still ranks there. The incumbent is the best posterior mean at a measured place,
    or the one given. sign is 1 to maximise, -1 to minimise.

    >>> import gainful as gf
    >>> post = gf.GP(gf.SE()).condition(gf.Data().add(gf.Point(0.1), [[0.0]], [1.0]))
    >>> ProbabilityOfImprovement().score(post, gf.Point(), [[9.0]]).round(4).tolist()
    [0.1611]
    """

    incumbent: float | None = None
    sign: int = MAXIMISE
    margin: float = 0.0
    scale: ClassVar[str] = AMOUNT

    def __post_init__(self) -> None:
        _check(self.sign, self.incumbent)
        require_not_negative("margin", self.margin, "0 counts any improvement")

    def score(self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike) -> Array:
        total = np.zeros(())
        for each in _gains(belief, instrument, places, self.incumbent, self.sign):
            gain, sd = each.gain - self.margin, np.sqrt(each.variance)
            z = np.divide(gain, sd, out=np.where(gain > 0.0, np.inf, -np.inf), where=sd > 0.0)
            total = total + each.weight * ndtr(z)
        return np.asarray(total)

    def prepare(self, belief: Posterior | Belief) -> ProbabilityOfImprovement:
        """With the belief's incumbent."""
        return replace(self, incumbent=_incumbent(belief, self.incumbent, self.sign))


@dataclass(frozen=True)
class ExpectedImprovement:
    """E_y[max(E[f | y] − f⁺, 0)], in the unit of f: what the answer is expected to bring beyond the incumbent.

    In the function's unit, so that dividing by cost makes sense; it is 0 in double precision from 38 standard
    deviations below the incumbent. `LogExpectedImprovement` ranks places alike, and there too. The incumbent is the
    best posterior mean at a measured place, or the one given.

    Under several posteriors it is Σ w_s EI_s, each with its own instrument and all with the incumbent of the mixture's
    mean: the integrated acquisition (Snoek et al. 2012). It is exact for the improvement that an answer brings to one
    who will know which of them is right, and leaves out that answers move the weights.

    >>> import gainful as gf
    >>> prior = gf.GP(gf.SE()).condition(gf.Data())
    >>> precise, coarse = gf.Point(noise=0.0), gf.Point(noise=1.0)
    >>> [ExpectedImprovement().score(prior, each, [[0.0]]).round(4).tolist() for each in (precise, coarse, gf.Binary())]
    [[0.3989], [0.2821], [0.2821]]
    """

    incumbent: float | None = None
    sign: int = MAXIMISE
    scale: ClassVar[str] = AMOUNT

    def __post_init__(self) -> None:
        _check(self.sign, self.incumbent)

    def score(self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike) -> Array:
        return np.exp(LogExpectedImprovement(self.incumbent, self.sign).score(belief, instrument, places))

    def score_and_gradient(
        self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike
    ) -> tuple[Array, Array] | None:
        """The scores and their derivatives in the places; None for answers that are no numbers."""
        found = LogExpectedImprovement(self.incumbent, self.sign).score_and_gradient(belief, instrument, places)
        if found is None:
            return None
        amount = np.exp(found[0])
        return amount, amount[:, None] * np.where(amount[:, None] > 0.0, found[1], 0.0)

    def prepare(self, belief: Posterior | Belief) -> ExpectedImprovement:
        """With the belief's incumbent."""
        return replace(self, incumbent=_incumbent(belief, self.incumbent, self.sign))


@dataclass(frozen=True)
class LogExpectedImprovement:
    """log E_y[max(E[f | y] − f⁺, 0)]: never underflows for a number, so a search can climb from anywhere (Ament et al.
    2023). Per unit of cost, the logarithm of the cost is taken away."""

    incumbent: float | None = None
    sign: int = MAXIMISE
    scale: ClassVar[str] = LOG

    def __post_init__(self) -> None:
        _check(self.sign, self.incumbent)

    def score(self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike) -> Array:
        found = _gains(belief, instrument, places, self.incumbent, self.sign)
        if len(found) == 1:
            return self._log(found[0])
        return np.asarray(logsumexp([np.log(each.weight) + self._log(each) for each in found], axis=0))

    def _log(self, seen: _Gain) -> Array:
        channel = seen.instrument.channel()
        if channel is not None and channel.is_number:
            return log_expected_improvement(seen.gain, improvement_spread(seen.variance, channel.noise))
        return _log_over_answers(seen.instrument, seen.mean, seen.variance, seen.gain, self.sign)

    def score_and_gradient(
        self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike
    ) -> tuple[Array, Array] | None:
        """The scores and their derivatives in the places; None for answers that are no numbers."""
        channel = instrument.channel()
        if channel is None or not channel.is_number:
            return None
        found = _gains(belief, instrument, places, self.incumbent, self.sign, slopes=True)
        slopes = [self._slopes(each, channel) for each in found]
        each = np.stack([np.log(seen.weight) + logs for seen, (logs, _, _) in zip(found, slopes, strict=True)])
        total = np.asarray(logsumexp(each, axis=0))
        back = np.zeros(np.shape(places))
        for seen, logs, (_, in_mean, in_variance) in zip(found, each, slopes, strict=True):
            share = np.exp(logs - np.where(np.isfinite(total), total, 0.0))
            back += seen.back(share * in_mean, share * in_variance)  # type: ignore[misc]  # there, as was asked
        return total, back

    def _slopes(self, seen: _Gain, like: Channel) -> tuple[Array, Array, Array]:
        """log EI of a number, and its derivatives in the mean and the variance of f."""
        gain, v = seen.gain, seen.variance
        noise = (seen.instrument.channel() or like).noise
        sd = improvement_spread(v, noise)
        logs, none = log_expected_improvement(gain, sd), np.full(len(gain), -np.inf)
        z = np.divide(gain, sd, out=np.where(gain > 0.0, np.inf, -np.inf), where=sd > 0.0)
        some = np.isfinite(logs)  # where nothing can be gained nothing has a slope
        in_mean = self.sign * np.exp(np.subtract(log_ndtr(z), logs, out=none.copy(), where=some))
        in_sd = np.exp(np.subtract(log_pdf(z), logs, out=none.copy(), where=some))
        by_variance = np.divide(0.5 * v + noise**2, (v + noise**2) ** 1.5, out=np.zeros_like(v), where=v > 0.0)
        return logs, np.nan_to_num(in_mean), np.nan_to_num(in_sd * by_variance)

    def prepare(self, belief: Posterior | Belief) -> LogExpectedImprovement:
        """With the belief's incumbent."""
        return replace(self, incumbent=_incumbent(belief, self.incumbent, self.sign))


def _incumbent(belief: Posterior | Belief, given: float | None, sign: int) -> float | None:
    return best_mean(belief, sign) if given is None else given


@dataclass(frozen=True)
class UpperConfidenceBound:
    """sign · μ + √beta σ: the best that a place can reasonably be expected to hold (Srinivas et al. 2010).

    Under several posteriors μ and σ are the mixture's. A bound may have either sign, so a cost cannot divide it.
    """

    beta: float = 4.0
    sign: int = MAXIMISE
    scale: ClassVar[str] = SIGNED

    def __post_init__(self) -> None:
        _check(self.sign, None)
        require_not_negative("beta", self.beta, "4 is two standard deviations")

    def score(self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike) -> Array:
        found = _gains(belief, instrument, places, 0.0, self.sign)
        gain = np.asarray(sum(each.weight * each.gain for each in found))
        v = sum(each.weight * (each.variance + (each.gain - gain) ** 2) for each in found)
        return np.asarray(gain + np.sqrt(self.beta * v))
