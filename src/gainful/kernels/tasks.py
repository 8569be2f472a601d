"""Kernels of tasks: the same inputs measured for several patients, sites or machines.

Times a kernel of the inputs they are multi-task models, as in `SE(0.3).on("time") * Tasks(4).on("patient")`. A task is
a level of a category, seen by its position, 0 to T − 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gainful.checks import is_number, is_whole, listed, require, require_count
from gainful.kernels.base import PiecewiseConstant, Pullback
from gainful.kernels.categories import Codes, first_loadings, level_codes, require_levels
from gainful.parameters import Slot, positive, real

__all__ = ["SameCluster", "Tasks"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Tasks(PiecewiseConstant):
    """k(i, j) = w_i·w_j + [i = j] own_i: any covariance of tasks, of low rank plus a diagonal.

    Each task has a vector w of `rank` loadings, by which it goes with the others, and a variance of its `own`. Times a
    kernel of the inputs this is the intrinsic coregionalisation model (Bonilla, Chai & Williams 2008), in units of that
    kernel's variance. loadings are those of the first task, then of the second, and so on. Left out, all first loadings
    are 1 but for small differences that let a fit go on from there. `Similarity` is the same scaled to correlations.

    >>> Tasks(2, loadings=(1.0, 3.0), own=(0.5, 2.0))([[0.0], [1.0]]).tolist()
    [[1.5, 3.0], [3.0, 11.0]]
    """

    tasks: int = 2
    rank: int = 1
    loadings: Any = real(0.0, "loading", per_dimension=True)
    own: Any = positive(1.0, "shape", per_dimension=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tasks", require_levels(self.tasks, "tasks"))
        object.__setattr__(self, "rank", require_count("rank", self.rank, 1, "1 or 2 loadings a task"))
        require(self.rank <= self.tasks, "rank", f"at most {self.tasks}, the tasks", self.rank, "1 or 2 will do")
        if is_number(self.loadings) and self.loadings == 0.0:
            object.__setattr__(self, "loadings", first_loadings(self.tasks, self.rank))
        super().__post_init__()
        if isinstance(self.own, float):
            object.__setattr__(self, "own", (self.own,) * self.tasks)
        expected = f"{self.tasks * self.rank} numbers, {self.rank} for each task"
        size = np.shape(self.loadings)[-1] if np.ndim(self.loadings) else 1
        require(size == self.tasks * self.rank, "loadings", expected, self.loadings, "leave them out")
        size = np.shape(self.own)[-1]
        require(size == self.tasks, "own", f"{self.tasks} numbers, one for each task", self.own, "or one for all")

    def groups(self) -> list[list[Slot]]:
        """Loadings and variances belong to tasks, not to dimensions."""
        return [[slot._replace(dims=None) for slot in group] for group in super().groups()]

    @property
    def covariances(self) -> Array:
        """W Wᵀ + diag(own), (T, T), or with a batch of settings (S, T, T)."""
        W, at = self._vectors(), np.arange(self.tasks)
        B = np.asarray(W @ np.swapaxes(W, -1, -2))
        B[..., at, at] += np.asarray(self.own, dtype=float)
        return B

    def _vectors(self) -> Array:
        """w of each task, (…, T, rank)."""
        flat = np.asarray(self.loadings, dtype=float)
        return flat.reshape(*flat.shape[:-1], self.tasks, self.rank)

    def matrix(self, X: Array, Z: Array) -> Array:
        x, z = self._see(X), self._see(Z)
        return np.asarray(self.covariances[..., x[:, None], z[None, :]])

    def diag(self, X: Array) -> Array:
        return np.asarray(np.diagonal(self.covariances, axis1=-2, axis2=-1)[..., self._see(X)])

    def rowwise(self, X: Array, Z: Array) -> Array:
        return np.asarray(self.covariances[..., self._see(X), self._see(Z)])

    def vjp(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        return self._vjp(self._see(X)[:, None], self._see(Z)[None, :])

    def rowwise_vjp(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        return self._vjp(self._see(X), self._see(Z))

    def _vjp(self, x: Codes, z: Codes) -> tuple[Array, Pullback]:
        T = self.tasks

        def back(G: Array) -> Array:
            # dL/dB, summed over the places of each pair of tasks.
            pairs = np.asarray(np.bincount((x * T + z).ravel(), G.ravel(), T * T), dtype=float).reshape(T, T)
            loadings = (pairs + pairs.T) @ self._vectors()
            return np.concatenate([loadings.ravel(), np.diagonal(pairs) * np.asarray(self.own)])

        return np.asarray(self.covariances[x, z]), back

    def _see(self, X: Array) -> Codes:
        return level_codes(X, self.tasks)


@dataclass(frozen=True)
class SameCluster(PiecewiseConstant):
    """k(i, j) = 1 if tasks i and j are in the same cluster, otherwise 0: tasks of one cluster share one function.

    `clusters` has a whole number for each task, equal for those that are together. They are numbered anew from 0 in
    the order of the tasks, so that equal clusterings are equal kernels. A cluster for each task is `Exchangeable` with
    correlation 0.

    >>> SameCluster((7, 7, 3))([[0.0]], [[1.0], [2.0]]).tolist()
    [[1.0, 0.0]]
    >>> SameCluster((7, 7, 3)).clusters
    (0, 0, 1)
    """

    clusters: Any

    def __post_init__(self) -> None:
        several = listed(self.clusters)
        words, remedy = "a whole number for each of two tasks or more", "(0, 0, 1): the first two are together"
        usable = several is not None and len(several) > 1 and all(is_whole(each) for each in several)
        require(usable, "clusters", words, self.clusters, remedy)
        several = several or []
        require_levels(len(several), "clusters")
        number = {label: i for i, label in enumerate(dict.fromkeys(several))}
        object.__setattr__(self, "clusters", tuple(number[each] for each in several))

    def _see(self, X: Array) -> Codes:
        """The cluster of each place."""
        return np.array(self.clusters, dtype=np.intp)[level_codes(X, len(self.clusters))]

    def matrix(self, X: Array, Z: Array) -> Array:
        return np.equal.outer(self._see(X), self._see(Z)).astype(float)

    def diag(self, X: Array) -> Array:
        return np.ones(len(self._see(X)))

    def rowwise(self, X: Array, Z: Array) -> Array:
        return np.equal(self._see(X), self._see(Z)).astype(float)

    def vjp(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        return self.matrix(X, Z), lambda G: np.zeros(0)

    def rowwise_vjp(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        return self.rowwise(X, Z), lambda g: np.zeros(0)
