"""The airline's 144 months by ten searches with ten seeds: do they agree, and do their particles stay apart and move?

    .venv/bin/python benchmarks/programs_seeds.py [--seeds 10] [--folder results/programs-seeds]

200 particles, gainful's own moves, `gf.Grammar.for_data()`. Of each search: the probability that anything is periodic
and that there is a trend, the share of different programs among the particles at the end, the lowest acceptance of
drifts along the gradient at any stage, and the mean squared jump of a drift in units of its steps. Wanted: a standard
deviation of P(periodic) of at most 0.1, at least 0.3 different, drifts accepted by 0.6 or more. What is on file is not
done again.
"""

from __future__ import annotations

import json
import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import time

import numpy as np
from _resumable import append, on_file, options

import gainful as gf
from gainful.papers.lin2022.airline import months

PARTICLES = 200


def search(seed: int) -> dict[str, float]:
    X, y = months()
    data = gf.Data().add(gf.Point(name="count"), X, y)
    model = gf.KernelPrograms(gf.Grammar.for_data(), PARTICLES)
    begun = time.process_time()
    stages = list(model.follow(data, rng=seed))
    seconds = time.process_time() - begun
    belief = model.believe(model.parts_at(stages[-1], data), data, ())
    return {
        "periodic": belief.probability("PER"), "trend": belief.probability("LIN"),
        "distinct": stages[-1].info.distinct / PARTICLES, "log_evidence": stages[-1].state.log_evidence,
        "accepted": min(each.info.accepted["drift"] for each in stages),
        "jump": float(np.mean([each.info.jump for each in stages])), "stages": len(stages), "seconds": seconds,
    }  # fmt: skip


def main() -> None:
    words = options("ten searches of the airline's passengers", "programs-seeds")
    words.add_argument("--seeds", type=int, default=10)
    given = words.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    done = on_file(given.folder)
    for seed in range(given.seeds):
        if ("airline", seed) not in done:
            append(given.folder / "airline.jsonl", {"cell": "airline", "number": seed, **search(seed)})
            print(f"{seed + 1} of {given.seeds}", flush=True)
    found = [record for _, record in sorted(on_file(given.folder).items())]
    column = {name: np.array([record[name] for record in found]) for name in found[0] if name not in ("cell", "number")}
    for name, values in column.items():
        print(f"{name:14s} mean {values.mean():9.3f}  sd {values.std(ddof=1):8.4f}  least {values.min():9.3f}")
    held = {
        "standard deviation of P(periodic) at most 0.1": bool(column["periodic"].std(ddof=1) <= 0.1),
        "at least 0.3 of the particles different": bool(column["distinct"].min() >= 0.3),
        "drifts accepted by 0.6 or more at every stage": bool(column["accepted"].min() >= 0.6),
    }
    means = {name: float(values.mean()) for name, values in column.items()}
    result = {"gainful": gf.__version__, "seeds": given.seeds, "particles": PARTICLES, "means": means, "held": held}
    (given.folder / "result.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    for claim, holds in held.items():
        print("holds     " if holds else "DOES NOT  ", claim)
    raise SystemExit(0 if all(held.values()) else 1)


if __name__ == "__main__":
    main()
