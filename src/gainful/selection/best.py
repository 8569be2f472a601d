"""The best place by what is believed now, and how much better another one may be.

The place is where the posterior mean is best: of the measured places, of candidates all over the space, and of what
the best of those climb to. How much is left to gain is the expected regret

    E[max_r f_r − f_best]

over functions drawn from the belief, at places r that are spread over the space, at those that promise most, and at
the measured ones. Between those places f may be a little better still.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import ndtr

from gainful.acquisition.base import SIGNED
from gainful.checks import as_rng
from gainful.inference.belief import Belief
from gainful.inference.posterior import Posterior
from gainful.instruments import Instrument, Point
from gainful.selection.choose import Option, Search, choose
from gainful.selection.ties import best_first, better, first_best, zero_of
from gainful.space import Places

__all__ = ["best_place", "expected_regret", "interval"]

Array = NDArray[np.float64]

_SEES = Point(noise=1.0)  # any instrument that sees f at a place: its noise is not asked for
_SPREAD, _PROMISING, _MEASURED = 200, 100, 200  # places at which functions are drawn
_FUNCTIONS = 2048


@dataclass(frozen=True)
class _Mean:
    """sign · E[f]: what a recommendation goes by. No evaluation follows that would put it right, so that all posteriors
    are climbed."""

    sign: int
    scale: ClassVar[str] = SIGNED
    climbs_whole: ClassVar[bool] = True

    def score(self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike) -> Array:
        if isinstance(belief, Posterior):
            return self.sign * belief.marginals(instrument, places)[0]
        return self.sign * belief.mean(places)

    def score_and_gradient(
        self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike
    ) -> tuple[Array, Array]:
        parts = (
            [(1.0, belief)] if isinstance(belief, Posterior) else zip(belief.weights, belief.posteriors, strict=True)
        )
        n = len(np.asarray(places))
        score, slope = np.zeros(n), np.zeros(np.shape(places))
        for weight, posterior in parts:
            look = posterior.vjp(instrument, places)
            score += weight * self.sign * look.mean
            slope += weight * look.back(np.full(n, float(self.sign)), np.zeros(n))
        return score, slope


def best_place(
    belief: Posterior | Belief,
    space: Places,
    sign: int,
    measured: Array,
    rng: np.random.Generator | int,
    *,
    anywhere: bool = True,
    search: Search | None = None,
) -> Array | None:
    """The place of the space, (d,), with the best posterior mean; a measured one (N, d) where none is better by more
    than rounding. Unless `anywhere`, of the measured places alone. None where there is none.

    >>> import gainful as gf
    >>> post = gf.GP(gf.SE(0.5)).condition(gf.Data().add(gf.Point(0.1), [[0.2], [0.8]], [1.0, 0.9]))
    >>> best_place(post, gf.Space(gf.Real("x", 0, 1)), 1, post.data.layout.places, 0).round(3).tolist()
    [0.431]
    """
    mean = _Mean(sign)
    known = measured[space.contains(measured)] if len(measured) else measured
    best, height, zero = None, -np.inf, 0.0
    if len(known):
        heights = mean.score(belief, _SEES, known)
        zero = zero_of(heights)
        i = first_best(heights - zero)
        best, height = known[i], float(heights[i])
    if anywhere:
        found = choose(
            mean, belief, [Option(replace(_SEES, output=belief.data.output), space)], as_rng(rng), search=search
        )
        if found is not None and better(found.score - zero, height - zero):
            best = found.query.place
    return best


def expected_regret(
    belief: Posterior | Belief,
    space: Places,
    place: Array,
    sign: int,
    measured: Array,
    rng: np.random.Generator | int,
) -> float:
    """E[max_r sign · f_r − sign · f at the place], from drawn functions: how much better another place is expected to
    be than this one, if one knew; not negative.

    >>> import gainful as gf
    >>> prior = gf.GP(gf.SE(0.01)).condition(gf.Data())
    >>> pool = gf.Pool([[0.0], [1.0]])
    >>> print(f"{expected_regret(prior, pool, np.array([0.0]), 1, np.zeros((0, 1)), 0):.1f}")  # 1/√π
    0.6
    """
    source = as_rng(rng)
    wide = space.candidates(1000, source)
    promise = sign * belief.mean(wide) + 2.0 * np.sqrt(belief.variance(wide))
    promise -= zero_of(promise)
    known = measured
    if len(known):
        heights = sign * belief.mean(known)
        known = known[best_first(heights - zero_of(heights))[:_MEASURED]]
    known = known[space.contains(known)] if len(known) else known
    rivals = [wide[:_SPREAD], wide[best_first(promise)[:_PROMISING]], known.reshape(-1, wide.shape[1])]
    places = np.unique(np.concatenate([*rivals, place[None]]), axis=0)
    at = int(np.argmax(np.all(places == place, axis=1)))
    drawn = sign * belief.sample(places, _FUNCTIONS, source)
    return float(np.mean(drawn.max(axis=1) - drawn[:, at]))


def interval(belief: Posterior | Belief, place: Array, level: float = 0.95) -> tuple[float, float]:
    """The band that holds f at the place with this probability, as much beyond either end; of several posteriors from
    the quantiles of their mixture.

    >>> import gainful as gf
    >>> prior = gf.GP(gf.SE()).condition(gf.Data())
    >>> [round(end, 3) for end in interval(gf.Belief([prior, prior]), np.array([0.0]))]
    [-1.96, 1.96]
    """
    one = isinstance(belief, Posterior)
    parts, weights = ((belief,), np.ones(1)) if one else (belief.posteriors, belief.weights)  # type: ignore[union-attr]
    mean = np.array([float(p.mean(place[None])[0]) for p in parts])
    sd = np.sqrt([float(p.variance(place[None])[0]) for p in parts])
    if not np.any(sd > 0.0) and np.ptp(mean) == 0.0:
        return float(mean[0]), float(mean[0])
    reach = 10.0 * np.max(sd) + np.ptp(mean)
    sd = np.maximum(sd, 1e-12 * reach)

    def above(x: float, probability: float) -> float:
        return float(weights @ ndtr((x - mean) / sd)) - probability

    tails = 0.5 * (1.0 - level), 0.5 * (1.0 + level)
    ends = [brentq(above, mean.min() - reach, mean.max() + reach, args=(tail,), xtol=1e-12 * reach) for tail in tails]
    return float(ends[0]), float(ends[1])
