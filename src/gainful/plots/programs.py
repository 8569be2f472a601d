"""A belief of kernel programs in pictures: its structures, its parts, what it expects, and the period of its cycle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import wrap
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from numpy.typing import ArrayLike, NDArray

from gainful.beliefs.programs import ProgramBelief
from gainful.beliefs.programs.words import Axis, percent, quantiles
from gainful.checks import require, require_count, require_kind
from gainful.plots.pen import BELIEF, COLOURS, GUIDE

__all__ = ["plot_forecast", "plot_parts", "plot_period", "plot_structures"]

Array = NDArray[np.float64]
Drawn = Callable[[Array], Any]  # places along the axis -> what is drawn there, dates for instance

_WIDE = 7.5  # inches
_LINE = 78  # characters of a title
_MOST_BINS = 40


def plot_structures(belief: ProgramBelief, ax: Axes | None = None, *, most: int = 8, sums: bool = False) -> Axes:
    """The probabilities of the structures as bars, the most probable on top; the last bar is what all others have. With
    `sums`, of the sums of parts: structures that differ in constants or in how they are written are one.

    >>> import gainful as gf
    >>> belief = gf.ProgramGrid(["(LIN 0.2)", "(PER 0.5 3.0)"]).condition(gf.Data())
    >>> [text.get_text() for text in plot_structures(belief).texts]
    ['50 %', '50 %']
    """
    _require(belief, ax)
    require_count("most", most, 1, "8 is usual")
    every = belief.sums if sums else belief.structures
    shown = list(every.items())[:most]
    left, count = 1.0 - sum(p for _, p in shown), len(every) - len(shown)
    names = ["\n".join(wrap(name, 46)) for name, _ in shown]
    values = [p for _, p in shown]
    if count:
        names, values = [*names, f"{count} other{'' if count == 1 else 's'}"], [*values, max(left, 0.0)]
    lines = sum(name.count("\n") + 1 for name in names)
    if ax is None:
        ax = plt.subplots(figsize=(_WIDE, 0.5 + 0.16 * lines + 0.2 * len(names)), layout="constrained")[1]
    rows = np.arange(len(values))[::-1]
    bars = ax.barh(rows, values, height=0.62, color=[BELIEF] * len(shown) + [GUIDE] * bool(count))
    for bar, value in zip(bars, values, strict=True):
        ax.annotate(percent(value), (value, bar.get_y() + 0.31), (5, 0), textcoords="offset points", va="center",
                    fontsize=9)  # fmt: skip
    ax.set_yticks(rows, names, fontsize=9)
    ax.tick_params(axis="y", length=0)
    ax.set_xlim(0.0, 1.18 * max(values))
    ax.xaxis.set_visible(False)
    ax.spines[["top", "right", "bottom"]].set_visible(False)
    return ax


def plot_parts(
    belief: ProgramBelief,
    X: ArrayLike,
    *,
    least: float = 0.1,
    most: int = 6,
    xlabel: str | None = None,
    ylabel: str = "",
    along: Drawn | None = None,
    axes: Sequence[Axis] | None = None,
) -> NDArray[Any]:
    """The parts that are at least so probable, one above the other at places X (M, 1), each with its 95 % band and all
    on one scale: each is what it is above its own average. Grey is where there are no answers yet. What comes back are
    the matplotlib axes.
    """
    _require(belief, None)
    places = _line(X, belief)
    found = [part for part in belief.parts(places, centred=True, axes=axes)[1:] if part.probability >= least][:most]
    if not found:
        figure, ax = plt.subplots(figsize=(_WIDE, 1.2), layout="constrained")
        ax.text(0.5, 0.5, "no part is probable enough to be shown", ha="center", va="center", color=GUIDE)
        ax.axis("off")
        return np.array([ax])
    titles = ["\n".join(wrap(part.phrase, _LINE)) for part in found]
    heights = [1.25 + 0.19 * (title.count("\n") + 1) for title in titles]
    figure, drawn = plt.subplots(
        len(found), 1, figsize=(_WIDE, sum(heights) + 0.5), sharex=True, squeeze=False, layout="constrained",
        gridspec_kw={"height_ratios": heights},
    )  # fmt: skip
    x = _drawn(places, along)
    means, bands = ([np.abs(each) for each in several] for several in zip(
        *((part.mean, np.concatenate([part.low, part.high])) for part in found), strict=True))  # fmt: skip
    reach = float(np.max(means))
    limit = 1.06 * max(reach, min(max(float(np.quantile(each, 0.98)) for each in bands), 2.0 * reach))
    for part, title, ax in zip(found, titles, drawn[:, 0], strict=True):
        ax.axhline(0.0, color=GUIDE, linewidth=0.7, zorder=1)
        ax.fill_between(x, part.low, part.high, color=BELIEF, alpha=0.2, linewidth=0, zorder=2)
        ax.plot(x, part.mean, color=BELIEF, linewidth=1.5, zorder=3)
        ax.set_title(title, loc="left", fontsize=9.5)
        ax.set_title(percent(part.probability), loc="right", fontsize=9.5, fontweight="bold")
        _shade_ahead(ax, belief, x, along)
        _finish(ax, x)
        ax.set_ylim(-limit, limit)
    drawn[-1, 0].set_xlabel(_called(belief, axes) if xlabel is None else xlabel)
    if ylabel:
        figure.supylabel(ylabel, fontsize=10)
    return np.asarray(drawn[:, 0])


def plot_forecast(
    belief: ProgramBelief,
    X: ArrayLike,
    ax: Axes | None = None,
    *,
    xlabel: str | None = None,
    ylabel: str = "f",
    along: Drawn | None = None,
) -> Axes:
    """What is expected at places X (M, 1): the mean, 95 % bands of the function and of readings, and the readings that
    were made. Grey is where there are none yet."""
    _require(belief, ax)
    places = _line(X, belief)
    found = belief.forecast(places)
    if ax is None:
        ax = plt.subplots(figsize=(_WIDE, 3.9), layout="constrained")[1]
    x = _drawn(places, along)
    outer = ax.fill_between(x, found.reading_low, found.reading_high, color=BELIEF, alpha=0.14, linewidth=0)
    inner = ax.fill_between(x, found.low, found.high, color=BELIEF, alpha=0.28, linewidth=0)
    (mean,) = ax.plot(x, found.mean, color=BELIEF, linewidth=1.4)
    handles: list[Any] = [mean, inner, outer]
    labels = ["mean", "function, 95 %", "readings, 95 %"]
    at, told = _readings(belief)
    if len(at):
        size = float(np.clip(60.0 / np.sqrt(len(at)), 2.0, 5.0))
        (dots,) = ax.plot(
            _drawn(at, along), told, "o", color=COLOURS[0], markersize=size, markeredgewidth=0.3,
            markeredgecolor="white", zorder=4,
        )  # fmt: skip
        handles, labels = [dots, *handles], ["answers", *labels]
    if _shade_ahead(ax, belief, x, along):
        handles, labels = [*handles, Patch(facecolor=GUIDE, alpha=0.14)], [*labels, "ahead"]
    _finish(ax, x)
    ax.set_xlabel(_called(belief, None) if xlabel is None else xlabel)
    ax.set_ylabel(ylabel)
    ax.figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=9)
    return ax


def plot_period(
    belief: ProgramBelief,
    ax: Axes | None = None,
    *,
    column: int = 0,
    unit: str | None = None,
    factor: float = 1.0,
    axes: Sequence[Axis] | None = None,
) -> Axes:
    """How probable each period is, if there is a cycle: a histogram over the programs that have one, by weight. Periods
    are divided by `factor` where `unit` is another than the space's."""
    _require(belief, ax)
    if ax is None:
        ax = plt.subplots(figsize=(0.66 * _WIDE, 2.5), layout="constrained")[1]
    values, weights = belief.periods(column)
    ax.spines[["top", "right", "left"]].set_visible(False)
    if not len(values):
        ax.text(0.5, 0.5, "no program has a cycle", ha="center", va="center", color=GUIDE, transform=ax.transAxes)
        ax.set_axis_off()
        return ax
    values, shares = values / factor, weights / weights.sum()
    low, middle, high = quantiles(values, shares, (0.02, 0.5, 0.98))
    reach = max(4.0 * float(quantiles(np.abs(values - middle), shares, (0.9,))[0]), 1e-3 * float(middle))
    near = (values >= min(low, middle - reach)) & (values <= max(high, middle + reach))
    beyond = 1.0 - float(shares[near].sum())
    values, shares = values[near], shares[near]
    low, high = float(values.min()), float(values.max())
    room = max(0.06 * (high - low), 1e-3 * high)
    bins = np.linspace(low - room, high + room, min(_MOST_BINS, 8 + len(values) // 2))
    ax.hist(values, bins=list(bins), weights=shares, color=BELIEF, edgecolor="white", linewidth=0.5)
    ax.yaxis.set_visible(False)
    said = _unit(belief, column) if unit is None else unit
    ax.set_xlabel(f"period ({said})" if said else "period")
    title = f"if there is a cycle: {percent(float(weights.sum()))}"
    further = f"; not shown: {percent(beyond)}" if beyond > 1e-9 else ""
    ax.set_title(title + further, loc="left", fontsize=9.5)
    return ax


def _require(belief: object, ax: object) -> None:
    require_kind("belief", belief, ProgramBelief, "a belief of kernel programs", "such as KernelPrograms' condition")
    require(ax is None or isinstance(ax, Axes), "ax", "matplotlib's Axes", ax, "leave it out for a new figure")


def _line(X: ArrayLike, belief: ProgramBelief) -> Array:
    """Places along one axis, in order."""
    places = np.asarray(X, dtype=float)
    places = places[:, None] if places.ndim == 1 else places
    one = places.ndim == 2 and places.shape[1] == 1 and belief.data.dimensions in (None, 1)
    require(one, "X", "places (M, 1) of a function of one variable", places.shape, "fix the others first")
    return np.sort(places, axis=0)


def _drawn(places: Array, along: Drawn | None) -> Any:
    return places[:, 0] if along is None else along(places[:, 0])


def _readings(belief: ProgramBelief) -> tuple[Array, Array]:
    """The answers that are numbers, and where."""
    some = [batch for batch in belief.data.batches if batch.answers.dtype.kind == "f" and batch.X.ndim == 2]
    at = [batch.X for batch in some]
    told = [batch.answers if batch.answers.ndim == 1 else batch.answers[:, 0] for batch in some]
    return (np.concatenate(at), np.concatenate(told)) if some else (np.zeros((0, 1)), np.zeros(0))


def _shade_ahead(ax: Axes, belief: ProgramBelief, x: Any, along: Drawn | None) -> bool:
    """Grey behind the last answer; whether there is anything behind it."""
    places = belief.data.layout.places
    if not len(places):
        return False
    last = _drawn(np.array([[places.max()]]), along)[0]
    if not x[-1] > last:
        return False
    ax.axvspan(last, x[-1], color=GUIDE, alpha=0.14, linewidth=0, zorder=0)
    return True


def _finish(ax: Axes, x: Any) -> None:
    ax.set_xlim(x[0], x[-1])
    ax.spines[["top", "right"]].set_visible(False)


def _unit(belief: ProgramBelief, column: int = 0) -> str:
    units = getattr(belief.data.told_by, "units", ())
    return str(units[column]) if column < len(units) else ""


def _called(belief: ProgramBelief, axes: Sequence[Axis] | None) -> str:
    if axes:
        return axes[0].name
    names, unit = belief.data.columns, _unit(belief)
    return (names[0] if names else "x") + (f" ({unit})" if unit else "")
