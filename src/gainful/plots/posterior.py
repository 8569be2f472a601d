"""A belief about a function of one variable: its mean, its bands, and the answers behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.legend_handler import HandlerTuple
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.transforms import ScaledTranslation
from numpy.typing import ArrayLike, NDArray

from gainful.checks import is_number, listed, numbers, require, require_count, require_kind
from gainful.data import Data
from gainful.errors import InvalidInput
from gainful.hyper.laplace import MGP
from gainful.inference import Belief, Posterior
from gainful.plots.marks import draw
from gainful.plots.pen import BELIEF, COLOURS, MARKERS, ROW, TRUTH, Mark, Pen
from gainful.space import Space

__all__ = ["plot_posterior"]

Array = NDArray[np.float64]

_BANDS = ((1.959964, 0.15), (1.0, 0.25))  # standard deviations (95 % and 68 % of a Gaussian), opacity


def plot_posterior(
    belief: Posterior | Belief | MGP,
    space: Space | tuple[float, float] | None = None,
    ax: Axes | None = None,
    *,
    truth: Callable[[Array], ArrayLike] | None = None,
    data: Data | None = None,
    ylabel: str = "f",
    legend: bool = True,
    places: int = 400,
) -> Axes:
    """Mean, mean ± 1 and ± 1.96 standard deviations, and every answer drawn as what it says (see `marks`).

    `space` names the variable and its unit and says from where to where to draw; two numbers do without the name, None
    takes the reach of the data. `truth` is a function of places (M, 1), drawn for comparison. `data` replaces the
    belief's own answers. Without `ax` a new figure is made. The legend is below the axes, clear of the data.

    >>> import gainful as gf
    >>> data = gf.Data().add(gf.Point(noise=0.1, name="lab"), [[0.0], [1.0]], [0.3, 0.7])
    >>> ax = plot_posterior(gf.GP(gf.SE()).condition(data), (-1, 2))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['mean, 68 %, 95 %', 'lab']
    """
    _require_drawable(belief, data, ax, truth)
    require_kind("ylabel", ylabel, str, "text", "what f is called")
    require_kind("legend", legend, bool, "True or False", "False leaves it out")
    seen = _data_of(belief) if data is None else data
    if seen.dimensions not in (None, 1):
        raise InvalidInput(
            "belief", "a function of one variable", f"{seen.dimensions} dimensions", "fix the others first"
        )
    low, high, xlabel = _reach(space, seen)
    X = np.linspace(low, high, require_count("places", places, 2, "leave the default"))[:, None]
    if ax is None:
        ax = plt.subplots(figsize=(9.0, 4.5), layout="constrained")[1]
    marks = [_draw_belief(ax, belief, X)]
    if truth is not None:
        line = ax.plot(X[:, 0], _truth(truth, X), color=TRUTH, linewidth=1.3, linestyle=(0, (5, 2.5)), zorder=2.4)
        marks.append(Mark(line[0], "truth"))
    marks += _draw_answers(Pen(ax, belief.mean, COLOURS[0]), seen)
    ax.set_xlim(low, high)
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    ax.spines[["top", "right"]].set_visible(False)
    _leave_room(ax, sum(mark.rows for mark in marks))
    if legend:
        _legend_below(ax, marks)
    return ax


def _require_drawable(belief: object, data: object, ax: object, truth: object) -> None:
    kinds = Posterior, Belief, MGP
    require_kind("belief", belief, kinds, "a posterior, a Belief or an MGP", "condition a GP on data first")
    remedy = "leave it out for the belief's own"
    require(data is None or isinstance(data, Data), "data", "a Data value", data, remedy)
    require(ax is None or isinstance(ax, Axes), "ax", "matplotlib's Axes", ax, "leave it out for a new figure")
    function = truth is None or (callable(truth) and not isinstance(truth, type))
    require(function, "truth", "a function of places (M, 1)", truth, "for instance lambda X: np.sin(X[:, 0])")


def _truth(truth: Callable[[Array], ArrayLike], X: Array) -> Array:
    found = numbers("truth", truth(X), "a number for each place").reshape(-1)
    require(len(found) == len(X), "truth", f"{len(X)} numbers", f"{len(found)}", "it gets places (M, 1)")
    return found


def _data_of(belief: Posterior | Belief | MGP) -> Data:
    """The answers behind a belief, read by its own instruments, or by those of its most probable posterior."""
    if isinstance(belief, Belief):
        return belief.posteriors[int(np.argmax(belief.weights))].data
    return belief.hyper.fitted.data if isinstance(belief, MGP) else belief.data


def _reach(space: Space | tuple[float, float] | None, data: Data) -> tuple[float, float, str]:
    """From where to where, and the label of the axis."""
    if isinstance(space, Space):
        if len(space.single) != 1:
            raise InvalidInput("space", "a space of one dimension", space.names, "draw one dimension at a time")
        (only,) = space.single
        return only.low, only.high, f"{only.name} ({only.unit})" if only.unit else only.name
    if space is not None:
        ends = listed(space) or []
        low, high = ends if len(ends) == 2 else (None, None)
        if not (is_number(low) and is_number(high) and np.isfinite([low, high]).all() and low < high):
            raise InvalidInput("space", "a Space, or two finite numbers with low < high", space, "check the limits")
        return float(low), float(high), "x"
    if not len(data):
        raise InvalidInput("space", "a Space or (low, high), as there are no data to go by", None, "say where to draw")
    low, high = float(data.layout.places.min()), float(data.layout.places.max())
    margin = 0.05 * (high - low) or 0.5
    return low - margin, high + margin, "x"


def _draw_belief(ax: Axes, belief: Posterior | Belief | MGP, X: Array) -> Mark:
    x, mean, sd = X[:, 0], belief.mean(X), np.sqrt(belief.variance(X))
    for width, alpha in _BANDS:
        ax.fill_between(x, mean - width * sd, mean + width * sd, color=BELIEF, alpha=alpha, linewidth=0.0, zorder=2)
    ax.plot(x, mean, color=BELIEF, linewidth=2.0, zorder=2.5)
    bands = [Patch(facecolor=BELIEF, alpha=alpha, linewidth=0.0) for _, alpha in _BANDS]
    return Mark((Line2D([], [], color=BELIEF, linewidth=2.0), *bands[::-1]), "mean, 68 %, 95 %")


def _draw_answers(pen: Pen, data: Data) -> list[Mark]:
    """One mark per instrument, each in its own colour, and instruments of one kind in their own shapes."""
    marks: list[Mark] = []
    kinds: dict[type, int] = {}
    for i, instrument in enumerate(data.instruments):
        nth = kinds[type(instrument)] = kinds.get(type(instrument), -1) + 1
        own = replace(
            pen,
            colour=COLOURS[i % len(COLOURS)],
            marker=MARKERS[nth % len(MARKERS)],
            row=sum(mark.rows for mark in marks),
        )
        marks.append(draw(instrument, [b for b in data.batches if b.instrument == instrument], own))
    return marks


def _leave_room(ax: Axes, rows: int) -> None:
    """Widen the y axis, so that the rows of marks along its edges do not cover the belief."""
    height = 72.0 * float(ax.get_window_extent().height) / float(ax.figure.dpi)
    share = min(0.04 + rows * ROW / height, 0.3)  # of the axes, at each edge
    wanted = share / (1.0 - 2.0 * share)
    for other in ax.get_shared_y_axes().get_siblings(
        ax
    ):  # axes that share a scale share its margins, whichever was drawn last
        other.margins(y=max(wanted, other.margins()[1]))


def _legend_below(ax: Axes, marks: Sequence[Mark]) -> None:
    """Clear of the data and of the axis label, in as many columns as fit."""
    wide = 72.0 * float(ax.get_window_extent().width) / float(ax.figure.dpi)
    needed = sum(
        6.0 * len(mark.label) + 50.0 for mark in marks
    )  # points: a letter is about 6 wide, a handle 50 with its space
    columns = int(np.ceil(len(marks) / np.ceil(needed / wide)))
    below = ax.transAxes + ScaledTranslation(0.0, -36.0 / 72.0, ax.figure.dpi_scale_trans)
    ax.legend(
        [mark.handle for mark in marks],
        [mark.label for mark in marks],
        handler_map={tuple: HandlerTuple(ndivide=None, pad=0.4)},
        ncols=columns,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=below,
        frameon=False,
        handlelength=2.4,
        borderaxespad=0.0,
    )
