"""Derivatives in the places of a function of predictive moments, by reverse mode: the pullback of a posterior."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gainful.inference.adjusted import Adjusted
from gainful.inference.conditioned import Conditioned
from gainful.kernels.base import Kernel
from gainful.layout import Layout
from gainful.means import Mean
from gainful.numerics.blas import matmul

Array = NDArray[np.float64]


def pull_back(
    prior_mean: Mean,
    kernel: Kernel,
    layout: Layout,
    state: Conditioned | Adjusted,
    queries: Array,
    d_mean: Array,
    d_cov: Array,
    watched: Array | None,
    d_cross: Array | None,
    pulled_there: Array | None = None,
) -> Array:
    """dL/dX, of the shape of queries (n, k, d), from dL/dmean (n, k) and dL/dcov (n, k, k) at their places.

    With c = A k(Z, x) and S c as `pulled`: dL/dc = α d_mean − 2 S c d_cov, which the kernel pulls back to the places.
    L may also depend on covariances with f at watched places by d_cross; see `Posterior.pullback`. `pulled_there` is
    S c of those places, where it is known already.
    """
    n, k, _ = queries.shape
    places = queries.reshape(n * k, -1)
    others, d_others = _watched_places(watched, d_cross, k)
    out = prior_mean.pullback_inputs(places, d_mean.ravel())
    out += kernel.pullback_diag_inputs(places, np.einsum("nii->ni", d_cov).ravel())
    if layout.size:
        here = pulled(kernel, layout, state, places).reshape(-1, n, k)
        d_seen = state.alpha[:, None] * d_mean.ravel()
        d_seen -= 2.0 * np.einsum("fni,nij->fnj", here, d_cov).reshape(-1, n * k)
        if others is not None:
            there = pulled(kernel, layout, state, others) if pulled_there is None else pulled_there
            d_seen -= matmul(there, d_others.T)
        out += kernel.pullback_inputs(places, layout.places, layout.spread(d_seen).T)
    if others is not None:
        out += kernel.pullback_inputs(places, others, d_others)
    for a in range(k):
        for b in range(k):
            if a != b:
                within = np.diag(2.0 * d_cov[:, a, b])
                out.reshape(n, k, -1)[:, a] += kernel.pullback_inputs(queries[:, a], queries[:, b], within)
    return np.asarray(out.reshape(queries.shape))


def pulled(kernel: Kernel, layout: Layout, state: Conditioned | Adjusted, places: Array) -> Array:
    """S c with c = A k(Z, x), (F, M): what the answers take off a variance is cᵀ S c."""
    return state.pulled(layout.pick(kernel.matrix(layout.places, places)))


def of_places(query: str, d_mean: Array, d_cov: Array) -> tuple[Array, Array]:
    """Derivatives in the moments of f at a query's k places, (n, k), (n, k, k), from those of what the query sees."""
    if query == "place":
        return d_mean[:, None], d_cov[:, None, None]
    if query == "pair":
        difference = np.array([1.0, -1.0])
        return d_mean[:, None] * difference, d_cov[:, None, None] * np.outer(difference, difference)
    return d_mean, d_cov


def _watched_places(watched: Array | None, d_cross: Array | None, k: int) -> tuple[Array | None, Array]:
    """Watched places (R', d) and derivatives (n k, R') in the covariance of each place of a query with each of them.

    The second place of a pair counts with the opposite sign, on either side.
    """
    if watched is None or d_cross is None:
        return None, np.zeros((0, 0))
    each = d_cross[:, None, :] * (np.array([1.0, -1.0]) if k == 2 else np.ones(k))[:, None]
    flat = each.reshape(len(d_cross) * k, -1)
    if watched.ndim == 2:
        return watched, np.ascontiguousarray(flat)
    return watched.reshape(-1, watched.shape[-1]), np.stack([flat, -flat], axis=-1).reshape(len(flat), -1)
