"""Fantasy posterior: what will be believed when pending queries are answered, whatever the answers are.

Each pending query becomes a Gaussian site on what it sees, g ~ N(m, V): one value, a difference, or k values. The site
leaves the mean where it is and the covariance that is expected to be left, E_y Cov[g | y] = V + V D V with D = E_y[d2]:

    Λ = (E_y Cov[g | y])⁻¹ − V⁻¹ = −(I + D V)⁻¹ D,     ν = Λ m

For numbers that is exact. For other answers it matches what they leave on average. The answers that the fantasy's data
show are the likeliest ones, for acquisitions that look at measured answers.

Of several posteriors the weights move as well, with the answers: `sample_fantasies` draws some, and conditions on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gainful.data import Batch, Data, Query
from gainful.inference.adjusted import Response
from gainful.inference.belief import Belief
from gainful.inference.conditioned import condition_on
from gainful.inference.convergence import Convergence, Result
from gainful.inference.posterior import Posterior
from gainful.inference.sites import Block, Sites
from gainful.inference.solution import Solution, WarmStart
from gainful.instruments.base import Instrument
from gainful.layout import Layout

__all__ = [
    "RESOLUTION",
    "count_on",
    "expected_sites",
    "fantasies",
    "fantasize",
    "is_known",
    "own_queries",
    "sample_fantasies",
]

Array = NDArray[np.float64]

_DRAWS, _MANY = 8, 8  # joint answers drawn, and parts up to which there are so many
RESOLUTION = 1e-12  # of the prior variance: what is left below it after conditioning is rounding


def fantasies(belief: Posterior | Belief, pending: Sequence[Query]) -> tuple[Posterior | Belief, ...]:
    """Beliefs that count on the pending answers, over which a score is averaged: one will do for one posterior."""
    if not pending:
        return (belief,)
    if isinstance(belief, Posterior):
        return (fantasize(belief, pending),)
    return tuple(sample_fantasies(belief, pending))


def own_queries(belief: Belief, s: int, pending: Sequence[Query]) -> list[Query]:
    """The queries as part s of the belief has them: with its own instruments."""
    return [Query(belief.instrument_of(s, query.instrument), query.place, query.number) for query in pending]


def count_on(belief: Posterior | Belief, pending: Sequence[Query]) -> Posterior | Belief:
    """One belief that counts on the pending answers; of several posteriors each does, and the weights are left where
    they are: a first look at what is left."""
    if isinstance(belief, Posterior) or not pending:
        return fantasize(belief, pending) if isinstance(belief, Posterior) else belief
    key = _asked(pending)
    if key not in belief.imagined:
        parts = [fantasize(p, own_queries(belief, s, pending)) for s, p in enumerate(belief.posteriors)]
        belief.imagined[key] = belief.again(parts, belief.weights)
    found: Belief = belief.imagined[key]
    return found


def _asked(pending: Sequence[Query]) -> tuple[tuple[Instrument, bytes], ...]:
    """What is asked, to remember by."""
    return tuple((query.instrument, query.place.tobytes()) for query in pending)


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
        known = is_known(belief, query.instrument.sees(here), v)
        precision, likeliest = expected_sites(query.instrument, m, np.where(known, 0.0, v))
        data = data.join(Data((Batch(query.instrument, here, likeliest),)))
        sites.append((precision[0], _keeping(precision[0], m[0])))
    return replace(belief, inference=_Held(belief.sites, tuple(sites), belief.response)).condition(data)


def _keeping(precision: Array, m: Array) -> Array:
    """The shift of a site that leaves the mean where it is."""
    if np.ndim(precision) == 0:
        return np.asarray(m if np.isinf(precision) else precision * m)
    return np.asarray(precision @ m)


def is_known(posterior: Posterior, queries: Array, v: Array) -> NDArray[np.bool_]:
    """Which queries (M, ...) see what is known already, up to rounding; shaped like their variances (M,), or (M, 1, 1)
    for covariances (M, k, k)."""
    least = _rounding(posterior, queries)
    return v <= least if v.ndim == 1 else (np.trace(v, axis1=1, axis2=2) <= least)[:, None, None]


def _rounding(posterior: Posterior, queries: Array) -> Array:
    """What rounding may leave of the variance of what each query sees, (M,)."""
    flat = queries.reshape(-1, queries.shape[-1])
    prior = np.maximum(posterior.kernel.diag(flat), 0.0).reshape(len(queries), -1).sum(axis=1)
    return np.maximum(RESOLUTION * prior, np.finfo(float).tiny)


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


def sample_fantasies(belief: Belief, pending: Sequence[Query], size: int | None = None, seed: int = 0) -> list[Belief]:
    """The belief after each of `size` joint answers to the pending queries, drawn from it.

    Eight as a rule, and four of a belief of many parts, all of which are conditioned on each answer. The same seed
    draws the same answers, so that scores of different queries are compared on common random numbers.

    >>> import gainful as gf
    >>> parts = [gf.GP(gf.SE(), gf.ConstantMean(m)).condition(gf.Data()) for m in (-9.0, 9.0)]
    >>> after = sample_fantasies(gf.Belief(parts), [gf.Query(gf.Point(noise=1.0), [0.0])], size=2)
    >>> sorted(round(float(each.weights[0])) for each in after)
    [0, 1]
    """
    size = (_DRAWS if len(belief.weights) <= _MANY else _DRAWS // 2) if size is None else size
    key = _asked(pending), size, seed
    if key not in belief.imagined:  # conditioning every part on every draw takes a while
        belief.imagined[key] = _sampled(belief, pending, size, np.random.default_rng(seed))
    return list(belief.imagined[key])


def _sampled(belief: Belief, pending: Sequence[Query], size: int, rng: np.random.Generator) -> list[Belief]:
    # Parts in proportion to their weights, evenly, instead of by chance.
    drawn = np.searchsorted(np.cumsum(belief.weights), (np.arange(size) + 0.5) / size)
    chosen = np.minimum(drawn, len(belief.weights) - 1).tolist()
    return [_after(belief, _imagined(belief, s, pending, rng)) for s in chosen]


def _imagined(belief: Belief, s: int, pending: Sequence[Query], rng: np.random.Generator) -> Data:
    """Answers to the pending queries from one function drawn from part s, by its own instruments."""
    places = [query.seen for query in pending]
    f = belief.posteriors[s].sample(np.concatenate(places), 1, rng)[0]
    data, start = Data(), 0
    for query, mine in zip(pending, places, strict=True):
        values = f[start : start + len(mine)]
        start += len(mine)
        sees = query.instrument.query
        g = values[:1] if sees == "place" else values[:1] - values[1:] if sees == "pair" else values[None]
        answer = belief.instrument_of(s, query.instrument).simulate(g, rng)
        data = data.join(Data((Batch(query.instrument, query.place[None], answer),)))
    return data


def _after(belief: Belief, data: Data) -> Belief:
    """Every part after the answers, one moment-matching step each, weighed by how well it predicted them."""
    parts, logs, held = [], [], np.flatnonzero(belief.weights > 0.0).tolist()
    for s in held:
        posterior, log_p = belief.posteriors[s], float(np.log(belief.weights[s]))
        for batch in data.batches:
            own = replace(batch, instrument=belief.instrument_of(s, batch.instrument))
            posterior, log_z = _filtered(posterior, own)
            log_p += log_z
        parts.append(posterior)
        logs.append(log_p)
    return belief.again(parts, np.exp(np.array(logs) - np.max(logs)), held)


def _filtered(posterior: Posterior, batch: Batch) -> tuple[Posterior, float]:
    """The posterior after one answer by assumed-density filtering, older sites held, and log p(answer)."""
    m, v = posterior.marginals(batch.instrument, batch.X)
    seen = batch.instrument.sees(batch.X)
    known = is_known(posterior, seen, v)
    safe = np.maximum(v, _rounding(posterior, seen)) if v.ndim == 1 else v
    p = batch.instrument.log_partition(batch.answers, m, safe)
    if known.all():  # it can only say how well it was predicted
        return posterior, float(p.log_z[0])
    if v.ndim == 1:
        with np.errstate(divide="ignore"):
            exact = batch.instrument.gaussian and batch.instrument.is_certain
            precision = np.inf if exact else float(-p.d2[0] / p.shrink[0])
        shift = (
            float(batch.instrument.reading(batch.answers)[0, 0])
            if exact
            else float((p.d1[0] - m[0] * p.d2[0]) / p.shrink[0])
        )
        site = np.asarray(precision), np.asarray(shift)
    else:
        grow = np.eye(v.shape[1]) + p.d2[0] @ v[0]
        precision_matrix = -np.linalg.solve(grow, p.d2[0])
        site = 0.5 * (precision_matrix + precision_matrix.T), np.linalg.solve(grow, p.d1[0] - p.d2[0] @ m[0])
    held = replace(posterior, inference=_Held(posterior.sites, (site,), posterior.response))
    return held.condition(Data((batch,))), float(p.log_z[0])


@dataclass(frozen=True)
class _Held:
    """The sites so far stay as they are, those of the answers to come are given: conditioning and nothing else.

    `counted` are the precision and the shift of each new site, in the order of the data; the shift of an infinite
    precision is the answer itself. Spreads are corrected as they were before.
    """

    known: Sites
    counted: tuple[tuple[Array, Array], ...]
    response: Response | None = None

    def solve(self, layout: Layout, mean: Array, cov: Array, start: WarmStart | None = None) -> Solution:
        old = self.known.size
        precision, shift = np.zeros(layout.size), np.zeros(layout.size)
        precision[:old], shift[:old] = self.known.precision, self.known.shift
        blocks, row = list(self.known.blocks), old
        for value, pull in self.counted:
            k = 1 if value.ndim == 0 else len(value)
            rows = np.arange(row, row + k)
            if k == 1:
                precision[row], shift[row] = float(value.reshape(-1)[0]), float(np.ravel(pull)[0])
            else:
                blocks.append(Block(rows[None], value[None]))
                shift[rows] = pull
            row += k
        if start is not None and row < layout.size:  # answers after the fantasy: by what they were first taken for
            precision[row:], shift[row:] = start.sites.precision[row:], start.sites.shift[row:]
            blocks += [block for block in start.sites.blocks if int(block.rows[0, 0]) >= row]
        state = condition_on(Sites(precision, shift, tuple(blocks)), mean, cov)
        # There is no evidence: nothing was answered.
        return Solution(state, np.nan, Convergence(Result.ASSUMED), respond=lambda: self.response)
