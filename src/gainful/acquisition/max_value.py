"""Max-value entropy search: what an answer tells about how good the best place is (Wang & Jegelka 2017).

    I(answer; f*) ≈ H[answer] − mean over values z of f* of H[answer | f ≤ z]

f at a place, given that nothing is better than z, is a normal cut off at z. With γ = (z − m)/σ, r = φ(γ)/Φ(γ) and a
number with noise that shares ρ² = σ²/(σ² + noise²) of its variance with f, what it loses in entropy is

    ½ ρ² γ r + E[log Φ(a)] − log Φ(γ),   a = (γ − ρ t)/√(1 − ρ²),   t the reading, standardised,

which without noise is the published γ r/2 − log Φ(γ); the expectation is one integral. For answers of a few kinds the
two entropies may differ either way, since z is believed and not known: there it is the mean divergence

    Σ_y P(y | f ≤ z) log (P(y | f ≤ z)/P(y)),

which is the same where P(y) is the mean of P(y | f ≤ z), and never negative.
The values of f* are quantiles of Π_r Φ((z − m_r)/σ_r) over places r that stand for the space, as if these were
independent: a little high, as published, and the same every time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr, ndtr, ndtri

from gainful.acquisition.base import AMOUNT
from gainful.acquisition.optimum import MAXIMISE, measured_places, require_sign, sees_what_counts
from gainful.checks import require_count
from gainful.errors import InvalidInput
from gainful.inference.belief import Belief, Part, parts_of, require_askable
from gainful.inference.posterior import Posterior
from gainful.information.about import as_reference
from gainful.instruments import Instrument
from gainful.numerics.memory import in_blocks
from gainful.numerics.normal import log_pdf
from gainful.numerics.quadrature import gauss_hermite, gauss_legendre

__all__ = ["AboutBest", "Marginal", "MaxValueEntropy", "bits_of_limits", "entropy_lost", "values_of_best"]

Array = NDArray[np.float64]

_NATS = float(np.log(2.0))
_HERMITE, _LEGENDRE, _ALONG = 48, 64, 64
_ENDS = (-9.0, 7.0)  # of a: beyond them Φ log Φ is below 1e-12
_NOISY = 0.7  # the share of noise in a reading's deviation from which the integral is over the reading itself
_BISECTIONS = 50
_TINY = 1e-12  # of a variance: what is left of it where f is known


def values_of_best(mean: Array, sd: Array, count: int) -> Array:
    """`count` values of the largest of independent normals, each as probable: its quantiles (i + ½)/count.

    >>> values_of_best(np.zeros(1), np.ones(1), 1).round(6).tolist()
    [0.0]
    """
    shares = np.log((np.arange(count) + 0.5) / count)
    safe = np.maximum(sd, 1e-12 * max(1.0, float(np.max(np.abs(mean), initial=0.0))))
    low = np.full(count, float(np.max(mean - 8.0 * safe)))
    high = np.full(count, float(np.max(mean + 8.0 * safe)))
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        below = np.sum(log_ndtr((middle[:, None] - mean) / safe), axis=1) < shares
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return 0.5 * (low + high)


def entropy_lost(gamma: Array, shared: Array) -> Array:
    """What a reading loses in entropy, in nats, when f is known to be at most γ of its standard deviations above its
    mean; `shared` is ρ², the part of the reading's variance that is f's. Elementwise, never negative.

    >>> entropy_lost(np.array([0.0, 0.0]), np.array([1.0, 0.0])).round(4).tolist()  # log 2; nothing from noise alone
    [0.6931, 0.0]
    """
    gamma, shared = np.broadcast_arrays(np.asarray(gamma, dtype=float), np.asarray(shared, dtype=float))
    rho, noise = np.sqrt(shared), np.sqrt(np.maximum(1.0 - shared, 0.0))
    log_below = log_ndtr(gamma)
    hazard = np.exp(log_pdf(gamma) - log_below)
    out = 0.5 * shared * gamma * hazard - log_below
    near = (noise > 0.0) & (noise < _NOISY)
    far = noise >= _NOISY
    out[near] += _over_limit(gamma[near], rho[near], noise[near], log_below[near])
    out[far] += _over_reading(gamma[far], rho[far], noise[far], log_below[far])
    return np.maximum(out, 0.0)


def _over_limit(gamma: Array, rho: Array, noise: Array, log_below: Array) -> Array:
    """E[log Φ(a)] with a as the variable: where there is little noise it turns within a small part of the readings."""
    nodes, weights = gauss_legendre(_LEGENDRE)
    half = 0.5 * (_ENDS[1] - _ENDS[0])
    a = _ENDS[0] + half * (nodes + 1.0)
    t = (gamma[:, None] - noise[:, None] * a) / rho[:, None]
    density = np.exp(log_pdf(t) + log_ndtr(a) - log_below[:, None]) * (noise / rho)[:, None]
    return np.asarray((density * log_ndtr(a)) @ (half * weights))


def _over_reading(gamma: Array, rho: Array, noise: Array, log_below: Array) -> Array:
    """E[log Φ(a)] with the reading as the variable."""
    nodes, weights = gauss_hermite(_HERMITE)
    logs = log_ndtr((gamma[:, None] - rho[:, None] * nodes) / noise[:, None])
    return np.asarray((np.exp(logs - log_below[:, None]) * logs) @ weights)


class AboutBest:
    """A goal that asks what an answer tells about the best of f, in bits, given what the best may be.

    A subclass says what that is under a posterior (`_optima`), and what an answer tells about it (`_bits`).
    """

    sign: int
    over: Any
    best: Mapping[int, Any] | None  # what the best may be, under each posterior of a belief by its number
    told: ClassVar[str]  # what bits are told about, in words
    scale: ClassVar[str] = AMOUNT

    def _optima(self, posterior: Posterior, places: Array) -> Any:
        """What the best may be, where these places stand for the space."""
        raise NotImplementedError

    def _bits(self, part: Part, best: Any) -> Array:
        """What answers at the part's places tell about it."""
        raise NotImplementedError

    def _check(self) -> None:
        require_sign(self.sign)
        if self.over is not None:
            object.__setattr__(self, "over", as_reference(self.over, "over"))

    def prepare(self, belief: Posterior | Belief) -> Self:
        """With what the best may be under each posterior of this belief."""
        if self.over is None and not len(belief.data):
            return self
        parts = belief.posteriors if isinstance(belief, Belief) else (belief,)
        weights = belief.weights if isinstance(belief, Belief) else np.ones(1)
        found = {s: self._optima(each, self._places(each)) for s, each in enumerate(parts) if weights[s] > 0.0}
        return replace(self, best=found)  # type: ignore[type-var]

    def _places(self, posterior: Posterior) -> Array:
        some = [] if self.over is None else [posterior.data.completed(np.asarray(self.over, dtype=float))]
        some += [measured_places(posterior)] if len(posterior.data) else []
        return np.concatenate(some)

    def score(self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike) -> Array:
        require_askable(belief, instrument, places)
        if instrument.query != "place" or not sees_what_counts(belief, instrument):
            expected = "one that sees the function whose best is sought, place by place"
            raise InvalidInput("instrument", expected, instrument, "goal='minimise' or 'maximise' takes the others too")
        ready = self if self.best is not None else self.prepare(belief)
        if ready.best is None:  # nothing is measured and no places were given: those that are asked about stand for all
            ready = replace(self, over=np.asarray(places, dtype=float)).prepare(belief)  # type: ignore[type-var]
        assert ready.best is not None
        total = np.zeros(())
        for part in parts_of(belief, instrument, places):
            total = total + part.weight * self._bits(part, ready.best[part.number])
        return np.asarray(total)


@dataclass(frozen=True)
class MaxValueEntropy(AboutBest):
    """I(answer; the best value of f), in bits: where a reading tells most about how good the best place is.

    sign is 1 to maximise, -1 to minimise. `over` are places that stand for the space, beside those measured. `values`
    is how many values the best may have, all as probable. Under several posteriors it is the weighted average.

    >>> import gainful as gf
    >>> post = gf.GP(gf.SE()).condition(gf.Data().add(gf.Point(0.1), [[0.0]], [1.0]))
    >>> goal = MaxValueEntropy(over=[[0.0], [1.0], [4.0]])
    >>> near, far = goal.score(post, gf.Point(0.1), [[0.0], [4.0]])
    >>> bool(near < far)
    True
    """

    sign: int = MAXIMISE
    over: Any = field(default=None, repr=False)
    values: int = 8
    best: Mapping[int, tuple[float, ...]] | None = field(default=None, repr=False)
    told: ClassVar[str] = "how good the best place is"

    def __post_init__(self) -> None:
        self._check()
        require_count("values", self.values, 1, "8 is usual")

    def _optima(self, posterior: Posterior, places: Array) -> tuple[float, ...]:
        """Values of sign · f."""
        mean, variance = posterior.mean(places), posterior.variance(places)
        return tuple(values_of_best(self.sign * mean, np.sqrt(np.maximum(variance, 0.0)), self.values).tolist())

    def _bits(self, part: Part, best: tuple[float, ...]) -> Array:
        now = Marginal(*part.posterior.marginals(part.instrument, part.places))
        limits = np.broadcast_to(np.array(best)[:, None], (len(best), len(now.mean)))
        return bits_of_limits(part.instrument, self.sign, now, limits)


class Marginal(NamedTuple):
    """Means and variances of f at places, (M,) or (K, M)."""

    mean: Array
    variance: Array


def bits_of_limits(
    instrument: Instrument, sign: int, now: Marginal, limits: Array, then: Marginal | None = None
) -> Array:
    """What is lost in the entropy of answers, in bits, (M,), when sign · f is known to be below a limit: the mean over
    K limits (K, M), each of which may come with what f would be `then`, before it is cut off, (K, M)."""
    out = np.zeros(len(now.mean))
    unsure = np.flatnonzero(now.variance > 0.0)
    if not unsure.size:
        return out
    here = Marginal(now.mean[unsure], now.variance[unsure])
    top = limits[:, unsure]
    given = Marginal(*(np.broadcast_to(each, top.shape) for each in here))
    if then is not None:
        given = Marginal(then.mean[:, unsure], np.clip(then.variance[:, unsure], _TINY * here.variance, here.variance))
    gamma = (top - sign * given.mean) / np.sqrt(given.variance)
    channel = instrument.channel()
    if channel is not None and channel.is_number:
        seen, before = given.variance + channel.noise**2, here.variance + channel.noise**2
        lost = np.mean(entropy_lost(gamma, given.variance / seen) + 0.5 * np.log(before / seen), axis=0)
    else:
        lost = _over_answers(instrument, sign, here, given, gamma)
    out[unsure] = np.maximum(lost, 0.0) / _NATS
    return out


def _over_answers(instrument: Instrument, sign: int, now: Marginal, given: Marginal, gamma: Array) -> Array:
    """The mean divergence of what may be answered below the limits from what may be answered, in nats."""
    nodes, weights = gauss_legendre(_ALONG)

    def of(part: slice) -> Array:
        m, v = now.mean[part], now.variance[part]
        answers, continuous = instrument.outcomes(m, v)
        if continuous is not None:
            expected = "one that answers with numbers, or with a few kinds of answers"
            raise InvalidInput("instrument", expected, instrument, "KnowledgeGradient takes all of them")
        # f below a limit, at the quantiles that the nodes stand for: (K, M, nodes)
        shares = 0.5 * (nodes + 1.0) * ndtr(gamma[:, part])[..., None]
        spread = np.sqrt(given.variance[:, part])[..., None]
        f = given.mean[:, part, None] + sign * spread * ndtri(np.clip(shares, 1e-300, 1.0 - 1e-16))
        before = instrument.log_partition(answers.reshape(-1, *answers.shape[2:]), np.tile(m, len(answers)),
                                          np.tile(v, len(answers))).log_z.reshape(len(answers), -1)  # fmt: skip
        after = np.stack([
            np.exp(instrument.log_prob(np.broadcast_to(each[None, :, None], f.shape).ravel(), f.ravel()))
            .reshape(f.shape) @ (0.5 * weights)
            for each in answers
        ])  # fmt: skip
        after /= after.sum(axis=0)
        logs = np.where(after > 0.0, np.log(np.maximum(after, 1e-300)) - before[:, None], 0.0)
        return np.sum(after * logs, axis=0).mean(axis=0)

    return in_blocks(of, len(now.mean), 8 * _ALONG * len(gamma) * max(instrument.levels, 2))
