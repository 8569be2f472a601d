"""Goals: what the user wants to learn, as a score for every possible query.

A goal is anything with `score(belief, instrument, places, given)`, one number per query, larger being better, beyond
what the pending queries `given` will tell. `Learn` is information; cost and normalisation are goals around a goal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.data import Query
from gainful.errors import InvalidInput
from gainful.goals.about import Region, require_about
from gainful.goals.information import information
from gainful.inference.belief import Belief
from gainful.inference.posterior import Posterior
from gainful.instruments import Instrument

__all__ = ["Goal", "Learn", "Normalised", "PerCost", "learn_region", "no_pending"]

Array = NDArray[np.float64]


class Goal(Protocol):
    """Scores queries. Every goal takes a Posterior, some a Belief of several as well: hence Any, which admits both."""

    def score(self, belief: Any, instrument: Instrument, places: ArrayLike, given: Sequence[Query] = ()) -> Array:
        """One number per query, (M,), given queries that are asked but not answered."""
        ...


@dataclass(frozen=True)
class Learn:
    """Bits that the answer is expected to tell about the function: BALD, in full (mixed 5; bald 2).

    About a `Region` it is what the answer tells about predictions there. A belief of several posteriors may also be
    asked about "hyperparameters" or "model", which of them is right; about the function its hyperparameters are
    nuisance (bald 3.1).

    >>> import gainful as gf
    >>> prior = gf.GP(gf.SE(variance=3.0)).condition(gf.Data())
    >>> Learn("function").score(prior, gf.Point(noise=1.0), [[0.0]]).tolist()
    [1.0]
    """

    about: str | Region = "function"

    def __post_init__(self) -> None:
        require_about(self.about)

    def score(
        self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike, given: Sequence[Query] = ()
    ) -> Array:
        return information(belief, instrument, places, self.about, given)


@dataclass(frozen=True)
class PerCost:
    """A goal's score per unit of the instrument's cost (mixed 6)."""

    goal: Goal

    def score(
        self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike, given: Sequence[Query] = ()
    ) -> Array:
        return self.goal.score(belief, instrument, places, given) / instrument.cost


@dataclass(frozen=True)
class Normalised:
    """A goal's score as a share of the instrument's capacity, log2 of how many answers it can tell apart (mixed 5)."""

    goal: Goal

    def score(
        self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike, given: Sequence[Query] = ()
    ) -> Array:
        return self.goal.score(belief, instrument, places, given) / float(np.log2(instrument.levels))


def learn_region(reference: ArrayLike, weights: ArrayLike | None = None, together: bool = False) -> Learn:
    """Learn about f at the reference."""
    return Learn(Region(reference, weights, together))


def no_pending(given: Sequence[Query], goal: object) -> None:
    """Refuse pending queries, for a goal that cannot allow for their answers."""
    if not isinstance(given, Sequence) or len(given):
        raise InvalidInput(
            "given", f"no pending queries, for which {type(goal).__name__} cannot allow", given,
            "wait for their answers, or use Learn('function')",
        )  # fmt: skip
