"""Local cubic convolution interpolation from regular grids in D dimensions (Keys 1981, with a = −1/2).

f(x) ≈ Σ_j w_j f(g_j) over the four grid points around x in one dimension and over their products, 4^D points, in
D dimensions. The weights sum to one, reproduce quadratics in each coordinate exactly, are those of a single point
where x is that point, and are once continuously differentiable in x; the error is O(step³). In a cell they need one
grid point beyond it on either side, so that the first and the last cell of an axis are not supported.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from gainful.checks import finite_table, listed, require, require_whole
from gainful.errors import InvalidInput
from gainful.numerics.memory import blocks

__all__ = ["Grid", "weights", "weights_1d"]

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_FEWEST = 4  # points of an axis with a single supported cell
_SPARE = 2  # points beyond the data on either side: one that the weights need, one for places just outside the data


@dataclass(frozen=True)
class Grid:
    """The points (starts[d] + i steps[d])_d for 0 ≤ i < counts[d], in C-order: the last dimension runs fastest.

    >>> grid = Grid((0.0, 10.0), (0.5, 1.0), (4, 6))
    >>> grid.size, grid.axis(0).tolist(), grid.interior(1)
    (24, [0.0, 0.5, 1.0, 1.5], (11.0, 14.0))
    """

    starts: tuple[float, ...]
    steps: tuple[float, ...]
    counts: tuple[int, ...]

    def __post_init__(self) -> None:
        for name, kind in (("starts", float), ("steps", float), ("counts", int)):
            object.__setattr__(self, name, tuple(kind(each) for each in getattr(self, name)))
        same = len(self.starts) == len(self.steps) == len(self.counts) > 0
        lengths = f"{len(self.starts)} starts, {len(self.steps)} steps, {len(self.counts)} counts"
        require(same, "grid", "one start, step and count per dimension", lengths, "give each as many numbers")
        for d, (start, step, count) in enumerate(zip(self.starts, self.steps, self.counts, strict=True)):
            require(count >= _FEWEST, "counts", f"at least {_FEWEST} points in dimension {d}", count, "add points")
            end = start + step * (count - 1)
            distinct = math.isfinite(start) and math.isfinite(end) and step > 8.0 * _rounding(start, end)
            expected = f"a positive step in dimension {d} that tells points between {start:g} and {end:g} apart"
            require(distinct, "steps", expected, step, "take larger steps, or shift the origin towards the places")

    @classmethod
    def covering(cls, X: ArrayLike, counts: int | Sequence[int]) -> Grid:
        """The grid whose axes run from two steps below the least of X (N, D) to two steps above the greatest.

        `counts`: points per dimension, at least 6; one number is for all. A dimension in which all places agree is
        covered one unit wide, by a grid that has them on one of its points.

        >>> Grid.covering([[0.0], [3.0]], 8).axis(0).tolist()
        [-2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
        """
        X = finite_table("X", X)
        require(len(X) > 0, "X", "at least one place", "none", "give the places that the grid has to cover")
        several = listed(counts)
        each = [counts] * X.shape[1] if several is None else several
        require(len(each) == X.shape[1], "counts", f"one number per dimension ({X.shape[1]})", counts, "give as many")
        whole = [require_whole("counts", count, 2 * _SPARE + 2, "take more points") for count in each]
        low, high, count = X.min(axis=0), X.max(axis=0), np.array(whole)
        alike = low == high
        steps = np.where(alike, 1.0, high - low) / (count - 2 * _SPARE - 1)
        before = np.where(alike, count // 2, _SPARE)  # points below the least
        return cls(tuple(low - before * steps), tuple(steps), tuple(whole))

    @property
    def size(self) -> int:
        """How many points there are, m."""
        return math.prod(self.counts)

    def axis(self, d: int) -> Array:
        """The coordinates of the points in dimension d, (counts[d],)."""
        return np.asarray(self.starts[d] + self.steps[d] * np.arange(self.counts[d]), dtype=np.float64)

    def interior(self, d: int) -> tuple[float, float]:
        """Between which two coordinates in dimension d places have weights."""
        return _interior(self.starts[d], self.steps[d], self.counts[d])


def weights(grid: Grid, X: ArrayLike) -> csr_array:
    """W (N, m) with f(X) ≈ W f(grid), 4^D entries in each row, in the order of the grid's points.

    Memory: 12 · 4^D bytes per place, 16 · 4^D from 2³¹ entries on (D = 4: 3 kB per place); made in blocks of rows, so
    that little else is needed meanwhile. A place outside the grid's interior is refused.

    >>> grid = Grid.covering([[0.0, 0.0], [1.0, 1.0]], (12, 9))
    >>> x, z = np.meshgrid(grid.axis(0), grid.axis(1), indexing="ij")
    >>> (weights(grid, [[0.3, 0.8]]) @ (x**2 * z).ravel()).tolist()
    [0.072]
    """
    X = finite_table("X", X, len(grid.counts))
    n, entries = len(X), 4 ** len(grid.counts)
    narrow = max(n * entries, grid.size) < 2**31
    indices = np.empty((n, entries), dtype=np.int32 if narrow else np.int64)
    values = np.empty((n, entries))
    for rows in blocks(n, 64 * entries):  # of 8 MB: larger ones leave the cache and take up to twice as long
        index, value = np.zeros((rows.stop - rows.start, 1), dtype=np.intp), np.ones((rows.stop - rows.start, 1))
        for d, (start, step, count) in enumerate(zip(grid.starts, grid.steps, grid.counts, strict=True)):
            near, weight = weights_1d(start, step, count, X[rows, d], dimension=d)
            index = (index[:, :, None] * count + near[:, None, :]).reshape(-1, 4 ** (d + 1))
            value = (value[:, :, None] * weight[:, None, :]).reshape(-1, 4 ** (d + 1))
        indices[rows], values[rows] = index, value
    ends = np.arange(0, (n + 1) * entries, entries, dtype=indices.dtype)
    return csr_array((values.reshape(-1), indices.reshape(-1), ends), shape=(n, grid.size))


def weights_1d(start: float, step: float, count: int, x: Array, *, dimension: int = 0) -> tuple[Indices, Array]:
    """Indices and weights, (N, 4) each, of the points of the axis start + i step, i < count, around each of x (N,).

    The weights are Keys' convolution kernel at the distances 1 + s, s, 1 − s, 2 − s, where s is the place in its cell,
    from 0 to 1. `dimension` names the axis when a place is refused.

    >>> index, weight = weights_1d(0.0, 1.0, 6, np.array([2.5]))
    >>> index.tolist(), weight.tolist()
    ([[1, 2, 3, 4]], [[-0.0625, 0.5625, 0.5625, -0.0625]])
    """
    low, high = _interior(start, step, count)
    slack = 4.0 * _rounding(low, high)  # a grid point worked out in another way may miss the edge by that
    inside = (x >= low - slack) & (x <= high + slack)
    if not np.all(inside):
        row, others = int(np.argmin(inside)), int(np.sum(~inside)) - 1
        raise InvalidInput(
            "X", f"places from {low:.6g} to {high:.6g} in dimension {dimension}, where the grid supports cubic weights",
            f"{x[row]:.6g}" + (f" and {others} more outside" if others else ""),
            "take a grid that covers all places, by over=[lowest, highest] where it is an engine's",
        )  # fmt: skip
    t = (x - start) / step
    cell = np.clip(np.floor(t), 1, count - 3)  # the upper end of the interior belongs to the last supported cell
    s = t - cell
    r = 1.0 - s
    weight = np.empty((len(x), 4))
    weight[:, 0] = -0.5 * s * r * r
    weight[:, 1] = 1.0 + s * s * (1.5 * s - 2.5)
    weight[:, 2] = 1.0 + r * r * (1.5 * r - 2.5)
    weight[:, 3] = -0.5 * r * s * s
    return cell.astype(np.intp)[:, None] + np.arange(-1, 3), weight


def _interior(start: float, step: float, count: int) -> tuple[float, float]:
    return start + step, start + step * (count - 2)


def _rounding(low: float, high: float) -> float:
    """The distance between neighbouring numbers at the larger of two."""
    return float(np.spacing(max(abs(low), abs(high))))
