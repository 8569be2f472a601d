"""Experiments that are over in a moment, and can be told by the environment to be slow, to fail or to die.

TOY_LOG     a file that gets a line for each repetition that is run
TOY_SLEEP   seconds that each repetition takes at least
TOY_FAIL    the number of a repetition that raises
TOY_DIE     "NUMBER FILE": that repetition kills its process, if the file is there; the file is removed first
TOY_COUNT   how many repetitions there are
"""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from gainful.lab import Claim, Experiment, Row, Setting
from gainful.lab.statistics import paired_difference
from gainful.lab.table import pairs


def settings(quick: bool) -> list[Setting]:
    count = 4 if quick else int(os.environ.get("TOY_COUNT", "12"))
    return [{"costs": [10, 7], "repetition": i} for i in range(count)]


def run(setting: Setting, seed: int) -> list[Row]:
    """Two contenders in one random world; its numbers come from matrix products, so that they show how BLAS rounds."""
    number = setting["repetition"]
    _obey(number)
    A = np.random.default_rng(seed).normal(size=(300, 300))
    spectrum = np.linalg.eigvalsh(A @ A.T / 300)
    return [
        {"who": "first", "error": np.sqrt(spectrum[-1]), "steps": np.int64(3)},
        {"who": "second", "error": float(np.linalg.norm(np.linalg.solve(A + 40 * np.eye(300), A[0]))), "steps": None},
    ]


def claims(rows: list[Row]) -> list[Claim]:
    first, second = pairs(rows, "error", {"who": "first"}, {"who": "second"}, by=["costs", "repetition"])
    found = paired_difference(first, second)
    return [
        Claim("the first errs more", 1.5, found.value, found.low, found.high, found.low > 0.0, "with <angle> brackets"),
        Claim("the first errs less", "less", found.value, found.low, found.high, found.high < 0.0),
    ]


def figures(rows: list[Row], folder: Path) -> list[Path]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4, 3))
    figure.subplots().plot([row["error"] for row in rows], "o")
    figure.savefig(folder / "errors_by_row.png")
    return [folder / "errors_by_row.png"]


def _obey(number: int) -> None:
    if "TOY_LOG" in os.environ:
        with open(os.environ["TOY_LOG"], "a", encoding="utf-8") as log:
            log.write(f"{number}\n")
    time.sleep(float(os.environ.get("TOY_SLEEP", "0")))
    if os.environ.get("TOY_FAIL") == str(number):
        raise RuntimeError(f"toy {number} was told to fail")
    victim, _, marker = os.environ.get("TOY_DIE", "").partition(" ")
    if victim == str(number) and Path(marker).exists():
        Path(marker).unlink()
        os.kill(os.getpid(), signal.SIGKILL)


TOY = Experiment(
    name="toy",
    title="A toy",
    source="nowhere 1.2",
    published={"difference": 1.5, "winner": "the second"},
    settings=settings,
    run=run,
    claims=claims,
    figures=figures,
)


def die(setting: Setting, seed: int) -> list[Row]:
    if setting["repetition"] == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return run(setting, seed)


DEADLY = Experiment("deadly", "Kills", "nowhere", {}, settings, die, claims, figures)


def refuse(setting: Setting, seed: int) -> list[Row]:
    return [{"error": float("nan")}]


NAN = Experiment("nan", "No number", "nowhere", {}, settings, refuse, claims, figures)

HOUSES = replace(TOY, name="houses", data=("taiwan_real_estate.csv",))
