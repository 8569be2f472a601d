"""Climbing the score from good candidates, inside the box.

All starts climb together: the sum of their scores is one function, whose gradient L-BFGS-B follows between the bounds.
What counts is the best place that any of them saw and that satisfies every constraint, on a grid so fine that no score
feels it: where a climb ends depends on the last digits of all that went into it, and the place asked for should not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from gainful.instruments import Instrument
from gainful.selection.scoring import Scoring
from gainful.selection.ties import better, first_best, on_grid
from gainful.space import Places, Restricted, Space, Within, evenly

__all__ = ["ascend"]

Array = NDArray[np.float64]

_STEPS = 40
_AROUND, _REACHES = 64, (0.1, 0.05, 0.03, 0.02, 0.01, 0.005, 0.003, 0.001)  # of the box
_DIFFERENCE = 1e-5  # of the box, for acquisitions that have no gradient of their own


def ascend(
    scoring: Scoring, instrument: Instrument, space: Places, starts: Array, distinct: bool = False
) -> tuple[Array, float]:
    """The best query reached from the starts, (d,), (2, d) or (k, d), and its score; −inf if none satisfies the space.

    The gradient is the acquisition's own where it has one; others are differenced. The climb is on the score under the
    fantasy, and what is reached is scored as it should be.
    """
    distinct = distinct or instrument.query == "pair"  # a comparison of a place with itself says nothing
    reached, heights = _climb(scoring, instrument, space, starts, distinct)
    if not np.isfinite(heights).any():
        return starts[0], -np.inf
    if not scoring.is_exact:
        reached = reached[np.isfinite(heights)]
        heights = scoring.score(instrument, reached)
    i = first_best(heights)
    best = reached[i], float(heights[i])
    if not boxed(space):
        best = _settle(scoring, instrument, space, best, distinct)
    return _rounded(scoring, instrument, space, best, distinct)


def _climb(
    scoring: Scoring, instrument: Instrument, space: Places, starts: Array, distinct: bool
) -> tuple[Array, Array]:
    """The best place that each start saw and that satisfies the space, and its score; −inf where there was none."""
    low, width = space.low, space.high - space.low
    width = np.where(width > 0.0, width, 1.0)
    shape = starts.shape
    reached, heights = np.array(starts), np.full(len(starts), -np.inf)
    scale = 1.0

    def objective(x: Array) -> tuple[float, Array]:
        places = np.clip(low + width * x.reshape(shape), space.low, space.high)
        scores, slopes = _score_and_gradient(scoring, instrument, places, space)
        allowed = space.contains(places.reshape(-1, shape[-1])).reshape(len(places), -1).all(axis=1)
        if distinct:
            allowed &= _apart(places, width)
        higher = allowed & better(scores, heights)
        reached[higher], heights[higher] = places[higher], scores[higher]
        return -float(scores.sum()) / scale, -(slopes * width).ravel() / scale

    first = ((starts - low) / width).ravel()
    scale = max(abs(objective(first)[0]), np.finfo(float).tiny)
    ends = list(zip((space.low - low) / width, (space.high - low) / width, strict=True))
    minimize(
        objective,
        first,
        jac=True,
        method="L-BFGS-B",
        bounds=ends * (starts.size // shape[-1]),
        options={"maxiter": _STEPS, "ftol": 1e-9, "gtol": 1e-7},
    )
    return reached, heights


def _apart(queries: Array, width: Array) -> NDArray[np.bool_]:
    """Which queries, (M, d) or (M, k, d), have no two places nearer than a millionth of the box."""
    if queries.ndim == 2:
        return np.ones(len(queries), dtype=bool)
    gaps = np.max(np.abs(queries[:, :, None] - queries[:, None]) / np.where(width > 0.0, width, 1.0), axis=-1)
    return np.asarray(np.all(gaps + np.eye(queries.shape[1]) > 1e-6, axis=(1, 2)))


def boxed(space: Places) -> bool:
    """Whether the bounds are all that limits the space."""
    while isinstance(space, Restricted):
        if not isinstance(space.constraint, Within):
            return False
        space = space.space
    return isinstance(space, Space)


def _settle(
    scoring: Scoring, instrument: Instrument, space: Places, best: tuple[Array, float], distinct: bool
) -> tuple[Array, float]:
    """A shrinking random search about the best place: with constraints of the user's own the optimum may lie on their
    boundary, which no gradient knows."""
    place, score = best
    width = space.high - space.low
    around = 2.0 * evenly(_AROUND, place.size, np.random.default_rng(0)).reshape(_AROUND, *place.shape) - 1.0
    for reach in _REACHES:
        near = np.clip(place + reach * width * around, space.low, space.high)
        near = near[space.contains(near.reshape(-1, place.shape[-1])).reshape(len(near), -1).all(axis=1)]
        if distinct:
            near = near[_apart(near, width)]
        if len(near):
            scores = scoring.score(instrument, near)
            i = first_best(scores)
            if better(scores[i], score):
                place, score = near[i], float(scores[i])
    return place, score


def _rounded(
    scoring: Scoring, instrument: Instrument, space: Places, best: tuple[Array, float], distinct: bool
) -> tuple[Array, float]:
    """The nearest place of the grid and its score, unless it is not allowed or worse."""
    place = on_grid(best[0], space.low, space.high)
    allowed = bool(space.contains(np.atleast_2d(place)).all())
    if not allowed or (distinct and not _apart(place[None], space.high - space.low)[0]):
        return best
    score = float(scoring.score(instrument, place[None])[0])
    return best if better(best[1], score) else (place, score)


def _score_and_gradient(scoring: Scoring, instrument: Instrument, places: Array, space: Places) -> tuple[Array, Array]:
    own = scoring.score_and_gradient(instrument, places)
    if own is not None:
        return own
    flat = places.reshape(len(places), -1)
    low, high = (np.tile(end, flat.shape[1] // len(end)) for end in (space.low, space.high))
    steps = np.diag(_DIFFERENCE * np.where(high > low, high - low, 1.0))
    plus, minus = np.minimum(flat[:, None] + steps, high), np.maximum(flat[:, None] - steps, low)  # (S, D, D), inside
    everything = np.concatenate([flat[:, None], plus, minus], axis=1)
    values = scoring.rank(instrument, everything.reshape(-1, *places.shape[1:])).reshape(len(flat), -1)
    apart = np.einsum("sdd->sd", plus - minus)
    rise = values[:, 1 : 1 + len(steps)] - values[:, 1 + len(steps) :]
    slopes = np.divide(rise, apart, out=np.zeros_like(rise), where=apart > 0.0)
    return values[:, 0], slopes.reshape(places.shape)
