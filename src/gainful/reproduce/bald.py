"""What the experiments of bald 5 have in common: strategies by name, and learning curves on a pool of yes/no answers.

Hyperparameters are fixed, as published: for each data set they are learned once, from the whole pool.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gainful.campaign import Campaign
from gainful.goals import IVM, ActiveSVM, EmpiricalError, Entropy, Kapoor, Learn, QueryByCommittee, Zhu
from gainful.gp import GP
from gainful.instruments import Binary
from gainful.reproduce.experiment import Row
from gainful.reproduce.table import column, select
from gainful.selection import Random
from gainful.space import Pool

__all__ = ["COLOURS", "STRATEGIES", "Problem", "curves", "learning_curves"]

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Problem:
    """A pool with its answers, test places with theirs, and the gp; `block` marks pool places of a special region."""

    X: Array
    yes: Mask
    test: Array
    test_yes: Mask
    gp: GP
    block: Mask | None = None


# Those in the second half see the test inputs, or the answers of the pool, and are not for use.
STRATEGIES: dict[str, Callable[[Problem, int], Any]] = {
    "BALD": lambda p, seed: Learn("function"),
    "random": lambda p, seed: Random(),
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
    judge = Binary(name="label")
    rows: list[Row] = []
    for name in names:
        goal = STRATEGIES[name](problem, seed)
        campaign = Campaign(Pool(problem.X), judge, problem.gp, goal, seed=seed, repeat=False)
        rows += [{"strategy": name, **row} for row in _one(campaign, problem, queries)]
    return rows


def _one(campaign: Campaign, problem: Problem, queries: int) -> list[Row]:
    inside = yes = 0
    rows: list[Row] = []
    for told in range(queries + 1):
        right = (campaign.posterior.mean(problem.test) > 0.0) == problem.test_yes
        rows.append({"answers": told, "accuracy": float(np.mean(right)), "in_block": inside, "yes_in_block": yes})
        if told == queries:
            break
        query = campaign.ask()
        if query is None:
            break
        i = int(np.flatnonzero(np.all(query.place == problem.X, axis=1))[0])
        campaign.tell(query, bool(problem.yes[i]))
        if problem.block is not None and problem.block[i]:
            inside, yes = inside + 1, yes + int(problem.yes[i])
    return rows


def curves(panels: list[tuple[str, list[Row]]], what: str, ylabel: str, path: Path) -> Path:
    """Mean curves with their 95 % bands, one panel for each data set."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.2 * len(panels), 4.0), layout="constrained")
    axes_of = np.atleast_1d(figure.subplots(1, len(panels)))
    for axes, (title, rows) in zip(axes_of, panels, strict=True):
        for name in dict.fromkeys(row["strategy"] for row in rows):
            mine = select(rows, strategy=name)
            counts = sorted({row["answers"] for row in mine})
            values = np.array([column(mine, what, answers=n) for n in counts])
            middle, half = values.mean(axis=1), 1.96 * values.std(axis=1) / np.sqrt(values.shape[1])
            bold = name == "BALD"
            axes.plot(counts, middle, color=COLOURS[name], lw=2.5 if bold else 1.4, label=name, zorder=3 if bold else 2)
            axes.fill_between(counts, middle - half, middle + half, color=COLOURS[name], alpha=0.12, lw=0)
        axes.set_title(title, loc="left", fontsize=11)
        axes.set_xlabel("answers")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.spines[["top", "right"]].set_visible(False)
    axes_of[0].set_ylabel(ylabel)
    handles, labels = axes_of[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 6), frameon=False, fontsize=9)
    figure.savefig(path, dpi=150)
    return path
