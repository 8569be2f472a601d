"""Estimates I(answer; f | pending) by enumerating or drawing outcomes of the pending queries: for scans, large batches.

With r the readings of the pending queries and a their answers,

    I(answer; f | a) = I(answer; f) − I(answer; a),   I(answer; a) = H[answer] − Σ_a P(a) H[answer | a].

The outcomes a are all of them where they are few, otherwise quasi-random draws. Within an outcome, p(answer | a) is an
average of p(answer | r), which is exact, over readings r drawn one after the other between the edges that a names, each
weighted by the probability that it could be drawn there (Genz 1992). Nothing is assumed about the shape of the belief
after a: a repeat of a noiseless query tells nothing, as it should. The points are a fixed sequence, so equal questions
get equal answers and scores change smoothly from place to place.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, xlogy

from gainful.information.entropy import of_reading
from gainful.information.readings import CandidateReadings, Readings, ratio, root_of
from gainful.instruments.channel import Channel
from gainful.numerics.blas import matmul

__all__ = ["Outcomes", "Size", "information_with_pending", "outcomes"]

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_BITS = 1.0 / float(np.log(2.0))
_SOME = 400_000  # numbers at a time
_FAINT = 0.05  # the share of a reading's variance below which pending answers leave it normal, to 1e-5 bits
_GRID = np.linspace(-4.4, 4.4, 20)
_SURE = 1e-300
_READING = Channel(0.0)  # a number: the reading itself


class Size(NamedTuple):
    """How many outcomes are drawn, and how many readings within each."""

    outcomes: int
    within: int


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Q outcomes with their shares (Q,), and J readings in each: whitened z (Q, J, R), r = mean + root z, with weights
    (Q, J) that sum to one. `drawn` says that the outcomes are a sample."""

    readings: Readings
    root: Array
    share: Array
    z: Array
    weight: Array
    drawn: bool


def spread_out(n: int, d: int, after: int = 0) -> Array:
    """n points in the open unit cube of d dimensions, i √p mod 1 with one prime p for each (Richtmyer 1951).

    Points that are used together take primes after each other's, or they would move in step.
    """
    primes: list[int] = []
    candidate = 2
    while len(primes) < after + d:
        if all(candidate % p for p in primes):
            primes.append(candidate)
        candidate += 1
    return np.asarray(np.modf(np.outer(np.arange(n) + 0.5, np.sqrt(np.array(primes[after:], dtype=float))))[0])


def outcomes(readings: Readings, size: Size) -> Outcomes:
    """Outcomes of the pending queries (one case; numbers first) and readings within each."""
    root = root_of(readings.cov)[0]
    levels = [len(channel.bounds) + 1 if channel.is_discrete else 0 for channel in readings.channels]
    few = all(levels) and float(np.prod([float(n) for n in levels])) <= size.outcomes
    if few:
        answers = [grid.ravel() for grid in np.indices(levels)] if levels else []
        count = int(np.prod(levels))
        within = 2 ** int(np.log2(size.outcomes * size.within / count))
        known = [_named(channel, a) for channel, a in zip(readings.channels, answers, strict=True)]
        start = np.zeros((count, len(root)))
    else:
        count, within = size
        start, known = _drawn(readings, root, count)
    z, mass = _within(readings, root, known, start, within)
    total = mass.sum(axis=1)
    if few:
        kept = total > 0.0
        share = total[kept] / total[kept].sum()
        return Outcomes(readings, root, share, z[kept], mass[kept] / total[kept, None], False)
    lost = total <= 0.0  # no reading found its way into a narrow corner: the one that was drawn is there
    z[lost], mass[lost] = start[lost, None], 1.0
    return Outcomes(readings, root, np.full(count, 1.0 / count), z, mass / mass.sum(axis=1, keepdims=True), True)


class _Known(NamedTuple):
    """What an answer says of a reading: between low and high with this likelihood, elsewhere with that; (Q,) each.

    For a set, `low` is 0 where something was heard, `high` 0 where nothing was.
    """

    low: Array
    high: Array
    inside: Array
    outside: Array


def _named(channel: Channel, answer: NDArray[np.intp]) -> _Known:
    padded = np.concatenate([[-np.inf], channel.bounds, [np.inf]])
    mix = channel.mix
    one, none = np.ones(len(answer)), np.zeros(len(answer))
    inside, outside = (one, none) if mix is None else (mix[answer, answer], mix[1 - answer, answer])
    return _Known(padded[answer], padded[answer + 1], inside, outside)


def _drawn(readings: Readings, root: Array, count: int) -> tuple[Array, list[_Known]]:
    """Readings drawn from the belief, whitened (Q, R), and the answers that they give."""
    R = len(root)
    careless = [i for i, channel in enumerate(readings.channels) if channel.is_interval or channel.mix is not None]
    u = spread_out(count, R + len(careless))
    z = ndtri(u[:, :R])
    r = readings.mean + matmul(z, root.T)
    known = []
    for i, (channel, rows) in enumerate(zip(readings.channels, readings.rows, strict=True)):
        chance = u[:, R + careless.index(i)] if i in careless else np.zeros(count)
        mine = r[:, rows.start]
        if channel.is_number:
            known.append(_Known(mine, mine, np.ones(count), np.ones(count)))
        elif channel.is_interval:
            low = mine - channel.width * chance
            known.append(_Known(low, low + channel.width, np.ones(count), np.zeros(count)))
        else:
            heard = np.any(r[:, rows.start : rows.stop] > channel.bounds[0], axis=1)
            bins = heard if channel.any_of else np.searchsorted(channel.bounds, mine)
            answer = bins if channel.mix is None else chance < channel.mix[bins.astype(int), 1]
            known.append(_named(channel, answer.astype(np.intp)))
    return z, known


def _within(readings: Readings, root: Array, known: list[_Known], start: Array, count: int) -> tuple[Array, Array]:
    """Readings that agree with each outcome, whitened (Q, J, R), and their masses (Q, J): P(outcome) on average."""
    Q, R = len(start), len(root)
    shift = spread_out(Q, R, after=2 * R)  # outcomes do not share their readings' errors
    u = np.clip(np.modf(spread_out(count, R) + shift[:, None, :])[0], 1e-12, 1.0 - 1e-12)
    z, mass = np.zeros((Q, count, R)), np.full((Q, count), 1.0 / count)
    for channel, rows, said in zip(readings.channels, readings.rows, known, strict=True):
        heard = np.zeros((Q, count), dtype=bool)
        low, high, inside, outside = (np.broadcast_to(x[:, None], (Q, count)) for x in said)
        for row in rows:
            if channel.is_number:
                z[:, :, row] = start[:, None, row]
                continue
            centre, sd = readings.mean[0, row] + z[:, :, :row] @ root[row, :row], float(root[row, row])
            bottom, top, within, beyond = low, high, inside, outside
            if channel.any_of:
                bottom, top, within, beyond = _of_set(channel, said, heard, row == rows.stop - 1)
            if sd > 0.0:
                z[:, :, row], found = _between(
                    u[:, :, row], (bottom - centre) / sd, (top - centre) / sd, within, beyond
                )
            else:
                found = np.where((centre >= bottom) & (centre <= top), within, beyond)
            mass *= found
            if channel.any_of:
                heard |= centre + sd * z[:, :, row] > channel.bounds[0]
    return z, mass


def _of_set(channel: Channel, said: _Known, heard: Mask, last: bool) -> tuple[Array, Array, Array, Array]:
    """What a set's answer says of one of its readings, when something was noticed before or not: between which ends,
    and how likely it is there and elsewhere.

    A careful no keeps every reading below the edge. Otherwise all but the last are free, and the last decides, if
    nothing was noticed before: careful yeses need it above the edge, careless answers are only more or less likely.
    """
    edge, free = channel.bounds[0], np.full(heard.shape, np.inf)
    yes, one = np.broadcast_to(said.low[:, None] == edge, heard.shape), np.ones(heard.shape)
    if channel.mix is None:
        bottom = np.where(yes & ~heard & last, edge, -np.inf)
        return bottom, np.where(yes, np.inf, edge), one, np.zeros(heard.shape)
    if not last:
        return -free, free, one, one
    noticed, missed = (np.where(yes, channel.mix[b, 1], channel.mix[b, 0]) for b in (1, 0))
    return np.where(heard, -np.inf, edge), free, noticed, missed


def _between(u: Array, a: Array, b: Array, inside: Array, outside: Array) -> tuple[Array, Array]:
    """z ~ N(0, 1) × (inside between a and b, outside elsewhere) at quantile u, and the mass of that."""
    flip = a > -b  # lean to the left, where probabilities keep their digits
    a, b = np.where(flip, -b, a), np.where(flip, -a, b)
    below, upto, above = ndtr(a), ndtr(b), ndtr(-b)
    mass = inside * (upto - below) + outside * (below + above)
    v = u * mass - outside * below
    with np.errstate(divide="ignore", invalid="ignore"):
        low = ndtri(np.clip(u * mass / outside, 0.0, 1.0))
        middle = ndtri(np.clip(below + v / inside, 0.0, 1.0))
        high = -ndtri(np.clip((1.0 - u) * mass / outside, 0.0, 1.0))
    z = np.where(v < 0.0, low, np.where(v <= inside * (upto - below), np.clip(middle, a, b), high))
    z = np.clip(np.nan_to_num(z), -38.0, 38.0)
    return np.where(flip, -z, z), mass


def information_with_pending(pending: Outcomes, asked: CandidateReadings) -> tuple[Array, Array]:
    """I(answer; pending answers) in bits, (M,), and its standard error."""
    bits, error = np.zeros(len(asked)), np.zeros(len(asked))
    left = asked.left
    step = max(1, _SOME // pending.weight.size)
    for i in range(0, len(asked), step):
        part = slice(i, i + step)
        case = _Case(asked.channel, asked.mean[part], asked.cov[part], left[part], asked.gain[part])
        score = _of_discrete if asked.channel.is_discrete else _of_number
        parts, before = score(pending, case)
        bits[part], error[part] = _averaged(pending, parts, before)
    return np.maximum(bits, 0.0), error


class _Case(NamedTuple):
    """Some of what is asked: mean (M, k), its covariance without and with the pending readings known (M, k, k), gain
    (M, k, R)."""

    channel: Channel
    mean: Array
    before: Array
    after: Array
    gain: Array

    def moved(self, pending: Outcomes, row: int = 0) -> Array:
        """How far each pending reading moves the mean, (Q, J, M)."""
        flat = pending.z.reshape(-1, pending.z.shape[2])
        return matmul(flat, np.ascontiguousarray(self.gain[:, row].T)).reshape(*pending.weight.shape, -1)


class _Spread(NamedTuple):
    """Entropies of an answer within each outcome, and a control that is H[answer] on average over them, (Q, M) each."""

    entropy: Array
    control: Array


def _averaged(pending: Outcomes, parts: list[_Spread], before: Array) -> tuple[Array, Array]:
    """H[answer] − Σ_a P(a) H[answer | a], (M,), and a standard error; parts are everything and its two halves.

    How far the control is from H[answer] for these outcomes tells how far their entropies are off (its coefficient is
    by regression). An entropy of an average over few readings is too small, in proportion to 1/J: half as many readings
    show by how much. What is left to doubt is that correction, the difference of the halves, and, where outcomes are
    drawn, their spread (more than there is to doubt: evenly spread points beat chance).
    """
    share = pending.share
    entropy, control = parts[0]
    off_e, off_c = entropy - share @ entropy, control - share @ control
    slope = ratio(share @ (off_e * off_c), share @ off_c**2 + _SURE)
    whole, one, two = (share @ part.entropy for part in parts)
    short = np.maximum(whole - 0.5 * (one + two), 0.0)
    told = before - whole - short + slope * (share @ control - before)
    error = np.hypot(short, one - two)  # twice what independent halves would say: these are evenly spread
    if pending.drawn:
        error = np.hypot(error, np.sqrt(share @ (off_e - slope * off_c) ** 2 / len(share)))
    return told, error


def _of_discrete(pending: Outcomes, case: _Case) -> tuple[list[_Spread], Array]:
    channel, edges = case.channel, case.channel.bounds
    if channel.any_of:
        below = [_summed(pending, _missed(pending, case))]
    else:
        sd = np.sqrt(np.maximum(case.after[:, 0, 0], _SURE))
        z = (case.mean[:, 0] + case.moved(pending)) / -sd
        below = [_summed(pending, ndtr(z + edge / sd)) for edge in edges]
    p = _shares(channel, below)
    if channel.any_of:  # its own values are drawn too, so that only its average is comparable
        expected = [pending.share @ x[0] for x in p]
    else:
        spread = np.sqrt(np.maximum(case.before[:, 0, 0], _SURE))
        expected = _shares(channel, [ndtr((edge - case.mean[:, 0]) / spread) for edge in edges])
    entropy = -_BITS * sum((xlogy(x, x) for x in p), np.zeros(()))
    control = sum((x * -np.log2(np.maximum(e, _SURE)) for x, e in zip(p, expected, strict=True)), np.zeros(()))
    before = -_BITS * sum((xlogy(e, e) for e in expected), np.zeros(()))
    return [_Spread(h, c) for h, c in zip(entropy, control, strict=True)], np.asarray(before)


def _summed(pending: Outcomes, values: Array) -> Array:
    """The averages of values (Q, J, M) within each outcome, and those of either half of its readings, (3, Q, M)."""
    weight = pending.weight[:, None, :] * (np.arange(pending.weight.shape[1]) % 2 == np.array([[0], [1]]))
    sums = np.matmul(weight, values)
    each = sums / np.maximum(weight.sum(axis=2), _SURE)[:, :, None]
    return np.concatenate([sums.sum(axis=1)[None], np.swapaxes(each, 0, 1)])


def _shares(channel: Channel, below: list[Array]) -> list[Array]:
    """Probabilities of the answers from those of the reading being below each edge."""
    upto = [*below, np.ones_like(below[0])]
    return channel.answers([below[0], *(np.maximum(b - a, 0.0) for a, b in pairwise(upto))])


def _missed(pending: Outcomes, case: _Case) -> Array:
    """P(nothing of a set is heard | readings), (Q, J, M): the set's own values are drawn along with the readings."""
    shape, k = pending.weight.shape, case.mean.shape[1]
    noise, edge = case.channel.noise, case.channel.bounds[0]
    root = root_of(case.after - noise**2 * np.eye(k))
    own = ndtri(spread_out(int(np.prod(shape)), k, after=3 * pending.z.shape[2])).reshape(*shape, k)
    missed = np.ones((*shape, len(root)))
    for row in range(k):
        missed *= ndtr((edge - case.mean[:, row] - case.moved(pending, row) - own @ root[:, row].T) / noise)
    return missed


def _of_number(pending: Outcomes, case: _Case) -> tuple[list[_Spread], Array]:
    """Where the pending answers explain little of a reading it stays normal; elsewhere its density is a mixture over
    the readings within the outcome, and what that lacks in entropy is taken off.

    An interval lacks less, being blurred by its width: λ³ of it with λ the reading's share of the variance, as the
    leading term of the lack is a squared skewness.
    """
    channel = case.channel
    own, left = (np.maximum(v[:, 0, 0], _SURE) for v in (case.before, case.after))
    moved = case.moved(pending)
    mean = _summed(pending, moved)
    within = np.maximum(_summed(pending, (moved - mean[0][:, None]) ** 2) - (mean - mean[0]) ** 2, 0.0)
    variance, before = within + left, of_reading(channel, own)
    control = before + 0.5 * _BITS * ((variance + mean**2) / own - 1.0)
    entropy = of_reading(channel, variance)
    (strong,) = np.nonzero(left < (1.0 - _FAINT) * own)
    step = max(1, _SOME // (pending.weight.size * len(_GRID)))
    for i in range(0, len(strong), step):
        some = strong[i : i + step]
        shape = _mixture(pending, moved[:, :, some], mean[0][:, some], within[0][:, some], left[some])
        lack = np.maximum(of_reading(_READING, variance[0][:, some]) - shape, 0.0)
        blurred = variance[:, :, some] / (variance[:, :, some] + channel.width**2 / 12.0)
        entropy[:, :, some] -= lack * blurred**3
    return [_Spread(e, c) for e, c in zip(entropy, control, strict=True)], before


def _mixture(pending: Outcomes, values: Array, mean: Array, within: Array, left: Array) -> Array:
    """The entropy in bits of Σ_j w_j N(values_j, left), values (Q, J, M), on a grid; (Q, M).

    The components are widened by their own spacing, and drawn together by as much, so that they join up.
    """
    blur = (np.minimum(1.5 * np.sum(pending.weight**2, axis=1), 1.0) ** 2)[:, None]
    sd, total = np.sqrt(left + blur * within), np.sqrt(left + within)
    # Single precision: 1e-6 of a density is plenty, and this loop is what a scan's time goes into.
    half = np.sqrt(0.5)
    at = (half * np.sqrt(1.0 - blur)[:, None] * (values - mean[:, None]) / sd[:, None]).astype(np.float32)
    step, weight = (half * total / sd).astype(np.float32)[:, None], pending.weight.astype(np.float32)[:, None, :]
    p = np.empty((len(_GRID), *mean.shape))
    z = np.empty_like(at)
    for i, y in enumerate(_GRID.astype(np.float32)):
        np.subtract(at, y * step, out=z)
        np.multiply(z, -z, out=z)
        p[i] = np.matmul(weight, np.exp(z, out=z))[:, 0]
    spacing = total * (_GRID[1] - _GRID[0])
    p /= p.sum(axis=0) * spacing
    return np.asarray(-_BITS * np.sum(xlogy(p, p), axis=0) * spacing)
