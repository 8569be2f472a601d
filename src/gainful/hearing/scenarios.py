"""Which tones to play together: the belief as a few thousand people it may be about, each with thresholds and manners.

    P(yes | person) = guess + (1 − guess − lapse) (1 − Π_j Φ((t_j − level_j)/spread))

People who are equally probable make every score of a set of tones a mean over them, whatever the number of tones. They
lie on a net of points of low discrepancy (Sobol'), so that a score is off by less than a thousandth of a bit. A set
grows tone by tone while that raises its score (Gardner 2018, sec. 3.3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri
from scipy.stats import qmc

from gainful.hearing.belief import ThresholdBelief, answer_entropy

__all__ = ["Scenarios", "scenarios"]

Array = NDArray[np.float64]
Score = Callable[[Array], Array]

_PEOPLE = 4096
_TURNS = 3  # for each tone of a set to give way to a better one
_GROWS = 1.005  # times: a tone that raises a score by less is not worth playing


@dataclass(frozen=True, eq=False)
class Scenarios:
    """Equally probable people: thresholds (M, J), and the number of each one's listener and kind of ear, (M,).

    missed   P(each tone is missed) by each, (M, J, L), for the levels
    guess, careful   (M,): rates of a careless yes, and of careful answers
    """

    thresholds: Array
    listener: NDArray[np.intp]
    kind: NDArray[np.intp]
    missed: Array
    guess: Array
    careful: Array

    def bits(self, yes: Array) -> Array:
        """What an answer, yes with these probabilities (M, S), tells about the thresholds of a known listener, (S,)."""
        return self._shared(yes, self.listener) - np.mean(answer_entropy(yes), axis=0)

    def about_kind(self, yes: Array) -> Array:
        """What it tells about the kind of ear, (S,)."""
        return answer_entropy(yes.mean(axis=0)) - self._shared(yes, self.kind)

    def gain(self, yes: Array) -> Array:
        """By how many dB it narrows the standard deviation of a threshold, on average, (S,)."""
        t = self.thresholds
        before = t.std(axis=0).mean()
        whole, first, second = 1.0, t.mean(axis=0)[:, None], np.mean(t**2, axis=0)[:, None]
        heard = yes.mean(axis=0), t.T @ yes / len(t), (t**2).T @ yes / len(t)
        after = np.zeros(yes.shape[1])
        for chance, mean, square in (heard, (whole - heard[0], first - heard[1], second - heard[2])):
            safe = np.maximum(chance, 1e-12)
            after += chance * np.sqrt(np.maximum(square / safe - (mean / safe) ** 2, 0.0)).mean(axis=0)
        return np.asarray(before - after)

    def best(self, score: Score, most: int) -> list[tuple[int, int]]:
        """The tones (j, l) of a good set of at most so many: one more while that raises the score.

        A set grows from the one before by its best further tone, or begins as the best tone played so many times; then
        each tone in turn gives way to a better one.
        """
        size, places, levels = self.missed.shape
        each = self.missed.reshape(size, places * levels)

        def scores(missed: Array) -> Array:
            return np.round(score(self.guess[:, None] + self.careful[:, None] * (1.0 - missed)), 9)

        def polished(tones: list[int]) -> tuple[float, list[int]]:
            reached = 0.0
            for turn in range(_TURNS * len(tones)):
                k = -1 - turn % len(tones)
                others = np.prod([each[:, i] for n, i in enumerate(tones) if n != k % len(tones)], axis=0)
                found = scores(np.reshape(others, (-1, 1)) * each)
                i = int(np.argmax(found))
                if found[i] <= reached and turn >= len(tones):
                    break
                reached, tones[k] = float(found[i]), i
            return reached, tones

        first = scores(each)
        value, found = float(first.max()), [int(np.argmax(first))]
        for count in range(2, most + 1):
            copies = [int(np.argmax(scores(each**count)))] * count
            more, larger = max(polished([*found, found[0]]), polished(copies))
            if more <= _GROWS * value:
                break
            value, found = more, larger
        return [(i // levels, i % levels) for i in found]

    def _shared(self, yes: Array, group: NDArray[np.intp]) -> Array:
        """The mean over groups, as large as they are, of the entropy of an answer of one of its people."""
        names, where = np.unique(group, return_inverse=True)
        member = np.equal.outer(np.arange(len(names)), where).astype(float)
        size = member.sum(axis=1)
        return np.asarray(size / len(where) @ answer_entropy(member @ yes / size[:, None]))


def scenarios(
    belief: ThresholdBelief, frequencies: ArrayLike, levels: ArrayLike, ears: ArrayLike | None = None,
    people: int = _PEOPLE,
) -> Scenarios:  # fmt: skip
    """People that a belief may be about, with their thresholds at these places."""
    mean, cov = belief.moments(frequencies, ears)
    which, normal = _net(people, mean.shape[1])
    share = np.cumsum(belief.weights.ravel())
    part = np.minimum(np.searchsorted(share / share[-1], which), len(share) - 1)
    used, where = np.unique(part, return_inverse=True)
    root = np.linalg.cholesky(cov[used] + 1e-9 * np.eye(mean.shape[1]))
    thresholds = mean[part] + np.einsum("mij,mj->mi", root[where], normal)
    listeners, q = belief.listeners, part % belief.weights.shape[1]
    kinds = list(belief.diagnosis)
    kind = np.array([kinds.index(name) for name in belief.population.names])[part // belief.weights.shape[1]]
    above = np.asarray(levels, dtype=float) - thresholds[:, :, None]
    missed = ndtr(-above / listeners.spread[q, None, None])
    return Scenarios(thresholds, q, kind, missed, listeners.guess[q], 1.0 - listeners.guess[q] - listeners.lapse[q])


@cache
def _net(people: int, places: int) -> tuple[Array, Array]:
    """Numbers from 0 to 1 that choose the class and the listener (M,), and standard normal ones (M, J)."""
    points = qmc.Sobol(places + 1, scramble=True, rng=np.random.default_rng(0)).random(people)
    return points[:, 0], ndtri(np.clip(points[:, 1:], 1e-12, 1.0 - 1e-12))
