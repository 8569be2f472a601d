"""Parts of a function in plain words, with their numbers as people write them.

    LIN          a straight trend
    PER          a cycle that repeats every 12.0 (11.9 to 12.1) months
    PER × SE     a cycle that repeats every 12.0 (11.9 to 12.1) months and changes its shape over about 40 (30 to 55)
    LIN × PER    a cycle …, whose size grows with time

A number is told by its median and the range that holds 90 % of it, in the unit of its input.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.beliefs.programs.components import Term
from gainful.beliefs.programs.language import Program
from gainful.beliefs.programs.units import Units

__all__ = ["Axis", "Said", "Speech", "percent", "phrase", "quantiles", "span"]

Array = NDArray[np.float64]

_RANGE = (0.05, 0.5, 0.95)  # what is said of a number: its median, and between which ends 90 % of it lie
_APART = 1.2  # times: two periods further apart than this are two answers, not one that is uncertain
_WORTH = 0.05  # the least share of an answer that is worth a word
_SYMBOLS = {"SE": "smooth", "RQ": "smooth", "MAT": "rough"}


class Axis(Protocol):
    """How one input is spoken of: what it is called, where it begins and ends, an extent along it, a place on it."""

    @property
    def name(self) -> str: ...

    @property
    def ends(self) -> tuple[float, float]: ...

    def extent(self, ends: ArrayLike) -> str:
        """A length, a period, a duration, with its range: low, middle and high."""

    def place(self, ends: ArrayLike) -> str:
        """Where something is, with its range."""


@dataclass(frozen=True)
class Said:
    """An input as its space has it: numbers in a unit. Of one that varies over orders of magnitude, kernels see the
    logarithm, and an extent is a factor."""

    name: str
    unit: str
    ends: tuple[float, float]
    log: bool = False
    origin: float = 1.0

    def extent(self, ends: ArrayLike) -> str:
        if self.log:
            return f"a factor of {span(np.exp(np.minimum(ends, 700.0)))}"
        return span(ends, self.unit)

    def place(self, ends: ArrayLike) -> str:
        return f"{self.name} {span(self.origin * np.exp(ends) if self.log else ends, self.unit)}"


@dataclass(frozen=True)
class Speech:
    """What a description is made with: the units of programs, the axes of the columns they see, the answers' unit,
    and how close places are."""

    units: Units
    axes: tuple[Axis, ...]
    answers: str = ""
    steps: tuple[float, ...] = ()  # from one place to the next along each column, as a rule

    def along(self, column: int) -> str:
        """Which input is meant, where there are several."""
        return f" in {self.axes[column].name}" if len(self.axes) > 1 else ""


def span(ends: ArrayLike, unit: str = "", more: int = 0) -> str:
    """A number with its range, low, middle and high, to the digits that the range leaves, or so many more.

    >>> span([11.92, 12.01, 12.11], "months"), span([0.2, 4.0, 31.0]), span([3.0, 3.0, 3.0], "°C")
    ('12.01 (11.92 to 12.11) months', '4 (0.2 to 31)', '3 °C')
    """
    low, middle, high = np.asarray(ends, dtype=float).tolist()
    after = f" {unit}" if unit else ""
    width = max(high - middle, middle - low, 0.0)
    if not np.isfinite([low, middle, high]).all() or width <= 1e-9 * abs(middle):
        return f"{middle:.6g}{after}"
    least = min(each for each in (high - middle, middle - low) if each > 0.05 * width)
    digits = more - int(f"{least:.0e}".partition("e")[2])
    return f"{_rounded(middle, digits)} ({_rounded(low, digits)} to {_rounded(high, digits)}){after}"


def _rounded(value: float, digits: int) -> str:
    """As many digits after the point, but from one to four that count."""
    size = int(np.floor(np.log10(abs(value)))) if value else 0
    if size >= 7 or size <= -5:
        return f"{value:.3g}"
    most = max(min(digits, 3 - size), -size) if value else digits
    return f"{round(value, most) + 0.0:.{max(0, most)}f}".replace("-", "−")


def percent(p: float) -> str:
    """A probability, never said to be sure where it is not.

    >>> percent(0.984), percent(0.9999), percent(1.0), percent(0.001)
    ('98 %', 'over 99 %', '100 %', 'under 1 %')
    """
    if 0.995 <= p < 1.0 - 1e-9:
        return "over 99 %"
    return "under 1 %" if 1e-9 < p < 0.005 else f"{100.0 * p:.0f} %"


def quantiles(values: ArrayLike, weights: ArrayLike, q: Sequence[float] = _RANGE) -> Array:
    """Of values with weights: the smallest with at least this share at it or below.

    >>> quantiles([3.0, 1.0, 2.0], [1.0, 1.0, 2.0]).tolist()
    [1.0, 2.0, 3.0]
    """
    given, shares = np.asarray(values, dtype=float), np.asarray(weights, dtype=float)
    order = np.argsort(given, kind="stable")
    below = np.cumsum(shares[order]) / shares.sum()
    return np.asarray(given[order][np.minimum(np.searchsorted(below, np.asarray(q) - 1e-12), len(given) - 1)])


def phrase(having: Mapping[int, Sequence[Term]], weights: Array, speech: Speech) -> str:
    """Terms of one kind, of the programs that have any, in words; each program counts by its largest one, but for
    periods, of which it may have several."""
    terms = [max(several, key=lambda term: term.factor) for several in having.values()]
    every = [(number, term) for number, several in enumerate(having.values()) for term in several]
    return _Phrase(terms, weights[list(having)], speech, every).words


@dataclass(frozen=True)
class _Phrase:
    """Terms of one kind, one of each program, with their weights, and all of them with the program's number here."""

    terms: Sequence[Term]
    weights: Array
    speech: Speech
    every: Sequence[tuple[int, Term]]

    @property
    def words(self) -> str:
        leaves = self.terms[0].leaves
        by_symbol: dict[str, list[int]] = {}
        for i, leaf in enumerate(leaves):
            by_symbol.setdefault(leaf.symbol, []).append(i)
        cycles, lines = by_symbol.get("PER", []), by_symbol.get("LIN", [])
        varying = [i for symbol in _SYMBOLS for i in by_symbol.get(symbol, [])]
        if cycles:
            words = self._cycle(cycles) + "".join(self._changing(i) for i in varying)
        elif varying:
            words = self._variation(varying)
        elif lines:
            return self._trend(lines) + self._where()
        else:
            return "a constant level" + self._where()
        return words + "".join(self._growing(column, some) for column, some in self._by_column(lines)) + self._where()

    def _numbers(self, i: int) -> list[Program]:
        """The i-th leaf of every term, in the user's units."""
        return [self.speech.units.natural(term.leaves[i]) for term in self.terms]

    def _column(self, i: int) -> int:
        return self.terms[0].leaves[i].column

    def _by_column(self, some: Sequence[int]) -> list[tuple[int, list[int]]]:
        columns = dict.fromkeys(self._column(i) for i in some)
        return [(column, [i for i in some if self._column(i) == column]) for column in columns]

    def _extent(self, i: int, number: int) -> str:
        values = [leaf.numbers[number] for leaf in self._numbers(i)]
        return self.speech.axes[self._column(i)].extent(quantiles(values, self.weights))

    def _cycle(self, cycles: Sequence[int]) -> str:
        said = [f"repeats every {self._period(i)}{self.speech.along(self._column(i))}" for i in cycles]
        return f"a cycle that {', and in turn '.join(said)}"

    def _period(self, i: int) -> str:
        """With its range; where there are a few, each with the share of the programs that have it."""
        periods = np.array([self.speech.units.natural(term.leaves[i]).numbers[1] for _, term in self.every])
        owners = np.array([number for number, _ in self.every])
        weights, axis = self.weights[owners], self.speech.axes[self._column(i)]
        groups = [
            (rows, float(self.weights[np.unique(owners[rows])].sum() / self.weights.sum()))
            for rows in _clusters(periods)
        ]
        groups = sorted((group for group in groups if group[1] >= _WORTH), key=lambda group: -group[1])[:3]
        if len(groups) < 2:
            return axis.extent(quantiles(periods, weights))
        together = " and every " if sum(share for _, share in groups) > 1.3 else " or "
        return together.join(
            f"{axis.extent(quantiles(periods[rows], weights[rows]))} [{percent(share)}]" for rows, share in groups
        )

    def _changing(self, i: int) -> str:
        return f" and changes its shape over about {self._extent(i, 0)}{self.speech.along(self._column(i))}"

    def _variation(self, varying: Sequence[int]) -> str:
        if len(varying) == 1 and self._is_faster(varying[0]):
            return "a variation from one answer to the next, which looks like noise"
        rough = any(_SYMBOLS[self.terms[0].leaves[i].symbol] == "rough" for i in varying)
        extents = [f"{self._extent(i, 0)}{self.speech.along(self._column(i))}" for i in varying]
        return f"a {'rough' if rough else 'smooth'} variation over about {' and '.join(extents)}"

    def _is_faster(self, i: int) -> bool:
        """Whether it has changed before the next answer comes: one answer says nothing about another."""
        column, steps = self._column(i), self.speech.steps
        lengths = [leaf.numbers[0] for leaf in self._numbers(i)]
        return column < len(steps) and bool(quantiles(lengths, self.weights, (0.5,))[0] < 0.4 * steps[column])

    def _trend(self, lines: Sequence[int]) -> str:
        columns = self._by_column(lines)
        if len(lines) == 1:
            return "a straight trend" + self.speech.along(self._column(lines[0]))
        if len(columns) == 1:
            return f"a curve of degree {len(lines)}" + self.speech.along(columns[0][0])
        several = Counter(self.speech.axes[column].name for column, some in columns for _ in some)
        return f"trends that go together in {' and '.join(several)}"

    def _growing(self, column: int, lines: Sequence[int]) -> str:
        """Whether the size is larger at the high end of the column, at the low one, or smallest in between."""
        low, high = self.speech.axes[column].ends
        zeros = np.median(np.array([[leaf.numbers[0] for leaf in self._numbers(i)] for i in lines]), axis=0)
        ends = quantiles(zeros, self.weights)
        share = (ends[1] - low) / (high - low) if high > low else 0.0
        called = self.speech.axes[column].name
        power = f" to the power of {len(lines)}" if len(lines) > 1 else ""
        if share <= 0.25:
            return f", whose size grows with {called}{power}"
        if share >= 0.75:
            return f", whose size shrinks with {called}{power}"
        return f", whose size is smallest near {self.speech.axes[column].place(ends)} and grows away from it{power}"

    def _where(self) -> str:
        """On which side of which changes."""
        said = ""
        for number, (change, after) in enumerate(self.terms[0].sides):
            places = [self.speech.units.natural(term.sides[number][0]).numbers[0] for term in self.terms]
            axis = self.speech.axes[change.column]
            said += f", {'after' if after else 'before'} a change at {axis.place(quantiles(places, self.weights))}"
        return said


def _clusters(values: Array) -> list[NDArray[np.intp]]:
    """Groups of values that lie close together, by their numbers."""
    order = np.argsort(values, kind="stable")
    breaks = [k for k, (a, b) in enumerate(pairwise(values[order]), start=1) if b > _APART * a]
    return np.split(order, breaks)
