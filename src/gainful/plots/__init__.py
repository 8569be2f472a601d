"""Figures, drawn with matplotlib: an optional extra, `pip install 'gainful[plots]'`."""

from gainful.errors import MissingExtra

try:
    import matplotlib  # noqa: F401 - so that its absence is reported by the name of the extra
except ImportError:
    raise MissingExtra("figures", "plots") from None

from gainful.plots.marks import draw
from gainful.plots.pen import BELIEF, COLOURS, GUIDE, MARKERS, TRUTH, Mark, Pen
from gainful.plots.posterior import plot_posterior

__all__ = ["BELIEF", "COLOURS", "GUIDE", "MARKERS", "TRUTH", "Mark", "Pen", "draw", "plot_posterior"]
