"""The clinical test: the modified Hughson-Westlake procedure, ten decibels down and five up (Carhart & Jerger 1959)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from gainful.checks import require, require_finite, require_positive
from gainful.hearing.belief import Tone

__all__ = ["Staircase", "hughson_westlake"]

_MOST = 60  # tones at a frequency, of somebody whose answers never agree


class Staircase(NamedTuple):
    """The threshold in dB HL, and how many tones it took."""

    threshold: float
    tones: int


def hughson_westlake(
    hears: Callable[[Tone], bool], frequency: float, ear: int = 0, first: float = 30.0, lowest: float = -10.0,
    highest: float = 110.0,
) -> Staircase:  # fmt: skip
    """Ten dB down after a yes, five up after a no; the threshold is the lowest level at which two of up to three tones
    that were come to from below were heard.

    The first tone is `first` dB; louder by 20 until one is heard. Reported thresholds lie above the level that is heard
    half of the time by about half a step.
    """
    for name, value in (("first", first), ("lowest", lowest), ("highest", highest)):
        require_finite(name, value, "levels are in dB HL")
    require(lowest < highest, "lowest", f"less than highest, {highest:g} dB HL", lowest, "give the quieter level here")
    fine = lowest <= first <= highest
    require(fine, "first", f"a level from {lowest:g} to {highest:g} dB HL", first, "begin with one that can be played")
    require_positive("frequency", frequency, "in Hz")
    level, tones = first, 0

    def heard() -> bool:
        nonlocal tones
        tones += 1
        return hears(Tone(frequency, level, ear))

    while not heard():
        if level >= highest:
            return Staircase(highest, tones)
        level = min(level + 20.0, highest)
    rising: dict[float, list[bool]] = {}
    last = True  # the last tone was heard: the next is quieter
    while tones < _MOST:
        level = max(level - 10.0, lowest) if last else min(level + 5.0, highest)
        ascending = not last
        last = heard()
        if ascending or level == lowest:
            at = rising.setdefault(level, [])
            at.append(last)
            if sum(at[-3:]) >= 2:
                return Staircase(level, tones)
        if level == highest and not last:
            return Staircase(highest, tones)
    known = [each for each, answers in rising.items() if any(answers)]
    return Staircase(min(known, default=level), tones)
