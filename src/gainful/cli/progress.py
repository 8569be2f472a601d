"""Shows how far a run has come: a bar on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import sys
import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from gainful.lab import Failed, Finished, Watcher

__all__ = ["Bar", "Lines", "ShareBar", "ShareLines", "choose_share", "choose_watcher"]

Outcome = Finished | Failed

_PAUSE = 5.0  # seconds between two lines


def choose_watcher() -> Watcher:
    """A bar for people, lines for logs; both on standard error, so that standard output is the result's."""
    return Bar() if sys.stderr.isatty() else Lines()


class Bar:
    """A progress bar: finished of all, failures, time so far, time to go."""

    def __init__(self) -> None:
        self._progress = Progress(
            BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[failures]}"),
            TimeElapsedColumn(), TextColumn("left:"), TimeRemainingColumn(),
            console=Console(stderr=True, highlight=False),
        )  # fmt: skip
        self._failures = 0

    def begin(self, total: int, kept: int) -> None:
        if kept:
            self.say(f"{kept} of {total} repetitions were finished before.")
        self._task = self._progress.add_task("", total=total - kept, failures="")
        self._progress.start()

    def advance(self, outcome: Outcome) -> None:
        self._failures += isinstance(outcome, Failed)
        failures = f"[dark_orange3]{self._failures} failed" if self._failures else ""
        self._progress.update(self._task, advance=1, failures=failures)

    def say(self, sentence: str) -> None:
        self._progress.console.print(sentence, markup=False)

    def end(self) -> None:
        self._progress.stop()


class Lines:
    """A line at the beginning, every few seconds, and at the end."""

    def begin(self, total: int, kept: int) -> None:
        self._total, self._kept, self._done, self._failures = total, kept, 0, 0
        self._started = self._spoke = time.monotonic()
        self.say(f"{total} repetitions, {kept} finished before")

    def advance(self, outcome: Outcome) -> None:
        self._done += 1
        self._failures += isinstance(outcome, Failed)
        left = self._total - self._kept - self._done
        now = time.monotonic()
        if left and now - self._spoke < _PAUSE:
            return
        self._spoke = now
        elapsed = now - self._started
        words = [f"{self._total - left - self._failures} of {self._total} finished", f"{elapsed:.0f} s"]
        if self._failures:
            words.append(f"{self._failures} failed")
        if left:
            words.append(f"about {elapsed / self._done * left:.0f} s left")
        self.say(", ".join(words))

    def say(self, sentence: str) -> None:
        print(sentence, file=sys.stderr, flush=True)

    def end(self) -> None: ...


def choose_share() -> ShareBar | ShareLines:
    """The same of work that is known by its share: a bar for people, lines for logs."""
    return ShareBar() if sys.stderr.isatty() else ShareLines()


class ShareBar:
    """A progress bar: the share that is done, time so far, time to go."""

    def __init__(self) -> None:
        self._progress = Progress(
            BarColumn(), TextColumn("{task.percentage:>3.0f} %"), TimeElapsedColumn(), TextColumn("left:"),
            TimeRemainingColumn(elapsed_when_finished=False), console=Console(stderr=True, highlight=False),
        )  # fmt: skip
        self._task = self._progress.add_task("", total=1.0)
        self._progress.start()

    def advance(self, done: float) -> None:
        self._progress.update(self._task, completed=done)

    def end(self) -> None:
        self._progress.stop()


class ShareLines:
    """A line every few seconds."""

    def __init__(self) -> None:
        self._started = self._spoke = time.monotonic()

    def advance(self, done: float) -> None:
        now = time.monotonic()
        if now - self._spoke < _PAUSE or not 0.0 < done < 1.0:
            return
        self._spoke = now
        elapsed = now - self._started
        left = elapsed * (1.0 - done) / done
        print(f"{100 * done:.0f} %, {elapsed:.0f} s, about {left:.0f} s left", file=sys.stderr, flush=True)

    def end(self) -> None: ...
