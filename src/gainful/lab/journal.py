"""The journal of a run: `repetitions.jsonl`, one line saying what is run, then one line per finished repetition.

A line is written with a single call and reaches the disk before the next repetition is waited for, so that whatever
ends the run, at most the line being written is lost. A last line that was cut short is dropped when the run continues;
any other damage is an error. Nothing else is needed to continue: results are made from the journal.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from gainful.errors import GainfulError, InvalidInput
from gainful.lab.experiment import Row
from gainful.lab.repetition import Finished, Repetition

__all__ = ["JOURNAL", "SCHEMA", "Identity", "Journal", "read_journal", "set_aside", "write_atomically"]

JOURNAL = "repetitions.jsonl"
SCHEMA = 1


@dataclass(frozen=True)
class Identity:
    """What has to agree for a run to be continued."""

    experiment: str
    quick: bool
    seed: int
    gainful: str
    common: Mapping[str, Any] = field(default_factory=dict)
    schema: int = SCHEMA

    @property
    def record(self) -> dict[str, Any]:
        """As the first line of the journal has it."""
        record = json.loads(json.dumps(asdict(self)))
        return record if self.common else {name: value for name, value in record.items() if name != "common"}


class Journal:
    """An open journal: what was finished before (`kept`), and `append` for what is finished now.

    Opening creates it, or continues the one that is there; `torn` says that a line cut short was dropped. While it is
    open no other run can open it.
    """

    def __init__(self, folder: Path, identity: Identity, repetitions: list[Repetition]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / JOURNAL
        if not path.exists():
            write_atomically(path, _line(identity.record))
        self._file = _opened(path, folder)
        try:
            header, records, whole = read_journal(path)
            _check(folder, header, identity, records, repetitions)
            self.torn = whole < path.stat().st_size
            os.ftruncate(self._file, whole)
        except BaseException:
            os.close(self._file)
            raise
        self.kept = {record["key"]: record for record in records}

    def append(self, finished: Finished) -> None:
        """Write a finished repetition down, to the disk."""
        repetition = finished.repetition
        record = {"key": repetition.key, "seed": repetition.seed, "seconds": round(finished.seconds, 3)}
        os.write(self._file, _line(record | {"rows": finished.rows}))
        os.fsync(self._file)
        self.kept[repetition.key] = record | {"rows": finished.rows}

    def rows(self, repetitions: list[Repetition]) -> list[Row]:
        """All rows in the order of the repetitions, each joined with its setting, as read back from the journal."""
        stored = {key: json.loads(json.dumps(record["rows"])) for key, record in self.kept.items()}
        return [each.setting | row for each in repetitions for row in stored[each.key]]

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        os.close(self._file)


def read_journal(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]], int]:
    """What is run, the records of finished repetitions, and how many bytes of the file are whole lines."""
    content = path.read_bytes()
    lines = content.splitlines(keepends=True)
    parsed: list[dict[str, Any]] = []
    whole = 0
    for number, line in enumerate(lines, start=1):
        try:
            if not line.endswith(b"\n"):
                raise ValueError("no end of line")
            parsed.append(json.loads(line))
        except ValueError as error:
            if number == len(lines) and parsed:
                break
            remedy = f"{error}; take that line out, or start over with --fresh"
            raise InvalidInput(str(path), "one JSON object per line", f"line {number}", remedy) from None
        whole += len(line)
    if not parsed or "experiment" not in parsed[0]:
        raise InvalidInput(str(path), "the journal of a run", "something else", "choose another folder with --out")
    return parsed[0], parsed[1:], whole


def set_aside(folder: Path) -> Path | None:
    """Rename a folder that holds a run to NAME.old-1, or the next free number; None where there is no run."""
    path = folder / JOURNAL
    if not path.exists():
        return None
    file = _opened(path, folder)  # refused while another run is writing there
    try:
        resolved = folder.resolve()
        number = 1
        while (aside := resolved.with_name(f"{resolved.name}.old-{number}")).exists():
            number += 1
        resolved.rename(aside)
    finally:
        os.close(file)
    return aside


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that it is there as a whole or, whatever happens, as it was before."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with temporary.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(temporary, path)


def _line(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, allow_nan=False).encode() + b"\n"


def _check(
    folder: Path,
    header: dict[str, Any],
    identity: Identity,
    records: list[dict[str, Any]],
    repetitions: list[Repetition],
) -> None:
    """Refuse to continue a run that is another one."""
    wanted, found = _flat(identity.record), _flat(header)
    names = [name for name in {**wanted, **found} if found.get(name) != wanted.get(name)]
    differences = [f"{name} {found.get(name)!r}" for name in names]
    asked = [f"{name} {wanted.get(name)!r}" for name in names]
    remedy = "give another folder with --out, or start over with --fresh, which keeps the old one under another name"
    if differences:
        got = f"a run with {', '.join(differences)}"
        raise InvalidInput(str(folder), f"a run with {', '.join(asked)}", got, remedy)
    current = {each.key: each.seed for each in repetitions}
    strangers = [record["key"] for record in records if current.get(record["key"]) != record["seed"]]
    if strangers:
        expected = f"finished repetitions among the {len(repetitions)} asked for"
        got = f"{len(strangers)} of {len(records)} that are not, such as {strangers[0]}"
        raise InvalidInput(str(folder), expected, got, f"ask for no fewer than before, or {remedy}")


def _flat(header: Mapping[str, Any]) -> dict[str, Any]:
    return {**header.get("common", {}), **{name: value for name, value in header.items() if name != "common"}}


def _opened(path: Path, folder: Path) -> int:
    """The journal, opened to append and locked; again, if another run has put its own in its place meanwhile."""
    while True:
        file = os.open(path, os.O_WRONLY | os.O_APPEND)
        try:
            _lock(file, folder)
            if os.path.samestat(os.fstat(file), path.stat()):
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def _lock(file: int, folder: Path) -> None:
    """Keep other runs out until the file is closed, or this process ends."""
    with suppress(ImportError):  # only POSIX has it
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise GainfulError(f"{folder}: another run is writing there; wait for it, or give --out") from None
