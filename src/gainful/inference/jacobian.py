"""Jacobian of the EP update, in closed form, and Newton's step with it.

A sweep maps the sites θ = (τ, ν) to G(θ); at the fixed point G(θ) = θ. Shifts are counted from the present mean,
σ = ν − μτ, and everything in posterior standard deviations: t = τ·Var, s = σ·sd. With C the correlation matrix of the
belief, zero on the diagonal since a cavity does not depend on its own site, a change (t, s) of the sites moves the
cavities' precisions and means by

    A = −(C∘C) t,     D = C s

and each cavity moves its updated site. Derivatives of the tilted moments in the cavity's are those of log Ẑ (the heat
equation turns ∂/∂v into ½ ∂²/∂m²): with ρ the ratio of tilted to cavity variance, m̂ = m + v d1 the tilted mean, d3 and
d4 the third and fourth derivative of log Ẑ in m, a = d3/ρ² and e = (d4/2 + d1 d3)/ρ²,

    ∂τ/∂m = −a,   ∂τ/∂v = −e,   ∂ν/∂m = −a m̂,   ∂ν/∂v = ½ a ρ − e m̂

So a product with the Jacobian J of G costs two with n-by-n matrices, and Newton's step, (I − J) x = G(θ) − θ, takes a
few of them, where each sweep costs a factorisation. What D adds to s is left out: it is a multiple of m̂ − μ, which is
zero at the fixed point, so that steps remain quadratic, and s follows from t.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gainful.inference.compressed import Compressed
from gainful.inference.conditioned import Conditioned
from gainful.inference.sweep import Sweep, Tilted
from gainful.layout import Layout
from gainful.numerics.blas import matmul
from gainful.numerics.krylov import gmres

Array = NDArray[np.float64]

_STEP = 1e-6  # of a cavity's spread, for differences: they err by about as much
_WEAK = 1e-6  # of the belief's precision: a site below it follows the others and does not move them


class Correlations(Protocol):
    """Correlations of the rows with each other, zero on the diagonal, by their products."""

    def times(self, v: Array) -> Array: ...

    def squares_times(self, v: Array) -> Array:
        """Of their squares, entry by entry."""


@dataclass(frozen=True)
class Full:
    """Correlations and their squares, (n, n) each."""

    values: Array
    squares: Array

    def times(self, v: Array) -> Array:
        return matmul(self.values, v)

    def squares_times(self, v: Array) -> Array:
        return matmul(self.squares, v)


@dataclass(frozen=True)
class Factored:
    """C = U Uᵀ but for its diagonal, with U (n, r): O(n r²) for a product with its squares."""

    U: Array

    @cached_property
    def own(self) -> Array:
        return np.einsum("ir,ir->i", self.U, self.U)

    def times(self, v: Array) -> Array:
        return matmul(self.U, matmul(self.U.T, v)) - self.own * v

    def squares_times(self, v: Array) -> Array:
        inside = matmul(self.U.T, v[:, None] * self.U)
        return np.einsum("ir,ir->i", matmul(self.U, inside), self.U) - self.own**2 * v


@dataclass(frozen=True)
class FixedPointJacobian:
    """J = ∂G/∂θ at one belief, for rows that are neither Gaussian nor coupled, (n,) of them.

    mean and sd of the rows; their correlations; and the derivatives of the updated t and s in D and A: t_from_mean,
    t_from_variance, s_from_variance.
    """

    mean: Array
    sd: Array
    correlations: Correlations
    t_from_mean: Array
    t_from_variance: Array
    s_from_variance: Array

    def times(self, tau: Array, nu: Array) -> tuple[Array, Array]:
        """J x: how the updated sites change when the sites change by x = (tau, nu)."""
        by_variance = -self.correlations.squares_times(tau * self.sd**2)
        by_mean = self.correlations.times((nu - self.mean * tau) * self.sd)
        t = self.t_from_mean * by_mean + self.t_from_variance * by_variance
        return self._from_units(t, self.s_from_variance * by_variance)

    def newton_step(self, tau: Array, nu: Array, tolerance: float) -> tuple[Array, Array]:
        """x with x − J x = (tau, nu) = G(θ) − θ, to a residual of `tolerance` times its length."""
        s = (nu - self.mean * tau) * self.sd

        def apply(t: Array) -> Array:
            by_variance = self.correlations.squares_times(t)  # −A
            by_mean = self.correlations.times(self.s_from_variance * by_variance)  # −D
            by_variance *= self.t_from_variance
            by_mean *= self.t_from_mean
            by_variance += by_mean
            by_variance += t
            return by_variance

        t = gmres(apply, tau * self.sd**2 + self.t_from_mean * self.correlations.times(s), tolerance)
        return self._from_units(t, s - self.s_from_variance * self.correlations.squares_times(t))

    def _from_units(self, t: Array, s: Array) -> tuple[Array, Array]:
        tau = t / self.sd**2
        return tau, s / self.sd + self.mean * tau


@dataclass(frozen=True)
class Slopes:
    """Of each row alone: its mean and sd (n,), and the derivatives of its updated t and s in D and A."""

    mean: Array
    sd: Array
    t_from_mean: Array
    t_from_variance: Array
    s_from_variance: Array


def jacobian(layout: Layout, state: Conditioned | Compressed, swept: Sweep) -> FixedPointJacobian | None:
    """The Jacobian at this belief, from a sweep there; None where sites are coupled, or a value is certain."""
    found = slopes(layout, state, swept)
    if found is None:
        return None
    values = state.correlations(layout.scalar_rows)
    correlations = values if isinstance(values, Factored) else Full(values, values**2)
    return FixedPointJacobian(
        found.mean, found.sd, correlations, found.t_from_mean, found.t_from_variance, found.s_from_variance
    )


def slopes(layout: Layout, state: Conditioned | Compressed, swept: Sweep) -> Slopes | None:
    """What the Jacobian has of each row, from a sweep at this belief; None where sites are coupled, or a value is
    certain."""
    rows = layout.scalar_rows
    variance = state.variance[rows]
    if state.sites.blocks or not rows.size or not (np.all(variance > 0.0) and np.all(state.cavity_ratio[rows] > 0.0)):
        return None
    mean, sd = state.mean[rows], np.sqrt(variance)
    # In cavity standard deviations: the distance of the two means, of the tilted mean (pull), then a and e.
    off, pull, third, fourth, shrink, spread = np.hstack([_derivatives(tilted) for tilted in swept.tilted])
    off = (off - mean) / spread
    pulls = np.abs(state.sites.precision[rows]) * variance >= _WEAK
    per_shrink = np.where(pulls, 1.0 / shrink**2, 0.0)
    a = third * per_shrink
    from_variance = (0.5 * fourth + pull * third) * per_shrink + off * a
    return Slopes(
        mean,
        sd,
        t_from_mean=-(sd / spread) * a,
        t_from_variance=-from_variance,
        s_from_variance=(spread / sd) * (0.5 * a * shrink - (off + pull) * from_variance),
    )


def _derivatives(tilted: Tilted) -> Array:
    """m, √v d1, third, fourth, shrink and √v of one term, (6, n); differences where derivatives were left out."""
    term, m, v, p = tilted
    spread = np.sqrt(v)
    pull, third, fourth = p.d1 * spread, p.third, p.fourth
    if third.shape != m.shape:
        twice = np.concatenate([term.answers] * 2)
        means, variances = np.concatenate([m + _STEP * spread, m]), np.concatenate([v, v + _STEP * v])
        third, by_variance = (term.likelihood.log_partition(twice, means, variances).d2.reshape(2, -1) - p.d2) * v
        third, by_variance = third / _STEP, by_variance / _STEP
        fourth = 2.0 * (by_variance - (v * p.d2) ** 2 - pull * third)
    return np.stack([m, pull, third, fourth, p.shrink, spread])
