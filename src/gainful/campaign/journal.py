"""Where a campaign's events are kept: in memory, or appended to a file of JSON lines.

A journal promises: `events()` gives every event appended so far, in order, as JSON objects; `append(*events)` returns
only when all of them are kept, and after it has failed the journal is as it was before. One campaign writes to a
journal at a time: a second one is refused until it has read what the first has written.

In a file each event is one line, on the disk before `append` returns (`lines`). A loss of power in the middle leaves at
most a last line without its end, which is dropped, with a warning, when the journal is opened again.
"""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import Any, Protocol

from gainful.campaign.lines import Content, Lines, read_lines, to_line
from gainful.errors import InvalidInput, JournalError, JournalWarning

__all__ = ["FileJournal", "Journal", "MemoryJournal", "open_journal"]

Record = dict[str, Any]

_PATIENCE = 10.0  # seconds for which another writer is waited for; a write takes some milliseconds


class Journal(Protocol):
    """See the module."""

    def events(self) -> list[Record]:
        """Every event so far, in order."""
        ...

    def append(self, *events: Record) -> None:
        """Keep these events: all of them, or none."""
        ...


class MemoryJournal:
    """Events in memory, kept as JSON text: nobody can change them, and what JSON does not have is refused.

    >>> journal = MemoryJournal()
    >>> journal.append({"event": "stopped"})
    >>> journal.events()
    [{'event': 'stopped'}]
    """

    def __init__(self) -> None:
        self._lines: list[str] = []

    def events(self) -> list[Record]:
        return [json.loads(line) for line in self._lines]

    def append(self, *events: Record) -> None:
        self._lines.extend([json.dumps(event, allow_nan=False) for event in events])


class FileJournal:
    """Events in a file of JSON lines, created with its first event."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._size: int | None = None  # as far as this journal has read or written
        self._whole = 0  # the end of the last whole event

    def events(self) -> list[Record]:
        content = self._read()
        if not content.lines and content.torn and not _begins_a_journal(content.torn):
            raise JournalError(f"{self.path} is not a journal of a campaign, and is left alone; choose another file")
        found = [self._parse(line, i) for i, line in enumerate(content.lines, start=1)]
        if content.torn:
            warnings.warn(
                f"the last event of {self.path} was cut short ({len(content.torn)} bytes) and is left out; the "
                f"{len(found)} events before it are complete",
                JournalWarning,
                stacklevel=3,
            )
        if self._size is None:  # only the first look counts: what others write later must be noticed
            self._size, self._whole = content.size, content.whole
        return found

    def _read(self) -> Content:
        try:
            return read_lines(self.path, wait=_PATIENCE)
        except FileNotFoundError:
            return Content([], 0, b"")
        except BlockingIOError:
            raise self._busy() from None
        except OSError as trouble:
            raise JournalError(f"the journal {self.path} cannot be read: {trouble.strerror}") from trouble

    def _parse(self, line: bytes, number: int) -> Record:
        try:
            event = json.loads(line)
        except (json.JSONDecodeError, UnicodeDecodeError) as trouble:
            raise JournalError(
                f"line {number} of {self.path} is not JSON ({trouble}); the file was changed or is damaged: restore it "
                "from a copy, or delete what follows the last good line"
            ) from trouble
        if not isinstance(event, dict):
            raise JournalError(f"line {number} of {self.path} is not an event of a campaign; is this the right file?")
        return event

    def append(self, *events: Record) -> None:
        if self._size is None:
            self.events()
        lines = [to_line(event) for event in events]
        try:
            with Lines(self.path, _PATIENCE, create=True) as file:
                if file.size != self._size:
                    raise JournalError(
                        f"{self.path} has changed since it was read: another campaign writes to it; resume from the "
                        "journal again and repeat the last call"
                    )
                self._size = self._whole  # the end of an event that was never finished goes, whatever comes next
                self._size = self._whole = file.write(lines, at=self._whole)
        except BlockingIOError:
            raise self._busy() from None
        except OSError as trouble:
            raise JournalError(f"the event could not be written to {self.path}: {trouble.strerror}") from trouble

    def _busy(self) -> JournalError:
        return JournalError(
            f"another process keeps {self.path} locked; wait until it is done with it, or choose another file"
        )


def _begins_a_journal(content: bytes) -> bool:
    """Whether this may be the torn beginning of a first event."""
    first = b'{"event": "created"'
    return content.startswith(first) or first.startswith(content)


def open_journal(where: Journal | str | os.PathLike[str] | None) -> Journal:
    """A journal in memory for None, in a file for a path; a journal is given back as it is."""
    if where is None:
        return MemoryJournal()
    if isinstance(where, str | os.PathLike):
        return FileJournal(where)
    if not (callable(getattr(where, "events", None)) and callable(getattr(where, "append", None))):
        raise InvalidInput("journal", "a path, a journal, or None for memory", where, "give the path of a file")
    return where
