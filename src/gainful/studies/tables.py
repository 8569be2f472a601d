"""Tables of a study file that know where they stand: what is wrong is said with the key, its line and what to do."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from gainful.checks import is_whole
from gainful.errors import InvalidInput
from gainful.studies.toml_lines import Path as Keys
from gainful.studies.toml_lines import lines_of

__all__ = ["Table", "read_table"]

_MISSING = object()
_MOST = 10**9
_TRUTH = re.compile(r"=?\b(True|False)\b")


@dataclass(frozen=True)
class Table:
    """One table of a file: its values, its path, and the lines of the whole file."""

    file: str
    values: Mapping[str, Any]
    lines: Mapping[Keys, int]
    path: Keys = ()

    def line(self, *key: str | int) -> int:
        """The line of a key, or of the nearest that is around it."""
        path = (*self.path, *key)
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def refuse(self, key: Sequence[str | int], expected: str, got: object, remedy: str) -> NoReturn:
        """InvalidInput with the file, the line and the whole key."""
        whole = _dotted((*self.path, *key))
        named = f" {whole}," if whole else ""
        said = f'the text "{got}"' if isinstance(got, str) and _reads_as_more(got) else _in_toml(got)
        raise InvalidInput(f"{self.file},{named} line {self.line(*key)}", expected, said, remedy)

    def only(self, known: Sequence[str], hints: Mapping[str, str] | None = None) -> None:
        """Refuse a key that nobody knows, with the nearest that is known."""
        for key in self.values:
            if key in known:
                continue
            close = difflib.get_close_matches(key, known, n=1) or [each for each in known if each.startswith(key)]
            remedy = (hints or {}).get(key) or (f"did you mean {close[0]}?" if close else "take it out")
            self.refuse([key], f"one of the keys {', '.join(known)}", key, remedy)

    def get(self, key: str, holds: Callable[[Any], bool], expected: str, remedy: str, default: Any = _MISSING) -> Any:
        """The value of a key, for which this must hold; refused where it is missing and there is no default."""
        if key not in self.values:
            if default is _MISSING:
                self.refuse([], f"the key {key}, {expected}", "none", remedy)
            return default
        if not holds(self.values[key]):
            self.refuse([key], expected, self.values[key], remedy)
        return self.values[key]

    def text(self, key: str, expected: str, remedy: str, default: Any = _MISSING) -> Any:
        return self.get(key, lambda v: isinstance(v, str) and bool(v.strip()), expected, remedy, default)

    def whole(self, key: str, least: int, remedy: str, default: Any = _MISSING) -> Any:
        found = self.values.get(key)
        expected = f"a whole number, at least {least}"
        if is_whole(found) and found > _MOST:
            expected += f" and at most {_MOST}"
        return self.get(key, lambda v: is_whole(v) and least <= v <= _MOST, expected, remedy, default)

    def table(self, key: str, remedy: str, default: Any = _MISSING) -> Table:
        """The table of a key."""
        found = self.get(key, lambda v: isinstance(v, dict), "a table", remedy, default)
        return Table(self.file, found, self.lines, (*self.path, key))

    def tables(self, remedy: str) -> Iterator[tuple[str, Table]]:
        """All values of this table, which must be tables."""
        for key in self.values:
            yield key, self.table(key, remedy)

    def listed(self, key: str, remedy: str) -> list[Table]:
        """The tables of an array of tables; none where there is none."""
        found = self.get(key, _are_tables, f"tables, each under [[{key}]]", remedy, [])
        return [Table(self.file, each, self.lines, (*self.path, key, i)) for i, each in enumerate(found)]

    @contextmanager
    def making(self) -> Iterator[None]:
        """What a value refuses, as an argument of Python's, is refused as a key of this table."""
        try:
            yield
        except InvalidInput as trouble:
            first = trouble.argument.partition(",")[0].strip().rpartition(".")[2]
            key, got, remedy = [first] if first in self.values else [], trouble.got, trouble.remedy
            if key and isinstance(self.values[first], str):
                got = f'the text "{self.values[first]}"'
                remedy = "write it without quotes" if "number" in trouble.expected else remedy
            self.refuse(key, _toml_words(trouble.expected), got, _toml_words(remedy))


def read_table(path: Path) -> Table:
    """A TOML file as a table that knows its lines."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        remedy = "give the path of a study; gainful optimise --init writes one to begin with"
        raise InvalidInput(str(path), "a file that can be read", error.strerror or str(error), remedy) from None
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        remedy = "save it as UTF-8"
        raise InvalidInput(f"{path.name}, line {line}", "text in UTF-8", "other bytes", remedy) from None
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        remedy = "text is in quotes, a table begins with [name], and each key is on a line of its own"
        raise InvalidInput(path.name, "a file in the form of TOML", str(error), remedy) from None
    return Table(path.name, values, lines_of(text))


def _reads_as_more(text: str) -> bool:
    """Whether a text looks like a number or a truth, so that its quotes have to be said."""
    try:
        float(text)
    except ValueError:
        return text.lower() in ("true", "false", "")
    return True


def _in_toml(value: object) -> object:
    """A truth as the file spells it."""
    return str(value).lower() if isinstance(value, bool) else value


def _toml_words(words: str) -> str:
    """Words about an argument of Python's, as the file spells it: log=True is log = true."""
    return _TRUTH.sub(lambda found: found[0].lower().replace("=", " = "), words)


def _are_tables(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)


def _dotted(path: Sequence[str | int]) -> str:
    out = ""
    for key in path:
        out += f"[{key + 1}]" if isinstance(key, int) else f".{key}" if out else key
    return out
