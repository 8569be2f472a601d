"""Ranks of truths among draws: uniform where a belief is right (Cook, Gelman & Rubin 2006; Talts et al. 2018).

A truth from the prior and L draws from the posterior given its answers are draws of one distribution, so that the
truth's rank among them, 0 … L, is uniform. N repetitions make a histogram with a known band, and Pearson's χ² one
number of it. Two shapes say what is wrong: a slope that beliefs lie to one side of the truth, a bowl that they are too
sure, a hill that they are not sure enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, chdtrc, ndtr

__all__ = ["Ranks", "rank"]

Counts = NDArray[np.int64]

_EXPECTED = 5  # in every bin, as is usual for χ²


def rank(truth: Any, draws: list[Any], rng: np.random.Generator) -> int:
    """How many draws lie below the truth; of those that are equal to it, a random number.

    >>> rank(0.5, [0.1, 0.7, 0.4], np.random.default_rng(0))
    2
    """
    equal = sum(1 for each in draws if each == truth)
    below = sum(1 for each in draws if each < truth)
    return below + (int(rng.integers(equal + 1)) if equal else 0)


@dataclass(frozen=True)
class Ranks:
    """N ranks, each from 0 to `draws`.

    >>> found = Ranks((0, 0, 0, 0, 0, 0, 3, 3, 3, 3, 3, 3), draws=3)
    >>> found.counts.tolist(), round(found.p_value, 4), found.shape
    ([6, 6], 1.0, 'too sure')
    """

    values: tuple[int, ...]
    draws: int

    @property
    def bins(self) -> int:
        """As many as leave five truths to each, among those that divide the ranks evenly; two at least."""
        fitting = [b for b in range(2, self.draws + 2) if (self.draws + 1) % b == 0]
        return max([b for b in fitting if len(self.values) >= _EXPECTED * b], default=min(fitting))

    @cached_property
    def counts(self) -> Counts:
        """How many truths there are in each bin."""
        of = np.asarray(self.values, dtype=np.int64) * self.bins // (self.draws + 1)
        return np.bincount(of, minlength=self.bins)

    def band(self, level: float = 0.99) -> tuple[int, int]:
        """Between which counts a bin lies with this probability, if ranks are uniform."""
        below, above = 0.5 - level / 2.0, 0.5 + level / 2.0
        at_most = bdtr(np.arange(len(self.values) + 1), len(self.values), 1.0 / self.bins)
        return int(np.searchsorted(at_most, below)), int(np.searchsorted(at_most, above))

    @property
    def p_value(self) -> float:
        """That of Pearson's χ²: how often uniform ranks would be as uneven."""
        expected = len(self.values) / self.bins
        return float(chdtrc(self.bins - 1, np.sum((self.counts - expected) ** 2) / expected))

    @property
    def leaning(self) -> float:
        """In standard errors, how far ranks are higher than uniform ones on average: truths lie above the draws."""
        u = (np.asarray(self.values) + 0.5) / (self.draws + 1) - 0.5
        spread = np.sqrt((1.0 - 1.0 / (self.draws + 1) ** 2) / 12.0)
        return float(np.mean(u) / spread * np.sqrt(len(u)))

    @property
    def bowl(self) -> float:
        """In standard errors, how much farther from the middle ranks are than uniform ones: beliefs are too sure."""
        every = ((np.arange(self.draws + 1) + 0.5) / (self.draws + 1) - 0.5) ** 2
        mine = every[np.asarray(self.values, dtype=np.int64)]
        return float((mine.mean() - every.mean()) / max(every.std(), 1e-300) * np.sqrt(len(mine)))

    @property
    def shape(self) -> str:
        """What is most out of place: "even", "truths above", "truths below", "too sure" or "not sure enough"."""
        if min(self.p_value, 2.0 * float(ndtr(-max(abs(self.leaning), abs(self.bowl))))) > 0.01:
            return "even"
        if abs(self.leaning) >= abs(self.bowl):
            return "truths above" if self.leaning > 0.0 else "truths below"
        return "too sure" if self.bowl > 0.0 else "not sure enough"
