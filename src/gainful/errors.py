"""Every exception gainful raises on purpose.

    GainfulError
    ├── InvalidInput (also a ValueError)   an argument is not what was asked for
    ├── NumericalError                     a computation cannot be carried out in double precision
    ├── MissingExtra (also an ImportError) an optional dependency is not installed
    └── JournalError                       a campaign's journal cannot be read, or must not be written
        └── JournalChanged                 it holds events that the writer has not seen yet

Warnings (never silent, never fatal):

    GainfulWarning (a UserWarning)
    ├── JitterWarning                      a factorisation needed a larger diagonal than the model has
    ├── ConvergenceWarning                 an iteration ended before its tolerance was met
    └── JournalWarning                     a journal's last event was cut short and is left out
"""

from __future__ import annotations

__all__ = [
    "ConvergenceWarning",
    "GainfulError",
    "GainfulWarning",
    "InvalidInput",
    "JitterWarning",
    "JournalChanged",
    "JournalError",
    "JournalWarning",
    "MissingExtra",
    "NumericalError",
]


class GainfulError(Exception):
    """The root of every exception raised on purpose."""


class InvalidInput(GainfulError, ValueError):
    """An argument is not what was expected.

    The message names the argument, what was expected, what came, and what to do about it; the four parts are kept as
    attributes so that a command line or a web page can lay them out.

    >>> raise InvalidInput("noise", "a positive number", -1.0, "give the standard deviation of the noise")
    Traceback (most recent call last):
    ...
    gainful.errors.InvalidInput: noise: expected a positive number, got -1.0; give the standard deviation of the noise
    """

    def __init__(self, argument: str, expected: str, got: object, remedy: str) -> None:
        self.argument = argument
        self.expected = expected
        self.got = got
        self.remedy = remedy
        super().__init__(f"{argument}: expected {expected}, got {shorten(got)}; {remedy}")


class NumericalError(GainfulError, ArithmeticError):
    """A computation cannot be carried out in double precision; the message says which and what would help."""


class MissingExtra(GainfulError, ImportError):
    """An optional dependency is missing; the message names the extra that installs it."""

    def __init__(self, feature: str, extra: str) -> None:
        self.extra = extra
        super().__init__(f"{feature}: an optional dependency is missing; run: pip install 'gainful[{extra}]'")


class JournalError(GainfulError):
    """A journal cannot be read, or must not be written; the message says where, why and what to do."""


class JournalChanged(JournalError):
    """Somebody else has written to a journal since it was read, and nothing was appended: read it, and try again."""


class GainfulWarning(UserWarning):
    """The root of every warning."""


class JitterWarning(GainfulWarning):
    """A factorisation succeeded only after its diagonal was enlarged; the message says by how much."""


class ConvergenceWarning(GainfulWarning):
    """An iteration ended before its tolerance was met; the message says how far it got."""


class JournalWarning(GainfulWarning):
    """The last event of a journal was cut short, as by a loss of power, and is left out; all before it is there."""


def shorten(value: object, limit: int = 120) -> str:
    """A value in one short line, whatever it is."""
    try:
        text = value if isinstance(value, str) else " ".join(repr(value).split())
    except Exception:  # a value that cannot even be shown must not hide what is wrong with it
        text = f"an object of type {type(value).__name__}"
    text = text or "''"
    return text if len(text) <= limit else text[: limit - 1] + "…"
