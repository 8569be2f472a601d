"""Timing for ratio benchmarks: the best of several runs of each contender, interleaved, in one process."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Claim:
    """A ratio and the bound that it should keep."""

    name: str
    ratio: float
    bound: float
    at_most: bool
    detail: str

    @property
    def holds(self) -> bool:
        return self.ratio <= self.bound if self.at_most else self.ratio >= self.bound


def best_times(contenders: dict[str, Callable[[], object]], repeats: int, turn: float = 0.2) -> dict[str, float]:
    """Seconds of the fastest run of each, after one run to warm up.

    The contenders take turns of at least `turn` seconds, so that a fast one is not always timed in the wake of a slow
    one, whose idle threads go on spinning for a while.
    """
    for run in contenders.values():
        run()
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(repeats):
        for name, run in contenders.items():
            begun = time.perf_counter()
            while time.perf_counter() - begun < turn:
                start = time.perf_counter()
                run()
                best[name] = min(best[name], time.perf_counter() - start)
    return best


def report(claims: list[Claim]) -> int:
    """Print the claims, one line each; the number that do not hold."""
    for claim in claims:
        sense = "at most" if claim.at_most else "at least"
        verdict = "holds" if claim.holds else "FALLS SHORT"
        print(f"{claim.name}: {claim.ratio:.3g} ({sense} {claim.bound:g}) {verdict}   [{claim.detail}]", flush=True)
    return sum(not claim.holds for claim in claims)
