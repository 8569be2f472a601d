"""Where an instrument has failed, and how far around it is not asked again.

A failure tells nothing about f, so the belief does not hear of it. It does tell that the neighbourhood may fail too. So
a place is not asked with an instrument if a failed place of that instrument is near it, within a quarter of the range
in every dimension and with the same levels, and nearer than every place where the instrument gave an answer:

    |x − failed| ≤ ¼ in each dimension   and   ‖x − failed‖ < ‖x − answered‖ for all answered

in coordinates as kernels see them, in units of their ranges. As answers come closer to a failed place, what is left out
about it shrinks: half of the way to it is always open, so the edge of a region that fails is found by halving. The
failed place itself is never asked again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gainful.coordinates import Coordinates

__all__ = ["AwayFromFailures"]

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_NEAR = 0.25  # of the range


class AwayFromFailures:
    """A constraint: places (M, D), as codes, that are not near a failed one; see the module.

    With `only_themselves`, the failed places alone are left out.

    >>> from gainful.coordinates import Axis
    >>> seen = Coordinates((Axis("x", low=0.0, high=10.0),))
    >>> allowed = AwayFromFailures(seen, [np.array([8.0])], [np.array([6.0])])
    >>> allowed(np.array([[8.0], [7.5], [6.9], [9.0]])).tolist()
    [False, False, True, False]
    """

    __name__ = "not near a failure"

    def __init__(
        self,
        coordinates: Coordinates,
        failed: Sequence[Array],
        answered: Sequence[Array] = (),
        only_themselves: bool = False,
    ) -> None:
        self._coordinates, self._only_themselves = coordinates, only_themselves
        self._failed, self._answered = self._scaled(failed), self._scaled(answered)

    def _scaled(self, places: Sequence[Array] | Array) -> Array:
        """Places as kernels see them, (n, E), in units of the ranges."""
        columns = self._coordinates.columns
        if not len(places):
            return np.zeros((0, len(columns)))
        return np.asarray(self._coordinates(np.asarray(places)) / np.array([column.width for column in columns]))

    def _apart(self, X: Array, known: Array) -> Array:
        """How far each place is from each known one in each column, (M, n, E): levels are 0 apart or 1."""
        apart = np.abs(X[:, None, :] - known[None, :, :])
        category = np.array([column.kind == "category" for column in self._coordinates.columns])
        return np.where(category, apart != 0.0, apart)

    def __call__(self, X: Array) -> Mask:
        places = self._scaled(X)
        apart = self._apart(places, self._failed)
        if self._only_themselves:
            return np.asarray(~np.any(np.all(apart == 0.0, axis=2), axis=1))
        distance = np.sum(apart**2, axis=2)  # (M, failed)
        nearest = np.min(np.sum(self._apart(places, self._answered) ** 2, axis=2), axis=1, initial=np.inf)
        near = np.all(apart <= _NEAR, axis=2) & (distance < nearest[:, None])
        return np.asarray(~np.any(near | (distance == 0.0), axis=1))
