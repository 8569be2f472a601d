"""The part of a space where a constraint holds."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.checks import as_rng, column_names, numbers, require_count, require_whole
from gainful.coordinates import Coordinates
from gainful.errors import GainfulWarning, InvalidInput
from gainful.space.constraints import Constraint, LinearLimit, Within, column, is_named
from gainful.space.drawing import subset
from gainful.space.places import Places, code_in, coordinates_of, in_words, natural_in, require_places
from gainful.space.steps import stepped

__all__ = ["Restricted"]

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_A_FEW = "a few hundred candidates are usual"
_MOST_TRIES = 1_000_000  # candidates drawn before a constraint is said to leave nothing
_FEW = 20_000  # places of a space that are all looked at, before any is drawn
_PROBED = 4096  # places that are rounded, to see whether a constraint asks for whole numbers
_RARE = 65_536  # tries, after which places within linear limits are looked for in another way


@dataclass(frozen=True)
class Restricted:
    """The part of a space where a constraint holds: a `Within` or `LinearLimit`, or a function from places (M, D),
    which are codes, to M booleans."""

    space: Places
    constraint: Constraint

    def __post_init__(self) -> None:
        require_places("space", self.space)
        if isinstance(self.constraint, Within | LinearLimit):
            for name in self.constraint.names:
                column(name, self.space.names)
        elif not callable(self.constraint) or isinstance(self.constraint, type):
            raise InvalidInput("constraint", "Within(...) or a function of places", self.constraint, "see Within")

    @property
    def names(self) -> tuple[str, ...]:
        return self.space.names

    @property
    def columns(self) -> tuple[str, ...] | None:
        return column_names(self.space)

    @property
    def coordinates(self) -> Coordinates:
        """What kernels see: as of the whole space, however small the part is."""
        return coordinates_of(self.space)

    @property
    def whole(self) -> Places:
        """The space before any constraint."""
        found = self.space
        while isinstance(found, Restricted):
            found = found.space
        return found

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """All constraints, the innermost first."""
        inner = self.space.constraints if isinstance(self.space, Restricted) else ()
        return (*inner, self.constraint)

    @property
    def low(self) -> Array:
        return self._cut(self.space.low, 1, np.maximum)

    @property
    def high(self) -> Array:
        return self._cut(self.space.high, 2, np.minimum)

    def _cut(self, bounds: Array, which: int, tighter: Callable[[float, float], float]) -> Array:
        out = bounds.copy()
        if isinstance(self.constraint, Within):
            for end in self.constraint.ends:
                i = column(end[0], self.names)
                out[i] = tighter(out[i], float(end[which]))
        return out

    def contains(self, X: ArrayLike) -> Mask:
        inside = self.space.contains(X)
        return inside & self.holds(numbers("X", X, "numbers, one row per place"))

    def holds(self, X: Array) -> Mask:
        """Where the constraint itself holds, (M,)."""
        if isinstance(self.constraint, Within | LinearLimit):
            seen = self.coordinates
            return self.constraint.mask(X, self.names, seen.active(X) if seen.is_conditional else None)
        try:
            found = np.asarray(self.constraint(np.array(X)))  # its own copy, to do with as it likes
        except ValueError as problem:  # an array that is asked whether it is true, or lists of unequal length
            remedy = "it gets places (M, D) and gives an array of M booleans"
            raise InvalidInput("constraint", f"{len(X)} booleans", f"an error: {problem}", remedy) from problem
        if found.shape != (len(X),) or found.dtype != bool:
            got = f"{found.dtype} of shape {found.shape}"
            raise InvalidInput("constraint", f"{len(X)} booleans for {len(X)} places", got, "it gets places (M, D)")
        return found

    def natural(self, place: ArrayLike) -> Any:
        """A place as people speak of it; see the whole space."""
        return natural_in(self.space, numbers("place", place, "codes"))

    def code(self, table: Any, argument: str = "table") -> Array:
        """Places as codes; see the whole space."""
        return code_in(self.space, table, argument)

    def words(self, place: ArrayLike) -> str:
        """A place in words."""
        return in_words(self.space, numbers("place", place, "codes"))

    def candidates(self, n: int, rng: np.random.Generator | int) -> Array:
        """n places where the constraint holds; fewer, or none, where it leaves no more than that.

        A set that is too thin to be met by chance is said to be so: in a warning, and where a constraint of the user's
        own leaves whole values of a Real and no more, in an error, for these are a dimension of another kind.
        """
        n, generator, whole = require_whole("n", n, 1, _A_FEW), as_rng(rng), self.whole
        low, high = self.low, self.high
        listed = self._listed(n, generator, _FEW)
        if listed is not None:
            return listed
        require_count("n", n, 1, _A_FEW)
        nothing = np.zeros((0, len(self.names)))
        if np.any(low > high):
            return nothing
        limits = [each for each in self.constraints if isinstance(each, LinearLimit)]
        found, have, tried, block = [nothing], 0, 0, max(n, 64)
        while have < n and tried < max(_MOST_TRIES, 10 * n):
            if tried > _RARE and have * 20 < n:  # too rare to go on like this
                other = self._otherwise(n, generator, limits)
                if other is not None:
                    return other
            drawn = (
                whole.draw(block, generator, low, high)
                if hasattr(whole, "draw")
                else self.space.candidates(block, generator)
            )
            tried += block
            found.append(drawn[self.contains(drawn)])
            have += len(found[-1])
            block = min(2 * block, _RARE)
        if not have:
            self._refuse_steps(drawn)
            self._say_none(tried)
        return np.concatenate(found)[:n]

    def _otherwise(self, n: int, rng: np.random.Generator, limits: list[LinearLimit]) -> Array | None:
        """n places that chance hardly meets: of all, or by a walk within linear limits; None where neither can be."""
        listed = self._listed(n, rng, _MOST_TRIES)
        if listed is not None or not limits or not hasattr(self.whole, "walk"):
            return listed
        walked = self.whole.walk(n, rng, self.low, self.high, limits)
        kept = walked[self.contains(walked)]
        if len(walked) and not len(kept):
            self._refuse_steps(walked)
            self._say_none(len(walked))
        return np.asarray(kept)

    def _listed(self, n: int, rng: np.random.Generator, most: int) -> Array | None:
        """Up to n of all places where the constraint holds; None where the whole space has more places than `most`."""
        everything = getattr(self.whole, "everywhere", lambda most: None)(most)
        if everything is None:
            return None
        kept = everything[self.contains(everything)]
        return np.asarray(kept if n >= len(kept) else kept[subset(len(kept), n, rng)])

    @property
    def _own(self) -> str:
        """What the user's own constraints are called."""
        own = [getattr(each, "__name__", type(each).__name__) for each in self.constraints if not is_named(each)]
        return " and ".join(own)

    def _refuse_steps(self, drawn: Array) -> None:
        """InvalidInput where none of the places satisfies the constraints, and some would if numbers were whole."""
        real = [i for i, axis in enumerate(self.coordinates.axes) if axis.kind == "real"]
        found = stepped(drawn[:_PROBED], real, self.contains) if self._own else None
        if found is None:
            return
        columns, decimals = found
        named = [self.names[i] for i in columns]
        kind = "whole numbers" if decimals == 0 else f"numbers with {decimals} decimals"
        low, high = float(self.low[columns[0]]), float(self.high[columns[0]])
        remedy = (
            f"say Integer({named[0]!r}, {np.ceil(low):g}, {np.floor(high):g}) in place of Real"
            if decimals == 0
            else f"say Integer({named[0]!r}, ...) in a smaller unit"
        )
        raise InvalidInput(
            "constraint",
            "one that places drawn from the space can satisfy",
            f"{self._own}, which {kind} alone satisfy in {' and '.join(named)}; no number drawn from a Real is one",
            f"{remedy}, or Categorical(..., ordered=True) for a few steps",
        )

    def _say_none(self, tried: int) -> None:
        """Nothing was found; of a set that limits leave empty there is nothing to say."""
        warnings.warn(
            f"of {tried:,} places none satisfies {self._own or 'the limits'}: either there is none, or they "
            "are too few to be met by chance. Say whole numbers by Integer(...), levels by Categorical(...), parts of "
            "a whole by Proportions(...), a fixed value by At(...) and inequalities by LinearLimit(...), which are "
            "searched without chance",
            GainfulWarning,
            stacklevel=3,
        )

    def where(self, constraint: Constraint) -> Places:
        """The part of this where a further constraint holds."""
        return Restricted(self, constraint)
