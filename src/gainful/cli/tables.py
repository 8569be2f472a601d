"""Tables for the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gainful.reproduce import Experiment
from gainful.reproduce.files import missing_files
from gainful.reproduce.report import interval, number, verdict

__all__ = ["claims_table", "console", "experiments_table"]


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
        style = "blue" if claim["holds"] else "dark_orange3"
        measured, published = number(claim["measured"]), number(claim["published"])
        table.add_row(statement, Text(published), measured, interval(claim), Text(verdict(claim), style=style))
    return table


def _table(*names: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in names:
        numeric = name in ("quick", "full", "published", "measured", "95 % interval")
        table.add_column(name, justify="right" if numeric else "left", no_wrap=name in ("name", ""))
    return table
