"""Six problems of finding a minimum, with what any optimiser needs to know of them. NumPy and SciPy alone: the rivals
live in environments without gainful.

    branin      two reals                                                       Branin 1972
    hartmann6   six reals                                                       Hartmann 1973
    func2c      two categories of three and five levels, two reals              Ru et al. 2020, Func2C
    ackley      three whole numbers of five values, two reals                   Ackley 1987, its minimum moved aside
    vessel      two whole numbers up to 99, two reals: a pressure vessel        Kannan & Kramer 1994
    tuning      a kernel, its width or its degree and offset, a ridge           kernel ridge regression, three of five
                                                                                coordinates conditional, three in logs

Readings have a normal noise, which nobody is told. The i-th reading of a seed has the same noise for every optimiser,
and all begin with places of one scrambled Sobol sequence.

The vessel's cost is log10 of the price, and each of its three limits adds three times log10 of how far it is missed,
as a factor; the minimum keeps all of them. Tuning is log10 of the error on rows that were held out.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.stats import qmc

Array = np.ndarray

EVALUATIONS = 40
LOOKS = tuple(range(5, EVALUATIONS + 1, 5))  # answers after which the recommendation is looked at
FLOOR = 1e-3  # of the noise: a regret below it counts as this


@dataclass(frozen=True)
class Axis:
    """A coordinate: "real" or "integer" from low to high, or a "category" with so many levels, 0, 1, …; `when`: there
    only where an earlier one, by number, has one of these values."""

    name: str
    kind: str
    low: float = 0.0
    high: float = 1.0
    log: bool = False
    when: tuple[int, tuple[int, ...]] | None = None

    @property
    def levels(self) -> int:
        return round(self.high - self.low) + 1

    def from_unit(self, u: float) -> float:
        """A value from a number between 0 and 1, evenly."""
        if self.kind != "real":
            return float(min(self.low + np.floor(u * self.levels), self.high))
        if self.log:
            return float(np.clip(self.low * (self.high / self.low) ** u, self.low, self.high))
        return float(np.clip(self.low + (self.high - self.low) * u, self.low, self.high))


@dataclass(frozen=True)
class Problem:
    """A function of places, rows of values; what is absent from a place is not looked at."""

    name: str
    axes: tuple[Axis, ...]
    function: Callable[[Sequence[float]], float]
    minimum: float
    noise: float  # the standard deviation of a reading

    def first(self, seed: int, count: int) -> list[list[float]]:
        """The first places of a seed's sequence."""
        sobol = qmc.Sobol(len(self.axes), seed=np.random.default_rng([seed, zlib.crc32(self.name.encode())]))
        units = sobol.random(16)[:count]
        return [[axis.from_unit(u) for axis, u in zip(self.axes, row, strict=True)] for row in units]

    def regret(self, place: Sequence[float]) -> float:
        """How much worse than the best, and no less than the floor."""
        return float(max(self.function(place) - self.minimum, FLOOR * self.noise))

    def answers(self, seed: int) -> Answers:
        return Answers(self, np.random.default_rng([seed, 7]).standard_normal(EVALUATIONS))


@dataclass
class Answers:
    """The noisy readings of one seed, one after the other."""

    problem: Problem
    noise: Array
    count: int = 0

    def __call__(self, place: Sequence[float]) -> float:
        reading = self.problem.function(place) + self.problem.noise * self.noise[self.count]
        self.count += 1
        return float(reading)


def branin(x: Sequence[float]) -> float:
    a, b = x
    return float(
        (b - 5.1 / (4 * np.pi**2) * a**2 + 5 / np.pi * a - 6) ** 2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(a) + 10
    )


_A = np.array(
    [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
)
_P = 1e-4 * np.array(
    [[1312, 1696, 5569, 124, 8283, 5886], [2329, 4135, 8307, 3736, 1004, 9991],
     [2348, 1451, 3522, 2883, 3047, 6650], [4047, 8828, 8732, 5743, 1091, 381]]
)  # fmt: skip


def hartmann6(x: Sequence[float]) -> float:
    inner = np.sum(_A * (np.asarray(x) - _P) ** 2, axis=1)
    return -float(np.array([1.0, 1.2, 3.0, 3.2]) @ np.exp(-inner))


def func2c(x: Sequence[float]) -> float:
    a, b = 2.0 * x[2], 2.0 * x[3]

    def one(which: int) -> float:
        if which == 0:
            return (100.0 * (b - a**2) ** 2 + (a - 1.0) ** 2) / 300.0
        if which == 1:
            return ((4.0 - 2.1 * a**2 + a**4 / 3.0) * a**2 + a * b + (4.0 * b**2 - 4.0) * b**2) / 10.0
        return ((1.5 - a + a * b) ** 2 + (2.25 - a + a * b**2) ** 2 + (2.625 - a + a * b**3) ** 2) / 50.0

    return one(int(x[0])) + one(min(int(x[1]), 2))


def ackley(x: Sequence[float]) -> float:
    z = np.array([(x[0] - 1) / 2, (x[1] - 3) / 2, (x[2] - 2) / 2, x[3] - 0.3, x[4] + 0.45])
    far, waves = np.sqrt(np.mean(z**2)), np.mean(np.cos(2 * np.pi * z))
    return float(20 + np.e - 20 * np.exp(-0.2 * far) - np.exp(waves))


def vessel(x: Sequence[float]) -> float:
    shell, head, radius, length = 0.0625 * x[0], 0.0625 * x[1], x[2], x[3]
    price = 0.6224 * shell * radius * length + 1.7781 * head * radius**2
    price += 3.1661 * shell**2 * length + 19.84 * shell**2 * radius
    volume = np.pi * radius**2 * length + 4 / 3 * np.pi * radius**3
    missed = (0.0193 * radius / shell, 0.00954 * radius / head, 1_296_000 / volume)
    return float(np.log10(price) + 3.0 * sum(np.log10(max(each, 1.0)) for each in missed))


@cache
def _rows() -> tuple[Array, Array, Array, Array]:
    """Rows to fit and rows held out, with their values."""
    rng = np.random.default_rng(20)
    X = rng.uniform(-1.0, 1.0, (120, 3))
    y = np.sin(3.0 * X[:, 0]) + X[:, 1] ** 2 * X[:, 2] + 0.5 * np.abs(X[:, 2]) + 0.1 * rng.standard_normal(120)
    return X[:70], y[:70], X[70:], y[70:]


def tuning(x: Sequence[float]) -> float:
    kind, ridge, width, degree, offset = int(x[0]), x[1], x[2], x[3], x[4]
    X, y, held, truth = _rows()

    def kernel(U: Array, V: Array) -> Array:
        if kind == 2:
            return (offset + U @ V.T) ** round(degree)
        apart = U[:, None] - V[None]
        if kind == 1:
            return np.exp(-np.sum(np.abs(apart), axis=-1) / width)
        return np.exp(-0.5 * np.sum(apart**2, axis=-1) / width**2)

    K = kernel(X, X)
    weights = np.linalg.solve(K + ridge * np.trace(K) / len(K) * np.eye(len(K)), y - y.mean())
    return float(np.log10(np.sqrt(np.mean((y.mean() + kernel(held, X) @ weights - truth) ** 2))))


def _reals(*ends: tuple[float, float]) -> tuple[Axis, ...]:
    return tuple(Axis(f"x{i}", "real", low, high) for i, (low, high) in enumerate(ends))


PROBLEMS = {
    p.name: p
    for p in (
        Problem("branin", _reals((-5, 10), (0, 15)), branin, 0.39788735772973816, 3.0),
        Problem("hartmann6", _reals(*[(0.0, 1.0)] * 6), hartmann6, -3.322368011415515, 0.1),
        Problem("func2c",
                (Axis("first", "category", 0, 2), Axis("second", "category", 0, 4), *_reals((-1, 1), (-1, 1))),
                func2c, -0.2063256906979755, 0.05),
        Problem("ackley",
                (*(Axis(f"n{i}", "integer", 0, 4) for i in range(3)), *_reals((-1, 1), (-1, 1))), ackley, 0.0, 0.15),
        Problem("vessel",
                (Axis("shell", "integer", 1, 99), Axis("head", "integer", 1, 99),
                 Axis("radius", "real", 10, 200), Axis("length", "real", 10, 200)), vessel, 3.7824521512890334, 0.05),
        Problem("tuning",
                (Axis("kernel", "category", 0, 2), Axis("ridge", "real", 1e-8, 10.0, True),
                 Axis("width", "real", 1e-2, 1e2, True, (0, (0, 1))), Axis("degree", "integer", 1, 8, when=(0, (2,))),
                 Axis("offset", "real", 1e-2, 1e2, True, (0, (2,)))), tuning, -0.8871132605549954, 0.02),
    )
}  # fmt: skip
