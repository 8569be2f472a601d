"""Spreads by linear response through inducing points: what `response.py` has, where there are many answers.

Rows see f through w alone, so that what linear response adds to Cov[w] = L⁻ᵀ L⁻¹ lies within it:

    Cov[w] = L⁻ᵀ (I + Uᵀ W U) L⁻¹,     C = U Uᵀ − diag(|u_i|²),     u_i = L⁻¹ φ_i / ((1 + λ_i τ_i) sd_i)

with W as there, and U (n, M). Answers that say nearly the same, which is where EP is too sure, make few directions of
U: in r of them C² has the rank r (r + 1)/2, entry by entry the product of two columns of U for each pair, and the
system for W is a diagonal matrix and one of that rank. Few answers are taken as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from gainful.inference.compressed import Compressed
from gainful.inference.engines.low_rank_ep import LowRankBelief
from gainful.inference.jacobian import Slopes, slopes
from gainful.inference.response import LEAST, Shapes, is_steady, shapes_of, weights
from gainful.inference.sweep import Sweep, sweep
from gainful.instruments.base import Rows
from gainful.layout import Layout
from gainful.numerics.blas import matmul
from gainful.numerics.memory import blocks

__all__ = ["LowRankResponse", "doubt", "respond_low_rank"]

Array = NDArray[np.float64]

_FEW = 2000  # rows whose system is solved as it is
_PAIRS, _WORK = 3000, 1e11  # pairs of directions, and what rows times their square may be, at most
_LEFT_OUT = 1e-3  # of the root of the sum of the correlations' squares: directions with less
_CORRELATED = 4000  # rows whose correlations tell what the evidence lacks
_VANISHING = 1e-8  # of a row's own share in the system


@dataclass(frozen=True, eq=False)
class LowRankResponse:
    """Cov[w] = L⁻ᵀ F Fᵀ L⁻¹ with F = I + Q (R − I) Qᵀ, for Q (M, r) with orthonormal columns and R (r, r)."""

    directions: Array
    root: Array

    def half(self, values: Array) -> Array:
        """Fᵀ values, for values (M, n)."""
        inside = matmul(self.directions.T, values)
        return values + matmul(self.directions, matmul(self.root.T, inside) - inside)

    def spread(self, values: Array) -> Array:
        """F values, for values (M, n)."""
        inside = matmul(self.directions.T, values)
        return values + matmul(self.directions, matmul(self.root, inside) - inside)


def doubt(layout: Layout, state: LowRankBelief) -> float:
    """What EP's evidence lacks at first, in nats, by the correlations of some rows; 0 where it cannot be told."""
    found = _seen(layout, state)
    if found is None:
        return 0.0
    swept, _, U = found
    shapes = shapes_of(swept)
    if shapes is None:
        return np.inf
    n = len(U)
    some = np.sort(np.random.default_rng(0).permutation(n)[:_CORRELATED])
    C = matmul(U[some], U[some].T)
    C.flat[:: len(some) + 1] = 0.0
    return Shapes(*(each[some] for each in shapes)).correction(C, C**2) * (n / len(some)) ** 2


def respond_low_rank(layout: Layout, state: LowRankBelief) -> LowRankResponse | None:
    """How spreads are to be corrected; None where double precision does not resolve it, or rows differ in too many
    directions for so many of them."""
    found = _seen(layout, state)
    if found is None:
        return None
    _, by, U = found
    with np.errstate(all="ignore"):  # sites too precise for it are found below
        values, directions = np.linalg.eigh(matmul(U.T, U))
        values, directions = np.maximum(values[::-1], 0.0), directions[:, ::-1]
        if len(U) <= _FEW:
            kept = len(values)
            C = matmul(U, U.T)
            C.flat[:: len(C) + 1] = 0.0
            W = weights(C, C**2, by)
            if W is None:
                return None
            inside = matmul(matmul(U, directions).T, matmul(W, matmul(U, directions)))
        else:
            left = np.append(np.cumsum(values[::-1] ** 2)[::-1], 0.0)
            kept = int(np.argmax(left <= _LEFT_OUT**2 * left[0]))
            pairs = kept * (kept + 1) // 2
            if pairs > _PAIRS or len(U) * float(pairs) ** 2 > _WORK:
                return None
            solved = _inside(matmul(U, np.ascontiguousarray(directions[:, :kept])), by)
            if solved is None:
                return None
            inside = solved
        inside = 0.5 * (inside + inside.T)
        directions = np.ascontiguousarray(directions[:, :kept])
        along = matmul(U, directions)
        changed = 1.0 + np.einsum("ir,ir->i", matmul(along, inside), along)
    root, info = lapack.dpotrf(np.eye(kept) + inside, lower=1, clean=1)
    if info != 0 or not np.all(np.isfinite(root)) or not np.all((changed > LEAST) & (changed < 1.0 / LEAST)):
        return None
    return LowRankResponse(directions, np.asarray(root))


def _seen(layout: Layout, state: LowRankBelief) -> tuple[Sweep, Slopes, Array] | None:
    """A sweep, its slopes, and U; None where there is nothing to correct, or it is no estimate."""
    rows = layout.scalar_rows
    if len(rows) < 2 or not state.lower.size:
        return None
    swept = sweep(layout, cast(Compressed, state))
    if not all(is_steady(term.likelihood) for term, *_ in swept.tilted):
        return None
    by = slopes(layout, cast(Compressed, state), swept)
    if by is None:
        return None
    U = np.ascontiguousarray(state.half(state.features[rows].T).T / (state.widened[rows] * by.sd)[:, None])
    return (swept, by, U) if np.all(np.isfinite(U)) else None


def _inside(U: Array, by: Slopes) -> Array | None:
    """Uᵀ W U (r, r), W = −r∘C² (I + q∘C² + p∘C (r∘C²))⁻¹ p, for U (n, r) of few columns.

    With C² = V Vᵀ − diag(|u|⁴) and a = q − p r |u|², the system is

        diag(1 − a |u|⁴) + [a∘V, p∘U] [Vᵀ; (Uᵀ r V) Vᵀ − Uᵀ diag(r |u|⁴)]
    """
    p, q, r = by.t_from_mean, by.t_from_variance, by.s_from_variance
    left, right = np.triu_indices(U.shape[1])
    twice = np.where(left == right, 1.0, np.sqrt(2.0))
    squares = np.einsum("ir,ir->i", U, U)
    a, own = q - p * r * squares, squares**2
    diagonal = 1.0 - a * own
    if not np.all(np.abs(diagonal) > _VANISHING):
        return None
    size = len(left) + U.shape[1]
    parts = list(blocks(len(U), 4 * size))
    turned = np.zeros((U.shape[1], len(left)))
    for part in parts:
        turned += matmul(U[part].T, r[part, None] * _products(U[part], left, right, twice))

    def factors(part: slice) -> tuple[Array, Array, Array, Array]:
        """V, L and R over these rows, and what the system is solved for."""
        some = U[part]
        V = _products(some, left, right, twice)
        L = np.concatenate([a[part, None] * V, p[part, None] * some], axis=1) / diagonal[part, None]
        R = np.concatenate([V, matmul(V, turned.T) - (r * own)[part, None] * some], axis=1)
        return V, L, R, (p / diagonal)[part, None] * some

    system, begin = np.eye(size), np.zeros((size, U.shape[1]))
    for part in parts:
        _, L, R, first = factors(part)
        system += matmul(R.T, L)
        begin += matmul(R.T, first)
    *_, z, info = lapack.dgesv(system, begin)
    if info != 0:
        return None
    across, along = np.zeros((len(left), U.shape[1])), np.zeros((U.shape[1], U.shape[1]))
    for part in parts:
        V, L, _, first = factors(part)
        t = first - matmul(L, np.asarray(z))
        across += matmul(V.T, t)
        along += matmul(((r * own)[part, None] * U[part]).T, t)
    return along - matmul(turned, across)


def _products(U: Array, left: Rows, right: Rows, twice: Array) -> Array:
    """V (n, r (r + 1)/2) with V Vᵀ = (U Uᵀ)², entry by entry."""
    return U[:, left] * U[:, right] * twice
