"""A number that comes with its own standard error."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.checks import as_numbers, is_number, refuse, require
from gainful.errors import InvalidInput
from gainful.instruments.answers import MeasuredAnswers
from gainful.instruments.base import LARGEST, Derivatives, Instrument, Outcomes, Partition, require_unit
from gainful.instruments.channel import Channel
from gainful.instruments.point import normal_nodes, normal_partition

__all__ = ["PointWithError"]

Array = NDArray[np.float64]
_SMALLEST = 1e-100  # of an error that is not 0: below, its square is no number


@dataclass(frozen=True)
class PointWithError(Instrument):
    """The answer (y, e) is y = f(x) + ε with ε ~ N(0, e²): each reading has its own standard error, e = 0 none.

    `noise` is the error that the next answer is expected to have: what a campaign counts on when it weighs this
    instrument. It plays no part in what is learned from answers, so that there is nothing to fit.

    >>> PointWithError(noise=0.5).log_prob(np.array([[1.0, 2.0]]), np.array([1.0])).round(4).tolist()
    [-1.6121]
    """

    answer_axes: ClassVar[int] = 1
    answer_words: ClassVar[str] = "a value and its standard error (y, e)"
    gaussian: ClassVar[bool] = True
    spans: ClassVar[tuple[str, ...]] = ("noise",)
    noise: float = 0.1
    buckets: int = field(default=100, kw_only=True)  # how many readings count as different, for normalised scores

    def __post_init__(self) -> None:
        fine = is_number(self.noise) and (self.noise == 0.0 or _SMALLEST <= self.noise <= LARGEST)
        require(fine, "noise", "a finite number, at least 0", self.noise, "the error that an answer usually comes with")
        object.__setattr__(self, "noise", float(self.noise))
        super().__post_init__()

    @property
    def answers(self) -> str:
        return "real"

    @property
    def levels(self) -> int:
        return self.buckets

    def channel(self) -> Channel:
        return Channel(self.noise)

    def reading(self, answers: Array) -> Array:
        return answers

    def mentioned(self, answers: Array) -> Array:
        return answers[:, 0]

    def validate(self, answers: ArrayLike, n: int) -> Array:
        pairs = as_numbers(answers, (n, 2), f"{n} pairs (y, e)")
        y, error = pairs.T
        refuse(~(np.isfinite(y) & np.isfinite(error)), pairs, "finite numbers", "leave missing answers out")
        refuse(np.abs(y) > LARGEST, pairs, f"numbers up to {LARGEST:.0e}", "check the units")
        refuse(
            error < 0.0, pairs, "a standard error that is positive, or 0", "give (value, standard error), in this order"
        )
        beyond = (error != 0.0) & ~((error >= _SMALLEST) & (error <= LARGEST))
        refuse(beyond, pairs, f"standard errors from {_SMALLEST:.0e} to {LARGEST:.0e}, or 0", "check the units")
        return pairs

    def encode(self, answer: Any) -> list[float]:
        return [float(each) for each in answer]

    def describe(self, answer: Any) -> str:
        return f"{answer[0]:.4g} ± {answer[1]:.2g}"

    def rescale_answers(self, answers: Array, shift: float, factor: float) -> Array:
        require_unit(shift, factor)
        return (answers - np.array([shift, 0.0])) / factor

    def log_prob(self, answers: Array, g: Array) -> Array:
        return normal_partition(answers[..., 0], answers[..., 1], g, np.zeros_like(g)).log_z

    def log_partition(self, answers: Array, m: Array, v: Array) -> Partition:
        return normal_partition(answers[..., 0], answers[..., 1], m, v)

    def derivatives(self, answers: Array, g: Array) -> Derivatives:
        if np.any(answers[..., 1] == 0.0):
            raise InvalidInput("answers", "positive errors for Laplace", 0.0, "use exact inference or EP")
        p = self.log_partition(answers, g, np.zeros_like(g))
        return Derivatives(p.log_z, p.d1, p.d2, np.zeros_like(g))

    def pullback_theta(self, answers: Array, m: Array, v: Array) -> Array:
        return np.zeros((len(m), 0))

    def predict(self, m: Array, v: Array) -> MeasuredAnswers:
        return MeasuredAnswers(m, v, self.noise)

    def outcomes(self, m: Array, v: Array, means: bool = True) -> Outcomes:
        y, weight = normal_nodes(m, v + self.noise**2, means)
        return Outcomes(np.stack([y, np.full_like(y, self.noise)], axis=-1), weight)

    def simulate(self, g: Array, rng: np.random.Generator) -> Array:
        y = g + self.noise * rng.standard_normal(np.shape(g))
        return np.stack([y, np.full_like(y, self.noise)], axis=-1)
