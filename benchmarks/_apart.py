"""One task in a process of its own, so that seconds and memory are its own: a line of JSON in, a line of JSON out.

Arrays go by a file, `task["file"]`, an .npz that both sides know. The script reads its task with `serve`. It runs under
any Python, so that a rival's environment needs nothing of gainful's.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Record = dict[str, Any]

_THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def ask(python: str | Path, script: str, task: Record, limit: float | None = None) -> Record:
    """What the script in this folder answers; where it fails, dies or takes more than `limit` seconds, the error."""
    path = Path(__file__).with_name(script)
    try:
        ended = subprocess.run(
            [str(python), str(path), "--serve"], input=json.dumps(task) + "\n", capture_output=True, text=True,
            timeout=limit, env=os.environ | _THREADS,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"error": f"took more than {limit:.0f} s"}
    lines = ended.stdout.splitlines()
    if not lines:
        return {"error": f"ended with {ended.returncode}: {ended.stderr.strip()[-300:]}"}
    return dict(json.loads(lines[-1]))


def answered(
    python: str | Path, script: str, task: Record, arrays: dict[str, np.ndarray], limit: float | None = None
) -> Record:
    """The same, with these arrays in the file of the task."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "arrays.npz"
        np.savez(file, **arrays)
        return ask(python, script, task | {"file": str(file)}, limit)


def serve(work: Callable[[Record], Record]) -> None:
    """Answer the task that comes on standard input, and add the peak of memory, in GB."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # some print as they go
    task = json.loads(sys.stdin.readline())
    try:
        answer = work(task)
    except Exception:  # whatever it is, the parent writes it down
        answer = {"error": traceback.format_exc()[-800:]}
    answers.write(json.dumps({"memory": peak(), **answer}) + "\n")
    answers.flush()


def peak() -> float:
    """The largest memory of this process so far, in GB.

    Linux counts the parent's in `ru_maxrss` of a child, so what the kernel says of this address space is asked first.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
