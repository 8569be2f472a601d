"""An external command that evaluates a place: its arguments, what it is told, and how its answer is read."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from gainful.data import Query
from gainful.errors import shorten
from gainful.studies.outcome import Outcome, last_of
from gainful.studies.processes import Finished, Processes

__all__ = ["Command", "has_loose_brace", "placeholders", "read_answer"]

_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")


@dataclass(frozen=True)
class Command:
    """Words with placeholders such as {temperature}, run in a folder, without a shell.

    words     a word, or several that belong together: where a placeholder is of something that is absent at a place,
              because of a condition, the word is left out, and with it those that belong to it
    answer    the key of a line of JSON in which the value is printed; None: the last word of the last line
    timeout   seconds, after which the command and all that it has started is ended
    function  whether it calls a Python function (`child`), which says in its last line why it failed
    """

    words: tuple[tuple[str, ...], ...]
    folder: Path
    answer: str | None = None
    timeout: float | None = None
    function: bool = False

    def filled(self, place: Mapping[str, Any]) -> list[str]:
        """The words for a place.

        >>> command = Command((("./run",), ("--t={t}",), ("--momentum", "{m}")), Path("."))
        >>> command.filled({"t": 0.5, "m": 0.9}), command.filled({"t": 2, "m": None})
        (['./run', '--t=0.5', '--momentum', '0.9'], ['./run', '--t=2'])
        """
        there = (group for group in self.words if all(place[name] is not None for name in placeholders(group)))
        return [_PLACEHOLDER.sub(lambda found: _said(found, place), word) for group in there for word in group]

    def evaluate(self, query: Query, processes: Processes) -> Outcome:
        """Run it at the place of a query: whatever happens is an outcome."""
        place, started = dict(query.at), monotonic()
        words = self.filled(place)
        environment = os.environ | {"GAINFUL_EVALUATION": str(query.number)}
        try:
            finished = processes.run(words, self.folder, json.dumps(place) + "\n", environment, self.timeout)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            return Outcome(None, f"{words[0]} could not be started: {reason}")
        return self._read(finished).after(monotonic() - started)

    def _why(self, finished: Finished) -> str | None:
        """What a function raised; None for a command, or where it did not come to say it."""
        last = finished.out.rstrip().rpartition("\n")[2]
        if not self.function or not last.startswith("{"):
            return None
        try:
            said = json.loads(last)
        except ValueError:
            return None
        return str(said["error"]) if isinstance(said, dict) and "error" in said else None

    def _read(self, finished: Finished) -> Outcome:
        words = last_of(finished.err) or last_of(finished.out)
        if finished.code is None:
            return Outcome(None, f"it took longer than {self.timeout:g} s and was ended", words)
        if finished.code < 0:
            return Outcome(None, f"it was killed by {_signal(-finished.code)}", words)
        if finished.code > 0:
            return Outcome(None, self._why(finished) or f"its exit code was {finished.code}", words)
        outcome = read_answer(finished.out, self.answer)
        return Outcome(None, outcome.reason, words) if outcome.failed else outcome


def placeholders(words: Sequence[str]) -> list[str]:
    """The names in braces; {{ and }} are braces themselves.

    >>> placeholders(["--t={temperature}", "{{not this}}", "{a}:{b}"])
    ['temperature', 'a', 'b']
    """
    return [found[1] for word in words for found in _PLACEHOLDER.finditer(word) if found[1] is not None]


def has_loose_brace(word: str) -> bool:
    """Whether a brace stands alone.

    >>> has_loose_brace("{t"), has_loose_brace("{t}{{}}")
    (True, False)
    """
    return bool(re.search(r"[{}]", _PLACEHOLDER.sub("", word)))


def read_answer(output: str, key: str | None) -> Outcome:
    """The value in what a command has printed.

    >>> read_answer("loading\\nloss 0.25\\n", None).value, read_answer('{"loss": 0.25, "steps": 9}', "loss").value
    (0.25, 0.25)
    >>> read_answer("0.25\\nDone.\\n", None).reason
    'the last line that it printed does not end in a number: “Done.”'
    """
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    if not lines:
        return Outcome(None, "it printed nothing")
    if key is None:
        try:
            return Outcome.of(float(lines[-1].split()[-1]))
        except ValueError:
            return Outcome(None, f"the last line that it printed does not end in a number: “{shorten(lines[-1], 80)}”")
    for line in reversed(lines):
        try:
            found = json.loads(line) if line.startswith("{") else None
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and key in found:
            return Outcome.of(found[key])
    last = shorten(lines[-1], 80)
    return Outcome(None, f"no line that it printed is a JSON object with {key!r}; the last is “{last}”")


def _said(found: re.Match[str], place: Mapping[str, Any]) -> str:
    """A placeholder's value as text: numbers with all their digits."""
    if found[1] is None:
        return found[0][0]
    value = place[found[1]]
    return str(value).lower() if isinstance(value, bool) else str(value)


def _signal(number: int) -> str:
    try:
        name = signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
    return f"{name}, as when memory runs out" if name == "SIGKILL" else name
