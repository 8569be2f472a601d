"""Soil moisture along a hedge, from four kinds of answers about the same unknown function.

A probe gives numbers, but its cable ends at 45 m. A gauge says between which two of its marks the needle is, or that it
is off the scale. A hand judges on a scale from 1 to 4. A gardener says whether the soil is wet enough. The moisture is
simulated, so that the belief can be held against the truth. How fast moisture varies, how noisy the instruments are and
where the hand draws its lines is not told: it is learned from the answers. Run it with `python examples/four_kinds.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from numpy.typing import NDArray

import gainful as gf
from gainful.plots import plot_posterior

Array = NDArray[np.float64]
Function = Callable[[Array], Array]

SEED = 7  # chosen for its picture; over seeds 0 to 29 the median RMSE falls from 1.59 to 0.46 and once it rises
SPACE = gf.Space(gf.Real("distance along the hedge", 0, 100, unit="m"))
GRID = np.linspace(0.0, 100.0, 401)[:, None]
GAUGE_MARKS = np.array([-np.inf, -2.5, -1.0, 0.5, 2.0, np.inf])


class World(NamedTuple):
    """How moisture varies, and what the instruments are like; it is in percent of volume above what the hedge needs."""

    gp: gf.GP
    probe: gf.Point
    gauge: gf.Interval
    hand: gf.Ordinal


TRUE = World(
    gf.GP(gf.SE(lengthscale=9.0, variance=5.0), space=SPACE),
    gf.Point(noise=0.3, name="probe"),
    gf.Interval(noise=0.2, name="gauge"),
    gf.Ordinal(thresholds=[-2.0, 0.3, 1.8], noise=0.4, name="by hand"),
)
ASSUMED = World(
    gf.GP(gf.SE(lengthscale=20.0, variance=1.0), space=SPACE),
    gf.Point(noise=0.5, name="probe"),
    gf.Interval(noise=0.5, name="gauge"),
    gf.Ordinal(thresholds=[-1.0, 0.0, 1.0], noise=0.5, name="by hand"),
)
GARDENER = gf.Binary(name="wet enough?")  # P(yes) = Φ(moisture): nothing to learn


def draw_truth(rng: np.random.Generator) -> Function:
    """One function from the true gp, as a function of places (M, 1)."""
    (values,) = TRUE.gp.condition(gf.Data()).sample(GRID, 1, rng)
    return lambda X: np.interp(X[:, 0], GRID[:, 0], values)


def measure(truth: Function, rng: np.random.Generator) -> tuple[gf.Data, gf.Data]:
    """The probe's answers, and those of all four: simulated by the true instruments, to be read by the assumed ones."""

    def places(n: int, low: float, high: float) -> Array:
        return np.sort(rng.uniform(low, high, (n, 1)), axis=0)

    X = places(9, 0, 45)
    numbers = gf.Data().add(ASSUMED.probe, X, TRUE.probe.simulate(truth(X), rng))
    X = places(12, 25, 100)
    above = np.searchsorted(GAUGE_MARKS, truth(X) + TRUE.gauge.noise * rng.standard_normal(len(X)))
    answers = numbers.add(ASSUMED.gauge, X, np.column_stack([GAUGE_MARKS[above - 1], GAUGE_MARKS[above]]))
    X = places(24, 25, 100)
    answers = answers.add(ASSUMED.hand, X, TRUE.hand.simulate(truth(X), rng))
    X = places(40, 0, 100)
    return numbers, answers.add(GARDENER, X, GARDENER.simulate(truth(X), rng))


def learn(data: gf.Data) -> gf.HyperPosterior:
    """The most probable hyperparameters, and how sure they are."""
    started = time.perf_counter()
    fitted = gf.fit(ASSUMED.gp, data)
    hyper = gf.hyperposterior(fitted)
    took = time.perf_counter() - started
    kinds = ", ".join(f"{sum(len(b) for b in data.batches if b.instrument == i)} {i.label!r}" for i in data.instruments)
    print(f"  {len(data)} answers ({kinds}): {'converged' if fitted.converged else 'did not converge'} in {took:.1f} s")
    return hyper


def parameters(world: World) -> dict[str, float]:
    """What is to be learned, in words."""
    kernel = world.gp.kernel
    assert isinstance(kernel, gf.SE)
    return {
        "lengthscale (m)": kernel.lengthscale,
        "standard deviation (%)": float(np.sqrt(kernel.variance)),
        "probe's noise (%)": world.probe.noise,
        "gauge's noise (%)": world.gauge.noise,
        "hand's noise (%)": world.hand.noise,
        **{f"hand's line {i}|{i + 1} (%)": line for i, line in enumerate(world.hand.thresholds, start=1)},
    }


def at(theta: Array) -> World:
    """The world behind one theta: that of the gp, followed by those of the instruments."""
    gp, probe, gauge, hand = np.split(theta, np.cumsum([part.size for part in ASSUMED])[:-1])
    return World(
        ASSUMED.gp.with_theta(gp),
        ASSUMED.probe.with_theta(probe),
        ASSUMED.gauge.with_theta(gauge),
        ASSUMED.hand.with_theta(hand),
    )


def print_learned(hyper: gf.HyperPosterior, rng: np.random.Generator) -> None:
    true, assumed, learned = parameters(TRUE), parameters(ASSUMED), parameters(at(hyper.theta))
    draws = [parameters(at(theta)) for theta in hyper.sample(1000, rng)]
    print(f"\n  {'':30}{'assumed':>12}{'learned':>9}  {'95 % range':16}{'true':>6}")
    for name in true:
        low, high = np.quantile([each[name] for each in draws], [0.025, 0.975])
        spread = f"{low:.2f} to {high:.2f}"
        print(f"  {name:30}{assumed[name]:12.2f}{learned[name]:9.2f}  {spread:16}{true[name]:6.2f}")


def errors(hyper: gf.HyperPosterior, truth: Function) -> tuple[float, float, float]:
    """Along the whole hedge: RMSE of the mean, share of the truth inside the 95 % band, mean width of that band.

    The belief is `mgp`, which also counts how uncertain the hyperparameters are.
    """
    off = truth(GRID) - hyper.mgp.mean(GRID)
    half = 1.96 * np.sqrt(hyper.mgp.variance(GRID))
    return float(np.sqrt(np.mean(off**2))), float(np.mean(np.abs(off) <= half)), float(np.mean(2.0 * half))


def print_errors(beliefs: dict[str, gf.HyperPosterior], truth: Function) -> None:
    print(f"\n  {'':30}{'RMSE (%)':>12}{'truth in the 95 % band':>25}{'its width (%)':>16}")
    for name, hyper in beliefs.items():
        rmse, inside, width = errors(hyper, truth)
        print(f"  {name:30}{rmse:12.2f}{100 * inside:23.0f} %{width:16.2f}")


def draw(beliefs: dict[str, gf.HyperPosterior], truth: Function) -> Figure:
    """One panel per belief, the same axes for all, one legend at the bottom."""
    figure = Figure(figsize=(9.0, 7.2), layout=ConstrainedLayoutEngine(h_pad=0.1))
    axes = figure.subplots(len(beliefs), 1, sharex=True, sharey=True)
    for ax, (name, hyper) in zip(axes, beliefs.items(), strict=True):
        last = ax is axes[-1]
        plot_posterior(hyper.mgp, SPACE, ax, truth=truth, ylabel="moisture above need\n(% of volume)", legend=last)
        ax.set_title(name, loc="left", fontweight="bold")
        ax.set_title(f"RMSE {errors(hyper, truth)[0]:.2f} % of volume", loc="right", fontsize="medium")
        ax.label_outer()
    return figure


def main(directory: Path) -> Path:
    """Run the demonstration; the path of its picture."""
    rng = np.random.default_rng(SEED)
    print("Simulating soil moisture along a hedge of 100 m, and the answers of four instruments.")
    truth = draw_truth(rng)
    numbers, answers = measure(truth, rng)
    print("Learning the hyperparameters: of the kernel, and of the instruments themselves.")
    beliefs = {
        f"The {len(numbers)} probe readings alone": learn(numbers),
        f"All {len(answers)} answers together": learn(answers),
    }
    print_learned(list(beliefs.values())[-1], rng)
    print_errors(beliefs, truth)
    print("\nDrawing.")
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "four_kinds.png"
    draw(beliefs, truth).savefig(path, dpi=100)
    print(f"  {path}")
    return path


if __name__ == "__main__":
    main(Path("out"))
