"""The knowledge gradient: how much better the place that would be recommended is expected to be, once an answer is in.

    KG = E_y[max_r E[f_r | y]] − max_r E[f_r]

over all places r that may be recommended: a reference, the places measured, and the one asked about (Frazier, Powell &
Dayanik 2009; Frazier 2018, sec. 4.2). It counts what an answer tells about every one of them, so a pass or a fail far
from the optimum is worth something, an answer that could change no recommendation is not, and with noise a place is
asked about again only where that may change one. Written beside the place * that is best now,

    KG = E_y[max_r (E[f_r | y] − E[f_* | y])],

every term is positive, and nothing cancels. A number moves all means along one normal z, E[f_r | y] = m_r + b_r z with
b_r = c_r/√(v + noise²): the maximum is an upper envelope of lines, integrated from corner to corner. Other answers are
summed over (`lookahead`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from gainful.acquisition.base import AMOUNT
from gainful.acquisition.lookahead import Step, over_steps
from gainful.acquisition.optimum import MAXIMISE, ExpectedImprovement, require_sign
from gainful.errors import InvalidInput
from gainful.inference.belief import Belief, queries_of, require_askable
from gainful.inference.posterior import Posterior
from gainful.information.about import as_reference
from gainful.information.watched import Seen, Watched, covariances, see, watch_places
from gainful.instruments import Instrument
from gainful.numerics.memory import in_blocks

__all__ = ["KnowledgeGradient", "mean_of_envelope"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]

_CORNERS = np.linspace(-7.0, 7.0, 29)  # of z: beyond them lies 3e-12 of its mass
_BEYOND = 7.0  # standard deviations: what is worse by that much on either side is never the best


def mean_of_envelope(a: Array, b: Array) -> Array:
    """E[max_r (a_r + b_r z)] for z ~ N(0, 1) and lines of which one is 0, so that it is not negative; (M, R) → (M,).

    Winners are found at the corners of a grid, and between two with different winners also where those cross. A line
    that wins nowhere but within a part of half a unit of z may be missed: the mean is then too low, by a thousandth as
    a rule. Of three lines it is exact to 1e-9.

    >>> mean_of_envelope(np.array([[0.0, 0.0], [0.0, -1.0]]), np.array([[0.0, 1.0], [0.0, 2.0]])).round(4).tolist()
    [0.3989, 0.3956]
    """
    rows, lines, low, high = _segments(a, b)
    under = a[rows, lines] * (ndtr(high) - ndtr(low)) + b[rows, lines] * (_pdf(low) - _pdf(high))
    return np.maximum(np.bincount(rows, under, minlength=len(a)), 0.0)


def _slopes_of_envelope(a: Array, b: Array) -> tuple[Array, Array]:
    """Derivatives of the mean in a and in b, (M, R) each: P(line r wins), and E[z where it does]."""
    rows, lines, low, high = _segments(a, b)
    wins, pulls = np.zeros_like(a), np.zeros_like(b)
    np.add.at(wins, (rows, lines), ndtr(high) - ndtr(low))
    np.add.at(pulls, (rows, lines), _pdf(low) - _pdf(high))
    return wins, pulls


def _segments(a: Array, b: Array) -> tuple[Index, Index, Array, Array]:
    """The upper envelope of each row's lines as segments: which row, which line, from which z to which."""
    winner = np.stack([np.argmax(a + b * z, axis=1) for z in _CORNERS], axis=1)
    changes = winner[:, :-1] != winner[:, 1:]
    same, cell = np.nonzero(~changes)
    rows, cells = np.nonzero(changes)
    i, k, low, high = winner[rows, cells], winner[rows, cells + 1], _CORNERS[cells], _CORNERS[cells + 1]
    turn = _crossing(a, b, rows, i, k)
    j = np.argmax(a[rows] + b[rows] * turn[:, None], axis=1)
    left = np.clip(np.where(j == i, turn, _crossing(a, b, rows, i, j)), low, high)
    right = np.clip(np.where(j == k, turn, _crossing(a, b, rows, j, k)), left, high)
    return (
        np.concatenate([same, rows, rows, rows]),
        np.concatenate([winner[same, cell], i, j, k]),
        np.concatenate([_CORNERS[cell], low, left, right]),
        np.concatenate([_CORNERS[cell + 1], left, right, high]),
    )


def _crossing(a: Array, b: Array, rows: Index, i: Index, k: Index) -> Array:
    """The z at which line k overtakes line i; 0 for lines that are parallel."""
    gap, steeper = a[rows, i] - a[rows, k], b[rows, k] - b[rows, i]
    return np.divide(gap, steeper, out=np.zeros_like(gap), where=steeper != 0.0)


def _pdf(z: Array) -> Array:
    return np.asarray(np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi))


@dataclass(frozen=True)
class KnowledgeGradient:
    """E_y[max_r E[f_r | y]] − max_r E[f_r], in the unit of f: how much the answer is expected to better the best place.

    sign is 1 to maximise, -1 to minimise. `over` are places that may be recommended beside those measured and the one
    asked about; some that are spread over the space will do. Of several posteriors it is the weighted average. Every
    instrument may ask, with `over` also pairs and sets.

    >>> import gainful as gf
    >>> prior = gf.GP(gf.SE()).condition(gf.Data())
    >>> precise, coarse = gf.Point(noise=0.0), gf.Point(noise=1.0)
    >>> goal = KnowledgeGradient(over=[[9.0]])
    >>> [goal.score(prior, each, [[0.0]]).round(4).tolist() for each in (precise, coarse, gf.Binary())]
    [[0.3989], [0.2821], [0.2821]]
    """

    sign: int = MAXIMISE
    over: Any = field(default=None, repr=False)
    scale: ClassVar[str] = AMOUNT

    def __post_init__(self) -> None:
        require_sign(self.sign)
        if self.over is not None:
            object.__setattr__(self, "over", as_reference(self.over, "over"))

    def score(self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike) -> Array:
        require_askable(belief, instrument, places)
        return self.prepare(belief).score(belief, instrument, places)

    def score_and_gradient(
        self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike
    ) -> tuple[Array, Array] | None:
        """The scores of numbers and their derivatives in the places; None for other answers."""
        return self.prepare(belief).score_and_gradient(belief, instrument, places)

    def prepare(self, belief: Posterior | Belief) -> _Prepared:
        """What does not depend on the queries, worked out once: the places that may become the best."""
        return _Prepared(self, tuple((w, part, self._rivals(part)) for w, part in _parts(belief)))

    def _rivals(self, belief: Posterior) -> Watched | None:
        measured = belief.data.layout.places if len(belief.data) else None
        given = None if self.over is None else np.asarray(self.over, dtype=float)
        some = [each for each in (given, measured) if each is not None]
        if not some:
            return None
        rivals = watch_places(belief, np.unique(np.concatenate(some), axis=0))
        mean, sd = self.sign * rivals.mean, np.sqrt(rivals.variance)
        best = int(np.argmax(mean))
        hopeful = mean + _BEYOND * sd >= mean[best] - _BEYOND * sd[best]
        half = None if rivals.half is None else rivals.half[:, hopeful]
        return Watched(rivals.queries[hopeful], rivals.mean[hopeful], rivals.variance[hopeful], half)


@dataclass(frozen=True, eq=False)
class _Prepared:
    """The knowledge gradient for the belief that it was prepared for: weights, posteriors, the rivals under each."""

    goal: KnowledgeGradient
    parts: tuple[tuple[float, Posterior, Watched | None], ...]
    scale: ClassVar[str] = AMOUNT

    def score(self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike) -> Array:
        return np.asarray(sum(w * self._of_one(part, instrument, places, rivals) for w, part, rivals in self.parts))

    def score_and_gradient(
        self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike
    ) -> tuple[Array, Array] | None:
        channel = instrument.channel()
        if channel is None or not channel.is_number or instrument.query != "place":
            return None
        total, slope = np.zeros(len(np.asarray(places))), np.zeros(np.shape(places))
        for weight, part, rivals in self.parts:
            if rivals is None:
                return None
            a, b, seen, best = self._lines(
                part, instrument, queries_of(part, instrument, places), rivals, channel.noise
            )
            by_a, by_b = _slopes_of_envelope(a, b)
            np.put_along_axis(by_a, best, np.take_along_axis(by_a, best, axis=1) - 1.0, axis=1)
            v, noise, sign = seen.cov[:, 0, 0], channel.noise**2, self.goal.sign
            reading = np.where(seen.known, np.inf, np.sqrt(v + noise))
            cross = covariances(part, instrument, np.asarray(places, dtype=float), rivals)[:, 0]
            # b_r = c_r/√(v + noise²), of the place itself v/√(v + noise²)
            by_v = by_b[:, -1] * (0.5 * v + noise) / reading**3
            by_v -= 0.5 * np.sum(by_b[:, :-1] * cross, axis=1) / reading**3
            in_cross = sign * by_b[:, :-1] / reading[:, None]
            slope += weight * part.pullback(
                instrument, places, sign * by_a[:, -1], sign * by_v, rivals.queries, in_cross
            )
            total += weight * mean_of_envelope(a, b)
        return total, slope

    def _of_one(self, belief: Posterior, instrument: Instrument, places: ArrayLike, rivals: Watched | None) -> Array:
        queries, channel = queries_of(belief, instrument, places), instrument.channel()
        if rivals is None:
            if instrument.query != "place":
                remedy = "give places that may be the best: KnowledgeGradient(over=places)"
                raise InvalidInput("over", "places, for an instrument that sees several at once", None, remedy)
            return ExpectedImprovement(sign=self.goal.sign).score(belief, instrument, places)  # beside its own mean
        if channel is None or not channel.is_number:
            return over_steps(belief, instrument, queries, rivals, self._over_answers(instrument), means=True)

        def of(part: slice) -> Array:
            return mean_of_envelope(*self._lines(belief, instrument, queries[part], rivals, channel.noise)[:2])

        return in_blocks(of, len(queries), 8 * (len(rivals) + 1))

    def _lines(
        self, belief: Posterior, instrument: Instrument, queries: Array, rivals: Watched, noise: float
    ) -> tuple[Array, Array, Seen, Index]:
        """a and b of every place beside the best, (M, R + 1), the query's own place last; what is seen, and which is
        the best, (M, 1)."""
        seen = see(belief, instrument, queries)
        v, n = seen.cov[:, :, 0], len(queries)
        cross = np.concatenate([covariances(belief, instrument, queries, rivals)[:, 0], v], axis=1)
        cross[seen.known] = 0.0
        a = self.goal.sign * np.concatenate([np.broadcast_to(rivals.mean, (n, len(rivals))), seen.mean], axis=1)
        b = self.goal.sign * cross / np.sqrt(v + noise**2)
        best = np.argmax(a, axis=1)[:, None]
        return a - np.take_along_axis(a, best, axis=1), b - np.take_along_axis(b, best, axis=1), seen, best

    def _over_answers(self, instrument: Instrument) -> Any:
        own, sign = instrument.query == "place", self.goal.sign

        def gain(step: Step) -> Array:
            after, now = sign * step.mean, sign * step.watched.mean[None]
            now = np.broadcast_to(now, (len(after), now.shape[1]))
            if own:
                after = np.concatenate([after, sign * step.own[0][..., None]], axis=2)
                now = np.concatenate([now, sign * step.seen.mean], axis=1)
            then = np.take_along_axis(after, np.argmax(now, axis=1)[:, None, None], axis=2)
            found = step.expected(after.max(axis=2) - then[..., 0])
            return np.where(step.seen.known, 0.0, found)

        return gain


def _parts(belief: Posterior | Belief) -> Iterator[tuple[float, Posterior]]:
    if isinstance(belief, Posterior):
        yield 1.0, belief
    else:
        yield from zip(belief.weights.tolist(), belief.posteriors, strict=True)
