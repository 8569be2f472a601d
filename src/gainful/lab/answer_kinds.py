"""Finds out whether the answers of a table are yes/no, classes, ranks or numbers, and takes them as such.

Whoever reads the table may say it; where they do not and it is not clear, they are refused rather than guessed at.
"""

from __future__ import annotations

import difflib
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from gainful.errors import InvalidInput
from gainful.lab.csv_cells import a_word, gaps_in, listed, number_of, shown

__all__ = ["in_canonical_form", "kind_of", "require_scale", "require_variety", "say_what_is_missing"]

Array = NDArray[np.float64]

_SCALES = (1e-140, 1e140)  # standard deviations whose squares, and a few hundred of them summed, are still numbers
_MOST_RANKS = 20
MOST_CLASSES = 10  # that are learned together
_FEW_NUMBERS = 10  # so few different whole numbers may be classes, ranks or numbers, and the user has to say which

_Kind = tuple[str, tuple[str, ...], str]


def kind_of(answer: str, cells: list[str], every: list[str], yes: str | None, ranks: bool, numbers: bool) -> _Kind:
    """The kind of the answers; the classes (the others, then yes) or ranks, lowest first; what a reader should know.

    `cells` are the answers that are used, `every` all of them.
    """
    words = a_word(cells) is not None
    different = sorted(set(cells)) if words else sorted({_plain(cell) for cell in cells}, key=float)
    some = listed(different)
    if len(different) < 2:
        absent = say_what_is_missing(answer, every)
        got = f"only {some} in column {shown(answer)}" + (f"; {absent}" if absent else "")
        raise InvalidInput("answer", "at least two different answers", got, "there is nothing to learn")
    if yes is not None:
        return _one_class(answer, different, yes if words or number_of(yes) is None else _plain(yes))
    if (ranks or numbers) and words:
        got = f"{a_word(cells)!r} in column {shown(answer)}"
        raise InvalidInput("answer", f"numbers, for {'ranks' if ranks else 'numbers'}", got, "write it as a number")
    if ranks:
        return _ranks(answer, different)
    if numbers:
        return "numbers", (), ""
    if len(different) == 2:
        return _one_class(answer, different, different[1])
    if words and len(different) <= MOST_CLASSES:
        return "classes", tuple(different), f"{shown(answer)}: the classes are {some}"
    _require_numbers(answer, different, words)
    return "numbers", (), ""


def _one_class(answer: str, different: list[str], yes: str) -> _Kind:
    """One class against the others."""
    if yes not in different:
        close = difflib.get_close_matches(yes, different, n=1)
        remedy = f"did you mean {close[0]}?" if close else f"name one that column {shown(answer)} has"
        raise InvalidInput("yes", f"one of {listed(different)}", yes, remedy)
    others = tuple(each for each in different if each != yes)
    no = shown(others[0]) if len(others) == 1 else f"any of {len(others)} others"
    return "yes/no", (*others, yes), f"{shown(answer)}: yes is {shown(yes)}, no is {no}"


def _ranks(answer: str, different: list[str]) -> _Kind:
    some = listed(different)
    if not 3 <= len(different) <= _MOST_RANKS:
        remedy = "two classes need no ranks" if len(different) < 3 else "take them as numbers"
        raise InvalidInput("ranks", f"3 to {_MOST_RANKS} different ranks", f"{len(different)} ({some})", remedy)
    return "ranks", tuple(different), f"{shown(answer)}: ranks from lowest to highest are {some}"


def _require_numbers(answer: str, different: list[str], words: bool) -> None:
    """Refuse answers of which nobody said what they are, unless they can only be numbers."""
    some = listed(different)
    if words:
        got = f"{len(different)} in column {shown(answer)}: {some}"
        remedy = 'name one class against the others with yes="CLASS"'
        raise InvalidInput("answer", f"two to {MOST_CLASSES} classes, or numbers", got, remedy)
    if len(different) <= _FEW_NUMBERS and all(float(each).is_integer() for each in different):
        got = f"the whole numbers {some} in column {shown(answer)}"
        remedy = 'say yes="CLASS" for one against the others, ranks=True or numbers=True'
        raise InvalidInput("answer", "answers of a kind that is clear", got, remedy)


def in_canonical_form(kind: str, levels: tuple[str, ...], cells: list[str]) -> Array:
    """The answers as instruments take them: 0 and 1, classes from 0, ranks from 1, or numbers."""
    if kind == "numbers":
        return np.array([float(cell) for cell in cells])
    named = cells if a_word(levels) is not None else [_plain(cell) for cell in cells]
    if kind == "yes/no":
        return np.array([float(cell == levels[-1]) for cell in named])
    if kind == "classes":
        return np.array([float(levels.index(cell)) for cell in named])
    return np.array([1.0 + levels.index(cell) for cell in named])


def _plain(cell: str) -> str:
    """A number as the user would write it: 1.0 and 1 are the same class."""
    return f"{float(cell):.15g}"


def require_variety(answer: str, kind: str, answers: Array) -> None:
    """After rows were left out there may be too little to learn."""
    if kind == "yes/no" and not 5 <= answers.sum() <= len(answers) - 5:
        rare = min(int(answers.sum()), len(answers) - int(answers.sum()))
        raise InvalidInput("answer", "at least 5 rows of yes and of no", f"{rare} of one in column {shown(answer)}",
                           "too few to split; collect more rows, or name another class with yes=...")  # fmt: skip
    if kind == "classes":
        rarest = int(np.min(np.unique(answers, return_counts=True)[1]))
        expected, got = "at least 5 rows of every class", f"{rarest} of one in column {shown(answer)}"
        remedy = 'collect more rows, leave that class out, or take one against the others with yes="CLASS"'
        if rarest < 5:
            raise InvalidInput("answer", expected, got, remedy)
    if kind == "numbers":
        if np.all(answers == answers[0]):
            got = f"one number in column {shown(answer)}"
            raise InvalidInput("answer", "different numbers", got, "there is nothing to learn")
        require_scale("answer", answer, answers, "change its unit")


def say_what_is_missing(answer: str, cells: list[str]) -> str:
    """Which words of the answers were taken as missing, and how often; nothing about empty cells."""
    found = Counter(cell for cell, gap in zip(cells, gaps_in(cells), strict=True) if gap and cell)
    if not found:
        return ""
    return f"in {shown(answer)} " + ", ".join(f"{cell!r} counts as missing ({n})" for cell, n in found.items())


def require_scale(argument: str, name: str, numbers: Array, remedy: str) -> None:
    """Refuse numbers so large or small that their squares are not numbers any more."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        spread = numbers.std(axis=0)
    if not np.all((spread > _SCALES[0]) & (spread < _SCALES[1])):  # also where it is nan
        got = f"{numbers.min():.3g} to {numbers.max():.3g} in column {shown(name)}"
        raise InvalidInput(argument, "numbers that can be scaled", got, remedy)
