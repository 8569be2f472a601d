"""Every published strategy by name: where it comes from, what it computes, when to use it, and its score.

    score("zhu", posterior, gf.Binary(), pool)

`strategies()` lists them, and prints as a table.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.acquisition.base import Acquisition, Normalised, PerCost, averaged_over, score_beyond
from gainful.acquisition.baselines import Random, RandomType
from gainful.acquisition.best_place import BestPlace
from gainful.acquisition.committee import QueryByCommittee
from gainful.acquisition.decision import ExpectedError, ExpectedErrorReduction, ExpectedModelChange, Kapoor, Zhu
from gainful.acquisition.design import ALM, AOptimal, DOptimal, EOptimal, IntegratedVariance
from gainful.acquisition.information import EPIG, Learn, learn_region
from gainful.acquisition.max_value import MaxValueEntropy
from gainful.acquisition.optimum import (
    ExpectedImprovement,
    LogExpectedImprovement,
    ProbabilityOfImprovement,
    UpperConfidenceBound,
)
from gainful.acquisition.predictions import Predictions
from gainful.acquisition.published.closed_form import BALDClosedForm
from gainful.acquisition.published.conformal import Conformal
from gainful.acquisition.published.empirical import EmpiricalError
from gainful.acquisition.published.ivm import IVM
from gainful.acquisition.published.svm import ActiveSVM
from gainful.acquisition.uncertainty import Entropy, LeastConfidence, Margin
from gainful.data import Query
from gainful.errors import InvalidInput
from gainful.inference.belief import queries_of
from gainful.inference.fantasy import fantasies
from gainful.information.readings import checked
from gainful.instruments import Instrument

__all__ = ["Maker", "Strategies", "Strategy", "score", "strategies"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Maker:
    """Makes an acquisition: `kind` with `options`, within `around`.

    `reference` says what its reference is when none is given: "queries", those that are scored; "places", the places in
    them; None for an acquisition that has none.
    """

    kind: Callable[..., Any]
    options: tuple[tuple[str, object], ...] = ()
    around: Callable[[Acquisition], Acquisition] | None = None
    reference: str | None = None

    def __call__(self, **options: Any) -> Any:
        try:
            inspect.signature(self.kind).bind(**{**dict(self.options), **options})
        except TypeError as problem:
            wanted = ", ".join(inspect.signature(self.kind).parameters) or "none"
            raise InvalidInput(
                "options", f"those of {self.kind.__name__} ({wanted})", problem, "see its docstring"
            ) from None
        made = self.kind(**{**dict(self.options), **options})
        return made if self.around is None else self.around(made)


@dataclass(frozen=True)
class Strategy:
    """A strategy: its name, where it was published, what it scores, when to use it, its goal, what it can ask with."""

    name: str
    source: str
    about: str
    when: str
    make: Maker
    instruments: str

    @property
    def scores(self) -> bool:
        """Whether it gives each query a score; a choice by chance does not."""
        return self.make.kind not in (Random, RandomType)


class Strategies(tuple[Strategy, ...]):
    """Strategies, printed as a table."""

    __slots__ = ()

    def __repr__(self) -> str:
        rows = [("name", "asks with", "source", "score"), *((s.name, s.instruments, s.source, s.about) for s in self)]
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        lines = ["  ".join([*(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=False)), row[3]]) for row in rows]
        return "\n".join([lines[0], "-" * max(len(line) for line in lines), *lines[1:]])


_ANY, _DISCRETE, _FEW, _TWO, _PLACE = (
    "any",
    "any but numbers and intervals",
    "yes/no, ranks, preferences",
    "yes/no, preferences",
    "any that sees a place",
)


def _plain(kind: Callable[..., Any], **options: object) -> Maker:
    return Maker(kind, tuple(options.items()))


def _about(reference: str, kind: Callable[..., Any]) -> Maker:
    return Maker(kind, reference=reference)


_ALL = Strategies((
    Strategy("bald", "Houlsby et al. 2011", "I(answer; f), bits",
             "the default; one instrument, or several at equal cost", _plain(Learn), _ANY),
    Strategy("bald-per-cost", "Fletcher 2022, 6", "I(answer; f)/cost", "several instruments at different costs",
             Maker(Learn, around=PerCost), _ANY),
    Strategy("bald-normalised", "Fletcher 2022, 5", "I(answer; f)/log2 levels",
             "to compare with the published one; favours coarse instruments",
             Maker(Learn, around=Normalised), _ANY),
    Strategy("bald-closed-form", "Houlsby et al. 2011, 3", "h(Φ(m/√(v + 1))) − C exp(−m²/2(v + C²))/√(v + C²)",
             "to compare with the published one; bald is exact and as fast", _plain(BALDClosedForm),
             "yes/no"),
    Strategy("bald-nuisance", "Houlsby et al. 2011, 3.1", "I(answer; f), hyperparameters averaged",
             "hyperparameters are uncertain and only f matters", _plain(Learn, about="function"), _ANY),
    Strategy("bald-hyperparameters", "Houlsby et al. 2011, 3.1", "I(answer; hyperparameters)",
             "early on, to learn the kernel; never for long", _plain(Learn, about="hyperparameters"), _ANY),
    Strategy("bald-region", "Houlsby et al. 2011, for a region", "mean_r I(answer; f_r), bits",
             "f matters at known places, or outlying candidates do not",
             _about("places", learn_region), "any that sees a place or a pair"),
    Strategy("predictions", "Lin 2022, 3.3 (IG-P)", "Σ w_s mean_r I(answer; f_r | s), bits",
             "to compare, where several models are believed; bald-region also learns which is right",
             _about("places", Predictions), "any that sees a place or a pair"),
    Strategy("epig", "Bickford Smith et al. 2023", "mean_r I(answer; answer_r), bits",
             "answers at known places are to be predicted", _about("queries", EPIG),
             "numbers, yes/no, ranks, preferences"),
    Strategy("least-confidence", "Lewis & Gale 1994", "1 − max p",
             "a quick baseline where answers are nearly free of noise",
             _plain(LeastConfidence), _DISCRETE),
    Strategy("margin", "Scheffer et al. 2001", "1 − (p₁ − p₂), the two likeliest answers", "the same, with ranks",
             _plain(Margin), _DISCRETE),
    Strategy("entropy", "Sebastiani & Wynn 2000 (MES)", "H[answer]", "numbers with constant noise, where it is bald",
             _plain(Entropy), _ANY),
    Strategy("qbc-vote-2", "Seung et al. 1992", "vote entropy of 2 sampled functions", "to compare; very noisy",
             _plain(QueryByCommittee, size=2, measure="vote"), _DISCRETE),
    Strategy("qbc-vote-100", "Seung et al. 1992", "vote entropy of 100 sampled functions",
             "to compare; blind to noise, like entropy", _plain(QueryByCommittee, size=100, measure="vote"),
             _DISCRETE),
    Strategy("qbc-kl-100", "McCallum & Nigam 1998", "mean KL of 100 sampled functions from their mean",
             "to compare; bald by sampling",
             _plain(QueryByCommittee, size=100, measure="kl"), _DISCRETE),
    Strategy("ivm", "Lawrence et al. 2003", "entropy of f(data) before − after an ADF step",
             "to compare; bald without the ADF step is better", _plain(IVM), "any but intervals"),
    Strategy("active-svm", "Tong & Koller 2001", "1/(1 + distance to an SVM’s boundary)",
             "to compare; classes without noise", _plain(ActiveSVM), "yes/no"),
    Strategy("kapoor", "Kapoor et al. 2007", "drop in risk − price · cost",
             "wrong answers have costs, and so have labels", _about("queries", Kapoor), _TWO),
    Strategy("zhu", "Zhu et al. 2003", "Σ_r (1 − max p_r) now − expected after",
             "the places to be classified are known", _about("queries", Zhu), _FEW),
    Strategy("expected-error", "Roy & McCallum 2001", "−E mean_r (1 − max p_r) after",
             "as zhu, for test places that are not asked", _about("queries", ExpectedError), _FEW),
    Strategy("empirical-error", "Houlsby et al. 2011, 5", "−E error on measured answers", "never: to show what it does",
             _plain(EmpiricalError), _FEW),
    Strategy("expected-error-reduction", "Roy & McCallum 2001", "mean_r Var[f_r] now − expected after",
             "numbers are wanted at known places", _about("places", ExpectedErrorReduction), _ANY),
    Strategy("expected-model-change", "Settles & Craven 2008", "E rms_r |change of E[f_r]|",
             "to compare; alc squares the change",
             _about("places", ExpectedModelChange), _ANY),
    Strategy("alm", "MacKay 1992", "Var[g]", "one instrument, cheapest of all; likes edges", _plain(ALM), _ANY),
    Strategy("alc", "Cohn 1996", "mean_r Var[f_r] now − expected after", "numbers are wanted at known places",
             _about("places", IntegratedVariance), _ANY),
    Strategy("a-optimal", "Fedorov 1972", "tr Σ now − expected after", "as alc, in total",
             _about("places", AOptimal), _ANY),
    Strategy("d-optimal", "Fedorov 1972", "½ log2 det Σ now − expected after, bits", "information about known places",
             _about("places", DOptimal), _ANY),
    Strategy("e-optimal", "Fedorov 1972", "λ_max(Σ) now − expected after", "the worst direction matters; slow",
             _about("places", EOptimal), _ANY),
    Strategy("conformal", "Ho & Wechsler 2008", "−(p₁ − p₂), the two largest p-values",
             "to compare; needs measured answers", _plain(Conformal), _FEW),
    Strategy("probability-of-improvement", "Kushner 1964", "Φ((μ − f⁺)/σ)",
             "a target has to be passed, by however little", _plain(ProbabilityOfImprovement), _PLACE),
    Strategy("expected-improvement", "Mockus 1978", "E max(f − f⁺, 0)", "the optimum is wanted",
             _plain(ExpectedImprovement), _PLACE),
    Strategy("log-expected-improvement", "Ament et al. 2023", "log E max(f − f⁺, 0)",
             "the same, far from the incumbent too", _plain(LogExpectedImprovement), _PLACE),
    Strategy("upper-confidence-bound", "Srinivas et al. 2010", "μ + √β σ", "the optimum, with a say in how boldly",
             _plain(UpperConfidenceBound), _PLACE),
    Strategy("max-value-entropy", "Wang & Jegelka 2017", "I(answer; max f), bits",
             "the optimum’s value is wanted, also by coarse answers", _plain(MaxValueEntropy),
             "numbers, yes/no, ranks"),
    Strategy("best-place", "Hvarfner et al. 2022", "I(answer; where f is largest and how large), bits",
             "the optimum’s place is wanted, also by coarse answers", _plain(BestPlace), "numbers, yes/no, ranks"),
    Strategy("random", "Fletcher 2022, 6.1", "none: chance", "what any strategy has to beat",
             Maker(Random), _ANY),
    Strategy("random-type", "Fletcher 2022, 6.1", "none: a random instrument, at its best place",
             "the same, with sense",
             Maker(RandomType), _ANY),
))  # fmt: skip


def strategies() -> Strategies:
    """All strategies, in the order of docs/strategies.md; print it for a table.

    >>> [s.name for s in strategies()][:3]
    ['bald', 'bald-per-cost', 'bald-normalised']
    """
    return _ALL


def strategy(name: str) -> Strategy:
    """The strategy of that name."""
    found = [each for each in _ALL if isinstance(name, str) and each.name == name]
    if not found:
        raise InvalidInput("name", f"one of {', '.join(s.name for s in _ALL)}", name, "print strategies() for a table")
    return found[0]


def score(
    name: str,
    belief: Any,
    instrument: Instrument,
    places: ArrayLike,
    *,
    pending: Sequence[Query] = (),
    **options: Any,
) -> Array:
    """The scores of queries by the strategy of that name, (M,), larger being better.

    With `pending` queries, beyond what they will tell: exactly where the strategy has such a form, otherwise under a
    belief that counts on their answers. `options` are the acquisition's: reference, loss, beta and so on. A strategy
    that predicts somewhere does so at `reference`; without one, at the queries that are scored, the pool: then a score
    depends on the pool as well.

    >>> import gainful as gf
    >>> prior = gf.GP(gf.SE(variance=3.0)).condition(gf.Data())
    >>> score("bald", prior, gf.Point(noise=1.0), [[0.0]]).tolist()
    [1.0]
    >>> score("alc", prior, gf.Point(noise=1.0), [[0.0], [9.0]], reference=[[0.0]]).round(4).tolist()
    [2.25, 0.0]
    """
    chosen = strategy(name)
    queries, waiting = queries_of(belief, instrument, places), checked("pending", pending)
    if not chosen.scores:
        raise InvalidInput(
            "name", "a strategy that scores queries", f"{name!r}, which chooses by chance",
            f"give a campaign or choose() the goal {chosen.make.kind.__name__}()",
        )  # fmt: skip
    kind = chosen.make.reference
    if kind is not None and "reference" not in options:
        if not len(queries):
            return np.zeros(0)
        options["reference"] = _pool(kind, queries, instrument, options.get("predict"))
    acquisition = chosen.make(**options)
    found = score_beyond(acquisition, belief, instrument, places, waiting)
    if found is not None:
        return found
    after = fantasies(belief, waiting)
    return averaged_over(acquisition, [acquisition.score(f, instrument, places) for f in after])


def _pool(kind: str, queries: Array, instrument: Instrument, predict: Instrument | None) -> Array:
    """The queries that are scored, or the distinct places in them, as a reference."""
    if kind == "queries" and (predict is None or getattr(predict, "query", None) == instrument.query):
        return queries
    return np.unique(queries.reshape(-1, queries.shape[-1]), axis=0)
