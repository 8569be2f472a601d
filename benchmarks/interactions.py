"""Who interacts with whom, from a hundred evaluations in ten dimensions: the area under the ROC curve.

    .venv/bin/python benchmarks/interactions.py [--seeds 10]

Functions over the unit cube with overlapping groups, sums of terms of one, two and three dimensions, all of which vary
by as much:

chain      sin(π(x_i x_j + x_i)) over 0-1, 1-2, 2-3, 4-5, 5-6, 7-8; and x² of 9
star       the same over 0 with 1, 2, 3, 4, and 5-6; and x² of 7, 8, 9
triples    sin(2π x_i x_j x_k) + cos(π(x_i + x_j + x_k)) over 0, 1, 2 and 2, 3, 4 and 5, 6; and x² of 7, 8, 9
friedman   10 sin(π x_0 x_1) + 20 (x_2 − ½)² + 10 x_3 + 5 x_4, the other five do nothing (Friedman 1991)

Two dimensions interact where they share a term. `gf.Partitions(space, form="both")` sees a hundred scrambled Sobol'
points with noise of a hundredth of the spread and says a probability for each of the 45 pairs; the area is that under
the ROC curve of these probabilities, and ties count a half. Beside it the same where the points are those that a search
for the minimum made, a hundred evaluations by log expected improvement: it looks where the function is low, and need
not know the rest.

Wanted: on Sobol' points an area of 0.95 or more, as the mean over seeds, for every function.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import json
import sys
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
from _resumable import Record, on_file, options, perform
from scipy.stats import qmc, rankdata

import gainful as gf
from gainful.acquisition import LogExpectedImprovement
from gainful.lab.statistics import mean
from gainful.papers.gardner2018.additive_worlds import box

Array = np.ndarray

DIMENSIONS, POINTS, NOISE, WANTED = 10, 100, 0.01, 0.95
GROUPS = {
    "chain": ((0, 1), (1, 2), (2, 3), (4, 5), (5, 6), (7, 8)),
    "star": ((0, 1), (0, 2), (0, 3), (0, 4), (5, 6)),
    "triples": ((0, 1, 2), (2, 3, 4), (5, 6)),
    "friedman": ((0, 1),),
}
POINTS_BY = ("sobol", "search")
LAB = gf.Point(name="f")


def term(x: Array) -> Array:
    """Of two dimensions or three, (N, k): nothing of it is a sum."""
    if x.shape[1] == 2:
        return np.sin(np.pi * x[:, 0] * (x[:, 1] + 1.0))
    return np.sin(2 * np.pi * x.prod(axis=1)) + np.cos(np.pi * x.sum(axis=1))


def function(name: str, X: Array) -> Array:
    """The function at rows of X, (N,)."""
    if name == "friedman":
        return 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    groups = GROUPS[name]
    alone = [d for d in range(DIMENSIONS) if all(d not in group for group in groups)]
    return sum(term(X[:, list(group)]) for group in groups) + 2.0 * np.sum(X[:, alone] ** 2, axis=1)


def area(together: Array, name: str) -> float:
    """Under the ROC curve: how often a pair that interacts is given more than one that does not."""
    true = {pair for group in GROUPS[name] for pair in combinations(group, 2)}
    pairs = list(combinations(range(DIMENSIONS), 2))
    yes = np.array([pair in true for pair in pairs])
    ranks = rankdata([together[pair] for pair in pairs])
    n = int(yes.sum())
    return float((ranks[yes].sum() - n * (n + 1) / 2) / (n * (len(pairs) - n)))


def trial(name: str, points_by: str, seed: int) -> Iterator[Record]:
    rng, space = np.random.default_rng([seed, 15]), box(DIMENSIONS, 0.0, 1.0)
    spread = float(np.std(function(name, rng.random((10_000, DIMENSIONS)))))
    model = gf.Partitions(space, form="both")

    def measured(X: Array) -> Array:
        return function(name, X) + NOISE * spread * rng.normal(size=len(X))

    if points_by == "sobol":
        X = qmc.Sobol(DIMENSIONS, seed=rng).random(128)[:POINTS]
        belief: Any = model.condition(gf.Data().add(LAB, X, measured(X)), rng=seed)
    else:
        campaign = gf.Campaign(space, [LAB], model, goal=LogExpectedImprovement(sign=-1), initial=10, seed=seed)
        for _ in range(POINTS):
            query = campaign.ask()
            assert query is not None  # no budget ends it
            campaign.tell(query, float(measured(np.asarray(query.place, dtype=float)[None])[0]))
        belief = campaign.belief
    yield {"area": area(belief.together, name), "together": belief.together.round(3).tolist(),
           "words": belief.describe(), "version": gf.__version__}  # fmt: skip


def main() -> int:
    asked = options(__doc__ or "", "interactions")
    asked.add_argument("--seeds", type=int, default=10)
    asked.add_argument("--searches", type=int, default=2, help="seeds whose points are those of a search")
    given = asked.parse_args()
    tasks = {
        (f"{by} {name}", seed): (name, by, seed)
        for by, seeds in zip(POINTS_BY, (given.seeds, given.searches), strict=True)
        for seed in range(seeds)
        for name in GROUPS
    }
    finished, result = perform(trial, tasks, given.folder, given.cores), {}
    records, good = on_file(given.folder), True
    for by in POINTS_BY:
        for name in GROUPS:
            some = [r["area"] for (cell, _), r in records.items() if cell == f"{by} {name}" and "area" in r]
            if some:
                middle = mean(some)
                result[f"{by} {name}"] = {"area": some, "mean": middle.value}
                print(f"{by:8s} {name:10s} {middle.value:.3f} ({middle.low:.3f} to {middle.high:.3f}), {len(some)}")
                good &= by != "sobol" or middle.value >= WANTED
    (given.folder / "result.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0 if finished and good else 1


if __name__ == "__main__":
    sys.exit(main())
