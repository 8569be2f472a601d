"""Derivatives by central differences with one Richardson step: error O(h⁴)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def gradient(function: Callable[[Array], float], x: Array, step: float = 1e-3) -> Array:
    """The gradient of a scalar function at x, of any shape.

    >>> gradient(lambda x: float(np.sum(np.sin(x))), np.array([0.0, 1.0])).round(9).tolist()
    [1.0, 0.540302306]
    """
    out = np.zeros_like(x)
    for index in np.ndindex(x.shape):

        def along(h: float, index: tuple[int, ...] = index) -> float:
            moved = x.copy()
            moved[index] += h
            return function(moved)

        wide = (along(step) - along(-step)) / (2.0 * step)
        narrow = (along(0.5 * step) - along(-0.5 * step)) / step
        out[index] = (4.0 * narrow - wide) / 3.0
    return out


def assert_close(got: Array, wanted: Array, relative: float, law: str) -> None:
    """Agreement relative to the largest entry of what was wanted."""
    found, finite = np.asarray(got), np.isfinite(wanted)
    if not np.array_equal(found[~finite], np.asarray(wanted)[~finite]):  # the logarithm of zero is itself
        raise AssertionError(
            f"{law}: {found[~finite].tolist()} where {np.asarray(wanted)[~finite].tolist()} was wanted"
        )
    scale = max(float(np.max(np.abs(wanted[finite]), initial=0.0)), 1e-8)
    worst = float(np.max(np.abs(found[finite] - wanted[finite]), initial=0.0))
    if not worst <= relative * scale:
        raise AssertionError(f"{law}: off by {worst:.2e} where {scale:.2e} is the scale (allowed {relative:.0e} of it)")
