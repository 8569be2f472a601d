"""Nearest neighbours, exactly: among the points that come earlier in an order, or among all of them.

In few dimensions by k-d trees, in many by distances to every point in blocks of bounded memory. Distances are
Euclidean: whoever means another metric scales the coordinates first.
"""

from __future__ import annotations

import heapq
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gainful.numerics.blas import matmul
from gainful.numerics.memory import blocks

if TYPE_CHECKING:
    from scipy.spatial import cKDTree

__all__ = ["Neighbours", "earlier", "maxmin", "nearest"]

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Indices = NDArray[np.int32]

_MANY = 12  # dimensions: beyond, a tree looks at nearly every point
_FIRST = 256  # points whose distances are all worked out, before trees begin
_GROWTH = 1.5  # of the points in one tree over those in the one before: then two thirds of them at least are earlier
_SPARE = 8  # candidates more than are asked for, where distances come from products and may be misordered by rounding
_ALIKE = 16  # equal points that a tree takes in its stride, since so many make a leaf
_APART = 1e-9  # of the extent: how far equal points are moved apart in a coordinate of their own


class Neighbours:
    """The m nearest of the points X (N, D), for any places.

    >>> find = Neighbours(np.array([[0.0], [1.0], [3.0]]))
    >>> find(np.array([[0.9], [9.0]]), 2).tolist()
    [[1, 0], [2, 1]]
    """

    def __init__(self, X: Array) -> None:
        self.X = X

    def __call__(self, Y: Array, m: int) -> Indices:
        """Positions in X of the nearest to each row of Y (M, D), nearest first, (M, min(m, N))."""
        m = min(m, len(self.X))
        out = np.empty((len(Y), m), dtype=np.int32)
        if not m or not _extent(self.X):
            out[:] = np.arange(m)
            return out
        direct = self.X.shape[1] > _MANY
        for part in blocks(len(Y), 3 * len(self.X) if direct else 4 * m):
            out[part] = _closest(self.X, Y[part], m) if direct else _query(self._tree, Y[part], m)
        return out

    @cached_property
    def _tree(self) -> cKDTree:
        return _grown(_told_apart(self.X))


def nearest(X: Array, Y: Array, m: int) -> Indices:
    """Positions of the m nearest of X (N, D) to each row of Y (M, D), nearest first, (M, min(m, N)).

    >>> nearest(np.array([[0.0], [1.0], [3.0]]), np.array([[2.9]]), 2).tolist()
    [[2, 1]]
    """
    return Neighbours(X)(Y, m)


def earlier(X: Array, m: int) -> Indices:
    """The m nearest of x_0 … x_{i−1} to x_i for each i, nearest first, (N, m); −1 where there are not so many.

    Trees are of the first n, 1.5 n, … points; a point asks that tree which it is the first to be in, for more than m,
    and again for twice as many until m of them are earlier. That is quick in a random order, or in any that fills space
    evenly; where nearly all neighbours come later it is exact and slow.

    >>> earlier(np.array([[0.0], [5.0], [1.0], [4.0]]), 2).tolist()
    [[-1, -1], [0, -1], [0, 1], [1, 2]]
    """
    n = len(X)
    out = np.full((n, m), -1, dtype=np.int32)
    if not m or n < 2:
        return out
    if not _extent(X):
        before = np.arange(n)[:, None] - np.arange(1, m + 1)
        return np.maximum(before, -1).astype(np.int32)
    start = n if X.shape[1] > _MANY else min(n, max(_FIRST, 4 * m))
    _earlier_directly(X[:start], m, out)
    points = _told_apart(X) if start < n else X
    while start < n:
        stop = min(n, int(_GROWTH * start))
        _earlier_in_tree(points[:stop], start, m, out)
        start = stop
    return out


def maxmin(X: Array) -> Rows:
    """An order (N,) in which each point is as far as can be from those before it, beginning next to the middle.

    The greedy order of Guinness (2018), exact. A point that is taken shortens the distance of those alone that
    are nearer to it than the largest distance left, which a tree finds; of the others each keeps a bound in a heap.

    >>> maxmin(np.array([[0.0], [0.5], [1.0], [0.6]])).tolist()
    [1, 0, 2, 3]
    """
    from scipy.spatial import cKDTree

    n = len(X)
    if not n:
        return np.zeros(0, dtype=np.intp)
    first = int(np.argmin(np.sum((X - X.mean(axis=0)) ** 2, axis=1)))
    away = np.sqrt(np.sum((X - X[first]) ** 2, axis=1))
    away[first] = -1.0
    order, tree = [first], cKDTree(X)
    heap = [(-distance, i) for i, distance in enumerate(away.tolist()) if i != first]
    heapq.heapify(heap)
    while heap:
        bound, i = heap[0]
        if away[i] < -bound:  # it has come nearer since: back with its distance as it is now
            heapq.heapreplace(heap, (-float(away[i]), i))
            continue
        heapq.heappop(heap)
        order.append(i)
        near = np.arange(n) if len(order) < _FIRST else np.array(tree.query_ball_point(X[i], -bound), dtype=np.intp)
        away[near] = np.minimum(away[near], np.sqrt(np.sum((X[near] - X[i]) ** 2, axis=1)))
        away[i] = -1.0
    return np.array(order, dtype=np.intp)


def _extent(X: Array) -> float:
    """The largest range of a coordinate; 0 where all points are one."""
    return float(np.max(np.ptp(X, axis=0), initial=0.0)) if len(X) else 0.0


def _told_apart(X: Array) -> Array:
    """X, or with one more coordinate where many points are equal, along which these lie apart by very little.

    A tree cannot divide equal points, and would look at all of them for each of them.
    """
    along = np.sort(X @ np.random.default_rng(0).normal(size=X.shape[1]))
    if len(X) <= _ALIKE or not np.any(along[_ALIKE:] == along[:-_ALIKE]):
        return X
    return np.column_stack([X, np.linspace(0.0, _APART * _extent(X), len(X))])


def _grown(points: Array) -> cKDTree:
    from scipy.spatial import cKDTree

    return cKDTree(points, balanced_tree=False, compact_nodes=False)  # half the time to build, as quick to ask


def _query(tree: cKDTree, Y: Array, k: int) -> Rows:
    """Positions of the k nearest, (M, k); places lack the coordinate that tells points apart."""
    if Y.shape[1] < tree.m:
        Y = np.column_stack([Y, np.zeros(len(Y))])
    return np.asarray(tree.query(Y, k)[1], dtype=np.intp).reshape(len(Y), k)


def _earlier_in_tree(points: Array, start: int, m: int, out: Indices) -> None:
    """Rows start … of `out`, from a tree of these points: there are at least m before `start`."""
    tree = _grown(points)
    left = tree.indices[tree.indices >= start]  # in the order of the tree: those that follow each other are near
    k = min(int(_GROWTH * m) + _SPARE, len(points))
    while len(left):
        still = []
        for part in blocks(len(left), 4 * k):
            rows = left[part]
            found = _query(tree, points[rows], k)
            before = found < rows[:, None]
            rank = np.cumsum(before, axis=1, dtype=np.int32)
            enough = rank[:, -1] >= m
            chosen = before & (rank <= m) & enough[:, None]
            out[rows[enough]] = found[chosen].reshape(-1, m)
            still.append(rows[~enough])
        left, k = np.concatenate(still), min(2 * k, len(points))


def _earlier_directly(X: Array, m: int, out: Indices) -> None:
    """Rows 0 … of `out`, from the distances to all points before."""
    for part in blocks(len(X), 3 * len(X)):
        rows = np.arange(part.start, part.stop)
        out[rows, : len(X)] = _closest(X[: part.stop], X[part], min(m, part.stop), before=rows)[:, :m]


def _closest(X: Array, Y: Array, m: int, before: Rows | None = None) -> Indices:
    """The m nearest of X to each row of Y, nearest first; only those that come `before` (M,), and −1 for the rest."""
    k = min(m + _SPARE, len(X))
    centre = X.mean(axis=0)
    A, B = X - centre, Y - centre
    squares = np.einsum("nd,nd->n", A, A) - 2.0 * matmul(B, A.T)  # but for a number in each row
    if before is not None:
        squares[np.arange(len(X)) >= before[:, None]] = np.inf
    some = np.argpartition(squares, k - 1, axis=1)[:, :k] if k < len(X) else np.tile(np.arange(len(X)), (len(Y), 1))
    exact = np.empty(some.shape)
    for part in blocks(len(Y), 3 * k * X.shape[1]):
        exact[part] = np.sum((X[some[part]] - Y[part, None]) ** 2, axis=2)
    if before is not None:
        exact[some >= before[:, None]] = np.inf
    by_distance = np.argsort(exact, axis=1, kind="stable")[:, :m]
    found = np.take_along_axis(some, by_distance, axis=1).astype(np.int32)
    found[np.isinf(np.take_along_axis(exact, by_distance, axis=1))] = -1
    return found
