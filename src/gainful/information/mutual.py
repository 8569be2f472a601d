"""Mutual information between an answer and what one wants to know, in bits: I = H[answer] − E[H[answer | it]].

Always in the space of answers, without retraining. `information` finds the formula that applies: one answer (`single`),
beyond pending ones (`joint`), about predictions in a region (`region`), of several posteriors (`mixture`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.data import Query
from gainful.errors import InvalidInput
from gainful.inference.belief import Belief, codes_for, queries_of, require_askable
from gainful.inference.posterior import Posterior
from gainful.information.about import Region, require_about
from gainful.information.answered import entropy_if_answered
from gainful.information.joint import information_estimate
from gainful.information.mixture import mixture_information
from gainful.information.region import region_information
from gainful.information.single import information_alone
from gainful.instruments import Instrument

__all__ = ["information"]

Array = NDArray[np.float64]


def information(
    belief: Posterior | Belief,
    instrument: Instrument,
    places: ArrayLike,
    about: str | Region = "function",
    pending: Sequence[Query] = (),
) -> Array:
    """How many bits the instrument's next answer is expected to tell about something, one number per query, (M,).

    about is "function"; `Region(points)`, predictions there alone; or, of a belief of several posteriors,
    "hyperparameters", "model" or "structure": which of them is right. About the function or a region such a belief is
    asked with its hyperparameters as nuisance, each part with its own instrument (Houlsby et al. 2011, sec. 3.1; see
    `information.mixture`).

    places are queries of the instrument: (M, d), pairs (M, 2, d) or sets (M, k, d). A number has ½ log2(1 + v/noise²);
    an interval the difference of one function of one number; ranks, yes/no and preferences one-dimensional quadrature
    with a conditional entropy that is worked out once per instrument; sets quadrature over their k values. Exact to
    1e-7 bits for any spread of the belief.

    `pending` are queries that are asked but not answered: the bits are then those beyond what their answers will tell,
    I(answer; f | pending) = I(pending and it) − I(pending). That is exact when everything pending is a number, and else
    where `joint_information` is exact and the places are few (docs/batches.md says how few). Beyond that it is by
    outcomes, a few hundredths of a bit off at most as a rule; `information_estimate` says by how much.

    >>> import gainful as gf
    >>> prior = gf.GP(gf.SE(variance=3.0)).condition(gf.Data())
    >>> information(prior, gf.Point(noise=1.0), [[0.0]]).tolist()
    [1.0]
    >>> information(prior, gf.Binary(), [[0.0]]).round(4).tolist()
    [0.485]
    >>> information(prior, gf.Binary(), [[0.0]], pending=[gf.Query(gf.Binary(), [0.0])]).round(4).tolist()
    [0.2631]
    """
    places = codes_for(belief, instrument, places)
    bits = _information(belief, instrument, places, about, pending)
    left = entropy_if_answered(belief, instrument, places) if instrument.is_certain else None
    if left is None:
        return bits
    # Certain given f, an answer tells its entropy about it, and no more about anything else.
    about_all = isinstance(about, str) and about == "function" and not len(pending)
    return np.where(np.isnan(left), bits, left if about_all else np.fmin(bits, left))


def _information(
    belief: Posterior | Belief,
    instrument: Instrument,
    places: ArrayLike,
    about: str | Region,
    pending: Sequence[Query],
) -> Array:
    if isinstance(belief, Posterior) and isinstance(about, str) and about == "function":  # the usual question first
        if isinstance(pending, list | tuple) and not pending:
            return information_alone(belief, instrument, places)
        require_askable(belief, instrument, places)
        return information_estimate(belief, instrument, places, pending).bits
    queries = queries_of(belief, instrument, places)
    require_about(about)
    if not len(queries):
        return np.zeros(0)
    if isinstance(belief, Belief):
        return mixture_information(belief, instrument, places, about, pending)
    if isinstance(about, Region):
        return region_information(belief, instrument, places, about, pending)
    raise InvalidInput(
        "belief", f"a Belief of several posteriors to learn about the {about}", belief,
        "for instance nuts(gp, data), or Belief([post1, post2], weights)",
    )  # fmt: skip
