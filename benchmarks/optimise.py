"""Forty noisy readings to find a minimum, all defaults: gainful beside BoTorch and Optuna's GP sampler.

    .venv/bin/python benchmarks/optimise.py [--seeds 20] [--cores 2] [--only gainful] [--only branin]

Six problems (`_optimum.py`), two of reals and four of mixed coordinates. Each seed begins with the same places for all,
as many of them as each takes by default, and the i-th reading has the same noise for all. Every five readings each
recommends a place: gainful `campaign.best()`, BoTorch the measured place with the best posterior mean (at the end also
the best mean anywhere), Optuna the best reading. What counts is log10 of the true regret there, after the last reading.

Wanted: the 90 % interval of gainful's mean difference to either, over the seeds, is on no problem wholly above zero;
and less time. A trial runs on one thread, and its seconds are those of the processor, so that other work on the
machine does not count. Each system has a file of its own in the folder, and what is on file is not
done again: delete `gainful.jsonl` to run another version. The rivals get an environment of their own on demand.
Seeds begin at 1000: those below served to choose gainful's defaults, those from 2000 on are for trying things out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

if __name__ in ("__main__", "__mp_main__"):  # a trial runs on one thread; before NumPy is loaded
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import matplotlib as mpl
import numpy as np
from _environment import rivals
from _optimum import EVALUATIONS, LOOKS, PROBLEMS, Axis, Problem
from _resumable import Record, on_file, options, perform

import gainful as gf

SYSTEMS = ("gainful", "botorch", "optuna")
FIRST_SEED = 1000
LOOKS_OF = {"gainful": ("#0072B2", "o", "-"), "botorch": ("#D55E00", "s", "--"), "optuna": ("#009E73", "^", ":")}
NAMES = {"gainful": "gainful", "botorch": "BoTorch", "optuna": "Optuna GPSampler"}


def space_of(problem: Problem) -> gf.Space:
    def dimension(axis: Axis) -> Any:
        when = None if axis.when is None else {problem.axes[axis.when[0]].name: [_level(v) for v in axis.when[1]]}
        if axis.kind == "category":
            return gf.Categorical(axis.name, [_level(k) for k in range(axis.levels)], when=when)
        if axis.kind == "integer":
            return gf.Integer(axis.name, int(axis.low), int(axis.high), when=when)
        return gf.Real(axis.name, axis.low, axis.high, log=axis.log, when=when)

    return gf.Space(*(dimension(axis) for axis in problem.axes))


def _level(number: float) -> str:
    return f"level {int(number)}"


def minimise(problem: Problem, seed: int) -> Record:
    """One campaign with all defaults; the first places are the seed's, as many as its own initial design would have."""
    space, reading, answers = space_of(problem), gf.Point(name="reading"), problem.answers(seed)
    regret, seconds = [], []
    campaign = gf.Campaign(space, [reading], goal="minimise", seed=seed)
    first = problem.first(seed, len(problem.axes) + 1)
    for n in range(EVALUATIONS):
        begun = time.process_time()
        if n < len(first):
            query: Any = gf.Query(reading, space.coordinates.canonical(np.array([first[n]]))[0])
        else:
            query = campaign.ask()
        place = list(query.place)
        answer = answers(place)
        campaign.tell(query, answer)
        seconds.append(time.process_time() - begun)
        if n + 1 in LOOKS:
            regret.append(problem.regret(campaign.best().place))
    return {"regret": regret, "seconds": seconds, "measured": problem.regret(campaign.best(measured=True).place)}


def trial(system: str, name: str, seed: int, python: str | None) -> Iterator[Record]:
    if system == "gainful":
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            found = minimise(PROBLEMS[name], seed)
        found["warned"] = sorted({f"{each.category.__name__}: {each.message}"[:160] for each in said})
        found["version"] = gf.__version__
    else:
        script = Path(__file__).with_name("_rivals.py")
        done = subprocess.run(
            [str(python), script, system, name, str(seed)], check=False, capture_output=True, text=True
        )
        found = json.loads(done.stdout.split("\n")[-2]) if done.returncode == 0 else {"error": done.stderr[-500:]}
    if "seconds" in found:
        found["seconds"] = [round(each, 4) for each in found["seconds"]]
    yield found


def interval(differences: np.ndarray) -> tuple[float, float]:
    """The 90 % interval of the mean by a bootstrap over the seeds."""
    rng = np.random.default_rng(0)
    draws = rng.integers(len(differences), size=(10_000, len(differences)))
    low, high = np.quantile(differences[draws].mean(axis=1), [0.05, 0.95])
    return float(low), float(high)


def compared(records: dict[tuple[str, int], Record], name: str, rival: str, key: str = "regret") -> dict[str, Any]:
    """gainful beside a rival on one problem, over the seeds that both have."""
    ours, theirs = f"gainful {name}", f"{rival} {name}"
    seeds = sorted(s for c, s in records if c == ours and "regret" in records[c, s])
    seeds = [s for s in seeds if key in records.get((theirs, s), {})]
    if not seeds:
        return {"problem": name, "rival": rival, "by": key, "seeds": 0}
    mine = np.log10([records[ours, s]["regret"][-1] for s in seeds])
    other = np.log10([np.atleast_1d(records[theirs, s][key])[-1] for s in seeds])
    low, high = interval(mine - other)
    asks = {cell: np.concatenate([np.array(records[cell, s]["seconds"]) for s in seeds]) for cell in (ours, theirs)}
    return {
        "problem": name, "rival": rival, "by": key, "seeds": len(seeds),
        "log10_regret": float(mine.mean()), "of_rival": float(other.mean()),
        "difference": float((mine - other).mean()), "low": low, "high": high, "holds": low <= 0.0,
        "seconds": float(asks[ours].sum() / len(seeds)), "seconds_of_rival": float(asks[theirs].sum() / len(seeds)),
        "sooner": bool(asks[ours].sum() < asks[theirs].sum()),
    }  # fmt: skip


def show(rows: list[dict[str, Any]]) -> None:
    print(f"\n{'':10s} {'beside':22s} seeds   log10 regret       difference, 90 %         seconds for {EVALUATIONS}")
    for row in rows:
        rival = NAMES[row["rival"]] + (", anywhere" if row["by"] == "anywhere" else "")
        if not row["seeds"]:
            print(f"{row['problem']:10s} {rival:22s}     0")
            continue
        found = f"{row['log10_regret']:5.2f} {row['of_rival']:5.2f}"
        apart = f"{row['difference']:+.2f} ({row['low']:+.2f} to {row['high']:+.2f}) {' ' if row['holds'] else '*'}"
        took = f"{row['seconds']:6.1f} {row['seconds_of_rival']:6.1f} {'' if row['sooner'] else '*'}"
        print(f"{row['problem']:10s} {rival:22s} {row['seeds']:5d}   {found}     {apart}    {took}")


def figure(records: dict[tuple[str, int], Record], path: Path) -> None:
    """Regret over readings, a panel for each problem: the geometric mean over the seeds, with its 90 % interval."""
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    sheet, panels = plt.subplots(2, 3, figsize=(11, 6.5), layout="constrained")
    for axes, name in zip(panels.flat, PROBLEMS, strict=True):
        for i, system in enumerate(SYSTEMS):
            found = [r["regret"] for (cell, _), r in records.items() if cell == f"{system} {name}" and "regret" in r]
            if not found:
                continue
            logs = np.log10(found)
            ends = np.array([interval(logs[:, k]) for k in range(len(LOOKS))])
            colour, mark, line = LOOKS_OF[system]
            mean, x = logs.mean(axis=0), np.array(LOOKS) + 0.4 * (i - 1)
            axes.errorbar(x, 10**mean, [10**mean - 10 ** ends[:, 0], 10 ** ends[:, 1] - 10**mean], color=colour,
                          marker=mark, ls=line, ms=5, lw=1.4, elinewidth=0.8, label=NAMES[system])  # fmt: skip
        axes.set_yscale("log")
        axes.set_title(f"{name}, noise {PROBLEMS[name].noise:g}", fontsize=10)
        axes.set_xticks(LOOKS[1::2])
    for axes in panels[-1]:
        axes.set_xlabel("readings")
    for axes in panels[:, 0]:
        axes.set_ylabel("regret at the recommended place")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    sheet.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    sheet.savefig(path, dpi=150)
    plt.close(sheet)


def main() -> int:
    asked = options(__doc__ or "", "optimise")
    asked.add_argument("--seeds", type=int, default=20)
    asked.add_argument("--first-seed", type=int, default=FIRST_SEED)
    asked.add_argument("--only", nargs="*", action="extend", default=[], metavar="NAME", help="systems and problems")
    given = asked.parse_args()
    systems = [s for s in SYSTEMS if s in given.only] or list(SYSTEMS)
    problems = [p for p in PROBLEMS if p in given.only] or list(PROBLEMS)
    python = str(rivals()) if set(systems) - {"gainful"} else None
    seeds = range(given.first_seed, given.first_seed + given.seeds)
    tasks = {(f"{s} {p}", seed): (s, p, seed, python) for seed in seeds for p in problems for s in systems}
    finished = perform(trial, tasks, given.folder, given.cores)
    records = {key: record for key, record in on_file(given.folder).items() if key[1] in seeds}
    for (cell, seed), record in records.items():
        if "error" in record:
            print(f"{cell}, seed {seed}: {record['error']}")
    kinds = (("botorch", "regret"), ("botorch", "anywhere"), ("optuna", "regret"))
    rows = [compared(records, name, *kind) for name in PROBLEMS for kind in kinds]
    show(rows)
    short = [row for row in rows if row["seeds"] and not (row["holds"] and row["sooner"])]
    found = {"version": gf.__version__, "evaluations": EVALUATIONS, "first_seed": given.first_seed, "rows": rows}
    (given.folder / "result.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    figure(records, given.folder / "optimise.png")
    print(f"\n* wholly worse, or slower; {len(short)} of {sum(row['seeds'] > 0 for row in rows)}; see {given.folder}")
    whole = all(row["seeds"] == given.seeds for row in rows)
    return 0 if finished and whole and not short else 1


if __name__ == "__main__":
    sys.exit(main())
