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

from collections.abc import Mapping, Sequence
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
from gainful.inference.stacked import Abreast, Stacked, Views, stack
from gainful.information.about import as_reference
from gainful.information.readings import RESOLUTION
from gainful.information.watched import Seen, Watched, covariances, look, see, watch_places
from gainful.instruments import Instrument, Point
from gainful.numerics.memory import in_blocks

__all__ = ["KnowledgeGradient", "mean_of_envelope"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Mask = NDArray[np.bool_]

_CORNERS = np.array([-7.0, -2.0, -0.7, 0.0, 0.7, 2.0, 7.0])  # of z: beyond them lies 3e-12 of its mass
_MOST_TURNS = 60
_ROUNDING = 1e-14
_LEADING = 3  # parts of a belief that queries are ranked under,
_GLANCED = 200  # as many as these; of more, first all of them under the heaviest part alone
_NEGLIGIBLE = 0.01  # of the weight of all parts
_BEYOND = 6.0  # standard deviations of the difference: a rival worse by that much would add 1e-10 of one
_CACHED = 100_000  # numbers in an array at a time: a few of them fit into the cache
_TINY = 1e-300
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
    kept = np.flatnonzero(np.max(a + _CORNERS[-1] * np.abs(b), axis=0) >= 0.0)  # the others are below 0 everywhere
    a, b = a[:, kept], b[:, kept]
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
    return rows, kept[lines], low, high


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
    looks_itself: ClassVar[bool] = True

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
            views: tuple[_View, ...] = (_View(self, 1.0, belief, {}),)
        else:
            kept, weights = _weighty(belief.weights)
            each = ((w, belief.posteriors[s], belief.instruments[s]) for s, w in zip(kept, weights, strict=True))
            views = tuple(_View(self, *one) for one in each)
        stacked = stack([view.posterior for view in views])
        rivals = None if stacked is None else self._places(views[0].posterior)
        if stacked is None or rivals is None:
            return _Prepared(self, belief, views, None)
        return _Prepared(self, belief, views, _Together(self, views, stacked, self._hopeful(stacked, rivals)))

    def _places(self, belief: Posterior) -> Array | None:
        """The places that may be recommended, (R, d); None where there are none."""
        measured = measured_places(belief) if len(belief.data) else None
        given = None if self.over is None else belief.data.completed(np.asarray(self.over, dtype=float))
        some = [each for each in (given, measured) if each is not None and len(each)]
        return np.unique(np.concatenate(some), axis=0) if some else None

    def rivals(self, belief: Posterior) -> Watched | None:
        """Those of them that may become the best under this posterior."""
        places = self._places(belief)
        if places is None:
            return None
        rivals = watch_places(belief, places)
        best = int(np.argmax(self.sign * rivals.mean))
        beside = covariances(belief, _SEES, rivals.queries[best : best + 1], rivals)[0, 0]
        hopeful = self._hopes(rivals.mean, rivals.variance, best, beside)
        half = None if rivals.half is None else rivals.half[:, hopeful]
        return Watched(rivals.queries[hopeful], rivals.mean[hopeful], rivals.variance[hopeful], half)

    def _hopeful(self, stacked: Stacked, places: Array) -> Abreast:
        """Those of the places that may become the best under any of the posteriors."""
        rivals = stacked.watch(places)
        best = np.argmax(self.sign * rivals.mean, axis=1)
        leaders, which = np.unique(best, return_inverse=True)
        beside = stacked.look(places[leaders], rivals).cross[np.arange(len(best)), which]
        each = zip(rivals.mean, rivals.variance, best.tolist(), beside, strict=True)
        return rivals.some(np.any([self._hopes(*one) for one in each], axis=0))

    def _hopes(self, mean: Array, variance: Array, best: int, beside: Array) -> Mask:
        """Which places may be better than the best, with which they have these covariances, (R,)."""
        apart = np.sqrt(np.maximum(variance + variance[best] - 2.0 * beside, 0.0))
        return np.asarray(self.sign * (mean - mean[best]) + _BEYOND * apart >= 0.0)


def _weighty(weights: Array) -> tuple[list[int], list[float]]:
    """The numbers and weights of the parts of a belief without the lightest, which have a hundredth of the weight
    together."""
    order = np.argsort(-weights, kind="stable")
    before = np.cumsum(weights[order]) - weights[order]
    kept = np.sort(order[(before < 1.0 - _NEGLIGIBLE) & (weights[order] > 0.0)])
    return kept.tolist(), (weights[kept] / weights[kept].sum()).tolist()


class _Lines(NamedTuple):
    """a and b of every place beside the best, (n, R + 1), the query's own place last; v, the noise and whether it is
    known of what is seen, its covariance with every place, which is the best, (n, 1), and which of the others stands
    last once more where the query's own place does not count, (n,)."""

    a: Array
    b: Array
    v: Array
    noise: Array
    known: Mask
    cross: Array
    best: Index
    again: Index
    counts: bool


def _lines(
    sign: int, rivals: Array, seen: tuple[Array, Array, Mask], noise: Array, cross: Array, counts: bool
) -> _Lines:
    """The lines of n queries from the rivals' means, (n, R), the mean, variance and `known` of what each sees, (n,),
    its noise, (n,), its covariances with the rivals, (n, R), and whether its own place `counts`."""
    mean, v, known = seen
    cross = np.concatenate([cross, v[:, None]], axis=1)
    cross[known] = 0.0
    a = sign * np.concatenate([rivals, mean[:, None]], axis=1)
    again = np.argmax(a[:, :-1], axis=1)
    if not counts:  # its own place is then no rival: once more the best of them
        at = np.arange(len(a))
        a[:, -1], cross[:, -1] = a[at, again], cross[at, again]
    b = (sign / np.sqrt(v + noise**2))[:, None] * cross
    best = np.argmax(a, axis=1)[:, None]
    a, b = a - np.take_along_axis(a, best, axis=1), b - np.take_along_axis(b, best, axis=1)
    return _Lines(a, b, v, noise, known, cross, best, again, counts)


def _slopes_of_lines(sign: int, lines: _Lines, wins: Array, pulls: Array) -> tuple[Array, Array, Array]:
    """From derivatives in a and b, which are used up, those in the mean and the variance of what is seen, (n,), and in
    its covariances with the rivals, (n, R)."""
    np.put_along_axis(wins, lines.best, np.take_along_axis(wins, lines.best, axis=1) - 1.0, axis=1)
    if not lines.counts:  # the last line is that of a rival, see `_lines`
        pulls[np.arange(len(pulls)), lines.again] += pulls[:, -1]
        wins[:, -1], pulls[:, -1] = 0.0, 0.0
    v, square = lines.v, lines.noise**2
    reading = np.where(lines.known, np.inf, np.sqrt(v + square))
    # b_r = c_r/√(v + noise²), of the place itself v/√(v + noise²)
    by_v = pulls[:, -1] * (0.5 * v + square) / reading**3
    by_v -= 0.5 * np.einsum("nr,nr->n", pulls[:, :-1], lines.cross[:, :-1]) / reading**3
    return sign * wins[:, -1], sign * by_v, sign * pulls[:, :-1] / reading[:, None]


@dataclass(frozen=True, eq=False)
class _View:
    """One posterior of a belief: its weight, the rivals under it, and the instruments that it has of its own."""

    goal: KnowledgeGradient
    weight: float
    posterior: Posterior
    instruments: Mapping[str, Instrument]

    def instrument(self, given: Instrument) -> Instrument:
        """Its own instrument under this label; the one given where it has none, or one of another kind."""
        own = self.instruments.get(given.label)
        return own if own is not None and type(own) is type(given) else given

    def noise(self, given: Instrument) -> float:
        """That of its own instrument, whose answers are numbers."""
        return float(self.instrument(given).channel().noise)  # type: ignore[union-attr]  # a number has one

    @cached_property
    def rivals(self) -> Watched | None:
        return self.goal.rivals(self.posterior)

    @cached_property
    def beside(self) -> Beside:
        """The rivals, ready to be watched."""
        assert self.rivals is not None
        return self.posterior.beside(self.rivals.queries)

    def lines(self, instrument: Instrument, seen: Seen, cross: Array) -> _Lines:
        rivals, n = self.rivals, len(cross)
        assert rivals is not None
        means, noise = np.broadcast_to(rivals.mean, (n, len(rivals))), np.full(n, self.noise(instrument))
        moments = seen.mean[:, 0], seen.cov[:, 0, 0], seen.known
        counts = sees_what_counts(self.posterior, instrument)
        return _lines(self.goal.sign, means, moments, noise, cross, counts)


@dataclass(frozen=True, eq=False)
class _Together:
    """The posteriors of a belief asked as one, for instruments that read a number at a place."""

    goal: KnowledgeGradient
    parts: tuple[_View, ...]
    stacked: Stacked
    rivals: Abreast

    @cached_property
    def weights(self) -> Array:
        return np.array([part.weight for part in self.parts])

    def score(self, instrument: Instrument, queries: Array) -> Array:
        def of(some: slice) -> Array:
            lines = self._lines(instrument, self.stacked.look(queries[some], self.rivals))
            heights = mean_of_envelope(lines.a, lines.b)
            return np.asarray(self.weights @ heights.reshape(len(self.parts), -1))

        size = max(1, _CACHED // (len(self.parts) * (len(self.rivals.places) + 1)))
        return np.concatenate([of(slice(i, i + size)) for i in range(0, max(len(queries), 1), size)])

    def score_and_gradient(self, instrument: Instrument, queries: Array) -> tuple[Array, Array]:
        views = self.stacked.climb(queries, self.rivals)
        lines, shape = self._lines(instrument, views), views.mean.shape
        wins, pulls = _slopes_of_envelope(lines.a, lines.b)
        heights = _under(lines.a, lines.b, wins, pulls).reshape(shape)
        by_mean, by_v, by_cross = _slopes_of_lines(self.goal.sign, lines, wins, pulls)
        weights = self.weights[:, None]
        slope = views.back(
            weights * by_mean.reshape(shape),
            weights * by_v.reshape(shape),
            weights[..., None] * by_cross.reshape(*shape, -1),
        )
        return self.weights @ heights, slope

    def _lines(self, instrument: Instrument, views: Views) -> _Lines:
        (S, n, R), rivals = views.cross.shape, self.rivals
        least = np.maximum(RESOLUTION * np.maximum(views.prior, 0.0), _TINY)  # as in `watched.see`
        moments = views.mean.ravel(), np.maximum(views.variance, least).ravel(), (views.variance <= least).ravel()
        noise = np.repeat([part.noise(instrument) for part in self.parts], n)
        means = np.repeat(rivals.mean, n, axis=0)
        return _lines(self.goal.sign, means, moments, noise, views.cross.reshape(S * n, R), True)


@dataclass(frozen=True, eq=False)
class _Prepared:
    """The knowledge gradient for the belief that it was prepared for: what each of its posteriors sees."""

    goal: KnowledgeGradient
    belief: Posterior | Belief
    parts: tuple[_View, ...]
    together: _Together | None
    scale: ClassVar[str] = AMOUNT
    looks_itself: ClassVar[bool] = True

    def score(self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike) -> Array:
        if self.together is not None and _is_reading(instrument):
            return self.together.score(instrument, self._queries(instrument, places))
        return self._mean(self.parts, instrument, places)

    def rank(self, belief: Belief, instrument: Instrument, places: ArrayLike) -> Array:
        """The score under the heaviest parts alone; 0 for those of many that are not among the best under the heaviest
        one."""
        given, leading = np.asarray(places), self._of_leading(_LEADING)
        chosen = np.arange(len(given))
        if len(chosen) > _GLANCED:
            glance = self._of_leading(1).score(belief, instrument, given)
            chosen = np.sort(np.argsort(-glance, kind="stable")[:_GLANCED])
        out = np.zeros(len(given))
        out[chosen] = leading.score(belief, instrument, given[chosen])
        return out

    def _of_leading(self, size: int) -> _Prepared:
        if isinstance(self.belief, Posterior):
            return self
        if size not in self._led:
            self._led[size] = self.goal.prepare(self.belief.leading(size))
        return self._led[size]

    @cached_property
    def _led(self) -> dict[int, _Prepared]:
        """The same under the heaviest parts, by how many."""
        return {}

    def _mean(self, parts: Sequence[_View], instrument: Instrument, places: ArrayLike) -> Array:
        return np.asarray(sum(part.weight * self._of_one(part, instrument, places) for part in parts))

    def _queries(self, instrument: Instrument, places: ArrayLike) -> Array:
        first = self.parts[0].posterior
        return first.data.completed(queries_of(first, instrument, places))

    def score_and_gradient(
        self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike
    ) -> tuple[Array, Array] | None:
        channel = instrument.channel()
        if channel is None or not channel.is_number or instrument.query != "place":
            return None
        if self.together is not None and _is_reading(instrument):
            score, slope = self.together.score_and_gradient(instrument, self._queries(instrument, places))
            return score, slope[:, : np.shape(places)[1]]
        if any(part.rivals is None for part in self.parts):
            return None
        slope, heights = np.zeros(np.shape(places)), []
        for part in self.parts:
            own = part.instrument(instrument)
            seen, found = look(part.posterior, own, queries_of(part.posterior, own, places), part.beside)
            lines = part.lines(instrument, seen, found.cross)
            wins, pulls = _slopes_of_envelope(lines.a, lines.b)
            heights.append(_under(lines.a, lines.b, wins, pulls))
            slope += part.weight * found.back(*_slopes_of_lines(self.goal.sign, lines, wins, pulls))
        return np.array([part.weight for part in self.parts]) @ np.stack(heights), slope

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
            lines = part.lines(instrument, see(belief, own, here), cross)
            return mean_of_envelope(lines.a, lines.b)

        return in_blocks(of, len(queries), 8 * (len(rivals) + 1))

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


def _is_reading(instrument: Instrument) -> bool:
    """Whether it reads f itself at a place, as a number."""
    channel = instrument.channel()
    return channel is not None and channel.is_number and instrument.query == "place" and instrument.outputs is None
