"""Sequential Monte Carlo over kernel programs against exact posteriors, at full size.

    .venv/bin/python benchmarks/programs_exactness.py [seeds] [particles]

Leaves alone, with a known noise: probabilities of structures and the evidence by sums over fine grids of the numbers.
Sums and products, with an unknown noise: by a million weighted draws from the prior, with their own error.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
from scipy.special import logsumexp

import gainful as gf
from gainful.beliefs.programs import smc
from gainful.beliefs.programs.evidence import Numbers
from gainful.beliefs.programs.population import CODES, Population

X = np.array([-0.95, -0.6, -0.42, -0.1, 0.05, 0.33, 0.7, 0.9])
Y = np.array([-0.9, -0.6, -0.9, 0.2, 0.1, 0.3, 0.9, 0.6])
LEAVES = gf.Grammar({"C": 0.25, "LIN": 0.25, "SE": 0.25, "PER": 0.25})
WHOLE = gf.Grammar({"SE": 0.35, "LIN": 0.35, "+": 0.15, "×": 0.15}, noise=gf.Gamma(1.0, 2.0))
KNOWN = Numbers(X[:, None], Y, np.full(8, 0.25), np.full(8, -1, dtype=np.int64))
LEARNED = Numbers(X[::2, None], Y[::2], np.full(4, 0.05), np.zeros(4, dtype=np.int64))

Seen = Callable[[Population], np.ndarray]


def roots(population: Population) -> np.ndarray:
    return np.array([population.symbols[:, 0] == CODES[name] for name in LEAVES.productions], dtype=float)


def shapes(population: Population) -> np.ndarray:
    first, sizes = population.symbols[:, 0], population.sizes
    kinds = [first == CODES[name] for name in WHOLE.productions]
    return np.array([*kinds, sizes == 3, sizes > 5, population.noise[:, 0] < 0.3], dtype=float)


def enumerated() -> tuple[np.ndarray, float, float]:
    """By midpoints, a thousand for each number and four thousand for a period."""
    logs = []
    for symbol, share in LEAVES.productions.items():
        one = (np.arange(1000) + 0.5) / 1000
        a, b = np.meshgrid(one[::10] + 0.0045, (np.arange(4000) + 0.5) / 4000) if symbol == "PER" else (one, one)
        shares = np.stack([a.ravel(), b.ravel()], axis=1)[:, None, :]
        codes = np.full((len(shares), 1), CODES[symbol])
        population = Population(codes, shares, np.zeros_like(codes), np.zeros((len(shares), 0)))
        found = KNOWN.log_evidence(LEAVES, population, (8,), (1.0,))
        logs.append(np.log(share) + logsumexp(found) - np.log(len(found)))
    return np.exp(np.array(logs) - logsumexp(logs)), float(logsumexp(logs)), 0.0


def weighted(draws: int = 1_000_000, block: int = 20_000) -> tuple[np.ndarray, float, float]:
    rng, total, weight, square = np.random.default_rng(9), np.zeros(7), 0.0, 0.0
    for _ in range(draws // block):
        drawn = WHOLE.population(block, 1, rng)
        w = np.exp(LEARNED.log_evidence(WHOLE, drawn, (4,), (1.0,)))
        total, weight, square = total + shapes(drawn) @ w, weight + float(w.sum()), square + float((w**2).sum())
    return total / weight, float(np.log(weight / draws)), float(np.sqrt(square) / weight)


def followed(grammar: gf.Grammar, answers: Numbers, noises: int, particles: int, seed: int) -> smc.State:
    rng = np.random.default_rng(seed)
    state = smc.init(grammar, noises, particles, rng)
    for upto in smc.portions(0, len(answers)):
        state, _ = smc.step(state, answers, upto, rng, gf.Moves(), 0.5)
        while state.share < 1.0:
            state, _ = smc.step(state, answers, upto, rng, gf.Moves(), 0.5)
    return state


def held_against(name: str, right: np.ndarray, log_evidence: float, states: list[smc.State], seen: Seen) -> bool:
    found = np.array([seen(state.population) @ state.weights for state in states])
    off, rms = found.mean(axis=0) - right, np.sqrt(np.mean((found - right) ** 2, axis=0))
    ratio = np.exp([state.log_evidence - log_evidence for state in states])
    error = ratio.std(ddof=1) / np.sqrt(len(ratio))
    print(f"{name}\n  exact  {right.round(4)}\n  mean − {off.round(4)}\n  rms    {rms.round(4)}")
    print(f"  evidence by the exact one: {ratio.mean():.4f} ± {error:.4f}", flush=True)
    return bool((np.abs(off) < 0.01).all() and (rms < 0.03).all() and abs(ratio.mean() - 1.0) < 3.5 * error)


def main() -> int:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    particles = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    print(f"{seeds} seeds, {particles} particles: means within 0.01, root mean squares within 0.03?")
    fine = True
    for name, grammar, answers, noises, truth, seen in (
        ("leaves, noise known, 8 readings", LEAVES, KNOWN, 0, enumerated, roots),
        ("sums and products, noise learned, 4 readings", WHOLE, LEARNED, 1, weighted, shapes),
    ):
        begun = time.perf_counter()
        right, log_evidence, error = truth()
        states = [followed(grammar, answers, noises, particles, seed) for seed in range(seeds)]
        fine &= held_against(name, right, log_evidence, states, seen)
        print(f"  relative error of the reference {error:.4f}; {time.perf_counter() - begun:.0f} s", flush=True)
    print("all within" if fine else "NOT within")
    return 0 if fine else 1


if __name__ == "__main__":
    raise SystemExit(main())
