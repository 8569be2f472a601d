"""Candidates for sums of functions of a few dimensions: one after the other, each of those few is searched alone.

Where no term of a kernel sees two dimensions at once, f is a sum, and the best value of each summand can be found by
itself: ten searches along a line instead of one in ten dimensions (Gardner 2018, sec. 5.4). A score is no sum, even
where mean and covariance are, so that the blocks are gone through more than once, and what is found is climbed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gainful.acquisition.base import looks_itself
from gainful.inference.belief import Belief
from gainful.inference.posterior import Posterior
from gainful.inference.predictive import Predictive
from gainful.instruments import Instrument
from gainful.selection.chart import Chart
from gainful.selection.scoring import Scoring
from gainful.selection.ties import first_best
from gainful.space import Places

__all__ = ["blocks_of", "by_blocks"]

Array = NDArray[np.float64]

_MODELS = 5  # posteriors that are searched, the heaviest
_ROUNDS = 2
_ALONG, _NEAR = 40, 16  # places that are tried for a block: anywhere, and near where it is
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
    out, walk = [], _Walk(scoring, instrument, blocks)
    for several in (around, places):
        if len(several):
            scores = scoring.rank(instrument, several)
            i = first_best(scores)
            out.append(_rounds(walk, chart, several[i], float(scores[i]), places, rng))
    return np.array(out)


def _rounds(walk: _Walk, chart: Chart, start: Array, score: float, places: Array, rng: np.random.Generator) -> Array:
    """From block to block, as often as that betters the score."""
    best = score
    walk.begin(start)
    for _ in range(_ROUNDS):
        before = best
        for b in rng.permutation(len(walk.blocks)):
            tried = _tried(chart, walk.here, list(walk.blocks[b]), places, rng)
            if not len(tried):
                continue
            scores = walk.scores(tried, b)
            i = first_best(scores)
            if scores[i] > best:
                walk.go(i)
                best = float(scores[i])
        if not best > before:
            break
    return walk.here


class _Walk:
    """Where a search under one posterior is. Of its covariances with the data, those that the terms of one block have
    change with a step, and no others need to be worked out again."""

    def __init__(self, scoring: Scoring, instrument: Instrument, blocks: tuple[tuple[int, ...], ...]) -> None:
        self.scoring, self.instrument, self.blocks = scoring, instrument, blocks
        belief = scoring.counting
        assert isinstance(belief, Belief)
        self._belief, self._posterior = belief, belief.posteriors[0]
        self._plain = looks_itself(scoring.acquisition) or self._posterior.draws is not None
        self._changing = [self._posterior.kernel.touching(set(block)) for block in blocks]
        self._cross = self._crosses = self.here = self._tried = np.zeros(0)

    def begin(self, here: Array) -> None:
        self.here = here
        self._cross = self._posterior.predictor.cross(here[None])

    def scores(self, tried: Array, block: int) -> Array:
        """Of places (M, d) that differ from where it is in this block alone."""
        self._tried = tried
        return self.scoring.rank(self.instrument, tried if self._plain else self._predicted(tried, block))

    def _predicted(self, tried: Array, block: int) -> Predictive:
        predictor, changing = self._posterior.predictor, self._changing[block]
        self._crosses = np.repeat(self._cross, len(tried), axis=1)
        if changing is not None and len(self._cross):
            both = changing.matrix(predictor.layout.places, np.concatenate([self.here[None], tried]))
            self._crosses += both[:, 1:] - both[:, :1]
        mean, variance = predictor.moments_from(tried, self._crosses)
        return Predictive(self._belief, tried, mean[None], variance[None])

    def go(self, i: int) -> None:
        """To one of the places that were scored last."""
        self.here = self._tried[i]
        if not self._plain:
            self._cross = self._crosses[:, i : i + 1]


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
