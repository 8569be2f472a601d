"""Constraints as values: some coordinates between two ends, or a weighted sum of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gainful.checks import is_number, listed, require, require_name
from gainful.errors import InvalidInput

__all__ = ["Constraint", "Fresh", "Limit", "LinearLimit", "Within", "column", "is_named"]

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Predicate = Callable[[Array], Mask]

_ENDLESS, _OPEN = (-np.inf, np.inf), "None leaves an end open"
_ROUNDING = 1e-12  # of the terms of a sum: a place on the limit is within it


@dataclass(frozen=True, init=False)
class Within:
    """A constraint: named coordinates between a lower and an upper end, either of which may be None.

    Where a coordinate is absent, because of a condition, nothing is asked of it.

    >>> Within(time=(3.0, None)).ends
    (('time', 3.0, inf),)
    """

    ends: tuple[tuple[str, float, float], ...]

    def __init__(
        self,
        ends: Mapping[str, tuple[float | None, float | None]] | None = None,
        **named: tuple[float | None, float | None],
    ) -> None:
        usable = ends is None or isinstance(ends, Mapping)
        require(usable, "ends", "a mapping from names to pairs", ends, "for instance {'time': (3, None)}")
        found = []
        for name, pair in {**dict(ends or {}), **named}.items():
            require_name("ends", name, "use the names of the space")
            two = listed(pair)
            usable = two is not None and len(two) == 2 and all(end is None or is_number(end) for end in two)
            require(usable, name, "a pair (low, high)", pair, _OPEN)
            low, high = (open_end if end is None else float(end) for end, open_end in zip(pair, _ENDLESS, strict=True))
            require(low <= high, name, "low ≤ high", pair, _OPEN)
            found.append((name, low, high))
        if not found:
            raise InvalidInput("ends", "at least one coordinate", "none", "for instance Within(time=(3, None))")
        object.__setattr__(self, "ends", tuple(found))

    @property
    def names(self) -> tuple[str, ...]:
        """The coordinates that it speaks of."""
        return tuple(name for name, _, _ in self.ends)

    def mask(self, X: Array, names: Sequence[str], active: Mask | None = None) -> Mask:
        """Which places lie within, (M,), where the columns have these names; what is not `active` does not count."""
        inside = np.ones(len(X), dtype=bool)
        for name, low, high in self.ends:
            i = column(name, names)
            fits = (X[:, i] >= low) & (X[:, i] <= high)
            inside &= fits if active is None else fits | ~active[:, i]
        return inside


@dataclass(frozen=True)
class LinearLimit:
    """A constraint: least ≤ Σ weight · coordinate ≤ most, either of which may be None. Absent coordinates count as 0.

    >>> LinearLimit({"a": 1, "b": 2}, most=3).weights
    (('a', 1.0), ('b', 2.0))
    """

    weights: Any
    least: float | None = None
    most: float | None = None

    def __post_init__(self) -> None:
        remedy = "for instance LinearLimit({'a': 1, 'b': 2}, most=3)"
        given = self.weights
        pairs = list(given.items()) if isinstance(given, Mapping) else listed(given)
        usable = bool(pairs) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs or ())
        require(usable, "weights", "a mapping from names to numbers", given, remedy)
        for name, weight in pairs or ():
            require_name("weights", name, "use the names of the space")
            fine = is_number(weight) and math.isfinite(weight) and weight != 0
            require(fine, "weights", f"a finite number for {name}, not 0", weight, "leave out what does not count")
        object.__setattr__(self, "weights", tuple((name, float(weight)) for name, weight in pairs or ()))
        for end in ("least", "most"):
            value = getattr(self, end)
            require(value is None or is_number(value), end, "a number, or None", value, _OPEN)
            require(value is None or math.isfinite(value), end, "a finite number, or None", value, _OPEN)
        low, high = self.ends
        ends = (self.least, self.most)
        require(ends != (None, None), "least, most", "at least one of them", ends, remedy)
        require(low < high, "least, most", "least < most", ends, "for an equality use Proportions, or At")

    @property
    def names(self) -> tuple[str, ...]:
        """The coordinates that it speaks of."""
        return tuple(name for name, _ in self.weights)

    @property
    def ends(self) -> tuple[float, float]:
        """least and most, infinite where they are open."""
        low = -np.inf if self.least is None else float(self.least)
        return low, np.inf if self.most is None else float(self.most)

    def vector(self, names: Sequence[str]) -> Array:
        """The weight of each column, (D,)."""
        out = np.zeros(len(names))
        for name, weight in self.weights:
            out[column(name, names)] = weight
        return out

    def mask(self, X: Array, names: Sequence[str], active: Mask | None = None) -> Mask:
        """Which places are within the limit, (M,), rounding of the sum left aside."""
        terms = (X if active is None else np.where(active, X, 0.0)) * self.vector(names)
        total, slack = terms.sum(axis=1), _ROUNDING * np.abs(terms).sum(axis=1)
        low, high = self.ends
        return np.asarray((total >= low - slack) & (total <= high + slack))


Limit = Within | LinearLimit  # a constraint that is a value
Constraint = Limit | Predicate


def is_named(constraint: object) -> bool:
    """Whether a constraint is a value that speaks of coordinates by name."""
    return isinstance(constraint, Within | LinearLimit)


def column(name: str, names: Sequence[str]) -> int:
    """The number of the column that is called so."""
    if name not in names:
        raise InvalidInput("constraint", f"a coordinate among {list(names)}", name, "use the names of the space")
    return list(names).index(name)


class Fresh:
    """A constraint: places that no query has used. It leaves out single places, so that it has no edge."""

    __name__ = "not asked before"

    def __init__(self, used: list[Array]) -> None:
        self.used = {row.tobytes() for place in used for row in np.atleast_2d(place) + 0.0}

    def __call__(self, X: Array) -> Mask:
        return np.array([row.tobytes() not in self.used for row in X + 0.0], dtype=bool)
