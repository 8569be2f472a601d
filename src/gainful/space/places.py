"""What selection asks of a space, and what every space can be asked."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.checks import finite_table, numbers, require
from gainful.coordinates import Coordinates, plain
from gainful.space.constraints import Constraint

__all__ = ["Places", "code_in", "coordinates_of", "in_words", "natural_in", "require_places", "rows_of"]

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Places(Protocol):
    """What selection asks of a space."""

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def low(self) -> Array: ...

    @property
    def high(self) -> Array: ...

    def contains(self, X: ArrayLike) -> Mask: ...

    def candidates(self, n: int, rng: np.random.Generator | int) -> Array: ...

    def where(self, constraint: Constraint) -> Places: ...


def require_places(argument: str, value: object) -> None:
    """Refuse what nobody can be sent to."""
    able = all(callable(getattr(value, verb, None)) for verb in ("candidates", "contains", "where"))
    expected = "a Space, a Pool or a part of one"
    require(able and not isinstance(value, type), argument, expected, value, "for instance Space(Real('x', 0, 1))")


def rows_of(space: Places, place: Any) -> Array:
    """One place (D,) or several as finite codes (M, D)."""
    array = numbers("place", place, "codes, one row per place", "see space.code")
    names = getattr(space, "columns", None)
    return finite_table("place", array[None] if array.ndim == 1 else place, len(space.names), names=names)


# A space of the user's own has the names above and no more: its coordinates are then real numbers.


def coordinates_of(space: Places) -> Coordinates:
    """What kernels see of places of the space."""
    own = getattr(space, "coordinates", None)
    return own if isinstance(own, Coordinates) else plain(space.names, space.low, space.high)


def natural_in(space: Places, place: Array) -> dict[str, Any]:
    """A place (D,) as people speak of it: by name, with levels instead of codes, None for what is absent."""
    own = getattr(space, "natural", None)
    if own is not None:
        found: dict[str, Any] = own(place)
        return found
    return dict(zip(space.names, np.asarray(place, dtype=float).tolist(), strict=True))


def code_in(space: Places, table: Any, argument: str = "place") -> Array:
    """Places (M, D) as codes, from values as people give them."""
    own = getattr(space, "code", None)
    return np.asarray(own(table, argument) if own is not None else np.atleast_2d(np.asarray(table, dtype=float)))


def in_words(space: Places, place: Array) -> str:
    """A place (D,) in words, such as "temperature 40 °C, catalyst Pd"."""
    own = getattr(space, "words", None)
    if own is not None:
        return str(own(place))
    return ", ".join(f"{name} {x:.6g}" for name, x in zip(space.names, place, strict=True))
