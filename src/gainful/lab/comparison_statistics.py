"""Statistics of a comparison of strategies: means over learning curves, and paired differences from a reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gainful.lab.curves import FEWEST
from gainful.lab.experiment import Row
from gainful.lab.statistics import Estimate, mean, paired_difference
from gainful.lab.table import select

__all__ = ["LEVEL", "Measure", "Standing", "standings"]

Array = NDArray[np.float64]

LEVEL = 0.975  # of what the whole pool gives (Houlsby et al. 2011, sec. 5)


@dataclass(frozen=True)
class Measure:
    """A column of the rows, what it is called, and whether lower is better."""

    column: str
    words: str
    lower: bool = False


@dataclass(frozen=True)
class Standing:
    """One strategy by one measure: `area` is its mean over the curve, `last` its value after the last answer.

    `gain` and `last_gain` are the paired differences from the reference on the same splits, None for the reference
    itself. `needed` are answers until the curve stays within 97.5 % of what the whole pool gives, one for each split,
    None where it never does (judged up to the last answer); it is left out for measures but the first. There were
    `splits` of them, with `start` answers before the first query.
    """

    strategy: str
    measure: Measure
    reference: str
    area: Estimate
    last: Estimate
    gain: Estimate | None
    last_gain: Estimate | None
    needed: tuple[int | None, ...] | None
    splits: int
    start: int

    @property
    def verdict(self) -> str:
        """Whether the difference of the areas is beyond chance, at 95 %; of a few splits, or equal ones, who knows."""
        if self.gain is None:
            return "the reference"
        if self.splits < FEWEST:
            return "too few splits"
        if self.gain.low == self.gain.high:
            return "the same in all splits"
        if 0.0 in self.gain:
            return "within chance"
        return "better" if (self.gain.value < 0.0) == self.measure.lower else "worse"

    @property
    def needed_in_words(self) -> str:
        """The median over splits, and how many splits got there.

        >>> measure, some = Measure("accuracy", "accuracy"), Estimate(0.9, 0.8, 1.0)
        >>> Standing("a", measure, "b", some, some, some, some, (12, 14, None), 3, 5).needed_in_words
        '14 answers (2 of 3 splits)'
        """
        needed = self.needed or ()
        reached = [each for each in needed if each is not None]
        if 2 * len(reached) <= len(needed):  # the median is infinite
            return f"not in most splits ({len(reached)} of {len(needed)})"
        middle = float(np.median([np.inf if each is None else each for each in needed]))
        return f"{middle:g} answers" + (
            "" if len(reached) == len(needed) else f" ({len(reached)} of {len(needed)} splits)"
        )

    @property
    def needed_no_queries(self) -> bool:
        """Whether the answers at the start were enough, in all splits."""
        return self.needed is not None and all(each == self.start for each in self.needed)


def standings(
    rows: list[Row], measures: Sequence[Measure], strategies: Sequence[str], reference: str
) -> list[Standing]:
    """Every strategy by every measure, from the rows of all splits."""
    out = []
    for number, measure in enumerate(measures):
        curves = {name: _curves(select(rows, strategy=name), measure.column) for name in strategies}
        areas = {name: found.mean(axis=1) for name, found in curves.items()}
        lasts = {name: found[:, -1] for name, found in curves.items()}
        for name in strategies:
            mine = name == reference
            out.append(
                Standing(
                    name,
                    measure,
                    reference,
                    mean(areas[name]),
                    mean(lasts[name]),
                    None if mine else paired_difference(areas[name], areas[reference]),
                    None if mine else paired_difference(lasts[name], lasts[reference]),
                    None if number else _needed(select(rows, strategy=name), measure),
                    len(areas[name]),
                    min(row["answers"] for row in rows),
                )
            )
    return out


def _curves(rows: list[Row], column: str) -> Array:
    """(splits, answers), in the order of the rows."""
    splits: dict[int, list[float]] = {}
    for row in rows:
        splits.setdefault(row["split"], []).append(row[column])
    return np.array(list(splits.values()))


def _needed(rows: list[Row], measure: Measure) -> tuple[int | None, ...]:
    found: dict[int, int | None] = {}
    for row in rows:
        value, whole = row[measure.column], row[f"pool_{measure.column}"]
        there = value <= whole / LEVEL if measure.lower else value >= LEVEL * whole
        if not there:
            found[row["split"]] = None
        elif found.get(row["split"]) is None:
            found[row["split"]] = row["answers"]
    return tuple(found.values())
