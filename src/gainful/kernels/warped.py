"""Kernels of what a space lets them see of a place."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from gainful.checks import require_kind
from gainful.coordinates import Coordinates
from gainful.kernels.base import Features, Kernel, Pullback

__all__ = ["Warped", "warped"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Warped(Kernel):
    """k(x, z) = base(c(x), c(z)), where c gives the columns that kernels see of a place (`space.coordinates`).

    >>> import gainful as gf
    >>> space = gf.Space(gf.Real("dose", 1.0, 100.0, log=True))
    >>> kernel = Warped(gf.SE(lengthscale=1.0), space.coordinates)
    >>> bool(np.isclose(kernel([[1.0]], [[10.0]]), gf.SE(1.0)([[0.0]], [[np.log(10.0)]])))
    True
    """

    base: Kernel
    coordinates: Coordinates

    def __post_init__(self) -> None:
        require_kind("base", self.base, Kernel, "a kernel", "such as SE(), not SE")
        require_kind("coordinates", self.coordinates, Coordinates, "coordinates", "such as space.coordinates")

    def bind(self, names: Sequence[str]) -> Self:
        """Itself: what it calls by name are its own columns, whatever the space calls its dimensions."""
        return type(self)(self.base.bind(self.coordinates.names), self.coordinates)

    def widened(self, dimensions: int) -> Self:
        return type(self)(self.base.widened(len(self.coordinates.columns)), self.coordinates)

    def seen_together(self, columns: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
        """Of places' coordinates: those that the columns of each term are made of."""
        own = self.coordinates.columns
        inside = self.base.seen_together(tuple(range(len(own))))
        return tuple(tuple(sorted({columns[own[c].group] for c in term if c < len(own)})) for term in inside)

    def touching(self, columns: AbstractSet[int]) -> Kernel | None:
        base = self.base.touching({i for i, column in enumerate(self.coordinates.columns) if column.group in columns})
        return None if base is None else replace(self, base=base)

    def features(self, dimensions: int, count: int, rng: np.random.Generator) -> Features:
        own = self.base.features(len(self.coordinates.columns), count, rng)
        return lambda X: own(self.coordinates(X))

    def matrix(self, X: Array, Z: Array) -> Array:
        seen = self.coordinates(X)
        return self.base.matrix(seen, seen if Z is X else self.coordinates(Z))

    def diag(self, X: Array) -> Array:
        return self.base.diag(self.coordinates(X))

    def vjp(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        seen = self.coordinates(X)
        return self.base.vjp(seen, seen if Z is X else self.coordinates(Z))

    def rowwise(self, X: Array, Z: Array) -> Array:
        return self.base.rowwise(self.coordinates(X), self.coordinates(Z))

    def rowwise_vjp(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        return self.base.rowwise_vjp(self.coordinates(X), self.coordinates(Z))

    def vjp_inputs(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        K, back = self.base.vjp_inputs(self.coordinates(X), self.coordinates(Z))
        return K, lambda G: self.coordinates.pullback(X, back(G))

    def pullback_diag_inputs(self, X: Array, g: Array) -> Array:
        return self.coordinates.pullback(X, self.base.pullback_diag_inputs(self.coordinates(X), g))

    @property
    def slopes_together(self) -> bool:
        return self.base.slopes_together


def warped(kernel: Kernel, coordinates: Coordinates) -> Kernel:
    """The kernel on these coordinates, its dimensions bound to their columns: as it is where they are the codes
    themselves, and where it is one already."""
    if isinstance(kernel, Warped):
        return kernel.bind(coordinates.names)
    bound = kernel.bind(coordinates.names)
    return bound if coordinates.is_identity else Warped(bound, coordinates)
