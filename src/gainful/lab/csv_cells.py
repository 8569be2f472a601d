"""Reads the cells of a CSV file in UTF-8, and says which count as numbers, words or gaps."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from gainful.errors import InvalidInput

__all__ = ["MISSING", "a_word", "cells_of", "content_of", "gaps_in", "listed", "number_of", "shown", "value_of"]

MISSING = frozenset({"", "NA", "N/A", "n/a", "NaN", "nan", "?", "null", "NULL"})  # in these spellings: Na is sodium
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)  # float() takes 1_000 as well
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
_COMPRESSED = {b"\x1f\x8b": "gzip", b"PK\x03\x04": "zip, as spreadsheets are", b"BZh": "bzip2", b"\xfd7zXZ": "xz"}
_MOST_NAMES = 12  # in a sentence


def content_of(table: str | Path) -> bytes:
    try:
        return Path(table).read_bytes()
    except OSError as error:
        remedy = f"{error.strerror or error}; give the path of a CSV file, on a cluster one that all workers see"
        raise InvalidInput("table", "a file that can be read", str(table), remedy) from None


def cells_of(table: str, content: bytes) -> tuple[list[str], dict[str, list[str]]]:
    """The header, and the cells of each column without blanks around them."""
    for magic, name in _COMPRESSED.items():
        if content.startswith(magic):
            raise InvalidInput("table", "text in UTF-8", f"compressed data ({name}) in {table}", "unpack it to CSV")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        got = f"byte {content[error.start]:#04x} at position {error.start} of {table}"
        raise InvalidInput("table", "text in UTF-8", got, "save it as CSV in UTF-8") from None
    try:
        lines = [(number, line) for number, line in _numbered(text) if line]
    except csv.Error as error:
        raise InvalidInput("table", "a CSV file", table, f"{error}; save it as CSV in UTF-8") from None
    if not lines:
        raise InvalidInput("table", "a header and rows", f"nothing in {table}", "the first line names the columns")
    header = [name.strip() for name in lines[0][1]]
    _require_names(header)
    if len(header) == 1 and any(mark in header[0] for mark in ";\t"):
        raise InvalidInput(
            "table", "columns divided by commas", header[0], "save it with commas, and points in numbers"
        )
    for number, line in lines[1:]:
        if len(line) != len(header):
            got = f"{len(line)} in line {number} of {table}"
            raise InvalidInput("table", f"{len(header)} cells in every row, as in the header", got, "mend that line")
    return header, {name: [line[i].strip() for _, line in lines[1:]] for i, name in enumerate(header)}


def _require_names(header: list[str]) -> None:
    seen: dict[str, int] = {}
    for number, name in enumerate(header, start=1):
        if not name:
            remedy = "name it, or remove the comma at the end of every line" if number == len(header) else "name it"
            got = f"column {number} without a name"
            raise InvalidInput("table", "a header of different names", got, f"{remedy}; the first line is the header")
        if name in seen:
            got = f"{shown(name)!r} for columns {seen[name]} and {number}"
            raise InvalidInput("table", "a header of different names", got, "rename one of them")
        seen[name] = number


def _numbered(text: str) -> list[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    return [(reader.line_num, line) for line in reader]


def gaps_in(cells: Sequence[str]) -> list[bool]:
    """Which cells have no value: those that say so, and in a column of numbers those that are not finite."""
    words = a_word(cells) is not None
    return [cell in MISSING or not (words or np.isfinite(float(cell))) for cell in cells]


def number_of(cell: str) -> float | None:
    """A number, be it infinite; not all that float() would take.

    >>> number_of("-1.5e3"), number_of("1_000"), number_of("nan")
    (-1500.0, None, None)
    """
    return float(cell) if _NUMBER.fullmatch(cell) or _INFINITE.fullmatch(cell) else None


def value_of(cell: str) -> float | str:
    number = number_of(cell)
    return cell if number is None else number


def a_word(cells: Sequence[str]) -> str | None:
    """The first cell that is no number, if there is one."""
    return next((cell for cell in cells if cell not in MISSING and number_of(cell) is None), None)


def shown(name: str) -> str:
    """A name of the table on one line, at most 40 characters of it.

    >>> shown("two\\nlines")
    'two lines'
    """
    line = " ".join(name.split())
    return line if len(line) <= 40 else f"{line[:39]}…"


def listed(names: Iterable[str]) -> str:
    """Names for a sentence; of very many the first few, and how many there are.

    >>> listed(["a", "b"]), listed(f"c{i}" for i in range(3000))[-23:]
    ('a, b', 'c10, c11, … 3000 in all')
    """
    every = [shown(name) for name in names]
    return ", ".join(every if len(every) <= _MOST_NAMES else [*every[:_MOST_NAMES], f"… {len(every)} in all"])
