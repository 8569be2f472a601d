"""Improvement where other outputs keep to their limits: a score times the probability that they do.

    score(x) · Π_j P(low_j ≤ f_j(x) ≤ high_j)

(Gardner et al. 2014; Gelbart, Snoek & Adams 2014). The incumbent is the best mean among measured places that keep to
all limits with a probability of a half or more; before there is one, the probability alone is the score, so that
places that keep to the limits are looked for first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from gainful.acquisition.base import AMOUNT, LOG, Acquisition, prepare, require_goal
from gainful.acquisition.optimum import MAXIMISE, measured_places, sees_what_counts
from gainful.checks import is_number, listed, require
from gainful.coordinates import output_code
from gainful.inference.belief import Belief
from gainful.inference.posterior import Posterior
from gainful.instruments import Instrument

__all__ = ["Constrained", "Limit"]

Array = NDArray[np.float64]

_ENOUGH = 0.5  # the probability with which a measured place that is to be bettered keeps to the limits
_FLOOR = 1e-300


@dataclass(frozen=True)
class Limit:
    """What another output must not go beyond: at most, at least, or both.

    >>> Limit("emission", at_most=0.3)
    Limit(output='emission', at_most=0.3, at_least=None)
    """

    output: int | str
    at_most: float | None = None
    at_least: float | None = None

    def __post_init__(self) -> None:
        output_code(self.output)  # says so, if it is none
        ends = [each for each in (self.at_least, self.at_most) if each is not None]
        fine = bool(ends) and all(is_number(each) and np.isfinite(each) for each in ends) and sorted(ends) == ends
        require(fine, "at_most", "a number, or at_least one, the lower first", (self.at_least, self.at_most),
                "for instance Limit('emission', at_most=0.3)")  # fmt: skip

    def probability(self, belief: Posterior | Belief, places: ArrayLike) -> Array:
        """P(at_least ≤ f ≤ at_most) of the output at each place, (M,)."""
        other = belief.of(self.output)
        parts = other.posteriors if isinstance(other, Belief) else (other,)
        weights = other.weights if isinstance(other, Belief) else np.ones(1)
        total = np.zeros(len(np.asarray(places)))
        for weight, part in zip(weights, parts, strict=True):
            X = part.data.completed(np.asarray(places, dtype=float))
            mean, sd = part.mean(X), np.sqrt(np.maximum(part.variance(X), np.finfo(float).tiny))
            below = 1.0 if self.at_most is None else ndtr((self.at_most - mean) / sd)
            under = 0.0 if self.at_least is None else ndtr((self.at_least - mean) / sd)
            total += weight * np.maximum(below - under, 0.0)
        return total


@dataclass(frozen=True)
class Constrained:
    """A goal of optimisation where other outputs must keep to their limits.

    `goal` is one that has an incumbent, such as LogExpectedImprovement(sign=-1). Instruments that do not see what it
    improves score nothing.

    >>> from gainful.acquisition.optimum import ExpectedImprovement
    >>> Constrained(ExpectedImprovement(sign=-1), [Limit("emission", at_most=0.3)]).limits
    (Limit(output='emission', at_most=0.3, at_least=None),)
    """

    goal: Any
    limits: Any
    ready: bool = False

    def __post_init__(self) -> None:
        require_goal(self.goal)
        able = hasattr(self.goal, "incumbent") and self.scale in (AMOUNT, LOG)
        require(able, "goal", "one with an incumbent, such as LogExpectedImprovement()", self.goal, "give one of these")
        several = tuple(listed(self.limits) or ((self.limits,) if isinstance(self.limits, Limit) else ()))
        fine = bool(several) and all(isinstance(each, Limit) for each in several)
        require(fine, "limits", "one or more limits", self.limits, "for instance [Limit('emission', at_most=0.3)]")
        object.__setattr__(self, "limits", several)

    @property
    def scale(self) -> str:
        return str(getattr(self.goal, "scale", AMOUNT))

    @property
    def sign(self) -> int:
        return int(getattr(self.goal, "sign", MAXIMISE))

    def probability(self, belief: Posterior | Belief, places: ArrayLike) -> Array:
        """That all limits are kept, (M,), as if they were independent."""
        return np.asarray(np.prod([each.probability(belief, places) for each in self.limits], axis=0))

    def prepare(self, belief: Posterior | Belief) -> Constrained:
        """With the best mean among measured places that keep to the limits; none where there is none."""
        if self.goal.incumbent is not None:
            return replace(self, goal=prepare(self.goal, belief), ready=True)
        places = measured_places(belief) if len(belief.data) else np.zeros((0, 1))
        plain = places[:, : belief.data.dimensions] if len(places) else places
        kept = self.probability(belief, plain) >= _ENOUGH if len(plain) else np.zeros(0, dtype=bool)
        if not kept.any():
            return replace(self, ready=True)
        best = float(self.sign * np.max(self.sign * belief.mean(places[kept])))
        return replace(self, goal=replace(self.goal, incumbent=best), ready=True)

    def score(self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike) -> Array:
        ready = self if self.ready else self.prepare(belief)
        X = np.asarray(places, dtype=float)
        if not sees_what_counts(belief, instrument):
            return np.full(len(X), -np.inf if self.scale == LOG else 0.0)
        chance = ready.probability(belief, X)
        known = ready.goal.incumbent is not None
        if self.scale == LOG:
            gain: Acquisition = ready.goal
            return (gain.score(belief, instrument, places) if known else 0.0) + np.log(np.maximum(chance, _FLOOR))
        return (ready.goal.score(belief, instrument, places) if known else 1.0) * chance
