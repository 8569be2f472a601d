"""Houlsby et al. 2011, sec. 5, Fig. 4 (j to l): learning preferences that targets of regression data imply.

Of two rows the one with the larger target is preferred, as in Chu & Ghahramani (2005). cart is the artificial set of
Breiman et al. (1984), p. 238: x1 is −1 or 1 and x2 to x10 are −1, 0 or 1, each equally likely;
y = 3 + 3 x2 + 2 x3 + x4 if x1 = 1, and −3 + 3 x5 + 2 x6 + x7 otherwise, plus normal noise of variance 2.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import gainful as gf
from gainful.acquisition import Entropy, QueryByCommittee
from gainful.lab import Claim, Experiment, Row, Setting, data_file
from gainful.lab.statistics import paired_difference
from gainful.lab.table import pairs, select
from gainful.papers.houlsby2011.common import curves

__all__ = ["EXPERIMENT", "cart"]

Array = NDArray[np.float64]

_SETS = ("cpu", "cart", "kinematics")
_PAIRS, _TEST, _QUERIES, _TO_FIT = 300, 500, 60, 120
_NAMES = ("BALD", "random", "MES", "QBC 2", "QBC 100")


def _settings(quick: bool) -> list[Setting]:
    return [{"set": name, "repetition": r} for name in _SETS for r in range(2 if quick else 20)]


def cart(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """n rows of Breiman's artificial set."""
    X = np.column_stack([rng.choice([-1.0, 1.0], n), rng.choice([-1.0, 0.0, 1.0], (n, 9))])
    first = 3.0 + 3.0 * X[:, 1] + 2.0 * X[:, 2] + X[:, 3]
    second = -3.0 + 3.0 * X[:, 4] + 2.0 * X[:, 5] + X[:, 6]
    return X, np.where(X[:, 0] > 0.0, first, second) + np.sqrt(2.0) * rng.standard_normal(n)


def _table(name: str, rng: np.random.Generator) -> tuple[Array, Array]:
    if name == "cart":
        return cart(1000, rng)
    if name == "kinematics":
        stored = np.load(data_file("kin8nm.npz"))
        return stored["X"].astype(float), stored["y"].astype(float)
    # Cycle time, memory, cache and channels, all on scales of many octaves; the target is the published performance.
    raw = np.loadtxt(data_file("machine_cpu.csv"), delimiter=",", skiprows=1, usecols=(2, 3, 4, 5, 6, 7, 8))
    return np.log1p(raw[:, :6]), raw[:, 6]


def _drawn(X: Array, y: Array, n: int, rng: np.random.Generator) -> tuple[Array, NDArray[np.bool_]]:
    """n pairs of rows whose targets differ, and whether the first is preferred."""
    first, second = rng.integers(len(y), size=(2, 4 * n))
    differ = np.flatnonzero((y[first] != y[second]) & np.any(X[first] != X[second], axis=1))[:n]
    first, second = first[differ], second[differ]
    return np.stack([X[first], X[second]], axis=1), y[first] > y[second]


def _run(setting: Setting, seed: int) -> list[Row]:
    rng = np.random.default_rng(seed)
    X, y = _table(setting["set"], rng)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    rows = rng.permutation(len(y))
    half = len(rows) // 2
    pool, answers = _drawn(X[rows[:half]], y[rows[:half]], _PAIRS, rng)
    test, truth = _drawn(X[rows[half:]], y[rows[half:]], _TEST, rng)
    judge = gf.Preference(noise=1.0 / np.sqrt(2.0), name="judge")  # the scale of the published model
    gp = gf.GP(gf.SE(np.sqrt(X.shape[1]), 4.0), priors={"judge.noise": gf.Fixed()})
    # Learned once, from other pairs, and fixed from then on: as published.
    others, told = _drawn(X[rows[:half]], y[rows[:half]], _TO_FIT, rng)
    gp = gf.fit(gp, gf.Data().add(judge, others, told), starts=1).gp
    out: list[Row] = []
    for name in _NAMES:
        out += [{"strategy": name, **row} for row in _curve(name, gp, judge, pool, answers, test, truth, seed)]
    return out


def _curve(
    name: str,
    gp: gf.GP,
    judge: gf.Preference,
    pool: Array,
    answers: NDArray[np.bool_],
    test: Array,
    truth: NDArray[np.bool_],
    seed: int,
) -> list[Row]:
    """A pool of pairs, each asked once. The pairs are given: a loop over scores, not a campaign over items."""
    rng = np.random.default_rng([seed, 1])
    left = np.ones(len(pool), dtype=bool)
    posterior, rows = gp.posterior(gf.Data()), []
    for told in range(_QUERIES + 1):
        right = (posterior.marginals(judge, test)[0] > 0.0) == truth
        rows.append({"answers": told, "accuracy": float(np.mean(right))})
        index = np.flatnonzero(left)
        if name == "random":
            scores = rng.random(len(index))
        elif name.startswith("QBC"):
            committee = QueryByCommittee(size=int(name[4:]), measure="vote", seed=seed)
            scores = committee.score(posterior, judge, pool[index])
        else:
            scores = (gf.Learn() if name == "BALD" else Entropy()).score(posterior, judge, pool[index])
        best = int(index[int(np.argmax(scores))])
        left[best] = False
        posterior = posterior.condition(gf.Data().add(judge, pool[best][None], answers[best : best + 1]))
    return rows


def _claims(rows: list[Row]) -> list[Claim]:
    out = []
    for name in _SETS:
        here = select(rows, set=name)
        area = _areas(here)
        for rival in ("random", "MES"):
            gap = paired_difference(*pairs(area, "area", {"strategy": "BALD"}, {"strategy": rival}, by=["repetition"]))
            statement = f"mean accuracy of BALD over the first {_QUERIES} answers above that of {rival} ({name})"
            published = "above" if rival == "random" else "about the same, or above"
            holds = gap.low > 0.0 if rival == "random" else gap.high > 0.0
            out.append(Claim(statement, published, gap.value, gap.low, gap.high, holds))
    return out


def _areas(rows: list[Row]) -> list[Row]:
    """The mean accuracy over the whole curve, for each strategy and repetition."""
    groups: dict[tuple[str, int], list[float]] = {}
    for row in rows:
        groups.setdefault((row["strategy"], row["repetition"]), []).append(row["accuracy"])
    return [{"strategy": s, "repetition": r, "area": float(np.mean(values))} for (s, r), values in groups.items()]


def _figures(rows: list[Row], folder: Path) -> list[Path]:
    panels = [(name, select(rows, set=name)) for name in _SETS]
    return [curves(panels, "accuracy", "accuracy on test pairs", folder / "accuracy.png")]


EXPERIMENT = Experiment(
    name="bald-preference",
    title="Preferences from regression data: accuracy against the number of comparisons",
    source="Houlsby et al. 2011, sec. 5, Fig. 4 (j to l)",
    published={
        "result": "BALD above random on cpu, cart and kinematics, in figures that are not in the text",
        "note": "BALD may do poorly on the first few answers, as on one of the three",
    },
    settings=_settings,
    run=_run,
    claims=_claims,
    figures=_figures,
    data=("machine_cpu.csv", "kin8nm.npz"),
)
