"""In which line of a TOML file each key stands. `tomllib` reads the values and does not say.

The text has been read by `tomllib` before, so that it is known to be TOML: here nothing is checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["Path", "lines_of"]

Path = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR = re.compile(r"[^,\]}\n#]+")
_STRINGS = (
    re.compile(r'"""(?:\\.|[^\\])*?"""(?:"{0,2})', re.S),
    re.compile(r"'''.*?'''(?:'{0,2})", re.S),
    re.compile(r'"(?:\\.|[^"\\])*"'),
    re.compile(r"'[^']*'"),
)


def lines_of(text: str) -> dict[Path, int]:
    """The line, counted from 1, of every key, table and member of an array, by its path.

    >>> found = lines_of("[space]\\nx = {low = 0,\\n high = 1}\\n\\n[[limits]]\\nmost = 3\\n")
    >>> found["space", "x", "low"], found["space", "x"], found["limits", 0, "most"]
    (2, 2, 6)
    """
    return _Reader(text.replace("\r\n", "\n")).read()


class _Reader:
    """A place in the text, and the lines found so far."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0
        self._found: dict[Path, int] = {}
        self._last: dict[Path, int] = {}  # of arrays of tables, the number of the last one

    def read(self) -> dict[Path, int]:
        table: Path = ()
        while self._skip(_BLANK) < len(self._text):
            if self._text[self._at] == "[":
                table = self._header()
            else:
                self._pair(table)
        return self._found

    def _header(self) -> Path:
        """A table's path, with the numbers of the arrays that it is in."""
        array = self._text.startswith("[[", self._at)
        self._at += 1 + array
        path: Path = ()
        *outer, name = list(self._keys())
        for key in outer:
            path = (*path, key)
            self._keep(path)
            path = (*path, self._last[path]) if path in self._last else path
        path = (*path, name)
        self._at = self._text.index("]", self._at) + 1 + array
        if array:
            self._last[path] = self._last.get(path, -1) + 1
            self._keep(path)
            path = (*path, self._last[path])
        self._keep(path)
        return path

    def _pair(self, table: Path) -> None:
        path = table
        for key in self._keys():
            path = (*path, key)
            self._keep(path)
        self._at = self._text.index("=", self._at) + 1
        self._value(path)

    def _keys(self) -> Iterator[str]:
        """The parts of a dotted key, as they are met."""
        while True:
            self._skip(_SPACE)
            if self._text[self._at] in "\"'":
                yield self._string()[1:-1]
            else:
                bare = _BARE.match(self._text, self._at)
                assert bare is not None  # it is TOML
                self._at = bare.end()
                yield bare[0]
            self._skip(_SPACE)
            if self._text[self._at] != ".":
                return
            self._at += 1

    def _value(self, path: Path) -> None:
        self._skip(_SPACE)
        first = self._text[self._at]
        if first in "\"'":
            self._string()
        elif first == "[":
            self._members(path)
        elif first == "{":
            self._inline(path)
        else:
            scalar = _SCALAR.match(self._text, self._at)
            assert scalar is not None  # it is TOML
            self._at = scalar.end()

    def _members(self, path: Path) -> None:
        self._at += 1
        number = 0
        while self._text[self._skip(_BLANK)] != "]":
            self._keep((*path, number))
            self._value((*path, number))
            number += 1
            if self._text[self._skip(_BLANK)] == ",":
                self._at += 1
        self._at += 1

    def _inline(self, path: Path) -> None:
        self._at += 1
        while self._text[self._skip(_BLANK)] != "}":
            self._pair(path)
            if self._text[self._skip(_BLANK)] == ",":
                self._at += 1
        self._at += 1

    def _string(self) -> str:
        found = next(match for pattern in _STRINGS if (match := pattern.match(self._text, self._at)) is not None)
        self._at = found.end()
        return found[0]

    def _skip(self, pattern: re.Pattern[str]) -> int:
        """Go past what matches; where that is."""
        found = pattern.match(self._text, self._at)
        assert found is not None  # it may be empty
        self._at = found.end()
        return self._at

    def _keep(self, path: Path) -> None:
        self._found.setdefault(path, self._text.count("\n", 0, self._at) + 1)
