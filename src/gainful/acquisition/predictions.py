"""What an answer tells about predictions if a model is right, averaged over models: IG-P (Lin 2022, sec. 3.3).

    Σ_s w_s (1/R) Σ_r I(y; f_r | s),      for a number  Σ_s w_s (1/R) Σ_r ½ log2(σ_s²(x_r) / σ_s²(x_r | x))

Of several posteriors that is not all that an answer tells about predictions there: it also moves the weights of the
posteriors, I(y; s), and they predict differently. `Learn(Region(points))` counts both and is the stronger goal; the
difference between the two is I(y; s), `Learn("hyperparameters")`. Of one posterior they are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.acquisition.base import AMOUNT
from gainful.data import Query
from gainful.inference.belief import Belief, Part, codes_for, parts_of, queries_of
from gainful.inference.fantasy import own_queries
from gainful.inference.posterior import Posterior
from gainful.information.about import Region, as_reference
from gainful.information.region import AboutRegion, region_information
from gainful.instruments import Instrument

__all__ = ["Predictions"]

Array = NDArray[np.float64]

_RANKED = 8  # parts under which many queries are ranked


@dataclass(frozen=True)
class Predictions:
    """Σ_s w_s mean_r I(answer; f_r | s) in bits: what the answer tells about f at the reference under each
    posterior, averaged (IG-P, Lin 2022, sec. 3.3). Which posterior is right is not in it; see the module.

    `reference` are places (R, d) or a pool, averaged with `weights` where they are given. Any instrument will do that
    sees a place or a pair.

    >>> import gainful as gf
    >>> prior = gf.GP(gf.SE(lengthscale=1.0, variance=3.0)).condition(gf.Data())
    >>> Predictions([[0.0]]).score(prior, gf.Point(noise=1.0), [[0.0], [1.0], [9.0]]).round(4).tolist()
    [1.0, 0.2329, 0.0]
    """

    scale: ClassVar[str] = AMOUNT

    reference: Any = field(repr=False)
    weights: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        points = as_reference(self.reference)
        region = Region(points, self.weights)
        object.__setattr__(self, "reference", points)
        object.__setattr__(self, "weights", region.weights)

    @property
    def region(self) -> Region:
        return Region(self.reference, self.weights)

    def score(self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike) -> Array:
        return self.score_beyond(belief, instrument, places, ())

    def score_beyond(
        self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike, pending: Sequence[Query]
    ) -> Array:
        """Under each posterior beyond what the pending answers will tell it: exact for numbers."""
        region = self.region

        def own(part: Part) -> Array:
            asked = own_queries(belief, part.number, pending) if isinstance(belief, Belief) else pending
            return region_information(part.posterior, part.instrument, part.places, region, asked)

        return _averaged(_asked(belief, instrument, places), own)

    def score_and_gradient(
        self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike
    ) -> tuple[Array, Array]:
        return self.prepare(belief).score_and_gradient(belief, instrument, places)

    def rank(self, belief: Belief, instrument: Instrument, places: ArrayLike) -> Array:
        """By the heaviest posteriors."""
        return self.score(belief.leading(_RANKED), instrument, places)

    def prepare(self, belief: Posterior | Belief) -> _Prepared:
        """With all done for every posterior that does not depend on the queries."""
        posteriors = belief.posteriors if isinstance(belief, Belief) else (belief,)
        held = belief.weights > 0.0 if isinstance(belief, Belief) else np.ones(1, dtype=bool)
        region = self.region
        return _Prepared(tuple(AboutRegion(p, region) if h else None for p, h in zip(posteriors, held, strict=True)))


@dataclass(frozen=True, eq=False)
class _Prepared:
    """`Predictions` for the belief that it was prepared for: the region under each posterior, by its number."""

    parts: tuple[AboutRegion | None, ...]
    scale: ClassVar[str] = AMOUNT

    def score(self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike) -> Array:
        return _averaged(_asked(belief, instrument, places), self._score)

    def rank(self, belief: Belief, instrument: Instrument, places: ArrayLike) -> Array:
        parts = sorted(_asked(belief, instrument, places), key=lambda part: -part.weight)[:_RANKED]
        return _averaged(parts, self._score)

    def score_and_gradient(
        self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike
    ) -> tuple[Array, Array]:
        bits, slopes = np.zeros(len(np.asarray(places))), np.zeros(np.shape(places))
        for part in _asked(belief, instrument, places):
            more, slope = self._of(part).score_and_gradient(part.instrument, part.places)
            bits, slopes = bits + part.weight * more, slopes + part.weight * slope
        return bits, slopes

    def _score(self, part: Part) -> Array:
        return self._of(part).score(part.instrument, part.places)

    def _of(self, part: Part) -> AboutRegion:
        found = self.parts[part.number]
        assert found is not None  # only what has weight is asked
        return found


def _asked(belief: Posterior | Belief, instrument: Instrument, places: Any) -> list[Part]:
    """The posteriors that have weight, asked about these queries."""
    codes = codes_for(belief, instrument, places)
    queries_of(belief, instrument, codes)  # says so, if they cannot be
    return parts_of(belief, instrument, codes)


def _averaged(parts: Sequence[Part], score: Any) -> Array:
    """Σ w_s score_s/Σ w_s, (M,)."""
    total = sum(part.weight for part in parts)
    with np.errstate(invalid="ignore"):  # a weight is positive here, so that infinite bits stay infinite
        return np.asarray(sum(part.weight / total * score(part) for part in parts))
