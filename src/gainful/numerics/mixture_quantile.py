"""Quantiles of mixtures of normal distributions: the x with Σ_s w_s Φ((x − m_s)/σ_s) = q."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

__all__ = ["mixture_quantile"]

Array = NDArray[np.float64]

_STEPS = 100  # bisection alone takes 60 from any bracket that doubles can tell apart
_CLOSE = 4.0 * np.finfo(float).eps


def mixture_quantile(weights: Array, mean: Array, sd: Array, q: float) -> Array:
    """The q quantile of each of M mixtures, (M,), from weights (S,), means (S, M) and spreads (S, M).

    It lies between the smallest and the largest quantile of the parts: there no part has more than q below it, or none
    less. Newton's steps inside that bracket, which each of them narrows; a step that leaves it, or is too long to be
    trusted, is a bisection. Above the median the tail above is what is solved for, so that neither loses digits. Parts
    without spread are steps, and the quantile may be on one.

    >>> mixture_quantile(np.array([0.5, 0.5]), np.array([[-1.0], [1.0]]), np.ones((2, 1)), 0.5).tolist()
    [0.0]
    """
    if q > 0.5:
        return -mixture_quantile(weights, -mean, sd, 1.0 - q)
    mean, sd, weights = mean[weights > 0.0], sd[weights > 0.0], weights[weights > 0.0]
    ends = mean + sd * ndtri(q)
    low, high = ends.min(axis=0), ends.max(axis=0)
    x = np.clip(weights @ ends, low, high)
    todo = np.arange(mean.shape[1])
    for _ in range(_STEPS):
        below, density = _below(weights, mean[:, todo], sd[:, todo], x[todo])
        less = below < q
        low[todo], high[todo] = np.where(less, x[todo], low[todo]), np.where(less, high[todo], x[todo])
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # far between two parts: a bisection
            step = x[todo] + (q - below) / density
        inside = (step > low[todo]) & (step < high[todo])
        new = np.where(inside, step, 0.5 * (low[todo] + high[todo]))
        size = np.maximum(np.abs(low[todo]), np.abs(high[todo]))
        done = (np.abs(new - x[todo]) <= _CLOSE * size) | (high[todo] - low[todo] <= _CLOSE * size) | (below == q)
        x[todo] = np.where(below == q, x[todo], new)
        todo = todo[~done]
        if not todo.size:
            break
    return x


def _below(weights: Array, mean: Array, sd: Array, x: Array) -> tuple[Array, Array]:
    """P(below x) and the density at x; a part without spread is all below x from its mean on, and has no density."""
    sure = sd <= 0.0
    z = (x - mean) / np.where(sure, 1.0, sd)
    part = np.where(sure, x >= mean, ndtr(z))
    density = np.where(sure, 0.0, np.exp(-0.5 * z**2) / (np.sqrt(2.0 * np.pi) * np.where(sure, 1.0, sd)))
    return weights @ part, weights @ density
