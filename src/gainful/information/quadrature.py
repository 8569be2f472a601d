"""Information of an instrument that has no channel, from its `log_prob` alone, by one-dimensional quadrature.

With g ~ N(m, v) what the instrument sees, Z(y) = ∫ p(y | g) N(g; m, v) dg the probability of the answer y, and
p(g | y) ∝ p(y | g) N(g; m, v):

    I(y; f) = Σ_y Z(y) (E[log p(y | g) | y] − log Z(y)),     H[y] = −Σ_y Z(y) log Z(y)

The sum is over all answers where they are few, over nodes for numbers and counts (`Instrument.outcomes`). About f(z) at
another place, which explains a part of v, the rest of v being left: I = H[y] − E_u H[y | u], u ~ N(m, explained).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from gainful.instruments import Instrument
from gainful.instruments.answers import DiscreteAnswers
from gainful.instruments.generic import answer_nodes
from gainful.numerics.blas import matmul
from gainful.numerics.quadrature import chebyshev_nodes, chebyshev_through, gauss_hermite

__all__ = ["Table", "about_part", "entropy", "information", "on_lattice"]

Array = NDArray[np.float64]

_BITS = 1.0 / float(np.log(2.0))
_SOME = 4_000  # integrals at a time
_REACH = 8.5  # spreads beyond which a belief has less than 1e-16 of its mass
_TABLE = 4_000_000  # numbers in a table
_NODES = 40  # of u
_LOW, _HIGH, _ORDER = -18.0, 18.0, 64  # log v between which information is tabulated, and nodes


def information(instrument: Instrument, m: Array, v: Array) -> Array:
    """I(answer; f) in bits, (M,), when the instrument sees N(m, v); to 1e-9 bits for a few answers.

    Of a number whose distribution only shifts with g it depends on v alone, and is tabulated once.
    """
    if instrument.shifts:
        return _of_shifted(instrument, v)
    found = on_lattice(instrument, m, v)
    if found is None:
        return _information(instrument, m, v)
    before = -found.measure @ xlogy(found.probability, found.probability)
    return np.maximum(_BITS * (before - found.conditional), 0.0)


class Table(NamedTuple):
    """Probabilities of Q answers to M queries: what each answer stands for (Q,), P(answer) (Q, M), and the expected
    entropy of the answer given g, in nats, (M,)."""

    measure: Array
    probability: Array
    conditional: Array


def on_lattice(instrument: Instrument, m: Array, v: Array) -> Table | None:
    """From one table of p(answer | g) on a lattice that all queries share; None where it would be too large.

    Trapezoid sums are exact to rounding once the lattice resolves the likelihood and the narrowest belief.
    """
    if not len(m):
        return None
    if instrument.values is not None:
        answers, measure = np.asarray(instrument.values), np.ones(len(instrument.values))
    elif instrument.answers == "count":
        widest = np.array([int(np.argmax(m + 5.0 * np.sqrt(v)))])
        nodes, measures = answer_nodes(instrument, m[widest], v[widest])
        answers, measure = nodes[:, 0], measures[:, 0]
    else:
        return None
    grain, sd = instrument.grain(answers), np.sqrt(v)
    if grain is None or not np.all(sd > 0.0):
        return None
    step = min(grain, float(np.min(sd)) / 1.5)
    low, high = float(np.min(m - _REACH * sd)), float(np.max(m + _REACH * sd))
    if (high - low) / step * max(len(answers), 1) > _TABLE:
        return None
    g = np.arange(low, high + step, step)
    with np.errstate(over="ignore"):
        log_p = instrument.log_prob(answers[:, None], g)
    p = np.exp(log_p)
    given = -measure @ np.where(p > 0.0, p * log_p, 0.0)
    probability, conditional = np.empty((len(answers), len(m))), np.empty(len(m))
    some = max(1, _TABLE // len(g))
    for i in range(0, len(m), some):
        part = slice(i, i + some)
        weight = np.exp(-0.5 * ((g[:, None] - m[part]) / sd[part]) ** 2)
        weight /= weight.sum(axis=0)
        probability[:, part], conditional[part] = matmul(p, weight), given @ weight
    return Table(measure, probability, conditional)


def _information(instrument: Instrument, m: Array, v: Array) -> Array:
    out = np.empty(len(m))
    for part in _parts(instrument, m, v):
        answers, weight = instrument.outcomes(m[part], v[part])
        Q, M = answers.shape
        y, mean, variance = answers.ravel(), np.tile(m[part], Q), np.maximum(np.tile(v[part], Q), 1e-300)
        found = instrument.tilted(y, mean, variance)
        with np.errstate(over="ignore"):
            log_p = instrument.log_prob(y[found.which], found.g)
        inside = found.average(np.where(np.isfinite(log_p), log_p, 0.0)).reshape(Q, M)
        log_z = found.log_z.reshape(Q, M)
        likely = np.isfinite(log_z)
        share = np.where(likely, np.exp(log_z), 0.0) if weight is None else weight
        out[part] = _BITS * np.sum(share * np.where(likely, inside - log_z, 0.0), axis=0)
    return np.maximum(np.where(v > 0.0, out, 0.0), 0.0)


def _of_shifted(instrument: Instrument, v: Array) -> Array:
    """I(answer; f) for y = g + noise of any shape, by a polynomial in log v; beyond its ends by their asymptotes."""
    standard, unit = instrument.standardised()
    bits = _shifted_table(standard)[None]
    at = np.log(np.maximum(v / unit**2, 1e-300))
    y = np.clip(2.0 * (at - _LOW) / (_HIGH - _LOW) - 1.0, -1.0, 1.0)[None]
    found = np.exp(chebyshev_through(bits, y)[0])
    # Below, information is proportional to the variance; above, every fourfold variance is one bit more.
    return np.where(at < _LOW, found * np.exp(at - _LOW), found + np.maximum(0.5 * _BITS * (at - _HIGH), 0.0))


@lru_cache(maxsize=32)
def _shifted_table(instrument: Instrument) -> Array:
    """log of the information at Chebyshev nodes in log v."""
    v = np.exp(0.5 * (_HIGH - _LOW) * (chebyshev_nodes(_ORDER) + 1.0) + _LOW)
    return np.log(np.maximum(_information(instrument, np.zeros_like(v), v), 1e-300))


def entropy(instrument: Instrument, m: Array, v: Array) -> Array:
    """H[answer] in bits, (M,), when the instrument sees N(m, v); of numbers the differential entropy."""
    if m.ndim == 2:  # a set, one of a few answers
        predicted = instrument.predict(m, v)
        assert isinstance(predicted, DiscreteAnswers)
        return np.asarray(-_BITS * xlogy(predicted.probabilities, predicted.probabilities).sum(axis=1))
    table = on_lattice(instrument, m, v)
    if table is not None:
        return np.asarray(-_BITS * (table.measure @ xlogy(table.probability, table.probability)))
    out = np.empty(len(m))
    for part in _parts(instrument, m, v):
        answers, weight = instrument.outcomes(m[part], v[part])
        Q, M = answers.shape
        log_z = instrument.log_partition(answers.ravel(), np.tile(m[part], Q), np.tile(v[part], Q)).log_z.reshape(Q, M)
        likely = np.isfinite(log_z)
        share = np.where(likely, np.exp(log_z), 0.0) if weight is None else weight
        out[part] = -_BITS * np.sum(share * np.where(likely, log_z, 0.0), axis=0)
    return out


def about_part(instrument: Instrument, m: Array, v: Array, rest: Array) -> Array:
    """E_u H[answer | u] in bits, shaped like rest (M, R), for u ~ N(m, v − rest) when given u it sees N(u, rest)."""
    z, weight = gauss_hermite(_NODES)
    spread = np.sqrt(np.maximum(v[:, None] - rest, 0.0))
    u = m[:, None, None] + spread[:, :, None] * z
    inner = np.broadcast_to(rest[:, :, None], u.shape)
    return np.asarray(entropy(instrument, u.ravel(), inner.ravel()).reshape(u.shape) @ weight)


def _parts(instrument: Instrument, m: Array, v: Array) -> list[slice]:
    """Queries a few at a time, so that all answers of each fit into memory."""
    answers = 200 if instrument.values is None else len(instrument.values)
    step = max(1, _SOME // answers)
    return [slice(i, i + step) for i in range(0, len(m), step)]
