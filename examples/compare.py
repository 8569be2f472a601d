"""Which strategy needs the fewest answers? Two of them against chance, on a table of wells.

    python examples/compare.py [folder]

The table is made here: 80 wells, their depth and distance to the river, and the salt in them. On three splits into a
pool and test rows each strategy asks for twelve answers; in earnest use twenty splits and more.
"""

import csv
import sys
import tempfile
from pathlib import Path

import numpy as np

from gainful.lab import Heading, Here, comparison, outcome, run, write_report


def write_table(path: Path) -> None:
    rng = np.random.default_rng(4)
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["well", "depth", "distance", "salt"])
        for i, (depth, distance) in enumerate(rng.uniform([5, 0], [60, 3], (80, 2)).tolist()):
            salt = 20 + 0.5 * depth + 15 * np.exp(-distance) * np.sin(depth / 6) + rng.normal()
            writer.writerow([i + 1, round(depth, 2), round(distance, 3), round(salt, 2)])


def main(folder: Path) -> None:
    table = folder / "wells.csv"
    write_table(table)
    experiment = comparison(table, "salt", strategies=["bald", "alc", "random"], answers=12, splits=3)
    for note in experiment.common["notes"]:
        print(note)
    summary = run(experiment, folder / "wells", workers=Here())
    for each in outcome(summary.rows, experiment.common):
        area = f"{each.area.value:.2f} ({each.area.low:.2f} to {each.area.high:.2f})"
        print(f"{each.strategy}: {each.measure.words} {area}, {each.verdict}")
    write_report(folder / "wells", Heading("Wells", "Salt, by depth and distance to the river."))
    print("see wells/report.html and wells/figures")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(Path(folder))
