"""What a goal's scores mean, in the goal's own terms: bits, improvement, doubt about a level, variance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

from gainful.acquisition import EPIG, IntegratedVariance, Learn, Level, PerCost, Predictions, Random, Switch
from gainful.acquisition.base import AMOUNT, LOG
from gainful.acquisition.max_value import AboutBest
from gainful.acquisition.optimum import ProbabilityOfImprovement
from gainful.campaign.goal import innermost, sign_of
from gainful.inference.belief import Belief
from gainful.inference.posterior import Posterior
from gainful.information.about import Region

__all__ = ["Terms", "called", "goal_in_words", "in_unit", "terms_of"]


@dataclass(frozen=True)
class Terms:
    """How to say what a query is worth. `says` has a place for the amount; what is a share is one of `total`.

    >>> terms = Terms("is expected to better the best place by {}")
    >>> terms.sentence(0.1234), terms.amount(0.1234)
    ('is expected to better the best place by 0.123', '0.123')
    """

    says: str
    unit: str = ""
    total: float | None = None
    logs: bool = False  # whether the goal gives logarithms of what it is worth
    divisible: bool = True  # whether it makes sense per unit of cost

    def worth(self, score: float) -> float:
        """The amount behind the goal's own score, before any cost."""
        return float(np.exp(score)) if self.logs else score

    def amount(self, worth: float) -> str:
        if self.total is not None:
            share = 100.0 * worth / self.total if self.total > 0.0 else 0.0
            return f"{share:.2g} %"
        return in_unit(f"{worth:.3g}", self.unit)

    def sentence(self, worth: float) -> str:
        return self.says.format(self.amount(worth))


_BITS = "is expected to tell {} about "


def in_unit(number: str, unit: str) -> str:
    """A number with its unit, where it has one."""
    return f"{number} {unit}" if unit else number


def terms_of(goal: Any, belief: Posterior | Belief, unit: str = "") -> Terms:
    """The terms of a goal, under what is believed when it is asked; `unit` is that of f."""
    inner = innermost(goal)
    if isinstance(inner, Random):
        return Terms(_BITS + "the function", "bits")
    if isinstance(inner, Learn):
        about = "predictions in the region" if isinstance(inner.about, Region) else f"the {inner.about}"
        return Terms(_BITS + about, "bits")
    if isinstance(inner, Predictions):
        return Terms(_BITS + "predictions at the reference", "bits")
    if isinstance(inner, EPIG):
        return Terms(_BITS + "an answer at the reference", "bits")
    if isinstance(inner, AboutBest):
        return Terms(_BITS + inner.told, "bits")
    if isinstance(inner, Level):
        p = _above(inner, belief)
        level = in_unit(f"{inner.value:g}", unit)
        says = f"is expected to settle {{}} of the doubt where {called(belief.data.output)} lies above {level}"
        return Terms(says, total=float(np.mean(p * (1.0 - p))))
    if isinstance(inner, IntegratedVariance):
        variance = belief.variance(np.asarray(inner.reference, dtype=float))
        says = f"is expected to take {{}} off the mean variance of {called(belief.data.output)} over the space"
        return Terms(says, total=float(np.mean(variance)))
    scale = str(getattr(inner, "scale", AMOUNT))
    if sign_of(goal) is not None and scale in (AMOUNT, LOG) and not isinstance(inner, ProbabilityOfImprovement):
        return Terms("is expected to better the best place by {}", unit, logs=scale == LOG)
    return Terms("scores {} by the goal", divisible=False)


def _above(level: Level, belief: Posterior | Belief) -> Any:
    places = np.asarray(level.reference, dtype=float)
    sd = np.sqrt(belief.variance(places))
    return ndtr((belief.mean(places) - level.value) / np.maximum(sd, np.finfo(float).tiny))


def called(output: int | str | None) -> str:
    """What a function is called where there are several: its name, "output 1", or f."""
    return "f" if output is None else output if isinstance(output, str) else f"output {output}"


def goal_in_words(goal: Any, unit: str = "", output: int | str | None = None) -> str:
    """What the campaign is for; `unit` is that of f, or of the output that is meant.

    >>> goal_in_words(PerCost(Learn("function")))
    'to learn the function, per unit of cost'
    """
    inner, sign, f = innermost(goal), sign_of(goal), called(output)
    if isinstance(inner, Level):
        words = f"to find where {f} crosses {in_unit(f'{inner.value:g}', unit)}"
    elif isinstance(inner, IntegratedVariance):
        words = f"to predict {f} well everywhere"
    elif isinstance(inner, Learn) and inner.about in ("function", "structure"):
        words = f"to learn the {inner.about}"
    elif isinstance(inner, Predictions):
        words = f"to predict {f} at {len(inner.reference)} places"
    elif isinstance(inner, Switch):
        first, then = (goal_in_words(each, unit, output) for each in (inner.first, inner.then))
        words = f"{first} until that is known to {inner.below:g} bits, then {then}"
    elif sign is not None:
        words = f"to {'maximise' if sign > 0 else 'minimise'} {f} ({type(inner).__name__})"
    else:
        return str(goal)
    return f"{words}, per unit of cost" if isinstance(goal, PerCost) else words
