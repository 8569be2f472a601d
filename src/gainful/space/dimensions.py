"""What one coordinate of a place can be: a real or whole number, a category, a value that is given, a proportion.

Each knows its *codes*, the floats that places are made of, and the values that people use:

    Real("temperature", 20, 90, unit="°C")              the number itself
    Real("concentration", 1e-6, 1e-2, log=True)         the number itself; kernels see its logarithm
    Integer("stages", 1, 8)                             the number itself
    Categorical("catalyst", ["Pd", "Ni", "Cu"])         the position of the level, 0, 1, 2
    At("pressure", 1.0, unit="bar")                     the value: it is part of every place, and never varies
    Proportions(["water", "ethanol", "oil"])            three coordinates that sum to one

With `when={"solver": "adam"}` a dimension is there only where an earlier one has that value, or one of a list of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gainful.checks import (
    column_names,
    is_number,
    is_whole,
    listed,
    require,
    require_finite,
    require_kind,
    require_name,
    require_names,
    require_positive,
)
from gainful.coordinates import Axis
from gainful.space.simplex import bounded, spread_over_simplex

__all__ = ["At", "Categorical", "Dimension", "Integer", "Level", "Proportions", "Real"]

Array = NDArray[np.float64]
Level = str | float | bool

_LARGEST = 2**53  # of a whole number that a float holds exactly


def spelled(value: object) -> str:
    """A value as people read it: six digits of a number."""
    return f"{value:.6g}" if is_number(value) and not is_whole(value) else str(value)


def _with_unit(value: object, unit: str) -> str:
    return f"{spelled(value)} {unit}" if unit else spelled(value)


def _require_common(name: object, unit: object) -> None:
    require_name("name", name, "for instance 'east'")
    require_kind("unit", unit, str, "text", "for instance 'km'")


def _condition(when: Any) -> tuple[tuple[str, tuple[Level, ...]], ...]:
    """A condition as pairs of a name and the values that it may have."""
    if when is None:
        return ()
    remedy = "for instance when={'solver': 'adam'}, or when={'solver': ['adam', 'sgd']}"
    pairs = list(when.items()) if isinstance(when, Mapping) else listed(when)
    usable = pairs is not None and all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs)
    require(usable, "when", "a mapping from names to values", when, remedy)
    found = []
    for name, values in pairs or []:
        require_name("when", name, remedy)
        several = listed(values)
        each = [values] if several is None else several
        require(len(each) > 0 and all(map(_is_level, each)), "when", "values of that dimension", values, remedy)
        found.append((name, tuple(map(_own, each))))
    return tuple(found)


def _is_level(value: object) -> bool:
    if isinstance(value, str):
        return bool(value)
    return isinstance(value, bool | np.bool_) or (is_number(value) and math.isfinite(value))


def _own(value: Any) -> Level:
    """A level as Python's own value, which a journal can write down."""
    own: Level = value.item() if isinstance(value, np.generic) else value
    return own


def _require_log(log: object, low: float) -> None:
    require_kind("log", log, bool, "True or False", "True for what varies over orders of magnitude")
    require(not log or low > 0, "low", "a number above 0, where log=True", low, "leave log out, or raise the low end")


def _geometric(unit: Array, low: float, high: float) -> Array:
    """low · (high/low)^unit, within the two."""
    return np.clip(low * np.exp(unit * math.log(high / low)), low, high)


@dataclass(frozen=True)
class Real:
    """A real coordinate between low and high, in a unit; with `log` it varies over orders of magnitude.

    >>> Real("concentration", 1e-6, 1e-2, unit="mol/L", log=True).words(0.001)
    '0.001 mol/L'
    """

    name: str
    low: float
    high: float
    unit: str = ""
    log: bool = False
    when: Any = None

    def __post_init__(self) -> None:
        _require_common(self.name, self.unit)
        require_finite("low", self.low, "the smallest value that can be measured at")
        require_finite("high", self.high, "the largest value that can be measured at")
        ends = self.low, self.high
        wide = self.low < self.high and float(self.high) - float(self.low) < np.inf
        remedy = "check the bounds; At(name, value) is a coordinate that does not vary"
        require(wide, "low, high", "low < high", ends, remedy)
        _require_log(self.log, self.low)
        require(not self.log or self.high / self.low < np.inf, "low, high", "a finite ratio", ends, "check the bounds")
        object.__setattr__(self, "when", _condition(self.when))

    def axis(self) -> Axis:
        return Axis(self.name, "real", float(self.low), float(self.high), self.log)

    def spread(self, unit: Array, low: float, high: float) -> Array:
        """Codes between two ends from numbers between 0 and 1, evenly: in the logarithm, where it has one."""
        return _geometric(unit, low, high) if self.log else low + (high - low) * unit

    def code(self, value: Any) -> float:
        """The number itself; ValueError for what is none."""
        if not is_number(value) or not math.isfinite(value) or (self.log and value <= 0):
            raise ValueError("a finite number" + (" above 0" if self.log else ""))
        return float(value)

    def natural(self, code: float) -> float:
        return float(code)

    def words(self, code: float) -> str:
        """The value with its unit."""
        return _with_unit(self.natural(code), self.unit)


@dataclass(frozen=True)
class Integer:
    """A whole number from low to high, both included; with `log` it varies over orders of magnitude.

    >>> Integer("stages", 1, 8).natural(3.0)
    3
    """

    name: str
    low: int
    high: int
    unit: str = ""
    log: bool = False
    when: Any = None

    def __post_init__(self) -> None:
        _require_common(self.name, self.unit)
        for end in ("low", "high"):
            value = getattr(self, end)
            usable = is_whole(value) and abs(value) <= _LARGEST
            require(usable, end, "a whole number, at most 2**53 in size", value, "Real(...) for any number")
            object.__setattr__(self, end, int(value))
        remedy = "check the bounds; At(name, value) is a coordinate that does not vary"
        require(self.low < self.high, "low, high", "low < high", (self.low, self.high), remedy)
        _require_log(self.log, self.low)
        object.__setattr__(self, "when", _condition(self.when))

    def axis(self) -> Axis:
        return Axis(self.name, "integer", float(self.low), float(self.high), self.log)

    def spread(self, unit: Array, low: float, high: float) -> Array:
        """Whole numbers between two ends, each as often as the others, or with `log` each decade as often."""
        first, last = math.ceil(low), math.floor(high)
        if self.log:
            return np.clip(np.round(_geometric(unit, first - 0.5, last + 0.5)), first, last)
        return np.clip(first + np.floor(unit * (last - first + 1)), first, last)

    def code(self, value: Any) -> float:
        """The number itself; ValueError for what is not whole."""
        if not is_number(value) or not math.isfinite(value) or value != math.floor(value):
            raise ValueError("a whole number")
        return float(value)

    def natural(self, code: float) -> int:
        return round(code)

    def words(self, code: float) -> str:
        """The number with its unit."""
        return _with_unit(self.natural(code), self.unit)


@dataclass(frozen=True)
class Categorical:
    """One of a few levels: text, numbers or True and False. With `ordered` neighbouring levels are alike.

    >>> metal = Categorical("catalyst", ["Pd", "Ni", "Cu"])
    >>> metal.code("Ni"), metal.natural(2.0)
    (1.0, 'Cu')
    """

    name: str
    levels: Any
    ordered: bool = False
    when: Any = None

    def __post_init__(self) -> None:
        _require_common(self.name, "")
        found = listed(self.levels)
        expected = "two or more distinct levels: text, numbers, True and False"
        usable = found is not None and len(found) >= 2 and all(map(_is_level, found))
        usable = usable and not isinstance(self.levels, set | frozenset)  # whose order is another in every process
        require(usable, "levels", expected, self.levels, "for instance ['Pd', 'Ni', 'Cu']")
        own = tuple(map(_own, found or ()))
        require(len(set(own)) == len(own), "levels", expected, self.levels, "name each level once (True is 1)")
        require_kind("ordered", self.ordered, bool, "True or False", "True where neighbouring levels are alike")
        object.__setattr__(self, "levels", own)
        object.__setattr__(self, "when", _condition(self.when))

    @property
    def unit(self) -> str:
        return ""

    @property
    def low(self) -> float:
        return 0.0

    @property
    def high(self) -> float:
        return len(self.levels) - 1.0

    def axis(self) -> Axis:
        return Axis(self.name, "ordered" if self.ordered else "category", self.low, self.high)

    def spread(self, unit: Array, low: float, high: float) -> Array:
        """Positions between two ends, each as often as the others."""
        first, last = math.ceil(low), math.floor(high)
        return np.clip(first + np.floor(unit * (last - first + 1)), first, last)

    def code(self, value: Any) -> float:
        """The position of a level. Where no level is a number, a number is a position already."""
        value = _own(value)
        kinds = {type(level) is bool for level in self.levels if level == value} if _is_level(value) else set()
        if (type(value) is bool) in kinds or (kinds and not any(type(level) is bool for level in self.levels)):
            return float(self.levels.index(value))
        worded = not any(is_number(level) for level in self.levels)
        if worded and is_number(value) and value in range(len(self.levels)):
            return float(value)
        raise ValueError(f"one of {list(self.levels)}")

    def natural(self, code: float) -> Level:
        level: Level = self.levels[round(code)]
        return level

    def words(self, code: float) -> str:
        """The level."""
        return spelled(self.natural(code))


@dataclass(frozen=True)
class At:
    """A coordinate that is the same at every place: it is written down with each, and kernels do not see it.

    >>> At("pressure", 1.5, unit="bar").words(1.5)
    '1.5 bar'
    """

    name: str
    value: float
    unit: str = ""

    def __post_init__(self) -> None:
        _require_common(self.name, self.unit)
        require_finite("value", self.value, "the value that it has everywhere")

    @property
    def low(self) -> float:
        return float(self.value)

    @property
    def high(self) -> float:
        return float(self.value)

    @property
    def when(self) -> tuple[tuple[str, tuple[Level, ...]], ...]:
        return ()

    def axis(self) -> Axis:
        return Axis(self.name, "fixed", self.low, self.high)

    def code(self, value: Any) -> float:
        """The value; ValueError for another."""
        if not is_number(value) or value != self.value:
            raise ValueError(f"{self.value:g}, which it is everywhere")
        return float(value)

    def natural(self, code: float) -> float:
        return self.value

    def words(self, code: float) -> str:
        """The value with its unit."""
        return _with_unit(self.value, self.unit)


@dataclass(frozen=True)
class Proportions:
    """Coordinates that sum to `total`: the parts of a mixture, each between its low and its high end.

    low and high are one number for all parts, or a mapping from some of their names to numbers.

    >>> Proportions(["water", "ethanol", "oil"], low={"water": 0.2}).low
    (0.2, 0.0, 0.0)
    """

    names: Any
    total: float = 1.0
    low: Any = 0.0
    high: Any = None
    unit: str = ""

    def __post_init__(self) -> None:
        found = require_names("names", self.names, "name each part, for instance ['water', 'oil']")
        require(len(found) >= 2, "names", "two or more parts", self.names, "one part alone is At(name, total)")
        object.__setattr__(self, "names", tuple(found))
        require_positive("total", self.total, "what the parts sum to, such as 1.0 or 100")
        require_kind("unit", self.unit, str, "text", "for instance '%'")
        low = self._ends("low", self.low, 0.0)
        high = self._ends("high", self.total if self.high is None else self.high, float(self.total))
        fits = all(0.0 <= a < b for a, b in zip(low, high, strict=True)) and sum(low) < self.total < sum(high)
        expected = f"0 ≤ low < high for each part, with room for a sum of {self.total:g}"
        require(fits, "low, high", expected, (low, high), "check the bounds and the total")
        object.__setattr__(self, "low", tuple(low))
        object.__setattr__(self, "high", tuple(high))

    def _ends(self, argument: str, given: Any, otherwise: float) -> list[float]:
        if isinstance(given, Mapping):
            strange = [name for name in given if name not in self.names]
            require(not strange, argument, f"names among {list(self.names)}", strange, "use the names of the parts")
            given = [given.get(name, otherwise) for name in self.names]
        several = None if column_names(given) is not None else listed(given)
        ends = [given] * len(self.names) if several is None else several
        for end in ends:
            require_finite(argument, end, "one number for all parts, or a mapping from names to numbers")
        require(len(ends) == len(self.names), argument, f"{len(self.names)} numbers", given, "one for each part")
        return [float(end) for end in ends]

    def spread(self, unit: Array, low: Array, high: Array) -> Array:
        """Mixtures (n, k) between two ends from (n, k − 1) numbers between 0 and 1, evenly over all there are."""
        return spread_over_simplex(unit, low, high, float(self.total))

    def parts(self) -> tuple[Real, ...]:
        """Each part by itself, between the ends that the others leave it."""
        low, high = bounded(np.array(self.low), np.array(self.high), float(self.total))
        ends = zip(self.names, low.tolist(), high.tolist(), strict=True)
        return tuple(Real(name, a, b, self.unit) for name, a, b in ends)


Dimension = Real | Integer | Categorical | At
