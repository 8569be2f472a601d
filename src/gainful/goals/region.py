"""Information about predictions over a region: for when f matters at some places more than at others.

An answer that sees g ~ N(m, v) tells of f(z) through their covariance c alone: f(z) explains e = c²/Var f(z) of v, and
given f(z) the answer sees N(u, v − e) with u ~ N(m, e). So I(answer; f(z)) = H[answer] − E_u H[answer | u], one
dimension however far x and z are apart; with e = v it is the information about the function. Several places together
explain e = cᵀ Σ⁻¹ c.

About answers at z rather than f (EPIG; Bickford Smith et al. 2023): a number there is f(z) with its noise, which
explains c²/(Var f(z) + noise²); two answers out of a few each have a table of probabilities, differences of the
bivariate normal's distribution function.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from gainful.data import Query, as_queries
from gainful.errors import InvalidInput
from gainful.goals.about import Region
from gainful.goals.entropy import conditional_entropy, features, interval_entropy, of_answers
from gainful.goals.lookahead import Watched, covariances, see, watch, whitening
from gainful.inference.belief import Belief
from gainful.inference.posterior import Posterior
from gainful.instruments import Binary, Instrument, Interval, Point, Preference
from gainful.numerics.orthant import bvn_cdf

__all__ = ["EPIG", "region_information"]

Array = NDArray[np.float64]

_BITS = 1.0 / float(np.log(2.0))
_MANY = 1_000_000  # numbers held at a time
_LATTICE = 0.5 * np.arange(-18, 19)  # in spreads of u, where that is no wider than the noise
_LATTICE_WEIGHTS = np.exp(-0.5 * _LATTICE**2) / np.sum(np.exp(-0.5 * _LATTICE**2))
_EDGES_OF_BELIEF, _EDGES_OF_NOISE = (-9.0, -4.0, -1.3, 1.3, 4.0, 9.0), (-9.0, -3.0, 0.0, 3.0, 9.0)
_FEW, _MORE = 32, 128  # nodes of a polynomial, for usual and for tiny noise
_SHARPEST = 1e-12  # of the variance: noise below it is none
_TINY, _ROUNDING = 1e-300, 1e-16  # of probabilities
_REACH = 9.0  # spreads beyond which nothing lies
_LEGENDRE = np.polynomial.legendre.leggauss(16)


@dataclass(frozen=True)
class EPIG:
    """mean_r I(answer; answer at r) in bits: what an answer is expected to tell about answers to come at the reference.

    Expected predictive information gain (Bickford Smith et al. 2023), exactly. `predict` is the instrument that will be
    used at the reference; by default the one that asks. BALD about the function values what is learned far outside;
    this does not.
    """

    reference: Any = field(repr=False)
    predict: Instrument | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "reference", Region(self.reference, answers=self.predict).points)

    def score(self, belief: Posterior, instrument: Instrument, places: ArrayLike, given: Sequence[Query] = ()) -> Array:
        about = Region(self.reference, answers=self.predict or instrument)
        return region_information(belief, instrument, places, about, given)


def region_information(
    belief: Posterior | Belief, instrument: Instrument, places: ArrayLike, region: Region, given: Sequence[Query] = ()
) -> Array:
    """Bits that the next answer is expected to tell about the region, (M,); exact to 1e-7 bits.

    With `given`, numbers that are asked but not answered, beyond what they will tell.
    """
    if not isinstance(belief, Posterior):
        raise InvalidInput(
            "belief", "one posterior, to learn about a region", belief, "condition a GP on data, or ask each part"
        )
    _one_value("instrument", instrument)
    sees: Instrument = Point() if np.ndim(region.points) == 2 else Preference()
    if region.answers is not None:
        _one_value("answers", region.answers)
        if (region.answers.query == "pair") != (sees.query == "pair"):
            raise InvalidInput("answers", f"an instrument whose query is a {sees.query}, like the points",
                               region.answers, "give places (R, d) or pairs (R, 2, d) to fit")  # fmt: skip
    queries, _ = as_queries(instrument, places)
    dimensions = np.shape(region.points)[-1]
    if len(queries) and queries.shape[-1] != dimensions:
        raise InvalidInput(
            "points", f"places with {queries.shape[-1]} coordinates, like the queries", dimensions, "match the columns"
        )
    watched = watch(belief, sees, region.points)
    pending = _pending(belief, given)
    if pending is not None and region.answers is not None and not _numbers(instrument, region.answers):
        raise InvalidInput(
            "given", "no pending queries, to learn about answers from answers that are no numbers", given,
            "wait for their answers, or learn about f: Region(points)",
        )  # fmt: skip
    there = _told(pending, belief, sees, watched.queries)
    points = _seen(watched.mean, watched.variance, there)
    weights = np.ones(len(watched)) if region.weights is None else np.asarray(region.weights)
    weights = weights / np.max(weights)
    weights /= np.sum(weights)
    white = whitening(belief, sees, watched, -there @ there.T) if region.together else None
    number, numbers = _numbered(watched.queries)
    out = np.zeros(len(queries))
    cells = 1 if region.answers is None else _answers(instrument) * _answers(region.answers)
    some = max(1, _MANY // max(len(watched) * cells, 1))
    for i in range(0, len(queries), some):
        part = queries[i : i + some]
        seen = see(belief, instrument, part)
        here = _told(pending, belief, instrument, part)
        mine = _seen(seen.mean[:, 0], seen.cov[:, 0, 0], here)
        cross = covariances(belief, instrument, part, watched)[:, 0] - here @ there.T
        own = np.array([number.get(row.tobytes(), -1) for row in part + 0.0])[:, None] == numbers
        if white is not None:
            explained = np.sum((cross @ white) ** 2, axis=1)
            explained = np.where(own.any(axis=1), mine.left, explained)
            bits = _about_values(instrument, mine, explained[:, None])[:, 0]
        elif region.answers is None:
            explained = np.where(own, mine.left[:, None], _explained(cross, points.left))
            bits = _about_values(instrument, mine, explained) @ weights
        else:
            bits = _about_answers(instrument, mine, region.answers, points, cross) @ weights
        out[i : i + some] = np.where(seen.known, 0.0, bits)
    return out


class _Seen(NamedTuple):
    """What is seen somewhere, N(mean, variance), and the variance left once pending answers are in; (N,) each."""

    mean: Array
    variance: Array
    left: Array


def _seen(mean: Array, variance: Array, told: Array) -> _Seen:
    """With what pending answers take away, the squares of `told` (N, P')."""
    left = np.maximum(variance - np.sum(told**2, axis=1), 0.0) if told.shape[1] else variance
    return _Seen(mean, variance, left)


class _Pending(NamedTuple):
    """Numbers that are asked but not answered: the P values that they see, and a root (P, P') of their inverse
    covariance."""

    watched: Watched
    root: Array


def _pending(belief: Posterior, given: Sequence[Query]) -> _Pending | None:
    """None where nothing is pending."""
    asked = given if isinstance(given, Sequence) else [given]
    points = [q.instrument for q in asked if isinstance(q, Query) and isinstance(q.instrument, Point)]
    if len(points) < len(asked):
        raise InvalidInput(
            "given", "pending queries of numbers alone, for which information about a region can allow", given,
            "wait for the other answers, or learn about the function",
        )  # fmt: skip
    if not points:
        return None
    watched = watch(belief, Point(), np.stack([q.place for q in asked]))
    return _Pending(watched, whitening(belief, Point(), watched, np.diag([p.noise**2 for p in points])))


def _told(pending: _Pending | None, belief: Posterior, sees: Instrument, queries: Array) -> Array:
    """The covariance (N, P') of what is seen with what the pending answers will tell: its squares are what they take
    off the variance."""
    if pending is None:
        return np.zeros((len(queries), 0))
    return covariances(belief, sees, queries, pending.watched)[:, 0] @ pending.root


def _about_values(instrument: Instrument, seen: _Seen, explained: Array) -> Array:
    """I(answer; what explains so much of the variance left), (M, R), for what the instrument sees and explained (M, R).

    A pending answer moves the mean, by a normal of the variance that it takes away: entropies are averaged over that.
    """
    m, v, left = seen
    rest = np.maximum(left[:, None] - explained, 0.0)
    if isinstance(instrument, Point):
        noise = instrument.noise**2
        with np.errstate(divide="ignore", invalid="ignore"):  # a number without noise at the very place: infinite bits
            bits = 0.5 * np.log2((left[:, None] + noise) / (rest + noise))
        return np.where(left[:, None] > rest, bits, 0.0)
    if isinstance(instrument, Interval):
        if instrument.width is None:
            raise InvalidInput("width", "a number", None, "say how wide the answers are: Interval(noise, width=...)")
        spread = np.sqrt(np.column_stack([left, rest]) + instrument.noise**2) / instrument.width
        entropy = interval_entropy(spread)
        return np.maximum(entropy[:, :1] - entropy[:, 1:], 0.0)
    pending = not np.array_equal(left, v)
    before = _one_by_one(instrument, m, v, left[:, None]) if pending else of_answers(instrument, m, v)[:, None]
    nodes = _FEW if float(np.max(v, initial=0.0)) < 1e4 * features(instrument)[2] ** 2 else _MORE
    if rest.shape[1] > 2 * nodes:
        return np.maximum(before - _by_interpolation(instrument, m, v, rest, nodes), 0.0)
    return np.maximum(before - _one_by_one(instrument, m, v, rest), 0.0)


def _one_by_one(instrument: Instrument, m: Array, v: Array, rest: Array) -> Array:
    """E[H[answer | u]], (M, R), for u ~ N(m, v − rest)."""
    centre, explained = np.broadcast_to(m[:, None], rest.shape), v[:, None] - rest
    return _expected_entropy(instrument, centre.ravel(), rest.ravel(), explained.ravel()).reshape(rest.shape)


def _by_interpolation(instrument: Instrument, m: Array, v: Array, rest: Array, nodes: int) -> Array:
    """The same for many values of rest: a Chebyshev polynomial in log(noise² + rest), in which it is smooth (and for a
    number linear). Good to 1e-8 bits."""
    noise = np.maximum(features(instrument)[2] ** 2, _SHARPEST * v)
    low, high = np.log(noise), np.log(noise + v)
    reach = np.maximum(high - low, np.finfo(float).tiny)
    x = np.cos(np.pi * (np.arange(nodes) + 0.5) / nodes)
    at = np.exp(low[:, None] + 0.5 * (x + 1.0) * reach[:, None]) - noise[:, None]
    values = _one_by_one(instrument, m, v, np.clip(at, 0.0, v[:, None]))
    coefficients = values @ np.polynomial.chebyshev.chebvander(x, nodes - 1) * (2.0 / nodes)
    coefficients[:, 0] *= 0.5
    y = 2.0 * (np.log(noise[:, None] + rest) - low[:, None]) / reach[:, None] - 1.0
    ahead, now = np.zeros_like(y), np.zeros_like(y)
    for k in range(nodes - 1, 0, -1):  # Clenshaw's recurrence
        ahead, now = now, coefficients[:, k, None] + 2.0 * y * now - ahead
    return np.asarray(coefficients[:, :1] + y * now - ahead)


def _expected_entropy(instrument: Instrument, m: Array, rest: Array, explained: Array) -> Array:
    """E[H[answer | u]] for u ~ N(m, explained), when given u the instrument sees N(u, rest); (N,) each."""
    centres, _, scale = features(instrument)
    spread = np.sqrt(scale**2 + rest)
    blurred = spread > 0.0
    out = np.zeros_like(m)  # without noise, an answer is certain given all that it sees
    if len(centres) == 1 and centres[0] == 0.0:
        # A yes/no answer that sees more noise is one that sees a smaller g.
        plain = conditional_entropy(instrument if isinstance(instrument, Binary) else Binary())
        assert plain is not None
        out[blurred] = plain.expected(m[blurred] / spread[blurred], explained[blurred] / spread[blurred] ** 2)
        return out
    wide = np.sqrt(explained)
    smooth = blurred & (wide <= spread)
    for cases, rule in ((smooth, _by_lattice), (blurred & ~smooth, _by_panels)):
        chosen = np.flatnonzero(cases)
        few = max(1, _MANY // (len(_LEGENDRE[0]) * (len(_EDGES_OF_NOISE) * len(centres) + len(_EDGES_OF_BELIEF))))
        for i in range(0, len(chosen), few):
            case = chosen[i : i + few]
            out[case] = rule(instrument, centres, m[case], wide[case], rest[case], spread[case])
    return out


def _by_lattice(instrument: Instrument, _: Array, m: Array, wide: Array, rest: Array, __: Array) -> Array:
    """By the trapezoid rule, which is exact to rounding as long as H is no sharper than u is wide."""
    u = m[:, None] + wide[:, None] * _LATTICE
    return np.asarray(_entropy_at(instrument, u, rest) @ _LATTICE_WEIGHTS)


def _by_panels(instrument: Instrument, centres: Array, m: Array, wide: Array, rest: Array, spread: Array) -> Array:
    """By Gauss–Legendre on panels that end about the belief's own spreads and about each threshold's."""
    own = m[:, None] + wide[:, None] * np.array(_EDGES_OF_BELIEF)
    bends = (centres[None, :, None] + spread[:, None, None] * np.array(_EDGES_OF_NOISE)).reshape(len(m), -1)
    edges = np.sort(np.clip(np.column_stack([own, bends]), own[:, :1], own[:, -1:]), axis=1)
    half, middle = 0.5 * np.diff(edges, axis=1), 0.5 * (edges[:, 1:] + edges[:, :-1])
    nodes, weights = _LEGENDRE
    u = (middle[..., None] + half[..., None] * nodes).reshape(len(m), -1)
    z = (u - m[:, None]) / wide[:, None]
    density = (half[..., None] * weights).reshape(u.shape) * np.exp(-0.5 * z**2)
    density /= wide[:, None] * np.sqrt(2.0 * np.pi)
    return np.asarray(np.einsum("nq,nq->n", _entropy_at(instrument, u, rest), density))


def _entropy_at(instrument: Instrument, u: Array, rest: Array) -> Array:
    return of_answers(instrument, u.ravel(), np.repeat(rest, u.shape[1])).reshape(u.shape)


def _about_answers(instrument: Instrument, here: _Seen, other: Instrument, there: _Seen, cross: Array) -> Array:
    """I(answer; answer of the other instrument there), (M, R), with the covariance (M, R) left of what the two see."""
    for argument, each in (("instrument", instrument), ("answers", other)):
        if isinstance(each, Interval):
            raise InvalidInput(argument, "numbers or a few answers, to learn about answers", each,
                               "learn about f at these places: Region(points)")  # fmt: skip
    if isinstance(other, Point):
        return _about_values(instrument, here, _explained(cross, there.left + other.noise**2))
    if isinstance(instrument, Point):
        return _about_values(other, there, _explained(cross, (here.left + instrument.noise**2)[:, None]).T).T
    table = _table(instrument, here.mean, here.variance, other, there.mean, there.variance, cross)
    mine, theirs = table.sum(axis=1, keepdims=True), table.sum(axis=0, keepdims=True)
    # One logarithm at a time: products of tiny probabilities are zero. Below the rounding of the table is nothing.
    logs = (np.log(np.maximum(each, _TINY)) for each in (table, mine, theirs))
    terms = table * (next(logs) - next(logs) - next(logs))
    return np.maximum(_BITS * np.where(table > _ROUNDING, terms, 0.0).sum(axis=(0, 1)), 0.0)


def _table(
    instrument: Instrument, m: Array, v: Array, other: Instrument, m_there: Array, v_there: Array, cross: Array
) -> Array:
    """P(answer, answer there), (A, B, M, R): rectangles of the bivariate normal of the two readings."""
    (mine, spread), (theirs, spread_there) = _cuts(instrument, m, v), _cuts(other, m_there, v_there)
    rho = np.clip(np.divide(cross, spread[:, None] * spread_there), -1.0, 1.0)
    below = np.zeros((len(mine) + 2, len(theirs) + 2, *cross.shape))
    below[-1, -1] = 1.0
    for a, h in enumerate(mine, start=1):
        below[a, -1] = ndtr(h)[:, None]
        for b, k in enumerate(theirs, start=1):
            below[-1, b] = ndtr(k)
            below[a, b] = below[a, -1] * below[-1, b]  # which is exact where either is certain
            open_ended = (np.abs(h) < _REACH)[:, None] & (np.abs(k) < _REACH)
            i, j = np.nonzero(open_ended)
            below[a, b][open_ended] = bvn_cdf(h[i], k[j], rho[open_ended])
    table = np.maximum(np.diff(np.diff(below, axis=0), axis=1), 0.0)
    for axis, each in enumerate((instrument, other)):
        if isinstance(each, Binary):
            careless = np.array([[1.0 - each.guess, each.lapse], [each.guess, 1.0 - each.lapse]])
            table = np.moveaxis(np.tensordot(careless, table, axes=(1, axis)), 0, axis)
    return table


def _answers(instrument: Instrument) -> int:
    """How many answers a table has to hold; a number needs none."""
    return 1 if isinstance(instrument, Point | Interval) else len(features(instrument)[0]) + 2


def _cuts(instrument: Instrument, m: Array, v: Array) -> tuple[list[Array], Array]:
    """Where one answer ends and the next begins, in spreads of the reading, (N,) each; and the spread."""
    centres, _, scale = features(instrument)
    spread = np.sqrt(np.maximum(v + scale**2, np.finfo(float).tiny))
    return [(c - m) / spread for c in centres], spread


def _explained(cross: Array, variance: Array) -> Array:
    """c²/variance, (M, R); nothing by what is already known."""
    variance = np.broadcast_to(variance, cross.shape)
    return np.divide(cross**2, variance, out=np.zeros_like(cross), where=variance > 0.0)


def _numbered(points: Array) -> tuple[dict[bytes, int], NDArray[np.intp]]:
    """A number for each distinct point, by its bytes, and the numbers of all, (R,): a query that is one of them
    explains itself, whatever rounding says."""
    number: dict[bytes, int] = {}
    numbers = [number.setdefault(row.tobytes(), len(number)) for row in points + 0.0]
    return number, np.array(numbers, dtype=np.intp)


def _numbers(*instruments: Instrument) -> bool:
    return any(isinstance(each, Point) for each in instruments)


def _one_value(argument: str, instrument: Instrument) -> None:
    if not isinstance(instrument, Instrument) or instrument.query == "set":
        raise InvalidInput(
            argument, "an instrument that sees one value, of a place or a pair", instrument,
            "sets can be asked about the function",
        )  # fmt: skip
