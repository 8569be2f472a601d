"""Places as people say them, wherever a space is known: one rule for what is codes already and what the space reads.

An array of numbers is codes, as `space.code`, `space.candidates`, `space.grid` and `query.place` give them. What has
names (a mapping, a list of mappings, a DataFrame or a row of one) or words (a level, an item, True) is values, and so
are plain lists of numbers. A table has its columns in the order of the space, a mapping in any. Codes and values differ
in categories alone, and there only where levels are numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gainful.checks import column_names, is_number, listed, require_columns
from gainful.space.dimensions import Categorical
from gainful.space.places import Places, code_in

__all__ = ["as_codes", "has_numbered_levels", "is_said"]

Array = NDArray[np.float64]

_DEEPEST = 3  # lists within lists: queries, their places, the values of one


def is_said(table: Any, space: Places) -> bool:
    """Whether these are values for the space to read, and not codes."""
    if type(table) is np.ndarray and table.dtype.kind in "fiu":
        return False
    if isinstance(table, Mapping | str) or column_names(table) is not None:
        return True
    if not isinstance(table, list | tuple) and not (type(table) is np.ndarray and table.dtype.kind in "OUSb"):
        return False
    leaves = list(_leaves(table, _DEEPEST))
    if any(not is_number(each) and _is_word(each) for each in leaves):
        return True
    numeric = bool(leaves) and all(map(is_number, leaves)) and has_numbered_levels(space)
    return numeric and _row_length(table) == len(space.names)


def _leaves(table: Any, depth: int) -> Iterator[Any]:
    """What lists within lists hold, as deep as places go; arrays of numbers within them are nothing said."""
    for each in table:
        nested = isinstance(each, list | tuple) or (type(each) is np.ndarray and each.ndim > 0)
        if nested and depth > 1:
            yield from _leaves(each, depth - 1)
        else:
            yield each


def _row_length(table: Any) -> int:
    """How many values one place has: with one more than the space it is codes, the last being an output's number."""
    while isinstance(table[0], list | tuple) and len(table[0]):
        table = table[0]
    return len(table)


def _is_word(value: Any) -> bool:
    return isinstance(value, str | bool | np.bool_ | Mapping) or column_names(value) is not None


def as_codes(space: Places, table: Any, argument: str, query: str = "place") -> Any:
    """Codes for what is said, (M, D) or one place (D,), of pairs and sets (M, k, D); what is codes stays as it is.

    >>> from gainful.space import Categorical, Real, Space
    >>> space = Space(Real("dose", 0, 9), Categorical("form", ["pill", "syrup"]))
    >>> as_codes(space, {"form": ["syrup"], "dose": [2]}, "X").tolist()
    [[2.0, 1.0]]
    """
    if not is_said(table, space):
        return table
    _require_order(space, table, argument)
    if query == "place":
        return code_in(space, table, argument)
    several = listed(table)
    if several is None or not several:
        return table
    if all(isinstance(each, Mapping) or not _is_several(each) for each in several):  # the places of one query
        return code_in(space, table, argument)[None]
    return np.stack([code_in(space, each, argument) for each in several])


def _require_order(space: Places, table: Any, argument: str) -> None:
    """Refuse a table whose columns stand in another order: what takes codes would take them for one another."""
    called = column_names(table)
    if called is not None and set(called) <= set(space.names):
        require_columns(argument, called, [name for name in space.names if name in called])


def has_numbered_levels(space: Places) -> bool:
    """Whether a category of the space has levels that a number may stand for."""
    whole = getattr(space, "whole", space)
    levels = [d.levels for d in getattr(whole, "single", ()) if isinstance(d, Categorical)]
    levels += [each for each in getattr(whole, "levels", None) or () if each is not None]
    return any(not isinstance(level, str) for each in levels for level in each)


def _is_several(value: Any) -> bool:
    """Whether this is several places: a table, or a list whose members are places."""
    if hasattr(value, "columns"):
        return True
    members = listed(value) or []
    return bool(members) and all(isinstance(each, Mapping) or listed(each) is not None for each in members)
