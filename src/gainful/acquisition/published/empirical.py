"""The empirical error on its own, as published, to show what it does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.acquisition.base import SIGNED
from gainful.acquisition.decision import labelled, own_probability, told_probability
from gainful.acquisition.lookahead import steps
from gainful.acquisition.parts import averaged
from gainful.inference.belief import Belief, queries_of
from gainful.inference.posterior import Posterior
from gainful.information.watched import Watched
from gainful.instruments import Instrument

__all__ = ["EmpiricalError"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class EmpiricalError:
    """−Σ_y P(y) mean_i (1 − P(y_i | belief after y)) over what is measured, the new answer y included.

    The empirical error term of Kapoor et al. (2007) on its own, as in Houlsby et al. 2011, sec. 5, which includes it to
    show what that term does: it prefers safe answers, which are the least informative. For comparison, not for use.
    """

    scale: ClassVar[str] = SIGNED
    looks_ahead: ClassVar[bool] = True

    def score(self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike) -> Array:
        if isinstance(belief, Belief):
            return averaged(self, belief, instrument, places)
        queries = queries_of(belief, instrument, places)
        nothing = Watched(np.zeros((0, queries.shape[-1])), np.zeros(0), np.zeros(0))
        out = np.zeros(len(queries))
        for part, step in steps(belief, instrument, queries, nothing):
            out[part] = -step.expected(1.0 - own_probability(instrument, step))
        groups = labelled(belief)
        for group in groups:
            for part, step in steps(belief, instrument, queries, group.watched):
                out[part] -= step.expected((1.0 - told_probability(group, step)).sum(axis=2))
        return out / (1 + sum(len(g.told) for g in groups))
