"""Shows how an optimisation goes: a live panel on a terminal, a line for each evaluation elsewhere."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from gainful.data import Query
from gainful.errors import shorten
from gainful.studies.minimum import best_entry
from gainful.studies.outcome import Outcome
from gainful.studies.report import interacting
from gainful.studies.run import Run

__all__ = ["Lines", "Panel", "View", "choose_view"]

_SHOWN = 4  # places under way that are shown


def choose_view(run: Run, wanted: int) -> View:
    """A panel for people, lines for logs; both on standard error, so that standard output is the result's."""
    view = Panel(run, wanted) if sys.stderr.isatty() else Lines(run, wanted)
    view.begin()
    return view


class View(ABC):
    """What both have in common: what is under way, and what failed."""

    def __init__(self, run: Run, wanted: int) -> None:
        self._run, self._wanted = run, wanted
        self._under_way: dict[int | None, str] = {}
        self._failures = sum(each.outcome is not None and each.outcome.failed for each in run.evaluations)

    def asked(self, query: Query) -> None:
        self._under_way[query.number] = query.words
        self.show_asked(query)

    def answered(self, query: Query, outcome: Outcome) -> bool:
        self._under_way.pop(query.number, None)
        self._failures += outcome.failed
        self.show_answered(query, outcome)
        return False

    @property
    def best(self) -> str:
        """The best evaluation so far, in words; nothing before the first."""
        entry = best_entry(self._run.campaign, self._run.sign)
        if entry is None:
            return ""
        unit = entry.query.instrument.unit
        return f"{entry.answer:.6g}{' ' + unit if unit else ''} at {entry.query.words}"

    @abstractmethod
    def begin(self) -> None: ...

    @abstractmethod
    def show_asked(self, query: Query) -> None: ...

    @abstractmethod
    def show_answered(self, query: Query, outcome: Outcome) -> None: ...

    @abstractmethod
    def end(self) -> None: ...


class Lines(View):
    """A line for each evaluation."""

    def begin(self) -> None:
        before = f", {self._run.before} of them from before" if self._run.before else ""
        self._say(f"{self._wanted} evaluations{before}")

    def show_asked(self, query: Query) -> None: ...

    def show_answered(self, query: Query, outcome: Outcome) -> None:
        came = f"failed: {outcome.reason}" if outcome.value is None else f"{outcome.value:.6g}"
        time = f"{outcome.seconds:.3g} s"
        entry = best_entry(self._run.campaign, self._run.sign)
        best = "" if entry is None else f"; best {entry.answer:.6g} ({(entry.query.number or 0) + 1})"
        self._say(f"{(query.number or 0) + 1} of {self._wanted}: {came} at {query.words} ({time}){best}")

    def end(self) -> None: ...

    def _say(self, sentence: str) -> None:
        print(sentence, file=sys.stderr, flush=True)


class Panel(View):
    """A bar, the best so far, what is under way, which dimensions act together, and the last failure."""

    def begin(self) -> None:
        console = Console(stderr=True, highlight=False)
        self._bar = Progress(
            BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[failures]}"), TimeElapsedColumn(),
            console=console,
        )  # fmt: skip
        self._task = self._bar.add_task("", total=self._wanted, completed=self._run.before, failures="")
        self._last, self._together, self._best = "", "", ""
        self._live = Live(self, console=console, refresh_per_second=4, transient=True)
        self._live.start()

    def __rich__(self) -> RenderableType:
        rows: list[RenderableType] = [self._bar]
        if self._best:
            rows.append(_row("best so far", self._best))
        now = list(self._under_way.values())
        rows += [_row("under way" if i == 0 else "", said) for i, said in enumerate(now[:_SHOWN])]
        if len(now) > _SHOWN:
            rows.append(_row("", f"and {len(now) - _SHOWN} more"))
        if self._together:
            rows.append(_row("act together", self._together))
        if self._last:
            rows.append(_row("last failure", self._last, "dark_orange3"))
        return Group(*rows)

    def show_asked(self, query: Query) -> None: ...

    def show_answered(self, query: Query, outcome: Outcome) -> None:
        self._best = self.best
        self._together = ", ".join(f"{a} and {b} ({p:.0%})" for a, b, p in interacting(self._run.campaign)[:3])
        if outcome.failed:
            self._last = f"{outcome.reason}, at {query.words}"
        failures = f"[dark_orange3]{self._failures} failed" if self._failures else ""
        self._bar.update(self._task, completed=(query.number or 0) + 1, failures=failures)

    def end(self) -> None:
        self._live.stop()


def _row(name: str, said: str, style: str = "") -> Text:
    row = Text(f"{name:>13}  ", style="dim", no_wrap=True, overflow="ellipsis")
    return row.append(shorten(said, 300), style=style or "not dim")
