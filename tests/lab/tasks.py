"""What processes of a pool are asked to do in tests."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy  # noqa: F401 - BLAS reads the environment when it is imported


def count(to: int, pause: float = 0.0) -> Iterator[int]:
    for i in range(to):
        yield i
        time.sleep(pause)


def die_once(marker: str, number: int) -> Iterator[int]:
    """Yield the number; the process of whoever finds the marker is killed in the middle."""
    yield number
    with suppress(FileNotFoundError):  # another process may be first
        Path(marker).unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    yield -number


def die(number: int) -> Iterator[int]:
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    yield number


def fail(number: int) -> Iterator[int]:
    yield number
    raise OSError("as asked")


def surroundings() -> Iterator[dict[str, Any]]:
    """What a process finds itself in."""
    threads = {name: os.environ.get(name) for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")}
    deaf = signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    yield {"threads": threads, "deaf": deaf, "blocked": signal.pthread_sigmask(signal.SIG_BLOCK, [])}


def note(file: str, pause: float) -> Iterator[int]:
    """Write down its process, and go on for a long time."""
    Path(file).write_text(str(os.getpid()))
    yield os.getpid()
    time.sleep(pause)


def survive_interrupts(to: int) -> Iterator[int]:
    """Interrupt its own process again and again."""
    for i in range(to):
        os.kill(os.getpid(), signal.SIGINT)
        yield i
