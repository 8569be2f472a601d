"""`gainful reproduce`: list, run and report published experiments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gainful.cli.options import Dask, Fresh, LocalProcesses

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True, help="Run published experiments again, and hold their claims against the result."
)

_OUT = Path("out") / "reproduce"


@app.command("list")
def list_() -> None:
    """The experiments: name, source, title, repetitions, and whether their data files are there."""
    from gainful.cli.tables import console, experiments_table
    from gainful.papers import experiments

    found = experiments()
    if not found:
        typer.echo("There are no experiments here; your own are run as module:ATTRIBUTE.")
        return
    console().print(experiments_table(found.values()))


@app.command()
def run(
    name: Annotated[str, typer.Argument(help="A name from `list`, or module:ATTRIBUTE for an experiment of your own.")],
    quick: Annotated[bool, typer.Option("--quick", help="Fewer repetitions: a first look, in minutes.")] = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Where to; out/reproduce/NAME if not given.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Another seed gives another sample of the same experiment.")] = 0,
    processes: LocalProcesses = None,
    dask: Dask = None,
    fresh: Fresh = False,
) -> None:
    """Run an experiment, or what is left of it: an interrupted run continues with the same command."""
    from gainful.cli.running import carry_out
    from gainful.cli.tables import claims_table, console
    from gainful.papers import find

    experiment = find(name)
    folder = out or _OUT / (experiment.name + ("-quick" if quick else ""))
    summary = carry_out(experiment, folder, quick=quick, seed=seed, processes=processes, dask=dask, fresh=fresh)
    assert summary.result is not None
    console().print(claims_table(summary.result, experiment.title))
    typer.echo(f"Written to {folder}: result.json, rows.csv, figures.")


@app.command()
def report(
    directory: Annotated[Path, typer.Argument(metavar="[DIR]", help="A folder of runs.")] = _OUT,
) -> None:
    """Print the claims of all finished runs in a folder, and write them with their figures to report.html."""
    from gainful.cli.tables import claims_table, console
    from gainful.lab.report import finished_runs, unfinished_runs, write_report

    written = write_report(directory)
    for each in finished_runs(directory):
        console().print(claims_table(each.result, each.result["title"]))
    for folder, finished in unfinished_runs(directory):
        typer.echo(f"{folder}: not finished ({finished} repetitions so far)")
    typer.echo(f"Written: {written}")
