"""A belief from products alone: conjugate gradients, stochastic Lanczos quadrature, and a root of the inverse.

With B = K + diag(noise), K known by its products (an `Operator`), P ≈ B by a partial pivoted Cholesky factor of K, and
probes z ~ N(0, P):

    α = B⁻¹ (y − m)                                  one solve
    log|B| = log|P| + E[zᵀ P^-½ log(P^-½ B P^-½) P^-½ z]   from the same solves, with its standard error
    dL/dθ = ½ αᵀ K′ α − ½ E[(B⁻¹ z)ᵀ K′ (P⁻¹ z)]
    Var[f(x)] ≤ k(x, x) − ‖Rᵀ k(Z, x)‖²,   R Rᵀ = Q (Qᵀ B Q)⁻¹ Qᵀ ≤ B⁻¹

(Gardner et al. 2018, "GPyTorch"; Pleiss et al. 2018 for the last.) The root R is that of a Krylov space: what it leaves
out makes the variance too large, never too small. It takes about as many vectors as the readings have degrees of
freedom, tr(K B⁻¹), which the probes tell; how much too large variances are is measured at a few places by solves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from gainful.checks import require_count, require_positive, require_seed
from gainful.errors import NumericalError
from gainful.inference.convergence import Convergence, Result
from gainful.inference.engines.base import Gradient, Readings
from gainful.kernels.base import Kernel
from gainful.means import Mean
from gainful.numerics import conjugate
from gainful.numerics.blas import matmul
from gainful.numerics.lanczos import lanczos
from gainful.numerics.log_determinant import Estimate, estimate, probe
from gainful.numerics.memory import in_blocks
from gainful.numerics.pivoted import LowRankPlusDiagonal, pivoted_cholesky

__all__ = ["KrylovBelief", "Operator", "Solver", "krylov_belief"]

Array = NDArray[np.float64]

_LOG_2PI = float(np.log(2.0 * np.pi))
_ROOM = 2**27  # numbers in the vectors of the root: 1 GB
_CHECKED = 16  # places at which variances are held against solves


class Operator(Protocol):
    """K among N places, or what stands for it, and its values elsewhere."""

    def times(self, V: Array) -> Array:
        """K V for V (N, p)."""

    def diagonal(self) -> Array:
        """(N,)."""

    def column(self, i: int) -> Array:
        """(N,)."""

    def pulled(self, U: Array, V: Array) -> Array:
        """The derivative of Σ_j u_jᵀ K v_j in the kernel's theta, (P,), for U and V (N, p)."""

    def weigh(self, V: Array) -> Array:
        """What `project` needs of V (N, p) to give k(x, Z) V, worked out once."""

    def project(self, X: Array, weighed: Array) -> Array:
        """k(X, Z) V, (M, p), from what `weigh` made of V."""

    def variance(self, X: Array) -> Array:
        """k(x, x), (M,)."""

    def between(self, X: Array, Z: Array) -> Array:
        """k(X, Z), (M, L)."""

    @property
    def each(self) -> int:
        """Numbers held at a time for each place that is projected."""


@dataclass(frozen=True)
class Solver:
    """How solves are done: the relative residual that is enough, products at most, the rank of the preconditioner,
    probes of the log determinant, the largest rank of the root for variances, and the seed of what is drawn."""

    tolerance: float = 1e-4
    most: int = 400
    preconditioner: int = 100
    probes: int = 16
    root: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        require_positive("tolerance", self.tolerance, "1e-4 is usual")
        for name, least in (("most", 1), ("preconditioner", 0), ("probes", 2), ("root", 1)):
            object.__setattr__(self, name, require_count(name, getattr(self, name), least, "leave the default"))
        object.__setattr__(self, "seed", require_seed("seed", self.seed))


def krylov_belief(mean: Mean, kernel: Kernel, readings: Readings, operator: Operator, solver: Solver) -> KrylovBelief:
    """All that takes solves with B, done together: one product for α and every probe at each step."""
    rough = pivoted_cholesky(operator.diagonal(), operator.column, solver.preconditioner, 1e-10)
    preconditioner = LowRankPlusDiagonal(rough.L, readings.noise)
    probes = probe(len(readings.X), np.random.default_rng(solver.seed), solver.probes, preconditioner)
    rhs = np.column_stack([readings.residual, probes])
    apply = _with_noise(operator, readings.noise)
    solved = conjugate.solve(apply, rhs, preconditioner.solve, solver.tolerance, solver.most)
    log_det = estimate(solved, preconditioner.log_det, first=1)
    return KrylovBelief(mean, kernel, readings, operator, solver, preconditioner, probes, solved, log_det)


def _with_noise(operator: Operator, noise: Array) -> Callable[[Array], Array]:
    """V -> (K + diag(noise)) V."""
    return lambda V: operator.times(V) + noise[:, None] * V


@dataclass(frozen=True, eq=False)
class KrylovBelief:
    """f given N readings; `solved` has α in its first column and B⁻¹ of the probes in the others."""

    prior_mean: Mean
    kernel: Kernel
    readings: Readings
    operator: Operator
    solver: Solver
    preconditioner: LowRankPlusDiagonal = field(repr=False)
    probes: Array = field(repr=False)
    solved: conjugate.Solved = field(repr=False)
    log_det: Estimate

    @property
    def alpha(self) -> Array:
        """B⁻¹ (y − m), (N,)."""
        return self.solved.x[:, 0]

    @property
    def misfit(self) -> float:
        """(y − m)ᵀ B⁻¹ (y − m)."""
        return float(self.readings.residual @ self.alpha)

    @property
    def log_evidence(self) -> float:
        """−½ (y − m)ᵀ α − ½ log|B| − ½ N log 2π, the log determinant with its standard error in `log_det`."""
        return -0.5 * (self.misfit + self.log_det.value + len(self.alpha) * _LOG_2PI)

    @property
    def convergence(self) -> Convergence:
        residual = float(np.max(self.solved.residuals))
        result = Result.SOLVED if self.solved else Result.NOT_SOLVED
        note = f"; the log evidence has a standard error of {0.5 * self.log_det.standard_error:.2g}"
        error: float | None = getattr(self.operator, "product_error", None)  # where it stands for another matrix
        if error is not None:
            note += f"; products are off by {error:.1e}"
        return Convergence(result, self.solved.iterations, residual, note)

    def gradient(self) -> Gradient:
        """Of the log evidence; the trace by the probes."""
        share = 1.0 / self.probes.shape[1]
        left = np.column_stack([0.5 * self.alpha, -0.5 * share * self.solved.x[:, 1:]])
        right = np.column_stack([self.alpha, self.preconditioner.solve(self.probes)])
        noise = 2.0 * self.readings.noise * np.einsum("np,np->n", left, right)
        back = self.prior_mean.vjp(self.readings.X)[1]
        return Gradient(self.operator.pulled(left, right), back(self.alpha), noise)

    @cached_property
    def _weights(self) -> Array:
        return self.operator.weigh(self.alpha[:, None])

    @cached_property
    def freedom(self) -> float:
        """tr(K B⁻¹) = N − tr(diag(noise) B⁻¹), the readings' degrees of freedom, by the probes."""
        right = self.preconditioner.solve(self.probes)
        each = np.einsum("n,np,np->p", self.readings.noise, self.solved.x[:, 1:], right)
        return float(np.clip(len(self.alpha) - each.mean(), 1.0, len(self.alpha)))

    @cached_property
    def _root(self) -> Array:
        """R (N, r) as `project` takes it: of a Krylov space of B from the readings."""
        N = len(self.alpha)
        start = self.readings.residual if np.any(self.readings.residual) else np.ones(N)
        rank = int(min(2.0 * self.freedom + 64.0, self.solver.root, _ROOM // N, N))
        found = lanczos(rank)(self._apply, start, np.random.default_rng(self.solver.seed))
        lower = cholesky(found.T.matrix, lower=True)
        return self.operator.weigh(np.asarray(solve_triangular(lower, found.Q.T, lower=True)).T)

    def _apply(self, V: Array) -> Array:
        noise = self.readings.noise
        return self.operator.times(V) + (noise[:, None] * V if V.ndim == 2 else noise * V)

    @cached_property
    def excess(self) -> float:
        """By what part variances are too large, the median over some of the readings' places: by solves there."""
        N = len(self.alpha)
        some = np.unique(np.linspace(0, N - 1, min(_CHECKED, N)).astype(int))
        columns = np.column_stack([self.operator.column(int(i)) for i in some])
        solver = self.solver
        solved = conjugate.solve(self._apply, columns, self.preconditioner.solve, solver.tolerance, solver.most)
        left = self.operator.diagonal()[some] - np.einsum("np,np->p", columns, solved.x)
        return float(np.median(self.variance(self.readings.X[some]) / np.maximum(left, 1e-300)) - 1.0)

    def mean(self, X: Array) -> Array:
        """m(x) + k(x, Z) α."""

        def of(part: slice) -> Array:
            return self.prior_mean(X[part]) + self.operator.project(X[part], self._weights)[:, 0]

        return in_blocks(of, len(X), self.operator.each)

    def from_residual(self, residual: Array) -> Callable[[Array], Array]:
        """By one more solve; NumericalError where it falls short."""
        apply = _with_noise(self.operator, self.readings.noise)
        solver = self.solver
        solved = conjugate.solve(apply, residual[:, None], self.preconditioner.solve, solver.tolerance, solver.most)
        if not solved:
            raise NumericalError(f"the solve for other readings fell short: {solved.message}")
        weights = self.operator.weigh(solved.x)

        def mean(X: Array) -> Array:
            return in_blocks(lambda part: self.operator.project(X[part], weights)[:, 0], len(X), self.operator.each)

        return mean

    def half(self, X: Array) -> Array:
        """k(x, Z) R, (M, r): what the readings take off a covariance is a product of two of these."""

        def of(part: slice) -> Array:
            return self.operator.project(X[part], self._root)

        return in_blocks(of, len(X), self.operator.each + 2 * self._root.shape[1])

    def variance(self, X: Array) -> Array:
        """k(x, x) − ‖Rᵀ k(Z, x)‖²."""

        def of(part: slice) -> Array:
            half = self.operator.project(X[part], self._root)
            left = self.operator.variance(X[part]) - np.einsum("mr,mr->m", half, half)
            return np.maximum(left, 0.0)  # rounding

        return in_blocks(of, len(X), self.operator.each + 2 * self._root.shape[1])

    def covariance(self, X: Array, Z: Array) -> Array:
        """k(X, Z) − k(X, ·) R Rᵀ k(·, Z)."""
        there = self.half(Z)

        def of(part: slice) -> Array:
            return self.operator.between(X[part], Z) - matmul(self.half(X[part]), there.T)

        return in_blocks(of, len(X), self.operator.each + 2 * len(Z))


def require_finite(belief: KrylovBelief) -> KrylovBelief:
    """The belief; NumericalError where its matrix has turned out not to be positive definite."""
    if not np.isfinite(belief.log_evidence):
        raise NumericalError(f"the covariance of the readings is not positive definite: {belief.solved.message}")
    return belief
