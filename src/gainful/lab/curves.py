"""Learning curves: how well a campaign over a pool predicts after every answer, and how to draw that."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gainful.campaign import Campaign
from gainful.data import Query
from gainful.inference import Posterior
from gainful.lab.experiment import Row
from gainful.lab.statistics import mean
from gainful.lab.table import column, select

__all__ = ["FEWEST", "Style", "draw_curves", "learning_curve", "styles"]

Array = NDArray[np.float64]

FEWEST = 5  # repetitions for a band and a verdict: an interval of fewer would be wider than the figure
# Okabe & Ito (2008), without their yellow, which is lost on white.
_PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1.2, 1.4)), (0, (7, 2, 1.2, 2)))
_GREY = "#8A8A8A"


@dataclass(frozen=True)
class Style:
    """How the curve of one contender looks."""

    colour: str
    dash: Any = "-"
    width: float = 1.4


def styles(names: Sequence[str], reference: str) -> dict[str, Style]:
    """A style for each of any number of contenders, no two alike up to 28: grey for the reference, bold for the first.

    >>> [style.colour for style in styles(["a", "b", "random"], "random").values()]
    ['#0072B2', '#D55E00', '#8A8A8A']
    """
    found, others = {}, 0
    for name in names:
        if name == reference:
            found[name] = Style(_GREY, width=1.8)
            continue
        dash = _DASHES[others // len(_PALETTE) % len(_DASHES)]
        found[name] = Style(_PALETTE[others % len(_PALETTE)], dash, 2.4 if not others else 1.6)
        others += 1
    return found


def learning_curve(
    campaign: Campaign,
    X: Array,
    answers: Sequence[Any],
    queries: int,
    judged: Callable[[Posterior, list[int]], Row],
    first: Sequence[int] = (),
) -> tuple[list[Row], float]:
    """What `judged(posterior, asked)` says after every answer, and the seconds that choosing and learning took.

    `asked` are rows of the pool X (P, D), in the order of asking; answers (P,) are theirs. The rows `first` are told
    before anything is judged, then the campaign chooses so many queries, or as many as there are places.
    """
    asked = list(first)
    instrument = campaign.instruments[0]
    for i in asked:
        campaign.tell(Query(instrument, X[i]), answers[i])
    rows: list[Row] = []
    seconds = 0.0
    while True:
        rows.append({"answers": len(asked), **judged(campaign.posterior, asked)})
        if len(rows) > queries:
            break
        begun = time.perf_counter()
        query = campaign.ask()
        if query is None:
            break
        asked.append(int(np.flatnonzero(np.all(query.place == X, axis=1))[0]))
        campaign.tell(query, answers[asked[-1]])
        campaign.posterior  # noqa: B018 - worked out here, where it is timed
        seconds += time.perf_counter() - begun
    return rows, seconds


def draw_curves(
    axes: Any, rows: list[Row], what: str, look: Mapping[str, Style], banded: Collection[str] | None = None
) -> dict[str, float]:
    """Mean curves of one column over repetitions, for each strategy; where each curve ends.

    Those named in `banded`, by default all, have 95 % bands.
    """
    ends = {}
    for name in dict.fromkeys(row["strategy"] for row in rows):
        mine, style = select(rows, strategy=name), look[name]
        counts = sorted({row["answers"] for row in mine})
        found = [mean(column(mine, what, answers=n)) for n in counts]
        middle = [each.value for each in found]
        bold = style.width > 2.0
        axes.plot(
            counts, middle, color=style.colour, ls=style.dash, lw=style.width, label=name, zorder=3 if bold else 2
        )
        if (banded is None or name in banded) and len(select(mine, answers=counts[0])) >= FEWEST:
            low, high = [each.low for each in found], [each.high for each in found]
            axes.fill_between(counts, low, high, color=style.colour, alpha=0.12, lw=0)
        ends[name] = middle[-1]
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.spines[["top", "right"]].set_visible(False)
    return ends
