"""The audiogram as audiologists draw it: decibels downwards, octaves to the right, a circle for the right ear."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gainful.errors import MissingExtra
from gainful.hearing.audiometry import HearingTest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_audiogram"]


class _Look(NamedTuple):
    colour: str
    mark: str
    line: str
    side: int  # of a frequency's line that small marks and arrows go to


_RIGHT, _LEFT = _Look("#C1272D", "o", "-", -1), _Look("#0072B2", "x", "--", 1)
_NAMED = {"right": _RIGHT, "r": _RIGHT, "left": _LEFT, "l": _LEFT}
_NORMAL = 20.0  # dB HL: up to here hearing is called normal
_FINE = 97
_ALONE = 2.0**0.5  # times and part of the only frequency: what is shown around it
_ARROW = 0.18  # inches


def plot_audiogram(test: HearingTest, ax: Axes | None = None, level: float = 0.9, tones: bool = True) -> Axes:
    """Thresholds of a test with their intervals, between the frequencies too; with `tones`, those that were played.

    The right ear is red and round and the left one blue and crossed, by their names; ears of other names in that order.
    A threshold beyond the loudest tone stands at that tone, with the arrow of no response.
    """
    if ax is None:
        try:
            from matplotlib import pyplot as plt
        except ImportError:
            raise MissingExtra("plot_audiogram", "plots") from None
        ax = plt.subplots(figsize=(6.4, 5.6), layout="constrained")[1]
    from matplotlib.transforms import ScaledTranslation

    known, loudest = np.array(test.frequencies), max(test.levels)
    around = _ALONE if len(known) == 1 else 1.0
    ax.axhspan(-10.0, _NORMAL, color="#F1F1F1", lw=0)
    fine = np.geomspace(known.min() / around, known.max() * around, _FINE)
    right = float(known.max()) * 1.12 if around == 1.0 else float(fine[-1]) * 0.98
    ax.text(right, _NORMAL - 1.0, "normal", color="#767676", fontsize=8, va="bottom", ha="right")
    ends, silent = [-15.0, 120.0], False
    for ear, (name, look) in enumerate(zip(test.ears, _looks(test.ears), strict=True)):
        band = test.belief.thresholds(fine, [ear] * len(fine), level)
        ax.fill_between(fine, [t.low for t in band], [t.high for t in band], color=look.colour, alpha=0.15, lw=0)
        inside = np.where(test.beyond(fine, ear), np.nan, [t.median for t in band])
        ax.plot(fine, inside, color=look.colour, ls=look.line, lw=1.2)
        ends += [min(t.low for t in band) - 3.0, max(t.high for t in band) + 3.0]
        at = test.belief.thresholds(known, [ear] * len(known), level)
        beyond = test.beyond(known, ear)
        ax.plot(
            known, np.where(beyond, loudest, [t.median for t in at]), look.mark, color=look.colour,
            mfc="white" if look.mark == "o" else look.colour, ms=9, mew=1.8, label=f"{name}, {level:.0%} band",
        )  # fmt: skip
        for hertz in known[beyond]:
            silent = True
            head = ax.transData + ScaledTranslation(look.side * _ARROW, -_ARROW, ax.figure.dpi_scale_trans)
            arrow = {"arrowstyle": "->", "color": look.colour, "lw": 1.5}
            ax.annotate("", (hertz, loudest), (hertz, loudest), head, "data", arrowprops=arrow)
        if tones:
            _draw_tones(ax, test, ear, look)
    ax.set_xscale("log")
    ax.set_xticks(known, [f"{f / 1000:g}k" if f >= 1000 else f"{f:g}" for f in known])
    ax.minorticks_off()
    if len(known) == 1:
        ax.set_xlim(float(fine[0]), float(fine[-1]))
    ax.set_xlabel("frequency (Hz)")
    ax.set_ylabel("hearing level (dB HL)")
    ax.set_ylim(max(ends), min(ends))
    ax.grid(color="#DDDDDD", lw=0.6)
    ax.set_axisbelow(True)
    if tones and test.answers:
        ax.plot([], [], "^", color="#555555", ms=4, label="tone that was heard")
        ax.plot([], [], "v", color="#555555", mfc="white", ms=4, label="tone that was not")
    if silent:
        ax.plot([], [], marker=r"$\swarrow$", color="#555555", ls="", ms=8, label=f"beyond {loudest:g} dB HL")
    ax.set_title(f"after {len(test.answers)} {test.unit}", fontsize=10)
    ax.legend(loc="lower left", fontsize=8, framealpha=0.9)
    return ax


def _looks(ears: Sequence[str]) -> list[_Look]:
    """Of each ear: what its name says, or else what is left."""
    named = [_NAMED.get(name.strip().lower()) for name in ears]
    left = [look for look in (_RIGHT, _LEFT) if look not in named]
    return [look or left.pop(0) for look in named]


def _draw_tones(ax: Axes, test: HearingTest, ear: int, look: _Look) -> None:
    """Small triangles, full where a tone was heard and empty where not; several at one level beside each other."""
    seen: dict[tuple[float, Any], int] = {}
    for (frequency, level, own), yes in ((tone, yes) for tones, yes in test.answers for tone in tones):
        if own != ear or level is None:
            continue
        again = seen[frequency, level] = seen.get((frequency, level), -1) + 1
        x = frequency * 2.0 ** (0.05 * (again + 1) * look.side)
        ax.plot(
            x,
            level,
            "^" if yes else "v",
            color=look.colour,
            mfc=look.colour if yes else "white",
            ms=3.5,
            mew=0.8,
            alpha=0.8,
        )
