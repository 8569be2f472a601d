"""Kernel programs over two inputs: is a planted structure found?

    .venv/bin/python benchmarks/programs_two_inputs.py [--draws 20] [--particles 200] [--folder FOLDER]

A trend along one input and three cycles along the other, with a noise of a tenth of the signal, from 60 readings at
random places, in years and days and with a level of 300. Found is a draw in which a line along the first input and a
cycle along the second, with its period within 5 %, each have more than half of the probability. Wanted: 17 of 20.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import gainful as gf

READINGS, PERIOD, NOISE, WANTED = 60, 12.0, 0.1, 0.85


def planted(seed: int) -> gf.Data:
    rng = np.random.default_rng([seed, 13])
    X = np.column_stack([rng.uniform(1900.0, 2000.0, READINGS), rng.uniform(0.0, 3.0 * PERIOD, READINGS)])
    f = 1.5 * (X[:, 0] - 1950.0) / 50.0 + np.sin(2.0 * np.pi * X[:, 1] / PERIOD + rng.uniform(0.0, 2.0 * np.pi))
    y = 300.0 + 40.0 * (f + NOISE * f.std() * rng.standard_normal(READINGS))
    return gf.Data().add(gf.Point(name="lab"), X, y)


def draw(seed: int, particles: int) -> dict[str, Any]:
    begun = time.process_time()
    belief = gf.KernelPrograms(gf.Grammar.for_data(), particles).condition(planted(seed), rng=seed)

    def has(symbol: str, column: int, period: float | None = None) -> float:
        def holds(program: gf.Program) -> bool:
            return any(
                node.symbol == symbol
                and node.column == column
                and (period is None or abs(node.numbers[1] / period - 1.0) < 0.05)
                for node in program.nodes()
            )

        return belief.probability(holds)

    line, cycle = has("LIN", 0), has("PER", 1, PERIOD)
    leading = next(iter(belief.structures.items()))
    return {
        "seed": seed, "line": round(line, 4), "cycle": round(cycle, 4), "found": line > 0.5 and cycle > 0.5,
        "leading": leading[0], "share": round(leading[1], 4), "seconds": round(time.process_time() - begun, 2),
    }  # fmt: skip


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--draws", type=int, default=20)
    asked.add_argument("--particles", type=int, default=200)
    asked.add_argument("--folder", type=Path, default=Path("results") / "programs-two-inputs")
    given = asked.parse_args()
    rows = []
    for seed in range(given.draws):
        rows.append(draw(seed, given.particles))
        print(rows[-1], flush=True)
    found = sum(row["found"] for row in rows)
    given.folder.mkdir(parents=True, exist_ok=True)
    kept = {"version": gf.__version__, "particles": given.particles, "found": found, "draws": rows}
    (given.folder / "result.json").write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    print(f"found in {found} of {len(rows)}")
    return 0 if found >= WANTED * len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
