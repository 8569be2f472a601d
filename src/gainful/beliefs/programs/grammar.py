"""The prior over kernel programs: a grammar with probabilities, and a prior for each number (Lin 2022, sec. 2.2).

Every node takes a symbol with its probability, whatever stands above it; every number has its prior, independently.
A program with several inputs takes the column of each leaf with equal probability. Both orders of what + and × join are
programs of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.beliefs.programs.guide import evenly
from gainful.beliefs.programs.language import FORMS, Program
from gainful.beliefs.programs.population import CODES, MOST, Population, program_of, rows_of
from gainful.checks import as_rng, is_number, require, require_count, require_kind
from gainful.priors import Gamma, LogNormal, Prior, Uniform

__all__ = ["Grammar"]

_PUBLISHED = MappingProxyType({"C": 0.2, "LIN": 0.2, "SE": 0.2, "PER": 0.2, "+": 0.1, "×": 0.1})
_FOR_DATA = MappingProxyType({"C": 0.1, "LIN": 0.2, "SE": 0.2, "PER": 0.2, "+": 0.16, "×": 0.14})
_CHANGING = 0.03  # the probability of a change at a node, where there may be any
_ANY = Uniform(0.0, 1.0)
SEES = np.array([False, *(form.sees for form in FORMS.values())])

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Grammar:
    """How probable each symbol is at a node, the prior of each number, that of the noise's variance, and the number of
    inputs.

    `priors` maps a symbol and what its number is called, as in "PER.period", to a prior; the others are uniform from 0
    to 1: inputs are scaled to lie between −1 and 1, answers to have a standard deviation of one.

    >>> round(Grammar().log_prior("(+ (LIN 0.3) (PER 0.5 0.1))"), 6)  # log(0.1 · 0.2 · 0.2)
    -5.521461
    """

    productions: Mapping[str, float] = field(default_factory=lambda: _PUBLISHED, hash=False)
    priors: Mapping[str, Prior] = field(default_factory=dict, hash=False)
    noise: Prior = field(default_factory=lambda: Gamma(1.0, 1.0))
    inputs: int = 1

    def __post_init__(self) -> None:
        given = self.productions
        fine = isinstance(given, Mapping) and len(given) > 0 and all(is_number(p) and p > 0.0 for p in given.values())
        require(fine, "productions", "positive probabilities by symbol", given, f"of {', '.join(FORMS)}")
        strange = [symbol for symbol in given if symbol not in FORMS]
        require(not strange, "productions", f"symbols among {', '.join(FORMS)}", strange, "check their spelling")
        total = float(sum(given.values()))
        require(
            abs(total - 1.0) < 1e-9, "productions", "probabilities that add up to one", total, "divide by their sum"
        )
        children = sum(p * FORMS[symbol].joins for symbol, p in given.items())
        require(children < 1.0, "productions", "less than one program joined by a node, on average", children,
                "make + and × less probable: programs would have no end")  # fmt: skip
        require(isinstance(self.priors, Mapping), "priors", "a mapping from names to priors", self.priors, "a dict")
        known = {f"{symbol}.{name}" for symbol in given for name in FORMS[symbol].numbers}
        for name, prior in self.priors.items():
            require(name in known, "priors", f"names among {sorted(known)}", name, "a symbol and what its number is")
            require(isinstance(prior, Prior), "priors", "a prior such as Uniform(0, 1)", prior, "make one first")
        require(isinstance(self.noise, Prior), "noise", "a prior such as Gamma(1, 1)", self.noise, "make one first")
        object.__setattr__(self, "productions", {symbol: float(p) for symbol, p in given.items()})
        object.__setattr__(self, "priors", dict(self.priors))
        object.__setattr__(self, "inputs", require_count("inputs", self.inputs, 1, "how many columns leaves may see"))

    @classmethod
    def for_data(cls, inputs: int = 1, changes: bool = False) -> Grammar:
        """The prior for measured data, where the published one is for comparison with what was published.

        That one has a noise variance of Gamma(1, 1), as much as all answers vary: it leaves little to be explained, and
        reads cycles as noise. Here the median is 1 % of the answers' variance, and 90 % lie from 0.08 % to 12 %. Sums
        and products are more probable, at the cost of constants: measured series have three parts rather than one.

        Measured on three monthly series (airline passengers, calls to directory assistance, a radio frequency), the
        last tenth held out, 40 particles, two seeds each: the mean log evidence rises from −589 to −557, and the mean
        log density of an answer held out, in units of the answers' spread, from −0.87 to −0.71; wider priors on lengths
        and periods had more evidence and worse forecasts.

        With `changes` a program may give way to another at some place (CP), within a tenth of the range at most; the
        search takes about twice as long. Of the calls, which fall at once when they begin to cost money, the log
        evidence rises from −842 to −791.
        """
        require_kind(
            "changes", changes, bool, "True or False", "True allows for one program before a place, another behind"
        )
        productions: Mapping[str, float] = _FOR_DATA
        priors: dict[str, Prior] = {}
        if changes:
            productions = {**{symbol: (1.0 - _CHANGING) * p for symbol, p in _FOR_DATA.items()}, "CP": _CHANGING}
            priors = {"CP.place": Uniform(-1.0, 1.0), "CP.width": Uniform(0.0, 0.2)}
        return cls(productions, priors, LogNormal(float(np.log(0.01)), 1.5), inputs)

    def prior(self, symbol: str, name: str) -> Prior:
        """That of one number of a symbol."""
        return self.priors.get(f"{symbol}.{name}", _ANY)

    def log_prior(self, program: Program | str) -> float:
        """The log density of a program with its numbers: −inf for one that the grammar cannot say."""
        said = Program.read(program) if isinstance(program, str) else program
        require_kind("program", said, Program, "a program, or its text", "such as (+ (LIN 0.3) (SE 0.2))")
        return self.log_structure(said) + self.log_values(said)

    def log_structure(self, program: Program) -> float:
        """The log probability of a program whatever its numbers are, in this order of its parts."""
        nodes = list(program.nodes())
        if any(not self._can_say(node) for node in nodes):
            return -float("inf")
        looking = sum(FORMS[node.symbol].sees for node in nodes)
        return float(sum(np.log(self.productions[node.symbol]) for node in nodes) - looking * np.log(self.inputs))

    def _can_say(self, node: Program) -> bool:
        """Whether the symbol has a probability, and looks at a column that there is."""
        seen = node.column < self.inputs and (FORMS[node.symbol].sees or node.column == 0)
        return node.symbol in self.productions and seen

    def log_values(self, program: Program) -> float:
        """The log density of the numbers, given the structure."""
        return float(
            sum(
                self.prior(node.symbol, name).log_density(value)
                for node in program.nodes()
                for name, value in zip(FORMS[node.symbol].numbers, node.numbers, strict=True)
            )
        )

    def draw(self, rng: np.random.Generator | int) -> Program:
        """A program from the prior.

        >>> str(Grammar().draw(3).structure)
        'C'
        """
        return self._draw(as_rng(rng))

    def draw_noise(self, rng: np.random.Generator | int) -> float:
        """A noise variance from its prior."""
        return self.noise.quantile(float(as_rng(rng).random()))

    def _draw(self, rng: np.random.Generator) -> Program:
        symbols = tuple(self.productions)
        odds = np.array(list(self.productions.values()))
        symbol = symbols[int(np.searchsorted(np.cumsum(odds / odds.sum())[:-1], rng.random(), side="right"))]
        form = FORMS[symbol]
        numbers = tuple(self.prior(symbol, name).quantile(float(rng.random())) for name in form.numbers)
        column = int(rng.integers(self.inputs)) if form.sees and self.inputs > 1 else 0
        return Program(symbol, numbers, tuple(self._draw(rng) for _ in range(form.joins)), column)

    # Programs as arrays

    @cached_property
    def chances(self) -> Array:
        """The probabilities of the symbols by their codes, cumulated."""
        found = np.cumsum([0.0, *(self.productions.get(symbol, 0.0) for symbol in FORMS)])
        return np.where(found >= found[-1], 1.0, found)

    @cached_property
    def joins(self) -> Array:
        """The same of those symbols alone that join two programs, up to the probability of them all."""
        return np.cumsum([0.0, *(self.productions.get(s, 0.0) * (form.joins > 0) for s, form in FORMS.items())])

    def population(self, size: int, noises: int, rng: np.random.Generator) -> Population:
        """So many programs from the prior, each with so many noises."""
        from gainful.beliefs.programs.compiled import draw_rows  # Numba takes half a second to import

        symbols, columns = np.zeros((size, MOST), dtype=np.int64), np.zeros((size, MOST), dtype=np.int64)
        shares = np.zeros((size, MOST, 2))
        draw_rows(rng, self.chances, self.inputs, SEES, *evenly(self.inputs), symbols, shares, columns)
        return Population(symbols, shares, columns, rng.random((size, noises)))

    def coded(self, programs: Sequence[Program], noise: ArrayLike) -> Population:
        """Programs with the variances of their noises (k, j), by the shares of their numbers."""
        symbols, numbers, columns = rows_of(programs)
        shares = np.zeros_like(numbers)
        for code, position, prior in self._kinds:
            mine = symbols == code
            shares[mine, position] = [prior.share(float(x)) for x in numbers[mine, position]]
        below = [[self.noise.share(float(x)) for x in row] for row in np.asarray(noise, dtype=float)]
        return Population(symbols, shares, columns, np.array(below).reshape(len(symbols), -1))

    def numbers(self, population: Population) -> Array:
        """What the shares stand for, (k, m, 2)."""
        out = population.shares.copy()
        for code, position, prior in self._kinds:
            if prior != _ANY:
                mine = population.symbols == code
                out[mine, position] = prior.quantiles(out[mine, position])
        return out

    def noises(self, population: Population) -> Array:
        """The variances of the noises, (k, j)."""
        return self.noise.quantiles(population.noise)

    def program(self, population: Population, i: int) -> Program:
        """The program of one row."""
        one = population.take([i])
        return program_of(one.symbols[0], self.numbers(one)[0], one.columns[0])

    def slopes(self, population: Population, numbers: Array, noises: Array) -> tuple[Array, Array]:
        """How fast numbers and noises grow with their shares: one over the density there."""
        by_number, by_noise = np.ones_like(numbers), np.ones_like(noises)
        for code, position, prior in self._kinds:
            if prior != _ANY:
                mine = population.symbols == code
                by_number[mine, position] = [np.exp(-prior.log_density(float(x))) for x in numbers[mine, position]]
        by_noise[:] = np.reshape([np.exp(-self.noise.log_density(float(x))) for x in noises.ravel()], noises.shape)
        return by_number, by_noise

    @cached_property
    def _kinds(self) -> list[tuple[int, int, Prior]]:
        """For every number that there may be: the code of its symbol, its position, its prior."""
        return [
            (CODES[symbol], position, self.prior(symbol, name))
            for symbol in self.productions
            for position, name in enumerate(FORMS[symbol].numbers)
        ]
