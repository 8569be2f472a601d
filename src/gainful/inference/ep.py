"""Expectation propagation: parallel, accelerated, adaptively damped, warm-started.

`cavities.py` says what one look at every cavity asks of the sites; here the sites move until nothing is asked any more.
With m the prior mean of g, G the rows of Gaussian answers and log_z the contribution of the others,

    log evidence = log_z + Σ_{i∈G} [log r_i − ½ log 2π − ½ α_i (y_i − m_i)] − ½ log|B|
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from gainful.data import Layout
from gainful.errors import InvalidInput, NumericalError
from gainful.inference.cavities import Proposal, propose
from gainful.inference.compressed import Compressed, compress
from gainful.inference.response import response
from gainful.inference.sites import Block, Conditioned, Grown, Sites, condition_on, grow
from gainful.inference.solution import Convergence, Solution, gaussian_evidence, warm
from gainful.instruments.base import Rows
from gainful.numerics.anderson import History, step
from gainful.numerics.lowrank import LowRank, low_rank

Array = NDArray[np.float64]
State = TypeVar("State", Conditioned, Compressed)


_NEAR = 0.5  # of a standard deviation: a mismatch from which Newton's steps are tried
_STUCK = 4  # looks without halving the mismatch, after which they are tried in a cold start too
_HOPELESS = 60  # looks without halving it, after which steps are no longer accelerated
_TINY = float(np.finfo(float).tiny)
_HELD = (
    "some answers contradict others so strongly that their sites would widen the belief without bound; these sites "
    "were held at zero precision and match the mean alone: "
)


class ImproperBelief(NumericalError):
    """No step of EP leaves a proper belief."""


@dataclass(frozen=True)
class EP:
    """Expectation propagation. `tolerance` bounds the mismatch of tilted and fitted moments, in posterior standard
    deviations.

    Every observation's mean and variance are matched; exact for one observation of any kind and for Gaussian answers.
    Undamped parallel updates oscillate when answers are many and one-sided, so the iteration is accelerated
    (Anderson, with `memory` past steps) and backs off whenever the mismatch grows.
    """

    tolerance: float = 1e-10
    max_iterations: int = 300
    memory: int = 6

    def __post_init__(self) -> None:
        whole = isinstance(self.max_iterations, int) and isinstance(self.memory, int)
        if not (whole and self.tolerance > 0.0 and self.max_iterations >= 1 and self.memory >= 0):
            raise InvalidInput(
                "EP", "tolerance > 0, max_iterations ≥ 1, memory ≥ 0", self, "leave them at their defaults"
            )

    def solve(self, layout: Layout, mean: Array, cov: Array, start: Sites | None = None) -> Solution:
        if start is not None:  # which may leave no proper belief without an answer that is now removed
            found = self._converged(layout, mean, cov, start)
            return self.solve(layout, mean, cov) if found is None else found
        try:
            return self._solve(layout, mean, cov, None, hold=False)
        except ImproperBelief:
            # Accelerated steps may be too bold for answers that are not log-concave; and these can contradict precise
            # ones so badly that EP has no fixed point.
            plain = replace(self, memory=0)._converged(layout, mean, cov, None) if self.memory else None
            return self._solve(layout, mean, cov, None, hold=True) if plain is None else plain

    def _converged(self, layout: Layout, mean: Array, cov: Array, start: Sites | None) -> Solution | None:
        """The fixed point that the iteration finds from the start; None where it finds none."""
        try:
            found = self._solve(layout, mean, cov, start, hold=False)
        except NumericalError:
            return None
        return found if found.convergence else None

    def _solve(self, layout: Layout, mean: Array, cov: Array, start: Sites | None, hold: bool) -> Solution:
        sites = warm(start, layout)
        if layout.gaussian:
            settled = Convergence(True, 0, 0.0, "exact: every answer is Gaussian")
            exact = condition_on(sites, mean, cov)
            return Solution(exact, gaussian_evidence(layout, exact), settled)
        pace, warmed = Pace(), start is not None and not hold and not sites.blocks
        known = start if isinstance(start, Grown) else None
        low = None
        if np.all(np.isfinite(sites.precision)):
            low = low_rank(cov) if known is None or known.low is None else known.low.grown(cov)
        root = None if low is None else low.root

        def full_form(new: Sites) -> Conditioned:
            return condition_on(new, mean, cov)

        if root is not None:

            def low_form(new: Sites) -> Compressed:
                return compress(new, mean, root)

            try:
                found = self._close_in(layout, low_form(sites), low_form, pace) if warmed else None
                found = found or self._iterate(layout, sites, low_form, hold, pace)
            except NumericalError:
                found = None  # this form cannot: the full one decides
            if found is not None:
                near, pace, proposal = found
                sites = near.sites
                if proposal.residual <= self.tolerance and near.resolution <= self.tolerance:
                    return self._solution(layout, condition_on(sites, mean, cov), proposal, pace, hold, low)
        full = None
        if warmed:
            before = known.before if known is not None and root is None else None
            grown = None if before is None else grow(sites, before, mean, cov)
            full = self._close_in(layout, grown or full_form(sites), full_form, pace)
        full = full or self._iterate(layout, sites, full_form, hold, pace)
        if full is None:
            raise ImproperBelief(
                "expectation propagation found no step that leaves a proper belief; the likelihoods are not "
                "log-concave and the prior is too wide: reduce the kernel's variance or use Laplace"
            )
        return self._solution(layout, full[0], full[2], full[1], hold, low)

    def _iterate(
        self, layout: Layout, sites: Sites, condition: Callable[[Sites], State], hold: bool, pace: Pace
    ) -> tuple[State, Pace, Proposal] | None:
        """Look and step until the moments match as well as they can; None where no step leaves a proper belief."""
        state = condition(sites)
        pace, memory = Pace(iteration=pace.iteration), self.memory
        while True:
            proposal = propose(layout, state, hold)
            pace = pace.after(proposal.residual)
            close = proposal.residual <= min(state.resolution, 1e-4) and pace.stalled
            if proposal.residual <= self.tolerance or close or pace.iteration >= self.max_iterations:
                return state, pace, proposal
            if pace.since_best == _STUCK and proposal.residual < _NEAR and not hold:
                ended = self._close_in(layout, state, condition, pace, proposal)
                if ended is not None:
                    return ended
            if pace.since_best >= _HOPELESS and memory:
                # Accelerated steps may go round in circles, on answers that are many and all alike: plain ones then.
                state, pace, memory = condition(sites), Pace(iteration=pace.iteration), 0
                continue
            moved = _advance(layout, state, proposal.sites, pace, condition, memory)
            if moved is None:
                return None
            state, pace = moved

    def _close_in(
        self,
        layout: Layout,
        state: State,
        condition: Callable[[Sites], State],
        pace: Pace,
        proposal: Proposal | None = None,
    ) -> tuple[State, Pace, Proposal] | None:
        """Newton's steps from a belief that is nearly right; None where it is not, or a step does not help.

        `proposal` is what a look at that belief asks for, where it has been looked at.

        The derivative of an earlier look serves again where it will do: the mismatch shrinks about as it did before.
        """
        rows, there, last = layout.scalar_rows, None, np.inf
        if proposal is None:
            proposal, pace = propose(layout, state), replace(pace, iteration=pace.iteration + 1)
        while proposal.residual > self.tolerance and pace.iteration < self.max_iterations:
            if not proposal.residual < min(0.25 * last, _NEAR):
                return None
            if there is None or 4.0 * proposal.residual**2 / last > self.tolerance:
                there = response(layout, state, proposal)
            if there is None:
                return None
            last = proposal.residual
            here = _pack(state.sites, rows)
            tau, nu = np.split(_pack(proposal.sites, rows) - here, 2)
            step = there.step(tau, nu, tolerance=max(0.1 * self.tolerance / last, 0.02 * last, 1e-10))
            try:
                state = condition(_unpack(state.sites, rows, here + np.concatenate(step)))
                if not np.all(state.keep[rows] > 0.0):
                    return None
                proposal = propose(layout, state)
            except NumericalError:
                return None  # a step too far: shorter ones may do
            pace = replace(pace, iteration=pace.iteration + 1)
        return state, pace, proposal

    def _solution(
        self, layout: Layout, state: Conditioned, proposal: Proposal, pace: Pace, hold: bool, low: LowRank | None
    ) -> Solution:
        if not proposal.residual <= 1.0 and pace.iteration >= 100:
            raise NumericalError(
                f"expectation propagation does not settle: after {pace.iteration} iterations its moments are still "
                f"{proposal.residual:.1e} standard deviations off; answers without noise may contradict each other, or "
                "the hyperparameters be out of all proportion; give the instruments noise, or use Laplace"
            )
        evidence = gaussian_evidence(layout, state) + proposal.log_z
        result = self._verdict(pace, state, proposal.residual)
        if hold:
            result = replace(result, converged=False, message=_HELD + result.message)
        return Solution(state, evidence, result, low)

    def _verdict(self, pace: Pace, state: Conditioned, residual: float) -> Convergence:
        """What happened, in a sentence."""
        if residual <= self.tolerance:
            return Convergence(True, pace.iteration, residual, f"converged in {pace.iteration} iterations")
        if residual <= min(state.resolution, 1e-4):
            message = (
                f"converged in {pace.iteration} iterations to {residual:.1e} of a standard deviation, "
                "as far as double precision resolves answers this precise"
            )
            return Convergence(True, pace.iteration, residual, message)
        message = (
            f"stopped after {pace.iteration} iterations with moments matched to {residual:.1e} standard deviations "
            f"(asked for {self.tolerance:.1e}); raise max_iterations, or choose milder hyperparameters"
        )
        return Convergence(False, pace.iteration, residual, message)


@dataclass(frozen=True)
class Pace:
    """How boldly to step: the state of the adaptive damping."""

    iteration: int = 0
    damping: float = 1.0
    best: float = np.inf
    since_best: int = 0  # iterations since the mismatch last halved
    history: History = field(default_factory=History)

    @property
    def stalled(self) -> bool:
        return self.since_best >= 3

    def after(self, residual: float) -> Pace:
        """Start bold; when the mismatch grows, forget the history and halve the step; when it shrinks well, speed up
        again."""
        damping, history = self.damping, self.history
        if residual > 2.0 * self.best:
            damping, history = max(0.5 * damping, 0.1), History()
        elif residual < 0.5 * self.best:
            damping = min(1.0, 1.2 * damping)
        halved = residual < 0.5 * self.best
        return Pace(
            self.iteration + 1,
            damping,
            min(self.best, residual),
            0 if halved else self.since_best + 1,
            history,
        )


def _advance(
    layout: Layout, state: State, wanted: Sites, pace: Pace, condition: Callable[[Sites], State], memory: int
) -> tuple[State, Pace] | None:
    """Move the sites; come back half-way as often as the belief or a cavity would not be proper, but not for ever."""
    rows = layout.scalar_rows
    x, g = _pack(state.sites, rows), _pack(wanted, rows)
    target, history = step(pace.history, x, g - x, _units(state, rows), pace.damping, memory)
    # Acceleration may overshoot a positive precision into a negative one that the likelihood never asked for.
    n = len(rows)
    overshot = np.flatnonzero((target[:n] <= 0.0) & (x[:n] >= 0.0) & (g[:n] >= 0.0))
    target[overshot], target[n + overshot] = g[overshot], g[n + overshot]
    pace = replace(pace, history=history)
    for _ in range(40):
        try:
            new = condition(_unpack(state.sites, rows, target))
            if bool(np.all(new.keep[rows] > 0.0)):
                return new, pace
        except NumericalError:
            pass  # an improper belief: come back half-way, below
        target = x + 0.5 * (target - x)
        pace = replace(pace, history=History(), damping=max(0.5 * pace.damping, 0.1))
    return None


def _pack(sites: Sites, rows: Rows) -> Array:
    """Precisions and shifts of the scalar rows, then those of the blocks, as one vector."""
    parts = [sites.precision[rows], sites.shift[rows]]
    for block in sites.blocks:
        parts += [block.precision.ravel(), sites.shift[block.rows].ravel()]
    return np.concatenate(parts)


def _unpack(sites: Sites, rows: Rows, vector: Array) -> Sites:
    n = len(rows)
    precision, shift = sites.precision.copy(), sites.shift.copy()
    precision[rows], shift[rows] = vector[:n], vector[n : 2 * n]
    at, blocks = 2 * n, []
    for block in sites.blocks:
        size, flat = block.precision.size, block.rows.size
        blocks.append(Block(block.rows, vector[at : at + size].reshape(block.precision.shape)))
        shift[block.rows] = vector[at + size : at + size + flat].reshape(block.rows.shape)
        at += size + flat
    return Sites(precision, shift, tuple(blocks))


def _units(state: Conditioned | Compressed, rows: Rows) -> Array:
    """Var[g] for precisions and its root for shifts: then every coordinate of the vector is dimensionless."""
    variance = np.maximum(state.variance[rows], _TINY)
    parts = [variance, np.sqrt(variance)]
    for block in state.sites.blocks:
        sd = np.sqrt(np.maximum(np.diagonal(state.block_covariance(block.rows), axis1=1, axis2=2), _TINY))
        parts += [(sd[:, :, None] * sd[:, None, :]).ravel(), sd.ravel()]
    return np.concatenate(parts)
