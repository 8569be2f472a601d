"""The command `gainful` and its subcommands; each imports what it needs when it is called, so that help is quick."""

from __future__ import annotations

from typing import Annotated

import typer

from gainful import __version__
from gainful.cli import compare, demo, discover, optimise, reproduce

__all__ = ["app"]

app = typer.Typer(name="gainful", no_args_is_help=True, add_completion=False, pretty_exceptions_show_locals=False)
app.command()(demo.demo)
app.command()(compare.compare)
app.command()(discover.discover)
app.command()(optimise.optimise)
app.add_typer(reproduce.app, name="reproduce")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gainful {__version__}")
        raise typer.Exit


@app.callback()
def _gainful(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Decide what to measure next: where, with which instrument, and when to stop."""
