"""The posterior: what is believed after the data, for one mean and kernel. The same few lines for every kind of
inference.

mean(x)     = m(x) + k(x, Z) Aᵀ α
variance(x) = k(x, x) − ‖L⁻¹ R A k(Z, x)‖²
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.data import Data, Layout, as_queries, column_names, require_columns
from gainful.errors import ConvergenceWarning, InvalidInput, JitterWarning, NumericalError
from gainful.inference.cavities import matching_site
from gainful.inference.ep import EP
from gainful.inference.exact import Exact
from gainful.inference.sites import Conditioned, Grown, Sites, solve_with
from gainful.inference.solution import Convergence, Inference, Solution, carried, gaussian_evidence
from gainful.instruments.answers import Answers
from gainful.instruments.base import Instrument
from gainful.kernels.base import Kernel, as_places
from gainful.means import Mean
from gainful.numerics.blas import matmul
from gainful.numerics.cholesky import Factor, extend, remove

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """What is believed about f after the data. It can be asked, sampled, conditioned on more, and freed of
    observations."""

    prior_mean: Mean
    kernel: Kernel
    data: Data
    solution: Solution
    inference: Inference | None = None  # None: exact if it can be, EP otherwise

    def __repr__(self) -> str:
        found = f"{len(self.data)} answers, log_evidence={self.log_evidence:.6g}, {self.convergence.message}"
        return f"Posterior({self.kernel}, {self.prior_mean}; {found})"

    @property
    def log_evidence(self) -> float:
        """log p(answers)."""
        return self.solution.log_evidence

    @property
    def converged(self) -> bool:
        """Whether inference reached its fixed point; `convergence` says what happened."""
        return self.solution.convergence.converged

    @property
    def convergence(self) -> Convergence:
        return self.solution.convergence

    @property
    def sites(self) -> Sites:
        return self.solution.sites

    @property
    def jitter(self) -> float:
        """How much the diagonal had to be enlarged, relative to itself; 0.0 as a rule."""
        return self.solution.state.factor.jitter

    @property
    def _state(self) -> Conditioned:
        return self.solution.state

    def mean(self, X: ArrayLike) -> Array:
        """E[f] at each place, (M,)."""
        places = self._places(X)
        return self.prior_mean(places) + matmul(self._cross(places).T, self._weights)

    def variance(self, X: ArrayLike) -> Array:
        """Var[f] at each place, (M,)."""
        places = self._places(X)
        prior = self.kernel.diag(places)
        out = prior - self._state.factor.square(self._half(places))
        return self._measured_exactly(places, prior, out)

    def covariance(self, X: ArrayLike, Z: ArrayLike | None = None) -> Array:
        """Cov[f(X), f(Z)], (M, M) or (M, L)."""
        places = self._places(X)
        half = self._half(places)
        others = places if Z is None else self._places(Z, "Z")
        other_half = half if Z is None else self._half(others)
        out = self.kernel.matrix(places, others) - matmul(self._state.factor.signed(half).T, other_half)
        if Z is None:
            out.flat[:: len(out) + 1] = np.maximum(np.diagonal(out), 0.0)
        return out

    def sample(self, X: ArrayLike, size: int, rng: np.random.Generator | int) -> Array:
        """`size` functions drawn from the belief, at the places: (size, M). rng is a generator or a seed."""
        places = self._places(X)
        values, vectors = np.linalg.eigh(self.covariance(places))
        # Rounding is relative to the prior's variance, however little of it is left.
        if values.size and values[0] < -1e-8 * float(np.max(self.kernel.diag(places))):
            raise NumericalError(
                "the posterior covariance of these places is not positive definite in double precision"
            )
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        return self.mean(places) + np.random.default_rng(rng).standard_normal((size, len(places))) @ root.T

    def marginals(self, instrument: Instrument, X: ArrayLike) -> tuple[Array, Array]:
        """Mean and (co)variance of what the instrument sees at each query: (M,), (M,), or for sets (M, k), (M, k,
        k)."""
        last = self.__dict__.get("_last")
        if last is not None and last[0] is X and instrument.query == "place":
            return last[1], last[2]
        require_columns("X", column_names(X), self.data.columns)
        queries, _ = as_queries(instrument, X)
        if instrument.query == "place":
            return self._marginals(queries)
        n, k, d = queries.shape
        flat = queries.reshape(n * k, d)
        mean = self.mean(flat).reshape(n, k)
        half = self._half(self._places(flat)).reshape(-1, n, k)
        signed = self._state.factor.signed(half)
        cov = _within(self.kernel, queries) - np.einsum("fni,fnj->nij", half, signed)
        if instrument.query == "set":
            return mean, cov
        return mean[:, 0] - mean[:, 1], np.maximum(cov[:, 0, 0] + cov[:, 1, 1] - 2.0 * cov[:, 0, 1], 0.0)

    def _marginals(self, X: Array) -> tuple[Array, Array]:
        """Mean and variance of f at each place. Those of a read-only array are remembered: instruments that are
        considered at the same places share them."""
        places = self._places(X)
        prior, cross = self.kernel.diag(places), self._cross(places)
        mean = self.prior_mean(places) + matmul(cross.T, self._weights)
        out = prior - self._state.factor.square(self._half_of(cross))
        variance = self._measured_exactly(places, prior, out)
        if not places.flags.writeable and places.base is None:
            mean.flags.writeable = variance.flags.writeable = False
            self.__dict__["_last"] = places, mean, variance
        return mean, variance

    def pullback(
        self,
        instrument: Instrument,
        X: ArrayLike,
        d_mean: Array,
        d_cov: Array,
        watched: Array | None = None,
        d_cross: Array | None = None,
    ) -> Array:
        """dL/dX for a function L of what the instrument sees: d_mean, d_cov are its derivatives in `marginals`.

        With c = A k(Z, x) and S = Rᵀ B⁻¹ R:  dL/dc = α d_mean − 2 S c d_cov, which the kernel pulls back to the places.
        L may also depend on covariances with f at `watched` places (R, d), or its differences over pairs (R, 2, d), by
        d_cross (M, R), where the instrument sees one value.
        """
        queries, _ = as_queries(instrument, X)
        if instrument.query == "place":
            mean, cov = d_mean[:, None], d_cov[:, None, None]
        elif instrument.query == "pair":
            mean = d_mean[:, None] * np.array([1.0, -1.0])
            cov = d_cov[:, None, None] * np.array([[1.0, -1.0], [-1.0, 1.0]])
        else:
            mean, cov = d_mean, d_cov
        n, k = mean.shape
        places = queries.reshape(n * k, -1)
        others, d_others = _watched(watched, d_cross, mean)
        out = self.prior_mean.pullback_inputs(places, mean.ravel())
        out += self.kernel.pullback_diag_inputs(places, np.einsum("nii->ni", cov).ravel())
        if len(self.data):
            layout, state = self.data.layout, self._state
            seen = state.root.times(layout.pick(self._cross(places)))
            pulled = state.root.transposed_times(state.factor.solve(seen)).reshape(-1, n, k)
            d_seen = state.alpha[:, None] * mean.ravel() - 2.0 * np.einsum("fni,nij->fnj", pulled, cov).reshape(
                -1, n * k
            )
            if others is not None:
                there = state.root.times(layout.pick(self._cross(others)))
                d_seen -= matmul(state.root.transposed_times(state.factor.solve(there)), d_others.T)
            out += self.kernel.pullback_inputs(places, layout.places, layout.spread(d_seen).T)
        if others is not None:
            out += self.kernel.pullback_inputs(places, others, d_others)
        for a in range(k):
            for b in range(k):
                if a != b:
                    within = np.diag(2.0 * cov[:, a, b])
                    back = self.kernel.pullback_inputs(queries[:, a], queries[:, b], within)
                    out.reshape(n, k, -1)[:, a] += back
        return np.asarray(out.reshape(queries.shape))

    def answers(self, instrument: Instrument, X: ArrayLike) -> Answers:
        """The predictive distribution of the instrument's answers."""
        seen = self.marginals(instrument, X)
        return instrument.predict(*seen)

    def condition(self, more: Data) -> Posterior:
        """The posterior after more data: covariance and factor are extended, and the iteration starts from the
        present sites."""
        if not isinstance(more, Data):
            raise InvalidInput("more", "a Data value", more, "for instance Data().add(instrument, X, answers)")
        data = self.data.join(more)
        if not len(more):
            return self
        if not len(self.data):
            return reported(solved(self.prior_mean, self.kernel, data, self.inference))
        layout, size = data.layout, self.data.layout.size
        cov = self._grown(data)
        sites = carried(self.sites, layout, np.arange(size, dtype=np.intp))
        if self._reusable and layout.gaussian:
            try:
                gram = sites.root.gram_rows(cov, size)
                grown = extend(self._state.factor, gram[:, :size], gram[:, size:], sites.root.sign[size:])
                return self._settled(data, cov, sites, grown)
            except NumericalError:
                pass  # not without jitter: factor from scratch below, where jitter is reported
        if not layout.gaussian:
            first = self._first_sites(more, sites, cov)
            sites = Grown(first.precision, first.shift, first.blocks, self._state, self.solution.low)
        return reported(solved(self.prior_mean, self.kernel, data, self.inference, sites, cov))

    def without(self, observations: int | Iterable[int]) -> Posterior:
        """The posterior without these observations (numbered in the order of adding), as cheaply as one is added."""
        gone = self.data.numbers(observations)
        if not gone.size:
            return self
        layout, data = self.data.layout, self.data.without(gone)
        rows = np.concatenate([np.arange(layout.starts[i], layout.starts[i + 1]) for i in gone])
        kept = np.setdiff1d(np.arange(layout.size), rows).astype(np.intp)
        cov = self._state.prior_cov[np.ix_(kept, kept)]
        sites = carried(self.sites, data.layout, kept)
        if self._reusable and len(rows) == 1 and len(data):
            return self._settled(data, cov, sites, remove(self._state.factor, int(rows[0])))
        low = self.solution.low
        if low is not None:
            sites = Grown(sites.precision, sites.shift, sites.blocks, None, low.kept(kept))
        return reported(solved(self.prior_mean, self.kernel, data, self.inference, sites, cov))

    @property
    def _reusable(self) -> bool:
        """Whether the factor itself can be extended: the sites are final and none is negative."""
        return (
            self.data.layout.gaussian and self._state.factor.order is None and self.jitter == 0.0 and len(self.data) > 0
        )

    def _grown(self, data: Data) -> Array:
        """The covariance of g with the new rows and columns; what is known is not computed again."""
        layout, old = data.layout, self.data.layout
        new = layout.tail(old.size, len(old.places))
        cross = layout.pick(new.pick(self.kernel.matrix(new.places, layout.places)).T).T
        cov = np.empty((layout.size, layout.size))
        cov[: old.size, : old.size] = self._state.prior_cov
        cov[old.size :], cov[: old.size, old.size :] = cross, cross[:, : old.size].T
        return cov

    def _first_sites(self, more: Data, sites: Sites, cov: Array) -> Sites:
        """Sites of new answers by moment matching with what is believed now (assumed-density filtering), as a start.

        `cov` is the covariance of all of g.
        """
        precision, shift = sites.precision.copy(), sites.shift.copy()
        state, new, size = self._state, more.layout, self.data.layout.size
        cross = cov[:size, size:]
        mean = new.pick(self.prior_mean(new.places)) + matmul(cross.T, state.alpha)
        variance = np.diagonal(cov)[size:] - state.factor.square(state.factor.half(state.root.times(cross)))
        for term in new.terms:
            if term.rows.shape[1] == 1 and not term.likelihood.gaussian:
                rows = term.rows[:, 0]
                m, v = mean[rows], np.maximum(variance[rows], np.finfo(float).tiny)
                p = term.likelihood.log_partition(term.answers, m, v)
                precision[size + rows], shift[size + rows] = matching_site(p, m)
        return Sites(precision, shift, sites.blocks)

    def _settled(self, data: Data, cov: Array, sites: Sites, factor: Factor) -> Posterior:
        """A posterior of Gaussian answers whose factor is already known."""
        layout = data.layout
        state = solve_with(sites, layout.pick(self.prior_mean(layout.places)), cov, factor)
        solution = Solution(state, gaussian_evidence(layout, state), Convergence(True, 0, 0.0, "exact"))
        return Posterior(self.prior_mean, self.kernel, data, solution, self.inference)

    @cached_property
    def _weights(self) -> Array:
        """Aᵀα, (P,)."""
        return self.data.layout.spread(self._state.alpha)

    def _half(self, places: Array) -> Array:
        """L⁻¹ R A k(Z, x), (F, M)."""
        return self._half_of(self._cross(places))

    def _half_of(self, cross: Array) -> Array:
        return self._state.factor.half(self._state.root.times(self.data.layout.pick(cross)))

    def _cross(self, places: Array) -> Array:
        """k(Z, x), (P, M)."""
        if not len(self.data):
            return np.zeros((0, len(places)))
        return self.kernel.matrix(self.data.layout.places, places)

    def _measured_exactly(self, places: Array, prior: Array, variance: Array) -> Array:
        """Where an answer is so precise that k − ‖·‖² has lost its digits, Var[g_i] of that very place, which has
        not."""
        lost = np.flatnonzero(variance < 1e-6 * prior)
        if not lost.size:
            return variance
        layout = self.data.layout
        by_strength = np.argsort(self.sites.precision, kind="stable")  # of several answers at a place, the strongest
        alone = by_strength[layout.second[by_strength] < 0]
        measured = layout.places[layout.first] + 0.0
        seen = {measured[i].tobytes(): int(i) for i in alone}
        blocked = {int(r) for block in self.sites.blocks for r in block.rows.ravel()}
        for i in lost:
            row = seen.get((places[i] + 0.0).tobytes())
            if row is not None and row not in blocked:
                variance[i] = self._state.variance[row]
        return np.maximum(variance, 0.0)

    def _places(self, X: ArrayLike, argument: str = "X") -> Array:
        require_columns(argument, column_names(X), self.data.columns)
        places = as_places(X, argument)
        if self.data.dimensions is not None and places.shape[1] != self.data.dimensions:
            raise InvalidInput(
                argument,
                f"places with {self.data.dimensions} coordinates, like the data",
                places.shape[1],
                "match the columns",
            )
        return places


def _watched(watched: Array | None, d_cross: Array | None, sign: Array) -> tuple[Array | None, Array]:
    """Watched places (R', d) and derivatives (n k, R') in the covariance of each place of a query with each of them.

    The second place of a pair counts with the opposite sign, on either side.
    """
    if watched is None or d_cross is None:
        return None, np.zeros((0, 0))
    n, k = sign.shape
    each = d_cross[:, None, :] * (np.array([1.0, -1.0]) if k == 2 else np.ones(k))[:, None]
    flat = each.reshape(n * k, -1)
    if watched.ndim == 2:
        return watched, np.ascontiguousarray(flat)
    return watched.reshape(-1, watched.shape[-1]), np.stack([flat, -flat], axis=-1).reshape(n * k, -1)


def _within(kernel: Kernel, queries: Array) -> Array:
    """k between the places of each query, (n, k, k)."""
    n, k, _ = queries.shape
    out = np.empty((n, k, k))
    for a in range(k):
        out[:, a, a] = kernel.diag(queries[:, a])
        for b in range(a):
            for i in range(0, n, 32):  # a kernel gives matrices: of small ones, the diagonals
                part = slice(i, i + 32)
                values = np.diagonal(kernel.matrix(queries[part, a], queries[part, b]))
                out[part, a, b] = out[part, b, a] = values
    return out


def _refuse_contradictions(solution: Solution) -> None:
    """Answers without noise must be met by the belief; two different ones at one place cannot be."""
    exact = np.flatnonzero(np.isinf(solution.sites.precision))
    if not exact.size:
        return
    state = solution.state
    off = np.abs(state.mean[exact] - solution.sites.shift[exact])
    spread = np.sqrt(state.prior_cov[exact, exact])
    worst = int(np.argmax(off / spread))
    if off[worst] > 1e-4 * spread[worst]:
        raise NumericalError(
            f"answers without noise contradict each other: one is {solution.sites.shift[exact[worst]]:.6g} where the "
            f"others imply {state.mean[exact[worst]]:.6g}; give the instrument some noise, or remove the contradiction"
        )


def solved(
    mean: Mean,
    kernel: Kernel,
    data: Data,
    inference: Inference | None = None,
    start: Sites | None = None,
    cov: Array | None = None,
) -> Posterior:
    """Condition a GP on data, starting from sites and with g's covariance where they are known; warns of nothing."""
    layout = data.layout
    if kernel.theta.ndim > 1 or mean.theta.ndim > 1:
        raise InvalidInput("kernel, mean", "one setting of the parameters", "a batch", "condition them one at a time")
    method = method_for(layout, inference)
    if not layout.size:  # the prior: a kernel or a mean may know its dimensions, no data does not
        prior_mean, cov = np.zeros(0), np.zeros((0, 0))
    else:
        prior_mean = layout.pick(mean(layout.places))
        cov = layout.covariance(kernel.matrix(layout.places, layout.places)) if cov is None else cov
    solution = method.solve(layout, prior_mean, cov, start)
    try:
        _refuse_contradictions(solution)
    except NumericalError:
        if start is None:
            raise
        return solved(mean, kernel, data, inference, None, cov)  # the start may be what is wrong
    return Posterior(mean, kernel, data, solution, inference)


def reported(found: Posterior) -> Posterior:
    """The posterior, with a warning when jitter was needed or the iteration fell short."""
    report(found.convergence, found.jitter)
    return found


def method_for(layout: Layout, inference: Inference | None) -> Inference:
    """The given way of inference, or exact if it can be and EP otherwise."""
    if inference is not None and (isinstance(inference, type) or not hasattr(inference, "solve")):
        raise InvalidInput("inference", "EP(), Laplace(), Exact() or None", inference, "None chooses for you")
    return inference or (Exact() if layout.gaussian else EP())


def report(convergence: Convergence, jitter: float) -> None:
    """Warn of jitter and of an iteration that fell short."""
    if jitter > 0.0:
        message = (
            f"the covariance of the data needed its diagonal enlarged by {jitter:.0e} of itself; places may repeat"
        )
        warnings.warn(message, JitterWarning, stacklevel=4)
    if not convergence:
        warnings.warn(convergence.message, ConvergenceWarning, stacklevel=4)
