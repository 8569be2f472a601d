"""Climbing the score from good candidates, inside the box.

All starts climb together: the sum of their scores is one function, whose gradient L-BFGS-B follows between the bounds.
What counts is the best place that any of them saw and that satisfies every constraint, on a grid so fine that no score
feels it: where a climb ends depends on the last digits of all that went into it, and the place asked for should not.

Whole numbers and categories are held while the others climb. Then the neighbours of the best place are scored, the best
of them climb, and so on while that is an improvement: nothing is rounded.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from gainful.instruments import Instrument
from gainful.selection.chart import Chart
from gainful.selection.limits import along_limits
from gainful.selection.scoring import Scoring
from gainful.selection.ties import best_first, better, first_best
from gainful.space import Fresh, Places, Restricted, Space, Within, evenly

__all__ = ["ascend"]

Array = NDArray[np.float64]

_STEPS, _LOOKS = 40, 60  # of a climb; a score with an edge along its top would be looked at for ever
_FLAT = 1e-12  # a score so far below its own slope is nothing to measure by: where it is zero all over
_ENOUGH = {"amount": 1e-4, "log": 1e-6, "signed": 1e-9}  # of a score: a step that brings no more is the last
_GLANCES = 6  # of a climb from a neighbour, to see whether it is the better one
_AROUND, _REACHES = 64, (0.1, 0.05, 0.03, 0.02, 0.01, 0.005, 0.003, 0.001)  # of the box
_DIFFERENCE = 1e-5  # of the box, for acquisitions that have no gradient of their own
_ROUNDS = 12  # of neighbours
_NEIGHBOURS = 2  # of a place that climb,
_FOLLOWED = 2  # for so many places at once, the best
_WORTH = 0.05  # of the score: what a step with its climb must bring for the next one to be tried


def ascend(
    scoring: Scoring, instrument: Instrument, space: Places, starts: Array, distinct: bool = False
) -> tuple[Array, float]:
    """The best query reached from the starts, (d,), (2, d) or (k, d), and its score; −inf if none satisfies the space.

    The gradient is the acquisition's own where it has one; others are differenced. The climb is on the score under the
    fantasy, and what is reached is scored as it should be.
    """
    distinct = distinct or instrument.query == "pair"  # a comparison of a place with itself says nothing
    chart = Chart(space)
    reached, heights = _climb(scoring, instrument, chart, starts, distinct)
    if not np.isfinite(heights).any():
        return starts[0], -np.inf
    if chart.mixtures:  # once more from the faces that it came to, where the slopes are others
        reached, heights = _climb(scoring, instrument, chart, reached, distinct)
    if chart.discrete:
        before = heights
        reached, heights = _alternate(scoring, instrument, chart, reached, heights, distinct)
        top = np.array([first_best(heights)])
        if better(heights, before)[top[0]]:  # it came from a neighbour, after a short climb
            reached[top], heights[top] = _climb(scoring, instrument, chart, reached[top], distinct)
    if not scoring.is_exact:
        reached = reached[np.isfinite(heights)]
        heights = scoring.score(instrument, reached)
    i = first_best(heights)
    best = reached[i], float(heights[i])
    if not boxed(space):
        best = _settle(scoring, instrument, chart, best, distinct)
        best = _on_faces(scoring, instrument, chart, best, distinct)
    return _rounded(scoring, instrument, chart, best, distinct)


def _climb(
    scoring: Scoring, instrument: Instrument, chart: Chart, starts: Array, distinct: bool, looks: int = _LOOKS
) -> tuple[Array, Array]:
    """The best place that each start saw and that satisfies the space, and its score; −inf where there was none."""
    space, shape = chart.space, starts.shape
    width = chart.high - chart.low
    width = np.where(width > 0.0, width, 1.0)
    reached, heights = np.array(starts), np.full(len(starts), -np.inf)
    scale, moves = 1.0, chart.moves(starts)

    def objective(x: Array) -> tuple[float, Array]:
        places = chart.down(x.reshape(shape), starts)
        scores, slopes = _score_and_slopes(scoring, instrument, chart, places)
        allowed = space.contains(places.reshape(-1, shape[-1])).reshape(len(places), -1).all(axis=1)
        if distinct:
            allowed &= _apart(places, width)
        higher = allowed & better(scores, heights)
        reached[higher], heights[higher] = places[higher], scores[higher]
        return -float(scores.sum()) / scale, -slopes.ravel() / scale

    start = np.where(moves, chart.up(starts), 0.0).ravel()
    value, slopes = objective(start)
    scale = max(abs(value), _FLAT * float(np.abs(slopes).max(initial=0.0)), np.finfo(float).tiny)
    if not moves.any():
        return reached, heights
    minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, 1.0) if free else (0.0, 0.0) for free in moves.ravel()],
        options={"maxiter": _STEPS, "maxfun": looks, "ftol": _ENOUGH[scoring.scale], "gtol": 1e-7},
    )
    return reached, heights


def _alternate(
    scoring: Scoring, instrument: Instrument, chart: Chart, reached: Array, heights: Array, distinct: bool
) -> tuple[Array, Array]:
    """From each place to its best neighbour after a climb, to the best neighbour of that, and so on while it is better.

    All go on together, each by itself, until none is better any more.
    """
    reached, heights = reached.copy(), heights.copy()
    going, stepped = [int(i) for i in best_first(heights) if np.isfinite(heights[i])], set[int]()
    for _ in range(_ROUNDS):
        near, owner = _around(chart, reached, going, distinct)
        if not len(near):
            break
        ranks = scoring.rank(instrument, near)
        order = best_first(ranks)
        first = {i: order[owner[order] == i][:_NEIGHBOURS] for i in going}
        # A step that is better as it is needs no climb yet; where none is, the best of them climb.
        stepping = [i for i in going if len(first[i]) and better(ranks[first[i][0]], heights[i])]
        for i in stepping:
            reached[i], heights[i] = near[first[i][0]], ranks[first[i][0]]
        standing = sorted((i for i in going if i not in stepping), key=lambda i: -heights[i])[:_FOLLOWED]
        starts = {i: np.concatenate([reached[i : i + 1][: i in stepped], near[first[i]]]) for i in standing}
        going = stepping + _climbed(scoring, instrument, chart, reached, heights, starts, distinct)
        stepped = (stepped | set(stepping)) - set(standing)
    return reached, heights


def _climbed(
    scoring: Scoring,
    instrument: Instrument,
    chart: Chart,
    reached: Array,
    heights: Array,
    starts: dict[int, Array],
    distinct: bool,
) -> list[int]:
    """Those places that a climb from one of their starts brought far; all for which one was better are there now."""
    starts = {i: each for i, each in starts.items() if len(each)}
    if not starts:
        return []
    owner = np.repeat(list(starts), [len(each) for each in starts.values()])
    climbed, found = _climb(scoring, instrument, chart, np.concatenate(list(starts.values())), distinct, _GLANCES)
    out = []
    for i in starts:
        mine = np.flatnonzero(owner == i)
        j = mine[first_best(found[mine])]
        if better(found[j], heights[i]):
            if found[j] > heights[i] + _WORTH * abs(heights[i]):
                out.append(i)
            reached[i], heights[i] = climbed[j], found[j]
    return out


def _around(chart: Chart, reached: Array, going: list[int], distinct: bool) -> tuple[Array, NDArray[np.intp]]:
    """The neighbours of some of the places, and whose they are."""
    blocks = [np.zeros((0, *reached.shape[1:])), *(chart.neighbours(reached[i]) for i in going)]
    near, owner = np.concatenate(blocks), np.repeat(np.array([-1, *going], dtype=np.intp), [len(b) for b in blocks])
    if distinct:
        apart = _apart(near, chart.high - chart.low)
        near, owner = near[apart], owner[apart]
    return near, owner


def _apart(queries: Array, width: Array) -> NDArray[np.bool_]:
    """Which queries, (M, d) or (M, k, d), have no two places nearer than a millionth of the box."""
    if queries.ndim == 2:
        return np.ones(len(queries), dtype=bool)
    gaps = np.max(np.abs(queries[:, :, None] - queries[:, None]) / np.where(width > 0.0, width, 1.0), axis=-1)
    return np.asarray(np.all(gaps + np.eye(queries.shape[1]) > 1e-6, axis=(1, 2)))


def boxed(space: Places) -> bool:
    """Whether the bounds are all that limits the space, but for single places."""
    while isinstance(space, Restricted):
        if not isinstance(space.constraint, Within | Fresh):
            return False
        space = space.space
    return isinstance(space, Space)


def _settle(
    scoring: Scoring, instrument: Instrument, chart: Chart, best: tuple[Array, float], distinct: bool
) -> tuple[Array, float]:
    """A shrinking random search about the best place: with constraints of the user's own the optimum may lie on their
    boundary, which no gradient knows."""
    place, score = best
    space, width = chart.space, chart.high - chart.low
    around = 2.0 * evenly(_AROUND, place.size, np.random.default_rng(0)).reshape(_AROUND, *place.shape) - 1.0
    moves = chart.moves(place)
    if not moves.any():
        return best
    for reach in _REACHES:
        t = np.where(moves, chart.up(place), 0.0) + reach * around
        near = chart.down(t, np.broadcast_to(place, t.shape))
        near = near[space.contains(near.reshape(-1, place.shape[-1])).reshape(len(near), -1).all(axis=1)]
        if distinct:
            near = near[_apart(near, width)]
        if len(near):
            scores = scoring.score(instrument, near)
            i = first_best(scores)
            if better(scores[i], score):
                place, score = near[i], float(scores[i])
    return place, score


def _on_faces(
    scoring: Scoring, instrument: Instrument, chart: Chart, best: tuple[Array, float], distinct: bool
) -> tuple[Array, float]:
    """The best place along linear limits, if there are any and it is better."""

    def one(place: Array) -> tuple[float, Array]:
        scores, slopes = _score_and_slopes(scoring, instrument, chart, place[None])
        return float(scores[0]), slopes[0]

    place = along_limits(chart, best[0], one)
    if place is None or not chart.space.contains(np.atleast_2d(place)).all():
        return best
    if distinct and not _apart(place[None], chart.high - chart.low)[0]:
        return best
    score = float(scoring.score(instrument, place[None])[0])
    return (place, score) if better(score, best[1]) else best


def _rounded(
    scoring: Scoring, instrument: Instrument, chart: Chart, best: tuple[Array, float], distinct: bool
) -> tuple[Array, float]:
    """The nearest place of the grid and its score, unless it is not allowed or worse."""
    place = chart.on_grid(best[0])
    allowed = bool(chart.space.contains(np.atleast_2d(place)).all())
    if not allowed or (distinct and not _apart(place[None], chart.high - chart.low)[0]):
        return best
    score = float(scoring.score(instrument, place[None])[0])
    return best if better(best[1], score) else (place, score)


def _score_and_slopes(scoring: Scoring, instrument: Instrument, chart: Chart, places: Array) -> tuple[Array, Array]:
    """Scores, (S,), and their derivatives in the coordinates of the climb."""
    own = scoring.score_and_gradient(instrument, places)
    if own is not None:
        return own[0], chart.slopes(places, own[1])
    moves = chart.moves(places)
    flat = np.where(moves, chart.up(places), 0.0).reshape(len(places), -1)
    steps = np.diag(np.full(flat.shape[1], _DIFFERENCE))
    plus, minus = np.minimum(flat[:, None] + steps, 1.0), np.maximum(flat[:, None] - steps, 0.0)  # (S, D, D), inside
    around = np.concatenate([plus, minus], axis=1).reshape(len(places), -1, *places.shape[1:])
    near = chart.down(around, np.broadcast_to(places[:, None], around.shape))
    everything = np.concatenate([places[:, None], near], axis=1)
    values = scoring.height(instrument, everything.reshape(-1, *places.shape[1:])).reshape(len(flat), -1)
    apart = np.einsum("sdd->sd", plus - minus)
    rise = values[:, 1 : 1 + len(steps)] - values[:, 1 + len(steps) :]
    slopes = np.divide(rise, apart, out=np.zeros_like(rise), where=apart > 0.0)
    return values[:, 0], np.where(moves, slopes.reshape(places.shape), 0.0)
