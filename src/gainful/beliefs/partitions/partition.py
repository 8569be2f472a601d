"""Partitions of dimensions into blocks, and a chain over them that splits and merges blocks.

A chain at a partition with m blocks, s of them of two dimensions or more, splits with probability q or merges with
1 − q: a half each, except where only one of both is possible. It splits one of the s blocks, all as probable, into one
of its 2^(k−1) − 1 pairs of parts, all as probable; it merges any two blocks. So

    g(M′ | M) = q(M)/(s (2^(k−1) − 1)) for a split,   g(M | M′) = (1 − q(M′))/C(m + 1, 2) for the way back

and Hastings' ratio has both (Gardner 2018, sec. 5.3, which leaves it out and counts 2^(k−1) parts).

A second kind of step takes one dimension, any, to another block or to one of its own, all as probable. There are as
many ways there as other blocks, and one more where it is not alone: the ratio has that number of both partitions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from math import comb, log
from typing import NamedTuple

import numpy as np

__all__ = [
    "Move", "Partition", "all_partitions", "alone", "at_random", "log_proposal", "log_ways", "moved_one",
    "proposed", "tidy", "together",
]  # fmt: skip

Partition = tuple[tuple[int, ...], ...]


class Move(NamedTuple):
    """Where a chain may go, and log g(back)/g(there)."""

    partition: Partition
    log_ratio: float


def tidy(blocks: Sequence[Sequence[int]]) -> Partition:
    """Blocks in the one order that equal partitions share.

    >>> tidy([[3, 1], [0], [2]])
    ((0,), (1, 3), (2,))
    """
    return tuple(sorted(tuple(sorted(int(i) for i in block)) for block in blocks))


def together(dimensions: int) -> Partition:
    """All dimensions in one block."""
    return (tuple(range(dimensions)),)


def alone(dimensions: int) -> Partition:
    """Each dimension in a block of its own."""
    return tuple((i,) for i in range(dimensions))


def all_partitions(dimensions: int) -> Iterator[Partition]:
    """Every partition once: 1, 2, 5, 15, 52, 203, … of them.

    >>> [len(list(all_partitions(d))) for d in range(1, 7)]
    [1, 2, 5, 15, 52, 203]
    """

    def grown(partition: list[list[int]], i: int) -> Iterator[Partition]:
        if i == dimensions:
            yield tidy(partition)
            return
        for n in range(len(partition)):
            yield from grown([*partition[:n], [*partition[n], i], *partition[n + 1 :]], i + 1)
        yield from grown([*partition, [i]], i + 1)

    yield from grown([], 0)


def _splits(partition: Partition) -> float:
    """The probability that the next proposal is a split."""
    if len(partition) == 1:
        return 1.0 if len(partition[0]) > 1 else 0.0
    return 0.5 if any(len(block) > 1 for block in partition) else 0.0


def _log_split(partition: Partition, size: int) -> float:
    """log g of one split of a block of this size."""
    large = sum(len(block) > 1 for block in partition)
    return log(_splits(partition)) - log(large) - log(2 ** (size - 1) - 1)


def _log_merge(partition: Partition) -> float:
    """log g of one merge of two blocks."""
    return log(1.0 - _splits(partition)) - log(comb(len(partition), 2))


def log_proposal(there: Partition, here: Partition) -> float:
    """log g(there | here); −inf where one step does not lead there."""
    gone, new = set(here) - set(there), set(there) - set(here)
    if len(gone) == 1 and len(new) == 2 and set().union(*new) == set(*gone):
        return _log_split(here, len(next(iter(gone))))
    if len(gone) == 2 and len(new) == 1 and set().union(*gone) == set(*new):
        return _log_merge(here)
    return -float("inf")


def proposed(here: Partition, rng: np.random.Generator) -> Move:
    """A split or a merge; a partition of one dimension stays."""
    if len(here) == 1 and len(here[0]) == 1:
        return Move(here, 0.0)
    if rng.random() < _splits(here):
        large = [n for n, block in enumerate(here) if len(block) > 1]
        block = here[n := large[int(rng.integers(len(large)))]]
        # The first dimension stays in the first part; of the others any but all go with it.
        code = int(rng.integers(2 ** (len(block) - 1) - 1))
        first = [block[0], *(i for bit, i in enumerate(block[1:]) if code >> bit & 1)]
        second = [i for i in block if i not in first]
        there = tidy([*here[:n], first, second, *here[n + 1 :]])
        return Move(there, _log_merge(there) - _log_split(here, len(block)))
    pairs = list(combinations(range(len(here)), 2))
    a, b = pairs[int(rng.integers(len(pairs)))]
    joined = (*here[a], *here[b])
    there = tidy([*(block for n, block in enumerate(here) if n not in (a, b)), joined])
    return Move(there, _log_split(there, len(joined)) - _log_merge(here))


def moved_one(here: Partition, rng: np.random.Generator) -> Move:
    """One dimension goes to another block, or to one of its own."""
    dimensions = sum(map(len, here))
    if dimensions == 1:
        return Move(here, 0.0)
    i = int(rng.integers(dimensions))
    own = next(block for block in here if i in block)
    others = [block for block in here if block != own]
    ways = len(others) + (len(own) > 1)
    chosen = int(rng.integers(ways))
    left = [tuple(d for d in own if d != i)] if len(own) > 1 else []
    if chosen == len(others):
        return Move(tidy([*others, *left, (i,)]), log(ways) - log(len(others) + 1))
    target = others[chosen]
    there = tidy([*(block for block in others if block != target), *left, (*target, i)])
    return Move(there, log(ways) - log(len(there)))


def at_random(dimensions: int, rng: np.random.Generator) -> Partition:
    """Any partition, all as probable: every dimension falls into one of K boxes, P(K) ∝ K^d/K! (Stam 1983)."""
    K = np.arange(1, 4 * dimensions + 20)
    logs = dimensions * np.log(K) - np.cumsum(np.log(K))
    chance = np.exp(logs - logs.max())
    boxes = rng.integers(int(rng.choice(K, p=chance / chance.sum())), size=dimensions)
    return tidy([np.flatnonzero(boxes == box).tolist() for box in np.unique(boxes)])


@lru_cache
def log_ways(dimensions: int) -> tuple[float, ...]:
    """The logarithm of how many partitions have 0, 1, …, d blocks: Stirling numbers of the second kind.

    >>> [round(float(np.exp(each))) for each in log_ways(4)]
    [0, 1, 7, 6, 1]
    """
    row = [1]
    for _ in range(dimensions):
        row = [0, *(j * row[j] + row[j - 1] for j in range(1, len(row))), 1]
    return tuple(log(each) if each else -float("inf") for each in row)
