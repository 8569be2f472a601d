"""Ranks several places by a posterior, with the probability of being best and an interval for each rank.

After comparisons only differences of the function are known; its level is not, and no ranking depends on it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from gainful.checks import as_rng, require_count
from gainful.errors import InvalidInput
from gainful.inference.posterior import Posterior

__all__ = ["Ranking", "rank"]

Array = NDArray[np.float64]

_AT_ONCE = 2_000_000  # numbers drawn at a time


@dataclass(frozen=True, eq=False)
class Ranking:
    """Items from the best to the worst, by the mean; everything else is in the order in which they were given.

    order (M,): item numbers, best first; mean, sd (M,): of the function, about its mean over the items; best (M,): the
    probability of being the best; low, high (M,): between which ranks (1 is best) an item lies with 95 % probability;
    above (M, M): the probability that item i is above item j, exact. `error` bounds the standard error of `best`.
    """

    order: NDArray[np.intp]
    mean: Array
    sd: Array
    best: Array
    low: NDArray[np.intp]
    high: NDArray[np.intp]
    above: Array
    error: float

    def __str__(self) -> str:
        lines = ["rank  item     mean ± sd       best   between"]
        for n, i in enumerate(self.order, start=1):
            middle = f"{self.mean[i]:8.3g} ± {self.sd[i]:<7.2g}"
            lines.append(f"{n:4d}  {i:4d} {middle} {100 * self.best[i]:6.1f} %  {self.low[i]}–{self.high[i]}")
        return "\n".join(lines)


def rank(
    posterior: Posterior, places: ArrayLike, *, draws: int = 20_000, rng: np.random.Generator | int = 0
) -> Ranking:
    """Rank places by a belief about the function, larger being better.

    Pairwise probabilities are exact; the probability of being best and the range of ranks are from `draws` functions
    drawn at all places together, in opposite pairs.

    >>> import gainful as gf
    >>> data = gf.Data().add(gf.Preference(0.1), [[[0.0], [1.0]], [[1.0], [2.0]]], [True, True])
    >>> found = rank(gf.GP(gf.SE()).condition(data), [[0.0], [1.0], [2.0]])
    >>> found.order.tolist(), bool(found.best[0] > 0.8), bool(found.above[0, 2] > 0.95)
    ([0, 1, 2], True, True)
    """
    if not isinstance(posterior, Posterior):
        raise InvalidInput("posterior", "a posterior", posterior, "condition a GP on data first")
    draws, generator = require_count("draws", draws, 100, "20,000 gives two digits"), as_rng(rng)
    mean, cov = posterior.mean(places), posterior.covariance(places)
    size = len(mean)
    if size < 2:
        raise InvalidInput("places", "at least two items to rank", size, "give one row per item")
    # About the mean over the items: what comparisons cannot tell is left out.
    centre = np.eye(size) - 1.0 / size
    mean, cov = centre @ mean, centre @ cov @ centre
    best, counts = _by_draws(mean, cov, draws // 2, generator)
    total = counts.sum(axis=1, keepdims=True)
    shares = np.cumsum(counts, axis=1) / total
    low = 1 + np.argmax(shares > 0.025, axis=1)
    high = 1 + np.argmax(shares >= 0.975, axis=1)
    spread = np.sqrt(np.maximum(np.diagonal(cov)[:, None] + np.diagonal(cov) - 2.0 * cov, 0.0))
    return Ranking(
        np.argsort(-mean, kind="stable"),
        mean,
        np.sqrt(np.maximum(np.diagonal(cov), 0.0)),
        best,
        low,
        high,
        _above(mean[:, None] - mean, spread),
        float(np.sqrt(0.25 / draws)),
    )


def _above(difference: Array, spread: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        out = ndtr(difference / spread)
    return np.where(spread > 0.0, out, np.where(difference == 0.0, 0.5, (difference > 0.0) * 1.0))


def _by_draws(mean: Array, cov: Array, pairs: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """How often each item is the best, and how often it has each rank, (M,) and (M, M)."""
    values, vectors = np.linalg.eigh(cov)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    size = len(mean)
    counts = np.zeros((size, size))
    block = max(1, _AT_ONCE // size)
    for start in range(0, pairs, block):
        noise = rng.standard_normal((min(block, pairs - start), size)) @ root.T
        for drawn in (mean + noise, mean - noise):
            ranks = np.argsort(np.argsort(-drawn, axis=1, kind="stable"), axis=1, kind="stable")
            np.add.at(counts, (np.broadcast_to(np.arange(size), ranks.shape), ranks), 1.0)
    return counts[:, 0] / counts.sum(axis=1), counts
