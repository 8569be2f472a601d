"""Many programs as arrays, one row each.

A row holds a program in the order of its text: symbols as codes (0 where there is none), the columns that they look at,
and for each number the *share* of its prior that lies below it, between 0 and 1. Under the prior all shares are
uniform, whatever the priors are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.beliefs.programs.language import FORMS, Program

__all__ = ["CODES", "JOINS", "MOST", "Population"]

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
Mask = NDArray[np.bool_]

MOST = 63  # nodes of a program: under the published prior one in 10⁸ has more
CODES = {symbol: code for code, symbol in enumerate(FORMS, start=1)}
JOINS = (0, *(form.joins for form in FORMS.values()))
_NUMBERS = np.array([0, *(len(form.numbers) for form in FORMS.values())])
_SYMBOLS = ("", *FORMS)


@dataclass(frozen=True, eq=False)
class Population:
    """Programs by their symbols (k, m), the shares of their numbers (k, m, 2) and their columns (k, m), each with the
    shares of its noises' variances (k, j)."""

    symbols: Codes
    shares: Array
    columns: Codes
    noise: Array

    def __len__(self) -> int:
        return len(self.symbols)

    @property
    def sizes(self) -> Codes:
        """How many nodes each has."""
        return np.count_nonzero(self.symbols, axis=1)

    @property
    def has(self) -> Mask:
        """Which of the numbers are there, (k, m, 2)."""
        return np.asarray(_NUMBERS[self.symbols][..., None] > np.arange(2))

    def take(self, rows: ArrayLike) -> Population:
        """These rows, in this order."""
        at = np.asarray(rows)
        return Population(self.symbols[at], self.shares[at], self.columns[at], self.noise[at])

    def where(self, chosen: Mask, other: Population) -> Population:
        """The other's rows where chosen, one's own elsewhere."""
        return Population(
            np.where(chosen[:, None], other.symbols, self.symbols),
            np.where(chosen[:, None, None], other.shares, self.shares),
            np.where(chosen[:, None], other.columns, self.columns),
            np.where(chosen[:, None], other.noise, self.noise),
        )

    def at(self, shares: Array, noise: Array) -> Population:
        """The same structures with other numbers."""
        return replace(self, shares=shares, noise=noise)


def rows_of(programs: Sequence[Program]) -> tuple[Codes, Array, Codes]:
    """Symbols (k, MOST), numbers (k, MOST, 2) and columns (k, MOST) of programs."""
    shape = len(programs), MOST
    symbols, columns = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    numbers = np.zeros((*shape, 2))
    for i, program in enumerate(programs):
        for j, node in enumerate(program.nodes()):
            symbols[i, j], columns[i, j] = CODES[node.symbol], node.column
            numbers[i, j, : len(node.numbers)] = node.numbers
    return symbols, numbers, columns


def program_of(symbols: Codes, numbers: Array, columns: Codes) -> Program:
    """The program of one row."""
    return _program(symbols, numbers, columns, 0)[0]


def _program(symbols: Codes, numbers: Array, columns: Codes, j: int) -> tuple[Program, int]:
    symbol = _SYMBOLS[symbols[j]]
    form = FORMS[symbol]
    own = tuple(float(x) for x in numbers[j, : len(form.numbers)])
    parts, following = [], j + 1
    for _ in range(form.joins):
        part, following = _program(symbols, numbers, columns, following)
        parts.append(part)
    return Program(symbol, own, tuple(parts), int(columns[j])), following
