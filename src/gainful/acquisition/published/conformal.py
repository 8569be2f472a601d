"""Conformal disagreement: ask where two answers would fit in with what is measured about equally well.

How similar an example is to those that are measured says how far its prediction can be trusted. Conformal prediction
(Vovk, Gammerman & Shafer 2005, 2.2) makes that a p-value for each possible answer y at x: add (x, y) to the measured
examples, compute every example's strangeness α from the bag of all, and take the share of examples that are at least as
strange as the new one,

    p(y) = #{i = 1 … N + 1 : α_i ≥ α_(N+1)} / (N + 1).

Query by transduction (Ho & Wechsler 2008) asks where the two largest p-values are closest.

Choices made here: strangeness is α_i = 1 − P(y_i | belief with (x, y) added), the GP's own doubt about an answer that
it was given; the belief with (x, y) added is one ADF step (`lookahead`), not a refit, so that all p-values of M
candidates cost O(M Q N); ties count as stranger, as in the definition, which keeps p-values valid. Strangeness that
agrees to 1e-12 is a tie. The p-values are multiples of 1/(N + 1), so with few measured examples many candidates tie:
the first of them is chosen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.acquisition.base import SIGNED
from gainful.acquisition.decision import labelled, own_probability, told_probability
from gainful.acquisition.lookahead import steps
from gainful.errors import InvalidInput
from gainful.inference.belief import Belief, queries_of
from gainful.inference.posterior import Posterior
from gainful.instruments import Instrument

__all__ = ["Conformal", "conformal_p_values"]

Array = NDArray[np.float64]

_TIE = 1e-12


def conformal_p_values(belief: Posterior | Belief, instrument: Instrument, places: ArrayLike) -> Array:
    """p(y) for each query and each answer, (M, Q); the measured answers must be discrete, and there must be some.

    Of several posteriors it is the average of the p-values that each has by itself.

    >>> import gainful as gf
    >>> post = gf.GP(gf.SE()).condition(gf.Data().add(gf.Binary(), [[-1.0], [1.0]], [0, 1]))
    >>> conformal_p_values(post, gf.Binary(), [[-1.0], [1.0]]).round(4).tolist()
    [[1.0, 0.6667], [0.6667, 1.0]]
    """
    if isinstance(belief, Belief):
        parts = belief.each(instrument, places)
        return np.asarray(sum(p.weight * conformal_p_values(p.posterior, p.instrument, p.places) for p in parts))
    groups = labelled(belief)
    if not groups:
        raise InvalidInput("belief", "some measured answers to compare with", "none", "measure a few places first")
    queries = queries_of(belief, instrument, places)
    own: Array | None = None
    stranger = np.zeros(0)
    for group in groups:
        for part, step in steps(belief, instrument, queries, group.watched):
            if step.outcome_table.values is None:
                raise InvalidInput("instrument", "one with a few answers", instrument, "use Learn for numbers")
            if own is None:
                own = np.zeros((len(queries), len(step.outcome_table.values)))
                stranger = np.ones_like(own)
            own[part] = own_probability(instrument, step)
            told = told_probability(group, step)
            stranger[part] += np.sum(told <= own[part][:, :, None] + _TIE, axis=2)
    return stranger / (1 + sum(len(g.told) for g in groups))


@dataclass(frozen=True)
class Conformal:
    """−(p₁ − p₂), the two largest conformal p-values: zero where they agree (Ho & Wechsler 2008).

    Needs measured answers that are yes/no, ranks or preferences. It says how well answers fit in, not what they tell:
    like uncertainty sampling it keeps asking where answers are noisy.
    """

    scale: ClassVar[str] = SIGNED
    looks_ahead: ClassVar[bool] = True

    def score(self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike) -> Array:
        if not len(queries_of(belief, instrument, places)):
            return np.zeros(0)
        p = np.sort(conformal_p_values(belief, instrument, places), axis=1)
        return p[:, -2] - p[:, -1]
