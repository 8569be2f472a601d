"""Which coordinates a constraint lets take steps only: whole values of a number that may be any."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["stepped"]

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_DECIMALS = (0, 1, 2, 3)


def stepped(places: Array, real: Sequence[int], inside: Callable[[Array], Mask]) -> tuple[tuple[int, ...], int] | None:
    """Columns among `real`, and so many decimals, with which some of the places (M, D) would lie inside; None if none.

    No number that is drawn is whole, so a constraint that asks for whole numbers is never met: of the places as they
    are it seems to leave nothing.

    >>> places = np.random.default_rng(0).uniform(0.0, 10.0, (100, 2))
    >>> stepped(places, [0, 1], lambda X: (X[:, 1] % 1.0 == 0.0) & (X[:, 0] < 5.0))
    ((1,), 0)
    """
    one_by_one = [(i,) for i in real]
    together = [tuple(real)] if len(real) > 1 else []
    for decimals in _DECIMALS:
        for columns in (*one_by_one, *together):
            rounded = places.copy()
            rounded[:, columns] = np.round(places[:, columns], decimals)
            if bool(np.any(inside(rounded))):
                return columns, decimals
    return None
