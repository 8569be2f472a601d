"""How answers look: each kind of instrument draws what its answers say about f, and nothing more.

    draw(instrument, batches, pen) -> Mark

A number is a dot with a bar of one noise standard deviation either way; an interval is a bracket, with an arrow where
an end is infinite; a rank is the band between its thresholds; yes and no are triangles along the top and the bottom
edge; a preference is an arrow along the mean to the better place; a set of places is a comb at the top (yes) or the
bottom (no). A new kind of instrument adds its own with `@draw.register`; until then its places are ticks along the
bottom.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.markers import TICKDOWN, TICKUP
from matplotlib.patches import Patch
from matplotlib.path import Path
from numpy.typing import NDArray

from gainful.data import Batch
from gainful.instruments import Binary, Detection, Instrument, Interval, Ordinal, Point, PointWithError, Preference
from gainful.plots.pen import GUIDE, Mark, Pen

Array = NDArray[np.float64]

_FAR = 1e4  # how far the band of a lowest or highest rank goes on, in spans of its thresholds: out of sight


@singledispatch
def draw(instrument: Instrument, batches: Sequence[Batch], pen: Pen) -> Mark:
    """Draw all answers of one instrument."""
    x = np.concatenate([batch.X.ravel() for batch in batches])
    ticks = pen.line(x, np.zeros_like(x), marker="|", markersize=8, transform=pen.edge(top=False))
    return Mark(ticks, instrument.label, rows=1)


@draw.register
def _point(instrument: Point, batches: Sequence[Batch], pen: Pen) -> Mark:
    x, y = _joined(batches)
    return _bars(instrument, x, y, np.full_like(y, instrument.noise), pen)


@draw.register
def _point_with_error(instrument: PointWithError, batches: Sequence[Batch], pen: Pen) -> Mark:
    x, pairs = _joined(batches)
    return _bars(instrument, x, pairs[:, 0], pairs[:, 1], pen)


def _bars(instrument: Instrument, x: Array, y: Array, error: Array, pen: Pen) -> Mark:
    bars = pen.ax.errorbar(
        x, y, yerr=error, fmt=pen.marker, color=pen.colour, elinewidth=1.4, zorder=4,
        markersize=5.5, markeredgecolor="white", markeredgewidth=0.7,
    )  # fmt: skip
    return Mark(bars, instrument.label)


@draw.register
def _interval(instrument: Interval, batches: Sequence[Batch], pen: Pen) -> Mark:
    x, ends = _joined(batches)
    known = np.isfinite(ends)
    both = known.all(axis=1)
    pen.ax.vlines(x[both], ends[both, 0], ends[both, 1], colors=pen.colour, linewidth=1.4, zorder=3)
    pen.line(np.repeat(x, 2)[known.ravel()], ends[known], marker="_", markersize=8, markeredgewidth=1.4, zorder=3)
    head = pen.arrow(arrowstyle="<|-,head_width=0.2,head_length=0.4")
    for place, pair in zip(x[~both], ends[~both], strict=True):
        start = next(iter(pair[np.isfinite(pair)]), float(pen.mean(np.array([[place]]))[0]))
        for end in pair[np.isinf(pair)]:
            away = (0.0, np.copysign(20.0, end))
            pen.ax.annotate("", (place, start), away, "data", "offset points", head, zorder=3)
    return Mark(pen.sample(marker=_BRACKET, markersize=12, markeredgewidth=1.4), instrument.label)


# A capital I: what an interval looks like, in the legend.
_BRACKET = Path([[-0.3, 0.5], [0.3, 0.5], [0.0, 0.5], [0.0, -0.5], [-0.3, -0.5], [0.3, -0.5]], [1, 2, 1, 2, 1, 2])


@draw.register
def _ordinal(instrument: Ordinal, batches: Sequence[Batch], pen: Pen) -> Mark:
    x, ranks = _joined(batches)
    thresholds = np.asarray(instrument.thresholds, dtype=float)
    far = _FAR * (float(np.ptp(thresholds)) + float(np.abs(thresholds).max()) + 1.0)
    low, high = np.clip(instrument.ends(ranks), -far, far)
    segments = np.stack([np.column_stack([x, low]), np.column_stack([x, high])], axis=1)
    bands = LineCollection(list(segments), colors=pen.colour, linewidths=5.0, alpha=0.4, capstyle="butt", zorder=1.5)
    pen.ax.add_collection(bands, autolim=False)
    for threshold in thresholds:
        pen.ax.axhline(threshold, color=pen.colour, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
    edges = np.concatenate([thresholds[:1], 0.5 * (thresholds[1:] + thresholds[:-1]), thresholds[-1:]])
    for rank, height in enumerate(edges, start=1):
        side = "top" if rank == 1 else "bottom" if rank == instrument.levels else "center"
        pen.note(height, f" rank {rank}", side)
    return Mark(Patch(facecolor=pen.colour, alpha=0.4), instrument.label)


@draw.register
def _binary(instrument: Binary, batches: Sequence[Batch], pen: Pen) -> Mark:
    x, answers = _joined(batches)
    handles = []
    for yes, marker in ((True, "^"), (False, "v")):
        places = x[answers == yes]
        style = {"marker": marker, "markersize": 6.5, "markeredgecolor": "white", "markeredgewidth": 0.5}
        pen.line(places, np.full_like(places, yes), transform=pen.edge(top=yes), zorder=4, **style)
        handles.append(pen.sample(**style))
    _even_odds(pen, instrument.channel().bounds[0])
    return Mark(tuple(handles), f"{instrument.label} (yes, no)", rows=1)


@draw.register
def _preference(instrument: Preference, batches: Sequence[Batch], pen: Pen) -> Mark:
    pairs, answers = _joined(batches)
    for (u, v), first in zip(pairs, answers == 1.0, strict=True):
        places = np.stack([v, u] if first else [u, v])  # from the worse to the better
        x, y = places[:, 0], pen.mean(places)
        bend = 0.25 if x[1] < x[0] else -0.25  # always over the top of the straight line
        head = pen.arrow(arrowstyle="-|>,head_width=0.25,head_length=0.5", connectionstyle=f"arc3,rad={bend}")
        pen.ax.annotate("", (x[1], y[1]), (x[0], y[0]), arrowprops=head, zorder=3)
        pen.line(x, y, marker="o", markersize=4, markevery=[0], zorder=3)
    return Mark(pen.sample(linestyle="-", marker=">", markersize=6), f"{instrument.label} (to the better)")


@draw.register
def _detection(instrument: Detection, batches: Sequence[Batch], pen: Pen) -> Mark:
    lanes: dict[bool, list[float]] = {True: [], False: []}  # how far each lane along an edge is taken
    shape = {True: TICKUP, False: TICKDOWN}
    sets = [(np.sort(X.ravel()), bool(yes)) for b in batches for X, yes in zip(b.X, b.answers, strict=True)]
    for x, yes in sorted(sets, key=lambda each: float(each[0][0])):
        free = next((i for i, end in enumerate(lanes[yes]) if end < x[0]), len(lanes[yes]))
        lanes[yes][free : free + 1] = [float(x[-1])]
        place = pen.edge(top=yes, lane=free)
        pen.line(x, np.full_like(x, yes), linestyle="-", marker=shape[yes], markersize=6, transform=place, zorder=4)
    _even_odds(pen)
    handles = tuple(pen.sample(linestyle="-", marker=shape[yes], markersize=6) for yes in (True, False))
    return Mark(handles, f"{instrument.label} (yes, no)", rows=max(map(len, lanes.values())))


def _even_odds(pen: Pen, threshold: float = 0.0) -> None:
    """Where yes is as likely as no."""
    pen.ax.axhline(threshold, color=GUIDE, linewidth=0.8, zorder=1)


def _joined(batches: Sequence[Batch]) -> tuple[Array, Array]:
    """Places and answers of several batches; places (n,), or (n, 2, 1) for pairs."""
    X = np.concatenate([batch.X for batch in batches])
    return X[:, 0] if X.ndim == 2 else X, np.concatenate([batch.answers for batch in batches])
