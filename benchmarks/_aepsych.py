"""AEPsych on its own audiometric test functions. Run by `hearing_rivals.py` with the Python of an environment that has
AEPsych, and without gainful. Each line of JSON on standard input is a task; one line of JSON answers it.

    {"truth": "Metabolic 2", "frequencies": [...]}
        its thresholds at these frequencies, and its spread
    {"function": "Metabolic 2", "strategy": "level-set", "seed": 0, "chances": [...], "frequencies": [...],
     "levels": [low, high], "looks": [10, 25, 50]}
        a test of as many trials as there are chances: the thresholds at the looks, and the seconds of each trial

The test functions are read from `aepsych.benchmark.test_functions`: audiograms of Dubno et al. 2013 as in Song et al.
2017. They take log2 of kHz and dB, and say yes with probability Φ((level − t(f))/β): no guesses and no lapses, and β is
the spread in dB. `truth` checks this form at places all over before it says t(f). Frequencies here are in Hz.

AEPsych is as its documentation and its paper on these functions (Owen et al. 2021) have it:

- GPClassificationModel with its default kernel, RBF, the recommended model; with it the paper has the lowest error of
  thresholds here, monotonicity adds little. Of the others, MonotonicProjectionGP cannot be used to choose points by
  gradients, the semi-parametric ones expect a slope that is stated, and MonotonicRejectionGP is no longer in AEPsych;
- 5 Sobol trials as in the paper (which found 20 no better), more until there was a yes and a no;
- the kernel is fitted anew in every trial, 10 restarts from 1000 samples, no limit of time;
- a fit whose line search fails (AEPsych's issue 439) is done again, up to five times, and only the last one is timed:
  AEPsych would go on with thresholds that are 30 dB off;
- "level-set" is MCLevelSetEstimation, which the paper has as best for thresholds; "look-ahead" is GlobalMI, and
  "volume" EAVC, the two global look-aheads that the documentation recommends. Options are their defaults;
- "… hurried" has the settings of AEPsych's example `single_lse_example.ini`, made for speed: 10 Sobol trials, a kernel
  fitted anew in every fifth trial, and 0.1 s for the optimiser.

The target is p = 0.5 and not the 0.75 of the paper, because this is what a threshold is for an audiogram and here. The
space is that of the audiogram, not the paper's 125 Hz to 16 kHz and −20 to 120 dB: a smaller one is easier. Levels and
frequencies are continuous. An estimated threshold is where the mean of the latent function, made monotonic over levels
by isotonic regression, passes 0; `interpolate_monotonic` of AEPsych finds the place.
"""

import json
import logging
import os
import sys
import time
import warnings
from importlib.metadata import version

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"))  # as the paper's benchmark has it
warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

import numpy as np  # noqa: E402
import torch  # noqa: E402
from aepsych.benchmark.test_functions import make_songetal_testfun  # noqa: E402
from aepsych.config import Config  # noqa: E402
from aepsych.strategy import SequentialStrategy  # noqa: E402
from aepsych.utils import interpolate_monotonic  # noqa: E402
from botorch.exceptions.warnings import OptimizationWarning  # noqa: E402
from scipy.optimize import isotonic_regression  # noqa: E402
from scipy.special import ndtr  # noqa: E402

PACKAGES = ("aepsych", "botorch", "gpytorch", "torch", "numpy", "scipy")
ACQUISITIONS = {"level-set": "MCLevelSetEstimation", "look-ahead": "GlobalMI", "volume": "EAVC"}
TARGET, STEP = 0.5, 0.25  # a probability; dB between the levels where the estimate is looked up
FITS = 5  # at most, to the same answers, while they end abnormally
SETTINGS = """
[common]
parnames = [frequency, level]
stimuli_per_trial = 1
outcome_types = [binary]
strategy_names = [init_strat, opt_strat]

[frequency]
par_type = continuous
lower_bound = {lowest}
upper_bound = {highest}

[level]
par_type = continuous
lower_bound = {softest}
upper_bound = {loudest}

[init_strat]
min_asks = {sobol}
generator = SobolGenerator

[SobolGenerator]
seed = {seed}

[opt_strat]
min_asks = {trials}
refit_every = {refit}
generator = OptimizeAcqfGenerator
model = GPClassificationModel

[OptimizeAcqfGenerator]
restarts = 10
samps = 1000
acqf = {acqf}
{limit}

[{acqf}]
target = {target}
{objective}
"""


def places(frequencies: list, levels: list) -> torch.Tensor:
    """Each pair of a frequency in Hz and a level in dB as the test functions take them, (N, 2)."""
    pairs = np.column_stack([np.log2(np.asarray(frequencies) / 1000.0), levels])
    return torch.tensor(pairs, dtype=torch.float64)


def function(name: str):
    """The test function of a name such as "Metabolic+Sensory 0.5": the phenotype and β."""
    phenotype, beta = name.rsplit(" ", 1)
    return make_songetal_testfun(phenotype, float(beta))


def truth(name: str, frequencies: list) -> dict:
    """Thresholds in dB and the spread, after a check that p = Φ((level − t(f))/spread) everywhere."""
    found, spread = function(name), float(name.rsplit(" ", 1)[1])
    thresholds = -spread * found(places(frequencies, [0.0] * len(frequencies))).numpy()
    for above in (-30.0, -2.0, -0.1, 0.0, 0.3, 4.0, 25.0):
        heard = found(places(frequencies, list(thresholds + above)), True).numpy()
        if not np.allclose(heard, ndtr(above / spread), atol=1e-6):
            raise ValueError(f"{name} is no normal distribution function of its spread at {above} dB above threshold")
    return {"thresholds": thresholds.tolist(), "spread": spread}


def strategy(given: dict) -> SequentialStrategy:
    """The sequence of Sobol trials and those by an acquisition function, from the settings above."""
    name, _, hurried = given["strategy"].partition(" ")
    low, high = (float(np.log2(edge / 1000.0)) for edge in (min(given["frequencies"]), max(given["frequencies"])))
    acqf = ACQUISITIONS[name]
    text = SETTINGS.format(
        lowest=low, highest=high, softest=given["levels"][0], loudest=given["levels"][1], seed=given["seed"],
        trials=len(given["chances"]), sobol=10 if hurried else 5, refit=5 if hurried else 1, acqf=acqf, target=TARGET,
        limit="max_gen_time = 0.1" if hurried else "",
        objective="objective = ProbitObjective" if acqf == "MCLevelSetEstimation" else "lookahead_type = levelset",
    )  # fmt: skip
    return SequentialStrategy.from_config(Config(config_str=text))


class Clock:
    """Seconds on the wall and of the processor since it was last looked at."""

    def __init__(self) -> None:
        self._last = time.perf_counter(), time.process_time()

    def lap(self) -> list[float]:
        now = time.perf_counter(), time.process_time()
        spent = [round(a - b, 5) for a, b in zip(now, self._last, strict=True)]
        self._last = now
        return spent


def fit(test: SequentialStrategy) -> tuple[list[float], int]:
    """Fit the model to all answers, if there is a model yet: what the next `gen` would begin with.

    Returns the seconds of the fit that counts, and how many before it ended abnormally.
    """
    if test._strat.finished and not test.finished:
        test._make_next_strat()
    if not test.can_fit:
        return [0.0, 0.0], 0
    for failures in range(FITS):
        clock = Clock()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if failures:
                test.fit()
            else:
                test.predict(test.x[:1])
        if not any(issubclass(each.category, OptimizationWarning) for each in caught):
            break
    return clock.lap(), failures


def estimated(test: SequentialStrategy, given: dict) -> list | None:
    """The threshold at each frequency in dB; None before there is a model."""
    if not test.can_fit:
        return None
    softest, loudest = given["levels"]
    levels, found = np.arange(softest, loudest + STEP / 2, STEP), []
    for frequency in given["frequencies"]:
        with torch.no_grad():
            mean, _ = test.predict(places([frequency] * len(levels), list(levels)))
        rising = isotonic_regression(mean.numpy()).x
        found.append(float(interpolate_monotonic(levels, rising, 0.0, softest, loudest)))
    return found


def tested(given: dict) -> dict:
    """A whole test: the thresholds at the looks, the tones, and seconds by the number of answers.

    `asks` are those to choose a point, `tells` those to take an answer and fit the model to it. AEPsych fits when a
    point is asked for; a model that is fitted already is not fitted again.
    """
    torch.manual_seed(given["seed"])
    found, test = function(given["function"]), strategy(given)
    thresholds, tones, asks, tells, failed = {}, [], [], [], 0
    for count, chance in enumerate(given["chances"], start=1):
        clock = Clock()
        point = test.gen()
        asks.append(clock.lap())
        heard = chance < float(found(point, True))
        octave, level = point[0].tolist()
        tones.append([round(1000.0 * 2.0**octave, 1), round(level, 2), heard])
        test.add_data(point, torch.tensor([float(heard)], dtype=torch.float64))
        spent, failures = fit(test)
        tells.append(spent)
        failed += failures
        if count in given["looks"]:
            thresholds[count] = estimated(test, given)
    return {
        "thresholds": thresholds, "asks": asks, "tells": tells, "tones": tones, "failed_fits": failed,
        "versions": {name: version(name) for name in PACKAGES},
    }  # fmt: skip


def main() -> None:
    torch.set_num_threads(1)
    for line in sys.stdin:
        given = json.loads(line)
        found = truth(given["truth"], given["frequencies"]) if "truth" in given else tested(given)
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
