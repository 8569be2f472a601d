"""Cholesky, solves and the inverse by tiles, as tasks on workers.

    L_ij = (B_ij − Σ_{k<j} L_ik L_jkᵀ) L_jj⁻ᵀ         left-looking: B is worked out tile by tile and never kept
    W = L⁻¹,   B⁻¹_ij = Σ_{k ≥ i} W_kiᵀ W_kj          for the gradient, which meets each tile once and lets it go

Row i of L, and column i of W, are with one worker. In step j one row of L (or column of W) goes to all workers as one
value, and is let go with the step after the next: so a worker holds its share of the tiles and a few such rows, never
more. Each step is N/tile tasks at most; the scheduling process sends the next while the last is worked on, and sees
nothing but futures, N numbers of α, and the sums of the gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gainful.inference.engines import tile_tasks as do
from gainful.inference.engines.base import Readings
from gainful.inference.engines.workers import Tasks
from gainful.kernels.base import Kernel

__all__ = ["Factored", "factored"]

Array = NDArray[np.float64]
Future = Any

_AHEAD = 2  # steps that are sent before the first of them is done


@dataclass(frozen=True, eq=False)
class Factored:
    """B = L Lᵀ on workers: `rows` are the tiles of L, L_i0, …, L_ii; `blocks` are places with their noise."""

    tasks: Tasks
    kernel: Future
    blocks: list[Future]
    rows: list[list[Future]]
    cuts: list[slice] = field(repr=False)
    jitter: float = 0.0

    def log_det(self) -> float:
        """log|B|."""
        parts = [self.tasks.submit(do.log_diagonal, row[-1], row=i) for i, row in enumerate(self.rows)]
        return 2.0 * float(sum(self.tasks.gather(parts)))

    def solve(self, right: Array) -> Array:
        """B⁻¹ r, (N,)."""
        half: list[Future] = []
        for i, row in enumerate(self.rows):
            own = right[self.cuts[i]]
            half.append(self.tasks.submit(do.forward, own, row, list(half), row=i))
        after, found = None, list[Future]()
        for i in reversed(range(len(self.rows))):
            after = self.tasks.submit(do.backward, half[i], self.rows[i], after, row=i)
            found.append(self.tasks.submit(do.alpha_of, after, row=i))
        return np.concatenate(self.tasks.gather(found[::-1]))

    def squares(self, X: Array) -> Array:
        """‖L⁻¹ k(·, x)‖² for each place, (M,)."""
        return self._summed(X, lambda half, before: (do.squares, half, before))

    def products(self, X: Array, Z: Array) -> Array:
        """k(X, ·) B⁻¹ k(·, Z), (M, L)."""
        return self._summed(np.concatenate([X, Z]), lambda half, before: (do.products, half, len(X), before))

    def _summed(self, X: Array, task: Callable[[Future, Future | None], tuple[Any, ...]]) -> Array:
        """A sum over the rows of L⁻¹ k(·, X)."""
        halves, total = list[Future](), None
        with self.tasks.unless_interrupted(keep=True):
            places = self.tasks.submit(do.given, X, row=0)
            for i, row in enumerate(self.rows):
                given = (self.kernel, self.blocks[i], places, row, list(halves))
                halves.append(self.tasks.submit(do.forward_kernel, *given, row=i))
                total = self.tasks.submit(*task(halves[-1], total), row=i)
            return np.asarray(self.tasks.gather([total])[0])

    def pulled(self, alpha: Array, keep: bool) -> tuple[Array, Array]:
        """The gradient of the log evidence in the kernel's theta, (P,), and the diagonal of B⁻¹, (N,).

        L gives way to its inverse row by row, unless it is to be kept; a worker then holds twice its share.
        """
        count, size = len(self.rows), len(self.cuts)
        columns: list[list[Future]] = [[] for _ in range(count)]
        steps = _Steps(self.tasks)
        for i in range(count):
            whole = self.tasks.submit(do.together, *self.rows[i], row=i, order=i)
            if not keep:
                self.rows[i].clear()
            for j in range(i + 1):
                columns[j].append(self.tasks.submit(do.inverse_tile, whole, columns[j][:], row=j, order=i))
            steps.sent([column[-1] for column in columns[: i + 1]])
        steps.end()
        alphas = [self.tasks.submit(do.given, alpha[cut], row=i) for i, cut in enumerate(self.cuts)]
        total, diagonal = 0.0, []
        for parts in _ahead(self._contracted(columns, alphas, j, size + j) for j in range(count)):
            (first, own), *others = self.tasks.gather(parts)
            total = sum(others, total + first)
            diagonal.append(own)
        return np.asarray(total), np.concatenate(diagonal)

    def _contracted(self, columns: list[list[Future]], alphas: list[Future], j: int, order: int) -> list[Future]:
        """Column j of B⁻¹ met with the kernel's slopes: a part of the gradient from each tile."""
        ours, submit = columns[j], self.tasks.submit
        out = [submit(do.pulled_corner, self.kernel, self.blocks[j], alphas[j], ours[:], row=j, order=order)]
        whole = submit(do.together, *ours, row=j, order=order)
        for i in range(j + 1, len(columns)):
            pair = [alphas[i], alphas[j]]
            given = (self.kernel, self.blocks[i], self.blocks[j], pair, columns[i][:], whole)
            out.append(submit(do.pulled, *given, row=i, order=order))
        columns[j] = []  # no later column needs it
        return out


def factored(tasks: Tasks, kernel: Kernel, readings: Readings, tile: int, jitter: float) -> Factored:
    """The Cholesky factor of K + diag(noise), by columns of tiles; NotPositive where there is none."""
    N = len(readings.X)
    cuts = [slice(i, min(i + tile, N)) for i in range(0, N, tile)]
    everywhere = tasks.submit(do.given, kernel, row=0)
    parts = [do.Block(readings.X[cut], readings.noise[cut]) for cut in cuts]
    blocks = [tasks.submit(do.given, part, row=i) for i, part in enumerate(parts)]
    rows: list[list[Future]] = [[] for _ in cuts]
    steps = _Steps(tasks)
    for j in range(len(cuts)):
        corner = tasks.submit(do.corner, everywhere, blocks[j], rows[j][:], jitter, row=j, order=j - 0.5)
        across = tasks.submit(do.together, *rows[j], row=j, order=j)
        rows[j].append(corner)
        for i in range(j + 1, len(cuts)):
            given = (everywhere, blocks[i], blocks[j], rows[i][:], across)
            found = tasks.submit(do.rest, *given, row=i, order=j)
            rows[i].append(tasks.submit(do.below, found, corner, row=i, order=j))
        steps.sent([row[j] for row in rows[j:]])
    steps.end()
    return Factored(tasks, everywhere, blocks, rows, cuts, jitter)


class _Steps:
    """Steps that were sent and not yet waited for: a few, so that what they pass around does not pile up."""

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self._open: list[Sequence[Future]] = []

    def sent(self, futures: Sequence[Future]) -> None:
        self._open.append(futures)
        if len(self._open) > _AHEAD:
            self._tasks.wait(self._open.pop(0))

    def end(self) -> None:
        while self._open:
            self._tasks.wait(self._open.pop(0))


def _ahead(sent: Iterator[list[Future]]) -> Iterator[list[Future]]:
    """The same, each a few steps after it was sent."""
    waiting: list[list[Future]] = []
    for futures in sent:
        waiting.append(futures)
        if len(waiting) > _AHEAD:
            yield waiting.pop(0)
    yield from waiting
