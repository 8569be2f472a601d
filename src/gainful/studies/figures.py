"""The figures of an optimisation, drawn from what was found."""

from __future__ import annotations

import math
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, MaxNLocator
from numpy.typing import NDArray

from gainful.plots import BELIEF, COLOURS, GUIDE
from gainful.studies.minimum import Minimum
from gainful.studies.slices import Slice

__all__ = ["draw_progress", "draw_slices"]

_COLUMNS = 3
_POINTS = 40  # whole numbers that are drawn one by one; more make a line
_TICKS = 8  # whole numbers that each have a label
_STEEP = 100.0  # from the largest to the smallest value, where all are positive: a logarithmic scale shows both


def draw_progress(found: Minimum, called: str) -> Figure:
    """Every value in the order of asking, and the best so far; failures along the edge."""
    figure, ax = plt.subplots(figsize=(7.5, 2.9), layout="constrained")
    numbers, values = np.arange(1, len(found.values) + 1), found.values
    best = np.append(found.best_so_far, found.best_so_far[-1:])  # it holds beyond the last one
    ax.step(np.arange(1, len(best) + 1), best, where="post", color=BELIEF, linewidth=1.6, zorder=2)
    ax.plot(numbers, values, "o", color=GUIDE, markersize=4, markeredgewidth=0.0, zorder=1)
    known = values[np.isfinite(values)]
    if len(known) and known.min() > 0.0 and known.max() > _STEEP * known.min():
        ax.set_yscale("log")
    if np.any(failed := np.isnan(values)):
        style: dict[str, Any] = {"markersize": 5, "markeredgewidth": 1.4, "clip_on": False}
        ax.plot(
            numbers[failed], np.ones(failed.sum()), "x", color=COLOURS[0], transform=ax.get_xaxis_transform(), **style
        )
    ax.set_xlim(0.5, len(values) + 0.5)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.set_xlabel("evaluation")
    ax.set_ylabel(called)
    ax.spines[["top", "right"]].set_visible(False)
    return _taken(figure)


def draw_slices(slices: list[Slice], called: str) -> Figure:
    """One panel for each dimension, all on one scale: the mean and its band, the others as at the best place."""
    columns = min(_COLUMNS, len(slices))
    rows = math.ceil(len(slices) / columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(2.6 * columns, 2.3 * rows), layout="constrained", sharey=True, squeeze=False
    )
    figure.get_layout_engine().set(wspace=0.09, hspace=0.06)  # type: ignore[union-attr, call-arg]
    for ax, each in zip(axes.flat, slices, strict=False):
        _draw_slice(ax, each)
    for ax in axes.flat[len(slices) :]:
        ax.set_visible(False)
    for row in axes:
        row[0].set_ylabel(called)
    return _taken(figure)


def _draw_slice(ax: Axes, each: Slice) -> None:
    few = each.labels is not None or (each.whole and len(each.x) <= _POINTS)
    if not few:
        ax.fill_between(each.x, each.low, each.high, color=BELIEF, alpha=0.18, linewidth=0)
        ax.plot(each.x, each.mean, color=BELIEF, linewidth=1.5)
        ax.axvline(each.best, color=COLOURS[0], linewidth=1.2, clip_on=False, zorder=4)  # also at an end of the range
        if each.log:
            ax.set_xscale("log")
        elif each.whole:
            ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))
        else:
            ax.xaxis.set_major_locator(MaxNLocator(nbins=4))
        ax.set_xlim(each.x[0], each.x[-1])
    else:
        x: NDArray[Any] = each.x
        away = np.maximum(np.stack([each.mean - each.low, each.high - each.mean]), 0.0)  # a narrow band is rounded too
        small = 1.0 if len(x) <= _POINTS // 2 else 0.7
        ax.errorbar(x, each.mean, yerr=away, fmt="o", color=BELIEF, markersize=4.5 * small, linewidth=1.2 * small)
        here = np.argmin(np.abs(x - each.best))
        ax.plot(x[here], each.mean[here], "o", color=COLOURS[0], markersize=5.5 * small, zorder=4)
    if each.labels is not None:
        turned = sum(map(len, each.labels)) > 18
        ax.set_xticks(x, each.labels, rotation=35 if turned else 0, ha="right" if turned else "center")
        ax.set_xlim(-0.6, len(x) - 0.4)
    elif few:
        if each.log:
            ax.set_xscale("log")
            ax.set_xlim(x[0] / 1.1, x[-1] * 1.1)
            marked = [int(value) for value in x if str(int(value)).rstrip("0") in ("1", "2", "5")]
            ax.set_xticks(marked, [str(value) for value in marked])
            ax.set_xticks([], minor=True)
        else:
            every = len(x) <= _TICKS
            ax.xaxis.set_major_locator(FixedLocator(x.tolist()) if every else MaxNLocator(integer=True, nbins=5))
            ax.set_xlim(x[0] - 0.6, x[-1] + 0.6)
    if len(each.failed):
        low = np.full(len(each.failed), 0.03)
        ax.plot(
            each.failed, low, "x", color=COLOURS[0], markersize=4, markeredgewidth=1.0, clip_on=False, zorder=3,
            transform=ax.get_xaxis_transform(),
        )  # fmt: skip
    ax.set_xlabel(each.called)
    ax.spines[["top", "right"]].set_visible(False)


def _taken(figure: Any) -> Figure:
    """The figure, which pyplot need not remember any more."""
    plt.close(figure)
    assert isinstance(figure, Figure)
    return figure
