"""The laws of acquisition functions, whoever wrote them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gainful.acquisition import Acquisition, score_and_gradient
from gainful.inference.posterior import Posterior
from gainful.instruments import Instrument
from gainful.testing.differences import assert_close

__all__ = ["check_acquisition"]


def check_acquisition(goal: Acquisition, belief: Posterior, instrument: Instrument, places: ArrayLike) -> None:
    """One number per query, which depends on that query alone; the gradient, if there is one, is the derivative.

    >>> import gainful as gf
    >>> check_acquisition(gf.Learn(), gf.GP(gf.SE()).condition(gf.Data()), gf.Binary(), [[0.0], [0.4], [2.0]])
    """
    X = np.array(places, dtype=float)
    scores = goal.score(belief, instrument, X)
    if scores.shape != (len(X),) or np.isnan(scores).any():
        raise AssertionError(f"expected {len(X)} numbers for {len(X)} queries, got {scores!r}")
    order = np.random.default_rng(0).permutation(len(X))
    assert_close(goal.score(belief, instrument, X[order]), scores[order], 1e-9, "a query's score is its own")
    assert_close(goal.score(belief, instrument, X[:1]), scores[:1], 1e-9, "whatever it is scored with")
    own = score_and_gradient(goal, belief, instrument, X)
    if own is None:
        return
    assert_close(own[0], scores, 1e-9, "score and gradient go with the score")
    for i in np.ndindex(*X.shape[1:]):
        step = np.zeros_like(X)
        step[(slice(None), *i)] = 1e-4 * (1.0 + np.ptp(X))
        rise = goal.score(belief, instrument, X + step) - goal.score(belief, instrument, X - step)
        slope = rise / (2.0 * step[(slice(None), *i)])
        assert_close(own[1][(slice(None), *i)], slope, 1e-3, "the gradient is the derivative in the places")
