"""Mixture of posteriors with weights, as from hyperparameter samples or rival models: moments, samples, predictions.

Each part may have instruments of its own: where a noise, a spread or a lapse rate is itself unknown, the points that
stand for it differ in it. An instrument is known by its label. What is asked of a belief with an instrument is asked of
each part with that part's instrument of the same label, or with the one given where it has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from gainful.checks import (
    as_rng,
    column_names,
    is_whole,
    listed,
    numbers,
    require,
    require_columns,
    require_count,
    require_kind,
)
from gainful.data import Data, as_queries, require_instrument
from gainful.errors import InvalidInput
from gainful.inference.convergence import Convergence
from gainful.inference.posterior import Posterior
from gainful.inference.predictive import Predictive
from gainful.inference.quantiles import as_levels, tails
from gainful.instruments.answers import Answers, MixtureAnswers, mix
from gainful.instruments.base import Instrument
from gainful.numerics.mixture_quantile import mixture_quantile
from gainful.space import has_numbered_levels

Array = NDArray[np.float64]


def queries_of(belief: Posterior | Belief, instrument: Instrument, places: ArrayLike) -> Array:
    """The places in the shape that the instrument's queries have, if they can be asked about under this belief."""
    require_askable(belief, instrument, places)
    queries, _ = as_queries(instrument, places, "places")
    if not belief.data.admits(queries.shape[-1]):
        expected = f"places with {belief.data.dimensions} coordinates, like the data"
        raise InvalidInput("places", expected, queries.shape[-1], "match the columns")
    return queries


def codes_for(belief: Posterior | Belief, instrument: Instrument, places: Any) -> Any:
    """Places that are said in the words of the belief's space, as codes; whatever else comes stays as it is."""
    known = isinstance(belief, Posterior | Belief) and isinstance(instrument, Instrument)
    return belief.data.codes(places, "places", instrument.asks) if known else places


def require_askable(belief: object, instrument: object, places: object) -> None:
    """Refuse what is no belief, no instrument, or a table with other columns than the data's, or with levels that could
    be taken for codes."""
    remedy = "condition a GP on data first"
    require_kind("belief", belief, (Posterior, Belief), "a posterior, or a Belief of several", remedy)
    require_instrument(instrument)
    called = column_names(places)
    data: Data = belief.data  # type: ignore[attr-defined]
    require_columns("places", called, data.columns)
    space = data.told_by or data.space
    coded = called is None or space is None or not has_numbered_levels(space)
    require(coded, "places", "codes, where levels are numbers", places, "space.code(table) makes codes of a table")


class Part(NamedTuple):
    """One posterior of a belief as it is asked about some places: its number and weight, itself, its own instrument,
    the places (with what it predicts there, where that is known)."""

    number: int
    weight: float
    posterior: Posterior
    instrument: Instrument
    places: Any


def parts_of(belief: Posterior | Belief, instrument: Instrument, places: ArrayLike | Predictive) -> list[Part]:
    """The posteriors that have weight, each with its own instrument; one posterior is one part."""
    if isinstance(belief, Belief):
        return belief.each(instrument, places)
    return [Part(0, 1.0, belief, instrument, places)]


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Belief:
    """Σ_s w_s posterior_s. Moments follow the laws of total expectation and variance, quantiles are the mixture's.

    `instruments` are, for each posterior, those that it has of its own, by label; `models` the number of the rival
    model that each belongs to, `kinds` that of its structure, which is its model where nothing else is said;
    `log_evidence` is log p(answers), models and hyperparameters integrated out, where that is known.

    >>> import gainful as gf
    >>> lab, data = gf.Point(noise=1.0, name="lab"), gf.Data()
    >>> rough, fine = (gf.GP(gf.SE()).condition(data) for _ in range(2))
    >>> belief = gf.Belief([rough, fine], instruments=[{"lab": gf.Point(2.0, name="lab")}, {}])
    >>> [part.instrument.noise for part in belief.each(lab, [[0.0]])]
    [2.0, 1.0]
    """

    posteriors: tuple[Posterior, ...]
    weights: Array
    instruments: tuple[Mapping[str, Instrument], ...]
    models: tuple[int, ...]
    log_evidence: float | None
    kinds: tuple[int, ...]

    def __init__(
        self,
        posteriors: Sequence[Posterior],
        weights: ArrayLike | None = None,
        instruments: Sequence[Mapping[str, Instrument]] | None = None,
        models: Sequence[int] | None = None,
        log_evidence: float | None = None,
        kinds: Sequence[int] | None = None,
    ) -> None:
        parts = tuple(listed(posteriors) or ())
        if not parts or not all(isinstance(p, Posterior) for p in parts):
            raise InvalidInput("posteriors", "one or more posteriors", posteriors, "condition a GP on data first")
        places = {p.data.dimensions for p in parts} - {None}
        require(len(places) < 2, "posteriors", "places with the same number of coordinates", places, "match them")
        given = np.full(len(parts), 1.0 / len(parts)) if weights is None else numbers("weights", weights, "numbers")
        if given.shape != (len(parts),) or not np.all(np.isfinite(given)) or np.any(given < 0.0) or given.sum() <= 0.0:
            raise InvalidInput(
                "weights", f"{len(parts)} weights, none negative, not all zero", weights, "one per posterior"
            )
        object.__setattr__(self, "posteriors", parts)
        object.__setattr__(self, "weights", given / given.sum())
        object.__setattr__(self, "instruments", _by_label(instruments, len(parts)))
        object.__setattr__(self, "models", _numbered("models", models, len(parts)))
        object.__setattr__(self, "log_evidence", log_evidence)
        object.__setattr__(self, "kinds", self.models if kinds is None else _numbered("kinds", kinds, len(parts)))

    def __repr__(self) -> str:
        return f"Belief({len(self.posteriors)} posteriors, {len(self.data)} answers)"

    @property
    def data(self) -> Data:
        """What the belief is based on (the instruments' parameters are the first posterior's)."""
        return self.posteriors[0].data

    @property
    def convergence(self) -> Convergence:
        """How inference went in the heaviest part, or in one with weight that did not converge, if there is one.

        >>> import gainful as gf
        >>> data = gf.Data().add(gf.Point(noise=1.0), [[0.0]], [1.0])
        >>> gf.Belief([gf.GP(gf.SE()).condition(data)]).convergence.message
        'exact: every answer is Gaussian'
        """
        parts = [self.posteriors[s] for s in np.argsort(-self.weights, kind="stable") if self.weights[s] > 0.0]
        return next((p.convergence for p in parts if not p.convergence), parts[0].convergence)

    @property
    def converged(self) -> bool:
        """Whether inference reached its fixed point in every part that has weight."""
        return self.convergence.converged

    @property
    def model_weights(self) -> Array:
        """The probability of each rival model; without rivals, that of each part."""
        return np.asarray(np.bincount(self.models, weights=self.weights), dtype=float)

    @property
    def entropy(self) -> float:
        """Of the structures, or of the rival models where there are no others, in bits: how open it is which is right.

        >>> import gainful as gf
        >>> prior = gf.GP(gf.SE()).condition(gf.Data())
        >>> gf.Belief([prior] * 3, [0.5, 0.25, 0.25]).entropy, gf.Belief([prior] * 2, models=[0, 0]).entropy
        (1.5, 0.0)
        """
        shares = np.bincount(self.kinds, weights=self.weights)
        shares = shares[shares > 0.0]
        return max(float(-np.sum(shares * np.log2(shares))), 0.0)

    @property
    def effective(self) -> float:
        """1/Σ w²: how many parts of equal weight it is worth."""
        return float(1.0 / np.sum(self.weights**2))

    @property
    def heaviest(self) -> int:
        """The number of the part with the largest weight, the first of several."""
        return int(np.argmax(self.weights))

    def instrument_of(self, s: int, instrument: Instrument) -> Instrument:
        """The instrument that part s has under this label; the one given where it has none, or one of another kind."""
        own = self.instruments[s].get(instrument.label)
        return own if own is not None and type(own) is type(instrument) else instrument

    def each(self, instrument: Instrument, places: ArrayLike | Predictive) -> list[Part]:
        """The parts that have weight, each with its own instrument."""
        require_instrument(instrument)
        held = isinstance(places, Predictive) and places.posterior is self
        return [
            Part(
                s,
                float(self.weights[s]),
                self.posteriors[s],
                self.instrument_of(s, instrument),
                places.part(s) if held and isinstance(places, Predictive) else places,
            )
            for s in np.flatnonzero(self.weights > 0.0).tolist()
        ]

    def leading(self, size: int) -> Belief:
        """The `size` heaviest parts alone, or all where they are no more, in their order."""
        if len(self.weights) <= size:
            return self
        kept = np.sort(np.argsort(-self.weights, kind="stable")[:size]).tolist()
        return self.again([self.posteriors[s] for s in kept], self.weights[kept], kept)

    def few_of_each(self, size: int) -> Belief:
        """At most `size` parts of each rival model, evenly among all it has, that weigh as much as all of them.

        >>> import gainful as gf
        >>> prior = gf.GP(gf.SE()).condition(gf.Data())
        >>> gf.Belief([prior] * 6, [0.1, 0.1, 0.1, 0.1, 0.1, 0.5], models=[0, 0, 0, 0, 0, 1]).few_of_each(2).weights
        array([0.25, 0.25, 0.5 ])
        """
        kept, weights = [], []
        for model, share in enumerate(self.model_weights):
            own = np.flatnonzero((np.array(self.models) == model) & (self.weights > 0.0))
            own = own[np.unique(np.linspace(0, len(own) - 1, min(size, len(own))).round().astype(int))]
            kept += own.tolist()
            weights += (share * self.weights[own] / self.weights[own].sum()).tolist()
        if len(kept) == len(self.weights):
            return self
        return self.again([self.posteriors[s] for s in kept], np.array(weights), kept)

    def again(self, posteriors: Sequence[Posterior], weights: Array, kept: Sequence[int] | None = None) -> Belief:
        """Other posteriors and weights for the same parts, or for those of these numbers: their instruments, models and
        structures stay."""
        some = range(len(self.weights)) if kept is None else kept
        instruments, models = [self.instruments[s] for s in some], [self.models[s] for s in some]
        return Belief(posteriors, weights, instruments, models, kinds=[self.kinds[s] for s in some])

    def condition(self, more: Data) -> Belief:
        """The belief after more answers: each part goes on from what it believes, and weighs p(more | part) times as
        much.

        >>> import gainful as gf
        >>> lab, prior = gf.Point(noise=0.1, name="lab"), gf.Data()
        >>> belief = gf.Belief([gf.GP(gf.SE(length)).condition(prior) for length in (1.0, 0.1)])
        >>> after = belief.condition(gf.Data().add(lab, [[0.0], [0.2], [0.4]], [1.0, 1.0, 0.9]))
        >>> after.weights.round(2).tolist()  # so smooth
        [0.97, 0.03]
        """
        require_kind("more", more, Data, "a Data value", "for instance Data().add(instrument, X, answers)")
        after = [
            before.condition(more.with_instruments({each: self.instrument_of(s, each) for each in more.instruments}))
            for s, before in enumerate(self.posteriors)
        ]
        with np.errstate(divide="ignore"):  # a part without weight stays without
            logs = np.log(self.weights)
        logs += [new.log_evidence - old.log_evidence for new, old in zip(after, self.posteriors, strict=True)]
        gained = float(logsumexp(logs))
        total = None if self.log_evidence is None else self.log_evidence + gained
        return Belief(after, np.exp(logs - gained), self.instruments, self.models, total, self.kinds)

    def predict(self, X: ArrayLike | Predictive) -> Predictive:
        """Mean and variance (S, M) of f at each place under every part, held together with the places."""
        if isinstance(X, Predictive) and X.posterior is self:
            return X
        found = [p.predict(X) for p in self.posteriors]
        mean, variance = np.stack([p.mean for p in found]), np.stack([p.variance for p in found])
        for array in (mean, variance):
            array.flags.writeable = False
        return Predictive(self, found[0].places, mean, variance)

    def marginals(self, instrument: Instrument, X: ArrayLike | Predictive) -> tuple[Array, Array]:
        """Mean and (co)variance of what the instrument sees at each query, of the mixture as a whole: (M,), (M,), or
        for sets (M, k), (M, k, k)."""
        parts = self.each(instrument, X)
        seen = [p.posterior.marginals(p.instrument, p.places) for p in parts]
        weights, means = np.array([p.weight for p in parts]), np.stack([m for m, _ in seen])
        mean = np.tensordot(weights, means, axes=1)
        off, within = means - mean, np.tensordot(weights, np.stack([v for _, v in seen]), axes=1)
        between = "s,sm,sm->m" if mean.ndim == 1 else "s,smi,smj->mij"
        return mean, within + np.einsum(between, weights, off, off)

    def of(self, output: int | str | None) -> Belief:
        """The same belief about one of several functions, by its name or its number: places need not say which."""
        parts = [each.of(output) for each in self.posteriors]
        return Belief(parts, self.weights, self.instruments, self.models, self.log_evidence, self.kinds)

    def mean(self, X: ArrayLike) -> Array:
        """E[f], (M,)."""
        return self.weights @ np.stack([p.mean(X) for p in self.posteriors])

    def variance(self, X: ArrayLike) -> Array:
        """Var[f] = E[Var] + Var[E], (M,)."""
        found = self.predict(X)
        return self.weights @ (found.variance + (found.mean - self.weights @ found.mean) ** 2)

    def covariance(self, X: ArrayLike) -> Array:
        """Cov[f], (M, M)."""
        means = np.stack([p.mean(X) for p in self.posteriors])
        off = means - self.weights @ means
        within = sum(w * p.covariance(X) for w, p in zip(self.weights, self.posteriors, strict=True))
        return np.asarray(within + np.einsum("s,si,sj->ij", self.weights, off, off))

    def quantile(self, X: ArrayLike, q: ArrayLike) -> Array:
        """The q quantile of f at each place under the mixture, (M,), or of several q (Q, M); exact.

        Not an average of the parts' quantiles: x with Σ w_s Φ((x − mean_s)/sd_s) = q.

        >>> import gainful as gf
        >>> rivals = [gf.GP(gf.SE(), gf.ConstantMean(m)).condition(gf.Data()) for m in (-9.0, 9.0)]
        >>> gf.Belief(rivals).quantile([[0.0]], 0.25).round(4).tolist()
        [-9.0]
        """
        levels = as_levels(q)
        weights, mean, sd = self._normals(X)
        found = np.stack([mixture_quantile(weights, mean, sd, each) for each in levels.ravel()])
        return np.asarray(found.reshape(*levels.shape, -1))

    def band(self, X: ArrayLike, level: float = 0.95) -> tuple[Array, Array]:
        """The ends, (M,) each, between which f lies at each place with this probability, as likely below as above."""
        low, high = self.quantile(X, tails(level))
        return low, high

    def _normals(self, X: ArrayLike) -> tuple[Array, Array, Array]:
        """Weights (S',), means and spreads (S', M) of the normals that f is a mixture of; every draw is one."""
        weights, means, spreads = [], [], []
        for weight, posterior in zip(self.weights, self.posteriors, strict=True):
            drawn, within = posterior.by_draw(X)
            weights.append(np.full(len(drawn), weight / len(drawn)))
            means.append(drawn)
            spreads.append(np.broadcast_to(np.sqrt(within), drawn.shape))
        return np.concatenate(weights), np.concatenate(means), np.concatenate(spreads)

    def sample(self, X: ArrayLike, size: int, rng: np.random.Generator | int) -> Array:
        """`size` functions, each from a posterior drawn by weight, (size, M). rng is a generator or a seed."""
        generator = as_rng(rng)
        counts = generator.multinomial(require_count("size", size, 0, "1 draws one function"), self.weights)
        drawn = [p.sample(X, int(n), generator) for p, n in zip(self.posteriors, counts, strict=True)]
        return np.asarray(generator.permutation(np.concatenate(drawn)))

    def answers(self, instrument: Instrument, X: ArrayLike | Predictive) -> Answers | MixtureAnswers:
        """The predictive distribution of the answers, hyperparameters or models integrated out: each part's own
        instrument answers for it."""
        parts = self.each(instrument, X)
        return mix(
            [p.posterior.answers(p.instrument, p.places) for p in parts], np.array([part.weight for part in parts])
        )

    @cached_property
    def imagined(self) -> dict[Any, Any]:
        """Beliefs after answers that were drawn from this one, by what was asked (`fantasy.sample_fantasies`)."""
        return {}


def _by_label(instruments: Any, size: int) -> tuple[Mapping[str, Instrument], ...]:
    """For each of `size` posteriors its own instruments by label, all of a label of one kind."""
    expected = f"for each of {size} posteriors a mapping of labels to instruments"
    remedy = 'for instance [{"lab": Point(0.1, name="lab")}, {"lab": Point(0.2, name="lab")}]'
    if instruments is None:
        return ({},) * size
    given = listed(instruments)
    if given is None or len(given) != size or not all(isinstance(each, Mapping) for each in given):
        raise InvalidInput("instruments", expected, instruments, remedy)
    kinds: dict[str, tuple[type, Any]] = {}
    for own in given:
        for label, instrument in own.items():
            if not isinstance(label, str) or not isinstance(instrument, Instrument):
                raise InvalidInput("instruments", expected, own, remedy)
            kind = type(instrument), instrument.values
            if kinds.setdefault(label, kind) != kind:
                raise InvalidInput(
                    "instruments", f"instruments of one kind, with the same answers, as {label!r}", instrument,
                    "parts may differ in an instrument's noise or rates, not in what it answers",
                )  # fmt: skip
    return tuple(dict(own) for own in given)


def _numbered(argument: str, numbers: Any, size: int) -> tuple[int, ...]:
    """The model or structure of each part: each is its own where nothing is said."""
    given = range(size) if numbers is None else listed(numbers) or ()
    numbered = len(given) == size and all(is_whole(each) and each >= 0 for each in given)
    require(numbered, argument, f"{size} numbers of {argument}, from 0", numbers, "one for each posterior")
    return tuple(int(each) for each in given)
