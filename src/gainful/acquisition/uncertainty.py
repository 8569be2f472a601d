"""Uncertainty sampling: ask where the answer is least certain, whatever the reason (Houlsby et al. 2011, sec.
4).

These are about the answer, not about the function: they cannot tell an unknown function from a noisy answer, and go
back to where answers are a toss-up. `Learn` subtracts what no measurement could remove. Of several posteriors the
answer is the mixture's: its probabilities are averaged, and then scored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.acquisition.base import AMOUNT
from gainful.data import as_queries
from gainful.errors import InvalidInput
from gainful.inference.belief import Belief, require_askable
from gainful.inference.posterior import Posterior
from gainful.inference.predictive import Predictive
from gainful.information import quadrature
from gainful.information.entropy import of_channel, of_probabilities, of_reading
from gainful.information.mixture import disagreement, rounding, several
from gainful.instruments import Instrument
from gainful.instruments.answers import DiscreteAnswers
from gainful.numerics.memory import in_blocks

__all__ = ["Entropy", "LeastConfidence", "Margin", "least_confidence", "predicted_entropy", "small_margin"]

Array = NDArray[np.float64]


def least_confidence(log_p: Array) -> Array:
    """1 − P(ŷ), ŷ the likeliest of the answers on the last axis (Lewis & Gale 1994).

    Summed over the other answers, so that it keeps its digits where ŷ is all but certain.

    >>> least_confidence(np.log(np.array([[0.5, 0.3, 0.2]]))).round(4).tolist()
    [0.5]
    """
    return np.sum(np.sort(np.exp(log_p), axis=-1)[..., :-1], axis=-1)


def small_margin(log_p: Array) -> Array:
    """1 − (P(ŷ₁) − P(ŷ₂)), ŷ₁ and ŷ₂ the two likeliest answers: between 0 and 1, so that a cost can divide it.

    >>> small_margin(np.log(np.array([[0.5, 0.3, 0.2]]))).round(4).tolist()
    [0.8]
    """
    others = np.sort(np.exp(log_p), axis=-1)[..., :-1]
    return np.asarray(others.sum(axis=-1) + others[..., -1])


def predicted_entropy(instrument: Instrument, m: Array, v: Array) -> Array:
    """H[answer] in bits when what the instrument sees is N(m, v), (M,); of numbers ½ log2(2πe (v + noise²)).

    An interval's is that of its lower end, G(√(v + noise²)/width) + log2 width. A number or interval that is known
    exactly has −∞.
    """
    channel = instrument.channel()
    if channel is None:
        return quadrature.entropy(instrument, m, v)
    if channel.any_of:
        predicted = instrument.predict(m, v)
        assert isinstance(predicted, DiscreteAnswers)
        return of_probabilities(predicted.log_probabilities)
    return of_channel(channel, m, v) if channel.is_discrete else of_reading(channel, v + channel.noise**2)


@dataclass(frozen=True)
class LeastConfidence:
    """The probability that the likeliest answer is wrong: 1 − P(ŷ | x) (Lewis & Gale 1994). Discrete answers
    only.

    >>> import gainful as gf
    >>> prior = gf.GP(gf.SE()).condition(gf.Data())
    >>> LeastConfidence().score(prior, gf.Binary(), [[0.0]]).tolist()
    [0.5]
    """

    scale: ClassVar[str] = AMOUNT

    def score(self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike) -> Array:
        return _of_log_probabilities(least_confidence, belief, instrument, places)


@dataclass(frozen=True)
class Margin:
    """How close the two likeliest answers are: 1 − (P(ŷ₁ | x) − P(ŷ₂ | x)). Discrete answers only.

    >>> import gainful as gf
    >>> prior = gf.GP(gf.SE()).condition(gf.Data())
    >>> Margin().score(prior, gf.Ordinal([-1.0, 1.0], 0.1), [[0.0]]).round(3).tolist()
    [0.48]
    """

    scale: ClassVar[str] = AMOUNT

    def score(self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike) -> Array:
        return _of_log_probabilities(small_margin, belief, instrument, places)


@dataclass(frozen=True)
class Entropy:
    """Maximum entropy sampling: bits of the predicted answer, H[y | x] (Sebastiani & Wynn 2000; Houlsby et al. 2011,
    sec. 4).

    Of a number it is the differential entropy, which is largest where the variance is. That may be negative and depends
    on the unit, so it should not be divided by costs, nor compared between instruments of different kinds.

    >>> import gainful as gf
    >>> prior = gf.GP(gf.SE()).condition(gf.Data())
    >>> Entropy().score(prior, gf.Binary(), [[0.0]]).tolist()
    [1.0]
    """

    def score(self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike) -> Array:
        require_askable(belief, instrument, places)
        if isinstance(belief, Posterior):
            m, v = belief.marginals(instrument, places)
            some = 8 * instrument.levels
            return in_blocks(lambda part: predicted_entropy(instrument, m[part], v[part]), len(m), some)
        if instrument.values is not None:
            return _of_log_probabilities(of_probabilities, belief, instrument, places)
        weights, own, m, v = several(belief, instrument, places)  # H[y] = Σ w_s H[y | s] + I(y; s)
        floor = rounding(belief, instrument, places)
        each = [predicted_entropy(*seen) for seen in zip(own, m, v, strict=True)]
        return weights @ np.stack(each) + disagreement(own, weights, m, v, floor)


def _of_log_probabilities(
    score: Callable[[Array], Array], belief: Posterior | Belief, instrument: Instrument, places: ArrayLike
) -> Array:
    """A score of the log probabilities (M, K) of the answers, a block of the queries at a time, (M,)."""
    held = places if isinstance(places, Predictive) else as_queries(instrument, places)[0]
    parts = 1 if isinstance(belief, Posterior) else len(belief.posteriors)

    def of(part: slice) -> Array:
        return score(_log_probabilities(belief, instrument, held[part]))

    return in_blocks(of, len(held), 8 * parts * instrument.levels)


def _log_probabilities(belief: Posterior | Belief, instrument: Instrument, places: ArrayLike) -> Array:
    """Log probabilities of the answers, (M, K)."""
    require_askable(belief, instrument, places)
    answers = belief.answers(instrument, places)
    if not isinstance(answers, DiscreteAnswers):
        raise InvalidInput(
            "instrument", "one with discrete answers, such as Binary, Ordinal, Preference or Detection", instrument,
            "use Entropy(), which numbers and intervals have as well",
        )  # fmt: skip
    return answers.log_probabilities
