"""Information when several posteriors are weighed against each other: hyperparameter samples, or rival models.

With parts s of weights w_s, an answer y makes the weights r_s(y) = w_s p(y | s)/p(y). What it tells about which part is
right is how far it is expected to move them, and what it tells about the function adds what it tells within each part:

    I(y; s)  =  H[y] − Σ w_s H[y | s]          =  E_y KL(r(y) ‖ w)
    I(y; f)  =  H[y] − Σ w_s E_{f|s} H[y | f]  =  I(y; s) + Σ w_s I(y; f | s)

(Houlsby et al. 2011, sec. 3.1 and eq. 6; Lin 2022, sec. 3.2). The second holds because y depends on s only through f:
then I(y; f) = I(y; f, s), and hyperparameters are nuisance. The expected movement is a sum over discrete answers, and
over numbers and intervals an integral on a line: never samples.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp, ndtr

from gainful.data import Query, as_queries
from gainful.inference.belief import Belief
from gainful.inference.fantasy import sample_fantasies
from gainful.information.quadrature import on_lattice
from gainful.information.readings import RESOLUTION, checked
from gainful.information.single import information_alone
from gainful.instruments import Instrument
from gainful.instruments.answers import DiscreteAnswers
from gainful.numerics.memory import in_blocks
from gainful.numerics.quadrature import adaptive, halved

__all__ = ["disagreement", "mixture_information", "parts"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]

_BITS = 1.0 / float(np.log(2.0))
_LOG_SQRT_2PI = 0.5 * float(np.log(2.0 * np.pi))
_REACH = 9.0  # spreads from its centre beyond which a part is not there: 1e-19 of its mass
_WIDEST = 4.0  # the widest panel, in spreads of the narrowest part that it touches
_TOLERANCE = 1e-8  # bits by which the two rules may differ on a panel; Kronrod is then far closer than that
_LIGHT = 1e-13  # parts of less weight add at most w log2(1/w) < 5e-12 bits; no panel is made narrow for them
_NUMBERS = 100  # held for each query and part: ends of panels
_AT_ONCE = 250_000  # numbers held at a time
_DRAWS = 8  # joint answers to pending queries
_NARROW = 0.02  # width in spreads below which Φ(b) − Φ(a) is expanded about the middle, to 1e-11


def mixture_information(
    belief: Belief, instrument: Instrument, places: ArrayLike, about: str, pending: Sequence[Query] = ()
) -> Array:
    """Bits that the next answer is expected to tell, (M,), about "function", or "hyperparameters" or "model".

    The last two are the same: which of the belief's parts is right. Exact to 1e-7 bits. Beyond `pending` queries it is
    the average over a few of their answers, drawn from the belief, each of which moves the weights too.

    >>> import gainful as gf
    >>> belief = gf.Belief([gf.GP(gf.SE(), gf.ConstantMean(m)).condition(gf.Data()) for m in (-50.0, 50.0)])
    >>> mixture_information(belief, gf.Point(noise=1.0), [[0.0]], "hyperparameters").round(6).tolist()
    [1.0]
    >>> mixture_information(belief, gf.Point(noise=1.0), [[0.0]], "function").round(6).tolist()
    [1.5]
    """
    waiting = checked("pending", pending)
    if waiting:
        after = sample_fantasies(belief, waiting, _DRAWS)
        return np.mean([mixture_information(each, instrument, places, about) for each in after], axis=0)
    queries, _ = as_queries(instrument, places)
    each = len(belief.weights) * (_NUMBERS + 8 * instrument.levels)
    return in_blocks(lambda part: _of_some(belief, instrument, queries[part], about), len(queries), each)


def _of_some(belief: Belief, instrument: Instrument, places: Array, about: str) -> Array:
    weights, m, v = parts(belief, instrument, places)
    about_parts = disagreement(instrument, weights, m, v, rounding(belief, instrument, places))
    if about != "function":
        return about_parts
    held = [p for p, w in zip(belief.posteriors, belief.weights, strict=True) if w > 0.0]
    within = np.stack([information_alone(posterior, instrument, places) for posterior in held])
    with np.errstate(invalid="ignore"):  # a weight is positive here, so that infinite bits stay infinite
        return about_parts + weights @ within


def parts(belief: Belief, instrument: Instrument, places: ArrayLike) -> tuple[Array, Array, Array]:
    """The positive weights (S,), and mean (S, M) and variance (S, M) of what the instrument sees, or of sets (S, M, k)
    and (S, M, k, k)."""
    held = np.flatnonzero(belief.weights > 0.0)
    seen = [belief.posteriors[s].marginals(instrument, places) for s in held]
    return belief.weights[held], np.stack([m for m, _ in seen]), np.stack([v for _, v in seen])


def rounding(belief: Belief, instrument: Instrument, places: ArrayLike) -> Array | float:
    """The variance (M,) below which predictions of a number are known only up to rounding; of discrete answers none."""
    channel = instrument.channel()
    if channel is None or channel.is_discrete:
        return 0.0
    X = np.atleast_2d(np.asarray(places, dtype=float))
    return RESOLUTION * np.max([np.maximum(p.kernel.diag(X), 0.0) for p in belief.posteriors], axis=0)


def disagreement(instrument: Instrument, weights: Array, m: Array, v: Array, floor: Array | float = 0.0) -> Array:
    """I(answer; which part) = E_y KL(r(y) ‖ w) in bits, (M,), when part s sees N(m_s, v_s) with weight w_s > 0.

    `floor` is a variance that no predicted number falls below: where all parts know the answer up to rounding they
    agree, and do not differ in their last digits.
    """
    if len(weights) == 1:
        return np.zeros(m.shape[1])
    log_w = np.log(weights)
    channel = instrument.channel()
    if channel is not None and not channel.is_discrete:
        spread = np.sqrt(np.maximum(v + channel.noise**2, floor))
        return _on_a_line(log_w, m, spread, 0.5 * channel.width)
    if instrument.values is None:
        return _over_nodes(instrument, log_w, m, v)
    answers = instrument.predict(*_stacked(m, v))
    assert isinstance(answers, DiscreteAnswers)
    logs = answers.log_probabilities.reshape(*m.shape[:2], -1)
    return np.maximum(_BITS * _moved(log_w, logs).sum(axis=-1), 0.0)


def _stacked(m: Array, v: Array) -> tuple[Array, Array]:
    """All parts as one list of cases, (S·M, ...)."""
    return m.reshape(-1, *m.shape[2:]), v.reshape(-1, *v.shape[2:])


def _moved(log_w: Array, log_p: Array) -> Array:
    """p(y) KL(r(y) ‖ w) in nats for answers with log densities (S, ...): how far y moves the weights, times how likely.

    KL(r ‖ w) = Σ r_s log p(y | s) − log p(y), which loses no digits where some parts rule the answer out.
    """
    joint = log_w.reshape(-1, *[1] * (log_p.ndim - 1)) + log_p
    top = joint.max(axis=0)
    top = np.where(np.isfinite(top), top, 0.0)  # no part thinks the answer possible
    joint -= top
    share = np.exp(joint, out=joint)
    total = share.sum(axis=0)
    possible = total > 0.0
    inside = np.where(possible, total, 1.0)
    finite = log_p if np.isfinite(log_p).all() else np.where(share > 0.0, log_p, 0.0)
    mean = np.einsum("s...,s...->...", share, finite) / inside
    return np.where(possible, np.exp(top) * total * (mean - top - np.log(inside)), 0.0)


def _over_nodes(instrument: Instrument, log_w: Array, m: Array, v: Array) -> Array:
    """E_y KL(r(y) ‖ w) in bits, (M,), for numbers and counts without a channel, by each part's own nodes."""
    table = on_lattice(instrument, *_stacked(m, v))
    if table is not None:
        with np.errstate(divide="ignore"):
            shared = np.moveaxis(np.log(table.probability).reshape(-1, *m.shape), 0, -1)
        return np.maximum(_BITS * (_moved(log_w, shared) @ table.measure), 0.0)
    total = np.zeros(m.shape[1])
    for s in range(len(m)):
        y, weight = instrument.outcomes(m[s], v[s])
        assert weight is not None
        moments = [(np.tile(a, len(y)), np.tile(b, len(y))) for a, b in zip(m, v, strict=True)]
        logs = np.stack([instrument.log_partition(y.ravel(), *each).log_z.reshape(y.shape) for each in moments])
        mixed = logsumexp(log_w[:, None, None] + logs, axis=0)
        gain = np.where(weight > 0.0, logs[s] - mixed, 0.0)
        total += np.exp(log_w[s]) * np.sum(weight * gain, axis=0)
    return np.maximum(_BITS * total, 0.0)


def _on_a_line(log_w: Array, m: Array, spread: Array, half: float) -> Array:
    """E_y KL(r(y) ‖ w) in bits, (M,), for y = m_s + spread_s Z, or that plus a uniform on (−half, half).

    No panel is wider than four spreads of a part whose edges it touches, so that no part is overlooked however narrow;
    then each is halved until Gauss and Kronrod agree.
    """
    m = m - np.exp(log_w) @ m
    heavy = np.exp(log_w) > _LIGHT
    panels = _resolved(m[heavy], spread[heavy], half)

    def moved(y: Array, which: Index) -> Array:
        return _BITS * _moved(log_w, _log_density(y, m[:, which, None], spread[:, which, None], half))

    at_once = max(_AT_ONCE // (15 * len(m)), 1)
    total = adaptive(moved, *panels, m.shape[1], lambda *_: _TOLERANCE, at_once)
    return np.maximum(total, 0.0)


def _resolved(m: Array, spread: Array, half: float) -> tuple[Index, Array, Array]:
    """Panels (owner, low, high) that together hold all parts (S, M) and are narrow where a part's edges are."""
    reach = half + _REACH * spread
    which, low, high = np.arange(m.shape[1]), np.min(m - reach, axis=0), np.max(m + reach, axis=0)
    found: list[tuple[Index, Array, Array]] = []
    step = max(_AT_ONCE // len(m), 1)
    while which.size:
        touched, room = np.empty(len(which), dtype=bool), np.empty(len(which))
        for i in range(0, len(which), step):
            mine = slice(i, i + step)
            centre, sd = m[:, which[mine]], spread[:, which[mine]]
            a, b = low[mine], high[mine]
            touched[mine] = np.any((b > centre - half - _REACH * sd) & (a < centre + half + _REACH * sd), axis=0)
            near = np.zeros(centre.shape, dtype=bool)
            for edge in (centre - half, centre + half) if half else (centre,):
                near |= (b > edge - _REACH * sd) & (a < edge + _REACH * sd)
            room[mine] = np.min(np.where(near, _WIDEST * sd, np.inf), axis=0)
        fine = touched & (high - low <= room)
        found.append((which[fine], low[fine], high[fine]))
        split = touched & ~fine
        which, low, high = halved(which[split], low[split], high[split])
    owners, lows, highs = (np.concatenate(each) for each in zip(*found, strict=True))
    return owners, lows, highs


def _log_density(y: Array, m: Array, spread: Array, half: float) -> Array:
    """log p(y | s): normal, or with half > 0 log((Φ((y + half − m)/spread) − Φ((y − half − m)/spread))/(2 half))."""
    t = np.asarray((y - m) / spread)
    if not half:
        t *= t
        t *= -0.5
        t -= np.log(spread) + _LOG_SQRT_2PI
        return t
    h = half / spread
    if np.all(2.0 * h < _NARROW):  # of all parts at once as a rule: the width is the instrument's
        return _narrow(t, h, spread)
    u = np.abs(t)  # on the side where both values of Φ are small and their difference keeps its digits
    with np.errstate(divide="ignore"):
        out = np.asarray(np.log(ndtr(h - u) - ndtr(-h - u)) - np.log(2.0 * half))
    narrow = np.broadcast_to(2.0 * h < _NARROW, t.shape)
    if narrow.any():
        h, spread = np.broadcast_to(h, t.shape)[narrow], np.broadcast_to(spread, t.shape)[narrow]
        out[narrow] = _narrow(t[narrow], h, spread)
    return out


def _narrow(t: Array, h: Array, spread: Array) -> Array:
    """log((Φ(t + h) − Φ(t − h))/(2h spread)) = log φ(t) + log(1 + h²(t² − 1)/6 + …) − log spread, for small h."""
    return np.asarray(-0.5 * t**2 + np.log1p(h**2 * (t**2 - 1.0) / 6.0) - np.log(spread) - _LOG_SQRT_2PI)
