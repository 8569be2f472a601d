"""Gardner 2018, ch. 6, Table 6.2: errors and times of approximations on real data of many readings.

Each data set (`many_readings.py`) under a squared exponential and a constant mean, as printed, with a lengthscale for
each dimension, of which nothing is said. Hyperparameters are learned from cold by `gf.fit`, which
begins with 1500 readings, by the engine that then predicts; printed is ADAM with its default parameters, of a number of
steps that is not. One repetition is one engine on one data set, the cheap ones first. Beside them are the median and a
straight line: two printed columns are no better than these.

    exact      one Cholesky factorisation, where one array of N × N has room
    Vecchia    each reading given its 20 nearest
    inducing   400 inducing points (printed: SGPR with 200, 400 and 800; 400 is what is compared)
    SKIP       rank 20, 100 points along each dimension, as printed
    SKI        a grid as fine as the noise demands, in two dimensions (printed: 120,000 points in three)

Times are seconds of the processor on one core for learning, and differ from run to run; printed are those of a GPU.
Intervals of errors are over the readings that were held out; nothing was repeated.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import gainful as gf
from gainful.lab import Claim, Experiment, Row, Setting
from gainful.lab.table import select
from gainful.papers.gardner2018.many_readings import PUBLISHED, SETS, UNITS, Split, baselines, loaded, scored

__all__ = ["EXPERIMENT", "engine_of"]

Array = NDArray[np.float64]

_NOISE = 0.5  # to begin with, of answers that spread by 1
_QUICK, _COARSE = 200, 20  # readings of a quick run, and points of its grid along each dimension
_METHODS = ("exact", "Vecchia", "inducing", "SKIP", "SKI")
_NEIGHBOURS, _POINTS, _RANK, _GRID = 20, 400, 20, 100
_SAME = 1.05  # a ratio of errors up to which two are the same

# In the order of what they take, seconds to most of an hour.
_FULL = (
    *(("precipitation", each) for each in ("SKI", "Vecchia", "inducing", "exact", "SKIP")),
    *(("pumadyn", each) for each in ("inducing", "Vecchia", "exact")),
    *(("elevators", each) for each in ("inducing", "Vecchia")),
    *((name, each) for each in ("inducing", "Vecchia") for name in ("kin40k", "protein", "KEGG")),
    *((name, "SKIP") for name in ("elevators", "pumadyn", "kin40k", "protein")),
    ("elevators", "exact"),
    ("KEGG", "SKIP"),
)
_FEW = (
    *(("precipitation", each) for each in _METHODS),
    *(("elevators", each) for each in ("exact", "Vecchia", "inducing", "SKIP")),
    ("pumadyn", "exact"),
    *((name, "Vecchia") for name in ("KEGG", "protein", "kin40k")),
)


def _settings(quick: bool) -> list[Setting]:
    most = _QUICK if quick else None
    first: list[Setting] = [{"data": name, "engine": "none", "most": most, "repetition": 0} for name in SETS]
    return first + [
        {"data": name, "engine": engine, "most": most, "repetition": 0} for name, engine in (_FEW if quick else _FULL)
    ]


def engine_of(name: str, split: Split) -> Any:
    """The engine of that name; a grid has to reach what is predicted."""
    both = np.concatenate([split.X, split.Z])
    corners = np.array([both.min(axis=0), both.max(axis=0)])
    made: dict[str, Callable[[], Any]] = {
        "exact": gf.Exact,
        "Vecchia": lambda: gf.Vecchia(_NEIGHBOURS),
        "inducing": lambda: gf.Inducing(min(_POINTS, len(split.X) // 2)),
        "SKIP": lambda: gf.SKIP(rank=_RANK, grid=_GRID, over=corners),
        "SKI": lambda: gf.SKI(grid=_COARSE if len(split.X) <= _QUICK else None, over=corners),
    }
    return made[name]()


def _run(setting: Setting, seed: int) -> list[Row]:
    split = loaded(setting["data"], setting["most"])
    size = {"train": len(split.X), "held": len(split.held), "dimensions": split.X.shape[1]}
    if setting["engine"] == "none":
        return [{"method": name, **size, **each._asdict(), "time": None} for name, each in baselines(split).items()]
    D = split.X.shape[1]
    reading = gf.Point(noise=_NOISE, name="reading")
    gp = gf.GP(gf.SE((float(np.sqrt(D)),) * D), gf.ConstantMean())
    data, method = gf.Data().add(reading, split.X, split.y), engine_of(setting["engine"], split)
    begun = time.process_time()
    with warnings.catch_warnings():  # a search that was ended early says so in its row
        warnings.simplefilter("ignore", gf.ConvergenceWarning)
        fitted = gf.fit(gp, data, starts=1, inference=method, rng=seed)
    learned = time.process_time() - begun
    posterior = fitted.posterior
    noise = fitted.values["reading.noise"]
    scores = scored(split, posterior.mean(split.Z), posterior.variance(split.Z) + noise**2)
    told = {
        "time": learned,
        "predicting": time.process_time() - begun - learned,
        "evidence": posterior.log_evidence,
        "noise": noise * split.unit,
        "converged": fitted.converged,
        "said": f"{fitted.message}; {posterior.convergence.message}",
    }
    return [{"method": setting["engine"], **size, **scores._asdict(), **told}]


def _claims(rows: list[Row]) -> list[Claim]:
    return [*_each(rows), *_full_against_skip(rows), *_fastest(rows), *_order(rows)]


def _one(rows: list[Row], name: str, method: str) -> Row | None:
    found = select(rows, data=name, method=method)
    return found[0] if found else None


def _unit(name: str) -> str:
    return f" in {UNITS[name]}" if name in UNITS else ""


def _each(rows: list[Row]) -> list[Claim]:
    """Every error beside the printed one; it holds where it is better than a straight line."""
    out = []
    for name in SETS:
        linear, constant = _one(rows, name, "linear"), _one(rows, name, "constant")
        if linear is None or constant is None:
            continue
        for method in _METHODS:
            row = _one(rows, name, method)
            if row is None:
                continue
            half = 1.96 * row["standard_error"]
            printed = PUBLISHED[name].get(method)
            words = f"{name}: the mean absolute error by {method}{_unit(name)} is below that of a straight line"
            note = (
                f"Straight line {linear['mae']:.3g}, median {constant['mae']:.3g}; root mean square {row['rmse']:.3g}, "
                f"NLPD {row['nlpd']:.3g} (straight line {linear['rmse']:.3g}, {linear['nlpd']:.3g}); learned from "
                f"{row['train']} readings in {row['time']:.0f} s, predicted in {row['predicting']:.0f} s."
            )
            if not row["converged"]:
                note += " The search was ended before it had converged."
            if printed is not None:
                note += f" Printed: in {printed[1]:g} s."
            if name == "precipitation" and printed is not None:
                note += " The printed numbers are of another data set."
            holds = row["mae"] + half < linear["mae"]
            number = None if printed is None else printed[0]
            out.append(Claim(words, number, row["mae"], row["mae"] - half, row["mae"] + half, holds, note))
    return out


def _ratio(over: Row, under: Row) -> tuple[float, float, float]:
    """Of two mean absolute errors, with an interval that takes them as independent: too wide, as both are of the same
    readings."""
    ratio = over["mae"] / under["mae"]
    half = 1.96 * float(np.hypot(over["standard_error"] / over["mae"], under["standard_error"] / under["mae"]))
    return ratio, float(ratio * np.exp(-half)), float(ratio * np.exp(half))


def _full_against_skip(rows: list[Row]) -> list[Claim]:
    out = []
    for name in ("elevators", "pumadyn"):
        exact, skip = _one(rows, name, "exact"), _one(rows, name, "SKIP")
        if exact is not None and skip is not None:
            ratio, low, high = _ratio(skip, exact)
            printed = PUBLISHED[name]["SKIP"][0] / PUBLISHED[name]["exact"][0]
            words = f"{name}: the mean absolute error by SKIP over the exact one"
            note = f"{skip['mae']:.4g} and {exact['mae']:.4g}; NLPD {skip['nlpd']:.3g} and {exact['nlpd']:.3g}."
            verdict = "" if name == "elevators" else "measured"
            out.append(Claim(words, round(printed, 2), ratio, low, high, ratio <= _SAME * printed, note, verdict))
    return out


def _fastest(rows: list[Row]) -> list[Claim]:
    """The full GP on the two smallest."""
    out = []
    for name in ("pumadyn", "elevators"):
        exact = _one(rows, name, "exact")
        others = [row for method in ("inducing", "SKIP") if (row := _one(rows, name, method)) is not None]
        if exact is None or not others:
            continue
        quickest = min(others, key=lambda row: row["time"])
        ratio = exact["time"] / max(quickest["time"], 1e-9)
        words = f"{name}: the exact one learns faster than SKIP and inducing points: its time over that of the faster"
        note = f"{exact['time']:.0f} s, {quickest['method']} {quickest['time']:.0f} s, on one core; printed on a GPU."
        printed = {"pumadyn": 4 / 65, "elevators": 12 / 23}[name]
        out.append(Claim(words, round(printed, 2), ratio, ratio, ratio, ratio < 1.0, note))
    return out


def _order(rows: list[Row]) -> list[Claim]:
    """SKIP better and faster than inducing points on the large ones; SKI best of the three on precipitation."""
    out = []
    for name in ("KEGG", "protein", "kin40k"):
        skip, inducing = _one(rows, name, "SKIP"), _one(rows, name, "inducing")
        if skip is None or inducing is None:
            continue
        ratio, low, high = _ratio(skip, inducing)
        known = PUBLISHED[name]
        printed = round(known["SKIP"][0] / known["inducing"][0], 2) if known else None
        words = f"{name}: the mean absolute error by SKIP over that by {_POINTS} inducing points"
        out.append(Claim(words, printed, ratio, low, high, high < 1.0))
        faster = skip["time"] / max(inducing["time"], 1e-9)
        printed = round(known["SKIP"][1] / known["inducing"][1], 2) if known else None
        words = f"{name}: the time of learning by SKIP over that by {_POINTS} inducing points"
        out.append(Claim(words, printed, faster, faster, faster, faster < 1.0))
    ski = _one(rows, "precipitation", "SKI")
    for method in ("SKIP", "inducing"):
        other = _one(rows, "precipitation", method)
        if ski is not None and other is not None:
            ratio, low, high = _ratio(ski, other)
            printed = round(PUBLISHED["precipitation"]["SKI"][0] / PUBLISHED["precipitation"][method][0], 2)
            words = f"precipitation: the mean absolute error by SKI over that by {method}"
            note = "Of another data set than the printed one."
            out.append(Claim(words, printed, ratio, low, high, high < 1.0, note, "" if high < 1.0 else "not settled"))
    return out


_LOOKS = {"exact": "#000000", "Vecchia": "#0072B2", "inducing": "#D55E00", "SKIP": "#009E73", "SKI": "#CC79A7"}
_MARKS = {"exact": "s", "Vecchia": "o", "inducing": "^", "SKIP": "v", "SKI": "P"}


def _figures(rows: list[Row], folder: Path) -> list[Path]:
    from matplotlib.figure import Figure

    sheet = Figure(figsize=(10.5, 6.0), layout="constrained")
    for axes, name in zip(sheet.subplots(2, 3).ravel(), SETS, strict=True):
        _panel(axes, rows, name)
    _legend(sheet)
    sheet.savefig(folder / "errors.png", dpi=130)
    return [folder / "errors.png", _draw_times(rows, folder)]


def _panel(axes: Any, rows: list[Row], name: str) -> None:
    """Errors of one data set: measured filled, printed hollow, the straight line and the median upright."""
    for i, method in enumerate(_METHODS[::-1]):
        row, printed = _one(rows, name, method), PUBLISHED[name].get(method)
        if row is not None:
            axes.errorbar(
                row["mae"], i, xerr=1.96 * row["standard_error"], fmt="o", ms=7, color=_LOOKS[method], capsize=3
            )
        if printed is not None and name != "precipitation":
            axes.plot(printed[0], i, marker="D", ms=7, mfc="none", mec=_LOOKS[method], ls="")
    for method, dash in (("linear", (0, (5, 2))), ("constant", (0, (1.2, 1.4)))):
        row = _one(rows, name, method)
        if row is not None:
            axes.axvline(row["mae"], color="#8A8A8A", ls=dash, lw=1.4)
    axes.set_yticks(range(len(_METHODS)), _METHODS[::-1])
    size = _one(rows, name, "constant")
    count = "" if size is None else f", {size['train']} readings, d = {size['dimensions']}"
    axes.set(ylim=(-0.6, len(_METHODS) - 0.4), xlabel=f"mean absolute error{_unit(name)}")
    axes.set_title(f"{name}{count}", fontsize=10)
    axes.set_xlim(left=0.0)
    axes.spines[["top", "right"]].set_visible(False)


def _legend(sheet: Any) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color="#333333", marker="o", ms=7, ls="", label="measured, with its 95 % interval"),
        Line2D([], [], color="#333333", marker="D", ms=7, mfc="none", ls="", label="printed, where of the same data"),
        Line2D([], [], color="#8A8A8A", ls=(0, (5, 2)), label="straight line"),
        Line2D([], [], color="#8A8A8A", ls=(0, (1.2, 1.4)), label="median"),
    ]
    sheet.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False, fontsize=9)


def _draw_times(rows: list[Row], folder: Path) -> Path:
    from matplotlib.figure import Figure

    sheet = Figure(figsize=(7.4, 3.8), layout="constrained")
    axes = sheet.subplots()
    for j, method in enumerate(_METHODS):
        at = [(i + 0.14 * (j - 2), row["time"]) for i, name in enumerate(SETS) if (row := _one(rows, name, method))]
        if at:
            axes.plot(*zip(*at, strict=True), ls="", marker=_MARKS[method], ms=7, color=_LOOKS[method], label=method)
        there = [
            (i + 0.14 * (j - 2), PUBLISHED[name][method][1])
            for i, name in enumerate(SETS)
            if method in PUBLISHED[name] and name != "precipitation"
        ]
        if there:
            axes.plot(*zip(*there, strict=True), ls="", marker=_MARKS[method], ms=7, mfc="none", mec=_LOOKS[method])
    axes.plot([], [], ls="", marker="o", ms=7, mfc="none", mec="#333333", label="hollow: printed, on a GPU")
    axes.set_xticks(range(len(SETS)), list(SETS))
    axes.set(yscale="log", ylabel="learning (s; measured on one core)")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    sheet.savefig(folder / "times.png", dpi=130)
    return folder / "times.png"


EXPERIMENT = Experiment(
    name="scale-regression",
    title="Real data of many readings",
    source="Gardner 2018, ch. 6, Table 6.2",
    published={
        "in words": "the full GP is fastest on the two smallest, SKIP equals it on elevators, is better and faster on "
        "KEGG and protein, and on precipitation it is behind KISS-GP (SKI)",
        **{
            name: ", ".join(f"{method} {mae:g} in {seconds:g} s" for method, (mae, seconds) in known.items())
            for name, known in PUBLISHED.items()
            if known
        },
        "not printed": "steps, splits, scaling, whether each dimension has a lengthscale",
    },
    settings=_settings,
    run=_run,
    claims=_claims,
    figures=_figures,
    data=tuple(SETS.values()),
)
