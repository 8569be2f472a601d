"""One exact evidence with its gradient, in Cholesky factorisations of that size and in arrays of N × N.

    .venv/bin/python benchmarks/exact_evidence.py [readings]

14,940 readings in eighteen dimensions if not said otherwise, as many as elevators has to learn from, under a Matérn 3/2
kernel with a lengthscale for each dimension. Each part has a process of its own, on one thread: one LAPACK
factorisation in place, and one evidence with its gradient by `gf.Exact()`. Arrays are what the largest memory of the
process adds to what it held before, over 8 N².

Wanted: 4 factorisations and 2.2 arrays. At best it is three factorisations, one for L and two for the inverse, beside
N² D work for the kernel and its slopes; and one array.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from _apart import Record, ask, peak, serve
from _harness import Claim, report
from scipy.linalg import lapack

import gainful as gf
from gainful.inference.evidence import evidence_and_gradient
from gainful.inference.solving import method_for

DIMENSIONS, READINGS = 18, 14_940


def measured(task: Record) -> Record:
    """Seconds of the one or the other, and the arrays of N × N that it took."""
    N, rng = task["readings"], np.random.default_rng(0)
    if task["part"] == "cholesky":
        A = np.full((N, N), 0.5)
        A.flat[:: N + 1] = 1.0
        begun = time.perf_counter()
        info = lapack.dpotrf(A.T, lower=0, overwrite_a=1)[1]
        return {"seconds": time.perf_counter() - begun, "info": info}
    X = rng.normal(size=(N, DIMENSIONS))
    data = gf.Data().add(gf.Point(noise=0.5, name="reading"), X, np.sin(X[:, 0]) + 0.5 * rng.normal(size=N))
    gp = gf.GP(gf.Matern((4.0,) * DIMENSIONS, nu=1.5), gf.ConstantMean())
    method = method_for(data.layout, gf.Exact())
    before, begun = peak(), time.perf_counter()
    found = evidence_and_gradient(gp.mean, gp.kernel, data, method)
    return {"seconds": time.perf_counter() - begun, "arrays": (peak() - before) * 2**30 / (8.0 * N * N),
            "log_evidence": found.value}  # fmt: skip


def main(readings: int) -> int:
    found = {}
    for part in ("cholesky", "evidence"):
        found[part] = ask(sys.executable, "exact_evidence.py", {"part": part, "readings": readings})
        if "error" in found[part]:
            raise RuntimeError(found[part]["error"])
    one, whole = found["cholesky"]["seconds"], found["evidence"]["seconds"]
    detail = f"{readings} readings, {DIMENSIONS} dimensions; {one:.1f} s and {whole:.1f} s"
    held = f"{found['evidence']['memory']:.2f} GB in all"
    return min(report([
        Claim("evidence with gradient, in Choleskys", whole / one, 4.0, True, detail),
        Claim("arrays of N × N", found["evidence"]["arrays"], 2.2, True, held),
    ]), 1)  # fmt: skip


if __name__ == "__main__":
    if "--serve" in sys.argv:
        serve(measured)
        sys.exit(0)
    sys.exit(main(*([int(each) for each in sys.argv[1:]] or [READINGS])))
