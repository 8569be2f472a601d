"""Structured kernel interpolation: k(x, z) ≈ w_x K_UU w_zᵀ with U a regular grid (Wilson & Nickisch 2015).

The weights w are those of local cubic interpolation, 4^D for each place; K_UU of a stationary kernel is a block
Toeplitz matrix, whose products are Fourier transforms. A grid of few points beside the readings is solved on the grid
itself (`gridded.py`), exactly and in one pass over the readings, O(m³ + 16^D N); one of many by products (`krylov.py`),
each O(4^D N + m log m). A predictive mean takes O(4^D), wherever it is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.checks import column_names, finite_table, listed, require, require_count, require_kind
from gainful.errors import InvalidInput, NumericalError
from gainful.inference.engines.base import EngineBelief, Readings, read
from gainful.inference.engines.gridded import GridBelief, grid_belief
from gainful.inference.engines.interpolated import Interpolated, interpolation_error
from gainful.inference.engines.krylov import KrylovBelief, Solver, krylov_belief, require_finite
from gainful.inference.engines.metric import column_scales
from gainful.kernels.base import Kernel
from gainful.layout import Layout
from gainful.means import Mean
from gainful.numerics.interpolation import Grid
from gainful.numerics.memory import MOST

__all__ = ["SKI", "as_counts", "as_over", "require_stationary"]

Array = NDArray[np.float64]

_KEPT = 2**13  # points of a grid of which a covariance matrix is kept, at most: half a gigabyte
_WORTH, _FEW = 2e6, 1700  # m³ for each reading, at which solves take as long; fewer readings are as good as these
_MOST = 4  # dimensions: 4^D weights for each place
_LARGEST = 2**21  # points of a grid
_STEP = 0.75  # of the step along which f changes by a twentieth of its variance: a quarter of a lengthscale of SE
_FEWEST, _LEAST = 8, 6  # points along an axis: where it is left to us, and where it is stated
_OF_NOISE, _NEAR = 0.05, 1e-3  # parts of the noise and of the variance by which covariances may err
_FINER = 1.3  # times as many points along each axis where they err by more
_FALLS = 0.8  # a refinement that leaves more than this of the error is the last
_FREE, _EACH = 2**14, 16  # points of a grid that few readings may have, and for each of many
_MANY, _MIDDLE = 4000, 41  # points of a grid, and those along an axis where all places agree if there are more
_BEYOND = 1.0  # times the noise: where covariances err by more, a kernel is refused
_PAIRS, _EQUAL = 64, 1e-9  # places at which a kernel is looked at for being stationary, and how near it must be


@dataclass(frozen=True)
class SKI:
    """Interpolation from a grid, for numbers read at places of up to four dimensions, under a stationary kernel.

    grid: a `Grid`, or the number of its points along each dimension; as many as f needs if not given.
    over: places that it has to reach beyond those of the data, such as the corners of what will be predicted.
    """

    grid: Grid | int | tuple[int, ...] | None = None
    over: ArrayLike | None = None
    solver: Solver = field(default_factory=Solver)

    def __post_init__(self) -> None:
        if self.grid is not None and not isinstance(self.grid, Grid):
            object.__setattr__(self, "grid", as_counts(self.grid, _LEAST))
        object.__setattr__(self, "over", as_over(self.over))
        require_kind("solver", self.solver, Solver, "a Solver", "such as Solver(tolerance=1e-6)")

    def believe(
        self, mean: Mean, kernel: Kernel, layout: Layout, start: EngineBelief | None = None
    ) -> GridBelief | KrylovBelief:
        readings = read(self, mean, layout)
        require_stationary(kernel, readings.X, "SKI")
        grid = self._covering(kernel, readings, _grid_of(start, readings.X))
        _require_room(grid)
        operator = Interpolated(kernel, readings.X, grid)
        if _on_the_grid(operator.grid.size, len(readings.X)):
            return grid_belief(mean, readings, operator)
        return require_finite(krylov_belief(mean, kernel, readings, operator, self.solver))

    def _covering(self, kernel: Kernel, readings: Readings, before: Grid | None) -> Grid:
        if isinstance(self.grid, Grid):
            return self.grid
        X, D = readings.X, readings.X.shape[1]
        if D > _MOST:
            raise InvalidInput(
                "inference", f"at most {_MOST} dimensions for SKI()", D, "SKIP(), Vecchia() and Inducing() take more"
            )
        every = X if self.over is None else np.concatenate([X, finite_table("over", self.over, D)])
        if self.grid is not None:
            return Grid.covering(every, self.grid if listed(self.grid) is None else list(self.grid))  # type: ignore[arg-type]
        return _fine_enough(kernel, readings, every, before)


def _on_the_grid(points: int, readings: int) -> bool:
    """Whether the grid's covariance matrix is kept: that takes m³ once, and products as many for each reading."""
    return points <= _KEPT and points**3 <= _WORTH * max(readings, _FEW)


def _require_room(grid: Grid) -> None:
    """Refuse a stated grid whose transforms, twice as long along each axis, four at a time, have no room."""
    if 4 * 2 ** len(grid.counts) * grid.size > MOST:
        expected = f"a grid whose Fourier transforms fit into {MOST / 2**27:g} GB for SKI()"
        got = f"{' × '.join(map(str, grid.counts))} points"
        raise InvalidInput("grid", expected, got, "take fewer; SKIP() has one along each dimension, not over all")


def as_counts(grid: object, least: int) -> int | tuple[int, ...]:
    """Points along every dimension, one number for all or one for each."""
    several = listed(grid)
    counts = [require_count("grid", n, least, "100 is usual") for n in ([grid] if several is None else several)]
    require(len(counts) > 0, "grid", "points along each dimension", grid, "leave it out")
    return counts[0] if several is None else tuple(counts)


def as_over(over: ArrayLike | None) -> tuple[tuple[float, ...], ...] | None:
    """Places that a grid has to reach, as a value that can be compared."""
    if over is None:
        return None
    require(
        column_names(over) is None, "over", "places without names of columns", over, "give an array, in their order"
    )
    table = finite_table("over", over)
    require(table.size > 0, "over", "places, such as two corners", over, "leave it out")
    return tuple(map(tuple, table.tolist()))


def _grid_of(start: EngineBelief | None, X: Array) -> Grid | None:
    """The grid of an earlier belief about the same places."""
    known = start.operator if isinstance(start, GridBelief | KrylovBelief) else None
    return known.grid if isinstance(known, Interpolated) and np.array_equal(known.X, X) else None


def _fine_enough(kernel: Kernel, readings: Readings, every: Array, before: Grid | None) -> Grid:
    """A grid whose points are as near to each other as f changes along each axis, and the noise demands.

    What interpolation makes of a rough kernel is off by a part of its variance that may be far more than the noise of a
    precise reading: where the two compare, readings are taken to contradict each other. A grid that was fine enough
    before is kept while it is, so that a search for hyperparameters climbs one smooth function. The points are in
    proportion to the readings, which would else be taken exactly in less time; where those are not enough by far, the
    kernel is refused.
    """
    noise = float(np.median(readings.noise)) / float(kernel.diag(every[:1])[0])
    wanted, most = min(_NEAR, _OF_NOISE * noise), min(max(_FREE, _EACH * len(readings.X)), _LARGEST)
    if before is not None and interpolation_error(kernel, before) <= wanted:
        return before
    low, high = every.min(axis=0), every.max(axis=0)
    width = np.where(high > low, high - low, 1.0)
    scales = column_scales(kernel, np.stack([low, low + width]))
    counts = np.maximum(np.ceil(width * scales / _STEP) + 5.0, _FEWEST)
    while _around(low, high, counts).size > most:
        counts[np.argmax(counts)] *= 0.9
    last = np.inf
    while True:
        grid = _around(low, high, counts)
        error = interpolation_error(kernel, grid)
        finer = np.where(scales > 0.0, np.ceil(_FINER * counts), counts)
        if error <= wanted:
            return grid
        if error > _FALLS * last or _around(low, high, finer).size > most:
            break
        counts, last = finer, error
    if error > _BEYOND * noise:
        size = " × ".join(map(str, grid.counts))
        raise NumericalError(
            f"SKI() comes not near enough to this kernel for readings this precise: with a grid of {size} points, in "
            f"proportion to {len(readings.X)} readings, covariances are off by {error:.1e} of the variance, "
            f"{error / noise:.2g} times the noise; Exact() or Iterative() need no grid, or state one: SKI(grid=...)"
        )
    return grid


def _around(low: Array, high: Array, counts: Array) -> Grid:
    """The grid that covers all from low to high, two steps to spare.

    An axis along which nothing changes is a unit wide, or has the middle of such a one where points are many.
    """
    alike, many = low == high, counts.astype(np.intp)
    steps = np.where(alike, 1.0, high - low) / (many - 5)
    if np.prod(many) > _MANY:
        many = np.where(alike, np.minimum(many, _MIDDLE), many)
    starts = low - np.where(alike, many // 2, 2) * steps
    return Grid(tuple(starts), tuple(steps), tuple(many))


def require_stationary(kernel: Kernel, X: Array, name: str) -> None:
    """Refuse a kernel that is not one of distances, by its values between some places and the same ones moved."""
    rng = np.random.default_rng(0)
    low, width = X.min(axis=0), np.ptp(X, axis=0)
    a, c = (low + width * rng.random((_PAIRS, X.shape[1])) for _ in range(2))
    far = 10.0 ** rng.uniform(-4.0, 0.0, size=(_PAIRS, 1))  # distances of all sizes: a short lengthscale sees near ones
    apart = far * width * rng.uniform(-1.0, 1.0, size=a.shape)
    turned = np.where(rng.random(X.shape[1]) < 0.5, -1.0, 1.0)  # it must be even along each axis as well
    refused = InvalidInput(
        "inference", f"a kernel of distances for {name}()", kernel, "Vecchia(), Inducing() or Iterative() take any"
    )
    try:
        with np.errstate(all="ignore"):  # just beyond the data a kernel may not be defined, of a logarithm for instance
            here, there = kernel.rowwise(a, a + apart), kernel.rowwise(c, c + turned * apart)
    except InvalidInput as trouble:  # a kernel of levels has no value between them
        raise refused from trouble
    if not np.max(np.abs(here - there)) <= _EQUAL * float(np.max(np.abs(kernel.diag(a)))):
        raise refused
