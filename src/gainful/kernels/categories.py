"""Kernels of one category: how alike its levels are.

All are correlations, 1 on the diagonal: the variance belongs to what they are multiplied by, as in
`SE().on("temperature") * Exchangeable(3).on("catalyst")`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gainful.checks import is_number, require, require_count
from gainful.errors import InvalidInput
from gainful.kernels.base import PiecewiseConstant, Pullback, batched
from gainful.parameters import Slot, Unstated, fraction, real

__all__ = ["Codes", "Exchangeable", "Leaning", "Similarity", "first_loadings", "level_codes", "require_levels"]

Array = NDArray[np.float64]
Codes = NDArray[np.intp]

_MOST = 10_000  # levels: a matrix of them squared is kept


def level_codes(X: Array, levels: int) -> Codes:
    """The levels of places that have one coordinate, the position of a level."""
    if X.shape[1] != 1:
        raise InvalidInput("X", "one column, a category", f"{X.shape[1]}", "use .on('its name')")
    codes = np.rint(X[:, 0]).astype(np.intp)
    strange = (codes < 0) | (codes >= levels)
    if np.any(strange):
        raise InvalidInput("X", f"positions of levels, 0 to {levels - 1}", X[strange][0, 0], "check levels, and .on")
    return codes


@dataclass(frozen=True)
class Exchangeable(PiecewiseConstant):
    """k(x, z) = 1 if x = z, otherwise `correlation`: levels of which none is nearer to another than the rest.

    >>> Exchangeable(3, correlation=0.2)([[0.0]], [[0.0], [2.0]]).tolist()
    [[1.0, 0.2]]
    """

    levels: int = 2
    correlation: Any = fraction(0.5, "correlation")

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "levels", require_levels(self.levels))

    def _same(self, X: Array, Z: Array) -> NDArray[np.bool_]:
        return np.equal.outer(level_codes(X, self.levels), level_codes(Z, self.levels))

    def matrix(self, X: Array, Z: Array) -> Array:
        return np.where(self._same(X, Z), 1.0, batched(self.correlation, 2))

    def diag(self, X: Array) -> Array:
        level_codes(X, self.levels)
        return np.ones((*np.shape(self.correlation), len(X)))

    def vjp(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        return self._vjp(self._same(X, Z))

    def rowwise(self, X: Array, Z: Array) -> Array:
        return np.where(self._same_rows(X, Z), 1.0, batched(self.correlation, 1))

    def rowwise_vjp(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        return self._vjp(self._same_rows(X, Z))

    def _same_rows(self, X: Array, Z: Array) -> NDArray[np.bool_]:
        return np.equal(level_codes(X, self.levels), level_codes(Z, self.levels))

    def _vjp(self, same: NDArray[np.bool_]) -> tuple[Array, Pullback]:
        r = self.correlation

        def back(G: Array) -> Array:
            slope = r * (1.0 - r)  # of the correlation in its logit
            return np.array([slope * float(np.sum(G, where=~same))]) if r else np.zeros(0)

        return np.where(same, 1.0, r), back


@dataclass(frozen=True)
class Similarity(PiecewiseConstant):
    """k(i, j) = (w_i·w_j + [i = j]) / √((1 + |w_i|²)(1 + |w_j|²)): a correlation of its own for each pair of levels.

    Each level has a vector w of `rank` loadings; levels whose vectors point the same way are alike, however many there
    are. loadings are those of the first level, then of the second, and so on. Left out, all first loadings are 1, which
    is Exchangeable with correlation 1/2 but for small differences that let a fit go on from there.

    >>> Similarity(2, rank=1, loadings=(3.0, 3.0))([[0.0]], [[0.0], [1.0]]).round(6).tolist()
    [[1.0, 0.9]]
    """

    levels: int = 2
    rank: int = 1
    loadings: Any = real(0.0, "loading", per_dimension=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", require_levels(self.levels))
        object.__setattr__(self, "rank", require_count("rank", self.rank, 1, "1 or 2 loadings a level"))
        require(self.rank <= self.levels, "rank", f"at most {self.levels}, the levels", self.rank, "1 or 2 will do")
        if is_number(self.loadings) and self.loadings == 0.0:
            object.__setattr__(self, "loadings", first_loadings(self.levels, self.rank))
        super().__post_init__()
        size = np.shape(self.loadings)[-1] if np.ndim(self.loadings) else 1
        expected = f"{self.levels * self.rank} numbers, {self.rank} for each level"
        require(size == self.levels * self.rank, "loadings", expected, self.loadings, "leave them out")

    def groups(self) -> list[list[Slot]]:
        """Loadings belong to levels, not to dimensions."""
        return [[slot._replace(dims=None) for slot in group] for group in super().groups()]

    @property
    def correlations(self) -> Array:
        """The correlation of each pair of levels, (L, L), or with a batch of settings (S, L, L)."""
        return _correlations(*self._vectors())

    def _vectors(self) -> tuple[Array, Array]:
        """w (…, L, rank), and √(1 + |w|²) of each."""
        flat = np.asarray(self.loadings, dtype=float)
        W = flat.reshape(*flat.shape[:-1], self.levels, self.rank)
        return W, np.sqrt(1.0 + np.sum(W**2, axis=-1))

    def matrix(self, X: Array, Z: Array) -> Array:
        x, z = level_codes(X, self.levels), level_codes(Z, self.levels)
        return np.asarray(self.correlations[..., x[:, None], z[None, :]])

    def diag(self, X: Array) -> Array:
        level_codes(X, self.levels)
        return np.ones((*np.shape(self.loadings)[:-1], len(X)))

    def vjp(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        return self._vjp(level_codes(X, self.levels)[:, None], level_codes(Z, self.levels)[None, :])

    def rowwise(self, X: Array, Z: Array) -> Array:
        return np.asarray(self.correlations[..., level_codes(X, self.levels), level_codes(Z, self.levels)])

    def rowwise_vjp(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        return self._vjp(level_codes(X, self.levels), level_codes(Z, self.levels))

    def _vjp(self, x: Codes, z: Codes) -> tuple[Array, Pullback]:
        C, (W, size) = self.correlations, self._vectors()
        return np.asarray(C[x, z]), lambda G: _in_loadings(G, x, z, C, W, size).ravel()


@dataclass(frozen=True)
class Leaning(PiecewiseConstant):
    """k(i, j) = (c² + l_i l_j)/√((1 + c² + l_i²)(1 + c² + l_j²)), 1 for i = j, with c² = correlation/(1 − correlation).

    Levels are alike to one degree, and beyond that those that lean the same way are more alike, those that lean apart
    less: two kinds of levels, or one that is like no other. Without leanings it is Exchangeable. It is what a GP with a
    space takes for a category of three levels or more: leanings are 0 until there are ten answers for each level, and
    learned from then on.

    >>> Leaning(3, 0.5, (2.0, 2.0, -2.0))([[0.0]], [[0.0], [1.0], [2.0]]).round(3).tolist()
    [[1.0, 0.833, -0.5]]
    """

    levels: int = 3
    correlation: Any = fraction(0.5, "correlation")
    leanings: Any = real(0.0, "leaning", per_dimension=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", require_levels(self.levels))
        if is_number(self.leanings) and self.leanings == 0.0:
            object.__setattr__(self, "leanings", (Unstated(0.0),) * self.levels)
        super().__post_init__()
        size = np.shape(self.leanings)[-1] if np.ndim(self.leanings) else 1
        require(size == self.levels, "leanings", f"{self.levels} numbers, one a level", self.leanings, "leave them out")

    def groups(self) -> list[list[Slot]]:
        """Leanings belong to levels, not to dimensions."""
        return [[slot._replace(dims=None) for slot in group] for group in super().groups()]

    def _vectors(self) -> tuple[Array, Array]:
        """(c, l) of each level (…, L, 2), and √(1 + c² + l²)."""
        lean, share = np.asarray(self.leanings, dtype=float), np.asarray(self.correlation, dtype=float)
        W = np.stack([np.broadcast_to(np.sqrt(share / (1.0 - share))[..., None], lean.shape), lean], axis=-1)
        return W, np.sqrt(1.0 + np.sum(W**2, axis=-1))

    @property
    def correlations(self) -> Array:
        """The correlation of each pair of levels, (L, L), or with a batch of settings (S, L, L)."""
        return _correlations(*self._vectors())

    def matrix(self, X: Array, Z: Array) -> Array:
        x, z = level_codes(X, self.levels), level_codes(Z, self.levels)
        if not np.any(self.leanings):
            return np.where(np.equal.outer(x, z), 1.0, batched(self.correlation, 2))
        return np.asarray(self.correlations[..., x[:, None], z[None, :]])

    def rowwise(self, X: Array, Z: Array) -> Array:
        x, z = level_codes(X, self.levels), level_codes(Z, self.levels)
        if not np.any(self.leanings):
            return np.where(x == z, 1.0, batched(self.correlation, 1))
        return np.asarray(self.correlations[..., x, z])

    def diag(self, X: Array) -> Array:
        level_codes(X, self.levels)
        batch = np.broadcast_shapes(np.shape(self.correlation), np.shape(self.leanings)[:-1])
        return np.ones((*batch, len(X)))

    def vjp(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        return self._vjp(level_codes(X, self.levels)[:, None], level_codes(Z, self.levels)[None, :])

    def rowwise_vjp(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        return self._vjp(level_codes(X, self.levels), level_codes(Z, self.levels))

    def _vjp(self, x: Codes, z: Codes) -> tuple[Array, Pullback]:
        C, (W, size) = self.correlations, self._vectors()

        def back(G: Array) -> Array:
            common, leanings = _in_loadings(G, x, z, C, W, size).T
            # c = exp(t/2) in the logit t of the correlation, which is no parameter where it is 0.
            return np.concatenate([[0.5 * float(common @ W[:, 0])] if self.correlation else [], leanings])

        return np.asarray(C[x, z]), back


def _correlations(W: Array, size: Array) -> Array:
    C = np.einsum("...ir,...jr->...ij", W, W) + np.eye(W.shape[-2])
    return np.asarray(C / (size[..., :, None] * size[..., None, :]))


def _in_loadings(G: Array, x: Codes, z: Codes, C: Array, W: Array, size: Array) -> Array:
    """dL/dW (L, rank) from G = dL/dK at pairs of places with levels x and z."""
    both = (x * len(C) + z).ravel()
    # dL/dC, summed over the places of each pair of levels, then made symmetric.
    pairs = np.asarray(np.bincount(both, G.ravel(), C.size), dtype=float).reshape(C.shape)
    pairs = pairs + pairs.T
    np.fill_diagonal(pairs, 0.0)  # a level is as like itself as it was
    # C_ij = a_ij/(s_i s_j): dC_ij/dw_i = w_j/(s_i s_j) − C_ij w_i/s_i².
    weights = pairs / (size[:, None] * size[None, :])
    shrink = np.sum(pairs * C, axis=1) / size**2
    return np.asarray(weights @ W - shrink[:, None] * W)


def first_loadings(levels: int, rank: int) -> tuple[float, ...]:
    """Loadings from which a fit can go anywhere: alike, and not quite equal."""
    level, factor = np.arange(levels)[:, None], np.arange(rank)[None, :]
    waves = 0.1 * np.cos(np.pi * (level + 0.5) * (factor + 1.0) / levels)
    return tuple(Unstated(x) for x in np.where(factor == 0, 1.0 + waves, waves).ravel().tolist())


def require_levels(levels: Any, argument: str = "levels") -> int:
    """How many levels or tasks there are: two or more, and not more than a matrix of them is kept for."""
    found = require_count(argument, levels, 2, f"how many {argument} the category has")
    require(found <= _MOST, argument, f"at most {_MOST}", levels, f"group {argument} that are alike")
    return found
