"""Acquisition by information: bits that an answer is expected to tell about the function, a region, the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.acquisition.base import AMOUNT
from gainful.data import Query, require_instrument
from gainful.inference.belief import Belief
from gainful.inference.posterior import Posterior
from gainful.information.about import Region, as_reference, require_about
from gainful.information.gradient import information_and_gradient
from gainful.information.mixture import OfEachPart, mixture_information, of_each_part, ranked_information
from gainful.information.mixture_gradient import mixture_information_and_gradient
from gainful.information.mutual import information
from gainful.information.region import AboutRegion, region_information, region_information_and_gradient
from gainful.instruments import Instrument

__all__ = ["EPIG", "Learn", "learn_region"]

Array = NDArray[np.float64]

_FEW = 3  # parts of a model that queries are ranked by


@dataclass(frozen=True)
class Learn:
    """Bits that the answer is expected to tell about the function: BALD, in full (Fletcher 2022, sec. 5;
    Houlsby et al. 2011, sec. 2).

    About a `Region` it is what the answer tells about predictions there. A belief of several posteriors may also be
    asked about "hyperparameters", "model" or "structure", which of them is right; about the function its
    hyperparameters are nuisance (ibid., sec. 3.1). Of kernel programs "model" is which program is right, "structure"
    which form it has (Lin 2022, sec. 3.2).

    >>> import gainful as gf
    >>> prior = gf.GP(gf.SE(variance=3.0)).condition(gf.Data())
    >>> Learn("function").score(prior, gf.Point(noise=1.0), [[0.0]]).tolist()
    [1.0]
    """

    scale: ClassVar[str] = AMOUNT

    about: str | Region = "function"

    def __post_init__(self) -> None:
        require_about(self.about)

    def score(self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike) -> Array:
        return information(belief, instrument, places, self.about)

    def score_beyond(
        self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike, pending: Sequence[Query]
    ) -> Array:
        return information(belief, instrument, places, self.about, pending)

    def score_and_gradient(
        self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike
    ) -> tuple[Array, Array] | None:
        if isinstance(belief, Belief):
            return mixture_information_and_gradient(belief, instrument, places, self.about)
        if isinstance(self.about, Region):
            if self.about.answers is not None:
                return None
            return region_information_and_gradient(belief, instrument, places, self.about)
        return information_and_gradient(belief, instrument, places) if self.about == "function" else None

    @property
    def looks_itself(self) -> bool:
        """Which model is right is ranked by a few parts of each, and nothing need be known of the others."""
        return self.about == "model"

    def rank(self, belief: Belief, instrument: Instrument, places: ArrayLike) -> Array:
        """By one normal with the mixture's mean and variance; see `ranked_information`. Which model is right, by a few
        parts of each."""
        some = belief.few_of_each(_FEW) if self.about == "model" else belief
        return ranked_information(some, instrument, places, self.about)

    def prepare(self, belief: Posterior | Belief) -> Learn | _Prepared | _PreparedParts:
        """For a region, what does not depend on the queries is worked out once."""
        if not isinstance(self.about, Region):
            return self
        if isinstance(belief, Posterior):
            return _Prepared(self, AboutRegion(belief, self.about))
        return _PreparedParts(self, of_each_part(belief, self.about))


@dataclass(frozen=True, eq=False)
class _Prepared:
    """`Learn` about a region, for the belief that it was prepared for."""

    learn: Learn
    about: AboutRegion
    scale: ClassVar[str] = AMOUNT

    def score(self, belief: Posterior, instrument: Instrument, places: ArrayLike) -> Array:
        return self.about.score(instrument, places)

    def score_and_gradient(
        self, belief: Posterior, instrument: Instrument, places: ArrayLike
    ) -> tuple[Array, Array] | None:
        return None if self.about.region.answers is not None else self.about.score_and_gradient(instrument, places)


@dataclass(frozen=True, eq=False)
class _PreparedParts:
    """The same, for the belief of several posteriors that it was prepared for."""

    learn: Learn
    about: OfEachPart
    scale: ClassVar[str] = AMOUNT

    def score(self, belief: Belief, instrument: Instrument, places: ArrayLike) -> Array:
        return mixture_information(belief, instrument, places, self.about)

    def rank(self, belief: Belief, instrument: Instrument, places: ArrayLike) -> Array:
        return ranked_information(belief, instrument, places, self.about)

    def score_and_gradient(
        self, belief: Belief, instrument: Instrument, places: ArrayLike
    ) -> tuple[Array, Array] | None:
        return mixture_information_and_gradient(belief, instrument, places, self.about)


@dataclass(frozen=True)
class EPIG:
    """mean_r I(answer; answer at r) in bits: what an answer is expected to tell about answers to come at the reference.

    Expected predictive information gain (Bickford Smith et al. 2023), exactly. `predict` is the instrument that will be
    used at the reference; by default the one that asks. BALD about the function values what is learned far outside;
    this does not. Of several posteriors it is I(answer; which of them) + Σ w_s of each one's.
    """

    scale: ClassVar[str] = AMOUNT

    reference: Any = field(repr=False)
    predict: Instrument | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "reference", as_reference(self.reference))
        if self.predict is not None:
            require_instrument(self.predict, "predict")

    def score(self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike) -> Array:
        return self.score_beyond(belief, instrument, places, ())

    def score_beyond(
        self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike, pending: Sequence[Query]
    ) -> Array:
        about = self._about(instrument)
        if isinstance(belief, Belief):
            return mixture_information(belief, instrument, places, about, pending)
        return region_information(belief, instrument, places, about, pending)

    def rank(self, belief: Belief, instrument: Instrument, places: ArrayLike) -> Array:
        """As `Learn` does about a region."""
        return ranked_information(belief, instrument, places, self._about(instrument))

    def _about(self, instrument: Instrument) -> Region:
        return Region(self.reference, answers=self.predict or instrument)


def learn_region(reference: ArrayLike, weights: ArrayLike | None = None, together: bool = False) -> Learn:
    """Learn about f at the reference."""
    return Learn(Region(reference, weights, together))
