"""The language of kernel programs: what can be said, and what it means (Lin 2022, ch. 2).

    K := (C v) | (LIN v) | (SE v) | (PER v v) | (RQ v v) | (MAT v) | (+ K K) | (× K K) | (CP v v K K)

A leaf is a covariance of one input; with several, `(SE@2 0.3)` sees the column of number 2, counted from 0. (CP place
width before after) changes from one program to another. A program is a value: equal where its text is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import isfinite
from typing import Any, NamedTuple

from gainful.checks import is_number, is_whole, listed, require
from gainful.errors import InvalidInput
from gainful.kernels import SE, CentredLinear, ChangePoint, Constant, Kernel, Matern, Periodic, RationalQuadratic
from gainful.kernels.base import FAR

__all__ = ["FORMS", "Form", "Program"]


class Form(NamedTuple):
    """What a symbol stands for: what its numbers are called, how many programs it joins, the covariance, whether it
    looks at a column, and whether it is the same when what it joins is swapped."""

    numbers: tuple[str, ...]
    joins: int
    kernel: Callable[..., Kernel]
    sees: bool = True
    commutes: bool = False

    def wanted(self, symbol: str) -> str:
        """What numbers a symbol has, in words."""
        return f"{len(self.numbers)} numbers for {symbol}" + f", {' and '.join(self.numbers)}" * bool(self.numbers)


FORMS: dict[str, Form] = {
    "C": Form(("level",), 0, Constant, sees=False),
    "LIN": Form(("zero",), 0, lambda zero: CentredLinear(zero, 1.0)),
    "SE": Form(("lengthscale",), 0, lambda length: SE(length, 1.0)),
    "PER": Form(("lengthscale", "period"), 0, lambda length, period: Periodic(length, period, 1.0)),
    "RQ": Form(("lengthscale", "shape"), 0, lambda length, shape: RationalQuadratic(length, 1.0, shape)),
    "MAT": Form(("lengthscale",), 0, lambda length: Matern(length, 1.0)),
    "+": Form((), 2, lambda left, right: left + right, sees=False, commutes=True),
    "×": Form((), 2, lambda left, right: left * right, sees=False, commutes=True),
    "CP": Form(("place", "width"), 2, lambda place, width, before, after: ChangePoint(before, after, place, width)),
}
_NUMBERED = {symbol: number for number, symbol in enumerate(FORMS, start=1)}
_SPELLED = {"*": "×", "x": "×"}


@dataclass(frozen=True)
class Program:
    """A kernel program: a symbol with its numbers, the column that a leaf sees, and the programs that it joins.

    >>> program = Program.read("(+ (PER 0.5 0.1) (LIN 0.3))")
    >>> str(program), program.structure, program.size
    ('(+ (PER 0.5 0.1) (LIN 0.3))', '(+ LIN PER)', 3)
    >>> program == Program.read("(+ (LIN 0.3) (PER 0.5 0.1))"), program.canonical == Program.read(
    ...     "(+ (LIN 0.3) (PER 0.5 0.1))"
    ... )
    (False, True)
    """

    symbol: str
    numbers: tuple[float, ...] = ()
    parts: tuple[Program, ...] = ()
    column: int = 0

    def __post_init__(self) -> None:
        known = isinstance(self.symbol, str) and self.symbol in FORMS
        require(known, "symbol", f"one of {', '.join(FORMS)}", self.symbol, "Program.read('(SE 0.2)') reads a program")
        form = FORMS[self.symbol]
        numbers, parts = listed(self.numbers), listed(self.parts)
        fine = numbers is not None and len(numbers) == len(form.numbers) and all(map(_is_finite, numbers))
        require(fine, "numbers", form.wanted(self.symbol), self.numbers, "such as Program('PER', (0.5, 0.1))")
        fine = parts is not None and len(parts) == form.joins and all(isinstance(each, Program) for each in parts)
        require(fine, "parts", f"{form.joins} programs for {self.symbol}", self.parts, "make them first")
        fine = is_whole(self.column) and 0 <= self.column < FAR
        require(fine, "column", "the number of a column, from 0", self.column, "0 is the first")
        object.__setattr__(self, "numbers", tuple(float(each) for each in numbers or ()))
        object.__setattr__(self, "parts", tuple(parts or ()))
        object.__setattr__(self, "column", int(self.column))

    @classmethod
    def read(cls, program: str) -> Program:
        """The program that an s-expression says; × may be written *."""
        if not isinstance(program, str):
            raise InvalidInput("program", "an s-expression such as (+ (LIN 0.3) (SE 0.2))", program, "give it as text")
        tokens = program.replace("(", " ( ").replace(")", " ) ").split()
        found, rest = _read(tokens, program)
        if rest:
            raise InvalidInput("program", "one expression", program, f"what follows is {' '.join(rest)!r}")
        return found

    def __str__(self) -> str:
        return f"({' '.join([self._called, *map(repr, self.numbers), *map(str, self.parts)])})"

    @property
    def _called(self) -> str:
        return f"{self.symbol}@{self.column}" if self.column else self.symbol

    @cached_property
    def canonical(self) -> Program:
        """The same with the programs that + and × join in one order: equal for two that differ in that alone."""
        parts = [part.canonical for part in self.parts]
        return replace(self, parts=tuple(sorted(parts, key=_key) if FORMS[self.symbol].commutes else parts))

    @cached_property
    def structure(self) -> str:
        """The canonical program without its numbers."""
        if not self.parts:
            return self._called
        inside = [part.structure for part in self.parts]
        return f"({self._called} {' '.join(sorted(inside) if FORMS[self.symbol].commutes else inside)})"

    @cached_property
    def order(self) -> tuple[Any, ...]:
        """A key that sorts programs: by depth, then by their symbols as they stand in a full binary tree, level by
        level, an empty place before any symbol, then by their numbers in that order (Lin 2022, sec. 5.2). What + and ×
        join is sorted first, by symbol and then in this same order, so that commuted programs have one key.

        >>> Program.read("(+ (SE 0.2) (SE 0.1))").order == Program.read("(+ (SE 0.1) (SE 0.2))").order
        True
        >>> Program.read("(PER 0.9 0.9)").order < Program.read("(+ (C 0.1) (C 0.1))").order
        True
        """
        placed = sorted(self._placed(1), key=lambda node: node[0])
        symbols = tuple((-at, _NUMBERED[node.symbol], node.column) for at, node in placed)
        return placed[-1][0].bit_length(), symbols, tuple(number for _, node in placed for number in node.numbers)

    def _placed(self, at: int) -> list[tuple[int, Program]]:
        """Its nodes with their numbers in a full binary tree: the parts of number i are 2i and 2i + 1."""
        parts = self.parts
        if FORMS[self.symbol].commutes:
            parts = tuple(sorted(parts, key=lambda part: (_NUMBERED[part.symbol], part.column, part.order)))
        return [(at, self), *(node for i, part in enumerate(parts) for node in part._placed(2 * at + i))]

    @cached_property
    def size(self) -> int:
        """How many nodes there are."""
        return 1 + sum(part.size for part in self.parts)

    def nodes(self) -> Iterator[Program]:
        """Every sub-program, itself first, from left to right."""
        yield self
        for part in self.parts:
            yield from part.nodes()

    def leaves(self) -> Iterator[Program]:
        return (node for node in self.nodes() if not node.parts)

    @cached_property
    def values(self) -> tuple[float, ...]:
        """All numbers, in the order of the text."""
        return tuple(number for node in self.nodes() for number in node.numbers)

    def with_values(self, values: Sequence[float]) -> Program:
        """The same structure with other numbers."""
        given = len(self.values)
        require(len(values) == given, "values", f"{given} numbers, as many as there are", len(values), "see values")
        return self._filled(iter(values))

    def _filled(self, values: Iterator[float]) -> Program:
        own = tuple(float(next(values)) for _ in self.numbers)
        return replace(self, numbers=own, parts=tuple(part._filled(values) for part in self.parts))

    def replaced(self, number: int, by: Program) -> Program:
        """The program in which the node of this number, in the order of `nodes`, is another."""
        require(0 <= number < self.size, "number", f"a number from 0 to {self.size - 1}", number, "see nodes")
        if number == 0:
            return by
        ends = [1]
        for part in self.parts:
            ends.append(ends[-1] + part.size)
        return replace(
            self,
            parts=tuple(
                part.replaced(number - start, by) if start <= number < stop else part
                for part, (start, stop) in zip(self.parts, pairwise(ends), strict=True)
            ),
        )

    @cached_property
    def kernel(self) -> Kernel:
        """The covariance, an ordinary kernel; each leaf on its column."""
        form = FORMS[self.symbol]
        if self.symbol == "CP":
            before, after = (part.kernel for part in self.parts)
            place, width = self.numbers
            return ChangePoint(before, after, place=place, width=width, column=self.column)
        if self.parts:
            return form.kernel(*self.numbers, *(part.kernel for part in self.parts))
        return form.kernel(*self.numbers).on(self.column)

    def has(self, symbol: str) -> bool:
        """Whether a symbol occurs anywhere in it."""
        return any(node.symbol == symbol for node in self.nodes())


def _key(program: Program) -> tuple[Any, ...]:
    return program.structure, program.values


def _is_finite(value: object) -> bool:
    return is_number(value) and isfinite(value)


def _read(tokens: list[str], text: str) -> tuple[Program, list[str]]:
    if not tokens or tokens[0] != "(":
        raise InvalidInput("program", "an expression in brackets, such as (SE 0.2)", text, "check the brackets")
    name, *rest = tokens[1:] or [""]
    symbol, _, at = _SPELLED.get(name, name).partition("@")
    if at and not at.isdecimal():
        raise InvalidInput("program", "the number of a column after @, from 0", name, "such as (SE@1 0.2)")
    if symbol not in FORMS:
        raise InvalidInput("program", f"a symbol among {', '.join(FORMS)}", symbol, "check its spelling")
    form = FORMS[symbol]
    numbers, parts = [], []
    while rest and rest[0] != ")":
        if rest[0] == "(":
            part, rest = _read(rest, text)
            parts.append(part)
        else:
            numbers.append(_number(rest.pop(0), text))
    if not rest:
        raise InvalidInput("program", "as many ) as (", text, "check the brackets")
    require(len(numbers) == len(form.numbers), "program", form.wanted(symbol), numbers, "such as (PER 0.5 0.1)")
    joined = f"{form.joins} programs after {symbol}"
    require(len(parts) == form.joins, "program", joined, len(parts), "such as (+ (LIN 0.3) (SE 0.2))")
    return Program(symbol, tuple(numbers), tuple(parts), int(at or 0)), rest[1:]


def _number(token: str, text: str) -> float:
    try:
        value = float(token)
    except ValueError:
        value = float("nan")
    if not isfinite(value):
        raise InvalidInput("program", "numbers and expressions after a symbol", token, f"in {text}")
    return value
