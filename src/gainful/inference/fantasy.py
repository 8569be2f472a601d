"""Fantasy posterior: what will be believed when pending queries are answered, whatever the answers are.

Each pending query becomes a Gaussian site on what it sees, g ~ N(m, V): one value, a difference, or k values. The site
leaves the mean where it is and the covariance that is expected to be left, E_y Cov[g | y] = V + V D V with D = E_y[d2]:

    Λ = (E_y Cov[g | y])⁻¹ − V⁻¹ = −(I + D V)⁻¹ D,     ν = Λ m

For numbers that is exact. For other answers it matches what they leave on average. The answers that the fantasy's data
show are the likeliest ones, for acquisitions that look at measured answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gainful.data import Batch, Data, Query
from gainful.inference.conditioned import condition_on
from gainful.inference.convergence import Convergence, Result
from gainful.inference.posterior import Posterior
from gainful.inference.sites import Block, Sites
from gainful.inference.solution import Solution, WarmStart
from gainful.instruments.base import Instrument
from gainful.layout import Layout

__all__ = ["expected_sites", "fantasize"]

Array = NDArray[np.float64]


def fantasize(belief: Posterior, pending: Sequence[Query]) -> Posterior:
    """The belief that counts on the answers to pending queries: the same mean, and less variance.

    >>> import gainful as gf
    >>> prior = gf.GP(gf.SE()).condition(gf.Data())
    >>> sure = fantasize(prior, [gf.Query(gf.Point(noise=0.5), [0.0])])
    >>> sure.mean([[0.0]]).tolist(), sure.variance([[0.0]]).round(6).tolist()
    ([0.0], [0.2])
    """
    if not pending:
        return belief
    data, sites = Data(), []
    for query in pending:
        here = query.place[None]
        m, v = belief.marginals(query.instrument, here)
        precision, likeliest = expected_sites(query.instrument, m, v)
        data = data.join(Data((Batch(query.instrument, here, likeliest),)))
        sites.append((precision[0], m[0]))
    return replace(belief, inference=_Counting(belief.sites, tuple(sites))).condition(data)


def expected_sites(instrument: Instrument, m: Array, v: Array) -> tuple[Array, Array]:
    """Precision Λ of the site that each query's answer is worth, (M,) or (M, k, k), and its likeliest answer.

    Infinite for a number without noise. A query about what is known already gets none.
    """
    tiny = np.finfo(float).tiny
    safe = np.maximum(v, tiny) if v.ndim == 1 else v
    answers, weight = instrument.outcomes(m, safe)
    Q = len(answers)
    p = instrument.log_partition(
        answers.reshape(-1, *answers.shape[2:]), np.concatenate([m] * Q), np.concatenate([safe] * Q)
    )
    share = np.exp(p.log_z).reshape(Q, -1) if weight is None else weight
    d2 = np.where(np.isfinite(p.d2), p.d2, 0.0).reshape(Q, *v.shape)
    likeliest = np.take_along_axis(answers, np.argmax(share, axis=0).reshape(1, -1, *[1] * (answers.ndim - 2)), axis=0)[
        0
    ]
    if v.ndim == 3:
        D = np.einsum("qm,qmij->mij", share, d2)
        precision = -np.linalg.solve(np.eye(v.shape[1]) + D @ v, D)
        return 0.5 * (precision + np.swapaxes(precision, 1, 2)), likeliest
    shrink = np.sum(share * p.shrink.reshape(Q, -1), axis=0)
    pull = -np.sum(share * d2, axis=0)
    with np.errstate(divide="ignore"):
        precision = np.where(v > 0.0, np.maximum(pull, 0.0) / np.maximum(shrink, 0.0), 0.0)
    return precision, likeliest


@dataclass(frozen=True)
class _Counting:
    """The sites so far stay as they are, those of pending queries are given: conditioning and nothing else.

    `counted` are the precision of each pending query's site and the mean that it keeps, in the order of the data.
    """

    known: Sites
    counted: tuple[tuple[Array, Array], ...]

    def solve(self, layout: Layout, mean: Array, cov: Array, start: WarmStart | None = None) -> Solution:
        old = self.known.size
        precision, shift = np.zeros(layout.size), np.zeros(layout.size)
        precision[:old], shift[:old] = self.known.precision, self.known.shift
        blocks, row = list(self.known.blocks), old
        for value, m in self.counted:
            k = 1 if value.ndim == 0 else len(value)
            rows = np.arange(row, row + k)
            if k == 1:
                at = float(value.reshape(-1)[0])
                precision[row], shift[row] = at, float(np.ravel(m)[0]) * (1.0 if np.isinf(at) else at)
            else:
                blocks.append(Block(rows[None], value[None]))
                shift[rows] = value @ m
            row += k
        if start is not None and row < layout.size:  # answers after the fantasy: by what they were first taken for
            precision[row:], shift[row:] = start.sites.precision[row:], start.sites.shift[row:]
            blocks += [block for block in start.sites.blocks if int(block.rows[0, 0]) >= row]
        state = condition_on(Sites(precision, shift, tuple(blocks)), mean, cov)
        return Solution(state, np.nan, Convergence(Result.ASSUMED))  # which has no evidence: nothing was answered
