"""Who acts together with whom, in a picture: the probability for every two dimensions."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from gainful.beliefs.partitions import PartitionBelief
from gainful.checks import require, require_kind

__all__ = ["plot_interactions"]

_MOST_NUMBERS = 16  # dimensions up to which the probabilities are written into the squares
_DARK = 0.6  # from this probability on, white is readable on the square


def plot_interactions(belief: PartitionBelief, ax: Axes | None = None) -> Axes:
    """A square for every two dimensions, the darker the more probable it is that they act together; in per cent,
    but for what rounds to 0.

    >>> import gainful as gf
    >>> space = gf.Space(gf.Real("a", 0, 1), gf.Real("b", 0, 1))
    >>> belief = gf.Partitions(space, given="full").condition(gf.Data())
    >>> [text.get_text() for text in plot_interactions(belief).texts]
    ['100']
    """
    remedy = "such as gf.Partitions(space).condition(data)"
    require_kind("belief", belief, PartitionBelief, "a belief over who acts together", remedy)
    require(ax is None or isinstance(ax, Axes), "ax", "matplotlib axes", ax, "leave it out for a figure of its own")
    names, together = belief.names, belief.together
    D = len(names)
    if ax is None:
        side = 1.6 + 0.42 * D
        ax = plt.subplots(figsize=(side + 0.8, side), layout="constrained")[1]
    below = np.tri(D, k=-1, dtype=bool)
    image = ax.imshow(np.where(below, 100.0 * together, np.nan), cmap="Blues", vmin=0.0, vmax=100.0)
    if D <= _MOST_NUMBERS:
        for i, j in np.argwhere(below):
            value = float(together[i, j])
            if round(100.0 * value) == 0:
                continue  # white says it
            colour = "white" if value > _DARK else "#333333"
            ax.text(j, i, f"{100.0 * value:.0f}", ha="center", va="center", fontsize=8, color=colour)
    ax.set_xticks(range(D - 1), names[:-1], rotation=45, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(1, D), names[1:])
    ax.set_xlim(-0.5, max(D - 1.5, 0.5))
    ax.set_ylim(max(D - 0.5, 0.5), 0.5)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.7, label="probability that they act together, %")
    bar.outline.set_visible(False)
    return ax
