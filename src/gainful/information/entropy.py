"""Entropies of answers that come through a channel, in bits: H[answer] when g ~ N(m, v), and E[H[answer | g]].

Never from samples. An answer is one-dimensional, so both are closed forms or one-dimensional integrals, and the second
depends on the instrument through one function of g, H(g) = H[answer | g], which is worked out once per instrument:

- a number has constant entropy given g;
- an interval is a location family: given g its entropy is G(noise/width), under a belief G(√(v + noise²)/width), with
  G(r) the entropy of a unit uniform plus N(0, r²);
- a discrete answer's H(g) is a bump at each threshold, as wide as the noise, between constant levels. The levels
  average in closed form. The bumps are sampled on a lattice of half the noise; as they are analytic, the trapezoid rule
  against N(g; m, v) is exact to 1e-10 as soon as √v is three quarters of the noise, however vague the belief. Below
  that, Gauss–Hermite nodes about m are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, xlogy

from gainful.instruments.channel import Channel
from gainful.numerics.blas import matmul
from gainful.numerics.normal import log_ndtr_between
from gainful.numerics.quadrature import chebyshev_nodes, gauss_hermite, panels

Array = NDArray[np.float64]

_BITS = 1.0 / float(np.log(2.0))
_REACH = 9.0  # noises from a threshold: beyond, an answer is certain to 1e-18
_BUMP = 6.5  # noises from a threshold: beyond, a bump's integral is below 1e-9 bits
_PER_NOISE = 2  # lattice points per noise
_HERMITE = 18  # nodes: exact to 1e-10 where the belief is no wider than three quarters of the noise
_TABLE_PER_NOISE, _TABLE_MOST = 4096, 400_000


def of_probabilities(log_p: Array) -> Array:
    """−Σ p log2 p over the last axis.

    >>> of_probabilities(np.log(np.array([[0.5, 0.5], [0.25, 0.75]]))).round(4).tolist()
    [1.0, 0.8113]
    """
    p = np.exp(log_p)
    return np.asarray(-_BITS * np.sum(np.where(p > 0.0, p * np.where(p > 0.0, log_p, 0.0), 0.0), axis=-1))


def binary_entropy(p: Array | float) -> Array:
    """h(p) = −p log2 p − (1 − p) log2(1 − p)."""
    p = np.asarray(p, dtype=float)
    return np.asarray(-_BITS * (xlogy(p, p) + xlogy(1.0 - p, 1.0 - p)))


def of_bins(p: list[Array]) -> Array:
    """−Σ p log2 p over a list of arrays."""
    return np.asarray(-_BITS * sum((xlogy(x, x) for x in p), np.zeros(())))


def of_channel(channel: Channel, m: Array, v: Array) -> Array:
    """H[answer] of a discrete answer to one reading when g ~ N(m, v), (M,).

    A rank's probability is a difference of two values of Φ; its absolute error, 1e-16, is all that an entropy feels, so
    there is no need for logarithms that are exact in the tails.
    """
    return of_bins(channel.probabilities(m, v))


def of_reading(channel: Channel, variance: Array) -> Array:
    """H in bits of an answer that is a number or an interval, whose reading has this variance; −∞ where it is zero.

    Of a number ½ log2(2πe variance); of an interval that of its lower end, G(sd/width) + log2 width.
    """
    sd = np.sqrt(np.maximum(variance, 0.0))  # rounding may leave −1e-17 of one that is known
    if channel.is_interval:
        return np.asarray(interval_entropy(sd / channel.width) + np.log2(channel.width))
    with np.errstate(divide="ignore"):
        return np.asarray(0.5 * np.log2(2.0 * np.pi * np.e) + np.log2(sd))


@dataclass(frozen=True)
class ConditionalEntropy:
    """H(g) as steps between constant levels at `centres` (T,), with levels (T + 1,), plus bumps on a lattice.

    The noise is `scale`; nodes (J,) are lattice points and weights (J,) the bumps' heights there times the spacing.
    """

    channel: Channel
    levels: Array
    nodes: Array
    weights: Array

    @property
    def centres(self) -> Array:
        return self.channel.bounds

    @property
    def scale(self) -> float:
        return self.channel.noise

    def __call__(self, g: Array) -> Array:
        """H[answer | g], elementwise."""
        return of_channel(self.channel, g, np.zeros_like(g))

    def expected(self, m: Array, v: Array, tabulated: bool = True) -> Array:
        """E[H(g)] for g ~ N(m, v), (M,). A table of H pays where many are asked for of one instrument."""
        out = np.empty_like(m)
        vague = v >= (0.75 * self.scale) ** 2
        if vague.any():
            out[vague] = self._steps(m[vague], v[vague]) + self._lattice(m[vague], v[vague])
        if not vague.all():
            nodes, weights = gauss_hermite(_HERMITE)
            sharp = ~vague
            near = self._near if tabulated else self.__call__
            out[sharp] = matmul(near(m[sharp, None] + np.sqrt(v[sharp, None]) * nodes), weights)
        return out

    def _near(self, g: Array) -> Array:
        """H(g) from a table where there is one: linear between points a 4096th of the noise apart, good to 1e-8."""
        if self._table is None:
            return self(g)
        low, per_unit, values, rise = self._table
        at = (g - low) * per_unit
        np.clip(at, 0.0, len(values) - 1.0, out=at)  # beyond either end nothing changes
        cell = at.astype(np.intp)
        at -= cell
        at *= rise[cell]
        at += values[cell]
        return at

    @cached_property
    def _table(self) -> tuple[float, float, Array, Array] | None:
        """Where H(g) is tabulated from, points per unit, the values, and how much each rises to the next."""
        low, high = self.centres[0] - _REACH * self.scale, self.centres[-1] + _REACH * self.scale
        points = int(_TABLE_PER_NOISE * (high - low) / self.scale) + 1
        if points > _TABLE_MOST:
            return None
        values = self(np.linspace(low, high, points))
        return float(low), float((points - 1) / (high - low)), values, np.append(np.diff(values), 0.0)

    def _steps(self, m: Array, v: Array) -> Array:
        if not np.any(self.levels):
            return np.zeros_like(m)
        above = ndtr((m[:, None] - self.centres) / np.sqrt(v + self.scale**2)[:, None])
        return self.levels[0] + above @ np.diff(self.levels)

    def _lattice(self, m: Array, v: Array) -> Array:
        sd = np.sqrt(v)
        density = (self.nodes - m[:, None]) / sd[:, None]
        density *= density
        density *= -0.5
        np.exp(density, out=density)
        return matmul(density, self.weights) / (sd * np.sqrt(2.0 * np.pi))


@lru_cache(maxsize=512)  # a belief of forty parts with three instruments has a hundred and twenty
def conditional_entropy(channel: Channel) -> ConditionalEntropy | None:
    """H(g) of a discrete answer to one reading, worked out once; None when it is certain given g (no noise)."""
    centres, scale = channel.bounds, channel.noise
    if scale == 0.0:
        return None
    spacing = scale / _PER_NOISE
    reach = int(np.ceil(_BUMP * _PER_NOISE))
    steps = np.round((centres - centres[0]) / spacing)[:, None] + np.arange(-reach, reach + 1)
    nodes = centres[0] + spacing * np.unique(steps)
    with np.errstate(divide="ignore"):
        levels = of_probabilities(np.log(channel.limits))
    plain = ConditionalEntropy(channel, levels, nodes, np.zeros_like(nodes))
    bumps = plain(nodes) - plain._steps(nodes, np.zeros_like(nodes))
    return ConditionalEntropy(channel, levels, nodes, spacing * bumps)


_G_LOW, _G_HIGH = -9.0, 9.0  # log r between which G is tabulated
_G_ORDER, _G_POINTS = 220, 2**16 + 1


def uniform_plus_normal(r: Array) -> Array:
    """G(r): the entropy in bits of U + r Z with U uniform on (0, 1) and Z standard normal, by quadrature.

    With x = 1 + r t at the upper edge, the density is p(t) = Φ(t + 1/r) − Φ(t); by symmetry about 1/2 twice the
    integral of −p log2 p over t from −1/(2r) on. Far inside, p = 1 and nothing is added.

    >>> uniform_plus_normal(np.array([1e-12, 1e6])).round(6).tolist()
    [0.0, 21.978664]
    """
    start = np.maximum(-_REACH, -0.5 / r)
    ends = [start, 0.5 * start, np.zeros_like(r), np.full_like(r, 4.0), np.full_like(r, _REACH)]
    t, weight = panels(np.stack(ends, axis=-1), 48)
    width = np.broadcast_to(1.0 / r[:, None], t.shape)
    log_p = log_ndtr_between(t, t + width, width)
    return np.asarray(-2.0 * _BITS * r * np.sum(weight * np.exp(log_p) * log_p, axis=-1))


@lru_cache(maxsize=1)
def _table() -> tuple[Array, Array]:
    """log r and G(r) − ½ log2(1 + 2πe r²), which is small and smooth everywhere: dense enough to interpolate linearly.

    A Chebyshev polynomial of the difference in log r is exact to 1e-11; the table is that polynomial at many points.
    """
    x = chebyshev_nodes(_G_ORDER)
    r = np.exp(0.5 * (_G_HIGH - _G_LOW) * x + 0.5 * (_G_HIGH + _G_LOW))
    polynomial = np.polynomial.chebyshev.chebfit(x, uniform_plus_normal(r) - _backbone(r), _G_ORDER - 1)
    dense = np.linspace(-1.0, 1.0, _G_POINTS)
    values = np.polynomial.chebyshev.chebval(dense, polynomial)
    return 0.5 * (_G_HIGH - _G_LOW) * dense + 0.5 * (_G_HIGH + _G_LOW), np.asarray(values)


def _backbone(r: Array) -> Array:
    return 0.5 * np.log2(1.0 + 2.0 * np.pi * np.e * r**2)


def interval_entropy(r: Array) -> Array:
    """G(r) to 1e-8 bits, from a table in log r; below the table G is proportional to r, above it log2(r √(2πe)).

    >>> interval_entropy(np.array([0.1, 1.0])).round(6).tolist()
    [0.260608, 2.104833]
    """
    logs, values = _table()
    at = np.log(np.maximum(r, np.exp(_G_LOW)))
    out = np.interp(at, logs, values) + _backbone(np.exp(at))
    return np.where(r < np.exp(_G_LOW), out * r / np.exp(_G_LOW), out)
