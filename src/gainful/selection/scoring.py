"""What queries are worth now: an acquisition, a belief, and a fantasy in place of what is pending.

An acquisition need not know of pending queries. It scores under a belief that counts on their answers (`fantasize`), so
every one works in batches and with several people asking. Of several posteriors the weights move with the answers: the
score is then the average over a few answers drawn from the belief. An acquisition that has an exact form beyond pending
queries (`score_beyond`, the information measures) is ranked and climbed by the fantasy, and judged by the exact form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gainful.acquisition import Acquisition, prepare, score_and_gradient, score_beyond
from gainful.data import Query
from gainful.errors import InvalidInput
from gainful.inference.belief import Belief
from gainful.inference.fantasy import fantasize, sample_fantasies
from gainful.inference.posterior import Posterior, Predictive
from gainful.information.readings import RESOLUTION
from gainful.instruments import Instrument
from gainful.numerics.rows import find_rows

__all__ = ["Scoring"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Scoring:
    """Scores of queries beyond what pending ones will tell."""

    acquisition: Acquisition
    belief: Posterior | Belief
    pending: Sequence[Query] = ()

    @cached_property
    def fantasies(self) -> tuple[Posterior | Belief, ...]:
        """Beliefs that count on the pending answers; one will do for one posterior."""
        if not self.pending:
            return (self.belief,)
        if isinstance(self.belief, Posterior):
            return (fantasize(self.belief, self.pending),)
        return tuple(sample_fantasies(self.belief, self.pending))

    @cached_property
    def _prepared(self) -> list[tuple[Acquisition, Posterior | Belief]]:
        return [(prepare(self.acquisition, f), f) for f in self.fantasies]

    @property
    def is_exact(self) -> bool:
        """Whether a rank is already the score."""
        return not self.pending or not hasattr(self.acquisition, "score_beyond")

    def predict(self, instrument: Instrument, places: Array) -> Array | Predictive:
        """The places, with what is believed there where one posterior sees them one by one: instruments share it."""
        (first, *more) = self.fantasies
        shared = not more and isinstance(first, Posterior) and instrument.query == "place" and len(places) > 0
        return first.predict(places) if shared and isinstance(first, Posterior) else places

    def rank(self, instrument: Instrument, places: Array | Predictive) -> Array:
        """Scores under the fantasy, (M,)."""
        return self._numbers(np.mean([a.score(f, instrument, places) for a, f in self._prepared], axis=0))

    def score(self, instrument: Instrument, places: Array | Predictive) -> Array:
        """Scores in the exact form where the acquisition has one, (M,)."""
        found = None
        if self.pending:
            found = score_beyond(self.acquisition, self.belief, instrument, places, self.pending)
        return self.rank(instrument, places) if found is None else self._numbers(found)

    def score_and_gradient(self, instrument: Instrument, places: Array) -> tuple[Array, Array] | None:
        """Scores under the fantasy and their derivatives in the places; None for one that does not know them."""
        found = [score_and_gradient(a, f, instrument, places) for a, f in self._prepared]
        known = [each for each in found if each is not None]
        if len(known) < len(found):
            return None
        return np.mean([scores for scores, _ in known], axis=0), np.mean([slopes for _, slopes in known], axis=0)

    def spread(self, instrument: Instrument, places: Array | Predictive) -> Array:
        """The variance, (M,), or of sets the log determinant of the covariance, that pending answers leave."""
        found = [f.marginals(instrument, places)[1] for f in self._parts]
        each = [v if v.ndim == 1 else np.linalg.slogdet(v)[1] for v in found]
        return np.asarray(np.mean(each, axis=0))

    def told(self, instrument: Instrument, places: Array | Predictive) -> NDArray[np.bool_]:
        """Which queries, (M,), of an instrument without noise have their answer already, or will have it."""
        if not instrument.is_certain or instrument.query == "set":
            return np.zeros(len(places), dtype=bool)
        flat = np.asarray(places, dtype=float).reshape(len(places), -1, np.shape(places)[-1])
        known = np.ones(len(places), dtype=bool)
        channel = instrument.channel()
        asked = [q.place[None] for q in self.pending if q.instrument.channel() == channel]
        asked += [b.X for b in self._parts[0].data.batches if b.instrument.channel() == channel]
        again = find_rows(flat, np.concatenate(asked)) >= 0 if asked else ~known
        for part in self._parts:
            prior = sum(np.maximum(part.kernel.diag(flat[:, i]), 0.0) for i in range(flat.shape[1]))
            known &= part.marginals(instrument, places)[1] <= RESOLUTION * prior
        return known | again

    @property
    def _parts(self) -> list[Posterior]:
        return [p for f in self.fantasies for p in ((f,) if isinstance(f, Posterior) else f.posteriors)]

    @staticmethod
    def _numbers(scores: Array) -> Array:
        if np.isnan(scores).any():
            raise InvalidInput("goal", "scores that are numbers", "NaN", "check what the goal does at these places")
        return scores
