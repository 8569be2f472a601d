"""Tables and figures of Lin 2022, ch. 4: measured beside published, curves, and the worked example."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import gainful as gf
from gainful.lab import Row, Style, draw_curves
from gainful.lab.statistics import bootstrap
from gainful.lab.table import pairs, select
from gainful.papers.lin2022.common import AFTER, BUDGET, FIRST, PLACES, POINTS, STUDIES, Study, choose
from gainful.papers.lin2022.published import CHECKED, PUBLISHED, Line

__all__ = ["draw_curves_of", "draw_example", "write_tables"]

Array = NDArray[np.float64]

_LOOK = {"IG-K": Style("#0072B2", width=2.4), "IG-P": Style("#D55E00", (0, (5, 2)), 1.8)}
_LABELS = {
    "predictive": "squared error of predictions, summed",
    "scale": "squared error of the scale",
    "period": "squared error of the period",
    "parameter": "squared error of the parameter",
    "noise": "squared error of the noise",
    "truth": "probability of the true program",
    "structure": "probability of the right structure",
}
_LEVEL = 0.9
_SHOWN = (1, 2, 3, 4, 5, 10, 15)
_EXAMPLE_SEED = 1  # of the first dozen the one that goes as in the text: queries 0.6, 0.8 and 0.4 from the first


def write_tables(rows: list[Row], by: Sequence[str], path: Path) -> None:
    """All measures after 1, 5, 10 and 15 answers, measured, published and of an independent run, in Markdown."""
    lines = [
        "# Figs. 4-1 to 4-9",
        "",
        "Means over data sets; after one answer, then IG-P / IG-K. Below each measure its published line, that of an "
        "independent run where there is one, and the difference IG-P minus IG-K over paired data sets with its 90 % "
        "interval (bootstrap over data sets).",
    ]
    for study in STUDIES.values():
        for prior in study.odds:
            here = select(rows, figure=study.figure, prior=prior)
            sets = len({row["set"] for row in here})
            beside = "" if len(study.odds) == 1 else f", prior {prior}"
            lines += ["", f"## {study.figure}: {study.title} ({sets} data sets{beside})", "",
                      "| | 1 | 5 | 10 | 15 |", "| --- | --- | --- | --- | --- |"]  # fmt: skip
            for what in study.measures:
                lines += _lines(here, study, what, by)
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")


def _lines(rows: list[Row], study: Study, what: str, by: Sequence[str]) -> list[str]:
    found = {n: pairs(select(rows, answers=n), what, {"strategy": "IG-P"}, {"strategy": "IG-K"}, by) for n in AFTER}
    cells = [f"{found[1][0].mean():.4g}", *(f"{p.mean():.4g} / {k.mean():.4g}" for p, k in list(found.values())[1:])]
    out = [f"| **{_LABELS[what]}** | {' | '.join(cells)} |"]
    for name, table in (("published", PUBLISHED), ("independent run", CHECKED)):
        line = table.get(study.figure, {}).get(what)
        if line is not None:
            out.append(f"| {name} | {' | '.join(_printed(line))} |")
    gaps = [bootstrap(lambda x: x.mean(axis=-1), p - k, level=_LEVEL) for p, k in list(found.values())[1:]]
    inside = " | ".join(f"{gap.value:.3g} ({gap.low:.3g} to {gap.high:.3g})" for gap in gaps)
    return [*out, f"| IG-P − IG-K | | {inside} |"]


def _printed(line: Line) -> list[str]:
    return [f"{line[0]:g}", *(f"{p:g} / {k:g}" for p, k in line[1])]


def draw_curves_of(study: Study, rows: list[Row], path: Path) -> Path:
    """Every measure against the number of answers, with the published points."""
    from matplotlib.figure import Figure

    here = select(rows, figure=study.figure, prior=next(iter(study.odds)))
    figure = Figure(figsize=(3.1 * len(study.measures), 3.5), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, len(study.measures)))
    for axes, what in zip(panels, study.measures, strict=True):
        draw_curves(axes, here, what, _LOOK)
        first, later = PUBLISHED[study.figure][what]
        for k, (name, marker) in enumerate((("IG-P", "s"), ("IG-K", "o"))):
            values = [first, *(each[k] for each in later)]
            axes.plot(AFTER, values, marker, mfc="none", mec=_LOOK[name].colour, ms=6, label=f"{name}, published")
        axes.set_title(_LABELS[what], loc="left", fontsize=9)
        axes.set_xlabel("answers")
        axes.set_ylim(bottom=0.0)
    figure.suptitle(f"Fig. {study.figure}: {study.title}", x=0.01, ha="left", fontsize=11)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=9)
    figure.savefig(path, dpi=100)
    return path


def draw_example(folder: Path) -> list[Path]:
    """Figs. 4-10 and 4-11: one data set of period 0.4 and scale 0.6, and what both goals ask about it, step by step.

    Everything here is gainful's own: the grid as a model, its beliefs, and the scores of both goals.
    """
    study = STUDIES["4-1"]
    truth = study.programs.index("(PER 0.6 0.4)")
    y = study.drawn(truth, np.random.default_rng(_EXAMPLE_SEED))
    goals: dict[str, Any] = {"IG-K": gf.Learn("model"), "IG-P": gf.Predictions(POINTS[:, None])}
    return [_example(study, y, name, goal, folder / f"example-{name}.png") for name, goal in goals.items()]


def _example(study: Study, y: Array, name: str, goal: Any, path: Path) -> Path:
    from matplotlib.figure import Figure

    X, lab, asked, data = PLACES[:, None], gf.Point(name="lab"), [FIRST], gf.Data()
    grid = study.grid("by program")
    figure = Figure(figsize=(2.5 * len(_SHOWN), 7.2), layout="constrained")
    panels = figure.subplots(3, len(_SHOWN), height_ratios=(1.0, 0.7, 1.2))
    image: Any = None
    while len(asked) < BUDGET:
        data = data.add(lab, X[asked[-1:]], y[asked[-1:]])
        belief = grid.condition(data)
        scores = goal.score(belief, lab, X)
        chosen = choose(scores, asked)
        if len(asked) in _SHOWN:
            image = _column(panels[:, _SHOWN.index(len(asked))], belief, y, asked, scores, chosen)
        asked.append(chosen)
    panels[0, 0].set_ylabel("reading")
    panels[1, 0].set_ylabel("bits")
    panels[2, 0].set_ylabel("period")
    figure.colorbar(image, ax=panels[2, -1], label="posterior probability")
    figure.suptitle(f"{name}: period 0.4, scale 0.6 (+)", x=0.01, ha="left", fontsize=12)
    figure.savefig(path, dpi=100)
    return path


def _column(panels: Any, belief: Any, y: Array, asked: list[int], scores: Array, chosen: int) -> Any:
    """One step: data, belief and queries; the score with its maximum; the posterior over scale and period."""
    X, colour = PLACES[:, None], _LOOK["IG-K"].colour
    low, high = belief.band(X, 0.9)
    top, middle, bottom = panels
    top.plot(PLACES, y, ".", color="#8A8A8A", ms=3)
    top.fill_between(PLACES, low, high, color=colour, alpha=0.18, lw=0)
    top.plot(PLACES, belief.mean(X), color=colour, lw=1.6)
    top.plot(PLACES[asked], y[asked], "o", color="black", ms=5)
    top.set_title(f"after {len(asked)}", loc="left", fontsize=10)
    middle.plot(PLACES, scores, color=_LOOK["IG-P"].colour, lw=1.6)
    middle.plot(PLACES[chosen], scores[chosen], "v", color="black", ms=7)
    middle.set_ylim(bottom=0.0)
    values, weights = belief.numbers("PER")
    table = np.zeros((10, 10))
    table[np.round(values[:, 1] * 10).astype(int) - 1, np.round(values[:, 0] * 10).astype(int) - 1] = weights
    image = bottom.imshow(
        table, origin="lower", extent=(0.05, 1.05, 0.05, 1.05), aspect="auto", cmap="cividis", vmin=0.0, vmax=0.3
    )
    bottom.plot(0.6, 0.4, "+", color="white", ms=11, mew=2)
    bottom.set_xlabel("scale")
    for axes in (top, middle):
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_xlim(-1.03, 1.03)
    return image
