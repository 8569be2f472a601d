"""Runs an experiment, or what is left of it, and then writes its claims, its table and its figures.

FOLDER/repetitions.jsonl   the journal: what is run, and every finished repetition
FOLDER/result.json         the claims; the same bytes wherever and in whatever order the repetitions ran
FOLDER/rows.csv            the tidy table behind them
FOLDER/figures/*.png
FOLDER/timings.csv         the rows that are timings, if there are any
FOLDER/run.json            when, where and how long: this and the timings are all that may differ between two runs
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from gainful import __version__
from gainful.errors import InvalidInput, MissingExtra
from gainful.lab.experiment import Experiment, Row
from gainful.lab.files import data_file
from gainful.lab.journal import SCHEMA, Identity, Journal, set_aside, write_atomically
from gainful.lab.processes import Processes
from gainful.lab.registry import address_of, find
from gainful.lab.repetition import Failed, Finished, Outcome, Repetition, repetitions_of
from gainful.lab.table import to_csv
from gainful.lab.workers import Here, Watcher, Workers

__all__ = ["FIGURES", "RESULT", "RUN", "Silent", "Summary", "run"]

RESULT, TABLE, RUN, FIGURES, TIMINGS = "result.json", "rows.csv", "run.json", "figures", "timings.csv"


class Silent:
    """A watcher that says nothing."""

    def begin(self, total: int, kept: int) -> None: ...

    def advance(self, outcome: Outcome) -> None: ...

    def say(self, sentence: str) -> None: ...

    def end(self) -> None: ...


@dataclass(frozen=True)
class Summary:
    """How a run went: `result` is what result.json says, or None while repetitions are missing.

    Of all repetitions `kept` were finished before and `ran` were finished now; `failures` are tried again next time.
    `rows` and `timings` are the tables, of all repetitions, once none is missing.
    """

    folder: Path
    result: dict[str, Any] | None
    kept: int
    ran: int
    failures: tuple[Failed, ...]
    rows: list[Row] = field(default_factory=list, repr=False)
    timings: list[Row] = field(default_factory=list, repr=False)


def run(
    experiment: Experiment | str,
    folder: str | Path,
    *,
    quick: bool = False,
    seed: int = 0,
    workers: Workers | None = None,
    fresh: bool = False,
    watcher: Watcher | None = None,
) -> Summary:
    """Run what the folder does not have yet, and write the results once it has everything.

    `experiment` is a value, or an address "module:ATTRIBUTE". An interrupted run continues when it is called
    again; with `fresh` the old folder is kept under another name and the run starts over. Figures, claims and table are
    made anew each time, from the journal.
    """
    workers, watcher, folder = workers or Processes(), watcher or Silent(), Path(folder)
    value, address = _locate(experiment, workers)
    repetitions = repetitions_of(value, quick, seed)
    for file in value.data:
        data_file(file)
    if fresh and (aside := set_aside(folder)):
        watcher.say(f"The earlier run is now in {aside}.")
    with Journal(folder, Identity(value.name, quick, seed, __version__, value.common), repetitions) as journal:
        if journal.torn:
            watcher.say("The last line of the journal was cut short, so that repetition runs again.")
        left = [each for each in repetitions if each.key not in journal.kept]
        kept = len(repetitions) - len(left)
        watcher.begin(len(repetitions), kept)
        failures = _perform(value, address, left, journal, workers, watcher, folder)
        ran = len(left) - len(failures)
        if failures:
            order = {each.key: i for i, each in enumerate(repetitions)}
            failures.sort(key=lambda each: order[each.repetition.key])
            return Summary(folder, None, kept, ran, tuple(failures))
        everything = journal.rows(repetitions)
        rows = [row for row in everything if "seconds" not in row]
        timings = [row for row in everything if "seconds" in row]
        result = _write_results(value, rows, timings, folder, quick, seed, len(repetitions))
        try:
            _draw(value, rows, folder)
        except (MissingExtra, ModuleNotFoundError) as error:
            watcher.say(f"No figures: {error}")
        return Summary(folder, result, kept, ran, (), rows, timings)


def _perform(
    experiment: Experiment,
    address: str | None,
    left: list[Repetition],
    journal: Journal,
    workers: Workers,
    watcher: Watcher,
    folder: Path,
) -> list[Failed]:
    """Run what is left into the journal, and whatever ends that, write down how it went; what failed."""
    started, begun, before = datetime.now(UTC), time.perf_counter(), len(journal.kept)
    failures: list[Failed] = []
    try:
        if left:
            with closing(workers.perform(experiment, address, left, watcher)) as outcomes:
                for outcome in outcomes:
                    if isinstance(outcome, Finished):
                        journal.append(outcome)
                    else:
                        failures.append(outcome)
                    watcher.advance(outcome)
    finally:
        watcher.end()
        seconds = [record["seconds"] for record in journal.kept.values()]
        record = {
            "where": workers.where,
            "started": started.isoformat(timespec="seconds"),
            "seconds": round(time.perf_counter() - begun, 3),
            "repetitions": before + len(left),
            "finished": len(journal.kept),
            "finished now": len(journal.kept) - before,
            "failed": len(failures),
            "seconds of all repetitions": round(sum(seconds), 3),
            "seconds of the longest": max(seconds, default=0.0),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "machine": platform.machine(),
        }
        _write_json(folder / RUN, record)
    return failures


def _locate(experiment: Experiment | str, workers: Workers) -> tuple[Experiment, str | None]:
    if isinstance(experiment, str):
        return find(experiment), experiment
    return experiment, None if isinstance(workers, Here) else address_of(experiment)


def _write_results(
    experiment: Experiment,
    rows: list[Row],
    timings: list[Row],
    folder: Path,
    quick: bool,
    seed: int,
    repetitions: int,
) -> dict[str, Any]:
    if timings:
        write_atomically(folder / TIMINGS, to_csv(timings).encode())
    if not rows:
        raise InvalidInput("run", "rows from at least one repetition", "none at all", "see what run returns")
    table = to_csv(rows).encode()
    result = {
        "schema": SCHEMA,
        "experiment": experiment.name,
        "title": experiment.title,
        "source": experiment.source,
        "published": dict(experiment.published),
        "quick": quick,
        "seed": seed,
        "gainful": __version__,
        "repetitions": repetitions,
        "table": {"file": TABLE, "rows": len(rows), "sha256": hashlib.sha256(table).hexdigest()},
        **({"common": dict(experiment.common)} if experiment.common else {}),
        "claims": [claim.record for claim in experiment.claims(rows)],
    }
    write_atomically(folder / TABLE, table)
    _write_json(folder / RESULT, result)
    return result


def _draw(experiment: Experiment, rows: list[Row], folder: Path) -> None:
    """Draw next to the old figures, then put the new ones in their place."""
    drawing = Path(tempfile.mkdtemp(prefix=".figures-", dir=folder))
    try:
        experiment.figures(rows, drawing)
        drawing.chmod(0o755)  # mkdtemp keeps others out
        shutil.rmtree(folder / FIGURES, ignore_errors=True)
        os.replace(drawing, folder / FIGURES)
    finally:
        shutil.rmtree(drawing, ignore_errors=True)


def _write_json(path: Path, value: object) -> None:
    write_atomically(path, (json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False) + "\n").encode())
