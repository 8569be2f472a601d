"""An ask over a large pool: seconds, and the peak memory of the process.

    .venv/bin/python benchmarks/large_pool.py [places] [answers]

A campaign over a pool of 1,000,000 places in two dimensions with 400 answers of three instruments, a number, a rank and
a yes/no: an ask, and an ask while two queries are pending. About a region of 100 points a tenth of the places are
scored: there every query takes an integral for each instrument. The limit of a plain ask is a kernel matrix of places ×
answers, 4e8 exponentials, and a triangular solve with it, 1.6e11 operations: five seconds on two cores.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable

import numpy as np
from _harness import Claim, report

import gainful as gf

INSTRUMENTS = (
    gf.Point(noise=0.1, cost=5, name="number"),
    gf.Ordinal([-1.0, 0.0, 1.0], 0.2, cost=2, name="rank"),
    gf.Binary(cost=1, name="yes/no"),
)


def campaign(places: np.ndarray, answers: int, goal: gf.Learn | gf.PerCost | None = None) -> gf.Campaign:
    """A campaign over the places that was told so many answers."""
    rng = np.random.default_rng(1)
    out = gf.Campaign(gf.Pool(places), INSTRUMENTS, gp=gf.GP(gf.SE(1.5, 2.0)), goal=goal)
    for i, here in enumerate(places[rng.choice(len(places), answers, replace=False)]):
        instrument = INSTRUMENTS[i % len(INSTRUMENTS)]
        f = np.array([np.sin(here[0]) + np.cos(here[1])])
        out.tell(gf.Query(instrument, here), instrument.encode(instrument.simulate(f, rng)[0]))
    return out


def timed(label: str, run: Callable[[], object], bound: float, detail: str) -> list[Claim]:
    """Seconds on the clock (and of all processors together, which say more on a busy machine), and the most memory that
    the process has held so far."""
    begun, worked = time.perf_counter(), time.process_time()
    run()
    seconds, worked = time.perf_counter() - begun, time.process_time() - worked
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return [
        Claim(f"{label}, seconds", seconds, bound, True, f"{worked:.3g} of processor time; {detail}"),
        Claim(f"{label}, peak GB", memory, 4.0, True, "of the whole process"),
    ]


def main(size: int, answers: int) -> int:
    places = np.random.default_rng(0).uniform(0.0, 10.0, (size, 2))
    surveyed = campaign(places, answers)
    claims: list[Claim] = []
    for label in ("an ask", "an ask with one pending", "an ask with two pending"):
        claims += timed(label, surveyed.ask, 20.0, f"{size} places, {answers} answers")
    points = np.random.default_rng(2).uniform(0.0, 10.0, (100, 2))
    fewer = places[: size // 10]
    about = campaign(fewer, min(answers, len(fewer)), gf.PerCost(gf.Learn(gf.Region(points))))
    claims += timed("an ask about a region", about.ask, 60.0, f"{len(fewer)} places, 100 points")
    return report(claims)


if __name__ == "__main__":
    sizes = [int(float(each)) for each in sys.argv[1:]]
    sys.exit(main(*(sizes + [1_000_000, 400][len(sizes) :])))
