"""Writes values as the JSON data that `codec` describes, and refuses what that cannot hold."""

from __future__ import annotations

import dataclasses
import json
import math
import re
import sys
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, NoReturn

import numpy as np

from gainful.campaign.naming import (
    class_name,
    declared,
    function_name,
    is_bare,
    is_function,
    is_plain,
    is_value,
    name_of,
)
from gainful.errors import InvalidInput
from gainful.information.about import Reference
from gainful.parameters import Unstated

__all__ = ["DEEPEST", "DTYPES", "Writer", "all_finite", "beginning", "too_deep"]

DEEPEST = 300  # levels of values within values: two calls each, of the thousand that Python allows
DTYPES = frozenset(np.dtype(code).name for code in "?bBhHiIlLqQefd")
_LONGEST = 13_000  # bits of a whole number: Python reads no more than 4300 digits
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")  # would be read as one character


class Writer:
    """Writes values, and keeps what it could only name."""

    def __init__(self) -> None:
        self.named: dict[tuple[str, str], Any] = {}  # by what it is, and what it is called

    def write(self, value: Any, at: str = "", depth: int = 0) -> Any:
        """The value as JSON; `at` is the part of the whole that it is."""
        if depth > DEEPEST:
            raise too_deep(at)
        return _WRITE.get(type(value), Writer._other)(self, value, at, depth)

    def _as_it_is(self, value: Any, at: str, depth: int) -> Any:
        return value

    def _whole(self, value: int, at: str, depth: int) -> int:
        if value.bit_length() > _LONGEST:
            expected = "a whole number of at most 3900 digits"
            raise InvalidInput(at or "value", expected, f"one of {value.bit_length()} bits", "give it as text")
        return value

    def _float(self, value: float, at: str, depth: int) -> Any:
        return value if math.isfinite(value) else {"number": repr(value)}

    def _unstated(self, value: Unstated, at: str, depth: int) -> Any:
        return {"unstated": float(value)}

    def _text(self, value: str, at: str, depth: int) -> str:
        if not value.isascii() and _PAIR.search(value):
            got = value.encode("utf-8", "backslashreplace").decode()
            raise InvalidInput(at or "value", "text without halves of a character side by side", got, "join them")
        return value

    def _tuple(self, value: tuple[Any, ...] | list[Any], at: str, depth: int) -> list[Any]:
        if all_finite(value):
            return list(value)
        return [self.write(part, f"{at}[{i}]", depth + 1) for i, part in enumerate(value)]

    def _list(self, value: list[Any], at: str, depth: int) -> Any:
        return {"list": self._tuple(value, at, depth)}

    def _reference(self, value: Reference, at: str, depth: int) -> Any:
        return {"places": self._tuple(value, at, depth), "columns": None if value.columns is None else [*value.columns]}

    def _dict(self, value: dict[Any, Any], at: str, depth: int) -> Any:
        pairs = []
        for key, part in value.items():
            named = f"{at}[{key!r}]" if type(key) is str else f"{at}[…]"
            pairs.append([self.write(key, f"a key of {at}", depth + 1), self.write(part, named, depth + 1)])
        return {"mapping": pairs}

    def _set(self, value: set[Any] | frozenset[Any], at: str, depth: int) -> Any:
        """In the order of the text, since a set has none: the same set is the same bytes in every process."""
        parts = [self.write(part, f"a part of {at}", depth + 1) for part in value]
        return {type(value).__name__: sorted(parts, key=json.dumps)}

    def _array(self, value: Any, at: str, depth: int) -> Any:
        self._number_type(value, at)
        rows = value.tolist()
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            rows = _with_words(rows)
        written = {"array": rows, "shape": list(value.shape), "dtype": value.dtype.name}
        # Products of a matrix round by how it lies in memory.
        return written | {"order": "F"} if value.flags.fnc else written

    def _number_type(self, value: Any, at: str) -> None:
        kind, name = value.dtype, value.dtype.name
        if name not in DTYPES or not kind.isnative or np.dtype(name).type is not kind.type:
            remedy = "use .astype(float), or numbers and text of Python's own in a tuple"
            raise InvalidInput(at or "value", f"numbers of a type among {', '.join(sorted(DTYPES))}", kind, remedy)

    def _other(self, value: Any, at: str, depth: int) -> Any:
        kind = type(value)
        if isinstance(value, np.generic) and kind.__module__ == "numpy":
            self._number_type(value, at)
            return {"scalar": self._array(np.asarray(value), at, depth)["array"], "dtype": value.dtype.name}
        if isinstance(value, Enum) and kind.__members__.get(value.name or "") is value:
            return {"enum": self._name("class", class_name(kind), kind, at), "member": value.name}
        if is_value(value) and is_plain(kind):
            return self._value(value, at, depth)
        if isinstance(value, type):
            return {"class": self._name("class", class_name(value), value, at)}
        if is_function(value):
            self._name("called", name_of(value), value, at)
            return {"function": self._name("function", function_name(value), value, at)}
        if is_bare(value):
            return {"object": self._name("object", class_name(kind), value, at)}
        _refuse(value, at)

    def _value(self, value: Any, at: str, depth: int) -> Any:
        kind, fields = type(value), {}
        for field in dataclasses.fields(value):
            if field.init:
                part = f"{at}.{field.name}" if at else field.name
                if not hasattr(value, field.name):
                    raise InvalidInput(part, "a value", "none at all", f"let {kind.__qualname__} set all its fields")
                fields[field.name] = self.write(getattr(value, field.name), part, depth + 1)
        return {"type": self._name("class", class_name(kind), kind, at), "fields": fields}

    def _name(self, what: str, name: str, thing: Any, at: str) -> str:
        """The name, which from now on stands for this thing alone."""
        own = declared().get(name) if what == "class" else None
        there = own or self.named.setdefault((what, name), thing)
        alike = what == "object" and type(there) is type(thing)  # without state, one is as good as another
        if there is not thing and not alike:
            expected = "another name for each class, function and object that a journal can only name"
            short = name.rpartition(".")[2].rpartition(":")[2]
            raise InvalidInput(at or "value", expected, f"{short} twice", "rename one of them")
        return name


_WRITE: dict[type, Callable[[Writer, Any, str, int], Any]] = {
    type(None): Writer._as_it_is,
    bool: Writer._as_it_is,
    int: Writer._whole,
    float: Writer._float,
    Unstated: Writer._unstated,
    str: Writer._text,
    tuple: Writer._tuple,
    Reference: Writer._reference,
    list: Writer._list,
    dict: Writer._dict,
    set: Writer._set,
    frozenset: Writer._set,
    np.ndarray: Writer._array,
}


def _refuse(value: Any, at: str) -> NoReturn:
    kind, name = type(value), type(value).__qualname__
    theirs = kind.__module__.partition(".")[0] in {*sys.stdlib_module_names, "numpy"}
    if callable(value) and theirs:
        remedy = "write a function with def: a journal names functions, and cannot know what others are bound to"
    elif isinstance(value, Mapping):
        remedy = "use a dict"
    elif isinstance(value, Enum):
        remedy = "use a tuple of the members that are in it"
    elif theirs:
        remedy = f"give it as numbers or text, and make the {name} of that where it is used"
    else:
        remedy = (
            f"make {name} a frozen dataclass whose fields are numbers, text, tuples, lists, dicts, arrays, functions "
            "or such dataclasses, or give these instead of it; an object without attributes may stay as it is"
        )
    raise InvalidInput(at or "value", "what a journal can write down", f"an object of the class {name}", remedy)


def all_finite(parts: tuple[Any, ...] | list[Any]) -> bool:
    """Whether these are finite floats, which are the same in JSON: places come by the thousand."""
    return set(map(type, parts)) == {float} and all(map(math.isfinite, parts))


def _with_words(rows: Any) -> Any:
    if isinstance(rows, list):
        return [_with_words(row) for row in rows]
    return rows if math.isfinite(rows) else {"number": repr(rows)}


def too_deep(at: str = "") -> InvalidInput:
    """What is said of values within values without end."""
    remedy = "check that no value contains itself; a sum of very many kernels can be a kernel of one's own"
    return InvalidInput(beginning(at) or "value", f"values within values, at most {DEEPEST} levels", "more", remedy)


def beginning(at: str) -> str:
    """The beginning of a path that is too long to read."""
    return at if len(at) <= 60 else f"{at[:59]}…"
