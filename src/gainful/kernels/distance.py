"""Squared distances in units of the lengthscale, and their pullbacks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from gainful.errors import InvalidInput
from gainful.numerics.blas import dot, matmul

Array = NDArray[np.float64]

# Above this scaled radius Σ W x² + Σ W z² − 2 Σ W x z loses too many digits to cancellation (1e4 · 2e-16 of the largest
# term), and differences are formed one dimension at a time instead.
_CANCELLING_RADIUS = 100.0


def check_lengthscale(lengthscale: Any, dimensions: int) -> None:
    """One lengthscale for all dimensions, or one for each of them."""
    given = np.shape(lengthscale)
    if given and given[-1] not in (1, dimensions):
        raise InvalidInput(
            "lengthscale", f"one number or {dimensions} of them, one per dimension", f"{given[-1]}", "match X's columns"
        )


def squared_distance(X: Array, Z: Array, lengthscale: Any) -> Array:
    """Σ_d (x_d − z_d)²/ℓ_d², (N, M), from differences (never from ‖x‖² + ‖z‖² − 2x·z, which cancels); batched (S, N,
    M)."""
    check_lengthscale(lengthscale, X.shape[1])
    scale = np.asarray(lengthscale, dtype=float)
    if scale.ndim < 2:
        return np.asarray(cdist(X / scale, Z / scale, "sqeuclidean"))
    if scale.shape[-1] == 1:
        return np.asarray(cdist(X, Z, "sqeuclidean"))[None] / scale[:, :, None] ** 2
    apart = np.square(X.T[:, :, None] - Z.T[:, None, :]).reshape(X.shape[1], -1)  # one product for all settings
    return matmul(1.0 / scale**2, apart).reshape(len(scale), len(X), len(Z))


def rowwise_differences(X: Array, Z: Array, lengthscale: Any) -> Array:
    """(x_i − z_i)/ℓ for each pair of rows, (N, D); batched (S, N, D)."""
    check_lengthscale(lengthscale, X.shape[1])
    scale = np.asarray(lengthscale, dtype=float)
    if scale.ndim == 2:
        return (X - Z) / scale[:, None, :]
    apart = X - Z
    apart *= 1.0 / scale
    return apart


def weighted_squares(W: Array, X: Array, Z: Array, lengthscale: Any) -> Array:
    """Σ_ij W_ij (x_id − z_jd)²/ℓ_d² for each dimension d, (D,): one matrix product, no (N, M, D) array."""
    X, Z = _centred(X, Z, lengthscale)
    if _radius(X, Z) > _CANCELLING_RADIUS:
        return np.array([dot(W, (X[:, d, None] - Z[None, :, d]) ** 2) for d in range(X.shape[1])])
    d = X.shape[1]
    sums = matmul(W, np.concatenate([np.ones((len(Z), 1)), Z, Z**2], axis=1))  # Σ_j W_ij (1, z_j, z_j²)
    return np.einsum("id,id->d", X, X * sums[:, :1] - 2.0 * sums[:, 1 : d + 1]) + sums[:, d + 1 :].sum(axis=0)


def weighted_differences(W: Array, X: Array, Z: Array, lengthscale: Any) -> Array:
    """Σ_j W_ij (x_id − z_jd)/ℓ_d², (N, D); summed over a batch of W (S, N, M) and ℓ (S, D), for a few X."""
    scale = np.asarray(lengthscale, dtype=float)
    if scale.ndim == 2:
        W = np.tensordot(W, 1.0 / scale**2, axes=(0, 0))  # (N, M, D), or for one ℓ for all dimensions (N, M, 1)
        return np.einsum("nmd,nmd->nd", np.broadcast_to(W, (*W.shape[:2], X.shape[1])), X[:, None] - Z)
    X, Z = _centred(X, Z, lengthscale)
    if _radius(X, Z) > _CANCELLING_RADIUS:
        columns = [np.einsum("ij,ij->i", W, X[:, d, None] - Z[None, :, d]) for d in range(X.shape[1])]
        return np.stack(columns, axis=1) / scale
    return (W.sum(axis=1)[:, None] * X - matmul(W, Z)) / scale


def _centred(X: Array, Z: Array, lengthscale: Any) -> tuple[Array, Array]:
    centre = 0.5 * (Z.max(axis=0) + Z.min(axis=0)) if len(Z) else 0.0
    scale = np.asarray(lengthscale, dtype=float)
    return (X - centre) / scale, (Z - centre) / scale


def _radius(X: Array, Z: Array) -> float:
    return max(float(np.max(np.abs(X), initial=0.0)), float(np.max(np.abs(Z), initial=0.0)))
