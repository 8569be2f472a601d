"""Picks and pairs tidy rows, and writes them as CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gainful.errors import InvalidInput
from gainful.lab.experiment import Row

__all__ = ["column", "pairs", "select", "to_csv"]

Array = NDArray[np.float64]


def select(rows: Iterable[Row], **where: object) -> list[Row]:
    """The rows in which every named column has the given value.

    >>> select([{"a": 1, "b": 2}, {"a": 2, "b": 3}], a=2)
    [{'a': 2, 'b': 3}]
    """
    return [row for row in rows if all(name in row and row[name] == value for name, value in where.items())]


def column(rows: Iterable[Row], name: str, **where: object) -> Array:
    """One column of the selected rows, (N,).

    >>> column([{"who": "a", "x": 1.5}, {"who": "b", "x": 2.5}], "x", who="b").tolist()
    [2.5]
    """
    return np.array([row[name] for row in select(rows, **where)], dtype=np.float64)


def pairs(
    rows: Iterable[Row], name: str, first: Mapping[str, object], second: Mapping[str, object], by: Sequence[str]
) -> tuple[Array, Array]:
    """One column of two contenders, (N,) each, matched where the columns `by` agree.

    Each combination of `by` must occur once for both: a contender without its partner is an error, not a gap.

    >>> rows = [{"who": w, "i": i, "x": x} for w, i, x in [("a", 0, 1.0), ("b", 0, 2.0), ("b", 1, 4.0), ("a", 1, 3.0)]]
    >>> a, b = pairs(rows, "x", {"who": "a"}, {"who": "b"}, by=["i"])
    >>> a.tolist(), b.tolist()
    ([1.0, 3.0], [2.0, 4.0])
    """
    all_rows = list(rows)
    left, right = (_by_key(select(all_rows, **dict(who)), name, by) for who in (first, second))
    if left.keys() != right.keys() or not left:
        alone = sorted(left.keys() ^ right.keys())[:1] or "no rows at all"
        raise InvalidInput("rows", f"both {first} and {second} for every {list(by)}", alone, "check the names")
    return np.array(list(left.values())), np.array([right[key] for key in left])


def _by_key(rows: list[Row], name: str, by: Sequence[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for row in rows:
        key = json.dumps([row[each] for each in by])
        if key in found:
            raise InvalidInput("by", "columns that tell the rows of a contender apart", f"{key} twice", "name more")
        found[key] = float(row[name])
    return found


def to_csv(rows: Sequence[Row]) -> str:
    """A header and one line per row; columns in the order in which they first appear, lists as JSON, None as nothing.

    >>> to_csv([{"costs": [10, 7], "rmse": 0.5}, {"costs": [10, 8], "rmse": None}]).splitlines()
    ['costs,rmse', '"[10, 7]",0.5', '"[10, 8]",']
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    stream = io.StringIO()
    writer = csv.DictWriter(stream, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return stream.getvalue()


def _cell(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, list | dict) else value
