"""Random partitions, functions that are sums over them, and campaigns that look for a minimum (Gardner 2018, ch. 5).

A partition is a tuple of blocks, each a tuple of dimensions from 0 on, in ascending order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations, product
from math import pi

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar
from scipy.stats import ortho_group

import gainful as gf
from gainful.acquisition import LogExpectedImprovement
from gainful.lab import Row

__all__ = [
    "INITIAL", "Partition", "attainable", "best_so_far", "box", "looked_at", "michalewicz", "michalewicz_minimum",
    "rand_agreement", "random_partition", "rotated_over", "rotation", "styblinski_tang",
]  # fmt: skip

Array = NDArray[np.float64]
Partition = tuple[tuple[int, ...], ...]
Function = Callable[[Array], float]

INITIAL = 10  # evaluations spread evenly over the box before the model decides; the text does not say
_EVERY = 5  # of the evaluations, those that are written down
_VALLEYS = (-2.903534, 2.746803)  # of ½(z⁴ − 16z² + 5z): the roots of 2z³ − 16z + 2.5 that are minima
_STARTS = 64  # of the corners of valleys, those that are searched from
_STEEP = 10  # m of Michalewicz's function


def random_partition(dimensions: int, rng: np.random.Generator) -> Partition:
    """Any partition, all as probable: every dimension falls into one of K boxes, P(K) ∝ K^d/K! (Stam 1983)."""
    K = np.arange(1, 4 * dimensions + 20)
    logs = dimensions * np.log(K) - np.cumsum(np.log(K))
    chances = np.exp(logs - logs.max())
    boxes = rng.integers(int(rng.choice(K, p=chances / chances.sum())), size=dimensions)
    return tuple(sorted(tuple(np.flatnonzero(boxes == box).tolist()) for box in np.unique(boxes)))


def rand_agreement(one: Partition, other: Partition) -> float:
    """The share of pairs of dimensions that both partitions have together, or both apart.

    >>> rand_agreement(((0, 1), (2,)), ((0,), (1, 2)))  # of three pairs, only 0 and 2 are apart in both
    0.3333333333333333
    """
    first, second = ({pair for block in each for pair in combinations(sorted(block), 2)} for each in (one, other))
    pairs = list(combinations(sorted(d for block in one for d in block), 2))
    return sum((pair in first) == (pair in second) for pair in pairs) / len(pairs)


def box(dimensions: int, low: float, high: float) -> gf.Space:
    """[low, high]^d, with dimensions x0, x1, …"""
    return gf.Space(*(gf.Real(f"x{i}", low, high) for i in range(dimensions)))


def styblinski_tang(x: Array) -> float:
    """½ Σ(x⁴ − 16x² + 5x); −39.16617 d at −2.903534.

    >>> round(styblinski_tang(np.full(10, -2.903534)), 2)
    -391.66
    """
    return float(np.sum(x**4 - 16.0 * x**2 + 5.0 * x) / 2.0)


def michalewicz(x: Array) -> float:
    """−Σᵢ sin(xᵢ) sin^20(i xᵢ²/π), i from 1 on, over [0, π]^d; −9.66015 for d = 10."""
    i = np.arange(1, len(x) + 1)
    return float(-np.sum(np.sin(x) * np.sin(i * x**2 / pi) ** (2 * _STEEP)))


@cache
def michalewicz_minimum(dimensions: int) -> float:
    """The sum of the minima along each dimension, from the best of 10,000 places between their neighbours."""
    total, grid = 0.0, np.linspace(0.0, pi, 10_001)
    for i in range(1, dimensions + 1):

        def along(x: float, i: int = i) -> float:
            return float(-np.sin(x) * np.sin(i * x**2 / pi) ** (2 * _STEEP))

        near = int(np.argmin([along(float(x)) for x in grid]))
        ends = float(grid[max(near - 1, 0)]), float(grid[min(near + 1, len(grid) - 1)])
        total += float(minimize_scalar(along, bounds=ends, method="bounded", options={"xatol": 1e-10}).fun)
    return total


def rotation(partition: Partition, rng: np.random.Generator) -> Array:
    """Q (D, D), orthonormal, any rotation or reflection within each block and nothing between them."""
    D = sum(map(len, partition))
    Q = np.zeros((D, D))
    for block in partition:
        own = ortho_group.rvs(len(block), random_state=rng) if len(block) > 1 else rng.choice([-1.0, 1.0], (1, 1))
        Q[np.ix_(block, block)] = own
    return Q


def rotated_over(Q: Array) -> Function:
    """x → Styblinski-Tang of Qx."""

    def function(x: Array) -> float:
        return styblinski_tang(Q @ x)

    return function


def attainable(partition: Partition, Q: Array, half: float) -> float:
    """The least value of Styblinski-Tang of Qx in the box [−half, half]^D, block by block.

    A block's own minimiser Qᵀ(−2.9, …) may lie outside. Each is searched from the corners of all its valleys, the
    lowest 64 of them, with bounds.
    """
    total = 0.0
    for block in partition:
        own = Q[np.ix_(block, block)]

        def value(x: Array, own: Array = own) -> tuple[float, Array]:
            z = own @ x
            return styblinski_tang(z), own.T @ (2.0 * z**3 - 16.0 * z + 2.5)

        corners = np.array(list(product(_VALLEYS, repeat=len(block))))
        starts = sorted(np.clip(corners @ own, -half, half), key=lambda x: value(x)[0])[:_STARTS]
        bounds = [(-half, half)] * len(block)
        total += min(float(minimize(value, x, jac=True, method="L-BFGS-B", bounds=bounds).fun) for x in starts)
    return total


def best_so_far(
    space: gf.Space, model: gf.Partitions | None, function: Function, evaluations: int, seed: int
) -> Iterator[tuple[float, Array]]:
    """The least value after every evaluation and where it is. A campaign by expected improvement, whose noise is
    learned; its first places are the same for every model with the same seed."""
    lab = gf.Point(name="f")
    campaign = gf.Campaign(space, [lab], model, goal=LogExpectedImprovement(sign=-1), initial=INITIAL, seed=seed)
    best, at = np.inf, np.zeros(0)
    for _ in range(evaluations):
        query = campaign.ask()
        assert query is not None  # no budget ends it
        x = np.asarray(query.place, dtype=float)
        value = function(x)
        campaign.tell(query, value)
        if value < best:
            best, at = value, x
        yield best, at


def looked_at(values: list[float]) -> list[Row]:
    """Rows of the best so far, after every fifth evaluation from the tenth on and the last."""
    last = len(values)
    return [
        {"answers": n, "best": float(value)}
        for n, value in enumerate(values, start=1)
        if n == last or (n >= INITIAL and n % _EVERY == 0)
    ]
