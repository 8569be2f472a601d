"""Runs an experiment for a command: where it runs, what is shown of interruptions and failures."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from gainful.cli.flags import as_flags
from gainful.cli.folders import make_folder
from gainful.cli.progress import choose_watcher
from gainful.lab import Cluster, Experiment, Failed, Here, Processes, Summary, Workers, run

__all__ = ["carry_out"]

_SHOWN = 3  # failures that are shown in full


def carry_out(
    experiment: Experiment | str,
    folder: Path,
    *,
    seed: int,
    processes: int | None,
    dask: str | None,
    fresh: bool,
    quick: bool = False,
) -> Summary:
    """Run it, or what is left of it, and show how that goes; exit with 130 if interrupted, with 1 after failures."""
    workers = _workers(processes, dask)
    make_folder(folder)
    try:
        summary = run(
            experiment, folder, quick=quick, seed=seed, workers=workers, fresh=fresh, watcher=choose_watcher()
        )
    except KeyboardInterrupt:
        typer.echo(f"\nInterrupted. What is finished is in {folder}; the same command continues.", err=True)
        raise typer.Exit(130) from None
    if summary.failures:
        _print_failures(summary.failures)
        failed, finished = len(summary.failures), summary.kept + summary.ran
        typer.echo(f"\nFailed: {failed}. Finished and kept: {finished}. The same command tries again.", err=True)
        raise typer.Exit(1)
    return summary


def _workers(processes: int | None, dask: str | None) -> Workers:
    if dask is not None:
        if processes is not None:
            raise typer.BadParameter("give either --processes or --dask", param_hint="--dask")
        return Cluster(dask)
    return Here() if processes == 0 else Processes(processes)


def _print_failures(failures: tuple[Failed, ...]) -> None:
    for failed in failures[:_SHOWN]:
        *before, last = failed.reason.strip().splitlines()
        reason = "\n".join([*before, as_flags(last)])
        print(f"\n{failed.repetition.key} failed (seed {failed.repetition.seed}):\n{reason}\n", file=sys.stderr)
    for failed in failures[_SHOWN:]:
        print(f"{failed.repetition.key} failed: {as_flags(failed.reason.strip().splitlines()[-1])}", file=sys.stderr)
