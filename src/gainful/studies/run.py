"""The evaluations of a study, kept in a folder: begun, interrupted, and gone on with by the same call.

journal.jsonl        the campaign: what was asked and answered
outcomes.jsonl       every evaluation as it ended, with its time and last words; its first line is the study
evaluations.csv      both as a table, for other programs
report.html          what was found
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from gainful.campaign import Campaign
from gainful.campaign.state import Entry, Status
from gainful.errors import InvalidInput
from gainful.studies.driving import End, Watcher, drive, made
from gainful.studies.evaluating import Threads
from gainful.studies.kept import Kept
from gainful.studies.minimising import pursued
from gainful.studies.minimum import Minimum, minimum_of
from gainful.studies.outcome import Outcome
from gainful.studies.processes import Processes
from gainful.studies.study import Study

__all__ = ["Evaluation", "Run", "set_aside"]

JOURNAL, OUTCOMES = "journal.jsonl", "outcomes.jsonl"
_FRESH = "put it back, or start over with fresh=True, which keeps the earlier run under another name"
_LEFT_OUT = ("instrument", "answer", "cost", "corrected", "own", "note")


@dataclass(frozen=True)
class Evaluation:
    """One evaluation: the entry of the campaign, and its outcome, None while it is under way."""

    entry: Entry
    outcome: Outcome | None

    @property
    def number(self) -> int:
        return int(self.entry.query.number or 0)


class Run:
    """The run of a study in a folder; nobody else can open it meanwhile.

    Opening it begins the run, or goes on with the one that is there. A study that was changed since, in anything but
    its title, the number of evaluations and time-outs, is refused with what has changed.
    """

    def __init__(self, study: Study, folder: Path) -> None:
        self.study, self.folder = study, folder
        self.sign = study.require_end()
        self._command = study.require_command().command
        design = study.design()
        folder.mkdir(parents=True, exist_ok=True)
        self.kept = Kept(folder / OUTCOMES, {"study": study.matters})
        try:
            self._require_same()
            self.campaign: Campaign = pursued(design, folder / JOURNAL)
        except BaseException:
            self.kept.close()
            raise
        self.before = made(self.campaign)  # evaluations of earlier runs

    def _require_same(self) -> None:
        before, now = self.kept.heading.get("study", {}), self.study.matters
        changed = [key for key in {**now, **before} if before.get(key) != now.get(key)]
        if not changed:
            return
        first, more = changed[0], f" (and {', '.join(changed[1:])})" if changed[1:] else ""
        was, got = (f"{first} = {side[first]!r}" if first in side else f"no {first}" for side in (before, now))
        where = f"{self.study.path.name}, {first}, line {self.study.line(first)}"
        raise InvalidInput(where, f"{was}, as when the run in {self.folder} was begun", f"{got}{more}", _FRESH)

    def go(self, evaluations: int, workers: int, watcher: Watcher, stop: Callable[[], bool]) -> End:
        """Evaluate until so many are made in all. KeyboardInterrupt ends what is under way; it is evaluated again when
        the run goes on."""
        command = self._command
        assert command is not None  # which was asked for
        processes = Processes()
        evaluator = Threads(lambda query: command.evaluate(query, processes), workers)
        try:
            end = self.study.goal
            return drive(self.campaign, evaluator, evaluations, workers, self.kept, watcher, stop, confirm=end)
        finally:
            evaluator.close()
            processes.end()

    @property
    def evaluations(self) -> list[Evaluation]:
        """Every evaluation so far, in the order of asking."""
        numbered = [(entry, entry.query.number) for entry in self.campaign.history]
        return [Evaluation(entry, None if n is None else self.kept.get(n)) for entry, n in numbered]

    def result(self, ended: End | None) -> Minimum:
        """What was found, as `minimise` gives it."""
        return minimum_of(self.campaign, ended, self.sign)

    def table(self) -> str:
        """All evaluations as CSV."""
        rows = [_row(each, row) for each, row in zip(self.evaluations, self.campaign.history.rows, strict=True)]
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]) if rows else ["number"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue()

    def close(self) -> None:
        self.kept.close()

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _row(each: Evaluation, row: dict[str, Any]) -> dict[str, Any]:
    outcome = each.outcome or Outcome(None)
    status = str(each.entry.status)
    if each.entry.status is Status.PENDING:  # one that ended before its turn is told when the run goes on
        status = "under way" if each.outcome is None else "ended"
    place = {name: value for name, value in row.items() if name not in _LEFT_OUT}
    value = "" if outcome.value is None else repr(outcome.value)
    return {**place, "value": value, "status": status, "seconds": outcome.seconds, "reason": outcome.reason}


def set_aside(folder: Path) -> Path | None:
    """Rename a folder that holds a run to NAME.old-1, or the next free number; None where there is no run."""
    if not (folder / OUTCOMES).exists():
        return None
    Kept(folder / OUTCOMES).close()  # refused while another run is at work there
    resolved = folder.resolve()
    number = 1
    while (aside := resolved.with_name(f"{resolved.name}.old-{number}")).exists():
        number += 1
    resolved.rename(aside)
    return aside
