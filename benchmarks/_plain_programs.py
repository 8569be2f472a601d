"""The evidence of many kernel programs in plain vectorised NumPy, and the published estimator of IG-K: to be compared
with. Leaves of a kind are worked out together, every different one once; each program then joins its own."""

from __future__ import annotations

import numpy as np

from gainful.beliefs.programs.grammar import Grammar
from gainful.beliefs.programs.population import CODES, Population

_SYMBOLS = {code: symbol for symbol, code in CODES.items()}


def log_evidences(grammar: Grammar, population: Population, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    K = covariances(grammar, population, X)
    K[:, np.arange(len(y)), np.arange(len(y))] += grammar.noises(population)[:, :1]
    L = np.linalg.cholesky(K)
    z = np.linalg.solve(L, np.broadcast_to(y[:, None], (len(L), len(y), 1)))[..., 0]
    return -0.5 * (np.sum(z**2, axis=1) + len(y) * np.log(2 * np.pi)) - np.log(np.einsum("kii->ki", L)).sum(axis=1)


def covariances(grammar: Grammar, population: Population, X: np.ndarray) -> np.ndarray:
    symbols, numbers, n = population.symbols, grammar.numbers(population), len(X)
    leaf = (symbols > 0) & (symbols != CODES["+"]) & (symbols != CODES["×"])
    keys = np.column_stack([symbols[leaf], population.columns[leaf], numbers[leaf]])
    different, which = np.unique(keys, axis=0, return_inverse=True)
    values = np.empty((len(different), n, n))
    for symbol, column in {(int(a), int(b)) for a, b in different[:, :2]}:
        mine = np.flatnonzero((different[:, 0] == symbol) & (different[:, 1] == column))
        values[mine] = _leaves(_SYMBOLS[symbol], different[mine, 2:], X[:, column])
    number = np.full(symbols.shape, -1)
    number[leaf] = which.ravel()
    return np.stack([_joined(row, own, values) for row, own in zip(symbols, number, strict=True)])


def _joined(symbols: np.ndarray, number: np.ndarray, values: np.ndarray) -> np.ndarray:
    stack: list[np.ndarray] = []
    for code, own in zip(symbols[::-1], number[::-1], strict=True):
        if own >= 0:
            stack.append(values[own])
        elif code == CODES["+"]:
            stack.append(stack.pop() + stack.pop())
        elif code == CODES["×"]:
            stack.append(stack.pop() * stack.pop())
    return stack[0].copy()


def _leaves(symbol: str, numbers: np.ndarray, x: np.ndarray) -> np.ndarray:
    a, b = numbers[:, 0, None, None], numbers[:, 1, None, None]
    off = x[:, None] - x
    match symbol:
        case "C":
            return np.broadcast_to(a, (len(a), len(x), len(x)))
        case "LIN":
            return (x[:, None] - a) * (x - a)
        case "SE":
            return np.exp(-0.5 * (off / a) ** 2)
        case "PER":
            return np.exp(-2.0 * (np.sin(np.pi * off / b) / a) ** 2)
    raise AssertionError(symbol)


def published_information(weights: np.ndarray, mean: np.ndarray, sd: np.ndarray, midpoints: int = 20) -> np.ndarray:
    """H(w) − Σ_i w_i (4σ_i/m) Σ_j f_i(y_ij) H(w | y_ij) in bits, m midpoints on μ_i ± 2σ_i (Lin 2022, Algorithm 3)."""
    t = (np.arange(midpoints) + 0.5) / midpoints * 4.0 - 2.0
    density = np.exp(-0.5 * t**2) / np.sqrt(2.0 * np.pi)
    out = []
    for m, s in zip(mean.T, sd.T, strict=True):
        y = m[:, None] + s[:, None] * t
        logs = np.log(weights)[:, None, None] - 0.5 * ((y - m[:, None, None]) / s[:, None, None]) ** 2
        logs -= np.log(s)[:, None, None]
        logs -= logs.max(axis=0)
        shares = np.exp(logs)
        shares /= shares.sum(axis=0)
        entropy = -np.sum(np.where(shares > 0.0, shares * np.log(np.where(shares > 0.0, shares, 1.0)), 0.0), axis=0)
        left = np.sum(weights * (4.0 / midpoints) * (entropy @ density))
        out.append((-np.sum(weights * np.log(weights)) - left) / np.log(2.0))
    return np.array(out)
