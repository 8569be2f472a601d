"""A trust region: in long runs, look near the best place so far, and not everywhere (Eriksson et al. 2019).

A box about the best place so far. Three improvements in a row double its sides, as many failures as there are
dimensions (four at least) halve them. When it is as small as it may be, the search begins anew: as many queries as
there are dimensions and one more go wherever the goal says, and the next region is about the best of those.

The region is a function of the answers in their order, so that a campaign that is resumed has the same one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.checks import require, require_count, require_positive
from gainful.coordinates import Axis
from gainful.space import Within

__all__ = ["TrustRegion"]

Array = NDArray[np.float64]

_BETTER = 1e-3  # of the spread of the answers: less is no improvement
_FEWEST = 4


@dataclass(frozen=True)
class TrustRegion:
    """Look for the optimum within a box about the best place so far, which grows and shrinks with success.

    start      the side of the box at the beginning, as a share of every range
    least      a side below which the search begins anew
    most       the longest side
    successes  improvements in a row after which the sides double
    failures   answers in a row that are no improvement, after which they are halved; None: one for each dimension, and
               at least four

    Categories and what may be absent stay free; whole numbers move by one at least.

    >>> from gainful.coordinates import Axis
    >>> axes = [Axis("x", low=0.0, high=10.0)]
    >>> region = TrustRegion(start=0.4)
    >>> region.about(axes, [[5.0], [2.0]], [1.0, 3.0]).ends  # about 2, where it is best
    (('x', 0.0, 4.0),)
    """

    start: float = 0.8
    least: float = 0.5**7
    most: float = 1.6
    successes: int = 3
    failures: int | None = None

    def __post_init__(self) -> None:
        for name in ("start", "least", "most"):
            require_positive(name, getattr(self, name), "a share of every range")
        require(self.least <= self.start, "least", f"a side of at most start, {self.start:g}", self.least, "0.01 or so")
        require(self.start <= self.most, "most", f"a side of at least start, {self.start:g}", self.most, "1.6 is usual")
        require_count("successes", self.successes, 1, "3 is usual")
        if self.failures is not None:
            require_count("failures", self.failures, 1, "None: one for each dimension")

    def about(self, axes: Sequence[Axis], places: Sequence[ArrayLike], values: Sequence[float]) -> Within | None:
        """The box after these answers, in their order, of which the largest is the best; None: anywhere."""
        first, most = len(axes) + 1, self.failures or max(_FEWEST, len(axes))
        side, better, worse, since = self.start, 0, 0, 0
        best = 0
        for i in range(1, len(values)):
            improved = values[i] > values[best] + _BETTER * float(np.std(values[: i + 1]))
            best = i if values[i] > values[best] else best
            if i < since + first:  # spread over the space, or wherever the goal says
                continue
            better, worse = (better + 1, 0) if improved else (0, worse + 1)
            if better == self.successes:
                side, better = min(2.0 * side, self.most), 0
            elif worse == most:
                side, worse = 0.5 * side, 0
            if side < self.least:
                side, better, worse, since, best = self.start, 0, 0, i + 1, i + 1
                if i + 1 == len(values):
                    return None
        if len(values) < since + first:
            return None
        return Within(_box(axes, np.asarray(places[best], dtype=float), side))


def _box(axes: Sequence[Axis], centre: Array, side: float) -> dict[str, tuple[float, float]]:
    ends = {}
    for axis, at in zip(axes, centre, strict=True):
        if axis.kind not in ("real", "integer") or axis.when or axis.high <= axis.low:
            continue
        low, high, middle = np.log([axis.low, axis.high, at]) if axis.log else np.array([axis.low, axis.high, at])
        half = 0.5 * side * (high - low)
        near, far = max(low, middle - half), min(high, middle + half)
        near, far = (float(np.exp(near)), float(np.exp(far))) if axis.log else (float(near), float(far))
        if axis.kind == "integer":
            near, far = min(np.ceil(near), max(at - 1.0, axis.low)), max(np.floor(far), min(at + 1.0, axis.high))
        ends[axis.name] = (max(float(near), axis.low), min(float(far), axis.high))
    return ends
