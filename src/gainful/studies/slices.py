"""What is believed along each dimension by itself, the others as they are at one place."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gainful.inference.belief import Belief
from gainful.inference.posterior import Posterior
from gainful.space import At, Categorical, Integer, Places, Space

__all__ = ["Slice", "slices_through"]

Array = NDArray[np.float64]

_STEPS = 101


@dataclass(frozen=True)
class Slice:
    """Mean and band of f along one dimension, NaN where the space has no place; `labels` are a category's levels, and
    `failed` is where evaluations did, wherever they were in the other dimensions."""

    called: str
    x: Array
    mean: Array
    low: Array
    high: Array
    best: float
    log: bool = False
    whole: bool = False
    labels: tuple[str, ...] | None = None
    failed: Array = field(default_factory=lambda: np.zeros(0))

    @property
    def range(self) -> float:
        """How far the mean goes, which is how much this dimension matters here."""
        known = self.mean[np.isfinite(self.mean)]
        return float(np.ptp(known)) if len(known) else 0.0


def slices_through(belief: Posterior | Belief, space: Places, place: Array, failed: Array | None = None) -> list[Slice]:
    """A slice for each dimension that varies and is there at the place; none for a pool, which has no lines. `failed`
    are places (F, D) where evaluations did."""
    whole = getattr(space, "whole", space)
    if not isinstance(whole, Space):
        return []
    there = whole.coordinates.active(place[None])[0]
    lost = np.zeros((0, len(place))) if failed is None else failed
    lost_there = whole.coordinates.active(lost)
    out = []
    for i, dimension in enumerate(whole.single):
        if isinstance(dimension, At) or not there[i]:
            continue
        log, low, high = bool(getattr(dimension, "log", False)), float(dimension.low), float(dimension.high)
        x = np.geomspace(low, high, _STEPS) if log else np.linspace(low, high, _STEPS)
        labels = None
        if isinstance(dimension, Categorical | Integer) and (high - low < _STEPS or isinstance(dimension, Categorical)):
            x = np.arange(low, high + 1.0)
        elif isinstance(dimension, Integer):
            x = np.unique(np.round(x))
        if isinstance(dimension, Categorical):
            labels = tuple(dimension.words(code) for code in x)
        rows = _along(whole, place, i, np.clip(x, low, high))
        mean, (bottom, top) = np.asarray(belief.mean(rows)), belief.band(rows)
        outside = ~space.contains(rows)
        mean, bottom, top = (np.where(outside, np.nan, each) for each in (mean, bottom, top))
        unit = f" ({dimension.unit})" if dimension.unit else ""
        out.append(
            Slice(
                dimension.name + unit,
                x,
                mean,
                bottom,
                top,
                float(place[i]),
                log,
                isinstance(dimension, Integer),
                labels,
                lost[lost_there[:, i], i],
            )
        )
    return out


def _along(space: Space, place: Array, column: int, x: Array) -> Array:
    """Places (M, D) that differ in one coordinate; the other parts of a mixture share what it leaves, as before."""
    rows = np.tile(place, (len(x), 1))
    rows[:, column] = x
    for mixture in space.mixtures:
        if column in mixture.columns:
            others = [i for i in mixture.columns if i != column]
            shares = (
                place[others] / place[others].sum()
                if place[others].sum() > 0.0
                else np.full(len(others), 1.0 / len(others))
            )
            rows[:, others] = (mixture.total - x)[:, None] * shares
    return space.coordinates.canonical(rows)
