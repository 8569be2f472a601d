"""Values as JSON and back: a campaign's journal holds plain data, never pickles.

What is written comes back equal and of the same type, or is refused when it is written. JSON's own null, true, numbers,
text and lists are None, bool, int and float, str and tuple; everything else is an object of one of these forms:

    {"type": name, "fields": {...}}             a value of a dataclass, by what its constructor takes
    {"array": rows, "shape": …, "dtype": …}     an array of numbers, and {"scalar": x, "dtype": …} one number of NumPy's
    {"number": "inf"}                           inf, -inf and nan, which JSON does not know
    {"unstated": 1.0}                           a parameter that was left at its default
    {"places": rows, "columns": names}          places of a goal, and what their table called its columns, or null
    {"list": […]}, {"set": […]}, {"frozenset": […]}, {"mapping": [[key, value], …]}
    {"enum": name, "member": …}                 one of an enumeration
    {"function": name}, {"class": name}         by name only; `known` supplies them again
    {"object": name}                            an object without state, of the class of that name

Reading looks names up among gainful's own values and what is supplied, and builds values of those classes. Nothing is
imported, whatever a file says, and no function is called.
"""

from __future__ import annotations

import dataclasses
import math
from array import array
from collections.abc import Iterable
from typing import Any

import numpy as np

from gainful.campaign.decoding import Reader, Unreadable, decode_plain
from gainful.campaign.encoding import Writer, all_finite, too_deep
from gainful.campaign.naming import attributes, is_bare, is_value, name_of
from gainful.errors import InvalidInput, JournalError
from gainful.information.about import Reference

__all__ = ["Codec", "NotSupplied", "decode_plain", "encode", "name_of", "write_down"]


class NotSupplied(JournalError):
    """A journal is in order, and whoever reads it has not supplied what it can only name."""


def encode(value: Any) -> Any:
    """A value as JSON data; InvalidInput, if it cannot be written down.

    >>> from gainful.kernels import SE
    >>> encode(SE(0.2) * 2.0)["fields"]["right"]
    {'type': 'gainful.kernels.Constant', 'fields': {'variance': 2.0}}
    """
    try:
        return Writer().write(value)
    except RecursionError:
        raise too_deep() from None


def write_down(value: Any) -> Any:
    """A value as JSON data that is read back as exactly this value; InvalidInput names the part that would not be."""
    writer = Writer()
    try:
        data = writer.write(value)
        again = Reader(writer.named.values()).read(data)
        differs = _difference(value, again)
    except RecursionError:
        raise too_deep() from None
    except Unreadable as trouble:
        expected = "a value that is built again from its fields"
        remedy = "a frozen dataclass whose constructor takes its fields is"
        raise InvalidInput(trouble.at or "value", expected, trouble.why, remedy) from trouble.__cause__
    if differs is not None:
        at, was, now = differs
        got = f"{was!r}, which comes back as {now!r}"
        remedy = "keep in fields what the constructor is given, and in a cached_property what follows from it"
        raise InvalidInput(at or "value", "a value that comes back from a journal as it is", got, remedy)
    return data


class Codec:
    """Decodes; `known` are a user's own classes, functions and objects without state (see `Reader`)."""

    def __init__(self, known: Iterable[Any] = ()) -> None:
        self._reader = Reader(known)

    def decode(self, data: Any) -> Any:
        """The value behind JSON data; JournalError for any data that `encode` does not give.

        >>> from gainful.kernels import SE
        >>> Codec().decode(encode(SE((0.2, 0.3))))
        SE(lengthscale=(0.2, 0.3), variance=1.0)
        """
        try:
            return self._reader.read(data)
        except RecursionError:
            raise JournalError("the journal's design cannot be read: it is nested too deeply") from None
        except Unreadable as trouble:
            where = f" ({trouble.at})" if trouble.at else ""
            kind = JournalError if trouble.damaged else NotSupplied
            raise kind(f"the journal's design{where} cannot be read: {trouble.why}") from trouble.__cause__


class _Nothing:
    """What an object has where it has nothing."""

    def __repr__(self) -> str:
        return "nothing"


_NOTHING = _Nothing()


def _difference(was: Any, now: Any, at: str = "") -> tuple[str, Any, Any] | None:
    """Where two values are not the same, with what each has there; None if they are, in every type and bit."""
    if type(was) is not type(now):
        return at, was, now
    parts: list[tuple[str, Any, Any]] = []
    if isinstance(was, tuple | list):
        if len(was) != len(now) or (isinstance(was, Reference) and was.columns != now.columns):
            return at, was, now
        if not (all_finite(was) and all_finite(now) and array("d", was).tobytes() == array("d", now).tobytes()):
            parts = [(f"{at}[{i}]", a, b) for i, (a, b) in enumerate(zip(was, now, strict=True))]
    elif isinstance(was, dict):
        parts = [(at, list(was.items()), list(now.items()))]
    elif is_value(was):
        held, again = _contents(was), _contents(now)
        parts = [
            (f"{at}.{name}" if at else name, held.get(name, _NOTHING), again.get(name, _NOTHING))
            for name in {**held, **again}
        ]
    elif not _is_same(was, now):
        return at, was, now
    for part, a, b in parts:
        if (found := _difference(a, b, part)) is not None:
            return found
    return None


def _contents(value: Any) -> dict[str, Any]:
    """All that a value holds: its fields, also those that its class has for it, and whatever it keeps beside them."""
    return {f.name: getattr(value, f.name, _NOTHING) for f in dataclasses.fields(value)} | attributes(value)


def _is_same(was: Any, now: Any) -> bool:
    """Whether two things of one class and without parts are the same; one nan is another."""
    if isinstance(was, np.ndarray | np.generic):
        if was.dtype != now.dtype or was.shape != now.shape:
            return False
        same = was == now
        if was.dtype.kind == "f":
            same = (same & (np.signbit(was) == np.signbit(now))) | (np.isnan(was) & np.isnan(now))
        return bool(np.all(same))
    if isinstance(was, float):
        return (was == now and math.copysign(1.0, was) == math.copysign(1.0, now)) or (was != was and now != now)
    if isinstance(was, set | frozenset):
        return bool(encode(was) == encode(now))
    return was is now or (type(was) in (int, str) and was == now) or is_bare(was)
