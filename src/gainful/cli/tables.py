"""The tables that commands print."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gainful.lab import Experiment, Standing
from gainful.lab.files import missing_files
from gainful.lab.report import interval, number, standing, verdict
from gainful.lab.statistics import Estimate

__all__ = ["claims_table", "console", "experiments_table", "standings_table"]


def console() -> Console:
    """As wide as the terminal; into a pipe or a file, wide enough that nothing is cut."""
    return Console(width=None if sys.stdout.isatty() else 160, highlight=False)


def experiments_table(experiments: Iterable[Experiment]) -> Table:
    table = _table("name", "source", "title", "quick", "full", "data")
    for each in experiments:
        missing = missing_files(each.data)
        data = "none needed" if not each.data else f"missing: {', '.join(missing)}" if missing else "present"
        counts = [str(len(each.settings(quick))) for quick in (True, False)]
        table.add_row(Text(each.name), Text(each.source), Text(each.title), *counts, Text(data))
    return table


def claims_table(result: Mapping[str, Any], title: str) -> Table:
    words = f"{title} ({result['source']}{', quick' if result['quick'] else ''}, {result['repetitions']} repetitions)"
    table = _table("claim", "published", "measured", "95 % interval", "")
    table.title, table.title_justify, table.title_style = Text(words), "left", "bold"
    for claim in result["claims"]:
        statement = Text(claim["statement"])
        if claim["note"]:
            statement.append(f"\n{claim['note']}", style="dim")
        style = {"holds": "blue", "fails": "dark_orange3"}.get(standing(claim), "dim")
        measured, published = number(claim["measured"]), number(claim["published"])
        table.add_row(statement, Text(published), measured, interval(claim), Text(verdict(claim), style=style))
    return table


def standings_table(standings: Sequence[Standing], seconds: Mapping[str, float]) -> Table:
    """Strategies by one measure; `seconds` for each query, by strategy."""
    first = standings[0]
    words = first.measure.words
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("strategy", overflow="fold")
    table.add_column(f"{words},\nmean over the curve", justify="right")
    table.add_column(f"less {first.reference}'s", justify="right")
    table.add_column("")
    if first.needed is not None:
        table.add_column("97.5 % of the\nwhole pool after")
        table.add_column("seconds\nper query", justify="right")
    for each in standings:
        style = {"better": "blue", "worse": "dark_orange3"}.get(each.verdict, "dim")
        gain = "" if each.gain is None else _with_half(each.gain, sign="+")
        cells: list[str | Text] = [Text(each.strategy), _with_half(each.area), gain, Text(each.verdict, style=style)]
        if each.needed is not None:
            cells += [Text(each.needed_in_words), f"{seconds[each.strategy]:.2g}"]
        table.add_row(*cells)
    return table


def _with_half(estimate: Estimate, sign: str = "") -> str:
    """A mean and half of its 95 % interval, which is symmetric, to the digits that the half has.

    >>> _with_half(Estimate(0.89304, 0.88004, 0.90604))
    '0.893 ± 0.013'
    >>> _with_half(Estimate(4.2e12, 4.1e12, 4.3e12)), _with_half(Estimate(-0.0001, -0.02, 0.0198), "+")
    ('(4.20 ± 0.10)e+12', '+0.000 ± 0.020')
    """
    half, value = estimate.high - estimate.value, estimate.value
    largest = max(abs(value), half if math.isfinite(half) else 0.0)
    if not math.isfinite(half) or largest == 0.0:
        return f"{value + 0.0:{sign}.4g}"
    power = math.floor(math.log10(largest))
    power = 0 if -4 <= power <= 5 else power
    value, half = value / 10.0**power, half / 10.0**power
    digits = max(0, 1 - math.floor(math.log10(half))) if half > 1e-9 * abs(value) else 3
    digits = min(digits, 6)
    words = f"{round(value, digits) + 0.0:{sign}.{digits}f} ± {half:.{digits}f}"  # + 0.0 makes −0 a 0
    return f"({words})e{power:+03d}" if power else words


def _table(*names: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in names:
        numeric = name in ("quick", "full", "published", "measured", "95 % interval")
        table.add_column(name, justify="right" if numeric else "left", no_wrap=name in ("name", ""))
    return table
