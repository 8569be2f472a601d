"""Bits that one answer tells about the function when nothing is pending: I = H[answer] − E[H[answer | g]].

The instrument sees g ~ N(m, v), one value or the k values of a set. Closed forms and quadrature, never samples.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr, ndtri

from gainful.data import as_queries
from gainful.inference.fantasy import is_known
from gainful.inference.posterior import Posterior
from gainful.information import quadrature
from gainful.information.entropy import (
    binary_entropy,
    conditional_entropy,
    interval_entropy,
    of_channel,
    of_probabilities,
)
from gainful.instruments import Instrument
from gainful.instruments.answers import DiscreteAnswers
from gainful.instruments.channel import Channel
from gainful.numerics.cholesky import semidefinite_root
from gainful.numerics.memory import in_blocks
from gainful.numerics.quadrature import panels
from gainful.space import evenly

__all__ = ["expected_set_entropy", "information_alone", "information_given"]

Array = NDArray[np.float64]

_REACH = 9.0
_PANELS, _POINTS = 7, 65_536
_NUMBERS = 200  # held at a time for each query: nodes of the entropy given g
_MOST_NODES = 1_000_000  # of product grids at a time, so that they fit into memory


def information_alone(belief: Posterior, instrument: Instrument, places: ArrayLike, tabulated: bool = True) -> Array:
    """I(answer; f) in bits under one posterior, (M,); an answer without noise about what is known tells nothing."""
    m, v = belief.marginals(instrument, places)
    channel = instrument.channel()
    if channel is not None and channel.is_number and channel.noise == 0.0:
        v = np.where(is_known(belief, as_queries(instrument, places)[0], v), 0.0, v)
    return information_given(instrument, m, v, tabulated)


def information_given(instrument: Instrument, m: Array, v: Array, tabulated: bool = True) -> Array:
    """I(answer; f) in bits when what the instrument sees is N(m, v), (M,).

    What `tabulated` has worked out once for an instrument pays where much is asked of it; each part of a belief has
    instruments of its own, of which little is.
    """
    channel = instrument.channel()
    some = _NUMBERS + 8 * instrument.levels
    return in_blocks(lambda part: _given(instrument, channel, m[part], v[part], tabulated), len(m), some)


def _given(instrument: Instrument, channel: Channel | None, m: Array, v: Array, tabulated: bool) -> Array:
    if channel is None:
        known = instrument.bits(m, v) if instrument.query == "set" else None
        return quadrature.information(instrument, m, v) if known is None else known
    if channel.any_of:
        return _of_set(instrument, m, v)
    if channel.is_discrete:
        return _of_discrete(channel, m, v, tabulated)
    return _of_interval(channel, v) if channel.is_interval else _of_number(channel, v)


def _of_number(channel: Channel, v: Array) -> Array:
    """½ log2(1 + v/noise²); without noise an answer that is not already known tells infinitely much."""
    if channel.noise == 0.0:
        return np.where(v > 0.0, np.inf, 0.0)
    return 0.5 * np.log1p(v / channel.noise**2) / np.log(2.0)


def _of_interval(channel: Channel, v: Array) -> Array:
    """G(√(v + noise²)/width) − G(noise/width)."""
    before = interval_entropy(np.sqrt(v + channel.noise**2) / channel.width)
    given = interval_entropy(np.array([channel.noise / channel.width]))[0]
    return np.maximum(before - given, 0.0)


def _of_discrete(channel: Channel, m: Array, v: Array, tabulated: bool) -> Array:
    before = of_channel(channel, m, v)
    given = conditional_entropy(channel)
    # Rounding may leave −1e-16 where nothing is to be learned.
    return before if given is None else np.maximum(before - given.expected(m, v, tabulated), 0.0)


def _of_set(instrument: Instrument, m: Array, v: Array) -> Array:
    predicted = instrument.predict(m, v)
    assert isinstance(predicted, DiscreteAnswers)
    before = of_probabilities(predicted.log_probabilities)
    channel = instrument.channel()
    assert channel is not None
    return np.maximum(before - expected_set_entropy(channel, m, v), 0.0)


def expected_set_entropy(channel: Channel, m: Array, v: Array) -> Array:
    """E[H[yes or no | g]] in bits for g ~ N(m, v), m (M, k) and v (M, k, k): of a set's answer given g, which is a
    careful no with probability Π Φ((edge − g_j)/noise)."""
    size = m.shape[1]
    m, v = (m - channel.bounds[0]) / channel.noise, v / channel.noise**2
    chunk = max(1, _MOST_NODES // (_POINTS if size > 3 else (_PANELS * _per_panel(size)) ** size))
    expected = _by_points if size > 3 else _by_panels
    parts = [expected(channel, m[i : i + chunk], v[i : i + chunk]) for i in range(0, len(m), chunk)]
    return np.concatenate([np.zeros(0), *parts])


def _of_missed(channel: Channel, missed: Array) -> Array:
    """The entropy in bits of a set's answer when nothing is noticed with this probability."""
    return np.asarray(binary_entropy(channel.answers([missed, 1.0 - missed])[0]))


def _by_panels(channel: Channel, m: Array, v: Array) -> Array:
    """Nested panels, each value given the ones before it.

    To 1e-7 bits for two places and 1e-5 for three.
    """
    n, k = m.shape
    lower = semidefinite_root(v)
    z = np.zeros((n, 1, 0))
    weight, log_missed = np.ones((n, 1)), np.zeros((n, 1))
    for j in range(k):
        centre = m[:, j, None] + np.einsum("nqi,ni->nq", z, lower[:, j, :j])
        nodes, weights = _nodes(centre, lower[:, j, j, None], _per_panel(k))
        g = centre[:, :, None] + lower[:, j, j, None, None] * nodes
        log_missed = (log_missed[:, :, None] + log_ndtr(-g)).reshape(n, -1)
        weight = (weight[:, :, None] * weights).reshape(n, -1)
        older = np.broadcast_to(z[:, :, None, :], (*nodes.shape, j))
        z = np.concatenate([older, nodes[..., None]], axis=-1).reshape(n, -1, j + 1)
    return np.einsum("nq,nq->n", weight, _of_missed(channel, np.exp(log_missed)))


def _per_panel(size: int) -> int:
    """Nodes in each panel, for sets of this size."""
    return 9 if size == 3 else 16


def _by_points(channel: Channel, m: Array, v: Array) -> Array:
    """The same over evenly spread points, folded so that the integrand is periodic: to 1e-3 bits for four places."""
    unit = 1.0 - np.abs(2.0 * evenly(_POINTS, m.shape[1], np.random.default_rng(0)) - 1.0)
    z = ndtri(np.clip(unit, 1e-15, 1.0 - 1e-15))
    g = m[:, None, :] + np.einsum("qj,nij->nqi", z, semidefinite_root(v))
    return np.asarray(_of_missed(channel, np.exp(log_ndtr(-g).sum(axis=2))).mean(axis=1))


def _nodes(centre: Array, sd: Array, count: int) -> tuple[Array, Array]:
    """Nodes z and weights for E over z ~ N(0, 1); panels end where centre + sd·z leaves the range of the noise."""
    with np.errstate(divide="ignore", invalid="ignore"):
        cuts = [np.nan_to_num((c - centre) / sd, nan=0.0) for c in (-_REACH, 0.0, _REACH)]
    fixed = [np.full_like(centre, c) for c in (-_REACH, -4.0, 0.0, 4.0, _REACH)]
    z, weight = panels(np.sort(np.clip(np.stack([*fixed, *cuts], axis=-1), -_REACH, _REACH), axis=-1), count)
    return z, weight * np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)
