"""Minimises one problem of `_optimum.py` with a rival at its defaults. Run by `optimise.py` with the Python of an
environment that has both rivals, and without gainful; prints one line of JSON.

    _rivals.py botorch branin 1000

With `ask` before the rival, the seconds of so many asks after a hundred readings instead, on two threads, for
`ask_defaults.py`: `_rivals.py ask optuna branin 5`.

BoTorch has no loop of its own. Here it is used as Ax does where nothing is stated: max(5, 2 D) first places,
SingleTaskGP, MixedSingleTaskGP where there are categories, qLogNoisyExpectedImprovement, up to ten combinations of
discrete values each by itself and more by alternation. 10 restarts from 512 raw samples are those of BoTorch's
tutorials; Ax takes twice as many, and twice the time. Coordinates from 0 to 1, in the logarithm where there is one;
what is absent is in the middle. It recommends the measured place with the best posterior mean; the best posterior mean
anywhere is kept beside it at the end.

Optuna's GPSampler: 10 first places, its default. All coordinates are always suggested, because those that are not in
every trial would be drawn at random. It recommends the best reading.
"""

import json
import os
import sys
import time
import warnings

_THREADS = 2 if sys.argv[1:2] == ["ask"] else 1
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(_THREADS)))

import torch  # noqa: E402
from _optimum import EVALUATIONS, LOOKS, PROBLEMS, Axis, Problem  # noqa: E402

warnings.simplefilter("ignore")
torch.set_num_threads(_THREADS)

_COMBINATIONS = 10  # of discrete values that are gone through one by one


def minimise_with_botorch(problem: Problem, seed: int) -> dict:
    torch.manual_seed(seed)
    answers, places, readings = problem.answers(seed), [], []
    out: dict = {"regret": [], "seconds": []}
    first = problem.first(seed, max(5, 2 * len(problem.axes)))
    for n in range(EVALUATIONS):
        begun = time.process_time()
        place = first[n] if n < len(first) else _suggestion(problem, _fitted(problem, places, readings), places)
        out["seconds"].append(time.process_time() - begun)
        places.append(place)
        readings.append(answers(place))
        if n + 1 in LOOKS:
            model = _fitted(problem, places, readings)
            mean = model.posterior(_coded(problem, places)).mean.squeeze(-1)
            out["regret"].append(problem.regret(places[int(mean.argmax())]))
    out["anywhere"] = problem.regret(_best_mean(problem, model))
    return out


def _unit(axis: Axis, value: float) -> float:
    """From 0 to 1, in the logarithm where there is one; of a category its number."""
    if axis.kind == "category":
        return value
    t = torch.tensor([value, axis.low, axis.high], dtype=torch.double)
    value, low, high = (t.log() if axis.log else t).tolist()
    return (value - low) / (high - low)


def _active(problem: Problem, place: list) -> list:
    return [axis.when is None or place[axis.when[0]] in axis.when[1] for axis in problem.axes]


def _coded(problem: Problem, places: list) -> torch.Tensor:
    rows = [
        [
            _unit(axis, v) if on else 0.5
            for axis, v, on in zip(problem.axes, place, _active(problem, place), strict=True)
        ]
        for place in places
    ]
    return torch.tensor(rows, dtype=torch.double)


def _decoded(problem: Problem, row: torch.Tensor) -> list:
    out = []
    for axis, code in zip(problem.axes, row.tolist(), strict=True):
        if axis.kind == "real":
            out.append(axis.from_unit(code))
        else:
            out.append(float(round(code if axis.kind == "category" else axis.low + code * (axis.high - axis.low))))
    return out


def _fitted(problem: Problem, places: list, readings: list):
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import MixedSingleTaskGP, SingleTaskGP
    from gpytorch.mlls import ExactMarginalLogLikelihood

    X, y = _coded(problem, places), -torch.tensor(readings, dtype=torch.double)[:, None]
    categories = [i for i, axis in enumerate(problem.axes) if axis.kind == "category"]
    model = MixedSingleTaskGP(X, y, cat_dims=categories) if categories else SingleTaskGP(X, y)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model


def _suggestion(problem: Problem, model, places: list) -> list:
    from botorch.acquisition.logei import qLogNoisyExpectedImprovement

    return _optimised(problem, qLogNoisyExpectedImprovement(model, X_baseline=_coded(problem, places)))


def _best_mean(problem: Problem, model) -> list:
    from botorch.acquisition.analytic import PosteriorMean

    return _optimised(problem, PosteriorMean(model))


def _optimised(problem: Problem, acquisition) -> list:
    """The best place by the acquisition, as Ax searches for it."""
    from itertools import product

    from botorch.optim import optimize_acqf, optimize_acqf_mixed
    from botorch.optim.optimize_mixed import optimize_acqf_mixed_alternating

    high = [float(axis.levels - 1) if axis.kind == "category" else 1.0 for axis in problem.axes]
    bounds = torch.tensor([[0.0] * len(high), high], dtype=torch.double)
    values = {
        i: [k / (axis.levels - 1) * high[i] for k in range(axis.levels)]
        for i, axis in enumerate(problem.axes)
        if axis.kind != "real"
    }
    how = {"acq_function": acquisition, "bounds": bounds, "q": 1, "num_restarts": 10, "raw_samples": 512}
    combinations = 1
    for each in values.values():
        combinations *= len(each)
    if not values:
        found, _ = optimize_acqf(**how)
    elif combinations <= _COMBINATIONS:
        fixed = [dict(zip(values, each, strict=True)) for each in product(*values.values())]
        found, _ = optimize_acqf_mixed(**how, fixed_features_list=fixed)
    else:
        kinds = {i: problem.axes[i].kind for i in values}
        found, _ = optimize_acqf_mixed_alternating(
            **how,
            discrete_dims={i: v for i, v in values.items() if kinds[i] == "integer"},
            cat_dims={i: v for i, v in values.items() if kinds[i] == "category"},
        )
    return _decoded(problem, found[0])


def minimise_with_optuna(problem: Problem, seed: int) -> dict:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.GPSampler(seed=seed))
    answers, out = problem.answers(seed), {"regret": [], "seconds": []}
    for place in problem.first(seed, 10):
        study.enqueue_trial({a.name: _suggested(a, v) for a, v in zip(problem.axes, place, strict=True)})
    places = []
    for n in range(EVALUATIONS):
        begun = time.process_time()
        trial = study.ask()
        place = [_asked(trial, axis) for axis in problem.axes]
        out["seconds"].append(time.process_time() - begun)
        places.append(place)
        study.tell(trial, answers(place))
        if n + 1 in LOOKS:
            out["regret"].append(problem.regret(places[study.best_trial.number]))
    return out


def _suggested(axis: Axis, value: float) -> float | int:
    return value if axis.kind == "real" else int(value)


def _asked(trial, axis: Axis) -> float:
    if axis.kind == "real":
        return trial.suggest_float(axis.name, axis.low, axis.high, log=axis.log)
    if axis.kind == "integer":
        return float(trial.suggest_int(axis.name, int(axis.low), int(axis.high)))
    return float(trial.suggest_categorical(axis.name, list(range(axis.levels))))


def ask_seconds(system: str, problem: Problem, count: int) -> list:
    """Seconds of each of so many asks after a hundred readings, all that a rival does between two of them included."""
    import numpy as np

    rng, seconds = np.random.default_rng(0), []
    places = [[axis.from_unit(u) for axis, u in zip(problem.axes, row, strict=True)] for row in _hundred(problem)]
    readings = [problem.function(place) + problem.noise * rng.standard_normal() for place in places]
    study = _told(problem, places, readings) if system == "optuna" else None
    for _ in range(count + 1):
        begun = time.perf_counter()
        if study is None:
            place = _suggestion(problem, _fitted(problem, places, readings), places)
        else:
            trial = study.ask()
            place = [_asked(trial, axis) for axis in problem.axes]
        reading = problem.function(place) + problem.noise * rng.standard_normal()
        if study is not None:
            study.tell(trial, reading)
        seconds.append(time.perf_counter() - begun)
        places.append(place)
        readings.append(reading)
    return seconds[1:]  # the first warms up


def _hundred(problem: Problem):
    from scipy.stats import qmc

    return qmc.Halton(len(problem.axes), seed=0).random(100)


def _told(problem: Problem, places: list, readings: list):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.GPSampler(seed=0))
    ranges = {a.name: optuna.distributions.FloatDistribution(a.low, a.high, log=a.log) for a in problem.axes}
    for place, reading in zip(places, readings, strict=True):
        values = dict(zip(ranges, place, strict=True))
        study.add_trial(optuna.trial.create_trial(params=values, distributions=ranges, value=reading))
    return study


if __name__ == "__main__":
    if sys.argv[1] == "ask":
        print(json.dumps(ask_seconds(sys.argv[2], PROBLEMS[sys.argv[3]], int(sys.argv[4]))))
    else:
        system, name, seed = sys.argv[1:]
        run = {"botorch": minimise_with_botorch, "optuna": minimise_with_optuna}[system]
        print(json.dumps(run(PROBLEMS[name], int(seed))))
