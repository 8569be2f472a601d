"""Acquisitions under a belief of several posteriors: the integrated acquisition (Snoek et al. 2012, sec. 3.2).

A score that is an expectation is averaged over the parts, each with its own posterior and instruments: what the query
is worth if one of them is right, by how probable that is. What an answer tells about which of them is right is not in
it, except where an acquisition says so.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.inference.belief import Belief
from gainful.instruments import Instrument

__all__ = ["averaged", "averaged_with_slopes"]

Array = NDArray[np.float64]


def averaged(acquisition: Any, belief: Belief, instrument: Instrument, places: ArrayLike) -> Array:
    """Σ_s w_s score of the acquisition under part s, (M,), with that part's instruments: the one that asks, and the one
    whose answers are to be predicted, where there is one."""
    predict, total = getattr(acquisition, "predict", None), None
    for part in belief.each(instrument, places):
        theirs = None if predict is None else belief.instrument_of(part.number, predict)
        own = acquisition if theirs == predict else replace(acquisition, predict=theirs)
        score = part.weight * np.asarray(own.score(part.posterior, part.instrument, part.places))
        total = score if total is None else total + score
    assert total is not None  # weights sum to one
    return total


def averaged_with_slopes(
    acquisition: Any, belief: Belief, instrument: Instrument, places: ArrayLike
) -> tuple[Array, Array] | None:
    """Σ_s w_s score_s and its derivatives in the places; None where a part does not know them."""
    total: tuple[Array, Array] | None = None
    for part in belief.each(instrument, places):
        found = acquisition.score_and_gradient(part.posterior, part.instrument, part.places)
        if found is None:
            return None
        score, slope = part.weight * found[0], part.weight * found[1]
        total = (score, slope) if total is None else (total[0] + score, total[1] + slope)
    return total
