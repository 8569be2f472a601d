"""The audiogram as audiologists draw it: decibels downwards, octaves to the right, a circle for the right ear."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gainful.errors import MissingExtra
from gainful.hearing.audiometry import HearingTest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_audiogram"]

_LOOKS = (("#D55E00", "o", "-"), ("#0072B2", "x", "--"))  # the first ear red and round, the second blue and crossed
_NORMAL = 20.0  # dB HL: up to here hearing is called normal
_FINE = 97


def plot_audiogram(test: HearingTest, ax: Axes | None = None, level: float = 0.9, tones: bool = True) -> Axes:
    """Thresholds of a test with their intervals, between the frequencies too; with `tones`, those that were played."""
    if ax is None:
        try:
            from matplotlib import pyplot as plt
        except ImportError:
            raise MissingExtra("plot_audiogram", "plots") from None
        ax = plt.subplots(figsize=(6.4, 5.6), layout="constrained")[1]
    known = np.array(test.frequencies)
    ax.axhspan(-10.0, _NORMAL, color="#F1F1F1", lw=0)
    ax.text(float(known[-1]) * 1.12, _NORMAL - 1.0, "normal", color="#767676", fontsize=8, va="bottom", ha="right")
    fine = np.geomspace(known.min(), known.max(), _FINE)
    for ear, (name, (colour, mark, line)) in enumerate(zip(test.ears, _LOOKS, strict=False)):
        band = test.belief.thresholds(fine, [ear] * len(fine), level)
        ax.fill_between(fine, [t.low for t in band], [t.high for t in band], color=colour, alpha=0.15, lw=0)
        ax.plot(fine, [t.median for t in band], color=colour, ls=line, lw=1.2)
        at = test.belief.thresholds(known, [ear] * len(known), level)
        face = "white" if mark == "o" else colour
        ax.plot(
            known,
            [t.median for t in at],
            mark,
            color=colour,
            mfc=face,
            ms=9,
            mew=1.8,
            label=f"{name}, {level:.0%} band",
        )
        if tones:
            _draw_tones(ax, test, ear, colour)
    ax.set_xscale("log")
    ax.set_xticks(known, [f"{f / 1000:g}k" if f >= 1000 else f"{f:g}" for f in known])
    ax.minorticks_off()
    ax.set_xlabel("frequency (Hz)")
    ax.set_ylabel("hearing level (dB HL)")
    ax.set_ylim(120.0, -15.0)
    ax.grid(color="#DDDDDD", lw=0.6)
    ax.set_axisbelow(True)
    if tones and test.answers:
        ax.plot([], [], "^", color="#555555", ms=4, label="tone that was heard")
        ax.plot([], [], "v", color="#555555", mfc="white", ms=4, label="tone that was not")
    ax.set_title(f"after {len(test.answers)} {test.unit}", fontsize=10)
    ax.legend(loc="lower left", fontsize=8, framealpha=0.9)
    return ax


def _draw_tones(ax: Axes, test: HearingTest, ear: int, colour: str) -> None:
    """Small triangles, full where a tone was heard and empty where not; several at one level beside each other."""
    seen: dict[tuple[float, Any], int] = {}
    for (frequency, level, own), yes in ((tone, yes) for tones, yes in test.answers for tone in tones):
        if own != ear or level is None:
            continue
        again = seen[frequency, level] = seen.get((frequency, level), -1) + 1
        x = frequency * 2.0 ** (0.05 * (again + 1) * (1 if ear else -1))
        ax.plot(x, level, "^" if yes else "v", color=colour, mfc=colour if yes else "white", ms=3.5, mew=0.8, alpha=0.8)
