"""`gainful optimise`: minimise or maximise a command or a Python function over the space of a study file."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gainful.cli.options import Fresh

if TYPE_CHECKING:
    from gainful.cli.optimise_view import View
    from gainful.studies.driving import End
    from gainful.studies.run import Run

__all__ = ["optimise"]

_OUT = Path("out") / "optimise"


def optimise(
    study: Annotated[
        Path, typer.Argument(metavar="STUDY.toml", help="The space, the goal, and the command or function to run.")
    ],
    evaluations: Annotated[
        int | None, typer.Option(min=1, help="How many in all; what the study says if not given.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Evaluations at once.")] = 1,
    out: Annotated[
        str | None, typer.Option("--out", metavar="DIR", help="Where to; out/optimise/STUDY if not given.")
    ] = None,
    fresh: Fresh = False,
    init: Annotated[bool, typer.Option("--init", help="Write a study to begin with to STUDY.toml, and stop.")] = False,
) -> None:
    """Find where the value of a command or a function is smallest, or largest.

    A few dozen evaluations are chosen one by one, by what is believed so far.

    The study states the space, the goal, and how a place is evaluated:
    a command with placeholders, such as ./simulate --t={temperature},
    whose last printed word is the value, or a Python function, module:name.
    --init writes a study to begin with.

    Evaluations that fail, hang or print nonsense are survived.
    Places like them are avoided, and the report has their last words.
    Nothing that was evaluated is lost: whatever ended it, be it kill -9,
    the same command goes on. Ctrl-C waits for what is under way and
    reports; a second one does not wait.
    """
    from gainful.cli.folders import make_folder, require_folder
    from gainful.cli.optimise_view import choose_view
    from gainful.lab.blas import keep_blas_on_one_thread
    from gainful.studies import Run, read_study
    from gainful.studies.run import set_aside

    if init:
        _write_template(study)
        return
    keep_blas_on_one_thread()  # so that the same study gives the same numbers
    read = read_study(study)
    folder = _OUT / study.stem if out is None else require_folder(out)
    wanted = evaluations or read.evaluations
    if wanted is None:
        read.table.refuse(["study"], "the key evaluations, how many to make", "none", "or say --evaluations 40")
    make_folder(folder)
    if fresh and (aside := set_aside(folder)) is not None:
        typer.echo(f"The earlier run is now in {aside}.", err=True)
    with Run(read, folder) as run:
        view = choose_view(run, wanted)
        ended = _watched(run, wanted, workers, view)
        words = ["gainful", "optimise", str(study), *(["--workers", str(workers)] if workers > 1 else [])]
        _finish(run, ended, shlex.join([*words, *(["--out", out] if out else [])]))


def _watched(run: Run, wanted: int, workers: int, view: View) -> End:
    """Evaluate while somebody looks on; Ctrl-C is an end like others."""
    from gainful.cli.interrupt import Interrupt
    from gainful.studies.driving import End

    try:
        with Interrupt() as interrupt:
            return run.go(wanted, workers, view, lambda: interrupt.asked)
    except KeyboardInterrupt:
        return End.INTERRUPTED
    finally:
        view.end()


def _finish(run: Run, ended: End, command: str) -> None:
    """Write and say what was found; exit with 130 if interrupted, with 1 where there is no value."""
    from gainful.lab.journal import write_atomically
    from gainful.studies.driving import End
    from gainful.studies.report import page, summary

    write_atomically(run.folder / "evaluations.csv", run.table().encode())
    found = run.result(ended)
    for line in summary(run, found):
        typer.echo(line)
    if run.evaluations:
        typer.echo("Drawing the report.", err=True)
        write_atomically(run.folder / "report.html", page(run, found, command).encode())
        typer.echo(f"Report: {run.folder / 'report.html'}")
    if ended is End.INTERRUPTED:
        typer.echo(f"Interrupted. What is known is in {run.folder}; the same command goes on.", err=True)
        raise typer.Exit(130)
    if found.place is None:
        raise typer.Exit(1)


def _write_template(path: Path) -> None:
    from gainful.errors import InvalidInput
    from gainful.studies.study import TEMPLATE

    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(TEMPLATE)
    except FileExistsError:
        raise InvalidInput("--init", "a file that is not there yet", str(path), "name another one") from None
    except OSError as error:
        expected = "a file that can be written"
        raise InvalidInput("--init", expected, str(path), error.strerror or str(error)) from None
    typer.echo(f"Written: {path}. Say what is yours in it, then: gainful optimise {shlex.quote(str(path))}")
