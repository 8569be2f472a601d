"""Answers without noise, asked of a value that earlier ones have bounded: what they can still tell.

A Gaussian belief forgets the edges of a window: after the rank "between 0 and 1" it gives weight to 1.1, and would
score the same rank again. The window itself forgets nothing. Where lo ≤ g ≤ hi is known of the very value that is asked
for, the answer is distributed as N(m, v) restricted to the window, with N(m, v) the belief without it (the cavity), and
an answer that is certain given g tells H[answer] bits about the function: none at all if all of the window lies in one
bin.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from gainful.data import Query
from gainful.inference.belief import Belief
from gainful.inference.posterior import Posterior
from gainful.information.entropy import of_probabilities
from gainful.instruments import Instrument
from gainful.instruments.answers import DiscreteAnswers
from gainful.numerics.normal import log_ndtr_between

__all__ = ["entropy_if_answered", "unanswered"]

Array = NDArray[np.float64]


def unanswered(posterior: Posterior, queries: Sequence[Query]) -> list[Query]:
    """The queries without those whose answer follows from what was told."""
    return [query for query in queries if not _is_answered(posterior, query)]


def _is_answered(posterior: Posterior, query: Query) -> bool:
    left = entropy_if_answered(posterior, query.instrument, query.place[None])
    return left is not None and bool(left[0] == 0.0)


def entropy_if_answered(belief: Posterior | Belief, instrument: Instrument, places: ArrayLike) -> Array | None:
    """H[answer] in bits where a window is known of the value that is asked for, NaN elsewhere, (M,).

    None where that cannot be: the instrument has noise, or no answer so far was without it. Draws of the latent values
    know it everywhere.

    >>> import gainful as gf
    >>> rank = gf.Ordinal([0.0, 1.0], noise=0.0)
    >>> belief = gf.GP(gf.SE()).condition(gf.Data().add(rank, [[0.0]], [2]))
    >>> entropy_if_answered(belief, rank, [[0.0], [1.0]]).tolist()
    [0.0, nan]
    """
    channel = instrument.channel() if instrument.is_certain else None
    if channel is None or not channel.is_discrete or channel.any_of:
        return None
    if isinstance(belief, Posterior) and belief.draws is not None:  # which forget no edge
        predicted = belief.answers(instrument, places)
        assert isinstance(predicted, DiscreteAnswers)
        return of_probabilities(predicted.log_probabilities) + 0.0
    if isinstance(belief, Posterior):
        belief = Belief([belief])
    parts = belief.each(instrument, places)
    windows = parts[0].posterior.known_windows(instrument, places)
    if windows is None:
        return None
    out, logs = np.full(windows.total, np.nan), []
    for part in parts:
        mine, own = part.posterior.known_windows(part.instrument, places), part.instrument.channel()
        assert mine is not None  # the same answers, whatever the hyperparameters
        assert own is not None
        edges = np.concatenate([[-np.inf], own.bounds, [np.inf]])
        low, high = np.maximum(edges[:-1], mine.low[:, None]), np.minimum(edges[1:], mine.high[:, None])
        possible, m, sd = low < high, mine.mean[:, None], np.sqrt(mine.variance)[:, None]
        a, b = np.where(possible, (low - m) / sd, 0.0), np.where(possible, (high - m) / sd, 1.0)
        each = np.where(possible, log_ndtr_between(a, b), -np.inf)
        with np.errstate(divide="ignore"):
            logs.append(each - logsumexp(each, axis=1, keepdims=True) + np.log(part.weight))
    out[windows.queries] = of_probabilities(logsumexp(logs, axis=0)) + 0.0  # never −0
    return out
