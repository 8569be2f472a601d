"""What became of one evaluation: a value, or why there is none. Failures are values with a sentence in them."""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

import numpy as np

from gainful.errors import shorten
from gainful.instruments.base import LARGEST

__all__ = ["Outcome", "call", "last_of"]

_WORDS = 2000  # characters of last words that are kept


@dataclass(frozen=True)
class Outcome:
    """A value; or None, with the `reason` in a sentence and the last `words` that were said. It took so many seconds.

    >>> Outcome.of(3), Outcome.of(float("nan")).reason
    (Outcome(value=3.0, reason='', words='', seconds=0.0), 'the value is nan')
    """

    value: float | None
    reason: str = ""
    words: str = ""
    seconds: float = 0.0

    @staticmethod
    def of(value: Any) -> Outcome:
        """What came back: a finite number, or an array of one, is a value; whatever else it is, is said."""
        array = np.asarray(value) if isinstance(value, np.ndarray | list | tuple) else None
        one = array.item() if array is not None and array.size == 1 else value
        if isinstance(one, bool | np.bool_) or not isinstance(one, int | float | np.integer | np.floating):
            return Outcome(None, f"the value is {shorten(value, 60)}, which is no number")
        try:
            number = float(one)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            return Outcome(None, f"the value is {number}")
        if abs(number) > LARGEST:
            return Outcome(None, f"the value is {number:g}, beyond {LARGEST:.0e} in size")
        return Outcome(number)

    @property
    def failed(self) -> bool:
        return self.value is None

    def after(self, seconds: float) -> Outcome:
        """The same, with the time that it took."""
        return replace(self, seconds=round(seconds, 3))

    def to_json(self) -> dict[str, Any]:
        """As a file of outcomes has it; what there is none of is left out."""
        said = {"value": self.value, "reason": self.reason, "words": self.words, "seconds": self.seconds}
        return {name: value for name, value in said.items() if name == "seconds" or value not in ("", None)}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Outcome:
        value = data.get("value")
        words = str(data.get("reason", "")), str(data.get("words", "")), float(data.get("seconds", 0.0))
        return Outcome(None if value is None else float(value), *words)


def call(function: Callable[[Any], Any], argument: Any) -> Outcome:
    """The outcome of one call in this thread; an exception is a failure, whose traceback is its last words."""
    started = monotonic()
    try:
        outcome = Outcome.of(function(argument))
    except (Exception, SystemExit) as error:
        said = " ".join(str(error).split())
        reason = type(error).__name__ + (f": {shorten(said, 200)}" if said else "")
        outcome = Outcome(None, reason, last_of("".join(traceback.format_exception(error))))
    return outcome.after(monotonic() - started)


def last_of(words: str, limit: int = _WORDS) -> str:
    """The end of a text, from the beginning of a line where there is one."""
    words = words.strip()
    if len(words) <= limit:
        return words
    end = words[-limit:]
    return "…\n" + (end.partition("\n")[2] or end)
