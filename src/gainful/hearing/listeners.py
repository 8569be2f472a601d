"""Simulated listeners, who answer as somebody with a known audiogram would."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from gainful.hearing.belief import Tone, one_or_more

__all__ = ["Listener"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Listener:
    """Somebody with these thresholds (E, F) in dB HL at these frequencies, one row for each ear.

    Between the frequencies thresholds lie on straight lines over the logarithm of the frequency.

    >>> somebody = Listener([[10.0, 40.0]], [1000.0, 4000.0], spread=4.0, guess=0.0, lapse=0.0)
    >>> somebody.threshold(2000.0), somebody.chance(Tone(2000.0, 25.0))
    (25.0, 0.5)
    """

    thresholds: ArrayLike
    frequencies: ArrayLike
    spread: float = 4.0
    guess: float = 0.02
    lapse: float = 0.02

    def threshold(self, frequency: float, ear: int = 0) -> float:
        """In dB HL."""
        at = np.log2(np.asarray(self.frequencies, dtype=float))
        return float(np.interp(np.log2(frequency), at, np.atleast_2d(np.asarray(self.thresholds, dtype=float))[ear]))

    def chance(self, tones: Tone | Sequence[Tone]) -> float:
        """The probability of a yes: of several tones it is enough to hear one."""
        played = [tone for tone in one_or_more(tones) if tone.level is not None]
        above = np.array([tone.level - self.threshold(tone.frequency, tone.ear) for tone in played])  # type: ignore[operator]
        heard = 1.0 - np.prod(ndtr(-above / self.spread))
        return float(self.guess + (1.0 - self.guess - self.lapse) * heard)

    def answer(self, tones: Tone | Sequence[Tone], rng: np.random.Generator) -> bool:
        return bool(rng.random() < self.chance(tones))

    def with_notch(self, depth: float, centre: float, width: float) -> Listener:
        """The same person with a notch in both ears: so many dB deeper at this frequency, of this width in octaves."""
        off = np.log2(np.asarray(self.frequencies, dtype=float) / centre) / width
        return replace(self, thresholds=np.asarray(self.thresholds, dtype=float) + depth * np.exp(-0.5 * off**2))
