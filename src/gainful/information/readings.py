"""The readings behind queries, r = g + ε, as one normal vector, before a channel turns each into an answer.

A number is its reading. A rank, a yes/no, a preference says between which edges the reading lies (and may be careless
about it), an interval is a window around it, a set's yes/no is about k readings. So everything that several answers
tell together is about one normal vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gainful.data import Query
from gainful.errors import InvalidInput
from gainful.inference.fantasy import RESOLUTION
from gainful.inference.posterior import Posterior
from gainful.instruments import Instrument
from gainful.instruments.channel import Channel
from gainful.numerics.blas import matmul
from gainful.numerics.cholesky import semidefinite_root
from gainful.numerics.rows import find_rows

__all__ = [
    "RESOLUTION",
    "SAME",
    "CandidateReadings",
    "Readings",
    "candidate_readings",
    "channel_of",
    "checked",
    "ratio",
    "read",
    "root_of",
    "rows_of",
]

Array = NDArray[np.float64]

SAME = 1e-14  # correlations this close to ±1 are ±1, and shares of a variance this small are zero


@dataclass(frozen=True, eq=False)
class Readings:
    """B cases of the readings of the same channels: mean (B, R), covariance (B, R, R) with the noise in it.

    `rows` are each channel's rows; `rounding` (B, R) is the variance below which double precision has nothing to
    say about a row.
    """

    channels: tuple[Channel, ...]
    rows: tuple[range, ...]
    mean: Array
    cov: Array
    rounding: Array

    def __len__(self) -> int:
        return len(self.mean)

    @property
    def numbers(self) -> list[int]:
        """Which of the answers are numbers."""
        return [i for i, channel in enumerate(self.channels) if channel.is_number]

    @property
    def intervals(self) -> list[int]:
        """Which of the answers are intervals."""
        return [i for i, channel in enumerate(self.channels) if channel.is_interval]

    def take(self, wanted: Sequence[int]) -> Readings:
        """The readings of these channels, in this order."""
        index = [row for i in wanted for row in self.rows[i]]
        rows, start = [], 0
        for i in wanted:
            rows.append(range(start, start + len(self.rows[i])))
            start += len(self.rows[i])
        cov = self.cov[:, index][:, :, index]
        channels = tuple(self.channels[i] for i in wanted)
        return Readings(channels, tuple(rows), self.mean[:, index], cov, self.rounding[:, index])

    def cases(self, part: slice) -> Readings:
        """Some of the cases."""
        return replace(self, mean=self.mean[part], cov=self.cov[part], rounding=self.rounding[part])


def checked(argument: str, queries: Sequence[Query], like: int | None = None) -> list[Query]:
    """The queries as a list, without repeats of noiseless ones: those have one answer, however often they are asked."""
    if not isinstance(queries, list | tuple) or not all(isinstance(query, Query) for query in queries):
        raise InvalidInput(argument, "a sequence of queries", queries, "for instance [Query(instrument, place)]")
    dimensions = {query.seen.shape[-1] for query in queries} | ({like} if like is not None else set())
    if len(dimensions) > 1:
        raise InvalidInput(argument, "places with the same number of coordinates", sorted(dimensions), "match them")
    kept, seen = [], set()
    for query in queries:
        key = query.instrument.channel(), query.seen.tobytes()
        if query.instrument.is_certain and key in seen:
            continue
        seen.add(key)
        kept.append(query)
    return kept


def channel_of(instrument: Instrument) -> Channel:
    """The channel that the instrument answers through; InvalidInput where it has none."""
    channel = instrument.channel()
    if channel is None:
        raise InvalidInput("instrument", "one whose answer comes from a reading", instrument, "see Instrument.channel")
    return channel


def rows_of(instrument: Instrument, place: Array) -> int:
    """How many readings one query takes: one, or one for each place of a set."""
    return len(place) if instrument.query == "set" else 1


def read(posterior: Posterior, queries: Sequence[Query]) -> Readings:
    """The readings of the queries: one case."""
    g = _seen(posterior, queries)
    rows, start = [], 0
    for query in queries:
        rows.append(range(start, start + rows_of(query.instrument, query.place)))
        start = rows[-1].stop
    channels = tuple(channel_of(query.instrument) for query in queries)
    noise = np.array([channel.noise for channel, mine in zip(channels, rows, strict=True) for _ in mine])
    return Readings(channels, tuple(rows), g.mean[None], (g.cov + np.diag(noise**2))[None], g.rounding[None])


@dataclass(frozen=True, eq=False)
class CandidateReadings:
    """Readings through one channel at M possible places beside those of pending queries (one case of R rows).

    mean (M, k); cov (M, k, k) with the noise in it; cross (M, k, R) with the pending readings; rounding (M, k).
    """

    pending: Readings
    channel: Channel
    mean: Array
    cov: Array
    cross: Array
    rounding: Array

    def __len__(self) -> int:
        return len(self.mean)

    @cached_property
    def gain(self) -> Array:
        """(M, k, R): what a unit of each pending reading, whitened in order, moves these by."""
        root = self.root
        gain = np.zeros_like(self.cross)
        for j in range(len(root)):
            done = np.tensordot(gain[:, :, :j], root[j, :j], axes=1)
            gain[:, :, j] = ratio(self.cross[:, :, j] - done, np.asarray(root[j, j]))
        return gain

    @cached_property
    def root(self) -> Array:
        """Lower triangular L with L Lᵀ the covariance of the pending readings."""
        return root_of(self.pending.cov)[0]

    @property
    def left(self) -> Array:
        """The covariance (M, k, k) that these would have if the pending readings were known."""
        return self.cov - np.einsum("mkr,mlr->mkl", self.gain, self.gain)

    @property
    def together(self) -> Readings:
        """All of them: M cases, the channel last."""
        old, (M, k), R = self.pending, self.mean.shape, self.pending.mean.shape[1]
        mean, cov = np.empty((M, R + k)), np.empty((M, R + k, R + k))
        mean[:, :R], mean[:, R:] = old.mean, self.mean
        cov[:, :R, :R], cov[:, R:, R:], cov[:, R:, :R] = old.cov, self.cov, self.cross
        cov[:, :R, R:] = np.swapaxes(self.cross, 1, 2)
        rounding = np.concatenate([np.broadcast_to(old.rounding, (M, R)), self.rounding], axis=1)
        return Readings((*old.channels, self.channel), (*old.rows, range(R, R + k)), mean, cov, rounding)


def candidate_readings(
    posterior: Posterior, queries: Sequence[Query], instrument: Instrument, places: Array
) -> CandidateReadings:
    """The readings of the queries, and of the instrument at each of the places: queries of it, (M, ...)."""
    old, g = read(posterior, queries), _seen(posterior, queries)
    M, k = len(places), rows_of(instrument, places[0])
    flat = places.reshape(-1, places.shape[-1])
    m, v = (np.array(part) for part in posterior.marginals(instrument, places))  # they may be shared: v is changed
    prior = np.maximum(posterior.kernel.diag(flat), 0.0)
    at_places = posterior.covariance(flat, g.places) if len(g.places) else np.zeros((len(flat), 0))
    at = find_rows(flat, g.places)
    found = {int(i): int(at[i]) for i in np.flatnonzero(at >= 0)}
    for i, j in found.items():  # of one place there is one variance, to the last bit, or nothing would be a repeat
        at_places[i] = g.of_places[j]
    cross = matmul(at_places, np.ascontiguousarray(g.picking.T))
    if instrument.query == "pair":
        cross, prior = cross[0::2] - cross[1::2], prior[0::2] + prior[1::2]
        v = _of_known_pairs(found, g.of_places, v)
    elif instrument.query == "place":
        for i, j in found.items():
            v[i] = g.of_places[j, j]
    channel = channel_of(instrument)
    cov = v.reshape(M, k, k) + channel.noise**2 * np.eye(k)
    return CandidateReadings(
        old, channel, m.reshape(M, k), cov, cross.reshape(M, k, -1), RESOLUTION * prior.reshape(M, k)
    )


def root_of(cov: Array) -> Array:
    """Lower triangular L with L Lᵀ = cov, (B, R, R); what is only rounding of a variance is none of it."""
    return semidefinite_root(cov, SAME)


def ratio(a: Array, b: Array) -> Array:
    """a/b, and 0 where b is 0."""
    a, b = np.broadcast_arrays(a, b)
    return np.divide(a, b, out=np.zeros(a.shape), where=b > 0.0)


@dataclass(frozen=True, eq=False)
class _Seen:
    """g = picking @ f(places): its mean (R,) and covariance (R, R), and the covariance of the distinct places."""

    places: Array
    picking: Array
    of_places: Array
    mean: Array
    cov: Array
    rounding: Array


def _seen(posterior: Posterior, queries: Sequence[Query]) -> _Seen:
    stacked = [query.seen for query in queries]
    d = stacked[0].shape[1] if stacked else posterior.data.coordinates or posterior.data.dimensions or 1
    places, where = np.unique(np.concatenate([np.zeros((0, d)), *stacked]) + 0.0, axis=0, return_inverse=True)
    rows, start = [], 0
    for query, mine in zip(queries, stacked, strict=True):
        index = where[start : start + len(mine)]
        start += len(mine)
        row = np.zeros((len(mine), len(places)))
        row[np.arange(len(mine)), index] = 1.0
        rows.append(row[:1] - row[1:] if query.instrument.query == "pair" else row)
    picking = np.concatenate([np.zeros((0, len(places))), *rows])
    if not len(places):
        return _Seen(places, picking, np.zeros((0, 0)), np.zeros(0), np.zeros((0, 0)), np.zeros(0))
    cov, mean = posterior.covariance(places), posterior.mean(places)
    prior = np.maximum(posterior.kernel.diag(places), 0.0)
    seen = picking @ cov @ picking.T
    seen.flat[:: len(seen) + 1] = np.maximum(np.diagonal(seen), 0.0)
    return _Seen(places, picking, cov, picking @ mean, seen, RESOLUTION * (np.abs(picking) @ prior))


def _of_known_pairs(found: dict[int, int], of_places: Array, v: Array) -> Array:
    for i, first in found.items():
        second = found.get(i + 1)
        if i % 2 == 0 and second is not None:
            difference = of_places[first] - of_places[second]
            v[i // 2] = max(difference[first] - difference[second], 0.0)
    return v
