"""A trial of `_scale_rivals.py`: data in a file, task and answer a line each, and an end if it is late."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
from _environment import scale
from _resumable import Record

_GRACE = 120.0  # seconds beyond the limit: packages have to be loaded, and SVGP to predict


def python_of(system: str) -> str:
    """The Python that has the system."""
    return sys.executable if system.startswith("gainful") else str(scale())


def answered(python: str, task: Record, arrays: dict[str, np.ndarray], limit: float) -> Record:
    """The answer of a new process; {"error": …} where it fails or has none within `limit` seconds."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "split.npz"
        np.savez(file, **arrays)
        script, pipe = Path(__file__).with_name("_scale_rivals.py"), subprocess.PIPE
        process = subprocess.Popen([python, script], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
        assert process.stdin is not None
        assert process.stdout is not None
        late = threading.Event()

        def end() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(limit + _GRACE, end)
        timer.start()
        try:
            process.stdin.write(json.dumps(task | {"file": str(file)}) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            timer.cancel()
        if line:
            process.kill()  # it has said all there is
        process.wait()
    if line.endswith("\n"):
        return dict(json.loads(line))
    return {"error": f"not done within {limit / 60:g} minutes" if late.is_set() else f"ended with {process.returncode}"}
