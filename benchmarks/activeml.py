"""Strategies of scikit-activeml against gainful's, with the same model on a real table: ratios, measured in one run.

    GAINFUL_DATA=... .venv/bin/python benchmarks/activeml.py

1. One choice among 170 crabs after 30 yes/no answers, hyperparameters fixed: gainful's score, conditioning included,
   against scikit-activeml's strategy, which fits the same Gaussian process for every query. Uncertainty sampling, query
   by committee (100 members drawn from the posterior), value of information, and expected error reduction. The last
   two fit again for every place and answer, where gainful looks one answer ahead without (docs/strategies.md).
2. Areas under the learning curves of `gainful compare` on the same table, 20 splits, 40 answers, hyperparameters of the
   pool: what BALD has over the others, and whether the entropy of both libraries agrees. --quick: 6 splits;
   --no-curves: none.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from _harness import Claim, best_times, report

import gainful as gf
from gainful.acquisition import Entropy, ExpectedError, QueryByCommittee, Zhu
from gainful.lab import comparison, data_file, outcome, run
from gainful.lab.activeml import ActiveML
from gainful.lab.dataset import read_dataset

TOLD, DROPPED = 30, ["rownames", "index"]
CURVES = (
    "bald",
    "entropy",
    "random",
    "activeml:UncertaintySampling:method=entropy",
    "activeml:QueryByCommittee",
    "activeml:CoreSet",
)


def choices(crabs: Path) -> list[Claim]:
    data = read_dataset(crabs, "sex", drop=DROPPED)
    order = np.random.default_rng(0).permutation(len(data.X))
    X, yes = data.X[order], data.answers[order]
    ask, gp = gf.Binary(), gf.GP(gf.SE(2.5, 20.0))
    told, pool = gf.Data().add(ask, X[:TOLD], yes[:TOLD]), np.array(X[TOLD:])

    known = gp.condition(told)  # all that scikit-activeml takes from it are the answers and the hyperparameters

    def choice(goal: gf.acquisition.Acquisition) -> Callable[[], int]:
        own = isinstance(goal, ActiveML)
        return lambda: int(np.argmax(goal.score(known if own else gp.condition(told), ask, pool)))

    ours = {
        "bald": gf.Learn(),
        "entropy": Entropy(),
        "committee": QueryByCommittee(100, "kl", over=pool),
        "zhu": Zhu(pool),
        "error": ExpectedError(pool),
    }
    theirs = {
        "UncertaintySampling": ActiveML("UncertaintySampling", {"method": "entropy"}),
        "QueryByCommittee": ActiveML("QueryByCommittee"),
        "ValueOfInformationEER": ActiveML("ValueOfInformationEER"),
        "MonteCarloEER": ActiveML("MonteCarloEER"),
    }
    fast = {name: choice(goal) for name, goal in ours.items()}
    fast |= {name: choice(theirs[name]) for name in ("UncertaintySampling", "QueryByCommittee")}
    seconds = best_times(fast, repeats=10)
    slow = {name: choice(theirs[name]) for name in ("ValueOfInformationEER", "MonteCarloEER")}
    seconds |= best_times(slow, repeats=1)
    pairs = [
        ("bald", "UncertaintySampling", 1.0),
        ("entropy", "UncertaintySampling", 1.0),
        ("bald", "QueryByCommittee", 1.5),
        ("committee", "QueryByCommittee", 0.8),
        ("zhu", "ValueOfInformationEER", 100.0),
        ("error", "MonteCarloEER", 100.0),
    ]
    return [
        Claim(
            f"a choice by {mine}, times faster than by {other}", seconds[other] / seconds[mine], bound, False,
            f"{1e3 * seconds[mine]:.2f} ms against {1e3 * seconds[other]:.2f} ms",
        )
        for mine, other, bound in pairs
    ]  # fmt: skip


def curves(crabs: Path, splits: int) -> list[Claim]:
    options = {"drop": DROPPED, "hyperparameters": "pool", "answers": 40, "splits": splits}
    experiment = comparison(crabs, "sex", strategies=CURVES, **options)
    with tempfile.TemporaryDirectory() as folder:
        rows = run(experiment, folder).rows
    areas = {each.strategy: each.area for each in outcome(rows, experiment.common) if each.needed is not None}
    for name, area in areas.items():
        print(f"accuracy over the curve, {name}: {area.value:.4f} ({area.low:.4f} to {area.high:.4f})", flush=True)
    bald = areas["bald"].value
    detail = f"areas under {splits} curves"
    wanted = {"random": 1.02, "activeml:CoreSet": 1.0, "activeml:QueryByCommittee": 0.99}
    wanted |= {"activeml:UncertaintySampling:method=entropy": 0.99}
    out = [
        Claim(f"bald's accuracy in {name}'s", bald / areas[name].value, least, False, detail)
        for name, least in wanted.items()
    ]
    entropy = areas["entropy"].value / areas["activeml:UncertaintySampling:method=entropy"].value
    same = "the accuracy of entropy, ours in theirs, off 1 by"
    return [*out, Claim(same, abs(entropy - 1.0), 0.005, True, "the same score, but for ties")]


if __name__ == "__main__":
    try:
        table = data_file("crabs.csv")
    except gf.InvalidInput as error:
        print(f"left out: {error}")
        sys.exit(0)
    claims = choices(table)
    if "--no-curves" not in sys.argv:
        claims += curves(table, 6 if "--quick" in sys.argv else 20)
    sys.exit(1 if report(claims) else 0)
