"""The search: programs for a series, watched while they are followed, and what they leave to be asked next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

import gainful as gf
from gainful.beliefs.programs import ProgramBelief, Progress
from gainful.beliefs.programs.description import Description
from gainful.discovery.series import Series

__all__ = ["Discovery", "Next", "discover"]

Array = NDArray[np.float64]

_CANDIDATES = 60
_FEWEST_PLACES, _IN_A_CYCLE = 240, 10  # that are drawn


@dataclass(frozen=True, eq=False)
class Next:
    """Places where a reading could be made (M, D), the bits that it is expected to tell about the program, which of
    them are ahead, and the numbers of the best inside and ahead."""

    places: Array
    bits: Array
    ahead: NDArray[np.bool_]

    @property
    def best(self) -> list[int]:
        """The best place among those inside, and among those ahead, where there are any."""
        some = [np.flatnonzero(~self.ahead), np.flatnonzero(self.ahead)]
        return [int(rows[np.argmax(self.bits[rows])]) for rows in some if len(rows)]


@dataclass(frozen=True, eq=False)
class Discovery:
    """What was found in a series: the belief, how far the search had come, and the places that forecasts are for."""

    series: Series
    belief: ProgramBelief
    done: float
    ahead: float
    particles: int
    seed: int
    changes: bool = False

    @cached_property
    def description(self) -> Description:
        return self.belief.describe(self.series.axes)

    @property
    def instrument(self) -> gf.Instrument:
        return self.belief.data.instruments[0]

    def places(self, most: int = 1600) -> Array:
        """Along the only input, from the first answer to as far ahead as was asked for: close enough that a cycle is
        seen as it is, if that takes no more than `most`."""
        low, high = self.series.axes[0].ends
        far = (1.0 + self.ahead) * (high - low)
        periods, weights = self.belief.periods()
        usual = float(np.median(periods[weights >= np.median(weights)])) if len(periods) else far
        count = int(np.clip(_IN_A_CYCLE * far / usual, _FEWEST_PLACES, most))
        return np.linspace(low, low + far, count)[:, None]

    @cached_property
    def next(self) -> Next:
        """What a reading would tell about the program, its structure and its numbers: at even places inside the range
        and ahead of it, or with several inputs at places drawn from their box."""
        series = self.series
        ends = np.array([axis.ends for axis in series.axes])
        if series.is_line:
            low, high = ends[0]
            inside = low + (high - low) * (np.arange(_CANDIDATES) + 0.5) / _CANDIDATES
            count = int(np.ceil(self.ahead * _CANDIDATES))
            after = high + (high - low) * self.ahead * (np.arange(count) + 1.0) / max(count, 1)
            places = np.concatenate([inside, after])[:, None]
        else:
            shares = np.random.default_rng(self.seed).random((4 * _CANDIDATES, len(ends)))
            places = ends[:, 0] + shares * (ends[:, 1] - ends[:, 0])
        bits = gf.information(self.belief, self.instrument, places, about="model")
        return Next(places, bits, np.any(places > ends[:, 1] * (1.0 + 1e-12), axis=1))


def moves_for(answers: int) -> gf.Moves:
    """More sweeps where they are cheap: a cycle that the first sweeps miss is missed for good, and forty readings take
    seconds."""
    return gf.Moves(sweeps=40 if answers <= 60 else 20 if answers <= 200 else 10)


def discover(
    series: Series,
    particles: int = 100,
    seed: int = 0,
    ahead: float = 0.2,
    watch: Callable[[Progress], None] = lambda progress: None,
    changes: bool = False,
) -> Discovery:
    """Follow the programs to the end, or until somebody interrupts: then what is believed so far is weighed by all the
    answers. `ahead` is how far forecasts go, as a share of the range; with `changes` one program may give way to
    another. KeyboardInterrupt passes where nothing is known."""
    columns = zip(series.axes, series.units, series.X.T, strict=True)
    space = gf.Space(*(gf.Real(axis.name, float(x.min()), float(x.max()), unit=unit) for axis, unit, x in columns))
    lab = gf.Point(name=series.answer, unit=series.unit)
    data = gf.Data().add(lab, series.X, series.y)
    programs = gf.KernelPrograms(gf.Grammar.for_data(changes=changes), particles, space, moves=moves_for(len(data)))
    last: Progress | None = None
    try:
        for progress in programs.follow(data, rng=seed):
            last = progress
            watch(progress)
    except KeyboardInterrupt:
        if last is None:
            raise
    assert last is not None
    belief = programs.believe(programs.parts_at(last, data), data, ())
    return Discovery(series, belief, last.done, ahead, particles, seed, changes)
