"""What arguments must be: one check for each thing that is asked for everywhere, with the same words when it is not.

A bool is not a number here, however Python counts it; NumPy's numbers are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.errors import InvalidInput

__all__ = [
    "as_booleans",
    "as_numbers",
    "finite_table",
    "is_number",
    "is_whole",
    "numbers",
    "refuse",
    "require",
    "require_finite",
    "require_not_negative",
    "require_positive",
    "require_whole",
]

Array = NDArray[np.float64]


def is_number(value: object) -> bool:
    """Whether this is one number, and not a bool."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool | complex | np.complexfloating)


def is_whole(value: object) -> bool:
    """Whether this is one whole number, and not a bool."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def require(holds: bool, argument: str, expected: str, got: object, remedy: str) -> None:
    """InvalidInput unless it holds."""
    if not holds:
        raise InvalidInput(argument, expected, got, remedy)


def require_finite(argument: str, value: object, remedy: str) -> None:
    """Refuse what is not a finite number."""
    require(_finite(value), argument, "a finite number", value, remedy)


def require_positive(argument: str, value: object, remedy: str) -> None:
    """Refuse what is not a finite positive number."""
    require(_finite(value) and value > 0, argument, "a finite positive number", value, remedy)  # type: ignore[operator]


def require_not_negative(argument: str, value: object, remedy: str) -> None:
    """Refuse what is not a finite number of at least zero."""
    require(_finite(value) and value >= 0, argument, "a finite number, not negative", value, remedy)  # type: ignore[operator]


def require_whole(argument: str, value: object, least: int, remedy: str) -> int:
    """The whole number as Python's own, refused where it is below `least`."""
    require(is_whole(value) and value >= least, argument, f"a whole number, at least {least}", value, remedy)  # type: ignore[operator]
    return int(value)  # type: ignore[call-overload]


def _finite(value: object) -> bool:
    return is_number(value) and bool(np.isfinite(value))  # type: ignore[call-overload]


def numbers(argument: str, values: Any, expected: str, remedy: str = "convert them to numbers") -> Array:
    """An array of floats, of any shape; NaN and infinities may be among them."""
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise InvalidInput(argument, expected, values, remedy) from None


def finite_table(argument: str, values: Any, columns: int | None = None) -> Array:
    """Finite numbers of shape (n, d), one row per place; with `columns`, d of them."""
    array = numbers(argument, values, "numbers, one row per place", "convert the table to numbers")
    if array.ndim != 2 or (columns is not None and array.shape[1] != columns):
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


def as_booleans(answers: ArrayLike, n: int) -> Array:
    """Yes/no answers as 1.0 and 0.0: True/False or 1/0, nothing else (−1/+1 would be ambiguous)."""
    array = as_numbers(answers, (n,), f"{n} yes/no answers")
    wrong = ~((array == 0.0) | (array == 1.0))
    if np.any(wrong):
        raise InvalidInput(
            "answers", "True or False (1 or 0)", float(array[wrong][0]), "code yes as True and no as False"
        )
    return array


def as_numbers(answers: ArrayLike, shape: tuple[int, ...], expected: str) -> Array:
    """Answers as floats of the given shape, or InvalidInput."""
    array = numbers("answers", answers, expected)
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
