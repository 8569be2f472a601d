"""What it costs to look one answer ahead: ratios, measured in one run.

    .venv/bin/python benchmarks/strategies.py

500 candidates scored by the error expected at 100 reference places after their answer, with n = 50 yes/no answers:
one step for all of them together, against refitting EP for each candidate and answer (from the present sites, the
faster way to refit). A step leaves the older sites where they are, so the two rankings need not be the same: how
far their first ten agree is measured too, without and with `Refitted`, which refits the leaders of the ranking.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from _harness import Claim, best_times, report
from _problems import ASK, yes_no
from scipy.special import ndtr

import gainful as gf
from gainful.acquisition import ExpectedError, Refitted

PROBLEMS = 10


def refitted(posterior: gf.Posterior, places: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """The same score by EP on all answers and the candidate's."""
    yes = posterior.answers(ASK, places).probabilities[:, 1]
    out = np.zeros(len(places))
    for i, place in enumerate(places):
        for answer, weight in ((0.0, 1.0 - yes[i]), (1.0, yes[i])):
            after = posterior.condition(gf.Data().add(ASK, place, answer))
            z = after.mean(reference) / np.sqrt(1.0 + after.variance(reference))
            out[i] -= weight * ndtr(-np.abs(z)).mean()
    return out


def agreement(ranking: np.ndarray, refits: np.ndarray) -> tuple[int, int, float]:
    """How many of the first ten are in the very same place, how many are the same, and the most that is lost at a rank.

    What is lost is the drop of the refitted score there, of that score's whole range.
    """
    wanted = np.argsort(-refits, kind="stable")[:10]
    lost = np.max(np.abs(refits[ranking[:10]] - refits[wanted])) / np.ptp(refits)
    return int(np.sum(ranking[:10] == wanted)), len(set(ranking[:10]) & set(wanted)), float(lost)


def compared(seed: int) -> tuple[float, ...]:
    """Times faster and agreement, of one step and of one step with the leaders refitted; milliseconds of each."""
    posterior, places, reference = yes_no(seed, 500, 100)
    goal = ExpectedError(reference)
    leaders = Refitted(goal, first=10)
    t = best_times(
        {
            "step": lambda: goal.score(posterior, ASK, places),
            "leaders": lambda: leaders.score(posterior, ASK, places),
        },
        repeats=3,
    )
    start = time.perf_counter()
    refits = refitted(posterior, places, reference)
    theirs = time.perf_counter() - start
    one, two = (
        agreement(np.argsort(-each.score(posterior, ASK, places), kind="stable"), refits) for each in (goal, leaders)
    )
    return theirs / t["step"], *one, theirs / t["leaders"], *two, 1e3 * t["step"], 1e3 * t["leaders"], 1e3 * theirs


def main() -> list[Claim]:
    runs = np.array([compared(seed) for seed in range(PROBLEMS)])
    faster, order, same, lost, faster_two, order_two, _, _, ours, both, theirs = runs.T
    return [
        Claim("expected error of 500 candidates, times faster than refits", np.median(faster), 30, False,
              f"{PROBLEMS} problems, {faster.min():.0f} to {faster.max():.0f}; median {np.median(ours):.1f} ms against "
              f"{np.median(theirs):.0f} ms"),
        Claim("refitted score lost at any of the first ten ranks, of its range", lost.max(), 0.05, True,
              f"near ties: of the first ten, refits have {same.astype(int).tolist()} among theirs, "
              f"{order.astype(int).tolist()} in the very same place"),
        Claim("with the leaders refitted, times faster", np.median(faster_two), 30, False,
              f"{faster_two.min():.0f} to {faster_two.max():.0f}; median {np.median(both):.0f} ms"),
        Claim("of the first ten, those in the very same place then", order_two.min(), 10, False,
              f"{order_two.astype(int).tolist()}"),
    ]  # fmt: skip


if __name__ == "__main__":
    sys.exit(1 if report(main()) else 0)
