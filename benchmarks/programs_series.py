"""Thirteen time series and their last tenth: kernel programs beside gallifrey, which learns kernels by AutoGP's method.

    .venv/bin/gainful reproduce run programs-series --out results/programs-series --processes 1
    .venv/bin/python benchmarks/programs_series.py [--only airline] [--result FOLDER]

What counts is the mean log density of the values held out, noise included, under the mixture that each believes in; the
error of its mean is beside it. gainful's numbers come from the journal of the experiment, `repetitions.jsonl` in the
folder of the result: finished or not, those series that it has. gallifrey has the settings of its documentation
(`_gallifrey.py`) and at least gainful's seconds, never less than 60, compiling not counted. Where these settings take
longer, it has the longer time, up to 1200 s with compiling (or --most); beyond that its moves are fewer.

Where there is nothing after five times the seconds that it has, on a clock that runs on while others use the core, that
is kept as its result. Wanted: gainful is better on at least 10 of 13. gallifrey gets an environment of its own on
demand. Its results are kept in `gallifrey.jsonl`, and what is on file is not done again. Seconds are the processor's,
for both.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from _environment import gallifrey
from _resumable import append

from gainful.lab.journal import JOURNAL, read_journal
from gainful.papers.lin2022.series import NAMES, series

Record = dict[str, Any]

PARTICLES, LEAST, MOST, WANTED = 8, 60.0, 1200.0, 10
NOTHING = "nothing after"
PATIENCE = 5.0  # times as long as it may take, and a fit counts as hanging


def ours(folder: Path) -> dict[str, Record]:
    """gainful's log density, error and seconds on each series that the journal has."""
    found = {}
    for repetition in read_journal(folder / JOURNAL)[1]:
        rows = [row for row in repetition["rows"] if row["method"] == "programs"]
        found[json.loads(repetition["key"])["series"]] = {name: v for row in rows for name, v in row.items()}
    return found


def theirs(path: Path, seed: int) -> dict[str, Record]:
    """gallifrey's results on file for a seed. A last line that was cut off is as if it were not there."""
    *whole, _ = path.read_text(encoding="utf-8").split("\n") if path.exists() else [""]
    records = [json.loads(line) for line in whole if line]
    return {record["series"]: record for record in records if record["seed"] == seed}


def fit(python: Path, name: str, seconds: float, seed: int, most: float) -> Record:
    """gallifrey on one series; without a log density, but with the error's last words, where it fails."""
    budget = min(max(seconds, LEAST), MOST)
    most = max(most, budget)
    given = {part: values.tolist() for part, values in series(name)._asdict().items()}
    given |= {"seconds": budget, "most": most, "particles": PARTICLES, "seed": seed}
    script = Path(__file__).with_name("_gallifrey.py")
    record = {"series": name, "seed": seed, "budget": round(budget, 1)}
    try:
        done = subprocess.run(
            [python, script], input=json.dumps(given), check=True, capture_output=True, text=True,
            timeout=PATIENCE * most,
        )  # fmt: skip
    except subprocess.CalledProcessError as failed:
        return record | {"failed": failed.stderr[-500:]}
    except subprocess.TimeoutExpired:
        return record | {"failed": f"{NOTHING} {PATIENCE * most:g} s"}
    return record | json.loads(done.stdout.split("\n")[-2])


def show(mine: dict[str, Record], other: dict[str, Record]) -> tuple[int, int]:
    """Print the table; on how many series gainful is better, and how many both have."""
    better = both = 0
    print(f"\n{'':14s}   n   log density: gainful  gallifrey   error: gainful  gallifrey   seconds: gainful  gallifrey")
    for name in NAMES:
        a, b = mine.get(name, {}), other.get(name, {})
        cells = [_cell(each.get(key), form) for key, form in (("log_density", ".3f"), ("error", ".4g"),
                                                             ("seconds", ".0f")) for each in (a, b)]  # fmt: skip
        sign = ""
        if a and b:
            both += 1
            late = "failed" in b
            better += (ahead := late or a["log_density"] > b["log_density"])
            sign = "†" if late else "" if ahead else "*"
        row = "{:>22s} {:>10s} {:>17s} {:>10s} {:>19s} {:>10s}".format(*cells)
        print(f"{name:14s} {len(series(name).y):3d}   {row} {sign}")
    return better, both


def _cell(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kept = Path("results") / "programs-series"
    asked.add_argument("--only", nargs="*", action="extend", default=[], choices=NAMES, metavar="SERIES")
    asked.add_argument("--result", type=Path, default=kept, metavar="FOLDER", help="of gainful's run")
    asked.add_argument("--folder", type=Path, default=kept, help="where gallifrey's results are kept")
    asked.add_argument("--seed", type=int, default=0, help="gallifrey's")
    asked.add_argument("--most", type=float, default=MOST, help="seconds that gallifrey has at most, or gainful's own")
    given = asked.parse_args()
    mine, path = ours(given.result), given.folder / "gallifrey.jsonl"
    done = theirs(path, given.seed)
    left = [name for name in given.only or NAMES if name in mine and name not in done]
    print(f"{len(mine)} series by gainful in {given.result}, {len(done)} by gallifrey in {path}, {len(left)} to do")
    python = gallifrey() if left else Path()
    for name in left:
        record = fit(python, name, mine[name]["seconds"], given.seed, given.most)
        if "failed" in record:  # not kept, the same command tries again; that there was nothing in time is kept
            print(f"{name}: {record['failed']}", flush=True)
            if record["failed"].startswith(NOTHING):
                append(path, record)
            continue
        append(path, record)
        print(f"{name}: {record['log_density']:.3f} in {record['seconds']:.0f} s, {record['leading']}", flush=True)
    better, both = show(mine, theirs(path, given.seed))
    print(f"\n* gallifrey is better. † It has nothing after {PATIENCE:g} times gainful's seconds.")
    print(f"gainful is better on {better} of {both}; wanted {WANTED} of {len(NAMES)}")
    return 0 if both == len(NAMES) and better >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
