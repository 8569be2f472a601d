"""What is believed of which tasks are alike: weighted clusterings, each with its posterior."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.beliefs.partitions.partition import Partition, tidy
from gainful.inference.belief import Belief
from gainful.inference.posterior import Posterior
from gainful.instruments.base import Instrument

__all__ = ["TaskBelief", "as_clusters", "as_text", "from_text"]

Array = NDArray[np.float64]

_SURE, _LIKELY = 0.9, 0.5


def as_clusters(clustering: Partition) -> tuple[int, ...]:
    """The number of each task's cluster.

    >>> as_clusters(((0, 2), (1,)))
    (0, 1, 0)
    """
    number = {task: n for n, block in enumerate(clustering) for task in block}
    return tuple(number[task] for task in sorted(number))


def as_text(clustering: Partition) -> str:
    """A clustering as a journal writes it.

    >>> as_text(((0, 2), (1,)))
    '0 1 0'
    """
    return " ".join(map(str, as_clusters(clustering)))


def from_text(text: str) -> Partition:
    """What `as_text` wrote.

    >>> from_text("0 1 0")
    ((0, 2), (1,))
    """
    blocks: dict[int, list[int]] = {}
    for task, cluster in enumerate(text.split()):
        blocks.setdefault(int(cluster), []).append(task)
    return tidy(list(blocks.values()))


@dataclass(frozen=True, init=False, eq=False, repr=False)
class TaskBelief(Belief):
    """Clusterings of tasks with weights, and everything that a belief of several posteriors has.

    `clusterings` has one for each posterior, by the positions of the tasks in `names`. `models` has a number for each.
    `last` is where the chain ended.
    """

    clusterings: tuple[Partition, ...]
    names: tuple[str, ...]
    last: Partition

    def __init__(
        self,
        posteriors: Sequence[Posterior],
        weights: ArrayLike,
        instruments: Sequence[Mapping[str, Instrument]],
        clusterings: Sequence[Partition],
        names: Sequence[str],
        last: Partition,
    ) -> None:
        super().__init__(posteriors, weights, instruments, range(len(posteriors)))
        object.__setattr__(self, "clusterings", tuple(clusterings))
        object.__setattr__(self, "names", tuple(names))
        object.__setattr__(self, "last", last)

    def __repr__(self) -> str:
        leading, share = next(iter(self.structures.items()))
        return f"TaskBelief({len(self.clusterings)} clusterings, {leading} {share:.0%})"

    @cached_property
    def structures(self) -> dict[str, float]:
        """The probability of each clustering, the most probable first; tasks that are alike are joined by ·."""
        found: dict[str, float] = {}
        for clustering, weight in zip(self.clusterings, self.weights.tolist(), strict=True):
            text = " | ".join("·".join(self.names[task] for task in block) for block in clustering)
            found[text] = found.get(text, 0.0) + weight
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    @cached_property
    def together(self) -> Array:
        """The probability that two tasks share a cluster, (T, T); 1 along the diagonal."""
        clusters = np.array([as_clusters(each) for each in self.clusterings])
        out = np.einsum("s,sij->ij", self.weights, clusters[:, :, None] == clusters[:, None, :])
        np.fill_diagonal(out, 1.0)
        return np.minimum(out, 1.0)

    def describe(self) -> str:
        """In words: which tasks are alike, which are like no other, and how sure that is."""
        lines = [self._of_block(block) for block in linked(self.together, _LIKELY)]
        return "\n".join(sorted(lines, key=lambda line: "no other" in line))

    def _of_block(self, block: tuple[int, ...]) -> str:
        """A line about tasks of which each is probably like another: whether all of them are alike, or one alone."""
        several = len(block) > 1
        held = [set(block) <= set(_own(c, block[0])) if several else block in c for c in self.clusterings]
        probability = float(self.weights @ np.array(held, dtype=float))
        names = [self.names[task] for task in block]
        who = f"{', '.join(names[:-1])} and {names[-1]}" if several else names[0]
        sure = "are" if several else "is"
        verb = sure if probability >= _SURE else "may be"
        return f"{who} {verb} {'alike' if several else 'like no other'} ({100.0 * probability:.0f} %)."


def _own(clustering: Partition, task: int) -> tuple[int, ...]:
    """The cluster of a task."""
    return next(block for block in clustering if task in block)


def linked(together: Array, least: float) -> Partition:
    """Tasks in groups, in which each is together with another with at least this probability.

    >>> linked(np.array([[1.0, 0.9, 0.1], [0.9, 1.0, 0.2], [0.1, 0.2, 1.0]]), 0.5)
    ((0, 1), (2,))
    """
    groups: list[set[int]] = []
    for task in range(len(together)):
        near = {task, *np.flatnonzero(together[task] >= least).tolist()}
        touched = [group for group in groups if group & near]
        groups = [group for group in groups if not group & near] + [near.union(*touched)]
    return tidy([sorted(group) for group in groups])
