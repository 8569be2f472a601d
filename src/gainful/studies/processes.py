"""Commands as processes: each with all that it starts in a group of its own, which is ended as a whole."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

__all__ = ["Finished", "Processes"]

_GRACE = 2.0  # seconds between the request to end and the end
_READ = 65_536  # bytes of the end of an output that are read


@dataclass(frozen=True)
class Finished:
    """How a process ended: its exit code (below 0 a signal), None where it ran out of time, and the ends of what it
    said."""

    code: int | None
    out: str
    err: str


class Processes:
    """The processes under way; `end` ends them all, for good."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._ended = False

    def run(
        self, words: Sequence[str], folder: Path, said: str, environment: Mapping[str, str], timeout: float | None
    ) -> Finished:
        """Start it, give it something to read, and wait for it; OSError where it cannot be started.

        Its output goes to files, not pipes: a process that it leaves behind would keep a pipe open for ever.
        """
        with TemporaryFile() as given, TemporaryFile() as out, TemporaryFile() as err:
            given.write(said.encode())
            given.seek(0)
            with self._lock:
                if self._ended:
                    raise OSError("it was stopped")
                process = subprocess.Popen(
                    list(words), cwd=folder, stdin=given, stdout=out, stderr=err, env=dict(environment),
                    start_new_session=True,
                )  # fmt: skip
                self._running.add(process)
            code: int | None
            try:
                code = process.wait(timeout)
            except subprocess.TimeoutExpired:
                end_group(process)
                code = None
            finally:
                with self._lock:
                    self._running.discard(process)
            return Finished(code, _end_of(out), _end_of(err))

    def end(self) -> None:
        """End all of them, with all that they have started."""
        with self._lock:
            self._ended, running = True, list(self._running)
        for process in running:
            end_group(process)


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Ask the whole group to end, and after a moment see to it."""
    if not hasattr(os, "killpg"):
        process.kill()
        process.wait()
        return
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _end_of(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _READ))
    return file.read().decode("utf-8", errors="replace")
