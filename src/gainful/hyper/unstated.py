"""What was not stated gets a parameter, a typical value by the scale of space and answers, and a prior.

    a lengthscale that was left out   one per dimension
    a mean that was left out          an unknown constant c ~ N(centre, (4 spread)²): exactly, as part of the kernel
    a noise that was left out         a parameter of its instrument, where the answers tell their scale

What was stated is kept, unless it was given a prior.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gainful.data import Data
from gainful.hyper.defaults import CONVENTION, LEVEL, NOISE, Scale, default_prior, scale_of, siblings_of, typical
from gainful.hyper.outputs import outputs_of, together
from gainful.hyper.problem import Problem, called
from gainful.inference.engines.base import Engine
from gainful.inference.solution import Inference
from gainful.instruments.base import Instrument
from gainful.kernels.base import Constant, On, Sum
from gainful.kernels.outputs import Coregionalised
from gainful.kernels.warped import Warped
from gainful.means import ConstantMean, UnknownMean
from gainful.parameters import LOG
from gainful.priors import Beside, Fixed, Prior
from gainful.process import Process

__all__ = ["Opened", "open_up", "readable", "structure"]

Array = NDArray[np.float64]

_NONE = np.zeros(0, dtype=bool)


def structure(process: Process, instruments: Iterable[Instrument] = ()) -> Process:
    """The process with a parameter for all that was not stated; what each is worth is for `open_up` to say.

    Where instruments see several functions, it is one over all of them.
    """
    outputs = outputs_of(instruments) if process.space is not None and not process.is_stated else None
    if outputs is not None:
        return together(process, outputs)
    dimensions = 0 if process.space is None else len(process.space.names)
    kernel, mean = process.kernel.widened(dimensions), process.mean
    if isinstance(mean, UnknownMean):
        inside = replace(kernel, base=kernel.base + Constant()) if isinstance(kernel, Warped) else kernel + Constant()
        kernel, mean = inside, ConstantMean()
    return Process(kernel, mean, {}, process.space)


@dataclass(frozen=True, eq=False)
class Opened:
    """What there is to learn: a problem at typical values, and the scales that they follow from, one for each slot."""

    problem: Problem
    scales: tuple[Scale, ...]
    scale: Scale  # of the function, or of all functions together
    by_output: Mapping[int, Scale]

    def readable(self, instrument: Instrument) -> Instrument:
        """The instrument with a typical noise, where it was not stated and anything says what that is."""
        return readable(instrument, _seen_by(instrument, self.scale, self.by_output))

    def rounded(self, theta: Array, decimals: int) -> Array:
        """The parameters at theta, each a round number of its units: the same whatever the units are."""
        slots, out = self.problem.slots, self.problem.parameters.copy()
        alike = siblings_of(slots, self.scale)
        for i in self.problem.free:
            found = typical(slots[i], float(out[i]), self.scales[i], alike[i])
            if found is None:
                out[i] = slots[i].transform.from_theta(np.round(theta[i], decimals))
            elif slots[i].transform == LOG:
                out[i] = found.unit * np.exp(np.round(theta[i] - np.log(found.unit), decimals))
            else:
                out[i] = found.location + found.unit * np.round((theta[i] - found.location) / found.unit, decimals)
        return out


def open_up(
    process: Process, data: Data, inference: Inference | Engine | None = None, instruments: Iterable[Instrument] = ()
) -> Opened:
    """The problem of learning from the data what was not stated; `instruments` may answer later."""
    data, several = process.fitting(data), tuple(instruments)
    scale = scale_of(data, process.space, several)
    wide = structure(process, (*several, *data.instruments))
    by_output = _by_output(wide, data, several)
    scales = _scales(wide, scale, by_output)
    given = _spread_over(process.priors, wide.names)
    values, stated = wide.parameters, wide.stated
    for i, (slot, like) in enumerate(zip(wide.slots, siblings_of(wide.slots, scale), strict=True)):
        found = typical(slot, float(values[i]), scales[i], like)
        if not stated[i] and found is not None:
            values[i] = found.unit if slot.transform == LOG else found.location
        given.setdefault(slot.name, Fixed() if stated[i] else default_prior(slot, float(values[i]), scales[i], like))
    for i, value in _kept_of(process, wide, scales):
        values[i], given[wide.names[i]] = value, Fixed()
    read = {each: readable(each, _seen_by(each, scale, by_output)) for each in data.instruments}
    problem = Problem.of(wide.with_parameters(values), data.with_instruments(read), None, inference)
    owners = [each for each in problem.data.instruments for _ in each.slots]
    own = [_seen_by(each, scale, by_output) for each in owners]
    kept = [_kept(each, _seen_by(each, scale, by_output)) for each in data.instruments]
    for slot, is_kept, owner in zip(problem.slots[wide.size :], np.concatenate([_NONE, *kept]), owners, strict=True):
        if slot.name in process.priors:
            given[slot.name] = process.priors[slot.name]
        elif is_kept:
            given[slot.name] = Fixed()
        elif slot.role == "noise":
            beside = _beside(wide.with_parameters(values), given, owner)
            given |= {} if beside is None else {slot.name: beside}
    found_scales = (*scales, *own)
    return Opened(Problem.of(problem.gp, problem.data, given, inference), found_scales, scale, by_output)


def _by_output(wide: Process, data: Data, instruments: tuple[Instrument, ...]) -> dict[int, Scale]:
    """The scale of each of several functions, by its code."""
    outputs = outputs_of((*instruments, *data.instruments))
    codes = () if outputs is None else outputs.codes
    return {code: scale_of(data, wide.space, instruments, code) for code in codes}


def _scales(wide: Process, scale: Scale, by_output: Mapping[int, Scale]) -> list[Scale]:
    """The scale that each of a process's parameters goes by: its output's; of several functions what they share is
    relative to theirs, and has the unit one."""
    shared = replace(scale, centre=0.0, spread=1.0) if by_output else scale
    return [shared if slot.output is None else by_output[slot.output] for slot in wide.slots]


def _kept_of(process: Process, wide: Process, scales: Sequence[Scale]) -> Iterator[tuple[int, float]]:
    """What of a process is not learned though nobody stated it: constants that are integrated exactly, and of several
    functions a variance that all share, beside that of each."""
    size, means = wide.kernel.size, wide.size - wide.kernel.size
    if isinstance(process.mean, UnknownMean):
        reach = _levels(wide)
        levels = list(range(size - len(reach), size))
        yield from ((i, (by * scales[i].spread) ** 2) for i, by in zip(levels, reach, strict=True))
        yield from ((i, scales[i].centre) for i in range(size, size + means))
    else:
        levels = []
    slots, stated = wide.slots[:size], wide.stated
    mine = [i for i, slot in enumerate(slots) if slot.role == "variance" and i not in levels]
    own = [i for i in mine if slots[i].output is not None]
    shared = [i for i in mine if slots[i].output is None]
    if own and shared:
        if stated[shared].any():  # the variance of every output was said
            yield from ((i, 1.0) for i in own if not stated[i])
        else:
            yield shared[0], 1.0


def _levels(wide: Process) -> list[float]:
    """How far unknown constants may lie from where they are expected, in spreads: one for each variance of theirs, the
    last of the kernel's parameters. Classes that somebody has named occur: none is ahead of the others by far."""
    inner = wide.kernel.base if isinstance(wide.kernel, Warped) else wide.kernel
    assert isinstance(inner, Sum)
    last = inner.right.base if isinstance(inner.right, On) else inner.right
    if not isinstance(last, Coregionalised):
        return [LEVEL]
    return [1.0 if last.alike.count(kind) > 1 else LEVEL for kind in range(last.size)]


def _seen_by(instrument: Instrument, scale: Scale, by_output: Mapping[int, Scale]) -> Scale:
    """The scale of the function that an instrument sees, the first of several."""
    return by_output[instrument.outputs[0]] if by_output and instrument.outputs else scale


def _beside(process: Process, given: Mapping[str, Prior], instrument: Instrument) -> Prior | None:
    """A noise is expected in proportion to the root of the variance of what it is a noise of, where that is learned as
    one number; None otherwise.

    With the level as wide as it is, this makes bands after a few readings hold what they should whatever the amplitude:
    the prior is nearly the one that is invariant under shift and scale.
    """
    seen = None if instrument.outputs is None else instrument.outputs[0]
    at = [i for i, slot in enumerate(process.slots) if slot.role == "variance" and slot.output == seen]
    free = [i for i in at if given[process.names[i]] != Fixed()]
    if len(free) != 1:
        return None
    usual = float(process.parameters[free[0]])
    return Beside(float(np.log(NOISE) + 0.5 * np.log(usual)), 1.0, process.names[free[0]], usual)


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
