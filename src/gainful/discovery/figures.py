"""The figures of a discovery, drawn from what was found."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from gainful.discovery.search import Discovery
from gainful.plots import BELIEF, COLOURS, GUIDE, plot_forecast, plot_parts, plot_period, plot_structures

__all__ = ["draw_fit", "draw_forecast", "draw_next", "draw_parts", "draw_period", "draw_sums"]


def draw_forecast(found: Discovery) -> Figure:
    ax = plot_forecast(found.belief, found.places(), xlabel=_along(found), ylabel=_answers(found), along=_dates(found))
    return _taken(ax.figure)


def draw_parts(found: Discovery) -> Figure:
    drawn = plot_parts(
        found.belief, found.places(700), xlabel=_along(found), ylabel=_answers(found), along=_dates(found),
        axes=found.series.axes,
    )  # fmt: skip
    return _taken(drawn[0].figure)


def draw_sums(found: Discovery) -> Figure:
    most = 6
    rows = min(len(found.belief.sums), most + 1)
    _, ax = plt.subplots(figsize=(5.4, 0.5 + 0.36 * rows), layout="constrained")
    return _taken(plot_structures(found.belief, ax, sums=True, most=most).figure)


def draw_period(found: Discovery) -> Figure:
    """In the unit that fits, if the input is a date."""
    calendar, (values, weights) = found.series.calendar, found.belief.periods()
    _, ax = plt.subplots(figsize=(3.7, 2.4), layout="constrained")
    if calendar is None or not len(values):
        return _taken(plot_period(found.belief, ax).figure)
    unit = calendar.unit(float(np.average(values, weights=weights)))
    return _taken(plot_period(found.belief, ax, unit=unit, factor=calendar.days(unit)).figure)


def draw_next(found: Discovery) -> Figure:
    """What a reading would tell, along the only input: the best places inside the range and ahead are marked."""
    figure, ax = plt.subplots(figsize=(7.5, 2.4), layout="constrained")
    following, dates = found.next, _dates(found)
    x: Any = following.places[:, 0] if dates is None else dates(following.places[:, 0])
    ax.plot(x, following.bits, color=BELIEF, linewidth=1.4)
    for best in following.best:
        style: dict[str, Any] = {"markersize": 7, "markeredgecolor": "white", "clip_on": False, "zorder": 4}
        ax.plot(x[best], following.bits[best], "o", color=COLOURS[0], **style)
    if following.ahead.any():
        ax.axvspan(x[np.flatnonzero(~following.ahead)[-1]], x[-1], color=GUIDE, alpha=0.14, linewidth=0, zorder=0)
    ax.set_xlim(x[0], x[-1])
    ax.set_ylim(0.0, 1.15 * max(float(following.bits.max()), 1e-3))
    ax.set_xlabel(_along(found))
    ax.set_ylabel("bits")
    ax.spines[["top", "right"]].set_visible(False)
    return _taken(figure)


def draw_fit(found: Discovery) -> Figure:
    """Answers against what is believed, where several inputs leave no line to draw along."""
    figure, ax = plt.subplots(figsize=(4.2, 3.9), layout="constrained")
    series = found.series
    mean = found.belief.mean(series.X)
    ends = [float(min(mean.min(), series.y.min())), float(max(mean.max(), series.y.max()))]
    ax.plot(ends, ends, color=GUIDE, linewidth=0.8)
    ax.plot(mean, series.y, "o", color=BELIEF, markersize=4, markeredgecolor="white", markeredgewidth=0.4)
    ax.set_xlabel(f"believed {_answers(found)}")
    ax.set_ylabel(_answers(found))
    ax.spines[["top", "right"]].set_visible(False)
    return _taken(figure)


def _along(found: Discovery) -> str:
    axis, unit = found.series.axes[0], found.series.units[0]
    return axis.name if found.series.calendar is not None or not unit or unit == "rows" else f"{axis.name} ({unit})"


def _answers(found: Discovery) -> str:
    series = found.series
    return f"{series.answer} ({series.unit})" if series.unit else series.answer


def _dates(found: Discovery) -> Any:
    calendar = found.series.calendar
    return None if calendar is None else calendar.dates


def _taken(figure: Any) -> Figure:
    """The figure, which pyplot need not remember any more."""
    plt.close(figure)
    assert isinstance(figure, Figure)
    return figure
