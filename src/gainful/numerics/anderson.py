"""Anderson acceleration of a fixed-point iteration x ← g(x).

Of the last few points, the combination whose residuals f = g(x) − x cancel best is taken, and one step is made from
there (Anderson 1965, in the difference form of Walker & Ni 2011). Near a fixed point this is a secant method in the
subspace of recent steps, which turns slow or oscillating convergence into fast convergence at the cost of a small
least-squares problem.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gainful.numerics.blas import matmul

Array = NDArray[np.float64]


@dataclass(frozen=True)
class History:
    """The recent points and their residuals, oldest first."""

    points: tuple[Array, ...] = ()
    residuals: tuple[Array, ...] = ()


def step(history: History, x: Array, f: Array, weights: Array, damping: float, memory: int) -> tuple[Array, History]:
    """The next point and the history to go on with.

    x, f, weights are (P,): the point, g(x) − x, and the size of one unit in each coordinate (residuals are compared
    after multiplication by it). `damping` in (0, 1] scales the part of the step that the history does not explain.

    >>> A, b = np.array([[0.9, 0.5], [-0.3, 0.2]]), np.array([1.0, 2.0])
    >>> x, history = np.zeros(2), History()
    >>> for _ in range(4):
    ...     x, history = step(history, x, A @ x + b - x, np.ones(2), 1.0, memory=5)
    >>> bool(np.allclose(x, A @ x + b))
    True
    """
    kept = slice(max(len(history.points) - memory, 0), None)
    points, residuals = (*history.points[kept], x), (*history.residuals[kept], f)
    out = x + damping * f
    if len(points) > 1:
        dx = np.diff(np.stack(points), axis=0)
        df = np.diff(np.stack(residuals), axis=0)
        mix = _least_squares(df * weights, f * weights)
        out -= matmul((dx + damping * df).T, mix)
    return out, History(points, residuals)


def _least_squares(rows: Array, target: Array) -> Array:
    """The mix with rowsᵀ mix ≈ target, by normal equations of rows scaled to unit length, with a tiny ridge.

    The rows are few and of very different lengths; nearly dependent ones share their part of the mix.
    """
    length = np.sqrt(np.einsum("ki,ki->k", rows, rows))
    length = np.where(length > 0.0, length, 1.0)
    unit = rows / length[:, None]
    gram = matmul(unit, unit.T)
    gram.flat[:: len(gram) + 1] += 1e-13
    return np.linalg.solve(gram, matmul(unit, target)) / length


def step_together(points: Array, moves: Array, weights: Array, damping: Array) -> Array:
    """`step` for several iterations at once: points and their residuals (S, K, P) with the newest last, weights (S, P),
    damping (S,); the next points (S, P).

    A point that stands where the next one does counts for nothing, so histories may differ in length.
    """
    x, f = points[:, -1], moves[:, -1]
    out = x + damping[:, None] * f
    if points.shape[1] > 1:
        dx, df = np.diff(points, axis=1), np.diff(moves, axis=1)
        rows = df * weights[:, None]
        length = np.sqrt(np.sum(rows**2, axis=2, keepdims=True))
        unit = np.divide(rows, length, out=np.zeros_like(rows), where=length > 0.0)
        gram = unit @ np.swapaxes(unit, 1, 2)
        gram[:, np.arange(gram.shape[1]), np.arange(gram.shape[1])] += np.where(length[:, :, 0] > 0.0, 1e-13, 1.0)
        mix = np.linalg.solve(gram, unit @ (f * weights)[:, :, None])
        mix = np.divide(mix, length, out=np.zeros_like(mix), where=length > 0.0)
        out -= np.sum((dx + damping[:, None, None] * df) * mix, axis=1)
    return out
