"""The gradient of information in the places: for choosing among all places of a box, not only among candidates.

Information is a smooth function of what the instrument sees, N(m, v): two numbers for a place or a pair, a vector and a
matrix for a set. Its derivatives in those are closed form for numbers and central differences (of fourth order, in
units of the belief's own spread) otherwise. From there to the places the kernel's pullback goes, exactly.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.inference.posterior import Posterior
from gainful.information.single import information_given
from gainful.instruments import Instrument

__all__ = ["information_and_gradient", "information_slopes", "stacked_slopes"]

Array = NDArray[np.float64]

_STEP = 1e-2
_STENCIL = ((1.0, 2.0 / 3.0), (2.0, -1.0 / 12.0))  # f' ≈ Σ w (f(x + sh) − f(x − sh))/h, off by h⁴
_PLAIN = ((1.0, 0.5),)  # off by h², where a value is dear


def information_and_gradient(belief: Posterior, instrument: Instrument, places: ArrayLike) -> tuple[Array, Array]:
    """Bits about the function, (M,), and their derivatives in the places, shaped like them.

    >>> import gainful as gf
    >>> post = gf.GP(gf.SE()).condition(gf.Data().add(gf.Point(0.1), [[0.0]], [1.0]))
    >>> bits, slope = information_and_gradient(post, gf.Point(0.1), [[0.5], [-0.5]])
    >>> bool(slope[0, 0] > 0), bool(np.isclose(slope[0, 0], -slope[1, 0]))
    (True, True)
    """
    seen = belief.vjp(instrument, places)
    bits = information_given(instrument, seen.mean, seen.variance)
    return bits, seen.back(*information_slopes(instrument, seen.mean, seen.variance))


def information_slopes(instrument: Instrument, m: Array, v: Array) -> tuple[Array, Array]:
    """Derivatives of information in m and v; of a covariance, in its entries, each half of a symmetric pair."""
    channel = instrument.channel()
    if channel is not None and channel.is_number:
        reading, half = v + channel.noise**2, np.full_like(v, 0.5 / np.log(2.0))
        # What is known tells nothing, and nothing nearby: a number without noise is no guide to anywhere.
        return np.zeros_like(m), np.divide(half, reading, out=np.zeros_like(v), where=reading > 0.0)
    if m.ndim == 1:
        sd, stencil = np.sqrt(np.maximum(v, np.finfo(float).tiny)), _STENCIL if channel is not None else _PLAIN
        by_variance = _difference(lambda h: information_given(instrument, m, v * np.exp(h)), m, stencil)
        if instrument.shifts:
            return np.zeros_like(m), by_variance / np.maximum(v, 1e-300)
        in_mean = _difference(lambda h: information_given(instrument, m + h * sd, v), m, stencil) / sd
        return in_mean, by_variance / np.maximum(v, 1e-300)
    k = m.shape[1]
    sd = np.sqrt(np.maximum(np.einsum("nii->ni", v), np.finfo(float).tiny))
    # A covariance may move in any entry by its smallest eigenvalue and still be one.
    room = np.maximum(np.linalg.eigvalsh(v)[:, 0], 1e-6 * sd.max(axis=1) ** 2)
    d_mean, d_cov = np.empty_like(m), np.empty_like(v)
    for a in range(k):
        unit = np.eye(k)[a]
        d_mean[:, a] = _difference(lambda h, u=unit: information_given(instrument, m + h * sd * u, v), m) / sd[:, a]  # type: ignore[misc]
        for b in range(a + 1):
            both = np.zeros((k, k))
            both[a, b] = both[b, a] = 1.0
            moved = room[:, None, None] * both
            slope = _difference(lambda h, d=moved: information_given(instrument, m, v + h * d), m) / room  # type: ignore[misc]
            d_cov[:, a, b] = d_cov[:, b, a] = slope if a == b else 0.5 * slope
    return d_mean, d_cov


def stacked_slopes(instrument: Instrument, m: Array, v: Array) -> tuple[Array, Array, Array]:
    """The bits and the same derivatives, of one value, all that is differenced in one call: where few are asked for."""
    channel = instrument.channel()
    if channel is not None and channel.is_number:
        return information_given(instrument, m, v), *information_slopes(instrument, m, v)
    sd, steps = np.sqrt(np.maximum(v, np.finfo(float).tiny)), [sign * step for step, _ in _STENCIL for sign in (1, -1)]
    means = np.concatenate([m, *(m + step * _STEP * sd for step in steps), *[m] * len(steps)])
    variances = np.concatenate([v, *[v] * len(steps), *(v * np.exp(step * _STEP) for step in steps)])
    found = information_given(instrument, means, variances, tabulated=False).reshape(-1, len(m))
    rise = found[1::2] - found[2::2]
    weights = np.array([weight for _, weight in _STENCIL]) / _STEP
    n = len(weights)
    return found[0], weights @ rise[:n] / sd, weights @ rise[n:] / np.maximum(v, 1e-300)


def _difference(
    function: Callable[[float], Array], like: Array, stencil: tuple[tuple[float, float], ...] = _STENCIL
) -> Array:
    total = np.zeros(len(like))
    for step, weight in stencil:
        total += weight * (function(step * _STEP) - function(-step * _STEP))
    return total / _STEP
