"""Entropies of answers, in bits: H[answer] when g ~ N(m, v), and E[H[answer | g]].

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
from functools import cached_property, lru_cache, singledispatch

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, xlogy

from gainful.errors import InvalidInput
from gainful.instruments import Binary, Instrument, Ordinal, Preference
from gainful.instruments.answers import DiscreteAnswers
from gainful.numerics.blas import matmul
from gainful.numerics.normal import log_ndtr_between
from gainful.numerics.quadrature import gauss_hermite

Array = NDArray[np.float64]

_BITS = 1.0 / float(np.log(2.0))
_REACH = 9.0  # noises from a threshold: beyond, an answer is certain to 1e-18
_BUMP = 6.5  # noises from a threshold: beyond, a bump's integral is below 1e-9 bits
_PER_NOISE = 2  # lattice points per noise
_HERMITE = 32
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


def of_answers(instrument: Instrument, m: Array, v: Array) -> Array:
    """H[answer] of a discrete instrument when g ~ N(m, v), (M,).

    A rank's probability is a difference of two values of Φ; its absolute error, 1e-16, is all that an entropy feels, so
    there is no need for logarithms that are exact in the tails.
    """
    if isinstance(instrument, Ordinal) and instrument.noise > 0.0:
        spread = np.sqrt(v + instrument.noise**2)
        below = np.zeros((instrument.levels + 1, len(m)))
        below[-1] = 1.0
        ndtr((np.asarray(instrument.thresholds)[:, None] - m) / spread, out=below[1:-1])
        p = np.maximum(np.diff(below, axis=0), 0.0)
        return np.asarray(-_BITS * np.sum(xlogy(p, p), axis=0))
    answers = instrument.answers(m, v)
    assert isinstance(answers, DiscreteAnswers)
    return of_probabilities(answers.log_probabilities)


@dataclass(frozen=True)
class Bumps:
    """H(g) as steps between constant levels at `centres` (T,), with levels (T + 1,), plus bumps on a lattice.

    The noise is `scale`; nodes (J,) are lattice points and weights (J,) the bumps' heights there times the spacing.
    """

    instrument: Instrument
    centres: Array
    levels: Array
    scale: float
    nodes: Array
    weights: Array

    def __call__(self, g: Array) -> Array:
        """H[answer | g], elementwise."""
        flat = g.ravel()
        return of_probabilities(self.instrument.answers(flat, np.zeros_like(flat)).log_probabilities).reshape(g.shape)  # type: ignore[union-attr]

    def expected(self, m: Array, v: Array) -> Array:
        """E[H(g)] for g ~ N(m, v), (M,)."""
        out = np.empty_like(m)
        vague = v >= (0.75 * self.scale) ** 2
        if vague.any():
            out[vague] = self._steps(m[vague], v[vague]) + self._lattice(m[vague], v[vague])
        if not vague.all():
            nodes, weights = gauss_hermite(_HERMITE)
            sharp = ~vague
            out[sharp] = matmul(self._near(m[sharp, None] + np.sqrt(v[sharp, None]) * nodes), weights)
        return out

    def _near(self, g: Array) -> Array:
        """H(g) from a table where there is one: linear between points a 4096th of the noise apart, good to 1e-8."""
        if self._table is None:
            return self(g)
        return np.interp(g, *self._table)

    @cached_property
    def _table(self) -> tuple[Array, Array] | None:
        low, high = self.centres[0] - _REACH * self.scale, self.centres[-1] + _REACH * self.scale
        points = int(_TABLE_PER_NOISE * (high - low) / self.scale) + 1
        if points > _TABLE_MOST:
            return None
        g = np.linspace(low, high, points)
        return g, self(g)

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


@singledispatch
def features(instrument: Instrument) -> tuple[Array, Array, float]:
    """(centres, levels, noise) of H(g) for a discrete instrument: where it bends, its limits between, how sharply."""
    raise InvalidInput(
        "instrument", "an instrument with discrete answers of one value", instrument, "see gainful.goals"
    )


@features.register
def _(instrument: Ordinal) -> tuple[Array, Array, float]:
    return np.asarray(instrument.thresholds), np.zeros(instrument.levels), float(instrument.noise)


@features.register
def _(instrument: Binary) -> tuple[Array, Array, float]:
    limits = binary_entropy(np.array([instrument.guess, 1.0 - instrument.lapse]))
    return np.zeros(1), limits, 1.0


@features.register
def _(instrument: Preference) -> tuple[Array, Array, float]:
    return np.zeros(1), np.zeros(2), float(np.sqrt(2.0) * instrument.noise)


@lru_cache(maxsize=64)
def conditional_entropy(instrument: Instrument) -> Bumps | None:
    """H(g) of a discrete instrument, worked out once; None when its answers are certain given g (no noise)."""
    centres, levels, scale = features(instrument)
    if scale == 0.0:
        return None
    spacing = scale / _PER_NOISE
    reach = int(np.ceil(_BUMP * _PER_NOISE))
    steps = np.round((centres - centres[0]) / spacing)[:, None] + np.arange(-reach, reach + 1)
    nodes = centres[0] + spacing * np.unique(steps)
    plain = Bumps(instrument, centres, levels, scale, nodes, np.zeros_like(nodes))
    bumps = plain(nodes) - plain._steps(nodes, np.zeros_like(nodes))
    return Bumps(instrument, centres, levels, scale, nodes, spacing * bumps)


_G_LOW, _G_HIGH = -9.0, 9.0  # log r between which G is tabulated
_G_ORDER, _G_POINTS = 220, 2**16 + 1


def uniform_plus_normal(r: Array) -> Array:
    """G(r): the entropy in bits of U + r Z with U uniform on (0, 1) and Z standard normal, by quadrature.

    With x = 1 + r t at the upper edge, the density is p(t) = Φ(t + 1/r) − Φ(t); by symmetry about 1/2 twice the
    integral of −p log2 p over t from −1/(2r) on. Far inside, p = 1 and nothing is added.

    >>> uniform_plus_normal(np.array([1e-12, 1e6])).round(6).tolist()
    [0.0, 21.978664]
    """
    nodes, weights = np.polynomial.legendre.leggauss(48)
    total = np.zeros_like(r)
    start = np.maximum(-_REACH, -0.5 / r)
    for a, b in ((start, 0.5 * start), (0.5 * start, np.zeros_like(r)), (np.zeros_like(r), np.full_like(r, 4.0)),
                 (np.full_like(r, 4.0), np.full_like(r, _REACH))):  # fmt: skip
        half = 0.5 * (b - a)
        t = 0.5 * (a + b) + half * nodes[:, None]
        log_p = log_ndtr_between(t, t + 1.0 / r, np.broadcast_to(1.0 / r, t.shape))
        total += half * np.einsum("k,km->m", weights, -np.exp(log_p) * log_p)
    return 2.0 * _BITS * r * total


@lru_cache(maxsize=1)
def _table() -> tuple[Array, Array]:
    """log r and G(r) − ½ log2(1 + 2πe r²), which is small and smooth everywhere: dense enough to interpolate linearly.

    A Chebyshev polynomial of the difference in log r is exact to 1e-11; the table is that polynomial at many points.
    """
    x = np.cos(np.pi * (np.arange(_G_ORDER) + 0.5) / _G_ORDER)
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
