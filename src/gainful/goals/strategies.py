"""Every published strategy by name: where it comes from, what it computes, when to use it, and its score.

    score("zhu", posterior, gf.Binary(), pool)

`strategies()` lists them, and prints as a table. A strategy is only imported when it is used.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.data import Query, as_queries
from gainful.errors import InvalidInput
from gainful.goals.goal import Goal
from gainful.instruments import Instrument

__all__ = ["Maker", "Strategies", "Strategy", "score", "strategies"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Maker:
    """Makes a goal: the class at `path` with `options`, within the class `around`.

    `reference` says what the goal's reference is when none is given: "queries", those that are scored; "places", the
    places in them; None for a goal that has none.
    """

    path: str
    options: tuple[tuple[str, object], ...] = ()
    around: str | None = None
    reference: str | None = None

    def __call__(self, **options: Any) -> Goal:
        kind = _imported(self.path)
        try:
            inspect.signature(kind).bind(**{**dict(self.options), **options})
        except TypeError as problem:
            wanted = ", ".join(inspect.signature(kind).parameters) or "none"
            raise InvalidInput(
                "options", f"those of {kind.__name__} ({wanted})", problem, "see its docstring"
            ) from None
        goal = kind(**{**dict(self.options), **options})
        return cast(Goal, goal if self.around is None else _imported(self.around)(goal))


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
        return self.make.path.startswith("gainful.goals.")


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


def _goal(path: str, **options: object) -> Maker:
    return Maker(f"gainful.goals.{path}", tuple(options.items()))


def _about(kind: str, path: str, **options: object) -> Maker:
    return Maker(f"gainful.goals.{path}", tuple(options.items()), reference=kind)


_ALL = Strategies((
    Strategy("bald", "Houlsby et al. 2011", "I(answer; f), bits",
             "the default; one instrument, or several at equal cost", _goal("goal:Learn"), _ANY),
    Strategy("bald-per-cost", "Fletcher 2022, 6", "I(answer; f)/cost", "several instruments at different costs",
             Maker("gainful.goals.goal:Learn", around="gainful.goals.goal:PerCost"), _ANY),
    Strategy("bald-normalised", "Fletcher 2022, 5", "I(answer; f)/log2 levels",
             "to compare with the published one; favours coarse instruments",
             Maker("gainful.goals.goal:Learn", around="gainful.goals.goal:Normalised"), _ANY),
    Strategy("bald-closed-form", "Houlsby et al. 2011, 3", "h(Φ(m/√(v + 1))) − C exp(−m²/2(v + C²))/√(v + C²)",
             "to compare with the published one; bald is exact and as fast", _goal("closed_form:BALDClosedForm"),
             "yes/no"),
    Strategy("bald-nuisance", "Houlsby et al. 2011, 3.1", "I(answer; f), hyperparameters averaged",
             "hyperparameters are uncertain and only f matters", _goal("goal:Learn", about="function"), _ANY),
    Strategy("bald-hyperparameters", "Houlsby et al. 2011, 3.1", "I(answer; hyperparameters)",
             "early on, to learn the kernel; never for long", _goal("goal:Learn", about="hyperparameters"), _ANY),
    Strategy("bald-region", "Houlsby et al. 2011, for a region", "mean_r I(answer; f_r), bits",
             "f matters at known places, or outlying candidates do not",
             _about("places", "goal:learn_region"), "any that sees a place or a pair"),
    Strategy("epig", "Bickford Smith et al. 2023", "mean_r I(answer; answer_r), bits",
             "answers at known places are to be predicted", _about("queries", "region:EPIG"),
             "numbers, yes/no, ranks, preferences"),
    Strategy("least-confidence", "Lewis & Gale 1994", "1 − max p",
             "a quick baseline where answers are nearly free of noise",
             _goal("uncertainty:LeastConfidence"), _DISCRETE),
    Strategy("margin", "Scheffer et al. 2001", "1 − (p₁ − p₂), the two likeliest answers", "the same, with ranks",
             _goal("uncertainty:Margin"), _DISCRETE),
    Strategy("entropy", "Sebastiani & Wynn 2000 (MES)", "H[answer]", "numbers with constant noise, where it is bald",
             _goal("uncertainty:Entropy"), _ANY),
    Strategy("qbc-vote-2", "Seung et al. 1992", "vote entropy of 2 sampled functions", "to compare; very noisy",
             _goal("committee:QueryByCommittee", size=2, measure="vote"), _DISCRETE),
    Strategy("qbc-vote-100", "Seung et al. 1992", "vote entropy of 100 sampled functions",
             "to compare; blind to noise, like entropy", _goal("committee:QueryByCommittee", size=100, measure="vote"),
             _DISCRETE),
    Strategy("qbc-kl-100", "McCallum & Nigam 1998", "mean KL of 100 sampled functions from their mean",
             "to compare; bald by sampling",
             _goal("committee:QueryByCommittee", size=100, measure="kl"), _DISCRETE),
    Strategy("ivm", "Lawrence et al. 2003", "entropy of f(data) before − after an ADF step",
             "to compare; bald without the ADF step is better", _goal("ivm:IVM"), "any but intervals"),
    Strategy("active-svm", "Tong & Koller 2001", "1/(1 + distance to an SVM’s boundary)",
             "to compare; classes without noise", _goal("svm:ActiveSVM"), "yes/no"),
    Strategy("kapoor", "Kapoor et al. 2007", "drop in risk − price · cost",
             "wrong answers have costs, and so have labels", _about("queries", "decision:Kapoor"), _TWO),
    Strategy("zhu", "Zhu et al. 2003", "Σ_r (1 − max p_r) now − expected after",
             "the places to be classified are known", _about("queries", "decision:Zhu"), _FEW),
    Strategy("expected-error", "Roy & McCallum 2001", "−E mean_r (1 − max p_r) after",
             "as zhu, for test places that are not asked", _about("queries", "decision:ExpectedError"), _FEW),
    Strategy("empirical-error", "Houlsby et al. 2011, 5", "−E error on measured answers", "never: to show what it does",
             _goal("decision:EmpiricalError"), _FEW),
    Strategy("expected-error-reduction", "Roy & McCallum 2001", "mean_r Var[f_r] now − expected after",
             "numbers are wanted at known places", _about("places", "decision:ExpectedErrorReduction"), _ANY),
    Strategy("expected-model-change", "Settles & Craven 2008", "E rms_r |change of E[f_r]|",
             "to compare; alc squares the change",
             _about("places", "decision:ExpectedModelChange"), _ANY),
    Strategy("alm", "MacKay 1992", "Var[g]", "one instrument, cheapest of all; likes edges", _goal("design:ALM"), _ANY),
    Strategy("alc", "Cohn 1996", "mean_r Var[f_r] now − expected after", "numbers are wanted at known places",
             _about("places", "design:IntegratedVariance"), _ANY),
    Strategy("a-optimal", "Fedorov 1972", "tr Σ now − expected after", "as alc, in total",
             _about("places", "design:AOptimal"), _ANY),
    Strategy("d-optimal", "Fedorov 1972", "½ log2 det Σ now − expected after, bits", "information about known places",
             _about("places", "design:DOptimal"), _ANY),
    Strategy("e-optimal", "Fedorov 1972", "λ_max(Σ) now − expected after", "the worst direction matters; slow",
             _about("places", "design:EOptimal"), _ANY),
    Strategy("conformal", "Ho & Wechsler 2008", "−(p₁ − p₂), the two largest p-values",
             "to compare; needs measured answers", _goal("conformal:Conformal"), _FEW),
    Strategy("probability-of-improvement", "Kushner 1964", "Φ((μ − f⁺)/σ)",
             "a target has to be passed, by however little", _goal("optimum:ProbabilityOfImprovement"), _PLACE),
    Strategy("expected-improvement", "Mockus 1978", "E max(f − f⁺, 0)", "the optimum is wanted",
             _goal("optimum:ExpectedImprovement"), _PLACE),
    Strategy("log-expected-improvement", "Ament et al. 2023", "log E max(f − f⁺, 0)",
             "the same, far from the incumbent too", _goal("optimum:LogExpectedImprovement"), _PLACE),
    Strategy("upper-confidence-bound", "Srinivas et al. 2010", "μ + √β σ", "the optimum, with a say in how boldly",
             _goal("optimum:UpperConfidenceBound"), _PLACE),
    Strategy("random", "Fletcher 2022, 6.1", "none: chance", "what any strategy has to beat",
             Maker("gainful.selection.baselines:Random"), _ANY),
    Strategy("random-type", "Fletcher 2022, 6.1", "none: a random instrument, at its best place",
             "the same, with sense",
             Maker("gainful.selection.baselines:RandomType"), _ANY),
))  # fmt: skip


def strategies() -> Strategies:
    """All strategies, in the order of docs/strategies.md; print it for a table.

    >>> [s.name for s in strategies()][:3]
    ['bald', 'bald-per-cost', 'bald-normalised']
    """
    return _ALL


def strategy(name: str) -> Strategy:
    """The strategy of that name."""
    for each in _ALL:
        if each.name == name:
            return each
    raise InvalidInput("name", f"one of {', '.join(s.name for s in _ALL)}", name, "print strategies() for a table")


def score(
    name: str,
    belief: Any,
    instrument: Instrument,
    places: ArrayLike,
    *,
    given: Sequence[Query] = (),
    **options: Any,
) -> Array:
    """The scores of queries by the strategy of that name, (M,), larger being better.

    `options` are its goal's: reference, loss, beta and so on. A strategy that predicts somewhere does so at
    `reference`; without one, at the queries that are scored, the pool: then a score depends on the pool as well.

    >>> import gainful as gf
    >>> prior = gf.GP(gf.SE(variance=3.0)).condition(gf.Data())
    >>> score("bald", prior, gf.Point(noise=1.0), [[0.0]]).tolist()
    [1.0]
    >>> score("alc", prior, gf.Point(noise=1.0), [[0.0], [9.0]], reference=[[0.0]]).round(4).tolist()
    [2.25, 0.0]
    """
    chosen = strategy(name)
    if not chosen.scores:
        raise InvalidInput(
            "name", "a strategy that scores queries", f"{name!r}, which chooses by chance",
            f"give a campaign or choose() the goal {chosen.make.path.rpartition(':')[2]}()",
        )  # fmt: skip
    kind = chosen.make.reference
    if kind is not None and "reference" not in options:
        if not len(as_queries(instrument, places)[0]):
            return np.zeros(0)
        options["reference"] = _pool(kind, instrument, places, options.get("predict"))
    return chosen.make(**options).score(belief, instrument, places, given)


def _pool(kind: str, instrument: Instrument, places: ArrayLike, predict: Instrument | None) -> Array:
    """The queries that are scored, or the distinct places in them, as a reference."""
    queries, _ = as_queries(instrument, places)
    if kind == "queries" and (predict is None or predict.query == instrument.query):
        return queries
    return np.unique(queries.reshape(-1, queries.shape[-1]), axis=0)


def _imported(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)
