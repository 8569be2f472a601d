"""Moves of particles that leave their target as it is: Metropolis and Hastings' rule, for all particles at once.

    replaced   a node, evenly, becomes a draw from the prior:          L'/L · |θ|/|θ'|, periods by a guide (`guide.py`)
    grown      a node is joined with a draw from the prior, or the way back
    walked     one share takes a normal step, truncated to 0 … 1:      L'/L · Z(u)/Z(u')
    redrawn    a noise becomes a draw from its prior:                  L'/L
    drifted    all shares follow the gradient (Hamiltonian Monte Carlo) in their logits, with the Jacobian u(1 − u)

The first, third and fourth are those of Lin 2022 (Algorithm 3; the ratios are not written out there). The steps of a
drift are given from outside (`steps.py`) and do not depend on where a particle is, so that detailed balance holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtr, ndtri

from gainful.beliefs.programs.evidence import Slopes
from gainful.beliefs.programs.grammar import SEES, Grammar
from gainful.beliefs.programs.guide import Guide
from gainful.beliefs.programs.population import Population

__all__ = ["Answered", "Drift", "Moved", "Target", "drifted", "grown", "redrawn", "replaced", "walked"]

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_FARTHEST = 30.0  # of a logit: beyond lies 1e-13 of the prior, and a drift that ends there is refused


class Answered(Protocol):
    """Answers whose evidence can be worked out for many programs; some know its slopes too."""

    @property
    def has_slopes(self) -> bool: ...

    def __len__(self) -> int: ...

    def guide(self, grammar: Grammar, count: int) -> Guide: ...

    def log_evidence(
        self, grammar: Grammar, population: Population, ends: Sequence[int], shares: Sequence[float],
        rows: NDArray[np.intp] | None = None,
    ) -> Array: ...  # fmt: skip

    def slopes(
        self, grammar: Grammar, population: Population, ends: Sequence[int], shares: Sequence[float]
    ) -> Slopes: ...


@dataclass(frozen=True, eq=False)
class Target:
    """prior · Π_e p(the first ends_e answers)^shares_e: what the particles are to be draws of."""

    grammar: Grammar
    answers: Answered
    ends: tuple[int, ...]
    shares: tuple[float, ...]

    @cached_property
    def guide(self) -> Guide:
        """What new periods are proposed from."""
        return self.answers.guide(self.grammar, max(self.ends, default=0))

    def log(self, population: Population, rows: NDArray[np.intp] | None = None) -> Array:
        """The logarithm of what multiplies the prior, (k,)."""
        return self.answers.log_evidence(self.grammar, population, self.ends, self.shares, rows)

    def slopes(self, population: Population) -> Slopes:
        return self.answers.slopes(self.grammar, population, self.ends, self.shares)


class Moved(NamedTuple):
    """Particles, what multiplies their prior, and which of them have moved."""

    population: Population
    value: Array
    accepted: Mask


def _accept(
    population: Population, value: Array, proposed: Population, target: Target, log_ratio: Array,
    rng: np.random.Generator,
) -> Moved:  # fmt: skip
    """The proposed particles where they are accepted; those that cannot be are not looked at."""
    rows = np.flatnonzero(np.isfinite(log_ratio))
    new = target.log(proposed, rows)
    with np.errstate(invalid="ignore"):
        ahead = np.where(np.isneginf(value), np.where(np.isneginf(new), -np.inf, np.inf), new - value)
    accepted = np.log(rng.random(len(value))) < ahead + log_ratio
    return Moved(population.where(accepted, proposed), np.where(accepted, new, value), accepted)


def _room(population: Population) -> tuple[NDArray[np.int64], Array, NDArray[np.int64], Array]:
    rows = np.zeros_like(population.symbols), np.zeros_like(population.shares), np.zeros_like(population.columns)
    return *rows, np.zeros(len(population))


def replaced(population: Population, value: Array, target: Target, rng: np.random.Generator) -> Moved:
    """A node of each program, evenly, becomes a draw from the prior."""
    from gainful.beliefs.programs.compiled import replace_rows

    grammar, p = target.grammar, population
    symbols, shares, columns, log_ratio = _room(p)
    replace_rows(rng, grammar.chances, grammar.inputs, SEES, *target.guide, p.symbols, p.shares, p.columns, symbols,
                 shares, columns, log_ratio)  # fmt: skip
    return _accept(p, value, Population(symbols, shares, columns, p.noise), target, log_ratio, rng)


def grown(population: Population, value: Array, target: Target, rng: np.random.Generator) -> Moved:
    """With even chances a node of a program is joined with a draw from the prior, or one is taken off again.

    Every program tosses its own coin. With one toss for all of them each would still have the right distribution, but
    they would grow and shrink together, and no number of particles would average that out.
    """
    from gainful.beliefs.programs.compiled import grow_rows, prune_rows

    grammar, grows = target.grammar, rng.random(len(population)) < 0.5
    if grammar.joins[-1] == 0.0:
        return Moved(population, value, np.zeros(len(value), dtype=bool))
    longer, shorter = population.take(grows), population.take(~grows)
    up, down = _room(longer), _room(shorter)
    grow_rows(rng, grammar.chances, grammar.joins, grammar.inputs, SEES, *target.guide, longer.symbols, longer.shares,
              longer.columns, *up)  # fmt: skip
    prune_rows(rng, grammar.joins, *target.guide, shorter.symbols, shorter.shares, shorter.columns, *down)
    order = np.argsort(np.concatenate([np.flatnonzero(grows), np.flatnonzero(~grows)]))
    symbols, shares, columns, log_ratio = (np.concatenate(both)[order] for both in zip(up, down, strict=True))
    proposed = Population(symbols, shares, columns, population.noise)
    return _accept(population, value, proposed, target, log_ratio, rng)


def walked(population: Population, value: Array, target: Target, rng: np.random.Generator, step: float) -> Moved:
    """One share of each program, evenly, takes a normal step of this size, truncated to between 0 and 1."""
    k, has = len(population), population.has.reshape(len(population), -1)
    order = np.cumsum(has, axis=1)
    chosen = np.minimum((rng.random(k) * order[:, -1]).astype(int), order[:, -1] - 1)
    at = np.argmax(order > chosen[:, None], axis=1)
    flat = population.shares.reshape(k, -1)
    old = flat[np.arange(k), at]
    low, high = ndtr(-old / step), ndtr((1.0 - old) / step)
    new = np.clip(old + step * ndtri(low + rng.random(k) * (high - low)), 0.0, 1.0)
    back = ndtr((1.0 - new) / step) - ndtr(-new / step)
    shares = flat.copy()
    shares[np.arange(k), at] = new
    log_ratio = np.where((new > 0.0) & (new < 1.0), np.log(high - low) - np.log(back), -np.inf)
    proposed = population.at(shares.reshape(population.shares.shape), population.noise)
    return _accept(population, value, proposed, target, log_ratio, rng)


def redrawn(population: Population, value: Array, target: Target, rng: np.random.Generator) -> Moved:
    """One noise of each program, evenly, becomes a draw from its prior."""
    k, j = population.noise.shape
    if j == 0:
        return Moved(population, value, np.zeros(k, dtype=bool))
    noise = population.noise.copy()
    noise[np.arange(k), rng.integers(0, j, k)] = rng.random(k)
    return _accept(population, value, population.at(population.shares, noise), target, np.zeros(k), rng)


class Drift(NamedTuple):
    """What came of a drift: the particles, the squares of the slopes where they now are, how far each has come in units
    of its steps, and the probability with which each was accepted."""

    moved: Moved
    squares: tuple[Array, Array]
    jump: Array
    chance: Array


def drifted(
    population: Population, value: Array, target: Target, rng: np.random.Generator, steps: tuple[Array, Array],
    leaps: int,
) -> Drift:  # fmt: skip
    """So many leaps along the gradient in the logits of all shares; `steps` are those of each number (k, m, 2) and each
    noise (k, j), and do not depend on where a particle is."""
    has, width = population.has, int(population.sizes.max(initial=1))
    step = np.concatenate([_flat(np.where(has, steps[0], 0.0), width), steps[1]], axis=1)
    x0 = np.concatenate([_flat(np.where(has, population.shares, 0.5), width), population.noise], axis=1)
    x0 = logit(x0)
    momentum = np.where(step > 0.0, rng.standard_normal(step.shape), 0.0)
    start = _energy(population, target, x0, width)
    x, p, here = x0, momentum, start
    for _ in range(leaps):
        p = p + 0.5 * step * here.slope
        x = x + step * p
        here = _energy(population, target, x, width)
        p = p + 0.5 * step * here.slope
    with np.errstate(invalid="ignore"):
        change = here.log - start.log - 0.5 * np.sum(p**2 - momentum**2, axis=1)
    far = np.any(np.abs(x) > _FARTHEST, axis=1) | ~np.isfinite(here.log) | ~np.isfinite(start.log)
    chance = np.where(far, 0.0, np.exp(np.minimum(np.where(far, 0.0, change), 0.0)))
    accepted = rng.random(len(value)) < chance
    proposed = _placed(population, x, width)
    moved = Moved(population.where(accepted, proposed), np.where(accepted, here.value, value), accepted)
    slope = np.where(accepted[:, None], here.slope, start.slope)
    moving = np.maximum(np.sum(step > 0.0, axis=1), 1)
    ways = np.divide(x - x0, step, out=np.zeros_like(x), where=step > 0.0)
    jump = np.where(accepted, np.sum(ways**2, axis=1) / moving, 0.0)
    squares = np.zeros_like(population.shares)
    squares[:, :width] = slope[:, : 2 * width].reshape(len(value), width, 2) ** 2
    return Drift(moved, (squares, slope[:, 2 * width :] ** 2), jump, chance)


class _Energy(NamedTuple):
    """The log density of the logits, its slopes, and what multiplies the prior in it."""

    log: Array
    slope: Array
    value: Array


def _energy(population: Population, target: Target, x: Array, width: int) -> _Energy:
    u = expit(np.clip(x, -_FARTHEST, _FARTHEST))
    found = target.slopes(_placed(population, x, width))
    jacobian = np.concatenate([_flat(population.has, width), np.ones_like(population.noise, dtype=bool)], axis=1)
    log_prior = np.sum(np.where(jacobian, np.log(u) + np.log1p(-u), 0.0), axis=1)
    by_share = np.concatenate([_flat(found.shares, width), found.noise], axis=1)
    usable = np.isfinite(found.value) & np.isfinite(by_share).all(axis=1)
    slope = np.where(usable[:, None], by_share * u * (1.0 - u), 0.0) + np.where(jacobian, 1.0 - 2.0 * u, 0.0)
    return _Energy(np.where(usable, found.value + log_prior, -np.inf), slope, found.value)


def _placed(population: Population, x: Array, width: int) -> Population:
    u = expit(np.clip(x, -_FARTHEST, _FARTHEST))
    shares = population.shares.copy()
    shares[:, :width] = np.where(population.has[:, :width], u[:, : 2 * width].reshape(len(u), width, 2), 0.5)
    return population.at(shares, u[:, 2 * width :])


def _flat(values: NDArray, width: int) -> NDArray:  # type: ignore[type-arg]
    """The first nodes' numbers of each program in one row, (k, 2 width)."""
    return np.asarray(values[:, :width].reshape(len(values), -1))
