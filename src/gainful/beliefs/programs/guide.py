"""Where a period may lie, by the answers alone: what new periods are proposed from.

Most of the prior's periods fit no cycle of the answers, and a search that proposes from it rarely meets one that does.
A periodogram says which do: the share of the answers' variance that a sine and a cosine of each frequency explain,
beside straight lines in all columns. Half of the proposals are drawn by it, the other half from the prior, and the
density that they are drawn from is part of Hastings' ratio: what is found does not depend on it, only how soon.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Guide", "by_periodogram", "evenly"]

Array = NDArray[np.float64]

_FEWEST = 6  # answers that say anything about a cycle
_MOST = 2000  # frequencies
_FINE = 3.0  # frequencies for each that the range can tell apart
_PER_ANSWER = 0.4  # of the log likelihood ratio of a frequency, which is a half: a guide should not be too sure
_SAME = 1e-6  # of the range: places nearer than this are one
_SUREST = 12.0  # of a logarithm


class Guide(NamedTuple):
    """For each column (d, b + 1) shares of a period's prior between which the density is even, and (d, b) the mass up
    to each of them."""

    edges: Array
    upto: Array


def evenly(columns: int) -> Guide:
    """The prior itself."""
    return Guide(np.tile([0.0, 1.0], (columns, 1)), np.ones((columns, 1)))


def by_periodogram(X: Array, y: Array, shares: object) -> Guide:
    """A guide from readings y (n,) at X (n, d); `shares` maps periods to shares of their prior."""
    n, columns = X.shape
    if n < _FEWEST:
        return evenly(columns)
    lines = np.column_stack([np.ones(n), X])
    rest = y - lines @ np.linalg.lstsq(lines, y, rcond=None)[0]
    count = max(_frequencies(X[:, d]) for d in range(columns))
    edges, masses = np.zeros((columns, count + 3)), np.zeros((columns, count + 2))
    for d in range(columns):
        reach = float(np.ptp(X[:, d])) or 1.0
        frequencies = (np.arange(count + 1) + 0.5) / (_FINE * reach)
        explained = _explained(X[:, d], rest, 0.5 * (frequencies[1:] + frequencies[:-1]))
        height = np.minimum(-_PER_ANSWER * n * np.log1p(-explained), _SUREST)
        ends = np.clip(shares(1.0 / frequencies), 0.0, 1.0)  # type: ignore[operator]  # from long periods to short ones
        edges[d] = np.concatenate([[0.0], ends[::-1], [1.0]])
        width = np.diff(edges[d])
        likely = np.where(width[1:-1] > 0.0, np.exp(height[::-1] - height.max()), 0.0)
        masses[d] = 0.5 * width
        masses[d, 1:-1] += 0.5 * likely / max(likely.sum(), 1e-300)
    upto = np.cumsum(masses, axis=1)
    return Guide(edges, upto / upto[:, -1:])


def _frequencies(x: Array) -> int:
    """How many frequencies there are up to half of one over the smallest gap between places."""
    places = np.unique(x)
    gaps = np.diff(places)
    reach = float(np.ptp(places))
    gaps = gaps[gaps > _SAME * reach]
    return int(min(max(_FINE * reach / (2.0 * gaps.min()), 16), _MOST)) if len(gaps) else 16


def _explained(x: Array, y: Array, frequencies: Array) -> Array:
    """The share of Σ y² that a sine and a cosine explain, for each frequency."""
    phase = 2.0 * np.pi * frequencies[:, None] * x
    c, s = np.cos(phase), np.sin(phase)
    cc, ss, cs = (np.sum(a * b, axis=1) for a, b in ((c, c), (s, s), (c, s)))
    yc, ys = c @ y, s @ y
    determinant = np.maximum(cc * ss - cs**2, 1e-9 * len(x) ** 2)
    found = (yc**2 * ss - 2.0 * yc * ys * cs + ys**2 * cc) / determinant
    return np.clip(found / max(float(y @ y), 1e-300), 0.0, 1.0 - 1e-9)
