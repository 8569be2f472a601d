"""Reads a user's own table as a data set: inputs, answers, and what was left out to get there.

The table is a CSV file in UTF-8 with a header. Nothing is left out in silence: every column and row that is not used is
counted in `notes`.
"""

from __future__ import annotations

import difflib
import hashlib
import os
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gainful.errors import InvalidInput
from gainful.lab.answer_kinds import (
    in_canonical_form,
    kind_of,
    require_scale,
    require_variety,
    say_what_is_missing,
)
from gainful.lab.csv_cells import a_word, cells_of, content_of, gaps_in, listed, number_of, shown, value_of

__all__ = ["Dataset", "read_dataset", "reread"]

Array = NDArray[np.float64]

_MOST_WORDS = 10  # different words of a text column that can be an input, each a column of its own
FEWEST_ROWS = 20


@dataclass(frozen=True, eq=False)
class Dataset:
    """Standardised inputs X (N, D) at distinct places, and answers (N,): 0 and 1, classes from 0, ranks from 1, …

    `kind` is "yes/no", "classes", "ranks" or "numbers"; `inputs` are columns of the table; `yes` is the class that is
    "yes", `ranks` are the values behind the ranks 1, 2, …, and `classes` the words behind the classes 0, 1, ….
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
    classes: tuple[str, ...] = ()


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
    `yes` naming the yes, by default the later one in order; with more classes `yes` is one against all others, and
    without it up to ten words are classes that are learned together. `ranks` says that numbers are ranks, `numbers`
    that a few whole numbers are meant as numbers. Rows with missing values are left out, as are constant columns and,
    unless named in `inputs`, columns that are empty in most rows; of rows with the same inputs the first counts.
    """
    _require_types(table, answer, inputs, drop, yes)
    if sum([yes is not None, ranks, numbers]) > 1:
        raise InvalidInput("yes, ranks, numbers", "at most one of them", "several", "an answer is of one kind")
    content = content_of(table)
    header, cells = cells_of(str(table), content)
    _require_columns("answer", [answer], header)
    used, rows, notes = _usable_rows(table, header, cells, answer, inputs, drop)
    told = [cells[answer][i] for i in rows]
    kind, levels, said = kind_of(answer, told, cells[answer], yes, ranks, numbers)
    X = np.column_stack([_standardised(name, _columns(name, [cells[name][i] for i in rows])) for name in used])
    X, first, place = np.unique(X, axis=0, return_index=True, return_inverse=True)
    everything = in_canonical_form(kind, levels, told)
    answers = everything[first]
    if len(X) < len(rows):
        notes.append(_repeats(kind, everything, answers, everything != answers[place.ravel()]))
    _require_rows(table, len(X), _gaps(cells, [*used, answer]))
    require_variety(answer, kind, answers)
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
        classes=levels if kind == "classes" else (),
    )


def _usable_rows(
    table: str | Path,
    header: list[str],
    cells: dict[str, list[str]],
    answer: str,
    inputs: Sequence[str] | None,
    drop: Sequence[str],
) -> tuple[list[str], list[int], list[str]]:
    """The columns that are inputs, the rows that have all of them and an answer, and what was left out."""
    names, notes = _inputs(header, answer, inputs, drop), list[str]()
    if inputs is None:
        names, notes = _usable(cells, names)
    used, constant, rows = _varying(cells, names, answer)
    gaps = _gaps(cells, [*used, answer])
    if len(rows) < len(cells[answer]):
        notes.append(_incomplete(cells[answer], answer, gaps, len(cells[answer]) - len(rows)))
    if constant:
        notes.append(f"{_count(len(constant), 'constant column')} left out: {listed(constant)}")
    _require_rows(table, len(rows), gaps)
    if not used:
        remedy = "name columns with inputs=[...], words included"
        raise InvalidInput("inputs", "at least one column of numbers that vary", f"none in {table}", remedy)
    if inputs is None:
        notes += [
            f"{shown(name)} looks like an identifier; drop it, if it is one"
            for name in used
            if _identifies([cells[name][i] for i in rows])
        ]
    return used, rows, notes


def _gaps(cells: dict[str, list[str]], names: Sequence[str]) -> dict[str, int]:
    """How many gaps each column has."""
    return {name: sum(gaps_in(cells[name])) for name in names}


@lru_cache(maxsize=4)
def reread(path: str, sha256: str, answer: str, kind: str, inputs: tuple[str, ...], yes: str | None) -> Dataset:
    """The same data set again, as in another process; refused if the file is another one by now."""
    came = hashlib.sha256(content_of(path)).hexdigest()
    if came != sha256:
        expected = f"the table as it was, SHA-256 {sha256[:12]}…"
        raise InvalidInput("table", expected, f"{came[:12]}… at {path}", "put it back, or start over with fresh=True")
    return read_dataset(path, answer, inputs=inputs, yes=yes, ranks=kind == "ranks", numbers=kind == "numbers")


def _require_types(table: object, answer: object, inputs: object, drop: object, yes: object) -> None:
    if not isinstance(table, str | os.PathLike):
        raise InvalidInput("table", "the path of a CSV file", table, "write a table in memory to a file first")
    if not isinstance(answer, str):
        raise InvalidInput("answer", "the name of a column", answer, "names are as in the header")
    for argument, names in (("inputs", inputs), ("drop", drop)):
        if names is None and argument == "inputs":
            continue
        if isinstance(names, str):
            raise InvalidInput(argument, "a list of names", f"one string, {names!r}", f"give a list, [{names!r}]")
        if not isinstance(names, Collection) or not all(isinstance(name, str) for name in names):
            raise InvalidInput(argument, "a list of names", names, "names are as in the header")
    if yes is not None and not isinstance(yes, str):
        raise InvalidInput("yes", "a class, as the table writes it", yes, f"give a string, {str(yes)!r}")


def _usable(cells: dict[str, list[str]], names: list[str]) -> tuple[list[str], list[str]]:
    """Of columns that nobody named those of numbers that are mostly there, and notes about the others."""
    notes = []
    filled = {name: len(cells[name]) - sum(gaps_in(cells[name])) for name in names}
    empty = [name for name in names if 2 * filled[name] < len(cells[name])]
    words = {name: word for name in names if name not in empty and (word := a_word(cells[name])) is not None}
    counting = [name for name in names if name not in (*empty, *words) and _counts_rows(cells[name])]
    if words:
        those = listed(f"{shown(name)} (has {shown(word)!r})" for name, word in words.items())
        notes.append(f"{_count(len(words), 'column')} of words left out: {those}")
    if counting:
        notes.append(f"{_count(len(counting), 'column')} of row numbers left out: {listed(counting)}")
    if empty:
        those = listed(f"{shown(name)} ({filled[name]} of {len(cells[name])} rows have a value)" for name in empty)
        notes.append(f"{_count(len(empty), 'column')} with too many gaps left out: {those}")
    return [name for name in names if name not in {*empty, *words, *counting}], notes


def _incomplete(answers: list[str], answer: str, gaps: dict[str, int], count: int) -> str:
    """What is said about rows with gaps: by which columns, and what the answer's were."""
    those = listed(f"{shown(name)} {number}" for name, number in gaps.items() if number)
    note = f"{_count(count, 'row')} with missing values left out (by column: {those})"
    return note + (f"; {said}" if (said := say_what_is_missing(answer, answers)) else "")


def _repeats(kind: str, before: Array, after: Array, other: NDArray[np.bool_]) -> str:
    """What is said about rows at places that were there before; `other` are those with another answer."""
    differing = f"{np.sum(other)} of them" if other.any() else "none"
    repeated = _count(len(before) - len(after), "row")
    note = f"{repeated} with the inputs of an earlier one left out, {differing} with another answer"
    note += ": a place is asked once"
    if kind == "yes/no" and abs(before.mean() - after.mean()) > 0.01:
        note += f"; {100 * before.mean():.1f} % were yes before, {100 * after.mean():.1f} % are now"
    return note


def _require_columns(argument: str, names: Sequence[str], header: Sequence[str]) -> None:
    for name in names:
        if name not in header:
            close = [each for each in header if each.lower() == name.lower()]
            close += difflib.get_close_matches(name, header, n=1)
            remedy = f"did you mean {shown(close[0])}?" if close else "names are as in the header"
            raise InvalidInput(argument, f"a column among {listed(header)}", name, remedy)


def _require_rows(table: str | Path, count: int, gaps: dict[str, int]) -> None:
    if count >= FEWEST_ROWS:
        return
    most = sorted((name for name in gaps if gaps[name]), key=lambda name: -gaps[name])[:3]
    remedy = "collect more rows"
    if most:
        those = ", ".join(f"{shown(name)} ({gaps[name]})" for name in most)
        remedy = f"most gaps are in {those}: leave columns out with drop=[...]"
    raise InvalidInput("table", f"at least {FEWEST_ROWS} different rows without gaps", f"{count} in {table}", remedy)


def _inputs(header: list[str], answer: str, inputs: Sequence[str] | None, drop: Sequence[str]) -> list[str]:
    for argument, names in (("inputs", inputs or ()), ("drop", drop)):
        _require_columns(argument, names, header)
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            raise InvalidInput(argument, "every column once", f"{shown(twice[0])} twice", "name it once")
    if answer in (*drop, *(inputs or ())):
        raise InvalidInput("inputs, drop", "columns other than the answer", answer, "the answer is what is predicted")
    return [name for name in (header if inputs is None else inputs) if name not in (answer, *drop)]


def _varying(cells: dict[str, list[str]], names: list[str], answer: str) -> tuple[list[str], list[str], list[int]]:
    """The columns that vary, those that do not, and the rows without gaps in the former and in the answer."""
    used, constant = list(names), list[str]()
    gaps = {name: np.array(gaps_in(cells[name]), dtype=bool) for name in (*names, answer)}
    while True:
        rows = np.flatnonzero(~np.any([gaps[name] for name in (*used, answer)], axis=0)).tolist()
        fixed = {name for name in used if len({value_of(cells[name][i]) for i in rows}) < 2}
        if not fixed or not rows:
            return used, constant, rows
        constant += [name for name in used if name in fixed]
        used = [name for name in used if name not in fixed]


def _standardised(name: str, columns: Array) -> Array:
    require_scale("inputs", name, columns, f"change its unit, or leave it out with drop=[{shown(name)!r}]")
    return np.asarray((columns - columns.mean(axis=0)) / columns.std(axis=0))


def _identifies(cells: Sequence[str]) -> bool:
    """Whether whole numbers go up from row to row and hardly one comes twice."""
    numbers = np.array([number for cell in cells if (number := number_of(cell)) is not None])
    if len(numbers) < max(len(cells), FEWEST_ROWS) or (numbers != np.floor(numbers)).any():
        return False
    return bool((np.diff(numbers) >= 0.0).all()) and len(np.unique(numbers)) > 0.95 * len(numbers)


def _counts_rows(cells: Sequence[str]) -> bool:
    """Whether it says 0, 1, 2, … or 1, 2, 3, …, as tables do that were saved with the names of their rows."""
    numbers = [number_of(cell) for cell in cells]
    return any(numbers == [float(i) for i in range(start, start + len(cells))] for start in (0, 1))


def _columns(name: str, cells: list[str]) -> Array:
    """One column of numbers, or of words one column for each, (N, 1 or more); of two words the second is enough."""
    if a_word(cells) is None:
        return np.array([[float(cell)] for cell in cells])
    words = sorted(set(cells))
    if len(words) > _MOST_WORDS:
        got = f"{name} with {len(words)} different words, such as {a_word(cells)!r}"
        raise InvalidInput("inputs", f"numbers, or at most {_MOST_WORDS} different words", got, "leave it out")
    return np.array([[float(cell == word) for word in (words[1:] if len(words) <= 2 else words)] for cell in cells])


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
