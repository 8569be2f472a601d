"""What a reading costs, from ten thousand to a million: `gf.SKI` and `gf.Vecchia(15)` in two dimensions.

    .venv/bin/python benchmarks/linear_cost.py [--sizes 10000 31623 100000 316228 1000000] [--fit 1000000]

cost    one evidence with its gradient and 1000 predictions, at the hyperparameters that the readings were made with.
        Printed are seconds, peak memory, and the exponent p of seconds ∝ N^p by least squares on logarithms, beside the
        exponent of the last two sizes alone, which the cost of starting up does not flatter
fit     the whole of `gf.fit` from cold with `gf.Vecchia(15)` on `--fit` readings, and 1000 predictions, beside
        GPBoost's Vecchia with as many neighbours; the errors are those of predicting the function itself. `--fit 0`
        leaves it out

Places are uniform on the unit square. The function is a sum of 500 random waves whose frequencies have the spectral
density of a Matérn 3/2 kernel with a lengthscale of 0.2 and a variance of 1; the noise is 0.3.

Wanted: an exponent under 1.15 for both, and a million readings fitted within 15 minutes.

A trial has a process of its own, on one thread, which has made one small evidence before the clock starts, so that
nothing is compiled meanwhile. A trial is given up after `--minutes`: 12 trials, so twelve hours at the very most. What
is on file is not done again. GPBoost gets an environment of its own on demand.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

import numpy as np
from _apart import answered
from _environment import scale
from _resumable import Record, on_file, options, perform

import gainful as gf

Array = np.ndarray
Records = dict[tuple[str, int], Record]

NAMES = {
    "gainful-ski": "gainful, SKI",
    "gainful-vecchia": "gainful, Vecchia(15)",
    "gpboost-vecchia": "GPBoost, Vecchia",
}
LINEAR = ("gainful-ski", "gainful-vecchia")
FITTED = ("gainful-vecchia", "gpboost-vecchia")
SIZES = (10_000, 31_623, 100_000, 316_228, 1_000_000)
NEIGHBOURS, PLACES, WAVES = 15, 1000, 500
LENGTH, NOISE = 0.2, 0.3
EXPONENT, MINUTES = 1.15, 15.0
BLOCK = 20_000  # readings whose waves are added up at a time: 80 MB


def simulated(N: int, seed: int = 0) -> tuple[Array, Array, Array, Array]:
    """N places, their readings, places to predict, and the function there."""
    rng = np.random.default_rng(seed)
    heavy = np.sqrt(rng.chisquare(3.0, size=(WAVES, 1)) / 3.0)  # Matérn ν has a Student t of 2ν degrees of freedom
    frequencies, phases = rng.normal(size=(WAVES, 2)) / (LENGTH * heavy), rng.uniform(0.0, 2.0 * np.pi, WAVES)

    def f(places: Array) -> Array:
        parts = [places[i : i + BLOCK] for i in range(0, len(places), BLOCK)]
        return np.sqrt(2.0 / WAVES) * np.concatenate([np.cos(p @ frequencies.T + phases).sum(axis=1) for p in parts])

    Z = rng.random((PLACES, 2))
    X = rng.random((N, 2))
    return X, f(X) + NOISE * rng.normal(size=N), Z, f(Z)


def trial(system: str, kind: str, N: int, limit: float, python: str) -> Iterator[Record]:
    X, y, Z, truth = simulated(N)
    task: Record = {"system": system, "neighbours": NEIGHBOURS}
    if kind == "cost":
        task["evidence"] = [LENGTH, LENGTH, NOISE]
    answer = answered(python, "_scale_rivals.py", task, {"X": X, "y": y, "Z": Z}, limit)
    if "error" not in answer:
        mean, variance = np.array(answer.pop("mean")), np.array(answer.pop("variance"))
        error, spread = truth - mean, variance - NOISE**2 if kind == "cost" else variance
        answer |= {"rmse": float(np.sqrt(np.mean(error**2))), "spread": float(np.sqrt(np.mean(spread)))}
        answer["seconds"] = answer["learning"] + answer["predicting"]
    yield answer


def exponents(sizes: list[int], seconds: list[float]) -> tuple[float, float]:
    """p of seconds ∝ N^p: over all sizes, and over the last two."""
    logs = np.log(sizes), np.log(seconds)
    return float(np.polyfit(*logs, 1)[0]), float(np.diff(logs[1][-2:])[0] / np.diff(logs[0][-2:])[0])


def on_cost(records: Records, sizes: list[int]) -> list[Record]:
    claims = []
    for system in LINEAR:
        rows = {N: records[f"{system} cost", N] for N in sorted(sizes) if (f"{system} cost", N) in records}
        print(f"\n{NAMES[system]}: one evidence with its gradient, {PLACES} predictions\n{'N':>9s}"
              f"{'evidence s':>12s}{'predict s':>11s}{'GB':>7s}{'RMSE':>8s}")  # fmt: skip
        for N, row in rows.items():
            print(f"{N:9d}" + (_costs(row) if "seconds" in row else f"  none: {row['error']}"))
        whole = {N: row["seconds"] for N, row in rows.items() if "seconds" in row}
        if len(whole) < 2:
            continue
        p, last = exponents(list(whole), list(whole.values()))
        words = f"{NAMES[system]}, {min(whole)} to {max(whole)} readings: exponent {p:.3f} (last two sizes {last:.3f})"
        claims.append(_claim(f"{words}, wanted under {EXPONENT}", p < EXPONENT if len(whole) == len(sizes) else None))
    return claims


def _costs(row: Record) -> str:
    return f"{row['learning']:12.2f}{row['predicting']:11.2f}{row['memory']:7.2f}{row['rmse']:8.4f}"


def on_fit(records: Records, N: int) -> list[Record]:
    rows = {system: records[f"{system} fit", N] for system in FITTED if (f"{system} fit", N) in records}
    if not rows:
        return []
    print(f"\n{N} readings fitted, {NEIGHBOURS} neighbours\n{'':24s}  seconds     GB    RMSE")
    for system, row in rows.items():
        words = f"  none: {row.get('error')}"
        if "seconds" in row:
            words = f"{row['seconds']:9.1f}{row['memory']:7.2f}{row['rmse']:8.4f}  {row['message']}"
        print(f"{NAMES[system]:24s}{words}")
    ours, theirs = rows.get("gainful-vecchia", {}).get("seconds"), rows.get("gpboost-vecchia", {}).get("seconds")
    if ours is None:
        return []
    beside = f"{theirs / 60.0:.1f}" if theirs else "no result"
    words = f"{N} readings fitted in {ours / 60.0:.1f} minutes, wanted {MINUTES:g}; GPBoost {beside}"
    return [_claim(words, ours <= 60.0 * MINUTES)]


def _claim(words: str, holds: bool | None) -> Record:
    return {"claim": words, "holds": holds}


def main() -> int:
    asked = options(__doc__ or "", "linear-cost")
    asked.set_defaults(cores=1)
    asked.add_argument("--sizes", type=int, nargs="*", default=list(SIZES), metavar="N")
    asked.add_argument("--fit", type=int, default=1_000_000, metavar="N", help="readings to fit; 0 for none")
    asked.add_argument("--minutes", type=float, default=60.0, help="after which a trial is given up")
    given = asked.parse_args()
    wanted = [(system, "cost", N) for N in given.sizes for system in LINEAR]
    wanted += [(system, "fit", given.fit) for system in FITTED if given.fit]
    pythons = {system: str(sys.executable if system in LINEAR else scale()) for system, *_ in wanted}
    todo = {(f"{system} {kind}", N): (system, kind, N, 60.0 * given.minutes, pythons[system])
            for system, kind, N in wanted}  # fmt: skip
    finished = perform(trial, todo, given.folder, given.cores)
    records = on_file(given.folder)
    claims = [*on_cost(records, given.sizes), *on_fit(records, given.fit)]
    print("\nclaims")
    for claim in claims:
        verdict = {True: "holds", False: "FALLS SHORT", None: "open"}[claim["holds"]]
        print(f"{verdict:12s}{claim['claim']}")
    result = {"version": gf.__version__, "sizes": given.sizes, "fit": given.fit, "claims": claims}
    given.folder.mkdir(parents=True, exist_ok=True)
    (given.folder / "result.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0 if finished and claims and all(claim["holds"] for claim in claims) else 1


if __name__ == "__main__":
    sys.exit(main())
