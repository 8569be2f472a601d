"""Expectation propagation: iterates the sweep of `sweep.py` to its fixed point.

Strategies are tried in turn, and the first that converges wins: Newton's steps from a warm start, accelerated sweeps,
plain ones, and sweeps whose sites are kept from a negative precision. Each goes through a low-rank root of the
covariance of g first, where there is one, and then through the covariance in full. With m the prior mean of g, G the
rows of Gaussian answers and log_z the contribution of the others,

    log evidence = log_z + Σ_{i∈G} [log r_i − ½ log 2π − ½ α_i (y_i − m_i)] − ½ log|B|
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from types import NoneType

import numpy as np
from numpy.typing import NDArray

from gainful.checks import require_count, require_kind, require_positive
from gainful.errors import NumericalError
from gainful.inference.adjusted import Response
from gainful.inference.compressed import Compressed, compress
from gainful.inference.conditioned import Conditioned, condition_on, grow
from gainful.inference.convergence import Convergence, Result
from gainful.inference.damped import Damped
from gainful.inference.iterations import Iteration, Point, Problem, attainable, first_to_end
from gainful.inference.newton import Newton
from gainful.inference.response import respond
from gainful.inference.sites import Sites
from gainful.inference.solution import Solution, WarmStart, gaussian_evidence, starting_sites
from gainful.inference.sweep import sweep
from gainful.layout import Layout
from gainful.numerics.lowrank import LowRank, low_rank

Array = NDArray[np.float64]

_MANY = 100  # iterations after which moments that are still off by a standard deviation are an error


@dataclass(frozen=True)
class Strategy:
    """Iterations to try in turn, from a warm start or from no sites at all.

    `tentative`: an end short of a fixed point, and any error, is passed over; `clip_negative`: sites are kept from
    negative precisions.
    """

    iterations: tuple[Iteration, ...]
    start: WarmStart | None = None
    tentative: bool = False
    clip_negative: bool = False


@dataclass(frozen=True)
class EP:
    """Expectation propagation. `tolerance` bounds the mismatch of tilted and fitted moments, in posterior standard
    deviations.

    Every observation's mean and variance are matched; exact for one observation that sees one value, and for numbers.
    Undamped parallel updates oscillate when answers are many and one-sided, so the iteration is accelerated
    (Anderson, with `memory` past steps) and backs off whenever the mismatch grows. Where hard answers say nearly the
    same the sites' spreads are too small: those of predictions are then by linear response (`response.py`). With
    `response` they always are, or never.
    """

    tolerance: float = 1e-10
    max_iterations: int = 300
    memory: int = 6
    response: bool | None = None

    def __post_init__(self) -> None:
        require_positive("tolerance", self.tolerance, "leave the default")
        require_count("max_iterations", self.max_iterations, 1, "leave the default")
        require_count("memory", self.memory, 0, "leave the default")
        require_kind("response", self.response, (bool, NoneType), "True, False or None", "leave the default")

    def strategies(self, start: WarmStart | None = None) -> tuple[Strategy, ...]:
        """What is tried, in this order."""
        newton, plain = Newton(), Damped(0, rescue=Newton())
        sweeps = (Damped(self.memory, rescue=newton), plain) if self.memory else (plain,)
        # A start's sites may leave no proper belief without an answer that is now removed.
        warm = [] if start is None else [Strategy((newton, *sweeps), start, tentative=True)]
        # Accelerated steps may be too bold for answers that are not log-concave.
        again = [Strategy((plain,), tentative=True)] if self.memory else []
        # Such answers can contradict precise ones so badly that EP has no fixed point.
        clipped = Strategy(tuple(Damped(each.memory) for each in sweeps), clip_negative=True)
        return (*warm, Strategy(sweeps), *again, clipped)

    def solve(self, layout: Layout, mean: Array, cov: Array, start: WarmStart | None = None) -> Solution:
        if layout.gaussian:
            exact = condition_on(starting_sites(start, layout), mean, cov)
            return Solution(exact, gaussian_evidence(layout, exact), Convergence(Result.EXACT))
        for strategy in self.strategies(start):
            try:
                found = self._follow(strategy, layout, mean, cov)
            except NumericalError:
                if not strategy.tentative:
                    raise
                continue
            if found is not None and (found.convergence or not strategy.tentative):
                return found
        raise NumericalError(Result.IMPROPER.value)

    def _follow(self, strategy: Strategy, layout: Layout, mean: Array, cov: Array) -> Solution | None:
        """Where the strategy ends; None where no step leaves a proper belief."""
        start, sites, spent = strategy.start, starting_sites(strategy.start, layout), 0
        low = _low_rank_root(cov, sites, start)
        root = None if low is None else low.root
        if root is not None:
            near = self._through_root(strategy, layout, mean, root, sites)
            if near is not None:
                sites, spent = near.belief.sites, near.iterations
                if max(near.residual, near.belief.resolution) <= self.tolerance:
                    return self._solution(strategy, layout, condition_on(sites, mean, cov), near, low)

        def full(new: Sites) -> Conditioned:
            return condition_on(new, mean, cov)

        def grown(new: Sites) -> Conditioned:
            return (None if before is None else grow(new, before, mean, cov)) or full(new)

        before = start.before if start is not None and root is None else None
        problem = Problem(layout, full, self.tolerance, self.max_iterations, strategy.clip_negative, begin=grown)
        end = first_to_end(strategy.iterations, problem, sites, spent)
        return None if end is None else self._solution(strategy, layout, end.belief, end, low)

    def _through_root(
        self, strategy: Strategy, layout: Layout, mean: Array, root: Array, sites: Sites
    ) -> Point[Compressed] | None:
        """Where the strategy ends in the low-rank form; None where that cannot, and the full form decides."""

        def low_form(new: Sites) -> Compressed:
            return compress(new, mean, root)

        problem = Problem(layout, low_form, self.tolerance, self.max_iterations, strategy.clip_negative)
        try:
            return first_to_end(strategy.iterations, problem, sites, 0)
        except NumericalError:
            return None

    def _solution(
        self,
        strategy: Strategy,
        layout: Layout,
        state: Conditioned,
        end: Point[Conditioned] | Point[Compressed],
        low: LowRank | None,
    ) -> Solution:
        if not end.residual <= 1.0 and end.iterations >= _MANY:
            raise NumericalError(Convergence(Result.UNSETTLED, end.iterations, end.residual).message)
        result = Result.STOPPED_EARLY
        if strategy.clip_negative:
            result = Result.CLIPPED
        elif end.residual <= self.tolerance:
            result = Result.CONVERGED
        elif end.residual <= attainable(state):
            result = Result.CONVERGED_TO_PRECISION
        evidence = gaussian_evidence(layout, state) + end.swept.log_z
        settled = self.response is not False and result in (Result.CONVERGED, Result.CONVERGED_TO_PRECISION)
        later = partial(_response, layout, state, self.response is True) if settled else None
        return Solution(state, evidence, Convergence(result, end.iterations, end.residual), low, respond=later)


def _response(layout: Layout, state: Conditioned, always: bool) -> Response | None:
    return respond(layout, state, sweep(layout, state), always)


def _low_rank_root(cov: Array, sites: Sites, start: WarmStart | None) -> LowRank | None:
    """What is known of a low-rank root of g's covariance; None where an answer has no noise, which this form cannot."""
    if not np.all(np.isfinite(sites.precision)):
        return None
    return low_rank(cov) if start is None or start.low is None else start.low.grown(cov)
