"""The best relaxation of an iterative solver, found by trying: one that is too bold diverges, and that is survived.

    python examples/minimise.py [a file for the journal, such as solver.jsonl]

Sweeps of successive over-relaxation solve Poisson's equation on a line. What is minimised is the logarithm of the error
that forty sweeps leave, over the relaxation and the order in which a sweep goes through the points. Theory knows the
best relaxation of a great many sweeps, 2/(1 + sin(π h)), to compare with.
"""

import math
import sys

import numpy as np

import gainful as gf

SPACE = gf.Space(gf.Real("relaxation", 0.8, 2.2), gf.Categorical("order", ["along", "odd then even"]))
POINTS, SWEEPS = 16, 40


def error_left(place: dict) -> float:
    """log10 of the largest error after all sweeps; the answer is 0 everywhere, so that u itself is the error."""
    bold, order = place["relaxation"], place["order"]
    inner = range(1, POINTS + 1)
    visits = list(inner) if order == "along" else [*inner[::2], *inner[1::2]]
    u = np.zeros(POINTS + 2)
    u[1:-1] = 1.0
    for _ in range(SWEEPS):
        for i in visits:
            u[i] += bold * (0.5 * (u[i - 1] + u[i + 1]) - u[i])
    left = float(np.abs(u).max())
    if left > 1.0:
        raise ArithmeticError("the sweeps diverge")
    return math.log10(left)


def main() -> None:
    journal = sys.argv[1] if len(sys.argv) > 1 else None
    result = gf.minimise(error_left, SPACE, 14, noise=0, journal=journal)
    print(result)
    curve = ", ".join(f"{result.best_so_far[n - 1]:.1f}" for n in (4, 8, 14))
    print(f"The best after 4, 8 and 14 evaluations: {curve}")
    theory = 2.0 / (1.0 + math.sin(math.pi / (POINTS + 1)))
    print(f"Relaxation {result.x['relaxation']:.3f}, going {result.x['order']}; theory of many sweeps: {theory:.3f}")


if __name__ == "__main__":
    main()
