"""The log evidence and its gradient in every hyperparameter: kernel, mean, and the instruments' own.

At fixed sites, EP's evidence is stationary in them, so exact inference and EP share one gradient:

    dL/dC = ½ (α αᵀ − Rᵀ B⁻¹ R),   dL/dm = α,   dL/dθ_instrument = Σ_i ∂ log Ẑ_i/∂θ at the cavity

and the kernel's pullback turns Aᵀ (dL/dC) A into dL/dθ_kernel. An inference whose sites move with θ (Laplace) adds its
implicit force u: dL/dm = α + u, and dL/dC gains ½ (α uᵀ + u αᵀ). One factor, one
inverse, and no stack of derivative matrices: three N-by-N arrays at the peak.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from gainful.data import Data
from gainful.errors import NumericalError
from gainful.inference.conditioned import Conditioned
from gainful.inference.convergence import Convergence
from gainful.inference.engines.base import Engine, EngineBelief
from gainful.inference.engines.dense import DenseBelief
from gainful.inference.engines.distributed import DistributedBelief
from gainful.inference.ep import EP
from gainful.inference.exact import Exact
from gainful.inference.sampled import smooth
from gainful.inference.sites import Block, Sites
from gainful.inference.solution import Inference, Solution, as_start
from gainful.inference.sweep import block_cavity, cavity
from gainful.inference.together import Model, settle_models
from gainful.instruments.base import Instrument, Rows
from gainful.kernels.base import Kernel
from gainful.layout import Layout
from gainful.means import Mean

Array = NDArray[np.float64]
Start = Sites | EngineBelief | None  # where a belief may begin: sites, or an engine's own earlier belief

UNSETTLED = 0.3  # of a standard deviation: an evidence from moments that are further off says nothing


@dataclass(frozen=True)
class Evidence:
    """log p(answers | θ), its gradients, and the sites to start from next time; `error` is the standard error of a
    value that is estimated, 0 of one that is not."""

    value: float
    kernel: Array
    mean: Array
    instruments: tuple[Array, ...]
    sites: Start
    convergence: Convergence
    jitter: float
    error: float = 0.0


def log_evidence(mean: Mean, kernel: Kernel, data: Data, inference: Inference | Engine, start: Start = None) -> float:
    """The log evidence alone."""
    if isinstance(inference, Engine):
        return inference.believe(mean, kernel, data.layout, None if isinstance(start, Sites) else start).log_evidence
    return _solution(mean, kernel, data, inference, _sites(start)).log_evidence


def _sites(start: Start) -> Sites | None:
    return start if isinstance(start, Sites) else None


def _solution(mean: Mean, kernel: Kernel, data: Data, inference: Inference, start: Sites | None) -> Solution:
    layout = data.layout
    cov = layout.covariance(kernel.matrix(layout.places, layout.places))
    return smooth(inference).solve(layout, layout.pick(mean(layout.places)), cov, as_start(start))


def log_evidences(models: Sequence[Model], inference: Inference | Engine, start: Start = None) -> Array:
    """The log evidence of the same answers under several models, (S,); −inf where inference does not settle."""
    if isinstance(inference, Engine):
        return np.array([_by_engine_or_none(mean, kernel, data, inference, start) for mean, kernel, data in models])
    inference = smooth(inference)
    tolerance = inference.tolerance if isinstance(inference, EP) else 0.0
    sites = _sites(start)
    settled = settle_models(models, sites, tolerance) if isinstance(inference, EP | Exact) else None
    out = np.full(len(models), -np.inf)
    for s, (mean, kernel, data) in enumerate(models):
        if settled is not None and settled.residual[s] <= tolerance:
            out[s] = settled.log_evidence[s]
            continue
        try:
            found = _solution(mean, kernel, data, inference, None if data.layout.gaussian else sites)
            out[s] = found.log_evidence if found.convergence.residual < UNSETTLED else -np.inf
        except NumericalError:
            continue
    return out


def _by_engine_or_none(mean: Mean, kernel: Kernel, data: Data, engine: Engine, start: Start) -> float:
    """The log evidence; −inf where the engine refuses, as one with a grid does a kernel that is too rough for it."""
    try:
        return log_evidence(mean, kernel, data, engine, start)
    except NumericalError:
        return -np.inf


def evidence_and_gradient(
    mean: Mean,
    kernel: Kernel,
    data: Data,
    inference: Inference | Engine,
    start: Start = None,
    instruments: bool = True,
) -> Evidence:
    """The log evidence and its gradient; without `instruments` theirs is left out (zeros)."""
    if isinstance(inference, Engine):
        return _by_engine(mean, kernel, data, inference, start)
    layout, inference = data.layout, smooth(inference)
    if not layout.size:
        nothing = inference.solve(layout, np.zeros(0), np.zeros((0, 0)))
        return Evidence(0.0, np.zeros(kernel.size), np.zeros(mean.size), (), nothing.sites, nothing.convergence, 0.0)
    values, mean_back = mean.vjp(layout.places)
    K, kernel_back = kernel.vjp(layout.places, layout.places)
    solution = inference.solve(layout, layout.pick(values), layout.covariance(K), as_start(_sites(start)))
    state, jitter = solution.state, solution.state.factor.jitter
    force = None if solution.implicit_force is None else solution.implicit_force()
    own = tuple(np.zeros(i.size) for i in data.instruments)
    # Where windows were intersected, the ends belong to different answers, and no cavity to each.
    at_cavities = force is None and not layout.is_intersected
    if instruments and at_cavities:
        own = _by_cavities(data, layout, state)
    elif instruments:
        own = _by_differences(mean, kernel, data, inference, state.sites)
    pull = state.alpha if force is None else state.alpha + force
    G, diagonal = _covariance_gradient(state, force)
    if instruments and at_cavities:
        own = tuple(a + b for a, b in zip(own, _gaussian_noise(data, layout, state, diagonal), strict=True))
    spread = G if layout.direct else layout.spread(np.ascontiguousarray(layout.spread(G).T)).T
    return Evidence(
        solution.log_evidence,
        kernel_back(spread),
        mean_back(layout.spread(pull)),
        own,
        solution.sites,
        solution.convergence,
        jitter,
    )


def _by_engine(mean: Mean, kernel: Kernel, data: Data, engine: Engine, start: Start) -> Evidence:
    """As an engine has it. Its belief is where the next one may start from, unless that keeps a matrix of all answers
    in memory, here or on workers, which is used up here."""
    layout = data.layout
    belief = engine.believe(mean, kernel, layout, None if isinstance(start, Sites) else start)
    later: Start
    if isinstance(belief, DenseBelief | DistributedBelief):
        value, found, later = belief.log_evidence, belief.into_gradient(), None
    else:
        found = belief.gradient()  # some have the evidence for nothing after it
        value, later = belief.log_evidence, belief
    if hasattr(belief, "instrument_gradient"):  # of answers that are not numbers
        own = belief.instrument_gradient()
    else:
        own = tuple(np.zeros(each.size) for each in data.instruments)
        for instrument, owner, _, rows in layout.sources:
            if instrument.gaussian and instrument.size:
                own[owner][:] += float(found.noise[rows[:, 0]].sum())
    jitter = float(getattr(belief, "jitter", 0.0))
    error = float(getattr(belief, "evidence_error", 0.0))
    return Evidence(value, found.kernel, found.mean, own, later, belief.convergence, jitter, error)


def _covariance_gradient(state: Conditioned, force: Array | None) -> tuple[Array, Array]:
    """dL/dC as an upper triangle with doubled off-diagonal (C is symmetric), and diag(Rᵀ B⁻¹ R); uses up the factor."""
    root, size = state.root, len(state.alpha)
    if size == 0:
        return np.zeros((0, 0)), np.zeros(0)
    inverse = state.factor.into_inverse()
    if root.turns:
        full = np.tril(inverse) + np.tril(inverse, -1).T
        full = root.transposed_times(root.transposed_times(full).T)
        inverse = -np.asfortranarray(np.tril(full))
    else:
        inverse *= -root.scale
        inverse *= root.scale[:, None]
    diagonal = -np.diagonal(inverse)
    inverse = blas.dsyr(1.0, state.alpha, a=inverse, lower=1, overwrite_a=1)
    if force is not None:
        inverse = blas.dsyr2(1.0, state.alpha, force, a=inverse, lower=1, overwrite_a=1)
    inverse.T.flat[:: size + 1] *= 0.5
    return inverse.T, diagonal


def _by_cavities(data: Data, layout: Layout, state: Conditioned) -> tuple[Array, ...]:
    """Σ ∂ log Ẑ/∂θ over the answers that are not Gaussian, per instrument."""
    out = [np.zeros(i.size) for i in data.instruments]
    for instrument, owner, answers, rows in layout.sources:
        if instrument.gaussian or not instrument.size:
            continue
        for term in instrument.split(answers, rows):
            alone = term.rows.shape[1] == 1
            m, v = cavity(state, term.rows[:, 0]) if alone else block_cavity(state, _block_of(state, term.rows))
            assert isinstance(term.likelihood, Instrument)
            out[owner] += term.likelihood.pullback_theta(term.answers, m, v).sum(axis=0)
    return tuple(out)


def _block_of(state: Conditioned, rows: Rows) -> Block:
    """The sites of these coupled rows, in this order."""
    known = {
        int(own[0]): site for block in state.sites.blocks for own, site in zip(block.rows, block.precision, strict=True)
    }
    return Block(rows, np.stack([known[int(own[0])] for own in rows]))


def _gaussian_noise(data: Data, layout: Layout, state: Conditioned, diagonal: Array) -> tuple[Array, ...]:
    """dL/d log noise = noise² Σ (α_i² − (Rᵀ B⁻¹ R)_ii) over the Gaussian answers, per instrument."""
    out = [np.zeros(i.size) for i in data.instruments]
    for instrument, owner, _, rows in layout.sources:
        if instrument.gaussian and instrument.size:
            alpha, at = state.alpha[rows[:, 0]], diagonal[rows[:, 0]]
            out[owner] += float(np.exp(2.0 * instrument.theta[0]) * np.sum(alpha**2 - at))
    return tuple(out)


def _by_differences(mean: Mean, kernel: Kernel, data: Data, inference: Inference, sites: Sites) -> tuple[Array, ...]:
    """Where sites move with an instrument's parameters too: central differences, warm-started."""
    out = []
    for instrument in data.instruments:
        gradient = np.zeros(instrument.size)
        for i in range(len(gradient)):
            step = np.zeros(len(gradient))
            step[i] = 1e-4
            up, down = (_changed(data, instrument, instrument.theta + s) for s in (step, -step))
            high = log_evidence(mean, kernel, up, inference, sites)
            gradient[i] = (high - log_evidence(mean, kernel, down, inference, sites)) / 2e-4
        out.append(gradient)
    return tuple(out)


def _changed(data: Data, instrument: Instrument, theta: Array) -> Data:
    return data.with_instruments({instrument: instrument.with_theta(theta)})
