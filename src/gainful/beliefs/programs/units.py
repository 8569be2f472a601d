"""Between the units of a program, in which inputs lie from −1 to 1 and answers spread by one, and those of its user."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gainful.beliefs.programs.language import FORMS, Program
from gainful.kernels.base import Constant, Kernel
from gainful.kernels.changepoint import ChangePoint
from gainful.kernels.simple import CentredLinear

__all__ = ["Units"]

Array = NDArray[np.float64]

_FINEST = 2.0**36  # steps to a unit: places and answers in other units are the same numbers here


@dataclass(frozen=True)
class Units:
    """The middle and half the range of each column that programs look at, the level and the spread of the answers."""

    middle: tuple[float, ...]
    half: tuple[float, ...]
    level: float = 0.0
    spread: float = 1.0

    def places(self, seen: Array) -> Array:
        """The columns (n, d) in the program's units."""
        return np.round((seen - np.array(self.middle)) / np.array(self.half) * _FINEST) / _FINEST

    def answers(self, y: Array) -> Array:
        """Readings in the program's units."""
        return np.round((y - self.level) / self.spread * _FINEST) / _FINEST

    def natural(self, program: Program) -> Program:
        """The same program with its numbers in the user's units; levels and amplitudes stay those of the answers."""
        own = program.numbers
        if FORMS[program.symbol].sees:
            own = tuple(
                self._natural(name, value, program.column)
                for name, value in zip(FORMS[program.symbol].numbers, own, strict=True)
            )
            if program.symbol == "PER":  # its lengthscale is a number of its own, beside the period
                own = (program.numbers[0], own[1])
        return replace(program, numbers=own, parts=tuple(self.natural(part) for part in program.parts))

    def _natural(self, name: str, value: float, column: int) -> float:
        if name in ("zero", "place"):
            return self.middle[column] + value * self.half[column]
        return value * self.half[column] if name in ("lengthscale", "period", "width") else value

    def kernel(self, program: Program) -> Kernel:
        """Its covariance of the user's function at the user's places."""
        inside = self._kernel(self.natural(program))
        return inside if self.spread == 1.0 else Constant(self.spread**2) * inside

    def _kernel(self, natural: Program) -> Kernel:
        """A line rises by one from the middle of its column to the end."""
        if natural.symbol == "LIN":
            half = self.half[natural.column]
            return CentredLinear(natural.numbers[0], 1.0 / half**2).on(natural.column)
        if not natural.parts:
            return natural.kernel
        parts = [self._kernel(part) for part in natural.parts]
        if natural.symbol == "CP":
            place, width = natural.numbers
            return ChangePoint(parts[0], parts[1], place=place, width=width, column=natural.column)
        return FORMS[natural.symbol].kernel(*natural.numbers, *parts)
