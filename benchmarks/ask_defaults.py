"""What an ask takes with all defaults: three instruments, a hundred answers, a thousand candidates.

    .venv/bin/python benchmarks/ask_defaults.py [--no-rivals]

A box of two reals and one of six (`_optimum.py`). Readings, pass or fail at a threshold, and ranks between three of
them, nothing else stated; each in turn answers a hundred places, and then whatever is asked. The seconds are those of
an ask and the tell after it, from 100 answers to 127: belief, one learning of all hyperparameters and the search are in
them, so the mean is what an ask takes in a campaign. Wanted: 0.5 s in the median, on two cores. For the default goal,
to learn, and beside it `goal="minimise"`.

Beside it BoTorch (SingleTaskGP, qLogNoisyExpectedImprovement, 10 restarts from 512 raw samples) and Optuna's GPSampler
after as many readings of the same function. They take numbers alone, and fit one model by maximum a posteriori.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from _environment import rivals
from _harness import Claim, report
from _optimum import PROBLEMS, Problem
from optimise import space_of

import gainful as gf

ANSWERS, ASKS, WANTED = 100, 26, 0.5
THRESHOLDS = {"branin": [15.0, 40.0, 80.0], "hartmann6": [-0.8, -0.2, -0.05]}


def ask_seconds(problem: Problem, goal: str) -> np.ndarray:
    """Seconds of each ask and tell after a hundred answers."""
    space, rng = space_of(problem), np.random.default_rng(0)
    marks = THRESHOLDS[problem.name]
    declared = (gf.Point(name="reading"), gf.Binary(threshold=marks[1], name="test"), gf.Ordinal(marks, name="rank"))

    def answer(kind: str, place: tuple[float, ...]) -> object:
        value = problem.function(place) + problem.noise * rng.standard_normal()
        if kind == "test":
            return bool(value > marks[1])
        return 1 + int(np.searchsorted(marks, value)) if kind == "rank" else float(value)

    campaign = gf.Campaign(space, declared, goal=goal, seed=0)
    for i, place in enumerate(space.candidates(ANSWERS, 0)):
        campaign.tell(gf.Query(declared[i % 3], place), answer(declared[i % 3].label, tuple(place)))
    campaign.tell(query := campaign.ask(), answer(query.instrument.label, query.place))  # warms up, and learns anew
    seconds = []
    while len(seconds) < ASKS:
        begun = time.perf_counter()
        query = campaign.ask()
        campaign.tell(query, answer(query.instrument.label, query.place))
        seconds.append(time.perf_counter() - begun)
    return np.array(seconds)


def main() -> int:
    warnings.simplefilter("ignore")
    short = 0
    for name in THRESHOLDS:
        for goal in ("learn", "minimise"):
            taken = ask_seconds(PROBLEMS[name], goal)
            detail = f"mean {taken.mean():.2f} s, longest {taken.max():.2f} s"
            claim = Claim(f"seconds of an ask, {name}, to {goal}", float(np.median(taken)), WANTED, True, detail)
            short += report([claim])
        if "--no-rivals" not in sys.argv:
            for system in ("botorch", "optuna"):
                command = [str(rivals()), str(Path(__file__).with_name("_rivals.py")), "ask", system, name, "5"]
                theirs = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
                print(f"{system} on {name}: {np.median(theirs):.2f} s an ask, mean {np.mean(theirs):.2f} s", flush=True)
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
