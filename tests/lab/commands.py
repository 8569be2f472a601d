"""The command `gainful` as a process of its own, in the environment of the toys."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
# As a terminal starts it: whoever starts the tests may ignore SIGINT (nohup, many CI systems), which is inherited.
PROGRAM = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from gainful.cli import main; main()"
)
COMMAND = [sys.executable, "-c", PROGRAM, "reproduce"]


def environment(**toy: object) -> dict[str, str]:
    path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    return os.environ | {"PYTHONPATH": path} | {f"TOY_{name}": str(value) for name, value in toy.items()}


def start(*words: str | Path, **toy: object) -> subprocess.Popen[str]:
    """In a process group of its own, so that a signal can reach it and its workers as Ctrl-C does."""
    return subprocess.Popen(
        [*COMMAND, *map(str, words)],
        env=environment(**toy), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Its exit code, standard output and standard error."""
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[str], seconds: float = 30.0) -> None:
    """Until it is so; a process that ended before that has something to say."""
    deadline = time.monotonic() + seconds
    while not condition():
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            raise AssertionError(f"it never came to that: {finish(process)}")
        time.sleep(0.02)
