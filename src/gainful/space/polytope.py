"""Places within linear limits, however thin the set is: hit-and-run from its middle (Smith 1984).

Real coordinates walk; whole numbers and categories are drawn, and those draws are kept for which some place remains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from gainful.space.constraints import LinearLimit

__all__ = ["Polytope"]

Array = NDArray[np.float64]

_BETWEEN = 8  # steps between two places that are kept, for each coordinate
_DISCRETE = 200  # draws of what cannot walk


@dataclass(frozen=True, eq=False)
class Polytope:
    """{x : low ≤ x ≤ high, A x ≤ b, E x = e} for the coordinates that can `walk`, the others drawn by `draw`."""

    space: Any  # what draws, a Space
    low: Array
    high: Array
    A: Array
    b: Array
    E: Array
    e: Array
    moves: NDArray[np.bool_]

    @staticmethod
    def of(space: Any, low: Array, high: Array, limits: Sequence[LinearLimit]) -> Polytope:
        """The part of a space between two ends that limits leave."""
        rows, ends = [np.zeros((0, len(low)))], [np.zeros(0)]
        for limit in limits:
            w, (least, most) = limit.vector(space.names), limit.ends
            for sign, end in ((1.0, most), (-1.0, -least)):
                if np.isfinite(end):
                    rows.append(sign * w[None])
                    ends.append(np.array([end]))
        sums = np.zeros((len(space.mixtures), len(low)))
        for i, mixture in enumerate(space.mixtures):
            sums[i, list(mixture.columns)] = 1.0
        moves = np.array([axis.kind == "real" for axis in space.coordinates.axes]) & (low < high)
        totals = np.array([mixture.total for mixture in space.mixtures])
        return Polytope(space, low, high, np.concatenate(rows), np.concatenate(ends), sums, totals, moves)

    def walk(self, n: int, rng: np.random.Generator) -> Array:
        """n places, spread over the polytope by chance; none where it is empty."""
        drawn = self._discrete(rng)
        starts = [start for row in drawn if (start := self._middle(row)) is not None]
        if not starts or not n:
            return np.zeros((0, len(self.low)))
        each = -(-n // len(starts))
        found = np.concatenate([self._from(start, each, rng) for start in starts])
        return np.asarray(found[np.sort(rng.permutation(len(found))[:n])])

    def _discrete(self, rng: np.random.Generator) -> Array:
        """Draws of the coordinates that do not walk."""
        if self.moves.all():
            return self.low[None]
        drawn = self.space.draw(_DISCRETE, rng, self.low, self.high)
        return drawn[np.sort(np.unique(drawn[:, ~self.moves], axis=0, return_index=True)[1])]

    def _walks(self, row: Array) -> NDArray[np.bool_]:
        """Which coordinates walk where the others are as in this row: not those that are absent."""
        return self.moves & self.space.coordinates.active(row[None])[0]

    def _middle(self, row: Array) -> Array | None:
        """The centre of the largest ball in the polytope (Boyd & Vandenberghe 2004, sec. 8.5.1), or None."""
        on = self._walks(row)
        held = np.where(self.space.coordinates.active(row[None])[0] & ~on, row, 0.0)
        width = np.where(on, self.high - self.low, 1.0)[on]
        if not on.any():
            inside = np.all(self.A @ held <= self.b + 1e-12 * (np.abs(self.A) @ np.abs(held)))
            return row if inside else None
        # Coordinates in units of their range, t; a ball of radius r fits if a·t + |a| r ≤ b for every face.
        A = np.concatenate([self.A[:, on] * width, np.eye(on.sum()), -np.eye(on.sum())])
        b = np.concatenate(
            [self.b - self.A @ held - self.A[:, on] @ self.low[on], np.ones(on.sum()), np.zeros(on.sum())]
        )
        sums = self.E[:, on] * width
        totals = self.e - self.E @ held - self.E[:, on] @ self.low[on]
        size = np.linalg.norm(A, axis=1, keepdims=True)
        solved = linprog(
            np.append(np.zeros(on.sum()), -1.0),
            A_ub=np.concatenate([A, size], axis=1),
            b_ub=b,
            A_eq=np.concatenate([sums, np.zeros((len(sums), 1))], axis=1) if len(sums) else None,
            b_eq=totals if len(sums) else None,
            bounds=[(None, None)] * int(on.sum()) + [(0.0, None)],
        )
        if solved.status != 0 or solved.x is None or solved.x[-1] <= 0.0:
            return None
        out = row.copy()
        out[on] = self.low[on] + width * solved.x[:-1]
        return out

    def _from(self, start: Array, n: int, rng: np.random.Generator) -> Array:
        """n places by hit-and-run: a direction by chance, and any place on the chord through it."""
        on = self._walks(start)
        if not on.any():
            return start[None]
        width = (self.high - self.low)[on]
        flat = _null_space(self.E[:, on] * width)
        x, out = start.copy(), np.empty((n, len(start)))
        for i in range(n):
            for _ in range(_BETWEEN * int(on.sum())):
                step = np.zeros(len(start))
                step[on] = width * (flat @ rng.normal(size=flat.shape[1]))
                x = x + step * rng.uniform(*self._chord(x, step))
            out[i] = np.clip(x, self.low, self.high)
        return out

    def _chord(self, x: Array, step: Array) -> tuple[float, float]:
        """How far the step may be taken backwards and forwards."""
        there = self.space.coordinates.active(x[None])[0]
        room = np.concatenate([self.b - self.A @ np.where(there, x, 0.0), self.high - x, x - self.low])
        rate = np.concatenate([self.A @ step, step, -step])
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.maximum(room, 0.0) / np.abs(rate)
        return -float(np.min(reach[rate < 0.0], initial=np.inf)), float(np.min(reach[rate > 0.0], initial=np.inf))


def _null_space(E: Array) -> Array:
    """Directions along which E x stays as it is, as columns."""
    if not len(E):
        return np.eye(E.shape[1])
    _, s, V = np.linalg.svd(E)
    return np.asarray(V[int(np.sum(s > 1e-12 * s.max())) :].T)
