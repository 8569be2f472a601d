"""Sites: the Gaussian stand-in exp(νᵀg − ½ gᵀΛg) for each observation's likelihood, and conditioning on them.

Exact inference, EP and Laplace differ in how they choose the sites; from there on everything is the same few lines. A
site is used in its *root form*, a pseudo-measurement R g ≈ t with noise of sign s:

    Λ = Rᵀ diag(s) R,   ν = Rᵀ diag(s) t,   B = diag(s) + R C Rᵀ,   e = t − R m,   α = Rᵀ B⁻¹ e
    E[g] = m + C α,     Cov[g] = C − C Rᵀ B⁻¹ R C

s is +1 as a rule, −1 for a site of negative precision, and 0 for an answer without noise (R = 1, t = the answer):
then B is singular only if C is. Nothing is subtracted that nearly cancels, however precise a site is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainful.errors import NumericalError
from gainful.instruments.base import Rows
from gainful.numerics.blas import matmul
from gainful.numerics.cholesky import Factor, extend, factor
from gainful.numerics.lowrank import LowRank

Array = NDArray[np.float64]

_FLOOR = 1e-200  # smallest precision of a site that still pulls: keeps t = ν/√τ finite and changes nothing


class Block(NamedTuple):
    """Sites that couple k rows of g each: rows (n, k), precision (n, k, k)."""

    rows: Rows
    precision: Array


@dataclass(frozen=True)
class Sites:
    """precision Λ and shift ν of every row of g, (F,) each, with the coupled rows in `blocks` (their `precision`
    entry is 0).

    An infinite precision is an answer without noise; its `shift` entry then holds the answer itself.
    """

    precision: Array
    shift: Array
    blocks: tuple[Block, ...] = ()

    @property
    def size(self) -> int:
        return len(self.shift)

    def times(self, values: Array) -> Array:
        """Λ @ values, (F,), where every precision is finite."""
        out = self.precision * values
        for block in self.blocks:
            out[block.rows] = np.einsum("nij,nj->ni", block.precision, values[block.rows])
        return out

    @cached_property
    def root(self) -> Root:
        """The root form."""
        tau = self.precision
        exact = np.isinf(tau)
        size = np.maximum(np.abs(np.where(exact, 1.0, tau)), np.where(self.shift != 0.0, _FLOOR, 0.0))
        sign = np.where(exact, 0.0, np.where(tau < 0.0, -1.0, 1.0))
        scale = np.sqrt(size)
        pull = np.divide(self.shift, scale, out=np.zeros_like(scale), where=scale > 0.0)
        target = np.where(exact, self.shift, sign * pull)
        turns = []
        for rows, precision in self.blocks:
            values, vectors = np.linalg.eigh(precision)
            strength = np.sqrt(np.maximum(np.abs(values), _FLOOR))
            down = np.swapaxes(vectors, 1, 2)
            sign[rows] = np.where(values < 0.0, -1.0, 1.0)
            target[rows] = sign[rows] * np.einsum("nij,nj->ni", down, self.shift[rows]) / strength
            scale[rows] = 1.0
            turns.append((rows, strength[:, :, None] * down))
        return Root(scale, target, sign, tuple(turns))


@dataclass(frozen=True)
class Root:
    """R (a scale per row, and k-by-k matrices for the coupled rows), t and s; see the module."""

    scale: Array
    target: Array
    sign: Array
    turns: tuple[tuple[Rows, Array], ...]

    def times(self, values: Array) -> Array:
        """R @ values, (F,) or (F, M)."""
        out = self.scale[:, None] * values if values.ndim == 2 else self.scale * values
        for rows, turn in self.turns:
            out[rows] = np.einsum("nij,nj...->ni...", turn, values[rows])
        return out

    def transposed_times(self, values: Array) -> Array:
        """Rᵀ @ values."""
        out = self.scale[:, None] * values if values.ndim == 2 else self.scale * values
        for rows, turn in self.turns:
            out[rows] = np.einsum("nji,nj...->ni...", turn, values[rows])
        return out

    def gram(self, C: Array) -> Array:
        """B = diag(s) + R C Rᵀ."""
        B = self.times(C)
        if self.turns:
            B = self.times(np.ascontiguousarray(B.T))
        else:
            B *= self.scale
        B.flat[:: len(B) + 1] += self.sign
        return B

    def gram_rows(self, C: Array, start: int) -> Array:
        """The rows of B from `start` on, (F − start, F), where no row is coupled."""
        rows = C[start:] * self.scale * self.scale[start:, None]
        rows[:, start:].flat[:: len(C) - start + 1] += self.sign[start:]
        return rows


@dataclass(frozen=True)
class Conditioned:
    """The belief about g after conditioning on sites: prior mean and covariance of g, root form, factor of B, and α."""

    sites: Sites
    prior_mean: Array
    prior_cov: Array
    factor: Factor
    alpha: Array

    @property
    def root(self) -> Root:
        return self.sites.root

    @property
    def log_det(self) -> float:
        """log|I + ΛC|."""
        return self.factor.log_det

    @property
    def resolution(self) -> float:
        """How well a moment can be matched: B's smallest eigenvalues, near 1, are known to eps·‖B‖, so are cavities."""
        return 100.0 * float(np.finfo(float).eps * np.max(np.diagonal(self.factor.lower) ** 2, initial=1.0))

    @cached_property
    def mean(self) -> Array:
        """E[g] = m + Cα."""
        return self.prior_mean + matmul(self.prior_cov, self.alpha)

    @cached_property
    def inverse_root(self) -> Array:
        """W with B⁻¹ = Wᵀ D W."""
        return self.factor.inverse_root()

    @cached_property
    def keep(self) -> Array:
        """b_i = s_i (B⁻¹)_ii = 1 − τ_i Var[g_i]: the share of the cavity's precision in the belief's, (F,)."""
        return self.root.sign * self.factor.square(self.inverse_root)

    @cached_property
    def variance(self) -> Array:
        """Var[g_i] of every row, (F,), accurate relative to itself whether its site is strong or weak.

        (1 − b_i)/τ_i loses nothing when the site is strong, C_ii − ‖·‖² nothing when it is weak. Coupled rows take
        the second.
        """
        weak = 1.0 - self.keep
        strong = np.abs(weak) > 1e-5
        for block in self.sites.blocks:
            strong[block.rows] = False
        out = np.divide(weak, self.sites.precision, out=np.zeros_like(weak), where=strong)
        rows = np.flatnonzero(~strong)
        if rows.size:
            out[rows] = np.diagonal(self.prior_cov)[rows]
            if self.root.scale.any():
                out[rows] -= self.factor.square(self.half(rows))
        return out

    def half(self, rows: Rows) -> Array:
        """W R C[:, rows], (F, n): Cov[g_rows] = C_rows − halfᵀ D half."""
        return matmul(self.inverse_root, self.root.times(self.prior_cov[:, rows]))

    def correlations(self, rows: Rows) -> Array:
        """Correlations of these uncoupled rows with each other, (n, n), zero on the diagonal.

        From R Cov[g] R = S − S B⁻¹ S with S = diag(s); none for a site so weak that this has lost its digits.
        """
        size = self.root.scale[rows] * np.sqrt(self.variance[rows])
        per_size = np.divide(self.root.sign[rows], size, out=np.zeros_like(size), where=size**2 > 1e-9)
        inverse = self.factor.inverse_of(self.inverse_root)
        out = inverse if np.array_equal(rows, np.arange(len(inverse))) else inverse[np.ix_(rows, rows)]
        out *= per_size
        out *= -per_size[:, None]
        out.flat[:: len(out) + 1] = 0.0
        return out

    def block_covariance(self, rows: Rows) -> Array:
        """Cov of each k coupled rows, (n, k, k)."""
        n, k = rows.shape
        half = self.half(rows.ravel()).reshape(-1, n, k)
        weighted = self.factor.signed(half)
        return self.prior_cov[rows[:, :, None], rows[:, None, :]] - np.einsum("fni,fnj->nij", half, weighted)


def condition_on(sites: Sites, mean: Array, cov: Array) -> Conditioned:
    """The belief about g ~ N(mean, cov) after the sites: one Cholesky factorisation."""
    root = sites.root
    return solve_with(sites, mean, cov, factor(root.gram(cov), root.sign, rebuild=lambda: root.gram(cov)))


def solve_with(sites: Sites, mean: Array, cov: Array, done: Factor) -> Conditioned:
    """α = Rᵀ x with B x = e, refined once.

    When precise answers overdetermine g, B is ill-conditioned and x loses half its digits in directions that C hardly
    sees. The residual t − R E[g] − s x is formed from E[g], not from B, and one correction by it restores them.
    """
    root = sites.root
    x = done.solve(root.target - root.times(mean))
    fitted = mean + matmul(cov, root.transposed_times(x))
    x += done.solve(root.target - root.times(fitted) - root.sign * x)
    return Conditioned(sites, mean, cov, done, root.transposed_times(x))


@dataclass(frozen=True)
class Grown(Sites):
    """Sites to begin from that know more: the belief `before` the answers that are new, whose sites come last; and the
    low-rank root of g's covariance, if one has been looked for."""

    before: Conditioned | None = None
    low: LowRank | None = None


def grow(sites: Sites, before: Conditioned, mean: Array, cov: Array) -> Conditioned | None:
    """The belief after the sites, of which the first are those of `before`: O(N²), or None where it takes a new factor.

    The inverse of L = [[L₁, 0], [l, L₂]] is [[W₁, 0], [−L₂⁻¹ l W₁, L₂⁻¹]].
    """
    old, size = before.factor, before.sites.size
    alone = not (sites.blocks or before.sites.blocks) and np.all(sites.root.sign[size:] > 0.0)
    if not alone or old.sign is not None or old.order is not None or old.jitter > 0.0 or not size:
        return None
    rows = sites.root.gram_rows(cov, size)
    try:
        new = extend(old, rows[:, :size], rows[:, size:], sites.root.sign[size:])
    except NumericalError:
        return None
    state = solve_with(sites, mean, cov, new)
    corner = Factor(np.asfortranarray(new.lower[size:, size:]))
    inverse = np.zeros_like(new.lower)
    inverse[:size, :size] = before.inverse_root
    inverse[size:, :size] = -corner.half(matmul(new.lower[size:, :size], before.inverse_root))
    inverse[size:, size:] = corner.inverse_root()
    state.__dict__["inverse_root"] = inverse
    return state
