"""Mixture of posteriors with weights, as from hyperparameter samples or rival models: moments, samples, predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.checks import as_rng, column_names, listed, numbers, require, require_columns, require_count, require_kind
from gainful.data import Data, as_queries, require_instrument
from gainful.errors import InvalidInput
from gainful.inference.posterior import Posterior
from gainful.instruments.answers import Answers, MixtureAnswers, mix
from gainful.instruments.base import Instrument

Array = NDArray[np.float64]


def queries_of(belief: Posterior | Belief, instrument: Instrument, places: ArrayLike) -> Array:
    """The places in the shape that the instrument's queries have, if they can be asked about under this belief."""
    require_askable(belief, instrument, places)
    queries, _ = as_queries(instrument, places, "places")
    known = belief.data.dimensions
    if known is not None and queries.shape[-1] != known:
        expected = f"places with {known} coordinates, like the data"
        raise InvalidInput("places", expected, queries.shape[-1], "match the columns")
    return queries


def require_askable(belief: object, instrument: object, places: object) -> None:
    """Refuse what is no belief, no instrument, or a table with other columns than the data's."""
    remedy = "condition a GP on data first"
    require_kind("belief", belief, (Posterior, Belief), "a posterior, or a Belief of several", remedy)
    require_instrument(instrument)
    require_columns("places", column_names(places), belief.data.columns)  # type: ignore[attr-defined]


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Belief:
    """Σ_s w_s posterior_s. Moments follow the laws of total expectation and variance."""

    posteriors: tuple[Posterior, ...]
    weights: Array

    def __init__(self, posteriors: Sequence[Posterior], weights: ArrayLike | None = None) -> None:
        parts = tuple(listed(posteriors) or ())
        if not parts or not all(isinstance(p, Posterior) for p in parts):
            raise InvalidInput("posteriors", "one or more posteriors", posteriors, "condition a GP on data first")
        places = {p.data.dimensions for p in parts} - {None}
        require(len(places) < 2, "posteriors", "places with the same number of coordinates", places, "match them")
        given = np.full(len(parts), 1.0 / len(parts)) if weights is None else numbers("weights", weights, "numbers")
        if given.shape != (len(parts),) or not np.all(np.isfinite(given)) or np.any(given < 0.0) or given.sum() <= 0.0:
            raise InvalidInput(
                "weights", f"{len(parts)} weights, none negative, not all zero", weights, "one per posterior"
            )
        object.__setattr__(self, "posteriors", parts)
        object.__setattr__(self, "weights", given / given.sum())

    def __repr__(self) -> str:
        return f"Belief({len(self.posteriors)} posteriors, {len(self.data)} answers)"

    @property
    def data(self) -> Data:
        """What the belief is based on (the instruments' parameters are the first posterior's)."""
        return self.posteriors[0].data

    def mean(self, X: ArrayLike) -> Array:
        """E[f], (M,)."""
        return self.weights @ np.stack([p.mean(X) for p in self.posteriors])

    def variance(self, X: ArrayLike) -> Array:
        """Var[f] = E[Var] + Var[E], (M,)."""
        means = np.stack([p.mean(X) for p in self.posteriors])
        variances = np.stack([p.variance(X) for p in self.posteriors])
        return self.weights @ (variances + (means - self.weights @ means) ** 2)

    def covariance(self, X: ArrayLike) -> Array:
        """Cov[f], (M, M)."""
        means = np.stack([p.mean(X) for p in self.posteriors])
        off = means - self.weights @ means
        within = sum(w * p.covariance(X) for w, p in zip(self.weights, self.posteriors, strict=True))
        return np.asarray(within + np.einsum("s,si,sj->ij", self.weights, off, off))

    def sample(self, X: ArrayLike, size: int, rng: np.random.Generator | int) -> Array:
        """`size` functions, each from a posterior drawn by weight, (size, M). rng is a generator or a seed."""
        generator = as_rng(rng)
        counts = generator.multinomial(require_count("size", size, 0, "1 draws one function"), self.weights)
        drawn = [p.sample(X, int(n), generator) for p, n in zip(self.posteriors, counts, strict=True)]
        return np.asarray(generator.permutation(np.concatenate(drawn)))

    def answers(self, instrument: Instrument, X: ArrayLike) -> Answers | MixtureAnswers:
        """The predictive distribution of the answers, hyperparameters or models integrated out."""
        parts = tuple(p.answers(instrument, X) for p in self.posteriors)
        return mix(parts, self.weights)
