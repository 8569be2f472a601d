"""What answers by yes or no have in common: a threshold, the noise of a reading, guesses and lapses.

    P(yes | g) = guess + (1 − guess − lapse) P(a careful yes | (g − threshold)/noise)

Left out, threshold and noise are 0 and 1: then they say what f is measured in, and nothing is to be learned of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from gainful.errors import InvalidInput, NumericalError
from gainful.instruments.base import YesNo
from gainful.instruments.conventional import unless_stated
from gainful.parameters import Unstated, fraction, positive, real

__all__ = ["Thresholded"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Thresholded(YesNo):
    """A yes/no instrument with guesses and lapses, whose careful answers are about a threshold."""

    guess: Any = fraction(0.0, "rate")
    lapse: Any = fraction(0.0, "rate")
    threshold: Any = unless_stated(real(0.0, "threshold"))
    noise: Any = unless_stated(positive(1.0, "noise", zero=True))

    def __post_init__(self) -> None:
        if self.threshold is not None and self.noise is None:
            object.__setattr__(self, "noise", Unstated(1.0))  # of a threshold in some unit, unknown in that unit
        super().__post_init__()
        if not self.guess + self.lapse < 1.0:
            raise InvalidInput(
                "guess + lapse", "a sum below 1", self.guess + self.lapse, "they are rates of careless answers"
            )

    def mentioned(self, answers: Array) -> Array:
        return np.zeros(0) if self.threshold is None else np.array([self._threshold])

    @property
    def is_scaled(self) -> bool:
        return self.threshold is not None and self.noise is not None

    def _in_unit(self, shift: float, factor: float) -> Self:
        return replace(self, threshold=(self._threshold - shift) / factor, noise=self._noise / factor)

    @property
    def _threshold(self) -> float:
        return 0.0 if self.threshold is None else float(self.threshold)

    @property
    def _noise(self) -> float:
        return 1.0 if self.noise is None else float(self.noise)

    @property
    def _plain(self) -> bool:
        return bool(self.guess == 0.0 and self.lapse == 0.0)

    @property
    def _mixing(self) -> tuple[tuple[float, ...], ...] | None:
        """P(answer | careful answer), for a channel; None where all answers are careful."""
        guess, lapse = float(self.guess), float(self.lapse)
        return None if self._plain else ((1.0 - guess, guess), (lapse, 1.0 - lapse))

    def _weights(self, answers: Array, log_careful: Array) -> tuple[Array, Array, Array]:
        """log P(answer) from that of a careful one, and the shares that come from careful (ω) and careless (1 − ω)
        answers."""
        with np.errstate(divide="ignore"):
            log_floor = np.log(np.where(answers == 1.0, self.guess, self.lapse))
        if not self.guess + self.lapse < 1.0:
            raise NumericalError("guess and lapse rates that sum to 1 leave nothing to learn; give them tighter priors")
        logs = np.log(1.0 - self.guess - self.lapse) + log_careful
        log_z = np.logaddexp(log_floor, logs)
        return log_z, np.exp(logs - log_z), np.exp(log_floor - log_z)

    def _pullback_rates(self, answers: Array, log_careful: Array, log_z: Array) -> list[Array]:
        """d log Z/d logit of the guess and the lapse rate, those of them that are above zero."""
        yes = answers == 1.0
        with np.errstate(over="ignore"):  # without a floor, where it is not used
            careful, one = np.exp(log_careful - log_z), np.exp(-log_z)
        columns = []
        if self.guess > 0.0:
            columns.append(self.guess * (1.0 - self.guess) * np.where(yes, one - careful, -careful))
        if self.lapse > 0.0:
            columns.append(self.lapse * (1.0 - self.lapse) * np.where(yes, -careful, one - careful))
        return columns
