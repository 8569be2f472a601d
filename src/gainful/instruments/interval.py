"""An interval that contains a noisy reading; either end may be infinite, so censored answers are intervals too."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.errors import InvalidInput
from gainful.instruments import window
from gainful.instruments.answers import IntervalAnswers
from gainful.instruments.base import LARGEST, Derivatives, Instrument, Partition, as_numbers, refuse, require_positive
from gainful.parameters import positive

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Interval(Instrument):
    """The answer (a, b) says a ≤ f(x) + ε ≤ b with ε ~ N(0, noise²); noise = 0 is a hard interval.

    P(answer | f) = Φ((b − f)/noise) − Φ((a − f)/noise). With a `width` the instrument always reports [a, a + width],
    where the reading is uniform within it; `width=None` accepts answers of any width, infinite ends included.
    """

    answer_axes: ClassVar[int] = 1
    noise: Any = positive(0.1, "noise", zero=True)
    width: float | None = None
    buckets: int = field(default=100, kw_only=True)  # how many readings count as different, for normalised scores

    @property
    def levels(self) -> int:
        return self.buckets

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width is not None:
            require_positive("width", self.width, "None accepts any width")

    def validate(self, answers: ArrayLike, n: int) -> Array:
        ends = as_numbers(answers, (n, 2), f"{n} pairs (a, b)")
        refuse(
            np.isnan(ends[:, 0]) | np.isnan(ends[:, 1]),
            ends,
            "numbers or infinities",
            "use -inf or inf for an open end, never NaN",
        )
        huge = np.any(np.isfinite(ends) & (np.abs(ends) > LARGEST), axis=1)
        refuse(np.asarray(huge), ends, f"numbers up to {LARGEST:.0e}", "check the units; use inf for an open end")
        refuse(~(ends[:, 0] < ends[:, 1]), ends, "a < b", "order the ends; an exact value is a Point answer")
        wrong = np.isposinf(ends[:, 0]) | np.isneginf(ends[:, 1])
        refuse(wrong, ends, "a below infinity and b above minus infinity", "check the ends")
        if self.width is not None:
            refuse(
                ~np.isclose(ends[:, 1] - ends[:, 0], self.width, rtol=1e-6, atol=0.0),
                ends,
                f"intervals of width {self.width}",
                "declare the instrument with width=None to give intervals of any width",
            )
        return ends

    def log_partition(self, answers: Array, m: Array, v: Array) -> Partition:
        return window.partition(answers[:, 0], answers[:, 1], self.noise, m, v)

    def derivatives(self, answers: Array, g: Array) -> Derivatives:
        return window.derivatives(answers[:, 0], answers[:, 1], self.noise, g)

    def pullback_theta(self, answers: Array, m: Array, v: Array) -> Array:
        if self.noise == 0.0:
            return np.zeros((len(m), 0))
        return window.pullback_noise(answers[:, 0], answers[:, 1], self.noise, m, v)[:, None]

    def window(self, answers: Array) -> Array:
        return window.bounds(answers[:, 0], answers[:, 1], self.noise)

    def answers(self, m: Array, v: Array) -> IntervalAnswers:
        return IntervalAnswers(m, v + self.noise**2, self._known_width())

    def simulate(self, g: Array, rng: np.random.Generator) -> Array:
        width = self._known_width()
        reading = g + self.noise * rng.standard_normal(np.shape(g))
        lower = reading - width * rng.random(np.shape(g))
        return np.stack([lower, lower + width], axis=-1)

    def _known_width(self) -> float:
        if self.width is None:
            raise InvalidInput(
                "width", "a number", None, "say how wide this instrument's answers are: Interval(width=...)"
            )
        return self.width
