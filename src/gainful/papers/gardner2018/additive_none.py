"""Whether looking for dimensions that act together hurts where all do (Gardner 2018, ch. 5: it never did).

Four functions over [−1, 1]^10 without additive structure: Ackley, Levy and Rosenbrock after a rotation of all
dimensions, with the minimum at a place drawn from the middle half of the box, and a draw from a GP with one lengthscale
for all, by 2000 random features, whose minimum is the lowest of 200 descents. The rotation, the place and the draw are
new in each of five runs. Models: gainful's own chain over partitions, the same model with all dimensions in one term,
and the plain GP that a campaign has when no model is named. What is compared is the logarithm of the best value above
the minimum, in units in which the function spreads by one over the box.
"""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import ortho_group

import gainful as gf
from gainful.lab import Claim, Experiment, Row, Setting, Style, draw_curves
from gainful.lab.statistics import paired_difference
from gainful.lab.table import pairs, select
from gainful.papers.gardner2018.additive_worlds import INITIAL, Function, best_so_far, box, looked_at

__all__ = ["EXPERIMENT", "function_of"]

Array = NDArray[np.float64]

_D, _EVALUATIONS, _RUNS = 10, 100, 5
_NAMES = ("Ackley", "Levy", "Rosenbrock", "draw")
_WORDS = {
    "Ackley": "Ackley, rotated",
    "Levy": "Levy, rotated",
    "Rosenbrock": "Rosenbrock, rotated",
    "draw": "a GP's draw",
}
_STRATEGIES = ("own", "full", "plain")
_CALLED = {"own": "partitions", "full": "all in one term", "plain": "plain GP"}
_LOOKS = {
    "own": Style("#0072B2", "-", 2.4),
    "full": Style("#D55E00", (0, (5, 2)), 1.6),
    "plain": Style("#7F7F7F", (0, (1.2, 1.4)), 1.6),
}
_FEATURES, _DESCENTS, _SPREAD_AT = 2000, 200, 1000
_LENGTH = 0.5  # times √d: the lengthscale of the draw, in a box of width 2
_LEAST = 1e-6  # of the spread: nearer than this counts as there
_NEGLIGIBLE = 0.1  # of log10: a fifth of the regret


def _settings(quick: bool) -> list[Setting]:
    size = {"dimensions": 3, "evaluations": INITIAL + 1} if quick else {"dimensions": _D, "evaluations": _EVALUATIONS}
    return [
        {"function": name, "strategy": strategy, **size, "repetition": r}
        for name in (_NAMES[:1] if quick else _NAMES)
        for strategy in _STRATEGIES
        for r in range(1 if quick else _RUNS)
    ]


def _ackley(z: Array) -> float:
    root = np.sqrt(np.mean(z**2))
    return float(20.0 * (1.0 - np.exp(-0.2 * root)) + np.e - np.exp(np.mean(np.cos(2.0 * np.pi * z))))


def _levy(z: Array) -> float:
    w = 1.0 + z / 4.0
    middle = np.sum((w[:-1] - 1.0) ** 2 * (1.0 + 10.0 * np.sin(np.pi * w[:-1] + 1.0) ** 2))
    last = (w[-1] - 1.0) ** 2 * (1.0 + np.sin(2.0 * np.pi * w[-1]) ** 2)
    return float(np.sin(np.pi * w[0]) ** 2 + middle + last)


def _rosenbrock(z: Array) -> float:
    u = 1.0 + z
    return float(np.sum(100.0 * (u[1:] - u[:-1] ** 2) ** 2 + (1.0 - u[:-1]) ** 2))


_SHAPES = {"Ackley": (_ackley, 5.0), "Levy": (_levy, 10.0), "Rosenbrock": (_rosenbrock, 2.0)}  # and the half-width


@cache
def function_of(name: str, dimensions: int, repetition: int) -> Function:
    """A function over [−1, 1]^d whose minimum is 0, in units of its spread there."""
    rng = np.random.default_rng([56, _NAMES.index(name), repetition])
    least = 0.0
    if name == "draw":
        raw, least = _drawn(dimensions, rng)
    else:
        raw = _rotated(name, dimensions, rng)
    at = rng.uniform(-1.0, 1.0, (_SPREAD_AT, dimensions))
    spread = float(np.std([raw(x) for x in at]))
    return lambda x: (raw(x) - least) / spread


def _rotated(name: str, dimensions: int, rng: np.random.Generator) -> Function:
    """x → shape of R(x − c), with its minimum 0 at c."""
    shape, half = _SHAPES[name]
    R, c = ortho_group.rvs(dimensions, random_state=rng), rng.uniform(-0.5, 0.5, dimensions)
    return lambda x: shape(half * (R @ (x - c)))


def _drawn(dimensions: int, rng: np.random.Generator) -> tuple[Function, float]:
    """A draw from a GP with a squared exponential, and the lowest of many descents."""
    W = rng.normal(size=(_FEATURES, dimensions)) / (_LENGTH * np.sqrt(dimensions))
    phases = rng.uniform(0.0, 2.0 * np.pi, _FEATURES)
    weights = rng.normal(size=_FEATURES) * np.sqrt(2.0 / _FEATURES)

    def raw(x: Array) -> float:
        return float(weights @ np.cos(W @ x + phases))

    def slope(x: Array) -> Array:
        return np.asarray(-(weights * np.sin(W @ x + phases)) @ W)

    starts, bounds = rng.uniform(-1.0, 1.0, (_DESCENTS, dimensions)), [(-1.0, 1.0)] * dimensions
    found = [float(minimize(raw, x, jac=slope, method="L-BFGS-B", bounds=bounds).fun) for x in starts]
    return raw, min(found)


def _run(setting: Setting, seed: int) -> list[Row]:
    """One campaign. Neither the function nor the first places depend on the strategy."""
    number, D = setting["repetition"], setting["dimensions"]
    function, space = function_of(setting["function"], D, number), box(D, -1.0, 1.0)
    models = {
        "own": gf.Partitions(space, parameters="best"),
        "full": gf.Partitions(space, given="full", parameters="best"),
        "plain": None,
    }
    begun = time.perf_counter()
    values = [
        best for best, _ in best_so_far(space, models[setting["strategy"]], function, setting["evaluations"], number)
    ]
    took = time.perf_counter() - begun
    rows: list[Row] = [{**row, "regret": float(np.log10(max(row["best"], _LEAST)))} for row in looked_at(values)]
    return [*rows, {"answers": setting["evaluations"], "seconds": took}]


def _claims(rows: list[Row]) -> list[Claim]:
    end = max(row["answers"] for row in rows)
    last, out = select(rows, answers=end), []
    names = [name for name in _NAMES if select(last, function=name)]
    for other in ("full", "plain"):
        for name in (None, *names):
            own = last if name is None else select(last, function=name)
            a, b = pairs(own, "regret", {"strategy": "own"}, {"strategy": other}, by=["function", "repetition"])
            gap = paired_difference(a, b)
            where = "all functions" if name is None else _WORDS[name]
            words = f"{where}: log10 of the regret after {end}, partitions minus {_CALLED[other]}"
            note = f"Hurts: by more than {_NEGLIGIBLE:g}, with confidence." if name is None else ""
            printed = "never hurt" if other == "full" else None
            out.append(Claim(words, printed, gap.value, gap.low, gap.high, gap.low <= _NEGLIGIBLE, note))
    return out


def _figures(rows: list[Row], folder: Path) -> list[Path]:
    from matplotlib.figure import Figure

    names = [name for name in _NAMES if select(rows, function=name)]
    sheet = Figure(figsize=(max(3.0 * len(names), 5.5), 3.8), layout="constrained")
    panels = np.atleast_1d(sheet.subplots(1, len(names)))
    for axes, name in zip(panels, names, strict=True):
        draw_curves(axes, select(rows, function=name), "regret", _LOOKS)
        axes.set(xlabel="evaluations", title=_WORDS[name])
    panels[0].set_ylabel("log10 of the regret, in units of the spread")
    handles, labels = panels[0].get_legend_handles_labels()
    sheet.legend(handles, [_CALLED[each] for each in labels], loc="outside lower center", ncols=3, frameon=False)
    sheet.savefig(folder / "none.png", dpi=130)
    return [folder / "none.png"]


EXPERIMENT = Experiment(
    name="additive-none",
    title="Looking for structure where there is none",
    source="Gardner 2018, ch. 5, in words; these functions are not published",
    published={"in words": "discovering additive structure never hurt, in all tests"},
    settings=_settings,
    run=_run,
    claims=_claims,
    figures=_figures,
)
