"""Expectation propagation: parallel, adaptively damped, warm-started.

For each observation that is not Gaussian, the cavity is the belief about its row(s) of g without its own site, N(μ_c,
v_c). The new site makes the belief match the mean and variance of cavity × likelihood (Minka 2001; mixed 3; Rasmussen &
Williams 3.6):

    τ = −d2/ρ,   ν = (d1 − μ_c d2)/ρ,   ρ = tilted variance / v_c

Cavities come from leave-one-out identities instead of differences of precisions, which lose every digit for narrow
intervals:

    b = s (B⁻¹)_ii,   v_c = Var[g_i]/b,   μ_c = E[g_i] − v_c α_i

and with them the evidence needs no large terms that cancel (the sums over Gaussian rows i ∈ G and the others):

    log Z = Σ_{i∉G} [log Ẑ_i − ½ log b_i − ½ α_i (μ_c,i − m_i)] + Σ_{i∈G} [log r_i − ½ log 2π − ½ α_i (y_i − m_i)] − ½
    log|B|
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from gainful.data import Layout
from gainful.errors import InvalidInput, NumericalError
from gainful.inference.compressed import Compressed, compress, low_rank_root
from gainful.inference.sites import Block, Conditioned, Sites, condition_on
from gainful.inference.solution import Convergence, Solution, gaussian_evidence, is_block, warm
from gainful.instruments.base import Rows, Term
from gainful.numerics.anderson import History, step

Array = NDArray[np.float64]
_TINY = 1e-300
State = TypeVar("State", Conditioned, Compressed)


_HELD = (
    "some answers contradict others so strongly that their sites would widen the belief without bound; these sites "
    "were held at zero precision and match the mean alone: "
)


class ImproperBelief(NumericalError):
    """No step of EP leaves a proper belief."""


class Proposal(NamedTuple):
    """What one look at every cavity says: the sites it asks for, the log Ẑ terms of the evidence, the distance still
    to go."""

    sites: Sites
    evidence: float
    residual: float


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
        if not (self.tolerance > 0.0 and self.max_iterations >= 1 and self.memory >= 0):
            raise InvalidInput(
                "EP", "tolerance > 0, max_iterations ≥ 1, memory ≥ 0", self, "leave them at their defaults"
            )

    def solve(self, layout: Layout, mean: Array, cov: Array, start: Sites | None = None) -> Solution:
        try:
            return self._solve(layout, mean, cov, start, hold=False)
        except ImproperBelief:
            # Answers that are not log-concave can contradict precise ones so badly that EP has no fixed point.
            return self._solve(layout, mean, cov, None, hold=True)

    def _solve(self, layout: Layout, mean: Array, cov: Array, start: Sites | None, hold: bool) -> Solution:
        sites = warm(start, layout)
        if layout.gaussian:
            settled = Convergence(True, 0, 0.0, "exact: every answer is Gaussian")
            exact = condition_on(sites, mean, cov)
            return Solution(exact, gaussian_evidence(layout, exact), settled)
        pace = Pace()
        root = low_rank_root(cov) if np.all(np.isfinite(sites.precision)) else None
        if root is not None:
            sites, pace = self._search(layout, sites, lambda new: compress(new, mean, root), hold)
        state = condition_on(sites, mean, cov)
        while True:
            proposal = propose(layout, state, hold)
            pace = pace.after(proposal.residual)
            result = self._verdict(pace, state, proposal.residual)
            if result is not None:
                if hold:
                    result = replace(result, converged=False, message=_HELD + result.message)
                return Solution(state, proposal.evidence, result)
            state, pace = _advance(
                layout, state, proposal.sites, pace, lambda new: condition_on(new, mean, cov), self.memory
            )

    def _search(
        self, layout: Layout, sites: Sites, condition: Callable[[Sites], Compressed], hold: bool
    ) -> tuple[Sites, Pace]:
        """Sites found in the compressed form, as close as it gets; the pace starts afresh after it."""
        pace = Pace()
        state = condition(sites)
        while True:
            proposal = propose(layout, state, hold)
            pace = pace.after(proposal.residual)
            done = proposal.residual <= max(0.5 * self.tolerance, state.resolution)
            if done or pace.iteration >= self.max_iterations or (pace.stalled and proposal.residual < 1e-6):
                return state.sites, Pace(iteration=pace.iteration)
            try:
                state, pace = _advance(layout, state, proposal.sites, pace, condition, self.memory)
            except NumericalError:
                return sites, Pace()  # this form cannot: the full one starts from the beginning and decides

    def _verdict(self, pace: Pace, state: Conditioned, residual: float) -> Convergence | None:
        """Why the iteration ends here, or None."""
        if residual <= self.tolerance:
            return Convergence(True, pace.iteration, residual, f"converged in {pace.iteration} iterations")
        if residual <= min(state.resolution, 1e-4) and pace.stalled:
            message = (
                f"converged in {pace.iteration} iterations to {residual:.1e} of a standard deviation, "
                "as far as double precision resolves answers this precise"
            )
            return Convergence(True, pace.iteration, residual, message)
        if pace.iteration < self.max_iterations:
            return None
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
) -> tuple[State, Pace]:
    """Move the sites; come back half-way as often as the belief or a cavity would not be proper."""
    rows = _scalar_rows(layout)
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
    raise ImproperBelief(
        "expectation propagation found no step that leaves a proper belief; "
        "the likelihoods are not log-concave and the prior is too wide: reduce the kernel's variance or use Laplace"
    )


def _scalar_rows(layout: Layout) -> Rows:
    """The rows whose sites are to be found one by one."""
    found = [term.rows[:, 0] for term in layout.terms if not is_block(term) and not term.likelihood.gaussian]
    return np.concatenate(found) if found else np.zeros(0, dtype=np.intp)


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
    variance = np.maximum(state.variance[rows], np.finfo(float).tiny)
    parts = [variance, np.sqrt(variance)]
    for block in state.sites.blocks:
        sd = np.sqrt(np.diagonal(state.block_covariance(block.rows), axis1=1, axis2=2))
        parts += [(sd[:, :, None] * sd[:, None, :]).ravel(), sd.ravel()]
    return np.concatenate(parts)


def propose(layout: Layout, state: Conditioned | Compressed, hold: bool = False) -> Proposal:
    """Look at every cavity once; with `hold`, without sites of negative precision."""
    precision, shift = state.sites.precision.copy(), state.sites.shift.copy()
    evidence, residual = gaussian_evidence(layout, state), 0.0
    blocks: list[Block] = []
    for term in layout.terms:
        if is_block(term):
            block = state.sites.blocks[len(blocks)]
            new, pull, log_z, off = _block_update(state, term, block, hold)
            blocks.append(new)
            shift[term.rows] = pull
        elif not term.likelihood.gaussian:
            rows = term.rows[:, 0]
            precision[rows], shift[rows], log_z, off = _update(state, term, rows, hold)
        else:
            continue
        evidence += log_z
        residual = max(residual, off)
    return Proposal(Sites(precision, shift, tuple(blocks)), evidence, residual)


def cavity(state: Conditioned | Compressed, rows: Rows) -> tuple[Array, Array]:
    """Mean and variance of g_i without site i, for uncoupled rows, (n,) each."""
    v = np.maximum(state.variance[rows], 0.0) / state.keep[rows]
    return state.mean[rows] - v * state.alpha[rows], v


def block_cavity(state: Conditioned | Compressed, block: Block) -> tuple[Array, Array]:
    """Mean (n, k) and covariance (n, k, k) of coupled rows without their own site.

    Σ (I − ΛΣ)⁻¹ = (Σ⁻¹ − Λ)⁻¹ without inverting Σ, which is singular when two places of a set coincide.
    """
    cov = state.block_covariance(block.rows)
    v = np.linalg.solve(np.eye(block.rows.shape[1]) - cov @ block.precision, cov)
    v = _symmetric(v)
    return state.mean[block.rows] - np.einsum("nij,nj->ni", v, state.alpha[block.rows]), v


def _symmetric(matrices: Any) -> Array:
    return np.asarray(0.5 * (matrices + np.swapaxes(matrices, 1, 2)))


def _update(state: Conditioned | Compressed, term: Term, rows: Rows, hold: bool) -> tuple[Array, Array, float, float]:
    """New precision and shift of uncoupled rows, their part of the evidence, and the worst mismatch of moments.

    With `hold`, a site that asks for a negative precision gets none and matches the mean alone.
    """
    keep, alpha = state.keep[rows], state.alpha[rows]
    proper = keep > 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        m, v = cavity(state, rows)
    m = np.where(proper, m, state.mean[rows])
    v = np.maximum(np.where(proper, v, 1.0), _TINY)  # what is already certain is a cavity without width, and fine
    p = term.likelihood.log_partition(term.answers, m, v)
    if not np.all(p.log_z > -1e200):
        raise NumericalError(
            "an answer is impossible under what the others make certain: its probability is zero in double precision; "
            "give its instrument noise (or a lapse rate), or remove the contradiction"
        )
    held = (p.d2 > 0.0) & proper if hold else np.zeros(len(rows), dtype=bool)
    precision = np.where(held, 0.0, np.where(proper, -p.d2 / p.shrink, state.sites.precision[rows]))
    shift = np.where(held, p.d1, np.where(proper, (p.d1 - m * p.d2) / p.shrink, state.sites.shift[rows]))
    log_z = p.log_z - 0.5 * np.log(np.where(proper, keep, 1.0)) - 0.5 * alpha * (m - state.prior_mean[rows])
    in_mean = np.sqrt(v / p.shrink) * np.abs(p.d1 - alpha)
    in_variance = np.where(held, 0.0, np.abs(p.shrink / np.where(proper, keep, 1.0) - 1.0))
    off = np.where(proper, np.maximum(in_mean, in_variance), np.inf)
    return precision, shift, float(np.sum(log_z)), float(np.max(off, initial=0.0))


def _block_update(
    state: Conditioned | Compressed, term: Term, block: Block, hold: bool
) -> tuple[Block, Array, float, float]:
    """The same for coupled rows: Λ = −H (I + V H)⁻¹ and ν = (I + H V)⁻¹ (d1 − H m)."""
    m, v = block_cavity(state, block)
    eye = np.eye(block.rows.shape[1])
    proper = np.linalg.eigvalsh(v)[:, 0] > -1e-10 * (1.0 + np.abs(np.trace(v, axis1=1, axis2=2)))
    safe = np.where(proper[:, None, None], v, eye)
    p = term.likelihood.log_partition(term.answers, m, safe)
    grow = eye + p.d2 @ safe
    wanted = -np.linalg.solve(grow, p.d2)
    wanted = np.asarray(np.where(proper[:, None, None], _symmetric(wanted), block.precision), dtype=np.float64)
    pull = np.linalg.solve(grow, (p.d1 - np.einsum("nij,nj->ni", p.d2, m))[:, :, None])[:, :, 0]
    pull = np.where(proper[:, None], pull, state.sites.shift[block.rows])
    held = np.zeros(len(m), dtype=bool)
    if hold:
        values, vectors = np.linalg.eigh(wanted)
        held = values[:, 0] < 0.0
        lifted = (vectors * np.maximum(values, 0.0)[:, None, :]) @ np.swapaxes(vectors, 1, 2)
        wanted = np.where(held[:, None, None], lifted, wanted)
        tilted_mean = m + np.einsum("nij,nj->ni", safe, p.d1)
        pull = np.where(held[:, None], p.d1 + np.einsum("nij,nj->ni", wanted, tilted_mean), pull)
    alpha, prior = state.alpha[block.rows], state.prior_mean[block.rows]
    # det of b for a block: I − ΛΣ = (I + ΛV)⁻¹.
    log_keep = -np.linalg.slogdet(eye + block.precision @ safe)[1]
    log_z = p.log_z - 0.5 * log_keep - 0.5 * np.einsum("ni,ni->n", alpha, m - prior)
    tilted = safe + safe @ p.d2 @ safe
    fitted = state.block_covariance(block.rows)
    # Coupled likelihoods have unit noise: what is known to 1e-4 of that need not be matched any better.
    scale = np.sqrt(np.maximum(np.diagonal(fitted, axis1=1, axis2=2), 1e-8))
    in_mean = np.abs(np.einsum("nij,nj->ni", safe, p.d1 - alpha)) / scale
    in_variance = np.abs(tilted - fitted) / (scale[:, :, None] * scale[:, None, :])
    in_variance[held] = 0.0
    off = max(float(np.max(in_mean, initial=0.0)), float(np.max(in_variance, initial=0.0)))
    return Block(block.rows, np.asarray(wanted)), pull, float(np.sum(log_z)), off if bool(proper.all()) else np.inf
