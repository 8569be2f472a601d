"""What a hundred thousand places would tell, after 45,000 readings: seconds, and the peak memory of the process.

    .venv/bin/python benchmarks/many_places.py [places] [readings]

The belief is that of `gp.condition(data)` where nothing is said, with hyperparameters stated, for readings in eight
dimensions; beside it `gf.Vecchia(15)`, and `gf.SKI` in two dimensions. Scored is the information of one more reading
about the function, at every place of a pool, in blocks. A process of its own for each, on one thread.

Wanted: 30 seconds and 6 GB. At best it is a search for the nearest readings of each place, and as many factorisations
of their covariance: 120 readings take 7,000 values of the kernel and half a million products for each place.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from _apart import Record, ask, serve
from _harness import Claim, report

import gainful as gf

ENGINES = {
    "as it comes": (8, None),
    "Vecchia(15)": (8, gf.Vecchia(15)),
    "SKI": (2, gf.SKI(over=[[0.0, 0.0], [1.0, 1.0]])),
}


def measured(task: Record) -> Record:
    """Seconds to condition and to score, and what was done."""
    D, engine = ENGINES[task["engine"]]
    rng = np.random.default_rng(0)
    X, Z = rng.random((task["readings"], D)), rng.random((task["places"], D))
    y = np.sin(5.0 * X[:, 0]) + X[:, -1] ** 2 + 0.1 * rng.normal(size=len(X))
    lab = gf.Point(noise=0.1, name="lab")
    gp = gf.GP(gf.Matern((0.4 * np.sqrt(D),) * D, nu=2.5))
    gf.information(gp.condition(gf.Data().add(lab, X[:200], y[:200]), gf.Vecchia(5)), lab, Z[:10])  # compiles
    begun = time.perf_counter()
    posterior = gp.condition(gf.Data().add(lab, X, y), engine)
    ready = time.perf_counter()
    bits = gf.information(posterior, lab, Z)
    ended = time.perf_counter()
    return {"conditioning": ready - begun, "scoring": ended - ready, "message": posterior.convergence.message,
            "most": float(bits.max()), "least": float(bits.min())}  # fmt: skip


def main(places: int, readings: int) -> int:
    claims = []
    for name, (D, _) in ENGINES.items():
        found = ask(sys.executable, "many_places.py", {"engine": name, "places": places, "readings": readings})
        if "error" in found:
            raise RuntimeError(found["error"])
        print(f"{name}, {D} dimensions: {found['message']}; {found['least']:.3g} to {found['most']:.3g} bits")
        detail = f"{places} places, {readings} readings; conditioning took {found['conditioning']:.1f} s"
        claims += [
            Claim(f"{name}: scoring, seconds", found["scoring"], 30.0, True, detail),
            Claim(f"{name}: peak GB", found["memory"], 6.0, True, "of the whole process"),
        ]
    return min(report(claims), 1)


if __name__ == "__main__":
    if "--serve" in sys.argv:
        serve(measured)
        sys.exit(0)
    given = [int(each) for each in sys.argv[1:]]
    sys.exit(main(*(given or [100_000, 45_000])))
