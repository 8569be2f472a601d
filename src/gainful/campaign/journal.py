"""Where events are kept: in memory, or appended to a file of JSON lines.

A journal promises: `events()` gives every event appended so far, in order; `append(event)` returns only when the event
is kept, and after it has failed the journal is as it was before. One campaign writes to a journal at a time.

In a file each event is one line, written at once and flushed to the disk. A loss of power in the middle leaves at most
a last line without its end, which is dropped, with a warning, when the journal is opened again.
"""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import Any, Protocol

from gainful.errors import InvalidInput, JournalError, JournalWarning

__all__ = ["FileJournal", "Journal", "MemoryJournal", "open_journal"]

Event = dict[str, Any]


class Journal(Protocol):
    """See the module."""

    def events(self) -> list[Event]: ...

    def append(self, event: Event) -> None: ...


class MemoryJournal:
    """Events in memory, kept as the JSON text that a file would hold.

    >>> journal = MemoryJournal()
    >>> journal.append({"event": "stopped"})
    >>> journal.events()
    [{'event': 'stopped'}]
    """

    def __init__(self) -> None:
        self._lines: list[bytes] = []

    def events(self) -> list[Event]:
        return [json.loads(line) for line in self._lines]

    def append(self, event: Event) -> None:
        self._lines.append(_line(event))


class FileJournal:
    """Events in a file of JSON lines, created with its first event."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._size: int | None = None  # as far as this journal has read or written
        self._whole = 0  # the end of the last whole event

    def events(self) -> list[Event]:
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            content = b""
        except OSError as trouble:
            raise JournalError(f"the journal {self.path} cannot be read: {trouble.strerror}") from trouble
        whole = content.rfind(b"\n") + 1
        if not whole and content and not _begins_a_journal(content):
            raise JournalError(f"{self.path} is not a journal of a campaign, and is left alone; choose another file")
        found = [self._parsed(line, i) for i, line in enumerate(content[:whole].splitlines(), start=1)]
        if whole < len(content):
            warnings.warn(
                f"the last event of {self.path} was cut short ({len(content) - whole} bytes) and is left out; the "
                f"{len(found)} events before it are complete",
                JournalWarning,
                stacklevel=3,
            )
        if self._size is None:  # only the first look counts: what others write later must be noticed
            self._size, self._whole = len(content), whole
        return found

    def _parsed(self, line: bytes, number: int) -> Event:
        try:
            event = json.loads(line)
        except (json.JSONDecodeError, UnicodeDecodeError) as trouble:
            raise JournalError(
                f"line {number} of {self.path} is not JSON ({trouble}); the file was changed or is damaged: restore it "
                "from a copy, or delete what follows the last good line"
            ) from trouble
        if not isinstance(event, dict) or "event" not in event:
            raise JournalError(f"line {number} of {self.path} is not an event of a campaign; is this the right file?")
        return event

    def append(self, event: Event) -> None:
        if self._size is None:
            self.events()
        line = _line(event)
        begun = False
        try:
            with open(self.path, "ab") as file:
                if file.tell() != self._size:
                    raise JournalError(
                        f"{self.path} has changed since it was read: another campaign writes to it; resume from the "
                        "journal again and repeat the last call"
                    )
                begun = True
                if self._whole < self._size:  # the end of an event that was never finished
                    file.truncate(self._whole)
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        except OSError as trouble:
            if begun:
                self._undo(len(line))
            raise JournalError(f"the event could not be written to {self.path}: {trouble.strerror}") from trouble
        self._whole += len(line)
        self._size = self._whole

    def _undo(self, length: int) -> None:
        """Bring the file back to its last whole event after a write of its own that failed."""
        if self._whole < self.path.stat().st_size <= self._whole + length:
            os.truncate(self.path, self._whole)
        self._size = self._whole


def _begins_a_journal(content: bytes) -> bool:
    """Whether this may be the torn beginning of a first event."""
    first = b'{"event": "created"'
    return content.startswith(first) or first.startswith(content)


def _line(event: Event) -> bytes:
    text = json.dumps(event, ensure_ascii=False, allow_nan=False)
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:  # half a surrogate pair, which JSON can hold and UTF-8 cannot
        return json.dumps(event, allow_nan=False).encode() + b"\n"


def open_journal(where: Journal | str | os.PathLike[str] | None) -> Journal:
    """A journal in memory for None, in a file for a path; a journal is given back as it is."""
    if where is None:
        return MemoryJournal()
    if isinstance(where, str | os.PathLike):
        return FileJournal(where)
    if not (callable(getattr(where, "events", None)) and callable(getattr(where, "append", None))):
        raise InvalidInput("journal", "a path, a journal, or None for memory", where, "give the path of a file")
    return where
