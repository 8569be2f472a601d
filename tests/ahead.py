"""The belief after one more answer, the slow ways: by a refit from scratch, and by one moment-matching step by hand.

By hand, the evidence and the moments of the answered value come from integrating its likelihood (oracles), and the rest
from the regression of jointly normal values on it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import oracles
from numpy.typing import NDArray

import gainful as gf

Array = NDArray[np.float64]


class After(NamedTuple):
    """P(answer), and mean (P,) and covariance (P, P) of f at places once it is given; the query's own places last."""

    weight: float
    mean: Array
    cov: Array


def problem(n: int = 16, candidates: int = 12, reference: int = 20, seed: int = 3) -> tuple[gf.Posterior, Array, Array]:
    """A posterior of n yes/no answers on a square, candidates and reference places."""
    rng = np.random.default_rng(seed)
    gp = gf.GP(gf.SE(0.6, 4.0))
    X = rng.uniform(0.0, 2.0, (n, 2))
    truth = gp.condition(gf.Data()).sample(X, 1, rng)[0]
    answers = gf.Binary().simulate(truth, rng)
    return gp.condition(gf.Data().add(gf.Binary(), X, answers)), *(
        rng.uniform(0.0, 2.0, (size, 2)) for size in (candidates, reference)
    )


def row_of(instrument: gf.Instrument, size: int) -> Array:
    """What the instrument sees, as a row that picks from the values at places of which its own are the last."""
    row = np.zeros(size)
    row[-1] = 1.0
    if instrument.query == "pair":
        row[-2], row[-1] = 1.0, -1.0
    return row


def by_hand(
    post: gf.Posterior, instrument: gf.Instrument, query: Array, answer: Any, places: Array, digits: bool = False
) -> After:
    """One step of assumed-density filtering; with `digits` its integrals are done in thirty of them, slowly."""
    everywhere = np.concatenate([places, np.atleast_2d(query)])
    mean, cov = post.mean(everywhere), post.covariance(everywhere)
    row = row_of(instrument, len(mean))
    m, v, c = float(row @ mean), float(row @ cov @ row), cov @ row
    values = (0, 1) if instrument.query == "pair" else (0,)
    if digits:
        log_z, tilted_mean, tilted_variance = map(float, oracles.line_moments(instrument, answer, m, v))
    else:
        log_z, tilted_mean, tilted_variance = oracles._dense_line(oracles.Seen(instrument, answer, values), m, v)
    moved, shrunk = (tilted_mean - m) / v, (tilted_variance - v) / v**2
    return After(float(np.exp(log_z)), mean + c * moved, cov + np.outer(c, c) * shrunk)


def refit(post: gf.Posterior, instrument: gf.Instrument, query: Array, answer: Any, places: Array) -> After:
    """Inference anew, with the answer among the data and nothing kept of the old sites."""
    everywhere = np.concatenate([places, np.atleast_2d(query)])
    data = post.data.add(instrument, np.asarray(query)[None], [answer])
    found = gf.GP(post.kernel, mean=post.prior_mean).condition(data)
    return After(
        by_hand(post, instrument, query, answer, places).weight, found.mean(everywhere), found.covariance(everywhere)
    )
