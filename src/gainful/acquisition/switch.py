"""One goal until it is known which structure is right, then another, and back when that is in doubt again.

    first  →  then    when the entropy over structures falls below `below`
    then   →  first   when it rises above `above`

Asking about the kernel finds the structure and predicts poorly; asking about predictions needs a structure to predict
by. Lin 2022, ch. 6, names the hybrid as future work, with the entropy of the particles' index as what switches. That is
log k after every resampling, whatever is known; the entropy over canonical structures is not. Between the two bounds
the side stays what it was, so that one answer does not turn it to and fro.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.acquisition.base import (
    AMOUNT,
    SIGNED,
    Acquisition,
    averaged_over,
    prepare,
    rank,
    require_goal,
    score_and_gradient,
    score_beyond,
)
from gainful.checks import is_number, require
from gainful.data import Query
from gainful.inference.belief import Belief
from gainful.inference.fantasy import fantasies
from gainful.inference.posterior import Posterior
from gainful.instruments import Instrument

__all__ = ["FIRST", "THEN", "Switch", "entropy_of"]

Array = NDArray[np.float64]

FIRST, THEN = "first", "then"


def entropy_of(belief: Posterior | Belief) -> float:
    """How open it is which structure, or which rival model, is right, in bits; of one posterior not at all."""
    return belief.entropy if isinstance(belief, Belief) else 0.0


@dataclass(frozen=True)
class Switch:
    """The goal `first` until the entropy over structures is below `below` bits, then `then`, until it is above `above`.

    A campaign remembers the side of its last query, in its journal; by itself, a belief below `below` is on `then`.

    >>> import gainful as gf
    >>> goal = gf.Switch(gf.Learn("structure"), gf.Learn("function"), below=0.5, above=0.8)
    >>> [goal.side(bits, was) for bits, was in ((0.9, None), (0.6, "first"), (0.4, "first"), (0.6, "then"))]
    ['first', 'first', 'then', 'then']
    """

    first: Acquisition
    then: Acquisition
    below: float = 0.5
    above: float = 0.8

    def __post_init__(self) -> None:
        for name, goal in (("first", self.first), ("then", self.then)):
            require_goal(goal, name)
            require(not isinstance(goal, Switch), name, "a goal that does not switch itself", goal, "nest none")
        bounds = self.below, self.above
        fine = all(is_number(each) and np.isfinite(each) for each in bounds) and 0.0 < self.below <= self.above
        require(fine, "below, above", "bits, 0 < below ≤ above", bounds, "0.5 and 0.8 are usual")

    @property
    def scale(self) -> str:
        """That of both goals; "signed" where they differ, since then nothing can be said of it."""
        scales = {str(getattr(each, "scale", AMOUNT)) for each in (self.first, self.then)}
        return scales.pop() if len(scales) == 1 else SIGNED

    def side(self, entropy: float, was: str | None = None) -> str:
        """ "first" or "then", at this entropy in bits and coming from that side."""
        if was == THEN:
            return FIRST if entropy > self.above else THEN
        return THEN if entropy < self.below else FIRST

    def on(self, side: str) -> Acquisition:
        """The goal of that side."""
        return self.then if side == THEN else self.first

    def _under(self, belief: Any) -> Acquisition:
        return self.on(self.side(entropy_of(belief)))

    def score(self, belief: Any, instrument: Instrument, places: ArrayLike) -> Array:
        return self._under(belief).score(belief, instrument, places)

    def score_beyond(self, belief: Any, instrument: Instrument, places: ArrayLike, pending: Sequence[Query]) -> Array:
        """Beyond what pending queries will tell, on the side of the belief as it is."""
        goal = self._under(belief)
        found = score_beyond(goal, belief, instrument, places, pending)
        if found is not None:
            return found
        return averaged_over(goal, [goal.score(each, instrument, places) for each in fantasies(belief, pending)])

    def score_and_gradient(self, belief: Any, instrument: Instrument, places: Array) -> tuple[Array, Array] | None:
        return score_and_gradient(self._under(belief), belief, instrument, places)

    def rank(self, belief: Any, instrument: Instrument, places: ArrayLike) -> Array:
        return rank(self._under(belief), belief, instrument, places)

    def prepare(self, belief: Any) -> Acquisition:
        return prepare(self._under(belief), belief)
