"""Yes or no: whether a reading passes a threshold, with optional guessing and lapsing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from gainful.instruments import window
from gainful.instruments.answers import DiscreteAnswers
from gainful.instruments.base import Derivatives, Partition
from gainful.instruments.channel import Channel
from gainful.instruments.thresholded import Thresholded

Array = NDArray[np.float64]
_SURE = 1e-150  # a spread below which the answer is certain


@dataclass(frozen=True)
class Binary(Thresholded):
    """P(yes | f) = guess + (1 − guess − lapse) Φ((f(x) − threshold)/noise).

    Pass or fail: whether f(x) + ε, ε ~ N(0, noise²), exceeds a threshold in the function's unit. Left out, threshold
    and noise are 0 and 1: then they say what f is measured in, and there is nothing to learn about them. A noise that
    is left out beside a threshold is learned, where other answers tell the scale of f. A noise of 0 is a hard limit.

    A guess or lapse rate above zero makes the likelihood bounded away from zero and no longer log-concave: an answer
    that contradicts a confident belief then widens it, and its site has negative precision. Inference allows for that.
    """

    def channel(self) -> Channel:
        return Channel(self._noise, (self._threshold,), self._mixing)

    def _ends(self, answers: Array) -> tuple[Array, Array]:
        return window.half_line(answers, self._threshold)

    def log_prob(self, answers: Array, g: Array) -> Array:
        z = (g - self._threshold) / max(self._noise, _SURE)
        log_phi = log_ndtr(np.where(answers == 1.0, z, -z))
        return log_phi if self._plain else self._weights(answers, log_phi)[0]

    def log_partition(self, answers: Array, m: Array, v: Array) -> Partition:
        probit = window.partition(*self._ends(answers), self._noise, m, v)
        if self._plain:
            return probit
        log_z, careful, careless = self._weights(answers, probit.log_z)
        spread = careful * careless * probit.d1**2
        d1, d2 = careful * probit.d1, careful * probit.d2 + spread
        third, fourth = _mixed(careful, np.sqrt(v) * probit.d1, v * probit.d2, probit.third, probit.fourth)
        return Partition(log_z, d1, d2, careless + careful * probit.shrink + v * spread, third, fourth)

    def derivatives(self, answers: Array, g: Array) -> Derivatives:
        probit = window.derivatives(*self._ends(answers), self._noise, g)
        if self._plain:
            return probit
        log_p, careful, careless = self._weights(answers, probit.log_p)
        third, _ = _mixed(careful, probit.d1, probit.d2, probit.d3, np.zeros_like(g))
        second = careful * probit.d2 + careful * careless * probit.d1**2
        return Derivatives(log_p, careful * probit.d1, second, third)

    def pullback_theta(self, answers: Array, m: Array, v: Array) -> Array:
        ends = self._ends(answers)
        probit = window.partition(*ends, self._noise, m, v)
        log_z, careful, _ = self._weights(answers, probit.log_z)
        columns = self._pullback_rates(answers, probit.log_z, log_z)
        if self.threshold is not None:
            columns.append(-careful * probit.d1)
        if self.noise is not None and self.noise > 0.0:
            columns.append(careful * window.pullback_noise(*ends, self._noise, m, v))
        return np.column_stack(columns) if columns else np.zeros((len(m), 0))

    def window(self, answers: Array) -> Array | None:
        return window.bounds(*self._ends(answers), self._noise) if self._plain else None

    def predict(self, m: Array, v: Array) -> DiscreteAnswers:
        z = (m - self._threshold) / np.maximum(np.sqrt(v + self._noise**2), _SURE)
        logs = [log_ndtr(-z), log_ndtr(z)]
        if not self._plain:
            logs = [
                self._weights(np.full_like(m, answer), log)[0] for answer, log in zip((0.0, 1.0), logs, strict=True)
            ]
        return DiscreteAnswers((0.0, 1.0), np.column_stack(logs))

    def simulate(self, g: Array, rng: np.random.Generator) -> Array:
        p = np.exp(self.log_prob(np.ones_like(g), g))
        return (rng.random(np.shape(g)) < p).astype(float)


def _mixed(share: Array, d1: Array, d2: Array, d3: Array, d4: Array) -> tuple[Array, Array]:
    """Third and fourth derivative of log(p + constant), in which p has this share, from the derivatives of log p."""
    # p′/p and so on of the mixture, then back to derivatives of the logarithm.
    a, b = share * d1, share * (d2 + d1**2)
    c = share * (d3 + 3.0 * d1 * d2 + d1**3)
    e = share * (d4 + 4.0 * d1 * d3 + 3.0 * d2**2 + 6.0 * d1**2 * d2 + d1**4)
    return c - 3.0 * a * b + 2.0 * a**3, e - 4.0 * a * c - 3.0 * b**2 + 12.0 * a**2 * b - 6.0 * a**4
