"""Minima in ten dimensions: gainful beside BoTorch, Optuna's GP sampler, CMA-ES, SAAS and HEBO.

    .venv/bin/python benchmarks/additive_rivals.py [--parts functions bbob batches] [--only gainful cma] [--seeds 10]

functions   Styblinski-Tang, Michalewicz, and Styblinski-Tang rotated within the blocks of a partition, as in
            `papers/gardner2018/additive_optimise.py`; the seed draws the rotation. 10 seeds; gainful and CMA-ES have
            200 evaluations (gainful 250 of Michalewicz), the others 100 and on the first three seeds 200; SAAS and HEBO
            have 100, one seed
bbob        the 24 functions of BBOB in ten dimensions, instance 1, 100 evaluations, one seed
batches     four at a time, Styblinski-Tang and Hartmann's function in six dimensions, 80 evaluations, 20 seeds

"gainful" is the model and the goal of `gf.minimise` where nothing is stated, a sum of unknown structure with the most
probable parameters of each model, and log expected improvement; "gainful-plain" what it takes for less than eight
numbers: one GP and the knowledge gradient, which need not measure where it believes the minimum to be. The rivals are
as `_additive_rivals.py` says. Nothing is told of the functions but the box. There is no noise, and nobody is told so.
All begin with the same ten places of a seed, from a scrambled Sobol' net, and those count. What is compared is the best
value so far, on the same seeds.

Wanted: the medians in AIMS; below the best rival on each function after 100 and 200, by the 90 % interval of the mean
difference; on BBOB a mean rank no worse than BoTorch's; in batches no interval wholly above BoTorch's.

So cut that the rivals take some three core-hours in all; `--seeds` asks for more, and `--whole` for 200 evaluations of
every seed. Seconds of the processor for an evaluation with 100 answers, on a slow core that other work shared: gainful
0.4 (0.9 with 200; 1.4 over the first 70 of a run, while its chain settles), plain 0.3, BoTorch 2.2 (4.2 with 200),
Optuna 0.4, CMA-ES below 0.01, HEBO 5, SAAS 2 and 30 for each run of NUTS. A batch of four with 60 answers takes BoTorch
12 in ten dimensions and 4 in six, gainful 2 and 1.

A trial runs on one thread and its seconds are those of the processor. Each system has a file of its own in the folder,
and what is on file is not done again. The rivals get environments of their own on demand. Seeds begin at 1000: 0 to 9
are those of the reproduction. Intervals are by a bootstrap over the seeds: with three they are too narrow.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if __name__ in ("__main__", "__mp_main__"):  # a trial runs on one thread; before NumPy is loaded
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import matplotlib as mpl
import numpy as np
from _environment import bbob, hebo, ten
from _optimum import hartmann6
from _resumable import Record, on_file, options, perform
from scipy.stats import qmc, rankdata

import gainful as gf
from gainful.acquisition import LogExpectedImprovement
from gainful.lab.statistics import bootstrap
from gainful.papers.gardner2018.additive_optimise import world
from gainful.papers.gardner2018.additive_worlds import INITIAL, box

Array = np.ndarray

OURS, PLAIN = "gainful", "gainful-plain"
NAMES = {OURS: "gainful", PLAIN: "gainful, plain", "botorch": "BoTorch", "optuna": "Optuna GPSampler",
         "cma": "CMA-ES", "saas": "SAAS", "hebo": "HEBO"}  # fmt: skip
COLOURS = {OURS: ("#0072B2", "-"), PLAIN: ("#56B4E9", (0, (7, 2))), "botorch": ("#D55E00", (0, (5, 2))),
           "optuna": ("#009E73", (0, (1.2, 1.4))), "cma": ("#000000", (0, (7, 2, 1.2, 2))),
           "saas": ("#CC79A7", (0, (3, 1))), "hebo": ("#E69F00", (0, (4, 1, 1, 1)))}  # fmt: skip
SLOW, SLOW_SEEDS = ("saas", "hebo"), 1
LONG_SEEDS = 3  # of those that are dear, the seeds that have all evaluations; the others have 100
RIVALS = ("botorch", "optuna", "cma", *SLOW)
FUNCTIONS = {"styblinski-tang": "Styblinski-Tang", "michalewicz": "Michalewicz", "transformed": "rotated within blocks"}
BATCHED = ("styblinski-tang", "hartmann6")
BBOB = tuple(f"bbob-{number}" for number in range(1, 25))
PARTS = {  # functions, systems, evaluations, seeds, how many at a time
    "functions": (tuple(FUNCTIONS), tuple(NAMES), 200, 10, 1),
    "bbob": (BBOB, (OURS, PLAIN, "botorch", "optuna", "cma"), 100, 1, 1),
    "batches": (BATCHED, (OURS, PLAIN, "botorch"), 80, 20, 4),
}
DIMENSIONS, EVERY, FIRST_SEED = 10, 5, 1000
FLOOR = 1e-3  # of a logarithmic axis
LOOKS = (100, 200)
AIMS = (("styblinski-tang", 80, -385.0), ("styblinski-tang", 120, -391.0), ("michalewicz", 250, -9.0))
LONGER = {(OURS, "michalewicz"): 250}  # evaluations, for the sake of the aim


class Program:
    """A process of `_additive_rivals.py`: a task in, an answer out. It ends with the block."""

    def __init__(self, python: str) -> None:
        script, pipe = Path(__file__).with_name("_additive_rivals.py"), subprocess.PIPE
        self.process = subprocess.Popen(
            [python, script], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, bufsize=1
        )

    def __call__(self, task: Record) -> Record:
        talking, heard = self.process.stdin, self.process.stdout
        assert talking is not None
        assert heard is not None
        talking.write(json.dumps(task) + "\n")
        line = heard.readline()
        answer = dict(json.loads(line)) if line else {"error": f"ended with {self.process.wait()}"}
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate()


@dataclass(frozen=True)
class Problem:
    """A function over [low, high]^D and its least value. Places are in the unit cube."""

    name: str
    dimensions: int
    low: float
    high: float
    least: float
    function: Callable[[Array], float]

    @staticmethod
    def of(name: str, seed: int, served: Program | None) -> Problem:
        if name == "hartmann6":
            return Problem(name, 6, 0.0, 1.0, -3.322368011415515, hartmann6)
        if served is not None:  # its cube is the unit cube
            begun = served({"bbob": int(name.removeprefix("bbob-")), "dimensions": DIMENSIONS})
            return Problem(name, DIMENSIONS, 0.0, 1.0, begun["least"],
                           lambda u: served({"places": [list(u)]})["values"][0])  # fmt: skip
        space, function, _, least = world(name, DIMENSIONS, seed)
        first = space.dimensions[0]
        return Problem(name, DIMENSIONS, first.low, first.high, least, function)

    def first(self, seed: int) -> list[list[float]]:
        """The first places of a seed, the same for every system."""
        rng = np.random.default_rng([seed, zlib.crc32(self.name.encode())])
        return qmc.Sobol(self.dimensions, seed=rng).random(16)[:INITIAL].tolist()

    def __call__(self, place: Sequence[float]) -> float:
        return float(self.function(self.low + (self.high - self.low) * np.asarray(place)))


class Gainful:
    """A campaign over the problem's box, which is told and asked for places in the unit cube."""

    def __init__(self, system: str, problem: Problem, seed: int) -> None:
        self.space = box(problem.dimensions, problem.low, problem.high)
        self.low, self.range, self.lab = problem.low, problem.high - problem.low, gf.Point(name="f")
        models: dict[str, tuple[Any, Any]] = {
            OURS: (gf.Partitions(self.space, parameters="best"), LogExpectedImprovement(sign=-1)),
            PLAIN: (gf.GP(space=self.space), "minimise"),
        }
        model, goal = models[system]
        self.campaign = gf.Campaign(self.space, [self.lab], model, goal=goal, initial=INITIAL, seed=seed)
        self.asked: list[Any] = []
        self.about = {"packages": {"gainful": gf.__version__}}

    def next(self, places: list[list[float]], values: list[float], count: int) -> tuple[list[list[float]], float]:
        """The next places after these values, and the seconds it took."""
        begun = time.process_time()
        queries = self.asked or [
            gf.Query(self.lab, self.space.coordinates.canonical(self.low + self.range * np.array([place]))[0])
            for place in places
        ]
        for query, value in zip(queries, values, strict=True):
            self.campaign.tell(query, value)
        self.asked = self.campaign.ask(count)
        took = time.process_time() - begun
        return [((np.asarray(q.place, dtype=float) - self.low) / self.range).tolist() for q in self.asked], took


class Rival:
    """The same, of a rival in its own process."""

    def __init__(self, system: str, problem: Problem, seed: int, program: Program) -> None:
        self.program = program
        self.about = program({"system": system, "dimensions": problem.dimensions, "seed": seed})

    def next(self, places: list[list[float]], values: list[float], count: int) -> tuple[list[list[float]], float]:
        answer = self.program({"places": places, "values": values, "count": count})
        return answer["places"], answer["seconds"]


def trial(
    system: str, name: str, seed: int, evaluations: int, batch: int, python: str | None, bbob_python: str | None
) -> Iterator[Record]:
    """One run: the best value and the seconds so far after every fifth evaluation."""
    with ExitStack() as opened:
        try:
            served = opened.enter_context(Program(bbob_python)) if bbob_python else None
            problem = Problem.of(name, seed, served)
            if python:
                chooser: Gainful | Rival = Rival(system, problem, seed, opened.enter_context(Program(python)))
            else:
                chooser = Gainful(system, problem, seed)
            found = minimised(chooser, problem, seed, evaluations, batch) | chooser.about
        except (RuntimeError, BrokenPipeError) as error:
            found = {"error": str(error)}
    yield found


def minimised(chooser: Gainful | Rival, problem: Problem, seed: int, evaluations: int, batch: int) -> Record:
    places = problem.first(seed)
    values = found = [problem(place) for place in places]
    took = [0.0] * INITIAL
    while len(found) < evaluations:
        places, seconds = chooser.next(places, values, min(batch, evaluations - len(found)))
        values = [problem(place) for place in places]
        found = found + values
        took += [took[-1] + seconds] * len(places)
    looked = slice(EVERY - 1, evaluations, EVERY)
    best = np.minimum.accumulate(found)[looked].tolist()
    return {"best": best, "least": problem.least, "seconds": [round(each, 2) for each in took[looked]]}


def tasks(
    parts: list[str], only: list[str], seeds: int | None, first_seed: int, whole: bool
) -> dict[tuple[str, int], Any]:
    """By cell and seed; one seed after the other, so that what is on file can be compared at any time."""
    makers = {"botorch": ten, "optuna": ten, "cma": ten, "saas": ten, "hebo": hebo}
    wanted = [
        (part, system, name, seed)
        for part in parts
        for seed in range(PARTS[part][3] if seeds is None else seeds)
        for name in PARTS[part][0]
        for system in PARTS[part][1]
        if _asked_for(system, name, only) and not (system in SLOW and seed >= (seeds or SLOW_SEEDS))
    ]
    pythons = {system: str(makers[system]()) for system in {system for _, system, _, _ in wanted} & set(makers)}
    served = str(bbob()) if any(part == "bbob" for part, *_ in wanted) else None
    out = {}
    for part, system, name, seed in wanted:
        _, _, most, _, batch = PARTS[part]
        cut = system in SLOW or (system not in (OURS, "cma") and seed >= LONG_SEEDS and not whole)
        most = min(most, 100) if cut else most if batch > 1 else LONGER.get((system, name), most)
        out[f"{system} {_cell(part, name)}", first_seed + seed] = (
            system, name, first_seed + seed, most, batch, pythons.get(system), served if part == "bbob" else None,
        )  # fmt: skip
    return out


def _asked_for(system: str, name: str, only: list[str]) -> bool:
    """Whether both are among the names; where there is no system among these, or no function, all are."""
    systems, names = [each for each in only if each in NAMES], [each for each in only if each not in NAMES]
    return (not systems or system in systems) and (not names or name in names)


def _cell(part: str, name: str) -> str:
    return f"batch-{name}" if part == "batches" else name


Records = dict[tuple[str, int], Record]


def best_after(records: Records, system: str, cell: str, n: int) -> dict[int, float]:
    """By seed, of the runs that went so far."""
    own = {seed: r["best"] for (c, seed), r in records.items() if c == f"{system} {cell}" and "best" in r}
    return {seed: best[n // EVERY - 1] for seed, best in own.items() if len(best) >= n // EVERY}


def compared(records: Records, one: str, other: str, cell: str, n: int) -> Record:
    """The best value of `one` less that of `other` after n evaluations: its mean over the seeds that both have, with a
    90 % interval."""
    mine, theirs = best_after(records, one, cell, n), best_after(records, other, cell, n)
    seeds = sorted(mine.keys() & theirs.keys())
    row: Record = {"function": cell, "after": n, "of": one, "beside": other, "seeds": len(seeds)}
    if seeds:
        apart = bootstrap(lambda x: x.mean(axis=-1), [mine[s] - theirs[s] for s in seeds], level=0.90)
        row |= {"difference": apart.value, "low": apart.low, "high": apart.high}
    return row


def ranked(records: Records, systems: Sequence[str], cells: Sequence[str], n: int) -> Array:
    """Mean ranks (C, S) on each function over the seeds that all systems have, 1 for the lowest; without functions of
    no such seed."""
    rows = []
    for cell in cells:
        found = [best_after(records, system, cell, n) for system in systems]
        seeds = set.intersection(*(set(each) for each in found))
        if seeds:
            rows.append(np.mean([rankdata([each[s] for each in found]) for s in sorted(seeds)], axis=0))
    return np.array(rows).reshape(-1, len(systems))


def on_functions(records: Records) -> tuple[list[Record], list[Record]]:
    """Rows beside every system, and the aims. The best rival after 100 or 200 has the lowest mean rank over the three
    functions, on the seeds that all rivals have there."""
    print(f"\nmedians of the best value\n{'':18s}" + "".join(f"{cell:>26s}" for cell in FUNCTIONS))
    after = {"styblinski-tang": (80, 100, 120, 200), "michalewicz": (100, 200, 250), "transformed": LOOKS}
    print(f"{'':18s}" + "".join(f"{' '.join(f'{n:6d}' for n in after[cell]):>26s}" for cell in FUNCTIONS))
    for system in NAMES:
        medians = [[_median(best_after(records, system, cell, n)) for n in after[cell]] for cell in FUNCTIONS]
        print(f"{NAMES[system]:18s}" + "".join(f"{' '.join(f'{v:6.4g}' for v in row):>26s}" for row in medians))
    others = [system for system in NAMES if system != OURS]
    rows = [compared(records, OURS, other, cell, n) for cell in FUNCTIONS for n in LOOKS for other in others]
    show("gainful's best value less that of the other, 90 %", rows)
    aims = []
    for cell, n, aim in AIMS:
        found = best_after(records, OURS, cell, n)
        if found:
            middle = _median(found)
            words = f"{FUNCTIONS[cell]}, median of {len(found)} after {n}: {middle:.5g}, wanted {aim:g}"
            aims.append({"aim": words, "holds": middle <= aim})
    for n in LOOKS:
        there = [r for r in RIVALS if any(best_after(records, r, cell, n) for cell in FUNCTIONS)]
        ranks = ranked(records, there, list(FUNCTIONS), n) if there else np.zeros((0, 0))
        if not len(ranks):
            continue
        best = there[int(ranks.mean(axis=0).argmin())]
        for row in rows:
            if (row["beside"], row["after"]) == (best, n) and row["seeds"]:
                words = f"{FUNCTIONS[row['function']]} after {n}, beside the best rival, {NAMES[best]}: {_words(row)}"
                aims.append({"aim": words, "holds": row["high"] < 0.0})
    return rows, aims


def on_bbob(records: Records) -> tuple[list[Record], list[Record]]:
    """Mean ranks after 100 and the aim. An interval is over the functions."""
    cells, systems, n, *_ = PARTS["bbob"]
    systems = tuple(s for s in systems if any(best_after(records, s, cell, n) for cell in cells))
    ranks = ranked(records, systems, cells, n) if systems else np.zeros((0, 0))
    if not len(ranks):
        return [], []
    print(f"\nBBOB: mean ranks after {n} on {len(ranks)} functions")
    print("   ".join(f"{NAMES[s]} {rank:.2f}" for s, rank in zip(systems, ranks.mean(axis=0), strict=True)))
    rows = [compared(records, one, "botorch", cell, n) for one in (OURS, PLAIN) for cell in cells]
    for one in (OURS, PLAIN):
        apart = [row for row in rows if row["of"] == one and row["seeds"]]
        worse = [row["function"].removeprefix("bbob-") for row in apart if row["low"] > 0.0]
        better = [row["function"].removeprefix("bbob-") for row in apart if row["high"] < 0.0]
        print(
            f"{NAMES[one]} beside BoTorch: lower on {' '.join(better) or 'none'}; higher on {' '.join(worse) or 'none'}"
        )
    aims = []
    if OURS in systems and "botorch" in systems:
        gaps = ranks[:, systems.index(OURS)] - ranks[:, systems.index("botorch")]
        gap = bootstrap(lambda x: x.mean(axis=-1), gaps, level=0.90)
        words = f"BBOB, mean rank less BoTorch's: {gap.value:+.2f} ({gap.low:+.2f} to {gap.high:+.2f})"
        aims.append({"aim": words, "holds": gap.value <= 0.0})
    return rows, aims


def on_batches(records: Records) -> tuple[list[Record], list[Record]]:
    cells, _, n, *_ = PARTS["batches"]
    rows = [compared(records, one, "botorch", _cell("batches", c), n) for c in cells for one in (OURS, PLAIN)]
    show("in batches of four, the best value less BoTorch's, 90 %", rows)
    mine = [row for row in rows if row["of"] == OURS and row["seeds"]]
    return rows, [{"aim": f"{row['function']} after {n}: {_words(row)}", "holds": row["low"] <= 0.0} for row in mine]


def show(title: str, rows: list[Record]) -> None:
    print(f"\n{title}")
    for row in rows:
        if row["seeds"]:
            both = f"{NAMES[row['of']]} − {NAMES[row['beside']]}"
            print(f"{row['function']:22s} {row['after']:4d}  {both:28s} {_words(row)}")


def _words(row: Record) -> str:
    return f"{row['difference']:+.4g} ({row['low']:+.4g} to {row['high']:+.4g}), {row['seeds']} seeds"


def _median(found: dict[int, float]) -> float:
    return float(np.median(list(found.values()))) if found else float("nan")


def show_seconds(records: Records) -> None:
    """Of the processor, for each evaluation that was asked for, over all that is on file."""
    print("\nseconds for each evaluation")
    for system in NAMES:
        own = [r for (cell, _), r in records.items() if cell.split()[0] == system and "best" in r]
        asked = sum(EVERY * len(r["best"]) - INITIAL for r in own)
        if asked:
            print(f"{NAMES[system]:18s} {sum(r['seconds'][-1] for r in own) / asked:7.2f}")


def figure(records: Records, path: Path) -> None:
    """How far above the least value, a panel for each function: medians, and gainful's quartiles."""
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    sheet, panels = plt.subplots(1, 3, figsize=(12, 4.4), layout="constrained")
    for axes, (cell, title) in zip(panels, FUNCTIONS.items(), strict=True):
        for system, (colour, line) in COLOURS.items():
            runs = [r for (c, _), r in records.items() if c == f"{system} {cell}" and "best" in r]
            if not runs:
                continue
            looks = min(len(r["best"]) for r in runs)
            above = np.array([np.subtract(r["best"][INITIAL // EVERY - 1 : looks], r["least"]) for r in runs])
            x = np.arange(INITIAL, EVERY * looks + 1, EVERY)
            low, middle, high = np.quantile(np.maximum(above, FLOOR), [0.25, 0.5, 0.75], axis=0)
            axes.plot(x, middle, color=colour, ls=line, lw=2.4 if system == OURS else 1.5, label=NAMES[system])
            if system == OURS:
                axes.fill_between(x, low, high, color=colour, alpha=0.15, lw=0)
        axes.set(yscale="log", xlabel="evaluations", title=title)
    panels[0].set_ylabel("best value above the least there is")
    entries = {
        label: handle for axes in panels for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    sheet.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=7, frameon=False)
    sheet.savefig(path, dpi=150)
    plt.close(sheet)


def main() -> int:
    asked = options(__doc__ or "", "additive-rivals")
    asked.add_argument("--parts", nargs="*", default=list(PARTS), choices=list(PARTS))
    asked.add_argument("--seeds", type=int, help="of every part, where it is not its own number")
    asked.add_argument("--first-seed", type=int, default=FIRST_SEED)
    asked.add_argument("--whole", action="store_true", help="all evaluations of every seed")
    asked.add_argument("--only", nargs="*", action="extend", default=[], metavar="NAME", help="systems and functions",
                       choices=[*NAMES, *FUNCTIONS, "hartmann6", *BBOB])  # fmt: skip
    given = asked.parse_args()
    todo = tasks(given.parts, given.only, given.seeds, given.first_seed, given.whole)
    given.folder.mkdir(parents=True, exist_ok=True)
    finished = perform(trial, todo, given.folder, given.cores)
    records = {key: record for key, record in on_file(given.folder).items() if key[1] >= given.first_seed}
    for (cell, seed), record in records.items():
        if "error" in record:
            print(f"{cell}, seed {seed}: {record['error']}")
    found = {"functions": on_functions(records), "bbob": on_bbob(records), "batches": on_batches(records)}
    show_seconds(records)
    aims = [aim for _, some in found.values() for aim in some]
    print("\naims")
    for aim in aims:
        print(f"{'holds' if aim['holds'] else 'FAILS'}  {aim['aim']}")
    result = {"version": gf.__version__, "first_seed": given.first_seed, "aims": aims}
    result |= {part: rows for part, (rows, _) in found.items()}
    (given.folder / "result.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    figure(records, given.folder / "additive_rivals.png")
    whole = len(aims) == len(AIMS) + len(LOOKS) * len(FUNCTIONS) + 1 + len(BATCHED)
    return 0 if finished and whole and all(aim["holds"] for aim in aims) else 1


if __name__ == "__main__":
    sys.exit(main())
