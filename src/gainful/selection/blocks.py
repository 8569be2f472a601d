"""Candidates for sums of functions of a few dimensions: one after the other, each of those few is searched alone.

Where no term of a kernel sees two dimensions at once, f is a sum, and the best value of each summand can be found by
itself: ten searches along a line instead of one in ten dimensions (Gardner 2018, sec. 5.4). A score is no sum, even
where mean and covariance are, so that the blocks are gone through more than once, and what is found is climbed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gainful.inference.belief import Belief
from gainful.inference.posterior import Posterior
from gainful.instruments import Instrument
from gainful.selection.chart import Chart
from gainful.selection.scoring import Scoring
from gainful.selection.ties import first_best
from gainful.space import Places

__all__ = ["blocks_of", "by_blocks"]

Array = NDArray[np.float64]

_MODELS = 6  # posteriors that are searched, the heaviest
_ROUNDS = 2
_ALONG, _NEAR = 48, 16  # places that are tried for a block: anywhere, and near where it is
_REACHES = (-3.0, -0.7)  # of the box, as powers of ten, that near ones are away
_MEASURED = 100  # places near measured ones, which a search may begin with


def blocks_of(belief: Posterior | Belief, dimensions: int) -> list[tuple[tuple[int, ...], ...]]:
    """The blocks of dimensions under each posterior; () where it sees all of them together, and there is nothing to
    gain."""
    posteriors = belief.posteriors if isinstance(belief, Belief) else (belief,)
    found = (each.kernel.seen_together(tuple(range(dimensions))) for each in posteriors)
    return [_largest(terms) if max(map(len, terms), default=dimensions) < dimensions else () for terms in found]


def _largest(terms: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    """Those terms that are no part of another."""
    return tuple(each for each in dict.fromkeys(terms) if not any(set(each) < set(other) for other in terms))


def by_blocks(
    scoring: Scoring, instrument: Instrument, space: Places, places: Array, rng: np.random.Generator
) -> Array:
    """The best places that searches by blocks found, (K, d), for the heaviest posteriors that are sums; `places` are
    some of the space to choose from. No place where none is a sum."""
    belief = scoring.counting
    dimensions = places.shape[1]
    none = np.zeros((0, dimensions))
    if instrument.query != "place" or not len(places):
        return none
    blocks = blocks_of(belief, dimensions)
    weights = belief.weights if isinstance(belief, Belief) else np.ones(1)
    chosen = [int(s) for s in np.argsort(-weights, kind="stable") if blocks[s]][:_MODELS]
    if not chosen:
        return none
    chart = Chart(space)
    around = _near_measured(chart, belief, dimensions, rng)
    return np.concatenate([
        _searched(scoring.under(s), instrument, chart, blocks[s], places, around, rng) for s in chosen
    ])  # fmt: skip


def _searched(
    scoring: Scoring, instrument: Instrument, chart: Chart, blocks: tuple[tuple[int, ...], ...], places: Array,
    around: Array, rng: np.random.Generator,
) -> Array:  # fmt: skip
    """Where searches under one posterior ended: from the best of the places, and from the best near measured ones."""
    out = []
    for several in (around, places):
        if len(several):
            scores = scoring.rank(instrument, several)
            i = first_best(scores)
            out.append(_rounds(scoring, instrument, chart, blocks, several[i], float(scores[i]), places, rng))
    return np.array(out)


def _rounds(
    scoring: Scoring, instrument: Instrument, chart: Chart, blocks: tuple[tuple[int, ...], ...], start: Array,
    score: float, places: Array, rng: np.random.Generator,
) -> Array:  # fmt: skip
    """From block to block, as often as that betters the score."""
    here, best = start.copy(), score
    for _ in range(_ROUNDS):
        before = best
        for b in rng.permutation(len(blocks)):
            tried = _tried(chart, here, list(blocks[b]), places, rng)
            if not len(tried):
                continue
            scores = scoring.rank(instrument, scoring.predict_beside(here, tried, blocks[b]))
            i = first_best(scores)
            if scores[i] > best:
                here, best = tried[i], float(scores[i])
        if not best > before:
            break
    return here


def _tried(chart: Chart, here: Array, block: list[int], places: Array, rng: np.random.Generator) -> Array:
    """Places that differ from this one in a block alone: there as some place of the space is, or a little moved."""
    rows = rng.permutation(len(places))[: _ALONG * len(block)]
    moved = _moved(chart, np.repeat(here[None], _NEAR, axis=0), rng)
    tried = np.repeat(here[None], len(rows) + _NEAR, axis=0)
    tried[:, block] = np.concatenate([places[rows], moved])[:, block]
    return np.asarray(tried[chart.space.contains(tried)])


def _moved(chart: Chart, places: Array, rng: np.random.Generator) -> Array:
    """Each place moved by a random step, in the coordinates that move."""
    reach = 10.0 ** rng.uniform(*_REACHES, (len(places), 1))
    moves = chart.moves(places)
    t = np.where(moves, chart.up(places), 0.0) + reach * rng.normal(size=places.shape)
    return chart.down(np.clip(t, 0.0, 1.0), places)


def _near_measured(chart: Chart, belief: Posterior | Belief, dimensions: int, rng: np.random.Generator) -> Array:
    """Places near some that were measured."""
    measured = belief.data.layout.places[:, :dimensions] if len(belief.data) else np.zeros((0, dimensions))
    if not len(measured):
        return np.zeros((0, dimensions))
    moved = _moved(chart, np.array(measured[-_MEASURED:]), rng)
    return np.asarray(moved[chart.space.contains(moved)])
