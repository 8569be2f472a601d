"""Where memory ends: conjugate gradients on tiles of the kernel, kept as far as there is room and worked out again
beyond it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gainful.checks import is_number, require, require_kind
from gainful.inference.engines.base import EngineBelief, read
from gainful.inference.engines.dense import lower_tiles
from gainful.inference.engines.krylov import KrylovBelief, Solver, krylov_belief, require_finite
from gainful.kernels.base import Kernel
from gainful.layout import Layout
from gainful.means import Mean
from gainful.numerics.blas import matmul

__all__ = ["Iterative", "Tiles"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Iterative:
    """Preconditioned conjugate gradients, for numbers read at places: O(N²) time a product, as much memory as is given.

    `memory` is what tiles of the kernel may take, in GB; those beyond it are worked out anew for every product.
    """

    memory: float = 4.0
    solver: Solver = field(default_factory=Solver)

    def __post_init__(self) -> None:
        require(is_number(self.memory) and 0.0 <= self.memory < 1e6, "memory", "gigabytes", self.memory, "4 is usual")
        require_kind("solver", self.solver, Solver, "a Solver", "such as Solver(tolerance=1e-6)")

    def believe(self, mean: Mean, kernel: Kernel, layout: Layout, start: EngineBelief | None = None) -> KrylovBelief:
        readings = read(self, mean, layout)
        tiles = Tiles(kernel, readings.X, int(self.memory * 2**27))
        return require_finite(krylov_belief(mean, kernel, readings, tiles, self.solver))


@dataclass(frozen=True, eq=False)
class Tiles:
    """K among X (N, D), by tiles of its lower triangle, of which so many numbers are kept."""

    kernel: Kernel
    X: Array
    room: int

    @property
    def each(self) -> int:
        return 4 * len(self.X)

    @property
    def pulls_many(self) -> bool:
        """Yes: what `pulled` costs is the kernel's slopes, and not its columns."""
        return True

    @cached_property
    def _corners(self) -> list[tuple[slice, slice]]:
        return list(lower_tiles(len(self.X)))

    @cached_property
    def _kept(self) -> list[Array]:
        """The first tiles, as many as there is room for."""
        kept: list[Array] = []
        left = self.room
        for rows, columns in self._corners:
            left -= (rows.stop - rows.start) * (columns.stop - columns.start)
            if left < 0:
                break
            kept.append(self.kernel.matrix(self.X[rows], self.X[columns]))
        return kept

    def _tiles(self) -> Iterator[tuple[slice, slice, Array]]:
        for i, (rows, columns) in enumerate(self._corners):
            known = i < len(self._kept)
            yield rows, columns, self._kept[i] if known else self.kernel.matrix(self.X[rows], self.X[columns])

    def times(self, V: Array) -> Array:
        out = np.zeros_like(V)
        for rows, columns, tile in self._tiles():
            out[rows] += matmul(tile, V[columns])
            if rows != columns:
                out[columns] += matmul(tile.T, V[rows])
        return out

    def diagonal(self) -> Array:
        return self.kernel.diag(self.X)

    def column(self, i: int) -> Array:
        return self.kernel.matrix(self.X, self.X[i : i + 1])[:, 0]

    def pulled(self, U: Array, V: Array) -> Array:
        total = np.zeros(self.kernel.size)
        for rows, columns in self._corners:
            G = matmul(U[rows], V[columns].T)
            if rows != columns:
                G += matmul(V[rows], U[columns].T)
            total += self.kernel.vjp(self.X[rows], self.X[columns])[1](G)
        return total

    def weigh(self, V: Array) -> Array:
        return V

    def project(self, X: Array, weighed: Array) -> Array:
        return matmul(self.kernel.matrix(X, self.X), weighed)

    def variance(self, X: Array) -> Array:
        return self.kernel.diag(X)

    def between(self, X: Array, Z: Array) -> Array:
        return self.kernel.matrix(X, Z)
