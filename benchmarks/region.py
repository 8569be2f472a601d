"""Information about a region, exactly and by samples: ratios, measured in one run.

    .venv/bin/python benchmarks/region.py

1. EPIG of 300 candidates about 200 points, with n = 50 yes/no answers, against the published estimate: functions drawn
   jointly at all 500 places, and frequencies of pairs of answers from their probabilities (Bickford Smith et al. 2023).
2. An ask about a region of 100 points, n = 100 in two dimensions, 1000 candidates and 4 climbers, against an ask about
   the function; for numbers and for yes/no answers.
"""

from __future__ import annotations

import sys

import numpy as np
from _harness import Claim, best_times, report
from _problems import ASK, yes_no
from scipy.special import ndtr, xlogy

import gainful as gf
from gainful.acquisition import EPIG
from gainful.selection import Option, choose

DRAWS, PROBLEMS = 1000, 10


def sampled(posterior: gf.Posterior, places: np.ndarray, points: np.ndarray, seed: int) -> np.ndarray:
    """The published estimate, from the same draws for all pairs."""
    yes = ndtr(posterior.sample(np.vstack([places, points]), DRAWS, seed))
    here, there = yes[:, : len(places)], yes[:, len(places) :]
    both = here.T @ there / DRAWS
    p, q = here.mean(axis=0)[:, None], there.mean(axis=0)
    cells = (both, p - both, q - both, 1.0 - p - q + both)
    alone = (p * q, p * (1.0 - q), (1.0 - p) * q, (1.0 - p) * (1.0 - q))
    bits = sum(xlogy(c, c / a) for c, a in zip(cells, alone, strict=True)) / np.log(2.0)
    return np.asarray(bits.mean(axis=1))


def compared(seed: int) -> tuple[float, ...]:
    """Times faster, largest error of the estimate in bits, the share of the best score that its choice loses."""
    posterior, places, points = yes_no(seed, 300, 200)
    goal = EPIG(points)
    t = best_times(
        {
            "exact": lambda: goal.score(posterior, ASK, places),
            "sampled": lambda: sampled(posterior, places, points, seed),
        },
        repeats=3,
    )
    exact, estimate = goal.score(posterior, ASK, places), sampled(posterior, places, points, seed)
    lost = 1.0 - exact[np.argmax(estimate)] / exact.max()
    return t["sampled"] / t["exact"], np.max(np.abs(estimate - exact)) / exact.max(), lost, 1e3 * t["exact"]


def asks() -> list[Claim]:
    """What an ask about a region costs, in asks about the function."""
    rng = np.random.default_rng(0)
    space = gf.Space(gf.Real("a", 0, 1), gf.Real("b", 0, 1))
    X, points = rng.random((100, 2)), space.candidates(100, rng)
    f, claims = np.sin(5.0 * X[:, 0]) + np.cos(4.0 * X[:, 1]), []
    for instrument in (gf.Point(0.2), gf.Binary()):
        posterior = gf.GP(gf.SE(0.25)).condition(gf.Data().add(instrument, X, instrument.simulate(f, rng)))
        options = [Option(instrument, space)]

        def ask(goal: gf.Learn, posterior: gf.Posterior = posterior, options: list[Option] = options) -> object:
            return choose(goal, posterior, options, np.random.default_rng(0))

        about = {"function": gf.Learn(), "region": gf.Learn(gf.Region(points))}
        t = best_times({name: lambda goal=goal, ask=ask: ask(goal) for name, goal in about.items()}, repeats=7)
        detail = f"{1e3 * t['region']:.0f} ms against {1e3 * t['function']:.0f} ms"
        claims.append(
            Claim(f"an ask about 100 points by {instrument.label}, in asks about the function",
                  t["region"] / t["function"], 5, True, detail)
        )  # fmt: skip
    return claims


def main() -> list[Claim]:
    faster, error, lost, ours = np.array([compared(seed) for seed in range(PROBLEMS)]).T
    return [
        Claim(f"EPIG of 300 candidates and 200 points, times faster than by {DRAWS} draws", np.median(faster), 1, False,
              f"{PROBLEMS} problems, {faster.min():.1f} to {faster.max():.1f}; median {np.median(ours):.0f} ms; the "
              f"draws err by {error.min():.2f} to {error.max():.2f} of the best score, and their choice loses up to "
              f"{100 * lost.max():.0f} % of it"),
        *asks(),
    ]  # fmt: skip


if __name__ == "__main__":
    sys.exit(1 if report(main()) else 0)
