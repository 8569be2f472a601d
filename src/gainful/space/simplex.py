"""Mixtures: places whose parts sum to a total, each between two ends."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["bounded", "nearest_mixture", "spread_over_simplex"]

Array = NDArray[np.float64]

_ROUNDS = 64  # of bisection: a double has 53 bits


def bounded(low: Array, high: Array, total: float) -> tuple[Array, Array]:
    """The ends that can be reached: what the others leave a part, at most and at least.

    >>> bounded(np.array([0.2, 0.0]), np.array([1.0, 1.0]), 1.0)[1].tolist()
    [1.0, 0.8]
    """
    most = np.minimum(high, total - (low.sum() - low))
    return np.maximum(low, total - (high.sum() - high)), most


def nearest_mixture(X: Array, low: Array, high: Array, total: float) -> Array:
    """The nearest (M, k) to X between the ends whose rows sum to the total: clip(x − t) with the t that does it.

    >>> nearest_mixture(np.array([[0.6, 0.6]]), np.zeros(2), np.ones(2), 1.0).tolist()
    [[0.5, 0.5]]
    """
    a, b = (X - high).min(axis=1), (X - low).max(axis=1)  # of t: all at their high ends, all at their low ends
    for _ in range(_ROUNDS):
        t = 0.5 * (a + b)
        much = np.clip(X - t[:, None], low, high).sum(axis=1) > total
        a, b = np.where(much, t, a), np.where(much, b, t)
    return balanced(np.clip(X - 0.5 * (a + b)[:, None], low, high), low, high, total)


def balanced(X: Array, low: Array, high: Array, total: float) -> Array:
    """Rows that sum to the total up to rounding, made to sum to it by the part with most room on both sides."""
    room = np.minimum(X - low, high - X)
    last = np.argmax(room, axis=1)
    rows = np.arange(len(X))
    out = X.copy()
    out[rows, last] = 0.0
    out[rows, last] = np.clip(total - out.sum(axis=1), low[last], high[last])
    return out


def spread_over_simplex(unit: Array, low: Array, high: Array, total: float) -> Array:
    """Mixtures (n, k) from (n, k − 1) numbers between 0 and 1, which fill the simplex as evenly as those fill the cube.

    One part after the other takes its share of what is left: with j parts after it, 1 − (1 − u)^(1/j) of it, which is
    uniform on the simplex. Parts may lie above their high ends; whoever draws keeps what does not.
    """
    n, k = len(unit), len(low)
    left = np.full(n, total - low.sum())
    parts = np.zeros((n, k))
    for i in range(k - 1):
        parts[:, i] = left * -np.expm1(np.log1p(-unit[:, i]) / (k - 1 - i))
        left = left - parts[:, i]
    parts[:, k - 1] = left
    return np.asarray(low + parts)
