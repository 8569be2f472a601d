"""A file of JSON lines to append to: locked while it is written, on the disk before `write` returns, each line checked.

The last key of every line is its check, a hash of the line's own text and of the check of the line before it:

    {"event": "asked", "query": 0, "check": "1f0c33…"}

So a bit that has flipped, and a line that was changed, removed, put in, swapped or written twice, is found, and it is
known which: the lines before it are as they were written. Every beginning of the file that ends with a line is again
such a file, so last lines that are missing altogether cannot be told from lines that were never written.

Whatever is interrupted, by an error, by Ctrl-C or by a loss of power, at most the lines being written are lost; what is
left of them is no whole line, is not read, and is cut off by the next write. The lock is on the file itself, so the
operating system releases it when the process ends, however it ends.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, NoReturn

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = ["Content", "Damage", "Lines", "Mark", "lock", "parse", "read_lines", "to_lines", "to_text"]

Record = dict[str, Any]

_PAUSE = 0.002  # seconds between two tries to lock
_FAR = 2**30  # Windows locks bytes: one beyond the end, so that what is written can still be read
_FLAGS = os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0)
_DIGITS = 16  # of a check: by chance one change in 2⁶⁴ is overlooked
_CHECK = re.compile(rb'"check": "([0-9a-f]{%d})"\}' % _DIGITS)
_GOES_ON = "goes on after its checksum"
_CLOSING = len('"check": ""}') + _DIGITS


class Mark(NamedTuple):
    """How far a file is known: so many lines, up to this byte, the last of them with this check, ended by a newline."""

    lines: int = 0
    end: int = 0
    check: str = ""
    ended: bool = True


class Damage(NamedTuple):
    """The first line that is not as it was written, what is wrong with it, and whether it is the last of the file."""

    line: int
    reason: str
    last: bool = True


class Content(NamedTuple):
    """The records of a file's good lines, their checks, where they end, and what follows them.

    That is nothing, or a line that was never finished (`torn`), or `damage`.
    """

    records: list[Record]
    checks: list[str]
    mark: Mark
    torn: bytes = b""
    damage: Damage | None = None
    size: int = 0  # of the file


def to_text(record: Mapping[str, Any]) -> bytes:
    """A record as JSON on one line, without its check; TypeError or ValueError for what JSON does not have.

    >>> to_text({"width": "3 µm"}).decode()
    '{"width": "3 µm"}'
    """
    text = json.dumps(record, ensure_ascii=False, allow_nan=False)
    try:
        return text.encode()
    except UnicodeEncodeError:  # half a surrogate pair, which JSON can hold and UTF-8 cannot
        return json.dumps(record, allow_nan=False).encode()


def _open_text(text: bytes) -> bytes:
    """A record's text up to where its check belongs."""
    return text[:-1] + (b"" if text == b"{}" else b", ")


def _check(opened: bytes, before: str) -> str:
    return sha256(before.encode() + opened).hexdigest()[:_DIGITS]


def to_lines(texts: Iterable[bytes], mark: Mark) -> tuple[bytes, Mark]:
    """Records as lines that follow a mark, and the mark after them."""
    out = [] if mark.ended else [b"\n"]
    lines, check = mark.lines, mark.check
    for text in texts:
        opened = _open_text(text)
        lines, check = lines + 1, _check(opened, check)
        out.append(opened + b'"check": "%s"}\n' % check.encode())
    content = b"".join(out)
    return content, Mark(lines, mark.end + len(content), check)


def read_lines(path: Path, wait: float | None = None) -> Content:
    """What is in the file; OSError if it cannot be read.

    With `wait`, not while somebody is writing: BlockingIOError if that takes longer than so many seconds.
    """
    with open(path, "rb") as file:
        if wait is not None:
            lock(file.fileno(), wait, shared=True)
        content = file.read()
    return _read_on(content, Mark())


def _read_on(content: bytes, mark: Mark) -> Content:
    """What follows a mark, from the bytes that follow it."""
    records: list[Record] = []
    checks: list[str] = []
    size = mark.end + len(content)
    if content and not mark.ended:  # somebody has ended the last line meanwhile
        mark = Mark(mark.lines, mark.end + 1, mark.check)
        if not content.startswith(b"\n"):
            return Content(records, checks, mark, damage=Damage(mark.lines, _GOES_ON), size=size)
        content = content[1:]
    *lines, tail = content.split(b"\n")
    for i, line in enumerate(lines, start=1):
        record, check, reason = _read_line(line, mark.check)
        if record is None:
            damage = Damage(mark.lines + 1, reason, last=i == len(lines) and not tail)
            return Content(records, checks, mark, damage=damage, size=size)
        records.append(record)
        checks.append(check)
        mark = Mark(mark.lines + 1, mark.end + len(line) + 1, check)
    return _read_tail(tail, Content(records, checks, mark, size=size))


def _read_tail(tail: bytes, before: Content) -> Content:
    """What follows the last newline: as a rule a line that was never finished.

    A last line may have lost its end alone, and be whole otherwise. But a whole line that goes on is no interrupted
    write: somebody was told that it is kept, and its end has changed since.
    """
    mark = before.mark
    for closing in _CHECK.finditer(tail):
        record, check, _ = _read_line(tail[: closing.end()], mark.check)
        if record is None:
            continue
        if closing.end() < len(tail):
            return before._replace(damage=Damage(mark.lines + 1, _GOES_ON))
        whole = Mark(mark.lines + 1, mark.end + len(tail), check, ended=False)
        return before._replace(records=[*before.records, record], checks=[*before.checks, check], mark=whole)
    return before._replace(torn=tail)


def _read_line(line: bytes, before: str) -> tuple[Record | None, str, str]:
    """A line's record, its check, and where there is no record, why."""
    opened, closing = line[:-_CLOSING], _CHECK.fullmatch(line[-_CLOSING:])
    if closing is None:
        return None, "", "does not end in a checksum"
    check = closing[1].decode()
    if check != _check(opened, before):
        return None, "", "does not agree with its checksum and the line before it"
    record, reason = parse(opened.removesuffix(b", ") + b"}")
    return record, check, reason


def parse(text: bytes) -> tuple[Record | None, str]:
    """The object that JSON text holds, or why there is none."""
    try:
        found = json.loads(text, parse_constant=_refuse)
    except RecursionError:
        return None, "is nested too deeply"
    except ValueError as trouble:  # no JSON, no UTF-8, or a number of thousands of digits
        return None, f"is not JSON ({trouble})"
    return (found, "") if isinstance(found, dict) else (None, "is not a JSON object")


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON's")


class Lines:
    """The file, open to append to; nobody else can write to it until it is closed.

    It waits for the lock for so many seconds, then BlockingIOError. Any other OSError is the operating system's.
    """

    def __init__(self, path: Path, wait: float = 0.0, create: bool = False) -> None:
        self.path = path
        self._file = _open_locked(path, wait, create)

    @property
    def size(self) -> int:
        """How long the file is now, in bytes."""
        return os.fstat(self._file.fileno()).st_size

    def read(self, mark: Mark) -> Content | None:
        """What follows a mark; None where the lines before it are not those that it was made for."""
        closing = b'"check": "%s"}' % mark.check.encode() + b"\n" * mark.ended if mark.lines else b""
        self._file.seek(max(0, mark.end - len(closing)))
        content = self._file.readall()
        return _read_on(content[len(closing) :], mark) if content.startswith(closing) else None

    def write(self, texts: Iterable[bytes], mark: Mark) -> Mark:
        """Put records after a mark, in place of whatever follows it; the mark after them. If it fails, nothing
        follows it."""
        content, new = to_lines(texts, mark)
        file = self._file.fileno()
        try:
            os.ftruncate(file, mark.end)
            left = memoryview(content)
            while left:
                left = left[os.write(file, left) :]
            os.fsync(file)
            if mark.end == 0:
                _sync_folder(self.path)
        except BaseException:
            with suppress(OSError):
                os.ftruncate(file, mark.end)
            raise
        return new

    def close(self) -> None:
        """Let others write."""
        self._file.close()

    def __enter__(self) -> Lines:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _open_locked(path: Path, wait: float, create: bool) -> io.FileIO:
    """The file, opened and locked; again, if another was put in its place meanwhile.

    An object, not a number: whatever interrupts us before somebody holds it, it closes itself and the lock is gone.
    """
    flags = _FLAGS | (os.O_CREAT if create else 0)
    while True:
        file = io.FileIO(path, "r+", opener=lambda path, _: os.open(path, flags, 0o666))
        try:
            lock(file.fileno(), wait)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
                    return file
        except BaseException:
            file.close()
            raise
        file.close()


def lock(file: int, wait: float, shared: bool = False) -> None:
    """Keep other writers out until the file is closed or this process ends; BlockingIOError after so many seconds."""
    until = time.monotonic() + wait
    while True:
        try:
            return _try_lock(file, shared)
        except BlockingIOError:
            if time.monotonic() >= until:
                raise
        time.sleep(_PAUSE)


if sys.platform == "win32":

    def _try_lock(file: int, shared: bool) -> None:
        os.lseek(file, _FAR, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except PermissionError as held:
            raise BlockingIOError(held.errno, "it is locked") from held
        finally:
            os.lseek(file, 0, os.SEEK_SET)

    def _sync_folder(path: Path) -> None:
        """Windows writes the name of a new file with the file."""

else:

    def _try_lock(file: int, shared: bool) -> None:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)

    def _sync_folder(path: Path) -> None:
        """A new file's name is in its folder, which is written by itself."""
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
