"""Default priors from the scale of the space and of the answers, so that a fit to five points does not run away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gainful.data import Data
from gainful.parameters import Slot
from gainful.priors import Fixed, LogNormal, Normal, Prior
from gainful.space import Space

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Scale:
    """The sizes that parameters have units of: middle and range of each input, centre and spread of the function."""

    middle: Array
    range: Array
    varies: NDArray[np.bool_]
    centre: float
    spread: float

    def over(self, dims: tuple[int, ...] | None) -> tuple[float, float, int]:
        """Mean middle and mean range of some dimensions (None: all), and in how many of them places differ."""
        chosen = list(range(len(self.range)) if dims is None else dims)
        some = [d for d in chosen if self.varies[d]] or chosen
        return float(np.mean(self.middle[some])), float(np.mean(self.range[some])), int(np.sum(self.varies[chosen]))


def scale_of(data: Data, space: Space | None) -> Scale:
    """From the space's bounds where there are any, from the data otherwise; the function's spread from what answers
    say of it."""
    if space is not None:
        low, high = space.low, space.high
    else:
        places = data.layout.places if len(data) else np.zeros((1, 1))
        low, high = places.min(axis=0), places.max(axis=0)
    varies = high > low
    width = np.where(varies, high - low, 1.0)
    values = _mentioned(data)
    centre = float(np.mean(values)) if values.size else 0.0
    spread = float(np.std(values)) if values.size > 1 else 0.0
    if spread <= 1e-12 * max(abs(centre), 1.0):
        spread = max(abs(centre), 1.0)
    return Scale(0.5 * (low + high), width, varies, centre, spread)


def _mentioned(data: Data) -> Array:
    """Numbers in the function's unit that the answers speak of."""
    found = [batch.instrument.mentioned(batch.answers) for batch in data.batches]
    values = np.concatenate([np.zeros(0), *found])
    return values[np.isfinite(values)]


def default_prior(slot: Slot, value: float, scale: Scale, siblings: int) -> Prior:
    """The prior of one parameter, by its role; `value` is what the user gave, which counts for instruments only.

    `siblings` is how many parameters like it its owner has, one per dimension.
    """
    middle, width, n = scale.over(slot.dims)
    reach = abs(middle) + 0.5 * width
    match slot.role:
        case "length":
            return LogNormal(float(np.log(0.35 * width * np.sqrt(max(n, siblings, 1)))), 1.0)
        case "period":
            return LogNormal(float(np.log(width / 3.0)), 1.0)
        case "variance":
            return LogNormal(2.0 * float(np.log(scale.spread)), 1.5)
        case "slope":
            return LogNormal(2.0 * float(np.log(scale.spread / reach)), 1.5)
        case "amplitude":
            return LogNormal(float(np.log(scale.spread)), 1.0)
        case "shape":
            return LogNormal(0.0, 1.0)
        case "location":
            return Normal(scale.centre, 2.0 * scale.spread)
        case "gradient":
            return Normal(0.0, 2.0 * scale.spread / width)
        case "position":
            return Normal(middle, 0.5 * width)
        case "noise" | "gap":
            return LogNormal(float(np.log(value)), 1.0)
        case "threshold":
            return Normal(value, scale.spread)
        case "rate":
            return Fixed()
        case role:
            raise AssertionError(f"no default prior for a parameter of role {role!r}")


def default_priors(slots: Sequence[Slot], values: Array, data: Data, space: Space | None) -> list[Prior]:
    """One prior per slot."""
    scale = scale_of(data, space)
    # In D dimensions distances grow with √D, whether the D lengthscales are one number or D of them.
    together = Counter(slot.name.partition("[")[0] for slot in slots if scale.over(slot.dims)[2])
    return [
        default_prior(slot, float(value), scale, together[slot.name.partition("[")[0]])
        for slot, value in zip(slots, values, strict=True)
    ]
