"""Real ears: thresholds of both ears of eleven thousand people (NHANES 1999 to 2020), apart for fitting and testing.

People are kept apart, not ears: one in five is held back, by the number of the person.

    .venv/bin/python -m gainful.papers.gardner2018.ears src/gainful/hearing/population.json

fits the population that comes with gainful again, from the others.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainful.hearing import fit_population
from gainful.lab import data_file

__all__ = ["People", "people"]

Array = NDArray[np.float64]

FILE = "nhanes_audiograms.npz"
_CLASSES, _HELD = 16, 5


class People(NamedTuple):
    """Thresholds (N, 2, F) in dB HL of the right and the left ear, ages (nan where unknown), the frequencies in Hz."""

    both: Array
    ages: Array
    frequencies: Array

    @property
    def average(self) -> Array:
        """The pure-tone average of each ear, (N, 2): over 500, 1000, 2000 and 4000 Hz."""
        at = np.isin(self.frequencies, (500.0, 1000.0, 2000.0, 4000.0))
        return np.asarray(self.both[:, :, at].mean(axis=2))


@cache
def people(held: bool) -> People:
    """Those with both ears measured that were held back, or the others."""
    with np.load(data_file(FILE)) as stored:
        thresholds, number, ear = stored["thresholds"].astype(float), stored["seqn"], stored["ear"]
        ages, frequencies = stored["age"].astype(float), stored["freq_hz"].astype(float)
    right, left = np.flatnonzero(ear == "R"), np.flatnonzero(ear == "L")
    known, at, other = np.intersect1d(number[right], number[left], return_indices=True)
    mine = (known % _HELD == 0) == held
    right, left = right[at[mine]], left[other[mine]]
    return People(np.stack([thresholds[right], thresholds[left]], axis=1), ages[right], frequencies)


def main() -> None:
    known = people(held=False)
    found = fit_population(
        known.both, known.frequencies.tolist(), _CLASSES, known.ages,
        provenance=f"A mixture of {_CLASSES} normal distributions, fitted to both ears of {len(known.both)} people of "
        "the National Health and Nutrition Examination Survey (NHANES, 1999 to 2020; public domain), by "
        f"gainful.hearing.fit_population. One in {_HELD}, those whose number is divisible by it, was left out for "
        "testing.",
    )  # fmt: skip
    Path(sys.argv[1]).write_text(json.dumps(found.stored(), separators=(",", ":")) + "\n", encoding="utf-8")
    for weight, name, mean in zip(found.weights, found.names, found.mean, strict=True):
        print(f"{weight:6.1%}  {name:28s} {mean.round().astype(int).tolist()}")
    print(f"roughness {found.roughness:.1f} dB an octave")


if __name__ == "__main__":
    main()
