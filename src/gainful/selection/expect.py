"""A belief that counts on answers that are on their way, for finding good places quickly.

Each pending query at a place is taken as read at its predicted mean, by an instrument for numbers whose noise is such
that the reading tells as many bits as the query is expected to: noise² = v/(4^bits − 1). That is exact for numbers. For
other answers it is a guide, to be followed by a score that is told what is pending. Pairs and sets are left out of it,
so what is found while they are pending may be less than the best there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gainful.data import Data, Layout, Query
from gainful.goals import information
from gainful.inference.posterior import Posterior
from gainful.inference.sites import Sites, condition_on
from gainful.inference.solution import Convergence, Solution, warm
from gainful.instruments import Point

__all__ = ["expecting"]

Array = NDArray[np.float64]

_NOTHING = 1e-6  # bits that are not worth a row


def expecting(belief: Posterior, given: Sequence[Query]) -> Posterior:
    """The belief after the given queries, each read as its mean.

    >>> import gainful as gf
    >>> prior = gf.GP(gf.SE()).condition(gf.Data())
    >>> sure = expecting(prior, [gf.Query(gf.Point(noise=0.5), [0.0])])
    >>> sure.mean([[0.0]]).tolist(), sure.variance([[0.0]]).round(6).tolist()
    ([0.0], [0.2])
    """
    data = Data()
    for query in given:
        if query.instrument.query != "place":
            continue
        here = query.place[None]
        m, v = belief.functional(query.instrument, here)
        bits = float(information(belief, query.instrument, here)[0])
        if bits > _NOTHING:
            noise = float(np.sqrt(v[0] / np.expm1(2.0 * np.log(2.0) * bits))) if np.isfinite(bits) else 0.0
            data = data.add(Point(noise=noise), here, m)
    return replace(belief, inference=_Held()).condition(data)


class _Held:
    """The sites of the answers so far stay as they are: a Gaussian belief is conditioned on Gaussian readings."""

    def solve(self, layout: Layout, mean: Array, cov: Array, start: Sites | None = None) -> Solution:
        held = condition_on(warm(start, layout), mean, cov)
        return Solution(held, np.nan, Convergence(True, 0, 0.0, "sites held"))  # nobody asks for this one's evidence
