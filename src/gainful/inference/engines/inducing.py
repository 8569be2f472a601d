"""Inducing points: a belief through f at M places, in O(N M²) for N answers of any kind that sees one value.

With U the inducing points, K_uu = L Lᵀ, g = A f what the answers see, C = A k(Z, U) and Φ = C L⁻ᵀ, the points explain
the part Q = Φ Φᵀ of g's prior covariance K. For numbers with noise D the belief and the evidence are those of the
collapsed bound (Titsias 2009, eq. 9), and the true log evidence lies below a second bound (Titsias 2014):

    lower = log N(y; m, Q + D) − ½ t,   t = tr(D⁻¹ (K − Q))
    upper = −½ log|2π (Q + D)| − ½ eᵀ (Q + (1 + t) D)⁻¹ e,   e = y − m

since D^−½ (K − Q) D^−½ is positive semidefinite and t is its trace: Q + D ≤ K + D ≤ Q + (1 + t) D.
For other answers the prior of g is Q + diag(K − Q) and its belief by EP (`low_rank_ep.py`), without such bounds.

The points are the pivots of a pivoted Cholesky factorisation: each is where the others leave most of the prior's
variance (Burt et al. 2020). Beside Φ, (F, M), arrays stay within `numerics.memory.WORKING` bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from gainful.checks import column_names, finite_table, is_whole, require, require_count, require_positive
from gainful.errors import InvalidInput, NumericalError
from gainful.inference.convergence import Convergence, Result
from gainful.inference.engines.base import EngineBelief, Gradient
from gainful.inference.engines.low_rank_ep import LowRankBelief, condition_low_rank, settle
from gainful.inference.engines.low_rank_response import LowRankResponse, doubt, respond_low_rank
from gainful.inference.response import DOUBT
from gainful.inference.sites import Sites
from gainful.inference.solution import WarmStart, gaussian_sites, is_block, transfer_sites
from gainful.instruments.base import Instrument
from gainful.kernels.base import Kernel, Pullback
from gainful.layout import Layout
from gainful.means import Mean
from gainful.numerics.blas import matmul
from gainful.numerics.memory import blocks, in_blocks
from gainful.numerics.pivoted import Outcome, pivoted_cholesky
from gainful.numerics.rows import find_rows

__all__ = ["Inducing", "InducingBelief", "greedy_places"]

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

DEPENDENT = 1e-10  # of the largest prior variance: what is left of a point's own that makes it one of the others
_HELD = 6  # arrays of (n, M) at a time, for each block of n rows
_NEAR = 1e-3  # of a standard deviation
_LOG_2PI = float(np.log(2.0 * np.pi))
_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Inducing:
    """At most `points` inducing points among the places of the data, or those at given places (M, D).

    `tolerance` and `max_iterations` are those of EP, where an answer is not a number. A belief goes on from an earlier
    one, `start`: from its sites, and through the same points where the places are the same, so that a search for
    hyperparameters climbs one smooth function.

    >>> import gainful as gf
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> data = gf.Data().add(gf.Point(noise=0.1), X, np.sin(6.0 * X[:, 0]))
    >>> belief = Inducing(points=10).believe(gf.Zero(), gf.SE(0.3), data.layout)
    >>> print(belief.report())
    the log evidence lies between 253.92 and 253.92 (0.00026 apart), by 10 inducing points for 200 answers
    """

    points: Any = 500
    tolerance: float = 1e-8
    max_iterations: int = 300

    def __post_init__(self) -> None:
        if is_whole(self.points):
            object.__setattr__(self, "points", require_count("points", self.points, 1, "some hundreds are usual"))
        else:
            named = column_names(self.points) is not None
            require(
                not named, "points", "places without names of columns", self.points, "give an array, in their order"
            )
            table = finite_table("points", self.points)
            require(len(table) > 0, "points", "one place at least", self.points, "or how many to choose")
            object.__setattr__(self, "points", tuple(map(tuple, table.tolist())))
        require_positive("tolerance", self.tolerance, "leave the default")
        require_count("max_iterations", self.max_iterations, 1, "leave the default")

    def believe(self, mean: Mean, kernel: Kernel, layout: Layout, start: EngineBelief | None = None) -> InducingBelief:
        """What is believed about f after the answers of the layout."""
        require(layout.size > 0, "data", "one answer at least for Inducing()", "none", "without answers, use EP()")
        _require_single_values(layout)
        layout.require_possible()
        before = start if isinstance(start, InducingBelief) else None
        basis = _basis(kernel, layout, self._places(kernel, layout, before))
        prior_mean = layout.pick(mean(layout.places))
        if layout.gaussian:
            nothing = np.zeros(layout.size)
            state = condition_low_rank(gaussian_sites(layout), prior_mean, basis.features, nothing)
            lower = _bound(state, _misfit(state)) - 0.5 * float(np.sum(state.sites.precision * basis.left))
            went = Convergence(Result.APPROXIMATED, note=f" by {len(basis.points)} inducing points")
            return InducingBelief(mean, kernel, layout, basis, state, lower, went)
        warm = None if before is None else _carried(before.state.sites, layout)
        state, log_evidence, went = settle(
            layout, prior_mean, basis.features, basis.left, self.tolerance, self.max_iterations, warm
        )
        went = replace(went, note=f"{went.note}; by {len(basis.points)} inducing points")
        return InducingBelief(mean, kernel, layout, basis, state, log_evidence, went)

    def _places(self, kernel: Kernel, layout: Layout, before: InducingBelief | None) -> Array:
        if not is_whole(self.points):
            given, D = np.array(self.points), layout.places.shape[1]
            fits, expected = given.shape[1] == D, f"places with {D} coordinates"
            require(fits, "points", expected, given.shape, "give them the columns of the data")
            return given
        if before is not None and np.array_equal(before.layout.places, layout.places):
            return before.basis.asked
        return greedy_places(kernel, layout.places, self.points)


class Basis(NamedTuple):
    """Inducing points: those asked for, those kept, (M, D), and L with k(U, U) = L Lᵀ; Φ = A k(Z, U) L⁻ᵀ (F, M), the
    prior variances of g (F,), and what Φ leaves of them (F,)."""

    asked: Array
    points: Array
    lower: Array
    features: Array
    prior: Array
    left: Array


@dataclass(frozen=True, eq=False)
class InducingBelief:
    """f given the answers, through w with f(U) − m(U) = L w: what it knows of w, and what that says elsewhere.

    `log_evidence` and `upper` are the two bounds; where an answer is not a number, EP's evidence and infinity.
    """

    prior_mean: Mean
    kernel: Kernel
    layout: Layout = field(repr=False)
    basis: Basis = field(repr=False)
    state: LowRankBelief = field(repr=False)
    log_evidence: float
    convergence: Convergence

    @cached_property
    def upper(self) -> float:
        """A bound on the log evidence from above."""
        if not self.layout.gaussian:
            return np.inf
        old, state = self.state.sites, self.state
        widened = 1.0 + float(np.sum(old.precision * self.basis.left))
        wide = Sites(old.precision / widened, old.shift / widened)
        return _bound(state, _misfit(condition_low_rank(wide, state.prior_mean, state.features, state.left)))

    @cached_property
    def response(self) -> LowRankResponse | None:
        """By how much spreads are larger than those of EP's sites; None where it has little to correct, or cannot."""
        return respond_low_rank(self.layout, self.state) if self.doubt >= DOUBT else None

    @cached_property
    def doubt(self) -> float:
        """What EP's evidence lacks, in nats, by its leading correction."""
        near = self.convergence.residual <= _NEAR  # moments need not be final for it
        return doubt(self.layout, self.state) if near and not self.layout.gaussian else 0.0

    @cached_property
    def told(self) -> Convergence:
        """How it went, with what it takes a second look to know: how far the evidence may be off, or the bands."""
        more = ""
        if self.layout.gaussian:
            more = f"; the log evidence lies between {self.log_evidence:.6g} and {self.upper:.6g}"
        elif self.doubt >= DOUBT and self.response is None:
            lacks = f"about {self.doubt:.1g} nats" if np.isfinite(self.doubt) else "an unknown amount"
            more = f"; bands may be too narrow, as EP's evidence lacks {lacks}"
        return replace(self.convergence, note=self.convergence.note + more)

    def _known(self, half: Array) -> Array:
        """G with Cov[φᵀw] = Gᵀ G, for L⁻¹ k(U, x) (M, n)."""
        known = self.state.half(half)
        return known if self.response is None else self.response.half(known)

    def _spread(self, known: Array) -> Array:
        """The other half of it: L⁻ᵀ F G, (M, n)."""
        return self.state.spread(known if self.response is None else self.response.spread(known))

    @property
    def points(self) -> Array:
        """The inducing points in use, (M, D), the most telling one first."""
        return self.basis.points

    @property
    def rounding(self) -> float:
        """By how much rounding may have moved the bound: variances that are left are known to eps of the prior's, and
        count in units of the noise."""
        some = self.basis.left > 0.0
        return _EPS * float(np.sum(self.state.sites.precision[some] * self.basis.prior[some]))

    def mean(self, X: Array) -> Array:
        """m(x) + k(x, U) L⁻ᵀ E[w]."""

        def of(part: slice) -> Array:
            return self.prior_mean(X[part]) + matmul(self._half(X[part]).T, self.state.weights)

        return in_blocks(of, len(X), _HELD * len(self.points))

    def variance(self, X: Array) -> Array:
        """k(x, x) − ‖φ‖² + φᵀ B⁻¹ φ, φ = L⁻¹ k(U, x), with Cov[w] by linear response in the place of B⁻¹."""

        def of(part: slice) -> Array:
            half = self._half(X[part])
            left = self.kernel.diag(X[part]) - np.einsum("mi,mi->i", half, half)
            known = self._known(half)
            # At an inducing point nothing is left, or what rounding makes of it.
            return np.maximum(left, 0.0) + np.einsum("mi,mi->i", known, known)

        return in_blocks(of, len(X), _HELD * len(self.points))

    def covariance(self, X: Array, Z: Array) -> Array:
        """k(X, Z) − Φ_X Φ_Zᵀ + Φ_X Cov[w] Φ_Zᵀ, (M, L)."""
        there = self._half(Z)
        known = there - self._spread(self._known(there))

        def of(part: slice) -> Array:
            return self.kernel.matrix(X[part], Z) - matmul(self._half(X[part]).T, known)

        return in_blocks(of, len(X), _HELD * len(self.points) + 2 * len(Z))

    def _half(self, X: Array) -> Array:
        return _triangular(self.basis.lower, self.kernel.matrix(X, self.points).T)

    def moving(self, prior: Callable[[Array], Array], rng: np.random.Generator) -> Callable[[Array], Array]:
        """x -> k(x, U) L⁻ᵀ (w − L⁻¹ (f₀(U) − m(U))) for a drawn f₀ and a w that is drawn from what is known of it."""
        drawn = prior(self.points) - self.prior_mean(self.points)
        w = self.state.weights + self._spread(rng.standard_normal((len(self.points), 1)))[:, 0]
        apart = w - _triangular(self.basis.lower, drawn[:, None])[:, 0]
        return lambda X: in_blocks(
            lambda part: matmul(self._half(X[part]).T, apart[:, None])[:, 0], len(X), _HELD * len(self.points)
        )

    def gradient(self) -> Gradient:
        """Of `log_evidence`, the points held: in the kernel's theta, the mean's, and the logarithm of each row's noise
        (0 where a row's answer is no number).

        With d = dL/d diag(K) and o = 2d + τ̃ (0 for the bound, where d = −½ τ):

            dL/dC    = α E[w]ᵀ L⁻¹ + diag(τ̃) Φ (I − B⁻¹) L⁻¹ − diag(o) Φ L⁻¹
            dL/dK_uu = −½ L⁻ᵀ (E[w] E[w]ᵀ + B − 2I + B⁻¹ − Φᵀ diag(o) Φ) L⁻¹
        """
        layout, alpha = self.layout, self.state.alpha
        diagonal = -0.5 * self.state.sites.precision
        if not layout.gaussian:
            diagonal = 0.5 * (alpha**2 - self.state.sites.precision * self.state.cavity_ratio)
        return Gradient(
            self._kernel_slope(diagonal) + _row_variances(self.kernel, layout)[1](diagonal),
            self.prior_mean.vjp(layout.places)[1](layout.spread(alpha)),
            self._noise_slope(),
        )

    def _noise_slope(self) -> Array:
        """α² noise² − 1 + Var[g]/noise², where an answer is a number."""
        state, rows = self.state, _gaussian_rows(self.layout)
        # The bound counts what the points leave of a variance, though its belief about g is that of Q alone.
        variance = state.variance + self.basis.left if self.layout.gaussian else state.variance
        precision, out = state.sites.precision[rows], np.zeros(self.layout.size)
        out[rows] = state.alpha[rows] ** 2 / precision - 1.0 + precision * variance[rows]
        return out

    def _kernel_slope(self, diagonal: Array) -> Array:
        """dL/dtheta through C and K_uu."""
        state, layout, kernel, M = self.state, self.layout, self.kernel, len(self.points)
        total = np.zeros(kernel.size)
        if not M:
            return total
        features, others = self.basis.features, 2.0 * diagonal + state.effective
        inverse = np.asarray(lapack.dtrtri(self.basis.lower, lower=1)[0])
        through, a = inverse - state.solve(inverse), matmul(inverse.T, state.weights)
        middle = matmul(state.lower, state.lower.T) + state.solve(np.eye(M)) + np.outer(state.weights, state.weights)
        middle.flat[:: M + 1] -= 2.0
        for part in blocks(layout.size, _HELD * M):
            weighted = features[part] * state.effective[part, None]
            G = matmul(weighted, through)
            G += state.alpha[part, None] * a
            if others[part].any():
                weighted = features[part] * others[part, None]
                G -= matmul(weighted, inverse)
                middle -= matmul(features[part].T, weighted)
            total += kernel.vjp(layout.places[layout.first[part]], self.points)[1](G)
            paired = layout.second[part] >= 0
            if paired.any():
                there = layout.places[layout.second[part][paired]]
                total -= kernel.vjp(there, self.points)[1](np.ascontiguousarray(G[paired]))
        G = matmul(inverse.T, matmul(middle, inverse))
        return total - 0.5 * kernel.vjp(self.points, self.points)[1](0.5 * (G + G.T))

    def instrument_gradient(self) -> tuple[Array, ...]:
        """Of `log_evidence`, in the theta of each of the layout's instruments: its noise where answers are numbers,
        Σ ∂ log Ẑ/∂theta at the cavities where they are not."""
        layout, noise = self.layout, self._noise_slope()
        if layout.is_intersected:
            raise InvalidInput(
                "data", "answers with noise for slopes in the instruments", "exact ones about the same value",
                "give their instrument noise, or use EP()",
            )  # fmt: skip
        out = [np.zeros(each.size) for each in layout.instruments]
        for instrument, owner, answers, rows in layout.sources:
            if instrument.gaussian and instrument.size:
                out[owner] += float(np.sum(noise[rows[:, 0]]))
            elif instrument.size:
                for term in instrument.split(answers, rows):
                    assert isinstance(term.likelihood, Instrument)
                    m, v = self.state.cavity(term.rows[:, 0])
                    out[owner] += term.likelihood.pullback_theta(term.answers, m, v).sum(axis=0)
        return tuple(out)

    def report(self) -> str:
        """How good it is, in a sentence."""
        used, asked = len(self.points), len(self.basis.asked)
        by = f"by {used} inducing points for {self.layout.size} answers"
        if used < asked:
            by += f" ({asked - used} more were left out, as these determine them)"
        if not self.layout.gaussian:
            left = float(np.sum(self.basis.left)) / max(float(np.sum(self.basis.prior)), np.finfo(float).tiny)
            message = replace(self.convergence, note="").message
            return f"{message}, {by}; they leave {left:.1%} of the prior's variance unexplained"
        gap = f"{self.upper - self.log_evidence:.2g} apart"
        if self.rounding > 1e-3:
            gap += f", and known to {self.rounding:.1g} in double precision"
        return f"the log evidence lies between {self.log_evidence:.2f} and {self.upper:.2f} ({gap}), {by}"


def greedy_places(kernel: Kernel, places: Array, most: int) -> Array:
    """Of the places (N, D), those that tell most about f, (M, D), M ≤ most: each is where the ones before it leave the
    largest variance, until that is 1e-10 of the prior's. O(N M²).

    >>> from gainful.kernels import SE
    >>> greedy_places(SE(), np.array([[0.0], [0.1], [3.0], [3.0]]), 2).tolist()
    [[0.0], [3.0]]
    """

    def column(i: int) -> Array:
        return kernel.matrix(places, places[i : i + 1])[:, 0]

    prior = kernel.diag(places)
    found = pivoted_cholesky(prior, column, most, DEPENDENT / len(places))
    if found.outcome is Outcome.NOT_POSITIVE:
        raise NumericalError(found.message)
    left = found.L[found.pivots, np.arange(found.rank)] ** 2
    return places[found.pivots[left > DEPENDENT * np.max(prior)]]


def _basis(kernel: Kernel, layout: Layout, asked: Array) -> Basis:
    """Φ through the asked places that do not depend on others: pivoted again, as theta may have moved."""
    own = kernel.matrix(asked, asked)
    lower, order, rank, _ = lapack.dpstrf(own, tol=DEPENDENT * float(np.max(np.diagonal(own), initial=0.0)), lower=1)
    points, lower = asked[order[:rank] - 1], np.asfortranarray(np.tril(lower[:rank, :rank]))
    features = np.empty((layout.size, rank))
    for part in blocks(layout.size, _HELD * rank):
        seen, second = kernel.matrix(layout.places[layout.first[part]], points), layout.second[part]
        paired = second >= 0
        if paired.any():
            seen[paired] -= kernel.matrix(layout.places[second[paired]], points)
        features[part] = _triangular(lower, seen.T).T
    prior = _row_variances(kernel, layout)[0]
    # K − Q has no negative variances but by rounding, and at the points themselves none at all.
    left = np.maximum(prior - np.einsum("im,im->i", features, features), 0.0)
    is_point = np.append(find_rows(layout.places, points) >= 0, True)
    left[is_point[layout.first] & is_point[layout.second]] = 0.0
    return Basis(asked, points, lower, features, prior, left)


def _misfit(state: LowRankBelief) -> float:
    """eᵀ (Q + D)⁻¹ e as the minimum that it is, of (e − Φw)ᵀ D⁻¹ (e − Φw) + wᵀw: nothing large is subtracted, and an
    error of w counts only squared."""
    off = state.sites.shift / state.sites.precision - state.prior_mean - state.explained_mean
    return float(np.sum(state.sites.precision * off**2) + state.weights @ state.weights)


def _bound(state: LowRankBelief, misfit: float) -> float:
    """log N(y; m, Q + D) with this quadratic form."""
    constant = float(np.sum(np.log(state.sites.precision))) - len(state.left) * _LOG_2PI
    return 0.5 * (constant - state.log_det - misfit)


def _row_variances(kernel: Kernel, layout: Layout) -> tuple[Array, Pullback]:
    """Var[g] before any answer, (F,), and the map from d = dL/d of it to dL/dtheta."""
    first, paired = layout.places[layout.first], layout.second >= 0
    own, back = kernel.rowwise_vjp(first, first)
    if not paired.any():
        return own, back
    left, right = first[paired], layout.places[layout.second[paired]]
    other, back_other = kernel.rowwise_vjp(right, right)
    both, back_both = kernel.rowwise_vjp(left, right)
    out = own.copy()
    out[paired] += other - 2.0 * both
    return out, lambda d: back(d) + back_other(d[paired]) - 2.0 * back_both(d[paired])


def _gaussian_rows(layout: Layout) -> Rows:
    rows = [term.rows[:, 0] for term in layout.terms if term.likelihood.gaussian]
    return np.concatenate(rows) if rows else np.zeros(0, dtype=np.intp)


def _carried(old: Sites, layout: Layout) -> WarmStart | None:
    """The sites of an earlier belief for a layout that begins with the same answers; None where it has fewer."""
    return WarmStart(transfer_sites(old, layout, np.arange(old.size))) if old.size <= layout.size else None


def _require_single_values(layout: Layout) -> None:
    """Refuse answers about several values at once, and numbers without noise."""
    if any(is_block(term) for term in layout.terms):
        kinds = sorted({type(s.instrument).__name__ for s in layout.sources if s.rows.shape[1] > 1})
        raise InvalidInput(
            "inference", "answers that see one value each for Inducing()", f"answers of {kinds}", "use EP()"
        )
    if not np.all(np.isfinite(gaussian_sites(layout).precision)):
        raise InvalidInput(
            "inference", "readings with some noise for Inducing()", "a noise of 0", "state a noise, however small"
        )


def _triangular(lower: Array, values: Array) -> Array:
    """L⁻¹ values, (M, n)."""
    if not values.size:
        return np.zeros(values.shape)
    return np.asarray(blas.dtrsm(1.0, lower, np.asfortranarray(values), lower=1))
