"""Synthetic problems: a function drawn from a GP on a grid, and instruments that measure it (Fletcher 2022, sec. 4).

    world = World.draw(dimensions=2, rng=0)
    campaign = Campaign(world.pool, world.instruments, world.gp, budget=60)
    while query := campaign.ask():
        campaign.tell(query, world.answer(query, rng))

A squared-exponential covariance on a grid is a Kronecker product of one matrix per dimension, so a draw costs an
eigendecomposition of one small matrix however many dimensions there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import lapack

from gainful.data import Query
from gainful.errors import InvalidInput, NumericalError
from gainful.gp import GP
from gainful.inference.posterior import Posterior
from gainful.instruments import Instrument, Interval, Ordinal, Point
from gainful.kernels import SE
from gainful.space import Pool, Real, Space

__all__ = ["World", "divergence"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class World:
    """A function on a box, and a precise, a middling and a coarse instrument to measure it with.

    `coefficients` are those of the function in the eigenvectors of the grid's covariance: the function is known at
    every place of the box, and on the grid it is an exact draw from the gp.
    """

    space: Space
    gp: GP
    per_dimension: int
    coefficients: Array
    instruments: tuple[Instrument, ...]

    @classmethod
    def draw(
        cls,
        dimensions: int = 2,
        rng: np.random.Generator | int = 0,
        *,
        low: float = 0.0,
        high: float = 2.0,
        per_dimension: int = 30,
        lengthscale: float = 0.2,
        noise: float = 0.1,
        width: float = 0.6,
        ranks: int = 3,
        costs: Sequence[float] = (10.0, 7.0, 3.0),
    ) -> World:
        """A world from the gp with this lengthscale and unit variance; instruments "point", "interval" and "ordinal".

        The ordinal instrument's thresholds divide the drawn values on the grid into `ranks` equally frequent ones.

        >>> world = World.draw(dimensions=1, rng=0, per_dimension=50)
        >>> [instrument.label for instrument in world.instruments], world.truth(world.grid).shape
        (['point', 'interval', 'ordinal'], (50,))
        """
        if dimensions < 1 or per_dimension < 2 or ranks < 2 or len(costs) != 3:
            got = (dimensions, per_dimension, ranks, tuple(costs))
            wanted = "at least one dimension, two places in each, two ranks, three costs"
            raise InvalidInput("dimensions, per_dimension, ranks, costs", wanted, got, "see World.draw")
        space = Space(*(Real(f"x{i + 1}", low, high) for i in range(dimensions)))
        gp = GP(SE(lengthscale, 1.0), space=space)
        rank = len(_roots(space, gp, per_dimension)[0])
        coefficients = np.random.default_rng(rng).standard_normal([rank] * dimensions)
        bare = cls(space, gp, per_dimension, coefficients, ())
        thresholds = np.quantile(bare.truth(bare.grid), np.arange(1, ranks) / ranks)
        point, interval, ordinal = (float(c) for c in costs)
        instruments = (
            Point(noise=noise, cost=point, name="point"),
            Interval(noise=noise, width=width, cost=interval, name="interval"),
            Ordinal(thresholds=thresholds.tolist(), noise=noise, cost=ordinal, name="ordinal"),
        )
        return cls(space, gp, per_dimension, coefficients, instruments)

    @cached_property
    def grid(self) -> Array:
        """The places of the grid, (M, D), read-only."""
        grid = self.space.grid(self.per_dimension)
        grid.flags.writeable = False
        return grid

    @cached_property
    def pool(self) -> Pool:
        return Pool(self.grid, names=self.space.names)

    def truth(self, places: ArrayLike) -> Array:
        """The function at each place, (M,)."""
        X = np.asarray(places, dtype=float)
        roots, axes = _roots(self.space, self.gp, self.per_dimension)
        kernel = SE(_lengthscale(self.gp))
        out = np.broadcast_to(self.coefficients, (len(X), *self.coefficients.shape))
        for i, axis in enumerate(axes):
            features = kernel(X[:, i : i + 1], axis[:, None]) @ roots.T
            out = np.einsum("mr,mr...->m...", features, out)
        return np.asarray(out)

    def answer(self, query: Query, rng: np.random.Generator) -> Any:
        """What the query's instrument reads."""
        return query.instrument.simulate(self.truth(query.place[None]), rng)[0]


def _lengthscale(gp: GP) -> float:
    assert isinstance(gp.kernel, SE)
    return float(np.ravel(gp.kernel.lengthscale)[0])


def _roots(space: Space, gp: GP, per_dimension: int) -> tuple[Array, list[Array]]:
    """Per dimension the axis of the grid, and S^−½ Uᵀ of its covariance U S Uᵀ (the same for every dimension)."""
    axes = [np.linspace(low, high, per_dimension) for low, high in zip(space.low, space.high, strict=True)]
    values, vectors = np.linalg.eigh(SE(_lengthscale(gp))(axes[0][:, None]))
    kept = values > 1e-12 * values[-1]
    return (vectors[:, kept] / np.sqrt(values[kept])).T, axes


def divergence(posterior: Posterior, places: Array, truth: Array, noise: float) -> float:
    """KL from readings of the truth, N(f, noise² I), to predicted readings, N(mean, covariance + noise² I), in nats.

    ½ [tr(B⁻¹) − M + log|B| + rᵀB⁻¹r/noise²] with B = I + covariance/noise² and r = truth − mean.
    """
    B = np.asfortranarray(posterior.covariance(places) / noise**2)
    B.flat[:: len(B) + 1] += 1.0
    lower, info = lapack.dpotrf(B, lower=1, overwrite_a=1, clean=1)
    if info != 0:
        raise NumericalError("the posterior covariance of these places is not positive definite in double precision")
    half = lapack.dtrtrs(lower, truth - posterior.mean(places), lower=1)[0]
    inverse = lapack.dtrtri(lower, lower=1)[0]
    log_det = 2.0 * float(np.sum(np.log(np.diagonal(lower))))
    return 0.5 * (float(np.sum(inverse**2)) - len(places) + log_det + float(half @ half) / noise**2)
