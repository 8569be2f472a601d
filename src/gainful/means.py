"""Mean functions: what the unknown function looks like before any answer, up to a Gaussian process.

m(X)                   the values (N,); with a batch of S parameter settings (S, N)
values, back = m.vjp(X)   and g = dL/dm -> dL/dtheta
m.pullback_inputs(X, g)   dL/dX (N, D)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from gainful.checks import is_whole, require, require_names
from gainful.coordinates import output_code, output_positions, require_outputs
from gainful.errors import InvalidInput
from gainful.parameters import Parametrised, Slot, positive, real

__all__ = ["ConstantMean", "LinearMean", "Mean", "NotchMean", "OutputMeans", "UnknownMean", "Zero"]

Array = NDArray[np.float64]
Pullback = Callable[[Array], Array]


@dataclass(frozen=True)
class Mean(Parametrised, ABC):
    """A mean function; see the module for its verbs."""

    @abstractmethod
    def __call__(self, X: Array) -> Array:
        """The mean at each place, (N,)."""

    @abstractmethod
    def vjp(self, X: Array) -> tuple[Array, Pullback]:
        """The values and the map from g = dL/dm (N,) to dL/dtheta (P,)."""

    @abstractmethod
    def pullback_inputs(self, X: Array, g: Array) -> Array:
        """dL/dX (N, D)."""

    def bind(self, names: Sequence[str]) -> Self:
        """The same mean with a dimension that it calls by name turned into a column number."""
        return self


@dataclass(frozen=True)
class Zero(Mean):
    """m(x) = 0."""

    def __call__(self, X: Array) -> Array:
        return np.zeros(len(X))

    def vjp(self, X: Array) -> tuple[Array, Pullback]:
        return self(X), lambda g: np.zeros(0)

    def pullback_inputs(self, X: Array, g: Array) -> Array:
        return np.zeros_like(X)


@dataclass(frozen=True)
class UnknownMean(Mean):
    """m(x) = an unknown constant of any size, which answers tell; by itself it is 0.

    A model with a space integrates it out: the constant has a Normal distribution about the middle of the answers, far
    wider than they are spread.
    """

    def __call__(self, X: Array) -> Array:
        return np.zeros(len(X))

    def vjp(self, X: Array) -> tuple[Array, Pullback]:
        return self(X), lambda g: np.zeros(0)

    def pullback_inputs(self, X: Array, g: Array) -> Array:
        return np.zeros_like(X)


@dataclass(frozen=True)
class ConstantMean(Mean):
    """m(x) = value."""

    value: Any = real(0.0, "location")

    def __call__(self, X: Array) -> Array:
        return np.asarray(self.value, dtype=float)[..., None] * np.ones(len(X))

    def vjp(self, X: Array) -> tuple[Array, Pullback]:
        return self(X), lambda g: np.array([g.sum()])

    def pullback_inputs(self, X: Array, g: Array) -> Array:
        return np.zeros_like(X)


@dataclass(frozen=True)
class OutputMeans(Mean):
    """m(x, i) = values_i: a constant for each of several `outputs`, called by name or by number, or how many there are.

    The output is the last coordinate of a place.

    >>> OutputMeans(2, values=(1.0, 5.0))(np.array([[0.3, 0.0], [0.3, 1.0]])).tolist()
    [1.0, 5.0]
    """

    outputs: Any = 2
    values: Any = real(0.0, "location", per_dimension=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "outputs", require_outputs(self.outputs))
        super().__post_init__()
        if isinstance(self.values, float):
            object.__setattr__(self, "values", (self.values,) * len(self.outputs))
        fits = np.shape(self.values)[-1] == len(self.outputs)
        require(fits, "values", f"{len(self.outputs)} numbers, one for each output", self.values, "or one for all")

    def groups(self) -> list[list[Slot]]:
        """Values belong to outputs, not to dimensions."""
        codes = [output_code(each) for each in self.outputs]
        return [
            [slot._replace(dims=None, output=code) for slot, code in zip(group, codes, strict=True)]
            for group in super().groups()
        ]

    def __call__(self, X: Array) -> Array:
        return np.asarray(self.values, dtype=float)[..., output_positions(self.outputs, X[:, -1])]

    def vjp(self, X: Array) -> tuple[Array, Pullback]:
        at = output_positions(self.outputs, X[:, -1])
        return self(X), lambda g: np.asarray(np.bincount(at, weights=g, minlength=len(self.outputs)), dtype=float)

    def pullback_inputs(self, X: Array, g: Array) -> Array:
        return np.zeros_like(X)


@dataclass(frozen=True)
class LinearMean(Mean):
    """m(x) = intercept + slope · x, with one slope per dimension (or one for the sum of the coordinates)."""

    slope: Any = real(0.0, "gradient", per_dimension=True)
    intercept: Any = real(0.0, "location")

    def __call__(self, X: Array) -> Array:
        slope = np.atleast_1d(np.asarray(self.slope, dtype=float))
        if slope.shape[-1] not in (1, X.shape[1]):
            raise InvalidInput(
                "slope", f"one number or {X.shape[1]}, one per dimension", f"{slope.shape[-1]}", "match X's columns"
            )
        return np.sum(X * slope[..., None, :], axis=-1) + np.asarray(self.intercept, dtype=float)[..., None]

    def vjp(self, X: Array) -> tuple[Array, Pullback]:
        def back(g: Array) -> Array:
            slopes = g @ X
            return np.concatenate([slopes if np.ndim(self.slope) else [slopes.sum()], [g.sum()]])

        return self(X), back

    def pullback_inputs(self, X: Array, g: Array) -> Array:
        return g[:, None] * np.broadcast_to(np.asarray(self.slope, dtype=float), (X.shape[1],))


@dataclass(frozen=True)
class NotchMean(Mean):
    """m(x) = offset − depth · exp(−(x_dim − centre)²/(2 width²)): a constant with a notch in one dimension (Gardner
    2018, sec. 4.5).

    Noise-induced hearing loss looks like this along frequency. `dim` is a column number or a dimension's name.
    """

    offset: Any = real(0.0, "location")
    depth: Any = positive(1.0, "amplitude")
    centre: Any = real(0.0, "position")
    width: Any = positive(1.0, "length")
    dim: int | str = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        named = isinstance(self.dim, str) and bool(self.dim)
        if not named and not (is_whole(self.dim) and 0 <= self.dim < 10**9):
            raise InvalidInput("dim", "a column number from 0, or a dimension's name", self.dim, "count from the first")

    @property
    def _column(self) -> int:
        if isinstance(self.dim, str):
            raise InvalidInput("dim", "a column number", self.dim, "give the GP its space, or call .bind(names)")
        return int(self.dim)

    def groups(self) -> list[list[Slot]]:
        where = None if isinstance(self.dim, str) else (self.dim,)
        along = ("length", "position")
        return [[s._replace(dims=where) if s.role in along else s for s in group] for group in super().groups()]

    def bind(self, names: Sequence[str]) -> Self:
        names = require_names("names", names, "those of the space")
        if isinstance(self.dim, str) and self.dim not in names:
            raise InvalidInput("dim", f"a name among {list(names)}", self.dim, "use the space's own dimension names")
        return replace(self, dim=list(names).index(self.dim)) if isinstance(self.dim, str) else self

    def _bump(self, X: Array) -> tuple[Array, Array]:
        if self._column >= X.shape[1]:
            raise InvalidInput("dim", f"a column below {X.shape[1]}", self.dim, "check X and dim")
        centre, width = (np.asarray(v, dtype=float)[..., None] for v in (self.centre, self.width))
        z = (X[:, self._column] - centre) / width
        return z, np.exp(-0.5 * z**2)

    def __call__(self, X: Array) -> Array:
        offset, depth = (np.asarray(v, dtype=float)[..., None] for v in (self.offset, self.depth))
        return offset - depth * self._bump(X)[1]

    def vjp(self, X: Array) -> tuple[Array, Pullback]:
        z, bump = self._bump(X)

        def back(g: Array) -> Array:
            notch = g * bump * self.depth
            centre = -(notch * z).sum() / self.width
            return np.array([g.sum(), -notch.sum(), centre, -(notch * z**2).sum()])

        return self(X), back

    def pullback_inputs(self, X: Array, g: Array) -> Array:
        z, bump = self._bump(X)
        out = np.zeros_like(X)
        out[:, self._column] = g * self.depth * bump * z / self.width
        return out
