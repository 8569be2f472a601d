"""Where a campaign's events are kept: in memory, or appended to a file of JSON lines.

A journal promises:

    events()                       every event appended so far, in order, as JSON objects
    append(*events, after=n)       compare and append: keep these events if the journal holds n events, all of them or
                                   none, and return when they are kept; JournalChanged if it holds another number, and
                                   then it is left as it was
    append(*events)                keep them after whatever is there
    append(after=n)                compare only

Whoever has seen n events and appends after n cannot overlook what others have written. So any number of campaigns, in
any number of threads and processes, may write to one journal: one of them wins, the others read what it has written
and go on from there.

In a file each event is one line with a checksum, on the disk before `append` returns (`lines`). A loss of power in the
middle leaves at most a last line that is not whole, which is dropped, with a warning, when the journal is opened again.
"""

from __future__ import annotations

import json
import os
import stat
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from gainful.campaign.lines import Content, Lines, Mark, parse, read_lines, to_text
from gainful.errors import InvalidInput, JournalChanged, JournalError, JournalWarning

__all__ = ["FileJournal", "Journal", "MemoryJournal", "Turn", "open_journal", "read_events"]

Record = dict[str, Any]

_PATIENCE = 10.0  # seconds for which another writer is waited for; a write takes some milliseconds
_UNCHECKED = (1, 2)  # the schemas of lines without checksums
_REPAIR = "restore the file from a copy, or delete that line and all that follow: the lines before it are good"


class Journal(Protocol):
    """See the module."""

    def events(self) -> list[Record]:
        """Every event so far, in order."""
        ...

    def append(self, *events: Record, after: int | None = None) -> None:
        """Keep these events, all of them or none, if the journal holds so many; JournalChanged if it does not."""
        ...


class Turn:
    """A lock between threads that belongs to one object: a copy of that object, or a pickle, has its own."""

    def __init__(self) -> None:
        self.lock = threading.RLock()

    def __reduce__(self) -> tuple[type[Turn], tuple[()]]:
        return Turn, ()


class MemoryJournal:
    """Events in memory, kept as JSON text: nobody can change them, and what JSON does not have is refused.

    >>> journal = MemoryJournal()
    >>> journal.append({"event": "stopped"})
    >>> journal.events()
    [{'event': 'stopped'}]
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._turn = Turn()

    def events(self) -> list[Record]:
        return [json.loads(line) for line in list(self._lines)]

    def append(self, *events: Record, after: int | None = None) -> None:
        lines = [json.dumps(event, allow_nan=False) for event in events]
        with self._turn.lock:
            _compare(after, len(self._lines))
            self._lines.extend(lines)


class FileJournal:
    """Events in a file of JSON lines, created with its first event."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if "\0" in str(path):
            raise InvalidInput("journal", "the path of a file", path, "a path has no character of code 0")
        self._mark = Mark()  # as far as this journal has read or written
        self._size: int | None = None  # of the file then
        self._turn = Turn()

    def events(self) -> list[Record]:
        with self._turn.lock:
            content = self._read()
            self._accept(content)
            known = self._mark
            if known.lines and (len(content.checks) < known.lines or content.checks[known.lines - 1] != known.check):
                raise self._replaced()
            self._mark, self._size = content.mark, content.size
        if content.torn:
            warnings.warn(
                f"the last event of {self.path} was cut short ({len(content.torn)} bytes) and is left out; the "
                f"{len(content.records)} events before it are complete",
                JournalWarning,
                stacklevel=4,
            )
        return content.records

    def append(self, *events: Record, after: int | None = None) -> None:
        texts = [to_text(event) for event in events]
        with self._turn.lock:
            if not events and self._is_as_it_was():
                _compare(after, self._mark.lines)
                return
            with self._opened() as file:
                found = file.read(self._mark)
                if found is None:
                    raise self._replaced()
                self._accept(found)
                self._mark, self._size = found.mark, found.size
                _compare(after, self._mark.lines)
                if events:
                    self._mark = file.write(texts, self._mark)
                    self._size = self._mark.end

    def _is_as_it_was(self) -> bool:
        """Whether nobody has written since this journal last looked, as far as the length of the file tells."""
        try:
            return os.stat(self.path).st_size == self._size
        except OSError:
            return self._mark.lines == 0  # not there yet; anything else is found out by opening it

    def _require_regular(self) -> None:
        """A pipe or a device has no end to read to; what is not there yet is made."""
        try:
            mode = os.stat(self.path).st_mode
        except OSError:
            return  # which opening it will say
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # of a folder, opening it says so
            raise JournalError(f"{self.path} is a device or a pipe, which keeps no journal; choose a file")

    def _read(self) -> Content:
        self._require_regular()
        try:
            return read_lines(self.path, wait=_PATIENCE)
        except FileNotFoundError:
            return Content([], [], Mark())
        except BlockingIOError:
            raise self._busy() from None
        except OSError as trouble:
            raise JournalError(f"the journal {self.path} cannot be read: {trouble.strerror}") from trouble

    @contextmanager
    def _opened(self) -> Iterator[Lines]:
        """The file, locked; whatever the operating system refuses meanwhile is a JournalError."""
        self._require_regular()
        try:
            with Lines(self.path, _PATIENCE, create=self._mark.lines == 0) as file:
                yield file
        except BlockingIOError:
            raise self._busy() from None
        except FileNotFoundError as trouble:
            if self._mark.lines:
                raise self._replaced() from trouble
            raise JournalError(f"the event could not be written to {self.path}: {trouble.strerror}") from trouble
        except OSError as trouble:
            raise JournalError(f"the event could not be written to {self.path}: {trouble.strerror}") from trouble

    def _accept(self, content: Content) -> None:
        """JournalError for a file that is none of ours, or is damaged."""
        damage, nothing = content.damage, content.mark.lines == 0
        if damage is not None and nothing:
            self._recognise()
        if damage is not None:
            remedy = "restore the file from a copy" if damage.line == 1 else _REPAIR
            raise JournalError(
                f"line {damage.line} of {self.path} {damage.reason}: the file was changed or is damaged; {remedy}"
            )
        if nothing and content.torn and not _begins_a_journal(content.torn):
            raise JournalError(f"{self.path} is not a journal of a campaign, and is left alone; choose another file")

    def _recognise(self) -> None:
        """A first line without a checksum may be that of an earlier version, which is said in other words."""
        with open(self.path, "rb") as file:
            first = parse(file.readline())[0] or {}
        if first.get("event") == "created" and first.get("schema") in _UNCHECKED:
            raise JournalError(
                f"{self.path} is a journal of schema {first['schema']}, without checksums; it was written by another "
                "version of gainful: go on with that version, or begin a new campaign"
            )

    def _replaced(self) -> JournalError:
        return JournalError(
            f"{self.path} no longer holds what was read from it and written to it before: it was cut, replaced or "
            "removed; restore it from a copy, or go on with what is there by Campaign.resume"
        )

    def _busy(self) -> JournalError:
        return JournalError(
            f"another process keeps {self.path} locked; wait until it is done with it, or choose another file"
        )


def _compare(after: int | None, held: int) -> None:
    if after is not None and after != held:
        raise JournalChanged(
            f"the journal holds {held} events where {after} have been seen: somebody else has written to it; read it "
            "again, and repeat what was to be done"
        )


def _begins_a_journal(content: bytes) -> bool:
    """Whether this may be the torn beginning of a first event."""
    first = b'{"event": "created"'
    return content.startswith(first) or first.startswith(content)


def read_events(journal: Journal) -> list[Record]:
    """Every event of a journal, which may be anybody's: what JSON does not have is refused with its number."""
    events = journal.events()
    if type(journal) in (FileJournal, MemoryJournal):  # these have just read them from text
        return events
    if not isinstance(events, Sequence):
        raise JournalError(f"the journal's events() gave a {type(events).__name__}, not a list of JSON objects")
    return [_plain(event, number) for number, event in enumerate(events, start=1)]


def _plain(event: Any, number: int) -> Record:
    try:
        found = json.loads(json.dumps(event, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as trouble:
        raise JournalError(f"event {number} of the journal has a value that JSON does not have: {trouble}") from trouble
    if not isinstance(found, dict):
        raise JournalError(f"event {number} of the journal is a {type(event).__name__}, not a JSON object")
    return found


def open_journal(where: Journal | str | os.PathLike[str] | None) -> Journal:
    """A journal in memory for None, in a file for a path; a journal is given back as it is."""
    if where is None:
        return MemoryJournal()
    if isinstance(where, str | os.PathLike):
        return FileJournal(where)
    if not (callable(getattr(where, "events", None)) and callable(getattr(where, "append", None))):
        raise InvalidInput("journal", "a path, a journal, or None for memory", where, "give the path of a file")
    return where
