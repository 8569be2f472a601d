"""`gainful discover`: what the answers of a table show along a date or a number, and a report of it."""

from __future__ import annotations

import hashlib
import re
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from gainful.beliefs.programs import Progress

__all__ = ["discover"]

_OUT = Path("out") / "discover"


def discover(
    table: Annotated[Path, typer.Argument(metavar="TABLE.csv", help="A table with a header, in UTF-8.")],
    answer: Annotated[str, typer.Option(metavar="COLUMN", help="The column that holds the answers, numbers.")],
    inputs: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…",
            help="Columns to go along; the dates if not given, or a column called time or the like, or all numbers.",
        ),
    ] = None,
    ahead: Annotated[
        float, typer.Option(min=0.0, max=10.0, help="How far to forecast, as a share of the range.")
    ] = 0.2,
    particles: Annotated[
        int, typer.Option(min=2, help="Programs that are kept: more take longer, and see more.")
    ] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Another seed finds other programs.")] = 0,
    changes: Annotated[
        bool, typer.Option("--changes", help="Look for places where all is different from there on: twice the time.")
    ] = False,
    out: Annotated[
        str | None, typer.Option("--out", metavar="DIR", help="Where to; out/discover/TABLE-COLUMN if not given.")
    ] = None,
) -> None:
    """Find what the numbers of a table show: trends, cycles, smooth variation, how sure each is, and what to expect.

    Ctrl-C stops the search after its present step and reports what is believed so far.
    """
    from gainful.cli.folders import make_folder, require_folder
    from gainful.cli.interrupt import Interrupt
    from gainful.cli.progress import choose_share
    from gainful.discovery import discover as search
    from gainful.discovery import read_series
    from gainful.discovery.report import next_words, page
    from gainful.lab.csv_cells import listed, shown
    from gainful.lab.journal import write_atomically

    started = time.monotonic()
    folder = _usual_folder(table, answer) if out is None else require_folder(out)
    names = None if inputs is None else [word.strip() for word in inputs.split(",") if word.strip()]
    series = read_series(table, answer, names)
    typer.echo(
        f"{shown(table.name)}: {len(series.y)} rows, {series.answer} along {listed(a.name for a in series.axes)}"
    )
    for note in series.notes:
        typer.echo(f"  {note}")
    make_folder(folder)
    bar = choose_share()

    def watch(progress: Progress) -> None:
        bar.advance(progress.done)
        interrupt.check()

    try:
        with Interrupt() as interrupt:
            found = search(series, particles, seed, ahead, watch, changes)
    except KeyboardInterrupt:
        typer.echo("\nInterrupted before anything was known; nothing was written.", err=True)
        raise typer.Exit(130) from None
    finally:
        bar.end()
    if found.done < 1.0:
        typer.echo(
            f"Interrupted after {100 * found.done:.0f} % of the search: this is what is believed so far.", err=True
        )
    typer.echo(f"\n{found.description}\n\nThe next reading that would tell most about which program is right:")
    for words in next_words(found):
        typer.echo(f"  {words}")
    typer.echo("Drawing the report.", err=True)
    path = folder / "report.html"
    command = _command(table, answer, inputs, ahead, particles, seed, changes)
    write_atomically(path, page(found, command, time.monotonic() - started).encode())
    typer.echo(f"\nReport: {path}")
    if found.done < 1.0:
        raise typer.Exit(130)


def _usual_folder(table: Path, answer: str) -> Path:
    """out/discover/TABLE-COLUMN, where very long names are shortened, with a hash instead of the rest."""
    name = re.sub(r"[\s/\\\x00]+", "-", f"{table.stem}-{answer}")
    return _OUT / (name if len(name) <= 80 else f"{name[:70]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}")


def _command(
    table: Path, answer: str, inputs: str | None, ahead: float, particles: int, seed: int, changes: bool
) -> str:
    words = ["gainful", "discover", str(table), "--answer", answer, *([] if inputs is None else ["--inputs", inputs])]
    words += ["--ahead", f"{ahead:g}", "--particles", str(particles), "--seed", str(seed)]
    return shlex.join([*words, *(["--changes"] * changes)])
