"""Programs as sums of parts: what each part of the function is believed to be.

    (× (+ (LIN 0.3) (C 2.0)) (PER 0.5 0.1))   =   LIN × PER  +  2 · PER

Every program is a sum of products of leaves once × is distributed over +; a change CP is one more factor around what is
before it and around what is after. A Gaussian process with that covariance is a sum of independent ones, and each has
its own posterior (`Posterior.part`). Terms are of one *kind* where they have the same leaves on the same columns,
whatever their numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from gainful.beliefs.programs.language import Program
from gainful.beliefs.programs.units import Units
from gainful.kernels.base import Constant, Kernel, Product, Sum
from gainful.parameters import positive, real

__all__ = ["LEVEL", "Gate", "Term", "kernel_of", "kinds_of", "terms_of"]

Array = NDArray[np.float64]

LEVEL = "level"  # the kind that has no leaves: a constant


@dataclass(frozen=True)
class Gate(Kernel):
    """k(x, z) = g(x) g(z): what is there on one side of a change alone, g being 1 − s before and s after it, with s a
    logistic curve (see `ChangePoint`, which is the sum of both sides)."""

    after: bool
    place: Any = real(0.0, "position")
    width: Any = positive(1.0, "length")
    column: int = 0

    def _open(self, X: Array) -> Array:
        z = (X[:, self.column] - self.place) / self.width
        return np.asarray(expit(z if self.after else -z))

    def matrix(self, X: Array, Z: Array) -> Array:
        return np.outer(self._open(X), self._open(Z))

    def diag(self, X: Array) -> Array:
        return self._open(X) ** 2


@dataclass(frozen=True)
class Term:
    """One product of a program: a factor, leaves that see a column, and on which sides of which changes it is.

    Leaves are in canonical order. Several SE of one column are one, which their product is: 1/ℓ² adds up.
    """

    factor: float
    leaves: tuple[Program, ...]
    sides: tuple[tuple[Program, bool], ...] = ()

    @cached_property
    def kind(self) -> str:
        """Which part of the function it belongs to, such as "LIN × PER" or "SE after CP"."""
        leaves = " × ".join(leaf.structure for leaf in self.leaves) or LEVEL
        sides = sorted(f"{'after' if after else 'before'} {_called(change)}" for change, after in self.sides)
        return " ".join([leaves, *sides])

    def kernel(self, units: Units) -> Kernel:
        """Its covariance in the user's units, of a term whose numbers are the grammar's."""
        gates = [
            Gate(after, natural.numbers[0], natural.numbers[1], natural.column)
            for change, after in self.sides
            if (natural := units.natural(change))
        ]
        own = [replace(units, spread=1.0).kernel(leaf) for leaf in self.leaves]
        amount: Kernel = Constant(self.factor * units.spread**2)
        return reduce(Product, [*own, *gates], amount)


def _called(change: Program) -> str:
    return f"CP@{change.column}" if change.column else "CP"


def terms_of(program: Program) -> list[Term]:
    """The products that a program is the sum of.

    >>> [term.kind for term in terms_of(Program.read("(× (+ (LIN 0.3) (C 2.0)) (PER 0.5 0.1))"))]
    ['LIN × PER', 'PER']
    """
    return [_tidy(term) for term in _expanded(program)]


def _expanded(program: Program) -> Iterator[Term]:
    if program.symbol == "C":
        yield Term(program.numbers[0], ())
    elif not program.parts:
        yield Term(1.0, (program,))
    elif program.symbol == "+":
        for part in program.parts:
            yield from _expanded(part)
    elif program.symbol == "CP":
        for part, after in zip(program.parts, (False, True), strict=True):
            for term in _expanded(part):
                yield replace(term, sides=((program, after), *term.sides))
    else:
        left, right = (list(_expanded(part)) for part in program.parts)
        for a in left:
            for b in right:
                yield Term(a.factor * b.factor, (*a.leaves, *b.leaves), (*a.sides, *b.sides))


def _tidy(term: Term) -> Term:
    """The leaves in canonical order, those SE of one column that are factors of each other joined to one."""
    joined: dict[int, float] = {}
    for leaf in term.leaves:
        if leaf.symbol == "SE":
            joined[leaf.column] = joined.get(leaf.column, 0.0) + leaf.numbers[0] ** -2.0
    smooth = [Program("SE", (precision**-0.5,), (), column) for column, precision in joined.items()]
    others = [leaf for leaf in term.leaves if leaf.symbol != "SE"]
    return replace(term, leaves=tuple(sorted([*others, *smooth], key=lambda leaf: (leaf.structure, leaf.numbers))))


def kinds_of(programs: Sequence[Program]) -> dict[str, dict[int, list[Term]]]:
    """For each kind the terms that each program has of it, by the program's number."""
    found: dict[str, dict[int, list[Term]]] = {}
    for i, program in enumerate(programs):
        for term in terms_of(program):
            found.setdefault(term.kind, {}).setdefault(i, []).append(term)
    return found


def kernel_of(terms: Sequence[Term], units: Units) -> Kernel:
    """The covariance of several terms together."""
    return reduce(Sum, [term.kernel(units) for term in terms])
