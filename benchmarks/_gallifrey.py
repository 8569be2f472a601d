"""Fits one time series with gallifrey and judges what it says about the values held out. Run by `programs_series.py`
with the Python of an environment that has gallifrey, and without gainful; reads JSON from standard input, prints one
line of JSON.

    _gallifrey.py < series.json    x, y, ahead, held; seconds, most, particles, seed

Settings are gallifrey's own (GPConfig: linear, periodic and squared exponential, sums and products, depth 3, noise
learned, 64 bits) and those of its quickstart: 8 particles, a tenth more of the data in each of 10 rounds, and 75 moves
of the structure a round, with 10 of Hamiltonian Monte Carlo after each that is accepted.

The rounds are those of `gallifrey.inference.smc.smc_round`, taken apart so that time can be kept: a round ends after 75
moves, or sooner where all rounds would not be through after `most` seconds. Each has a share of what is left, larger
where there is more data. The last goes on with the same moves until `seconds` are over, those in which JAX
compiles not counted (each round has to: its shapes are new); of `most` they are part. Seconds are the processor's, as
gainful's are: what else the machine does is not counted.
"""

import json
import os
import re
import sys
import time
from copy import deepcopy
from functools import partial
from importlib.metadata import version

_GIVEN = json.load(sys.stdin) if __name__ == "__main__" else {"particles": 8}
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={_GIVEN['particles']}"  # pmap: a device a particle
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))  # as gallifrey asks for

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import jax.random as jr  # noqa: E402
import numpy as np  # noqa: E402
from blackjax.smc.resampling import stratified  # noqa: E402
from gallifrey import GPConfig, GPModel, LinearSchedule  # noqa: E402
from gallifrey.data import Dataset  # noqa: E402
from gallifrey.inference.rejuvenation import rejuvenate_particle  # noqa: E402
from gallifrey.inference.smc import (  # noqa: E402
    calculate_effective_sample_size,
    calculate_mll_wrapper,
    resample_particles,
    reweight_particles,
)
from gallifrey.inference.state import GPState  # noqa: E402
from scipy.special import logsumexp  # noqa: E402
from scipy.stats import norm  # noqa: E402

ROUNDS, MOVES, HMC, ENOUGH = 10, 75, 10, 0.5
AT_ONCE = ((200, 3), (10**9, 1))  # up to so much data: moves between two looks at the clock
SPARE = 20.0  # seconds kept for predictions
PACKAGES = ("gallifrey", "jax", "jaxlib", "flax", "blackjax", "tensorflow-probability", "numpy", "scipy")


class Clock:
    """Seconds of the processor, and those of them in which JAX traced and compiled."""

    def __init__(self) -> None:
        self._spans: list[tuple[float, float]] = []
        jax.monitoring.register_event_duration_secs_listener(self._heard)

    def _heard(self, event: str, seconds: float, **_: object) -> None:
        """A span that ends now. Those within it were heard before, and count once."""
        if event.startswith("/jax/core/compile/"):
            end = self.now
            begin = end - seconds
            while self._spans and self._spans[-1][0] >= begin:
                self._spans.pop()
            if self._spans:
                begin = max(begin, self._spans[-1][1])
            self._spans.append((begin, end))

    @property
    def now(self) -> float:
        return time.process_time()

    @property
    def compiling(self) -> float:
        return sum(end - begin for begin, end in self._spans)

    @property
    def without(self) -> float:
        return self.now - self.compiling


def fitted(given: dict, clock: Clock) -> tuple[GPModel, list[dict]]:
    """The model after all rounds, and how each round went."""
    model_key, key = jr.split(jr.PRNGKey(given["seed"]))
    x, y = jnp.array(given["x"]), jnp.array(given["y"])
    count = given["particles"]
    model = GPModel(model_key, x=x, y=y, num_particles=count, config=GPConfig())
    state = GPState(
        particle_states=model.state.particle_states, num_particles=count, num_data_points=0,
        mcmc_accepted=jnp.zeros(count, dtype=int), hmc_accepted=jnp.zeros(count, dtype=int),
        log_weights=jnp.full(count, -jnp.log(count)), marginal_log_likelihoods=jnp.zeros(count),
    )  # fmt: skip
    schedule, told, dearest = LinearSchedule().generate(len(x), ROUNDS), [], 0.0
    for i, upto in enumerate(schedule):
        key, this = jr.split(key)
        begun, compiled = clock.now, clock.compiling
        compiling = dearest * (len(schedule) - i)  # what this round and those to come will need for it
        share = _weight(upto) / sum(map(_weight, schedule[i:]))
        moving = max(given["most"] - SPARE - begun - compiling, 0.0) * share
        least = given["seconds"] if i == len(schedule) - 1 else 0.0
        state, moves = moved(this, model, state, upto, clock, moving, least)
        dearest = max(dearest, clock.compiling - compiled)
        accepted, hmc = int(state.mcmc_accepted.sum()), int(state.hmc_accepted.sum())
        told.append({
            "n": upto, "moves": moves, "resampled": bool(state.resampled), "accepted": accepted / (moves * count),
            "hmc_accepted": hmc / max(accepted * HMC, 1), "seconds": round(clock.now - begun, 1),
            "compiling": round(clock.compiling - compiled, 1),
        })  # fmt: skip
        print(told[-1], file=sys.stderr, flush=True)
    return model.update_state(state), told


def _weight(n: int) -> float:
    """What a move costs with n of the data, up to a factor: below a hundred there is little that is saved."""
    return (n + 100.0) ** 2


def moved(
    key: jax.Array, model: GPModel, state: GPState, upto: int, clock: Clock, moving: float, least: float
) -> tuple[GPState, int]:
    """One round, and its number of moves: weigh by the new data, resample where few particles count, and move.

    It ends after 75 moves, not before `least` seconds without compiling, or sooner when `moving` seconds of moves are
    over.
    """
    count, at_once = int(state.num_particles), next(moves for n, moves in AT_ONCE if upto <= n)
    data = Dataset(model.data.x[:upto], model.data.y[:upto])
    prior = deepcopy(model.kernel_prior)
    prior.num_datapoints = upto
    key, draw = jr.split(key)
    particles, log_weights = state.particle_states, reweight_particles(state, data, prior)
    few = bool(calculate_effective_sample_size(log_weights) / count < ENOUGH) and upto < model.data.n
    if few:
        particles, log_weights = resample_particles(draw, particles, log_weights, count, stratified)

    @partial(jax.pmap, in_axes=0)
    def step(key, particle):
        return rejuvenate_particle(
            key, particle, data, prior, model.noise_prior, n_mcmc=at_once, n_hmc=HMC, fix_noise=model.fix_noise,
            hmc_sampler_factory=model.hmc_sampler_factory,
        )  # fmt: skip

    done, accepted, hmc = 0, jnp.zeros(count, dtype=int), jnp.zeros(count, dtype=int)
    begun = clock.without
    while done == 0 or (clock.without - begun < moving and (done < MOVES or clock.without < least)):
        key, this = jr.split(key)
        particles, _, structures, parameters = jax.block_until_ready(step(jr.split(this, count), particles))
        done, accepted, hmc = done + at_once, accepted + np.array(structures), hmc + np.array(parameters)
    evidence = jax.jit(jax.vmap(lambda particle: calculate_mll_wrapper(particle, data, prior)))(particles)
    return GPState(
        particle_states=particles, num_particles=count, num_data_points=upto, mcmc_accepted=accepted,
        hmc_accepted=hmc, log_weights=log_weights, marginal_log_likelihoods=evidence, resampled=few,
    ), done  # fmt: skip


def judged(model: GPModel, given: dict) -> dict:
    """The mean log density of each value held out, noise included, and the error of the mean, in the units of y."""
    weights = np.array(model.state.log_weights)
    ahead = model.get_predictive_distributions(model.x_transform(jnp.array(given["ahead"])))
    unit = abs(float(model.y_transform.slope))
    held = np.array(model.y_transform(jnp.array(given["held"])))
    mean, sd = (np.array([getattr(each, name)() for each in ahead]) for name in ("mean", "stddev"))
    logs = logsumexp(norm.logpdf(held, mean, sd) + weights[:, None], axis=0) + np.log(unit)
    error = np.sqrt(np.mean((np.exp(weights) @ mean - held) ** 2)) / unit
    return {"log_density": float(np.mean(logs)), "error": float(error)}


def structure(kernel: object) -> str:
    """The tree without its numbers, an operator before its two parts: `+ Linear * Periodic RBF`."""
    return " ".join(re.findall(r"^[\s│├└─]*([A-Za-z0-9]+|[+*])", str(kernel), re.MULTILINE))


def main() -> None:
    clock = Clock()
    model, rounds = fitted(_GIVEN, clock)
    found = judged(model, _GIVEN)
    weights, particles = np.array(model.state.log_weights), model.get_particles()
    structures = [structure(each.kernel) for each in particles]
    found |= {
        "seconds": round(clock.now, 1), "without_compiling": round(clock.without, 1),
        "of_processor": round(time.process_time(), 1), "leading": structures[int(weights.argmax())],
        "structures": structures, "log_weights": weights.tolist(),
        "noises": [float(each.noise_variance.value) ** 0.5 / float(model.y_transform.slope) for each in particles],
        "rounds": rounds, "versions": {name: version(name) for name in PACKAGES},
    }  # fmt: skip
    print(json.dumps(found))


if __name__ == "__main__":
    main()
