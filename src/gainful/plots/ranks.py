"""Ranks of truths among draws: a histogram that should be even, with the band in which it then lies."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from gainful.numerics.ranks import Ranks
from gainful.plots.pen import BELIEF, GUIDE

__all__ = ["plot_ranks"]


def plot_ranks(axes: Axes, ranks: Ranks, name: str) -> None:
    """How many truths have each rank, over the band of 99 %."""
    low, high = ranks.band()
    edges = np.arange(ranks.bins + 1) * (ranks.draws + 1) / ranks.bins
    axes.axhspan(low, high, color=GUIDE, alpha=0.25, lw=0)
    axes.axhline(len(ranks.values) / ranks.bins, color=GUIDE, lw=1)
    axes.stairs(ranks.counts, edges - 0.5, fill=True, color=BELIEF, alpha=0.8)
    axes.set_xlabel("rank of the truth")
    axes.set_title(f"{name}, p = {ranks.p_value:.2g}", fontsize="medium")
    axes.spines[["top", "right"]].set_visible(False)
