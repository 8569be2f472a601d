"""What queries are worth now: an acquisition, a belief, and a fantasy in place of what is pending.

An acquisition need not know of pending queries. It scores under a belief that counts on their answers (`fantasize`), so
every one works in batches and with several people asking. One that has an exact form beyond pending queries
(`score_beyond`, the information measures) is ranked and climbed by the fantasy, and judged by the exact form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gainful.acquisition import Acquisition, score_and_gradient, score_beyond
from gainful.data import Query
from gainful.errors import InvalidInput
from gainful.inference.fantasy import fantasize
from gainful.inference.posterior import Posterior
from gainful.instruments import Instrument

__all__ = ["Scoring"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Scoring:
    """Scores of queries beyond what pending ones will tell."""

    acquisition: Acquisition
    belief: Posterior
    pending: Sequence[Query] = ()

    @cached_property
    def fantasy(self) -> Posterior:
        """The belief that counts on the pending answers."""
        return fantasize(self.belief, self.pending)

    @property
    def is_exact(self) -> bool:
        """Whether a rank is already the score."""
        return not self.pending or not hasattr(self.acquisition, "score_beyond")

    def rank(self, instrument: Instrument, places: Array) -> Array:
        """Scores under the fantasy, (M,)."""
        return self._numbers(self.acquisition.score(self.fantasy, instrument, places))

    def score(self, instrument: Instrument, places: Array) -> Array:
        """Scores in the exact form where the acquisition has one, (M,)."""
        found = score_beyond(self.acquisition, self.belief, instrument, places, self.pending)
        return self.rank(instrument, places) if found is None else self._numbers(found)

    def score_and_gradient(self, instrument: Instrument, places: Array) -> tuple[Array, Array] | None:
        """Scores under the fantasy and their derivatives in the places; None for one that does not know them."""
        return score_and_gradient(self.acquisition, self.fantasy, instrument, places)

    @staticmethod
    def _numbers(scores: Array) -> Array:
        if np.isnan(scores).any():
            raise InvalidInput("goal", "scores that are numbers", "NaN", "check what the goal does at these places")
        return scores
