"""Newton's iteration for EP, from a belief that is nearly right: a few sweeps where damped ones take dozens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic

import numpy as np

from gainful.errors import NumericalError
from gainful.inference.convergence import Result
from gainful.inference.iterations import Form, Info, Point, Problem
from gainful.inference.jacobian import FixedPointJacobian, jacobian
from gainful.inference.sites import Sites, from_vector, to_vector

NEAR = 0.5  # of a standard deviation: a mismatch from which Newton's steps are tried
_CONTRACTION = 0.25  # of the mismatch before: a step that leaves more has failed


@dataclass(frozen=True)
class NewtonState(Generic[Form]):
    """Where the iteration is, the Jacobian it used last, and the residual before; `failed`: a step was no good."""

    problem: Problem[Form]
    point: Point[Form]
    jacobian: FixedPointJacobian | None = None
    before: float = np.inf
    failed: bool = False

    @property
    def result(self) -> Result | None:
        if self.failed:
            return Result.NOT_CONTRACTING
        if self.point.residual <= self.problem.tolerance:
            return Result.CONVERGED
        if self.point.iterations >= self.problem.max_iterations:
            return Result.STOPPED_EARLY
        near_enough = self.point.residual < min(_CONTRACTION * self.before, NEAR)
        return None if near_enough else Result.NOT_CONTRACTING


@dataclass(frozen=True)
class Newton:
    """θ ← θ + (I − J)⁻¹ (G(θ) − θ), given up where a step does not quarter the mismatch.

    The Jacobian of an earlier step serves again where that will do: the mismatch shrinks about as it did before.
    """

    def init(self, problem: Problem[Form], sites: Sites, iterations: int = 0) -> NewtonState[Form] | None:
        """From sites; None where some are coupled, for which there is no Jacobian."""
        if sites.blocks:
            return None
        begin = problem.begin or problem.condition
        return NewtonState(problem, problem.sweep(begin(sites), iterations))

    def init_at(self, problem: Problem[Form], point: Point[Form]) -> NewtonState[Form]:
        """From where another iteration is."""
        return NewtonState(problem, point)

    def step(self, state: NewtonState[Form]) -> tuple[NewtonState[Form], Info]:
        if state.result is None:
            state = _advance(state)
        return state, Info(state.point.iterations, state.point.residual, result=state.result)


def _advance(state: NewtonState[Form]) -> NewtonState[Form]:
    problem, point, rows = state.problem, state.point, state.problem.layout.scalar_rows
    residual, found = point.residual, state.jacobian
    if found is None or 4.0 * residual**2 / state.before > problem.tolerance:
        found = jacobian(problem.layout, point.belief, point.swept)
    failed = NewtonState(problem, point, found, state.before, failed=True)
    if found is None:
        return failed
    sites = point.belief.sites
    here = to_vector(sites, rows)
    tau, nu = np.split(to_vector(point.swept.sites, rows) - here, 2)
    move = found.newton_step(tau, nu, tolerance=max(0.1 * problem.tolerance / residual, 0.02 * residual, 1e-10))
    try:
        # An improper cavity has an infinite mismatch.
        belief = problem.condition(from_vector(sites, rows, here + np.concatenate(move)))
        return NewtonState(problem, problem.sweep(belief, point.iterations), found, residual)
    except NumericalError:
        return failed  # a step too far: shorter ones may do
