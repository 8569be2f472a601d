"""Simulation-based calibration of whatever learns from answers (Talts et al. 2018).

    truth from the prior → answers → belief → draws from the belief → the rank of the truth among them

The ranks are uniform if the belief is the posterior, whatever is ranked and however the queries were chosen, also by
the belief itself. They are not if the prior, the answers' noise or the inference is another than what is simulated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from gainful.checks import as_rng, require, require_count
from gainful.inference.belief import Belief
from gainful.inference.posterior import Posterior
from gainful.instruments.base import Instrument
from gainful.numerics.ranks import Ranks, rank

__all__ = ["Calibration", "Drawn", "drawn", "sbc"]

World = TypeVar("World")
Some = TypeVar("Some")

_SURE = 0.001


@dataclass(frozen=True)
class Calibration:
    """The ranks of every quantity, and what they say."""

    ranks: Mapping[str, Ranks]

    @property
    def p_values(self) -> dict[str, float]:
        """Of each quantity, that its ranks are uniform."""
        return {name: each.p_value for name, each in self.ranks.items()}

    def departs(self, level: float = _SURE) -> list[str]:
        """The quantities whose ranks are not uniform. A right belief has some here `level` times their number of times,
        so a level of 0.05 would raise an alarm in one of twenty right cases for each quantity."""
        return [name for name, p in self.p_values.items() if p < level]

    def __str__(self) -> str:
        lines = []
        for name, each in self.ranks.items():
            low, high = each.band()
            outside = int(np.sum((each.counts < low) | (each.counts > high)))
            seen = f"{outside} of {each.bins} bins outside {low} … {high}"
            said = _SAID[each.shape if each.p_value < _SURE else "even"]
            lines.append(f"{name}: p = {each.p_value:.2g}, {len(each.values)} ranks, {seen}: {said}")
        return "\n".join(lines)

    def plot(self, path: str | Path | None = None) -> Any:
        """The histograms, each with its band of 99 %; into a file where a path is given."""
        from matplotlib.figure import Figure

        from gainful.plots import plot_ranks

        figure = Figure(figsize=(3.2 * len(self.ranks), 2.6), layout="constrained")
        for axes, (name, each) in zip(
            np.atleast_1d(figure.subplots(1, len(self.ranks))), self.ranks.items(), strict=True
        ):
            plot_ranks(axes, each, name)
        if path is not None:
            figure.savefig(path, dpi=150)
        return figure


_SAID = {
    "even": "nothing against the belief",
    "truths above": "the truth lies above what is believed too often",
    "truths below": "the truth lies below what is believed too often",
    "too sure": "the belief is too sure: the truth lies outside its draws too often",
    "not sure enough": "the belief is not sure enough: the truth lies amid its draws too often",
}


def sbc(
    simulate: Callable[[np.random.Generator], World],
    condition: Callable[[World, np.random.Generator], Any],
    sample: Callable[[Any, World, int, np.random.Generator], Sequence[Some]],
    truth: Callable[[World], Some],
    statistics: Mapping[str, Callable[[Some], Any]],
    repetitions: int = 200,
    draws: int = 19,
    rng: np.random.Generator | int = 0,
) -> Calibration:
    """Ranks of truths among draws, over so many worlds.

    simulate    a world from the prior: what is true, and what answers will be
    condition   the belief after the answers; it may choose the queries itself
    sample      so many draws from the belief, each of the kind of `truth(world)`
    statistics  by name, what is ranked: a number of a truth or a draw, or anything that can be sorted

    Every repetition has random numbers of its own, which follow from `rng`.

    >>> import gainful as gf
    >>> def coin(rng): return rng.normal(0.0, 1.0)
    >>> def belief(world, rng): return 0.5 * (world + rng.normal(0.0, 1.0)), np.sqrt(0.5)
    >>> def drawing(belief, world, size, rng): return rng.normal(*belief, size)
    >>> sbc(coin, belief, drawing, float, {"height": float}, 400).departs()
    []
    """
    require_count("repetitions", repetitions, 1, "200 or more")
    require_count("draws", draws, 1, "19 give twenty bins")
    require(
        isinstance(statistics, Mapping) and bool(statistics), "statistics", "functions by name", statistics, "a dict"
    )
    found: dict[str, list[int]] = {name: [] for name in statistics}
    for generator in as_rng(rng).spawn(repetitions):
        world = simulate(generator)
        belief = condition(world, generator)
        some = list(sample(belief, world, draws, generator))
        require(len(some) == draws, "sample", f"{draws} draws", len(some), "as many as it is asked for")
        for name, statistic in statistics.items():
            found[name].append(rank(statistic(truth(world)), [statistic(each) for each in some], generator))
    return Calibration({name: Ranks(tuple(each), draws) for name, each in found.items()})


class Drawn(NamedTuple):
    """A draw from a belief: its part, with that part's instruments, program (None without one) and model's number, and
    the function's values at the places that were asked for."""

    part: int
    model: int
    posterior: Posterior
    instruments: Mapping[str, Instrument]
    program: Any
    values: tuple[float, ...]


def drawn(belief: Posterior | Belief, places: ArrayLike, size: int, rng: np.random.Generator | int) -> list[Drawn]:
    """So many draws from a belief of one posterior or several: a part by its weight, then the function by the part.

    >>> import gainful as gf
    >>> belief = gf.ProgramGrid(["(LIN 0.2)", "(SE 0.5)"]).condition(gf.Data())
    >>> [str(each.program) for each in drawn(belief, [[0.3]], 3, 0)]
    ['(SE 0.5)', '(LIN 0.2)', '(LIN 0.2)']
    """
    generator = as_rng(rng)
    if isinstance(belief, Posterior):
        return [Drawn(0, 0, belief, {}, None, tuple(f)) for f in belief.sample(places, size, generator).tolist()]
    chosen = generator.choice(len(belief.posteriors), size, p=belief.weights)
    programs = getattr(belief, "programs", None)
    out = []
    for s in chosen.tolist():
        values = belief.posteriors[s].sample(places, 1, generator)[0]
        program = None if programs is None else programs[s]
        out.append(
            Drawn(s, belief.models[s], belief.posteriors[s], belief.instruments[s], program, tuple(values.tolist()))
        )
    return out
