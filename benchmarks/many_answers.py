"""Real data of many readings: hyperparameters from cold, errors and log densities on what is held out.

    .venv/bin/python benchmarks/many_answers.py [elevators] [--split 0] [--most 3000] [--engine exact]

Inputs and answers are scaled to unit variance on the training part; the kernel is a Matérn 3/2 with a lengthscale for
each dimension. `gf.fit` begins with a subset of 1500 readings and ends with a few steps on all. Printed are the root of
the mean squared error and the negative log predictive density of the held-out readings in units of the training
standard deviation, beside a constant and a linear prediction, the seconds of learning and predicting, and the largest
memory of the process. `--most` takes so many training readings at most: a quick look.

Wanted on elevators, split 0, exact: an error of at most 0.357 and 0.392 within 20 minutes and 6 GB.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from pathlib import Path

import numpy as np

import gainful as gf

ENGINES = {
    "exact": gf.Exact(),
    "vecchia": gf.Vecchia(30),
    "inducing": gf.Inducing(500),
    "auto": None,
}


def loaded(name: str, split: int, most: int | None) -> tuple[np.ndarray, ...]:
    """Scaled training and held-out parts."""
    with np.load(Path(os.environ["GAINFUL_DATA"]) / f"{name}.npz") as file:
        X, y, held = file["X"].astype(float), file["y"].astype(float).ravel(), file["test_mask"]
    test = held[split].astype(bool) if held.shape[0] < held.shape[-1] else held[:, split].astype(bool)
    train = np.flatnonzero(~test)
    if most is not None and most < len(train):
        train = np.sort(np.random.default_rng(split).choice(train, most, replace=False))
    spread = X[train].std(axis=0)
    X = (X - X[train].mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    y = (y - y[train].mean()) / y[train].std()
    return X[train], y[train], X[test], y[test]


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("name", nargs="?", default="elevators")
    asked.add_argument("--split", type=int, default=0)
    asked.add_argument("--most", type=int)
    asked.add_argument("--engine", choices=ENGINES, default="exact")
    given = asked.parse_args()
    X, y, Z, held = loaded(given.name, given.split, given.most)
    data = gf.Data().add(gf.Point(noise=0.5, name="reading"), X, y)
    gp = gf.GP(gf.Matern((float(np.sqrt(X.shape[1])),) * X.shape[1], nu=1.5), gf.ConstantMean())
    begun = time.perf_counter()
    fitted = gf.fit(gp, data, starts=1, inference=ENGINES[given.engine])
    learned = time.perf_counter() - begun
    mean, variance = fitted.posterior.mean(Z), fitted.posterior.variance(Z)
    total = variance + fitted.values["reading.noise"] ** 2
    nlpd = float(np.mean(0.5 * np.log(2.0 * np.pi * total) + 0.5 * (held - mean) ** 2 / total))
    line = np.linalg.lstsq(np.column_stack([np.ones(len(X)), X]), y, rcond=None)[0]
    linear = np.column_stack([np.ones(len(Z)), Z]) @ line
    print(f"{given.name}, split {given.split}: {len(X)} readings in {X.shape[1]} dimensions, {len(Z)} held out")
    print(f"  {fitted.posterior.convergence.message}; log evidence {fitted.log_evidence:.1f}; {fitted.message}")
    print(f"  RMSE {np.sqrt(np.mean((held - mean) ** 2)):.4f}  MAE {np.mean(np.abs(held - mean)):.4f}  NLPD {nlpd:.4f}")
    print(f"  constant {np.sqrt(np.mean(held**2)):.4f}  linear {np.sqrt(np.mean((held - linear) ** 2)):.4f} (RMSE)")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"  learned in {learned:.0f} s, with predictions {time.perf_counter() - begun:.0f} s; {peak:.2f} GB at most")


if __name__ == "__main__":
    main()
