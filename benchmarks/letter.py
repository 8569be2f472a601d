"""Yes/no answers by the ten thousand: one letter against the rest, gainful beside GPyTorch's SVGP and GPBoost.

    .venv/bin/python benchmarks/letter.py [--letter A] [--seed 0] [--points 500] [--most 2000]

letter.csv, in the folder that GAINFUL_DATA names, has 20,000 images of letters with 16 numbers each. A fifth of them,
4000, drawn by the seed, is held out; inputs are scaled to mean 0 and variance 1 on the others. All have a Matérn 5/2
kernel with a lengthscale for each input and a constant mean, learned from the 16,000 answers, and a probit link.
Nothing is tuned on what is held out.

gainful   `gf.Binary` through `gf.Inducing(500)`, `gf.fit` from lengthscales of 4, one start
svgp      GPyTorch: 1024 inducing points that are learned, Bernoulli likelihood, Adam at 0.01, minibatches of 1024,
          single precision; it has the seconds that gainful took, and begins from the same lengthscales
gpboost   likelihood "bernoulli_probit", Vecchia with 20 neighbours, until it has converged

gainful's own `gf.Vecchia` takes numbers alone, so it has no row here.

Printed, of the held-out answers: the log loss in nats, the error rate, the Brier score, the expected calibration error
(ten bins of equal width), beside the share of yes as a constant; the seconds of the processor, on one thread, of
learning and predicting; the memory of the process at its largest. Probabilities are kept from 0 and 1 by 1e-12 in the
log loss, as single precision reaches them.

Wanted: a lower log loss than either, at no more time. Its difference has a 90 % interval by a bootstrap over the
held-out answers: a claim holds by the mean, and the interval is printed with it. One split of one letter says little
about others: `--letter` and `--seed` ask for more.

With 16,000 answers a sweep of EP through 500 points takes about half a second, and a fit some hundreds of them. What is
on file is not done again; `--most` takes so many training answers: a quick look.
"""

from __future__ import annotations

import csv
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from _apart import Record, ask, serve
from _environment import scale
from _harness import Claim, report
from _resumable import append, on_file, options
from scipy.special import ndtr

import gainful as gf
from gainful.lab import data_file
from gainful.lab.statistics import bootstrap

Array = np.ndarray

OURS, RIVALS = "gainful", ("svgp", "gpboost")
NU, LENGTHSCALE, NEIGHBOURS, SVGP_POINTS = 2.5, 4.0, 20, 1024
BINS, EDGE = 10, 1e-12


def split(letter: str, seed: int, most: int | None) -> dict[str, Array]:
    """X, y to learn from and Z, held to be predicted; y and held are 1 for the letter."""
    with data_file("letter.csv").open(encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    inputs, yes = np.array([row[:-1] for row in rows], dtype=float), np.array([row[-1] == letter for row in rows])
    order = np.random.default_rng(seed).permutation(len(rows))
    out, rest = order[: len(rows) // 5], order[len(rows) // 5 :][:most]
    scaled = (inputs - inputs[rest].mean(axis=0)) / inputs[rest].std(axis=0)
    return {"X": scaled[rest], "y": yes[rest].astype(float), "Z": scaled[out], "held": yes[out].astype(float)}


def measured(task: Record) -> Record:
    """gainful's side, in a process of its own."""
    with np.load(task["file"]) as file:
        X, y, Z = file["X"], file["y"], file["Z"]
    data = gf.Data().add(gf.Binary(name="letter"), X, y)
    gp = gf.GP(gf.Matern((task["lengthscale"],) * X.shape[1], nu=task["nu"]), gf.ConstantMean())
    begun = time.process_time()
    fitted = gf.fit(gp, data, starts=1, inference=gf.Inducing(task["points"]))
    learned = time.process_time() - begun
    mean, variance = fitted.posterior.mean(Z), fitted.posterior.variance(Z)
    np.save(task["answers"], ndtr(mean / np.sqrt(1.0 + variance)))
    return {"seconds": time.process_time() - begun, "learned": learned, "message": fitted.message,
            "log_evidence": fitted.log_evidence,
            "values": {name: np.asarray(value).tolist() for name, value in fitted.values.items()},
            "packages": {"gainful": gf.__version__}}  # fmt: skip


def losses(probabilities: Array, held: Array) -> Array:
    """−log of the probability that each answer had, (M,), in nats."""
    p = np.clip(probabilities, EDGE, 1.0 - EDGE)
    return -np.where(held == 1.0, np.log(p), np.log1p(-p))


def scores(probabilities: Array, held: Array) -> Record:
    """Log loss, error rate, Brier score and expected calibration error."""
    bins = np.minimum((probabilities * BINS).astype(int), BINS - 1)
    gaps = np.bincount(bins, weights=probabilities - held, minlength=BINS)
    return {
        "log_loss": float(losses(probabilities, held).mean()),
        "error_rate": float(np.mean((probabilities > 0.5) != (held == 1.0))),
        "brier": float(np.mean((probabilities - held) ** 2)),
        "calibration": float(np.abs(gaps).sum() / len(held)),
    }


def trial(
    system: str, given: Record, made: dict[str, Array], seconds: float | None, kept: Path, limit: float
) -> Record:
    """What the system's process measured, and its scores; probabilities are kept in a file."""
    python = sys.executable if system == OURS else scale()
    with tempfile.TemporaryDirectory() as folder:
        file, answers = Path(folder) / "split.npz", Path(folder) / "answers.npy"
        np.savez(file, **{name: made[name] for name in ("X", "y", "Z")})
        points = SVGP_POINTS if system == "svgp" else given["points"]
        task = {
            "task": "svgp", "file": str(file), "answers": str(answers), "nu": NU, "lengthscale": LENGTHSCALE,
            "seed": given["seed"], "points": min(points, len(made["X"])), "seconds": seconds, "rate": 0.01,
            "batch": 1024, "neighbours": NEIGHBOURS,
        }  # fmt: skip
        script = {OURS: "letter.py", "svgp": "_gpytorch.py", "gpboost": "_letter_gpboost.py"}[system]
        found = ask(python, script, task, limit)
        if answers.exists():
            probabilities = np.load(answers)
            if not np.all(np.isfinite(probabilities)):
                return found | {"error": "some probabilities are not numbers"}
            np.save(kept, probabilities)
            found |= scores(probabilities, made["held"])
    return found


def table(records: dict[str, Record], made: dict[str, Array]) -> None:
    constant = scores(np.full(len(made["held"]), made["y"].mean()), made["held"])
    titles = {"log_loss": "log loss", "error_rate": "errors", "brier": "Brier", "calibration": "calibration",
              "seconds": "seconds", "memory": "GB"}  # fmt: skip
    print(f"\n{'':10s}" + "".join(f"{title:>13s}" for title in titles.values()))
    for system, r in [("constant", constant), *records.items()]:
        row = "".join(f"{f'{r[name]:.4g}' if name in r else '—':>13s}" for name in titles)
        print(f"{system:10s}{row}" + (f"   {r['error'].strip().splitlines()[-1][:100]}" if "error" in r else ""))


def claims(records: dict[str, Record], held: Array, kept: dict[str, Path]) -> list[Claim]:
    ours = records.get(OURS, {})
    if "log_loss" not in ours:
        return [Claim("runs of gainful that failed", 1, 0, True, str(ours.get("error", "not run")).strip()[-80:])]
    found = []
    for system in RIVALS:
        theirs = records.get(system, {})
        if "log_loss" not in theirs:
            print(f"beside {system}: it gave no probabilities, so nothing is claimed")
            continue
        apart = losses(np.load(kept[OURS]), held) - losses(np.load(kept[system]), held)
        by = bootstrap(lambda x: x.mean(axis=-1), apart.tolist(), level=0.90)
        detail = f"{ours['log_loss']:.5f} and {theirs['log_loss']:.5f}, 90 % {by.low:+.5f} to {by.high:+.5f}"
        found.append(Claim(f"log loss less that of {system}", by.value, 0.0, True, detail))
        detail = f"{ours['seconds']:.0f} s and {theirs['seconds']:.0f} s"
        # SVGP learns for the seconds that gainful took in all, and its predictions come on top.
        found.append(Claim(f"seconds beside {system}", ours["seconds"] / theirs["seconds"], 1.0, True, detail))
    return found


def main() -> int:
    asked = options(__doc__ or "", "letter")
    asked.add_argument("--letter", default="A")
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--points", type=int, default=500, help="inducing points of gainful")
    asked.add_argument("--most", type=int, help="training answers at most")
    asked.add_argument("--limit", type=float, default=7200.0, help="seconds that a system may take")
    asked.add_argument("--only", nargs="+", choices=(OURS, *RIVALS), default=[OURS, *RIVALS])
    given = asked.parse_args()
    made = split(given.letter, given.seed, given.most)
    size = len(made["X"])
    if not 0.0 < made["y"].mean() < 1.0:
        sys.exit(f"--letter: expected a capital letter, got {given.letter!r}, which no answer is or all are")
    records, kept = {}, {}
    given.folder.mkdir(parents=True, exist_ok=True)
    for system in (OURS, *RIVALS):
        cell = f"{system} {given.letter} n={size}" + (f" points={given.points}" if system != "gpboost" else "")
        kept[system] = given.folder / f"{cell.replace(' ', '-')}-{given.seed}.npy"
        done = on_file(given.folder).get((cell, given.seed))
        if done is None and system in given.only:
            seconds = records.get(OURS, {}).get("seconds")
            if system == "svgp" and seconds is None:
                continue  # its time is gainful's
            done = {"cell": cell, "number": given.seed}
            done |= trial(system, vars(given), made, seconds, kept[system], given.limit)
            if "log_loss" in done:  # what failed is tried again
                append(given.folder / f"{system}.jsonl", done)
        if done is not None:
            records[system] = done
    print(f"{given.letter} against the rest, seed {given.seed}: {size} answers, {len(made['held'])} held out")
    table(records, made)
    print()
    return min(report(claims(records, made["held"], kept)), 1)


if __name__ == "__main__":
    if "--serve" in sys.argv:
        serve(measured)
    else:
        sys.exit(main())
