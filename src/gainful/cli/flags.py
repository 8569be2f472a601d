"""Says what the library advises in the words of the command line: `fresh=True` becomes `--fresh`."""

from __future__ import annotations

import re

from gainful.errors import InvalidInput

__all__ = ["as_flags", "in_words_of_the_command"]

# Arguments that are options of a command by the same name, and what stands for a value that is left open.
_OPTIONS = {"fresh": "", "ranks": "", "numbers": "", "yes": "CLASS", "drop": "NAME", "inputs": "A,B"}
_ARGUMENT = re.compile(rf"\b({'|'.join(_OPTIONS)})=(True|\.\.\.|\[[^\]]*\]|\"[^\"]*\"|'[^']*')")
_QUOTED = re.compile(r"\"([^\"]*)\"|'([^']*)'")


def as_flags(advice: str) -> str:
    """The advice with the options of commands in place of Python's arguments.

    >>> as_flags('say yes="CLASS" for one against the others, ranks=True or numbers=True')
    'say --yes CLASS for one against the others, --ranks or --numbers'
    >>> as_flags("leave it out with drop=['depth'], or use workers=Here()")
    'leave it out with --drop depth, or use --processes 0'
    """
    return _ARGUMENT.sub(_flag, advice).replace("workers=Here()", "--processes 0")


def in_words_of_the_command(error: InvalidInput) -> InvalidInput:
    """The same refusal to somebody who gave a command."""
    return InvalidInput(error.argument, error.expected, error.got, as_flags(error.remedy))


def _flag(found: re.Match[str]) -> str:
    option, value = found.groups()
    if value == "True":
        return f"--{option}"
    named = [first or second for first, second in _QUOTED.findall(value)]
    return f"--{option} {','.join(named) or _OPTIONS[option]}"
