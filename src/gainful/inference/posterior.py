"""The posterior of one GP: predictions, samples, their derivatives, and conditioning on more or fewer observations.

What is predicted comes from `predicting`, and with draws of the latent values from `drawn`. Here arguments are checked,
and posteriors are made of posteriors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from gainful.checks import as_rng, column_names, finite_table, require_columns, require_count
from gainful.data import Data, as_queries, require_instrument
from gainful.errors import InvalidInput
from gainful.inference.adjusted import Adjusted, Response
from gainful.inference.checking import Check, compare
from gainful.inference.conditioned import Conditioned
from gainful.inference.convergence import Convergence, Result
from gainful.inference.drawn import answers_by_draw, moments_by_draw, sample_by_draw
from gainful.inference.draws import Draws
from gainful.inference.engines.base import Engine, EngineBelief
from gainful.inference.engines.believed import BelievedKernel, BelievedMean, steps_for
from gainful.inference.pathwise import draw_function
from gainful.inference.predicting import Predictor
from gainful.inference.predictive import Predictive, frozen
from gainful.inference.pullback import Beside, beside, moments_and_pullback, of_places
from gainful.inference.quantiles import as_levels, require_level, tails
from gainful.inference.sampled import Sampled
from gainful.inference.sites import Sites
from gainful.inference.solution import Inference, Solution, WarmStart, as_start, gaussian_evidence, transfer_sites
from gainful.inference.solving import find_sites, method_for, says_again, warn_if_jittered, warn_if_unconverged
from gainful.inference.sweep import cavity
from gainful.inference.updating import (
    append_gaussian,
    extend_covariance,
    filtered_sites,
    is_extendable,
    remove_gaussian,
)
from gainful.instruments.answers import Answers, MixtureAnswers
from gainful.instruments.base import Instrument
from gainful.kernels.base import Kernel
from gainful.layout import Layout
from gainful.means import Mean
from gainful.numerics.memory import require_room
from gainful.numerics.mixture_quantile import mixture_quantile
from gainful.numerics.rows import find_rows

__all__ = ["Posterior", "solve", "warn_about"]

Array = NDArray[np.float64]

_MOST_CHECKED = 500  # places at which a posterior is compared with the exact one


class Looked(NamedTuple):
    """What an instrument sees at M queries: mean and (co)variance as `marginals` has them, covariances (M, R) with what
    is watched, and `back`, which takes dL/d of the first two, or of all three, to dL/dX."""

    mean: Array
    variance: Array
    cross: Array
    back: Callable[..., Array]


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
    observations.

    Many answers are taken by an engine. `behind` is then its belief about the first `count` of them, which stands where
    a prior does, and `solution` is about those that came after.
    """

    prior_mean: Mean
    kernel: Kernel
    data: Data
    solution: Solution
    inference: Inference | Engine | None = None  # None: exact if it can be, EP otherwise
    behind: EngineBelief | None = None
    count: int = 0

    def __repr__(self) -> str:
        found = f"{len(self.data)} answers, log_evidence={self.log_evidence:.6g}, {self.convergence.message}"
        return f"Posterior({self.kernel}, {self.prior_mean}; {found})"

    @property
    def log_evidence(self) -> float:
        """log p(answers)."""
        return self.solution.log_evidence + (0.0 if self.behind is None else self.behind.log_evidence)

    @property
    def converged(self) -> bool:
        """Whether inference reached its fixed point; `convergence` says what happened."""
        return self._went(None if self.behind is None else self.behind.convergence).converged

    @property
    def convergence(self) -> Convergence:
        """How inference ended: the engine's, and of answers that came after it theirs as well."""
        told = getattr(self.behind, "told", None)  # some take a second look to know how far off they are
        return self._went(getattr(self.behind, "convergence", None) if told is None else told)

    def _went(self, before: Convergence | None) -> Convergence:
        """How inference ended, where the engine's went so."""
        after, later = self.solution.convergence, len(self.data) - self.count
        if before is None:
            return after
        if not before or not later:
            return before
        if not after or before.result is Result.EXACT:
            return after
        more = "one more answer" if later == 1 else f"{later} more answers"
        return replace(before, note=f"{before.note}; then {more}, {after.message}")

    @property
    def sites(self) -> Sites:
        return self.solution.sites

    @property
    def jitter(self) -> float:
        """How much the diagonal had to be enlarged, relative to itself; 0.0 as a rule."""
        return max(self.solution.state.factor.jitter, float(getattr(self.behind, "jitter", 0.0)))

    @property
    def draws(self) -> Draws | None:
        """Draws of the latent values, where inference was by sampling."""
        return self.solution.draws

    @property
    def _state(self) -> Conditioned:
        return self.solution.state

    @cached_property
    def layout(self) -> Layout:
        """Of the answers that `solution` is about: all, or those after the engine's."""
        return _after(self.data, self.count).layout

    @cached_property
    def process(self) -> tuple[Mean, Kernel]:
        """Mean and covariance of f before those answers: the prior's, or what an engine has made of the first ones."""
        return _process(self.prior_mean, self.kernel, self.data, self.behind)

    @cached_property
    def response(self) -> Response | None:
        """How the sites' spreads are corrected; None where they are taken as they are."""
        return None if self.solution.respond is None else self.solution.respond()

    @cached_property
    def predictor(self) -> Predictor:
        """What predictions come from: the sites' belief about g, corrected where that is known."""
        known: Conditioned | Adjusted = self._state
        if self.draws is not None:
            known = self.draws.adjusted
        elif self.response is not None:
            known = self.response.adjust(self._state)
        return Predictor(*self.process, self.layout, self.sites, known)

    def of(self, output: int | str | None) -> Posterior:
        """The same belief about one of several functions, by its name or its number: places need not say which."""
        new = object.__new__(Posterior)
        new.__dict__.update(self.__dict__, data=self.data.about(output))  # with all that is worked out already
        if output is not None and len(self.data):
            try:
                self.kernel.diag(new.data.completed(self.data.layout.places[:1, : self.data.dimensions]))
            except InvalidInput as trouble:  # a kernel that has outputs by name knows no other
                raise InvalidInput("output", trouble.expected, output, "see the instruments' outputs") from trouble
        return new

    def mean(self, X: ArrayLike) -> Array:
        """E[f] at each place, (M,)."""
        return self.predictor.mean(self._places(X))

    def variance(self, X: ArrayLike) -> Array:
        """Var[f] at each place, (M,)."""
        return self.predictor.variance(self._places(X))

    def covariance(self, X: ArrayLike, Z: ArrayLike | None = None, half: Array | None = None) -> Array:
        """Cov[f(X), f(Z)], (M, M) or (M, L); `half` is that of Z, `posterior.half(Z)`, where it is known already."""
        places = self._places(X)
        others = None if Z is None else self._places(Z, "Z")
        columns = len(places if others is None else others)
        require_room("X", len(places), columns, "take fewer places: some of them stand for all")
        return self.predictor.covariance(places, others, half)

    def half(self, X: ArrayLike) -> Array:
        """L⁻¹ R A k(Z, x), (F, M): what the data take off a covariance is a product of two of these."""
        places = self._places(X)
        require_room("X", len(places), self._state.factor.size, "take fewer places: some of them stand for all")
        return self.predictor.half(places)

    def part(self, kernel: Kernel, X: ArrayLike, centred: bool = False) -> tuple[Array, Array]:
        """Mean and variance, (M,) each, of one part of f: of f = Σ_j f_j with covariances k_j that add up to this
        posterior's kernel, the f_j with this one.

            E[f_j(x)] = k_j(x, Z) Aᵀ α,   Var[f_j(x)] = k_j(x, x) − ‖L⁻¹ R A k_j(Z, x)‖²

        The prior mean belongs to no part. With `centred` it is what f_j is above its average over the places X.
        """
        return self.predictor.part(kernel, self._places(X), centred)

    def sample(self, X: ArrayLike, size: int, rng: np.random.Generator | int) -> Array:
        """`size` functions drawn from the belief, at the places: (size, M). rng is a generator or a seed."""
        places, size, source = self._places(X), require_count("size", size, 0, "1 draws one function"), as_rng(rng)
        if self.draws is not None:
            return sample_by_draw(self.predictor, self.draws, places, size, source)
        root = self.predictor.root(places, self.covariance(places))
        return self.mean(places) + source.standard_normal((size, len(places))) @ root.T

    def function(self, rng: np.random.Generator | int, waves: int = 4096) -> Callable[[ArrayLike], Array]:
        """One function drawn from the belief, that can be asked anywhere: f(X) is (M,), the same at every call.

        The prior is drawn as a sum of so many random waves; the answers move it as they move the belief. For kernels
        that have random features (SE, Matern, RationalQuadratic, Periodic, Linear, sums and products of them).

        >>> import gainful as gf
        >>> data = gf.Data().add(gf.Point(noise=0.01), [[0.0], [1.0]], [0.0, 1.0])
        >>> f = gf.GP(gf.SE(0.5)).condition(data).function(rng=0)
        >>> f([[0.0], [1.0]]).round(1).tolist()
        [-0.0, 1.0]
        """
        drawn = draw_function(self, require_count("waves", waves, 1, "thousands are usual"), as_rng(rng))
        return lambda X: drawn(self._places(X))

    def quantile(self, X: ArrayLike, q: ArrayLike) -> Array:
        """The q quantile of f at each place, (M,), or of several q (Q, M): exact, of draws too.

        >>> import gainful as gf
        >>> gf.GP(gf.SE()).condition(gf.Data()).quantile([[0.0]], [0.5, 0.975]).round(4).tolist()
        [[0.0], [1.96]]
        """
        levels = as_levels(q)
        if self.draws is None:
            mean, variance = self.predictor.moments(self._places(X))
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
        own = frozen(np.array(places))
        mean, variance = self.predictor.moments(own)
        return Predictive(self, own, frozen(mean), frozen(variance))

    def marginals(self, instrument: Instrument, X: ArrayLike | Predictive) -> tuple[Array, Array]:
        """Mean and (co)variance of what the instrument sees at each query: (M,), (M,), or for sets (M, k), (M, k, k).

        Of a `Predictive` of this posterior, an instrument that sees one place gets the moments held there.
        """
        shared = getattr(instrument, "query", None) == "place" and instrument.outputs is None
        if isinstance(X, Predictive) and X.posterior is self and shared:
            return X.mean, X.variance
        queries = self._queries(instrument, X)
        if instrument.query == "place":
            return self.predictor.moments(self._places(queries.reshape(-1, queries.shape[-1])))
        n, k, d = queries.shape
        mean = self.mean(queries.reshape(n * k, d)).reshape(n, k)
        cov = self.predictor.among(queries)
        if instrument.query == "set":
            return mean, cov
        return mean[:, 0] - mean[:, 1], np.maximum(cov[:, 0, 0] + cov[:, 1, 1] - 2.0 * cov[:, 0, 1], 0.0)

    def vjp(self, instrument: Instrument, X: ArrayLike, watched: Beside | None = None) -> Looked:
        """What the instrument sees at a few queries, with the way back to the places: see `Looked`.

        `watched` are places whose covariances with what is seen are wanted too, made ready by `beside`.

        >>> import gainful as gf
        >>> post = gf.GP(gf.SE()).condition(gf.Data().add(gf.Point(0.1), [[0.0]], [1.0]))
        >>> look = post.vjp(gf.Point(), [[0.0]])
        >>> look.mean.round(2).tolist(), look.back(np.ones(1), np.zeros(1)).round(2).tolist()  # level at the top
        ([0.99], [[0.0]])
        """
        queries = self._queries(instrument, X)
        shape, kind = queries.shape, instrument.query
        each = queries[:, None] if queries.ndim == 2 else queries
        if kind == "place":
            each = self._places(each.reshape(-1, shape[-1]))[:, None]
        found = moments_and_pullback(self.predictor, each, watched)
        mean, cov, cross = found.mean, found.cov, found.cross
        if kind == "place":
            mean, cov, cross = mean[:, 0], cov[:, 0, 0], cross[:, 0]
        elif kind == "pair":
            mean, cross = mean[:, 0] - mean[:, 1], cross[:, 0] - cross[:, 1]
            cov = np.maximum(cov[:, 0, 0] + cov[:, 1, 1] - 2.0 * cov[:, 0, 1], 0.0)

        def back(d_mean: Array, d_cov: Array, d_cross: Array | None = None) -> Array:
            signs = np.array([1.0, -1.0]) if kind == "pair" else np.ones(each.shape[1])
            crossing = None if d_cross is None else d_cross[:, None, :] * signs[:, None]
            out = found.back(*of_places(kind, d_mean, d_cov), crossing)[..., : shape[-1]]
            out = out.reshape(shape)
            if instrument.outputs is not None:  # one place for all of them, and their numbers do not move
                return np.asarray(out[:, :, :-1].sum(axis=1))
            return out

        return Looked(mean, cov, cross, back)

    def beside(self, watched: Array) -> Beside:
        """Places (R, d), or pairs of them (R, 2, d), ready to be watched by `vjp`."""
        return beside(self.predictor, watched)

    def answers(self, instrument: Instrument, X: ArrayLike) -> Answers | MixtureAnswers:
        """The predictive distribution of the instrument's answers."""
        if self.draws is None:
            seen = self.marginals(instrument, X)
            return instrument.predict(*seen)
        queries = self._queries(instrument, X)
        self._places(queries.reshape(-1, queries.shape[-1]))
        return answers_by_draw(self.predictor, self.draws, instrument, queries)

    def by_draw(self, X: ArrayLike, instrument: Instrument | None = None) -> tuple[Array, Array]:
        """Mean of f, or of what an instrument sees, given each draw, (S, M) or (S, M, k), and the (co)variance that all
        share. Without draws there is one such mean, the belief's own."""
        if self.draws is None:
            if instrument is None:
                mean, spread = self.predictor.moments(self._places(X))
            else:
                mean, spread = self.marginals(instrument, X)
            return mean[None], spread
        queries = self._places(X) if instrument is None else self._queries(instrument, X)
        self._places(queries.reshape(-1, queries.shape[-1]))
        query = "place" if instrument is None else instrument.query
        return moments_by_draw(self.predictor, self.draws, queries, query)

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
        if self.behind is not None:
            expected, remedy = "a posterior without an engine", "condition a few hundred of the answers with EP()"
            raise InvalidInput("posterior", expected, type(self.inference).__name__, remedy)
        exact = solve(self.prior_mean, self.kernel, self.data, Sampled(draws, seed))
        warn_if_unconverged(exact.convergence, stacklevel=3)
        measured = np.unique(self.data.layout.places, axis=0)
        some = np.linspace(0, len(measured) - 1, min(len(measured), _MOST_CHECKED)).astype(int)
        return compare(self, exact, measured[some] if X is None else self._places(X), float(level))

    def known_windows(self, instrument: Instrument, X: ArrayLike) -> KnownWindows | None:
        """The queries whose very value answers without noise have bounded; None where no answer was without noise."""
        rows, known, ends = self.layout.hard_windows(instrument.query == "pair")
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
        if isinstance(self.inference, Engine) and self.count and says_again(self.data.layout, more.layout):
            return warn_about(solve(self.prior_mean, self.kernel, data, self.inference))
        old, state, (mean, kernel) = self.layout, self._state, self.process
        if not old.size:
            return warn_about(self._again(data))
        layout = _after(data, self.count).layout
        cov = extend_covariance(kernel, old, layout, state.prior_cov)
        sites = transfer_sites(self.sites, layout, np.arange(old.size, dtype=np.intp))
        if layout.gaussian and is_extendable(old, state):
            exact = append_gaussian(state, sites, layout.pick(mean(layout.places)), cov)
            if exact is not None:
                return self._exact(data, exact)
        start = WarmStart(sites)
        if not layout.gaussian:
            sites = filtered_sites(mean, state, more.layout, sites, cov)
            start = WarmStart(sites, before=state, low=self.solution.low)
        return warn_about(self._again(data, start, cov))

    def without(self, observations: int | Iterable[int]) -> Posterior:
        """The posterior without these observations (numbered in the order of adding), as cheaply as one is added."""
        gone = self.data.numbers(observations)
        if not gone.size:
            return self
        data = self.data.without(gone)
        if gone[0] < self.count:  # the engine has seen it
            seen = self.count - int(np.sum(gone < self.count))
            first = data.without(range(seen, len(data)))
            return warn_about(solve(self.prior_mean, self.kernel, first, self.inference)).condition(data.since(seen))
        gone = gone - self.count
        old, layout, state = self.layout, _after(data, self.count).layout, self._state
        rows = np.concatenate([np.arange(old.starts[i], old.starts[i + 1]) for i in gone])
        kept = np.setdiff1d(np.arange(old.size), rows).astype(np.intp)
        cov = state.prior_cov[np.ix_(kept, kept)]
        sites = transfer_sites(self.sites, layout, kept)
        if is_extendable(old, state) and len(rows) == 1 and kept.size:
            mean = layout.pick(self.process[0](layout.places))
            return self._exact(data, remove_gaussian(state, int(rows[0]), sites, mean, cov))
        low = self.solution.low
        start = WarmStart(sites, low=None if low is None else low.kept(kept))
        return warn_about(self._again(data, start, cov))

    def _again(self, data: Data, start: WarmStart | None = None, cov: Array | None = None) -> Posterior:
        """The posterior of other data that begin with what the engine has seen, if there is one."""
        layout, inference = _after(data, self.count).layout, self.inference
        method = None if isinstance(inference, Engine) else inference
        solution = find_sites(*self.process, layout, method, start, cov)
        return replace(self, data=data, solution=solution)

    def _exact(self, data: Data, state: Conditioned) -> Posterior:
        """The posterior of Gaussian answers, given the belief about g."""
        layout = _after(data, self.count).layout
        solution = Solution(state, gaussian_evidence(layout, state), Convergence(Result.EXACT))
        return replace(self, data=data, solution=solution)

    def _queries(self, instrument: Instrument, X: ArrayLike) -> Array:
        """What the instrument looks at in the queries X, which may be said in the words of the space."""
        require_instrument(instrument)
        said = self.data.codes(X, "X", instrument.asks)
        require_columns("X", column_names(said), self.data.columns)
        return as_queries(instrument, said)[0]

    def _places(self, X: ArrayLike, argument: str = "X") -> Array:
        places = finite_table(argument, self.data.codes(X, argument), names=self.data.columns)
        if not self.data.admits(places.shape[1]):
            known = self.data.coordinates or self.data.dimensions
            several = known != self.data.dimensions
            raise InvalidInput(
                argument,
                f"places with {known} coordinates, " + ("the last being the output" if several else "like the data"),
                places.shape[1],
                "say which one is meant: belief.of(output)" if several else "match the columns",
            )
        return self.data.completed(places)


def solve(
    mean: Mean,
    kernel: Kernel,
    data: Data,
    inference: Inference | Engine | None = None,
    start: WarmStart | Sites | None = None,
    cov: Array | None = None,
) -> Posterior:
    """Condition a GP on data, starting from sites and with g's covariance where they are known; warns of nothing."""
    method = method_for(data.layout, inference)
    if not isinstance(method, Engine) or not data.layout.size:
        own = None if isinstance(method, Engine) else method
        solution = find_sites(mean, kernel, data.layout, own, as_start(start), cov)
        return Posterior(mean, kernel, data, solution, inference)
    behind, count = method.believe(mean, kernel, data.layout), len(data)
    nothing = find_sites(*_process(mean, kernel, data, behind), Data().layout)
    return Posterior(mean, kernel, data, nothing, method, behind, count)


def _after(data: Data, count: int) -> Data:
    return data.since(count) if count else data


def _process(mean: Mean, kernel: Kernel, data: Data, behind: EngineBelief | None) -> tuple[Mean, Kernel]:
    if behind is None:
        return mean, kernel
    steps = steps_for(data.layout.places)
    return BelievedMean(behind, steps), BelievedKernel(behind, steps)


def warn_about(found: Posterior) -> Posterior:
    """The posterior, after a warning if jitter was needed or the iteration fell short."""
    warn_if_jittered(found.jitter)
    if not found.converged:
        warn_if_unconverged(found.convergence)
    return found
