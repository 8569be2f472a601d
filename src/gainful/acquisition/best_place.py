"""Joint entropy search: what an answer tells about where the best place is, and how good (Hvarfner et al. 2022).

    I(answer; x*, f*) ≈ H[answer] − mean over draws (x*, f*) of H[answer | f(x*) = f*, f ≤ f*]

A draw is that of the function at places that stand for the space: where it is best, and its value there. If f is known
to have that value there, it is a normal with

    m + c (f* − m*)/v*,   v − c²/v*,   c = Cov[f(x), f(x*)],

and since nothing is better than f*, it is cut off there, as in max-value entropy search. A reading loses
½ log((v + noise²)/(v − c²/v* + noise²)) of its entropy by the first, and by the second what `max_value.py` says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainful.acquisition.max_value import AboutBest, Marginal, bits_of_limits
from gainful.acquisition.optimum import MAXIMISE
from gainful.checks import require_count
from gainful.inference.belief import Part
from gainful.inference.posterior import Posterior

__all__ = ["BestPlace", "Optima"]

Array = NDArray[np.float64]

_NEGLIGIBLE = 1e-10  # of the largest variance along an axis: what rounding leaves


class Optima(NamedTuple):
    """Draws of where the best is, (S, d), how good, of sign · f, (S,), and what is believed of f there."""

    places: Array
    values: Array
    mean: Array
    variance: Array


@dataclass(frozen=True)
class BestPlace(AboutBest):
    """I(answer; where f is best and how good), in bits: where a reading tells most about the best place.

    sign is 1 to maximise, -1 to minimise. `over` are places that may be the best, beside those measured. `draws` is how
    many are drawn, under each posterior of a belief; the same every time. The score is their mean.

    >>> import gainful as gf
    >>> post = gf.GP(gf.SE()).condition(gf.Data().add(gf.Point(0.1), [[0.0]], [1.0]))
    >>> near, far = BestPlace(over=[[0.0], [1.0], [4.0]]).score(post, gf.Point(0.1), [[0.0], [4.0]])
    >>> bool(near < far)
    True
    """

    sign: int = MAXIMISE
    over: Any = field(default=None, repr=False)
    draws: int = 32
    best: Mapping[int, Optima] | None = field(default=None, repr=False)
    told: ClassVar[str] = "where the best place is"

    def __post_init__(self) -> None:
        self._check()
        require_count("draws", self.draws, 1, "32 is usual")

    def _optima(self, posterior: Posterior, places: Array) -> Optima:
        """By joint draws at all places: along the axes of their covariance, since close ones are nearly the same."""
        places = np.unique(places, axis=0)
        mean, cov = posterior.mean(places), posterior.covariance(places)
        along, axes = np.linalg.eigh(0.5 * (cov + cov.T))
        kept = along > _NEGLIGIBLE * max(float(along[-1]), 0.0)
        z = np.random.default_rng(0).standard_normal((self.draws, len(places)))[:, kept]
        f = mean + (z * np.sqrt(along[kept])) @ axes[:, kept].T
        top = np.argmax(self.sign * f, axis=1)
        values = self.sign * f[np.arange(self.draws), top]
        return Optima(places[top], values, mean[top], np.diagonal(cov)[top])

    def _bits(self, part: Part, best: Optima) -> Array:
        now = Marginal(*part.posterior.marginals(part.instrument, part.places))
        cov = part.posterior.covariance(best.places, part.places)
        unsure = (best.variance > 0.0)[:, None]
        pull = np.divide(cov, best.variance[:, None], out=np.zeros_like(cov), where=unsure)
        off = self.sign * best.values - best.mean
        then = Marginal(now.mean + pull * off[:, None], now.variance - pull * cov)
        limits = np.broadcast_to(best.values[:, None], cov.shape)
        return bits_of_limits(part.instrument, self.sign, now, limits, then)
