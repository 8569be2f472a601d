"""Damped parallel sweeps for EP, accelerated by Anderson mixing: the iteration that begins anywhere.

Undamped parallel updates oscillate when answers are many and one-sided. So steps are mixed with the last few
(Anderson), shortened when the mismatch of moments grows, and halved while they would leave an improper belief.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Generic

import numpy as np
from numpy.typing import NDArray

from gainful.errors import NumericalError
from gainful.inference.compressed import Compressed
from gainful.inference.conditioned import Conditioned
from gainful.inference.convergence import Result
from gainful.inference.iterations import Form, Info, Point, Problem, attainable, run
from gainful.inference.newton import NEAR, Newton
from gainful.inference.sites import Sites, from_vector, to_vector
from gainful.instruments.base import Rows
from gainful.numerics.anderson import History, step

Array = NDArray[np.float64]

_STALLED = 3  # sweeps without halving the mismatch, after which what double precision resolves is enough
_STUCK = 4  # after which Newton's steps are tried
_CIRCLING = 60  # after which accelerated steps are given up
_HALVINGS = 40
_TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True)
class Damping:
    """How boldly to step: the damping factor, the least residual so far, sweeps since it halved, and recent steps."""

    factor: float = 1.0
    best: float = np.inf
    since_halved: int = 0
    history: History = field(default_factory=History)

    def after(self, residual: float) -> Damping:
        """Start bold; when the mismatch grows, forget the history and halve the step; when it shrinks well, speed up
        again."""
        factor, history = self.factor, self.history
        halved = residual < 0.5 * self.best
        if residual > 2.0 * self.best:
            factor, history = max(0.5 * factor, 0.1), History()
        elif halved:
            factor = min(1.0, 1.2 * factor)
        return Damping(factor, min(self.best, residual), 0 if halved else self.since_halved + 1, history)

    def shortened(self) -> Damping:
        """After a step that had to be halved."""
        return replace(self, factor=max(0.5 * self.factor, 0.1), history=History())


@dataclass(frozen=True)
class DampedState(Generic[Form]):
    """Where the iteration is and how boldly it steps; `improper`: no step from here leaves a proper belief."""

    problem: Problem[Form]
    point: Point[Form]
    damping: Damping
    improper: bool = False


@dataclass(frozen=True)
class Damped:
    """Sweeps mixed with the last `memory` ones; with 0, plain damped parallel EP.

    With `rescue`, Newton's steps are tried from where the sweeps are stuck near the fixed point.
    """

    memory: int
    rescue: Newton | None = None

    def init(self, problem: Problem[Form], sites: Sites, iterations: int = 0) -> DampedState[Form]:
        point = problem.sweep(problem.condition(sites), iterations)
        return DampedState(problem, point, Damping().after(point.residual))

    def step(self, state: DampedState[Form]) -> tuple[DampedState[Form], Info]:
        if self._result(state) is None:
            state = self._advance(state)
            if self.rescue is not None and self._result(state) is None and _is_stuck(state):
                state = _rescued(self.rescue, state)
        damping = state.damping
        info = Info(state.point.iterations, state.point.residual, damping.since_halved, damping.factor)
        return state, info._replace(result=self._result(state))

    def _result(self, state: DampedState[Form]) -> Result | None:
        problem, point, stalled = state.problem, state.point, state.damping.since_halved
        if state.improper:
            return Result.IMPROPER
        if point.residual <= problem.tolerance:
            return Result.CONVERGED
        if stalled >= _STALLED and point.residual <= attainable(point.belief):
            return Result.CONVERGED_TO_PRECISION
        if point.iterations >= problem.max_iterations:
            return Result.STOPPED_EARLY
        return Result.CIRCLING if stalled >= _CIRCLING and self.memory else None

    def _advance(self, state: DampedState[Form]) -> DampedState[Form]:
        """One mixed step and the sweep there.

        Backtracks (at most 40 halvings) until the belief is proper and all cavity variances are positive.
        """
        problem, belief, damping = state.problem, state.point.belief, state.damping
        rows, sites = problem.layout.scalar_rows, belief.sites
        x, g = to_vector(sites, rows), to_vector(state.point.swept.sites, rows)
        target, history = step(damping.history, x, g - x, _units(belief, rows), damping.factor, self.memory)
        # Acceleration may overshoot a positive precision into a negative one that no likelihood implies.
        n = len(rows)
        overshot = np.flatnonzero((target[:n] <= 0.0) & (x[:n] >= 0.0) & (g[:n] >= 0.0))
        target[overshot], target[n + overshot] = g[overshot], g[n + overshot]
        damping = replace(damping, history=history)
        for _ in range(_HALVINGS):
            new = _conditioned(problem, from_vector(sites, rows, target))
            if new is not None:
                point = problem.sweep(new, state.point.iterations)
                return DampedState(problem, point, damping.after(point.residual))
            target = x + 0.5 * (target - x)
            damping = damping.shortened()
        return replace(state, improper=True)


def _conditioned(problem: Problem[Form], sites: Sites) -> Form | None:
    """The belief after the sites; None where it or a cavity would be improper."""
    try:
        belief = problem.condition(sites)
        return belief if problem.is_proper(belief) else None
    except NumericalError:
        return None


def _is_stuck(state: DampedState[Form]) -> bool:
    return state.damping.since_halved == _STUCK and state.point.residual < NEAR


def _rescued(newton: Newton, state: DampedState[Form]) -> DampedState[Form]:
    """The end of Newton's iteration from here, or the state as it is where that fails."""
    ended, info = run(newton, newton.init_at(state.problem, state.point))
    return state if info.result is Result.NOT_CONTRACTING else replace(state, point=ended.point)


def _units(belief: Conditioned | Compressed, rows: Rows) -> Array:
    """Var[g] for precisions and its root for shifts: then every coordinate of the vector is dimensionless."""
    variance = np.maximum(belief.variance[rows], _TINY)
    parts = [variance, np.sqrt(variance)]
    for block in belief.sites.blocks:
        sd = np.sqrt(np.maximum(np.diagonal(belief.block_covariance(block.rows), axis1=1, axis2=2), _TINY))
        parts += [(sd[:, :, None] * sd[:, None, :]).ravel(), sd.ravel()]
    return np.concatenate(parts)
