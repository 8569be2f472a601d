"""Conditioning g ~ N(m, C) on sites: the Gaussian belief that exact inference, EP and Laplace all end in.

With the root form R, t, s of the sites (`sites.py`):

    B = diag(s) + R C Rᵀ,   e = t − R m,   α = Rᵀ B⁻¹ e
    E[g] = m + C α,         Cov[g] = C − C Rᵀ B⁻¹ R C

B is singular only if C is, and only where an answer has no noise. Nothing is subtracted that nearly cancels, however
precise a site is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gainful.errors import NumericalError
from gainful.inference.sites import Root, Sites
from gainful.instruments.base import Rows
from gainful.numerics.blas import matmul
from gainful.numerics.cholesky import Factor, extend, factor

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Conditioned:
    """The belief about g after conditioning on sites: prior mean and covariance of g, root form, factor of B, and α."""

    sites: Sites
    prior_mean: Array
    prior_cov: Array
    factor: Factor
    alpha: Array
    known_inverse_root: Array | None = None  # W, where it has been found already

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
        return self.factor.inverse_root() if self.known_inverse_root is None else self.known_inverse_root

    @cached_property
    def cavity_ratio(self) -> Array:
        """b_i = s_i (B⁻¹)_ii = 1 − τ_i Var[g_i]: precision of the cavity over that of the belief, (F,)."""
        return self.root.sign * self.factor.square(self.inverse_root)

    @cached_property
    def variance(self) -> Array:
        """Var[g_i] of every row, (F,), accurate relative to itself whether its site is strong or weak.

        (1 − b_i)/τ_i loses nothing when the site is strong, C_ii − ‖·‖² nothing when it is weak. Coupled rows take
        the second.
        """
        weak = 1.0 - self.cavity_ratio
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

    def reduction(self, seen: Array) -> Array:
        """H = L⁻¹ R c, (F, M), for seen c = A k(Z, x): Cov[f] = k − Hᵀ D H."""
        return self.factor.half(self.root.times(seen))

    def signed(self, half: Array) -> Array:
        """D H, for H of any number of axes."""
        return self.factor.signed(half)

    def square(self, half: Array) -> Array:
        """Σ_i D_i H_i² along the first axis."""
        return self.factor.square(half)

    def pulled(self, seen: Array) -> Array:
        """S c = Rᵀ B⁻¹ R c, (F, M): Var[f] = k − cᵀ S c."""
        return self.root.transposed_times(self.factor.solve(self.root.times(seen)))

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
    corner = Factor(np.asfortranarray(new.lower[size:, size:]))
    inverse = np.zeros_like(new.lower)
    inverse[:size, :size] = before.inverse_root
    inverse[size:, :size] = -corner.half(matmul(new.lower[size:, :size], before.inverse_root))
    inverse[size:, size:] = corner.inverse_root()
    return replace(solve_with(sites, mean, cov, new), known_inverse_root=inverse)
