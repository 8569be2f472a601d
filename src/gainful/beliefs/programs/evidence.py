"""log p(answers | program) of many programs at once, where the answers are numbers.

Answers stand in the order in which they are counted on, so that the evidence of the first of them comes with that of
all. Programs are shared out to two threads; each has its own row of the result, so the result does not depend on it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainful.beliefs.programs.grammar import Grammar
from gainful.beliefs.programs.guide import Guide, by_periodogram
from gainful.beliefs.programs.population import Population

__all__ = ["Numbers", "Slopes", "covariances"]

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

_SAME = 2.0**-40  # of the range: distances nearer than this are one
_WORTH = 3000  # programs times answers from which on a second thread pays


class Slopes(NamedTuple):
    """Log evidences (k,), and their derivatives in the shares of the numbers (k, m, 2) and of the noises (k, j)."""

    value: Array
    shares: Array
    noise: Array


class _Distances(NamedTuple):
    """The distances that occur in each column, one after the other, where each column's begin, and for each pair of
    places (d, n(n + 1)/2) which of them is theirs."""

    values: Array
    begins: Codes
    which: NDArray[np.int32]


def _distances(X: Array) -> _Distances:
    n, columns = X.shape
    below = np.tril_indices(n)
    values, begins, which = [], [0], np.zeros((columns, len(below[0])), dtype=np.int32)
    for d in range(columns):
        apart = np.abs(X[below[0], d] - X[below[1], d])
        step = _SAME * max(float(np.ptp(X[:, d])) if n else 0.0, np.finfo(float).tiny)
        _, first, which[d] = np.unique(np.round(apart / step), return_index=True, return_inverse=True)
        values.append(apart[first])
        begins.append(begins[-1] + len(first))
    return _Distances(np.concatenate(values), np.array(begins), which)


@dataclass(frozen=True, eq=False)
class Numbers:
    """Readings y (n,) at places X (n, d), each with a known variance of its noise and, where own ≥ 0, one of the
    program's noises besides."""

    X: Array
    y: Array
    fixed: Array
    own: Codes
    has_slopes: ClassVar[bool] = True

    def __len__(self) -> int:
        return len(self.y)

    @cached_property
    def _seen(self) -> _Distances:
        return _distances(self.X)

    def guide(self, grammar: Grammar, count: int) -> Guide:
        """By the periodogram of the first of them."""
        prior = grammar.prior("PER", "period")
        return by_periodogram(self.X[:count], self.y[:count], np.vectorize(prior.share, otypes=[float]))

    @cached_property
    def _firsts(self) -> dict[int, Numbers]:
        return {len(self): self}

    def first(self, n: int) -> Numbers:
        """The first n of them, each time the same value, which knows its distances."""
        if n not in self._firsts:
            self._firsts[n] = Numbers(self.X[:n], self.y[:n], self.fixed[:n], self.own[:n])
        return self._firsts[n]

    def log_evidence(
        self, grammar: Grammar, population: Population, ends: Sequence[int], shares: Sequence[float],
        rows: NDArray[np.intp] | None = None,
    ) -> Array:  # fmt: skip
        """Σ_e shares_e log p(the first ends_e answers | program), (k,); of some rows, the others are −inf."""
        return self._evaluated(grammar, population, ends, shares, rows, sloped=False).value

    def slopes(self, grammar: Grammar, population: Population, ends: Sequence[int], shares: Sequence[float]) -> Slopes:
        """The same with its derivatives."""
        return self._evaluated(grammar, population, ends, shares, None, sloped=True)

    def _evaluated(
        self, grammar: Grammar, population: Population, ends: Sequence[int], shares: Sequence[float],
        rows: NDArray[np.intp] | None, sloped: bool,
    ) -> Slopes:  # fmt: skip
        from gainful.beliefs.programs.compiled import evidence_rows  # Numba takes half a second to import

        k = len(population)
        some = np.arange(k) if rows is None else rows
        used = self.first(max(ends, default=0))
        numbers, noise = grammar.numbers(population), grammar.noises(population)
        value = np.zeros(k) if rows is None else np.full(k, -np.inf)
        by_number, by_noise = np.zeros_like(numbers), np.zeros_like(noise)
        if not len(used):
            value[some] = 0.0
            return Slopes(value, by_number, by_noise)
        given = [(e, s) for e, s in zip(ends, shares, strict=True) if e > 0]
        order = np.argsort([e for e, _ in given], kind="stable")
        ends_, shares_ = (np.array([given[i][j] for i in order]) for j in (0, 1))

        def work(mine: NDArray[np.intp]) -> None:
            evidence_rows(
                mine, population.symbols, numbers, population.columns, noise, used.own, used.fixed, used.X, used.y,
                *used._seen, ends_, shares_.astype(float), value, by_number, by_noise, sloped,
            )  # fmt: skip

        _shared_out(work, some, len(some) * len(used))
        if sloped:
            in_number, in_noise = grammar.slopes(population, numbers, noise)
            by_number, by_noise = by_number * in_number, by_noise * in_noise
        return Slopes(value, by_number, by_noise)


def covariances(grammar: Grammar, population: Population, X: Array) -> Array:
    """K of every program, (k, n, n)."""
    from gainful.beliefs.programs.compiled import triangle_rows

    n, seen = len(X), _distances(X)
    below = np.zeros((len(population), n * (n + 1) // 2))
    triangle_rows(population.symbols, grammar.numbers(population), population.columns, X, *seen, below)
    out = np.zeros((len(population), n, n))
    p, q = np.tril_indices(n)
    out[:, p, q], out[:, q, p] = below, below
    return out


@cache
def _threads() -> ThreadPoolExecutor | None:
    """As many threads as there are cores for this process; None for one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    return ThreadPoolExecutor(cores, thread_name_prefix="programs") if cores > 1 else None


if hasattr(os, "register_at_fork"):  # threads do not go along with a fork: a child would wait for its parent's for ever
    os.register_at_fork(after_in_child=_threads.cache_clear)


def _shared_out(work, rows: NDArray[np.intp], size: int) -> None:  # type: ignore[no-untyped-def]
    """The work on all rows, on several threads where it is worth it. Large programs are spread evenly."""
    pool = _threads() if size >= _WORTH else None
    if pool is None:
        work(rows)
        return
    count = pool._max_workers
    for done in [pool.submit(work, rows[i::count]) for i in range(count)]:
        done.result()
