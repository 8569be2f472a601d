"""Simulated listeners, who answer as somebody with a known audiogram would."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from gainful.checks import is_number, is_whole, numbers, require, require_positive
from gainful.hearing.belief import Tone, one_or_more
from gainful.hearing.population import hertz_of

__all__ = ["Listener"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Listener:
    """Somebody with these thresholds (E, F) in dB HL at these frequencies, one row for each ear.

    Between the frequencies thresholds lie on straight lines over the logarithm of the frequency, and beyond them they
    are those at the end.

    >>> somebody = Listener([[10.0, 40.0]], [1000.0, 4000.0], spread=4.0, guess=0.0, lapse=0.0)
    >>> somebody.threshold(2000.0), somebody.chance(Tone(2000.0, 25.0))
    (25.0, 0.5)
    """

    thresholds: ArrayLike
    frequencies: ArrayLike
    spread: float = 4.0
    guess: float = 0.02
    lapse: float = 0.02

    def __post_init__(self) -> None:
        hertz = hertz_of(self.frequencies)
        distinct = len(np.unique(hertz)) == len(hertz) > 0
        require(distinct, "frequencies", "each frequency once", self.frequencies, "give one threshold for each")
        curves = np.atleast_2d(numbers("thresholds", self.thresholds, "decibels HL, a row for each ear"))
        fine = curves.ndim == 2 and curves.shape[1] == len(hertz) and len(curves) > 0
        require(
            fine, "thresholds", f"a row of {len(hertz)} for each ear", curves.shape, "one threshold for each frequency"
        )
        require(bool(np.isfinite(curves).all()), "thresholds", "finite decibels HL", self.thresholds, "leave gaps out")
        require_positive("spread", self.spread, "in dB; 4 is typical")
        for name, rate in (("guess", self.guess), ("lapse", self.lapse)):
            fine = is_number(rate) and 0.0 <= rate <= 1.0
            require(fine, name, "a rate from 0 to 1", rate, "0.02 is typical")
        total = self.guess + self.lapse
        require(total <= 1.0, "lapse", f"at most {1.0 - self.guess:g}, as guess is {self.guess:g}", self.lapse,
                "louder tones cannot be heard less often")  # fmt: skip
        order = np.argsort(hertz)
        object.__setattr__(self, "frequencies", hertz[order])
        object.__setattr__(self, "thresholds", curves[:, order])

    def threshold(self, frequency: float, ear: int = 0) -> float:
        """In dB HL."""
        curves = np.asarray(self.thresholds, dtype=float)
        fine = is_whole(ear) and 0 <= ear < len(curves)
        require(fine, "ear", f"a number below {len(curves)}", ear, "ears count from 0")
        require_positive("frequency", frequency, "in Hz")
        return float(np.interp(np.log2(frequency), np.log2(np.asarray(self.frequencies, dtype=float)), curves[ear]))

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
