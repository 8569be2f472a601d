"""Acquisition functions: what each possible query is worth, given what is believed.

An acquisition is anything with `score(belief, instrument, places)`: one number per query, larger being better. It need
not know what is pending: selection hands it a belief that already counts on those answers. Four methods are optional:

    score_and_gradient(belief, instrument, places)       the scores, and their derivatives in the places
    score_beyond(belief, instrument, places, pending)    the scores beyond what the pending queries will tell, exactly
    prepare(belief)                                      the same acquisition for this belief, with done what can be
                                                         done once for all queries
    rank(belief, instrument, places)                     nearly the scores under a Belief of several, for less: to find
                                                         those queries that are then scored

Cost and normalisation are acquisitions around an acquisition. What a cost does to a score depends on its `scale`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from gainful.checks import require
from gainful.data import Query, require_instrument
from gainful.errors import InvalidInput
from gainful.inference.belief import Belief
from gainful.instruments import Instrument

__all__ = [
    "Acquisition",
    "Normalised",
    "PerCost",
    "averaged_over",
    "prepare",
    "rank",
    "require_goal",
    "score_and_gradient",
    "score_beyond",
]

Array = NDArray[np.float64]

AMOUNT, LOG, SIGNED = "amount", "log", "signed"

_LEADING = 3  # parts under which a dear score ranks many queries


class Acquisition(Protocol):
    """Scores queries. `belief` is a Posterior or a Belief of several; all of gainful's take both.

    An attribute `scale` says what its numbers are: "amount" (the default), none of them negative, so that dividing by a
    cost makes sense; "log", the logarithm of an amount; "signed", neither. An attribute `looks_ahead` that is true says
    that a score is dear: many queries are then ranked under the few heaviest posteriors of several.
    """

    def score(self, belief: Any, instrument: Instrument, places: ArrayLike) -> Array:
        """One number per query, (M,)."""
        ...


def require_goal(goal: object, argument: str = "goal") -> None:
    """Refuse what cannot score queries."""
    able = callable(getattr(goal, "score", None)) and not isinstance(goal, type)
    require(able, argument, "an acquisition such as Learn()", goal, "make one first")


def score_and_gradient(
    acquisition: Acquisition, belief: Any, instrument: Instrument, places: Array
) -> tuple[Array, Array] | None:
    """The scores (M,) and their derivatives in the places; None for an acquisition that does not know them."""
    own = getattr(acquisition, "score_and_gradient", None)
    return None if own is None else own(belief, instrument, places)


def prepare(acquisition: Acquisition, belief: Any) -> Acquisition:
    """The acquisition, ready for many queries under one belief."""
    own = getattr(acquisition, "prepare", None)
    return acquisition if own is None else own(belief)


def rank(acquisition: Acquisition, belief: Any, instrument: Instrument, places: ArrayLike) -> Array:
    """Scores (M,), or what is like them for less where the belief is one of several posteriors."""
    if not isinstance(belief, Belief):
        return acquisition.score(belief, instrument, places)
    own = getattr(acquisition, "rank", None)
    if own is not None:
        return np.asarray(own(belief, instrument, places))
    dear = bool(getattr(acquisition, "looks_ahead", False))
    return acquisition.score(belief.leading(_LEADING) if dear else belief, instrument, places)


def averaged_over(acquisition: Acquisition, scores: Sequence[Array]) -> Array:
    """The mean of scores under several beliefs that are as probable, (M,); of logarithms, that of the mean amount."""
    if str(getattr(acquisition, "scale", AMOUNT)) == LOG:
        return np.asarray(logsumexp(np.stack(scores), axis=0) - np.log(len(scores)))
    return np.asarray(np.mean(scores, axis=0))


def score_beyond(
    acquisition: Acquisition, belief: Any, instrument: Instrument, places: ArrayLike, pending: Sequence[Query]
) -> Array | None:
    """The scores (M,) beyond what pending queries will tell, exactly; None for an acquisition that cannot say."""
    if not pending:
        return acquisition.score(belief, instrument, places)
    own = getattr(acquisition, "score_beyond", None)
    return None if own is None else own(belief, instrument, places, pending)


def looks_itself(acquisition: Acquisition) -> bool:
    """Whether an acquisition works out for itself what is believed at the places, and needs no prediction of it."""
    return bool(getattr(acquisition, "looks_itself", False))


@dataclass(frozen=True)
class PerCost:
    """A score per unit of the instrument's cost (Fletcher 2022, sec. 6).

    An amount is divided by the cost, from the logarithm of an amount the logarithm of the cost is taken away. A score
    that may have either sign is refused: divided by a cost, a negative one would favour the dearest instrument.

    >>> import gainful as gf
    >>> prior = gf.GP(gf.SE(variance=3.0)).condition(gf.Data())
    >>> PerCost(gf.Learn()).score(prior, gf.Point(noise=1.0, cost=4), [[0.0]]).tolist()
    [0.25]
    """

    goal: Acquisition

    def __post_init__(self) -> None:
        require_goal(self.goal)
        if self.scale == SIGNED:
            raise self._signed(self.goal)

    @property
    def scale(self) -> str:
        return str(getattr(self.goal, "scale", AMOUNT))

    @property
    def looks_itself(self) -> bool:
        return looks_itself(self.goal)

    def score(self, belief: Any, instrument: Instrument, places: ArrayLike) -> Array:
        require_instrument(instrument)
        return self._per_cost(self.goal.score(belief, instrument, places), instrument.cost)

    def score_and_gradient(self, belief: Any, instrument: Instrument, places: Array) -> tuple[Array, Array] | None:
        found = score_and_gradient(self.goal, belief, instrument, places)
        if found is None:
            return None
        slope = found[1] if self.scale == LOG else found[1] / instrument.cost
        return self._per_cost(found[0], instrument.cost), slope

    def score_beyond(
        self, belief: Any, instrument: Instrument, places: ArrayLike, pending: Sequence[Query]
    ) -> Array | None:
        found = score_beyond(self.goal, belief, instrument, places, pending)
        return None if found is None else self._per_cost(found, instrument.cost)

    def rank(self, belief: Any, instrument: Instrument, places: ArrayLike) -> Array:
        return self._per_cost(rank(self.goal, belief, instrument, places), instrument.cost)

    def prepare(self, belief: Any) -> PerCost:
        return PerCost(prepare(self.goal, belief))

    def _per_cost(self, scores: Array, cost: float) -> Array:
        if self.scale == LOG:
            return scores - np.log(cost)
        if not hasattr(self.goal, "scale") and np.any(scores < 0.0):  # nobody said what its numbers are
            raise self._signed(f"{type(self.goal).__name__}, of which {np.min(scores):.3g} is one")
        return scores / cost

    @staticmethod
    def _signed(got: object) -> InvalidInput:
        return InvalidInput(
            "goal", "scores that are never negative, or logarithms of such (scale = 'log')", got,
            "use it without PerCost, or one that has an amount: information, expected improvement, variance reduction",
        )  # fmt: skip


@dataclass(frozen=True)
class Normalised:
    """A score as a share of the instrument's capacity, log2 of how many answers it can tell apart (Fletcher 2022, sec.
    5)."""

    goal: Acquisition

    def __post_init__(self) -> None:
        require_goal(self.goal)

    @property
    def looks_itself(self) -> bool:
        return looks_itself(self.goal)

    def score(self, belief: Any, instrument: Instrument, places: ArrayLike) -> Array:
        require_instrument(instrument)
        return self.goal.score(belief, instrument, places) / float(np.log2(instrument.levels))

    def score_and_gradient(self, belief: Any, instrument: Instrument, places: Array) -> tuple[Array, Array] | None:
        found = score_and_gradient(self.goal, belief, instrument, places)
        capacity = float(np.log2(instrument.levels))
        return None if found is None else (found[0] / capacity, found[1] / capacity)

    def score_beyond(
        self, belief: Any, instrument: Instrument, places: ArrayLike, pending: Sequence[Query]
    ) -> Array | None:
        found = score_beyond(self.goal, belief, instrument, places, pending)
        return None if found is None else found / float(np.log2(instrument.levels))

    def rank(self, belief: Any, instrument: Instrument, places: ArrayLike) -> Array:
        return rank(self.goal, belief, instrument, places) / float(np.log2(instrument.levels))

    def prepare(self, belief: Any) -> Normalised:
        return Normalised(prepare(self.goal, belief))
