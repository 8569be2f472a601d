"""An interval that contains a noisy reading; either end may be infinite, so censored answers are intervals too."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.checks import as_numbers, refuse, require_positive
from gainful.errors import InvalidInput
from gainful.instruments import window
from gainful.instruments.answers import IntervalAnswers
from gainful.instruments.base import LARGEST, Derivatives, Instrument, Outcomes, Partition
from gainful.instruments.channel import Channel
from gainful.numerics.normal import log_ndtr_between
from gainful.numerics.quadrature import panels
from gainful.parameters import positive

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Interval(Instrument):
    """The answer (a, b) says a ≤ f(x) + ε ≤ b with ε ~ N(0, noise²); noise = 0 is a hard interval.

    P(answer | f) = Φ((b − f)/noise) − Φ((a − f)/noise). With a `width` the instrument always reports [a, a + width],
    where the reading is uniform within it; `width=None` accepts answers of any width, infinite ends included.
    """

    answer_axes: ClassVar[int] = 1
    answer_words: ClassVar[str] = "two ends (a, b)"
    spans: ClassVar[tuple[str, ...]] = ("noise", "width")
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

    @property
    def answers(self) -> str:
        return "real"

    @property
    def is_predictable(self) -> bool:
        return self.width is not None

    def channel(self) -> Channel:
        return Channel(float(self.noise), width=self._known_width())

    def encode(self, answer: Any) -> list[float]:
        return [float(end) for end in answer]

    def describe(self, answer: Any) -> str:
        return f"between {answer[0]:.4g} and {answer[1]:.4g}"

    def mentioned(self, answers: Array) -> Array:
        known = answers[np.isfinite(answers).any(axis=1)]
        return np.asarray(np.where(np.isfinite(known), known, known[:, ::-1]).mean(axis=1))

    def log_prob(self, answers: Array, g: Array) -> Array:
        return self.derivatives(answers, g).log_p

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

    def predict(self, m: Array, v: Array) -> IntervalAnswers:
        return IntervalAnswers(m, v + self.noise**2, self._known_width())

    def outcomes(self, m: Array, v: Array, means: bool = True) -> Outcomes:
        return Outcomes(*_nodes(m, v + self.noise**2, self._known_width()))

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


_EDGE = 7.0  # spreads around an interval's end within which it tells something


def _nodes(mean: Array, variance: Array, width: float) -> tuple[Array, Array]:
    """Answers (a, a + width), (Q, M, 2), and their weights (Q, M): a has density (Φ((a + w − m)/s) − Φ((a − m)/s))/w.

    Symmetric about a = m − w/2, so one panel and its mirror image: a − m from max(−w/2, −7 s) to 7 s, and one node for
    where the belief lies well inside, which tells nothing.
    """
    s = np.maximum(np.sqrt(variance), 1e-300)
    start = np.maximum(-0.5 * width, -_EDGE * s)
    x, w = panels(np.stack([start, _EDGE * s], axis=-1), 40)
    low = x.T
    density = np.exp(log_ndtr_between(low / s, (low + width) / s, np.broadcast_to(width / s, low.shape))) / width
    side = w.T * density
    inside = np.maximum(width - 2.0 * _EDGE * s, 0.0) / width
    weight = np.concatenate([side, side, inside[None]])
    lower = mean + np.concatenate([low, -width - low, np.full_like(low[:1], -0.5 * width)])
    return np.stack([lower, lower + width], axis=-1), weight / weight.sum(axis=0)
