"""Which of two places is better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from gainful.instruments import window
from gainful.instruments.answers import DiscreteAnswers
from gainful.instruments.base import Derivatives, Partition, YesNo
from gainful.instruments.channel import Channel
from gainful.parameters import positive

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Preference(YesNo):
    """A query is a pair (u, v); True says that u is preferred: f(u) + ε_u > f(v) + ε_v, each ε ~ N(0, noise²) (Houlsby
    et al. 2011, sec. 3.2).

    P(True | f) = Φ((f(u) − f(v))/(√2 noise)). The default noise, 1/√2, makes that Φ(f(u) − f(v)).
    """

    query: ClassVar[str] = "pair"
    spans: ClassVar[tuple[str, ...]] = ("noise",)
    noise: Any = positive(float(np.sqrt(0.5)), "noise", zero=True)

    @property
    def _spread(self) -> float:
        return float(np.sqrt(2.0)) * float(self.noise)

    def channel(self) -> Channel:
        return Channel(self._spread, (0.0,))

    def log_prob(self, answers: Array, g: Array) -> Array:
        return self.derivatives(answers, g).log_p

    def log_partition(self, answers: Array, m: Array, v: Array) -> Partition:
        return window.partition(*window.half_line(answers), self._spread, m, v)

    def derivatives(self, answers: Array, g: Array) -> Derivatives:
        return window.derivatives(*window.half_line(answers), self._spread, g)

    def pullback_theta(self, answers: Array, m: Array, v: Array) -> Array:
        if self.noise == 0.0:
            return np.zeros((len(m), 0))
        return window.pullback_noise(*window.half_line(answers), self._spread, m, v)[:, None]

    def window(self, answers: Array) -> Array:
        return window.bounds(*window.half_line(answers), self._spread)

    def predict(self, m: Array, v: Array) -> DiscreteAnswers:
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.nan_to_num(m / np.sqrt(v + self._spread**2), nan=0.0)  # 0/0: no difference and no noise, a toss-up
        return DiscreteAnswers((0.0, 1.0), np.column_stack([log_ndtr(-z), log_ndtr(z)]))

    def simulate(self, g: Array, rng: np.random.Generator) -> Array:
        return (g + self._spread * rng.standard_normal(np.shape(g)) > 0.0).astype(float)
