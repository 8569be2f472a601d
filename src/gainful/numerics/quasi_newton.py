"""A quasi-Newton descent in a box, for functions so dear that every value and slope is worth a matrix.

    d = −C f′(x),   C ← (I − ρ s yᵀ) C (I − ρ y sᵀ) + ρ s sᵀ,   ρ = 1 / sᵀy

C, near the inverse of the curvature, is given: it comes from a cheaper function like this one. It learns from every
point that is tried, those that are rejected as well (Nocedal & Wright 2006, sec. 6.1). A step is of length one, unless
it is longer than `longest` or goes up: then it ends at the minimum of the cubic through both ends (eq. 3.59 there).

    state = init(function, x, inverse)
    state, info = step(state, function, box)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Box", "Info", "State", "gain", "init", "step"]

Array = NDArray[np.float64]
Function = Callable[[Array], tuple[float, Array]]  # value and slope; a value that is not finite where there is none

_TRIES = 4
_FALLS = 1e-4  # of what the slope promises: the least that counts as a descent
_NEAR, _FAR = 0.1, 0.7  # shares of a step that is rejected: the next ends between them
_UNUSABLE = 0.25  # the share where the function has no value


class Box(NamedTuple):
    """Where x may be, and how far it may go in one step, (P,) each."""

    low: Array
    high: Array
    longest: Array


@dataclass(frozen=True)
class State:
    """A point, the function's value and slope there, and what C is so far, (P, P)."""

    x: Array
    value: float
    slope: Array
    inverse: Array


@dataclass(frozen=True)
class Info:
    """Whether the point moved, and how many values that took."""

    moved: bool
    evaluations: int


def init(function: Function, x: Array, inverse: Array) -> State:
    """The state at x."""
    value, slope = function(x)
    return State(x, value, slope, inverse)


def gain(state: State, box: Box) -> float:
    """½ f′ᵀ C f′, by how much the function would fall if C were right; where x may not go is left out."""
    return -0.5 * float(state.slope @ _direction(state, box))


def step(state: State, function: Function, box: Box, rough: float = 0.0) -> tuple[State, Info]:
    """One step downhill; `rough` is by how much values may be wrong.

    >>> box = Box(np.full(2, -9.0), np.full(2, 9.0), np.full(2, 9.0))
    >>> def bowl(x):
    ...     return float(x @ x), 2.0 * x
    >>> state, info = step(init(bowl, np.array([3.0, 4.0]), 0.5 * np.eye(2)), bowl, box)
    >>> state.x.tolist(), info.evaluations
    ([0.0, 0.0], 1)
    """
    way = _direction(state, box)
    way = way * _reach(state.x, way, box)
    promised = float(state.slope @ way)
    if not promised < 0.0:
        return state, Info(False, 0)
    share, inverse = 1.0, state.inverse
    for tried in range(1, _TRIES + 1):
        x = np.clip(state.x + share * way, box.low, box.high)  # to rounding it is within
        value, slope = function(x)
        if not (np.isfinite(value) and np.all(np.isfinite(slope))):
            share *= _UNUSABLE
            continue
        inverse = updated(inverse, share * way, slope - state.slope)
        if value <= state.value + _FALLS * share * promised + rough:
            return State(x, value, slope, inverse), Info(True, tried)
        share *= _lowest(share * promised, value - state.value, share * float(slope @ way))
    return replace(state, inverse=inverse), Info(False, _TRIES)


def _direction(state: State, box: Box) -> Array:
    """−C f′ within the coordinates that are not held by an end of the box: there is no going beyond it."""
    free = np.ones(len(state.x), dtype=bool)
    while True:
        out = np.zeros_like(state.x)
        out[free] = -state.inverse[np.ix_(free, free)].dot(state.slope[free])
        held = ((state.x <= box.low) & (out < 0.0)) | ((state.x >= box.high) & (out > 0.0))
        if not held.any():
            return out
        free &= ~held


def _reach(x: Array, way: Array, box: Box) -> float:
    """The share of this way, at most all, that is no longer than allowed and ends in the box."""
    length, room = np.abs(way), np.where(way > 0.0, box.high - x, x - box.low)
    limit = np.minimum(room, box.longest)
    return float(np.min(limit[length > limit] / length[length > limit], initial=1.0))


def _lowest(begin: float, rise: float, end: float) -> float:
    """Where on [0, 1] the cubic with these slopes at both ends, that rises by so much, is lowest; within what is
    sensible for the next step."""
    middle = begin + end - 3.0 * rise
    root = np.sqrt(max(middle * middle - begin * end, 0.0))
    below = end - begin + 2.0 * root
    lowest = 1.0 - (end + root - middle) / below if below > 0.0 else _FAR
    return float(np.clip(lowest, _NEAR, _FAR))


def updated(inverse: Array, s: Array, y: Array) -> Array:
    """C after a step s along which the slope changed by y; as it was where the function does not bend upwards."""
    bend = float(s @ y)
    if bend <= 1e-8 * float(np.sqrt((s @ s) * (y @ y))):
        return inverse
    Cy = inverse.dot(y)
    mixed = np.outer(s, Cy) / bend
    return inverse - mixed - mixed.T + (1.0 + float(y @ Cy) / bend) * np.outer(s, s) / bend
