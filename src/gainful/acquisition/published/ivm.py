"""The informative vector machine: how much one more answer sharpens the Gaussian belief (Lawrence et al. 2003;
Houlsby et al. 2011, sec. 4).

An answer at x becomes a Gaussian site by matching moments with what is believed now (assumed-density filtering, ADF),
which turns the variance v of what the instrument sees into v·shrink. The entropy of the Gaussian belief falls by

    ΔH = −½ log2 shrink       or of a set  −½ log2 det(I + V ∇∇log Z)       bits,

wherever else it is looked at: other places have their distribution given g, which the site leaves alone.

The IVM was made to thin out data whose answers are there: it sees the y values, and Houlsby et al. 2011 compare with it
like that (it then chooses from one class more than from the other). To choose what to measure the answer must not be
known, and ΔH is averaged over the answers that are predicted, as in their eq. 1. Both are here. The first is no active
learning, and a comparison should say which was used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.acquisition.parts import averaged
from gainful.checks import column_names, numbers, require_columns
from gainful.data import as_queries
from gainful.errors import InvalidInput
from gainful.inference.belief import Belief, queries_of
from gainful.inference.posterior import Posterior
from gainful.information.about import Reference
from gainful.information.single import information_given
from gainful.information.watched import require_posterior
from gainful.instruments import Instrument
from gainful.instruments.answers import DiscreteAnswers

__all__ = ["IVM", "entropy_decrease"]

Array = NDArray[np.float64]


def entropy_decrease(instrument: Instrument, answers: Array, m: Array, v: Array) -> Array:
    """ΔH in bits of the Gaussian belief N(m, v) by an ADF step on each answer, (M,).

    For log-concave likelihoods it is never negative; with guess or lapse rates a surprising answer may widen a belief.

    >>> from gainful.instruments import Binary
    >>> entropy_decrease(Binary(), np.ones(1), np.zeros(1), np.ones(1)).round(4).tolist()
    [0.2763]
    """
    if m.ndim == 2:
        step = instrument.log_partition(answers, m, v)
        return np.asarray(-0.5 * np.linalg.slogdet(np.eye(m.shape[1]) + v @ step.d2)[1] / np.log(2.0))
    step = instrument.log_partition(answers, m, np.maximum(v, np.finfo(float).tiny))
    with np.errstate(divide="ignore"):
        return np.where(v > 0.0, -0.5 * np.log2(step.shrink), 0.0)


@dataclass(frozen=True)
class IVM:
    """Bits by which the Gaussian belief is expected to sharpen; with known answers, by which it will.

    IVM() averages over the predicted answers. IVM(pool, answers) is the original: `answers` (P,) are those of the
    pool's queries (P, ...), and only these can be scored; where the pool has several answers for one query, by their
    mean. An interval's average is not available (its answers are a continuum); a number's ΔH does not depend on the
    answer, and is the information. Of several posteriors it is the average: each has the entropy of one Gaussian.

    >>> import gainful as gf
    >>> prior = gf.GP(gf.SE(), gf.ConstantMean(1.0)).condition(gf.Data())
    >>> IVM().score(prior, gf.Binary(), [[0.0]]).round(4).tolist()
    [0.225]
    >>> IVM([[0.0], [3.0]], [True, False]).score(prior, gf.Binary(), [[0.0], [3.0]]).round(4).tolist()
    [0.1867, 0.3466]
    """

    pool: Any = None
    answers: Any = None

    def __post_init__(self) -> None:
        if (self.pool is None) != (self.answers is None):
            raise InvalidInput(
                "pool, answers", "both, or neither", (self.pool, self.answers), "IVM() averages over the answers"
            )
        if self.pool is not None:  # plain values, which can be compared and written to a journal
            pool = numbers("pool", self.pool, "numbers, one row per query")
            if pool.ndim not in (2, 3) or not pool.size or not np.isfinite(pool).all():
                got = f"shape {pool.shape}" if np.isfinite(pool).all() else "what is not finite"
                raise InvalidInput("pool", "queries (P, d), (P, 2, d) or (P, k, d), finite", got, "one row per query")
            object.__setattr__(self, "pool", Reference(_plain(pool.tolist()), column_names(self.pool)))
            answers = numbers("answers", self.answers, "an answer for each query of the pool", booleans=True)
            shaped = answers.shape in ((len(self.pool),), (len(self.pool), 2))  # an interval is two numbers
            if not shaped or np.isnan(answers).any():
                got = "NaN among them" if shaped else f"shape {answers.shape}"
                raise InvalidInput("answers", f"{len(self.pool)} answers, one for each query", got, "match the pool")
            object.__setattr__(self, "answers", _plain(answers.tolist()))

    def score(self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike) -> Array:
        if isinstance(belief, Belief):
            return averaged(self, belief, instrument, places)
        require_posterior(belief)
        require_columns("pool", column_names(self.pool), belief.data.columns)
        m, v = belief.marginals(instrument, places)
        if instrument.gaussian:
            return information_given(instrument, m, v)
        if self.pool is not None:
            return self._known(instrument, queries_of(belief, instrument, places), m, v)
        predicted = instrument.predict(m, v) if instrument.values is not None else None
        if not isinstance(predicted, DiscreteAnswers):
            raise InvalidInput(
                "instrument", "one with a few answers, or a Point", instrument, "use Learn(), or give the answers"
            )
        total = np.zeros(len(m))
        for k, value in enumerate(predicted.values):
            p = predicted.probabilities[:, k]
            likely = p > 0.0  # an impossible answer has no site
            decrease = entropy_decrease(instrument, np.full(int(likely.sum()), value), m[likely], v[likely])
            total[likely] += p[likely] * decrease
        return total

    def _known(self, instrument: Instrument, queries: Array, m: Array, v: Array) -> Array:
        pool, _ = as_queries(instrument, self.pool)
        answers = instrument.validate(self.answers, len(pool))
        known: dict[bytes, list[int]] = {}
        for i, query in enumerate(pool + 0.0):
            known.setdefault(query.tobytes(), []).append(i)
        total = np.zeros(len(m))
        rows = [known.get(query.tobytes(), []) for query in queries + 0.0]
        missing = [i for i, mine in enumerate(rows) if not mine]
        if missing:
            raise InvalidInput(
                "places", "queries of the pool, whose answers are known", queries[missing[0]].tolist(),
                "IVM() averages over the answers instead",
            )  # fmt: skip
        case = np.repeat(np.arange(len(m)), [len(mine) for mine in rows])
        share = 1.0 / np.array([len(mine) for mine in rows], dtype=float)
        decrease = entropy_decrease(instrument, answers[[i for mine in rows for i in mine]], m[case], v[case])
        np.add.at(total, case, decrease * share[case])
        return total


def _plain(values: Any) -> Any:
    return tuple(_plain(each) for each in values) if isinstance(values, list) else values
