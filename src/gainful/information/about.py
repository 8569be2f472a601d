"""What one can want to know, as a value: "function", "hyperparameters", "model", "structure", or predictions over a
region."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from gainful.checks import column_names, listed, numbers
from gainful.errors import InvalidInput
from gainful.instruments import Instrument
from gainful.space import Places, Pool, code_in, require_places

__all__ = ["ABOUT", "Reference", "Region", "as_reference", "require_about"]

Nested = tuple["Nested | float", ...]

MOST_POINTS = 100_000  # of a reference: a thousand queries take a hundred million covariances
ABOUT = ("function", "hyperparameters", "model", "structure")


@dataclass(frozen=True)
class Region:
    """f at some places, as what one wants to know: `information(..., about=Region(points))`, `Learn(Region(points))`.

    points are places (R, d), or pairs (R, 2, d) whose differences matter. The information is about f at each by itself,
    averaged with `weights` (equal ones by default); with `together` about all values at once, which for places that
    fill the space is the information about the function. With `answers`, an instrument, it is about what that would
    answer there instead of f. Points are codes; with a `space` they are given as people speak of them.

    >>> import gainful as gf
    >>> prior = gf.GP(gf.SE(lengthscale=1.0, variance=3.0)).condition(gf.Data())
    >>> lab = gf.Point(noise=1.0)
    >>> gf.information(prior, lab, [[0.0], [1.0], [9.0]], about=gf.Region([[0.0]])).round(4).tolist()
    [1.0, 0.2329, 0.0]
    """

    points: Any = field(repr=False)
    weights: Any = field(default=None, repr=False)
    together: bool = False
    answers: Instrument | None = None
    space: InitVar[Places | None] = None  # what reads the points; they are kept as codes

    def __post_init__(self, space: Places | None) -> None:
        object.__setattr__(self, "points", as_reference(_coded(self.points, space), "points"))
        if self.weights is not None:
            object.__setattr__(self, "weights", _as_weights(self.weights, len(self.points)))
        if not isinstance(self.together, bool):
            raise InvalidInput("together", "True or False", self.together, "True is about all values at once")
        if self.answers is not None and not isinstance(self.answers, Instrument):
            raise InvalidInput("answers", "an instrument, or None for f itself", self.answers, "such as Binary()")
        if self.together and (self.weights is not None or self.answers is not None):
            raise InvalidInput(
                "together", "no weights and no answers, which belong to places by themselves", self,
                "leave together out, or leave these out",
            )  # fmt: skip


def _coded(points: Any, space: Places | None) -> Any:
    """Points as codes: places, or pairs of them."""
    if space is None or isinstance(points, Pool):
        return points
    require_places("space", space)
    several = listed(points) or []
    pairs = [listed(each) or [] for each in several if not isinstance(each, Mapping)]
    if several and len(pairs) == len(several) and all(_is_pair(each) for each in pairs):
        return np.stack([code_in(space, each, "points") for each in pairs])
    return code_in(space, points, "points")


def _is_pair(places: list[Any]) -> bool:
    return len(places) == 2 and all(isinstance(each, Mapping) or listed(each) is not None for each in places)


def require_about(about: object) -> None:
    """Refuse what nothing can be learned about."""
    if not isinstance(about, Region) and not (isinstance(about, str) and about in ABOUT):
        raise InvalidInput("about", f"one of {list(ABOUT)}, or a Region", about, "'function' is what f is")


def as_reference(reference: ArrayLike | Pool, argument: str = "reference") -> Reference:
    """Reference places (R, d), also of a Pool, or pairs (R, 2, d), as nested tuples: a goal is a value, to compare and
    to write down."""
    places = reference.places if isinstance(reference, Pool) else reference
    array = numbers(argument, places, "numbers, one row per place", "values become codes by space.code(rows)")
    pairs = array.ndim == 3 and array.shape[1] == 2
    finite = np.isfinite(array)
    if (array.ndim != 2 and not pairs) or 0 in array.shape or not np.all(finite):
        shaped = f"shape {array.shape}" if np.all(finite) else f"{array[~finite][0]} among them"
        raise InvalidInput(
            argument, "places (R, d) or pairs (R, 2, d), at least one, with finite coordinates",
            shaped, "give the places where predictions matter, such as the pool",
        )  # fmt: skip
    if len(array) > MOST_POINTS:
        raise InvalidInput(
            argument, f"at most {MOST_POINTS} places, each of which every query is compared with", len(array),
            "some of them stand for all: pool.candidates(1000, rng)",
        )  # fmt: skip
    return Reference(_nested(array.tolist()), column_names(reference))


class Reference(tuple["Nested | float", ...]):
    """Places as nested tuples that know what the columns of their table were called, where they had names."""

    columns: tuple[str, ...] | None

    def __new__(cls, places: Nested, columns: tuple[str, ...] | None) -> Self:
        made = super().__new__(cls, places)
        made.columns = columns
        return made

    def __getnewargs__(self) -> tuple[Nested, tuple[str, ...] | None]:
        return tuple(self), self.columns


def _nested(values: list[object]) -> Nested:
    return tuple(_nested(v) if isinstance(v, list) else v for v in values)  # type: ignore[misc]


def _as_weights(weights: Any, size: int) -> tuple[float, ...]:
    """Weights as they were given."""
    array = numbers("weights", weights, f"{size} finite numbers, none negative and not all zero")
    if array.shape != (size,) or not np.all(np.isfinite(array)) or np.any(array < 0.0) or not np.any(array > 0.0):
        raise InvalidInput(
            "weights", f"{size} finite numbers, none negative and not all zero", weights, "give one for each point"
        )
    return tuple(array.tolist())
