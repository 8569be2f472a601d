"""The posterior of one GP: predictions, samples, their derivatives, and conditioning on more or fewer observations.

mean(x)     = m(x) + k(x, Z) Aᵀ α
variance(x) = k(x, x) − ‖L⁻¹ R A k(Z, x)‖²
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import ArrayLike, NDArray

from gainful.checks import as_rng, column_names, finite_table, require_columns, require_count
from gainful.data import Data, as_queries
from gainful.errors import InvalidInput, NumericalError
from gainful.inference.conditioned import Conditioned
from gainful.inference.convergence import Convergence, Result
from gainful.inference.pullback import of_places, pull_back, pulled
from gainful.inference.sites import Sites
from gainful.inference.solution import Inference, Solution, WarmStart, as_start, gaussian_evidence, transfer_sites
from gainful.inference.solving import find_sites, warn_if_jittered, warn_if_unconverged
from gainful.inference.updating import (
    append_gaussian,
    extend_covariance,
    filtered_sites,
    is_extendable,
    remove_gaussian,
)
from gainful.instruments.answers import Answers
from gainful.instruments.base import Instrument
from gainful.kernels.base import Kernel
from gainful.means import Mean
from gainful.numerics.blas import matmul

__all__ = ["Posterior", "Predictive", "solve", "warn_about"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """What is believed about f after the data: predictions, samples, and conditioning on more or fewer
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
        return self._refine_measured(places, prior, out)

    def covariance(self, X: ArrayLike, Z: ArrayLike | None = None, half: Array | None = None) -> Array:
        """Cov[f(X), f(Z)], (M, M) or (M, L); `half` is that of Z, `posterior.half(Z)`, where it is known already."""
        places = self._places(X)
        own = self._half(places)
        others = places if Z is None else self._places(Z, "Z")
        other_half = own if Z is None else self._half(others) if half is None else half
        out = self.kernel.matrix(places, others) - matmul(self._state.factor.signed(own).T, other_half)
        if Z is None:
            out.flat[:: len(out) + 1] = np.maximum(np.diagonal(out), 0.0)
        return out

    def sample(self, X: ArrayLike, size: int, rng: np.random.Generator | int) -> Array:
        """`size` functions drawn from the belief, at the places: (size, M). rng is a generator or a seed."""
        places, size, generator = self._places(X), require_count("size", size, 0, "1 draws one function"), as_rng(rng)
        values, vectors = np.linalg.eigh(self.covariance(places))
        # Rounding is relative to the prior's variance, however little of it is left.
        if values.size and values[0] < -1e-8 * float(np.max(self.kernel.diag(places))):
            raise NumericalError(
                "the posterior covariance of these places is not positive definite in double precision"
            )
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        return self.mean(places) + generator.standard_normal((size, len(places))) @ root.T

    def predict(self, X: ArrayLike | Predictive) -> Predictive:
        """Mean and variance of f at each place, held together with the places: see `Predictive`."""
        if isinstance(X, Predictive) and X.posterior is self:
            return X
        places = self._places(X)
        return Predictive(self, np.array(places), *self._moments(places))

    def marginals(self, instrument: Instrument, X: ArrayLike | Predictive) -> tuple[Array, Array]:
        """Mean and (co)variance of what the instrument sees at each query: (M,), (M,), or for sets (M, k), (M, k, k).

        Of a `Predictive` of this posterior, an instrument that sees one place gets the moments held there.
        """
        if isinstance(X, Predictive) and X.posterior is self and getattr(instrument, "query", None) == "place":
            return X.mean, X.variance
        require_columns("X", column_names(X), self.data.columns)
        queries, _ = as_queries(instrument, X)
        if instrument.query == "place":
            return self._moments(self._places(queries))
        n, k, d = queries.shape
        flat = queries.reshape(n * k, d)
        mean = self.mean(flat).reshape(n, k)
        half = self._half(self._places(flat))
        half = half.reshape(len(half), n, k)
        signed = self._state.factor.signed(half)
        cov = _within(self.kernel, queries) - np.einsum("fni,fnj->nij", half, signed)
        if instrument.query == "set":
            return mean, cov
        return mean[:, 0] - mean[:, 1], np.maximum(cov[:, 0, 0] + cov[:, 1, 1] - 2.0 * cov[:, 0, 1], 0.0)

    def _moments(self, places: Array) -> tuple[Array, Array]:
        """Mean and variance of f at each place, from one cross-covariance."""
        prior, cross = self.kernel.diag(places), self._cross(places)
        mean = self.prior_mean(places) + matmul(cross.T, self._weights)
        variance = prior - self._state.factor.square(self._half_of(cross))
        return mean, self._refine_measured(places, prior, variance)

    def pullback(
        self,
        instrument: Instrument,
        X: ArrayLike,
        d_mean: Array,
        d_cov: Array,
        watched: Array | None = None,
        d_cross: Array | None = None,
        pulled_there: Array | None = None,
    ) -> Array:
        """dL/dX for a function L of what the instrument sees: d_mean, d_cov are its derivatives in `marginals`.

        L may also depend on covariances with f at `watched` places (R, d), or its differences over pairs (R, 2, d), by
        d_cross (M, R), where the instrument sees one value; `pulled_there` is `posterior.pulled(watched)`, where it is
        known already.
        """
        queries, _ = as_queries(instrument, X)
        at_places = of_places(instrument.query, d_mean, d_cov)
        each = queries[:, None] if instrument.query == "place" else queries
        layout = self.data.layout
        state = self._state
        out = pull_back(self.prior_mean, self.kernel, layout, state, each, *at_places, watched, d_cross, pulled_there)
        return out.reshape(queries.shape)

    def pulled(self, watched: Array) -> Array | None:
        """What `pullback` needs of watched places, (R, d) or pairs (R, 2, d), whatever moves; None without data."""
        if not len(self.data):
            return None
        return pulled(self.kernel, self.data.layout, self._state, watched.reshape(-1, watched.shape[-1]))

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
            return warn_about(solve(self.prior_mean, self.kernel, data, self.inference))
        layout, old, state = data.layout, self.data.layout, self._state
        cov = extend_covariance(self.kernel, old, layout, state.prior_cov)
        sites = transfer_sites(self.sites, layout, np.arange(old.size, dtype=np.intp))
        if layout.gaussian and is_extendable(old, state):
            exact = append_gaussian(state, sites, layout.pick(self.prior_mean(layout.places)), cov)
            if exact is not None:
                return self._exact(data, exact)
        start = WarmStart(sites)
        if not layout.gaussian:
            sites = filtered_sites(self.prior_mean, state, more.layout, sites, cov)
            start = WarmStart(sites, before=state, low=self.solution.low)
        return warn_about(solve(self.prior_mean, self.kernel, data, self.inference, start, cov))

    def without(self, observations: int | Iterable[int]) -> Posterior:
        """The posterior without these observations (numbered in the order of adding), as cheaply as one is added."""
        gone = self.data.numbers(observations)
        if not gone.size:
            return self
        old, data, state = self.data.layout, self.data.without(gone), self._state
        layout = data.layout
        rows = np.concatenate([np.arange(old.starts[i], old.starts[i + 1]) for i in gone])
        kept = np.setdiff1d(np.arange(old.size), rows).astype(np.intp)
        cov = state.prior_cov[np.ix_(kept, kept)]
        sites = transfer_sites(self.sites, layout, kept)
        if is_extendable(old, state) and len(rows) == 1 and len(data):
            mean = layout.pick(self.prior_mean(layout.places))
            return self._exact(data, remove_gaussian(state, int(rows[0]), sites, mean, cov))
        low = self.solution.low
        start = WarmStart(sites, low=None if low is None else low.kept(kept))
        return warn_about(solve(self.prior_mean, self.kernel, data, self.inference, start, cov))

    def _exact(self, data: Data, state: Conditioned) -> Posterior:
        """The posterior of Gaussian answers, given the belief about g."""
        solution = Solution(state, gaussian_evidence(data.layout, state), Convergence(Result.EXACT))
        return Posterior(self.prior_mean, self.kernel, data, solution, self.inference)

    @cached_property
    def _weights(self) -> Array:
        """Aᵀα, (P,)."""
        return self.data.layout.spread(self._state.alpha)

    def half(self, X: ArrayLike) -> Array:
        """L⁻¹ R A k(Z, x), (F, M): what the data take off a covariance is a product of two of these."""
        return self._half(self._places(X))

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

    def _refine_measured(self, places: Array, prior: Array, variance: Array) -> Array:
        """The variance where k − ‖·‖² has lost its digits to a precise answer: Var[g_i] of that very place, which has
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
        places = finite_table(argument, X, names=self.data.columns)
        if self.data.dimensions is not None and places.shape[1] != self.data.dimensions:
            raise InvalidInput(
                argument,
                f"places with {self.data.dimensions} coordinates, like the data",
                places.shape[1],
                "match the columns",
            )
        return places


@dataclass(frozen=True, eq=False, repr=False)
class Predictive(NDArrayOperatorsMixin):
    """Places (M, d), and the mean and variance (M,) of f there under one posterior: predicted once, asked many times.

    Wherever places are expected it stands for them: arithmetic, NumPy's functions, indices of columns and an array's
    methods are those of the places. Several instruments that are considered at the same places then share one
    prediction, `posterior.marginals(instrument, predictive)`. An index gives one place, a slice or an array of indices
    a smaller Predictive. Its arrays are read-only.

    >>> import gainful as gf
    >>> posterior = gf.GP(gf.SE()).condition(gf.Data().add(gf.Point(0.1), [[0.0]], [1.0]))
    >>> here = posterior.predict([[0.0], [2.0]])
    >>> here.shape, here.mean.round(3).tolist(), posterior.marginals(gf.Binary(), here)[0] is here.mean
    ((2, 1), [0.99, 0.134], True)
    """

    posterior: Posterior
    places: Array
    mean: Array
    variance: Array

    def __post_init__(self) -> None:
        for array in (self.places, self.mean, self.variance):
            array.flags.writeable = False

    def __repr__(self) -> str:
        return f"Predictive({len(self)} places, {self.posterior})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        out = self.places if dtype is None else self.places.astype(dtype, copy=False)
        return out.copy() if copy else out

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return getattr(ufunc, method)(
            *(each.places if isinstance(each, Predictive) else each for each in inputs), **options
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "places":  # not an array's own, or not there yet
            raise AttributeError(name)
        return getattr(self.places, name)

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, index: int | np.integer[Any]) -> Array: ...

    @overload
    def __getitem__(self, index: slice | NDArray[Any]) -> Predictive: ...

    @overload
    def __getitem__(self, index: tuple[Any, ...]) -> Array: ...

    def __getitem__(self, index: int | np.integer[Any] | slice | NDArray[Any] | tuple[Any, ...]) -> Array | Predictive:
        if isinstance(index, int | np.integer | tuple):
            return np.asarray(self.places[index])
        return Predictive(self.posterior, self.places[index], self.mean[index], self.variance[index])


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


def solve(
    mean: Mean,
    kernel: Kernel,
    data: Data,
    inference: Inference | None = None,
    start: WarmStart | Sites | None = None,
    cov: Array | None = None,
) -> Posterior:
    """Condition a GP on data, starting from sites and with g's covariance where they are known; warns of nothing."""
    solution = find_sites(mean, kernel, data.layout, inference, as_start(start), cov)
    return Posterior(mean, kernel, data, solution, inference)


def warn_about(found: Posterior) -> Posterior:
    """The posterior, after a warning if jitter was needed or the iteration fell short."""
    warn_if_jittered(found.jitter)
    warn_if_unconverged(found.convergence)
    return found
