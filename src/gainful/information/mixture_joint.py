"""What several answers tell together under several posteriors, with how far off that may be.

    I(Y; f, s)  =  I(Y; s) + Σ w_s I(Y; f | s)

The second is each part's own (`joint`). The first is how far the answers are expected to move the weights,
E KL(r(Y) ‖ w): of one answer exactly (`mixture`), of more by joint answers that are drawn from the belief, the last of
them not drawn but integrated.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy

from gainful.data import Query
from gainful.inference.belief import Belief
from gainful.inference.fantasy import own_queries, sample_fantasies
from gainful.inference.posterior import Posterior
from gainful.information import joint
from gainful.information.joint import Estimate
from gainful.information.mixture import mixture_information
from gainful.information.readings import checked
from gainful.instruments import Instrument

__all__ = ["information_estimate", "joint_estimate", "joint_information"]

Array = NDArray[np.float64]

_DRAWS = 64


def joint_information(posterior: Posterior | Belief, queries: Sequence[Query]) -> float:
    """I = H[answers] − Σ E[H[answer_i | f]]: bits that all the answers together are expected to tell about f.

    Numbers: ½ log2 det(1 + C/noise²), however many. With others, exact to 1e-7 as long as integrals nest at most two
    deep: one for each number (no more than there are discrete readings), one for each interval, one for each reading
    that is not a number beyond the second; so four ranks, or three and a number, or two intervals. A set takes a
    reading for each of its places. Beyond that the chain rule, each query given those before it by quasi-random
    outcomes, with a standard error that `joint_estimate` gives. A repeat of a query without noise adds nothing.

    Of several posteriors it is about f and which of them is right, by joint answers drawn from them where there is more
    than one.

    >>> import gainful as gf
    >>> prior = gf.GP(gf.SE(variance=3.0)).condition(gf.Data())
    >>> lab = gf.Point(noise=1.0)
    >>> joint_information(prior, [gf.Query(lab, [0.0]), gf.Query(lab, [50.0])])
    2.0
    >>> ask = gf.Query(gf.Binary(), [0.0])
    >>> round(joint_information(prior, [ask]), 4), round(joint_information(prior, [ask, ask]), 4)
    (0.485, 0.7481)
    """
    return float(joint_estimate(posterior, queries).bits)


def joint_estimate(posterior: Posterior | Belief, queries: Sequence[Query]) -> Estimate:
    """`joint_information` with its standard error.

    >>> import gainful as gf
    >>> prior = gf.GP(gf.SE()).condition(gf.Data())
    >>> joint_estimate(prior, [gf.Query(gf.Binary(), [x]) for x in (0.0, 0.5, 1.0)]).error.item()
    0.0
    """
    if not isinstance(posterior, Belief):
        return joint.joint_estimate(posterior, queries)
    belief, wanted = posterior, checked("queries", queries, posterior.data.dimensions)
    if not wanted:
        return Estimate(np.zeros(()), np.zeros(()))
    apart, error = _about_parts(belief, wanted)
    held = np.flatnonzero(belief.weights > 0.0).tolist()
    each = [joint.joint_estimate(belief.posteriors[s], own_queries(belief, s, wanted)) for s in held]
    weights = belief.weights[held]
    bits, errors = np.array([found.bits for found in each]), np.array([found.error for found in each])
    return Estimate(apart + weights @ bits, np.sqrt(error**2 + weights**2 @ errors**2))


def _about_parts(belief: Belief, queries: list[Query]) -> tuple[Array, Array]:
    """I(Y; s) in bits and its standard error."""
    *first, last = queries
    after = sample_fantasies(belief, first, _DRAWS) if first else [belief]
    held = belief.weights[belief.weights > 0.0]
    told = [
        mixture_information(each, last.instrument, last.place[None], "hyperparameters")[0]
        + (float(np.sum(xlogy(each.weights, each.weights / held))) / np.log(2.0) if first else 0.0)
        for each in after
    ]
    spread = float(np.std(told)) / np.sqrt(max(len(told) - 1, 1))
    return np.asarray(np.mean(told)), np.asarray(spread)


def information_estimate(
    belief: Posterior | Belief, instrument: Instrument, places: ArrayLike, pending: Sequence[Query] = ()
) -> Estimate:
    """`information(belief, instrument, places, pending=pending)` with its standard error, (M,) each.

    The error is NaN, not known, where an instrument without a channel takes part: its pending answers then count as the
    Gaussian sites that leave as much variance on average (`fantasize`). Nor is it known beyond pending answers of
    several posteriors, some of which are drawn.

    >>> import gainful as gf
    >>> prior = gf.GP(gf.SE(variance=3.0)).condition(gf.Data())
    >>> ask = gf.Query(gf.Binary(), [0.0])
    >>> information_estimate(prior, gf.Binary(), [[0.0]], pending=[ask]).bits.round(4).tolist()
    [0.2631]
    """
    if not isinstance(belief, Belief):
        return joint.information_estimate(belief, instrument, places, pending)
    bits = mixture_information(belief, instrument, places, "function", pending)
    return Estimate(bits, np.full_like(bits, np.nan if len(pending) else 0.0))
