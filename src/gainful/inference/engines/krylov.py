"""A belief from products alone: conjugate gradients, stochastic Lanczos quadrature, and a root of the inverse.

With B = K + D, D = diag(noise), K known by its products (an `Operator`), P ≈ B by a partial pivoted Cholesky factor of
K, and probes z ~ N(0, P):

    α = B⁻¹ (y − m)                                  one solve
    log|B| = log|P| + E[zᵀ P^-½ log(P^-½ B P^-½) P^-½ z]   from the same solves, with its standard error
    dL/dθ = ½ αᵀ K′ α − ½ tr(B⁻¹ K′)
    Var[f(x)] ≤ k(x, x) − ‖Rᵀ k(Z, x)‖²,   R Rᵀ = Q (Qᵀ B Q)⁻¹ Qᵀ ≤ B⁻¹

(Gardner et al. 2018, "GPyTorch"; Pleiss et al. 2018 for the last.)

A solve has come far enough when means are right beside the standard deviations they are stated with. From α with the
residual r = y − m − B α the mean at x is off by wᵀ r, where w = B⁻¹ k(Z, x), and the variance of f(x) there,
Var[f(x) − wᵀ f(Z)] + wᵀ D w, is no less than wᵀ D w. So by Cauchy and Schwarz the mean is off by |D^-½ r| standard
deviations at most, wherever it is asked for. Systems are solved as D^-½ B D^-½, whose residuals have that length.

The trace is what P knows of it, exactly, and what is left by the probes. With E Eᵀ the part of P⁻¹ in the directions
in which P is largest, w = E Eᵀ z and o = P⁻¹ z − w,

    tr(B⁻¹ K′) = E[(B⁻¹ z)ᵀ K′ P⁻¹ z] + c (tr(Eᵀ K′ E) − E[wᵀ K′ w + 2 oᵀ K′ w])

whatever c is: one where P is B, and less the less it knows of it.

The root R is that of a Krylov space: what it leaves out makes the variance too large, never too small. It takes about
as many vectors as the readings have degrees of freedom, tr(K B⁻¹), which the probes tell; how much too large variances
are is measured at a few places by solves.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from gainful.checks import require_count, require_positive, require_seed
from gainful.errors import ConvergenceWarning, NumericalError
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
_USUAL, _LEAST, _FACTOR = 300, 100, 3 * 10**7  # ranks of a preconditioner, and numbers in one that is between them
_ROUNDING = 1e-10  # of a trace
_CHECKED = 16  # places at which variances are held against solves
_KNOWN = 0.05  # of a variance: how well such a solve must know it
_NOTICED = 0.1  # of a variance: a root that is cut short and leaves more than this is warned of
_PULLED = 2**16  # numbers in the columns of E up to which their slopes are taken even where each is costly


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

    # One whose `pulled` costs about as much for a hundred columns as for one says so: `pulls_many = True`. One that
    # stands for another matrix says how far it is from that: `off(noise)`.


@dataclass(frozen=True)
class Solver:
    """How solves are done: the relative residual that is enough, products at most, the rank of the preconditioner,
    probes of the log determinant, the largest rank of the root for variances, the seed of what is drawn, and by how
    many standard deviations a mean may be off, at most.

    Where it is not stated the preconditioner has rank 300 at most, and less for more than a hundred thousand readings:
    100 from three hundred thousand on. It ends where a further column would tell less than the noise.
    """

    tolerance: float = 1e-4
    most: int = 400
    preconditioner: int | None = None
    probes: int = 16
    root: int = 1000
    seed: int = 0
    accuracy: float = 0.01

    def __post_init__(self) -> None:
        require_positive("tolerance", self.tolerance, "1e-4 is usual")
        require_positive("accuracy", self.accuracy, "0.01 is usual")
        for name, least in (("most", 1), ("preconditioner", 0), ("probes", 2), ("root", 1)):
            if name != "preconditioner" or self.preconditioner is not None:
                object.__setattr__(self, name, require_count(name, getattr(self, name), least, "leave the default"))
        object.__setattr__(self, "seed", require_seed("seed", self.seed))

    def rank(self, readings: int) -> int:
        """That of the preconditioner, at most."""
        if self.preconditioner is not None:
            return self.preconditioner
        return int(np.clip(_FACTOR // max(readings, 1), _LEAST, _USUAL))

    def worth(self, noise: Array) -> float:
        """What a column of it has to take off the trace: about an eigenvalue, which is to be above all noise."""
        return float(np.min(noise)) if self.preconditioner is None else 0.0


def krylov_belief(mean: Mean, kernel: Kernel, readings: Readings, operator: Operator, solver: Solver) -> KrylovBelief:
    """All that takes solves with B, done together: one product for α and every probe at each step."""
    rank, worth = solver.rank(len(readings.X)), solver.worth(readings.noise)
    rough = pivoted_cholesky(operator.diagonal(), operator.column, rank, _ROUNDING, worth)
    preconditioner = LowRankPlusDiagonal(rough.L, readings.noise)
    probes = probe(len(readings.X), np.random.default_rng(solver.seed), solver.probes, preconditioner)
    system = System(operator, readings.noise, preconditioner, solver)
    solved = system.solve(np.column_stack([readings.residual, probes]), means=1)
    log_det = estimate(solved, preconditioner.log_det, first=1)
    return KrylovBelief(mean, kernel, readings, system, probes, solved, log_det)


@dataclass(frozen=True, eq=False)
class System:
    """B = K + diag(noise), and how it is solved: as D^-½ B D^-½, whose residuals are in standard deviations."""

    operator: Operator
    noise: Array
    preconditioner: LowRankPlusDiagonal = field(repr=False)
    solver: Solver

    @cached_property
    def deviation(self) -> Array:
        """D^½ as a column (N, 1)."""
        return np.sqrt(self.noise)[:, None]

    def apply(self, V: Array) -> Array:
        """B V for V (N, p)."""
        return self.operator.times(V) + self.noise[:, None] * V

    def solve(self, rhs: Array, means: int = 0, tolerance: float | None = None) -> conjugate.Solved:
        """B x = rhs (N, p), with `left` D^-½ (rhs − B x): to a relative residual of `tolerance`, the solver's if not
        given, and the first `means` columns until what they predict is within its accuracy as well."""
        s, solver = self.deviation, self.solver
        scaled = rhs / s
        enough = np.full(rhs.shape[1], solver.tolerance if tolerance is None else tolerance)
        sizes = np.linalg.norm(scaled[:, :means], axis=0)
        enough[:means] = np.minimum(enough[:means], solver.accuracy / np.maximum(sizes, 1e-300))
        found = conjugate.solve(self._scaled, scaled, self._scaled_preconditioner, enough, solver.most)
        return replace(found, x=found.x / s)

    def _scaled(self, V: Array) -> Array:
        return self.operator.times(V / self.deviation) / self.deviation + V

    def _scaled_preconditioner(self, V: Array) -> Array:
        return self.deviation * self.preconditioner.solve(self.deviation * V)


@dataclass(frozen=True, eq=False)
class KrylovBelief:
    """f given N readings; `solved` has α in its first column and B⁻¹ of the probes in the others."""

    prior_mean: Mean
    kernel: Kernel
    readings: Readings
    system: System
    probes: Array = field(repr=False)
    solved: conjugate.Solved = field(repr=False)
    log_det: Estimate

    @property
    def operator(self) -> Operator:
        return self.system.operator

    @property
    def solver(self) -> Solver:
        return self.system.solver

    @property
    def alpha(self) -> Array:
        """B⁻¹ (y − m), (N,)."""
        return self.solved.x[:, 0]

    @property
    def mean_error(self) -> float:
        """|D^-½ (y − m − B α)|: no mean is off by more standard deviations, but for rounding."""
        return float(np.linalg.norm(self.solved.left[:, 0]))

    @property
    def misfit(self) -> float:
        """(y − m)ᵀ B⁻¹ (y − m) by (y − m)ᵀ α + αᵀ r with r what is left of y − m: low by rᵀ B⁻¹ r, `mean_error`² at
        most."""
        left = self.solved.left[:, 0] * self.system.deviation[:, 0]
        return float((self.readings.residual + left) @ self.alpha)

    @property
    def log_evidence(self) -> float:
        """−½ (y − m)ᵀ α − ½ log|B| − ½ N log 2π, the log determinant with its standard error in `log_det`."""
        return -0.5 * (self.misfit + self.log_det.value + len(self.alpha) * _LOG_2PI)

    @property
    def evidence_error(self) -> float:
        """The standard error of the log evidence."""
        return 0.5 * self.log_det.standard_error

    @property
    def convergence(self) -> Convergence:
        residual = float(np.max(self.solved.residuals))
        result = Result.SOLVED if self.solved else Result.NOT_SOLVED
        note = (
            f"; means are off by at most {self.mean_error:.1g} of their standard deviations, and the log evidence has "
            f"a standard error of {self.evidence_error:.2g}"
        )
        if self._cut:
            note += (
                f"; variances come from a root of {self._rank} vectors for {self.freedom:.0f} degrees of freedom and "
                f"are too large{self._excess_in_words}; raise `Solver.root`"
            )
        off: Callable[[Array], str] | None = getattr(self.operator, "off", None)  # where it stands for another matrix
        if off is not None:
            note += f"; {off(self.readings.noise)}"
        return Convergence(result, self.solved.iterations, residual, note)

    @property
    def _excess_in_words(self) -> str:
        """How much too large variances are, as far as that has been measured: it takes the root."""
        if "excess" not in self.__dict__:
            return ""
        if self.excess is None:
            return ", by how much is not known"
        return f", {1.0 + self.excess:.3g} times what they should be at the middle one of some readings"

    def gradient(self) -> Gradient:
        """Of the log evidence; the trace by what the preconditioner knows of it and, of the rest, by the probes."""
        share, right = 1.0 / self.probes.shape[1], self._by_preconditioner
        left, others = [self.alpha, -share * self.solved.x[:, 1:]], [self.alpha, right]
        if self._columns:
            known = self.system.preconditioner.leading(self._columns)
            within = matmul(known, matmul(known.T, self.probes))
            twice = 2.0 * right - within
            part = self._worth(within, twice)
            left += [-part * known, share * part * twice]
            others += [known, within]
        slopes = self.operator.pulled(np.column_stack(left), np.column_stack(others))
        noise = self.readings.noise * self.alpha**2 - self._noise_part
        return Gradient(0.5 * slopes, self.prior_mean.vjp(self.readings.X)[1](self.alpha), noise)

    @property
    def _columns(self) -> int:
        """Of E: all or none. A few gain little; all are worth their cost where readings are few, or slopes of many
        columns cost about as much as of one."""
        N, rank = self.system.preconditioner.L.shape
        return rank if getattr(self.operator, "pulls_many", False) or N * rank <= _PULLED else 0

    @cached_property
    def _by_preconditioner(self) -> Array:
        """P⁻¹ z of the probes, (N, p)."""
        return self.system.preconditioner.solve(self.probes)

    def _worth(self, within: Array, twice: Array) -> float:
        """The part of what is known of the trace that is worth taking, as the slope in the kernel's variance has it:
        with K′ = K products are at hand, and K B⁻¹ z = z − D B⁻¹ z."""
        own = self.probes - self.readings.noise[:, None] * self.solved.x[:, 1:]
        a = np.einsum("np,np->p", own, self._by_preconditioner)
        return _part(a, np.einsum("np,np->p", twice, self.operator.times(within)))

    @cached_property
    def _noise_part(self) -> Array:
        """noise · diag(B⁻¹), (N,): of P exactly, and the difference by the probes.

        zᵀ P⁻¹ D P⁻¹ z, of which the mean is known, is taken off zᵀ B⁻¹ D P⁻¹ z as far as that goes along with it.
        """
        noise, right = self.readings.noise, self._by_preconditioner
        own, other = noise[:, None] * self.solved.x[:, 1:] * right, noise[:, None] * right**2
        part = _part(own.sum(axis=0), other.sum(axis=0))
        return np.asarray(
            part * noise * self.system.preconditioner.inverse_diagonal + (own - part * other).mean(axis=1)
        )

    @cached_property
    def _weights(self) -> Array:
        return self.operator.weigh(self.alpha[:, None])

    @cached_property
    def freedom(self) -> float:
        """tr(K B⁻¹) = N − tr(D B⁻¹), the readings' degrees of freedom, by the probes."""
        N = len(self.alpha)
        return float(np.clip(N - self._noise_part.sum(), 1.0, N))

    @property
    def _wanted(self) -> int:
        """Vectors of a root that leaves next to nothing."""
        return int(min(2.0 * self.freedom + 64.0, len(self.alpha)))

    @property
    def _rank(self) -> int:
        return int(min(self._wanted, self.solver.root, _ROOM // len(self.alpha)))

    @property
    def _cut(self) -> bool:
        """Whether there are more degrees of freedom than the root may have vectors."""
        return self._rank < min(self.freedom, self._wanted)

    @cached_property
    def _root(self) -> Array:
        """R (N, r) as `project` takes it: of a Krylov space of B from the readings."""
        start = self.readings.residual if np.any(self.readings.residual) else np.ones(len(self.alpha))
        found = lanczos(self._rank)(self.system.apply, start, np.random.default_rng(self.solver.seed))
        lower = cholesky(found.T.matrix, lower=True)
        return self.operator.weigh(np.asarray(solve_triangular(lower, found.Q.T, lower=True)).T)

    @cached_property
    def _known_root(self) -> Array:
        """The root, after a warning where it was cut short and that is noticed."""
        root = self._root
        if self._cut and (self.excess is None or self.excess > _NOTICED):
            warnings.warn(self.convergence.message, ConvergenceWarning, stacklevel=2)
        return root

    @cached_property
    def excess(self) -> float | None:
        """By what part variances are too large, the median over some of the readings' places; None where the solves
        there fall short of telling.

        Var[f(x_i)] = noise_i − noise_i² (B⁻¹)_ii, and (B⁻¹)_ii by eᵢᵀ u + uᵀ (eᵢ − B u), low by |D^-½ (eᵢ − B u)|² at
        most. Elsewhere a root that is too small leaves less, beside variances that are larger.
        """
        N, s = len(self.alpha), self.system.deviation[:, 0]
        some = np.unique(np.linspace(0, N - 1, min(_CHECKED, N)).astype(int))
        units = np.zeros((N, len(some)))
        units[some, np.arange(len(some))] = 1.0
        noise, tolerance = self.readings.noise[some], 0.1 * np.sqrt(_KNOWN * self.freedom / N)
        for _ in range(2):
            solved = self.system.solve(units, tolerance=tolerance)
            inverse = np.diagonal(solved.x[some]) + np.einsum("np,np->p", solved.x, s[:, None] * solved.left)
            most = noise - noise**2 * inverse
            least = most - noise**2 * np.einsum("np,np->p", solved.left, solved.left)
            if np.all(most - least <= _KNOWN * least):
                return float(np.median(self._variance(self.readings.X[some], self._root) / most) - 1.0)
            tolerance *= 1e-3
        return None

    def mean(self, X: Array) -> Array:
        """m(x) + k(x, Z) α."""

        def of(part: slice) -> Array:
            return self.prior_mean(X[part]) + self.operator.project(X[part], self._weights)[:, 0]

        return in_blocks(of, len(X), self.operator.each)

    def from_residual(self, residual: Array) -> Callable[[Array], Array]:
        """By one more solve; NumericalError where it falls short."""
        solved = self.system.solve(residual[:, None], means=1)
        if not solved:
            raise NumericalError(f"the solve for other readings fell short: {solved.message}")
        weights = self.operator.weigh(solved.x)

        def mean(X: Array) -> Array:
            return in_blocks(lambda part: self.operator.project(X[part], weights)[:, 0], len(X), self.operator.each)

        return mean

    def half(self, X: Array) -> Array:
        """k(x, Z) R, (M, r): what the readings take off a covariance is a product of two of these."""
        root = self._known_root

        def of(part: slice) -> Array:
            return self.operator.project(X[part], root)

        return in_blocks(of, len(X), self.operator.each + 2 * root.shape[1])

    def variance(self, X: Array) -> Array:
        """k(x, x) − ‖Rᵀ k(Z, x)‖²."""
        return self._variance(X, self._known_root)

    def _variance(self, X: Array, root: Array) -> Array:
        def of(part: slice) -> Array:
            half = self.operator.project(X[part], root)
            left = self.operator.variance(X[part]) - np.einsum("mr,mr->m", half, half)
            return np.maximum(left, 0.0)  # rounding

        return in_blocks(of, len(X), self.operator.each + 2 * root.shape[1])

    def covariance(self, X: Array, Z: Array) -> Array:
        """k(X, Z) − k(X, ·) R Rᵀ k(·, Z)."""
        there = self.half(Z)

        def of(part: slice) -> Array:
            return self.operator.between(X[part], Z) - matmul(self.half(X[part]), there.T)

        return in_blocks(of, len(X), self.operator.each + 2 * len(Z))


def _part(a: Array, b: Array) -> float:
    """c in [0, 1] for which a − c b, over the probes (p,), varies least: 0 where b has nothing of a."""
    a, b = a - a.mean(), b - b.mean()
    return float(np.clip(a @ b / max(float(b @ b), 1e-300), 0.0, 1.0))


def require_finite(belief: KrylovBelief) -> KrylovBelief:
    """The belief; NumericalError where its matrix has turned out not to be positive definite."""
    if not np.isfinite(belief.log_evidence):
        raise NumericalError(f"the covariance of the readings is not positive definite: {belief.solved.message}")
    return belief
