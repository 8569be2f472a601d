"""Bayes' rule over a library of real ears, each as probable as the answers make it: what a test may be compared with.

It knows what ears look like as well as anybody, but no ear that is not in the library: with many answers it ends at the
nearest one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.checks import finite_table, is_number, numbers, require
from gainful.hearing.belief import Tone, answer_entropy
from gainful.hearing.expectations import Listeners
from gainful.hearing.population import hertz_of

__all__ = ["EarLibrary"]

Array = NDArray[np.float64]


class EarLibrary:
    """Thresholds (N, F) of ears at these frequencies, and listeners as they may be: `ask`, `tell`, `mean`."""

    def __init__(self, thresholds: ArrayLike, frequencies: ArrayLike, levels: ArrayLike, listeners: Listeners) -> None:
        self.thresholds, self.listeners = finite_table("thresholds", thresholds), listeners
        self.frequencies, self.levels = hertz_of(frequencies), numbers("levels", levels, "levels in dB HL")
        require(
            self.thresholds.shape[1] == len(self.frequencies), "thresholds", f"{len(self.frequencies)} for each ear",
            self.thresholds.shape, "one for each frequency",
        )  # fmt: skip
        self._logs = np.log(listeners.weight)[:, None] - np.log(len(self.thresholds)) + np.zeros(len(self.thresholds))

    @property
    def weights(self) -> Array:
        """Of each listener with each ear, (Q, N)."""
        found = np.exp(self._logs - self._logs.max())
        return np.asarray(found / found.sum())

    def mean(self) -> Array:
        """The expected threshold at each frequency, (F,)."""
        return np.asarray(self.weights.sum(axis=0) @ self.thresholds)

    def ask(self) -> Tone:
        """The tone that tells most about which ear it is; ears of one threshold at a frequency answer alike there."""
        weights = self.weights
        best = (-1.0, 0, 0)
        for j in range(len(self.frequencies)):
            steps, where = np.unique(self.thresholds[:, j], return_inverse=True)
            mass = np.stack([np.bincount(where, weights=own, minlength=len(steps)) for own in weights])
            heard = self.listeners.hears(self.levels[:, None] - steps)
            yes = np.einsum("qs,qls->ls", mass, heard)
            total = mass.sum(axis=0)
            given = np.divide(yes, total, out=np.zeros_like(yes), where=total > 0.0)
            bits = answer_entropy(yes.sum(axis=1)) - np.sum(total * answer_entropy(given), axis=1)
            i = int(np.argmax(bits))
            best = max(best, (float(bits[i]), -j, -i))
        return Tone(float(self.frequencies[-best[1]]), float(self.levels[-best[2]]))

    def tell(self, tone: Tone, heard: bool) -> None:
        """Whether a tone was heard, at one of the library's frequencies."""
        known = np.flatnonzero(self.frequencies == tone.frequency)
        require(len(known) == 1, "tone", f"a frequency of {self.frequencies.tolist()} Hz", tone.frequency,
                "the library knows no others")  # fmt: skip
        require(_is_level(tone.level), "tone", "a level in dB HL", tone.level, "it learns nothing of silent trials")
        level = float(tone.level)  # type: ignore[arg-type]
        self._logs += self.listeners.log_answer(level - self.thresholds[None, :, known[0]], bool(heard))


def _is_level(value: object) -> bool:
    return is_number(value) and bool(np.isfinite(value))
