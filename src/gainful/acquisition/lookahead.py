"""One-step lookahead: the belief after each possible answer of every candidate, by moment matching, without refits.

A query sees g ~ N(m, V), k values (one for a place or a pair). Its answer y has log Z(y) = log ∫ p(y | g) N(g; m, V) dg
with gradient d1 and Hessian d2 in m, and matching the first two moments (assumed-density filtering, ADF: Minka 2001,
3.2; Houlsby et al. 2011, sec. 4) moves the belief about any other value h with covariance c = Cov[h, g] to

    E[h | y] = E[h] + cᵀ d1(y),    Var[h | y] = Var[h] + cᵀ d2(y) c.

For numbers that is the exact posterior. For other answers the mean and variance are those of the belief × likelihood,
exactly; with_full_lookahead by EP would move the older sites too, a little. Summed over answers the law of total
variance holds exactly, because Σ Z(y) = 1 makes E[d1 d1ᵀ + d2] = 0. O(M Q R) for M queries, Q answers and R watched
values.

Answers are all of them where they are few, nodes and weights otherwise (`Instrument.outcomes`). A number's d2 does not
depend on the answer, so what depends on variances alone takes a single one; where means matter it takes the trapezoid
rule over the reading, spaced by a quarter of its spread: exact to rounding for smooth losses like Gauss–Hermite, and
better by an order where a loss has a kink.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.data import Batch, Data
from gainful.inference.belief import Belief, queries_of
from gainful.inference.posterior import Posterior
from gainful.information.watched import Seen, Watched, covariances, see
from gainful.instruments import Instrument, Point, Preference

__all__ = [
    "FullLookahead",
    "OutcomeTable",
    "Step",
    "each_with_full_lookahead",
    "outcome_table",
    "over_steps",
    "steps",
    "with_full_lookahead",
]

Array = NDArray[np.float64]

_SOME = 200_000  # numbers at a time: a few arrays of them fit into the cache
_MANY = 4_000_000  # covariances at a time
_QUERIES = 10_000  # queries whose answers are worked out at a time: an interval has 81 of them


class OutcomeTable(NamedTuple):
    """The possible answers of M queries, as what they do to the k values that each sees.

    weight (M, Q), rows summing to one; d1 (M, Q, k) and d2 (M, Q, k, k) of log Z; shrink (M, Q), 1 + v·d2 without its
    cancellation where k is 1; answers (M, Q, ...), in canonical form; values, the same (Q,) where they are discrete.
    """

    weight: Array
    d1: Array
    d2: Array
    shrink: Array
    answers: Array
    values: tuple[float, ...] | None

    def some(self, part: slice) -> OutcomeTable:
        weight, d1, d2, shrink, answers, values = self
        return OutcomeTable(weight[part], d1[part], d2[part], shrink[part], answers[part], values)


def outcome_table(instrument: Instrument, m: Array, v: Array, means: bool = True) -> OutcomeTable:
    """All answers, or quadrature nodes for them, when the instrument sees N(m, v); (M,) each, or (M, k), (M, k, k).

    Without `means` only E[d2] and functions of d2 are wanted, for which a number needs one node (its d1 is then 0).

    >>> import gainful as gf
    >>> ahead = outcome_table(gf.Binary(), np.array([0.0]), np.array([3.0]))
    >>> ahead.weight.round(6).tolist(), ahead.d1[0, :, 0].round(4).tolist(), ahead.d2[0, :, 0, 0].round(4).tolist()
    ([[0.5, 0.5]], [-0.3989, 0.3989], [-0.1592, -0.1592])
    """
    answers, weight = instrument.outcomes(m, v, means)
    Q, nodes = len(answers), answers.reshape(-1, *answers.shape[2:])
    p = instrument.log_partition(nodes, np.concatenate([m] * Q), np.concatenate([v] * Q))
    log_z, d1, d2, shrink, given = (np.swapaxes(x.reshape(Q, len(m), *x.shape[1:]), 0, 1) for x in (*p[:4], nodes))
    if d1.ndim == 2:
        d1, d2 = d1[..., None], d2[..., None, None]
    elif d1.shape[-1] == 1:  # a set of one place is a place, but says nothing of shrink
        shrink = 1.0 + v[:, :, 0] * d2[..., 0, 0]
    return OutcomeTable(np.exp(log_z) if weight is None else weight.T, d1, d2, shrink, given, instrument.values)


@dataclass(frozen=True, eq=False)
class Step:
    """Some of the queries, their answers, and the covariance (M, k, R) of what they see with what is watched."""

    outcome_table: OutcomeTable
    seen: Seen
    watched: Watched
    cross: Array

    @property
    def mean(self) -> Array:
        """E[h | y] = E[h] + cᵀ d1, (M, Q, R)."""
        if self.cross.shape[1] == 1:
            return self.watched.mean + self.outcome_table.d1 * self.cross
        return self.watched.mean + self.outcome_table.d1 @ self.cross

    @property
    def variance(self) -> Array:
        """Var[h | y] = Var[h] + cᵀ d2 c, (M, Q, R); rounding must not leave it negative."""
        if self.cross.shape[1] == 1:
            out = self.watched.variance + self.outcome_table.d2[..., 0] * self.cross**2
        else:
            out = self.watched.variance + np.einsum("mqkl,mkr,mlr->mqr", self.outcome_table.d2, self.cross, self.cross)
        return np.maximum(out, 0.0, out=out)

    @property
    def own(self) -> tuple[Array, Array]:
        """Mean and variance (M, Q) of what each query sees, after its own answer, where that is one value."""
        v = self.seen.cov[:, :, 0]
        return self.seen.mean + v * self.outcome_table.d1[..., 0], v * self.outcome_table.shrink

    def expected(self, values: Array) -> Array:
        """Σ_y P(y) values(y) for values (M, Q), (M,)."""
        return np.asarray(np.einsum("mq,mq->m", self.outcome_table.weight, values))


class FullLookahead(Posterior):
    """A posterior that looks ahead by conditioning on each answer in full, older sites and all, instead of one step.

    Exact for what EP is exact for, and as slow as that many answers are; those already tried are remembered.
    """

    @cached_property
    def _tried(self) -> dict[tuple[Instrument, bytes, bytes], Posterior]:
        return {}

    def after(self, instrument: Instrument, query: Array, answer: Array) -> Posterior:
        """The posterior after this answer, in canonical form, to one query."""
        key = instrument, query.tobytes(), answer.tobytes()
        if key not in self._tried:
            self._tried[key] = self.condition(Data((Batch(instrument, query[None], answer[None]),)))
        return self._tried[key]


def each_with_full_lookahead(belief: Posterior | Belief) -> FullLookahead | Belief:
    """The same belief, looking ahead in full; of several posteriors, each of them."""
    if isinstance(belief, Posterior):
        return with_full_lookahead(belief)
    return belief.again([with_full_lookahead(p) for p in belief.posteriors], belief.weights)


def with_full_lookahead(belief: Posterior) -> FullLookahead:
    """The same belief, looking ahead in full."""
    return FullLookahead(belief.prior_mean, belief.kernel, belief.data, belief.solution, belief.inference)


@dataclass(frozen=True, eq=False)
class FullStep(Step):
    """The same, with moments (M, Q, R), and those of what the query itself sees (M, Q), from conditioning in full."""

    means: Array
    variances: Array
    owns: tuple[Array, Array]

    @property
    def mean(self) -> Array:
        return self.means

    @property
    def variance(self) -> Array:
        return self.variances

    @property
    def own(self) -> tuple[Array, Array]:
        return self.owns


def _full_step(belief: FullLookahead, instrument: Instrument, queries: Array, step: Step) -> FullStep:
    """Conditioning on every answer of these queries; one that cannot be keeps its step, which counts for nothing."""
    sees: Instrument = Point() if step.watched.queries.ndim == 2 else Preference()
    means, variances = step.mean, step.variance
    one_value = instrument.query != "set"
    own = step.own if one_value else (np.zeros(0), np.zeros(0))
    for i, q in np.argwhere(step.outcome_table.weight > 0.0):
        after = belief.after(instrument, queries[i], step.outcome_table.answers[i, q])
        if len(step.watched):
            means[i, q], variances[i, q] = after.marginals(sees, step.watched.queries)
        if one_value:
            mean, variance = after.marginals(instrument, queries[i : i + 1])
            own[0][i, q], own[1][i, q] = mean[0], variance[0]
    return FullStep(step.outcome_table, step.seen, step.watched, step.cross, means, variances, own)


def over_steps(
    belief: Posterior,
    instrument: Instrument,
    places: ArrayLike,
    watched: Watched,
    reduce: Callable[[Step], Array],
    *,
    means: bool = False,
) -> Array:
    """What `reduce` makes of the step of each query, (M,)."""
    out = np.zeros(len(queries_of(belief, instrument, places)))
    for part, step in steps(belief, instrument, places, watched, means=means):
        out[part] = reduce(step)
    return out


def steps(
    belief: Posterior, instrument: Instrument, places: ArrayLike, watched: Watched, *, means: bool = True
) -> Iterator[tuple[slice, Step]]:
    """The queries a few at a time, so that arrays (M, Q, R) of them fit into memory, whatever M and R are.

    Of a `FullLookahead` belief every query and answer is conditioned on in full.
    """
    queries = queries_of(belief, instrument, places)
    again = belief if isinstance(belief, FullLookahead) else None
    means = means or again is not None  # then variances depend on a number, too
    many = max(1, min(_MANY // max(len(watched), 1), _QUERIES))
    for i in range(0, len(queries), many):
        part = queries[i : i + many]
        seen = see(belief, instrument, part)
        cross = covariances(belief, instrument, part, watched)
        cross[seen.known] = 0.0
        k = cross.shape[1]
        shown = (seen.mean[:, 0], seen.cov[:, 0, 0]) if instrument.query != "set" else (seen.mean, seen.cov)
        ahead = outcome_table(instrument, *shown, means=means)
        some = max(1, _SOME // max(ahead.weight.shape[1] * max(len(watched), k * k), 1))
        for j in range(0, len(part), some):
            few, end = slice(j, j + some), min(i + j + some, i + len(part))
            step = Step(ahead.some(few), seen.some(few), watched, cross[few])
            yield slice(i + j, end), step if again is None else _full_step(again, instrument, part[few], step)
