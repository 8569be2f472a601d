"""What an answer tells about a value that explains part of what the instrument sees.

The instrument sees g ~ N(m, v). A value elsewhere explains e of v: given it, g ~ N(u, v − e) with u ~ N(m, e). So
I(answer; value) = H[answer] − E_u H[answer | u], one dimension however far away the value is; with e = v it is the
information about the function. A pending number that takes part of v away moves the mean by as much: `left` of v
remains, and entropies are averaged over that move as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainful.information import quadrature
from gainful.information.entropy import conditional_entropy, of_channel, of_reading
from gainful.instruments import Instrument
from gainful.instruments.channel import Channel
from gainful.numerics.quadrature import chebyshev_nodes, chebyshev_through, normal_lattice, panels

__all__ = ["Seen", "Slopes", "about_value", "slopes"]

Array = NDArray[np.float64]

_MANY = 1_000_000  # numbers held at a time
_EDGES_OF_BELIEF, _EDGES_OF_NOISE = (-9.0, -4.0, -1.3, 1.3, 4.0, 9.0), (-9.0, -3.0, 0.0, 3.0, 9.0)
_PER_PANEL = 16
_ENOUGH, _MORE = ((10.0, 20), (1e4, 32)), 128  # nodes of a polynomial by the variance, in units of the noise's
_SHARPEST = 1e-12  # of the variance: noise below it is none
_STEP = 1e-3  # of a spread, for differences


class Seen(NamedTuple):
    """What is seen somewhere, N(mean, variance), and the variance left once pending answers are in; (N,) each."""

    mean: Array
    variance: Array
    left: Array


class Slopes(NamedTuple):
    """The bits (M, R), and their derivatives in the mean, in the variance and in what is explained of it."""

    bits: Array
    mean: Array
    variance: Array
    explained: Array


def about_value(instrument: Instrument, seen: Seen, explained: Array) -> Array:
    """I(answer; value) in bits, (M, R), for what the instrument sees and what the values explain, (M, R)."""
    m, v, left = seen
    rest = np.maximum(left[:, None] - explained, 0.0)
    channel = instrument.channel()
    if channel is not None and channel.is_number:
        noise = channel.noise**2
        with np.errstate(divide="ignore", invalid="ignore"):  # a number without noise at the very place: infinite bits
            bits = 0.5 * np.log2((left[:, None] + noise) / (rest + noise))
        return np.where(left[:, None] > rest, bits, 0.0)
    if channel is not None and channel.is_interval:
        entropy = of_reading(channel, np.column_stack([left, rest]) + channel.noise**2)
        return np.maximum(entropy[:, :1] - entropy[:, 1:], 0.0)
    after = _left_over(instrument, channel)
    pending = not np.array_equal(left, v)
    before = after(m, v, left[:, None]) if pending else _entropy_of(instrument, channel, m, v)[:, None]
    return np.maximum(before - _interpolated(after, m, v, rest, channel), 0.0)


def slopes(instrument: Instrument, m: Array, v: Array, explained: Array) -> Slopes:
    """How `about_value` changes, with nothing pending: closed form for numbers, differences otherwise."""
    channel = instrument.channel()
    if channel is not None and channel.is_number:
        noise, half = channel.noise**2, 0.5 / np.log(2.0)
        rest = np.maximum(v[:, None] - explained, _SHARPEST * v[:, None] + np.finfo(float).tiny)
        in_rest = half / (rest + noise)
        bits = about_value(instrument, Seen(m, v, v), explained)
        return Slopes(bits, np.zeros_like(explained), half / (v[:, None] + noise) - in_rest, in_rest)
    # All that is to be differenced is one call: means and variances below each other, what is explained side by side.
    sd, M = np.sqrt(np.maximum(v, np.finfo(float).tiny)), len(m)
    moves, grows = (0.0, _STEP, -_STEP, 0.0, 0.0), (0.0, 0.0, 0.0, _STEP, -_STEP)
    means = np.concatenate([m + move * sd for move in moves])
    variances = np.concatenate([v * np.exp(grow) for grow in grows])
    low, high = (
        np.clip(explained - _STEP * v[:, None], 0.0, None),
        np.minimum(explained + _STEP * v[:, None], v[:, None]),
    )
    there = np.minimum(np.tile(np.concatenate([explained, low, high], axis=1), (5, 1)), variances[:, None])
    found = about_value(instrument, Seen(means, variances, variances), there).reshape(5, M, 3, -1)
    bits, less, more = found[0, :, 0], found[0, :, 1], found[0, :, 2]
    in_mean = (found[1, :, 0] - found[2, :, 0]) / (2.0 * _STEP * sd[:, None])
    in_variance = (found[3, :, 0] - found[4, :, 0]) / (2.0 * _STEP * sd[:, None] ** 2)
    room, rise = high - low, more - less
    return Slopes(bits, in_mean, in_variance, np.divide(rise, room, out=np.zeros_like(rise), where=room > 0.0))


Left = Callable[[Array, Array, Array], Array]  # m (M,), v (M,), rest (M, R) -> E_u H[answer | u], (M, R)


def _entropy_of(instrument: Instrument, channel: Channel | None, m: Array, v: Array) -> Array:
    return quadrature.entropy(instrument, m, v) if channel is None else of_channel(channel, m, v)


def _left_over(instrument: Instrument, channel: Channel | None) -> Left:
    """E[H[answer | u]] for u ~ N(m, v − rest), when given u the instrument sees N(u, rest)."""
    if channel is None:
        return lambda m, v, rest: quadrature.about_part(instrument, m, v, rest)

    def after(m: Array, v: Array, rest: Array) -> Array:
        centre, explained = np.broadcast_to(m[:, None], rest.shape), v[:, None] - rest
        return _expected_entropy(channel, centre.ravel(), rest.ravel(), explained.ravel()).reshape(rest.shape)

    return after


def _interpolated(after: Left, m: Array, v: Array, rest: Array, channel: Channel | None) -> Array:
    """The same for many values of rest: a Chebyshev polynomial in log(noise² + rest), in which it is smooth (and for a
    number linear). Good to 1e-8 bits."""
    noise = 0.0 if channel is None else channel.noise
    most = float(np.max(v, initial=0.0)) / noise**2 if noise > 0.0 else 1e3
    one_edge = channel is not None and len(channel.bounds) == 1
    nodes = next((n for ratio, n in _ENOUGH[not one_edge :] if most < ratio), _MORE)
    if rest.shape[1] <= 2 * nodes:
        return after(m, v, rest)
    least = np.maximum(noise**2, _SHARPEST * v) if noise > 0.0 else 1e-4 * v + np.finfo(float).tiny
    low, high = np.log(least), np.log(least + v)
    reach = np.maximum(high - low, np.finfo(float).tiny)
    at = np.exp(low[:, None] + 0.5 * (chebyshev_nodes(nodes) + 1.0) * reach[:, None]) - least[:, None]
    values = after(m, v, np.clip(at, 0.0, v[:, None]))
    y = 2.0 * (np.log(least[:, None] + rest) - low[:, None]) / reach[:, None] - 1.0
    return chebyshev_through(values, y)


def _expected_entropy(channel: Channel, m: Array, rest: Array, explained: Array) -> Array:
    """E[H[answer | u]] for u ~ N(m, explained), when given u the reading is N(u, rest) and its noise; (N,) each."""
    centres = channel.bounds
    spread = np.sqrt(channel.noise**2 + rest)
    blurred = spread > 0.0
    out = np.zeros_like(m)  # without noise, an answer is certain given all that it sees
    if len(centres) == 1 and centres[0] == 0.0:
        # A yes/no answer that sees more noise is one that sees a smaller g.
        plain = conditional_entropy(Channel(1.0, (0.0,), channel.mixing))
        assert plain is not None
        out[blurred] = plain.expected(m[blurred] / spread[blurred], explained[blurred] / spread[blurred] ** 2)
        return out
    wide = np.sqrt(explained)
    smooth = blurred & (wide <= spread)
    for cases, rule in ((smooth, _by_lattice), (blurred & ~smooth, _by_panels)):
        chosen = np.flatnonzero(cases)
        few = max(1, _MANY // (_PER_PANEL * (len(_EDGES_OF_NOISE) * len(centres) + len(_EDGES_OF_BELIEF))))
        for i in range(0, len(chosen), few):
            case = chosen[i : i + few]
            out[case] = rule(channel, m[case], wide[case], rest[case], spread[case])
    return out


def _by_lattice(channel: Channel, m: Array, wide: Array, rest: Array, _: Array) -> Array:
    """By the trapezoid rule, which is exact to rounding as long as H is no sharper than u is wide."""
    z, weight = normal_lattice(2)
    u = m[:, None] + wide[:, None] * z
    return np.asarray(_entropy_at(channel, u, rest) @ weight)


def _by_panels(channel: Channel, m: Array, wide: Array, rest: Array, spread: Array) -> Array:
    """By Gauss–Legendre on panels that end about the belief's own spreads and about each threshold's."""
    own = m[:, None] + wide[:, None] * np.array(_EDGES_OF_BELIEF)
    bends = (channel.bounds[None, :, None] + spread[:, None, None] * np.array(_EDGES_OF_NOISE)).reshape(len(m), -1)
    u, weight = panels(np.sort(np.clip(np.column_stack([own, bends]), own[:, :1], own[:, -1:]), axis=1), _PER_PANEL)
    z = (u - m[:, None]) / wide[:, None]
    density = weight * np.exp(-0.5 * z**2) / (wide[:, None] * np.sqrt(2.0 * np.pi))
    return np.asarray(np.einsum("nq,nq->n", _entropy_at(channel, u, rest), density))


def _entropy_at(channel: Channel, u: Array, rest: Array) -> Array:
    return of_channel(channel, u, np.broadcast_to(rest[:, None], u.shape))
