"""The coordinates that a climb moves in, and the steps between places that no climb can take.

Real coordinates move, from 0 to 1 along their range, or along its logarithm where they vary over orders of magnitude.
Parts of a mixture move together, by the nearest mixture to where each alone would go. Whole numbers, categories and
fixed or absent coordinates are held; `neighbours` are the places that differ in one of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gainful.coordinates import Axis, Coordinates
from gainful.selection.ties import on_grid
from gainful.space import Places, Restricted, coordinates_of
from gainful.space.simplex import bounded, nearest_mixture

__all__ = ["Chart"]

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_APPEARING = (1 / 6, 1 / 2, 5 / 6)  # of their range, where coordinates begin that a neighbour has and the place has not
_MOST_STEPS = 8  # along whole numbers to each side: 1, 2, 4, … 128


@dataclass(frozen=True, eq=False)
class Chart:
    """Places of a space, (…, D), in coordinates from 0 to 1 between its limits."""

    space: Places

    @cached_property
    def coordinates(self) -> Coordinates:
        return coordinates_of(self.space)

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        return self.coordinates.axes

    @cached_property
    def low(self) -> Array:
        return self.space.low

    @cached_property
    def high(self) -> Array:
        return self.space.high

    @cached_property
    def _width(self) -> Array:
        """Of each range, in the logarithm where there is one."""
        width = np.where(self.high > self.low, self.high - self.low, 1.0)
        if self._log.any():
            ratio = np.divide(
                self.high, self.low, out=np.full(len(width), np.e), where=self._log & (self.high > self.low)
            )
            width = np.where(self._log, np.log(ratio), width)
        return np.asarray(width)

    @cached_property
    def _log(self) -> Mask:
        return np.array([axis.log and axis.kind == "real" for axis in self.axes])

    @cached_property
    def _real(self) -> Mask:
        return np.array([axis.kind == "real" for axis in self.axes]) & (self.low < self.high)

    @cached_property
    def discrete(self) -> list[int]:
        """The coordinates that no climb can move, and neighbours differ in."""
        kinds = ("integer", "ordered", "category")
        return [i for i, axis in enumerate(self.axes) if axis.kind in kinds and self.low[i] < self.high[i]]

    @cached_property
    def mixtures(self) -> list[tuple[list[int], float]]:
        """The columns of coordinates that sum to a total, and the total."""
        whole = self.space.whole if isinstance(self.space, Restricted) else self.space
        return [(list(each.columns), each.total) for each in getattr(whole, "mixtures", ())]

    def moves(self, places: Array) -> Mask:
        """Which coordinates of the places a climb can move, (…, D)."""
        if not self.coordinates.is_conditional:
            return np.broadcast_to(self._real, places.shape)
        rows = places.reshape(-1, places.shape[-1])
        return (self._real & self.coordinates.active(rows)).reshape(places.shape)

    def up(self, places: Array) -> Array:
        """From places to the coordinates of the climb."""
        if not self._log.any():
            return (places - self.low) / self._width
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(places / self.low) / self._width
        return np.where(self._log, logs, (places - self.low) / self._width)

    def down(self, t: Array, like: Array) -> Array:
        """From the coordinates of the climb to the nearest places between the limits; what is held is as in `like`."""
        places = self.low + self._width * t
        if self._log.any():
            with np.errstate(over="ignore", invalid="ignore"):
                places = np.where(self._log, self.low * np.exp(self._width * t), places)
        return self._settled(np.where(self.moves(like), np.clip(places, self.low, self.high), like))

    def _settled(self, places: Array) -> Array:
        if not self.mixtures:
            return places
        out = places.copy()
        for columns, total in self.mixtures:
            ends = bounded(self.low[columns], self.high[columns], total)
            rows = places[..., columns].reshape(-1, len(columns))
            out[..., columns] = nearest_mixture(rows, *ends, total).reshape(*places.shape[:-1], len(columns))
        return out

    def slopes(self, places: Array, gradient: Array) -> Array:
        """The derivatives in the coordinates of the climb from those in the places; 0 for what does not move."""
        out = np.where(self.moves(places), gradient, 0.0)
        for columns, _ in self.mixtures:
            ends = self.low[columns], self.high[columns]
            out[..., columns] = _along_simplex(places[..., columns], out[..., columns], *ends)
        return np.asarray(out * self.unit(places))

    def unit(self, places: Array) -> Array:
        """How far a place moves with the coordinates of the climb, (…, D)."""
        return np.where(self._log, self._width * places, self._width) if self._log.any() else self._width

    def on_grid(self, place: Array) -> Array:
        """The nearest place of a grid of 2⁻³⁰ of each range; what does not move stays as it is."""
        near = on_grid(place, self.low, self.high)
        if self._log.any():
            t = np.where(self._log & self.moves(place), self.up(place), 0.0)
            t = on_grid(t, np.zeros(len(self.low)), np.ones(len(self.low)))
            near = np.where(self._log, self.down(t, place), near)
        return self._settled(np.where(self.moves(place), near, place))

    def neighbours(self, query: Array) -> Array:
        """Queries like this one, (d,), (2, d) or (k, d), but for one whole number or category of one place.

        Whole numbers and ordered levels go up and down by 1, 2, 4 and so on, categories to every other level.
        Coordinates that are absent from the place begin at a few values.
        """
        rows = np.atleast_2d(query)
        active = self.coordinates.active(rows)
        found = [
            self._appearing(rows, r, i, code)
            for r in range(len(rows))
            for i in self.discrete
            if active[r, i]
            for code in self._steps(i, float(rows[r, i]))
        ]
        if not found:
            return np.zeros((0, *query.shape))
        near = np.concatenate(found).reshape(-1, *query.shape)
        inside = self.space.contains(near.reshape(-1, query.shape[-1])).reshape(len(near), -1).all(axis=1)
        return np.asarray(near[inside])

    def _steps(self, i: int, code: float) -> list[float]:
        """Other codes of a coordinate, within its limits."""
        low, high = np.ceil(self.low[i]), np.floor(self.high[i])
        if self.axes[i].kind == "category":
            return [float(c) for c in np.arange(low, high + 1.0) if c != code]
        near = {code + sign * 2.0**k for k in range(_MOST_STEPS) for sign in (-1.0, 1.0)}
        return sorted(c for c in near if low <= c <= high)

    def _appearing(self, rows: Array, r: int, i: int, code: float) -> Array:
        """The rows (B, k, d) with one code changed, and a few values of what appears by that."""
        moved = rows.copy()
        moved[r, i] = code
        new = self.coordinates.active(moved)[r] & ~self.coordinates.active(rows)[r]
        if not new.any():
            return self.coordinates.canonical(moved)[None]
        several = np.repeat(moved[None], len(_APPEARING), axis=0)
        for b, share in enumerate(_APPEARING):
            for j in np.flatnonzero(new):
                several[b, r, j] = self._at(int(j), share)
        return np.stack([self.coordinates.canonical(each) for each in several])

    def _at(self, j: int, share: float) -> float:
        """The code at a share of a coordinate's range."""
        low, high, axis = float(self.low[j]), float(self.high[j]), self.axes[j]
        if axis.log:
            found = float(np.clip(low * np.exp(share * np.log(high / low)), low, high))
        else:
            found = low + share * (high - low)
        return found if axis.kind == "real" else float(np.clip(np.round(found), np.ceil(low), np.floor(high)))


def _along_simplex(parts: Array, gradient: Array, low: Array, high: Array) -> Array:
    """The gradient with the sum held: the mean of those that are free is taken off; at an end only what leads inwards
    is free."""

    def mean(free: Mask) -> Array:
        count = np.maximum(free.sum(axis=-1, keepdims=True), 1)
        return np.asarray(np.where(free, gradient, 0.0).sum(axis=-1, keepdims=True) / count)

    inside = (parts > low) & (parts < high)
    inwards = gradient - mean(inside)
    free = inside | ((parts <= low) & (inwards > 0.0)) | ((parts >= high) & (inwards < 0.0))
    return np.where(free, gradient - mean(free), 0.0)
