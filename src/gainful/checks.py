"""What arguments must be: one check for each thing that is asked for everywhere, with the same words when it is not.

Numbers are Python's and NumPy's, decimals and fractions. Nothing else is made into one: not text that spells a number,
not a date, not what lies under a mask, not a complex number without its imaginary part. A bool is not a number either,
however Python counts it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from itertools import chain
from numbers import Real
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.errors import InvalidInput, shorten

__all__ = [
    "as_booleans",
    "as_numbers",
    "as_rng",
    "column_names",
    "finite_table",
    "is_number",
    "is_whole",
    "listed",
    "numbers",
    "refuse",
    "require",
    "require_choice",
    "require_columns",
    "require_count",
    "require_finite",
    "require_kind",
    "require_name",
    "require_names",
    "require_not_negative",
    "require_positive",
    "require_seed",
    "require_whole",
]

Array = NDArray[np.float64]
Seed = np.random.Generator | int | None

_LARGEST = 2**63 - 1  # of a whole number in NumPy; a float may be larger
_MOST = 10**9  # of what is counted: with more, memory or patience ends first

# What is often taken for a number and is none: its types, what it is called, and how to make numbers of it.
_NOT_NUMBERS: tuple[tuple[tuple[type, ...], str, str], ...] = (
    ((bool, np.bool_), "True or False: ", "where 1 and 0 are meant, np.asarray(x, dtype=float)"),
    (
        (str, bytes),
        "text: ",
        "np.asarray(x, dtype=float) reads numbers; words need the space that has them, Data(space=space)",
    ),
    ((complex, np.complexfloating), "complex numbers: ", "give their real part, np.real(x), or their size, np.abs(x)"),
    (
        (date, time, np.datetime64),
        "dates: ",
        "give the time since a first one: t = np.asarray(x, 'M8[s]'), (t - t[0]) / np.timedelta64(1, 'D')",
    ),
    ((timedelta, np.timedelta64), "times: ", "give them in a unit: np.asarray(x, 'm8[s]') / np.timedelta64(1, 'D')"),
    ((np.void,), "a structured array: ", "np.stack([x[name] for name in x.dtype.names], axis=-1) makes a plain one"),
    ((np.ma.MaskedArray,), "masked values: ", "leave out what is masked; ~np.ma.getmaskarray(x) says what is not"),
    ((type(None),), "", "leave missing values out"),
)
_PLAIN = {float, int, np.float64, np.float32, np.int64, np.int32}


def is_number(value: object) -> TypeGuard[float]:
    """Whether this is one number, and not a bool; of Python's own whole numbers, one that NumPy can hold."""
    if isinstance(value, bool | complex | np.complexfloating | np.timedelta64):
        return False
    if isinstance(value, int):
        return -_LARGEST <= value <= _LARGEST
    return isinstance(value, float | np.number)


def is_whole(value: object) -> TypeGuard[int]:
    """Whether this is one whole number, and not a bool."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64)


def listed(values: Any) -> list[Any] | None:
    """What a list, an array or another collection holds; None for what is none: text, a mapping, a table, a number."""
    single = isinstance(values, str | bytes | Mapping) or hasattr(values, "columns") or getattr(values, "ndim", 1) == 0
    return None if single or not isinstance(values, Iterable) else list(values)


def require(holds: bool, argument: str, expected: str, got: object, remedy: str) -> None:
    """InvalidInput unless it holds."""
    if not holds:
        raise InvalidInput(argument, expected, got, remedy)


def require_kind(argument: str, value: object, kind: type | tuple[type, ...], expected: str, remedy: str) -> None:
    """Refuse what is not of this kind, a class for instance where something made by it is meant."""
    require(isinstance(value, kind), argument, expected, value, remedy)


def require_choice(argument: str, value: object, choices: Iterable[str], remedy: str) -> None:
    """Refuse what is not one of a few words."""
    known = list(choices)
    require(isinstance(value, str) and value in known, argument, f"one of {known}", value, remedy)


def require_name(argument: str, value: object, remedy: str) -> None:
    """Refuse what is not a name: text, and not empty."""
    require(isinstance(value, str) and bool(value), argument, "a name", value, remedy)


def require_names(argument: str, values: Any, remedy: str) -> list[str]:
    """Names as a list, refused where one is not text, is empty, or comes twice."""
    found = listed(values) or []
    distinct = all(isinstance(each, str) and each for each in found) and len(set(found)) == len(found) > 0
    require(distinct, argument, "a list of distinct names", values, remedy)
    return found


def require_finite(argument: str, value: object, remedy: str) -> None:
    """Refuse what is not a finite number."""
    _require_number(_finite(value), argument, "a finite number", value, remedy)


def require_positive(argument: str, value: object, remedy: str) -> None:
    """Refuse what is not a finite positive number."""
    _require_number(_finite(value) and value > 0, argument, "a finite positive number", value, remedy)


def require_not_negative(argument: str, value: object, remedy: str) -> None:
    """Refuse what is not a finite number of at least zero."""
    _require_number(_finite(value) and value >= 0, argument, "a finite number, not negative", value, remedy)


def _require_number(holds: bool, argument: str, expected: str, value: object, remedy: str) -> None:
    huge = is_whole(value) and not is_number(value)
    require(holds, argument, f"{expected}; beyond 2**63 a float, such as 1e30" if huge else expected, value, remedy)


def require_whole(argument: str, value: object, least: int, remedy: str) -> int:
    """The whole number as Python's own, refused where it is below `least`."""
    require(is_whole(value) and value >= least, argument, f"a whole number, at least {least}", value, remedy)
    return int(value)  # type: ignore[call-overload]


def require_count(argument: str, value: object, least: int, remedy: str) -> int:
    """The number of things to make or to look at, as Python's own: whole, at least `least` and at most a billion."""
    whole = require_whole(argument, value, least, remedy)
    require(whole <= _MOST, argument, f"at most {_MOST:,}", value, remedy)
    return whole


def require_seed(argument: str, value: object) -> int:
    """The seed as Python's own number."""
    return require_whole(argument, value, 0, "0 will do")


def as_rng(rng: object, argument: str = "rng") -> np.random.Generator:
    """The generator, or a new one from a seed; None gives one that nobody can repeat, as in NumPy.

    >>> as_rng(0).random() == as_rng(0).random()
    True
    """
    if isinstance(rng, np.random.Generator):
        return rng
    several = isinstance(rng, list | tuple) and len(rng) > 0
    seeds = rng if isinstance(rng, list | tuple) else [rng]
    whole = all(is_whole(each) and each >= 0 for each in seeds)
    if not ((several or not isinstance(rng, list | tuple)) and whole):
        own = np.random.SeedSequence | np.random.BitGenerator
        expected = "a generator, or a seed: a whole number, not negative"
        require(rng is None or isinstance(rng, own), argument, expected, rng, "such as 0, or np.random.default_rng(0)")
    return np.random.default_rng(rng)  # type: ignore[arg-type]


def _finite(value: object) -> TypeGuard[float]:
    return is_number(value) and math.isfinite(value)


def numbers(
    argument: str,
    values: Any,
    expected: str,
    remedy: str = "give a list or an array of numbers",
    *,
    booleans: bool = False,
) -> Array:
    """An array of floats, of any shape; NaN and infinities may be among them. With `booleans`, True and False too."""
    if type(values) is np.ndarray and values.dtype == np.float64:  # the usual case, many times in every ask
        return values
    if isinstance(values, float):
        return np.asarray(values, dtype=float)
    odd = _odd_among(values, booleans)
    if odd is None:
        try:
            array = np.asarray(values)
            if array.dtype.kind in ("fiub" if booleans else "fiu"):
                return np.asarray(array, dtype=float)
            odd = array.dtype.type if array.dtype != object else _odd_object(array, booleans)
            if odd is None:
                return np.array([float(each) for each in array.flat]).reshape(array.shape)
        except OverflowError:
            raise InvalidInput(argument, f"{expected}, none beyond 1e308", values, "check the units") from None
        except (TypeError, ValueError, RuntimeError):  # rows of unequal length, or no way to an array at all
            raise InvalidInput(argument, expected, values, remedy) from None
    what, how = _named(odd) or ("", remedy)
    raise InvalidInput(argument, expected, what + shorten(values, 60) if what else values, how)


def _odd_among(values: Any, booleans: bool) -> type | None:
    """A type among what nested lists hold that NumPy would make into a number, and that is none."""
    level, depth = (values if isinstance(values, list | tuple) else (values,)), 0
    while (kinds := set(map(type, level))) and kinds <= {list, tuple} and depth < 8:
        level, depth = list(chain.from_iterable(level)), depth + 1
    if kinds <= _PLAIN:
        return None
    for kind in kinds:
        if issubclass(kind, bool | np.bool_) and not booleans:
            return kind
        if issubclass(kind, np.ma.MaskedArray) and any(np.ma.is_masked(each) for each in level):
            return kind
    return None


def _odd_object(array: NDArray[Any], booleans: bool) -> type | None:
    """The type of the first object that is not a number of Python's own; None where all are."""
    for each in array.flat:
        number = isinstance(each, Real | Decimal) and _named(type(each)) is None
        if not number and not (booleans and isinstance(each, bool | np.bool_)):
            return type(each)
    return None


def _named(kind: type) -> tuple[str, str] | None:
    """What a type that is no number is called, and how to make numbers of it."""
    return next(((what, how) for types, what, how in _NOT_NUMBERS if issubclass(kind, types)), None)


def finite_table(
    argument: str, values: Any, columns: int | None = None, *, names: tuple[str, ...] | None = None
) -> Array:
    """Finite numbers of shape (n, d), one row per place; with `columns`, d of them, with `names` called like that."""
    require_columns(argument, column_names(values), names)
    array = numbers(argument, values, "numbers, one row per place", "give an array or a table of numbers")
    if array.ndim != 2 or not array.shape[1] or (columns is not None and array.shape[1] != columns):
        wanted = "(n, d)" if columns is None else f"(n, {columns})"
        raise InvalidInput(
            argument, f"an array of shape {wanted}, one row per place", f"shape {array.shape}",
            "use .reshape(-1, 1) for one dimension, or [x] for one place",
        )  # fmt: skip
    finite = np.isfinite(array)
    if not np.all(finite):
        row = int(np.argmin(finite.all(axis=1)))
        raise InvalidInput(argument, "finite coordinates", f"{array[row].tolist()} in row {row}", "remove or repair it")
    return array


def column_names(X: object) -> tuple[str, ...] | None:
    """The names of the coordinates: a table's columns (pandas, polars), or one row's index; None for what has none."""
    if type(X) is np.ndarray:
        return None
    names = getattr(X, "columns", None)
    if names is None and hasattr(X, "iloc"):  # one row of a table
        names = getattr(X, "index", None)
    found = tuple(names) if isinstance(names, Iterable) else ()
    return found if found and all(isinstance(name, str) for name in found) else None


def require_columns(argument: str, got: Sequence[str] | None, known: Sequence[str] | None) -> None:
    """Refuse a table whose columns are not those known, in their order: they would be taken for one another."""
    if got is not None and known is not None and tuple(got) != tuple(known):
        remedy = f"X[{list(known)}] puts them in order" if set(got) == set(known) else "rename, or pass X.to_numpy()"
        raise InvalidInput(argument, f"the columns {list(known)}, as before", list(got), remedy)


def as_booleans(answers: ArrayLike, n: int) -> Array:
    """Yes/no answers as 1.0 and 0.0: True/False or 1/0, nothing else (−1/+1 would be ambiguous)."""
    array = as_numbers(answers, (n,), f"{n} yes/no answers", booleans=True)
    wrong = ~((array == 0.0) | (array == 1.0))
    if np.any(wrong):
        raise InvalidInput(
            "answers", "True or False (1 or 0)", float(array[wrong][0]), "code yes as True and no as False"
        )
    return array


def as_numbers(answers: ArrayLike, shape: tuple[int, ...], expected: str, *, booleans: bool = False) -> Array:
    """Answers as floats of the given shape, or InvalidInput."""
    array = numbers("answers", answers, expected, booleans=booleans)
    if array.shape != shape:
        raise InvalidInput(
            "answers", f"{expected} (shape {shape})", f"shape {array.shape}", "give one answer per place"
        )
    return array


def refuse(wrong: NDArray[np.bool_], values: Any, expected: str, remedy: str) -> None:
    """Raise InvalidInput naming the first offending answer and its position."""
    if np.any(wrong):
        first = int(np.argmax(wrong))
        value = np.asarray(values)[first]
        shown = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
        raise InvalidInput("answers", expected, f"{shown} at position {first}", remedy)
