"""Fletcher 2022, sec. 6.2: four strategies in worlds of two dimensions, over all settings of the costs."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gainful.lab import Claim, Experiment, Row, Setting
from gainful.papers.fletcher2022.common import COLOURS, STRATEGIES, cost_settings, forest, ratio, ratio_claim, survey

__all__ = ["EXPERIMENT"]

_BY = ("costs", "repetition")
_PER_DIMENSION = 21  # places half a lengthscale apart


def _settings(quick: bool) -> list[Setting]:
    costs = cost_settings()[:: 19 if quick else 1]
    return [{"costs": c, "repetition": r} for c in costs for r in range(2 if quick else 10)]


def _run(setting: Setting, seed: int) -> list[Row]:
    return survey(setting, seed, list(STRATEGIES), dimensions=2, high=2.0, per_dimension=_PER_DIMENSION)


_NORMALISED = (
    "With information computed exactly the coarse instrument stands out at this normalisation as it does at these "
    "costs, and both strategies mostly agree. The published estimate is off by up to 0.3 bits, and its normalisation "
    "by one or more levels, which may have made the published one choose otherwise."
)


def _claims(rows: list[Row]) -> list[Claim]:
    def less(first: str, second: str, published: str, note: str = "", what: str = "kl") -> Claim:
        metric = {"kl": "KL divergence", "rmse": "RMSE"}[what]
        statement = f"{metric} of {first} below that of {second}"
        return ratio_claim(rows, what, first, second, statement, published, by=_BY, note=note)

    return [
        less("cost-adjusted", "random", "below 1"),
        less("cost-adjusted", "random type", "below 1"),
        less("random type", "random", "below 1"),
        less("normalised", "random", "below 1"),
        ratio_claim(
            rows,
            "kl",
            "normalised",
            "random type",
            "KL divergence of normalised above that of random type",
            "above 1",
            by=_BY,
            above=True,
            note=_NORMALISED,
        ),
        less("cost-adjusted", "random", "not published", "A second look at the same runs.", "rmse"),
        less("random type", "random", "not published", "A second look at the same runs.", "rmse"),
    ]


def _figures(rows: list[Row], folder: Path) -> list[Path]:
    from matplotlib.figure import Figure

    others = [name for name in STRATEGIES if name != "random"]
    lines = [(f"{name}, KL", ratio(rows, "kl", name, "random", _BY), COLOURS[name]) for name in others]
    lines += [(f"{name}, RMSE", ratio(rows, "rmse", name, "random", _BY), COLOURS[name]) for name in others]
    summary = forest(lines, "After a budget of 60", "relative to random, with 95 % interval", folder / "summary.png")

    points, ordinals = (sorted({row["costs"][k] for row in rows}) for k in (0, 2))
    table = np.full((len(ordinals), len(points)), np.nan)
    for i, o in enumerate(ordinals):
        for j, p in enumerate(points):
            here = [row for row in rows if row["costs"][0] == p and row["costs"][2] == o]
            if here:
                table[i, j] = ratio(here, "kl", "cost-adjusted", "random", _BY).value
    figure = Figure(figsize=(6.4, 3.4), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(table, cmap="cividis", aspect="auto")
    middle = float(np.nanmean(table))
    for i, j in np.ndindex(*table.shape):
        if np.isfinite(table[i, j]):
            colour = "black" if table[i, j] > middle else "white"
            axes.text(j, i, f"{table[i, j]:.3f}", ha="center", va="center", color=colour)
    axes.set_xticks(range(len(points)), [f"{p:g}" for p in points])
    axes.set_yticks(range(len(ordinals)), [f"{o:g}" for o in ordinals])
    axes.set_xlabel("cost of a point")
    axes.set_ylabel("cost of an ordinal")
    axes.set_title("KL of cost-adjusted relative to random", loc="left")
    figure.colorbar(image)
    by_cost = folder / "by_cost.png"
    figure.savefig(by_cost, dpi=150)
    return [summary, by_cost]


EXPERIMENT = Experiment(
    name="mixed-costs",
    title="Four strategies over all settings of the costs",
    source="Fletcher 2022, sec. 6.2",
    published={
        "runs": "540: 54 settings of the costs (there are 57), 10 runs each",
        "world": "two dimensions, 0 to 2 in each, lengthscale 0.2; budget 60, at most 20 answers, 3 readings at first",
        "order": "cost-adjusted below random type below normalised below random; the table itself is not in the text",
    },
    settings=_settings,
    run=_run,
    claims=_claims,
    figures=_figures,
)
