"""Between tables as people have them and rows of codes.

A table is an array or list of rows, a mapping from names to columns, a list of mappings, or a DataFrame. Columns with
names are found by them, in any order; rows without are in the order of the space.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gainful.checks import column_names, listed, numbers
from gainful.coordinates import Coordinates
from gainful.errors import InvalidInput

__all__ = ["code_table", "columns_of"]

Array = NDArray[np.float64]

_REMEDY = "give rows in the order of the space, a mapping from names to columns, or a DataFrame"


def columns_of(table: Any, names: Sequence[str], optional: Sequence[str], argument: str) -> dict[str, list[Any]]:
    """The columns of a table by name, each a list of values; those that are `optional` may be missing."""
    if isinstance(table, Mapping):
        return _of_mapping(table, names, optional, argument)
    called = column_names(table)
    if called is not None and hasattr(table, "columns"):
        _require_named(called, names, optional, argument)
        return {name: list(np.asarray(table[name], dtype=object)) for name in called}
    if called is not None:  # one row of a table
        return _of_mapping(dict(zip(called, list(table), strict=True)), names, optional, argument)
    rows = listed(table)
    if rows is not None and rows and all(isinstance(row, Mapping) for row in rows):
        for row in rows:
            _require_named(tuple(row), names, optional, argument)
        return {name: [row.get(name) for row in rows] for name in names if any(name in row for row in rows)}
    return _of_rows(rows, table, names, argument)


def _of_mapping(table: Any, names: Sequence[str], optional: Sequence[str], argument: str) -> dict[str, list[Any]]:
    _require_named(tuple(table), names, optional, argument)
    columns = {name: listed(value) for name, value in table.items()}
    if all(column is None for column in columns.values()):
        return {name: [value] for name, value in table.items()}
    if any(column is None for column in columns.values()) or len({len(c or ()) for c in columns.values()}) > 1:
        raise InvalidInput(argument, "columns of one length, or one value for each name", table, _REMEDY)
    return {name: column or [] for name, column in columns.items()}


def _of_rows(rows: list[Any] | None, table: Any, names: Sequence[str], argument: str) -> dict[str, list[Any]]:
    expected = f"rows of {len(names)} values, {list(names)}"
    if rows is None:
        raise InvalidInput(argument, expected, table, _REMEDY)
    if rows and all(listed(row) is None for row in rows):  # one place
        rows = [rows]
    found = [listed(row) or [] for row in rows]
    if any(len(row) != len(names) for row in found):
        raise InvalidInput(argument, expected, table, _REMEDY)
    return {name: [row[i] for row in found] for i, name in enumerate(names)}


def _require_named(got: Sequence[Any], names: Sequence[str], optional: Sequence[str], argument: str) -> None:
    strange = [name for name in got if name not in names]
    missing = [name for name in names if name not in got and name not in optional]
    if strange or missing:
        wrong = f"no {missing}" if missing else f"also {strange}"
        raise InvalidInput(argument, f"the columns {list(names)}", wrong, "name them as the space does")


def code_table(
    table: Any,
    coordinates: Coordinates,
    coders: Sequence[Callable[[Any], float]],
    optional: Sequence[str],
    argument: str,
) -> Array:
    """The table as codes (M, D): each value by its dimension, what is absent by its condition at the low end."""
    names = [axis.name for axis in coordinates.axes]
    if type(table) is np.ndarray and table.dtype.kind in "fiu" and table.ndim == 1:
        table = table[None]
    columns = columns_of(table, names, optional, argument)
    size = len(next(iter(columns.values()))) if columns else 0
    out = np.zeros((size, len(names)))
    for i, (axis, coder) in enumerate(zip(coordinates.axes, coders, strict=True)):
        values = columns.get(axis.name, [axis.low if axis.kind == "fixed" else None] * size)
        there = coordinates.active(out)[:, i]  # what it depends on comes before it
        out[:, i] = axis.low
        some = [value for value, counts in zip(values, there, strict=True) if counts]
        out[there, i] = _codes(some, coder, axis.name, argument, axis.kind == "real" and not axis.log)
    return out


def _codes(values: list[Any], coder: Callable[[Any], float], name: str, argument: str, plain: bool) -> Array:
    if plain:  # the usual case, by the thousand
        found = numbers(argument, values, f"numbers for {name}")
        if found.shape == (len(values),) and np.all(np.isfinite(found)):
            return found
    out = np.zeros(len(values))
    for i, value in enumerate(values):
        try:
            out[i] = coder(value)
        except (ValueError, TypeError) as trouble:
            missing = value is None or (isinstance(value, float) and math.isnan(value))
            got = f"nothing in row {i}" if missing else value
            raise InvalidInput(argument, f"for {name}: {trouble}", got, "give it as the space has it") from None
    return out
