"""Information when several posteriors are weighed against each other: hyperparameter samples, or rival models.

With parts s of weights w_s, an answer y makes the weights r_s(y) = w_s p(y | s)/p(y). What it tells about which part is
right is how far it is expected to move them, and what it tells about the function adds what it tells within each part:

    I(y; s)  =  H[y] − Σ w_s H[y | s]          =  E_y KL(r(y) ‖ w)               (bald 3.1; programs 3.2)
    I(y; f)  =  H[y] − Σ w_s E_{f|s} H[y | f]  =  I(y; s) + Σ w_s I(y; f | s)    (bald eq. 6)

The second holds because y depends on s only through f: then I(y; f) = I(y; f, s), and hyperparameters are nuisance. The
expected movement is a sum over discrete answers, and over numbers and intervals an integral on a line: never samples.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from gainful.data import Query
from gainful.errors import InvalidInput, NumericalError
from gainful.goals.information import information_given
from gainful.goals.readings import RESOLUTION
from gainful.inference.belief import Belief
from gainful.instruments import Instrument, Interval, Point
from gainful.instruments.answers import DiscreteAnswers

__all__ = ["disagreement", "mixture_information", "parts"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]

_BITS = 1.0 / float(np.log(2.0))
_LOG_SQRT_2PI = 0.5 * float(np.log(2.0 * np.pi))
_REACH = 9.0  # spreads from its centre beyond which a part is not there: 1e-19 of its mass
_WIDEST = 4.0  # the widest panel, in spreads of the narrowest part that it touches
_TOLERANCE = 1e-8  # bits by which the two rules may differ on a panel; the better one is then far closer than that
_LIGHT = 1e-13  # parts of less weight add at most w log2(1/w) < 5e-12 bits; no panel is made narrow for them
_MOST_PANELS = 2_000_000
_AT_ONCE = 250_000  # numbers held at a time
_NARROW = 0.02  # width in spreads below which Φ(b) − Φ(a) is expanded about the middle, to 1e-11


def _clenshaw_curtis(n: int) -> tuple[Array, Array]:
    """n + 1 nodes and weights on [−1, 1], n even; every second node is the rule for n/2 (Trefethen, SIAM Rev. 2008)."""
    k = np.arange(n + 1)
    even = np.arange(0, n + 1, 2)
    moments = 2.0 / (1.0 - even**2.0)  # ∫ T_j
    moments[[0, -1]] *= 0.5
    weights = 2.0 / n * np.cos(np.pi * np.outer(k, even) / n) @ moments
    weights[[0, -1]] *= 0.5
    return -np.cos(np.pi * k / n), weights


_NODES, _WEIGHTS = _clenshaw_curtis(16)
_COARSE = _clenshaw_curtis(8)[1]


def mixture_information(
    belief: Belief, instrument: Instrument, places: ArrayLike, about: str, given: Sequence[Query] = ()
) -> Array:
    """Bits that the next answer is expected to tell, (M,), about "function", or "hyperparameters" or "model".

    The last two are the same: which of the belief's parts is right. Exact to 1e-7 bits.

    >>> import gainful as gf
    >>> belief = gf.Belief([gf.GP(gf.SE(), gf.ConstantMean(m)).condition(gf.Data()) for m in (-50.0, 50.0)])
    >>> mixture_information(belief, gf.Point(noise=1.0), [[0.0]], "hyperparameters").round(6).tolist()
    [1.0]
    >>> mixture_information(belief, gf.Point(noise=1.0), [[0.0]], "function").round(6).tolist()
    [1.5]
    """
    if not isinstance(given, Sequence) or len(given):
        raise InvalidInput(
            "given", "no pending queries with a belief of several posteriors", given,
            "wait for their answers, or give one posterior",
        )  # fmt: skip
    weights, m, v = parts(belief, instrument, places)
    about_parts = disagreement(instrument, weights, m, v, rounding(belief, instrument, places))
    if about != "function":
        return about_parts
    within = information_given(instrument, *_stacked(m, v)).reshape(len(weights), -1)
    with np.errstate(invalid="ignore"):  # a weight is positive here, so that infinite bits stay infinite
        return about_parts + weights @ within


def parts(belief: Belief, instrument: Instrument, places: ArrayLike) -> tuple[Array, Array, Array]:
    """The positive weights (S,), and mean (S, M) and variance (S, M) of what the instrument sees, or of sets (S, M, k)
    and (S, M, k, k)."""
    held = np.flatnonzero(belief.weights > 0.0)
    seen = [belief.posteriors[s].functional(instrument, places) for s in held]
    return belief.weights[held], np.stack([m for m, _ in seen]), np.stack([v for _, v in seen])


def rounding(belief: Belief, instrument: Instrument, places: ArrayLike) -> Array | float:
    """The variance (M,) below which predictions of a number are known only up to rounding; of discrete answers none."""
    if not isinstance(instrument, Point | Interval):
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
    if isinstance(instrument, Point | Interval):
        if isinstance(instrument, Interval) and instrument.width is None:
            raise InvalidInput("width", "a number", None, "say how wide the answers are: Interval(noise, width=...)")
        half = 0.0 if isinstance(instrument, Point) else 0.5 * float(instrument.width or 0.0)
        spread = np.sqrt(np.maximum(v + instrument.noise**2, floor))
        return _on_a_line(log_w, m, spread, half)
    answers = instrument.answers(*_stacked(m, v))
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


def _on_a_line(log_w: Array, m: Array, spread: Array, half: float) -> Array:
    """E_y KL(r(y) ‖ w) in bits, (M,), for y = m_s + spread_s Z, or that plus a uniform on (−half, half).

    Clenshaw–Curtis panels: none is wider than four spreads of a part whose edges it touches, so that no part is
    overlooked however narrow; then each is halved until the rule and the one on every second node agree.
    """
    m = m - np.exp(log_w) @ m
    heavy = np.exp(log_w) > _LIGHT
    which, low, high = _resolved(m[heavy], spread[heavy], half)
    total = np.zeros(m.shape[1])
    while which.size:
        value, error = np.empty(len(which)), np.empty(len(which))
        step = max(_AT_ONCE // (len(_NODES) * len(m)), 1)
        for i in range(0, len(which), step):
            cut = slice(i, i + step)
            mine, width = which[cut], 0.5 * (high[cut] - low[cut])
            y = 0.5 * (low[cut] + high[cut])[:, None] + width[:, None] * _NODES
            moved = _BITS * _moved(log_w, _log_density(y, m[:, mine, None], spread[:, mine, None], half))
            value[cut] = width * (moved @ _WEIGHTS)
            error[cut] = np.abs(value[cut] - width * (moved[:, ::2] @ _COARSE))
        done = error <= _TOLERANCE
        np.add.at(total, which[done], value[done])
        which, low, high = _halved(which[~done], low[~done], high[~done])
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
        which, low, high = _halved(which[split], low[split], high[split])
    owners, lows, highs = (np.concatenate(each) for each in zip(*found, strict=True))
    return owners, lows, highs


def _halved(which: Index, low: Array, high: Array) -> tuple[Index, Array, Array]:
    if 2 * len(which) > _MOST_PANELS:
        raise NumericalError(
            "predictions of very different spreads need too many panels; score fewer places at a time, or leave out "
            "the posteriors that are certain of their answer"
        )
    middle = 0.5 * (low + high)
    return np.concatenate([which, which]), np.concatenate([low, middle]), np.concatenate([middle, high])


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
