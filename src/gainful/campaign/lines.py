"""A file of JSON lines to append to: locked while it is written, on the disk before `write` returns.

Whatever is interrupted, by an error, by Ctrl-C or by a loss of power, at most the lines being written are lost; what is
left of them has no end of line, is not read, and is cut off by the next write. The lock is on the file itself, so the
operating system releases it when the process ends, however it ends.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = ["Content", "Lines", "lock", "read_lines", "to_line"]

_PAUSE = 0.002  # seconds between two tries to lock
_FAR = 2**30  # Windows locks bytes: one beyond the end, so that what is written can still be read
_FLAGS = os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0)


class Content(NamedTuple):
    """The complete lines of a file, the bytes that they take, and the bytes after them, of a line without its end."""

    lines: list[bytes]
    whole: int
    torn: bytes

    @property
    def size(self) -> int:
        return self.whole + len(self.torn)


def to_line(record: Mapping[str, Any]) -> bytes:
    """A record as one line; TypeError or ValueError for what JSON does not have.

    >>> to_line({"width": "3 µm"}).decode()
    '{"width": "3 µm"}\\n'
    """
    text = json.dumps(record, ensure_ascii=False, allow_nan=False)
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:  # half a surrogate pair, which JSON can hold and UTF-8 cannot
        return json.dumps(record, allow_nan=False).encode() + b"\n"


def read_lines(path: Path, wait: float | None = None) -> Content:
    """What is in the file; OSError if it cannot be read.

    With `wait`, not while somebody is writing: BlockingIOError if that takes longer than so many seconds.
    """
    with open(path, "rb") as file:
        if wait is not None:
            lock(file.fileno(), wait, shared=True)
        content = file.read()
    whole = content.rfind(b"\n") + 1
    return Content(content[:whole].split(b"\n")[:-1], whole, content[whole:])


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
        return os.fstat(self._file).st_size

    def write(self, lines: Iterable[bytes], at: int) -> int:
        """Put lines at this byte, in place of whatever follows it; where they end. If it fails, nothing follows it."""
        content, first = b"".join(lines), at == 0
        try:
            os.ftruncate(self._file, at)
            left = memoryview(content)
            while left:
                left = left[os.write(self._file, left) :]
            os.fsync(self._file)
            if first:
                _sync_folder(self.path)
        except BaseException:
            with suppress(OSError):
                os.ftruncate(self._file, at)
            raise
        return at + len(content)

    def close(self) -> None:
        """Let others write."""
        os.close(self._file)

    def __enter__(self) -> Lines:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _open_locked(path: Path, wait: float, create: bool) -> int:
    """The file, opened and locked; again, if another was put in its place meanwhile."""
    while True:
        file = os.open(path, _FLAGS | (os.O_CREAT if create else 0), 0o666)
        try:
            lock(file, wait)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file), os.stat(path)):
                    return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)


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
