"""What the experiments of Houlsby et al. 2011, sec. 5, share: strategies by name, and learning curves on a pool.

Hyperparameters are fixed, as published: for each data set they are learned once, from the whole pool.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import gainful as gf
from gainful.acquisition import IVM, ActiveSVM, EmpiricalError, Entropy, Kapoor, QueryByCommittee, Zhu
from gainful.lab import Row, Style, draw_curves, learning_curve

__all__ = ["COLOURS", "STRATEGIES", "Problem", "curves", "learning_curves"]

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Problem:
    """A pool with its answers, test places with theirs, and the gp.

    `block` marks pool places of a special region, `rule` is what the pool's answers would be without noise.
    """

    X: Array
    yes: Mask
    test: Array
    test_yes: Mask
    gp: gf.GP
    block: Mask | None = None
    rule: Mask | None = None


# Those in the second half see the test inputs, or the answers of the pool, and are not for use.
STRATEGIES: dict[str, Callable[[Problem, int], Any]] = {
    "BALD": lambda p, seed: gf.Learn("function"),
    "random": lambda p, seed: gf.Random(),
    "MES": lambda p, seed: Entropy(),
    "QBC 2": lambda p, seed: QueryByCommittee(size=2, measure="vote", seed=seed, over=p.X),
    "QBC 100": lambda p, seed: QueryByCommittee(size=100, measure="vote", seed=seed, over=p.X),
    "SVM": lambda p, seed: ActiveSVM(),
    "IVM": lambda p, seed: IVM(p.X, p.yes),
    "Kapoor": lambda p, seed: Kapoor(p.test),
    "Zhu": lambda p, seed: Zhu(p.test),
    "empirical error": lambda p, seed: EmpiricalError(),
}
COLOURS = {
    "BALD": "#0072B2",
    "random": "#999999",
    "MES": "#D55E00",
    "QBC 2": "#E69F00",
    "QBC 100": "#F0E442",
    "SVM": "#009E73",
    "IVM": "#CC79A7",
    "Kapoor": "#56B4E9",
    "Zhu": "#000000",
    "empirical error": "#7B3F00",
}


def learning_curves(problem: Problem, names: list[str], queries: int, seed: int) -> list[Row]:
    """Accuracy on the test places after every answer, and how many queries lay in the block, for each strategy."""
    judge = gf.Binary(name="label")
    block = np.zeros(len(problem.X), dtype=bool) if problem.block is None else problem.block

    def judged(posterior: gf.Posterior, asked: list[int]) -> Row:
        right = (posterior.mean(problem.test) > 0.0) == problem.test_yes
        inside = [i for i in asked if block[i]]
        return {
            "accuracy": float(np.mean(right)),
            "in_block": len(inside),
            "contrary_in_block": 0 if problem.rule is None else int(np.sum((problem.yes != problem.rule)[inside])),
        }

    rows: list[Row] = []
    for name in names:
        goal = STRATEGIES[name](problem, seed)
        campaign = gf.Campaign(gf.Pool(problem.X), judge, problem.gp, goal, seed=seed, repeat=False)
        found, _ = learning_curve(campaign, problem.X, problem.yes.tolist(), queries, judged)
        rows += [{"strategy": name, **row} for row in found]
    return rows


def curves(panels: list[tuple[str, list[Row]]], what: str, ylabel: str, path: Path) -> Path:
    """Mean curves with their 95 % bands, one panel for each data set."""
    from matplotlib.figure import Figure

    look = {name: Style(colour, width=2.5 if name == "BALD" else 1.4) for name, colour in COLOURS.items()}
    figure = Figure(figsize=(4.2 * len(panels), 4.0), layout="constrained")
    axes_of = np.atleast_1d(figure.subplots(1, len(panels)))
    for axes, (title, rows) in zip(axes_of, panels, strict=True):
        draw_curves(axes, rows, what, look)
        axes.set_title(title, loc="left", fontsize=11)
        axes.set_xlabel("answers")
    axes_of[0].set_ylabel(ylabel)
    handles, labels = axes_of[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 6), frameon=False, fontsize=9)
    figure.savefig(path, dpi=150)
    return path
