"""Elliptical slice sampling within linear bounds, and a ladder to a target that is far from normal.

The target is exp(ℓ(x)) N(x; 0, I) on lo ≤ A x ≤ hi. One step draws an ellipse x cos θ + ν sin θ, ν ~ N(0, I), finds
the arc of it around x that keeps to the bounds (each bound forbids one arc, in closed form), and samples θ on it by
slice sampling in ℓ (Murray, Adams & MacKay 2010; Gessner, Kanjilal & Hennig 2020 for the bounds). It leaves the target
as it is, has nothing to tune, and moves all chains at once.

From draws of N(0, I) to the target leads a ladder (Del Moral, Doucet & Jasra 2006): the bounds are narrowed from where
half of the draws are within them, and then ℓ is let in, each time so far that half of the draws would be left. What is
left is drawn again in proportion to its weight and moved. The products of what is left estimate the normaliser. A step
is long where the target is about as wide as the normal distribution that the ellipses come from, so that is the one
with the mean and covariance of the draws themselves (Nishihara, Murray & Adams 2014).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import logsumexp

from gainful.errors import NumericalError
from gainful.numerics.blas import matmul

__all__ = ["Ladder", "Target", "climb", "require_inside", "slice_step"]

Array = NDArray[np.float64]

_IMPOSSIBLE = (
    "no draw of the belief is possible under the answers: they contradict each other or the prior; give the "
    "instruments noise, or widen the prior"
)
_TURN = 2.0 * np.pi
_MOST_TRIES = 200  # of a slice: its bracket is then 1e-40 of the circle
_MOST_RUNGS = 2000
_MOVES = 3  # steps between two looks at how much is forgotten
_LEFT = 0.5  # share of the draws that a rung leaves
_WIDER = 1.2  # the variance of ellipses over that of the draws
_RIDGE = 1e-9
_TINY = 1e-300


@dataclass(frozen=True)
class Target:
    """exp(share · ℓ(x)) N(x; 0, I) where lo − slack ≤ A x ≤ hi + slack: log_density is ℓ, (S, D) → (S,).

    `matrix` A is (B, D) with rows scaled so that one slack is meant for all bounds; low and high are (B,).
    """

    log_density: Callable[[Array], Array]
    matrix: Array
    low: Array
    high: Array
    share: float = 1.0
    slack: float = 0.0

    def seen_from(self, centre: Array, root: Array) -> Target:
        """The same law in the coordinates y of x = centre + root y, where it is exp(ℓ′(y)) N(y; 0, I)."""
        shift = matmul(self.matrix, centre)

        def log_density(y: Array) -> Array:
            x = centre + matmul(y, root.T)
            ratio = 0.5 * (np.sum(y**2, axis=1) - np.sum(x**2, axis=1))
            return np.asarray(ratio + self.share * self.log_density(x) if self.share > 0.0 else ratio)

        matrix, low, high = matmul(self.matrix, root), self.low - self.slack - shift, self.high + self.slack - shift
        return Target(log_density, matrix, low, high)

    def beyond(self, x: Array) -> Array:
        """How far x is out of the bounds, by the bound that is violated most, (S,); below zero within."""
        y = matmul(x, self.matrix.T)
        return np.max(np.maximum(self.low - y, y - self.high), axis=1)


class Phase(NamedTuple):
    """How long draws are moved: until they correlate with where they began by so little, at most so many steps, and in
    all so many times the steps that it took."""

    memory: float
    most: int
    times: int


_RUNG, _END = Phase(0.2, 100, 1), Phase(0.2, 1000, 3)


def require_inside(target: Target) -> None:
    """NumericalError where the bounds leave no room: by a linear programme, at once instead of by climbing in vain."""
    from scipy.optimize import linprog  # a tenth of a second to import, and seldom needed

    above, below = np.isfinite(target.high), np.isfinite(target.low)
    rows = np.concatenate([target.matrix[above], -target.matrix[below]])
    if not len(rows):
        return
    limits = np.concatenate([target.high[above], -target.low[below]])
    # The widest margin t ≤ 1 by which all bounds can be kept.
    found = linprog(
        np.append(np.zeros(rows.shape[1]), -1.0), np.column_stack([rows, np.ones(len(rows))]), limits,
        bounds=[(None, None)] * rows.shape[1] + [(None, 1.0)],
    )  # fmt: skip
    margin = None if found.x is None else float(found.x[-1])
    if found.status == 2 or (found.status == 0 and margin is not None and margin <= 0.0):
        raise NumericalError(_IMPOSSIBLE)


class Ladder(NamedTuple):
    """Draws (S, D) from a target, the log of its normaliser with a standard error, and what it took.

    `memory` is how much they are still correlated with where they were at the last rung, `forgotten` whether that is
    little enough.
    """

    draws: Array
    log_normaliser: float
    error: float
    steps: int
    memory: float
    forgotten: bool


def slice_step(target: Target, x: Array, logs: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Every chain's next state (S, D) and its ℓ (S,); share is 1 and slack 0 here."""
    nu = rng.standard_normal(x.shape)
    floor = logs + np.log(rng.random(len(x)))
    low, high = _arc(target, x, nu, rng)
    t = low + rng.random(len(x)) * (high - low)
    out, found = x.copy(), logs.copy()
    active = np.arange(len(x))
    for _ in range(_MOST_TRIES):
        if not active.size:
            break
        new = x[active] * np.cos(t[active])[:, None] + nu[active] * np.sin(t[active])[:, None]
        value = target.log_density(new)
        taken = value > floor[active]
        out[active[taken]], found[active[taken]] = new[taken], value[taken]
        active = active[~taken]
        below = t[active] < 0.0
        low[active] = np.where(below, t[active], low[active])
        high[active] = np.where(below, high[active], t[active])
        t[active] = low[active] + rng.random(active.size) * (high[active] - low[active])
    return out, found


def _arc(target: Target, x: Array, nu: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """The angles between which each ellipse keeps to the bounds around θ = 0, (S,) each; all of it, cut anywhere, if it
    meets none.

    y = ρ cos(θ − φ) is above hi on the arc about φ of half-width arccos(hi/ρ), below lo on that about φ + π of
    half-width arccos(−lo/ρ). θ = 0 is within the bounds, so no such arc has it inside.
    """
    cut = _TURN * rng.random(len(x))
    if not len(target.matrix):
        return -cut, _TURN - cut
    u, w = matmul(x, target.matrix.T), matmul(nu, target.matrix.T)
    radius, phase = np.hypot(u, w), np.arctan2(w, u)
    first, last = np.full(len(x), np.inf), np.full(len(x), -np.inf)
    for bound, turn in ((np.broadcast_to(target.high, u.shape), 0.0), (np.broadcast_to(-target.low, u.shape), np.pi)):
        met = radius > bound
        half = np.arccos(np.maximum(bound[met] / radius[met], -1.0))
        centre = phase[met] + turn
        begins, ends = np.full(u.shape, np.inf), np.full(u.shape, -np.inf)
        begins[met], ends[met] = np.mod(centre - half, _TURN), np.mod(centre + half, _TURN)
        first, last = np.minimum(first, begins.min(axis=1)), np.maximum(last, ends.max(axis=1))
    free = np.isinf(first)
    return np.where(free, -cut, np.minimum(last - _TURN, 0.0)), np.where(free, _TURN - cut, np.maximum(first, 0.0))


def climb(target: Target, dimension: int, draws: int, rng: np.random.Generator) -> Ladder:
    """Draws from the target, by the ladder from N(0, I).

    >>> inside = Target(lambda x: np.zeros(len(x)), np.array([[1.0]]), np.array([2.0]), np.array([np.inf]))
    >>> found = climb(inside, 1, 4000, np.random.default_rng(0))
    >>> bool(found.draws.min() >= 2.0), bool(abs(found.log_normaliser - np.log(0.02275)) < 4 * found.error)
    (True, True)
    """
    x = rng.standard_normal((draws, dimension))
    if not dimension:  # nothing is left to be drawn
        inside = bool(np.all((target.low <= 0.0) & (target.high >= 0.0)))
        value = float(target.log_density(x[:1])[0]) if inside else -np.inf
        if not np.isfinite(value):
            raise NumericalError(_IMPOSSIBLE)
        return Ladder(x, value, 0.0, 0, 0.0, True)
    total, error, steps = 0.0, 0.0, 0
    bounded = len(target.matrix) > 0
    here = replace(target, share=0.0, slack=np.inf if bounded else 0.0)
    logs = np.zeros(draws) if bounded else target.log_density(x)
    for _ in range(_MOST_RUNGS):
        if here.slack == 0.0 and here.share == 1.0:
            break
        here, weight = _next_rung(target, here, x, logs)
        top = float(logsumexp(weight) - np.log(draws))
        if not np.isfinite(top):
            raise NumericalError(_IMPOSSIBLE)
        total += top
        error += float(np.var(np.exp(weight - top))) / draws
        about = _moments(x, weight)
        x, moves, *_ = _forget(here, about, x[_resample(weight, rng)], rng, _RUNG)
        steps += moves
        if here.slack == 0.0:
            logs = target.log_density(x)
    else:
        raise NumericalError(f"the sampler did not reach the answers in {_MOST_RUNGS} steps of its ladder")
    x, more, memory, forgotten = _forget(target, _moments(x, np.zeros(draws)), x, rng, _END)
    return Ladder(x, total, float(np.sqrt(error)), steps + more, memory, forgotten)


def _next_rung(target: Target, here: Target, x: Array, logs: Array) -> tuple[Target, Array]:
    """The next target on the way, and the log weights (S,) that the draws of this one have there."""
    if here.slack > 0.0:
        beyond = target.beyond(x)
        slack = max(float(np.sort(beyond)[int(_LEFT * len(beyond))]), 0.0)
        if slack >= here.slack:  # nothing was gained: at least a little
            slack = 0.0 if here.slack < 1e-12 else 0.5 * here.slack
        return replace(here, slack=slack), np.where(beyond <= slack, 0.0, -np.inf)
    left = 1.0 - here.share
    if _left(left * logs) >= _LEFT:
        return replace(here, share=1.0), left * logs
    low, high = 0.0, left
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _left(middle * logs) >= _LEFT else (low, middle)
    step = max(low, 1e-6 * left)
    return replace(here, share=min(here.share + step, 1.0)), step * logs


def _left(weight: Array) -> float:
    """(Σ w)²/(S Σ w²): the share of equal draws that weighted ones are worth; their logarithms are given."""
    if not np.any(np.isfinite(weight)):
        return 0.0
    return float(np.exp(2.0 * logsumexp(weight) - logsumexp(2.0 * weight))) / len(weight)


def _resample(weight: Array, rng: np.random.Generator) -> NDArray[np.intp]:
    """Systematic resampling: the numbers of the draws that are kept, each about as often as its weight says."""
    share = np.cumsum(np.exp(weight - logsumexp(weight)))
    at = (rng.random() + np.arange(len(weight))) / len(weight)
    return np.minimum(np.searchsorted(share, at), len(weight) - 1).astype(np.intp)


def _moments(x: Array, weight: Array) -> tuple[Array, Array]:
    """Mean (D,) of weighted draws and a root (D, D) of their covariance, somewhat widened.

    Of few draws in many dimensions the covariances are not known well: they are taken for smaller than they look.
    """
    share = np.exp(weight - logsumexp(weight))
    centre = share @ x
    off = x - centre
    cov = matmul(off.T, off * share[:, None])
    own = np.diagonal(cov).copy()
    cov *= len(x) / (len(x) + x.shape[1])
    cov.flat[:: len(cov) + 1] = own * (1.0 + _RIDGE) + _TINY
    return centre, np.asarray(np.linalg.cholesky(_WIDER * cov))


def _moved(target: Target, about: tuple[Array, Array], x: Array, steps: int, rng: np.random.Generator) -> Array:
    """The draws after so many steps, on ellipses of N(about)."""
    centre, root = about
    local = target.seen_from(centre, root)
    y = solve_triangular(root, (x - centre).T, lower=True, check_finite=False).T
    logs = local.log_density(y)
    for _ in range(steps):
        y, logs = slice_step(local, y, logs, rng)
    return centre + matmul(y, root.T)


def _standardised(target: Target, x: Array) -> Array:
    """What draws may remember, with mean 0 and variance 1, (S, D + 1): where they are, and what decides the next."""
    decides = target.log_density(x) if target.slack == 0.0 else target.beyond(x)
    known = np.column_stack([x, np.where(np.isfinite(decides), decides, 0.0)])
    known -= known.mean(axis=0)
    return np.asarray(known / (np.sqrt(np.mean(known**2, axis=0)) + _TINY))


def _forget(
    target: Target, about: tuple[Array, Array], x: Array, rng: np.random.Generator, phase: Phase
) -> tuple[Array, int, float, bool]:
    """Steps until the draws no longer know where they began, and as many again as the phase asks for.

    Also how many, the correlation that is left, and whether it was ever as small as that of independent draws.
    """
    began = _standardised(target, x)
    little = max(phase.memory, 3.0 / np.sqrt(len(x)))
    needed, memory, steps = phase.most, 1.0, 0
    while steps < needed:
        x = _moved(target, about, x, _MOVES, rng)
        steps += _MOVES
        memory = float(np.max(np.mean(began * _standardised(target, x), axis=0), initial=0.0))
        if needed == phase.most and memory < little:
            needed = phase.times * steps
    return x, steps, memory, needed != phase.most
