"""What a belief of programs says of each part of the function, and of what readings to come will be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.beliefs.programs.components import LEVEL, Term, kernel_of, kinds_of
from gainful.beliefs.programs.cycles import told
from gainful.beliefs.programs.words import Axis, Said, Speech, percent, phrase
from gainful.checks import require
from gainful.errors import InvalidInput
from gainful.inference.quantiles import tails
from gainful.instruments.base import Instrument
from gainful.kernels.warped import warped
from gainful.numerics.mixture_quantile import mixture_quantile
from gainful.space import coordinates_of

if TYPE_CHECKING:
    from gainful.beliefs.programs.belief import ProgramBelief

__all__ = ["Component", "Forecast", "components", "forecast", "moments", "speech_of"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Component:
    """One part of the function: its kind, in words with its numbers, how probable it is that there is one, and at each
    place its mean and the ends (M,) between which it then lies with the probability that was asked for."""

    name: str
    phrase: str
    probability: float
    mean: Array = field(repr=False)
    low: Array = field(repr=False)
    high: Array = field(repr=False)

    def __str__(self) -> str:
        return f"{self.phrase}: {percent(self.probability)}"


@dataclass(frozen=True, eq=False)
class Forecast:
    """What is expected at each place, (M,): the mean, the ends that the function lies between, and those of a reading,
    which has noise as well."""

    mean: Array
    low: Array
    high: Array
    reading_low: Array
    reading_high: Array


def speech_of(belief: ProgramBelief, axes: Sequence[Axis] | None = None) -> Speech:
    """How a belief is spoken of: with the names and units of its space and its instruments, as far as it has any."""
    units, several = belief.units, {each.unit for each in belief.data.instruments if each.unit}
    answers = several.pop() if len(several) == 1 else ""
    columns = len(units.middle)
    given = tuple(_said(belief, column) for column in range(columns)) if axes is None else tuple(axes)
    require(len(given) == columns, "axes", f"{columns} of them", len(given), "one for each column")
    places = _seen(belief)
    steps = [float(np.median(np.diff(np.unique(column)))) for column in places.T if len(column) and np.ptp(column)]
    return Speech(units, given, answers, tuple(steps) if len(steps) == columns else ())


def _seen(belief: ProgramBelief) -> Array:
    """The places of the answers as programs see them."""
    places, space = belief.data.layout.places, belief.data.told_by
    return places if space is None or not len(places) else coordinates_of(space)(places)


def _said(belief: ProgramBelief, column: int) -> Axis:
    units, space, names = belief.units, belief.data.told_by, belief.data.columns
    seen_at = _seen(belief)
    middle, half = units.middle[column], units.half[column]
    ends = (float(seen_at[:, column].min()), float(seen_at[:, column].max())) if len(seen_at) else (
        middle - half, middle + half)  # fmt: skip
    if space is None:
        called = names[column] if names is not None else f"x{column}" if len(units.middle) > 1 else "x"
        return Said(called, "", ends)
    seen = coordinates_of(space)
    name = seen.columns[column].dimension
    axis = next((axis for axis in seen.axes if axis.name == name), None)
    unit = dict(zip(space.names, getattr(space, "units", ()), strict=False)).get(name, "")
    log = axis is not None and axis.log
    return Said(name, unit, ends, log, axis.low if axis is not None and log else 1.0)


def moments(
    belief: ProgramBelief, having: dict[int, list[Term]], X: ArrayLike, centred: bool = False
) -> tuple[Array, Array, Array]:
    """The weights (P,) of the programs that have these terms, and the mean and spread (P, M) of that part of each."""
    space = belief.data.told_by
    found = []
    for i, terms in having.items():
        kernel = kernel_of(terms, belief.units)
        if space is not None:
            kernel = warped(kernel, coordinates_of(space))
        found.append(belief.posteriors[i].part(kernel, X, centred))
    mean, sd = np.stack([m for m, _ in found]), np.sqrt(np.stack([v for _, v in found]))
    return belief.weights[list(having)], mean, sd


def components(
    belief: ProgramBelief, X: ArrayLike, level: float = 0.95, centred: bool = False, axes: Sequence[Axis] | None = None
) -> tuple[Component, ...]:
    """The parts of the function, the level first, then the most probable."""
    speech, kinds = speech_of(belief, axes), kinds_of(belief.programs)
    low, high = tails(level)
    own = kinds.pop(LEVEL, {})
    out = [_level(belief, own, X, (low, high), centred)]
    weights, spoken = belief.weights, told(belief, kinds)
    for name, having in sorted(kinds.items(), key=lambda kind: (-weights[list(kind[1])].sum(), kind[0])):
        w, mean, sd = moments(belief, having, X, centred)
        if not w.sum() > 0.0:
            continue
        ends = [mixture_quantile(w / w.sum(), mean, sd, q) for q in (low, high)]
        words, p = phrase(spoken[name], weights, speech), float(min(w.sum(), 1.0))
        out.append(Component(name, words, p, w / w.sum() @ mean, *ends))
    return tuple(out)


def _level(
    belief: ProgramBelief, having: dict[int, list[Term]], X: ArrayLike, ends: tuple[float, float], centred: bool
) -> Component:
    """The mean of the answers, and in programs that have one an unknown constant beside it."""
    places = len(belief.posteriors[0].mean(X))
    mean, sd = np.zeros((len(belief.programs), places)), np.zeros((len(belief.programs), places))
    if having:
        rows = list(having)
        _, mean[rows], sd[rows] = moments(belief, having, X, centred)
    if not centred:
        mean += belief.units.level
    found = [mixture_quantile(belief.weights, mean, sd, q) for q in ends]
    return Component(LEVEL, "a constant level", 1.0, belief.weights @ mean, *found)


def forecast(
    belief: ProgramBelief, X: ArrayLike, instrument: Instrument | None = None, level: float = 0.95
) -> Forecast:
    """The function, and readings of an instrument that answers with numbers; the data's own if it has one."""
    reading = instrument if instrument is not None else next((i for i in belief.data.instruments if _reads(i)), None)
    if reading is None or not _reads(reading):
        raise InvalidInput("instrument", "one that answers with a number", instrument, "for instance Point()")
    found = belief.predict(X)
    low, high = tails(level)
    sd = np.sqrt(found.variance)
    noise = np.array([belief.instrument_of(s, reading).channel().noise for s in range(len(belief.weights))])  # type: ignore[union-attr]
    noisy = np.sqrt(found.variance + noise[:, None] ** 2)
    w = belief.weights
    ends = [mixture_quantile(w, found.mean, spread, q) for spread in (sd, noisy) for q in (low, high)]
    return Forecast(w @ found.mean, *ends)


def _reads(instrument: Instrument) -> bool:
    channel = instrument.channel() if instrument.is_predictable else None
    return channel is not None and channel.is_number and instrument.query == "place"
