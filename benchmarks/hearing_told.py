"""What a hearing test would need if it were told who listens: the ears of `hearing-real`, setting B.

    GAINFUL_DATA=FOLDER .venv/bin/python benchmarks/hearing_told.py [--folder results/hearing-told]

In setting B a listener's spread (2 to 10 dB) and rates of guesses and lapses (1 to 10 %) are unknown to the test. Here
they are told, for the same 250 ears of each kind with the same random numbers. What is left of the tones that setting B
needs is then in the answers themselves. Two core-minutes.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import json
from pathlib import Path

import numpy as np

import gainful as gf
from gainful.hearing import FREQUENCIES, HearingTest
from gainful.lab.statistics import mean
from gainful.papers.gardner2018.real import listener

EARS, LOOKS = 250, {"any": (8, 10, 12, 14, 16), "impaired": (14, 16, 18, 20, 22, 24)}


def errors(kind: str, number: int) -> list[float]:
    """The mean absolute error of one ear's thresholds after each number of tones, in dB."""
    person, rng = listener("B", kind, number)
    truth = np.array([person.threshold(f) for f in FREQUENCIES])
    own = np.random.default_rng([int(rng.integers(2**31)), 0])
    told = {"spread": float(person.spread), "guess": float(person.guess), "lapse": float(person.lapse)}
    test, found = HearingTest(most=max(LOOKS[kind]), sure=0.999999, **told), []
    for tones in range(1, max(LOOKS[kind]) + 1):
        tone = test.ask()
        if tone is not None:
            test.tell(tone, person.answer(tone, own))
        if tones in LOOKS[kind]:
            found.append(float(np.abs([each.median for each in test.audiogram()] - truth).mean()))
    return found


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--folder", type=Path, default=Path("out/hearing-told"))
    folder = asked.parse_args().folder
    rows = []
    for kind, looks in LOOKS.items():
        table = np.array([errors(kind, number) for number in range(EARS)])
        for tones, each in zip(looks, table.T, strict=True):
            found = mean(each)
            rows.append({"kind": kind, "tones": tones, "error": found.value, "low": found.low, "high": found.high})
            print(f"{kind:9s} {tones:3d} tones {found.value:.2f} dB ({found.low:.2f} to {found.high:.2f})", flush=True)
    folder.mkdir(parents=True, exist_ok=True)
    result = {"version": gf.__version__, "ears": EARS, "rows": rows}
    (folder / "result.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
