"""Moments of f at the places of queries, with the way back: derivatives in the places, by reverse mode.

A search asks for moments, for covariances with places that a goal watches, and for the slopes of all of them, at the
same few places. All come from one matrix k(x, Z) and its pullback, with Z the measured places and the watched ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainful.inference.predicting import Predictor, between
from gainful.numerics.blas import matmul

__all__ = ["Beside", "Moments", "beside", "moments_and_pullback", "of_places"]

Array = NDArray[np.float64]


class Beside(NamedTuple):
    """Watched places (R', d), and what covariances with f there and their slopes need, whatever moves: H and S c of
    them, (F, R') each. Of pairs, places stand in twos, and a difference is watched."""

    places: Array
    half: Array
    pulled: Array
    pairs: bool

    def __len__(self) -> int:
        return len(self.places) // (2 if self.pairs else 1)

    def differences(self, cross: Array) -> Array:
        """From covariances with f at each place, (N, R'), those with what is watched, (N, R)."""
        return cross[:, 0::2] - cross[:, 1::2] if self.pairs else cross

    def spread(self, d_cross: Array) -> Array:
        """From derivatives in the latter those in the former."""
        if not self.pairs:
            return d_cross
        return np.stack([d_cross, -d_cross], axis=-1).reshape(len(d_cross), -1)


class Moments(NamedTuple):
    """Of f at the k places of n queries: means (n, k), covariances (n, k, k), those with what is watched (n, k, R), and
    the map from dL/d of each of the three to dL/dX (n, k, d)."""

    mean: Array
    cov: Array
    cross: Array
    back: Callable[[Array, Array, Array | None], Array]


def beside(predictor: Predictor, watched: Array) -> Beside:
    """Watched places (R, d), or pairs of them (R, 2, d), made ready."""
    places = watched.reshape(-1, watched.shape[-1])
    seen = predictor.seen(places)
    return Beside(places, predictor.known.reduction(seen), predictor.known.pulled(seen), watched.ndim == 3)


def moments_and_pullback(predictor: Predictor, queries: Array, watched: Beside | None = None) -> Moments:
    """Moments of f at queries (n, k, d), and their pullback.

    With c = A k(Z, x): dL/dc = α d_mean − 2 S c d_cov − S c_watched d_cross, which the kernel pulls back to the places.
    """
    n, k, _ = queries.shape
    kernel, layout, known = predictor.kernel, predictor.layout, predictor.known
    places, P = queries.reshape(n * k, -1), len(layout.places)
    if watched is None:
        others = layout.places
    else:
        others = np.concatenate([layout.places, watched.places]) if P else watched.places
    K, back_through = kernel.vjp_inputs(places, others) if len(others) else (np.zeros((n * k, 0)), None)
    seen = layout.pick(K[:, :P].T)
    half = known.reduction(seen)
    mean = predictor.prior_mean(places) + matmul(K[:, :P], predictor.weights)
    if k == 1:
        prior = kernel.diag(places)
        cov = predictor.refine_measured(places, prior, prior - known.square(half))[:, None, None]
    else:
        each = half.reshape(len(half), n, k)
        cov = between(kernel, queries) - np.einsum("fni,fnj->nij", each, known.signed(each))
    cross = np.zeros((n * k, 0))
    if watched is not None:
        cross = watched.differences(K[:, P:] - matmul(known.signed(half).T, watched.half))

    def back(d_mean: Array, d_cov: Array, d_cross: Array | None) -> Array:
        flat = d_mean.ravel()
        out = predictor.prior_mean.pullback_inputs(places, flat)
        out += kernel.pullback_diag_inputs(places, np.einsum("nii->ni", d_cov).ravel())
        if back_through is not None:
            here = known.pulled(seen).reshape(-1, n, k)
            d_seen = known.alpha[:, None] * flat
            d_seen -= 2.0 * np.einsum("fni,nij->fnj", here, d_cov).reshape(-1, n * k)
            in_others = np.zeros((n * k, 0 if watched is None else len(watched.places)))
            if watched is not None and d_cross is not None:
                in_others = watched.spread(d_cross.reshape(n * k, -1))
                d_seen -= matmul(watched.pulled, in_others.T)
            out += back_through(np.concatenate([layout.spread(d_seen).T, in_others], axis=1))
        for a in range(k):
            for b in range(k):
                if a != b:
                    within = np.diag(2.0 * d_cov[:, a, b])
                    out.reshape(n, k, -1)[:, a] += kernel.pullback_inputs(queries[:, a], queries[:, b], within)
        return np.asarray(out.reshape(queries.shape))

    return Moments(mean.reshape(n, k), cov, cross.reshape(n, k, cross.shape[1]), back)


def of_places(query: str, d_mean: Array, d_cov: Array) -> tuple[Array, Array]:
    """Derivatives in the moments of f at a query's k places, (n, k), (n, k, k), from those of what the query sees."""
    if query == "place":
        return d_mean[:, None], d_cov[:, None, None]
    if query == "pair":
        difference = np.array([1.0, -1.0])
        return d_mean[:, None] * difference, d_cov[:, None, None] * np.outer(difference, difference)
    return d_mean, d_cov
