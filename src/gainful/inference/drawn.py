"""Predictions from draws of the latent values: f given a draw is Gaussian, and f is the mixture of these.

    f(x) | z_s  ~  N(m(x) + (T c)ᵀ z_s,  v(x) − ‖T c‖²)

`Draws` has the two factors; here they meet places, queries and an instrument's answers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gainful.inference.draws import Draws
from gainful.inference.predicting import Predictor, between
from gainful.instruments.answers import Answers, DiscreteAnswers, MixtureAnswers, mix
from gainful.instruments.base import Instrument
from gainful.numerics.blas import matmul
from gainful.numerics.memory import blocks, require_room

__all__ = ["answers_by_draw", "moments_by_draw", "sample_by_draw"]

Array = NDArray[np.float64]


def moments_by_draw(predictor: Predictor, draws: Draws, queries: Array, query: str) -> tuple[Array, Array]:
    """Mean of what a query sees, f at a "place", a difference over a "pair" or the values of a "set", given each draw,
    (S, M) or (S, M, k), and the (co)variance that all share. queries are (M, d), or (M, k, d)."""
    each = queries[:, None] if queries.ndim == 2 else queries
    n, k, d = each.shape
    require_room("X", n * k, len(draws), "take fewer places, or fewer draws")
    places = each.reshape(n * k, d)
    seen = predictor.seen(places)
    means = draws.means(predictor.prior_mean(places), seen).reshape(-1, n, k)
    half, signed = (part.reshape(-1, n, k) for part in draws.within(seen))
    cov = between(predictor.kernel, each) - np.einsum("fni,fnj->nij", signed, half)
    if query == "set":
        return means, cov
    if query == "place":
        return means[:, :, 0], np.maximum(cov[:, 0, 0], 0.0)
    spread = np.maximum(cov[:, 0, 0] + cov[:, 1, 1] - 2.0 * cov[:, 0, 1], 0.0)
    return means[:, :, 0] - means[:, :, 1], spread


def sample_by_draw(predictor: Predictor, draws: Draws, places: Array, size: int, rng: np.random.Generator) -> Array:
    """`size` functions at the places, (size, M), each draw as often as any other."""
    seen = predictor.seen(places)
    half, signed = draws.within(seen)
    root = predictor.root(places, predictor.kernel.matrix(places, places) - matmul(signed.T, half))
    drawn = rng.permutation(np.arange(size) % len(draws))
    means = draws.means(predictor.prior_mean(places), seen)[drawn]
    return np.asarray(means + rng.standard_normal((size, len(places))) @ root.T)


def answers_by_draw(
    predictor: Predictor, draws: Draws, instrument: Instrument, queries: Array
) -> Answers | MixtureAnswers:
    """The predictive distribution of the instrument's answers, every draw with the same weight."""
    weights = np.full(len(draws), 1.0 / len(draws))

    def of(part: slice) -> Answers | MixtureAnswers:
        means, within = moments_by_draw(predictor, draws, queries[part], instrument.query)
        return mix([instrument.predict(mean, within) for mean in means], weights)

    if instrument.values is None:
        return of(slice(None))
    each = (len(instrument.values) + 2) * len(draws) + predictor.each
    logs = [
        found.log_probabilities for part in blocks(len(queries), each) if isinstance(found := of(part), DiscreteAnswers)
    ]
    return DiscreteAnswers(instrument.values, np.concatenate(logs))
