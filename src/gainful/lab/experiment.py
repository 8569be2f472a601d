"""An experiment as a value: what was published, how to run one repetition, and what is claimed from all of them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from gainful.errors import InvalidInput
from gainful.lab.files import DataFile

__all__ = ["Claim", "Experiment", "Row", "Setting"]

Setting = dict[str, Any]  # what one repetition is about, in values that JSON has
Row = dict[str, Any]  # one line of a tidy table: numbers, strings, yes/no, or None where there is nothing to say


@dataclass(frozen=True)
class Claim:
    """One sentence of the published work, held against what was measured here.

    `measured` lies between `low` and `high` with 95 % confidence (see `statistics`); equal ends mean that the number is
    exact. `published` is the printed figure, or None where only words were printed. `note` says what a reader should
    know before comparing the two. `verdict` is a word in place of "holds" and "does not hold", where a claim that does
    not hold has not failed either.

    >>> Claim("halves the error", published=0.5, measured=0.48, low=0.41, high=0.55, holds=True).record["holds"]
    True
    """

    statement: str
    published: str | float | None
    measured: float
    low: float
    high: float
    holds: bool
    note: str = ""
    verdict: str = ""

    @property
    def record(self) -> dict[str, Any]:
        """The claim in values that JSON has; an end or a number that is not finite becomes None."""
        numbers = {name: float(getattr(self, name)) for name in ("measured", "low", "high")}
        finite = {name: number if math.isfinite(number) else None for name, number in numbers.items()}
        record = asdict(self) | finite | {"holds": bool(self.holds)}
        return {name: value for name, value in record.items() if name != "verdict" or value}


@dataclass(frozen=True)
class Experiment:
    """One published experiment, or one made at run time that is run in the same way.

    `settings(quick)` lists the repetitions, one dict of JSON values each, no two alike. `run(setting, seed)` does one
    of them and returns tidy rows; it is a function of its two arguments and nothing else, so that it gives the same
    rows on any machine and in any order. Contenders that are to be compared belong in one repetition, where they meet
    the same world. `claims(rows)` and `figures(rows, folder)` see the rows of all repetitions in the order of the
    settings, each joined with its setting (where both have a name, the row's value wins); `figures` draws into the
    folder and returns what it drew. `data` names the files that are needed from the folder GAINFUL_DATA.

    `common` is what all repetitions share, in JSON values: `run` finds it in every setting, a run is continued only if
    it is the same, and result.json has it once. It is in neither seeds nor rows. `paths` says where files are, such as
    one whose hash is in `common`: `run` finds them in every setting as well, and they are no part of what is run. A row
    with a column `seconds` is a timing: it goes to timings.csv, and `claims` and `figures` do not see it.
    """

    name: str
    title: str
    source: str
    published: Mapping[str, float | str]
    settings: Callable[[bool], list[Setting]]
    run: Callable[[Setting, int], list[Row]]
    claims: Callable[[list[Row]], list[Claim]]
    figures: Callable[[list[Row], Path], list[Path]]
    data: tuple[str | DataFile, ...] = ()
    common: Mapping[str, Any] = field(default_factory=dict)
    paths: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", self.name):
            raise InvalidInput("name", "small letters, digits and single dashes", self.name, "it also names a folder")
