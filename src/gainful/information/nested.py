"""Joint information of several answers by nested quadrature: I = H[answers] − Σ E[H[answer_i | f]], in bits.

Given f the answers are independent, so only their joint entropy is new. Numbers first: they are jointly normal, and
what they tell is a determinant. Given them, the other readings are normal again, with a known covariance and a mean
that the numbers move; H[others | numbers] is an average over how far (as many dimensions as there are numbers, or
discrete readings, whichever are fewer). An interval is one more integral, over its lower end. What remains are
probabilities of cells, edge to edge, of a normal vector: two variables in closed form, more of them one integral each.

So the integrals nest `depth` deep. Up to two deep they are done, to about 1e-8 bits; beyond that see `outcomes`.
Panels end where an integrand bends (another reading crosses its edge) and narrow towards it as it sharpens: readings
without noise, that repeat or determine each other, are only the sharpest case.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, xlogy

from gainful.information.entropy import conditional_entropy, of_reading
from gainful.information.readings import SAME, CandidateReadings, Readings, ratio, root_of
from gainful.information.single import expected_set_entropy
from gainful.instruments.channel import Channel
from gainful.numerics.orthant import bvn_cdf
from gainful.numerics.quadrature import panels

__all__ = [
    "Given",
    "cells",
    "conditional",
    "depth",
    "given_all_numbers",
    "given_numbers",
    "is_exact",
    "rest_entropy",
]

Array = NDArray[np.float64]
Edges = list[Array]  # one (B, T) for each row, increasing

_BITS = 1.0 / float(np.log(2.0))
_DEEPEST = 2
_CUTS = np.array([-7.5, -4.0, -1.3, 1.3, 4.0, 7.5])
_PER_PANEL = 10
_AXIS = (len(_CUTS) - 1) * _PER_PANEL  # nodes of one integral, when nothing is sharp
_NEGLIGIBLE = 1e-15  # the weight of a node that is left out
_SHARP = 0.5  # a bend narrower than this many standard deviations gets panels of its own
_GRADES = np.array([-6.5, -2.2, 2.2, 6.5])
_KNOWN = 1e-9  # of an interval's width: a reading that varies less might as well be known
_AT_ONCE = 20_000  # nodes at a time, to bound memory


@dataclass(frozen=True, eq=False)
class Given:
    """What is left when the numbers are known: their bits (B, numbers), each beyond those before it, the other
    readings, and how the numbers move them.

    `moves` (B, R, P): their mean shifts by moves @ z with z standard normal.
    """

    bits: Array
    rest: Readings
    moves: Array


def given_numbers(readings: Readings) -> Given:
    """Condition on the numbers one at a time: ½ log2(Var[reading]/noise²) each, their sum the log of the determinant.

    A number without noise tells infinitely much, or nothing where its reading is known already.
    """
    numbers = readings.numbers
    others = [i for i in range(len(readings.channels)) if i not in numbers]
    cov, bits = readings.cov.copy(), np.zeros((len(readings), len(numbers)))
    order = [row for i in others for row in readings.rows[i]]
    moves = np.zeros((len(readings), len(order), len(numbers)))
    for column, i in enumerate(numbers):
        (row,) = readings.rows[i]
        noise = readings.channels[i].noise
        variance = cov[:, row, row]
        left = variance > (readings.rounding[:, row] if noise == 0.0 else 0.0)
        if noise == 0.0:
            bits[:, column] = np.where(left, np.inf, 0.0)
        else:
            bits[:, column] = 0.5 * _BITS * np.log(np.maximum(variance / noise**2, 1.0))
        safe = np.where(left, variance, 1.0)
        pull = np.where(left[:, None], cov[:, :, row], 0.0)
        moves[:, :, column] = pull[:, order] / np.sqrt(safe)[:, None]
        cov -= pull[:, :, None] * (pull / safe[:, None])[:, None, :]
    rest = Readings(readings.channels, readings.rows, readings.mean, cov, readings.rounding).take(others)
    kept = _discrete_rows(rest)
    if len(numbers) > len(kept):  # fewer dimensions than numbers: only discrete readings care where their mean is
        moves = root_of(np.einsum("brp,bsp->brs", moves, moves)[:, kept][:, :, kept])
        full = np.zeros((len(readings), len(order), len(kept)))
        full[:, kept] = moves
        moves = full
    moves[:, [r for r in range(len(order)) if r not in kept]] = 0.0
    return Given(bits, rest, moves)


def depth(given: Given) -> int:
    """How many integrals nest above the closed form for two readings."""
    if _alone(given.rest):
        return 0
    readings = given.rest.mean.shape[1]
    return given.moves.shape[2] + len(given.rest.intervals) + max(readings - 2, 0)


def _alone(rest: Readings) -> bool:
    """One interval and nothing else: its entropy depends on its spread alone."""
    return len(rest.channels) == 1 and rest.channels[0].is_interval


def is_exact(given: Given, budget: float) -> bool:
    """Whether quadrature does it, within so many bivariate normal probabilities."""
    rest, deep = given.rest, depth(given)
    if deep > _DEEPEST:
        return False
    counts = [2 if channel.is_interval else len(channel.bounds) for channel in rest.channels]
    by_row = [n for n, rows in zip(counts, rest.rows, strict=True) for _ in rows]
    # A cell costs far less to add up than a bivariate probability to work out.
    closed = float(np.prod(by_row[-2:])) if len(by_row) > 1 else 0.0
    each = max(closed, 0.02 * float(np.prod([n + 1 for n in by_row])))
    if each * len(rest) * float(_AXIS) ** deep > budget:
        return False
    return deep == 0 or each * len(rest) * _nodes_per_axis(given) ** deep <= budget


def _nodes_per_axis(given: Given) -> float:
    """How many nodes the outermost integral takes, on average over the cases, with its bends."""
    rest = given.rest
    edges = _all_edges(rest)
    if given.moves.shape[2]:
        slope, left = given.moves[:, :, 0], rest.cov
    else:
        slope = ratio(rest.cov[:, :, 0], np.sqrt(rest.cov[:, :1, 0]))
        left = _left(rest.cov, slope)
    places, widths = _bends(rest.mean, slope, left, edges)
    sharp = (widths < _SHARP) & (np.abs(places) < _CUTS[-1]) & (widths > 0.0)
    return _AXIS + _PER_PANEL * len(_GRADES) * float(np.mean(np.sum(sharp, axis=1)))


def given_all_numbers(asked: CandidateReadings) -> Given:
    """The same when everything pending is a number and the instrument reads one value: no case needs a matrix."""
    left = asked.left
    rest = Readings((asked.channel,), (range(1),), asked.mean, left, asked.rounding)
    if asked.channel.is_number:
        return given_numbers(rest)
    columns = 0 if asked.channel.is_interval else 1
    return Given(np.zeros((len(asked), 0)), rest, np.sqrt(np.maximum(asked.cov - left, 0.0))[:, :, :columns])


def rest_entropy(given: Given) -> Array:
    """H[other answers | numbers] in bits, (B,); of intervals, their differential entropy."""
    rest = given.rest
    if not rest.channels:
        return np.zeros(len(rest))
    if _alone(rest):
        return of_reading(rest.channels[0], rest.cov[:, 0, 0])
    deep = depth(given)
    step = max(1, _AT_ONCE // _AXIS ** min(deep, 2))
    parts = [_entropy(rest.cases(slice(i, i + step)), given.moves[i : i + step]) for i in range(0, len(rest), step)]
    return np.concatenate([np.zeros(0), *parts])


def conditional(channel: Channel, mean: Array, cov: Array) -> Array:
    """E[H[answer | f]] in bits, (B,), of an answer that is not a number; mean (B, k) and covariance (B, k, k) of its
    readings."""
    if channel.is_interval:
        return np.full(len(mean), of_reading(channel, np.array([channel.noise**2]))[0])
    g = cov - channel.noise**2 * np.eye(cov.shape[1])
    if channel.any_of:
        return expected_set_entropy(channel, mean, g)
    known = conditional_entropy(channel)
    return np.zeros(len(mean)) if known is None else known.expected(mean[:, 0], np.maximum(g[:, 0, 0], 0.0))


def cells(mean: Array, cov: Array, edges: Edges) -> Array:
    """P(reading 1 in bin i, reading 2 in bin j, …) of N(mean, cov), (B, T₁ + 1, …, T_R + 1).

    mean is (B, R), cov (B, R, R), positive semidefinite; the bins of reading r are divided by edges[r], (B, T_r).

    >>> edges = [np.zeros((1, 1))] * 3
    >>> cells(np.zeros((1, 3)), np.eye(3)[None] + 1.0, edges)[0, 0, 0].round(9).tolist()
    [0.25, 0.083333333]
    """
    B, R = mean.shape
    if R == 0:
        return np.ones(B)
    sd = np.sqrt(np.maximum(np.einsum("brr->br", cov), 0.0))
    if R == 1:
        return np.diff(_padded(ndtr(_in_deviations(edges[0] - mean[:, :1], sd[:, :1]))), axis=1)
    if R == 2:
        return _two(mean, cov, sd, edges)
    own = _in_deviations(edges[0] - mean[:, :1], sd[:, :1])
    slope = ratio(cov[:, 1:, 0], sd[:, :1])
    rest = _left(cov[:, 1:, 1:], slope)
    z, weight = _nodes(own, *_bends(mean[:, 1:], slope, rest, edges[1:]))
    Z = z.shape[1]
    case, node = np.nonzero(weight > _NEGLIGIBLE)  # panels without width, and tails, are many
    moved = mean[case, 1:] + slope[case] * z[case, node, None]
    inner = cells(moved, rest[case], [e[case] for e in edges[1:]])
    spread = np.zeros((B, Z, int(np.prod(inner.shape[1:]))))
    spread[case, node] = inner.reshape(len(case), -1)
    bins = np.sum(z[:, :, None] > own[:, None, :], axis=2)[:, :, None] == np.arange(own.shape[1] + 1)
    out = np.swapaxes(bins * weight[:, :, None], 1, 2) @ spread
    return np.asarray(out).reshape(B, own.shape[1] + 1, *inner.shape[1:])


def _two(mean: Array, cov: Array, sd: Array, edges: Edges) -> Array:
    a, b = (_in_deviations(edges[r] - mean[:, r, None], sd[:, r, None]) for r in range(2))
    rho = np.clip(ratio(ratio(cov[:, 0, 1], sd[:, 0]), sd[:, 1]), -1.0, 1.0)
    rho = np.where(1.0 - np.abs(rho) < SAME, np.sign(rho), rho)
    below = np.zeros((len(mean), a.shape[1] + 2, b.shape[1] + 2))
    below[:, 1:-1, 1:-1] = bvn_cdf(a[:, :, None], b[:, None, :], rho[:, None, None])
    below[:, 1:-1, -1], below[:, -1, 1:-1], below[:, -1, -1] = ndtr(a), ndtr(b), 1.0
    return np.maximum(np.diff(np.diff(below, axis=1), axis=2), 0.0)


def _entropy(rest: Readings, moves: Array) -> Array:
    """The integrals, outermost first: how far the numbers move the rest, then the intervals' lower ends, then cells."""
    B, R = rest.mean.shape
    mean, cov, weight = rest.mean, rest.cov, np.ones((B, 1))
    edges = _all_edges(rest)
    for column in range(moves.shape[2]):
        later = np.einsum("brp,bsp->brs", moves[:, :, column + 1 :], moves[:, :, column + 1 :])
        slope = moves[:, :, column]
        z, w = _nodes(np.zeros((len(mean), 0)), *_bends(mean, slope, cov + later, edges))
        mean = (mean[:, None] + slope[:, None] * z[:, :, None]).reshape(-1, R)
        weight = (weight[:, :, None] * w.reshape(B, -1, w.shape[1])).reshape(B, -1)
        cov, moves, edges = _repeated(z.shape[1], cov, moves, edges)
    for i in rest.intervals:
        width, (row,) = rest.channels[i].width, rest.rows[i]
        low, w = _lower_ends(mean, cov, edges, row, width)
        weight = (weight[:, :, None] * w.reshape(B, -1, w.shape[1])).reshape(B, -1)
        mean = np.repeat(mean, low.shape[1], axis=0)
        cov, moves, edges = _repeated(low.shape[1], cov, moves, edges)
        edges[row] = np.stack([low.ravel(), low.ravel() + width], axis=1)
    ready = [e for e in edges if e is not None]
    table = _answers(cells(mean, cov, ready), rest.channels, [len(rows) for rows in rest.rows])
    return np.einsum("bz,bz->b", weight, _plain_entropy(table).reshape(B, -1))


def _all_edges(rest: Readings) -> list[Array | None]:
    """Each row's edges (B, T); None for an interval, whose window is not known yet."""
    edges: list[Array | None] = []
    for channel, rows in zip(rest.channels, rest.rows, strict=True):
        at = None if channel.is_interval else channel.bounds
        edges += [None if at is None else np.broadcast_to(at, (len(rest), len(at))) for _ in rows]
    return edges


def _repeated(
    times: int, cov: Array, moves: Array, edges: list[Array | None]
) -> tuple[Array, Array, list[Array | None]]:
    again = [None if e is None else np.repeat(e, times, axis=0) for e in edges]
    return np.repeat(cov, times, axis=0), np.repeat(moves, times, axis=0), again


def _lower_ends(mean: Array, cov: Array, edges: list[Array | None], row: int, width: float) -> tuple[Array, Array]:
    """Lower ends (B, Z) of an interval and weights for an integral over them: its density bends where the lower or the
    upper end passes the reading's own distribution, or a value at which another reading crosses an edge."""
    # A reading that is known has no spread of its own: its window's lower end is uniform, to a billionth of the width.
    sd = np.maximum(np.sqrt(np.maximum(cov[:, row, row], 0.0)), _KNOWN * width)
    slope = cov[:, :, row] / sd[:, None]
    others = [r for r in range(mean.shape[1]) if r != row]
    rest = _left(cov[:, others][:, :, others], slope[:, others])
    turns, scales = _bends(mean[:, others], slope[:, others], rest, [edges[r] for r in others])
    at = [np.broadcast_to(_CUTS, (len(mean), len(_CUTS))), *_graded(turns, scales)]
    cuts = np.concatenate([*at, *(a - (width / sd)[:, None] for a in at)], axis=1)
    reach = _CUTS[-1] + (width / sd)[:, None]
    cuts = np.sort(np.clip(cuts, -reach, _CUTS[-1]), axis=1)
    z, weight = panels(cuts, _PER_PANEL)
    return mean[:, row, None] + sd[:, None] * z, weight * sd[:, None]


def _answers(table: Array, channels: Sequence[Channel], sizes: Sequence[int]) -> Array:
    """From cells of readings to answers: careless ones are mixed, a set's cells are "no" or "yes", of an interval the
    middle cell is the density."""
    axis = 1
    for channel, size in zip(channels, sizes, strict=True):
        if channel.is_interval:
            table = np.take(table, [1], axis=axis) / channel.width
        elif channel.any_of:
            head, tail = table.shape[:axis], table.shape[axis + size :]
            flat = table.reshape(*head, -1, *tail)
            missed = np.take(flat, [0], axis=axis)
            table = np.concatenate([missed, flat.sum(axis=axis, keepdims=True) - missed], axis=axis)
        if channel.mix is not None:
            table = np.moveaxis(np.moveaxis(table, axis, -1) @ channel.mix, -1, axis)
        axis += 1
    return table


def _plain_entropy(table: Array) -> Array:
    """−Σ p log2 p over all axes but the first."""
    p = np.maximum(table.reshape(len(table), -1), 0.0)
    return np.asarray(-_BITS * np.sum(xlogy(p, p), axis=1))


def _discrete_rows(rest: Readings) -> list[int]:
    pairs = zip(rest.channels, rest.rows, strict=True)
    return [row for channel, rows in pairs for row in rows if not channel.is_interval]


def _bends(mean: Array, slope: Array, rest: Array, edges: Sequence[Array | None]) -> tuple[Array, Array]:
    """Where, along z, readings N(mean + slope z, rest) cross their edges, alone or two at once, and how sharply: places
    and widths in z, (B, bends). Only those are kept that are sharp somewhere."""
    sd = np.sqrt(np.maximum(np.einsum("brr->br", rest), 0.0))
    places, widths = [np.zeros((len(mean), 0))], [np.zeros((len(mean), 0))]

    def add(level: Array, rise: Array, spread: Array) -> None:
        flat = np.abs(rise) < 1e-300
        width = np.where(flat, np.inf, spread / np.where(flat, 1.0, np.abs(rise)))
        if np.any(width < _SHARP):
            places.append(level / np.where(flat, 1e-300, rise)[:, None])
            widths.append(np.broadcast_to(width[:, None], level.shape))

    known = [(r, e) for r, e in enumerate(edges) if e is not None]
    for i, (r, e) in enumerate(known):
        add(e - mean[:, r, None], slope[:, r], sd[:, r])
        for s, other in known[:i]:
            rho = ratio(ratio(rest[:, r, s], sd[:, r]), sd[:, s])
            near = np.sqrt(2.0 * np.maximum(1.0 - np.abs(rho), 0.0))
            if not np.any(near < _SHARP):
                continue
            # Both cross at once where (e_r − m_r)/sd_r = ±(e_s − m_s)/sd_s, here multiplied by both deviations.
            sign = np.where(rho < 0.0, -1.0, 1.0) * sd[:, r]
            at = (e - mean[:, r, None])[:, :, None] * sd[:, s, None, None]
            at = at - (sign[:, None] * (other - mean[:, s, None]))[:, None, :]
            rise = slope[:, r] * sd[:, s] - sign * slope[:, s]
            add(at.reshape(len(mean), -1), rise, near * sd[:, r] * sd[:, s])
    return np.concatenate(places, axis=1), np.concatenate(widths, axis=1)


def _graded(turns: Array, widths: Array) -> list[Array]:
    """Cuts at each bend and on either side of it, (B, bends · grades)."""
    if not turns.shape[1]:
        return []
    reach = 100.0
    width = np.minimum(widths, reach)[:, :, None] * _GRADES
    return [(np.clip(turns, -reach, reach)[:, :, None] + width).reshape(len(turns), -1)]


def _nodes(own: Array, turns: Array, widths: Array) -> tuple[Array, Array]:
    """Nodes z (B, Z) and weights for E over z ~ N(0, 1); panels end at `own` (B, T) and narrow towards the bends."""
    fixed = np.broadcast_to(_CUTS, (len(own), len(_CUTS)))
    cuts = np.sort(np.clip(np.concatenate([fixed, own, *_graded(turns, widths)], axis=1), _CUTS[0], _CUTS[-1]), axis=1)
    z, weight = panels(cuts, _PER_PANEL)
    return z, weight * np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)


def _left(cov: Array, slope: Array) -> Array:
    """cov − slope slopeᵀ with variances that are only rounding set to zero."""
    rest = cov - slope[:, :, None] * slope[:, None, :]
    variance = np.einsum("brr->br", rest)
    gone = variance < SAME * np.einsum("brr->br", cov)
    if np.any(gone):
        rest = np.where(gone[:, :, None] | gone[:, None, :], 0.0, rest)
    return rest


def _in_deviations(difference: Array, sd: Array) -> Array:
    """difference/sd; without spread, which side it is on (±inf), and 0 on the edge itself: a toss-up."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(difference / sd, nan=0.0, posinf=np.inf, neginf=-np.inf)


def _padded(below: Array) -> Array:
    return np.concatenate([np.zeros((len(below), 1)), below, np.ones((len(below), 1))], axis=1)
