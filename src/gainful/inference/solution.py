"""What every kind of inference starts from and ends in: sites, the belief about g, the evidence, and how it went."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gainful.inference.adjusted import Response
from gainful.inference.conditioned import Conditioned
from gainful.inference.convergence import Convergence
from gainful.inference.draws import Draws
from gainful.inference.sites import Block, Sites
from gainful.instruments.base import Instrument, Rows, Term
from gainful.layout import Layout
from gainful.numerics.lowrank import LowRank

Array = NDArray[np.float64]
_LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True)
class Solution:
    """The belief about g, the log evidence, how the iteration went, and a low-rank root of g's covariance if one was
    looked for.

    `implicit_force` gives u (F,) where the sites move with the hyperparameters and the evidence is not stationary in
    them: dL/dm gains u and dL/dC gains α uᵀ. It is None where the evidence is stationary (exact inference, EP).
    """

    state: Conditioned
    log_evidence: float
    convergence: Convergence
    low: LowRank | None = None
    implicit_force: Callable[[], Array] | None = None
    draws: Draws | None = None  # of the latent values, where inference was by sampling
    respond: Callable[[], Response | None] | None = None  # how spreads are to be corrected, worked out when first asked

    @property
    def sites(self) -> Sites:
        return self.state.sites


@dataclass(frozen=True)
class WarmStart:
    """Where an iteration may begin: sites, and what else is known of an earlier belief.

    `before`: the belief without the answers that are new, whose sites come last; `low`: the low-rank root of the
    covariance of g that was known then, if one was looked for.
    """

    sites: Sites
    before: Conditioned | None = None
    low: LowRank | None = None


class Inference(Protocol):
    """Prior mean (F,) and covariance (F, F) of g, and the data -> a solution; `start` need not be used."""

    def solve(self, layout: Layout, mean: Array, cov: Array, start: WarmStart | None = None) -> Solution: ...


def as_start(start: WarmStart | Sites | None) -> WarmStart | None:
    """Bare sites as a warm start."""
    return WarmStart(start) if isinstance(start, Sites) else start


def is_block(term: Term) -> bool:
    """Whether the term couples several rows of g."""
    return term.rows.shape[1] > 1


def gaussian_sites(layout: Layout) -> Sites:
    """Sites of the Gaussian answers, and nothing yet for the others: the start of every iteration, the end of exact
    inference."""
    precision, shift = np.zeros(layout.size), np.zeros(layout.size)
    blocks = []
    for term in layout.terms:
        if is_block(term):
            k = term.rows.shape[1]
            blocks.append(Block(term.rows, np.zeros((len(term.rows), k, k))))
        elif term.likelihood.gaussian:
            rows = term.rows[:, 0]
            y, noise = _readings(term).T
            square = np.where(noise > 0.0, noise, 1.0) ** 2
            precision[rows] = np.where(noise > 0.0, 1.0 / square, np.inf)
            shift[rows] = y / square  # the value itself where it is without noise
    return Sites(precision, shift, tuple(blocks))


def _readings(term: Term) -> Array:
    """(y, noise) of every answer of a Gaussian term, (n, 2)."""
    assert isinstance(term.likelihood, Instrument)
    return term.likelihood.reading(term.answers)


def transfer_sites(old: Sites, layout: Layout, kept: Rows) -> Sites:
    """Sites for a new layout whose first rows are the rows `kept` of the old one: a warm start after adding or
    removing."""
    fresh = gaussian_sites(layout)
    precision, shift = fresh.precision.copy(), fresh.shift.copy()
    precision[: len(kept)], shift[: len(kept)] = old.precision[kept], old.shift[kept]
    known = {int(r[0]): p for block in old.blocks for r, p in zip(block.rows, block.precision, strict=True)}
    blocks = []
    for block in fresh.blocks:
        values = block.precision.copy()
        for i, first in enumerate(block.rows[:, 0]):
            if first < len(kept):
                values[i] = known[int(kept[first])]
        blocks.append(Block(block.rows, values))
    return Sites(precision, shift, tuple(blocks))


def starting_sites(start: WarmStart | None, layout: Layout) -> Sites:
    """Sites to begin from: the given ones, with the Gaussian answers' as their instruments say now (noise may have
    changed)."""
    fresh = gaussian_sites(layout)
    if start is None:
        return fresh
    precision, shift = start.sites.precision.copy(), start.sites.shift.copy()
    for term in layout.terms:
        if term.likelihood.gaussian:
            rows = term.rows[:, 0]
            precision[rows], shift[rows] = fresh.precision[rows], fresh.shift[rows]
    if layout.is_intersected:  # a row that another speaks for has no site, whatever it had before
        silent = np.setdiff1d(np.arange(layout.size), np.concatenate([term.rows.ravel() for term in layout.terms]))
        precision[silent], shift[silent] = 0.0, 0.0
    return Sites(precision, shift, start.sites.blocks)


def gaussian_evidence(layout: Layout, state: Conditioned) -> float:
    """−½ log|B| and the terms of the Gaussian rows: all of the log evidence when there are no others."""
    total = -0.5 * state.log_det
    root = state.root
    for term in layout.terms:
        if term.likelihood.gaussian:
            rows = term.rows[:, 0]
            misfit = state.alpha[rows] @ (_readings(term)[:, 0] - state.prior_mean[rows])
            total += float(np.sum(np.log(root.scale[rows])) - 0.5 * (len(rows) * _LOG_2PI + misfit))
    return float(total)
