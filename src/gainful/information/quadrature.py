"""Information of an instrument that has no channel, from its `log_prob` alone, by one-dimensional quadrature.

With g ~ N(m, v) what the instrument sees, Z(y) = ∫ p(y | g) N(g; m, v) dg the probability of the answer y, and
p(g | y) ∝ p(y | g) N(g; m, v):

    I(y; f) = Σ_y Z(y) (E[log p(y | g) | y] − log Z(y)),     H[y] = −Σ_y Z(y) log Z(y)

The sum is over all answers where they are few, over nodes for numbers and counts (`Instrument.outcomes`). About f(z) at
another place, which explains a part of v, the rest of v being left: I = H[y] − E_u H[y | u], u ~ N(m, explained).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gainful.instruments import Instrument
from gainful.numerics.quadrature import gauss_hermite, tilted

__all__ = ["about_part", "entropy", "information"]

Array = NDArray[np.float64]

_BITS = 1.0 / float(np.log(2.0))
_SOME = 4_000  # integrals at a time
_NODES = 40  # of u


def information(instrument: Instrument, m: Array, v: Array) -> Array:
    """I(answer; f) in bits, (M,), when the instrument sees N(m, v); to 1e-9 bits for a few answers."""
    out = np.empty(len(m))
    weight = None
    for part in _parts(instrument, m, v):
        answers, weight = instrument.outcomes(m[part], v[part])
        Q, M = answers.shape
        y, mean, variance = answers.ravel(), np.tile(m[part], Q), np.maximum(np.tile(v[part], Q), 1e-300)
        found = tilted(lambda g, which, y=y: instrument.log_prob(y[which, None], g), mean, variance)  # type: ignore[misc]
        log_p = instrument.log_prob(y[found.which], found.g)
        inside = found.average(np.where(np.isfinite(log_p), log_p, 0.0)).reshape(Q, M)
        log_z = found.log_z.reshape(Q, M)
        likely = np.isfinite(log_z)
        share = np.where(likely, np.exp(log_z), 0.0) if weight is None else weight
        out[part] = _BITS * np.sum(share * np.where(likely, inside - log_z, 0.0), axis=0)
    return np.maximum(np.where(v > 0.0, out, 0.0), 0.0)


def entropy(instrument: Instrument, m: Array, v: Array) -> Array:
    """H[answer] in bits, (M,), when the instrument sees N(m, v); of numbers the differential entropy."""
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
