"""What kernels see of a place: the columns that its codes become.

A place is a row of *codes*: a real or whole number in its own unit, a category as the position of its level. Kernels
compare distances, so they see other columns:

    a number                 x, or ln(x/low) where it varies over orders of magnitude
    a category               its code, to be compared for equality; an ordered one is a number
    a fixed coordinate       nothing
    a conditional number     two columns (w cos u, w sin u), u = (x − low)/w: an arc of one radian about the origin,
                             which stands for "not there" and is as far, w, from every value (Swersky et al. 2014)
    a conditional category   its code, and one more level for "not there"

The arc has the length of the range, so that neighbouring values lie as far apart as they do without a condition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from gainful.checks import (
    is_whole,
    listed,
    require,
    require_choice,
    require_count,
    require_finite,
    require_kind,
    require_name,
    require_whole,
)
from gainful.errors import InvalidInput

__all__ = [
    "Axis", "Column", "Coordinates", "output_code", "output_positions", "require_output", "require_outputs"
]  # fmt: skip

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_REMEMBERED, _LATEST = 1000, 64  # places at most of which the columns are kept, and for how many such lists

KINDS = ("real", "integer", "ordered", "category", "fixed")


class Column(NamedTuple):
    """One column that kernels see: the dimension it belongs to, "number" or "category", and the width of its range.

    `width` is 1 for a category, which has so many `levels`, and for a pool's column that never `varies`. Columns of one
    dimension share a `group`.
    """

    dimension: str
    kind: str
    width: float
    levels: int = 0
    group: int = 0
    varies: bool = True


@dataclass(frozen=True)
class Axis:
    """One coordinate of a place: what its codes are, from `low` to `high`, and where it is there at all.

    kind is "real", "integer", "ordered" or "category" (positions of levels), or "fixed". `when` lists pairs of a
    column number and the codes that it must have, all of them, for this coordinate to count.
    """

    name: str
    kind: str = "real"
    low: float = 0.0
    high: float = 1.0
    log: bool = False
    when: tuple[tuple[int, tuple[float, ...]], ...] = ()

    def __post_init__(self) -> None:
        require_name("name", self.name, "as the space calls it")
        require_choice("kind", self.kind, KINDS, "see Axis")
        require_finite("low", self.low, "the lowest code")
        require_finite("high", self.high, "the highest code")
        require_kind("log", self.log, bool, "True or False", "True for orders of magnitude")

    @property
    def levels(self) -> int:
        """How many levels a category has; 0 for a number."""
        return int(self.high) + 1 if self.kind == "category" else 0

    @property
    def width(self) -> float:
        """The width of the range as kernels see it."""
        if self.kind in ("category", "fixed"):
            return 1.0
        found = float(np.log(self.high / self.low)) if self.log else float(self.high) - float(self.low)
        return found if found > 0.0 else 1.0  # a pool's column that never changes

    @property
    def is_plain(self) -> bool:
        """Whether kernels see the codes as they are, as numbers."""
        return self.kind in ("real", "integer", "ordered") and not self.log and not self.when

    def columns(self, group: int) -> tuple[Column, ...]:
        """The columns that this coordinate becomes."""
        if self.kind == "fixed":
            return ()
        if self.kind == "category":
            return (Column(self.name, "category", 1.0, self.levels + bool(self.when), group),)
        return (Column(self.name, "number", self.width, 0, group, self.high > self.low),) * (2 if self.when else 1)

    def place(self, x: Array, active: Mask) -> Array:
        """The columns (M, 0), (M, 1) or (M, 2) of codes x (M,), where it is `active`."""
        if self.kind == "fixed":
            return np.zeros((len(x), 0))
        if not self.when:
            return (np.log(x / self.low) if self.log else x)[:, None]
        if self.kind == "category":
            return np.where(active, x, float(self.levels))[:, None]
        turn = self._turn(np.where(active, x, self.low))
        return np.where(active[:, None], self.width * np.stack([np.cos(turn), np.sin(turn)], axis=1), 0.0)

    def pullback(self, x: Array, active: Mask, G: Array) -> Array:
        """dL/dx (M,) from dL/d columns, (M, 0), (M, 1) or (M, 2)."""
        if self.kind == "fixed":
            return np.zeros(len(x))
        unit = 1.0 / np.where(active, x, self.low) if self.log else np.ones(len(x))
        if not self.when:
            return np.asarray(G[:, 0] * unit)
        if self.kind == "category":
            return np.where(active, G[:, 0], 0.0)
        turn = self._turn(np.where(active, x, self.low))
        return np.where(active, (G[:, 1] * np.cos(turn) - G[:, 0] * np.sin(turn)) * unit, 0.0)

    def _turn(self, x: Array) -> Array:
        """The angle on the arc, 0 to 1."""
        return np.asarray((np.log(x / self.low) if self.log else x - self.low) / self.width)


@dataclass(frozen=True)
class Coordinates:
    """From codes (M, D) to the columns that kernels see (M, E), and back with derivatives.

    >>> seen = Coordinates((Axis("time", low=0.0, high=5.0), Axis("dose", low=1.0, high=100.0, log=True)))
    >>> [column.dimension for column in seen.columns], seen.is_identity
    (['time', 'dose'], False)
    >>> seen(np.array([[2.0, 10.0]])).round(4).tolist()
    [[2.0, 2.3026]]
    """

    axes: tuple[Axis, ...]

    def __post_init__(self) -> None:
        usable = isinstance(self.axes, tuple) and self.axes and all(isinstance(each, Axis) for each in self.axes)
        if not usable:
            raise InvalidInput("axes", "a tuple of axes, one for each coordinate", self.axes, "see space.coordinates")

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """What kernels see, column by column."""
        return tuple(column for i, axis in enumerate(self.axes) for column in axis.columns(i))

    @property
    def names(self) -> tuple[str, ...]:
        """The dimension of each column; a conditional number has two."""
        return tuple(column.dimension for column in self.columns)

    @cached_property
    def is_identity(self) -> bool:
        """Whether kernels see the codes as they are, all of them numbers."""
        return all(axis.is_plain for axis in self.axes)

    @cached_property
    def is_conditional(self) -> bool:
        """Whether a coordinate may be absent."""
        return any(axis.when for axis in self.axes)

    def __call__(self, X: Array) -> Array:
        """The columns (M, E) of codes (M, D)."""
        self._require_width(X)
        if self.is_identity:
            return X
        if len(X) > _REMEMBERED:
            return self._columns_of(X)
        # A climb asks for the same measured and watched places at every step.
        key = X.shape, X.dtype, X.tobytes()
        found = self._latest.get(key)
        if found is None:
            found = self._columns_of(X)
            found.flags.writeable = False
            if len(self._latest) >= _LATEST:
                self._latest.clear()
            self._latest[key] = found
        return found

    @cached_property
    def _latest(self) -> dict[Any, Array]:
        """The columns of places that were asked for lately, by their codes."""
        return {}

    def _columns_of(self, X: Array) -> Array:
        active = self.active(X)
        parts = [axis.place(X[:, i], active[:, i]) for i, axis in enumerate(self.axes)]
        return np.ascontiguousarray(np.concatenate(parts, axis=1))

    def pullback(self, X: Array, G: Array) -> Array:
        """dL/dX (M, D) from G = dL/d columns (M, E)."""
        if self.is_identity:
            return G
        active, out, start = self.active(X), np.zeros_like(X), 0
        for i, axis in enumerate(self.axes):
            stop = start + self._widths[i]
            out[:, i] = axis.pullback(X[:, i], active[:, i], G[:, start:stop])
            start = stop
        return out

    @cached_property
    def _widths(self) -> tuple[int, ...]:
        """How many columns each coordinate becomes."""
        return tuple(len(axis.columns(i)) for i, axis in enumerate(self.axes))

    def active(self, X: Array) -> Mask:
        """Which coordinates of the places are there, (M, D)."""
        out = np.ones(X.shape, dtype=bool)
        if self.is_conditional:
            for i, axis in enumerate(self.axes):
                for parent, codes in axis.when:
                    out[:, i] &= np.any(X[:, parent, None] == codes, axis=1)
        return out

    def canonical(self, X: Array) -> Array:
        """The places with what is not there at the low end of its range: equal places have equal codes."""
        if not self.is_conditional:
            return X
        low = np.array([axis.low for axis in self.axes])
        return np.where(self.active(X), X, low)

    def _require_width(self, X: Array) -> None:
        if X.shape[1] != len(self.axes):
            expected = f"places with {len(self.axes)} coordinates, {[axis.name for axis in self.axes]}"
            raise InvalidInput("X", expected, f"{X.shape[1]}", "give them in the order of the space")


def plain(names: Sequence[str], low: Array, high: Array) -> Coordinates:
    """The coordinates of places that are real numbers, nothing else."""
    ends = zip(names, np.asarray(low, dtype=float).tolist(), np.asarray(high, dtype=float).tolist(), strict=True)
    return Coordinates(tuple(Axis(str(name), "real", a, b) for name, a, b in ends))


MOST_OUTPUTS = 10_000  # numbers of outputs are below, codes of names above
_MOST_TOGETHER = 100  # outputs of one kernel


def output_code(output: int | str) -> int:
    """The last coordinate of places of one of several functions: its number, or a number that stands for its name.

    >>> output_code(1), output_code("yield") >= MOST_OUTPUTS
    (1, True)
    """
    return MOST_OUTPUTS + crc32(output.encode()) if isinstance(output, str) else int(output)


def require_output(argument: str, output: Any, remedy: str) -> int | str:
    """The output as its name or its number, or InvalidInput."""
    if isinstance(output, str):
        require_name(argument, output, remedy)
        return output
    number = require_whole(argument, output, 0, remedy)
    require(number < MOST_OUTPUTS, argument, f"a name, or a number below {MOST_OUTPUTS}", output, remedy)
    return number


def require_outputs(outputs: Any) -> tuple[int | str, ...]:
    """Outputs that a kernel or a mean speaks of: their names and numbers, or how many there are, numbered from 0."""
    words = "names or numbers of outputs, or how many there are"
    if is_whole(outputs):
        count = require_count("outputs", outputs, 1, "2, for the outputs 0 and 1")
        require(count <= _MOST_TOGETHER, "outputs", f"at most {_MOST_TOGETHER}", outputs, "leave some out")
        return tuple(range(count))
    several = tuple(listed(outputs) or ())
    require(0 < len(several) <= _MOST_TOGETHER, "outputs", words, outputs, 'such as ("yield", "purity")')
    found = tuple(require_output("outputs", each, words) for each in several)
    codes = {output_code(each) for each in found}
    require(len(codes) == len(found), "outputs", "each output once", outputs, "leave the others out")
    return found


def output_positions(outputs: tuple[int | str, ...], column: Array) -> NDArray[np.intp]:
    """The positions among `outputs` of codes (N,); InvalidInput for an output that is none of them."""
    column, (codes, order) = np.rint(column), _sorted_codes(outputs)
    at = np.minimum(codes.searchsorted(column), len(codes) - 1)
    if not (codes[at] == column).all():
        strange = column[codes[at] != column][0]
        raise InvalidInput("X", f"one of the outputs {list(outputs)} as a last coordinate", strange,
                           "name every output that instruments see, and use .on('output')")  # fmt: skip
    return np.asarray(order[at], dtype=np.intp)


@lru_cache(maxsize=256)
def _sorted_codes(outputs: tuple[int | str, ...]) -> tuple[Array, NDArray[np.intp]]:
    """The codes of the outputs, lowest first, and which output each is."""
    codes = np.array([output_code(each) for each in outputs], dtype=float)
    order = np.argsort(codes)
    return codes[order], order
