"""Rivals that minimise over the unit cube, and the BBOB functions. Run by `additive_rivals.py` with the Python of an
environment that has the rival, and without gainful. Each line of JSON on standard input is answered by one.

    {"system": "botorch", "dimensions": 10, "seed": 1000}
        begins a run; answers with the versions of its packages
    {"places": [[...], ...], "values": [...], "count": 1}
        tells these and asks for so many; answers with places and the seconds of the processor for both
    {"bbob": 7, "dimensions": 10}
        begins a function instead, instance 1; answers with its least value
    {"places": [[...], ...]}
        answers with the function's values there; the unit cube is its box [−5, 5]^D

The first tell has the first places. From then on each rival is as its authors have it where nothing is stated:

- "botorch": SingleTaskGP with its dimension-scaled prior, values standardised, noise learned, fitted anew for each ask;
  qLogNoisyExpectedImprovement for one place, as in `_rivals.py`; qLogExpectedImprovement for several, which are
  searched jointly, as in BoTorch's tutorials. 10 restarts from 512 raw samples.
- "optuna": GPSampler, which takes the first ten as its own.
- "cma": CMA-ES of the package cma with its own population, from the best of the first places, σ₀ a quarter of the
  range, with bounds. A generation is handed out one by one and told when it is whole.
- "saas": SaasFullyBayesianSingleTaskGP, NUTS with 256 warm-up steps and 128 samples of which every 16th stays, as in
  BoTorch's tutorial; qLogExpectedImprovement. NUTS runs anew at every tenth answer. In between its samples of the
  parameters stay, and so do the mean and the deviation by which values are standardised; all answers are data.
- "hebo": HEBO, told the first places, so that it draws none of its own.
"""

import json
import os
import sys
import time
import traceback
import warnings
from importlib import import_module
from importlib.metadata import version

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
warnings.simplefilter("ignore")

RESTARTS, RAW = 10, 512
WARM_UP, SAMPLES, THINNING = 256, 128, 16
REFIT = 10  # answers from one run of NUTS to the next


class Botorch:
    packages = ("botorch", "gpytorch", "torch")
    modules = ("botorch.acquisition.logei", "botorch.fit", "botorch.models", "botorch.optim")

    def __init__(self, dimensions: int, seed: int) -> None:
        import torch

        torch.manual_seed(seed)
        self.bounds = torch.tensor([[0.0] * dimensions, [1.0] * dimensions], dtype=torch.double)
        self.X, self.y = self.bounds[:0], self.bounds[:0, :1]

    def tell(self, places: list, values: list) -> None:
        """BoTorch maximises: y is −value."""
        import torch

        self.X = torch.cat([self.X, torch.tensor(places, dtype=torch.double)])
        self.y = torch.cat([self.y, -torch.tensor(values, dtype=torch.double)[:, None]])

    def ask(self, count: int) -> list:
        from botorch.acquisition.logei import qLogExpectedImprovement, qLogNoisyExpectedImprovement
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from gpytorch.mlls import ExactMarginalLogLikelihood

        model = SingleTaskGP(self.X, self.y)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        if count == 1:
            return self.optimised(qLogNoisyExpectedImprovement(model, X_baseline=self.X), 1)
        return self.optimised(qLogExpectedImprovement(model, best_f=self.y.max()), count)

    def optimised(self, acquisition, count: int) -> list:
        from botorch.optim import optimize_acqf

        found, _ = optimize_acqf(acquisition, self.bounds, q=count, num_restarts=RESTARTS, raw_samples=RAW)
        return found.tolist()


class Saas:
    packages = ("botorch", "gpytorch", "torch", "numpyro", "jax")
    modules = (*Botorch.modules, "botorch.models.fully_bayesian")

    def __init__(self, dimensions: int, seed: int) -> None:
        self.plain, self.seed = Botorch(dimensions, seed), seed
        self.tell = self.plain.tell
        self.fitted_to, self.standard, self.samples = 0, (0.0, 1.0), None

    def ask(self, count: int) -> list:
        from botorch.acquisition.logei import qLogExpectedImprovement
        from botorch.fit import fit_fully_bayesian_model_nuts
        from botorch.models.fully_bayesian import SaasFullyBayesianSingleTaskGP

        X, y = self.plain.X, self.plain.y
        anew = self.samples is None or len(y) >= self.fitted_to + REFIT
        if anew:
            self.standard = y.mean(), y.std()
        z = (y - self.standard[0]) / self.standard[1]
        model = SaasFullyBayesianSingleTaskGP(X, z)
        if anew:
            fit_fully_bayesian_model_nuts(
                model, warmup_steps=WARM_UP, num_samples=SAMPLES, thinning=THINNING, disable_progbar=True,
                seed=1000 * self.seed + len(y),
            )  # fmt: skip
            self.fitted_to, self.samples = len(y), model.state_dict()
        else:
            model.load_state_dict(self.samples)
            model.eval()
        return self.plain.optimised(qLogExpectedImprovement(model, best_f=z.max()), count)


class Optuna:
    packages = ("optuna", "torch")
    modules = ("optuna", "scipy.optimize", "torch")

    def __init__(self, dimensions: int, seed: int) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.study = optuna.create_study(sampler=optuna.samplers.GPSampler(seed=seed))
        self.ranges = {f"x{i}": optuna.distributions.FloatDistribution(0.0, 1.0) for i in range(dimensions)}
        self.asked: list = []

    def tell(self, places: list, values: list) -> None:
        from optuna.trial import create_trial

        for place, value in zip(places, values, strict=True):
            if self.asked:
                self.study.tell(self.asked.pop(0), value)
            else:
                params = dict(zip(self.ranges, place, strict=True))
                self.study.add_trial(create_trial(params=params, distributions=self.ranges, value=value))

    def ask(self, count: int) -> list:
        self.asked = [self.study.ask(self.ranges) for _ in range(count)]
        return [[trial.params[name] for name in self.ranges] for trial in self.asked]


class Cma:
    packages = ("cma",)
    modules = ("cma",)

    def __init__(self, dimensions: int, seed: int) -> None:
        self.options = {"bounds": [0.0, 1.0], "seed": seed + 1, "verbose": -9}  # its seed 0 is the clock's
        self.strategy = None
        self.generation: list = []
        self.values: list = []
        self.given = 0

    def tell(self, places: list, values: list) -> None:
        import cma

        if self.strategy is None:
            best = min(zip(values, places, strict=True))[1]
            self.strategy = cma.CMAEvolutionStrategy(best, 0.25, self.options)
        else:
            self.values += values
            if len(self.values) == len(self.generation):
                self.strategy.tell(self.generation, self.values)
                self.generation, self.values, self.given = [], [], 0

    def ask(self, count: int) -> list:
        """One, whatever the count: the next of the generation."""
        if not self.generation:
            self.generation = self.strategy.ask()
        self.given += 1
        return [self.generation[self.given - 1].tolist()]


class Hebo:
    packages = ("HEBO", "gpytorch", "torch", "pymoo", "numpy")
    modules = ("hebo.optimizers.hebo", "pandas")

    def __init__(self, dimensions: int, seed: int) -> None:
        import numpy as np
        import torch
        from hebo.design_space.design_space import DesignSpace
        from hebo.optimizers.hebo import HEBO

        np.random.seed(seed)  # noqa: NPY002  pymoo and HEBO draw from it
        torch.manual_seed(seed)
        self.names = [f"x{i}" for i in range(dimensions)]
        space = DesignSpace().parse([{"name": name, "type": "num", "lb": 0.0, "ub": 1.0} for name in self.names])
        self.optimiser = HEBO(space, rand_sample=2, scramble_seed=seed)

    def tell(self, places: list, values: list) -> None:
        import numpy as np
        import pandas as pd

        self.optimiser.observe(pd.DataFrame(places, columns=self.names), np.array(values)[:, None])

    def ask(self, count: int) -> list:
        return self.optimiser.suggest(count)[self.names].to_numpy().tolist()


SYSTEMS = {"botorch": Botorch, "optuna": Optuna, "cma": Cma, "saas": Saas, "hebo": Hebo}


def run(system: str, dimensions: int, seed: int):
    """A rival as a coroutine: tasks in, answers out."""
    for name in SYSTEMS[system].modules:  # before the seconds are counted
        import_module(name)
    rival = SYSTEMS[system](dimensions, seed)
    task = yield {"packages": {name: version(name) for name in rival.packages}}
    while True:
        begun = time.process_time()
        rival.tell(task["places"], task["values"])
        places = rival.ask(task["count"])
        task = yield {"places": places, "seconds": time.process_time() - begun}


def function(number: int, dimensions: int):
    """A BBOB function as a coroutine."""
    import ioh

    problem = ioh.get_problem(number, instance=1, dimension=dimensions, problem_class=ioh.ProblemClass.BBOB)
    task = yield {"least": float(problem.optimum.y)}
    while True:
        task = yield {"values": [float(problem([10.0 * u - 5.0 for u in place])) for place in task["places"]]}


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # some print when they are imported
    served = None
    for line in sys.stdin:
        task = json.loads(line)
        try:
            if served is None:
                several = task["dimensions"]
                served = (
                    function(task["bbob"], several) if "bbob" in task else run(task["system"], several, task["seed"])
                )
                answer = next(served)
            else:
                answer = served.send(task)
        except Exception:  # whatever it is, the parent writes it down
            answer = {"error": traceback.format_exc()[-800:]}
        answers.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
