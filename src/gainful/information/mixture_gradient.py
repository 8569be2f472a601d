"""The gradient of a mixture's information in the places: slopes in what each part sees, pulled back part by part.

With p_s(y) the density or probability of an answer under part s, and p = Σ w_s p_s, the terms in which the logarithms
vary cancel, because densities keep integrating to one:

    I(y; s) = Σ w_s ∫ p_s log(p_s/p),     dI/dm_s = w_s ∫ (∂p_s/∂m_s) log(p_s/p)

and the same in the variance v_s. Numbers: ∂p/∂m = p t/σ and ∂p/∂v = p (t² − 1)/2σ² for t = (y − m)/σ. Answers that come
from a reading between edges: differences of φ at the edges, mixed as the answers are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from gainful.inference.belief import Belief
from gainful.information.about import Region
from gainful.information.gradient import stacked_slopes
from gainful.information.mixture import OfEachPart, Several, alike, channels_of, grouped, panels_of, rounding
from gainful.information.region import AboutRegion
from gainful.instruments import Instrument
from gainful.instruments.channel import Channel
from gainful.numerics.quadrature import gauss_legendre

__all__ = ["Slopes", "disagreement_slopes", "mixture_information_and_gradient"]

Array = NDArray[np.float64]

_BITS = 1.0 / float(np.log(2.0))
_NODES = 16  # in each panel, which is no wider than four spreads of a part in it: to 1e-9 bits
_LEAST = 1e-300


class Slopes(NamedTuple):
    """Bits (M,), and their derivatives in the mean and the variance of what each part sees, (S, M)."""

    bits: Array
    mean: Array
    variance: Array


def mixture_information_and_gradient(
    belief: Belief, instrument: Instrument, places: ArrayLike, about: str | Region | OfEachPart
) -> tuple[Array, Array] | None:
    """`mixture_information` (M,) and its derivatives in the places, shaped like them; None where slopes are not known:
    of sets, intervals and answers without a channel, and about answers in a region."""
    region = about.region if isinstance(about, OfEachPart) else about
    if isinstance(region, Region) and region.answers is not None:
        return None
    parts = belief.each(instrument, places)
    looks = [part.posterior.vjp(part.instrument, places) for part in parts]
    found = Several(
        np.array([part.weight for part in parts]),
        tuple(part.instrument for part in parts),
        np.stack([look.mean for look in looks]),
        np.stack([look.variance for look in looks]),
    )
    apart = disagreement_slopes(found, rounding(belief, instrument, places))
    if apart is None:
        return None
    bits, in_mean, in_variance = apart
    groups = alike(belief, about)
    if groups:
        bits, in_mean, in_variance = _between(groups, found, apart, rounding(belief, instrument, places))
    if isinstance(about, str) and about == "function":
        within = _within_slopes(found)
        weights = found.weights[:, None]
        bits = bits + found.weights @ within.bits
        in_mean, in_variance = in_mean + weights * within.mean, in_variance + weights * within.variance
    gradient = np.zeros(np.shape(places))
    for i, (part, look) in enumerate(zip(parts, looks, strict=True)):
        gradient += look.back(in_mean[i], in_variance[i])
        if isinstance(region, Region):
            mine = about.parts[part.number] if isinstance(about, OfEachPart) else AboutRegion(part.posterior, region)
            more, slope = mine.score_and_gradient(part.instrument, places)
            bits, gradient = bits + part.weight * more, gradient + part.weight * slope
    return bits, gradient


def _between(groups: list[NDArray[np.intp]], found: Several, apart: Slopes, floor: Array | float) -> Slopes:
    """I(y; m) = I(y; s) − Σ_m W_m I(y; s | m) and its derivatives, from those of I(y; s); m is a group of parts."""
    bits, in_mean, in_variance = apart.bits, apart.mean.copy(), apart.variance.copy()
    for mine in groups:
        share, own = found.some(mine)
        within = disagreement_slopes(own, floor)
        assert within is not None  # it is known of all parts together
        bits = bits - share * within.bits
        in_mean[mine] -= share * within.mean
        in_variance[mine] -= share * within.variance
    return Slopes(np.maximum(bits, 0.0), in_mean, in_variance)


def _within_slopes(found: Several) -> Slopes:
    """I(y; f | s) of every part (S, M), and its derivatives; parts that share an instrument at once."""
    bits, in_mean, in_variance = (np.empty(found.mean.shape) for _ in range(3))
    for instrument, mine in grouped(found.instruments):
        m, v = found.mean[mine], found.variance[mine]
        slopes = stacked_slopes(instrument, m.ravel(), v.ravel())
        bits[mine], in_mean[mine], in_variance[mine] = (each.reshape(m.shape) for each in slopes)
    return Slopes(bits, in_mean, in_variance)


def disagreement_slopes(found: Several, floor: Array | float = 0.0) -> Slopes | None:
    """I(y; s) and its derivatives; None of sets, intervals and answers without a channel."""
    channels = [each.channel() for each in found.instruments]
    first = channels[0]
    if first is None or first.any_of or first.is_interval:
        return None
    if len(channels) == 1:
        nothing = np.zeros(found.mean.shape)
        return Slopes(nothing[0], nothing, nothing)
    if first.is_number:
        return _of_numbers(found, floor)
    return _of_a_few(found, [channel for channel in channels if channel is not None])


def _of_a_few(found: Several, channels: Sequence[Channel]) -> Slopes:
    """Σ_k w_s (∂P_s(k)/∂m_s) log(P_s(k)/P(k))."""
    cases = [_answers(channel, m, v) for channel, m, v in zip(channels, found.mean, found.variance, strict=True)]
    p, in_mean, in_variance = (np.stack(each) for each in zip(*cases, strict=True))  # (S, K, M)
    mixed = np.tensordot(found.weights, p, axes=1)
    log_ratio = np.log(np.maximum(p, _LEAST)) - np.log(np.maximum(mixed, _LEAST))
    weights = found.weights[:, None]
    bits = _BITS * np.einsum("s,skm,skm->m", found.weights, p, log_ratio)
    slopes = [_BITS * weights * np.einsum("skm,skm->sm", each, log_ratio) for each in (in_mean, in_variance)]
    return Slopes(np.maximum(bits, 0.0), slopes[0], slopes[1])


def _answers(channel: Channel, m: Array, v: Array) -> tuple[Array, Array, Array]:
    """P(answer) and its derivatives in m and v, (K, M) each."""
    spread = np.sqrt(np.maximum(v + channel.noise**2, _LEAST))
    z = (channel.bounds[:, None] - m) / spread
    density = np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)
    nothing = np.zeros((1, len(m)))
    slopes = []
    for below in (-density / spread, -0.5 * density * z / spread**2):
        bins = np.diff(np.concatenate([nothing, below, nothing]), axis=0)
        slopes.append(np.stack(channel.answers(list(bins))))
    return np.stack(channel.probabilities(m, v)), slopes[0], slopes[1]


def _of_numbers(found: Several, floor: Array | float) -> Slopes:
    """By Gauss–Legendre on the panels that hold all parts and are narrow where one is."""
    weights, m, v = found.weights, found.mean, found.variance
    noise = np.array([channel.noise for channel in channels_of(found.instruments)])[:, None]
    reading = np.maximum(v + noise**2, np.maximum(floor, _LEAST))
    spread, log_w = np.sqrt(reading), np.log(weights)
    which, low, high = panels_of(log_w, m, spread)
    nodes, rule = gauss_legendre(_NODES)
    half = 0.5 * (high - low)
    y = (0.5 * (low + high))[:, None] + half[:, None] * nodes
    t = (y - m[:, which, None]) / spread[:, which, None]
    log_p = -0.5 * t**2 - np.log(spread[:, which, None]) - 0.5 * np.log(2.0 * np.pi)
    log_ratio = log_p - logsumexp(log_w[:, None, None] + log_p, axis=0)
    each = np.exp(log_p) * log_ratio * (half[:, None] * rule)
    parts = [np.sum(each, axis=2), np.sum(each * t, axis=2), np.sum(each * (t**2 - 1.0), axis=2)]  # (S, panels)
    total = [np.zeros(m.shape) for _ in parts]
    for out, panel in zip(total, parts, strict=True):
        np.add.at(out.T, which, _BITS * (weights[:, None] * panel).T)
    moves = v + noise**2 >= np.maximum(floor, _LEAST)  # what is known up to rounding stays known
    in_mean, in_variance = total[1] / spread, np.where(moves, 0.5 * total[2] / reading, 0.0)
    return Slopes(np.maximum(total[0].sum(axis=0), 0.0), in_mean, in_variance)
