"""What it takes to learn who acts together, and to ask: 200 answers, ten dimensions, fifty models.

    .venv/bin/python benchmarks/additive.py

The answers are those of a sum with two pairs that act together, and noise, at 200 Sobol' places. Wanted: one evidence
of a neighbour (fit and curvature) in 40 ms, fifty steps of the chain in 3 s, one ask by log expected improvement
averaged over fifty different models in 0.5 s, given the belief. One BLAS thread, the best of three runs each.

Beside it is BoTorch's default ask for the same answers, its fit included, as `_additive_rivals.py` has it, in an
environment of its own. What it takes to learn from all answers at once, from nothing, is printed.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import sys
import time
from collections import Counter

import numpy as np
from _environment import ten
from _harness import Claim, report
from additive_rivals import Program

import gainful as gf
from gainful.acquisition import LogExpectedImprovement
from gainful.beliefs.partitions import chain
from gainful.beliefs.partitions.partitions import Begun
from gainful.selection.choose import Option, choose

DIMENSIONS, ANSWERS, MODELS, STEPS, RUNS = 10, 200, 50, 50, 3
BEGIN = ((0, 1), (2, 3), *((i,) for i in range(4, DIMENSIONS)))
LAB = gf.Point(name="f")
SPACE = gf.Space(*(gf.Real(f"x{i}", -4, 4) for i in range(DIMENSIONS)))


def answers() -> gf.Data:
    X = SPACE.candidates(ANSWERS, 0)
    y = 0.5 * np.sum(X**4 - 16 * X**2 + 5 * X, axis=1) + 8 * X[:, 0] * X[:, 1] + 8 * X[:, 2] * X[:, 3]
    return gf.Data().add(LAB, X, y + 30 * np.random.default_rng(0).normal(size=ANSWERS))


def main() -> int:
    model, data = gf.Partitions(SPACE), answers()
    steps, fits, asks = [], [], []
    for run in range(RUNS):
        reading, seen = model._reading(data, ())
        target = model._target(reading, seen, None)
        state, rng = chain.init(target, BEGIN), np.random.default_rng(run)
        begun, before = time.perf_counter(), len(target.found)
        for _ in range(STEPS):
            state, _ = chain.step(state, target, rng)
        steps.append(time.perf_counter() - begun)
        fits.append(steps[-1] / (len(target.found) - before))
    while len(target.found) < MODELS:
        state, _ = chain.step(state, target, rng)
    several = Counter(list(target.found)[:MODELS])
    belief = model.believe(model._parts(Begun(reading, target, state, 0), several, BEGIN, rng), data, ())
    goal, options = LogExpectedImprovement(sign=-1), [Option(LAB, SPACE)]
    for _ in range(RUNS + 1):
        begun = time.perf_counter()
        choose(goal, belief, options, np.random.default_rng(0))
        asks.append(time.perf_counter() - begun)
    begun = time.perf_counter()
    model.condition(data)
    print(f"learned from nothing in {time.perf_counter() - begun:.1f} s")
    detail = f"{ANSWERS} answers, {DIMENSIONS} dimensions"
    return 1 if report([
        Claim("ms of a neighbour's evidence", 1e3 * min(fits), 40.0, True, detail),
        Claim(f"seconds of {STEPS} steps of the chain", min(steps), 3.0, True, detail),
        Claim(f"seconds of an ask over {len(belief.weights)} models", min(asks[1:]), 0.5, True, detail),
        Claim("times that, BoTorch's fit and ask", botorch(data) / min(asks[1:]), 1.0, False, detail),
    ]) else 0  # fmt: skip


def botorch(data: gf.Data) -> float:
    """Processor seconds of its second ask, with one answer more than the first: by then everything is loaded."""
    (batch,) = data.batches
    U, y = ((batch.X + 4.0) / 8.0).tolist(), batch.answers
    with Program(str(ten())) as program:
        program({"system": "botorch", "dimensions": DIMENSIONS, "seed": 0})
        program({"places": U[:-1], "values": y[:-1].tolist(), "count": 1})
        return float(program({"places": U[-1:], "values": y[-1:].tolist(), "count": 1})["seconds"])


if __name__ == "__main__":
    sys.exit(main())
