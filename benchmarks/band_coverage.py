"""How often bands of 95 % hold the truth when nothing is stated, and those of the most probable hyperparameters.

    .venv/bin/python benchmarks/band_coverage.py [--quick] [--only "ranks 3-D" ...] [--cores 2]

Two kinds of truths (`_truths`), seven sets of instruments, 1, 3 and 6 dimensions, 5, 15 and 50 answers, 250 problems
each, twenty places per problem. Beside the integrated bands stand those of the mode (MAP): one posterior, at the mode
that `fit` reaches from the heaviest part of the belief. Interrupted, the same command goes on where it was.

Wanted: 93 to 97 % in every cell for truths from the prior, 88 to 99 % for rough ones from 15 answers on.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from _resumable import Record, on_file, options, perform
from _truths import SETS, TRUTHS, Problem, draw
from scipy.special import ndtri

import gainful as gf
from gainful.hyper.unstated import open_up
from gainful.numerics.mixture_quantile import mixture_quantile

SEED, PLACES, PROBLEMS, QUICK = 12, 20, 250, 10
DIMENSIONS, ANSWERS = (1, 3, 6), (5, 15, 50)
WANTED = {"prior": (0.93, 0.97), "rough": (0.88, 0.99)}
ALLOWED = 3.0  # core-hours for all of it
CELLS = {
    f"{kind} {truth} {d}-D {n}": (truth, kind, d, n) for truth, kind, d, n in product(TRUTHS, SETS, DIMENSIONS, ANSWERS)
}


def normals(belief: gf.Belief, problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Means and spreads (S, M) of what is asked, f or a difference of two, under each part."""
    if problem.places.ndim == 2:
        found = belief.predict(problem.places)
        return found.mean, np.sqrt(found.variance)
    parts = [p.marginals(problem.data.instruments[0], problem.places) for p in belief.posteriors]
    return np.stack([m for m, _ in parts]), np.sqrt(np.stack([v for _, v in parts]))


def integrated_band(belief: gf.Belief, problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """`belief.band`, and the same for differences."""
    if problem.places.ndim == 2:
        return belief.band(problem.places)
    mean, sd = normals(belief, problem)
    return mixture_quantile(belief.weights, mean, sd, 0.025), mixture_quantile(belief.weights, mean, sd, 0.975)


def mode_band(gp: gf.GP, belief: gf.Belief, problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """The band of one posterior, at the mode that a search from the heaviest part ends at."""
    opened = open_up(gp, problem.data).problem
    heaviest = belief.posteriors[belief.heaviest]
    thetas = [heaviest.kernel.theta, heaviest.prior_mean.theta, *(i.theta for i in heaviest.data.instruments)]
    fitted = gf.fit(opened.gp, opened.data, priors=opened.given, starts=np.concatenate(thetas)[None])
    mean, sd = normals(gf.Belief([fitted.posterior]), problem)
    reach = ndtri(0.975) * sd[0]
    return mean[0] - reach, mean[0] + reach


def trial(cell: str, number: int) -> Iterator[Record]:
    """One problem: the shares of places that the bands hold, how wide they are, and the seconds of processor time."""
    truth, kind, dimensions, answers = CELLS[cell]
    place = (TRUTHS.index(truth), SETS.index(kind), dimensions, answers, number)
    problem = draw(truth, kind, dimensions, answers, PLACES, np.random.default_rng([SEED, *place]))
    gp = gf.GP(space=problem.space)
    out: Record = {}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            start = time.process_time()
            belief = gp.condition(problem.data)
            low, high = integrated_band(belief, problem)
            out["seconds"] = round(time.process_time() - start, 4)
            out["held"] = float(np.mean((low <= problem.truth) & (problem.truth <= high)))
            out["width"] = round(float(np.median(high - low)) / problem.amplitude, 4)
            start = time.process_time()
            low, high = mode_band(gp, belief, problem)
            out["map_seconds"] = round(time.process_time() - start, 4)
            out["map"] = float(np.mean((low <= problem.truth) & (problem.truth <= high)))
        except gf.GainfulError as trouble:
            out["error"] = f"{type(trouble).__name__}: {trouble}"
    out["warned"] = sorted({each.category.__name__ for each in said})
    yield out


def table(records: dict[tuple[str, int], Record]) -> list[dict[str, Any]]:
    """One row for each cell that has trials: shares held with their standard errors over problems."""
    rows = []
    for cell, (truth, kind, dimensions, answers) in CELLS.items():
        own = [record for (name, _), record in records.items() if name == cell]
        held = np.array([each["held"] for each in own if "held" in each])
        mode = np.array([each["map"] for each in own if "map" in each])
        if not len(held):
            continue
        low, high = WANTED[truth]
        spread = 1.0 / np.sqrt(max(len(held) - 1, 1))
        rows.append(
            {
                "truth": truth, "instruments": kind, "dimensions": dimensions, "answers": answers,
                "problems": len(held), "failed": len(own) - len(mode),
                "coverage": float(held.mean()), "error": float(held.std() * spread),
                "map": float(mode.mean()) if len(mode) else None,
                "map_error": float(mode.std() * spread) if len(mode) else None,
                "width": float(np.median([each["width"] for each in own if "width" in each])),
                "seconds": float(np.mean([each["seconds"] + each.get("map_seconds", 0.0) for each in own
                                          if "seconds" in each])),
                "warned": sum(bool(each.get("warned")) for each in own),
                "promised": truth == "prior" or answers >= 15,
                "within": bool(low <= held.mean() <= high),
            }
        )  # fmt: skip
    return rows


def pooled(row: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """One cell from two runs with other problems: means by the number of problems, errors from both spreads."""
    assert all(row[key] == other[key] for key in ("truth", "instruments", "dimensions", "answers"))
    n, m = row["problems"], other["problems"]
    out = dict(row, problems=n + m, failed=row["failed"] + other["failed"], warned=row["warned"] + other["warned"])
    for name, error in (("coverage", "error"), ("map", "map_error")):
        mean = (n * row[name] + m * other[name]) / (n + m)
        squares = sum(
            size * ((each[error] ** 2 * (size - 1)) + (each[name] - mean) ** 2) for size, each in ((n, row), (m, other))
        )
        out[name], out[error] = mean, float(np.sqrt(squares / (n + m) / (n + m - 1)))
    for name in ("width", "seconds"):  # of the medians the mean, nearly the median of both
        out[name] = (n * row[name] + m * other[name]) / (n + m)
    low, high = WANTED[row["truth"]]
    return {**out, "within": bool(low <= out["coverage"] <= high)}


def show(rows: list[dict[str, Any]]) -> None:
    """The table, a line for each set, truth and number of dimensions."""
    print(f"\n{'':28s}" + "".join(f"{n:>15d} answers   MAP " for n in ANSWERS))
    for truth, kind, d in product(TRUTHS, SETS, DIMENSIONS):
        line = [r for r in rows if (r["truth"], r["instruments"], r["dimensions"]) == (truth, kind, d)]
        if line:
            cells = {r["answers"]: _cell(r) for r in line}
            print(f"{truth:6s} {kind:12s} {d}-D     " + "".join(f"{cells.get(n, ''):>28s}" for n in ANSWERS))


def _cell(row: dict[str, Any]) -> str:
    mode = "  -  " if row["map"] is None else f"{row['map']:.1%}"
    mark = "" if row["within"] else "*" if row["promised"] else "'"
    return f"{mark}{row['coverage']:.1%} ± {row['error']:.1%}  {mode:>6s}"


def estimate(rows: list[dict[str, Any]]) -> float:
    """Core-hours of the full run, by the mean time of each cell; cells without any count as the others do."""
    return float(np.mean([row["seconds"] for row in rows])) * len(CELLS) * PROBLEMS / 3600.0


def figure(rows: list[dict[str, Any]], path: Path) -> None:
    """A panel for each set: coverage over answers, one colour and mark for each number of dimensions."""
    from matplotlib.figure import Figure

    sheet = Figure(figsize=(13, 6.2), layout="constrained")
    panels = sheet.subplots(len(TRUTHS), len(SETS), sharex=True, sharey=True)
    looks = dict(zip(DIMENSIONS, (("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "D")), strict=True))
    for (i, truth), (j, kind) in product(enumerate(TRUTHS), enumerate(SETS)):
        axes = panels[i, j]
        axes.axhspan(*(100 * end for end in WANTED[truth]), color="#EEEEEE", lw=0)
        axes.axhline(95, color="#8C8C8C", lw=0.8)
        for place, d in enumerate(DIMENSIONS):
            own = [r for r in rows if (r["truth"], r["instruments"], r["dimensions"]) == (truth, kind, d)]
            x = [ANSWERS.index(r["answers"]) + 0.12 * (place - 1) for r in own]
            colour, mark = looks[d]
            errors = [100 * r["error"] for r in own]
            label = f"{d}-D" if i == j == 0 else None
            axes.errorbar(x, [100 * r["coverage"] for r in own], errors, color=colour, marker=mark, ms=5, label=label)
            modes = [np.nan if r["map"] is None else 100 * r["map"] for r in own]
            label = f"{d}-D, MAP" if i == j == 0 else None
            axes.plot(x, modes, color=colour, marker=mark, ms=4, mfc="white", ls=":", lw=0.9, label=label)
        axes.set_xticks(range(len(ANSWERS)), ANSWERS)
        if i == 0:
            axes.set_title(kind, fontsize=10)
        if j == 0:
            axes.set_ylabel(f"{truth}: truths held, %")
    panels[-1, len(SETS) // 2].set_xlabel("answers")
    sheet.legend(loc="outside lower center", ncols=6, frameon=False, fontsize=9)
    sheet.savefig(path, dpi=150)


def main() -> int:
    asked = options(__doc__ or "", "coverage")
    asked.add_argument("--quick", action="store_true", help=f"{QUICK} problems for each cell")
    asked.add_argument("--problems", type=int, help=f"so many for each cell ({PROBLEMS})")
    asked.add_argument("--first", type=int, default=0, help="the first problem of each cell")
    asked.add_argument("--only", nargs="*", default=[], metavar="WORDS", help='cells with these words: "ranks 3-D 15"')
    asked.add_argument("--earlier", type=Path, help="a result.json with other problems, to be counted in")
    given = asked.parse_args()
    problems = given.problems or (QUICK if given.quick else PROBLEMS)
    chosen = [c for c in CELLS if not given.only or any(set(only.split()) <= set(c.split()) for only in given.only)]
    # Number by number, so that a run that is cut short has about as many of every cell.
    tasks = {(cell, number): (cell, number) for number in range(given.first, problems) for cell in chosen}
    finished = perform(trial, tasks, given.folder, given.cores)
    rows = table(on_file(given.folder))
    if not rows:
        return 1
    if given.earlier:
        earlier = json.loads(given.earlier.read_text(encoding="utf-8"))["cells"]
        rows = [pooled(row, other) for row, other in zip(rows, earlier, strict=True)]
    show(rows)
    hours = estimate(rows)
    print(f"\n* outside what is wanted, ' outside but not promised; {sum(r['warned'] for r in rows)} problems warned, "
          f"{sum(r['failed'] for r in rows)} failed")  # fmt: skip
    by = f"by {len(rows)} of {len(CELLS)} cells"
    print(f"{by} the full run takes {hours:.1f} core-hours, MAP included; at most {ALLOWED:g} are wanted")
    found = {"version": gf.__version__, "seed": SEED, "places": PLACES, "core_hours": hours, "cells": rows}
    (given.folder / "result.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    figure(rows, given.folder / "coverage.png")
    short = [row for row in rows if row["promised"] and not row["within"]]
    print(f"{len(short)} of {sum(row['promised'] for row in rows)} promised cells are outside; see {given.folder}")
    return 0 if finished and not short else 1


if __name__ == "__main__":
    sys.exit(main())
