"""Default priors from the scale of the space and of the answers, so that a fit to five points does not run away.

A prior follows from sizes that move with the units: the range of each input, the middle and the spread of the answers.
So it says the same in degrees Celsius or in kelvins, and of answers a thousand times as large.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainful.coordinates import Coordinates
from gainful.data import Data
from gainful.instruments.base import Instrument
from gainful.parameters import FISHER, IDENTITY, LOG, Slot
from gainful.priors import Beta, Fixed, LogNormal, Normal, Prior, Uniform
from gainful.space import Places, coordinates_of

__all__ = ["CONVENTION", "LEVEL", "NOISE", "Scale", "Typical", "default_prior", "default_priors", "scale_of", "typical"]

Array = NDArray[np.float64]

LEVEL = 4.0  # of the spread: the standard deviation of an unknown constant about the middle of the answers
NOISE = 0.1  # of the spread: the typical noise of a reading, where it is not stated
_LENGTH = 0.35  # of the range, times √D: in D dimensions distances grow with √D
_PER_LEVEL = 10  # answers for each level of a category: from then on levels may lean
CONVENTION = 2.0  # of the noise behind yes and no: the spread of f, where no answer is a number


@dataclass(frozen=True)
class Scale:
    """The sizes that parameters have units of: middle and range of each input, centre and spread of the function.

    Unless it `is_known` no answer tells the spread; it then goes by a noise that was stated, or it `is_conventional`.
    `answers` is how many there are.
    """

    middle: Array
    range: Array
    varies: NDArray[np.bool_]
    centre: float
    spread: float
    is_known: bool
    is_conventional: bool = False
    answers: int = 0

    def over(self, dims: tuple[int, ...] | None) -> tuple[float, float, int]:
        """Mean middle and mean range of some dimensions (None: all), and in how many of them places differ."""
        known = len(self.range)
        chosen = [d for d in (range(known) if dims is None else dims) if d < known]
        if not chosen:  # before the first answer, and without a space
            return 0.0, 1.0, 0
        some = [d for d in chosen if self.varies[d]] or chosen
        return float(np.mean(self.middle[some])), float(np.mean(self.range[some])), int(np.sum(self.varies[chosen]))


def scale_of(
    data: Data, space: Places | None, instruments: Iterable[Instrument] = (), output: int | None = None
) -> Scale:
    """From the space's bounds where there are any, from the data otherwise; the function's spread from what answers
    say of it, or else from what the instruments are made for, also those that have not answered yet. Of several
    functions, `output` is the code of the one that it is about."""
    several = [*data.instruments, *instruments]
    middle, width, varies = _inputs(data, space, any(each.outputs is not None for each in several))
    some = [each for each in several if output is None or output in (each.outputs or ())]
    mentioned = _mentioned(data, output)
    centre, spread = _spread(mentioned)
    if spread > 0.0:
        return Scale(middle, width, varies, centre, spread, True, answers=len(data))
    apart, spread = _spread(_thresholds(some))
    centre = centre if len(mentioned) else apart
    if spread > 0.0:
        return Scale(middle, width, varies, centre, spread, True, answers=len(data))
    stated, spread = _usual(some)
    return Scale(middle, width, varies, centre, spread, is_known=False, is_conventional=not stated, answers=len(data))


def _inputs(data: Data, space: Places | None, outputs: bool) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Middle, range and whether it varies, of each column that kernels see; of several functions the last is the
    function's number."""
    if space is None:
        places = data.layout.places if len(data) else np.zeros((1, 1))
        low, high = places.min(axis=0), places.max(axis=0)
        varies = high > low
        return 0.5 * (low + high), np.where(varies, high - low, 1.0), varies
    seen = coordinates_of(space)
    width = np.array([column.width for column in seen.columns], dtype=float)
    middle, varies = _middle(seen, space), np.array([column.varies for column in seen.columns], dtype=bool)
    if not outputs:
        return middle, width, varies
    numbers = data.layout.places[:, -1] if len(data) else np.zeros(1)
    reach = float(np.ptp(numbers))
    return np.append(middle, float(np.mean(numbers))), np.append(width, max(reach, 1.0)), np.append(varies, reach > 0.0)


def _spread(values: Array) -> tuple[float, float]:
    """Middle and spread of numbers; 0 for a spread that is none but rounding.

    A few numbers are nearer to each other than those to come, the more so as f is smooth, and two may nearly agree by
    chance. With the factor here, bands after five answers hold what they should, as measured over many truths.
    """
    n = len(values)
    if n < 2:
        return (float(values[0]) if n else 0.0), 0.0
    spread = float(np.std(values)) * ((n + 3.0) / (n - 1.0))
    return float(np.mean(values)), spread if spread > 1e-12 * float(np.max(np.abs(values))) else 0.0


def _middle(seen: Coordinates, space: Places) -> Array:
    """The middle of each column that kernels see."""
    ends = np.stack([space.low, space.high])
    return np.asarray(seen(ends).mean(axis=0))


def _mentioned(data: Data, output: int | None = None) -> Array:
    """Numbers in the function's unit that the answers speak of; of several functions, of one."""
    batches = [each for each in data.batches if output is None or output in (each.instrument.outputs or ())]
    found = [batch.instrument.mentioned(batch.answers) for batch in batches]
    values = np.concatenate([np.zeros(0), *found])
    return values[np.isfinite(values)]


def _thresholds(instruments: Iterable[Instrument]) -> Array:
    """The thresholds of all instruments, in the function's unit, each once."""
    channels = [each.channel() for each in instruments if each.is_predictable]
    return np.unique(np.concatenate([np.zeros(0), *(each.bounds for each in channels if each is not None)]))


def _usual(instruments: Sequence[Instrument]) -> tuple[bool, float]:
    """Whether a noise was stated, and a spread of f beside which the noise of the instruments is what it usually is."""
    usual = []
    for each in instruments:
        channel = each.channel() if each.is_predictable else None
        if each.alike:  # classes, whose functions are measured by a noise of one
            usual.append((False, CONVENTION))
        if channel is not None and channel.noise > 0.0:
            stated = all(said for slot, said in zip(each.slots, each.stated, strict=True) if slot.role == "noise")
            usual.append((stated, float(channel.noise) * (1.0 / NOISE if channel.is_number else CONVENTION)))
    return max(usual, default=(False, 1.0))


class Typical(NamedTuple):
    """Where a parameter is expected, and its unit: a positive one near `unit`, one of any sign near `location`."""

    location: float
    unit: float
    sd: float  # of its logarithm, or in units


def typical(slot: Slot, value: float, scale: Scale, siblings: int) -> Typical | None:
    """What a parameter is like by its role; `value` is what it has, which counts for instruments only. None: kept.

    `siblings` is how many parameters like it its owner has, one per dimension.
    """
    middle, width, n = scale.over(slot.dims)
    reach = abs(middle) + 0.5 * width
    match slot.role:
        case "length":
            return Typical(0.0, _LENGTH * width * float(np.sqrt(max(n, siblings, 1))), 1.0)
        case "period":
            return Typical(0.0, width / 3.0, 1.0)
        case "variance":
            # Wide, since values that lie close together say little of how far the function goes.
            return Typical(0.0, scale.spread**2, 4.0 if scale.is_known else 1.0)
        case "slope":
            return Typical(0.0, (scale.spread / reach) ** 2, 1.5)
        case "amplitude":
            return Typical(0.0, scale.spread, 1.0)
        case "shape":
            return Typical(0.0, 1.0, 1.0)
        case "location":
            return Typical(scale.centre, scale.spread, 2.0)
        case "gradient":
            return Typical(0.0, scale.spread / width, 2.0)
        case "position":
            return Typical(middle, width, 0.5)
        case "noise" | "gap":
            return Typical(0.0, value, 1.0)
        case "threshold":
            return Typical(value, scale.spread, 1.0)
        case "loading" | "leaning":
            return Typical(0.0, 1.0, 1.0)
        case "rate" | "correlation":
            return None
        case role:
            raise AssertionError(f"no default prior for a parameter of role {role!r}")


def default_prior(slot: Slot, value: float, scale: Scale, siblings: int) -> Prior:
    """The prior of one parameter, by its role."""
    if slot.role == "correlation":
        return Uniform(-1.0, 1.0) if slot.transform == FISHER else Beta(1.0, 1.0)
    found = typical(slot, value, scale, siblings)
    if found is None or (slot.role == "leaning" and scale.answers < _PER_LEVEL * siblings):
        return Fixed()
    if slot.transform == LOG:
        return LogNormal(float(np.log(found.unit)), found.sd)
    assert slot.transform == IDENTITY
    return Normal(found.location, found.sd * found.unit)


def siblings_of(slots: Sequence[Slot], scale: Scale) -> list[int]:
    """How many parameters there are like each, one per dimension in which places differ."""
    # In D dimensions distances grow with √D, whether the D lengthscales are one number or D of them.
    together = Counter(slot.name.partition("[")[0] for slot in slots if scale.over(slot.dims)[2])
    return [together[slot.name.partition("[")[0]] for slot in slots]


def default_priors(slots: Sequence[Slot], values: Array, data: Data, space: Places | None) -> list[Prior]:
    """One prior per slot; of several functions, of the function that it is about."""
    scale = scale_of(data, space)
    return [
        default_prior(
            slot, float(value), scale if slot.output is None else scale_of(data, space, (), slot.output), like
        )
        for slot, value, like in zip(slots, values, siblings_of(slots, scale), strict=True)
    ]
