"""A sum of terms, each over a few dimensions: those that no term has together do not interact.

    k(x, z) = Σ_g variance_g κ(s_g),   s_g = Σ_{d in g} |x_d − z_d|²/ℓ_d²

One lengthscale for each dimension, whatever terms it is in, and one variance for each term. Terms may overlap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from gainful.checks import is_whole, listed, require, require_choice
from gainful.coordinates import Coordinates
from gainful.errors import InvalidInput
from gainful.kernels.base import FAR, Features, Kernel, Pullback, waves, without_features
from gainful.kernels.stationary import SE, Matern, Stationary
from gainful.numerics.blas import matmul
from gainful.parameters import Slot, positive

__all__ = ["PROFILES", "Additive", "Terms", "additive_over"]

Array = NDArray[np.float64]
Terms = tuple[tuple[int, ...], ...]

PROFILES: dict[str, Stationary] = {
    "SE": SE(1.0, 1.0),
    "Matern12": Matern(1.0, 1.0, 0.5),
    "Matern32": Matern(1.0, 1.0, 1.5),
    "Matern52": Matern(1.0, 1.0, 2.5),
}


@dataclass(frozen=True)
class Additive(Kernel):
    """Σ_g variance_g κ(s_g), where `terms` are the dimensions of each, by number or by the names that the space has.

    lengthscale  one for each dimension, or one for all
    variance     one for each term, or one for all
    profile      κ: "SE", "Matern12", "Matern32" or "Matern52"
    columns      the columns of each dimension, where it has not just the one of its own number
    categories   dimensions whose values are alike or not, instead of near or far

    >>> k = Additive([(0, 1), (2,)], lengthscale=1.0, variance=(3.0, 1.0))
    >>> k([[0.0, 0.0, 0.0]], [[0.0, 0.0, 9.0], [9.0, 0.0, 0.0]]).round(3).tolist()
    [[3.0, 1.0]]
    """

    terms: Any = ((0,),)
    lengthscale: Any = positive(1.0, "length", per_dimension=True)
    variance: Any = positive(1.0, "variance", per_dimension=True)
    profile: str = "SE"
    columns: tuple[tuple[int, ...], ...] = ()
    categories: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "terms", _as_terms(self.terms))
        require_choice("profile", self.profile, tuple(PROFILES), "SE is the smoothest")
        super().__post_init__()
        if self._is_named:
            return
        sizes = {"lengthscale": self.dimensions, "variance": len(self.terms)}
        for name, size in sizes.items():
            value = getattr(self, name)
            if isinstance(value, float):
                object.__setattr__(self, name, (value,) * size)
            each = "dimension" if name == "lengthscale" else "term"
            fine = np.shape(getattr(self, name))[-1] == size
            require(fine, name, f"{size} numbers, one for each {each}", value, "or one for all")

    @property
    def _is_named(self) -> bool:
        return any(isinstance(d, str) for group in self.terms for d in group)

    @cached_property
    def dimensions(self) -> int:
        """How many there are: as many as have columns, or as the terms speak of."""
        return len(self.columns) or 1 + max(d for group in self.terms for d in group)

    @cached_property
    def _columns(self) -> tuple[tuple[int, ...], ...]:
        return self.columns or tuple((d,) for d in range(self.dimensions))

    @cached_property
    def members(self) -> Array:
        """1 where a term has a dimension, (G, D)."""
        out = np.zeros((len(self.terms), self.dimensions))
        for g, group in enumerate(self.terms):
            out[g, list(group)] = 1.0
        return out

    @property
    def slopes_together(self) -> bool:
        return True

    def features(self, dimensions: int, count: int, rng: np.random.Generator) -> Features:
        if self.categories:
            raise without_features(self)
        lengths, variances = (np.asarray(each, dtype=float) for each in (self.lengthscale, self.variance))
        terms = []
        for group, variance in zip(self.terms, variances, strict=True):
            frequencies, c = np.zeros((count, dimensions)), PROFILES[self.profile].scales(count, rng)
            for d in group:
                columns = list(self._columns[d])
                frequencies[:, columns] = c[:, None] * rng.standard_normal((count, len(columns))) / lengths[d]
            terms.append(waves(frequencies, np.sqrt(variance), rng))
        return lambda X: np.sum([term(X) for term in terms], axis=0)

    def groups(self) -> list[list[Slot]]:
        """Lengthscales, each of a dimension, and then variances, each of a term."""
        own = super().groups()[0]
        if self._is_named:
            return [own]
        seen = [*((d,) for d in range(self.dimensions)), *self.terms]
        columns = (tuple(c for d in dims for c in self._columns[d]) for dims in seen)
        return [[slot._replace(dims=each) for slot, each in zip(own, columns, strict=True)]]

    def bind(self, names: Sequence[str]) -> Self:
        if not self._is_named:
            return self
        given = listed(names) or []
        known = list(dict.fromkeys(given))
        unknown = sorted({str(d) for group in self.terms for d in group if d not in known and not is_whole(d)})
        require(not unknown, "terms", f"names among {known}", unknown, "use the space's own dimension names")
        at = {name: i for i, name in enumerate(known)}
        groups = tuple(tuple(sorted(at[d] if isinstance(d, str) else d for d in group)) for group in self.terms)
        columns = tuple(tuple(i for i, other in enumerate(given) if other == name) for name in known)
        return replace(self, terms=groups, columns=columns)

    def seen_together(self, columns: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(columns[c] for d in term for c in self._columns[d]) for term in self.terms)

    def between(self, columns: tuple[int, ...]) -> frozenset[int]:
        lengths = {d for term in self.terms for d in term} - set(self.categories)
        return frozenset(columns[c] for d in lengths for c in self._columns[d])

    def touching(self, columns: AbstractSet[int]) -> Kernel | None:
        chosen = [g for g, term in enumerate(self.terms) if any(c in columns for d in term for c in self._columns[d])]
        if not chosen:
            return None
        terms, variance = tuple(self.terms[g] for g in chosen), np.asarray(self.variance)[..., chosen]
        return replace(self, terms=terms, variance=variance, columns=self._columns)

    def squares(self, X: Array, Z: Array) -> Array:
        """|x_d − z_d|² of each dimension, (D, N M)."""
        return self._squares(X, lambda c: (X[:, c, None] - Z[None, :, c]).ravel(), len(X) * len(Z))

    def _squares_of_rows(self, X: Array, Z: Array) -> Array:
        """The same for each pair of rows, (D, N)."""
        return self._squares(X, lambda c: X[:, c] - Z[:, c], len(X))

    def _squares(self, X: Array, apart: Callable[[int], Array], size: int) -> Array:
        last = max(c for own in self._columns for c in own)
        if last >= X.shape[1]:
            raise InvalidInput("terms", f"dimensions below {X.shape[1]}, the number of coordinates", self.terms,
                               "check X and the terms")  # fmt: skip
        out = np.empty((self.dimensions, size))
        for d, (first, *more) in enumerate(self._columns):
            one = apart(first)
            out[d] = one != 0.0 if d in self.categories else np.square(one, out=one)
            for c in more:
                out[d] += np.square(apart(c))
        return out

    @property
    def _weights(self) -> tuple[Array, Array, tuple[int, ...]]:
        """What distances are multiplied with, (S G, D), variances (S, G), and the batch's shape: (), or (S,)."""
        lengths, variances = np.asarray(self.lengthscale, dtype=float), np.asarray(self.variance, dtype=float)
        batch = np.broadcast_shapes(lengths.shape[:-1], variances.shape[:-1])
        scaled = self.members / np.broadcast_to(lengths, (*batch, self.dimensions))[..., None, :] ** 2
        return (
            scaled.reshape(-1, self.dimensions),
            np.broadcast_to(variances, (*batch, len(self.terms))).reshape(-1, len(self.terms)),
            batch,
        )

    def matrix(self, X: Array, Z: Array) -> Array:
        return self._values(self.squares(X, Z), (len(X), len(Z)))

    def rowwise(self, X: Array, Z: Array) -> Array:
        return self._values(self._squares_of_rows(X, Z), (len(X),))

    def _values(self, squares: Array, shape: tuple[int, ...]) -> Array:
        scaled, variances, batch = self._weights
        k = PROFILES[self.profile].profile(matmul(scaled, squares))
        return self._summed(variances, k).reshape(*batch, *shape)

    @staticmethod
    def _summed(variances: Array, k: Array) -> Array:
        """Σ_g variance_g κ_g for each setting, (S, N M)."""
        each = k.reshape(*variances.shape, k.shape[-1])
        return np.stack([matmul(v[None], one)[0] for v, one in zip(variances, each, strict=True)])

    def diag(self, X: Array) -> Array:
        return np.asarray(self.variance, dtype=float).sum(axis=-1)[..., None] * np.ones(len(X))

    def vjp(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        return self._vjp(self.squares(X, Z), (len(X), len(Z)))

    def rowwise_vjp(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        return self._vjp(self._squares_of_rows(X, Z), (len(X),))

    def _vjp(self, squares: Array, shape: tuple[int, ...]) -> tuple[Array, Pullback]:
        scaled, variances, _ = self._weights
        k, weights = PROFILES[self.profile].linearise(matmul(scaled, squares))

        def back(G: Array) -> Array:
            flat = G.reshape(1, -1)
            slopes = matmul(weights(np.broadcast_to(flat, k.shape))[0], squares.T)  # (G, D)
            lengths = -2.0 * np.sum(variances.T * scaled * slopes, axis=0)
            return np.concatenate([lengths, variances[0] * matmul(k, flat[0])])

        return self._summed(variances, k).reshape(shape), back

    def vjp_inputs(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        scaled, variances, batch = self._weights
        k, weights = PROFILES[self.profile].linearise(matmul(scaled, self.squares(X, Z)))
        S, shape = len(variances), (len(X), len(Z))

        def back(G: Array) -> Array:
            each = np.broadcast_to(G.reshape(S, 1, -1), (S, len(self.terms), G.shape[-2] * G.shape[-1]))
            slopes = weights(each.reshape(k.shape))[0] * variances.reshape(-1, 1)
            by_dimension = matmul(scaled.T, slopes).reshape(self.dimensions, *shape)  # summed over groups and settings
            out = np.zeros_like(X)
            for d, own in enumerate(self._columns):
                if d not in self.categories:
                    for c in own:
                        out[:, c] = 2.0 * np.einsum("nm,nm->n", by_dimension[d], X[:, c, None] - Z[None, :, c])
            return out

        return self._summed(variances, k).reshape(*batch, *shape), back

    def pullback_diag_inputs(self, X: Array, g: Array) -> Array:
        return np.zeros_like(X)


def _is_dimension(d: Any) -> bool:
    return (isinstance(d, str) and d != "") or (is_whole(d) and 0 <= d < FAR)


def _as_terms(terms: Any) -> tuple[tuple[Any, ...], ...]:
    """Tuples of tuples, each with at least one dimension, none with one twice."""
    given = listed(terms)
    several = [(one,) if listed(one) is None else tuple(listed(one) or ()) for one in given or ()]
    usable = bool(several) and all(one and all(map(_is_dimension, one)) for one in several)
    expected = "the dimensions of each term, by number from 0 or by name"
    require(usable, "terms", expected, terms, "for instance [(0, 1), (2,)]")
    once = all(len(set(one)) == len(one) for one in several)
    require(once, "terms", expected, terms, "each dimension at most once in a term")
    return tuple(tuple(d if isinstance(d, str) else int(d) for d in group) for group in several)


def additive_over(coordinates: Coordinates, terms: Terms, profile: str = "SE") -> Additive:
    """The kernel over the columns that kernels see of a space: terms are of those of its dimensions that vary."""
    columns = coordinates.columns
    present = list(dict.fromkeys(column.group for column in columns))
    own = tuple(tuple(i for i, column in enumerate(columns) if column.group == group) for group in present)
    categories = tuple(d for d, some in enumerate(own) if columns[some[0]].kind == "category")
    return Additive(terms, columns=own, categories=categories, profile=profile)
