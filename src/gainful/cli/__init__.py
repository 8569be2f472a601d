"""The command line: parse, call, print. `main` is what the command `gainful` runs."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from gainful.cli.flags import in_words_of_the_command
from gainful.errors import GainfulError, InvalidInput, MissingExtra

if TYPE_CHECKING:
    from typer import Typer

__all__ = ["main"]


def main() -> None:
    """Run the command line; what was not accepted is said in one line, with exit code 2."""
    os.environ.setdefault("MPLBACKEND", "Agg")  # figures go to files
    try:
        _app()()
    except InvalidInput as error:
        print(f"gainful: {in_words_of_the_command(error)}", file=sys.stderr)
        sys.exit(2)
    except GainfulError as error:
        print(f"gainful: {error}", file=sys.stderr)
        sys.exit(2)


def _app() -> Typer:
    try:
        import rich  # noqa: F401 - so that its absence is reported by the name of the extra
        import typer  # noqa: F401
    except ImportError:
        raise MissingExtra("the command line", "cli") from None
    from gainful.cli.app import app

    return app
