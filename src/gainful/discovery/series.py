"""Reads a table whose answers are numbers along a date or other numbers, and says what was left out to get there."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gainful.beliefs.programs.words import Axis, Said
from gainful.discovery.calendar import Calendar, read_dates
from gainful.errors import InvalidInput
from gainful.lab.csv_cells import MISSING, a_word, cells_of, content_of, gaps_in, listed, shown

__all__ = ["MOST_ROWS", "Series", "read_series"]

Array = NDArray[np.float64]

MOST_ROWS = 800  # that are learned from: the work grows with their cube
_FEWEST_ROWS = 3
_MOST_INPUTS = 6
_UNIT = re.compile(r"^(.*\S)\s*[\[(]([^\[\]()]+)[\])]$")  # temperature (°C), time [h]
_EIGHT = re.compile(r"(19|20)\d{6}")  # 20241231
_TIMES = re.compile(r"^(date|time|timestamp|year|month|week|day|hour|t|x)s?$", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Series:
    """Answers y (N,) at places X (N, D), in the order of the first input, and how inputs and answers are spoken of."""

    path: str
    answer: str
    unit: str
    X: Array
    y: Array
    axes: tuple[Axis, ...]
    units: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def calendar(self) -> Calendar | None:
        """That of the only input, if it is a date."""
        first = self.axes[0]
        return first if len(self.axes) == 1 and isinstance(first, Calendar) else None

    @property
    def is_line(self) -> bool:
        """Whether there is one input."""
        return len(self.axes) == 1


def read_series(table: str | Path, answer: str, inputs: Sequence[str] | None = None) -> Series:
    """The answers in a column of a CSV file, along dates or numbers.

    Without `inputs` the first column of dates is the input, or else one that is called time, year or the like, or else
    all columns of numbers; without any, the number of the row. Rows without an answer or an input are left out, and of
    very many rows an even part is taken; `notes` say so.
    """
    header, cells = cells_of(str(table), content_of(table))
    _require_column("answer", answer, header)
    _require_numbers(answer, cells[answer])
    chosen, notes = _chosen(header, cells, answer, inputs)
    gaps = {name: np.array(gaps_in(cells[name]), dtype=bool) for name in (*chosen, answer) if name in cells}
    rows = np.flatnonzero(~np.any(list(gaps.values()), axis=0))
    _note_gaps(notes, gaps, len(cells[answer]), len(rows))
    if len(rows) < _FEWEST_ROWS:
        expected, got = f"at least {_FEWEST_ROWS} rows with an answer", f"{len(rows)} in {table}"
        raise InvalidInput("table", expected, got, "fewer show nothing: collect more")
    y = np.array([float(cells[answer][i]) for i in rows])
    _require_variety(answer, y)
    columns, axes, units = [], [], []
    for name in chosen:
        column, axis, unit = _axis(name, [cells[name][i] for i in rows] if name in cells else None, len(rows), notes)
        columns.append(column)
        axes.append(axis)
        units.append(unit)
    X = np.column_stack(columns)
    order = np.lexsort(X.T[::-1])
    if len(order) > MOST_ROWS:
        order = order[np.unique(np.linspace(0, len(order) - 1, MOST_ROWS).round().astype(int))]
        notes.append(f"{len(rows)} rows are many: {len(order)} of them were taken, evenly along {shown(chosen[0])}")
    again = len(order) - len(np.unique(X[order], axis=0))
    if again:
        notes.append(f"{again} rows repeat the inputs of another: all of them count, as repeated readings")
    plain, unit = _named(answer)
    return Series(str(table), plain, unit, X[order], y[order], tuple(axes), tuple(units), tuple(notes))


def _named(header: str) -> tuple[str, str]:
    """A name and a unit that stands behind it in brackets.

    >>> _named("temperature (°C)"), _named("time")
    (('temperature', '°C'), ('time', ''))
    """
    found = _UNIT.match(" ".join(header.split()))
    return (found[1], found[2].strip()) if found else (shown(header), "")


def _require_column(argument: str, name: str, header: Sequence[str]) -> None:
    if name not in header:
        close = [each for each in header if each.lower() == name.lower()]
        close += difflib.get_close_matches(name, header, n=1)
        remedy = f"did you mean {shown(close[0])}?" if close else "names are as in the header"
        raise InvalidInput(argument, f"a column among {listed(header)}", name, remedy)


def _require_numbers(answer: str, cells: Sequence[str]) -> None:
    word = a_word(cells)
    if word is not None:
        got = f"{shown(word)!r} in {shown(answer)}"
        raise InvalidInput("answer", "a column of numbers", got, "remove the words, or name another column")


def _require_variety(answer: str, y: Array) -> None:
    if np.ptp(y) == 0.0:
        got = f"{y[0]:g} in all {len(y)} rows of {shown(answer)}"
        raise InvalidInput("answer", "answers that differ", got, "there is nothing to explain: name another column")
    if not 1e-140 < np.std(y) < 1e140:
        raise InvalidInput("answer", "numbers of a usual size", f"{y[0]:g}", "change the unit")


def _chosen(
    header: Sequence[str], cells: dict[str, list[str]], answer: str, inputs: Sequence[str] | None
) -> tuple[list[str], list[str]]:
    """The inputs by name ("row" where there is none), and notes about the columns that are left out."""
    if inputs is not None:
        return _asked(header, cells, answer, inputs), []
    others = [name for name in header if name != answer]
    dates = [name for name in others if _dates(cells[name]) is not None]
    numbers = [name for name in others if name not in dates and a_word(cells[name]) is None]
    numeric = [name for name in numbers if not all(gaps_in(cells[name]))]
    counting = [name for name in numeric if _counts(cells[name])]
    times = [name for name in numeric if _TIMES.match(_named(name)[0])]
    free = [name for name in numeric if name not in counting]
    chosen = dates[:1] or times[:1] or free[:_MOST_INPUTS] or counting[:1] or ["row"]
    notes = []
    words = [name for name in others if name not in (*dates, *numbers)]
    if words:
        notes.append(f"columns of words left out: {listed(words)}")
    left = [name for name in others if name not in (*words, *chosen)]
    if left:
        notes.append(f"columns not used: {listed(left)}; --inputs names others")
    if chosen == ["row"]:
        notes.append("no column of dates or numbers to go along: the rows are numbered as they come")
    return chosen, notes


def _asked(header: Sequence[str], cells: dict[str, list[str]], answer: str, inputs: Sequence[str]) -> list[str]:
    if not inputs:
        raise InvalidInput("inputs", "one or more columns", "none", "leave it out for those that suit")
    for name in inputs:
        _require_column("inputs", name, header)
        if name == answer:
            raise InvalidInput("inputs", "columns other than the answer", name, "the answer is what is explained")
        if a_word(cells[name]) is not None and _dates(cells[name]) is None:
            got = f"{shown(str(a_word(cells[name])))!r} in {shown(name)}"
            remedy = "leave words out: a table for each of them can be looked at by itself"
            raise InvalidInput("inputs", "columns of numbers or of dates", got, remedy)
    return list(dict.fromkeys(inputs))


def _dates(cells: Sequence[str]) -> tuple[list[datetime], str] | None:
    """Dates, where a column is not one of plain numbers; 20241231 is a date where all cells are such."""
    told = [cell for cell in cells if cell not in MISSING]
    may_be = a_word(told) is not None or all(_EIGHT.fullmatch(cell) for cell in told)
    return read_dates(told) if may_be else None


def _counts(cells: Sequence[str]) -> bool:
    """Whether it numbers the rows."""
    return any(list(cells) == [str(i) for i in range(start, start + len(cells))] for start in (0, 1))


def _note_gaps(notes: list[str], gaps: dict[str, NDArray[np.bool_]], total: int, left: int) -> None:
    if left < total:
        those = listed(f"{shown(name)} {int(each.sum())}" for name, each in gaps.items() if each.any())
        notes.append(f"{total - left} of {total} rows left out, which have gaps ({those})")


def _axis(name: str, cells: list[str] | None, rows: int, notes: list[str]) -> tuple[Array, Axis, str]:
    """A column of numbers, how it is spoken of, and its unit."""
    if cells is None:
        return np.arange(1.0, rows + 1.0), Said("row", "", (1.0, float(rows))), "rows"
    called, unit = _named(name)
    found = _dates(cells)
    if found is None:
        column = np.array([float(cell) for cell in cells])
        _require_range(name, column)
        if not unit and called.lower() in ("year", "years"):
            unit = "years"
        return column, Said(called, unit, (float(column.min()), float(column.max()))), unit
    dates, note = found
    if note:
        notes.append(f"{shown(name)}: {note}")
    first = min(dates)
    column = np.array([(date - first).total_seconds() / 86400.0 for date in dates])
    _require_range(name, column)
    gaps = np.diff(np.unique(column))
    whole = bool(np.all(column == np.round(column)))
    finest = 1.0 if whole else float(gaps.min())
    return column, Calendar(called, first, (float(column.min()), float(column.max())), finest), "days"


def _require_range(name: str, column: Array) -> None:
    if np.ptp(column) == 0.0:
        raise InvalidInput("inputs", "a column that varies", f"one value in all of {shown(name)}", "name another one")
