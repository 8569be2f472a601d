"""Trials in processes, one line of JSON each as it is done; what is on file is not done again.

A line is flushed before the next trial begins, so Ctrl-C and a killed process lose no more than the trials under way.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from gainful.lab.process_pool import Died, ProcessPool, cores

Record = dict[str, Any]


def options(words: str, folder: str) -> argparse.ArgumentParser:
    """What every resumable benchmark can be told."""
    found = argparse.ArgumentParser(description=words, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("--cores", type=int, default=cores(), help="processes at once (all cores)")
    found.add_argument("--folder", type=Path, default=Path("results") / folder, help="where results are kept")
    return found


def on_file(folder: Path) -> dict[tuple[str, int], Record]:
    """The records of all files, by cell and number. A last line that was cut off is as if it were not there."""
    found = {}
    for path in sorted(folder.glob("*.jsonl")):
        *whole, _ = path.read_text(encoding="utf-8").split("\n")
        for line in whole:
            if line:
                record = json.loads(line)
                found[record["cell"], record["number"]] = record
    return found


def append(path: Path, record: Record) -> None:
    """The record as one more line; a line that was cut off before it is taken away."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - 65536, 0))
        tail = file.read()
        if tail and not tail.endswith(b"\n"):
            file.truncate(size - len(tail) + tail.rfind(b"\n") + 1)
        file.write(json.dumps(record).encode() + b"\n")
        file.flush()


def perform(
    work: Callable[..., Any], tasks: Mapping[tuple[str, int], tuple[Any, ...]], folder: Path, processes: int
) -> bool:
    """Do the tasks that are not on file, in their order; whether all are done. Each belongs to the file of its first
    word."""
    done = on_file(folder)
    todo = {key: arguments for key, arguments in tasks.items() if key not in done}
    print(f"{len(tasks)} trials, {len(tasks) - len(todo)} on file in {folder}", flush=True)
    begun, count = time.monotonic(), 0
    try:
        for event in ProcessPool(work, processes).perform(todo):
            if event is None:
                continue
            cell, number = event.key
            lost = {"error": f"the process died: {event.cause}"} if isinstance(event, Died) else event.value
            append(folder / f"{cell.split()[0]}.jsonl", {"cell": cell, "number": number, **lost})
            count += 1
            _show(count, len(todo), time.monotonic() - begun)
    except KeyboardInterrupt:
        print(f"\nstopped after {count} trials; the same command goes on from there", flush=True)
        return False
    if count:
        print(flush=True)
    return True


def _show(count: int, total: int, seconds: float) -> None:
    """How far it is, on one line of a terminal; in a file, a line at every twentieth of the way."""
    left = seconds / count * (total - count)
    text = f"{count}/{total}   {seconds / count:.2f} s each   {left / 60:.0f} min left"
    if sys.stderr.isatty():
        print(f"\r{text}   ", end="", file=sys.stderr, flush=True)
    elif count == total or count % max(total // 20, 1) == 0:
        print(text, flush=True)
