"""`gainful demo`: a soil survey, gainful against random on the same fields, shown while it runs and reported after."""

from __future__ import annotations

import time
from collections import deque
from itertools import count, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gainful.cli.folders import make_folder

if TYPE_CHECKING:
    from gainful.demo.live import Viewer
    from gainful.demo.survey import Comparison

__all__ = ["demo"]

_FIELDS, _QUICK = 20, 4


def demo(
    quick: Annotated[bool, typer.Option("--quick", help=f"{_QUICK} fields, without pauses: a few seconds.")] = False,
    fields: Annotated[
        int | None, typer.Option(min=2, help=f"How many fields; {_FIELDS} if not given, {_QUICK} with --quick.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The first field's seed; the others follow it.")] = 0,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the report goes.")] = Path("out") / "demo",
) -> None:
    """Survey the soil of a 2 km square with three instruments and a budget of 60: gainful against random.

    Writes report.html, one page that needs nothing else, and queries.csv with every query of every survey.
    """
    from gainful.demo.live import choose_viewer
    from gainful.demo.report import middle
    from gainful.demo.survey import Result

    started = time.monotonic()
    make_folder(out)
    wanted = fields or (_QUICK if quick else _FIELDS)
    done: list[Comparison] = []
    viewer = choose_viewer(wanted)
    try:
        _watch(range(seed, seed + wanted), done, viewer, 0.0 if quick else viewer.hold)
    except KeyboardInterrupt:
        done = _without_gaps(done, seed)
        if len(done) < 2:
            viewer.end()
            typer.echo("Interrupted before two fields were finished; nothing was written.", err=True)
            raise typer.Exit(130) from None
    finally:
        viewer.end()
    if len(done) < wanted:
        typer.echo(f"Interrupted; the report is about the first {len(done)} fields, which were finished.", err=True)
    done.sort(key=lambda each: each.seed)
    typer.echo("Drawing the report.", err=True)
    path = _write(out, done, _explained(middle(done)), f"gainful demo --fields {len(done)} --seed {seed}")
    typer.echo(f"{Result.of(done)}. Report: {path}")
    typer.echo(f"It took {time.monotonic() - started:.0f} s.", err=True)
    if len(done) < wanted:
        raise typer.Exit(130)


def _watch(seeds: range, done: list[Comparison], viewer: Viewer, hold: float) -> None:
    """Survey all fields into `done`, and show the first one's survey at a pace that can be followed."""
    from gainful.demo.fields import survey_fields
    from gainful.demo.survey import GOALS, Comparison, Field, Moment

    truth, ours = Field.draw(seeds[0]).picture, next(iter(GOALS))
    moments: deque[Moment] = deque()
    due = 0.0

    def show_if_due() -> None:
        nonlocal due
        if moments and time.monotonic() >= due:
            viewer.watch(truth, moments.popleft())
            due = time.monotonic() + hold

    for came in survey_fields(seeds, watched=seeds[0]):
        if isinstance(came, Comparison):
            done.append(came)
            viewer.advance(done)
        elif came is not None and came.strategy == ours:
            moments.append(came)
        show_if_due()
    while moments:
        time.sleep(max(0.0, due - time.monotonic()))
        show_if_due()


def _without_gaps(done: list[Comparison], seed: int) -> list[Comparison]:
    """The fields from the first seed up to the first that is missing, so that a command can say which they were."""
    by_seed = {each.seed: each for each in done}
    return [by_seed[s] for s in takewhile(by_seed.__contains__, count(seed))]


def _explained(shown: Comparison) -> Comparison:
    """The same comparison with the reasons for its queries: it is surveyed again, which gives the same numbers."""
    from gainful.demo.fields import survey_fields
    from gainful.demo.survey import Comparison

    if all(step.plan.reason for last in shown.last.values() for step in last.steps):
        return shown
    (found,) = (each for each in survey_fields([shown.seed], watched=shown.seed) if isinstance(each, Comparison))
    return found


def _write(folder: Path, comparisons: list[Comparison], shown: Comparison, command: str) -> Path:
    from gainful.demo.report import page, table
    from gainful.lab.journal import write_atomically

    write_atomically(folder / "queries.csv", table(comparisons).encode())
    write_atomically(folder / "report.html", page(comparisons, shown, command).encode())
    return folder / "report.html"
