"""Where one can measure: named dimensions with bounds and units.

space = Space(Real("east", 0, 2, unit="km"), Real("north", 0, 2, unit="km"))
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gainful.errors import InvalidInput

__all__ = ["Real", "Space"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Real:
    """A real coordinate between low and high, in a unit."""

    name: str
    low: float
    high: float
    unit: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InvalidInput("name", "a name for the dimension", self.name, "for instance 'east'")
        numbers = all(isinstance(end, int | float | np.number) for end in (self.low, self.high))
        if not (numbers and np.isfinite(self.low) and np.isfinite(self.high) and self.low < self.high):
            raise InvalidInput("low, high", "finite numbers with low < high", (self.low, self.high), "check the bounds")


@dataclass(frozen=True, init=False)
class Space:
    """A box of named dimensions.

    >>> Space(Real("east", 0, 2, unit="km"), Real("north", -1, 1, unit="km")).names
    ('east', 'north')
    """

    dimensions: tuple[Real, ...]

    def __init__(self, *dimensions: Real) -> None:
        names = [getattr(d, "name", None) for d in dimensions]
        if not dimensions or not all(isinstance(d, Real) for d in dimensions):
            raise InvalidInput("dimensions", "one or more dimensions such as Real('x', 0, 1)", dimensions, "name each")
        if len(set(names)) != len(names):
            raise InvalidInput("dimensions", "distinct names", names, "rename the repeated dimension")
        object.__setattr__(self, "dimensions", tuple(dimensions))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(d.name for d in self.dimensions)

    @property
    def low(self) -> Array:
        return np.array([d.low for d in self.dimensions], dtype=float)

    @property
    def high(self) -> Array:
        return np.array([d.high for d in self.dimensions], dtype=float)
