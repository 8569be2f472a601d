"""What marks are drawn with, in colours and shapes that stay apart in print and to colour-blind eyes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation, Transform
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Okabe & Ito (2008), Color Universal Design. Blue is the belief's, black the truth's; yellow is lost on white paper.
BELIEF = "#0072B2"
TRUTH = "#000000"
COLOURS = ("#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = ("o", "s", "D", "P", "X")
GUIDE = "#8C8C8C"  # lines and words that only help to read the rest

ROW = 11.0  # the height of a row of marks along an edge, in points


@dataclass(frozen=True)
class Pen:
    """Where and how to draw.

    `mean` is the belief's, for answers that have no height of their own; `row` is the first free row along the edges.
    """

    ax: Axes
    mean: Callable[[Array], Array]
    colour: str
    marker: str = "o"
    row: int = 0

    def line(self, x: Any, y: Any, **style: Any) -> Line2D:
        """Marks without a line between them, unless the style says otherwise."""
        return self.ax.plot(x, y, **({"color": self.colour, "linestyle": "none"} | style))[0]

    def sample(self, **style: Any) -> Line2D:
        """The same marks for a legend."""
        return Line2D([], [], **({"color": self.colour, "linestyle": "none"} | style))

    def note(self, y: float, text: str, side: str) -> None:
        """A small word in the right margin: above y (side "bottom"), below it ("top") or at it ("center")."""
        where = self.ax.get_yaxis_transform()
        self.ax.text(1.0, y, text, transform=where, va=side, color=self.colour, fontsize="small")

    def edge(self, top: bool, lane: int = 0) -> Transform:
        """x as in the data; y = 1 is then the middle of a row of marks along the top edge, y = 0 along the bottom."""
        inward = (self.row + lane + 0.7) * ROW / 72.0
        shift = ScaledTranslation(0.0, -inward if top else inward, self.ax.figure.dpi_scale_trans)
        return self.ax.get_xaxis_transform() + shift

    def arrow(self, **style: Any) -> dict[str, Any]:
        """What `annotate` calls arrowprops: from the text to the place, ends touching."""
        return {"color": self.colour, "linewidth": 1.4, "shrinkA": 0.0, "shrinkB": 0.0} | style


@dataclass(frozen=True)
class Mark:
    """What was drawn: a legend handle, its label, and how many rows along the edges it took."""

    handle: Any
    label: str
    rows: int = 0
