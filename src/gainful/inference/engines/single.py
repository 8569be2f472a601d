"""Exact inference in half the memory: a factor in single precision, and what it gives refined in double.

With B = K + diag(noise), and P = L Lᵀ near it with L in single precision:

    α = B⁻¹ (y − m)         by conjugate gradients with P, a few products with tiles of the kernel
    log|B| = log|P| + …     by probes in the same solves, which have next to nothing to tell
    Var[f(x)], dL/dθ        with P⁻¹ for B⁻¹

Variances are held against solves at a few of the readings' places. With Δ = B − P, and the weights w = B⁻¹ k(Z, x) of a
prediction, a variance is off by wᵀΔw, and it is itself no less than wᵀ diag(noise) w: single precision is enough where
the rounding of the kernel's values is far below the noise. Where it is not, the belief is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainful.checks import require_count, require_positive, require_seed
from gainful.errors import NumericalError
from gainful.inference.convergence import Convergence, Result
from gainful.inference.engines.base import EngineBelief, read
from gainful.inference.engines.dense import DenseBelief, filled
from gainful.inference.engines.iterative import Tiles
from gainful.kernels.base import Kernel
from gainful.layout import Layout
from gainful.means import Mean, Zero
from gainful.numerics import conjugate
from gainful.numerics.log_determinant import Estimate, estimate
from gainful.numerics.memory import require_room
from gainful.numerics.single import factor_single

__all__ = ["Single", "SingleBelief"]

Array = NDArray[np.float64]

_LOG_2PI = float(np.log(2.0 * np.pi))
_ENOUGH = 0.05  # of a variance: how far it may be off
_CHECKED = 8  # places at which variances are held against solves


@dataclass(frozen=True)
class Single:
    """Exact inference with a Cholesky factor in single precision, for numbers read at places: half the memory.

    Means and evidence are refined in double precision, to a relative residual of `tolerance` in `most` products at
    most, the log determinant by `probes`. How far variances are off is measured and said, and refused beyond 5 %: the
    noise of readings must be well above a thousandth of what varies.

    >>> Single(tolerance=1e-10)
    Single(tolerance=1e-10, most=100, probes=8, seed=0)
    """

    tolerance: float = 1e-8
    most: int = 100
    probes: int = 8
    seed: int = 0

    def __post_init__(self) -> None:
        require_positive("tolerance", self.tolerance, "1e-8 is usual")
        object.__setattr__(self, "most", require_count("most", self.most, 1, "100 is usual"))
        object.__setattr__(self, "probes", require_count("probes", self.probes, 2, "8 is usual"))
        object.__setattr__(self, "seed", require_seed("seed", self.seed))

    def require_room(self, readings: int) -> None:
        require_room("data", readings, readings // 2, "condition with inference=Iterative(), Vecchia() or Inducing()")

    def believe(self, mean: Mean, kernel: Kernel, layout: Layout, start: EngineBelief | None = None) -> SingleBelief:
        readings = read(self, mean, layout)
        N = len(readings.X)
        self.require_room(N)
        factor = factor_single(lambda: filled(kernel, readings, np.float32))
        rng, apply = np.random.default_rng(self.seed), Covariance(Tiles(kernel, readings.X, 0), readings.noise)
        some = np.unique(np.linspace(0, N - 1, min(_CHECKED, N)).astype(int))
        checked = kernel.matrix(readings.X, readings.X[some])
        right = np.column_stack([readings.residual, checked, factor.sample(rng, self.probes)])
        solved = conjugate.solve(apply, right, factor.solve, self.tolerance, self.most)
        log_det = estimate(solved, factor.log_det, first=1 + len(some))
        alpha = np.ascontiguousarray(solved.x[:, 0])
        belief = SingleBelief(mean, kernel, readings, factor, alpha, self, Refined(apply, solved, log_det, 0.0))
        taken = np.einsum("nm,nm->m", checked, solved.x[:, 1 : 1 + len(some)])
        variances = kernel.diag(readings.X[some]) - taken
        error = float(np.max(np.abs(belief.variance(readings.X[some]) / variances - 1.0)))
        if not error <= _ENOUGH:
            raise NumericalError(
                "single precision is not enough for these readings: their noise is too small beside what varies, and "
                f"variances are off by {error:.0%}; condition with Exact() or Iterative()"
            )
        return replace(belief, refined=belief.refined._replace(error=error))


@dataclass(frozen=True, eq=False)
class Covariance:
    """V -> B V for B = K + diag(noise), whose tiles are worked out again for each product."""

    tiles: Tiles
    noise: Array

    def __call__(self, V: Array) -> Array:
        return self.tiles.times(V) + self.noise[:, None] * V


class Refined(NamedTuple):
    """V -> B V; what the solves have found; log|B|; and how far variances are off, of themselves."""

    apply: Covariance
    solved: conjugate.Solved
    log_det: Estimate
    error: float


@dataclass(frozen=True, eq=False)
class SingleBelief(DenseBelief):
    """f given N readings: B ≈ L Lᵀ with L in single precision, and α = B⁻¹ (y − m) in double."""

    engine: Single
    refined: Refined = field(repr=False)

    @property
    def convergence(self) -> Convergence:
        solved, log_det, error = self.refined[1:]
        note = (
            f"; by a factor in single precision: variances are right to {error:.1e} at some places, and the log "
            f"evidence has a standard error of {0.5 * log_det.standard_error:.1g}"
        )
        result = Result.SOLVED if solved else Result.NOT_SOLVED
        return Convergence(result, solved.iterations, float(np.max(solved.residuals)), note)

    @property
    def jitter(self) -> float:
        """None: an enlarged diagonal of L Lᵀ is a part of what is refined."""
        return 0.0

    @property
    def log_evidence(self) -> float:
        """−½ (y − m)ᵀ α − ½ log|B| − ½ N log 2π."""
        return -0.5 * (self.misfit + self.refined.log_det.value + len(self.alpha) * _LOG_2PI)

    @property
    def evidence_error(self) -> float:
        """The standard error of the log evidence."""
        return 0.5 * self.refined.log_det.standard_error

    def from_residual(self, residual: Array) -> Callable[[Array], Array]:
        """By one more solve; NumericalError where it falls short."""
        given = self.engine
        solved = conjugate.solve(self.refined.apply, residual[:, None], self.factor.solve, given.tolerance, given.most)
        if not solved:
            raise NumericalError(f"the solve for other readings fell short: {solved.message}")
        return replace(self, prior_mean=Zero(), alpha=solved.x[:, 0]).mean
