"""Mixture of posteriors with weights, as from hyperparameter samples or rival models: moments, samples, predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.checks import numbers
from gainful.data import Data
from gainful.errors import InvalidInput
from gainful.inference.posterior import Posterior
from gainful.instruments.answers import Answers, MixtureAnswers, mix
from gainful.instruments.base import Instrument

Array = NDArray[np.float64]


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Belief:
    """Σ_s w_s posterior_s. Moments follow the laws of total expectation and variance."""

    posteriors: tuple[Posterior, ...]
    weights: Array

    def __init__(self, posteriors: Sequence[Posterior], weights: ArrayLike | None = None) -> None:
        parts = tuple(posteriors)
        if not parts or not all(isinstance(p, Posterior) for p in parts):
            raise InvalidInput("posteriors", "one or more posteriors", posteriors, "condition a GP on data first")
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

    def sample(self, X: ArrayLike, size: int, rng: np.random.Generator) -> Array:
        """`size` functions, each from a posterior drawn by weight, (size, M)."""
        counts = rng.multinomial(size, self.weights)
        drawn = [p.sample(X, int(n), rng) for p, n in zip(self.posteriors, counts, strict=True) if n]
        return np.asarray(rng.permutation(np.concatenate(drawn))) if drawn else np.zeros((0, len(np.asarray(X))))

    def answers(self, instrument: Instrument, X: ArrayLike) -> Answers | MixtureAnswers:
        """The predictive distribution of the answers, hyperparameters or models integrated out."""
        parts = tuple(p.answers(instrument, X) for p in self.posteriors)
        return mix(parts, self.weights)
