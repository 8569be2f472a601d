"""A Markov chain over which tasks are alike, given the answers: Gibbs sampling of the cluster of each task in turn.

    state = init(target, clustering)
    state, info = step(state, target, rng)

A step is a sweep. Every task, in an order drawn anew, leaves its cluster and joins one of those that are left, or
begins one of its own, with probability in proportion to p(clustering) p(answers | clustering). Then two clusters may
merge or one may split, by Metropolis and Hastings: one task at a time seldom crosses from two large clusters to one.
The sweep is algorithm 3 of Neal 2000, with the function of a cluster integrated out.
Both keep the posterior, if the evidence is a function of the clustering alone: each is worked out once and kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from math import lgamma, log
from typing import Protocol

import numpy as np

from gainful.beliefs.partitions.partition import Partition, log_ways, proposed, tidy

__all__ = ["PRIORS", "Explains", "Info", "State", "Target", "init", "log_prior", "step"]

PRIORS = ("restaurant", "uniform")


class Explains(Protocol):
    """Answers that clusterings of the tasks are to explain."""

    @property
    def tasks(self) -> int: ...

    def log_evidence(self, clustering: Partition) -> float: ...


def log_prior(clustering: Partition, prior: str, concentration: float) -> float:
    """log p(clustering): "uniform", all as probable; "restaurant", Chinese restaurant process, α^K Π (n_k − 1)! up to
    its constant Γ(α)/Γ(α + T), where two tasks are together with probability 1/(1 + α).

    >>> round(float(np.exp(log_prior(((0, 1),), "restaurant", 1.0))), 12)
    0.5
    """
    tasks = sum(map(len, clustering))
    if prior == "uniform":
        return -float(np.logaddexp.reduce(log_ways(tasks)))
    sizes = sum(lgamma(len(block)) for block in clustering)
    return len(clustering) * log(concentration) + sizes + lgamma(concentration) - lgamma(concentration + tasks)


@dataclass(eq=False)
class Target:
    """p(clustering) p(answers | clustering), each worked out once."""

    answers: Explains
    prior: str = "restaurant"
    concentration: float = 1.0
    found: dict[Partition, float] = field(default_factory=dict)

    def log_density(self, clustering: Partition) -> float:
        """log p(clustering) p(answers | clustering)."""
        if clustering not in self.found:
            prior = log_prior(clustering, self.prior, self.concentration)
            self.found[clustering] = prior + self.answers.log_evidence(clustering)
        return self.found[clustering]


@dataclass(frozen=True)
class State:
    """Where the chain is, and log p(clustering) p(answers | clustering) there."""

    clustering: Partition
    log_density: float


@dataclass(frozen=True)
class Info:
    """How many tasks changed their cluster in a sweep, whether a split or a merge was accepted, and of how many
    clusterings the evidence is known by now."""

    moved: int
    accepted: bool
    known: int


def init(target: Target, clustering: Partition) -> State:
    """A chain that begins with this clustering."""
    return State(clustering, target.log_density(clustering))


def step(state: State, target: Target, rng: np.random.Generator) -> tuple[State, Info]:
    """One sweep over all tasks, and a split or a merge."""
    moved = 0
    for task in rng.permutation(target.answers.tasks).tolist():
        new = _drawn(state, task, target, rng)
        moved += new.clustering != state.clustering
        state = new
    there, ratio = proposed(state.clustering, rng)
    density = target.log_density(there)
    accepted = there != state.clustering and log(1.0 - rng.random()) < density - state.log_density + ratio
    return (State(there, density) if accepted else state), Info(moved, accepted, len(target.found))


def _drawn(state: State, task: int, target: Target, rng: np.random.Generator) -> State:
    """The cluster of one task drawn from its conditional distribution given all others'."""
    ways = _ways(state.clustering, task)
    logs = np.array([target.log_density(each) for each in ways])
    below = np.cumsum(np.exp(logs - logs.max()))
    at = int(np.searchsorted(below, rng.random() * below[-1], side="right"))
    return State(ways[at], float(logs[at]))


@lru_cache(maxsize=4096)
def _ways(here: Partition, task: int) -> tuple[Partition, ...]:
    """The clusterings in which all other tasks are as they are, in the one order that they always have."""
    left = [tuple(i for i in block if i != task) for block in here]
    others = [block for block in left if block]
    joined = [[*others[:n], (*block, task), *others[n + 1 :]] for n, block in enumerate(others)]
    return tuple(tidy(each) for each in (*joined, [*others, (task,)]))
