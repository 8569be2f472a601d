"""One parallel EP sweep: cavities, tilted moments, and the updated site parameters.

The cavity is the belief about an observation's row(s) of g without its own site, N(μ_c, v_c); the tilted distribution
is cavity × likelihood. The new site makes the belief match the tilted mean and variance (Minka 2001; Rasmussen &
Williams 2006, sec. 3.6; Fletcher 2022, sec. 3):

    τ = −d2/ρ,   ν = (d1 − μ_c d2)/ρ,   ρ = tilted variance / v_c

with d1, d2 the derivatives of log Ẑ, the log normaliser of the tilted distribution, in μ_c. Cavities come from
leave-one-out identities instead of differences of precisions, which lose every digit for narrow intervals:

    b = s (B⁻¹)_ii,   v_c = Var[g_i]/b,   μ_c = E[g_i] − v_c α_i

and with them the evidence needs no large terms that cancel. The observations that are not Gaussian contribute to it

    log_z = Σ_i log Ẑ_i − ½ log b_i − ½ α_i (μ_c,i − m_i)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainful.errors import NumericalError
from gainful.inference.compressed import Compressed
from gainful.inference.conditioned import Conditioned
from gainful.inference.sites import Block, Sites
from gainful.inference.solution import is_block
from gainful.instruments.base import Instrument, Partition, Rows, Term
from gainful.layout import Layout

Array = NDArray[np.float64]
_TINY = 1e-300


class Tilted(NamedTuple):
    """Cavities N(m, v) of the uncoupled observations of one term, and the log normalisers of the tilted distributions
    with their derivatives."""

    term: Term
    m: Array
    v: Array
    partition: Partition


class Sweep(NamedTuple):
    """What one sweep finds: the updated sites, its part of the log evidence, the worst mismatch of tilted and fitted
    moments (in standard deviations), and the tilted distributions in the order of `Layout.scalar_rows`."""

    sites: Sites
    log_z: float
    residual: float
    tilted: tuple[Tilted, ...]


def sweep(layout: Layout, state: Conditioned | Compressed, clip_negative: bool = False) -> Sweep:
    """Update every site once, from the same belief.

    With `clip_negative`, a site that would have a negative precision gets none and matches the tilted mean alone.
    """
    precision, shift = state.sites.precision.copy(), state.sites.shift.copy()
    total, residual = 0.0, 0.0
    blocks: list[Block] = []
    every: list[Tilted] = []
    for term in layout.terms:
        if is_block(term):
            block = state.sites.blocks[len(blocks)]
            new, pull, log_z, off = _update_block(state, term, block, clip_negative)
            blocks.append(new)
            shift[term.rows] = pull
        elif not term.likelihood.gaussian:
            rows = term.rows[:, 0]
            precision[rows], shift[rows], log_z, off, tilted = _update(state, term, rows, clip_negative)
            every.append(tilted)
        else:
            continue
        total += log_z
        residual = max(residual, off)
    return Sweep(Sites(precision, shift, tuple(blocks)), total, residual, tuple(every))


def cavity(state: Conditioned | Compressed, rows: Rows) -> tuple[Array, Array]:
    """Mean and variance of g_i without site i, for uncoupled rows, (n,) each."""
    v = np.maximum(state.variance[rows], 0.0) / state.cavity_ratio[rows]
    return state.mean[rows] - v * state.alpha[rows], v


def matching_site(p: Partition, m: Array) -> tuple[Array, Array]:
    """τ and ν, (n,) each, that give cavities of mean m the moments of cavity × likelihood."""
    return -p.d2 / p.shrink, (p.d1 - m * p.d2) / p.shrink


def block_cavity(state: Conditioned | Compressed, block: Block) -> tuple[Array, Array]:
    """Mean (n, k) and covariance (n, k, k) of coupled rows without their own site.

    Σ (I − ΛΣ)⁻¹ = (Σ⁻¹ − Λ)⁻¹ without inverting Σ, which is singular when two places of a set coincide.
    """
    cov = state.block_covariance(block.rows)
    v = np.linalg.solve(np.eye(block.rows.shape[1]) - cov @ block.precision, cov)
    v = _symmetric(v)
    return state.mean[block.rows] - np.einsum("nij,nj->ni", v, state.alpha[block.rows]), v


def _noise(term: Term) -> float:
    """Of the readings behind coupled answers; one where there are none."""
    channel = term.likelihood.channel() if isinstance(term.likelihood, Instrument) else None
    return 1.0 if channel is None else channel.noise


def _symmetric(matrices: Any) -> Array:
    return np.asarray(0.5 * (matrices + np.swapaxes(matrices, 1, 2)))


def _update(
    state: Conditioned | Compressed, term: Term, rows: Rows, clip_negative: bool
) -> tuple[Array, Array, float, float, Tilted]:
    """New precision and shift of uncoupled rows, their part of the log evidence, the worst mismatch of moments, and the
    tilted distributions."""
    ratio, alpha = state.cavity_ratio[rows], state.alpha[rows]
    proper = ratio > 0.0
    everywhere = bool(proper.all())
    if not everywhere:
        ratio = np.where(proper, ratio, 1.0)
    v = np.maximum(state.variance[rows], _TINY) / ratio  # a value known for certain has a cavity of no width
    m = state.mean[rows] - v * alpha
    p = term.likelihood.log_partition(term.answers, m, v)
    if not p.log_z.min(initial=0.0) > -1e200:
        raise NumericalError(
            "an answer is impossible under what the others make certain: its probability is zero in double precision; "
            "give its instrument noise (or a lapse rate), or remove the contradiction"
        )
    precision, shift = matching_site(p, m)
    tilted = Tilted(term, m, v, p)
    log_z = float(np.sum(p.log_z - 0.5 * np.log(ratio) - 0.5 * alpha * (m - state.prior_mean[rows])))
    in_mean = np.sqrt(v / p.shrink) * np.abs(p.d1 - alpha)
    in_variance = np.abs(p.shrink / ratio - 1.0)
    if clip_negative:
        clipped = p.d2 > 0.0
        precision, shift = np.where(clipped, 0.0, precision), np.where(clipped, p.d1, shift)
        in_variance[clipped] = 0.0
    certain = state.variance[rows] <= 0.0
    if certain.any():  # any site matches: take the one that does nothing
        precision, shift = np.where(certain, 0.0, precision), np.where(certain, 0.0, shift)
        in_mean[certain], in_variance[certain] = 0.0, 0.0
    if not everywhere:
        precision = np.where(proper, precision, state.sites.precision[rows])
        shift = np.where(proper, shift, state.sites.shift[rows])
        return precision, shift, log_z, np.inf, tilted
    return precision, shift, log_z, max(float(in_mean.max(initial=0.0)), float(in_variance.max(initial=0.0))), tilted


def _update_block(
    state: Conditioned | Compressed, term: Term, block: Block, clip_negative: bool
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
    clipped = np.zeros(len(m), dtype=bool)
    if clip_negative:
        values, vectors = np.linalg.eigh(wanted)
        clipped = values[:, 0] < 0.0
        lifted = (vectors * np.maximum(values, 0.0)[:, None, :]) @ np.swapaxes(vectors, 1, 2)
        wanted = np.where(clipped[:, None, None], lifted, wanted)
        tilted_mean = m + np.einsum("nij,nj->ni", safe, p.d1)
        pull = np.where(clipped[:, None], p.d1 + np.einsum("nij,nj->ni", wanted, tilted_mean), pull)
    alpha, prior = state.alpha[block.rows], state.prior_mean[block.rows]
    # det of b for a block: I − ΛΣ = (I + ΛV)⁻¹.
    log_ratio = -np.linalg.slogdet(eye + block.precision @ safe)[1]
    log_z = p.log_z - 0.5 * log_ratio - 0.5 * np.einsum("ni,ni->n", alpha, m - prior)
    tilted = safe + safe @ p.d2 @ safe
    fitted = state.block_covariance(block.rows)
    # What is known to 1e-4 of the likelihood's own noise need not be matched any better.
    scale = np.sqrt(np.maximum(np.diagonal(fitted, axis1=1, axis2=2), 1e-8 * _noise(term) ** 2))
    in_mean = np.abs(np.einsum("nij,nj->ni", safe, p.d1 - alpha)) / scale
    in_variance = np.abs(tilted - fitted) / (scale[:, :, None] * scale[:, None, :])
    in_variance[clipped] = 0.0
    off = max(float(np.max(in_mean, initial=0.0)), float(np.max(in_variance, initial=0.0)))
    return Block(block.rows, np.asarray(wanted)), pull, float(np.sum(log_z)), off if bool(proper.all()) else np.inf
