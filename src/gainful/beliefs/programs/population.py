"""Many programs as arrays, one row each, and their evidence together.

A row holds a program in the order of its text: symbols as codes (0 where there is none), their numbers, their columns.
Read from its end, every leaf is put on a stack and every + or × takes two from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gainful.beliefs.programs.language import FORMS, Program

__all__ = ["CODES", "Population", "covariances", "log_evidences"]

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

CODES = {symbol: code for code, symbol in enumerate(FORMS, start=1)}
_SYMBOLS = ("", *FORMS)


@dataclass(frozen=True, eq=False)
class Population:
    """Programs by their symbols (k, m), numbers (k, m, 2) and columns (k, m), each with its noise's variance (k,)."""

    symbols: Codes
    numbers: Array
    columns: Codes
    noise: Array

    @classmethod
    def of(cls, programs: Sequence[Program], noise: Sequence[float]) -> Population:
        nodes = [list(program.nodes()) for program in programs]
        shape = len(nodes), max((len(each) for each in nodes), default=1)
        symbols, columns = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        numbers = np.zeros((*shape, 2))
        for i, row in enumerate(nodes):
            for j, node in enumerate(row):
                symbols[i, j], columns[i, j] = CODES[node.symbol], node.column
                numbers[i, j, : len(node.numbers)] = node.numbers
        return cls(symbols, numbers, columns, np.array(noise, dtype=float))

    def __len__(self) -> int:
        return len(self.noise)

    def program(self, i: int) -> Program:
        """The program of row i."""
        found, rest = self._program(i, 0)
        assert rest == np.count_nonzero(self.symbols[i])
        return found

    def _program(self, i: int, j: int) -> tuple[Program, int]:
        symbol = _SYMBOLS[self.symbols[i, j]]
        form = FORMS[symbol]
        numbers = tuple(float(x) for x in self.numbers[i, j, : len(form.numbers)])
        parts, following = [], j + 1
        for _ in range(form.joins):
            part, following = self._program(i, following)
            parts.append(part)
        return Program(symbol, numbers, tuple(parts), int(self.columns[i, j])), following


def covariances(population: Population, X: Array) -> Array:
    """K of every program, (k, n, n): each leaf that occurs is worked out once, those of a kind together."""
    symbols, n = population.symbols, len(X)
    names = np.array([form.joins > 0 for form in FORMS.values()])
    joins = np.concatenate([[False], names])
    leaf = (symbols > 0) & ~joins[symbols]
    keys = np.column_stack([symbols[leaf], population.columns[leaf], population.numbers[leaf]])
    different, which = np.unique(keys, axis=0, return_inverse=True)
    values = np.empty((len(different), n, n))
    for symbol, column in {(int(a), int(b)) for a, b in different[:, :2]}:
        mine = np.flatnonzero((different[:, 0] == symbol) & (different[:, 1] == column))
        values[mine] = _leaves(_SYMBOLS[symbol], different[mine, 2:], X[:, column])
    number = np.full(symbols.shape, -1)
    number[leaf] = which.ravel()
    return np.stack([_joined(row, own, values) for row, own in zip(symbols, number, strict=True)])


def _joined(symbols: Codes, number: Codes, values: Array) -> Array:
    stack: list[Array] = []
    for code, own in zip(symbols[::-1], number[::-1], strict=True):
        if own >= 0:
            stack.append(values[own])
        elif code == CODES["+"]:
            stack.append(stack.pop() + stack.pop())
        elif code == CODES["×"]:
            stack.append(stack.pop() * stack.pop())
    return stack[0]


def _leaves(symbol: str, numbers: Array, x: Array) -> Array:
    """Leaves of one kind on one column, (L, n, n)."""
    a, b = numbers[:, 0, None, None], numbers[:, 1, None, None]
    off = x[:, None] - x
    match symbol:
        case "C":
            return np.broadcast_to(a, (len(a), len(x), len(x)))
        case "LIN":
            return np.asarray((x[:, None] - a) * (x - a))
        case "SE":
            return np.exp(-0.5 * (off / a) ** 2)
        case "PER":
            return np.exp(-2.0 * (np.sin(np.pi * off / b) / a) ** 2)
        case "RQ":
            return np.exp(-b * np.log1p((off / a) ** 2 / (2.0 * b)))
        case "MAT":
            r = np.sqrt(5.0) * np.abs(off) / a
            return np.asarray((1.0 + r * (1.0 + r / 3.0)) * np.exp(-r))
    raise AssertionError(f"no leaf {symbol!r}")


def log_evidences(population: Population, X: Array, y: Array) -> Array:
    """log N(y; 0, K + noise I) of every program, (k,); −inf where that is no covariance in double precision."""
    if not len(y):
        return np.zeros(len(population))
    K = covariances(population, X)
    K[:, np.arange(len(y)), np.arange(len(y))] += population.noise[:, None]
    try:
        return _normal(np.asarray(np.linalg.cholesky(K), dtype=float), y)
    except np.linalg.LinAlgError:
        return np.array([_alone(each, y) for each in K])


def _alone(K: Array, y: Array) -> float:
    try:
        return float(_normal(np.asarray(np.linalg.cholesky(K), dtype=float)[None], y)[0])
    except np.linalg.LinAlgError:
        return -float("inf")


def _normal(L: Array, y: Array) -> Array:
    z = np.linalg.solve(L, np.broadcast_to(y[:, None], (len(L), len(y), 1)))[..., 0]
    log_det = 2.0 * np.log(np.einsum("kii->ki", L)).sum(axis=1)
    return np.asarray(-0.5 * (np.sum(z**2, axis=1) + log_det + len(y) * np.log(2.0 * np.pi)))
