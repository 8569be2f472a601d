"""Houlsby et al. 2011, sec. 5, Fig. 3: three artificial sets that are hard for active learning.

The text shows them as pictures. Here: two classes on a square, divided by x = 0, with a *block in the middle* of the
boundary whose labels are tosses of a coin; the same without noise, with a *block in the corner*, dense and far from the
boundary, all of one class; and a *checkerboard* of four by four islands.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import gainful as gf
from gainful.lab import Claim, Experiment, Row, Setting
from gainful.lab.statistics import Estimate, mean, paired_difference
from gainful.lab.table import column, pairs, select
from gainful.papers.houlsby2011.common import STRATEGIES, Problem, curves, learning_curves

__all__ = ["EXPERIMENT", "draw"]

Array = NDArray[np.float64]

_SETS = ("block in the middle", "block in the corner", "checkerboard")
_QUERIES = {"block in the middle": 40, "block in the corner": 30, "checkerboard": 60}
_PLAIN, _BLOCK, _TEST = 150, 75, 400
_INDUCTIVE = ("BALD", "random", "MES", "QBC 2", "QBC 100", "SVM", "empirical error")  # IVM sees the pool's answers


def _settings(quick: bool) -> list[Setting]:
    return [{"set": name, "repetition": r} for name in _SETS for r in range(2 if quick else 20)]


def _labels(name: str, X: Array) -> NDArray[np.bool_]:
    """The class of each place, but for noise."""
    if name == "checkerboard":
        return np.asarray((np.floor(2.0 * (X[:, 0] + 1.0)) + np.floor(2.0 * (X[:, 1] + 1.0))) % 2 == 0)
    return X[:, 0] > 0.0


def draw(name: str, rng: np.random.Generator) -> Problem:
    """A pool and test places; the gp's lengthscale and variance are learned from the whole pool, and stay fixed."""
    plain, test = rng.uniform(-1.0, 1.0, (_PLAIN, 2)), rng.uniform(-1.0, 1.0, (_TEST, 2))
    if name == "checkerboard":
        X, block = np.concatenate([plain, rng.uniform(-1.0, 1.0, (_BLOCK, 2))]), None
        yes = _labels(name, X)
    else:
        centre, half = ((0.0, 0.0), 0.25) if name == "block in the middle" else ((0.85, 0.85), 0.15)
        extra = np.array(centre) + rng.uniform(-half, half, (_BLOCK, 2))
        X = np.concatenate([plain, extra])
        block = np.all(np.abs(X - np.array(centre)) <= half, axis=1)
        yes = _labels(name, X)
        if name == "block in the middle":
            yes = np.where(block, rng.random(len(X)) < 0.5, yes)
            test = test[np.any(np.abs(test) > half, axis=1)]  # where there is something to learn
    order = rng.permutation(len(X))  # ties go to the first: no part of the pool must come first
    X, yes, block = X[order], yes[order], None if block is None else block[order]
    priors = {"SE.lengthscale": gf.LogNormal(-0.7, 0.7), "SE.variance": gf.LogNormal(1.5, 1.0)}
    fitted = gf.fit(gf.GP(gf.SE(0.5, 4.0), priors=priors), gf.Data().add(gf.Binary(name="label"), X, yes), starts=1)
    return Problem(X, yes, test, _labels(name, test), fitted.gp, block, _labels(name, X))


def _run(setting: Setting, seed: int) -> list[Row]:
    problem = draw(setting["set"], np.random.default_rng(seed))
    return learning_curves(problem, list(STRATEGIES), _QUERIES[setting["set"]], seed)


def _contrary(rows: list[Row]) -> list[float]:
    """Of each run's queries in the block, if they are more than a few, the share whose answer is not its side's."""
    return [row["contrary_in_block"] / row["in_block"] for row in rows if row["in_block"] >= 4]


def _claims(rows: list[Row]) -> list[Claim]:
    out: list[Claim] = []

    def ends(name: str) -> list[Row]:
        return select(rows, set=name, answers=_QUERIES[name])

    def more(name: str, first: str, what: str) -> Estimate:
        strategies = {"strategy": first}, {"strategy": "BALD"}
        return paired_difference(*pairs(ends(name), what, *strategies, by=["repetition"]))

    middle, corner, board = _SETS
    for name in ("MES", "QBC 2"):
        gap = more(middle, name, "in_block")
        statement = f"{name} spends more queries than BALD in the noisy block, of {_QUERIES[middle]}"
        out.append(Claim(statement, "more", gap.value, gap.low, gap.high, gap.low > 0.0))
    shares = {name: _contrary(select(ends(middle), strategy=name)) for name in ("IVM", "BALD", "random")}
    if shares["IVM"]:
        share = mean(shares["IVM"])
        others = ", ".join(f"{name} {np.mean(shares[name]):.2f}" for name in ("BALD", "random") if shares[name])
        statement = (
            "IVM's queries in the noisy block are of one class on either side of the boundary, the one that does not "
            "belong there, by share (a coin gives 0.5)"
        )
        out.append(Claim(statement, "one class", share.value, share.low, share.high, share.low > 0.75, f"{others}."))
    wasted = mean(column(ends(corner), "in_block", strategy="BALD"))
    chance = mean(column(ends(corner), "in_block", strategy="random"))
    note = f"Random queries: {chance.value:.1f} of {_QUERIES[corner]} in the corner."
    statement = f"BALD's queries in the uninformative corner, of {_QUERIES[corner]}"
    out.append(Claim(statement, "avoided", wasted.value, wasted.low, wasted.high, wasted.high < chance.low, note))
    accuracy = {name: float(np.mean(column(ends(board), "accuracy", strategy=name))) for name in _INDUCTIVE}
    best = max(accuracy, key=lambda name: accuracy[name])
    gap = more(board, best, "accuracy") if best != "BALD" else Estimate(0.0, 0.0, 0.0)
    statement = f"on the checkerboard BALD is within noise of the best inductive method ({best})"
    told = float(np.mean(column(ends(board), "accuracy", strategy="IVM")))
    note = (
        f"Accuracy {accuracy['BALD']:.3f}; random {accuracy['random']:.3f}. IVM, which is told the answers of the pool "
        f"before it chooses, as in the text, reaches {told:.3f}."
    )
    out.append(Claim(statement, "best or among the best", gap.value, gap.low, gap.high, gap.low <= 0.0, note))
    return out


def _figures(rows: list[Row], folder: Path) -> list[Path]:
    panels = [(name, select(rows, set=name)) for name in _SETS]
    paths = [curves(panels, "accuracy", "accuracy on test places", folder / "accuracy.png")]
    blocks = [(name, select(rows, set=name)) for name in _SETS[:2]]
    return [*paths, curves(blocks, "in_block", "queries in the block", folder / "block.png")]


EXPERIMENT = Experiment(
    name="bald-artificial",
    title="Noisy block, uninformative corner, checkerboard",
    source="Houlsby et al. 2011, sec. 5, Fig. 3",
    published={
        "block in the middle": "MES and QBC do poorly; IVM's choice in the block is biased towards one class",
        "block in the corner": "a strong algorithm avoids the block",
        "checkerboard": "BALD, MES and IVM do well; decision-theoretic methods, which see the test inputs, start well",
    },
    settings=_settings,
    run=_run,
    claims=_claims,
    figures=_figures,
)
