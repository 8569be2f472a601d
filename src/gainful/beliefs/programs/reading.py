"""A user's answers as programs are to explain them: in the units of the grammar, in the order in which they count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gainful.beliefs.programs.evidence import Numbers, Slopes, covariances
from gainful.beliefs.programs.grammar import Grammar
from gainful.beliefs.programs.guide import Guide, evenly
from gainful.beliefs.programs.moves import Answered
from gainful.beliefs.programs.population import Population
from gainful.beliefs.programs.units import Units
from gainful.coordinates import Coordinates
from gainful.data import Data
from gainful.errors import NumericalError
from gainful.inference.engines.choosing import comparable
from gainful.inference.posterior import solve
from gainful.inference.solution import Inference
from gainful.inference.solving import method_for
from gainful.inference.together import can_be_settled, settle
from gainful.instruments.base import Instrument
from gainful.kernels.warped import warped
from gainful.means import ConstantMean

__all__ = ["Reader", "learns_noise", "noisy"]

Array = NDArray[np.float64]

_TOLERANCE = 1e-4  # of EP, in standard deviations: its evidence is stationary in the sites


def learns_noise(instrument: Instrument) -> bool:
    """Whether it is a number whose noise nobody has stated: programs then have one for it."""
    channel = instrument.channel() if instrument.is_predictable else None
    if channel is None or not channel.is_number or instrument.query != "place":
        return False
    said = [stated for slot, stated in zip(instrument.slots, instrument.stated, strict=True) if slot.role == "noise"]
    return bool(said) and not all(said)


def noisy(instrument: Instrument, sd: float) -> Instrument:
    """The instrument with this noise."""
    roles = np.array([slot.role == "noise" for slot in instrument.slots])
    return instrument.with_parameters(np.where(roles, sd, instrument.parameters))


@dataclass(frozen=True, eq=False)
class Reader:
    """How answers are read: the units, the columns that programs look at, and the labels of the instruments whose noise
    is learned, in the order of a program's noises."""

    units: Units
    columns: Coordinates | None
    labels: tuple[str, ...]
    inference: Inference | None = None

    def seen(self, places: Array) -> Array:
        """What programs see of places, in their units."""
        return self.units.places(places if self.columns is None else self.columns(places))

    def read(self, data: Data, order: Sequence[int] | NDArray[np.intp]) -> Answered:
        """The answers with these numbers, in this order."""
        if data.layout.gaussian and all(each.query == "place" for each in data.instruments):
            return self._numbers(data, np.asarray(order))
        return Sited(self, data, np.asarray(order))

    def _numbers(self, data: Data, order: NDArray[np.intp]) -> Numbers:
        X = np.concatenate([self.seen(batch.X) for batch in data.batches])
        values, sd, own = read_numbers(data, self.labels)
        fixed = (sd[order] / self.units.spread) ** 2
        return Numbers(np.ascontiguousarray(X[order]), self.units.answers(values)[order], fixed, own[order])


@dataclass(frozen=True, eq=False)
class Sited:
    """Answers of any kind: EP's evidence, for all programs together (`inference/together`) where it can be."""

    reader: Reader
    data: Data
    order: NDArray[np.intp]
    has_slopes: ClassVar[bool] = False

    def __len__(self) -> int:
        return len(self.order)

    def guide(self, grammar: Grammar, count: int) -> Guide:
        """None beside the prior: answers that are not numbers have no periodogram."""
        return evenly(grammar.inputs)

    @cached_property
    def _firsts(self) -> dict[int, Data]:
        return {}

    def _first(self, n: int) -> Data:
        """The first n answers."""
        if n not in self._firsts:
            self._firsts[n] = self.data.without(np.sort(self.order[n:]).tolist()) if n < len(self) else self.data
        return self._firsts[n]

    def log_evidence(
        self, grammar: Grammar, population: Population, ends: Sequence[int], shares: Sequence[float],
        rows: NDArray[np.intp] | None = None,
    ) -> Array:  # fmt: skip
        """Σ_e shares_e log p(the first ends_e answers | program), (k,); of some rows, the others are −inf."""
        some = np.arange(len(population)) if rows is None else rows
        out = np.full(len(population), -np.inf)
        total = np.zeros(len(some))
        chosen = population.take(some)
        for end, share in zip(ends, shares, strict=True):
            if end > 0 and share > 0.0 and len(some):
                total += share * self._evidence(grammar, chosen, self._first(end))
        out[some] = total
        return out

    def slopes(self, grammar: Grammar, population: Population, ends: Sequence[int], shares: Sequence[float]) -> Slopes:
        raise NotImplementedError("particles move under EP's evidence without slopes")

    def _evidence(self, grammar: Grammar, population: Population, data: Data) -> Array:
        units, layout = self.reader.units, data.layout
        K = covariances(grammar, population, self.reader.seen(layout.places)) * units.spread**2
        cov = np.stack([layout.covariance(each) for each in K])
        mean = np.broadcast_to(layout.pick(np.full(len(layout.places), units.level)), cov.shape[:2])
        several = [self._with_noise(data, row) for row in units.spread * np.sqrt(grammar.noises(population))]
        layouts = [each.layout for each in several]
        found = settle(layouts, np.array(mean), cov, None, _TOLERANCE) if can_be_settled(layout) else None
        if found is None:
            return np.array([self._alone(grammar, population, i, each) for i, each in enumerate(several)])
        bad = ~np.isfinite(found.log_evidence) | (found.residual > 0.1)
        alone = [self._alone(grammar, population, int(i), several[i]) for i in np.flatnonzero(bad)]
        value = found.log_evidence.copy()
        value[bad] = alone
        return value

    def _with_noise(self, data: Data, sd: Array) -> Data:
        if not len(sd):
            return data
        learned = dict(zip(self.reader.labels, sd, strict=True))
        return data.with_instruments({i: noisy(i, float(learned[i.label])) for i in data.instruments
                                      if i.label in learned})  # fmt: skip

    def _alone(self, grammar: Grammar, population: Population, i: int, data: Data) -> float:
        units = self.reader.units
        kernel = units.kernel(grammar.program(population, i))
        if self.reader.columns is not None:
            kernel = warped(kernel, self.reader.columns)
        try:
            method = comparable(method_for(data.layout, self.reader.inference), data.layout)
            return solve(ConstantMean(units.level), kernel, data, method).log_evidence
        except NumericalError:
            return -np.inf


def read_numbers(data: Data, labels: Sequence[str]) -> tuple[Array, Array, NDArray[np.int64]]:
    """Of answers that are numbers: the values, the noise of each where it is stated and 0 where it is learned, and the
    number of its noise among those that are, or −1; (N,) each."""
    values, sd, own = [], [], []
    for batch in data.batches:
        values.append(batch.answers if batch.answers.ndim == 1 else batch.answers[:, 0])
        channel = batch.instrument.channel()
        assert channel is not None
        known = batch.answers[:, 1] if batch.answers.ndim > 1 else np.full(len(batch), channel.noise)
        at = labels.index(batch.instrument.label) if batch.instrument.label in labels else -1
        sd.append(np.zeros(len(batch)) if at >= 0 else known)
        own.append(np.full(len(batch), at, dtype=np.int64))
    return np.concatenate(values), np.concatenate(sd), np.concatenate(own)


def labels_of(instruments: Mapping[str, Instrument]) -> tuple[str, ...]:
    """Of those whose noise is learned."""
    return tuple(label for label, each in instruments.items() if learns_noise(each))
