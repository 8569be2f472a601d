"""Predictive distributions of answers: what an instrument is expected to say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from gainful.checks import as_numbers, numbers, refuse
from gainful.errors import InvalidInput
from gainful.numerics.normal import log_ndtr_between, log_pdf

Array = NDArray[np.float64]
_SURE = 1e-150  # a spread below which an answer is certain

__all__ = [
    "Answers", "DiscreteAnswers", "IntervalAnswers", "MeasuredAnswers", "MixtureAnswers", "NormalAnswers",
    "NumericAnswers", "mix",
]  # fmt: skip


@dataclass(frozen=True)
class NormalAnswers:
    """A number with a normal distribution: `mean` and `variance`, (M,) each."""

    mean: Array
    variance: Array

    def log_prob(self, answers: ArrayLike) -> Array:
        """Log density of one answer per place."""
        given = as_numbers(answers, self.mean.shape, "numbers, one for each place")
        refuse(np.isnan(given), given, "numbers", "leave missing answers out")
        sd = np.maximum(np.sqrt(self.variance), _SURE)
        return log_pdf((given - self.mean) / sd) - np.log(sd)


@dataclass(frozen=True)
class MeasuredAnswers:
    """A number (y, e) that comes with its own standard error e: y is N(mean, spread + e²), `spread` being f's variance.

    `variance` is y's if the error is the expected one, `noise`.
    """

    mean: Array
    spread: Array
    noise: float

    @property
    def variance(self) -> Array:
        return self.spread + self.noise**2

    def log_prob(self, answers: ArrayLike) -> Array:
        """Log density of one number per place, each given its error: answers (M, 2), or (M,) with the expected one."""
        given = numbers("answers", answers, "a number and its error for each place, or the number alone")
        paired = given.ndim == 2 and given.shape[1] == 2
        if np.isnan(given).any() or (paired and np.any(given[:, 1] < 0.0)):
            raise InvalidInput(
                "answers", "numbers, and errors that are not negative", answers, "leave missing ones out"
            )
        y, error = given.T if paired else (given, np.full(given.shape, self.noise))
        y = as_numbers(y, self.mean.shape, "a number and its error for each place, or the number alone")
        return NormalAnswers(self.mean, self.spread + error**2).log_prob(y)


@dataclass(frozen=True)
class IntervalAnswers:
    """An interval [a, a + width]: its reading y is normal and a = y − width·U with U uniform on (0, 1).

    p(a) = (Φ((a + width − mean)/sd) − Φ((a − mean)/sd))/width.
    """

    mean: Array
    variance: Array
    width: float

    def log_prob(self, answers: ArrayLike) -> Array:
        """Log density of the lower end a; answers are (M, 2) or the lower ends (M,)."""
        lower = numbers("answers", answers, "an interval for each place, or its lower end")
        if np.isnan(lower).any():
            raise InvalidInput("answers", "numbers", "NaN among them", "leave missing answers out")
        lower = lower[..., 0] if lower.ndim == 2 and lower.shape[1] == 2 else lower
        lower = as_numbers(lower, self.mean.shape, "an interval for each place, or its lower end")
        sd = np.maximum(np.sqrt(self.variance), _SURE)
        a = (lower - self.mean) / sd
        return log_ndtr_between(a, a + self.width / sd, self.width / sd) - np.log(self.width)


@dataclass(frozen=True)
class DiscreteAnswers:
    """One of a few answers: `values` (K,) and their log probabilities (M, K)."""

    values: tuple[float, ...]
    log_probabilities: Array

    @property
    def probabilities(self) -> Array:
        """(M, K), rows summing to one."""
        return np.exp(self.log_probabilities)

    @property
    def probability(self) -> Array:
        """Of the last value, (M,): of "yes" for a yes/no answer."""
        return np.exp(self.log_probabilities[:, -1])

    @property
    def mean(self) -> Array:
        return self.probabilities @ np.asarray(self.values)

    def log_prob(self, answers: ArrayLike) -> Array:
        """Log probability of one answer per place."""
        expected = f"one of {list(self.values)} for each of {len(self.log_probabilities)} places"
        given = numbers("answers", answers, expected, booleans=True)
        if given.shape != self.log_probabilities.shape[:1] or not np.all(np.isin(given, self.values)):
            raise InvalidInput("answers", expected, answers, "see .values")
        index = np.searchsorted(self.values, given)
        return np.take_along_axis(self.log_probabilities, index[:, None], axis=1)[:, 0]


@dataclass(frozen=True, eq=False)
class NumericAnswers:
    """A number, positive number or count whose likelihood has no closed form, when g ~ N(m, v): all by quadrature."""

    instrument: Any  # the instrument whose answer it is, which this module may not import
    m: Array
    v: Array

    @cached_property
    def _nodes(self) -> tuple[Array, Array]:
        answers, weight = self.instrument.outcomes(self.m, self.v)
        return answers, weight

    @property
    def mean(self) -> Array:
        answers, weight = self._nodes
        return np.asarray(np.sum(weight * answers, axis=0))

    @property
    def variance(self) -> Array:
        answers, weight = self._nodes
        return np.asarray(np.sum(weight * (answers - self.mean) ** 2, axis=0))

    def log_prob(self, answers: ArrayLike) -> Array:
        """Log density, or of a count log probability, of one answer per place."""
        given = self.instrument.validate(answers, len(self.m))
        return np.asarray(self.instrument.log_partition(given, self.m, self.v).log_z)


Answers = NormalAnswers | MeasuredAnswers | IntervalAnswers | DiscreteAnswers | NumericAnswers


@dataclass(frozen=True, repr=False)
class MixtureAnswers:
    """Predictive distributions of the same answer under several posteriors, with their weights (S,)."""

    parts: tuple[Answers | MixtureAnswers, ...]
    weights: Array

    @property
    def mean(self) -> Array:
        return np.einsum("s,sm->m", self.weights, np.stack([p.mean for p in self.parts]))

    def log_prob(self, answers: ArrayLike) -> Array:
        """Log density of one answer per place."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.weights)[:, None] + np.stack([p.log_prob(answers) for p in self.parts])
        return np.asarray(logsumexp(logs, axis=0))


def mix(parts: Sequence[Answers | MixtureAnswers], weights: Array) -> Answers | MixtureAnswers:
    """The predictive distribution that is each of these with its weight (S,)."""
    first = parts[0]
    if not isinstance(first, DiscreteAnswers):
        return MixtureAnswers(tuple(parts), weights)
    logs = np.stack([p.log_probabilities for p in parts if isinstance(p, DiscreteAnswers)])
    with np.errstate(divide="ignore"):
        mixed = logsumexp(np.log(weights)[:, None, None] + logs, axis=0)
    return DiscreteAnswers(first.values, np.asarray(mixed))
