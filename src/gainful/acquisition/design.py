"""Optimal design: how far an answer is expected to shrink the covariance Σ of f at reference places.

The classical criteria (Fedorov 1972) are of the inverse Fisher information of the parameters. A GP's parameters are its
values, and their inverse information, prior included, is the posterior covariance:

    A   trace of Σ             ALC / integrated variance is A per reference place (Cohn 1996)
    D   log determinant of Σ
    E   largest eigenvalue of Σ

After an answer Σ becomes Σ + cᵀ d2 c (`lookahead`), which for numbers does not depend on the answer and is exact. Every
score is the criterion now minus its expectation after the answer: larger is better, zero is nothing learned. Of several
posteriors it is their average (`parts`): what the answer takes off within each, not what it tells about which is right.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.acquisition.base import AMOUNT
from gainful.acquisition.lookahead import Step, over_steps
from gainful.acquisition.parts import averaged
from gainful.inference.belief import Belief, require_askable
from gainful.inference.posterior import Posterior
from gainful.information.about import as_reference
from gainful.information.watched import watch_places, whitening
from gainful.instruments import Instrument, Point

__all__ = ["ALC", "ALM", "AOptimal", "DOptimal", "EOptimal", "IntegratedVariance", "largest_eigenvalue"]

Array = NDArray[np.float64]

_BISECTIONS = 50  # of a bracket no wider than the answer's own size: to 1e-15 of it
_MATRICES = 2_000_000  # numbers in a stack of covariances


# ---------------------------------------------------------------------------------------------------------- formulas


def trace_reduction(step: Step) -> Array:
    """−Σ_y P(y) tr(cᵀ d2 c), (M,): what the answer takes off Σ's trace."""
    gram = np.einsum("mkr,mlr->mkl", step.cross, step.cross)
    expected = np.einsum("mq,mqkl->mkl", step.outcome_table.weight, step.outcome_table.d2)
    return -np.einsum("mkl,mkl->m", expected, gram)


def log_det_reduction(step: Step, whitened: Array) -> Array:
    """−½ Σ_y P(y) log2 det(1 + d2 cΣ⁻¹cᵀ), (M,), with whitened = c Σ^(−½), (M, k, R').

    By the matrix determinant lemma. For one value 1 + d2 q = ρ − d2 (v − q), where q = cΣ⁻¹cᵀ ≤ v is what the reference
    explains of the query's variance v and ρ = 1 + d2 v is known without cancellation: two terms of one sign.
    """
    explained = np.einsum("mkr,mlr->mkl", whitened, whitened)
    d2 = step.outcome_table.d2
    if explained.shape[1] == 1:
        beyond = np.maximum(step.seen.cov[:, 0, 0] - explained[:, 0, 0], 0.0)
        with np.errstate(divide="ignore"):  # an answer without noise at a reference place leaves nothing of it
            logs = np.log2(step.outcome_table.shrink - d2[..., 0, 0] * beyond[:, None])
        logs[step.seen.known] = 0.0
    else:
        logs = np.linalg.slogdet(np.eye(explained.shape[1]) + d2 @ explained[:, None])[1] / np.log(2.0)
    # An answer of probability zero does not count, whatever it would do.
    return -0.5 * step.expected(np.where(step.outcome_table.weight > 0.0, logs, 0.0))


def largest_eigenvalue(values: Array, squares: Array, factor: Array) -> Array:
    """The largest eigenvalue of diag(values) + factor z zᵀ, (...), for squares = z² (..., R) and factor (...).

    values (R,) ascend. The secular function s(λ) = 1 − factor Σ z_i²/(λ − values_i) changes sign at eigenvalues alone
    (Golub 1973). Its sign on either side tells how many eigenvalues lie above λ, so halving a bracket finds the
    largest: between the two largest values for a negative factor, above the largest by at most factor |z|² for a
    positive one. Repeated values and zeros in z need no care: s then keeps its sign, and the bracket shrinks to its
    upper end. Exact to 1e-14 of the bracket's upper end.

    >>> largest_eigenvalue(np.array([1.0, 2.0]), np.array([[0.5, 0.5]]), np.array([-1.0])).round(6).tolist()
    [1.707107]
    """
    top, second = values[-1], values[-2] if len(values) > 1 else -np.inf
    total = squares.sum(axis=-1)
    if len(values) == 1:
        return np.asarray(top + factor * total)
    shrinks = factor < 0.0
    low = np.where(shrinks, second, top)
    high = np.where(shrinks, top, top + factor * total)
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        gap = middle[..., None] - values
        inside = np.all(gap != 0.0, axis=-1)
        terms = np.divide(squares, gap, out=np.zeros(np.broadcast_shapes(squares.shape, gap.shape)), where=gap != 0.0)
        secular = 1.0 - factor * terms.sum(axis=-1)
        # Below the largest eigenvalue: s > 0 for a negative factor, s < 0 for a positive one.
        below = np.where(shrinks, secular > 0.0, secular < 0.0)
        low, high = np.where(inside & below, middle, low), np.where(inside & ~below, middle, high)
    return 0.5 * (low + high)


# ------------------------------------------------------------------------------------------------------------- goals


@dataclass(frozen=True)
class _AtReference:
    """What all criteria share: the places (R, d) that matter, as a value to compare and to write down."""

    scale: ClassVar[str] = AMOUNT
    looks_ahead: ClassVar[bool] = True

    reference: Any = field(repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "reference", as_reference(self.reference))


@dataclass(frozen=True)
class ALM:
    """Var[g]: the least certain place (MacKay 1992; "ALM" in Seo et al. 2000); for a set the sum over its places.

    The noise is left out: it is the same everywhere. So it does not know what the instrument could tell, and cannot
    choose between instruments; it likes edges, where variance is largest and an answer tells least about the inside.
    Of several posteriors it is the variance in all, their disagreement included.
    """

    scale: ClassVar[str] = AMOUNT

    def score(self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike) -> Array:
        require_askable(belief, instrument, places)
        _, v = belief.marginals(instrument, places)
        return np.array(v) if v.ndim == 1 else np.trace(v, axis1=1, axis2=2)


@dataclass(frozen=True)
class IntegratedVariance(_AtReference):
    """mean_r Var[f_r] − Σ_y P(y) mean_r Var[f_r | y] over reference places: ALC (Cohn 1996).

    For a number mean_r c_r²/(v + noise²). By the law of total variance it is also how much the posterior mean is
    expected to move, squared.

    >>> import gainful as gf
    >>> prior = gf.GP(gf.SE()).condition(gf.Data())
    >>> IntegratedVariance([[0.0], [99.0]]).score(prior, gf.Point(noise=1.0), [[0.0]]).tolist()
    [0.25]
    """

    def score(self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike) -> Array:
        return AOptimal(self.reference).score(belief, instrument, places) / len(self.reference)


ALC = IntegratedVariance


@dataclass(frozen=True)
class AOptimal(_AtReference):
    """tr Σ − Σ_y P(y) tr Σ(y): what the answer takes off the total variance at the reference places."""

    def score(self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike) -> Array:
        if isinstance(belief, Belief):
            return averaged(self, belief, instrument, places)
        return over_steps(belief, instrument, places, watch_places(belief, self.reference), trace_reduction)


@dataclass(frozen=True)
class DOptimal(_AtReference):
    """½ (log2 det Σ − Σ_y P(y) log2 det Σ(y)), in bits: for numbers, exactly the information about f at the reference.

    Nearby references make Σ singular in double precision. Eigenvalues below 1e-13 R of the prior variance are left out:
    the determinant is over the directions in which f at the reference is still uncertain.
    """

    def score(self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike) -> Array:
        if isinstance(belief, Belief):
            return averaged(self, belief, instrument, places)
        watched = watch_places(belief, self.reference)
        white = whitening(belief, Point(), watched)
        return over_steps(belief, instrument, places, watched, lambda step: log_det_reduction(step, step.cross @ white))


@dataclass(frozen=True)
class EOptimal(_AtReference):
    """λ_max(Σ) − Σ_y P(y) λ_max(Σ(y)): what the answer takes off the worst direction at the reference places.

    Places and pairs by rank-one updates of one eigendecomposition, O(R) per bisection; sets by an eigendecomposition
    for every candidate and answer, O(R³).
    """

    def score(self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike) -> Array:
        if isinstance(belief, Belief):
            return averaged(self, belief, instrument, places)
        watched = watch_places(belief, self.reference)
        cov = belief.covariance(watched.queries)
        values, vectors = np.linalg.eigh(cov)

        def reduction(step: Step) -> Array:
            if step.cross.shape[1] > 1:
                return values[-1] - step.expected(_by_decomposition(cov, step))
            squares = (step.cross @ vectors) ** 2
            return values[-1] - step.expected(largest_eigenvalue(values, squares, step.outcome_table.d2[..., 0, 0]))

        return over_steps(belief, instrument, places, watched, reduction)


def _by_decomposition(cov: Array, step: Step) -> Array:
    """λ_max(Σ + cᵀ d2 c), (M, Q), a few matrices at a time."""
    d2, cross = step.outcome_table.d2, step.cross
    out = np.empty(d2.shape[:2])
    some = max(1, _MATRICES // (cov.size * d2.shape[1]))
    for i in range(0, len(cross), some):
        c = cross[i : i + some, None]
        out[i : i + some] = np.linalg.eigvalsh(cov + np.swapaxes(c, 2, 3) @ d2[i : i + some] @ c)[..., -1]
    return out
