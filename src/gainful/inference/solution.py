"""What every kind of inference ends in: sites, the belief about g that they give, the evidence, and how it went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gainful.data import Layout
from gainful.inference.compressed import Compressed
from gainful.inference.sites import Block, Conditioned, Sites
from gainful.instruments.base import Rows, Term
from gainful.numerics.lowrank import LowRank

Array = NDArray[np.float64]
_LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True)
class Convergence:
    """Whether an iteration reached its fixed point, after how many steps, how far it still was, and a sentence about
    it."""

    converged: bool
    iterations: int
    residual: float
    message: str

    def __bool__(self) -> bool:
        return self.converged


@dataclass(frozen=True)
class Solution:
    """The belief about g, the log evidence, how the iteration went, and a low-rank root of g's covariance if one was
    looked for."""

    state: Conditioned
    log_evidence: float
    convergence: Convergence
    low: LowRank | None = None

    @property
    def sites(self) -> Sites:
        return self.state.sites


class Inference(Protocol):
    """mean and covariance of g, and the data -> a solution; `start` are sites to begin from."""

    def solve(self, layout: Layout, mean: Array, cov: Array, start: Sites | None = None) -> Solution: ...


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
            rows, noise = term.rows[:, 0], float(getattr(term.likelihood, "noise"))  # noqa: B009 - Gaussian means it has noise
            precision[rows] = 1.0 / noise**2 if noise > 0.0 else np.inf
            shift[rows] = term.answers / noise**2 if noise > 0.0 else term.answers
    return Sites(precision, shift, tuple(blocks))


def carried(old: Sites, layout: Layout, kept: Rows) -> Sites:
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


def warm(start: Sites | None, layout: Layout) -> Sites:
    """Sites to begin from: the given ones, with the Gaussian answers' as their instruments say now (noise may have
    changed)."""
    fresh = gaussian_sites(layout)
    if start is None:
        return fresh
    precision, shift = start.precision.copy(), start.shift.copy()
    for term in layout.terms:
        if term.likelihood.gaussian:
            rows = term.rows[:, 0]
            precision[rows], shift[rows] = fresh.precision[rows], fresh.shift[rows]
    return Sites(precision, shift, start.blocks)


def gaussian_evidence(layout: Layout, state: Conditioned | Compressed) -> float:
    """−½ log|B| and the terms of the Gaussian rows: all of the log evidence when there are no others."""
    total = -0.5 * state.log_det
    root = state.root
    for term in layout.terms:
        if term.likelihood.gaussian:
            rows = term.rows[:, 0]
            misfit = state.alpha[rows] @ (term.answers - state.prior_mean[rows])
            total += float(np.sum(np.log(root.scale[rows])) - 0.5 * (len(rows) * _LOG_2PI + misfit))
    return float(total)
