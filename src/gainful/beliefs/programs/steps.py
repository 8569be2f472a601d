"""How far a drift steps in each logit: settled before a stage, from what earlier stages saw.

A step is a factor for the number of parameters times a spread for each of them. The spread is one over the root mean
square of the log density's slope, which at equilibrium is the root of the expected curvature: of programs with the same
symbols where there were enough, of numbers of the same kind otherwise, of the prior at first. Slopes grow with the root
of the number of answers, and spreads are expected to shrink by that before the next stage has been seen. The factor
goes up where drifts were accepted more often than wanted, and down where less.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gainful.beliefs.programs.population import Population

__all__ = ["Steps"]

Array = NDArray[np.float64]

_PRIOR = 1.0 / 3.0  # the mean square of the slope of a logit's own density
_ENOUGH = 20.0  # drifts of programs with the same symbols
_FIRST = 0.2  # before any stage was seen: with 0.4 as few as half of the first drifts are accepted
_WANTED = 0.85  # acceptance
_GAIN = 1.5
_MEMORY = 0.5  # of what was seen before the last stage


@dataclass
class Steps:
    """What earlier stages saw: of each kind of number and of each program the sum of squared slopes and their count,
    the factor for each number of parameters, and how many answers there were."""

    kinds: dict[tuple[int, int], list[float]] = field(default_factory=dict)
    programs: dict[bytes, tuple[Array, Array, float]] = field(default_factory=dict)
    factors: dict[int, float] = field(default_factory=dict)
    answers: float = 0.0

    def of(self, population: Population, answers: float) -> tuple[Array, Array]:
        """The steps of every number (k, m, 2) and noise (k, j) under so many answers."""
        k = len(population)
        growth = max(answers / self.answers, 1.0) if self.answers else 1.0
        squares, noise = np.full(population.shares.shape, _PRIOR), np.full(population.noise.shape, _PRIOR)
        for (code, position), (total, count) in self.kinds.items():
            mean = max(total / count, _PRIOR)
            if code == 0:
                noise[:, position] = mean
            else:
                squares[population.symbols == code, position] = mean
        names = _names(population)
        for i in range(k):
            known = self.programs.get(names[i])
            if known is not None and known[2] >= _ENOUGH:
                squares[i] = np.maximum(known[0] / known[2], _PRIOR)
                noise[i] = np.maximum(known[1] / known[2], _PRIOR)
        sizes = population.has.sum(axis=(1, 2)) + population.noise.shape[1]
        factor = np.array([self._factor(int(each)) for each in sizes])
        return (
            factor[:, None, None] / np.sqrt(_PRIOR + (squares - _PRIOR) * growth),
            factor[:, None] / np.sqrt(_PRIOR + (noise - _PRIOR) * growth),
        )

    def _factor(self, size: int) -> float:
        """That of so many parameters; of the nearest number of which one is known."""
        if not self.factors:
            return _FIRST
        return self.factors[min(self.factors, key=lambda known: (abs(known - size), known))]

    def after(self, seen: Seen, answers: float) -> Steps:
        """What is known when a stage is over."""
        kinds = {key: [_MEMORY * v for v in values] for key, values in self.kinds.items()}
        for key, (total, count) in seen.kinds.items():
            old = kinds.setdefault(key, [0.0, 0.0])
            kinds[key] = [old[0] + total, old[1] + count]
        programs = {key: (_MEMORY * a, _MEMORY * b, _MEMORY * c) for key, (a, b, c) in self.programs.items() if c > 1.0}
        for name, (a, b, c) in seen.programs.items():
            o = programs.get(name, (np.zeros_like(a), np.zeros_like(b), 0.0))
            programs[name] = (o[0] + a, o[1] + b, o[2] + c)
        factors = dict(self.factors)
        for size, (total, count) in seen.chances.items():
            known = self._factor(size)
            trust = count / (count + 20.0)
            factors[size] = float(np.clip(known * np.exp(_GAIN * trust * (total / count - _WANTED)), 0.02, 1.2))
        return Steps(kinds, programs, factors, answers)


@dataclass
class Seen:
    """What the drifts of one stage saw."""

    kinds: dict[tuple[int, int], list[float]] = field(default_factory=lambda: defaultdict(lambda: [0.0, 0.0]))
    programs: dict[bytes, tuple[Array, Array, float]] = field(default_factory=dict)
    chances: dict[int, list[float]] = field(default_factory=lambda: defaultdict(lambda: [0.0, 0.0]))

    def note(self, population: Population, squares: tuple[Array, Array], chance: Array) -> None:
        has, names = population.has, _names(population)
        for code in np.unique(population.symbols[population.symbols > 0]):
            for position in range(2):
                mine = (population.symbols == code) & has[..., position]
                if mine.any():
                    both = self.kinds[int(code), position]
                    both[0] += float(squares[0][mine, position].sum())
                    both[1] += float(mine.sum())
        for j in range(population.noise.shape[1]):
            both = self.kinds[0, j]
            both[0] += float(squares[1][:, j].sum())
            both[1] += len(population)
        for i, name in enumerate(names):
            a, b, c = self.programs.get(name, (0.0, 0.0, 0.0))
            self.programs[name] = (a + squares[0][i], b + squares[1][i], c + 1.0)
        for size, each in zip((has.sum(axis=(1, 2)) + population.noise.shape[1]).tolist(), chance, strict=True):
            self.chances[size][0] += float(each)
            self.chances[size][1] += 1.0


def _names(population: Population) -> list[bytes]:
    """What is the same for programs with the same symbols and columns, in the same order."""
    width = int(population.sizes.max(initial=1))
    both = np.stack([population.symbols[:, :width], population.columns[:, :width]], axis=2).astype(np.int8)
    return [row.tobytes().rstrip(b"\0") for row in both]
