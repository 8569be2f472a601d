"""A rank: which of m ordered bins a noisy reading falls into."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.checks import as_numbers, refuse
from gainful.instruments import window
from gainful.instruments.answers import DiscreteAnswers
from gainful.instruments.base import Derivatives, Instrument, Partition
from gainful.instruments.channel import Channel
from gainful.numerics.normal import log_ndtr_between
from gainful.parameters import ordered, positive

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Ordinal(Instrument):
    """The answer r in 1..m says threshold[r−1] ≤ f(x) + ε ≤ threshold[r], ε ~ N(0, noise²), with −∞ and ∞ at the ends.

    m − 1 increasing thresholds make m ranks. Both thresholds and noise are learned by `fit`. A device with fixed
    bins, a ruler for instance, is an Ordinal whose thresholds are its marks.

    >>> Ordinal(thresholds=[-0.4, 0.5], noise=0.1).levels
    3
    """

    thresholds: Any = ordered("threshold")
    noise: Any = positive(0.1, "noise", zero=True)

    @property
    def answers(self) -> range:
        return range(1, len(self.thresholds) + 2)

    def channel(self) -> Channel:
        return Channel(float(self.noise), tuple(float(t) for t in self.thresholds))

    def mentioned(self, answers: Array) -> Array:
        """The middle of the bin that each answer lies in; the outermost bins reach as far as their neighbours do."""
        edges = np.asarray(self.thresholds, dtype=float)
        if len(edges) == 1:
            return edges
        middles = 0.5 * (edges[1:] + edges[:-1])
        first, last = edges[0] - 0.5 * (edges[1] - edges[0]), edges[-1] + 0.5 * (edges[-1] - edges[-2])
        return np.concatenate([[first], middles, [last]])[np.rint(answers).astype(int) - 1]

    def describe(self, answer: Any) -> str:
        return f"rank {int(answer)} of {self.levels}"

    @property
    def is_scaled(self) -> bool:
        return True

    def _in_unit(self, shift: float, factor: float) -> Self:
        return replace(self, thresholds=[(t - shift) / factor for t in self.thresholds], noise=self.noise / factor)

    def log_prob(self, answers: Array, g: Array) -> Array:
        return self.derivatives(answers, g).log_p

    def ends(self, ranks: Array) -> tuple[Array, Array]:
        """The lower and upper thresholds of each rank."""
        edges = np.concatenate([[-np.inf], self.thresholds, [np.inf]])
        index = ranks.astype(int)
        return edges[index - 1], edges[index]

    def validate(self, answers: ArrayLike, n: int) -> Array:
        ranks = as_numbers(answers, (n,), f"{n} ranks")
        wrong = ~np.isin(ranks, np.arange(1, self.levels + 1))
        refuse(wrong, ranks, f"whole numbers from 1 to {self.levels}", "ranks count from 1, lowest first")
        return ranks

    def log_partition(self, answers: Array, m: Array, v: Array) -> Partition:
        return window.partition(*self.ends(answers), self.noise, m, v)

    def derivatives(self, answers: Array, g: Array) -> Derivatives:
        return window.derivatives(*self.ends(answers), self.noise, g)

    def pullback_theta(self, answers: Array, m: Array, v: Array) -> Array:
        lo, hi = self.ends(answers)
        d_lo, d_hi = window.pullback_ends(lo, hi, self.noise, m, v)
        ranks = answers.astype(int)
        by_threshold = np.zeros((len(m), self.levels + 1))
        rows = np.arange(len(m))
        by_threshold[rows, ranks - 1] += d_lo
        by_threshold[rows, ranks] += d_hi
        # theta holds the first threshold and the log gaps: a gap moves every threshold above it.
        above = np.cumsum(by_threshold[:, -2:0:-1], axis=1)[:, ::-1]
        gaps = np.concatenate([[1.0], np.diff(self.thresholds)])
        out = above * gaps
        if self.noise == 0.0:
            return out
        return np.column_stack([out, window.pullback_noise(lo, hi, self.noise, m, v)])

    def window(self, answers: Array) -> Array:
        return window.bounds(*self.ends(answers), self.noise)

    def predict(self, m: Array, v: Array) -> DiscreteAnswers:
        s = np.maximum(np.sqrt(v + self.noise**2), 1e-150)[:, None]  # what is certain and without noise has a sure rank
        edges = np.concatenate([[-np.inf], self.thresholds, [np.inf]])
        z = (edges - m[:, None]) / s
        logs = log_ndtr_between(z[:, :-1], z[:, 1:], np.diff(edges) / s)
        return DiscreteAnswers(tuple(float(r) for r in range(1, self.levels + 1)), logs)

    def simulate(self, g: Array, rng: np.random.Generator) -> Array:
        reading = g + self.noise * rng.standard_normal(np.shape(g))
        return 1.0 + np.searchsorted(self.thresholds, reading)
