"""log |A| of a positive definite operator known only through products: stochastic Lanczos quadrature.

For u uniform on the sphere |u|² = N, E[uᵀ log(A) u] = tr log A = log |A|, and uᵀ log(A) u = N e₁ᵀ log(T) e₁ by Gauss
quadrature, with T Lanczos's tridiagonal matrix started from u (Ubaru et al. 2017).

With a preconditioner P, log |A| = log |P| + log |P^-½ A P^-½|, and what is random is small. Probes z from N(0, P) are
P^½ u, and conjugate gradients with P started from z give the T of P^-½ A P^-½ without ever forming P^½ (Gardner et al.
2018, "GPyTorch", sec. 4). Normal probes are taken at the length √N: their own, random, would only add variance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gainful.errors import InvalidInput
from gainful.numerics import conjugate
from gainful.numerics.lanczos import Operator, Tridiagonal

__all__ = ["Estimate", "Preconditioner", "estimate", "log_determinant", "probe"]

Array = NDArray[np.float64]


class Preconditioner(Protocol):
    """P, positive definite, near A, and easy to invert: `pivoted.LowRankPlusDiagonal` is one."""

    @property
    def log_det(self) -> float:
        """log |P|."""

    def solve(self, V: Array, /) -> Array:
        """P⁻¹ V for V (N, p)."""

    def sample(self, rng: np.random.Generator, p: int, /) -> Array:
        """p draws (N, p) from N(0, P)."""


@dataclass(frozen=True)
class Estimate:
    """log |A|, its standard error over the probes, and how the solves behind it ended.

    `value` is nan where `outcome` is NOT_POSITIVE: there is no logarithm. After STOPPED the quadrature has not settled,
    which the standard error does not see: log is concave, so that the value is then too high.
    """

    value: float
    standard_error: float
    probes: int
    outcome: conjugate.Outcome
    iterations: int


def log_determinant(
    apply: Operator,
    size: int,
    rng: np.random.Generator,
    probes: int = 30,
    preconditioner: Preconditioner | None = None,
    tolerance: float = 1e-4,
    most: int = 1000,
) -> Estimate:
    """log |A| of `apply`, V (size, p) -> A V, by `probes` solves that advance together.

    >>> A = np.diag([1.0, 2.0, 4.0])
    >>> found = log_determinant(lambda V: A @ V, 3, np.random.default_rng(0))
    >>> bool(abs(found.value - np.log(8.0)) < 1e-12)
    True
    """
    if probes < 2:
        raise InvalidInput("probes", "at least 2", probes, "a single probe has no standard error")
    solver = None if preconditioner is None else preconditioner.solve
    solved = conjugate.solve(apply, probe(size, rng, probes, preconditioner), solver, tolerance, most)
    return estimate(solved, 0.0 if preconditioner is None else preconditioner.log_det)


def probe(size: int, rng: np.random.Generator, probes: int, preconditioner: Preconditioner | None = None) -> Array:
    """Right-hand sides (size, probes) whose tridiagonals `estimate` takes: signs, or draws from N(0, P).

    Signs have length √N as they are, and the diagonal of log A adds nothing to their variance.
    """
    if preconditioner is None:
        return rng.choice(np.array([-1.0, 1.0]), size=(size, probes))
    return preconditioner.sample(rng, probes)


def estimate(solved: conjugate.Solved, base: float = 0.0, first: int = 0) -> Estimate:
    """The estimate from a solve whose columns from `first` on are `probe`'s; `base` is log |P|.

    So the solve for the data and the probes' can be one: `solve(apply, np.column_stack([y, probes]), …)`, first = 1.
    """
    each = np.array([_log_first(tridiagonal) for tridiagonal in solved.tridiagonals[first:]]) * len(solved.x)
    outcome = conjugate.worst(solved.outcomes[first:])
    if outcome is conjugate.Outcome.NOT_POSITIVE or not np.all(np.isfinite(each)):
        return Estimate(np.nan, np.nan, len(each), conjugate.Outcome.NOT_POSITIVE, solved.iterations)
    spread = float(np.std(each, ddof=1) / np.sqrt(len(each)))
    return Estimate(base + float(np.mean(each)), spread, len(each), outcome, solved.iterations)


def _log_first(T: Tridiagonal) -> float:
    """e₁ᵀ log(T) e₁, or nan where T is not positive definite."""
    values, vectors = T.eigen()
    if not T.rank or values[0] <= 0.0:
        return np.nan
    return float(vectors[0] ** 2 @ np.log(values))
