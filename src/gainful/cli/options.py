"""Options that several commands have; nothing heavy is imported here, so that help is quick."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["Dask", "Fresh", "LocalProcesses"]

LocalProcesses = Annotated[
    int | None, typer.Option(min=0, help="Local processes; one per core if not given, 0 for this one.")
]
Dask = Annotated[str | None, typer.Option(metavar="ADDRESS", help="Run on the workers of this Dask scheduler instead.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Start over; the earlier run is kept under another name.")]
