"""Decision-theoretic goals: by how much an answer is expected to reduce the error of what is predicted.

All look one answer ahead (`lookahead`) and average over the answers that are expected. They know the places where
predictions matter, the reference: Houlsby et al. 2011, sec. 4, call that transductive. The losses, for the
probabilities p of an answer:

    zero-one   1 − max p        the error rate of the best guess (Zhu et al. 2003, 3; Roy & McCallum 2001)
    log        −Σ p log2 p      its expected surprise in bits (Roy & McCallum 2001)
    Gini       p (1 − p)        the error rate of a guess drawn from p (Kapoor et al. 2007, 3)

Of several posteriors each score is averaged over them (`parts`): the error that each expects of its own predictions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy

from gainful.acquisition.base import AMOUNT, SIGNED
from gainful.acquisition.lookahead import Step, over_steps, steps
from gainful.acquisition.parts import averaged
from gainful.checks import require_choice, require_not_negative, require_positive
from gainful.data import require_instrument
from gainful.errors import InvalidInput
from gainful.inference.belief import Belief, queries_of
from gainful.inference.posterior import Posterior
from gainful.information.about import as_reference
from gainful.information.watched import Watched, watch, watch_places
from gainful.instruments import Instrument
from gainful.instruments.answers import DiscreteAnswers

__all__ = [
    "ExpectedError",
    "ExpectedErrorReduction",
    "ExpectedModelChange",
    "Kapoor",
    "Zhu",
    "error",
    "probabilities",
]

Array = NDArray[np.float64]

_MEAN_SIZE = float(np.sqrt(2.0 / np.pi))  # E|z| for z ~ N(0, 1)


# ---------------------------------------------------------------------------------------------------------- formulas


def probabilities(instrument: Instrument, m: Array, v: Array) -> list[Array]:
    """P(answer) for each discrete answer when the instrument sees N(m, v), shaped like m; to 1e-16, not in the tails.

    >>> import gainful as gf
    >>> [p.round(4).tolist() for p in probabilities(gf.Binary(), np.array([0.0, 1.0]), np.array([0.0, 3.0]))]
    [[0.5, 0.3085], [0.5, 0.6915]]
    """
    channel = instrument.channel() if instrument.values is not None and instrument.query != "set" else None
    if channel is not None:
        return channel.probabilities(m, v)
    answers = instrument.predict(m.ravel(), v.ravel())
    if not isinstance(answers, DiscreteAnswers):
        raise InvalidInput(
            "instrument", "one with a few answers, whose errors can be counted", instrument,
            "say what is to be predicted, predict=Binary() for instance, or use ExpectedErrorReduction",
        )  # fmt: skip
    return [column.reshape(m.shape) for column in answers.probabilities.T]


def error(p: list[Array], loss: str) -> Array:
    """The expected loss of predicting an answer that has probabilities p: "zero-one" or "log"."""
    if loss == "zero-one":
        best = p[0]
        for other in p[1:]:
            best = np.maximum(best, other)
        return 1.0 - best
    return np.asarray(sum((xlogy(x, x) for x in p), np.zeros(()))) / -np.log(2.0)


class _Labelled(NamedTuple):
    """Measured answers of one instrument: which of its answers they were (N,), and what they are answers about."""

    instrument: Instrument
    told: NDArray[np.intp]
    watched: Watched


def labelled(belief: Posterior) -> list[_Labelled]:
    """The measured answers, instrument by instrument; InvalidInput where they cannot be right or wrong."""
    out = []
    for instrument in belief.data.instruments:
        batches = [b for b in belief.data.batches if b.instrument == instrument]
        watched = watch(belief, instrument, np.concatenate([b.X for b in batches]))
        values = instrument.predict(watched.mean[:1], watched.variance[:1])
        if not isinstance(values, DiscreteAnswers):
            raise InvalidInput(
                "belief", "yes/no answers, ranks or preferences, which can be right or wrong",
                f"answers of {instrument.label}", "use Zhu or ExpectedError, which do not look at measured answers",
            )  # fmt: skip
        given = np.concatenate([b.answers for b in batches])
        out.append(_Labelled(instrument, np.searchsorted(values.values, given).astype(np.intp), watched))
    return out


def own_probability(instrument: Instrument, step: Step) -> Array:
    """P(y | belief after y), (M, Q): how likely each answer becomes once it has been given."""
    if instrument.query == "set":
        raise InvalidInput("instrument", "one that sees one value", instrument, "use Learn, or design goals, for sets")
    p = probabilities(instrument, *step.own)
    return np.stack([p[q][:, q] for q in range(len(p))], axis=1)


def told_probability(group: _Labelled, step: Step) -> Array:
    """P(measured answer | belief after y), (M, Q, N), for the step whose watched values are the group's."""
    p = probabilities(group.instrument, step.mean, step.variance)
    out = np.empty_like(p[0])
    for value, each in enumerate(p):
        mine = group.told == value
        out[..., mine] = each[..., mine]
    return out


def _same(queries: Array, reference: Array) -> NDArray[np.bool_]:
    """Which reference each query is, (M, R); a pair is the same question both ways round."""
    where: dict[bytes, list[int]] = {}
    for r, place in enumerate(reference + 0.0):
        where.setdefault(place.tobytes(), []).append(r)
    out = np.zeros((len(queries), len(reference)), dtype=bool)
    for i, place in enumerate(queries + 0.0):
        for turned in (place, place[::-1]) if place.ndim == 2 else (place,):
            out[i, where.get(np.ascontiguousarray(turned).tobytes(), [])] = True
    return out


# ------------------------------------------------------------------------------------------------------------- goals


@dataclass(frozen=True)
class ExpectedError:
    """−Σ_y P(y) mean_r error_r(y): the error that is left at the reference, on average, after the answer.

    Roy & McCallum (2001) with a GP; what the decision-theoretic methods in Houlsby et al. 2011 have in common.
    `reference` are places, or pairs for a preference, where answers will be predicted: the pool, or test places.
    `predict` is the instrument whose answers those are, by default the one that is asked; with it any instrument can be
    asked, numbers too. O(M Q R); the sum over discrete answers is exact, each answer's effect is one ADF step (see
    `lookahead`).

    >>> import gainful as gf
    >>> prior = gf.GP(gf.SE()).condition(gf.Data())
    >>> ExpectedError([[0.0], [0.1]]).score(prior, gf.Binary(), [[0.05], [9.0]]).round(4).tolist()
    [-0.332, -0.5]
    """

    scale: ClassVar[str] = SIGNED
    looks_ahead: ClassVar[bool] = True

    reference: Any = field(repr=False)
    predict: Instrument | None = None
    loss: str = "zero-one"

    def __post_init__(self) -> None:
        object.__setattr__(self, "reference", as_reference(self.reference))
        if self.predict is not None:
            require_instrument(self.predict, "predict")
        require_choice("loss", self.loss, ("zero-one", "log"), "see gainful.acquisition.decision")

    def score(self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike) -> Array:
        if isinstance(belief, Belief):
            return averaged(self, belief, instrument, places)
        predict = self.predict or instrument
        watched = watch(belief, predict, self.reference)
        probabilities(predict, watched.mean[:1], watched.variance[:1])  # refuses what cannot be counted
        out = np.zeros(len(queries_of(belief, instrument, places)))
        for part, step in steps(belief, instrument, places, watched):
            left = error(probabilities(predict, step.mean, step.variance), self.loss)
            out[part] = -step.expected(left.mean(axis=2))
        return out


@dataclass(frozen=True)
class Zhu:
    """R̂ − Σ_y P(y) R̂(y) with R̂ = Σ_r (1 − max p_r): the reduction of the estimated risk of the best classifier.

    Zhu, Lafferty & Ghahramani (2003), with a GP classifier in place of their Gaussian field. The sum is over reference
    queries that are not labelled: where the candidate is one of them, its own risk is gone once it is answered. That
    own part is uncertainty sampling, the rest what the answer tells about the others.
    """

    scale: ClassVar[str] = AMOUNT
    looks_ahead: ClassVar[bool] = True

    reference: Any = field(repr=False)
    predict: Instrument | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "reference", as_reference(self.reference))
        if self.predict is not None:
            require_instrument(self.predict, "predict")

    def score(self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike) -> Array:
        if isinstance(belief, Belief):
            return averaged(self, belief, instrument, places)
        predict = self.predict or instrument
        watched = watch(belief, predict, self.reference)
        before = error(probabilities(predict, watched.mean, watched.variance), "zero-one").sum()
        queries = queries_of(belief, instrument, places)
        out = np.zeros(len(queries))
        for part, step in steps(belief, instrument, queries, watched):
            left = error(probabilities(predict, step.mean, step.variance), "zero-one")
            if self.predict is None or self.predict == instrument:
                left = left * ~_same(queries[part], watched.queries)[:, None, :]
            out[part] = before - step.expected(left.sum(axis=2))
        return out


@dataclass(frozen=True)
class Kapoor:
    """(J − Σ_y P(y) J(y)) − price · cost: the value of an answer, the drop in total risk less what the answer costs.

    Kapoor, Horvitz & Basu (2007), 3. With p = P(yes), `missed` the risk of taking a yes for a no and `false_alarm` of
    the reverse, J = J_L + J_U over labelled and unlabelled queries:

        J_L = Σ_yes missed (1 − p) + Σ_no false_alarm p        the empirical error, pathological by itself
        J_U = Σ_reference (missed + false_alarm) p (1 − p)

    A reference that is answered moves from J_U to J_L. Risk and cost are in one unit: `price` is the risk that one unit
    of the instrument's cost is worth. Below zero, an answer is not worth its cost. Two-answer instruments only.
    """

    scale: ClassVar[str] = SIGNED
    looks_ahead: ClassVar[bool] = True

    reference: Any = field(repr=False)
    missed: float = 1.0
    false_alarm: float = 1.0
    price: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "reference", as_reference(self.reference))
        require_positive("missed", self.missed, "the risk of taking a yes for a no")
        require_positive("false_alarm", self.false_alarm, "the risk of taking a no for a yes")
        require_not_negative("price", self.price, "0 leaves the cost out")

    def score(self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike) -> Array:
        if isinstance(belief, Belief):
            return averaged(self, belief, instrument, places)
        watched = watch(belief, instrument, self.reference)
        if len(probabilities(instrument, watched.mean[:1], watched.variance[:1])) != 2:
            raise InvalidInput("instrument", "one with two answers", instrument, "use Zhu for ranks")
        queries = queries_of(belief, instrument, places)
        yes = probabilities(instrument, watched.mean, watched.variance)[1]
        out = np.full(len(queries), self._unlabelled(yes).sum() - self.price * instrument.cost)
        for part, step in steps(belief, instrument, queries, watched):
            risk = self._unlabelled(probabilities(instrument, step.mean, step.variance)[1])
            risk = risk * ~_same(queries[part], watched.queries)[:, None, :]
            own = np.array([self.false_alarm, self.missed]) * (1.0 - own_probability(instrument, step))
            out[part] -= step.expected(risk.sum(axis=2) + own)
        for group in _two_answers(labelled(belief)):
            weight = np.where(group.told == 1, self.missed, self.false_alarm)
            now = probabilities(group.instrument, group.watched.mean, group.watched.variance)
            out += weight @ (1.0 - np.where(group.told == 1, now[1], now[0]))
            for part, step in steps(belief, instrument, queries, group.watched):
                out[part] -= step.expected((1.0 - told_probability(group, step)) @ weight)
        return out

    def _unlabelled(self, yes: Array) -> Array:
        return (self.missed + self.false_alarm) * yes * (1.0 - yes)


def _two_answers(groups: list[_Labelled]) -> Iterator[_Labelled]:
    for group in groups:
        if len(probabilities(group.instrument, group.watched.mean[:1], group.watched.variance[:1])) != 2:
            raise InvalidInput(
                "belief", "answers with two values", f"ranks of {group.instrument.label}", "use Zhu for ranks"
            )
        yield group


@dataclass(frozen=True)
class ExpectedErrorReduction:
    """mean_r L_r − Σ_y P(y) mean_r L_r(y): how much of the error in f at reference places the answer takes away.

    For regression. The error of the posterior mean that the belief itself expects:
    "squared" is Var[f_r], which makes this the integrated variance of Cohn (1996), exact for numbers; "absolute" is
    √(2/π) sd[f_r]. No quadrature over numbers: their variance does not depend on the answer.

    >>> import gainful as gf
    >>> prior = gf.GP(gf.SE()).condition(gf.Data())
    >>> ExpectedErrorReduction([[0.0]]).score(prior, gf.Point(noise=1.0), [[0.0]]).tolist()
    [0.5]
    """

    scale: ClassVar[str] = AMOUNT
    looks_ahead: ClassVar[bool] = True

    reference: Any = field(repr=False)
    loss: str = "squared"

    def __post_init__(self) -> None:
        object.__setattr__(self, "reference", as_reference(self.reference))
        require_choice("loss", self.loss, ("squared", "absolute"), "see gainful.acquisition.decision")

    def score(self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike) -> Array:
        if isinstance(belief, Belief):
            return averaged(self, belief, instrument, places)
        watched = watch_places(belief, self.reference)
        before = self._error(watched.variance).mean()
        return over_steps(
            belief, instrument, places, watched,
            lambda step: before - step.expected(self._error(step.variance).mean(axis=2)),
        )  # fmt: skip

    def _error(self, variance: Array) -> Array:
        return variance if self.loss == "squared" else _MEAN_SIZE * np.sqrt(variance)


@dataclass(frozen=True)
class ExpectedModelChange:
    """Σ_y P(y) ‖E[f | y] − E[f]‖, the norm being the root mean square over the reference places.

    Settles & Craven (2008) take the length of the gradient in the parameters; the posterior mean is what a GP has for
    parameters. One step moves the mean by cᵀ d1, so the norm is |d1| times the root mean square of c, and
    E|d1| is √(2/π)/√(v + noise²) for a number.
    """

    scale: ClassVar[str] = AMOUNT
    looks_ahead: ClassVar[bool] = True

    reference: Any = field(repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "reference", as_reference(self.reference))

    def score(self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike) -> Array:
        if isinstance(belief, Belief):
            return averaged(self, belief, instrument, places)
        watched, number = watch_places(belief, self.reference), instrument.gaussian

        def change(step: Step) -> Array:
            gram, d1 = np.einsum("mkr,mlr->mkl", step.cross, step.cross) / len(watched), step.outcome_table.d1
            if number:
                return _MEAN_SIZE * np.sqrt(-step.outcome_table.d2[:, 0, 0, 0] * gram[:, 0, 0])
            squared = np.einsum("mqk,mkl,mql->mq", d1, gram, d1)
            return step.expected(np.sqrt(np.maximum(squared, 0.0)))

        return over_steps(belief, instrument, places, watched, change, means=not number)
