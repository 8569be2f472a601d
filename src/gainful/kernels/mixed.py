"""One kernel for coordinates of every kind: numbers, numbers that may be absent, categories."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import reduce
from operator import mul

from gainful.coordinates import Coordinates
from gainful.kernels.base import Constant, Kernel
from gainful.kernels.categories import Exchangeable, Leaning
from gainful.kernels.stationary import Stationary
from gainful.parameters import Unstated

__all__ = ["over_all"]


def over_all(kernel: Stationary, coordinates: Coordinates) -> Kernel:
    """A kernel of distances over the numbers, times one for each category and for each number that may be absent.

    A category has one correlation between its levels, and leanings where there are more than two. A number that may be
    absent has two columns and one lengthscale, so that its distances are those of the embedding (Swersky et al. 2014).
    """
    columns = coordinates.columns
    if all(column.kind == "number" for column in columns) and not coordinates.is_conditional:
        return kernel
    size = Counter(column.group for column in columns)
    plain = [i for i, c in enumerate(columns) if c.kind == "number" and size[c.group] == 1]
    one = replace(kernel, lengthscale=(Unstated(1.0),), variance=1.0)
    factors: list[Kernel] = [kernel.on(*plain) if plain else Constant(kernel.variance)]
    for group in dict.fromkeys(c.group for c in columns):
        mine = [i for i, c in enumerate(columns) if c.group == group]
        if columns[mine[0]].kind == "category":
            levels = columns[mine[0]].levels
            factors.append((Leaning(levels) if levels > 2 else Exchangeable(levels)).on(*mine))
        elif len(mine) > 1:
            factors.append(one.on(*mine))
    return reduce(mul, factors)
