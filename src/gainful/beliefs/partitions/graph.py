"""Graphs of interactions: a term for each dimension alone, and one for each pair that is joined by an edge.

    k = Σ_i k_i(x_i) + Σ_(i, j) in E k_ij(x_i, x_j)

Groups may overlap here, as Gardner 2018, sec. 5.6, asks for. A step adds or removes an edge, any pair as probable, or
puts one edge in the place of another; both ways are as probable, so that Hastings' ratio is one.
"""

from __future__ import annotations

from itertools import combinations
from math import comb, log

import numpy as np

from gainful.beliefs.partitions.partition import Move, Partition, alone
from gainful.kernels.additive import Terms

__all__ = ["edges_of", "graph_of", "is_graph", "is_partition", "log_graph_prior", "other_form", "stepped"]

_MORE = 0.7  # the probability of one more edge beside that of as many as there are
_MOST = 15  # edges of a graph that may become a partition at one step, or come from one


def graph_of(edges: set[tuple[int, int]], dimensions: int) -> Terms:
    """The terms of a graph: dimensions alone, then its edges."""
    return (*alone(dimensions), *sorted(edges))


def edges_of(terms: Terms) -> set[tuple[int, int]]:
    """The edges of a graph, given its terms."""
    return {(term[0], term[1]) for term in terms if len(term) == 2}


def is_partition(terms: Terms) -> bool:
    """Whether no dimension is in two terms."""
    return sum(map(len, terms)) == len(set().union(*terms))


def is_graph(terms: Terms) -> bool:
    """Whether every dimension has a term of its own, and the others are pairs."""
    return {d for term in terms for d in term} == {term[0] for term in terms if len(term) == 1} and max(
        map(len, terms)
    ) <= 2


def stepped(here: Terms, dimensions: int, rng: np.random.Generator) -> Move:
    """An edge more, an edge less, or another one in the place of one."""
    edges, pairs = edges_of(here), list(combinations(range(dimensions), 2))
    if not pairs:
        return Move(here, 0.0)
    if rng.random() < 0.5:
        edges ^= {pairs[int(rng.integers(len(pairs)))]}
    elif 0 < len(edges) < len(pairs):
        gone, free = sorted(edges), [pair for pair in pairs if pair not in edges]
        edges ^= {gone[int(rng.integers(len(gone)))], free[int(rng.integers(len(free)))]}
    return Move(graph_of(edges, dimensions), 0.0)


def log_graph_prior(terms: Terms, dimensions: int) -> float:
    """log p(graph): the number of edges is geometric, and all graphs with as many are as probable."""
    pairs = comb(dimensions, 2)
    logs = [k * log(_MORE) for k in range(pairs + 1)]
    k = len(edges_of(terms))
    return logs[k] - float(np.logaddexp.reduce(logs)) - log(comb(pairs, k))


def other_form(here: Terms, dimensions: int) -> Terms:
    """The graph in which the dimensions of a block are joined with each other, or from such a graph the partition; what
    has no other form stays as it is."""
    if is_graph(here):
        edges = edges_of(here)
        blocks = _components(edges, dimensions)
        complete = {pair for block in blocks for pair in combinations(block, 2)}
        return blocks if complete == edges and len(edges) <= _MOST else here
    edges = {(a, b) for block in here for a, b in combinations(block, 2)}
    return graph_of(edges, dimensions) if len(edges) <= _MOST else here


def _components(edges: set[tuple[int, int]], dimensions: int) -> Partition:
    """Which dimensions are joined, directly or over others."""
    block = list(range(dimensions))
    for a, b in sorted(edges):
        old, new = block[b], block[a]
        block = [new if each == old else each for each in block]
    return tuple(sorted(tuple(d for d in range(dimensions) if block[d] == b) for b in set(block)))
