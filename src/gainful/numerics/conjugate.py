"""A X = B by preconditioned conjugate gradients, for many right-hand sides at once (Hestenes & Stiefel 1952).

All columns advance together, with one product A V per iteration, and each by its own coefficients. Those are also the
Lanczos tridiagonal matrix of P^-½ A P^-½ started from P^-½ b (Golub & Van Loan 2013, sec. 11.3), so that a log
determinant comes from the same products (Gardner et al. 2018, "GPyTorch", sec. 4).

The recurrence believes its residual to go on falling where rounding has long stopped it. So the residual is computed
anew at the end, and where it is not what was promised, the recurrence begins again from there, as long as that helps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from gainful.errors import NumericalError
from gainful.numerics.lanczos import Operator, Tridiagonal

__all__ = ["Outcome", "Solved", "solve", "worst"]

Array = NDArray[np.float64]

_EPS = float(np.finfo(float).eps)
_AIM = 0.9  # of the tolerance: so that what rounding adds to the recurrence's residual does not cost another round
_FALLS = 0.5  # a round that leaves more than this of the residual is the last
_BELIEVED = _EPS / 8.0  # of |A| |x|: below the rounding of A x, a recurrence's residual is not the true one any more


class Outcome(Enum):
    """How a solve ended, mildest first; the value is the sentence, with {iterations} and {residual} to be filled in."""

    CONVERGED = "converged after {iterations} products to a relative residual of {residual:.1e}"
    STALLED = (
        "after {iterations} products the relative residual is {residual:.1e} and no longer falls: that is as far as "
        "double precision goes; accept it, or add noise to the diagonal"
    )
    STOPPED = (
        "stopped after {iterations} products, relative residual {residual:.1e}; raise `most`, or give a preconditioner "
        "(of higher rank)"
    )
    NOT_POSITIVE = (
        "met a direction along which the operator or its preconditioner is not positive beyond rounding, after "
        "{iterations} products with a relative residual of {residual:.1e}; add noise to the diagonal"
    )


def worst(outcomes: Sequence[Outcome]) -> Outcome:
    """The worst of them."""
    return max(outcomes, key=list(Outcome).index, default=Outcome.CONVERGED)


@dataclass(frozen=True)
class Solved:
    """x (N,) or (N, p) with A x ≈ rhs.

    `outcome`: the worst of all columns, each of which has its own in `outcomes` (p,); `iterations`: products of the
    recurrences, not counting those that check the residual; `residuals` (p,): |rhs − A x|/|rhs|, computed anew at the
    end; `tridiagonals` (p,): Lanczos's, of the first round; `left`: rhs − A x, of x's shape.
    """

    x: Array
    outcome: Outcome
    iterations: int
    residuals: Array
    tridiagonals: tuple[Tridiagonal, ...]
    outcomes: tuple[Outcome, ...]
    left: Array

    @property
    def message(self) -> str:
        """What happened, in a sentence."""
        return self.outcome.value.format(
            iterations=self.iterations, residual=float(np.max(self.residuals, initial=0.0))
        )

    def __bool__(self) -> bool:
        return self.outcome is Outcome.CONVERGED


def solve(
    apply: Operator,
    rhs: Array,
    preconditioner: Operator | None = None,
    tolerance: float | Array = 1e-6,
    most: int = 1000,
    start: Array | None = None,
) -> Solved:
    """x with |rhs − A x| ≤ tolerance · |rhs| for each column, one tolerance or (p,), or an outcome that says why not.

    `apply` is V (N, p) -> A V, `preconditioner` R (N, p) -> P⁻¹ R; both symmetric and positive definite. A column that
    has converged is left out of later products. `start`, of rhs's shape, is where x begins.

    >>> A = np.array([[4.0, 1.0], [1.0, 3.0]])
    >>> done = solve(lambda V: A @ V, np.array([1.0, 2.0]))
    >>> done.x.round(4).tolist(), done.message
    ([0.0909, 0.6364], 'converged after 2 products to a relative residual of 0.0e+00')
    """
    columns = rhs[:, None] if rhs.ndim == 1 else rhs
    scale = _sizes(columns)
    if not np.all(np.isfinite(scale)):
        raise NumericalError("the right-hand side has a value that is not finite; leave it out")
    live = np.flatnonzero(scale)  # where rhs is zero, so is x
    b = columns[:, live] / scale[live]
    x = np.zeros_like(b) if start is None else start.reshape(columns.shape)[:, live] / scale[live]
    each = np.broadcast_to(np.asarray(tolerance, dtype=float), scale.shape)[live]
    ended = _rounds(apply, preconditioner or _as_it_is, b, x, start is not None, each, most)
    full, left = np.zeros(columns.shape), np.zeros(columns.shape)
    full[:, live], left[:, live] = ended.x * scale[live], ended.left * scale[live]
    residuals = np.zeros(len(scale))
    residuals[live] = ended.residuals
    nothing = Tridiagonal(np.zeros(0), np.zeros(0))
    tridiagonals, outcomes = [nothing] * len(scale), [Outcome.CONVERGED] * len(scale)
    for place, tridiagonal, outcome in zip(live.tolist(), ended.tridiagonals, ended.outcomes, strict=True):
        tridiagonals[place], outcomes[place] = tridiagonal, outcome
    x, left = full.reshape(rhs.shape), left.reshape(rhs.shape)
    return Solved(x, worst(outcomes), ended.iterations, residuals, tuple(tridiagonals), tuple(outcomes), left)


def _rounds(
    apply: Operator, precondition: Operator, b: Array, x: Array, begun: bool, tolerance: Array, most: int
) -> Solved:
    """Recurrences from x on, for unit columns b, until the true residual is met or falls no longer."""
    residual = b - apply(x) if begun and b.size else b.copy()
    left = _sizes(residual)
    outcomes = [Outcome.CONVERGED] * b.shape[1]
    tridiagonals: list[Tridiagonal] = []
    todo, iterations, norm = np.arange(b.shape[1]), 0, 0.0
    while len(todo):
        least = np.maximum(_EPS * left[todo], _BELIEVED * norm * _sizes(x[:, todo]))
        aim = np.maximum(_AIM * tolerance[todo], least)
        went = _descend(apply, precondition, residual[:, todo], aim, most - iterations)
        iterations, norm = iterations + went.iterations, max(norm, went.norm)
        first, tridiagonals = not tridiagonals, tridiagonals or went.tridiagonals
        tried = x[:, todo] + went.step
        found = b[:, todo] - apply(tried)
        size, floor = _sizes(found), _EPS * norm * _sizes(tried)
        again = []
        for j, (place, ended) in enumerate(zip(todo.tolist(), went.outcomes, strict=True)):
            if size[j] <= tolerance[place]:
                outcomes[place] = Outcome.CONVERGED
            elif ended is not Outcome.CONVERGED:
                outcomes[place] = ended
            elif floor[j] < size[j] <= _FALLS * left[place]:
                again.append(place)
            else:
                outcomes[place] = Outcome.STALLED
            # Stopped in its first round, x is nearer in the norm of A even where its residual has grown.
            if size[j] < left[place] or (first and ended is Outcome.STOPPED):
                x[:, place], residual[:, place], left[place] = tried[:, j], found[:, j], size[j]
        todo = np.asarray(again, dtype=np.intp)
    return Solved(x, worst(outcomes), iterations, left, tuple(tridiagonals), tuple(outcomes), residual)


@dataclass(frozen=True)
class _Descent:
    """A step (n, p) with A step ≈ residual as the recurrence has it, and how it ended; `norm` is |A| as far as seen."""

    step: Array
    outcomes: list[Outcome]
    iterations: int
    tridiagonals: list[Tridiagonal]
    norm: float


def _descend(apply: Operator, precondition: Operator, residual: Array, aim: Array, most: int) -> _Descent:
    """One run of the recurrence (Golub & Van Loan 2013, sec. 11.5) from zero, until each residual is below its aim."""
    n, p = residual.shape
    step, outcomes = np.zeros((n, p)), [Outcome.STOPPED] * p
    rates: list[list[float]] = [[] for _ in range(p)]  # curvature/rᵀz, and the part of the last direction, per column
    turns: list[list[float]] = [[] for _ in range(p)]
    places, lost = np.arange(p), np.zeros(p, dtype=np.bool_)  # the columns that go on, and which of them cannot
    X, R, V = np.zeros((n, p)), residual.copy(), np.zeros((n, p))
    before, length, largest = np.ones(p), np.zeros(p), np.zeros(p)
    iterations, norm = 0, 0.0
    while True:
        Z = precondition(R)
        rz = _dots(R, Z)
        met = np.sqrt(_dots(R, R)) <= np.maximum(aim, _BELIEVED * norm * np.sqrt(_dots(X, X)))
        lost |= ~met & ~(rz > 0.0)
        going = ~(met | lost)
        if not going.all():
            for place, well in zip(places[~going].tolist(), met[~going].tolist(), strict=True):
                outcomes[place] = Outcome.CONVERGED if well else Outcome.NOT_POSITIVE
            step[:, places[~going]] = X[:, ~going]
            X, R, V, Z = (matrix[:, going] for matrix in (X, R, V, Z))
            places, aim, rz, before = places[going], aim[going], rz[going], before[going]
            length, largest = length[going], largest[going]
        if iterations >= most or not len(places):
            break
        turn = rz / before if iterations else np.zeros(len(places))
        V = Z + turn * V
        # vᵀ P v, as the residual is orthogonal to the direction before: vᵀ A v over it is a Rayleigh quotient.
        length = rz + turn**2 * length
        W = apply(V)
        iterations += 1
        curvature = _dots(V, W)
        largest = np.maximum(largest, curvature / length)
        norm = max(norm, float(np.sqrt(np.max(_dots(W, W) / _dots(V, V)))))
        lost = ~(curvature > _EPS * largest * length)
        along = np.divide(rz, curvature, out=np.zeros(len(places)), where=~lost)
        X += along * V
        R -= along * W
        before = rz
        for place, rate, part, flat in zip(places.tolist(), curvature / rz, turn, lost, strict=True):
            if not flat:
                rates[place].append(rate)
                turns[place].append(part)
    step[:, places] = X
    tridiagonals = [_tridiagonal(*pair) for pair in zip(rates, turns, strict=True)]
    return _Descent(step, outcomes, iterations, tridiagonals, norm)


def _tridiagonal(rates: list[float], turns: list[float]) -> Tridiagonal:
    """Lanczos's T: ρ_j + τ_j ρ_(j−1) on the diagonal, √τ_j ρ_(j−1) beside it, with ρ the rates and τ the turns."""
    rate, turn = np.asarray(rates), np.asarray(turns[1:])
    diagonal = rate.copy()
    diagonal[1:] += turn * rate[:-1]
    return Tridiagonal(diagonal, np.sqrt(turn) * rate[:-1])


def _as_it_is(R: Array) -> Array:
    return R


def _dots(A: Array, B: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->j", A, B))


def _sizes(A: Array) -> Array:
    """The norm of each column, wherever it can be represented: squares may not be."""
    largest = np.max(np.abs(A), axis=0, initial=0.0)
    unit = np.where((largest > 0.0) & np.isfinite(largest), largest, 1.0)
    scaled = A / unit
    return np.asarray(unit * np.sqrt(_dots(scaled, scaled)))
