"""Where f crosses a value: queries whose answers settle on which side of it f lies.

At a reference place r the event a_r = [f_r > value] has the probability p_r, and its variance p_r (1 − p_r) is the
expected squared error of p_r as a forecast. By the law of total variance an answer y is expected to take off

    p (1 − p) − E_y[p_y (1 − p_y)] = Var_y[p_y],      p_y = P(f_r > value | y),

which is averaged over the reference (Bect et al. 2012: stepwise uncertainty reduction). Unlike the error rate
of the best guess, min(p, 1 − p), it is above zero for every answer that tells anything: a coarse answer that changes no
guess yet still counts. Of an answer by quantity:

    a number            Cov of the events of two draws from the belief after y, whose correlation is
                        ρ = c²/((v + noise²) s²):  ∫_0^asin(ρ) exp(−h²/(1 + sin θ)) dθ / 2π  with h = (m − value)/s
                        (Plackett 1954; Chevalier et al. 2014)
    one of a few        Σ_y (P(y, a) − P(y) p)²/P(y), each P(y, a) a bivariate normal probability (Owen 1956)
    any other           as of a number that is expected to explain the same share ρ of Var[f_r] (`lookahead`)

The first two are exact under a Gaussian belief.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from gainful.acquisition.base import AMOUNT
from gainful.acquisition.lookahead import Step, over_steps
from gainful.acquisition.parts import averaged, averaged_with_slopes
from gainful.checks import require_finite
from gainful.errors import InvalidInput
from gainful.inference.belief import Belief, parts_of, queries_of
from gainful.inference.posterior import Posterior
from gainful.information.about import as_reference
from gainful.information.watched import Seen, Watched, covariances, look, see, watch, watch_places
from gainful.instruments import Instrument, Point
from gainful.instruments.channel import Channel
from gainful.numerics.memory import in_blocks
from gainful.numerics.orthant import bvn_cdf
from gainful.numerics.quadrature import gauss_legendre

__all__ = ["Level", "explained_of_event"]

Array = NDArray[np.float64]

_NODES = 12
_MOST_CORRELATED = 1.0 - 1e-12  # beyond it the slope in ρ, which has a pole at 1, is taken as there
_TINY = 1e-300


def explained_of_event(h: Array, rho: Array) -> Array:
    """Φ₂(h, h; ρ) − Φ(h)², for 0 ≤ ρ ≤ 1, elementwise: how much a share ρ of a variance explains of the event z < h.

    It is ∫_0^ρ φ₂(h, h; u) du with u = sin θ (Plackett 1954): all terms positive, so it keeps its digits where nearly
    nothing is explained. Exact to 1e-10 of itself up to |h| = 7, beyond which it is below 1e-11.

    >>> explained_of_event(np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.5, 1.0])).round(6).tolist()
    [0.25, 0.083333, 0.133484]
    """
    angle = np.arcsin(np.clip(rho, 0.0, 1.0))
    total, square = np.zeros(np.broadcast_shapes(h.shape, angle.shape)), h**2
    for x, w in zip(*gauss_legendre(_NODES), strict=True):
        total += 0.5 * w * np.exp(-square / (1.0 + np.sin(0.5 * (1.0 + x) * angle)))
    return np.asarray(total * angle / (2.0 * np.pi))


class _Case(NamedTuple):
    """What M queries see, mean and variance (M, 1); f at the reference, (R,), or (M, 1) where each query is its own;
    and the covariances (M, R) or (M, 1)."""

    mean: Array
    variance: Array
    there: Array
    spread: Array
    cross: Array

    def margin(self, value: float) -> Array:
        """h = (E[f_r] − value)/sd[f_r]."""
        return _margin(self.there, self.spread, value)

    def correlation(self, more: float) -> Array:
        """Of f_r and g + ε with Var[ε] = more, (M, R)."""
        size = np.sqrt((self.variance + more) * np.maximum(self.spread, _TINY))
        return np.clip(np.divide(self.cross, size, out=np.zeros_like(self.cross), where=size > 0.0), -1.0, 1.0)


@dataclass(frozen=True)
class Level:
    """mean_r Var_y[P(f_r > value | y)]: how far the answer is expected to settle where f lies above the value.

    In squared probabilities: 0.25 is a place about which nothing was known and everything will be. `reference` are the
    places that matter; without one it is the place that is asked. Every instrument may ask; what is no number,
    yes/no, rank or preference counts as a number that explains as much of the variance.

    >>> import gainful as gf
    >>> prior = gf.GP(gf.SE()).condition(gf.Data())
    >>> exact, coarse = gf.Point(noise=0.0), gf.Point(noise=1.0)
    >>> [Level(0.0).score(prior, each, [[0.0]]).round(4).tolist() for each in (exact, coarse, gf.Binary())]
    [[0.25], [0.0833], [0.0625]]
    """

    value: float
    reference: Any = field(default=None, repr=False)
    scale: ClassVar[str] = AMOUNT

    def __post_init__(self) -> None:
        require_finite("value", self.value, "the value that f crosses, in its own unit: Level(0.5)")
        if self.reference is not None:
            object.__setattr__(self, "reference", as_reference(self.reference))

    def score(self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike) -> Array:
        if isinstance(belief, Belief):
            return averaged(self, belief, instrument, places)
        queries, channel = queries_of(belief, instrument, places), instrument.channel()
        exact = channel is not None and instrument.query != "set" and not channel.is_interval
        watched = self._watched(belief, instrument)
        if channel is None or not exact:
            return self._by_share(belief, instrument, queries, watched)

        def of(part: slice) -> Array:
            case = _case(belief, instrument, queries[part], watched)
            found = self._of_number(case, channel) if channel.is_number else self._of_a_few(case, channel)
            return np.asarray(found.mean(axis=1))

        return in_blocks(of, len(queries), 16 * (1 if watched is None else len(watched)))

    def score_and_gradient(
        self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike
    ) -> tuple[Array, Array] | None:
        """The scores of numbers at a reference, and their derivatives in the places; None for others."""
        if isinstance(belief, Belief):
            return averaged_with_slopes(self, belief, instrument, places)
        channel = instrument.channel()
        if channel is None or not channel.is_number or self.reference is None:
            return None
        watched = watch_places(belief, self.reference)
        queries = queries_of(belief, instrument, places)
        seen, found = look(belief, instrument, queries, belief.beside(watched.queries))
        case, noise = _beside(seen, watched, found.cross), channel.noise**2
        r, h = case.correlation(noise), case.margin(self.value)
        rho = np.minimum(r**2, _MOST_CORRELATED)
        by_rho = np.exp(-(h**2) / (1.0 + rho)) / (2.0 * np.pi * np.sqrt((1.0 - rho) * (1.0 + rho))) / len(watched)
        by_cross = np.divide(2.0 * case.cross, (case.variance + noise) * np.maximum(case.spread, _TINY))
        by_variance = -np.sum(by_rho * rho / (case.variance + noise), axis=1)
        back = found.back(np.zeros(len(queries)), by_variance, by_rho * by_cross)
        return self._of_number(case, channel).mean(axis=1), back

    def probability(self, belief: Posterior | Belief, places: ArrayLike) -> Array:
        """P(f > value) at each place, (M,)."""
        parts = parts_of(belief, Point(), places)
        each = [(part.weight, part.posterior.mean(places), part.posterior.variance(places)) for part in parts]
        return np.asarray(sum(w * ndtr(_margin(m, v, self.value)) for w, m, v in each))

    def _watched(self, belief: Posterior, instrument: Instrument) -> Watched | None:
        if self.reference is not None:
            return watch(belief, Point(), self.reference)
        if instrument.query != "place":
            remedy = "say where it matters on which side f lies: Level(value, reference)"
            raise InvalidInput("reference", "places, for an instrument that sees several at once", None, remedy)
        return None

    def _of_number(self, case: _Case, channel: Channel) -> Array:
        return explained_of_event(case.margin(self.value), case.correlation(channel.noise**2) ** 2)

    def _of_a_few(self, case: _Case, channel: Channel) -> Array:
        """Σ_y (P(y, a) − P(y) p)²/P(y), (M, R), from the bins that the reading may lie in."""
        h, r = case.margin(self.value), case.correlation(channel.noise**2)
        p, sd = ndtr(h), np.sqrt(case.variance + channel.noise**2)
        edges = [(edge - case.mean) / np.maximum(sd, _TINY) for edge in channel.bounds]
        # P(reading ≤ edge, f_r > value): the second event is −f_r < −value, of the opposite correlation.
        joint = [np.zeros_like(r), *(np.asarray(bvn_cdf(e, h, -r)) for e in edges), np.broadcast_to(p, r.shape)]
        alone = [np.zeros_like(case.mean), *(ndtr(e) for e in edges), np.ones_like(case.mean)]
        both = channel.answers([np.maximum(b - a, 0.0) for a, b in pairwise(joint)])
        each = channel.answers([np.maximum(b - a, 0.0) for a, b in pairwise(alone)])
        total = np.zeros_like(r)
        for y_and_above, y in zip(both, each, strict=True):
            total += np.divide((y_and_above - y * p) ** 2, y, out=np.zeros_like(r), where=y > _TINY)
        return total

    def _by_share(self, belief: Posterior, instrument: Instrument, queries: Array, watched: Watched | None) -> Array:
        """As of a number that explains the same share of Var[f_r]: any answer takes off −cᵀ E[d2] c on average."""

        def explained(step: Step) -> Array:
            expected = -np.einsum("mq,mqkl->mkl", step.outcome_table.weight, step.outcome_table.d2)
            if watched is None:
                m, v = step.seen.mean, step.seen.cov[:, 0]
                share = np.where(step.seen.known[:, None], 0.0, expected[:, 0] * v)
            else:
                m, v = watched.mean, watched.variance
                off = np.einsum("mkl,mkr,mlr->mr", expected, step.cross, step.cross)
                share = np.divide(off, v, out=np.zeros_like(off), where=v > 0.0)
            return np.asarray(explained_of_event(_margin(m, v, self.value), share).mean(axis=1))

        nothing = Watched(queries[:0], np.zeros(0), np.zeros(0)) if watched is None else watched
        return over_steps(belief, instrument, queries, nothing, explained)


def _margin(m: Array, v: Array, value: float) -> Array:
    """(m − value)/√v; endless where f is known."""
    sd, gap = np.sqrt(v), m - value
    return np.divide(gap, sd, out=np.where(gap > 0.0, np.inf, -np.inf), where=sd > 0.0)


def _case(belief: Posterior, instrument: Instrument, queries: Array, watched: Watched | None) -> _Case:
    seen = see(belief, instrument, queries)
    m, v = seen.mean, seen.cov[:, 0]
    if watched is None:
        spread = np.where(seen.known[:, None], 0.0, v)
        return _Case(m, v, m, spread, spread)
    return _beside(seen, watched, covariances(belief, instrument, queries, watched)[:, 0])


def _beside(seen: Seen, watched: Watched, cross: Array) -> _Case:
    """With covariances (M, R); what is known already tells nothing."""
    told = np.where(seen.known[:, None], 0.0, cross)
    return _Case(seen.mean, seen.cov[:, 0], watched.mean, watched.variance, told)
