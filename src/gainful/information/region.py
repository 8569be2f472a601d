"""Information about predictions over a region: for when f matters at some places more than at others.

Each point of the region explains part of what an instrument sees (`explained`), by their covariance alone; several
points together explain cᵀ Σ⁻¹ c. About answers there rather than f, see `pairs`. Pending numbers are allowed for
exactly, other pending answers by the Gaussian sites that they are worth (`inference.fantasy`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.data import Query, as_queries
from gainful.errors import InvalidInput
from gainful.inference.fantasy import fantasize
from gainful.inference.posterior import Posterior
from gainful.inference.pullback import Beside
from gainful.information.about import Region
from gainful.information.explained import Seen, about_value, slopes
from gainful.information.pairs import about_answer, explained_by, table_size
from gainful.information.readings import checked
from gainful.information.watched import Watched, covariances, require_posterior, see, watch, whitening
from gainful.instruments import Instrument, Point, Preference
from gainful.numerics.rows import find_rows

__all__ = ["AboutRegion", "region_information", "region_information_and_gradient"]

Array = NDArray[np.float64]

_MANY = 1_000_000  # numbers held at a time
_LEFT = 1e-10  # of the prior variance: what is left below it beyond pending answers is rounding


def region_information(
    belief: Posterior, instrument: Instrument, places: ArrayLike, region: Region, pending: Sequence[Query] = ()
) -> Array:
    """Bits that the next answer is expected to tell about the region, (M,); exact to 1e-7 bits.

    With `pending`, beyond what those answers will tell: exactly for numbers, and otherwise counting on them as the
    Gaussian sites that they are worth.
    """
    waiting = checked("pending", pending)
    queries = _queries(instrument, places, region)
    return _target(belief, instrument, region, waiting).information(instrument, queries)


def region_information_and_gradient(
    belief: Posterior, instrument: Instrument, places: ArrayLike, region: Region
) -> tuple[Array, Array]:
    """Bits about f in the region, (M,), and their derivatives in the places, shaped like them."""
    return AboutRegion(belief, region).score_and_gradient(instrument, places)


class AboutRegion:
    """Bits about one region under one belief, with nothing pending; what does not depend on the queries is done
    once."""

    def __init__(self, belief: Posterior, region: Region) -> None:
        self.region, self._target = region, _target(belief, region.answers or Point(), region, [])

    @cached_property
    def _beside(self) -> Beside:
        return self._target.belief.beside(self._target.watched.queries)

    def score(self, instrument: Instrument, places: ArrayLike) -> Array:
        """`region_information`, (M,)."""
        return self._target.information(instrument, _queries(instrument, places, self.region))

    def score_and_gradient(self, instrument: Instrument, places: ArrayLike) -> tuple[Array, Array]:
        """`region_information_and_gradient`."""
        queries, target = _queries(instrument, places, self.region), self._target
        bits, back = np.zeros(len(queries)), np.zeros(queries.shape)
        for part, case in target.cases(instrument, queries):
            found, in_mean, in_variance, in_cross = target.slopes(instrument, case)
            bits[part] = np.where(case.known, 0.0, found)
            for each in (in_mean, in_variance, in_cross):
                each[case.known] = 0.0
            look = target.belief.vjp(instrument, queries[part], self._beside)
            back[part] = look.back(in_mean, in_variance, in_cross)
        return bits, back


class _Case(NamedTuple):
    """Some of the queries: what they see, their covariance (M, R) with the region, which of its points they are, and
    which are known already."""

    seen: Seen
    cross: Array
    own: NDArray[np.bool_]
    known: NDArray[np.bool_]


class _Numbers(NamedTuple):
    """Numbers that are asked but not answered: the P values that they see, and a root (P, P') of their inverse
    covariance."""

    watched: Watched
    root: Array


@dataclass(frozen=True, eq=False)
class _Target:
    """A region under one belief: its points as they are watched, their weights, and what pending numbers will tell.

    `white` is a root of the points' inverse covariance, where they are meant together.
    """

    belief: Posterior
    sees: Instrument
    region: Region
    watched: Watched
    points: Seen
    told: Array
    weights: Array
    numbers: _Numbers | None
    white: Array | None
    numbered: NDArray[np.intp]

    def information(self, instrument: Instrument, queries: Array) -> Array:
        """(M,)."""
        out = np.zeros(len(queries))
        for part, case in self.cases(instrument, queries):
            out[part] = np.where(case.known, 0.0, self.bits(instrument, case))
        return out

    def cases(self, instrument: Instrument, queries: Array) -> Iterator[tuple[slice, _Case]]:
        """The queries a few at a time, so that arrays (M, R) of them fit into memory."""
        numbers = self.numbered
        answers = self.region.answers
        cells = 1 if answers is None else table_size(instrument) * table_size(answers)
        some = max(1, _MANY // max(len(self.watched) * cells, 1))
        for i in range(0, len(queries), some):
            part = queries[i : i + some]
            seen = see(self.belief, instrument, part)
            here = _told(self.numbers, self.belief, instrument, part)
            mine = _seen(seen.mean[:, 0], seen.cov[:, 0, 0], here, _rounding(self.belief, part))
            cross = covariances(self.belief, instrument, part, self.watched)[:, 0] - here @ self.told.T
            own = find_rows(part, self.watched.queries)
            own = np.where(own >= 0, numbers[own], -1)[:, None] == numbers
            yield slice(i, i + len(part)), _Case(mine, cross, own, seen.known | (mine.left <= 0.0))

    def explained(self, case: _Case) -> Array:
        """What each point, or all of them together, explain of what is seen, (M, R) or (M, 1).

        A query that is one of the points explains itself, whatever rounding says.
        """
        left = case.seen.left[:, None]
        if self.white is None:
            return np.where(case.own, left, explained_by(case.cross, self.points.left))
        together = np.sum((case.cross @ self.white) ** 2, axis=1, keepdims=True)
        return np.where(case.own.any(axis=1, keepdims=True), left, together)

    def bits(self, instrument: Instrument, case: _Case) -> Array:
        """(M,)."""
        if self.region.answers is not None:
            return about_answer(instrument, case.seen, self.region.answers, self.points, case.cross) @ self.weights
        found = about_value(instrument, case.seen, self.explained(case))
        return found[:, 0] if self.white is not None else found @ self.weights

    def slopes(self, instrument: Instrument, case: _Case) -> tuple[Array, Array, Array, Array]:
        """The bits, their derivatives in mean and variance of what is seen, (M,), and in its covariances, (M, R)."""
        explained = self.explained(case)
        by = slopes(instrument, case.seen.mean, case.seen.variance, explained)
        if self.white is not None:
            in_cross = 2.0 * by.explained * (case.cross @ self.white @ self.white.T)
            return by.bits[:, 0], by.mean[:, 0], by.variance[:, 0], in_cross
        per_point = np.divide(2.0 * case.cross, self.points.left, out=np.zeros_like(case.cross),
                              where=self.points.left > 0.0)  # fmt: skip
        in_cross = by.explained * per_point * self.weights
        return by.bits @ self.weights, by.mean @ self.weights, by.variance @ self.weights, in_cross


def _queries(instrument: Instrument, places: ArrayLike, region: Region) -> Array:
    _one_value("instrument", instrument)
    queries, _ = as_queries(instrument, places)
    dimensions = np.shape(region.points)[-1]
    if len(queries) and queries.shape[-1] != dimensions:
        raise InvalidInput(
            "points", f"places with {queries.shape[-1]} coordinates, like the queries", dimensions, "match the columns"
        )
    return queries


def _target(belief: Posterior, instrument: Instrument, region: Region, pending: list[Query]) -> _Target:
    require_posterior(belief)
    sees: Instrument = Point() if np.ndim(region.points) == 2 else Preference()
    answers = region.answers
    if answers is not None:
        _one_value("answers", answers)
        if (answers.query == "pair") != (sees.query == "pair"):
            raise InvalidInput("answers", f"an instrument whose query is a {sees.query}, like the points",
                               answers, "give places (R, d) or pairs (R, 2, d) to fit")  # fmt: skip
    exact = answers is None or instrument.gaussian or answers.gaussian
    numbers = [query for query in pending if query.instrument.gaussian and exact]
    belief = fantasize(belief, [query for query in pending if not (query.instrument.gaussian and exact)])
    reading = _pending(belief, numbers)
    watched = watch(belief, sees, region.points)
    told = _told(reading, belief, sees, watched.queries)
    weights = np.ones(len(watched)) if region.weights is None else np.asarray(region.weights)
    weights = weights / np.max(weights)
    weights /= np.sum(weights)
    white = whitening(belief, sees, watched, -told @ told.T) if region.together else None
    points = _seen(watched.mean, watched.variance, told, _rounding(belief, watched.queries))
    numbered = _numbered(watched.queries)
    return _Target(belief, sees, region, watched, points, told, weights, reading, white, numbered)


def _seen(mean: Array, variance: Array, told: Array, rounding: Array) -> Seen:
    """With what pending answers take away, the squares of `told` (N, P'); what they leave below rounding is nothing."""
    if not told.shape[1]:
        return Seen(mean, variance, variance)
    left = variance - np.sum(told**2, axis=1)
    return Seen(mean, variance, np.where(left > rounding, left, 0.0))


def _rounding(belief: Posterior, queries: Array) -> Array:
    """What rounding may leave of the variance of what each query sees once pending numbers without noise are in, (N,).

    Their covariance is inverted, which costs digits that a variance has by itself.
    """
    places = queries.reshape(-1, queries.shape[-1])
    prior = np.maximum(belief.kernel.diag(places), 0.0).reshape(len(queries), -1).sum(axis=1)
    return _LEFT * prior


def _pending(belief: Posterior, numbers: list[Query]) -> _Numbers | None:
    """None where nothing is pending."""
    if not numbers:
        return None
    watched = watch(belief, Point(), np.stack([query.place for query in numbers]))
    channels = [query.instrument.channel() for query in numbers]
    noise = np.diag([0.0 if channel is None else channel.noise**2 for channel in channels])
    return _Numbers(watched, whitening(belief, Point(), watched, noise))


def _told(numbers: _Numbers | None, belief: Posterior, sees: Instrument, queries: Array) -> Array:
    """The covariance (N, P') of what is seen with what the pending numbers will tell: its squares are what they take
    off the variance."""
    if numbers is None:
        return np.zeros((len(queries), 0))
    return covariances(belief, sees, queries, numbers.watched)[:, 0] @ numbers.root


def _numbered(points: Array) -> NDArray[np.intp]:
    """A number for each distinct point, (R,): a query that is one of them explains itself, whatever rounding says."""
    return find_rows(points, points)


def _one_value(argument: str, instrument: Instrument) -> None:
    if not isinstance(instrument, Instrument) or instrument.query == "set":
        raise InvalidInput(
            argument, "an instrument that sees one value, of a place or a pair", instrument,
            "sets can be asked about the function",
        )  # fmt: skip
