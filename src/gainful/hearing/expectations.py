"""What is expected of a listener before the first tone, beside the shape of the ear: spread, guesses and lapses.

Everything that an audiologist might want to state otherwise is here, in dB and as shares of answers.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr

from gainful.checks import is_number, require
from gainful.numerics.normal import log_of_rest

__all__ = ["FREQUENCIES", "LEVELS", "Listeners", "expected_listeners"]

Array = NDArray[np.float64]

FREQUENCIES = (500.0, 1000.0, 2000.0, 3000.0, 4000.0, 6000.0, 8000.0)  # Hz: what a standard audiogram has
LEVELS = tuple(float(level) for level in range(-10, 111, 5))  # dB HL: what an audiometer plays

SPREAD, FACTOR = 4.5, 1.7  # dB: the typical spread of a psychometric function, and by what factor people differ
RATES = (0.02, 0.07, 0.3)  # of careless answers: attentive, distracted, guessing
CHANCES = (0.5, 0.45, 0.05)  # how many listeners are like that

# Four nodes and weights of the standard normal distribution: the spread is integrated over by these.
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(4)


class Listeners(NamedTuple):
    """Listeners that somebody may be, with their prior weights: spreads in dB, guess and lapse rates, (Q,) each."""

    spread: Array
    guess: Array
    lapse: Array
    weight: Array

    def hears(self, above: Array) -> Array:
        """P(yes) to a tone so many dB above the threshold, of each listener: (Q, …)."""
        return np.asarray(np.exp(self.log_answer(above[None], yes=True)))

    def heard_at(self, levels: ArrayLike, thresholds: Array) -> Array:
        """P(yes) to tones of these levels if this is the threshold, of each listener: (Q, L, T). A test asks for the
        same ones in every trial, and they are kept."""
        given = tuple(float(level) for level in np.asarray(levels, dtype=float))
        return _heard_at(*(each.tobytes() for each in self[:3]), given, thresholds.tobytes())

    def log_answer(self, above: Array, yes: bool) -> Array:
        """log P(yes) or log P(no) to tones so many dB above the threshold (k, …), of each listener: (Q, …).

        Of several tones it is enough to hear one.
        """
        shape = (-1, *(1,) * (np.ndim(above) - 1))
        guess, lapse = self.guess.reshape(shape), self.lapse.reshape(shape)
        unit = self.spread.reshape(-1, *(1,) * np.ndim(above))
        if len(above) == 1:
            careful = log_ndtr((above if yes else -above) / unit)[:, 0]
        else:
            missed = log_ndtr(-above / unit).sum(axis=1)
            careful = log_of_rest(missed) if yes else missed
        with np.errstate(divide="ignore"):
            return np.asarray(np.logaddexp(np.log(guess if yes else lapse), np.log1p(-guess - lapse) + careful))


@lru_cache(maxsize=8)
def _heard_at(spread: bytes, guess: bytes, lapse: bytes, levels: tuple[float, ...], thresholds: bytes) -> Array:
    listeners = Listeners(*(np.frombuffer(each) for each in (spread, guess, lapse, lapse)))
    found = listeners.hears(np.array(levels)[:, None] - np.frombuffer(thresholds))
    found.flags.writeable = False
    return found


def expected_listeners(
    spread: float | None = None, guess: float | None = None, lapse: float | None = None
) -> Listeners:
    """All that are possible: what is stated is known, what is None has the prior above.

    >>> len(expected_listeners().weight), len(expected_listeners(4.0, 0.02, 0.02).weight)
    (24, 1)
    """
    for name, rate in (("guess", guess), ("lapse", lapse)):
        fine = rate is None or (is_number(rate) and 0.0 <= rate < 0.5)
        require(fine, name, "a rate from 0 to below 0.5, or None", rate, "leave it out where it is not known")
    fine = spread is None or (is_number(spread) and 0.1 <= spread <= 50.0)
    require(fine, "spread", "decibels from 0.1 to 50, or None", spread, "leave it out where it is not known")
    spreads = [(SPREAD * FACTOR**z, w) for z, w in zip(_NODES, _WEIGHTS / _WEIGHTS.sum(), strict=True)]
    # Those who guess at nothing are rarely those who miss what they hear: of both rates one at most is the highest.
    rates = [
        (g, m, a * b) for g, a in zip(RATES, CHANCES, strict=True) for m, b in zip(RATES[:2], CHANCES[:2], strict=True)
    ]
    some = [(float(spread), 1.0)] if spread is not None else spreads
    if guess is not None:
        rates = [(float(guess), m, b) for m, b in zip(RATES[:2], CHANCES[:2], strict=True)]
    if lapse is not None:
        rates = [
            (g, float(lapse), sum(w for h, _, w in rates if h == g)) for g in dict.fromkeys(g for g, _, _ in rates)
        ]
    table = np.array([(s, g, m, a * b) for s, a in some for g, m, b in rates])
    return Listeners(table[:, 0], table[:, 1], table[:, 2], table[:, 3] / table[:, 3].sum())
