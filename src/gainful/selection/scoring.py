"""What queries are worth now: an acquisition, a belief, and a fantasy in place of what is pending.

An acquisition need not know of pending queries. It scores under a belief that counts on their answers (`fantasize`), so
every one works in batches and with several people asking. An acquisition that has an exact form beyond pending queries
(`score_beyond`, the information measures) is ranked and climbed by the fantasy, and judged by the exact form.

Of several posteriors all candidates are ranked by what is cheap (`rank`: one normal with the mixture's mean and
variance), the leaders are scored by the mixture, and the heaviest posteriors are climbed. Weights move with pending
answers: the score is then the average over a few answers drawn from the belief.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gainful.acquisition import Acquisition, prepare, score_and_gradient, score_beyond
from gainful.acquisition.base import SIGNED, averaged_over, looks_itself, rank
from gainful.data import Query
from gainful.errors import InvalidInput
from gainful.inference.belief import Belief, parts_of
from gainful.inference.fantasy import count_on, fantasies
from gainful.inference.posterior import Posterior
from gainful.inference.predictive import Predictive
from gainful.information.readings import RESOLUTION
from gainful.instruments import Instrument
from gainful.numerics.rows import find_rows

__all__ = ["Scoring"]

Array = NDArray[np.float64]

_CLIMBED = 3  # posteriors of which the score is climbed


@dataclass(frozen=True, eq=False)
class Scoring:
    """Scores of queries beyond what pending ones will tell, less `zero`."""

    acquisition: Acquisition
    belief: Posterior | Belief
    pending: Sequence[Query] = ()
    zero: float = 0.0  # from which scores are measured; of amounts and logarithms always 0

    @cached_property
    def _looks(self) -> tuple[Posterior | Belief, Acquisition]:
        """The belief that queries are ranked under, which counts on the pending answers, and the acquisition for it."""
        belief = count_on(self.belief, self.pending)
        return belief, prepare(self.acquisition, belief)

    @property
    def counting(self) -> Posterior | Belief:
        """The belief that counts on the pending answers."""
        return self._looks[0]

    def under(self, s: int) -> Scoring:
        """The scores under one of several posteriors alone, which counts on the pending answers."""
        belief = self.counting
        if isinstance(belief, Posterior):
            belief = Belief([belief])
        return Scoring(self.acquisition, belief.again([belief.posteriors[s]], np.ones(1), [s]), zero=self.zero)

    @cached_property
    def _climbed(self) -> tuple[Posterior | Belief, Acquisition]:
        """The belief whose score is climbed: of many posteriors the heaviest alone, which lead to much the same place,
        unless the acquisition says that all of them are to be."""
        belief = self._looks[0]
        whole = getattr(self.acquisition, "climbs_whole", False)
        if isinstance(belief, Posterior) or len(belief.weights) <= _CLIMBED or whole:
            return self._looks
        leading = belief.leading(_CLIMBED)
        return leading, prepare(self.acquisition, leading)

    @cached_property
    def _judged(self) -> list[tuple[Posterior | Belief, Acquisition]]:
        """The beliefs that queries are scored under: of several posteriors and pending queries, those after some of
        their answers, which move the weights."""
        if isinstance(self.belief, Posterior) or not self.pending:
            return [self._looks]
        return [(f, prepare(self.acquisition, f)) for f in fantasies(self.belief, self.pending)]

    @property
    def is_exact(self) -> bool:
        """Whether a rank is already the score."""
        if isinstance(self.belief, Belief):
            return False
        return not self.pending or not hasattr(self.acquisition, "score_beyond")

    @property
    def scale(self) -> str:
        """What scores are: amounts, of which a small part is nothing whatever the unit, their logarithms, or neither,
        also where nobody said."""
        return str(getattr(self.acquisition, "scale", SIGNED))

    def predict(self, instrument: Instrument, places: Array) -> Array | Predictive:
        """The places, with what is believed there where they are seen one by one and the acquisition asks for it:
        instruments share it."""
        shared = instrument.query == "place" and instrument.outputs is None and len(places) > 0
        shared = shared and not looks_itself(self.acquisition)
        return self._looks[0].predict(places) if shared else places

    def rank(self, instrument: Instrument, places: Array | Predictive) -> Array:
        """Scores under the fantasy, (M,); of several posteriors nearly those, for less."""
        belief, acquisition = self._looks
        return self._numbers(rank(acquisition, belief, instrument, places))

    def score(self, instrument: Instrument, places: Array | Predictive) -> Array:
        """Scores in the exact form where the acquisition has one, (M,)."""
        found = None
        if self.pending:
            found = score_beyond(self.acquisition, self.belief, instrument, places, self.pending)
        if found is None:
            each = [acquisition.score(belief, instrument, places) for belief, acquisition in self._judged]
            found = averaged_over(self.acquisition, each)
        return self._numbers(found)

    def score_and_gradient(self, instrument: Instrument, places: Array) -> tuple[Array, Array] | None:
        """Scores under the fantasy and their derivatives in the places; None for one that does not know them."""
        belief, acquisition = self._climbed
        found = score_and_gradient(acquisition, belief, instrument, places)
        return None if found is None else (found[0] - self.zero, found[1])

    def height(self, instrument: Instrument, places: Array) -> Array:
        """The scores, (M,), of which `score_and_gradient` has the derivatives, where it knows them."""
        belief, acquisition = self._climbed
        return self._numbers(acquisition.score(belief, instrument, places))

    def spread(self, instrument: Instrument, places: Array | Predictive) -> Array:
        """The variance, (M,), or of sets the log determinant of the covariance, that pending answers leave."""
        v = self._looks[0].marginals(instrument, places)[1]
        return v if v.ndim == 1 else np.linalg.slogdet(v)[1]

    def told(self, instrument: Instrument, places: Array | Predictive) -> NDArray[np.bool_]:
        """Which queries, (M,), of an instrument without noise have their answer already, or will have it."""
        if not instrument.is_certain or instrument.query == "set":
            return np.zeros(len(places), dtype=bool)
        given = np.asarray(places, dtype=float)
        seen = instrument.sees(given)
        flat = seen.reshape(len(given), -1, seen.shape[-1])
        known = np.ones(len(places), dtype=bool)
        channel, belief = instrument.channel(), self._looks[0]
        asked = [q.seen[None] for q in self.pending if q.instrument.channel() == channel]
        asked += [b.instrument.sees(b.X) for b in belief.data.batches if b.instrument.channel() == channel]
        asked = [each.reshape(len(each), -1, each.shape[-1]) for each in asked]
        again = find_rows(flat, np.concatenate(asked)) >= 0 if asked else ~known
        for part in parts_of(belief, instrument, places):
            prior = sum(np.maximum(part.posterior.kernel.diag(flat[:, i]), 0.0) for i in range(flat.shape[1]))
            known &= part.posterior.marginals(part.instrument, part.places)[1] <= RESOLUTION * prior
        return known | again

    def _numbers(self, scores: Array) -> Array:
        if np.isnan(scores).any():
            raise InvalidInput("goal", "scores that are numbers", "NaN", "check what the goal does at these places")
        return scores - self.zero if self.zero else scores
