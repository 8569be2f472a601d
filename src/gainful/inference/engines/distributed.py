"""Exact inference beyond one machine: tiles of the kernel's Cholesky factor on the workers of a Dask cluster."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gainful.checks import require_count
from gainful.errors import NumericalError
from gainful.inference.convergence import Convergence, Result
from gainful.inference.engines.base import EngineBelief, Gradient, Readings, read
from gainful.inference.engines.tile_tasks import NotPositive
from gainful.inference.engines.tiled import Factored, factored
from gainful.inference.engines.workers import Tasks, address_of, tasks_at
from gainful.kernels.base import Kernel
from gainful.layout import Layout
from gainful.means import Mean
from gainful.numerics.blas import matmul
from gainful.numerics.cholesky import JITTERS, NOT_POSITIVE
from gainful.numerics.memory import in_blocks

__all__ = ["Distributed", "DistributedBelief"]

Array = NDArray[np.float64]

_LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True, init=False)
class Distributed:
    """Exact inference on a Dask cluster, for numbers read at places: the numbers of `Exact`, to rounding.

    `scheduler` is the address of a Dask scheduler, or a Dask client; the workers need the same gainful. With N readings
    each of W workers holds its share of the triangle, 4 N²/W bytes, and a few rows of tiles of 8 N · `tile` bytes each;
    this process holds nothing of N × N. What a lost worker held is worked out again by the others. Needs the extra
    gainful[dask].

    >>> Distributed("tcp://10.0.0.5:8786", tile=512)
    Distributed(scheduler='tcp://10.0.0.5:8786', tile=512)
    """

    scheduler: str
    tile: int = 1024

    def __init__(self, scheduler: Any, tile: int = 1024) -> None:
        object.__setattr__(self, "scheduler", address_of(scheduler))
        object.__setattr__(self, "tile", require_count("tile", tile, 1, "1024 is usual"))

    def believe(
        self, mean: Mean, kernel: Kernel, layout: Layout, start: EngineBelief | None = None
    ) -> DistributedBelief:
        readings = read(self, mean, layout)
        tasks = tasks_at(self.scheduler)
        with tasks.unless_interrupted(keep=False):
            found = _positive(tasks, kernel, readings, self.tile)
            return DistributedBelief(mean, kernel, readings, found, found.solve(readings.residual), found.log_det())


def _positive(tasks: Tasks, kernel: Kernel, readings: Readings, tile: int) -> Factored:
    """The factor, with the diagonal enlarged where double precision leaves no other way, as `Exact` does it."""
    for jitter in (0.0, *JITTERS):
        try:
            return factored(tasks, kernel, readings, tile, jitter)
        except NotPositive as failed:
            failed.__traceback__ = None  # its frames would keep what the next attempt finds
            tasks.release()
    raise NumericalError(NOT_POSITIVE)


@dataclass(frozen=True, eq=False)
class DistributedBelief:
    """f given N readings: B = L Lᵀ on workers, and α = B⁻¹ (y − m) here."""

    prior_mean: Mean
    kernel: Kernel
    readings: Readings
    factor: Factored = field(repr=False)
    alpha: Array = field(repr=False)
    log_det: float

    @property
    def convergence(self) -> Convergence:
        count = len(self.factor.tasks.workers)
        return Convergence(Result.EXACT, note=f"; on {count} worker{'s' * (count != 1)} of a Dask cluster")

    @property
    def jitter(self) -> float:
        """How much the diagonal had to be enlarged, relative to itself; 0.0 as a rule."""
        return self.factor.jitter

    @cached_property
    def misfit(self) -> float:
        """(y − m)ᵀ B⁻¹ (y − m): of a model that is right a χ² with N degrees of freedom."""
        return float(self.readings.residual @ self.alpha)

    @cached_property
    def log_evidence(self) -> float:
        """−½ (y − m)ᵀ α − ½ log|B| − ½ N log 2π."""
        return -0.5 * (self.misfit + self.log_det + len(self.alpha) * _LOG_2PI)

    def mean(self, X: Array) -> Array:
        """m(x) + k(x, Z) α, worked out here."""

        def of(part: slice) -> Array:
            return self.prior_mean(X[part]) + matmul(self.kernel.matrix(X[part], self.readings.X), self.alpha)

        return in_blocks(of, len(X), 4 * len(self.alpha))

    def variance(self, X: Array) -> Array:
        """k(x, x) − ‖L⁻¹ k(Z, x)‖², by the workers."""

        def of(part: slice) -> Array:
            left = self.kernel.diag(X[part]) - self.factor.squares(X[part])
            return np.maximum(left, 0.0)  # rounding, where a precise reading has left nothing

        return in_blocks(of, len(X), len(self.alpha))

    def covariance(self, X: Array, Z: Array) -> Array:
        """k(X, Z) − k(X, ·) B⁻¹ k(·, Z), by the workers, some of X and of Z at a time."""

        def of(part: slice) -> Array:
            def against(other: slice) -> Array:
                return self.factor.products(X[part], Z[other]).T

            return self.kernel.matrix(X[part], Z) - in_blocks(against, len(Z), len(self.alpha)).T

        return in_blocks(of, len(X), len(self.alpha))

    def gradient(self) -> Gradient:
        """Of the log evidence; workers hold the inverse of L beside it."""
        return self._pulled(keep=True)

    def into_gradient(self) -> Gradient:
        """The same with the inverse in the place of L: this belief is used up."""
        return self._pulled(keep=False)

    def _pulled(self, keep: bool) -> Gradient:
        with self.factor.tasks.unless_interrupted(keep):
            kernel, diagonal = self.factor.pulled(self.alpha, keep)
        noise = self.readings.noise * (self.alpha**2 - diagonal)
        return Gradient(kernel, self.prior_mean.vjp(self.readings.X)[1](self.alpha), noise)
