"""Draws surveys of a square: maps with the places measured, error against cost, and where the money went.

Everything is drawn from plain values. Maps are small figures of their own, so that a page can lay them out in as many
columns as it has room for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MultipleLocator
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from gainful.plots import BELIEF, COLOURS, GUIDE, MARKERS, TRUTH

__all__ = ["Places", "Scale", "draw_curves", "draw_map", "draw_pairs", "draw_spending"]

Array = NDArray[np.float64]

_OTHER = "#6B6B6B"  # what the belief's blue is compared with


@dataclass(frozen=True, eq=False)
class Places:
    """Where an instrument was used, (K, 2), and optionally which query each was."""

    label: str
    at: ArrayLike
    numbers: Sequence[int] = ()


@dataclass(frozen=True)
class Scale:
    """What colours mean: a colour map, the values at its ends, and a label with the unit."""

    colours: str
    low: float
    high: float
    label: str


def draw_map(
    values: ArrayLike,
    extent: tuple[float, float, float, float],
    scale: Scale,
    places: Sequence[Places] = (),
    plain: bool = False,
) -> Figure:
    """A map (rows go north) of the square (west, east, south, north) in km, with a mark wherever was measured.

    Marks have the instruments' colours and the queries' numbers, or with `plain` neither, for maps full of colour.

    >>> figure = draw_map([[0.0, 1.0], [2.0, 3.0]], (0, 2, 0, 2), Scale("Greys", 0, 3, "pH"), [Places("lab", [[1, 1]])])
    >>> [text.get_text() for text in figure.legends[0].get_texts()]
    ['lab (1)']
    """
    figure = Figure(figsize=(3.5, 4.4))
    # By hand, so that all maps have the same size whatever is written around them.
    ax = figure.add_axes((0.17, 0.255, 0.79, 0.79 * 3.5 / 4.4))
    image = ax.imshow(
        np.asarray(values, dtype=float), origin="lower", extent=extent, interpolation="bilinear",
        cmap=scale.colours, vmin=scale.low, vmax=scale.high,
    )  # fmt: skip
    used = [np.reshape(np.asarray(each.at, dtype=float), (-1, 2)) for each in places]
    for i, (each, at) in enumerate(zip(places, used, strict=True)):
        ax.plot(at[:, 0], at[:, 1], clip_on=False, zorder=3, **_mark(i, plain, 1.0))
        if not plain:
            for (x, y), number in zip(at, each.numbers, strict=False):
                _number(ax, x, y, number, extent)
    for axis, name in ((ax.xaxis, "km east"), (ax.yaxis, "km north")):
        axis.set_major_locator(MultipleLocator(0.5))
        axis.set_label_text(name)
    bar = figure.add_axes((0.17, 0.115, 0.79, 0.025))
    figure.colorbar(image, cax=bar, orientation="horizontal", label=scale.label)
    if places:
        handles = [Line2D([], [], **_mark(i, plain, 0.9)) for i in range(len(places))]
        names = [f"{each.label} ({len(at)})" for each, at in zip(places, used, strict=True)]
        figure.legend(
            handles, names, loc="lower center", bbox_to_anchor=(0.565, 0.905), ncols=len(places), frameon=False,
            handletextpad=0.1, columnspacing=1.2,
        )  # fmt: skip
    return figure


def draw_curves(costs: ArrayLike, errors: Mapping[str, ArrayLike], xlabel: str, ylabel: str) -> Figure:
    """Errors (F, C) of F fields at C costs for each strategy: thin lines, their mean thick with its 95 % interval."""
    x = np.asarray(costs, dtype=float)
    figure = Figure(figsize=(6.0, 4.0), layout="constrained")
    ax = figure.add_subplot()
    for (name, given), colour in zip(errors.items(), (BELIEF, _OTHER), strict=True):
        fields = np.asarray(given, dtype=float)
        centre, half = fields.mean(axis=0), _half_width(fields)
        ax.step(x, fields.T, where="post", color=colour, linewidth=0.6, alpha=0.3, zorder=2)
        ax.fill_between(
            x, centre - half, centre + half, step="post", color=colour, alpha=0.2, linewidth=0.0, zorder=2.5
        )
        ax.step(x, centre, where="post", color=colour, linewidth=2.6, zorder=3, label=f"{name}: mean, 95 % interval")
    ax.plot([], [], color=_OTHER, linewidth=0.6, label="single fields")
    ax.set_xlim(x[0], x[-1])
    ax.set_ylim(bottom=0.0)
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    ax.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper left", ncols=3, frameon=False, handlelength=1.5, columnspacing=1.2, fontsize=9)
    return figure


def draw_pairs(
    first: ArrayLike, second: ArrayLike, names: tuple[str, str], unit: str, marked: int | None = None
) -> Figure:
    """One dot per field: the second strategy's error across, the first's upwards, and a line where they are equal."""
    ours, theirs = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    figure = Figure(figsize=(4.0, 4.0), layout="constrained")
    ax = figure.add_subplot(aspect="equal")
    end = 1.08 * float(max(ours.max(), theirs.max()))
    ax.plot([0, end], [0, end], color=GUIDE, linewidth=1.0, zorder=1)
    ax.plot(
        theirs, ours, "o", color=BELIEF, markersize=7, markeredgecolor="white", markeredgewidth=0.8, alpha=0.9, zorder=2
    )
    if marked is not None:
        ax.plot(theirs[marked], ours[marked], "o", markersize=13, markerfacecolor="none", color=TRUTH, zorder=3)
    ax.text(0.97 * end, 0.05 * end, f"{names[0]} is better", ha="right", color=BELIEF)
    ax.text(0.05 * end, 0.97 * end, f"{names[1]} is better", va="top", color=_OTHER)
    ax.set(xlim=(0, end), ylim=(0, end), xlabel=f"error of {names[1]} ({unit})", ylabel=f"error of {names[0]} ({unit})")
    ax.spines[["top", "right"]].set_visible(False)
    return figure


def draw_spending(spent: Mapping[str, Mapping[str, tuple[float, float]]], xlabel: str) -> Figure:
    """Bars of what each strategy spent on each instrument: strategy → instrument → (cost, number of queries)."""
    figure = Figure(figsize=(3.5, 4.1), layout="constrained")
    ax = figure.add_subplot()
    instruments = list(next(iter(spent.values())))
    most = max(cost for each in spent.values() for cost, _ in each.values())
    for shift, (name, colour) in zip((-0.2, 0.2), zip(spent, (BELIEF, _OTHER), strict=True), strict=True):
        for i, instrument in enumerate(instruments):
            cost, queries = spent[name][instrument]
            ax.barh(i + shift, cost, 0.36, color=colour, label=name if i == 0 else None)
            ax.text(cost + 0.02 * most, i + shift, f"{cost:.0f} ({queries:.1f}×)", va="center", fontsize=9)
    ax.set_yticks(range(len(instruments)), instruments)
    ax.tick_params(axis="y", length=0)
    ax.invert_yaxis()
    ax.set_xlim(0, 1.35 * most)
    ax.set_xlabel(xlabel)
    ax.spines[["top", "right", "left"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    return figure


def _half_width(fields: Array) -> Array:
    """Of the 95 % interval of the mean over fields, (C,), by Student's t."""
    n = len(fields)
    if n < 2:
        return np.zeros(fields.shape[1])
    return np.asarray(stdtrit(n - 1, 0.975) * fields.std(axis=0, ddof=1) / np.sqrt(n))


def _mark(i: int, plain: bool, size: float) -> dict[str, Any]:
    """The i-th instrument's mark: a shape and a colour, edged so that it stands out on any ground."""
    look = {"marker": MARKERS[i % len(MARKERS)], "linestyle": "none"}
    if plain:
        return look | {"markersize": 6.0 * size, "color": "white", "markeredgecolor": "black", "markeredgewidth": 0.9}
    colour = COLOURS[i % len(COLOURS)]
    return look | {"markersize": 8.5 * size, "color": colour, "markeredgecolor": "white", "markeredgewidth": 1.0}


def _number(ax: Axes, x: float, y: float, number: int, extent: tuple[float, float, float, float]) -> None:
    """The number of a query beside its mark, on the side of the middle of the map: it would leave it at the faces."""
    right, up = x < 0.5 * (extent[0] + extent[1]), y < 0.5 * (extent[2] + extent[3])
    ax.annotate(
        str(number), (x, y), (5 if right else -5, 4 if up else -4), textcoords="offset points", fontsize=8, zorder=4,
        ha="left" if right else "right", va="bottom" if up else "top",
        path_effects=[withStroke(linewidth=2.0, foreground="white")],
    )  # fmt: skip
