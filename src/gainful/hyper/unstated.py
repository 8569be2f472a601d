"""What was not stated gets a parameter, a typical value by the scale of space and answers, and a prior.

    a lengthscale that was left out   one per dimension
    a mean that was left out          an unknown constant c ~ N(centre, (4 spread)²): exactly, as part of the kernel
    a noise that was left out         a parameter of its instrument, where the answers tell their scale

What was stated is kept, unless it was given a prior.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gainful.data import Data
from gainful.errors import InvalidInput
from gainful.hyper.defaults import CONVENTION, LEVEL, NOISE, Scale, default_prior, scale_of, siblings_of, typical
from gainful.hyper.problem import Problem, called
from gainful.inference.solution import Inference
from gainful.instruments.base import Instrument
from gainful.kernels.base import Constant
from gainful.kernels.warped import Warped
from gainful.means import ConstantMean, UnknownMean
from gainful.parameters import LOG
from gainful.priors import Fixed, Prior
from gainful.process import Process

__all__ = ["Opened", "open_up", "readable", "structure"]

Array = NDArray[np.float64]


def structure(process: Process) -> Process:
    """The process with a parameter for all that was not stated; what each is worth is for `open_up` to say."""
    dimensions = 0 if process.space is None else len(process.space.names)
    kernel, mean = process.kernel.widened(dimensions), process.mean
    if isinstance(mean, UnknownMean):
        inside = replace(kernel, base=kernel.base + Constant()) if isinstance(kernel, Warped) else kernel + Constant()
        kernel, mean = inside, ConstantMean()
    return Process(kernel, mean, {}, process.space)


@dataclass(frozen=True, eq=False)
class Opened:
    """What there is to learn: a problem at typical values, and the scale that they follow from."""

    problem: Problem
    scale: Scale

    def rounded(self, theta: Array, decimals: int) -> Array:
        """The parameters at theta, each a round number of its units: the same whatever the units are."""
        slots, out = self.problem.slots, self.problem.parameters.copy()
        alike = siblings_of(slots, self.scale)
        for i in self.problem.free:
            found = typical(slots[i], float(out[i]), self.scale, alike[i])
            if found is None:
                out[i] = slots[i].transform.from_theta(np.round(theta[i], decimals))
            elif slots[i].transform == LOG:
                out[i] = found.unit * np.exp(np.round(theta[i] - np.log(found.unit), decimals))
            else:
                out[i] = found.location + found.unit * np.round((theta[i] - found.location) / found.unit, decimals)
        return out


def open_up(
    process: Process, data: Data, inference: Inference | None = None, instruments: Iterable[Instrument] = ()
) -> Opened:
    """The problem of learning from the data what was not stated; `instruments` may answer later."""
    data, several = process.fitting(data), tuple(instruments)
    numbered = [each.label for each in (*data.instruments, *several) if each.outputs is not None]
    if numbered:  # the number of a function is no distance
        expected = "a kernel that is wholly stated, for instruments that see several functions or classes"
        remedy = "say how the functions go together, without a space: see the page on instruments"
        raise InvalidInput("gp", expected, f"unstated parameters, and {numbered}", remedy)
    scale = scale_of(data, process.space, several)
    wide = structure(process)
    given = _spread_over(process.priors, wide.names)
    values, stated = wide.parameters, wide.stated
    for i, (slot, like) in enumerate(zip(wide.slots, siblings_of(wide.slots, scale), strict=True)):
        found = typical(slot, float(values[i]), scale, like)
        if not stated[i] and found is not None:
            values[i] = found.unit if slot.transform == LOG else found.location
        given.setdefault(slot.name, Fixed() if stated[i] else default_prior(slot, float(values[i]), scale, like))
    if isinstance(process.mean, UnknownMean):
        level, centre = wide.kernel.size - 1, len(values) - 1
        values[level], values[centre] = (LEVEL * scale.spread) ** 2, scale.centre
        given |= {wide.names[level]: Fixed(), wide.names[centre]: Fixed()}
    read = {each: readable(each, scale) for each in data.instruments}
    kept = np.concatenate([np.zeros(0, dtype=bool), *(_kept(each, scale) for each in data.instruments)])
    problem = Problem.of(wide.with_parameters(values), data.with_instruments(read), None, inference)
    for slot, is_kept in zip(problem.slots[wide.size :], kept, strict=True):
        if slot.name in process.priors:
            given[slot.name] = process.priors[slot.name]
        elif is_kept:
            given[slot.name] = Fixed()
    return Opened(Problem.of(problem.gp, problem.data, given, inference), scale)


def readable(instrument: Instrument, scale: Scale) -> Instrument:
    """The instrument with a typical noise, where it was not stated and anything says what that is."""
    if scale.is_conventional:
        return instrument
    channel = instrument.channel() if instrument.is_predictable else None
    number = channel is not None and channel.is_number
    share = NOISE if scale.is_known or number else 1.0 / CONVENTION
    typically = np.array([share * scale.spread if slot.role == "noise" else np.nan for slot in instrument.slots])
    open_ = ~instrument.stated & ~np.isnan(typically)
    return instrument.with_parameters(np.where(open_, typically, instrument.parameters)) if open_.any() else instrument


def _kept(instrument: Instrument, scale: Scale) -> NDArray[np.bool_]:
    """Which of an instrument's parameters are not learned: the stated ones, and those that no answer tells."""
    return instrument.stated if scale.is_known else np.ones(instrument.size, dtype=bool)


def _spread_over(priors: Mapping[str, Prior], names: Sequence[str]) -> dict[str, Prior]:
    """The priors of the process's own parameters; one for all dimensions is each one's."""
    out: dict[str, Prior] = {}
    for name, prior in priors.items():
        out |= dict.fromkeys(called(name, names), prior)
    return out
