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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from gainful.acquisition.base import AMOUNT
from gainful.acquisition.lookahead import Step, over_steps
from gainful.acquisition.optimum import (
    MAXIMISE,
    ExpectedImprovement,
    measured_places,
    require_sign,
    sees_what_counts,
)
from gainful.errors import InvalidInput
from gainful.inference.belief import Belief, queries_of, require_askable
from gainful.inference.posterior import Posterior
from gainful.inference.pullback import Beside
from gainful.information.about import as_reference
from gainful.information.watched import Seen, Watched, covariances, look, see, watch_places
from gainful.instruments import Instrument, Point
from gainful.numerics.memory import in_blocks

__all__ = ["KnowledgeGradient", "mean_of_envelope"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]

_CORNERS = np.array([-7.0, -2.0, -0.7, 0.0, 0.7, 2.0, 7.0])  # of z: beyond them lies 3e-12 of its mass
_MOST_TURNS = 60
_ROUNDING = 1e-14
_LOW = 1e300  # a line this far below wins nowhere
_LEADING = 3  # parts of a belief that many queries are ranked under
_BEYOND = 6.0  # standard deviations of the difference: a rival worse by that much would add 1e-10 of one
_SEES = Point(noise=1.0)  # any instrument that sees f at a place: its noise is not asked for


def mean_of_envelope(a: Array, b: Array) -> Array:
    """E[max_r (a_r + b_r z)] for z ~ N(0, 1) and lines of which one is 0, so that it is not negative; (M, R) → (M,).

    Exact but for z beyond 7 standard deviations.

    >>> mean_of_envelope(np.array([[0.0, 0.0], [0.0, -1.0]]), np.array([[0.0, 1.0], [0.0, 2.0]])).round(4).tolist()
    [0.3989, 0.3956]
    """
    wins, pulls = _slopes_of_envelope(a, b)
    return _under(a, b, wins, pulls)


def _under(a: Array, b: Array, wins: Array, pulls: Array) -> Array:
    """The mean of the envelope from its slopes: it is linear in all lines together, (M,)."""
    return np.maximum(np.einsum("mr,mr->m", a, wins) + np.einsum("mr,mr->m", b, pulls), 0.0)


def _slopes_of_envelope(a: Array, b: Array) -> tuple[Array, Array]:
    """Derivatives of the mean in a and in b, (M, R) each: P(line r wins), and E[z where it does]."""
    rows, lines, low, high = _segments(a, b)
    flat = rows * a.shape[1] + lines
    wins = np.bincount(flat, ndtr(high) - ndtr(low), minlength=a.size).reshape(a.shape)
    pulls = np.bincount(flat, _pdf(low) - _pdf(high), minlength=a.size).reshape(a.shape)
    return np.asarray(wins, dtype=np.float64), np.asarray(pulls, dtype=np.float64)


def _segments(a: Array, b: Array) -> tuple[Index, Index, Array, Array]:
    """The upper envelope of each row's lines as segments: which row, which line, from which z to which.

    A line that wins at both ends of a part wins all of it, for an envelope is convex. Where two lines i and k do, the
    winner where they cross is one of them, and both are found; or it is a third, and either side is looked at again.
    """
    winner = np.stack([np.argmax(a + b * z, axis=1) for z in _CORNERS], axis=1)
    rows, cells = np.nonzero(winner[:, :-1] != winner[:, 1:])
    same, held = np.nonzero(winner[:, :-1] == winner[:, 1:])
    found = [(same, winner[same, held], _CORNERS[held], _CORNERS[held + 1])]
    i, k, low, high = winner[rows, cells], winner[rows, cells + 1], _CORNERS[cells], _CORNERS[cells + 1]
    for _ in range(_MOST_TURNS):
        if not len(rows):
            break
        turn = np.clip(_crossing(a, b, rows, i, k), low, high)
        heights = a[rows] + b[rows] * turn[:, None]
        j, at = np.argmax(heights, axis=1), np.arange(len(rows))
        level = np.maximum(heights[at, i], heights[at, k])
        higher = heights[at, j] > level + _ROUNDING * np.abs(level)
        done = ~higher
        found += [(rows[done], i[done], low[done], turn[done]), (rows[done], k[done], turn[done], high[done])]
        rows, i, j, k, low, turn, high = (each[higher] for each in (rows, i, j, k, low, turn, high))
        rows, i, k = np.concatenate([rows, rows]), np.concatenate([i, j]), np.concatenate([j, k])
        low, high = np.concatenate([low, turn]), np.concatenate([turn, high])
    else:  # more lines than turns, of which those left out are lower by rounding
        found.append((rows, i, low, high))
    rows, lines, low, high = (np.concatenate(each) for each in zip(*found, strict=True))
    return rows, lines, low, high


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
        if isinstance(belief, Posterior):
            return _Prepared(self, (_View(1.0, belief, self._rivals(belief), {}),))
        each = zip(belief.weights.tolist(), belief.posteriors, belief.instruments, strict=True)
        return _Prepared(self, tuple(_View(w, p, self._rivals(p), own) for w, p, own in each if w > 0.0))

    def _rivals(self, belief: Posterior) -> Watched | None:
        measured = measured_places(belief) if len(belief.data) else None
        given = None if self.over is None else belief.data.completed(np.asarray(self.over, dtype=float))
        some = [each for each in (given, measured) if each is not None and len(each)]
        if not some:
            return None
        rivals = watch_places(belief, np.unique(np.concatenate(some), axis=0))
        best = int(np.argmax(self.sign * rivals.mean))
        beside = covariances(belief, _SEES, rivals.queries[best : best + 1], rivals)[0, 0]
        apart = np.sqrt(np.maximum(rivals.variance + rivals.variance[best] - 2.0 * beside, 0.0))
        hopeful = self.sign * (rivals.mean - rivals.mean[best]) + _BEYOND * apart >= 0.0
        half = None if rivals.half is None else rivals.half[:, hopeful]
        return Watched(rivals.queries[hopeful], rivals.mean[hopeful], rivals.variance[hopeful], half)


class _Lines(NamedTuple):
    """a and b of every place beside the best, (M, R + 1), the query's own place last; what is seen, its covariance with
    every place, which is the best, (M, 1), and which of the others stands last once more where the query's own place
    does not count."""

    a: Array
    b: Array
    seen: Seen
    cross: Array
    best: Index
    again: int


@dataclass(frozen=True, eq=False)
class _View:
    """One posterior of a belief: its weight, the rivals under it, and the instruments that it has of its own."""

    weight: float
    posterior: Posterior
    rivals: Watched | None
    instruments: Mapping[str, Instrument]

    def instrument(self, given: Instrument) -> Instrument:
        """Its own instrument under this label; the one given where it has none, or one of another kind."""
        own = self.instruments.get(given.label)
        return own if own is not None and type(own) is type(given) else given

    @cached_property
    def beside(self) -> Beside:
        """The rivals, ready to be watched."""
        assert self.rivals is not None
        return self.posterior.beside(self.rivals.queries)


class _Looked(NamedTuple):
    """One posterior's lines for some queries, its instrument with its noise, and the way back to the places."""

    lines: _Lines
    instrument: Instrument
    noise: float
    back: Callable[..., Array]


def _stacked(tables: Sequence[Array], beyond: float = -_LOW) -> Array:
    """Tables (M, R_s) below each other, the shorter rows filled up."""
    widest = max(each.shape[1] for each in tables)
    return np.concatenate([np.pad(t, ((0, 0), (0, widest - t.shape[1])), constant_values=beyond) for t in tables])


@dataclass(frozen=True, eq=False)
class _Prepared:
    """The knowledge gradient for the belief that it was prepared for: what each of its posteriors sees."""

    goal: KnowledgeGradient
    parts: tuple[_View, ...]
    scale: ClassVar[str] = AMOUNT

    def score(self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike) -> Array:
        return self._mean(self.parts, instrument, places)

    def rank(self, belief: Belief, instrument: Instrument, places: ArrayLike) -> Array:
        """The score under the heaviest parts alone."""
        heaviest = sorted(self.parts, key=lambda part: -part.weight)[:_LEADING]
        return self._mean(heaviest, instrument, places) / sum(part.weight for part in heaviest)

    def _mean(self, parts: Sequence[_View], instrument: Instrument, places: ArrayLike) -> Array:
        return np.asarray(sum(part.weight * self._of_one(part, instrument, places) for part in parts))

    def score_and_gradient(
        self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike
    ) -> tuple[Array, Array] | None:
        channel = instrument.channel()
        if channel is None or not channel.is_number or instrument.query != "place":
            return None
        if any(part.rivals is None for part in self.parts):
            return None
        views = [self._view(part, instrument, places) for part in self.parts]
        a, b = _stacked([v.lines.a for v in views]), _stacked([v.lines.b for v in views], 0.0)
        wins, pulls = _slopes_of_envelope(a, b)  # of all parts at once: what costs is the number of turns
        heights = _under(a, b, wins, pulls).reshape(len(views), -1)
        slope = np.zeros(np.shape(places))
        for i, (part, view) in enumerate(zip(self.parts, views, strict=True)):
            lines, own, noise = view.lines, view.instrument, view.noise
            mine = slice(i * len(lines.a), (i + 1) * len(lines.a))
            by_a, by_b = wins[mine, : lines.a.shape[1]], pulls[mine, : lines.a.shape[1]]
            np.put_along_axis(by_a, lines.best, np.take_along_axis(by_a, lines.best, axis=1) - 1.0, axis=1)
            if not sees_what_counts(part.posterior, own):  # the last line is that of a rival, see `_lines`
                by_b[:, lines.again] += by_b[:, -1]
                by_a[:, -1], by_b[:, -1] = 0.0, 0.0
            v, sign = lines.seen.cov[:, 0, 0], self.goal.sign
            reading = np.where(lines.seen.known, np.inf, np.sqrt(v + noise**2))
            # b_r = c_r/√(v + noise²), of the place itself v/√(v + noise²)
            by_v = by_b[:, -1] * (0.5 * v + noise**2) / reading**3
            by_v -= 0.5 * np.sum(by_b[:, :-1] * lines.cross[:, :-1], axis=1) / reading**3
            in_cross = sign * by_b[:, :-1] / reading[:, None]
            slope += part.weight * view.back(sign * by_a[:, -1], sign * by_v, in_cross)
        return np.array([part.weight for part in self.parts]) @ heights, slope

    def _view(self, part: _View, instrument: Instrument, places: ArrayLike) -> _Looked:
        own, belief, rivals = part.instrument(instrument), part.posterior, part.rivals
        assert rivals is not None
        noise = own.channel().noise  # type: ignore[union-attr]  # a number has one
        seen, found = look(belief, own, queries_of(belief, own, places), part.beside)
        return _Looked(self._lines(belief, own, rivals, noise, seen, found.cross), own, noise, found.back)

    def _of_one(self, part: _View, instrument: Instrument, places: ArrayLike) -> Array:
        own, belief, rivals = part.instrument(instrument), part.posterior, part.rivals
        queries, channel = queries_of(belief, own, places), own.channel()
        if rivals is None:
            if own.query != "place":
                remedy = "give places that may be the best: KnowledgeGradient(over=places)"
                raise InvalidInput("over", "places, for an instrument that sees several at once", None, remedy)
            return ExpectedImprovement(sign=self.goal.sign).score(belief, own, places)  # beside its own mean
        if channel is None or not channel.is_number:
            itself = own.query == "place" and sees_what_counts(belief, own)
            return over_steps(belief, own, queries, rivals, self._over_answers(itself), means=True)

        def of(some: slice) -> Array:
            here = queries[some]
            cross = covariances(belief, own, here, rivals)[:, 0]
            lines = self._lines(belief, own, rivals, channel.noise, see(belief, own, here), cross)
            return mean_of_envelope(lines.a, lines.b)

        return in_blocks(of, len(queries), 8 * (len(rivals) + 1))

    def _lines(
        self, belief: Posterior, instrument: Instrument, rivals: Watched, noise: float, seen: Seen, cross: Array
    ) -> _Lines:
        v, n = seen.cov[:, :, 0], len(cross)
        cross = np.concatenate([cross, v], axis=1)
        cross[seen.known] = 0.0
        a = self.goal.sign * np.concatenate([np.broadcast_to(rivals.mean, (n, len(rivals))), seen.mean], axis=1)
        again = int(np.argmax(a[0, :-1]))
        if not sees_what_counts(belief, instrument):  # its own place is then no rival: once more the best of them
            a[:, -1], cross[:, -1] = a[:, again], cross[:, again]
        b = self.goal.sign * cross / np.sqrt(v + noise**2)
        best = np.argmax(a, axis=1)[:, None]
        a, b = a - np.take_along_axis(a, best, axis=1), b - np.take_along_axis(b, best, axis=1)
        return _Lines(a, b, seen, cross, best, again)

    def _over_answers(self, own: bool) -> Any:
        sign = self.goal.sign

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
