"""Information when several posteriors are weighed against each other: hyperparameter samples, or rival models.

With parts s of weights w_s, an answer y makes the weights r_s(y) = w_s p(y | s)/p(y). What it tells about which part is
right is how far it is expected to move them, and what it tells about the function adds what it tells within each part:

    I(y; s)      =  H[y] − Σ w_s H[y | s]             =  E_y KL(r(y) ‖ w)
    I(y; f, s)   =  H[y] − Σ w_s E_{f|s} H[y | f, s]  =  I(y; s) + Σ w_s I(y; f | s)
    I(y; f_R, s) =                                       I(y; s) + Σ w_s I(y; f_R | s)

(Houlsby et al. 2011, sec. 3.1 and eq. 6; Lin 2022, sec. 3.2). Each part has its own instrument, whose noise may be what
the parts differ in. Where they share it y depends on s only through f, then I(y; f) = I(y; f, s), and hyperparameters
are nuisance. Values f_R in a region do not say which part is right: what an answer tells of that counts as well,
because it moves what is predicted there. The expected movement is a sum over discrete answers, and over numbers and
intervals an integral on a line: never samples.

Beyond pending answers Y both terms are given Y. The second is each part's own, Σ w_s I(y; f | s, Y): by its fantasy,
which is exact for numbers, corrected for other answers by what the three heaviest parts say exactly. For the first,
which answers move the weights how far, a few joint answers are drawn from the belief.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp, ndtr

from gainful.data import Query, as_queries
from gainful.errors import InvalidInput
from gainful.inference.belief import Belief, Part
from gainful.inference.fantasy import count_on, own_queries, sample_fantasies
from gainful.inference.predictive import Predictive
from gainful.information.about import Region
from gainful.information.entropy import of_bins, of_reading
from gainful.information.joint import information_estimate
from gainful.information.quadrature import on_lattice
from gainful.information.readings import RESOLUTION, channel_of, checked
from gainful.information.region import AboutRegion, region_information
from gainful.information.single import information_alone, information_given
from gainful.instruments import Instrument
from gainful.instruments.answers import DiscreteAnswers
from gainful.instruments.channel import Channel
from gainful.numerics.memory import in_blocks
from gainful.numerics.quadrature import adaptive, halved

__all__ = [
    "OfEachPart",
    "Several",
    "alike",
    "channels_of",
    "disagreement",
    "grouped",
    "log_probabilities",
    "mixture_information",
    "of_each_part",
    "own_region",
    "panels_of",
    "ranked_information",
    "rounding",
    "several",
]

Array = NDArray[np.float64]
Index = NDArray[np.intp]

_BITS = 1.0 / float(np.log(2.0))
_LOG_SQRT_2PI = 0.5 * float(np.log(2.0 * np.pi))
_REACH = 9.0  # spreads from its centre beyond which a part is not there: 1e-19 of its mass
_WIDEST = 4.0  # the widest panel, in spreads of the narrowest part that it touches
_TOLERANCE = 1e-8  # bits by which the two rules may differ on a panel; Kronrod is then far closer than that
_RESOLVED = 3e-4  # by which probabilities of answers may miss one where nodes resolve them; bits are then as exact
_LIGHT = 1e-13  # parts of less weight add at most w log2(1/w) < 5e-12 bits; no panel is made narrow for them
_NUMBERS = 100  # held for each query and part: ends of panels
_AT_ONCE = 250_000  # numbers held at a time
_EXACT = 3  # parts of which it is worked out exactly what is left beyond pending answers
_MANY = 50  # parts from which on compiled code is worth loading
_NARROW = 0.02  # width in spreads below which Φ(b) − Φ(a) is expanded about the middle, to 1e-11


class OfEachPart(NamedTuple):
    """What one wants to know about a region, with all done for each part of a belief, by its number, that does not
    depend on the queries."""

    region: Region
    parts: tuple[AboutRegion, ...]


def of_each_part(belief: Belief, region: Region) -> OfEachPart:
    """The region prepared for each part, whose instrument it is that will answer there."""
    made = [AboutRegion(p, own_region(belief, s, region)) for s, p in enumerate(belief.posteriors)]
    return OfEachPart(region, tuple(made))


class Several(NamedTuple):
    """What the parts that have weight see at M queries: weights (S,), each part's instrument, mean (S, M) and variance
    (S, M), or of sets (S, M, k) and (S, M, k, k)."""

    weights: Array
    instruments: tuple[Instrument, ...]
    mean: Array
    variance: Array

    def some(self, mine: Index) -> tuple[float, Several]:
        """The weight of these parts together, and what they see, with weights that add up to one."""
        share = float(self.weights[mine].sum())
        own = tuple(self.instruments[i] for i in mine)
        return share, Several(self.weights[mine] / share, own, self.mean[mine], self.variance[mine])


def several(belief: Belief, instrument: Instrument, places: ArrayLike | Predictive) -> Several:
    """What the parts that have weight see."""
    held = isinstance(places, Predictive) and places.posterior is belief
    if isinstance(places, Predictive) and held and instrument.query == "place" and instrument.outputs is None:
        kept = np.flatnonzero(belief.weights > 0.0)
        own = tuple(belief.instrument_of(s, instrument) for s in kept.tolist())
        return Several(belief.weights[kept], own, places.mean[kept], places.variance[kept])
    return _seen(belief.each(instrument, places))


def _seen(parts: Sequence[Part]) -> Several:
    found = [part.posterior.marginals(part.instrument, part.places) for part in parts]
    weights, own = np.array([part.weight for part in parts]), tuple(part.instrument for part in parts)
    return Several(weights, own, np.stack([m for m, _ in found]), np.stack([v for _, v in found]))


def mixture_information(
    belief: Belief,
    instrument: Instrument,
    places: ArrayLike | Predictive,
    about: str | Region | OfEachPart,
    pending: Sequence[Query] = (),
) -> Array:
    """Bits that the next answer is expected to tell, (M,), about "function", a region, or which part is right.

    "hyperparameters" is which of the belief's parts, "model" which of its rival models, "structure" which of its
    structures, with what each leaves open as nuisance: I(y; m) = I(y; s) − I(y; s | m). Of kernel programs, each of
    which is a model, "model" is about the program and "structure" about its form without its numbers. Exact to 1e-7
    bits. Beyond `pending` queries what is told about the parts is an average over a few of their answers, drawn from
    the belief, each of which moves the weights; what is told within each part is as exact as it is of one posterior
    for up to three parts.

    >>> import gainful as gf
    >>> belief = gf.Belief([gf.GP(gf.SE(), gf.ConstantMean(m)).condition(gf.Data()) for m in (-50.0, 50.0)])
    >>> mixture_information(belief, gf.Point(noise=1.0), [[0.0]], "hyperparameters").round(6).tolist()
    [1.0]
    >>> mixture_information(belief, gf.Point(noise=1.0), [[0.0]], "function").round(6).tolist()
    [1.5]
    """
    waiting = checked("pending", pending)
    after = sample_fantasies(belief, waiting) if waiting else [belief]
    held = places if isinstance(places, Predictive) else as_queries(instrument, places)[0]
    if instrument.query == "place" and instrument.outputs is None and not waiting:  # moments that both terms need
        held = belief.predict(places)
    each = len(belief.weights) * (_NUMBERS + 8 * instrument.levels)

    def apart(part: slice) -> Array:
        found = [_about_parts(one, instrument, held[part], about) for one in after]
        return np.asarray(np.mean(found, axis=0))

    bits = in_blocks(apart, len(held), each)
    if isinstance(about, str) and about != "function":
        return bits
    if isinstance(about, str) and waiting:
        return bits + _within_beyond(belief, instrument, held, waiting)
    with np.errstate(invalid="ignore"):  # a weight is positive here, so that infinite bits stay infinite
        for part in belief.each(instrument, held):
            bits = bits + part.weight * _within(belief, part, about, own_queries(belief, part.number, waiting))
    return bits


def _about_parts(
    belief: Belief, instrument: Instrument, places: ArrayLike | Predictive, about: str | Region | OfEachPart
) -> Array:
    """I(y; s), (M,), or about the model or the structure I(y; m) = I(y; s) − Σ_m W_m I(y; s | m)."""
    found = several(belief, instrument, places)
    floor = rounding(belief, instrument, places)
    bits = disagreement(found.instruments, found.weights, found.mean, found.variance, floor)
    for mine in alike(belief, about):
        share, own = found.some(mine)
        bits = bits - share * disagreement(own.instruments, own.weights, own.mean, own.variance, floor)
    return np.maximum(bits, 0.0)


def alike(belief: Belief, about: object) -> list[Index]:
    """Which parts (of those that have weight) are of one model or of one structure, where these are what one wants to
    know: groups of two or more."""
    numbers = {"model": belief.models, "structure": belief.kinds}.get(about) if isinstance(about, str) else None
    if numbers is None:
        return []
    held = np.array(numbers)[belief.weights > 0.0]
    groups = [np.flatnonzero(held == number) for number in np.unique(held)]
    return [mine for mine in groups if len(mine) > 1]


def _within(belief: Belief, part: Part, about: str | Region | OfEachPart, pending: Sequence[Query] = ()) -> Array:
    """I(y; f | s) or I(y; f_R | s) beyond pending answers, (M,)."""
    if isinstance(about, OfEachPart) and not pending:
        return about.parts[part.number].score(part.instrument, part.places)
    if isinstance(about, Region | OfEachPart):
        own = own_region(belief, part.number, about.region if isinstance(about, OfEachPart) else about)
        return region_information(part.posterior, part.instrument, part.places, own, pending)
    shared = belief.instruments[part.number].get(part.instrument.label) is not part.instrument
    return information_alone(part.posterior, part.instrument, part.places, tabulated=shared)


def _within_beyond(
    belief: Belief, instrument: Instrument, places: ArrayLike | Predictive, pending: list[Query]
) -> Array:
    """Σ w_s I(y; f | s, Y), (M,): under each part's fantasy, and by how much that is off from the heaviest parts.

    A fantasy is exact where numbers are pending. Otherwise it errs much alike in all parts, and what is exact is dear.
    """
    counted = count_on(belief, pending)
    assert isinstance(counted, Belief)
    heaviest = set(np.argsort(-belief.weights, kind="stable")[:_EXACT].tolist())
    share = sum(float(belief.weights[s]) for s in heaviest)
    total, off = np.zeros(()), np.zeros(())
    with np.errstate(invalid="ignore"):  # a number without noise has infinite bits either way
        for part, after in zip(belief.each(instrument, places), counted.each(instrument, places), strict=True):
            bits = _within(counted, after, "function")
            total = total + part.weight * bits
            if part.number in heaviest:
                own = own_queries(belief, part.number, pending)
                exact = information_estimate(part.posterior, part.instrument, part.places, own).bits
                off = off + part.weight / share * np.where(np.isfinite(bits), exact - bits, 0.0)
    return np.maximum(total + off, 0.0)


def own_region(belief: Belief, s: int, about: Region) -> Region:
    """The same for part s, whose instrument it is that will answer in the region."""
    own = None if about.answers is None else belief.instrument_of(s, about.answers)
    return about if own == about.answers else replace(about, answers=own)


def ranked_information(
    belief: Belief, instrument: Instrument, places: ArrayLike | Predictive, about: str | Region | OfEachPart
) -> Array:
    """`mixture_information` nearly, (M,), for ranking many queries: by one normal with the mixture's mean and variance.

    Of numbers and intervals H[y] is that normal's, the largest that the variance allows, and exact where the parts
    agree; no answer tells more about the parts than there is to know. Of a few answers I(y; s) is exact, and
    I(y; f | s) that under the one normal with the heaviest part's instrument, as are those of all other answers.
    About a region, that part's own.
    """
    parts = belief.each(instrument, places)
    found = _seen(parts)
    heaviest = parts[int(np.argmax(found.weights))]
    likeliest = heaviest.instrument
    channel, function = likeliest.channel(), isinstance(about, str) and about == "function"
    floor = rounding(belief, instrument, places)

    def apart(some: Several) -> Array:
        if channel is not None and not channel.is_discrete:
            return _by_one_normal(some, channel, floor, function)
        if channel is not None and not channel.any_of:
            return _plain_disagreement(some)
        return disagreement(some.instruments, some.weights, some.mean, some.variance)

    bits = apart(found)
    for mine in alike(belief, about):
        share, own = found.some(mine)
        bits = np.maximum(bits - share * apart(own), 0.0)
    if not isinstance(about, str):
        return bits + _within(belief, heaviest, about)
    if function and (channel is None or channel.is_discrete):
        bits = bits + information_given(likeliest, *_within_parts(found), tabulated=False)
    return bits


def _by_one_normal(found: Several, channel: Channel, floor: Array | float, function: bool) -> Array:
    """I(y; s) of a number or an interval if its readings were one normal, at most H[s]; about the function, with
    Σ w_s I(y; f | s)."""
    weights, noise = found.weights, _noise(channels_of(found.instruments))[:, None]
    each = np.maximum(found.variance + noise**2, floor)
    total = weights @ (each + (found.mean - weights @ found.mean) ** 2)
    given = of_reading(channel, each)
    bits = np.clip(of_reading(channel, total) - weights @ given, 0.0, of_bins(list(weights)))
    if not function:
        return bits
    with np.errstate(invalid="ignore"):  # a number without noise: infinite bits, or none where all is known
        within = weights @ (given - of_reading(channel, np.broadcast_to(noise**2, each.shape)))
    return bits + np.maximum(np.nan_to_num(within, nan=0.0, posinf=np.inf), 0.0)


def _plain_disagreement(found: Several) -> Array:
    """I(y; s) of a few answers as H[y] − Σ w_s H[y | s], to 1e-15 bits: enough to rank by."""
    each = zip(found.instruments, found.mean, found.variance, strict=True)
    channels = [(channel_of(own), m, v) for own, m, v in each]
    p = np.stack([np.stack(channel.probabilities(m, v)) for channel, m, v in channels])  # (S, K, M)
    entropies = of_bins(list(np.moveaxis(p, 1, 0)))
    mixed = of_bins(list(np.tensordot(found.weights, p, axes=1)))
    return np.maximum(mixed - found.weights @ entropies, 0.0)


def _within_parts(found: Several) -> tuple[Array, Array]:
    """The mean of the mixture, and the variance that the parts have on average."""
    return np.tensordot(found.weights, found.mean, axes=1), np.tensordot(found.weights, found.variance, axes=1)


def rounding(belief: Belief, instrument: Instrument, places: ArrayLike | Predictive) -> Array | float:
    """The variance (M,) below which predictions of a number are known only up to rounding; of discrete answers none."""
    channel = instrument.channel()
    if channel is None or channel.is_discrete:
        return 0.0
    X = np.atleast_2d(np.asarray(places, dtype=float))
    X = as_queries(instrument, X)[0].reshape(len(X), -1) if instrument.outputs is not None else X
    return RESOLUTION * np.max([np.maximum(p.kernel.diag(X), 0.0) for p in belief.posteriors], axis=0)


def disagreement(
    instrument: Instrument | Sequence[Instrument], weights: Array, m: Array, v: Array, floor: Array | float = 0.0
) -> Array:
    """I(answer; which part) = E_y KL(r(y) ‖ w) in bits, (M,), when part s sees N(m_s, v_s) with weight w_s > 0.

    Each part may have its own instrument. `floor` is a variance that no predicted number falls below: where all parts
    know the answer up to rounding they agree, and do not differ in their last digits.
    """
    own = (instrument,) * len(weights) if isinstance(instrument, Instrument) else tuple(instrument)
    if len(weights) == 1 or not m.shape[1]:
        return np.zeros(m.shape[1])
    log_w = np.log(weights)
    channel = own[0].channel()
    if channel is not None and not channel.is_discrete:
        channels = channels_of(own)
        spread = np.sqrt(np.maximum(v + _noise(channels)[:, None] ** 2, floor))
        return _on_a_line(log_w, m, spread, 0.5 * channel.width)
    if own[0].values is None:
        return _over_nodes(own, log_w, m, v)
    return np.maximum(_BITS * _moved(log_w, log_probabilities(own, m, v)).sum(axis=-1), 0.0)


def log_probabilities(own: Sequence[Instrument], m: Array, v: Array) -> Array:
    """log P(answer | s) of discrete answers, (S, M, K); parts that share an instrument are predicted at once."""
    out: Array | None = None
    for instrument, mine in grouped(own):
        answers = instrument.predict(*_stacked(m[mine], v[mine]))
        assert isinstance(answers, DiscreteAnswers)
        logs = answers.log_probabilities.reshape(len(mine), m.shape[1], -1)
        if out is None:
            out = np.empty((len(own), *logs.shape[1:]))
        out[mine] = logs
    assert out is not None
    return out


def grouped(own: Sequence[Instrument]) -> list[tuple[Instrument, list[int]]]:
    """The different instruments, and which parts have them."""
    groups: dict[Instrument, list[int]] = {}
    for s, instrument in enumerate(own):
        groups.setdefault(instrument, []).append(s)
    return list(groups.items())


def channels_of(own: Sequence[Instrument]) -> list[Channel]:
    """The channels of numbers or intervals, all of the same width."""
    channels = [channel for channel in (each.channel() for each in own) if channel is not None]
    widths = {channel.width for channel in channels}
    if len(channels) < len(own) or len(widths) > 1:
        raise InvalidInput(
            "instruments", "intervals of one width in all parts", sorted(widths),
            "parts may differ in an instrument's noise, not in what it answers",
        )  # fmt: skip
    return channels


def _noise(channels: Sequence[Channel]) -> Array:
    return np.array([channel.noise for channel in channels])


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


def _over_nodes(own: Sequence[Instrument], log_w: Array, m: Array, v: Array) -> Array:
    """E_y KL(r(y) ‖ w) in bits, (M,), for numbers and counts without a channel, by each part's own nodes."""
    table = on_lattice(own[0], *_stacked(m, v)) if len(set(own)) == 1 else None
    if table is not None:
        with np.errstate(divide="ignore"):
            shared = np.moveaxis(np.log(table.probability).reshape(-1, *m.shape), 0, -1)
        return np.maximum(_BITS * (_moved(log_w, shared) @ table.measure), 0.0)
    total, resolved = _over_shared_nodes(own, log_w, m, v)
    if not resolved.all():
        rest = ~resolved
        total[rest] = _over_own_nodes(own, log_w, m[:, rest], v[:, rest])
    return np.maximum(_BITS * total, 0.0)


def _over_shared_nodes(own: Sequence[Instrument], log_w: Array, m: Array, v: Array) -> tuple[Array, NDArray[np.bool_]]:
    """E_y KL(r(y) ‖ w) in nats, (M,), by the nodes of one normal as wide as any part, and whether they resolve every
    part: whether each one's probabilities add up to one there."""
    weights = np.exp(log_w)
    centre = weights @ m
    wide, like = np.max(v + (m - centre) ** 2, axis=0), own[int(np.argmax(log_w))]
    y, share = like.outcomes(centre, wide)
    assert share is not None

    def logs(instrument: Instrument, mean: Array, variance: Array) -> Array:
        tiled = np.tile(mean, len(y)), np.tile(variance, len(y))
        return instrument.log_partition(y.ravel(), *tiled).log_z.reshape(y.shape)

    with np.errstate(divide="ignore"):
        measure = np.exp(np.log(share) - logs(like, centre, wide))
    measure = np.where(share > 0.0, measure, 0.0)
    each = np.stack([logs(*case) for case in zip(own, m, v, strict=True)])
    off = np.abs(np.sum(measure * np.exp(each), axis=1) - 1.0)
    return np.sum(measure * _moved(log_w, each), axis=0), weights @ off < _RESOLVED


def _over_own_nodes(own: Sequence[Instrument], log_w: Array, m: Array, v: Array) -> Array:
    """The same by each part's own nodes, however far the parts lie from each other."""
    total = np.zeros(m.shape[1])
    for s in range(len(m)):
        y, weight = own[s].outcomes(m[s], v[s])
        assert weight is not None
        moments = [(np.tile(a, len(y)), np.tile(b, len(y))) for a, b in zip(m, v, strict=True)]
        logs = np.stack(
            [
                instrument.log_partition(y.ravel(), *each).log_z.reshape(y.shape)
                for instrument, each in zip(own, moments, strict=True)
            ]
        )
        mixed = logsumexp(log_w[:, None, None] + logs, axis=0)
        gain = np.where(weight > 0.0, logs[s] - mixed, 0.0)
        total += np.exp(log_w[s]) * np.sum(weight * gain, axis=0)
    return total


def _on_a_line(log_w: Array, m: Array, spread: Array, half: float) -> Array:
    """E_y KL(r(y) ‖ w) in bits, (M,), for y = m_s + spread_s Z, or that plus a uniform on (−half, half).

    No panel is wider than four spreads of a part whose edges it touches, so that no part is overlooked however narrow;
    then each is halved until Gauss and Kronrod agree.
    """
    m = m - np.exp(log_w) @ m
    panels = panels_of(log_w, m, spread, half)

    def moved(y: Array, which: Index) -> Array:
        return _BITS * _moved(log_w, _log_density(y, m[:, which, None], spread[:, which, None], half))

    compiled = not half and len(m) >= _MANY
    at_once = _AT_ONCE if compiled else max(_AT_ONCE // (15 * len(m)), 1)
    total = adaptive(
        _compiled_movement(log_w, m, spread) if compiled else moved, *panels, m.shape[1], lambda *_: _TOLERANCE, at_once
    )
    return np.maximum(total, 0.0)


def _compiled_movement(log_w: Array, m: Array, spread: Array) -> Callable[[Array, Index], Array]:
    """The same integrand for normals, node by node, without those parts that lie far from it."""
    from gainful.information.compiled import movement  # Numba takes half a second to import

    unit = np.exp(np.mean(np.log(spread), axis=0))
    weights, own, log_spread = np.exp(log_w), np.ascontiguousarray(m.T), np.ascontiguousarray(np.log(spread / unit).T)
    inverse = np.ascontiguousarray(1.0 / spread.T)

    def moved(y: Array, which: Index) -> Array:
        out = np.empty(y.shape)
        movement(y, which, weights, own, inverse, log_spread, _REACH, out)
        return np.asarray(_BITS * out / (np.sqrt(2.0 * np.pi) * unit[which, None]))

    return moved


def panels_of(log_w: Array, m: Array, spread: Array, half: float = 0.0) -> tuple[Index, Array, Array]:
    """Panels (owner, low, high) that hold all parts (S, M) but the lightest, and are narrow where their edges are."""
    heavy = np.exp(log_w) > _LIGHT
    return _resolved(m[heavy], spread[heavy], half)


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
