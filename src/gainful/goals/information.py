"""Mutual information between an answer and what one wants to know, in bits: I = H[answer] − E[H[answer | it]].

Always in the space of answers, without retraining and without samples. Several answers at once: see `joint`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr, ndtri

from gainful.data import Query
from gainful.errors import InvalidInput
from gainful.goals.about import Region, require_about
from gainful.goals.entropy import binary_entropy, conditional_entropy, interval_entropy, of_answers, of_probabilities
from gainful.inference.belief import Belief
from gainful.inference.posterior import Posterior
from gainful.instruments import Detection, Instrument, Interval, Point
from gainful.numerics.cholesky import semidefinite_root
from gainful.space import evenly

__all__ = ["information", "information_given"]

Array = NDArray[np.float64]

_REACH = 9.0
_PANELS, _POINTS = 7, 65_536
_MOST_NODES = 1_000_000  # of product grids at a time, so that they fit into memory


def information(
    belief: Posterior | Belief,
    instrument: Instrument,
    places: ArrayLike,
    about: str | Region = "function",
    given: Sequence[Query] = (),
) -> Array:
    """How many bits the instrument's next answer is expected to tell about something, one number per query, (M,).

    about is "function"; `Region(points)`, predictions there alone; or, of a belief of several posteriors,
    "hyperparameters" or "model": which of them is right. About the function such a belief is asked with its
    hyperparameters as nuisance (bald 3.1; see `goals.mixture`).

    places are queries of the instrument: (M, d), pairs (M, 2, d) or sets (M, k, d). A number has ½ log2(1 + v/noise²);
    an interval the difference of one function of one number; ranks, yes/no and preferences one-dimensional quadrature
    with a conditional entropy that is worked out once per instrument; sets quadrature over their k values. Exact to
    1e-7 bits for any spread of the belief.

    `given` are queries that are asked but not answered: the bits are then those beyond what their answers will tell,
    I(answer; f | answers of given) = I(given and it) − I(given). That is exact when everything given is a number, and
    else where `joint_information` is exact and the places are few (docs/batches.md says how few). Beyond that it is by
    outcomes, a few hundredths of a bit off at most as a rule; `information_estimate` says by how much.

    >>> import gainful as gf
    >>> prior = gf.GP(gf.SE(variance=3.0)).condition(gf.Data())
    >>> information(prior, gf.Point(noise=1.0), [[0.0]]).tolist()
    [1.0]
    >>> information(prior, gf.Binary(), [[0.0]]).round(4).tolist()
    [0.485]
    >>> information(prior, gf.Binary(), [[0.0]], given=[gf.Query(gf.Binary(), [0.0])]).round(4).tolist()
    [0.2631]
    """
    if not isinstance(belief, Posterior | Belief):
        raise InvalidInput("belief", "a posterior, or a Belief of several", belief, "condition a GP on data first")
    require_about(about)
    if isinstance(about, Region):
        from gainful.goals.region import region_information  # which builds on this module

        return region_information(belief, instrument, places, about, given)
    if isinstance(belief, Belief):
        from gainful.goals.mixture import mixture_information  # which builds on this module

        return mixture_information(belief, instrument, places, about, given)
    if about != "function":
        raise InvalidInput(
            "belief", f"a Belief of several posteriors to learn about the {about}", belief,
            "for instance nuts(gp, data), or Belief([post1, post2], weights)",
        )  # fmt: skip
    if not isinstance(given, Sequence) or len(given):
        from gainful.goals.joint import information_estimate  # which builds on this module

        return information_estimate(belief, instrument, places, given).bits
    return information_given(instrument, *belief.functional(instrument, places))


def information_given(instrument: Instrument, m: Array, v: Array) -> Array:
    """The same when what the instrument sees is N(m, v), (M,): instruments at the same places share m and v."""
    if isinstance(instrument, Point):
        return _of_point(instrument, v)
    if isinstance(instrument, Interval):
        return _of_interval(instrument, v)
    if isinstance(instrument, Detection):
        return _of_set(instrument, m, v)
    return _of_discrete(instrument, m, v)


def _of_point(instrument: Point, v: Array) -> Array:
    """½ log2(1 + v/noise²); without noise an answer that is not already known tells infinitely much."""
    if instrument.noise == 0.0:
        return np.where(v > 0.0, np.inf, 0.0)
    return 0.5 * np.log1p(v / instrument.noise**2) / np.log(2.0)


def _of_interval(instrument: Interval, v: Array) -> Array:
    """G(√(v + noise²)/width) − G(noise/width)."""
    if instrument.width is None:
        raise InvalidInput("width", "a number", None, "say how wide the answers are: Interval(noise, width=...)")
    before = interval_entropy(np.sqrt(v + instrument.noise**2) / instrument.width)
    given = interval_entropy(np.array([instrument.noise / instrument.width]))[0]
    return np.maximum(before - given, 0.0)


def _of_discrete(instrument: Instrument, m: Array, v: Array) -> Array:
    before = of_answers(instrument, m, v)
    given = conditional_entropy(instrument)
    # Rounding may leave −1e-16 where nothing is to be learned.
    return before if given is None else np.maximum(before - given.expected(m, v), 0.0)


def _of_set(instrument: Detection, m: Array, v: Array) -> Array:
    before = of_probabilities(instrument.answers(m, v).log_probabilities)
    size = m.shape[1]
    chunk = max(1, _MOST_NODES // (_POINTS if size > 3 else (_PANELS * _per_panel(size)) ** size))
    expected = _expected_by_points if size > 3 else _expected_set_entropy
    given = [expected(m[i : i + chunk], v[i : i + chunk]) for i in range(0, len(m), chunk)]
    if not given:
        return before
    return np.maximum(before - np.concatenate(given), 0.0)


def _expected_set_entropy(m: Array, v: Array) -> Array:
    """E[h(1 − Π Φ(−g_j))] for g ~ N(m, v): nested panels, each value given the ones before it.

    To 1e-7 bits for two places and 1e-5 for three.
    """
    n, k = m.shape
    rule = np.polynomial.legendre.leggauss(_per_panel(k))
    lower = semidefinite_root(v)
    z = np.zeros((n, 1, 0))
    weight, log_missed = np.ones((n, 1)), np.zeros((n, 1))
    for j in range(k):
        centre = m[:, j, None] + np.einsum("nqi,ni->nq", z, lower[:, j, :j])
        nodes, weights = _panels(centre, lower[:, j, j, None], rule)
        g = centre[:, :, None] + lower[:, j, j, None, None] * nodes
        log_missed = (log_missed[:, :, None] + log_ndtr(-g)).reshape(n, -1)
        weight = (weight[:, :, None] * weights).reshape(n, -1)
        older = np.broadcast_to(z[:, :, None, :], (*nodes.shape, j))
        z = np.concatenate([older, nodes[..., None]], axis=-1).reshape(n, -1, j + 1)
    return np.einsum("nq,nq->n", weight, binary_entropy(np.exp(log_missed)))


def _per_panel(size: int) -> int:
    """Nodes in each panel, for sets of this size."""
    return 9 if size == 3 else 16


def _expected_by_points(m: Array, v: Array) -> Array:
    """The same over evenly spread points, folded so that the integrand is periodic: to 1e-3 bits for four places."""
    unit = 1.0 - np.abs(2.0 * evenly(_POINTS, m.shape[1], np.random.default_rng(0)) - 1.0)
    z = ndtri(np.clip(unit, 1e-15, 1.0 - 1e-15))
    g = m[:, None, :] + np.einsum("qj,nij->nqi", z, semidefinite_root(v))
    return np.asarray(binary_entropy(np.exp(log_ndtr(-g).sum(axis=2))).mean(axis=1))


def _panels(centre: Array, sd: Array, rule: tuple[Array, Array]) -> tuple[Array, Array]:
    """Nodes z and weights for E over z ~ N(0, 1); panels end where centre + sd·z leaves the range of the noise."""
    with np.errstate(divide="ignore", invalid="ignore"):
        cuts = [np.nan_to_num((c - centre) / sd, nan=0.0) for c in (-_REACH, 0.0, _REACH)]
    fixed = [np.full_like(centre, c) for c in (-_REACH, -4.0, 0.0, 4.0, _REACH)]
    edges = np.stack([*fixed, *cuts], axis=-1)
    edges = np.sort(np.clip(edges, -_REACH, _REACH), axis=-1)
    half, middle = 0.5 * np.diff(edges, axis=-1), 0.5 * (edges[..., 1:] + edges[..., :-1])
    z = middle[..., None] + half[..., None] * rule[0]
    weights = half[..., None] * rule[1] * np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)
    return z.reshape(*centre.shape, -1), weights.reshape(*centre.shape, -1)
