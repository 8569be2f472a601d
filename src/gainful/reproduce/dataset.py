"""A user's own table as a data set: numbers to predict from, answers to predict, and what was left out to get there.

The table is a CSV file in UTF-8 with a header. Nothing is left out in silence: every column and row that is not used is
counted in `notes`.
"""

from __future__ import annotations

import csv
import difflib
import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gainful.errors import InvalidInput

__all__ = ["Dataset", "read_dataset", "reread"]

Array = NDArray[np.float64]

_MISSING = frozenset({"", "na", "n/a", "nan", "?", "null", "none"})
_MOST_WORDS = 10  # different words of a text column that can be an input, each a column of its own
_MOST_RANKS = 20
_FEW_NUMBERS = 10  # so few different whole numbers may be classes, ranks or numbers, and the user has to say which
FEWEST_ROWS = 20


@dataclass(frozen=True, eq=False)
class Dataset:
    """Standardised inputs X (N, D) at distinct places, and their answers (N,): 0 and 1, ranks from 1, or numbers.

    `kind` is "yes/no", "ranks" or "numbers"; `inputs` are columns of the table; `yes` is the class that is "yes", and
    `ranks` are the values behind the ranks 1, 2, ….
    """

    path: str
    sha256: str
    answer: str
    kind: str
    inputs: tuple[str, ...]
    yes: str | None
    ranks: tuple[float, ...]
    X: Array
    answers: Array
    notes: tuple[str, ...]


def read_dataset(
    table: str | Path,
    answer: str,
    *,
    inputs: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    yes: str | None = None,
    ranks: bool = False,
    numbers: bool = False,
) -> Dataset:
    """The data set in a CSV file whose column `answer` holds the answers.

    Inputs are the columns of numbers but for those in `drop` and for columns that count the rows, or the columns named
    in `inputs`, where a column of words becomes one column of 0 and 1 for each word. Two classes are yes/no answers,
    `yes` naming the yes, by default the later one in order; with more classes `yes` is one against all others. `ranks`
    says that numbers are ranks, `numbers` that a few whole numbers are meant as numbers. Rows with missing values are
    left out, as are constant columns; of rows with the same inputs the first counts.
    """
    if sum([yes is not None, ranks, numbers]) > 1:
        raise InvalidInput("yes, ranks, numbers", "at most one of them", "several", "an answer is of one kind")
    content = _content(table)
    header, cells = _cells(str(table), content)
    _require_columns("answer", [answer], header)
    names = _inputs(header, answer, inputs, drop)
    _require_columns("inputs", names, header)
    notes = []
    if inputs is None:
        words = {name: word for name in names if (word := _a_word(cells[name])) is not None}
        names = [name for name in names if name not in words]
        if words:
            listed = ", ".join(f"{name} (has {word!r})" for name, word in words.items())
            notes.append(f"{_count(len(words), 'column')} of words left out: {listed}")
        counting = [name for name in names if _counts_rows(cells[name])]
        names = [name for name in names if name not in counting]
        if counting:
            notes.append(f"{_count(len(counting), 'column')} of row numbers left out: {', '.join(counting)}")
    used, constant, rows = _varying(cells, names, answer)
    incomplete = len(cells[answer]) - len(rows)
    if incomplete:
        gaps = {name: sum(not _present(cell) for cell in cells[name]) for name in (*used, answer)}
        listed = ", ".join(f"{name} {count}" for name, count in gaps.items() if count)
        notes.append(f"{_count(incomplete, 'row')} with missing values left out (by column: {listed})")
    if constant:
        notes.append(f"{_count(len(constant), 'constant column')} left out: {', '.join(constant)}")
    _require_rows(table, len(rows))
    if not used:
        remedy = "name columns with --inputs, words included"
        raise InvalidInput("inputs", "at least one column of numbers that vary", f"none in {table}", remedy)
    told = [cells[answer][i] for i in rows]
    kind, levels, said = _kind(answer, told, yes, ranks, numbers)
    X = _standardised(table, np.column_stack([_columns(name, [cells[name][i] for i in rows]) for name in used]))
    X, first = np.unique(X, axis=0, return_index=True)
    if len(X) < len(rows):
        repeated = _count(len(rows) - len(X), "row")
        notes.append(f"{repeated} with the inputs of an earlier one left out: a place is asked once")
    _require_rows(table, len(X))
    answers = _answers(kind, levels, [told[i] for i in first])
    _require_variety(answer, kind, answers)
    return Dataset(
        path=str(table),
        sha256=hashlib.sha256(content).hexdigest(),
        answer=answer,
        kind=kind,
        inputs=tuple(used),
        yes=levels[-1] if kind == "yes/no" else None,
        ranks=tuple(float(level) for level in levels) if kind == "ranks" else (),
        X=X,
        answers=answers,
        notes=(*notes, *([said] if said else [])),
    )


@lru_cache(maxsize=4)
def reread(path: str, sha256: str, answer: str, kind: str, inputs: tuple[str, ...], yes: str | None) -> Dataset:
    """The same data set again, as in another process; refused if the file is another one by now."""
    came = hashlib.sha256(_content(path)).hexdigest()
    if came != sha256:
        expected = f"the table as it was, SHA-256 {sha256[:12]}…"
        raise InvalidInput("table", expected, f"{came[:12]}… at {path}", "put it back, or start over with --fresh")
    return read_dataset(path, answer, inputs=inputs, yes=yes, ranks=kind == "ranks", numbers=kind == "numbers")


def _content(table: str | Path) -> bytes:
    try:
        return Path(table).read_bytes()
    except OSError as error:
        remedy = f"{error.strerror or error}; give the path of a CSV file, on a cluster one that all workers see"
        raise InvalidInput("table", "a file that can be read", str(table), remedy) from None


def _cells(table: str, content: bytes) -> tuple[list[str], dict[str, list[str]]]:
    """The header, and the cells of each column without blanks around them."""
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
    twice = [name for name in header if header.count(name) > 1]
    if twice or "" in header:
        got = f"{twice[0]!r} twice" if twice and twice[0] else "a column without a name"
        raise InvalidInput("table", "a header of different names", got, "the first line names the columns")
    if len(header) == 1 and any(mark in header[0] for mark in ";\t"):
        raise InvalidInput(
            "table", "columns divided by commas", header[0], "save it with commas, and points in numbers"
        )
    for number, line in lines[1:]:
        if len(line) != len(header):
            got = f"{len(line)} in line {number} of {table}"
            raise InvalidInput("table", f"{len(header)} cells in every row, as in the header", got, "mend that line")
    return header, {name: [line[i].strip() for _, line in lines[1:]] for i, name in enumerate(header)}


def _numbered(text: str) -> list[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    return [(reader.line_num, line) for line in reader]


def _require_columns(argument: str, names: Sequence[str], header: Sequence[str]) -> None:
    for name in names:
        if name not in header:
            close = difflib.get_close_matches(name, header, n=1)
            remedy = f"did you mean {close[0]}?" if close else "names are as in the header"
            raise InvalidInput(argument, f"a column among {', '.join(header)}", name, remedy)


def _require_rows(table: str | Path, count: int) -> None:
    if count < FEWEST_ROWS:
        got = f"{count} in {table}"
        raise InvalidInput("table", f"at least {FEWEST_ROWS} different rows without gaps", got, "collect more rows")


def _inputs(header: list[str], answer: str, inputs: Sequence[str] | None, drop: Sequence[str]) -> list[str]:
    _require_columns("drop", drop, header)
    if answer in (*drop, *(inputs or ())):
        raise InvalidInput("inputs, drop", "columns other than the answer", answer, "the answer is what is predicted")
    return [name for name in (header if inputs is None else inputs) if name not in (answer, *drop)]


def _present(cell: str) -> bool:
    number = _number(cell)
    return cell.lower() not in _MISSING and (number is None or bool(np.isfinite(number)))


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _value(cell: str) -> float | str:
    number = _number(cell)
    return cell if number is None else number


def _a_word(cells: Sequence[str]) -> str | None:
    """The first cell that is no number, if there is one."""
    return next((cell for cell in cells if _present(cell) and _number(cell) is None), None)


def _varying(cells: dict[str, list[str]], names: list[str], answer: str) -> tuple[list[str], list[str], list[int]]:
    """The columns that vary, those that do not, and the rows without gaps in the former and in the answer."""
    used, constant = list(names), list[str]()
    while True:
        rows = [i for i in range(len(cells[answer])) if all(_present(cells[name][i]) for name in (*used, answer))]
        fixed = [name for name in used if len({_value(cells[name][i]) for i in rows}) < 2]
        if not fixed or not rows:
            return used, constant, rows
        used, constant = [name for name in used if name not in fixed], [*constant, *fixed]


def _standardised(table: str | Path, X: Array) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        out = (X - X.mean(axis=0)) / X.std(axis=0)
    if not np.isfinite(out).all():
        raise InvalidInput("inputs", "numbers that can be scaled", f"some beyond that in {table}", "change their unit")
    return np.asarray(out)


def _counts_rows(cells: Sequence[str]) -> bool:
    """Whether it says 0, 1, 2, … or 1, 2, 3, …, as tables do that were saved with the names of their rows."""
    numbers = [_number(cell) for cell in cells]
    return any(numbers == [float(i) for i in range(start, start + len(cells))] for start in (0, 1))


def _columns(name: str, cells: list[str]) -> Array:
    """One column of numbers, or of words one column for each, (N, 1 or more); of two words the second is enough."""
    if _a_word(cells) is None:
        return np.array([[float(cell)] for cell in cells])
    words = sorted(set(cells))
    if len(words) > _MOST_WORDS:
        got = f"{name} with {len(words)} different words, such as {_a_word(cells)!r}"
        raise InvalidInput("inputs", f"numbers, or at most {_MOST_WORDS} different words", got, "leave it out")
    return np.array([[float(cell == word) for word in (words[1:] if len(words) <= 2 else words)] for cell in cells])


def _kind(
    answer: str, cells: list[str], yes: str | None, ranks: bool, numbers: bool
) -> tuple[str, tuple[str, ...], str]:
    """The kind of the answers; the classes (the others, then yes) or ranks, lowest first; what a reader should know."""
    words = _a_word(cells) is not None
    different = sorted(set(cells)) if words else sorted({_plain(cell) for cell in cells}, key=float)
    shown = ", ".join(different[:_FEW_NUMBERS]) + (", …" if len(different) > _FEW_NUMBERS else "")
    if len(different) < 2:
        got = f"only {shown} in column {answer}"
        raise InvalidInput("answer", "at least two different answers", got, "there is nothing to learn")
    if yes is not None:
        yes = yes if words or _number(yes) is None else _plain(yes)
        if yes not in different:
            close = difflib.get_close_matches(yes, different, n=1)
            remedy = f"did you mean {close[0]}?" if close else f"name one that column {answer} has"
            raise InvalidInput("yes", f"one of {shown}", yes, remedy)
        others = tuple(each for each in different if each != yes)
        no = others[0] if len(others) == 1 else f"any of {len(others)} others"
        return "yes/no", (*others, yes), f"{answer}: yes is {yes}, no is {no}"
    if (ranks or numbers) and words:
        got = f"{_a_word(cells)!r} in column {answer}"
        raise InvalidInput("answer", f"numbers, for {'ranks' if ranks else 'numbers'}", got, "write it as a number")
    if ranks:
        if not 3 <= len(different) <= _MOST_RANKS:
            remedy = "two classes need no ranks" if len(different) < 3 else "take them as numbers"
            raise InvalidInput("ranks", f"3 to {_MOST_RANKS} different ranks", f"{len(different)} ({shown})", remedy)
        return "ranks", tuple(different), f"{answer}: ranks from lowest to highest are {shown}"
    if len(different) == 2 and not numbers:
        return "yes/no", tuple(different), f"{answer}: yes is {different[1]}, no is {different[0]}"
    if words:
        got = f"{len(different)} in column {answer}: {shown}"
        raise InvalidInput(
            "answer", "two classes, or numbers", got, "name one class against the others with --yes CLASS"
        )
    few = len(different) <= _FEW_NUMBERS and all(float(each).is_integer() for each in different)
    if few and not numbers:
        got = f"the whole numbers {shown} in column {answer}"
        remedy = "say --yes CLASS for one against the others, --ranks or --numbers"
        raise InvalidInput("answer", "answers of a kind that is clear", got, remedy)
    return "numbers", (), ""


def _answers(kind: str, levels: tuple[str, ...], cells: list[str]) -> Array:
    if kind == "numbers":
        return np.array([float(cell) for cell in cells])
    named = cells if _a_word(levels) is not None else [_plain(cell) for cell in cells]
    if kind == "yes/no":
        return np.array([float(cell == levels[-1]) for cell in named])
    return np.array([1.0 + levels.index(cell) for cell in named])


def _plain(cell: str) -> str:
    """A number as the user would write it: 1.0 and 1 are the same class."""
    return f"{float(cell):.15g}"


def _require_variety(answer: str, kind: str, answers: Array) -> None:
    """After rows were left out there may be too little to learn."""
    if kind == "yes/no" and not 5 <= answers.sum() <= len(answers) - 5:
        rare = min(int(answers.sum()), len(answers) - int(answers.sum()))
        raise InvalidInput("answer", "at least 5 rows of yes and of no", f"{rare} of one in column {answer}",
                           "too few to split; collect more rows, or name another class with --yes")  # fmt: skip
    if kind == "numbers" and np.ptp(answers) == 0.0:
        raise InvalidInput("answer", "different numbers", f"one number in column {answer}", "there is nothing to learn")


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
