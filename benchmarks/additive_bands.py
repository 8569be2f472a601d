"""How often bands of 95 % hold the truth in ten dimensions, nothing stated: sums of unknown structure, and one GP.

    .venv/bin/python benchmarks/additive_bands.py [--problems 16] [--cores 2]

Truths over the unit cube, without noise, of which nobody is told: draws from a Gaussian process that is a sum over
single dimensions ("sum"), a sum with three pairs ("pairs"), or one function of all ("one"), with lengthscales around
0.35 times the root of how many dimensions a term has; Ackley's function, and Styblinski and Tang's, shifted. After 20,
50 and 100 answers at Sobol' places, 200 random places are predicted.

drawn     `gf.Partitions(space)`
best      the same with the most probable parameters of each model alone
one GP    `gf.GP(space=space)`, its hyperparameters integrated out

Printed are the share of places that the band holds, with its standard error over the problems and the lowest of them,
the root mean square of error over stated deviation, the negative log density of the truth beside that of a constant,
and the root mean square error in units of the function's own spread.

Wanted of "drawn": 88 to 99 % of all places of each number of answers, as of rough truths elsewhere; a lower negative
log density than "best" after each. What is on file is not done again.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator

if __name__ in ("__main__", "__mp_main__"):
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np
from _resumable import Record, on_file, options, perform

import gainful as gf

Array = np.ndarray

DIMENSIONS, ANSWERS, PLACES, PROBLEMS, WAVES = 10, (20, 50, 100), 200, 16, 300
LENGTH, VARIED = 0.35, 0.5
GROUPS = {
    "sum": [(d,) for d in range(DIMENSIONS)],
    "pairs": [(0, 1), (2, 3), (4, 5), (6,), (7,), (8,), (9,)],
    "one": [tuple(range(DIMENSIONS))],
}
TRUTHS = (*GROUPS, "ackley", "styblinski-tang")
MODELS = ("drawn", "best", "one GP")
LOW, HIGH = 0.88, 0.99


def truth(name: str, rng: np.random.Generator) -> Callable[[Array], Array]:
    """A function of places (M, 10) in the unit cube."""
    if name in GROUPS:
        return _waves(GROUPS[name], rng)
    shift = rng.uniform(-0.2, 0.2, DIMENSIONS)

    def ackley(X: Array) -> Array:
        z = 4.0 * (X - 0.5 - shift)
        bowl = -20.0 * np.exp(-0.2 * np.sqrt(np.mean(z**2, axis=1)))
        return np.asarray(bowl - np.exp(np.mean(np.cos(2.0 * np.pi * z), axis=1)))

    def styblinski_tang(X: Array) -> Array:
        z = 8.0 * (X - 0.5 - 0.5 * shift)
        return np.asarray(0.5 * np.sum(z**4 - 16.0 * z**2 + 5.0 * z, axis=1))

    return ackley if name == "ackley" else styblinski_tang


def _waves(groups: list[tuple[int, ...]], rng: np.random.Generator) -> Callable[[Array], Array]:
    """A draw from a sum of squared exponentials, one for each group, of equal variances."""
    lengths, terms = LENGTH * np.exp(VARIED * rng.normal(size=DIMENSIONS)), []
    for group in groups:
        own = list(group)
        frequencies = rng.normal(size=(WAVES, len(own))) / (lengths[own] * np.sqrt(len(own)))
        heights = rng.normal(size=WAVES) * np.sqrt(2.0 / WAVES / len(groups))
        terms.append((own, frequencies, rng.uniform(0.0, 2.0 * np.pi, WAVES), heights))
    return lambda X: sum(np.cos(X[:, own] @ w.T + phase) @ height for own, w, phase, height in terms)


def trial(model: str, name: str, answers: int, number: int) -> Iterator[Record]:
    rng = np.random.default_rng([TRUTHS.index(name), answers, number])
    space = gf.Space(*(gf.Real(f"x{d}", 0, 1) for d in range(DIMENSIONS)))
    f, X, Z = truth(name, rng), space.candidates(answers, number), rng.random((PLACES, DIMENSIONS))
    data = gf.Data().add(gf.Point(), X, f(X))
    models = {
        "drawn": gf.Partitions(space),
        "best": gf.Partitions(space, parameters="best"),
        "one GP": gf.GP(space=space),
    }
    belief = models[model].condition(data, rng=number)
    low, high = belief.band(Z)
    mean, variance, there, spread = belief.mean(Z), belief.variance(Z), f(Z), f(rng.random((4000, DIMENSIONS))).std()
    error = there - mean
    yield {
        "held": float(np.mean((low <= there) & (there <= high))),
        "z": float(np.sqrt(np.mean(error**2 / variance))),
        "nlpd": float(np.mean(0.5 * np.log(variance / spread**2) + 0.5 * error**2 / variance) - 0.5),
        "rmse": float(np.sqrt(np.mean(error**2)) / spread),
    }


def main() -> int:
    asked = options(__doc__ or "", "additive-bands")
    asked.add_argument("--problems", type=int, default=PROBLEMS)
    given = asked.parse_args()
    tasks = {
        (f"{model.replace(' ', '-')} {name} {n}", number): (model, name, n, number)
        for number in range(given.problems) for name in TRUTHS for n in ANSWERS for model in MODELS
    }  # fmt: skip
    finished = perform(trial, tasks, given.folder, given.cores)
    records, rows = on_file(given.folder), []
    print(f"{'truth':16s}{'answers':>8s}  {'model':8s}{'held':>16s}{'lowest':>8s}{'z':>6s}{'NLPD':>8s}{'RMSE':>7s}")
    for name in (*TRUTHS, "all"):
        for n in ANSWERS:
            for model in MODELS:
                names = TRUTHS if name == "all" else (name,)
                cells = {f"{model.replace(' ', '-')} {each} {n}" for each in names}
                own = [r for (cell, _), r in records.items() if cell in cells]
                if not own:
                    continue
                held = np.array([r["held"] for r in own])
                row = {"truth": name, "answers": n, "model": model, "problems": len(own), "held": float(held.mean()),
                       "error": float(held.std() / np.sqrt(len(own))), "lowest": float(held.min()),
                       **{key: float(np.mean([r[key] for r in own])) for key in ("z", "nlpd", "rmse")}}  # fmt: skip
                rows.append(row)
                print(f"{name:16s}{n:8d}  {model:8s}{row['held']:9.3f} ± {row['error']:.3f}{row['lowest']:8.2f}"
                      f"{row['z']:6.2f}{row['nlpd']:8.3f}{row['rmse']:7.3f}")  # fmt: skip
    claims = [claim for n in ANSWERS for claim in _claims(rows, n)]
    print()
    for claim in claims:
        print(f"{'holds' if claim['holds'] else 'FAILS':7s}{claim['claim']}")
    given.folder.mkdir(parents=True, exist_ok=True)
    result = {"version": gf.__version__, "problems": given.problems, "claims": claims, "rows": rows}
    (given.folder / "result.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0 if finished and claims and all(claim["holds"] for claim in claims) else 1


def _claims(rows: list[Record], n: int) -> list[Record]:
    found = {row["model"]: row for row in rows if (row["truth"], row["answers"]) == ("all", n)}
    if not {"drawn", "best"} <= found.keys():
        return []
    drawn, best = found["drawn"], found["best"]
    return [
        {"claim": f"{n} answers: bands of 95 % hold {drawn['held']:.1%}, wanted {LOW:.0%} to {HIGH:.0%}",
         "holds": LOW <= drawn["held"] <= HIGH},
        {"claim": f"{n} answers: NLPD {drawn['nlpd']:.3f}, with the best parameters alone {best['nlpd']:.3f}",
         "holds": drawn["nlpd"] < best["nlpd"]},
    ]  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
