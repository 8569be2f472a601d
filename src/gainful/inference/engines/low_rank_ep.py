"""Expectation propagation where g's prior covariance is of low rank plus a diagonal: N in the tens of thousands.

    g ~ N(m, Φ Φᵀ + diag(λ)),   Φ (F, M),   λ ≥ 0 (F,)

which is the FITC prior (Snelson & Ghahramani 2006; with EP, Naish-Guzman & Holden 2007) for Φ Φᵀ the part of the
covariance that M inducing points explain and λ what they leave of each variance. With w the M weights of the columns of
Φ, a site (τ, ν) on g_i is one on φ_iᵀ w once the rest, of variance λ_i, is integrated out:

    τ̃ = τ/(1 + λτ),   ν̃ = (ν − τ m)/(1 + λτ),   B = I + Φᵀ diag(τ̃) Φ,   w ~ N(B⁻¹ Φᵀ ν̃, B⁻¹)

A sweep costs one M-by-M factorisation and O(N M²), for the moments of single rows; so does a product with the Jacobian,
of which Newton's steps take dozens where sweeps are slow to end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from gainful.errors import NumericalError
from gainful.inference.compressed import Compressed
from gainful.inference.conditioned import Conditioned
from gainful.inference.convergence import Convergence, Result
from gainful.inference.damped import Damped
from gainful.inference.iterations import Point, Problem, attainable, first_to_end, run
from gainful.inference.jacobian import Factored
from gainful.inference.newton import NEAR, Newton
from gainful.inference.sites import Root, Sites
from gainful.inference.solution import WarmStart, gaussian_evidence, starting_sites
from gainful.inference.sweep import cavity
from gainful.instruments.base import Rows
from gainful.layout import Layout
from gainful.numerics.blas import matmul
from gainful.numerics.memory import blocks, in_blocks

__all__ = ["LowRankBelief", "Settled", "condition_low_rank", "settle"]

Array = NDArray[np.float64]

_EPS = float(np.finfo(float).eps)
_SQUARES_LOSE = 1e-7  # of an eigenvalue 1 of B, by rounding: beyond it B is not formed
_MEMORY = 6  # past steps that Anderson mixes
_DIRECTIONS = 1e-12  # of the largest eigenvalue of all correlations: directions with less
_PRODUCT = 2e9  # multiplications for a product with the Jacobian, of which Newton's steps take dozens, at most
_MANY = 100  # iterations after which moments that are still off by a standard deviation are an error
_TOO_PRECISE = (
    "so many answers so precise, this near to each other, are known better than double precision resolves: give their "
    "instrument some noise, a hundredth of what varies for instance, or leave some out"
)


@dataclass(frozen=True, eq=False)
class LowRankBelief:
    """The belief about g after the sites; what a sweep asks of it has the same names as in `Conditioned`.

    features Φ (F, M); left λ (F,); lower: L with B = L Lᵀ, (M, M).
    """

    sites: Sites
    prior_mean: Array
    features: Array
    left: Array
    lower: Array

    @property
    def root(self) -> Root:
        return self.sites.root

    @property
    def resolution(self) -> float:
        """How well moments can be matched: B's smallest eigenvalues, near 1, are known to eps·‖B‖ ≤ eps·tr(B)."""
        return 100.0 * _EPS * max(float(np.einsum("ij,ij->", self.lower, self.lower)), 1.0)

    @cached_property
    def widened(self) -> Array:
        """1 + λτ, (F,)."""
        return 1.0 + self.left * self.sites.precision

    @cached_property
    def effective(self) -> Array:
        """τ̃, the precision with which each site sees its φᵀw, (F,)."""
        return self.sites.precision / self.widened

    @cached_property
    def weights(self) -> Array:
        """E[w] (M,), refined once by the residual of the rows, which B has lost digits of where sites are strong."""
        pull = (self.sites.shift - self.sites.precision * self.prior_mean) / self.widened
        found = self.solve(matmul(self.features.T, pull))
        residual = pull - self.effective * matmul(self.features, found)
        return found + self.solve(matmul(self.features.T, residual) - found)

    @cached_property
    def explained_mean(self) -> Array:
        """E[φᵀw], (F,)."""
        return matmul(self.features, self.weights)

    @cached_property
    def explained_variance(self) -> Array:
        """Var[φᵀw] = φᵀ B⁻¹ φ, (F,)."""

        if not self.lower.size:
            return np.zeros(len(self.features))
        inverse = lapack.dtrtri(self.lower, lower=1)[0]  # B ≥ I: a product with it is as good as a solution, and faster

        def of(part: slice) -> Array:
            half = blas.dtrmm(1.0, inverse, self.features[part].T, lower=1)
            return np.einsum("mi,mi->i", half, half)

        return in_blocks(of, len(self.features), 2 * self.features.shape[1])

    @cached_property
    def mean(self) -> Array:
        pull = self.sites.shift - self.sites.precision * self.prior_mean
        return self.prior_mean + (self.explained_mean + self.left * pull) / self.widened

    @cached_property
    def variance(self) -> Array:
        return self.left / self.widened + self.explained_variance / self.widened**2

    @cached_property
    def alpha(self) -> Array:
        """ν − Λ E[g], (F,)."""
        there = self.prior_mean + self.explained_mean
        return (self.sites.shift - self.sites.precision * there) / self.widened

    @cached_property
    def cavity_ratio(self) -> Array:
        """1 − τ Var[g], (F,)."""
        return (1.0 - self.effective * self.explained_variance) / self.widened

    @cached_property
    def log_det(self) -> float:
        """log|I + ΛC|."""
        return 2.0 * float(np.sum(np.log(np.diagonal(self.lower)))) + float(np.sum(np.log(self.widened)))

    def cavity(self, rows: Rows) -> tuple[Array, Array]:
        """Mean and variance of g_i without site i, (n,) each."""
        return cavity(cast(Compressed, self), rows)

    def correlations(self, rows: Rows) -> Factored:
        """Correlations of these rows with each other, through the directions in which they differ."""
        sd = np.sqrt(self.variance[rows])
        U = self.half(self.features[rows].T).T / (self.widened[rows] * sd)[:, None]
        values, directions = np.linalg.eigh(matmul(U.T, U))
        kept = values > _DIRECTIONS * np.max(values, initial=0.0)
        return Factored(matmul(U, np.ascontiguousarray(directions[:, kept])))

    def half(self, values: Array) -> Array:
        """L⁻¹ values, for values (M, n): valuesᵀ B⁻¹ values = halfᵀ half."""
        if not values.size:
            return np.zeros(values.shape)
        return np.asarray(blas.dtrsm(1.0, self.lower, np.asfortranarray(values), lower=1))

    def spread(self, values: Array) -> Array:
        """L⁻ᵀ values, for values (M,) or (M, n): of covariance B⁻¹ where they are independent and of variance one."""
        return np.asarray(lapack.dtrtrs(self.lower, values, lower=1, trans=1)[0]) if values.size else values

    def solve(self, values: Array) -> Array:
        """B⁻¹ values, for values (M,) or (M, n)."""
        return np.asarray(lapack.dpotrs(self.lower, values, lower=1)[0]) if values.size else np.zeros(values.shape)


def condition_low_rank(sites: Sites, mean: Array, features: Array, left: Array) -> LowRankBelief:
    """The belief about g ~ N(mean, Φ Φᵀ + diag(λ)) after uncoupled sites of finite precision.

    >>> sites = Sites(np.array([4.0, 0.0]), np.array([2.0, 0.0]))
    >>> state = condition_low_rank(sites, np.zeros(2), np.array([[1.0], [1.0]]), np.zeros(2))
    >>> state.mean.tolist(), state.variance.round(2).tolist()
    ([0.4, 0.4], [0.2, 0.2])
    """
    widened = 1.0 + left * sites.precision
    if not np.all(widened > 0.0):
        raise NumericalError("the sites leave no proper belief")
    effective = sites.precision / widened
    strongest = float(np.sum(np.maximum(effective, 0.0) * np.einsum("im,im->i", features, features)))
    if _EPS * strongest > _SQUARES_LOSE and np.all(effective >= 0.0):
        lower = _factor_by_rotations(features, effective)
    else:
        lower = _factor(features, effective)
    return LowRankBelief(sites, mean, features, left, lower)


def _factor(features: Array, effective: Array) -> Array:
    """L with L Lᵀ = I + Φᵀ diag(τ̃) Φ; negative τ̃ are taken off what the positive ones give."""
    M = features.shape[1]
    B = np.asfortranarray(np.eye(M))
    if not M:
        return B
    for part in blocks(len(features), 2 * M):
        scaled = features[part] * np.sqrt(np.abs(effective[part]))[:, None]
        below = effective[part] < 0.0
        for sign, rows in ((1.0, ~below), (-1.0, below)):
            if rows.any():
                chosen = scaled if rows.all() else scaled[rows]
                B = blas.dsyrk(sign, chosen.T, beta=1.0, c=B, lower=1, overwrite_c=1)
    lower, info = lapack.dpotrf(B, lower=1, clean=1, overwrite_a=1)
    if info != 0:
        raise NumericalError("the sites leave no proper belief")
    return np.asarray(lower)


def _factor_by_rotations(features: Array, effective: Array) -> Array:
    """The same from the QR decomposition of [I; diag(√τ̃) Φ], a block of rows after the other: twice the work, and what
    rounding takes from B's smallest eigenvalues is the root of what it takes where B is formed."""
    M = features.shape[1]
    upper = np.eye(M)
    size = int(lapack.dgeqrf_lwork(5 * M, M)[0])
    for start in range(0, len(features), 4 * M):
        part = slice(start, start + 4 * M)
        stacked = np.asfortranarray(np.vstack([upper, features[part] * np.sqrt(effective[part])[:, None]]))
        upper = np.triu(lapack.dgeqrf(stacked, lwork=size, overwrite_a=1)[0][:M])
    signs = np.where(np.diagonal(upper) < 0.0, -1.0, 1.0)
    return np.asfortranarray((upper * signs[:, None]).T)


class Settled(NamedTuple):
    """Where EP ended: the belief, its log evidence, and how it went."""

    state: LowRankBelief
    log_evidence: float
    convergence: Convergence


def settle(
    layout: Layout,
    mean: Array,
    features: Array,
    left: Array,
    tolerance: float,
    max_iterations: int,
    start: WarmStart | None = None,
) -> Settled:
    """EP's fixed point for g ~ N(mean, Φ Φᵀ + diag(λ)): accelerated sweeps, then plain damped ones, from the start's
    sites first, and Newton's steps where these are affordable; where no step leaves a proper belief, sweeps whose sites
    are kept from a negative precision."""

    def condition(sites: Sites) -> LowRankBelief:
        return condition_low_rank(sites, mean, features, left)

    def follow(begin: WarmStart | None, clip_negative: bool) -> Settled | None:
        # It has what the sweeps ask of a `Compressed`, by the same names.
        as_compressed = cast(Callable[[Sites], Compressed], condition)
        problem = Problem(layout, as_compressed, tolerance, max_iterations, clip_negative)
        affordable = features.size * features.shape[1] <= _PRODUCT and not clip_negative
        newton = Newton() if affordable else None
        sweeps = (Damped(_MEMORY, rescue=newton), Damped(0, rescue=newton))
        ways = sweeps if begin is None or newton is None else (newton, *sweeps)
        end = first_to_end(ways, problem, starting_sites(begin, layout), 0)
        if end is None:
            return None
        if newton is not None and tolerance < end.residual < NEAR:  # sweeps may be on their way, and slow
            more = replace(problem, max_iterations=end.iterations + max_iterations)
            closer, info = run(newton, newton.init_at(more, end))
            end = closer.point if info.result is Result.CONVERGED else end
        return _settled(layout, end, tolerance, clip_negative)

    if start is not None:
        try:
            found = follow(start, clip_negative=False)
        except NumericalError:  # a start's sites may leave no proper belief here
            found = None
        if found is not None and found.convergence:
            return found
    found = follow(None, clip_negative=False) or follow(None, clip_negative=True)
    if found is None:
        concave = all(getattr(term.likelihood, "log_concave", False) for term in layout.terms)
        raise NumericalError(_TOO_PRECISE if concave else Result.IMPROPER.value)
    return found


def _settled(layout: Layout, end: Point[Compressed], tolerance: float, clipped: bool) -> Settled:
    if not end.residual <= 1.0 and end.iterations >= _MANY:
        raise NumericalError(Convergence(Result.UNSETTLED, end.iterations, end.residual).message)
    result = Result.STOPPED_EARLY
    if clipped:
        result = Result.CLIPPED
    elif end.residual <= tolerance:
        result = Result.CONVERGED
    elif end.residual <= attainable(end.belief):
        result = Result.CONVERGED_TO_PRECISION
    state = cast(LowRankBelief, end.belief)
    evidence = gaussian_evidence(layout, cast(Conditioned, state)) + end.swept.log_z
    return Settled(state, evidence, Convergence(result, end.iterations, end.residual))
