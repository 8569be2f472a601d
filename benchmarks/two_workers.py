"""Exact inference on two workers, each with less memory than the whole array takes.

    OPENBLAS_NUM_THREADS=1 .venv/bin/python benchmarks/two_workers.py [--readings 12000] [--tile 512] [--memory 0.7]

Two local workers are started with a limit on the memory of each, in GB, beyond which Dask ends them. Printed are the
log evidence and the norm of its gradient beside those of one array in this process (left out with `--alone`), the
largest memory of each worker and of this process, which is also the scheduler's, before any of the readings and after
all, and the seconds. A predictive mean and variance at a few places are compared as well.

Wanted at 12000 readings, where the array takes 1.15 GB and its triangle 0.58 GB: the same numbers to a relative 1e-10,
both workers within their 0.7 GB, and this process less than 0.2 GB above where it began.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings

import numpy as np
from distributed import Client, LocalCluster

import gainful as gf
from gainful.inference.engines.dense import Dense


def peak() -> float:
    """The largest memory that this process has had, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def problem(count: int) -> tuple[gf.GP, gf.Data, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(count, 3))
    y = np.sin(6.0 * X[:, 0]) * np.cos(4.0 * X[:, 1]) + X[:, 2] + 0.1 * rng.normal(size=count)
    data = gf.Data().add(gf.Point(noise=0.1, name="lab"), X, y)
    return gf.GP(gf.Matern((0.4, 0.6, 1.0), nu=2.5), gf.ConstantMean(0.2)), data, rng.uniform(size=(20, 3))


def numbers(engine: object, gp: gf.GP, data: gf.Data, Z: np.ndarray) -> tuple[np.ndarray, ...]:
    """Evidence, gradient, mean and variance."""
    begun = time.perf_counter()
    value, slopes = gp.log_evidence_and_gradient(data, inference=engine)
    learned = time.perf_counter()
    print(f"  log evidence {value:.6f}, gradient of norm {np.linalg.norm(slopes):.6f}: {learned - begun:.1f} s")
    posterior = gp.condition(data, inference=engine)
    mean, variance = posterior.mean(Z), posterior.variance(Z)
    print(f"  {posterior.convergence.message}; with predictions: {time.perf_counter() - learned:.1f} s")
    return np.array([value]), slopes, mean, variance


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--readings", type=int, default=12000)
    asked.add_argument("--tile", type=int, default=512)
    asked.add_argument("--memory", type=float, default=0.7)
    asked.add_argument("--workers", type=int, default=2)
    asked.add_argument("--alone", action="store_true")
    given = asked.parse_args()
    N = given.readings
    gp, data, Z = problem(N)
    print(f"{N} readings: the array takes {8e-9 * N * N:.2f} GB, its triangle {4e-9 * N * N:.2f} GB")
    warnings.simplefilter("error", gf.GainfulWarning)
    limits = {"n_workers": given.workers, "threads_per_worker": 1, "memory_limit": int(given.memory * 1e9)}
    with LocalCluster(**limits, dashboard_address=":0") as cluster, Client(cluster) as client:
        client.run(lambda: __import__("gainful"))
        before, here = client.run(peak), peak()
        print(f"On {given.workers} workers of {given.memory} GB, tiles of {given.tile}:")
        ours = numbers(gf.Distributed(client, tile=given.tile), gp, data, Z)
        for number, (worker, after) in enumerate(client.run(peak).items()):
            print(f"  worker {number}: {after:.2f} GB at most, {before[worker]:.2f} GB before")
        print(f"  this process, the scheduler's too: {peak():.2f} GB at most, {here:.2f} GB before")
    if not given.alone:
        print("In one array in this process:")
        exact = numbers(Dense(), gp, data, Z)
        print(f"  this process: {peak():.2f} GB at most")
        off = [float(np.max(np.abs(a - b)) / np.max(np.abs(b))) for a, b in zip(ours, exact, strict=True)]
        print("Off by, relative: " + ", ".join(f"{x:.1e}" for x in off) + " (evidence, gradient, mean, variance)")


if __name__ == "__main__":
    main()
