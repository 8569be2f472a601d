"""What an answer tells about another answer elsewhere, in bits (EPIG; Bickford Smith et al. 2023).

A number elsewhere is f there with its noise, a value that explains part of what is seen here (`explained`). Two answers
out of a few have a table of probabilities: differences of the bivariate normal's distribution function where both come
from a reading, quadrature over one of the two values otherwise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from gainful.errors import InvalidInput
from gainful.information.explained import Seen, about_value
from gainful.instruments import Instrument
from gainful.instruments.channel import Channel
from gainful.numerics.orthant import bvn_cdf
from gainful.numerics.quadrature import normal_lattice

__all__ = ["about_answer", "explained_by", "table_size"]

Array = NDArray[np.float64]

_BITS = 1.0 / float(np.log(2.0))
_TINY, _ROUNDING = 1e-300, 1e-16  # of probabilities
_REACH = 9.0  # spreads beyond which nothing lies
_FINEST = 64  # nodes per standard deviation


def about_answer(instrument: Instrument, here: Seen, other: Instrument, there: Seen, cross: Array) -> Array:
    """I(answer; answer of the other instrument there), (M, R), with the covariance (M, R) left of what the two see."""
    mine, theirs = instrument.channel(), other.channel()
    for argument, each, channel in (("instrument", instrument, mine), ("answers", other, theirs)):
        if (channel is not None and channel.is_interval) or (channel is None and each.values is None):
            raise InvalidInput(argument, "numbers or a few answers, to learn about answers", each,
                               "learn about f at these places: Region(points)")  # fmt: skip
    if theirs is not None and theirs.is_number:
        return about_value(instrument, here, explained_by(cross, there.left + theirs.noise**2))
    if mine is not None and mine.is_number:
        return about_value(other, there, explained_by(cross, (here.left + mine.noise**2)[:, None]).T).T
    if mine is not None and theirs is not None:
        table = _rectangles(mine, here, theirs, there, cross)
    else:
        table = _over_the_other(instrument, here, other, there, cross)
    one, two = table.sum(axis=1, keepdims=True), table.sum(axis=0, keepdims=True)
    # One logarithm at a time: products of tiny probabilities are zero. Below the rounding of the table is nothing.
    logs = (np.log(np.maximum(each, _TINY)) for each in (table, one, two))
    terms = table * (next(logs) - next(logs) - next(logs))
    return np.maximum(_BITS * np.where(table > _ROUNDING, terms, 0.0).sum(axis=(0, 1)), 0.0)


def _rectangles(mine: Channel, here: Seen, theirs: Channel, there: Seen, cross: Array) -> Array:
    """P(answer, answer there), (A, B, M, R): rectangles of the bivariate normal of the two readings."""
    (cuts, spread), (cuts_there, spread_there) = _cuts(mine, here), _cuts(theirs, there)
    rho = np.clip(np.divide(cross, spread[:, None] * spread_there), -1.0, 1.0)
    below = np.zeros((len(cuts) + 2, len(cuts_there) + 2, *cross.shape))
    below[-1, -1] = 1.0
    for a, h in enumerate(cuts, start=1):
        below[a, -1] = ndtr(h)[:, None]
        for b, k in enumerate(cuts_there, start=1):
            below[-1, b] = ndtr(k)
            below[a, b] = below[a, -1] * below[-1, b]  # which is exact where either is certain
            open_ended = (np.abs(h) < _REACH)[:, None] & (np.abs(k) < _REACH)
            i, j = np.nonzero(open_ended)
            below[a, b][open_ended] = bvn_cdf(h[i], k[j], rho[open_ended])
    table = np.maximum(np.diff(np.diff(below, axis=0), axis=1), 0.0)
    for axis, channel in enumerate((mine, theirs)):
        if channel.mix is not None:
            table = np.moveaxis(np.tensordot(channel.mix.T, table, axes=(1, axis)), 0, axis)
    return table


def _over_the_other(instrument: Instrument, here: Seen, other: Instrument, there: Seen, cross: Array) -> Array:
    """The same for likelihoods of any kind: Σ_j w_j P(answer there | g_j) P(answer | g_j) over what is seen there.

    The lattice is refined until it averages the answers there as they are predicted.
    """
    (M, R), values = cross.shape, other.values or ()
    predicted = np.stack([np.exp(other.log_partition(np.full(R, y), there.mean, there.variance).log_z) for y in values])
    sd = np.sqrt(np.maximum(there.variance, _TINY))
    per_deviation = 4
    while True:
        z, weight = normal_lattice(per_deviation)
        g = there.mean[:, None] + sd[:, None] * z
        given = np.stack([np.exp(other.log_prob(np.full(g.shape, y), g)) for y in values])  # (B, R, J)
        if per_deviation >= _FINEST or np.max(np.abs(given @ weight - predicted), initial=0.0) < 1e-7:
            break
        per_deviation *= 2
    slope = cross / sd
    rest = np.maximum(here.variance[:, None] - slope**2, 0.0)
    table = np.zeros((len(instrument.values or ()), len(values), M, R))
    for i in range(M):  # a candidate at a time: every one has R lattices
        moved = (here.mean[i] + slope[i, :, None] * z).ravel()
        left = np.repeat(rest[i], len(z))
        for a, y in enumerate(instrument.values or ()):
            p = np.exp(instrument.log_partition(np.full(len(moved), y), moved, left).log_z).reshape(R, len(z))
            table[a, :, i] = np.einsum("rj,brj,j->br", p, given, weight)
    return table


def table_size(instrument: Instrument) -> int:
    """How many answers a table has to hold; a number needs none."""
    channel = instrument.channel()
    if channel is None:
        return 1 if instrument.values is None else len(instrument.values)
    return len(channel.bounds) + 2 if channel.is_discrete else 1


def _cuts(channel: Channel, seen: Seen) -> tuple[list[Array], Array]:
    """Where one answer ends and the next begins, in spreads of the reading, (N,) each; and the spread."""
    spread = np.sqrt(np.maximum(seen.variance + channel.noise**2, np.finfo(float).tiny))
    return [(c - seen.mean) / spread for c in channel.bounds], spread


def explained_by(cross: Array, variance: Array) -> Array:
    """c²/variance, (M, R); nothing by what is already known."""
    variance = np.broadcast_to(variance, cross.shape)
    return np.divide(cross**2, variance, out=np.zeros_like(cross), where=variance > 0.0)
