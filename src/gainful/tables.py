"""Tables that are larger than they should be in memory: the columns that are needed, read piece by piece from a file.

A `.npy` file is mapped, not loaded; of a Parquet file one row group is in memory at a time. What is kept is one array
of inputs and one of answers, of floats. Nothing is left out in silence: a gap or a word is refused with its row.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainful.checks import is_whole, listed
from gainful.errors import InvalidInput, MissingExtra

__all__ = ["Table", "read_table"]

Array = NDArray[np.float64]
Name = str | int  # of a column: its name, or its number in an array that has no names

_ROWS = 2**16  # at a time


@dataclass(frozen=True, eq=False)
class Table:
    """Inputs X (N, D) and answers (N,) from a file, with what their columns are called there."""

    inputs: tuple[Name, ...]
    answer: Name
    X: Array = field(repr=False)
    answers: Array = field(repr=False)

    def __len__(self) -> int:
        return len(self.answers)


def read_table(table: str | Path, answer: Name, *, inputs: Sequence[Name] | None = None) -> Table:
    """The inputs and answers in a `.npy` or Parquet file, read piece by piece.

    `answer` is the column of the answers, `inputs` are those of the places, by default all others. Columns are called
    by name; those of a plain array (N, D) in a `.npy` file by number, −1 for the last. Beside the numbers that are
    asked for, memory holds one row group of a Parquet file (which needs the extra gainful[parquet]), or some rows of a
    `.npy` file.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> np.save(f"{folder.name}/readings.npy", np.arange(12.0).reshape(4, 3))
    >>> found = read_table(f"{folder.name}/readings.npy", answer=-1)
    >>> found, found.X.shape, found.answers.tolist()
    (Table(inputs=(0, 1), answer=2), (4, 2), [2.0, 5.0, 8.0, 11.0])
    >>> folder.cleanup()
    """
    path = _path(table)
    readers = {".npy": _npy, ".parquet": _parquet, ".pq": _parquet}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        remedy = "save an array with np.save, or a DataFrame with its to_parquet"
        raise InvalidInput("table", "a file that ends in .npy or .parquet", str(table), remedy)
    with reader(path) as found:
        own = _known("answer", answer, found.columns)
        others = _all_but(own, found) if inputs is None else _inputs(inputs, own, found)
        for name in (*others, own):
            _require_numbers(name, found.columns[name], "answer" if name == own else "inputs")
        X, answers, start = np.empty((found.rows, len(others))), np.empty(found.rows), 0
        for piece in found.pieces([*others, own]):
            rows = slice(start, start + len(piece[-1]))
            for name, column, out in zip([*others, own], piece, [*X[rows].T, answers[rows]], strict=True):
                out[...] = column
                _require_finite(name, out, start, "answer" if name == own else "inputs")
            start = rows.stop
    return Table(tuple(others), own, X, answers)


class _File(NamedTuple):
    """An open file: how many rows, its columns with the kind of each, and the columns that are asked for, some rows at
    a time."""

    rows: int
    columns: dict[Name, str]
    pieces: Any


@contextmanager
def _npy(path: Path) -> Iterator[_File]:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InvalidInput("table", "an array as np.save writes it", str(path), str(error)) from None
    names = array.dtype.names
    if not (array.ndim == 1 if names else array.ndim == 2):
        remedy = "one column per input and one for the answers; arrays of their own go into Data.add as they are"
        raise InvalidInput("table", "an array of shape (n, d), or of named columns", f"shape {array.shape}", remedy)
    kinds = {"f": "numbers", "i": "numbers", "u": "numbers", "b": "True or False", "U": "text", "S": "text"}

    def kind(dtype: np.dtype[Any]) -> str:
        return "several numbers each" if dtype.shape else kinds.get(dtype.kind, str(dtype))

    def pieces(wanted: list[Name]) -> Iterator[list[Any]]:
        for start in range(0, len(array), _ROWS):
            some = array[start : start + _ROWS]
            yield [some[name] if names else some[:, name] for name in wanted]

    columns = (
        {each: array.dtype[each] for each in names} if names else dict.fromkeys(range(array.shape[1]), array.dtype)
    )
    yield _File(len(array), {name: kind(dtype) for name, dtype in columns.items()}, pieces)


@contextmanager
def _parquet(path: Path) -> Iterator[_File]:
    try:
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise MissingExtra("a Parquet file", "parquet") from None
    try:
        file = parquet.ParquetFile(path, memory_map=True)
    except (OSError, arrow.ArrowException) as error:
        raise InvalidInput("table", "a Parquet file", str(path), str(error)) from None

    def kind(of: Any) -> str:
        types = arrow.types
        if types.is_floating(of) or types.is_integer(of) or types.is_decimal(of):
            return "numbers"
        text = types.is_string(of) or types.is_large_string(of) or types.is_dictionary(of)
        return "True or False" if types.is_boolean(of) else "text" if text else str(of)

    def pieces(wanted: list[Name]) -> Iterator[list[Any]]:
        for group in range(file.num_row_groups):
            for batch in file.iter_batches(batch_size=_ROWS, row_groups=[group], columns=wanted):
                columns = [batch.column(name).cast(arrow.float64(), safe=False) for name in wanted]
                yield [column.to_numpy(zero_copy_only=False) for column in columns]  # NaN where there is no value

    names = file.schema_arrow.names
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidInput("table", "columns with names of their own", f"{twice!r} twice in {path}", "rename one")
    with file:
        yield _File(file.metadata.num_rows, {each.name: kind(each.type) for each in file.schema_arrow}, pieces)


def _path(table: object) -> Path:
    if not isinstance(table, str | os.PathLike):
        raise InvalidInput("table", "the path of a .npy or Parquet file", table, "what is in memory goes to Data.add")
    path = Path(table)
    if not path.is_file():
        raise InvalidInput("table", "a file that is there", str(table), "check the path")
    return path


def _known(argument: str, name: object, columns: dict[Name, str]) -> Name:
    """The column of this name, or of this number, counted from the end where it is negative."""
    numbered = not columns or is_whole(next(iter(columns)))
    if numbered and is_whole(name) and -len(columns) <= name < len(columns):
        return int(name) % len(columns)
    if not numbered and isinstance(name, str) and name in columns:
        return name
    words = [str(each) for each in columns]
    close = difflib.get_close_matches(str(name), words, n=1)
    remedy = f"did you mean {close[0]!r}?" if close and not numbered else "see what the file has"
    expected = f"a column number below {len(words)}" if numbered else f"a column among {words[:20]}"
    raise InvalidInput(argument, expected, name, remedy)


def _all_but(answer: Name, found: _File) -> list[Name]:
    index = [each for each in found.columns if str(each).startswith("__index_level_")]  # as pandas writes one
    if index:
        remedy = "name the columns that are inputs, or write the table with index=False"
        raise InvalidInput("inputs", "a list of columns, for a table with an index", f"{index[0]!r} among them", remedy)
    return [each for each in found.columns if each != answer]


def _inputs(inputs: object, answer: Name, found: _File) -> list[Name]:
    several = listed(inputs)
    if not several:
        raise InvalidInput("inputs", "a list of columns, one at least", inputs, "leave it out to take all others")
    names = [_known("inputs", each, found.columns) for each in several]
    if len(set(names)) < len(names) or answer in names:
        expected = f"each column once, and not that of the answers, {answer!r}"
        raise InvalidInput("inputs", expected, inputs, "name each input once")
    return names


def _require_numbers(name: Name, kind: str, argument: str) -> None:
    if kind == "numbers" or (kind == "True or False" and argument == "answer"):
        return
    remedy = "make numbers of it before" if argument == "answer" else "leave it out: inputs=[...]"
    raise InvalidInput(argument, "columns of numbers", f"{name!r} with {kind}", remedy)


def _require_finite(name: Name, values: Array, start: int, argument: str) -> None:
    finite = np.isfinite(values)
    if not finite.all():
        row = int(np.argmin(finite))
        got = f"{values[row]} in column {name!r}, row {start + row}"
        raise InvalidInput(
            argument, "a finite number in every row", got, "remove or repair the row; missing values are NaN"
        )
