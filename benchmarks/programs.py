"""Kernel programs by sequential Monte Carlo: how fast, beside plain NumPy and beside the published estimator.

    .venv/bin/python benchmarks/programs.py

One step is 200 particles, 10 sweeps of the published moves, 16 readings; both do the same moves with the same random
numbers, and only the evidence is worked out otherwise. IG-K is over 100 places with 200 particles, predictions included
for both. The airline's 144 months with 200 particles are timed from nothing to the belief. How time grows with
readings and particles is printed besides. Needs GAINFUL_DATA for the airline.
"""

from __future__ import annotations

import csv
import sys
import time
from unittest.mock import patch

import numpy as np
from _harness import Claim, best_times, report
from _plain_programs import log_evidences, published_information

import gainful as gf
from gainful.beliefs.programs import smc
from gainful.beliefs.programs.evidence import Numbers
from gainful.lab import data_file

PUBLISHED = gf.Moves(leaps=0, growing=False)


def readings(n: int) -> Numbers:
    X = np.sort(np.random.default_rng(0).uniform(-1.0, 1.0, (n, 1)), axis=0)
    y = np.sin(2 * np.pi * X[:, 0] / 0.4) + 0.3 * np.random.default_rng(1).standard_normal(n)
    return Numbers(X, y, np.full(n, 1e-6), np.zeros(n, dtype=np.int64))


def step(answers: Numbers, particles: int, moves: gf.Moves) -> smc.State:
    rng = np.random.default_rng(2)
    state = smc.init(gf.Grammar(), 1, particles, rng)
    begun = smc.State(state.grammar, state.population, state.log_weights, state.value, towards=0)
    return smc.step(begun, answers, len(answers), rng, moves, 1e-6)[0]


def plain(self: Numbers, grammar, population, ends, shares, rows=None):  # type: ignore[no-untyped-def]
    """`Numbers.log_evidence` in NumPy."""
    some = np.arange(len(population)) if rows is None else rows
    out = np.zeros(len(population)) if rows is None else np.full(len(population), -np.inf)
    for end, share in zip(ends, shares, strict=True):
        if end:
            y = self.y[:end]
            out[some] = share * log_evidences(grammar, population.take(some), self.X[:end], y)
    return out


def one_step() -> Claim:
    answers = readings(16)

    def in_numpy() -> smc.State:
        with patch.object(Numbers, "log_evidence", plain):
            return step(answers, 200, PUBLISHED)

    best = best_times({"compiled": lambda: step(answers, 200, PUBLISHED), "plain": in_numpy}, 3)
    detail = f"{1e3 * best['compiled']:.0f} ms, plain NumPy {1e3 * best['plain']:.0f} ms"
    return Claim("one step, 200 particles, 16 readings", best["plain"] / best["compiled"], 3.0, False, detail)


def information() -> Claim:
    answers = readings(16)
    space, lab = gf.Space(gf.Real("x", -1, 1)), gf.Point(name="lab")
    model = gf.KernelPrograms(particles=200, space=space, answers=(0.0, 1.0))
    belief = model.condition(gf.Data().add(lab, answers.X, answers.y), rng=1)
    places = np.linspace(-1, 1, 100)[:, None]
    noise = np.array([belief.instrument_of(s, lab).noise for s in range(len(belief.weights))])

    def published() -> np.ndarray:
        found = belief.predict(places)
        return published_information(belief.weights, found.mean, np.sqrt(found.variance + noise[:, None] ** 2))

    ours = lambda: gf.information(belief, lab, places, about="model")  # noqa: E731
    best = best_times({"exact": ours, "published": published}, 3)
    detail = f"{1e3 * best['exact']:.0f} ms, published {1e3 * best['published']:.0f} ms"
    return Claim("IG-K over 100 places, 200 particles", best["published"] / best["exact"], 20.0, False, detail)


def airline() -> Claim:
    with data_file("airline_passengers.csv").open(newline="", encoding="utf-8") as file:
        y = np.array([float(list(row.values())[-1]) for row in csv.DictReader(file)])
    data = gf.Data().add(gf.Point(name="count"), np.arange(144.0)[:, None], y)
    grammar = gf.Grammar(noise=gf.LogNormal(float(np.log(0.01)), 1.5))
    gf.KernelPrograms(grammar, 10, moves=gf.Moves(sweeps=1)).condition(data)  # compiles
    begun = time.perf_counter()
    belief = gf.KernelPrograms(grammar, 200).condition(data, rng=0)
    took = time.perf_counter() - begun
    return Claim("airline, 144 readings, 200 particles, seconds", took, 60.0, True, f"{belief!r}")


def growth() -> None:
    print("\nseconds of one step with gainful's own moves")
    for particles in (50, 100, 200, 400):
        took = []
        for n in (16, 32, 64, 128):
            begun = time.perf_counter()
            step(readings(n), particles, gf.Moves(sweeps=1))
            took.append(time.perf_counter() - begun)
        print(f"{particles:4d} particles: " + "   ".join(f"{n:3d} readings {s:.3f}" for n, s in zip((16, 32, 64, 128), took, strict=True)))  # fmt: skip  # noqa: E501


if __name__ == "__main__":
    short = report([one_step(), information(), airline()])
    growth()
    sys.exit(1 if short else 0)
