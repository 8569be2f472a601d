"""Compares strategies on a table of one's own: learning curves over random splits into a pool and test rows.

    experiment = comparison("crabs.csv", "sex", strategies=["bald", "entropy", "random"])
    summary = run(experiment, "out/crabs")

The comparison is an `Experiment` like the published ones, and is run like them: one repetition is one split, on which
all strategies meet. Which rows a split has depends on the table and the seed, not on what is compared.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from gainful.campaign import Campaign
from gainful.checks import listed, require_count
from gainful.data import Data
from gainful.errors import ConvergenceWarning, InvalidInput
from gainful.gp import GP
from gainful.hyper import fit
from gainful.inference import Posterior
from gainful.instruments import Binary, Classes, Instrument, Ordinal, Point
from gainful.kernels import SE
from gainful.lab.comparison_figures import draw_comparison
from gainful.lab.comparison_statistics import LEVEL, Measure, Standing, standings
from gainful.lab.csv_cells import shown
from gainful.lab.curves import learning_curve
from gainful.lab.dataset import Dataset, read_dataset, reread
from gainful.lab.experiment import Claim, Experiment, Row, Setting
from gainful.lab.strategies_by_name import ACTIVEML, acquisition_by_name, without_options
from gainful.means import ConstantMean, Zero
from gainful.priors import Fixed, LogNormal, Prior
from gainful.space import Pool

__all__ = ["HYPERPARAMETERS", "KINDS", "MEASURES", "WHOLE_POOL", "comparison", "outcome"]

Array = NDArray[np.float64]

HYPERPARAMETERS = ("learned", "pool")
KINDS = {"yes/no": "yes/no answers", "classes": "classes", "numbers": "numbers", "ranks": "ranks"}  # in a sentence
WHOLE_POOL = "whole pool"  # who learned from all of it, among the timings
MEASURES = {
    "yes/no": (Measure("accuracy", "accuracy"), Measure("log_loss", "log loss (nats)", lower=True)),
    "classes": (Measure("accuracy", "accuracy"), Measure("log_loss", "log loss (nats)", lower=True)),
    "numbers": (Measure("rmse", "RMSE", lower=True), Measure("log_density", "log density (nats)")),
    "ranks": (Measure("accuracy", "accuracy"), Measure("rank_error", "mean absolute rank error", lower=True)),
}
_USUAL = {
    "yes/no": ("bald", "entropy", "qbc-vote-100", "zhu", "random"),
    "numbers": ("bald", "alc", "random"),
    "ranks": ("bald", "entropy", "zhu", "random"),
    "classes": ("bald", "entropy", "random"),
}
_REFIT = 5  # answers between two fits of the hyperparameters
_NAME = "compare"  # in every seed: the same splits for every comparison


def comparison(
    table: str | Path,
    answer: str,
    *,
    strategies: Sequence[str] | None = None,
    inputs: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    yes: str | None = None,
    ranks: bool = False,
    numbers: bool = False,
    hyperparameters: str = "learned",
    answers: int | None = None,
    start: int = 5,
    pool: int = 200,
    test: int = 300,
    splits: int = 20,
) -> Experiment:
    """The comparison of strategies on a table (`read_dataset` has `inputs`, `drop`, `yes`, `ranks` and `numbers`).

    strategies        names, see `strategies_by_name`; by default a few that suit the answers. Differences are from
                      random if it is among them, otherwise from the first
    hyperparameters   "learned": anew after every 5 answers, from those alone, as a campaign of one's own would do it;
                      "pool": once, from all answers of the pool, so that only the choice of queries differs
    answers           queries of each strategy; by default 50, or half of a small pool
    start             random answers before the strategies take over, the same for all of them
    pool, test        rows of each, at most; a pool has at most half of all rows
    splits            repetitions

    The table is read at once, and every strategy is tried out: what cannot work is said before anything runs.
    """
    _require_strategies(strategies)
    data = read_dataset(table, answer, inputs=inputs, drop=drop, yes=yes, ranks=ranks, numbers=numbers)
    names = list(_USUAL[data.kind] if strategies is None else strategies)
    if len(names) < 2 or len(set(names)) < len(names):
        raise InvalidInput("strategies", "at least two different ones", names, "random is what any has to beat")
    if hyperparameters not in HYPERPARAMETERS:
        expected = f"one of {', '.join(HYPERPARAMETERS)}"
        raise InvalidInput("hyperparameters", expected, hyperparameters, "learned is what a campaign of your own does")
    learned = hyperparameters == "learned"
    splits = _whole("splits", splits, 2)
    common = {
        "sha256": data.sha256,
        "answer": data.answer,
        "kind": data.kind,
        "yes": data.yes,
        "inputs": list(data.inputs),
        "rows": len(data.X),
        "notes": [*data.notes, _baseline(data)],
        "strategies": names,
        "hyperparameters": hyperparameters,
        "refit": _REFIT if learned else None,
        **_sizes(len(data.X), answers, start, pool, test, 2 if learned and data.kind == "numbers" else 0),
    }
    for name in names:
        _try_out(name, data)
    if any(name.startswith(f"{ACTIVEML}:") for name in names):
        common["scikit-activeml"] = version("scikit-activeml")
    file = Path(data.path).name
    title = f"{shown(file)}: {shown(data.answer)}, {len(names)} strategies"
    return Experiment(
        name=_NAME,
        title=title,
        source=f"{file}, SHA-256 {data.sha256[:12]}…",
        published={},
        settings=lambda quick: [{"split": i} for i in range(min(4, splits) if quick else splits)],
        run=run_split,
        claims=partial(_claims, common=common),
        figures=lambda rows, folder: draw_comparison(outcome(rows, common), rows, title, folder),
        common=common,
        paths={"table": data.path},
    )


def _sizes(rows: int, answers: int | None, start: int, pool: int, test: int, least: int) -> dict[str, int]:
    """How many rows and answers each split has; `least` answers are needed at the start."""
    pool, test, start = _whole("pool", pool, 4), _whole("test", test, 2), _whole("start", start, 0)
    size = min(pool, rows // 2)
    if start < least:
        remedy = "the scale of the answers is guessed from them"
        raise InvalidInput("start", f"at least {least}, for numbers with learned hyperparameters", start, remedy)
    if start > size - 2:
        raise InvalidInput("start", f"at most {size - 2}, for a pool of {size}", start, "start with fewer")
    queries = _whole("answers", min(50, size // 2, size - start) if answers is None else answers, 1)
    if queries > size - start:
        expected = f"at most {size - start}: the pool has {size} rows, of which {start} are told at the start"
        raise InvalidInput("answers", expected, queries, "ask for fewer, or give a larger pool or table")
    return {"start": start, "answers": queries, "pool": size, "test": min(test, rows - size)}


def outcome(rows: list[Row], common: Mapping[str, Any]) -> list[Standing]:
    """How the strategies did, measure by measure."""
    names = common["strategies"]
    return standings(rows, MEASURES[common["kind"]], names, "random" if "random" in names else names[0])


def run_split(setting: Setting, seed: int) -> list[Row]:
    """One split: every strategy's curve on it, what the whole pool gives, and how long choosing took.

    Fits that did not converge are counted, among the timings.
    """
    data = reread(
        setting["table"],
        setting["sha256"],
        setting["answer"],
        setting["kind"],
        tuple(setting["inputs"]),
        setting["yes"],
    )
    order = np.random.default_rng(seed).permutation(len(data.X))
    pool, test = np.split(order[: setting["pool"] + setting["test"]], [setting["pool"]])
    learned = setting["hyperparameters"] == "learned"
    model = _model(data, data.answers[pool[: setting["start"]] if learned else pool])
    told = model.to_model(data.answers[pool])
    begun = time.perf_counter()
    with _unconverged() as missed:
        fitted = fit(model.gp, Data().add(model.instrument, data.X[pool], told), starts=2)
    timings: list[Row] = [_timing(WHOLE_POOL, 0, time.perf_counter() - begun, missed)]
    judged = partial(_judged, model=model, X=data.X[test], answers=data.answers[test])
    whole = {f"pool_{name}": value for name, value in judged(fitted.posterior, []).items()}
    (instrument,) = fitted.data.instruments
    gp, instrument = (model.gp, model.instrument) if learned else (fitted.gp, instrument)
    rows: list[Row] = []
    for name in setting["strategies"]:
        goal = acquisition_by_name(name, data.X[pool], seed)
        places = Pool(data.X[pool])
        campaign = Campaign(places, instrument, gp, goal, seed=seed, repeat=False, refit=setting["refit"])
        first = range(setting["start"])
        with _unconverged() as missed:
            curve, seconds = learning_curve(campaign, data.X[pool], told.tolist(), setting["answers"], judged, first)
        rows += [{"strategy": name, **row, **whole} for row in curve]
        timings.append(_timing(name, len(curve) - 1, seconds, missed))
    return rows + timings


def _timing(strategy: str, queries: int, seconds: float, missed: list[str]) -> Row:
    return {"strategy": strategy, "queries": queries, "seconds": round(seconds, 6), "unconverged": len(missed)}


@contextmanager
def _unconverged() -> Iterator[list[str]]:
    """The messages of fits that did not converge, instead of a warning for each; other warnings are given after."""
    missed = list[str]()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        yield missed
    for each in caught:
        if issubclass(each.category, ConvergenceWarning):
            missed.append(str(each.message))
        else:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)


@dataclass(frozen=True)
class _Model:
    """What is believed before the first answer; a number y of the table is (y − centre)/scale to the model."""

    kind: str
    gp: GP
    instrument: Instrument
    centre: float = 0.0
    scale: float = 1.0

    def to_model(self, answers: Array) -> Array:
        return np.asarray((answers - self.centre) / self.scale)


def _model(data: Dataset, known: Array) -> _Model:
    """For standardised inputs: one lengthscale near √D, the typical distance of two rows; `known` answers set the rest.

    Numbers are centred and scaled by the known ones; ranks are at first as frequent as among them.
    """
    root = float(np.sqrt(data.X.shape[1]))
    priors: dict[str, Prior] = {"SE.lengthscale": LogNormal(float(np.log(root)), 0.7)}
    if data.kind == "yes/no":
        gp = GP(SE(root, 8.0), Zero(), priors | {"SE.variance": LogNormal(2.0, 1.0)})
        return _Model(data.kind, gp, Binary(name="answer"))
    if data.kind == "classes":  # a function for each, all alike and independent
        size = data.X.shape[1]
        kernel = SE(root, 8.0).on(range(size)) * SE(0.05).on([size])
        fixed = {"SE.variance": LogNormal(2.0, 1.0), "SE2.lengthscale": Fixed(), "SE2.variance": Fixed()}
        return _Model(data.kind, GP(kernel, Zero(), priors | fixed), Classes(range(len(data.classes)), name="answer"))
    if data.kind == "ranks":
        noise, counts = 0.3, np.bincount(known.astype(int), minlength=len(data.ranks) + 1)[1:] + 1.0
        thresholds = np.sqrt(1.0 + noise**2) * ndtri(np.cumsum(counts)[:-1] / counts.sum())
        ordinal = Ordinal(thresholds.tolist(), noise, name="answer")
        return _Model(data.kind, GP(SE(root, 1.0), Zero(), priors | {"SE.variance": Fixed()}), ordinal)
    spread = float(np.std(known)) or 1.0
    gp = GP(SE(root, 1.0), ConstantMean(0.0), priors | {"SE.variance": LogNormal(0.0, 1.0)})
    return _Model(data.kind, gp, Point(noise=0.3, name="answer"), float(np.mean(known)), spread)


def _judged(posterior: Posterior, asked: list[int], *, model: _Model, X: Array, answers: Array) -> Row:
    """The measures of what is predicted for test rows, by the instrument as it is known by then."""
    instrument = posterior.data.instruments[0] if len(posterior.data) else model.instrument
    predicted: Any = posterior.answers(instrument, X)
    log_p = predicted.log_prob(model.to_model(answers))
    if model.kind == "numbers":
        error = model.centre + model.scale * predicted.mean - answers
        density = float(np.mean(log_p)) - float(np.log(model.scale))
        return {"rmse": float(np.sqrt(np.mean(error**2))), "log_density": density}
    values = np.array(predicted.values)
    right = float(np.mean(values[np.argmax(predicted.log_probabilities, axis=1)] == answers))
    if model.kind in ("yes/no", "classes"):
        return {"accuracy": right, "log_loss": -float(np.mean(log_p))}
    median = values[np.argmax(np.cumsum(predicted.probabilities, axis=1) >= 0.5, axis=1)]  # errs least
    return {"accuracy": right, "rank_error": float(np.mean(np.abs(median - answers)))}


def _claims(rows: list[Row], common: Mapping[str, Any]) -> list[Claim]:
    out = []
    for each in outcome(rows, common):
        if each.gain is None:
            continue
        sense = "lower" if each.measure.lower else "higher"
        statement = f"{each.strategy} has a {sense} {each.measure.words} than {each.reference}, over the whole curve"
        area = f"{each.area.value:.4g} ({each.area.low:.4g} to {each.area.high:.4g})"
        note = f"Mean over the curve: {area}. After the last answer: {each.last.value:.4g}."
        if each.needed is not None:
            note += f" {100 * LEVEL:g} % of what the whole pool gives: {each.needed_in_words}."
        gain, verdict = each.gain, each.verdict
        out.append(Claim(statement, None, gain.value, gain.low, gain.high, verdict == "better", note, verdict))
    return out


def _baseline(data: Dataset) -> str:
    """What a prediction that looks at no input would get: what the curves have to beat."""
    if data.kind == "numbers":
        centre, spread = float(np.mean(data.answers)), float(np.std(data.answers))
        return f"always saying the mean, {centre:.4g}, would have an RMSE of {spread:.4g}"
    values, counts = np.unique(data.answers, return_counts=True)
    commonest = int(values[np.argmax(counts)])
    words = {"yes/no": ("no", "yes"), "classes": data.classes}.get(data.kind)
    word = f"{data.ranks[commonest - 1]:g}" if words is None else words[commonest]
    return f"always saying {word} would be right for {100 * counts.max() / counts.sum():.1f} % of the rows"


def _try_out(name: str, data: Dataset) -> None:
    """Score a few places: a strategy that cannot ask for such answers, or with such options, says so now."""
    try:
        _score_a_few(name, data)
    except (AttributeError, TypeError, ValueError) as error:  # InvalidInput, or an option that nobody checked
        bare = without_options(name)
        if isinstance(error, InvalidInput) and error.argument == "strategies":
            raise
        if bare != name:
            _try_out(bare, data)  # is it to blame without them, too?
            raise InvalidInput("strategies", "options that the strategy takes", name, str(error)) from error
        if not isinstance(error, InvalidInput):
            raise
        expected = f"strategies that can ask for {KINDS[data.kind]}"
        raise InvalidInput("strategies", expected, name, str(error)) from error


def _score_a_few(name: str, data: Dataset) -> None:
    few = np.unique(np.concatenate([np.flatnonzero(data.answers == a)[:2] for a in np.unique(data.answers)[:3]]))
    places = data.X[np.setdiff1d(np.arange(min(len(data.X), 14)), few)]
    model = _model(data, data.answers[few])
    goal: Any = acquisition_by_name(name, places, 0)
    if hasattr(goal, "score"):
        told = Data().add(model.instrument, data.X[few], model.to_model(data.answers[few]))
        goal.score(model.gp.posterior(told), model.instrument, places)


def _require_strategies(strategies: object) -> None:
    if strategies is None:
        return
    if isinstance(strategies, str):
        remedy = f"give a list, [{strategies!r}, 'random']"
        raise InvalidInput("strategies", "a list of names", f"one string, {strategies!r}", remedy)
    names = listed(strategies)
    if names is None or not all(isinstance(name, str) for name in names):
        remedy = "print gf.strategies() for the names; options follow a colon, as in upper-confidence-bound:beta=9"
        raise InvalidInput("strategies", "a list of names", strategies, remedy)


def _whole(argument: str, value: object, least: int) -> int:
    return require_count(argument, value, least, "leave it out for the usual one")
