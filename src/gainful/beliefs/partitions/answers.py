"""A user's answers as additive models are to explain them: numbers by their own evidence, all others by EP's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gainful.beliefs.partitions.chain import Explains
from gainful.beliefs.partitions.evidence import LEAST, LEVEL, Additively, Begin, Expected, Fit, pairwise
from gainful.beliefs.programs.reading import labels_of, noisy, read_numbers
from gainful.coordinates import Coordinates
from gainful.data import Data
from gainful.hyper.climb import climb
from gainful.hyper.defaults import NOISE, Scale, scale_of
from gainful.hyper.problem import Problem
from gainful.hyper.unstated import readable
from gainful.inference.solution import Inference
from gainful.instruments.base import Instrument
from gainful.kernels.additive import Additive, Terms, additive_over
from gainful.kernels.base import Constant
from gainful.means import ConstantMean
from gainful.priors import Fixed, LogNormal, Prior
from gainful.process import Process
from gainful.space import Places, coordinates_of

__all__ = ["Reading"]

Array = NDArray[np.float64]

_NOISES = 2.0  # standard deviation of the logarithm of a noise: a simulator has next to none
_ENOUGH = 1e-5  # of log p(answers, theta): two steps that gain no more are the last of a search by EP's evidence


@dataclass(frozen=True, eq=False)
class Reading:
    """How answers are read: the space, the scale of places and answers, and the instruments by label."""

    space: Places
    scale: Scale
    instruments: Mapping[str, Instrument]
    profile: str
    rule: str
    shared: bool
    inference: Inference | None = None

    @classmethod
    def of(
        cls, space: Places, data: Data, instruments: Mapping[str, Instrument], profile: str, rule: str, shared: bool,
        inference: Inference | None,
    ) -> Reading:  # fmt: skip
        scale = scale_of(data, space, instruments.values())
        return cls(space, scale, instruments, profile, rule, shared, inference)

    @cached_property
    def coordinates(self) -> Coordinates:
        return coordinates_of(self.space)

    @cached_property
    def form(self) -> Additive:
        """The kernel that knows which columns each dimension has, with any terms."""
        columns = {column.group for column in self.coordinates.columns}
        return additive_over(self.coordinates, tuple((d,) for d in range(len(columns))), self.profile)

    @property
    def dimensions(self) -> int:
        return self.form.dimensions

    @property
    def names(self) -> tuple[str, ...]:
        """The dimensions that vary."""
        return tuple(self.coordinates.columns[own[0]].dimension for own in self.form.columns)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Of the instruments whose noise is learned."""
        return labels_of(self.instruments)

    @cached_property
    def widths(self) -> Array:
        """The range of each dimension, as kernels see it."""
        return np.array([float(self.scale.range[own[0]]) or 1.0 for own in self.form.columns])

    def explained(self, data: Data) -> Explains:
        """The answers, ready to be explained."""
        if data.layout.gaussian and all(each.query == "place" for each in data.instruments):
            return self._numbers(data)
        return Sited(self, data)

    def _numbers(self, data: Data) -> Additively:
        seen = np.concatenate([self.coordinates(np.asarray(batch.X, dtype=float)) for batch in data.batches])
        values, sd, own = read_numbers(data, self.labels)
        centre, spread = self.scale.centre, self.scale.spread
        each = [
            seen[:, list(own_columns)] / width
            for own_columns, width in zip(self.form.columns, self.widths, strict=True)
        ]
        categories = [d in self.form.categories for d in range(self.dimensions)]
        return Additively(
            pairwise(each, categories), (values - centre) / spread, (sd / spread) ** 2, own, self.expected,
            self.profile, self.rule, self.shared,
        )  # fmt: skip

    @property
    def expected(self) -> Expected:
        count = len(self.labels)
        return Expected(np.full(count, np.log(NOISE) - 1.0), np.full(count, _NOISES))

    def process(self, terms: Terms, theta: Array) -> Process:
        """The process in the user's units."""
        D, G = self.dimensions, len(terms)
        spread = self.scale.spread
        lengths, variances = self.widths * np.exp(theta[:D]), spread**2 * np.exp(theta[D : D + G])
        kernel = Additive(
            terms, tuple(lengths.tolist()), tuple(variances.tolist()), self.profile, self.form.columns,
            self.form.categories,
        )  # fmt: skip
        return Process(kernel + Constant((LEVEL * spread) ** 2), ConstantMean(self.scale.centre), {}, self.space)

    def theta(self, terms: Terms, gp: Array, instruments: Mapping[str, tuple[float, ...]]) -> Array:
        """From the parameters of a process and of instruments in the user's units, back."""
        D, G = self.dimensions, len(terms)
        lengths, variances = np.log(gp[:D] / self.widths), np.log(gp[D : D + G] / self.scale.spread**2)
        noises = [_noise(self.instruments[label], instruments.get(label)) / self.scale.spread for label in self.labels]
        above = np.maximum(np.square(np.array(noises, dtype=float)) - LEAST**2, (0.1 * LEAST) ** 2)
        return np.concatenate([lengths, variances, 0.5 * np.log(above)])

    def read(self, theta: Array, terms: Terms) -> dict[str, Instrument]:
        """The instruments with the noises of theta; those that have none of their own with typical ones."""
        noises = self.scale.spread * np.hypot(np.exp(theta[self.dimensions + len(terms) :]), LEAST)
        learned = dict(zip(self.labels, noises.tolist(), strict=True))
        return {
            label: noisy(each, learned[label]) if label in learned else readable(each, self.scale)
            for label, each in self.instruments.items()
        }


def _noise(instrument: Instrument, parameters: tuple[float, ...] | None) -> float:
    own = instrument if parameters is None else instrument.with_parameters(np.array(parameters))
    channel = own.channel()
    assert channel is not None
    return float(channel.noise)


@dataclass(frozen=True, eq=False)
class Sited:
    """Answers of any kind, by EP's evidence at fitted parameters and Schwarz's penalty: dearer than numbers."""

    reading: Reading
    data: Data

    @property
    def dimensions(self) -> int:
        return self.reading.dimensions

    @cached_property
    def _usual(self) -> Additively:
        """For what is usual of theta; it has no answers."""
        D, none = self.dimensions, np.zeros(0)
        return Additively(np.zeros((D, 0)), none, none, np.zeros(0, dtype=np.intp), self.reading.expected)

    def begin(self, terms: Terms, near: Terms, fit: Fit) -> Begin:
        return self._usual.begin(terms, near, fit)

    def fit(self, terms: Terms, starts: Sequence[Begin] = (), wide: bool = True) -> Fit:
        """From the last of `starts`, what is known of these terms, or from typical values; there is one climb."""
        mean, spread = self._usual.usual(terms)
        first = starts[-1].theta if starts else mean
        reading = self.reading
        process, read = reading.process(terms, mean), reading.read(mean, terms)
        D, G, units = (
            self.dimensions,
            len(terms),
            np.concatenate([reading.widths, np.full(len(terms), reading.scale.spread**2)]),
        )
        seen = process.fitting(self.data.with_instruments({each: read[each.label] for each in self.data.instruments}))
        problem = Problem.of(process, seen, None, reading.inference)
        given: dict[str, Prior] = {name: Fixed() for name in problem.names}
        for i in range(D + G):
            given[problem.names[i]] = LogNormal(float(mean[i] + np.log(units[i])), float(spread[i]))
        places = {label: i for i, label in enumerate(reading.labels)}
        at = {}
        offset = process.size
        for each in seen.instruments:
            for k, slot in enumerate(each.slots):
                if slot.role == "noise" and each.label in places:
                    q = D + G + places[each.label]
                    at[q] = offset + k
                    given[problem.names[offset + k]] = LogNormal(
                        float(mean[q] + np.log(reading.scale.spread)), float(spread[q])
                    )
            offset += each.size
        problem = Problem.of(process, seen, given, reading.inference)
        rows = np.array([*range(D + G), *(at[q] for q in sorted(at))], dtype=np.intp)
        ours = np.array([*range(D + G), *sorted(at)], dtype=np.intp)
        shift = np.concatenate([np.log(units), np.full(len(at), np.log(reading.scale.spread))])
        begin = problem.theta.copy()
        begin[rows] = first[ours] + shift
        value, found, _, _ = climb(problem, [begin[problem.free]], _ENOUGH)[0]
        theta = first.copy()
        theta[ours] = found[rows] - shift
        evidence = problem.evidence(found)[0].value
        return Fit(theta, value, evidence - 0.5 * len(rows) * float(np.log(max(len(self.data), 2))))

    def log_likelihood(self, terms: Terms, theta: Array) -> float:
        reading = self.reading
        process, read = reading.process(terms, theta), reading.read(theta, terms)
        seen = self.data.with_instruments({each: read[each.label] for each in self.data.instruments})
        return process.posterior(seen, reading.inference).log_evidence

    def asked_for(self, terms: Terms, theta: Array) -> list[tuple[int, int]]:
        """None: these answers have no scores of their own, and each model takes a search by EP."""
        return []
