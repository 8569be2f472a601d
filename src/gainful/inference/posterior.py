"""The posterior of one GP: predictions, samples, their derivatives, and conditioning on more or fewer observations.

mean(x)     = m(x) + k(x, Z) Aᵀ α
variance(x) = k(x, x) − ‖L⁻¹ R A k(Z, x)‖²

Places are taken in blocks: arrays (N, M) on the way stay within bounds (`numerics/memory`), however many places.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from gainful.checks import as_rng, column_names, finite_table, require_columns, require_count
from gainful.data import Data, as_queries
from gainful.errors import InvalidInput, NumericalError
from gainful.inference.adjusted import Adjusted, Response
from gainful.inference.checking import Check, compare
from gainful.inference.conditioned import Conditioned
from gainful.inference.convergence import Convergence, Result
from gainful.inference.draws import Draws
from gainful.inference.pullback import of_places, pull_back, pulled
from gainful.inference.quantiles import as_levels, require_level, tails
from gainful.inference.sampled import Sampled
from gainful.inference.sites import Sites
from gainful.inference.solution import Inference, Solution, WarmStart, as_start, gaussian_evidence, transfer_sites
from gainful.inference.solving import find_sites, warn_if_jittered, warn_if_unconverged
from gainful.inference.sweep import cavity
from gainful.inference.updating import (
    append_gaussian,
    extend_covariance,
    filtered_sites,
    is_extendable,
    remove_gaussian,
)
from gainful.instruments.answers import Answers, DiscreteAnswers, MixtureAnswers, mix
from gainful.instruments.base import Instrument
from gainful.kernels.base import Kernel
from gainful.means import Mean
from gainful.numerics.blas import matmul
from gainful.numerics.memory import WORKING, blocks, in_blocks, require_room
from gainful.numerics.mixture_quantile import mixture_quantile
from gainful.numerics.rows import find_rows

__all__ = ["Posterior", "Predictive", "solve", "warn_about"]

Array = NDArray[np.float64]

_PAIRS = 512  # queries at a time whose places are pulled back against each other
_MOST_CHECKED = 500  # places at which a posterior is compared with the exact one


class KnownWindows(NamedTuple):
    """Of `total` queries those (n,) whose value is known to lie between low and high, and its mean and variance as the
    other answers have it."""

    total: int
    queries: NDArray[np.intp]
    low: Array
    high: Array
    mean: Array
    variance: Array


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
    def draws(self) -> Draws | None:
        """Draws of the latent values, where inference was by sampling."""
        return self.solution.draws

    @property
    def _state(self) -> Conditioned:
        return self.solution.state

    @cached_property
    def response(self) -> Response | None:
        """How the sites' spreads are corrected; None where they are taken as they are."""
        return None if self.solution.respond is None else self.solution.respond()

    @cached_property
    def _known(self) -> Conditioned | Adjusted:
        """The belief about g that predictions come from: the sites', corrected where that is known."""
        if self.draws is not None:
            return self.draws.adjusted
        return self._state if self.response is None else self.response.adjust(self._state)

    def mean(self, X: ArrayLike) -> Array:
        """E[f] at each place, (M,)."""
        places = self._places(X)

        def of(part: slice) -> Array:
            return self.prior_mean(places[part]) + matmul(self._cross(places[part]).T, self._weights)

        return in_blocks(of, len(places), self._each)

    def variance(self, X: ArrayLike) -> Array:
        """Var[f] at each place, (M,)."""
        places = self._places(X)

        def of(part: slice) -> Array:
            here = places[part]
            prior = self.kernel.diag(here)
            return self._refine_measured(here, prior, prior - self._known.square(self._half(here)))

        return in_blocks(of, len(places), self._each)

    def covariance(self, X: ArrayLike, Z: ArrayLike | None = None, half: Array | None = None) -> Array:
        """Cov[f(X), f(Z)], (M, M) or (M, L); `half` is that of Z, `posterior.half(Z)`, where it is known already."""
        places = self._places(X)
        others = places if Z is None else self._places(Z, "Z")
        require_room("X", len(places), len(others), "take fewer places: some of them stand for all")
        other_half = self.half(others) if half is None else half

        def of(part: slice) -> Array:
            here = places[part]
            own = other_half[:, part] if Z is None else self._half(here)
            return self.kernel.matrix(here, others) - matmul(self._known.signed(own).T, other_half)

        out = in_blocks(of, len(places), self._each + 2 * len(others))
        if Z is None:
            out.flat[:: len(out) + 1] = np.maximum(np.diagonal(out), 0.0)
        return out

    def sample(self, X: ArrayLike, size: int, rng: np.random.Generator | int) -> Array:
        """`size` functions drawn from the belief, at the places: (size, M). rng is a generator or a seed."""
        places, size, source = self._places(X), require_count("size", size, 0, "1 draws one function"), as_rng(rng)
        if self.draws is None:
            return self.mean(places) + source.standard_normal((size, len(places))) @ self._root(places).T
        seen = self.data.layout.pick(self._cross(places))
        half, signed = self.draws.within(seen)
        root = self._root(places, self.kernel.matrix(places, places) - matmul(signed.T, half))
        drawn = source.permutation(np.arange(size) % len(self.draws))  # each as often as any other
        means = self.draws.means(self.prior_mean(places), seen)[drawn]
        return means + source.standard_normal((size, len(places))) @ root.T

    def _root(self, places: Array, cov: Array | None = None) -> Array:
        """A root of this covariance of f at the places, or of the belief's, (M, M)."""
        values, vectors = np.linalg.eigh(self.covariance(places) if cov is None else cov)
        # Rounding is relative to the prior's variance, however little of it is left.
        if values.size and values[0] < -1e-8 * float(np.max(self.kernel.diag(places))):
            raise NumericalError(
                "the posterior covariance of these places is not positive definite in double precision"
            )
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))

    def quantile(self, X: ArrayLike, q: ArrayLike) -> Array:
        """The q quantile of f at each place, (M,), or of several q (Q, M): exact, of draws too.

        >>> import gainful as gf
        >>> gf.GP(gf.SE()).condition(gf.Data()).quantile([[0.0]], [0.5, 0.975]).round(4).tolist()
        [[0.0], [1.96]]
        """
        levels = as_levels(q)
        if self.draws is None:
            mean, variance = self._moments(self._places(X))
            found = mean + np.sqrt(variance) * ndtri(levels.reshape(-1, 1))
        else:
            means, within = self.by_draw(X)
            equal, sd = np.full(len(means), 1.0 / len(means)), np.broadcast_to(np.sqrt(within), means.shape)
            found = np.stack([mixture_quantile(equal, means, sd, each) for each in levels.ravel()])
        return np.asarray(found.reshape(*levels.shape, -1))

    def band(self, X: ArrayLike, level: float = 0.95) -> tuple[Array, Array]:
        """The ends, (M,) each, between which f lies at each place with this probability, as likely below as above."""
        low, high = self.quantile(X, tails(level))
        return low, high

    def predict(self, X: ArrayLike | Predictive) -> Predictive:
        """Mean and variance of f at each place, held together with the places: see `Predictive`."""
        if isinstance(X, Predictive) and X.posterior is self:
            return X
        places = self._places(X)
        own = _frozen(np.array(places))
        mean, variance = self._moments(own)
        return Predictive(self, own, _frozen(mean), _frozen(variance))

    def marginals(self, instrument: Instrument, X: ArrayLike | Predictive) -> tuple[Array, Array]:
        """Mean and (co)variance of what the instrument sees at each query: (M,), (M,), or for sets (M, k), (M, k, k).

        Of a `Predictive` of this posterior, an instrument that sees one place gets the moments held there.
        """
        shared = getattr(instrument, "query", None) == "place" and instrument.outputs is None
        if isinstance(X, Predictive) and X.posterior is self and shared:
            return X.mean, X.variance
        require_columns("X", column_names(X), self.data.columns)
        queries, _ = as_queries(instrument, X)
        if instrument.query == "place":
            return self._moments(self._places(queries.reshape(-1, queries.shape[-1])))
        n, k, d = queries.shape
        mean = self.mean(queries.reshape(n * k, d)).reshape(n, k)

        def of(part: slice) -> Array:
            here = queries[part]
            half = self._half(self._places(here.reshape(-1, d)))
            half = half.reshape(len(half), len(here), k)
            return _within(self.kernel, here) - np.einsum("fni,fnj->nij", half, self._known.signed(half))

        cov = in_blocks(of, n, k * self._each)
        if instrument.query == "set":
            return mean, cov
        return mean[:, 0] - mean[:, 1], np.maximum(cov[:, 0, 0] + cov[:, 1, 1] - 2.0 * cov[:, 0, 1], 0.0)

    def _moments(self, places: Array) -> tuple[Array, Array]:
        """Mean and variance of f at each place, from one cross-covariance."""

        def of(part: slice) -> Array:
            here = places[part]
            prior, cross = self.kernel.diag(here), self._cross(here)
            mean = self.prior_mean(here) + matmul(cross.T, self._weights)
            variance = prior - self._known.square(self._half_of(cross))
            return np.stack([mean, self._refine_measured(here, prior, variance)], axis=1)

        both = in_blocks(of, len(places), self._each)
        return np.array(both[:, 0]), np.array(both[:, 1])

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
        d_means, d_covs = of_places(instrument.query, d_mean, d_cov)
        each = queries[:, None] if queries.ndim == 2 else queries
        if watched is not None and pulled_there is None:
            pulled_there = self.pulled(watched)
        k = each.shape[1]

        def of(part: slice) -> Array:
            crossing = None if d_cross is None else d_cross[part]
            return pull_back(
                self.prior_mean, self.kernel, self.data.layout, self._known, each[part], d_means[part], d_covs[part],
                watched, crossing, pulled_there,
            )  # fmt: skip

        # The places of a pair or set take matrices of queries × queries: of small blocks, then.
        most = k * (self._each + (0 if watched is None else 4 * len(watched)))
        out = in_blocks(of, len(each), most if k == 1 else max(most, WORKING // (8 * _PAIRS)))
        if instrument.outputs is not None:  # one place for all of them, and their numbers do not move
            return np.asarray(out.reshape(queries.shape)[:, :, :-1].sum(axis=1))
        return out.reshape(queries.shape)

    def pulled(self, watched: Array) -> Array | None:
        """What `pullback` needs of watched places, (R, d) or pairs (R, 2, d), whatever moves; None without data."""
        if not len(self.data):
            return None
        return pulled(self.kernel, self.data.layout, self._known, watched.reshape(-1, watched.shape[-1]))

    def answers(self, instrument: Instrument, X: ArrayLike) -> Answers | MixtureAnswers:
        """The predictive distribution of the instrument's answers."""
        if self.draws is None:
            seen = self.marginals(instrument, X)
            return instrument.predict(*seen)
        queries, _ = as_queries(instrument, X)
        weights = np.full(len(self.draws), 1.0 / len(self.draws))

        def of(part: slice) -> Answers | MixtureAnswers:
            means, within = self.by_draw(queries[part], instrument)
            return mix([instrument.predict(mean, within) for mean in means], weights)

        if instrument.values is None:
            return of(slice(None))
        each = (len(instrument.values) + 2) * len(self.draws) + self._each
        logs = [
            found.log_probabilities
            for part in blocks(len(queries), each)
            if isinstance(found := of(part), DiscreteAnswers)
        ]
        return DiscreteAnswers(instrument.values, np.concatenate(logs))

    def by_draw(self, X: ArrayLike, instrument: Instrument | None = None) -> tuple[Array, Array]:
        """Mean of f, or of what an instrument sees, given each draw, (S, M) or (S, M, k), and the (co)variance that all
        share. Without draws there is one such mean, the belief's own."""
        if self.draws is None:
            mean, spread = self._moments(self._places(X)) if instrument is None else self.marginals(instrument, X)
            return mean[None], spread
        queries = self._places(X)[:, None] if instrument is None else as_queries(instrument, X)[0]
        each = queries[:, None] if queries.ndim == 2 else queries
        n, k, d = each.shape
        require_room("X", n * k, len(self.draws), "take fewer places, or fewer draws")
        places = self._places(each.reshape(n * k, d))
        seen = self.data.layout.pick(self._cross(places))
        means = self.draws.means(self.prior_mean(places), seen).reshape(-1, n, k)
        half, signed = (part.reshape(-1, n, k) for part in self.draws.within(seen))
        cov = _within(self.kernel, each) - np.einsum("fni,fnj->nij", signed, half)
        if instrument is not None and instrument.query == "set":
            return means, cov
        if instrument is None or instrument.query == "place":
            return means[:, :, 0], np.maximum(cov[:, 0, 0], 0.0)
        spread = np.maximum(cov[:, 0, 0] + cov[:, 1, 1] - 2.0 * cov[:, 0, 1], 0.0)
        return means[:, :, 0] - means[:, :, 1], spread

    def check(self, X: ArrayLike | None = None, *, draws: int = 2000, seed: int = 0, level: float = 0.95) -> Check:
        """How far this posterior is from the exact one, at X or where was measured: bands, spreads, evidence.

        The exact one is `draws` draws of the latent values (`Sampled`): some seconds for a hundred answers. Printed, it
        says it in words; it is true when the bands hold what they say.

        >>> import gainful as gf
        >>> look = gf.Binary()
        >>> posterior = gf.GP(gf.SE(0.3)).condition(gf.Data().add(look, [[0.0], [0.2], [0.9]], [1, 1, 0]))
        >>> bool(posterior.check())
        True
        """
        require_level(level)
        exact = solve(self.prior_mean, self.kernel, self.data, Sampled(draws, seed))
        warn_if_unconverged(exact.convergence, stacklevel=3)
        measured = np.unique(self.data.layout.places, axis=0)
        some = np.linspace(0, len(measured) - 1, min(len(measured), _MOST_CHECKED)).astype(int)
        return compare(self, exact, measured[some] if X is None else self._places(X), float(level))

    def known_windows(self, instrument: Instrument, X: ArrayLike) -> KnownWindows | None:
        """The queries whose very value answers without noise have bounded; None where no answer was without noise."""
        rows, known, ends = self.data.layout.hard_windows(instrument.query == "pair")
        if not len(rows) or instrument.query == "set":
            return None
        queries, _ = as_queries(instrument, X)
        at = find_rows(queries, known)
        turned = find_rows(queries[:, ::-1], known) if instrument.query == "pair" else np.full_like(at, -1)
        mine = np.flatnonzero((at >= 0) | (turned >= 0))
        sign, which = np.where(at[mine] >= 0, 1.0, -1.0), np.maximum(at, turned)[mine]
        m, v = cavity(self._state, rows[which])
        ends = np.where(sign[:, None] > 0.0, ends[which], -ends[which, ::-1])
        left = v > 0.0  # a value that a number has told needs no window
        return KnownWindows(len(queries), mine[left], ends[left, 0], ends[left, 1], (sign * m)[left], v[left])

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
        return self.data.layout.spread(self._known.alpha)

    def half(self, X: ArrayLike) -> Array:
        """L⁻¹ R A k(Z, x), (F, M): what the data take off a covariance is a product of two of these."""
        places = self._places(X)
        require_room("X", len(places), self._state.factor.size, "take fewer places: some of them stand for all")
        parts = [self._half(places[part]) for part in blocks(len(places), self._each)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    @property
    def _each(self) -> int:
        """Numbers held at a time for each place: its covariances with the data, and three arrays made of them."""
        added = len(self._known.turned) if isinstance(self._known, Adjusted) else 0
        return 4 * (max(self.data.layout.size, len(self.data.layout.places), 1) + added)

    def _half(self, places: Array) -> Array:
        """L⁻¹ R A k(Z, x), (F, M)."""
        return self._half_of(self._cross(places))

    def _half_of(self, cross: Array) -> Array:
        return self._known.reduction(self.data.layout.pick(cross))

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
        if not len(self.data):
            return np.maximum(variance, 0.0)
        layout = self.data.layout
        by_strength = np.argsort(self.sites.precision, kind="stable")  # of several answers at a place, the strongest
        alone = by_strength[layout.second[by_strength] < 0]
        at = find_rows(places[lost], layout.places[layout.first[alone]])
        rows = np.where(at >= 0, alone[at], -1)
        for block in self.sites.blocks:
            rows[np.isin(rows, block.rows)] = -1
        found = rows >= 0
        if found.any():
            variance[lost[found]] = self._known.variance[rows[found]]
        return np.maximum(variance, 0.0)

    def _places(self, X: ArrayLike, argument: str = "X") -> Array:
        places = finite_table(argument, X, names=self.data.columns)
        if not self.data.admits(places.shape[1]):
            known = self.data.coordinates or self.data.dimensions
            several = known != self.data.dimensions
            raise InvalidInput(
                argument,
                f"places with {known} coordinates, " + ("the last being the output" if several else "like the data"),
                places.shape[1],
                "match the columns",
            )
        return places


@dataclass(frozen=True, eq=False, repr=False)
class Predictive(NDArrayOperatorsMixin):
    """Places (M, d), and the mean and variance (M,) of f there under one posterior: predicted once, asked many times.

    Under a Belief of S posteriors mean and variance are (S, M), those of each part; `part(s)` has one of them.

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

    posterior: Any  # a Posterior, or a Belief of several, which this module may not import
    places: Array
    mean: Array
    variance: Array

    def __post_init__(self) -> None:
        for name in ("places", "mean", "variance"):
            object.__setattr__(self, name, _own(getattr(self, name)))

    def part(self, s: int) -> Predictive:
        """The same places under part s of a Belief."""
        return Predictive(self.posterior.posteriors[s], self.places, self.mean[s], self.variance[s])

    def __repr__(self) -> str:
        return f"Predictive({len(self)} places, {self.posterior})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        out = self.places if dtype is None else self.places.astype(dtype, copy=False)
        return out.copy() if copy else out

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if any(isinstance(each, Predictive) for each in options.get("out", ())):
            raise ValueError("a Predictive is read-only: its mean and variance belong to its places")
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
        return Predictive(self.posterior, self.places[index], self.mean[..., index], self.variance[..., index])


def _own(array: Array) -> Array:
    """The array, if nobody can change it, or a copy that nobody can: a caller's array stays the caller's."""
    base = array.base
    fixed = not array.flags.writeable and (base is None or (isinstance(base, np.ndarray) and not base.flags.writeable))
    return array if fixed else _frozen(np.array(array, dtype=float))


def _frozen(array: Array) -> Array:
    array.flags.writeable = False
    return array


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
