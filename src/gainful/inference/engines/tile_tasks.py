"""What a worker does with tiles: blocks of places, and blocks of L and L⁻¹ between them.

With B = K + diag(noise) = L Lᵀ cut into blocks of rows and columns, each function here makes one block, or a few
numbers, from others. None changes what it is given, so that a lost block can be made again. They know nothing of
clusters: `tiled.py` puts them in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from gainful.errors import NumericalError
from gainful.kernels.base import Kernel
from gainful.numerics.blas import matmul

__all__ = ["Block", "NotPositive"]

Array = NDArray[np.float64]


class NotPositive(NumericalError):
    """A block of the diagonal has no Cholesky factor."""


@dataclass(frozen=True, eq=False)
class Block:
    """Some of the readings: places (n, D), and the variance of their noise, (n,)."""

    X: Array
    noise: Array


@dataclass(frozen=True, eq=False)
class Alpha:
    """Row i of α, and Σ_{k ≥ i} L_kjᵀ α_k for each j < i, which the rows before it need."""

    own: Array
    sums: list[Array]


def given(value: Any) -> Any:
    """What the scheduling process sends, as a block that can be made again."""
    return value


def together(*tiles: Any) -> tuple[Any, ...]:
    """Several tiles as one value, which travels and is let go as one; where they lie it takes no memory."""
    return tiles


def rest(kernel: Kernel, row: Block, column: Block, left: Sequence[Array], right: Sequence[Array]) -> Array:
    """B_ij − Σ_k L_ik L_jkᵀ below the diagonal: what L_ij L_jjᵀ has to be."""
    return _less(kernel.matrix(row.X, column.X), left, right)


def corner(kernel: Kernel, block: Block, left: Sequence[Array], jitter: float) -> Array:
    """L_jj, from B_jj − Σ_k L_jk L_jkᵀ; the diagonal of B is enlarged by `jitter` of itself."""
    out = kernel.matrix(block.X, block.X)
    diagonal = np.diagonal(out) + block.noise
    np.fill_diagonal(out, diagonal + jitter * np.abs(diagonal))
    lower, info = lapack.dpotrf(_less(out, left, left), lower=1, clean=1, overwrite_a=1)
    pivots = np.diagonal(lower)
    if info != 0 or not (np.all(np.isfinite(pivots)) and np.all(pivots > 0.0)):
        raise NotPositive("a covariance matrix is not positive definite")
    return np.asarray(lower)


def below(found: Array, lower: Array) -> Array:
    """L_ij = rest L_jj⁻ᵀ."""
    return np.asarray(blas.dtrsm(1.0, lower, found, side=1, lower=1, trans_a=1))


def log_diagonal(lower: Array) -> float:
    """Σ log of the diagonal."""
    return float(np.sum(np.log(np.diagonal(lower))))


def forward(right: Array, left: Sequence[Array], solved: Sequence[Array]) -> Array:
    """Row i of L⁻¹ r: L_ii⁻¹ (r_i − Σ_k L_ik z_k), from row i of L with its corner and the z before it."""
    return _solved(left[-1], _less_products(right, left[:-1], solved), transposed=False)


def forward_kernel(kernel: Kernel, row: Block, X: Array, left: Sequence[Array], solved: Sequence[Array]) -> Array:
    """Row i of L⁻¹ k(·, X), (n, M)."""
    return forward(kernel.matrix(row.X, X), left, solved)


def backward(half: Array, left: Sequence[Array], after: Alpha | None) -> Alpha:
    """Row i of α = L⁻ᵀ z, from row i of L with its corner and what the rows after it have left."""
    alpha = _solved(left[-1], half if after is None else half - after.sums[-1], transposed=True)
    sums = [matmul(tile.T, alpha) for tile in left[:-1]]
    return Alpha(alpha, sums if after is None else [a + b for a, b in zip(sums, after.sums[:-1], strict=True)])


def alpha_of(found: Alpha) -> Array:
    """Row i of α alone."""
    return found.own


def squares(half: Array, before: Array | None) -> Array:
    """Σ over rows so far of the square of each column, (M,)."""
    own = np.einsum("nm,nm->m", half, half)
    return own if before is None else before + own


def products(half: Array, count: int, before: Array | None) -> Array:
    """Σ over rows so far of the products of the first `count` columns with the others, (count, M − count)."""
    own = matmul(np.ascontiguousarray(half[:, :count].T), np.ascontiguousarray(half[:, count:]))
    return own if before is None else before + own


def inverse_tile(left: Sequence[Array], column: Sequence[Array]) -> Array:
    """W_ij of W = L⁻¹: L_jj⁻¹ on the diagonal, and −L_ii⁻¹ Σ_{j ≤ k < i} L_ik W_kj below, from row i of L with its
    corner and W_jj, …, W_i−1,j."""
    if not column:
        return np.asarray(lapack.dtrtri(left[-1], lower=1)[0])
    total = np.zeros((len(left[-1]), column[0].shape[1]), order="F")
    first = len(left) - 1 - len(column)
    return _solved(left[-1], _less_products(total, left[first:-1], column), transposed=False)


def pulled(
    kernel: Kernel, row: Block, column: Block, alphas: Sequence[Array], ours: Sequence[Array], theirs: Sequence[Array]
) -> Array:
    """The part of dL/dtheta that tile (i, j) of dL/dK has, (P,), for i > j: it stands for the tile above too.

    `ours` and `theirs` are columns i and j of W = L⁻¹ from the diagonal down; B⁻¹_ij = Σ_{k ≥ i} W_kiᵀ W_kj.
    """
    return kernel.vjp(row.X, column.X)[1](_slope(alphas, ours, theirs[-len(ours) :]))


def pulled_corner(kernel: Kernel, block: Block, alpha: Array, ours: Sequence[Array]) -> tuple[Array, Array]:
    """The same for a tile of the diagonal, (P,), and the diagonal of B⁻¹ there, (n,)."""
    G = _slope([alpha, alpha], ours, ours)
    return kernel.vjp(block.X, block.X)[1](0.5 * G), alpha**2 - np.diagonal(G)


def _slope(alphas: Sequence[Array], ours: Sequence[Array], theirs: Sequence[Array]) -> Array:
    """2 dL/dK_ij = α_i α_jᵀ − Σ_k W_kiᵀ W_kj."""
    G = np.outer(*alphas)
    for a, b in zip(ours, theirs, strict=True):
        G -= matmul(a.T, b)
    return G


def _less(matrix: Array, left: Sequence[Array], right: Sequence[Array]) -> Array:
    """matrix − Σ_k left_k right_kᵀ, in a new array in Fortran order."""
    out = np.array(matrix, order="F")
    for a, b in zip(left, right, strict=True):
        out = blas.dgemm(-1.0, a, b, beta=1.0, c=out, trans_b=1, overwrite_c=1)
    return out


def _less_products(right: Array, left: Sequence[Array], solved: Sequence[Array]) -> Array:
    """right − Σ_k left_k solved_k, in a new array."""
    if right.ndim == 1:
        return right - sum((matmul(a, z) for a, z in zip(left, solved, strict=True)), np.zeros(len(right)))
    out = np.array(right, order="F")
    for a, z in zip(left, solved, strict=True):
        out = blas.dgemm(-1.0, a, z, beta=1.0, c=out, overwrite_c=1)
    return out


def _solved(lower: Array, right: Array, transposed: bool) -> Array:
    if right.ndim == 1:
        return np.asarray(lapack.dtrtrs(lower, right, lower=1, trans=int(transposed))[0])
    return np.asarray(blas.dtrsm(1.0, lower, right, lower=1, trans_a=int(transposed)))
