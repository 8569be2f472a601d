"""Moments of f at places, from the belief about g: the formulas behind a posterior, for places that were checked.

mean(x)     = m(x) + k(x, Z) Aᵀ α
variance(x) = k(x, x) − ‖L⁻¹ R A k(Z, x)‖²

Places are taken in blocks: arrays (N, M) on the way stay within bounds (`numerics/memory`), however many places.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gainful.errors import NumericalError
from gainful.inference.adjusted import Adjusted
from gainful.inference.conditioned import Conditioned
from gainful.inference.engines.believed import BelievedKernel
from gainful.inference.sites import Sites
from gainful.kernels.base import Kernel
from gainful.layout import Layout
from gainful.means import Mean
from gainful.numerics.blas import matmul
from gainful.numerics.memory import blocks, in_blocks
from gainful.numerics.rows import find_rows

__all__ = ["Predictor", "between"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Predictor:
    """Mean and covariance of f wherever they are asked for. `known` is the belief about g that they come from."""

    prior_mean: Mean
    kernel: Kernel
    layout: Layout
    sites: Sites
    known: Conditioned | Adjusted

    @cached_property
    def weights(self) -> Array:
        """Aᵀα, (P,)."""
        return self.layout.spread(self.known.alpha)

    @cached_property
    def each(self) -> int:
        """Numbers held at a time for each place: its covariances with the data, and three arrays made of them."""
        added = len(self.known.turned) if isinstance(self.known, Adjusted) else 0
        return 4 * (max(self.layout.size, len(self.layout.places), 1) + added)

    def mean(self, places: Array) -> Array:
        """E[f] at each place, (M,)."""

        def of(part: slice) -> Array:
            return self.prior_mean(places[part]) + matmul(self.cross(places[part]).T, self.weights)

        return in_blocks(of, len(places), self.each)

    @cached_property
    def mean_at_data(self) -> Array:
        """E[f] at the places of the data, (P,): where g is f there, it is known without another covariance."""
        if self.layout.direct and isinstance(self.known, Conditioned):
            return self.known.mean
        return self.mean(self.layout.places)

    def variance(self, places: Array) -> Array:
        """Var[f] at each place, (M,)."""

        def of(part: slice) -> Array:
            here = places[part]
            prior = self.kernel.diag(here)
            return self.refine_measured(here, prior, prior - self.known.square(self._half(here)))

        return in_blocks(of, len(places), self.each)

    def moments(self, places: Array) -> tuple[Array, Array]:
        """Mean and variance of f at each place, from one cross-covariance."""

        def of(part: slice) -> Array:
            return np.stack(self.moments_from(places[part], self.cross(places[part])), axis=1)

        both = in_blocks(of, len(places), self.each)
        return np.array(both[:, 0]), np.array(both[:, 1])

    def moments_from(self, places: Array, cross: Array) -> tuple[Array, Array]:
        """Mean and variance of f at each place, from its covariances k(Z, x) with the data, (P, M)."""
        level, prior = self.prior_moments(places)
        mean = level + matmul(cross.T, self.weights)
        return mean, self.refine_measured(places, prior, prior - self.known.square(self._half_of(cross)))

    def prior_moments(self, places: Array) -> tuple[Array, Array]:
        """Mean and variance of f at each place before the answers; an engine's belief has both for the price of one."""
        if isinstance(self.kernel, BelievedKernel):
            return self.kernel.moments(places)
        return self.prior_mean(places), self.kernel.diag(places)

    def covariance(self, places: Array, others: Array | None = None, half: Array | None = None) -> Array:
        """Cov[f(places), f(others)], or of the places among each other; `half` is that of the others."""
        there = places if others is None else others
        other_half = self.half(there) if half is None else half

        def of(part: slice) -> Array:
            here = places[part]
            own = other_half[:, part] if others is None else self._half(here)
            return self.kernel.matrix(here, there) - matmul(self.known.signed(own).T, other_half)

        out = in_blocks(of, len(places), self.each + 2 * len(there))
        if others is None:
            out.flat[:: len(out) + 1] = np.maximum(np.diagonal(out), 0.0)
        return out

    def among(self, queries: Array) -> Array:
        """Cov[f] among the places of each query (n, k, d), (n, k, k)."""
        n, k, d = queries.shape

        def of(part: slice) -> Array:
            here = queries[part]
            half = self._half(here.reshape(-1, d))
            half = half.reshape(len(half), len(here), k)
            return between(self.kernel, here) - np.einsum("fni,fnj->nij", half, self.known.signed(half))

        return in_blocks(of, n, k * self.each)

    def part(self, kernel: Kernel, places: Array, centred: bool) -> tuple[Array, Array]:
        """Mean and variance of the part of f that has this covariance, above its average over the places if centred."""
        known, layout = self.known, self.layout
        if centred:
            cross = kernel.matrix(layout.places, places) if layout.size else np.zeros((0, len(places)))
            cross = cross - cross.mean(axis=1, keepdims=True)
            own = kernel.matrix(places, places)
            prior = np.diagonal(own) - own.mean(axis=0) - own.mean(axis=1) + own.mean()
            left = prior - known.square(known.reduction(layout.pick(cross)))
            return matmul(cross.T, self.weights), np.maximum(left, 0.0)

        def of(part: slice) -> Array:
            here = places[part]
            cross = kernel.matrix(layout.places, here) if layout.size else np.zeros((0, len(here)))
            left = kernel.diag(here) - known.square(known.reduction(layout.pick(cross)))
            return np.stack([matmul(cross.T, self.weights), np.maximum(left, 0.0)], axis=1)

        both = in_blocks(of, len(places), self.each)
        return np.array(both[:, 0]), np.array(both[:, 1])

    def root(self, places: Array, cov: Array | None = None) -> Array:
        """A root of this covariance of f at the places, or of the belief's, (M, M)."""
        values, vectors = np.linalg.eigh(self.covariance(places) if cov is None else cov)
        # Rounding is relative to the prior's variance, however little of it is left.
        if values.size and values[0] < -1e-8 * float(np.max(self.kernel.diag(places))):
            raise NumericalError(
                "the posterior covariance of these places is not positive definite in double precision"
            )
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))

    def half(self, places: Array) -> Array:
        """L⁻¹ R A k(Z, x), (F, M): what the data take off a covariance is a product of two of these."""
        parts = [self._half(places[part]) for part in blocks(len(places), self.each)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def seen(self, places: Array) -> Array:
        """A k(Z, x), (F, M)."""
        return self.layout.pick(self.cross(places))

    def cross(self, places: Array) -> Array:
        """k(Z, x), (P, M)."""
        if not len(self.layout.places):
            return np.zeros((0, len(places)))
        return self.kernel.matrix(self.layout.places, places)

    def _half(self, places: Array) -> Array:
        return self._half_of(self.cross(places))

    def _half_of(self, cross: Array) -> Array:
        return self.known.reduction(self.layout.pick(cross))

    def refine_measured(self, places: Array, prior: Array, variance: Array) -> Array:
        """The variance where k − ‖·‖² has lost its digits to a precise answer: Var[g_i] of that very place, which has
        not."""
        lost = np.flatnonzero(variance < 1e-6 * prior)
        if not lost.size:
            return variance
        layout = self.layout
        if not layout.size:
            return np.maximum(variance, 0.0)
        by_strength = np.argsort(self.sites.precision, kind="stable")  # of several answers at a place, the strongest
        alone = by_strength[layout.second[by_strength] < 0]
        at = find_rows(places[lost], layout.places[layout.first[alone]])
        rows = np.where(at >= 0, alone[at], -1)
        for block in self.sites.blocks:
            rows[np.isin(rows, block.rows)] = -1
        found = rows >= 0
        if found.any():
            variance[lost[found]] = self.known.variance[rows[found]]
        return np.maximum(variance, 0.0)


def between(kernel: Kernel, queries: Array) -> Array:
    """k between the places of each query (n, k, d), (n, k, k)."""
    n, k, _ = queries.shape
    out = np.empty((n, k, k))
    for a in range(k):
        out[:, a, a] = kernel.diag(queries[:, a])
        for b in range(a):
            out[:, a, b] = out[:, b, a] = kernel.rowwise(queries[:, a], queries[:, b])
    return out
