"""Repetitions of an experiment: the setting and the seed of each, and what came of it.

The seed of a repetition is a hash of the experiment's name, the base seed and the setting. It depends neither on the
order of the repetitions nor on how many there are, nor on where they run.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gainful.errors import InvalidInput
from gainful.lab.experiment import Experiment, Row, Setting

__all__ = ["Failed", "Finished", "Outcome", "Repetition", "attempt", "derive_seed", "outcome_of", "repetitions_of"]


@dataclass(frozen=True)
class Repetition:
    """A setting as JSON has it (lists, never tuples), the seed that belongs to it, and its canonical form.

    `given` is what `run` is given: the setting, what it has in common with all others, and where things are.
    """

    setting: Setting
    seed: int
    key: str
    given: Setting = field(repr=False)


@dataclass(frozen=True)
class Finished:
    """A repetition's rows, and how long they took."""

    repetition: Repetition
    rows: list[Row]
    seconds: float


@dataclass(frozen=True)
class Failed:
    """A repetition that gave no rows, and the traceback or the sentence that says why."""

    repetition: Repetition
    reason: str


Outcome = Finished | Failed


def repetitions_of(experiment: Experiment, quick: bool, seed: int) -> list[Repetition]:
    """All repetitions of an experiment, in the order of its settings."""
    found: dict[str, Repetition] = {}
    common = json.loads(_canonical({**experiment.common, **experiment.paths}, "common"))
    for setting in experiment.settings(quick):
        key = _canonical(setting)
        if key in found:
            raise InvalidInput("settings", "no two alike", key, "number the repetitions, for instance")
        own = json.loads(json.dumps(setting))
        found[key] = Repetition(own, derive_seed(experiment.name, seed, key), key, common | own)
    if not found:
        raise InvalidInput("settings", "at least one repetition", "none", f"see settings(quick={quick})")
    return list(found.values())


def derive_seed(name: str, seed: int, key: str) -> int:
    """The first 53 bits of SHA-256 of all three: a number that every reader of JSON keeps whole.

    >>> derive_seed("coins", 0, '{"repetition":0}') == derive_seed("coins", 0, '{"repetition":0}')
    True
    """
    digest = hashlib.sha256(json.dumps([name, seed, key]).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 11


def attempt(run: Callable[[Setting, int], list[Row]], setting: Setting, seed: int) -> dict[str, Any]:
    """Run one repetition; plain values only, so that they may cross a wire: rows and seconds, or the reason."""
    started = time.perf_counter()
    try:
        rows = [_plain(row) for row in run(setting, seed)]
    except Exception:
        return {"reason": traceback.format_exc()}
    return {"rows": rows, "seconds": time.perf_counter() - started}


def outcome_of(repetition: Repetition, came: Mapping[str, Any]) -> Outcome:
    """What `attempt` returned, as a value."""
    if "reason" in came:
        return Failed(repetition, came["reason"])
    return Finished(repetition, came["rows"], came["seconds"])


def _canonical(setting: object, argument: str = "settings") -> str:
    try:
        if not isinstance(setting, dict):
            raise TypeError("not a dict")
        return json.dumps(setting, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidInput(argument, "dicts of values that JSON has", setting, str(error)) from None


def _plain(row: Mapping[str, Any]) -> Row:
    """The row with NumPy's numbers as Python's."""
    plain = {}
    for name, value in row.items():
        item = value.item() if hasattr(value, "item") else value
        wrong = not isinstance(item, str | int | float | None) or (isinstance(item, float) and not math.isfinite(item))
        if wrong:
            remedy = "None stands for no number, several numbers are several columns or rows"
            raise InvalidInput(f"row[{name!r}]", "a finite number, a string, a bool or None", value, remedy)
        plain[str(name)] = item
    return plain
