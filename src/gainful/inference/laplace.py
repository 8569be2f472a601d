"""Laplace's approximation: a Gaussian at the mode of p(answers | g) N(g; m, C), with the curvature found there.

Newton's step is conditioning on sites: with derivatives of log p at the current g, τ = −d2 and ν = τ g + d1
(Rasmussen & Williams, Alg. 3.1, lines 4 to 7). log Z ≈ log p(answers | ĝ) − ½ αᵀ(ĝ − m) − ½ log|B|.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainful.checks import require_count, require_positive
from gainful.errors import NumericalError
from gainful.inference.conditioned import Conditioned, condition_on
from gainful.inference.convergence import Convergence, Result
from gainful.inference.sites import Block, Sites
from gainful.inference.solution import Solution, WarmStart, is_block, starting_sites
from gainful.instruments.base import Derivatives
from gainful.layout import Layout
from gainful.numerics.blas import matmul

Array = NDArray[np.float64]


class ModeState(NamedTuple):
    """Where Newton's iteration is: weights α, g = m + Cα, the derivatives there, and the objective."""

    alpha: Array
    g: Array
    terms: tuple[Derivatives, ...]
    slope: Array
    objective: float


@dataclass(frozen=True)
class Laplace:
    """Laplace's approximation. Needs likelihoods with two derivatives: hard intervals (noise = 0) need EP."""

    tolerance: float = 1e-10
    max_iterations: int = 200

    def __post_init__(self) -> None:
        require_positive("tolerance", self.tolerance, "leave the default")
        require_count("max_iterations", self.max_iterations, 1, "leave the default")

    def solve(self, layout: Layout, mean: Array, cov: Array, start: WarmStart | None = None) -> Solution:
        alpha = np.zeros(layout.size) if start is None else condition_on(starting_sites(start, layout), mean, cov).alpha
        here = _evaluate_at(layout, mean, cov, alpha)
        scale = np.sqrt(np.diagonal(cov)) if layout.size else np.zeros(0)
        residual, iteration = np.inf, 0
        while iteration < self.max_iterations:
            iteration += 1
            here, moved = _newton(layout, mean, cov, here)
            residual = float(np.max(scale * np.abs(here.slope - here.alpha), initial=0.0))
            # The residual is known to rounding: eps times the forces that balance in it.
            floor = 1e-14 * float(np.max(scale * np.abs(here.alpha), initial=0.0)) * max(1.0, layout.size**0.5)
            if residual <= max(self.tolerance, floor) or not moved:
                break
        state = condition_on(_sites(layout, here, clip=False), mean, cov)
        evidence = sum(float(np.sum(d.log_p)) for d in here.terms)
        evidence -= 0.5 * float(here.alpha @ (here.g - mean)) + 0.5 * state.factor.log_det
        result = Result.MODE_FOUND if residual <= max(self.tolerance, 1e-6) else Result.MODE_NOT_FOUND
        # The mode moves with the hyperparameters, and with it the curvature in log|B|; not so for Gaussian answers.
        force = None if layout.gaussian else partial(implicit_force, layout, state)
        return Solution(state, evidence, Convergence(result, iteration, residual), implicit_force=force)


def _evaluate_at(layout: Layout, mean: Array, cov: Array, alpha: Array) -> ModeState:
    g = mean + matmul(cov, alpha)
    terms, slope = [], np.zeros(layout.size)
    for term in layout.terms:
        rows = term.rows if is_block(term) else term.rows[:, 0]
        d = term.likelihood.derivatives(term.answers, g[rows])
        slope[rows] = d.d1
        terms.append(d)
    objective = sum(float(np.sum(d.log_p)) for d in terms) - 0.5 * float(alpha @ (g - mean))
    return ModeState(alpha, g, tuple(terms), slope, objective)


def _sites(layout: Layout, here: ModeState, clip: bool) -> Sites:
    """Sites with the likelihoods' curvature; with `clip`, curvature of the wrong sign counts as none (a sure
    ascent)."""
    precision, shift = np.zeros(layout.size), np.zeros(layout.size)
    blocks = []
    for term, d in zip(layout.terms, here.terms, strict=True):
        if is_block(term):
            curvature = -d.d2
            if clip:
                values, vectors = np.linalg.eigh(curvature)
                curvature = (vectors * np.maximum(values, 0.0)[:, None, :]) @ np.swapaxes(vectors, 1, 2)
            blocks.append(Block(term.rows, curvature))
            shift[term.rows] = np.einsum("nij,nj->ni", curvature, here.g[term.rows]) + d.d1
        else:
            rows = term.rows[:, 0]
            precision[rows] = np.maximum(-d.d2, 0.0) if clip else -d.d2
            shift[rows] = precision[rows] * here.g[rows] + d.d1
    return Sites(precision, shift, tuple(blocks))


def _newton(layout: Layout, mean: Array, cov: Array, here: ModeState) -> tuple[ModeState, bool]:
    """One step uphill: the true curvature first, then the clipped one, each with halving; False when nothing goes
    up."""
    for clip in (False, True):
        try:
            target = condition_on(_sites(layout, here, clip), mean, cov).alpha
        except NumericalError:
            continue  # not a maximum in that direction: the clipped curvature is tried next
        step = 1.0
        while step > 1e-8:
            there = _evaluate_at(layout, mean, cov, here.alpha + step * (target - here.alpha))
            if there.objective > here.objective - 1e-12 * abs(here.objective) and np.isfinite(there.objective):
                return there, bool(np.max(np.abs(there.g - here.g), initial=0.0) > 0.0)
            step *= 0.5
    return here, False


def implicit_force(layout: Layout, state: Conditioned) -> Array:
    """u = (I + ΛC)⁻¹ s, s_i = ½ Σ_ii d3_i: how log|B| pulls on the mode (Rasmussen & Williams, eq. 5.23), (F,)."""
    force = np.zeros(layout.size)
    for term in layout.terms:
        if is_block(term):
            d3 = term.likelihood.derivatives(term.answers, state.mean[term.rows]).d3
            force[term.rows] = 0.5 * np.einsum("nabc,nbc->na", d3, state.block_covariance(term.rows))
        else:
            rows = term.rows[:, 0]
            d3 = term.likelihood.derivatives(term.answers, state.mean[rows]).d3
            force[rows] = 0.5 * d3 * state.variance[rows]
    pulled = state.factor.solve(state.root.times(matmul(state.prior_cov, force)))
    return force - state.root.transposed_times(pulled)
