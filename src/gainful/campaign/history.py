"""What has been asked and answered so far, line by line, and as a table to keep or to work on elsewhere."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gainful.campaign.state import Entry
from gainful.errors import InvalidInput, MissingExtra

__all__ = ["History"]

_FIRST = ("number", "instrument")
_LAST = ("answer", "cost", "status", "corrected", "own", "note")
_OWN = {*_FIRST, "item", *_LAST}  # what columns are called that are no coordinates
_PLACE = "place."
_NUMBERED = re.compile(r" \d+$")


class History(tuple[Entry, ...]):
    """Every query so far with its answer, cost and status, in the order of asking: a tuple of entries.

    As a table it has one row for each query:

    number, instrument   which query it was, and what it was asked with
    item                 the name of the pool's item, where items have names
    one column each      for the coordinates, in their own units, levels by name, nothing for what is absent; of a pair
                         or a set the further places are called "name 2", "name 3"
    answer, cost         nothing, and 0, while it is pending
    status               "told", "pending", "failed" or "withdrawn"; what was withdrawn after it was told keeps answer
                         and cost
    corrected, own       whether the answer was corrected; whether the user chose the query
    note                 what was noted with it

    A coordinate whose own name could be taken for one of these is called "place.cost". There are no times: a journal
    keeps none.

    >>> import gainful as gf
    >>> space = gf.Space(gf.Real("depth", 0, 10, unit="m"), gf.Categorical("soil", ["clay", "sand"]))
    >>> campaign = gf.Campaign(space, gf.Point(name="lab", cost=2))
    >>> campaign.tell(gf.Query(campaign.instruments[0], [3.5, "sand"], space=space), 0.7)
    >>> [row] = campaign.history.rows
    >>> row["number"], row["instrument"], row["depth"], row["soil"], row["answer"], row["cost"], row["status"]
    (0, 'lab', 3.5, 'sand', 0.7, 2.0, 'told')
    """

    __slots__ = ()

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The table, a mapping from names to values for each query; all have the same names."""
        numbered = any(entry.query.place.ndim > 1 for entry in self)
        known = [_coordinates(entry, numbered) for entry in self]
        names = list(dict.fromkeys(name for places in known for name in places))
        items = [entry.query.item for entry in self]
        named = any(item is not None for item in _flat(items))
        return [
            {
                "number": entry.query.number,
                "instrument": entry.query.instrument.label,
                **({"item": item} if named else {}),
                **{name: places.get(name) for name in names},
                "answer": entry.answer,
                "cost": entry.cost,
                "status": str(entry.status),
                "corrected": entry.corrected,
                "own": entry.own,
                "note": entry.note,
            }
            for entry, places, item in zip(self, known, items, strict=True)
        ]

    def to_frame(self) -> Any:
        """The table as a pandas DataFrame; needs the extra gainful[tables]."""
        try:
            import pandas
        except ImportError:
            raise MissingExtra("a history as a DataFrame (history.rows and to_csv do without)", "tables") from None
        return pandas.DataFrame(self.rows, columns=list(self.rows[0]) if self else [*_FIRST, *_LAST])

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the table to a file in UTF-8, a comma between columns; what there is none of is empty. Several numbers
        of one answer, such as the ends of an interval, have a space between them."""
        if not isinstance(path, str | os.PathLike):
            raise InvalidInput("path", "the path of a file", path, "for instance 'history.csv'")
        rows = self.rows
        names = list(rows[0]) if rows else [*_FIRST, *_LAST]
        try:
            with Path(path).open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(names)
                writer.writerows([_cell(row[name]) for name in names] for row in rows)
        except OSError as error:
            remedy = f"{error.strerror or error}; give the path of a file in a folder that is there"
            raise InvalidInput("path", "a file that can be written", str(path), remedy) from None


def _coordinates(entry: Entry, numbered: bool) -> dict[str, Any]:
    """The values of the query's place by the name of their column; of a pair or a set, of all its places."""
    at = entry.query.at
    places = at if isinstance(at, tuple) else (at,)
    return {
        _column(name, numbered) + (f" {number}" if number > 1 else ""): value
        for number, place in enumerate(places, start=1)
        for name, value in place.items()
    }


def _column(name: str, numbered: bool) -> str:
    """What a coordinate's column is called: two coordinates never have the same."""
    like_another = name in _OWN or name.startswith(_PLACE) or (numbered and _NUMBERED.search(name) is not None)
    return _PLACE + name if like_another else name


def _flat(items: Sequence[Any]) -> list[Any]:
    return [one for each in items for one in (each if isinstance(each, tuple) else (each,))]


def _cell(value: Any) -> str:
    """A value as text; floats with all their digits."""
    if value is None:
        return ""
    if isinstance(value, tuple):
        return " ".join(map(_cell, value))
    return repr(float(value)) if isinstance(value, float | np.floating) else str(value)
