"""∫ p(answers, theta) dtheta and averages over theta given the answers, by weighted points about the mode.

At the mode theta_hat with curvature V diag(1/σ²) V', theta = theta_hat + V (σ s(z) z): along each axis, either way, s
stretches one standard deviation until the density falls there as a Normal one does, which makes up for skewness (Rue,
Martino & Chopin 2009, sec. 6.5). Points z are scattered a little wider than that, and each is weighed by the actual
density:

    weight_i ∝ volume_i · p(answers, theta_i),   volume_i = volume of z_i · Π σ s

Their sum is the evidence: Laplace's, corrected by importance. Measured against thousands of draws from the prior, with
five to fifteen answers this is nearer than the central composite design of that paper, whose star points lie too far
out along the one long axis that lengthscales have.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from gainful.errors import NumericalError
from gainful.hyper.problem import Problem
from gainful.inference.ep import EP
from gainful.inference.evidence import Start
from gainful.numerics.scattered import scattered

__all__ = ["Mode", "Points", "curvature", "find_mode", "loosened", "spread_points"]

Array = NDArray[np.float64]

_STEP = 1e-3  # in theta: central differences are then exact to about 1e-6 of the third derivative
_FLATTEST = 0.05  # the least curvature: 4.5 in theta is as far as one standard deviation reaches
_REACH = float(np.sqrt(2.0))  # in standard deviations, where a Normal density has fallen by one nat
_STRETCH = (0.4, 2.5)
_ROUGH, _FINE = 1e-3, 1e-8  # EP's tolerance for an evidence, and for differences of its gradient
_PATIENCE = 60  # iterations of EP, in the search for hyperparameters
_POLISH = 12  # Newton steps at most


@dataclass(frozen=True, eq=False)
class Mode:
    """The most probable theta of a problem, its free part's curvature −∇² log p, log p(answers, theta) and the sites
    there."""

    problem: Problem
    theta: Array
    curvature: Array
    log_density: float
    sites: Start

    @cached_property
    def axes(self) -> tuple[Array, Array]:
        """Standard deviations (k,) along the principal axes, the columns of (k, k); none flatter than 0.05."""
        values, vectors = np.linalg.eigh(self.curvature)
        return 1.0 / np.sqrt(np.maximum(values, _FLATTEST)), vectors

    @cached_property
    def _rough(self) -> Problem:
        return loosened(self.problem, _ROUGH)

    def moved(self, offset: Array) -> Array:
        """theta with its free part moved by this."""
        out = self.theta.copy()
        out[self.problem.free] += offset
        return out

    def log_densities(self, thetas: Array) -> tuple[Array, Array]:
        """log p(answers | theta), −inf where double precision fails, and log p(theta), for the rows of (S, P)."""
        return self._rough.log_densities(thetas, self.sites)


def loosened(problem: Problem, tolerance: float) -> Problem:
    """The problem with EP ended sooner: its evidence is stationary in the sites, and is off by the square of that."""
    if not isinstance(problem.inference, EP):
        return problem
    most = min(_PATIENCE, problem.inference.max_iterations)  # where it takes longer, no belief is to be found either
    ended = replace(problem.inference, tolerance=max(tolerance, problem.inference.tolerance), max_iterations=most)
    return replace(problem, inference=ended)


def curvature(problem: Problem, theta: Array, sites: Start) -> Array:
    """−∇² log p(answers, theta) in the free entries, (k, k), by central differences of the exact gradient."""
    free = problem.free
    H = np.zeros((len(free), len(free)))
    for j, i in enumerate(free):
        up, down = theta.copy(), theta.copy()
        up[i] += _STEP
        down[i] -= _STEP
        difference = problem.log_density(up, sites)[1] - problem.log_density(down, sites)[1]
        H[:, j] = -difference[free] / (2.0 * _STEP)
    return 0.5 * (H + H.T)


def find_mode(problem: Problem, theta: Array, sites: Start) -> Mode:
    """The mode near theta, where a search has ended: Newton steps, as long as they gain, to the last digits of EP.

    The curvature is that of the mode itself, so that nothing depends on the way there.
    """
    problem, free, begin = loosened(problem, _FINE), problem.free, theta
    value, gradient, found = problem.log_density(theta, sites)
    H = curvature(problem, theta, found.sites)
    for _ in range(_POLISH):
        values, vectors = np.linalg.eigh(H)
        step = vectors @ ((vectors.T @ gradient[free]) / np.maximum(values, _FLATTEST))
        if np.max(np.abs(step), initial=0.0) < 1e-9:
            break
        new = theta.copy()
        new[free] += step * min(1.0, 0.5 / float(np.max(np.abs(step))))
        try:
            there = problem.log_density(new, found.sites)
        except NumericalError:
            break
        if not there[0] > value - 1e-9 * max(abs(value), 1.0) or np.max(np.abs(there[1][free])) > 0.7 * np.max(
            np.abs(gradient[free])
        ):
            break
        theta, (value, gradient, found) = new, there
    if np.max(np.abs(theta - begin), initial=0.0) > 1e-9:
        H = curvature(problem, theta, found.sites)
    return Mode(problem, theta, H, value, found.sites)


@dataclass(frozen=True, eq=False)
class Points:
    """Points theta (S, P), log (S,) of their volumes, such that weight ∝ volume · p(answers, theta)."""

    theta: Array
    log_volume: Array
    along: Array  # (S,), where each lies on the longest axis


def spread_points(mode: Mode) -> Points:
    """The points about a mode that stand for the whole distribution."""
    k = len(mode.problem.free)
    if not k:
        return Points(mode.theta[None], np.zeros(1), np.zeros(1))
    sd, axes = mode.axes
    ends = np.stack([mode.moved(_REACH * sd[i] * side * axes[:, i]) for side in (1.0, -1.0) for i in range(k)])
    evidence, prior = mode.log_densities(ends)
    stretch = _stretch(mode.log_density - evidence - prior).reshape(2, k)
    z, log_volume = scattered(k)
    each = np.where(z > 0.0, stretch[0], np.where(z < 0.0, stretch[1], 0.5 * (stretch[0] + stretch[1])))
    theta = np.stack([mode.moved(axes @ (sd * move)) for move in each * z])
    log_volume = log_volume + np.sum(np.log(each * sd), axis=1)
    return Points(theta, log_volume, (each * z)[:, int(np.argmax(sd))])


def _stretch(fall: Array) -> Array:
    """By how much a standard deviation is longer than the curvature says, where the density falls by this at _REACH."""
    return np.clip(1.0 / np.sqrt(np.maximum(fall, 1e-3)), *_STRETCH)


def thinned(log_weight: Array, along: Array, most: int) -> tuple[NDArray[np.intp], Array]:
    """At most `most` points that stand for all: their numbers, and the logarithms of what each stands for, (K,) each.

    Systematic resampling: of the weights in a row, ordered `along` a line (S,), one point at every 1/most of their sum.
    """
    order = np.argsort(along, kind="stable")
    total = float(logsumexp(log_weight))
    share = np.exp(log_weight - total)[order]
    ticks = (np.arange(most) + 0.5) / most
    chosen = np.minimum(np.searchsorted(np.cumsum(share), ticks), len(share) - 1)
    kept, count = np.unique(chosen, return_counts=True)
    return order[kept], np.log(count / most) + total
