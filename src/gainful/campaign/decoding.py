"""Reads values from the JSON data that `codec` describes, by the names of what is declared and what is supplied."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable
from enum import Enum
from itertools import chain
from typing import Any

import numpy as np

import gainful.instruments as instruments
import gainful.space as space
from gainful.campaign.encoding import DEEPEST, DTYPES, all_finite, beginning
from gainful.campaign.naming import class_name, declared, function_name, is_bare, is_function
from gainful.errors import InvalidInput
from gainful.information.about import Reference
from gainful.parameters import Unstated

__all__ = ["Reader", "Unreadable", "decode_plain"]

_WORDS = ("inf", "-inf", "nan")

# What constructors take that do not take their fields by name. A class that inherits one is built by it as well.
_ARGUMENTS: dict[Any, Callable[[dict[str, Any]], tuple[tuple[Any, ...], dict[str, Any]]]] = {
    space.Space.__init__: lambda fields: (fields["dimensions"], {}),
    space.Within.__init__: lambda fields: (({name: (low, high) for name, low, high in fields["ends"]},), {}),
    instruments.Likelihood.__init__: lambda fields: (
        fields["functions"],
        {"answers": fields["possible"]} | {name: fields[name] for name in ("cost", "name", "output") if name in fields},
    ),
}


class Unreadable(Exception):
    """What is wrong with JSON data, and with which part of it."""

    def __init__(self, at: str, why: str, damaged: bool = True) -> None:
        self.at, self.why, self.damaged = at, why, damaged
        super().__init__(at, why)


def decode_plain(data: Any) -> Any:
    """Numbers, words, True and False, None, and tuples of them; ValueError for any other JSON data.

    >>> decode_plain([{"number": "-inf"}, 0.4])
    (-inf, 0.4)
    """
    if isinstance(data, list):
        try:
            return tuple(decode_plain(part) for part in data)
        except RecursionError:
            raise ValueError("lists within lists, too many of them") from None
    if isinstance(data, dict):
        if list(data) != ["number"] or data["number"] not in _WORDS:
            raise ValueError("an object where a value was expected")
        return float(data["number"])
    return data


class Reader:
    """Builds the values again. `known` are a user's own classes, functions and objects without state, by their names.

    What was written is looked for by its whole name. Where nothing known has that, as when a script has become a
    module, what has the same name in another module stands for it, if it is the only one and stands for nothing else.
    """

    def __init__(self, known: Iterable[Any] = ()) -> None:
        self._known: dict[str, dict[str, Any]] = {"class": dict(declared()), "function": {}, "object": {}}
        self._stands_for: dict[tuple[str, str], str] = {}
        for each in known:
            if isinstance(each, type):
                self._add("class", class_name(each), each)
            elif is_function(each):
                self._add("function", function_name(each), each)
            elif is_bare(each):
                self._add("object", class_name(type(each)), each)
            else:
                expected = "classes, functions and objects without state"
                got = f"an object of the class {type(each).__qualname__}"
                raise InvalidInput("known", expected, got, "give the class itself, whose fields are in the journal")

    def _add(self, what: str, name: str, thing: Any) -> None:
        if self._known[what].setdefault(name, thing) is not thing:
            raise InvalidInput("known", "distinct names", f"{name} twice", "rename one of them")

    def read(self, data: Any, at: str = "", depth: int = 0) -> Any:
        """The value behind JSON data, or Unreadable; `at` is the part of the whole that it is."""
        if depth > DEEPEST:
            raise Unreadable(beginning(at), f"there are more than {DEEPEST} levels of values within values")
        if isinstance(data, list):
            if all_finite(data):
                return tuple(data)
            return tuple([self.read(part, f"{at}[{i}]", depth + 1) for i, part in enumerate(data)])
        if isinstance(data, dict):
            form = _FORMS.get(frozenset(data))
            if form is None:
                raise Unreadable(at, f"no value has the form of an object with {sorted(map(str, data))[:9]}")
            return form(self, data, at, depth)
        if not (data is None or isinstance(data, bool | int | float | str)):
            raise Unreadable(at, f"{type(data).__name__} is nothing that JSON has")
        if isinstance(data, float) and not math.isfinite(data):
            raise Unreadable(at, f"{data} is no number of JSON's")
        return data

    def _number(self, data: dict[str, Any], at: str, depth: int) -> float:
        if data["number"] not in _WORDS:
            raise Unreadable(at, f"expected one of {', '.join(_WORDS)}, got {_short(data['number'])}")
        return float(data["number"])

    def _unstated(self, data: dict[str, Any], at: str, depth: int) -> Unstated:
        if not isinstance(data["unstated"], float) or not math.isfinite(data["unstated"]):
            raise Unreadable(at, f"expected a number that was left at its default, got {_short(data['unstated'])}")
        return Unstated(data["unstated"])

    def _parts(self, data: dict[str, Any], at: str, depth: int) -> list[Any]:
        ((what, parts),) = data.items()
        if not isinstance(parts, list):
            raise Unreadable(at, f"expected a list of what is in the {what}, got {_short(parts)}")
        return parts if all_finite(parts) else [self.read(p, f"{at}[{i}]", depth + 1) for i, p in enumerate(parts)]

    def _list(self, data: dict[str, Any], at: str, depth: int) -> list[Any]:
        return list(self._parts(data, at, depth))

    def _reference(self, data: dict[str, Any], at: str, depth: int) -> Reference:
        places, columns = data["places"], data["columns"]
        if not isinstance(places, list) or not (columns is None or isinstance(columns, list)):
            raise Unreadable(at, "expected places, and the names of their columns or null")
        if columns is not None and not all(isinstance(name, str) for name in columns):
            raise Unreadable(at, f"expected names of columns, got {_short(columns)}")
        return Reference(self.read(places, at, depth + 1), None if columns is None else tuple(columns))

    def _set(self, data: dict[str, Any], at: str, depth: int) -> set[Any] | frozenset[Any]:
        parts = self._parts(data, at, depth)
        try:
            found = frozenset(parts)
        except TypeError as trouble:
            raise Unreadable(at, f"not all of it can be in a set ({trouble})") from trouble
        if len(found) != len(parts):
            raise Unreadable(at, "a part of a set is there twice")
        return set(found) if "set" in data else found

    def _mapping(self, data: dict[str, Any], at: str, depth: int) -> dict[Any, Any]:
        pairs = self._parts(data, at, depth)
        if not all(type(pair) is tuple and len(pair) == 2 for pair in pairs):
            raise Unreadable(at, "expected pairs of a key and a value")
        try:
            found = dict(pairs)
        except TypeError as trouble:
            raise Unreadable(at, f"not every key can be one ({trouble})") from trouble
        if len(found) != len(pairs):
            raise Unreadable(at, "a key of a mapping is there twice")
        return found

    def _array(self, data: dict[str, Any], at: str, depth: int) -> Any:
        shape, order = data["shape"], data.get("order", "C")
        usable = isinstance(shape, list) and len(shape) <= 32 and all(type(n) is int and n >= 0 for n in shape)
        if not usable or order not in ("C", "F"):
            raise Unreadable(at, f"no array has the shape {_short(shape)} in the order {_short(order)}")
        return np.array(_numbers(data["array"], shape, data["dtype"], at), order=order)

    def _scalar(self, data: dict[str, Any], at: str, depth: int) -> Any:
        return _numbers(data["scalar"], [], data["dtype"], at)[()]

    def _value(self, data: dict[str, Any], at: str, depth: int) -> Any:
        kind, given = self._find("class", data["type"], at), data["fields"]
        called = kind.__qualname__
        wanted = [field.name for field in dataclasses.fields(kind) if field.init] if _is_dataclass(kind) else None
        if wanted is None:
            raise Unreadable(at, f"{called} is no dataclass, of which alone values are built")
        if not isinstance(given, dict) or set(given) != set(wanted):
            got = sorted(given) if isinstance(given, dict) else _short(given)
            raise Unreadable(at, f"{called} has the fields {wanted} here and {got} in the journal; supply it as it was")
        fields = {}
        for name, part in given.items():
            fields[name] = self.read(part, f"{at}.{name}" if at else name, depth + 1)
        try:
            arguments = _ARGUMENTS.get(kind.__init__)
            args, named = ((), fields) if arguments is None else arguments(fields)
            return kind(*args, **named)
        except Exception as trouble:  # whatever a constructor says to fields that it did not expect
            why = f"{called} does not take what is in its fields ({trouble}); supply the class as it was"
            raise Unreadable(at, why) from trouble

    def _enum(self, data: dict[str, Any], at: str, depth: int) -> Any:
        kind, member = self._find("class", data["enum"], at), data["member"]
        if not issubclass(kind, Enum) or not isinstance(member, str) or member not in kind.__members__:
            raise Unreadable(at, f"{kind.__qualname__} is no enumeration with a member {_short(member)}")
        return kind.__members__[member]

    def _class(self, data: dict[str, Any], at: str, depth: int) -> Any:
        return self._find("class", data["class"], at)

    def _function(self, data: dict[str, Any], at: str, depth: int) -> Any:
        return self._find("function", data["function"], at)

    def _object(self, data: dict[str, Any], at: str, depth: int) -> Any:
        """An object without state: the one that was supplied, or a new one of the class that was."""
        if self._fitting("object", data["object"]) or not self._fitting("class", data["object"]):
            return self._find("object", data["object"], at)
        kind = self._find("class", data["object"], at)
        try:
            made = None if _is_dataclass(kind) else kind()
        except Exception as trouble:  # as above
            raise Unreadable(at, f"supply an object of {kind.__qualname__} instead of its class") from trouble
        if not is_bare(made):
            raise Unreadable(at, f"it had no state, and an object of {kind.__qualname__} has; supply it as it was")
        return made

    def _find(self, what: str, name: Any, at: str) -> Any:
        """What is called so, or is the only one that may be meant."""
        fits = self._fitting(what, name)
        short = str(name).rpartition(":")[2].rpartition(".")[2]
        if not fits:
            thing, example = "an object" if what == "object" else f"a {what}", short if short.isidentifier() else what
            raise Unreadable(
                at,
                f"it speaks of {short!r} ({_short(name)}), {thing} that is not gainful's own and is never imported; "
                f"supply it again: Campaign.resume(journal, known=[{example}])",
                damaged=False,
            )
        if len(fits) > 1:
            raise Unreadable(at, f"{_short(name)} may be any of {fits}, which are known; supply the one that is meant")
        meant = self._stands_for.setdefault((what, fits[0]), name)
        if meant != name:
            raise Unreadable(at, f"{fits[0]} cannot stand for both {meant} and {name}; supply both")
        return self._known[what][fits[0]]

    def _fitting(self, what: str, name: Any) -> list[str]:
        among = self._known[what]
        if not isinstance(name, str):
            return []
        if name in among or ":" not in name:
            return [name] if name in among else []
        return [each for each in among if ":" in each and _in_any_module(what, each) == _in_any_module(what, name)]


_FORMS: dict[frozenset[str], Callable[[Reader, dict[str, Any], str, int], Any]] = {
    frozenset(keys): form
    for keys, form in {
        ("type", "fields"): Reader._value,
        ("array", "shape", "dtype"): Reader._array,
        ("array", "shape", "dtype", "order"): Reader._array,
        ("scalar", "dtype"): Reader._scalar,
        ("number",): Reader._number,
        ("unstated",): Reader._unstated,
        ("list",): Reader._list,
        ("places", "columns"): Reader._reference,
        ("set",): Reader._set,
        ("frozenset",): Reader._set,
        ("mapping",): Reader._mapping,
        ("enum", "member"): Reader._enum,
        ("class",): Reader._class,
        ("function",): Reader._function,
        ("object",): Reader._object,
    }.items()
}


def _in_any_module(what: str, name: str) -> str:
    """A name without the module, and for functions without what they are nested in: theirs differ within a design."""
    return name.rpartition(".")[2].rpartition(":")[2] if what == "function" else name.partition(":")[2]


def _numbers(rows: Any, shape: list[int], dtype: Any, at: str) -> Any:
    """Nested lists as an array, if they are of this shape and hold numbers of this type."""
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise Unreadable(at, f"numbers are of a type among {sorted(DTYPES)}, not {_short(dtype)}")
    plain = {"b": bool, "i": int, "u": int, "f": float}[np.dtype(dtype).kind]
    flat = [rows]
    for size in shape:
        if not all(type(row) is list and len(row) == size for row in flat):
            raise Unreadable(at, f"the rows are not of the shape {shape}")
        flat = list(chain.from_iterable(flat))
    try:
        flat = flat if set(map(type, flat)) <= {plain} else [decode_plain(each) for each in flat]
        with np.errstate(over="ignore"):
            found = np.array(flat, dtype=dtype)
        exact = all(type(n) is plain and (n == m or n != n) for n, m in zip(flat, found.tolist(), strict=True))
        shaped = found.reshape(shape)
    except (TypeError, ValueError, OverflowError) as trouble:
        raise Unreadable(at, f"not every number is one of {dtype} ({trouble})") from trouble
    if not exact:
        raise Unreadable(at, f"not every number is one of {dtype}")
    return shaped


def _is_dataclass(kind: Any) -> bool:
    """Whether a class is one; says nothing more to a type checker, which takes it for an object of one as well."""
    return dataclasses.is_dataclass(kind)


def _short(name: Any) -> str:
    return repr(name) if len(repr(name)) <= 80 else f"{repr(name)[:79]}…"
