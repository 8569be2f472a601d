"""The journal of a run: `repetitions.jsonl`, one line saying what is run, then one line per finished repetition.

A line has a checksum and is on the disk before the next repetition is waited for (`gainful.campaign.lines`), so that
whatever ends the run, at most the line being written is lost. A last line that was cut short is dropped when the run
continues; any other damage is an error. Nothing else is needed to continue: results are made from the journal.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from gainful.campaign.lines import Lines, Mark, parse, read_lines, to_lines, to_text
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
            write_atomically(path, to_lines([to_text(identity.record)], Mark())[0])
        self._lines = _open(path, folder)
        try:
            header, records, self._mark = _read(path)
            _check(folder, header, identity, records, repetitions)
            self.torn = self._mark.end < self._lines.size
            if self.torn:
                self._mark = self._lines.write([], self._mark)
        except BaseException:
            self._lines.close()
            raise
        self.kept = {record["key"]: record for record in records}

    def append(self, finished: Finished) -> None:
        """Write a finished repetition down, to the disk."""
        repetition = finished.repetition
        record = {"key": repetition.key, "seed": repetition.seed, "seconds": round(finished.seconds, 3)}
        self._mark = self._lines.write([to_text(record | {"rows": finished.rows})], self._mark)
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
        self._lines.close()


def read_journal(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What is run, and the records of finished repetitions."""
    return _read(path)[:2]


def _read(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]], Mark]:
    content = read_lines(path)
    records, damage = content.records, content.damage
    with open(path, "rb") as file:
        first = records[0] if records else parse(file.readline())[0] or {}
    if "experiment" not in first:
        raise InvalidInput(str(path), "the journal of a run", "something else", "choose another folder")
    if damage is not None and damage.line == 1 and "check" not in first:
        remedy = f"finish it with the version that began it, {first.get('gainful')}, or start over with fresh=True"
        raise InvalidInput(str(path), "lines with checksums", "a run of an earlier version", remedy)
    # A loss of power may keep the end of the last line and lose its middle: that repetition runs again.
    if damage is not None and (damage.line == 1 or not damage.last):
        remedy = "take out that line and all that follow, or start over with fresh=True"
        raise InvalidInput(str(path), "lines as written", f"line {damage.line}, which {damage.reason}", remedy)
    return records[0], records[1:], content.mark


def set_aside(folder: Path) -> Path | None:
    """Rename a folder that holds a run to NAME.old-1, or the next free number; None where there is no run."""
    path = folder / JOURNAL
    if not path.exists():
        return None
    with _open(path, folder):  # refused while another run is writing there
        resolved = folder.resolve()
        number = 1
        while (aside := resolved.with_name(f"{resolved.name}.old-{number}")).exists():
            number += 1
        resolved.rename(aside)
    return aside


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that it is there as a whole or, whatever happens, as it was before."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with temporary.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(temporary, path)


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
    remedy = "give another folder, or start over with fresh=True, which keeps the old one under another name"
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


def _open(path: Path, folder: Path) -> Lines:
    """The journal, locked until it is closed."""
    try:
        return Lines(path)
    except BlockingIOError:
        raise GainfulError(f"{folder}: another run is writing there; wait for it, or give another folder") from None
