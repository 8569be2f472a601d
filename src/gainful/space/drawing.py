"""Numbers that fill a cube evenly, and some of many."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["evenly", "sequence", "subset"]

Array = NDArray[np.float64]


def evenly(n: int, d: int, rng: np.random.Generator) -> Array:
    """n places of the unit cube, (n, d): an additive recurrence x_k = (x_0 + k a) mod 1 with a = (1/φ, 1/φ², …).

    With φ the root of φ^(d+1) = φ + 1 it fills the cube more evenly than random places do, for every n (Roberts 2018).
    """
    return sequence(rng.random(d), 0, n)


def sequence(start: Array, first: int, last: int) -> Array:
    """The places from the first to before the last of the recurrence that begins here."""
    d, root = len(start), 2.0
    for _ in range(60):
        root = (1.0 + root) ** (1.0 / (d + 1))
    steps = root ** -np.arange(1.0, d + 1.0)
    return np.asarray((start + np.arange(first, last)[:, None] * steps) % 1.0)


def subset(size: int, n: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """n of so many, without repeats and in order."""
    return np.sort(rng.choice(size, n, replace=False))
