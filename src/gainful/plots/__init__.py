"""Figures, drawn with matplotlib: an optional extra, `pip install 'gainful[plots]'`."""

from gainful.errors import MissingExtra

try:
    import matplotlib  # noqa: F401 - so that its absence is reported by the name of the extra
except ImportError:
    raise MissingExtra("figures", "plots") from None

from gainful.plots.interactions import plot_interactions
from gainful.plots.marks import draw
from gainful.plots.pen import BELIEF, COLOURS, GUIDE, MARKERS, TRUTH, Mark, Pen
from gainful.plots.posterior import plot_posterior
from gainful.plots.programs import plot_forecast, plot_parts, plot_period, plot_structures
from gainful.plots.ranks import plot_ranks

__all__ = [
    "BELIEF", "COLOURS", "GUIDE", "MARKERS", "TRUTH", "Mark", "Pen", "draw", "plot_forecast",
    "plot_interactions", "plot_parts", "plot_period", "plot_posterior", "plot_ranks", "plot_structures",
]  # fmt: skip
