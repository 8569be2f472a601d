"""What queries see beside what is watched: moments of both and their covariances under one posterior.

A query sees g ~ N(m, V), k values (one for a place or a pair). Values h that matter elsewhere, f at reference places or
its differences, are *watched*. How an answer moves h depends on the covariance of g and h alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.checks import column_names, require_columns
from gainful.data import as_queries
from gainful.errors import InvalidInput
from gainful.inference.posterior import Looked, Posterior
from gainful.inference.pullback import Beside
from gainful.information.readings import RESOLUTION
from gainful.instruments import Instrument, Point

__all__ = ["Seen", "Watched", "covariances", "look", "require_posterior", "see", "watch", "watch_places", "whitening"]

Array = NDArray[np.float64]

_ROUNDING = 1e-13  # of the prior variance, for each watched value: eigenvalues of their covariance below are rounding
_TINY = 1e-300


class Seen(NamedTuple):
    """What M queries see: mean (M, k), covariance (M, k, k), and which are `known` (M,) to rounding already."""

    mean: Array
    cov: Array
    known: NDArray[np.bool_]

    def some(self, part: slice) -> Seen:
        return Seen(self.mean[part], self.cov[part], self.known[part])


@dataclass(frozen=True, eq=False)
class Watched:
    """R values h that a goal watches, f at places (R, d) or its differences over pairs (R, 2, d): mean, variance.

    `half` is that of their places under the same posterior (`Posterior.half`), for covariances with them.
    """

    queries: Array
    mean: Array
    variance: Array
    half: Array | None = None

    def __len__(self) -> int:
        return len(self.queries)


def watch_places(belief: Posterior, places: ArrayLike) -> Watched:
    """f at places (R, d)."""
    return watch(belief, Point(), places)


def watch(belief: Posterior, instrument: Instrument, queries: ArrayLike) -> Watched:
    """What the instrument sees at each of these queries."""
    require_posterior(belief)
    if instrument.query == "set":
        raise InvalidInput(
            "reference", "an instrument that sees one value, of a place or a pair", instrument,
            "watch yes/no answers at single places instead: predict=Binary()",
        )  # fmt: skip
    require_columns("reference", column_names(queries), belief.data.columns)
    array, _ = as_queries(instrument, queries, "reference")
    array = array.reshape(-1, array.shape[-1]) if instrument.query == "place" else array
    half = belief.half(array.reshape(-1, array.shape[-1]))
    return Watched(array, *belief.marginals(instrument, array), half)


def see(belief: Posterior, instrument: Instrument, queries: Array) -> Seen:
    """What the instrument sees at each query.

    What is left of a variance below the resolution is rounding; its place is known, and an answer tells nothing.

    It is then given the resolution for its variance, so that answers without noise have finite derivatives.
    """
    return _of_moments(belief, instrument, queries, *belief.marginals(instrument, queries))


def look(belief: Posterior, instrument: Instrument, queries: Array, watched: Beside) -> tuple[Seen, Looked]:
    """The same for an instrument that sees one value, with covariances and the way back to the places, for a few
    queries."""
    found = belief.vjp(instrument, queries, watched)
    return _of_moments(belief, instrument, queries, found.mean, found.variance), found


def _of_moments(belief: Posterior, instrument: Instrument, queries: Array, m: Array, v: Array) -> Seen:
    n = len(queries)
    prior = np.maximum(belief.kernel.diag(queries.reshape(-1, queries.shape[-1])), 0.0).reshape(n, -1).sum(axis=1)
    least = np.maximum(RESOLUTION * prior, _TINY)
    if instrument.query == "set":
        total = np.trace(v, axis1=1, axis2=2)
        return Seen(m, v, total <= least)
    return Seen(m[:, None], np.maximum(v, least)[:, None, None], v <= least)


def covariances(belief: Posterior, instrument: Instrument, queries: Array, watched: Watched) -> Array:
    """Cov[g, h], (M, k, R)."""
    n, d = len(queries), queries.shape[-1]
    others = watched.queries
    out = belief.covariance(queries.reshape(-1, d), others.reshape(-1, others.shape[-1]), watched.half)
    if others.ndim == 3:
        out = out[:, 0::2] - out[:, 1::2]
    if instrument.query == "pair":
        out = out[0::2] - out[1::2]
    k = queries.shape[1] if instrument.query == "set" else 1
    return np.ascontiguousarray(out.reshape(n, k, len(watched)))


def whitening(belief: Posterior, sees: Instrument, watched: Watched, more: Array | float = 0.0) -> Array:
    """Σ^(−½), (R, R'), of the R watched values, which `sees` sees, over the directions in which they are uncertain.

    Nearby places make Σ singular in double precision. Eigenvalues below 1e-13 R of the prior variance are left out.
    `more` (R, R) is what is to be added to Σ: noise, or less what pending answers will tell.
    """
    values, vectors = np.linalg.eigh(covariances(belief, sees, watched.queries, watched)[:, 0] + more)
    places = watched.queries.reshape(-1, watched.queries.shape[-1])
    real = values > _ROUNDING * len(values) * float(np.max(belief.kernel.diag(places)))
    return np.asarray(vectors[:, real] / np.sqrt(values[real]))


def require_posterior(belief: object) -> None:
    """Refuse what is no posterior; whoever has several asks each."""
    if not isinstance(belief, Posterior):
        raise InvalidInput("belief", "a posterior, or a Belief of several", belief, "condition a GP on data first")
