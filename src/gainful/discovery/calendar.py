"""Dates as numbers, days since the first one, and the other way: dates, and durations in the unit that fits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.beliefs.programs.words import span

__all__ = ["Calendar", "read_dates"]

Array = NDArray[np.float64]

# What a date may look like, besides ISO 8601. Where a day could be a month, the day is first unless that cannot be.
_FORMATS = (
    "%Y-%m", "%Y/%m/%d", "%Y/%m", "%Y%m%d", "%d.%m.%Y", "%d.%m.%y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y",
    "%d/%m/%y", "%m/%d/%y", "%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%d-%b-%y", "%b %d, %Y", "%B %d, %Y", "%b %Y", "%B %Y",
    "%b-%Y", "%b-%y", "%m/%Y", "%d.%m.%Y %H:%M", "%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M", "%Y/%m/%d %H:%M",
    "%d.%m.%Y %H:%M:%S", "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S", "%Y/%m/%d %H:%M:%S",
)  # fmt: skip
_QUARTER = re.compile(r"(\d{4})[- ]?Q([1-4])", re.IGNORECASE)
_DAY = 86400.0
_UNITS = {"years": 365.2425, "months": 365.2425 / 12.0, "days": 1.0, "hours": 1.0 / 24.0, "minutes": 1.0 / 1440.0,
          "seconds": 1.0 / _DAY}  # fmt: skip
_FROM = {"years": 300.0, "months": 59.0, "days": 0.95, "hours": 0.95 / 24.0, "minutes": 0.95 / 1440.0}  # days


@dataclass(frozen=True)
class Calendar:
    """An input that is a date: days since `first`."""

    name: str
    first: datetime
    ends: tuple[float, float]
    finest: float = 1.0  # days between two dates, at least

    def date(self, days: float) -> datetime:
        return self.first + timedelta(seconds=round(days * _DAY))

    def dates(self, days: ArrayLike) -> NDArray[Any]:
        """As matplotlib and pandas have them."""
        return np.array([self.date(float(each)) for each in np.ravel(np.asarray(days))], dtype="datetime64[s]")

    def say(self, days: float) -> str:
        """A date, with the time where dates are closer than a day."""
        return f"{self.date(days):%Y-%m-%d %H:%M}" if self.finest < 1.0 else f"{self.date(days + 0.5):%Y-%m-%d}"

    def unit(self, days: float) -> str:
        """That in which a duration is said."""
        return next((unit for unit, least in _FROM.items() if days >= least), "seconds")

    def days(self, unit: str) -> float:
        """How many days it has."""
        return _UNITS[unit]

    def extent(self, ends: ArrayLike) -> str:
        low, middle, high = np.asarray(ends, dtype=float).tolist()
        unit = self.unit(middle)
        return span(np.array([low, middle, high]) / _UNITS[unit], unit)

    def place(self, ends: ArrayLike) -> str:
        low, middle, high = np.asarray(ends, dtype=float).tolist()
        return self.say(middle) if high - low < self.finest else (
            f"{self.say(middle)} ({self.say(low)} to {self.say(high)})")  # fmt: skip


def read_dates(cells: Sequence[str]) -> tuple[list[datetime], str] | None:
    """The dates that all cells say in one way, and a note where they can be read in two; None where they are no
    dates."""
    if not cells:
        return None
    if (found := _all(cells, _iso)) is not None or (found := _all(cells, _quarter)) is not None:
        return found, ""
    fitting = [each for each in _FORMATS if _all(cells[:1], _by(each)) is not None]
    read = {each: dates for each in fitting if (dates := _all(cells, _by(each))) is not None}
    if not read:
        return None
    first, *others = read
    differing = [each for each in others if read[each] != read[first]]
    if not differing:
        return read[first], ""
    if _is_sorted(read[differing[0]]) and not _is_sorted(read[first]):
        first, differing = differing[0], [first]
    return read[first], f"{cells[0]} was read as {read[first][0]:%Y-%m-%d}; write 2024-12-31 where that is wrong"


def _is_sorted(dates: Sequence[datetime]) -> bool:
    return all(a <= b for a, b in pairwise(dates))


def _all(cells: Sequence[str], read: Any) -> list[datetime] | None:
    out = []
    for cell in cells:
        try:
            out.append(_plain(read(cell)))
        except ValueError:
            return None
    return out


def _by(pattern: str) -> Any:
    return lambda cell: datetime.strptime(cell, pattern)


def _iso(cell: str) -> datetime:
    if "-" not in cell or len(cell) < 8:
        raise ValueError(cell)
    return datetime.fromisoformat(cell)


def _quarter(cell: str) -> datetime:
    found = _QUARTER.fullmatch(cell)
    if found is None:
        raise ValueError(cell)
    return datetime(int(found[1]), 3 * int(found[2]) - 2, 1)


def _plain(date: datetime) -> datetime:
    """Without a zone: that of Greenwich where there was one."""
    return date if date.tzinfo is None else date.astimezone(UTC).replace(tzinfo=None)
