"""The pictures of `airline`: errors and probabilities over readings, and what the root of the program is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gainful.lab import Row
from gainful.lab.table import select

__all__ = ["curves", "roots"]

_LOOKS = {
    "IG-K": ("#0072B2", "-"), "IG-P": ("#D55E00", "--"), "hybrid": ("#009E73", "-."), "random": ("#7F7F7F", ":"),
}  # fmt: skip
_SHOWN = (
    ("error", "squared error, in variances"),
    ("year", "P(a period of a year)"),
    ("trend", "P(a trend)"),
    ("entropy", "entropy over structures, bits"),
)
_COLOURS = ("#BBBBBB", "#D55E00", "#0072B2", "#009E73", "#E69F00", "#CC79A7")


def _columns(rows: list[Row]) -> list[tuple[str, list[Row]]]:
    found = sorted({(row["months"], row["noise"]) for row in rows}, key=lambda each: (each[0] != 100, each[1]))
    return [(f"{months} months, noise {noise}", select(rows, months=months, noise=noise)) for months, noise in found]


def curves(rows: list[Row], path: Path) -> Path:
    """Means over runs, with a standard error on either side."""
    sheet, panels, columns = _sheet(rows, len(_SHOWN), 2.3)
    for j, (title, here) in enumerate(columns):
        for i, (what, label) in enumerate(_SHOWN):
            axes = panels[i, j]
            for name, (colour, line) in _LOOKS.items():
                mine = select(here, strategy=name)
                if not mine:
                    continue
                x = sorted({row["answers"] for row in mine})
                values = [np.array([row[what] for row in mine if row["answers"] == n]) for n in x]
                centre = np.array([each.mean() for each in values])
                error = np.array([each.std() / np.sqrt(max(len(each) - 1, 1)) for each in values])
                axes.plot(x, centre, color=colour, ls=line, label=name)
                axes.fill_between(x, centre - error, centre + error, color=colour, alpha=0.15, lw=0)
            if what == "error":
                axes.set_yscale("log")
            if i == 0:
                axes.set_title(title, fontsize=10)
            if j == 0:
                axes.set_ylabel(label, fontsize=9)
            if i == len(_SHOWN) - 1:
                axes.set_xlabel("readings")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    sheet.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    sheet.savefig(path, dpi=120)
    return path


def roots(rows: list[Row], names: tuple[str, ...], path: Path) -> Path:
    """How probable each symbol is as the root, stacked over readings: the text's six types."""
    strategies = [name for name in _LOOKS if select(rows, strategy=name)]
    sheet, panels, columns = _sheet(rows, len(strategies), 1.9)
    for j, (title, here) in enumerate(columns):
        for i, strategy in enumerate(strategies):
            axes, mine = panels[i, j], select(here, strategy=strategy)
            if not mine:
                axes.set_axis_off()
                continue
            x = sorted({row["answers"] for row in mine})
            shares = [[np.mean([row[name] for row in mine if row["answers"] == n]) for n in x] for name in names]
            axes.stackplot(x, shares, colors=_COLOURS, labels=names, lw=0)
            axes.set_ylim(0, 1)
            if i == 0:
                axes.set_title(title, fontsize=10)
            if j == 0:
                axes.set_ylabel(strategy)
            if i == len(strategies) - 1 or strategy == "hybrid":
                axes.set_xlabel("readings")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    sheet.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False, title="root of the program")
    sheet.savefig(path, dpi=120)
    return path


def _sheet(rows: list[Row], count: int, height: float) -> tuple[Any, Any, list[tuple[str, list[Row]]]]:
    from matplotlib.figure import Figure

    columns = _columns(rows)
    sheet = Figure(figsize=(3.1 * len(columns) + 0.6, height * count + 0.8), layout="constrained")
    return sheet, sheet.subplots(count, len(columns), squeeze=False), columns
