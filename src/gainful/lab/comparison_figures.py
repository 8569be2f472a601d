"""Figures of a comparison of strategies: learning curves, and differences from a reference with their intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gainful.lab.comparison_statistics import Standing
from gainful.lab.curves import FEWEST, Style, draw_curves, styles
from gainful.lab.experiment import Row
from gainful.lab.table import select

__all__ = ["draw_comparison"]

_MOST_BANDS = 6  # more than so many hide each other


def draw_comparison(found: list[Standing], rows: list[Row], title: str, folder: Path) -> list[Path]:
    """curves.png and differences.png."""
    strategies = list(dict.fromkeys(each.strategy for each in found))
    look = styles(strategies, found[0].reference)
    return [_draw_curves(found, rows, title, look, folder), _draw_differences(found, title, look, folder)]


def _draw_curves(found: list[Standing], rows: list[Row], title: str, look: dict[str, Style], folder: Path) -> Path:
    """One panel for each measure, with names at the ends of the curves and a dotted line for the whole pool."""
    from matplotlib.figure import Figure

    measures = list(dict.fromkeys(each.measure for each in found))
    tall = max(3.0, 0.24 * len(look) + 0.8)
    figure = Figure(figsize=(8.6, tall * len(measures) + 0.5), layout="constrained")
    panels = np.atleast_1d(figure.subplots(len(measures), 1, sharex=True))
    banded = list(look) if len(look) <= _MOST_BANDS else [next(iter(look)), found[0].reference]
    for axes, measure in zip(panels, measures, strict=True):
        ends = draw_curves(axes, rows, measure.column, look, banded)
        whole = float(np.mean(list({row["split"]: row[f"pool_{measure.column}"] for row in rows}.values())))
        axes.axhline(whole, color="#555555", lw=0.9, ls=(0, (1, 2)), zorder=1)
        counts = sorted({row["answers"] for row in rows})
        axes.set_xlim(counts[0], counts[-1])
        _focus(axes, rows, measure.column, whole)
        axes.annotate("whole pool", (counts[0], whole), (3, 3), textcoords="offset points", fontsize=8, color="#555555")
        axes.set_ylabel(measure.words)
        axes.tick_params(labelsize=9)
        axes.grid(axis="y", color="#EEEEEE", lw=0.8)
        axes.set_axisbelow(True)
        _label_ends(axes, ends, look, _alike(rows, measure.column, list(look)))
    panels[-1].set_xlabel("answers")
    splits = len({row["split"] for row in rows})
    band = "bands are 95 % intervals" if splits >= FEWEST else "too few for bands"
    band += f" (of {' and '.join(dict.fromkeys(banded))})" if splits >= FEWEST and len(look) > _MOST_BANDS else ""
    _entitle(panels[0], f"{title}\nmeans over {splits} splits, test rows; {band}")
    figure.savefig(folder / "curves.png", dpi=150)
    return folder / "curves.png"


def _entitle(axes: Any, words: str) -> None:
    axes.set_title(words, loc="left", fontsize=10, parse_math=False)  # a column may be called price$


def _alike(rows: list[Row], column: str, names: list[str]) -> dict[str, list[str]]:
    """The strategies by the first of those with the very same curves: they asked the same questions."""
    found: dict[tuple[float, ...], list[str]] = {}
    for name in names:
        found.setdefault(tuple(row[column] for row in select(rows, strategy=name)), []).append(name)
    return {each[0]: each for each in found.values()}


def _focus(axes: Any, rows: list[Row], column: str, whole: float) -> None:
    """Limits from the mean curves: one wide band at the beginning should not flatten everything else."""
    names, counts = {row["strategy"] for row in rows}, {row["answers"] for row in rows}
    sums: dict[tuple[str, int], list[float]] = {(name, n): [] for name in names for n in counts}
    for row in rows:
        sums[row["strategy"], row["answers"]].append(row[column])
    means = [float(np.mean(values)) for values in sums.values() if values] + [whole]
    low, high = min(means), max(means)
    room = 0.12 * (high - low) or 0.1
    axes.set_ylim(low - room, high + room)


def _label_ends(axes: Any, ends: dict[str, float], look: dict[str, Style], alike: dict[str, list[str]]) -> None:
    """Names to the right of the curves, pushed apart where they would overlap, with a line to where each ends.

    Curves that are the same have one label: "alm = bald".
    """
    low, high = axes.get_ylim()
    height = axes.figure.get_size_inches()[1] / len(axes.figure.axes) * 0.78  # inches, about
    gap = 0.155 / height
    order = sorted(alike, key=lambda name: ends[name])
    spots = np.array([(ends[name] - low) / (high - low) for name in order])
    for _ in range(300):
        for i in range(len(spots) - 1):
            close = max(0.0, gap - (spots[i + 1] - spots[i]))
            spots[i] -= close / 2
            spots[i + 1] += close / 2
        spots = np.clip(spots, 0.02, 0.98)
    for name, spot in zip(order, spots, strict=True):
        style = look[name]
        line = {"arrowstyle": "-", "color": style.colour, "ls": style.dash, "lw": 1.0, "relpos": (0.0, 0.5)}
        axes.annotate(
            " = ".join(each.removeprefix("activeml:") for each in alike[name]),
            (axes.get_xlim()[1], ends[name]),
            (1.06, spot),
            textcoords="axes fraction",
            fontsize=8.5,
            va="center",
            color=style.colour,
            annotation_clip=False,
            arrowprops=line | {"shrinkA": 0, "shrinkB": 1},
        )


def _draw_differences(found: list[Standing], title: str, look: dict[str, Style], folder: Path) -> Path:
    """Paired differences from the reference with their intervals, over the whole curve and after the last answer."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    measures = list(dict.fromkeys(each.measure for each in found))
    names = [name for name in look if name != found[0].reference]
    figure = Figure(figsize=(8.6, 0.4 * len(names) + 1.6), layout=ConstrainedLayoutEngine(wspace=0.06))
    panels = np.atleast_1d(figure.subplots(1, len(measures), sharey=True))
    for axes, measure in zip(panels, measures, strict=True):
        mine = {each.strategy: each for each in found if each.measure == measure}
        for i, name in enumerate(names):
            for shift, gain, filled in ((-0.16, mine[name].gain, True), (0.16, mine[name].last_gain, False)):
                assert gain is not None
                colour = look[name].colour
                axes.plot([gain.low, gain.high], [i + shift] * 2, color=colour, lw=1.6, solid_capstyle="butt")
                axes.plot(gain.value, i + shift, "o", ms=5.5, mec=colour, mfc=colour if filled else "white", mew=1.4)
        axes.axvline(0.0, color="#333333", lw=1.0, zorder=1)
        better = "← better" if measure.lower else "better →"
        axes.set_xlabel(f"{measure.words}, less {found[0].reference}'s   ({better})", fontsize=9)
        axes.tick_params(labelsize=9)
        axes.locator_params(axis="x", nbins=5)
        axes.grid(axis="x", color="#EEEEEE", lw=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
    panels[0].set_yticks(range(len(names)), [name.removeprefix("activeml:") for name in names])
    panels[0].invert_yaxis()
    marks = "● over the whole curve   ○ after the last answer;   lines are 95 % intervals over splits"
    _entitle(panels[0], f"{title}\n{marks}")
    figure.savefig(folder / "differences.png", dpi=150)
    return folder / "differences.png"
