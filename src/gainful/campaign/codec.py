"""Values as JSON and back: a campaign's journal holds plain data, never pickles.

A frozen dataclass becomes {"type": its name, field: value, ...}; tuples and arrays become lists; infinities, which JSON
does not know, {"number": "inf"}. A function (a user's own predicate or measure) becomes {"function": its name}:
functions cannot be written down, so whoever reads the journal has to supply them again by name.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

import gainful.goals as goals
import gainful.inference as inference
import gainful.instruments as instruments
import gainful.kernels as kernels
import gainful.kernels.base as kernel_algebra
import gainful.means as means
import gainful.priors as priors
import gainful.selection as selection
import gainful.space as space
from gainful.errors import InvalidInput, JournalError
from gainful.gp import GP
from gainful.selection.choose import Search

__all__ = ["Codec", "encode"]

_ROOMS = (kernels, kernel_algebra, means, priors, instruments, inference, goals, selection, space)

_BUILD: dict[type, Callable[[dict[str, Any]], Any]] = {
    space.Space: lambda fields: space.Space(*fields["dimensions"]),
    space.Within: lambda fields: space.Within({name: (low, high) for name, low, high in fields["ends"]}),
}


def _is_value(kind: object) -> bool:
    return isinstance(kind, type) and dataclasses.is_dataclass(kind)


def _known() -> dict[str, type]:
    found = {name: kind for room in _ROOMS for name, kind in vars(room).items() if _is_value(kind)}
    return {**found, "GP": GP, "Search": Search}


def encode(value: Any) -> Any:
    """A value as JSON data.

    >>> encode(kernels.SE(0.2) * 2.0)["right"]
    {'type': 'Constant', 'variance': 2.0}
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        number = float(value)
        return number if math.isfinite(number) else {"number": repr(number)}
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, np.ndarray | list | tuple):
        return [encode(part) for part in (value.tolist() if isinstance(value, np.ndarray) else value)]
    if isinstance(value, Mapping):
        return {"mapping": [[encode(k), encode(v)] for k, v in value.items()]}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: encode(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {"type": type(value).__name__, **fields}
    if callable(value) and hasattr(value, "__name__"):
        return {"function": value.__name__}
    raise InvalidInput("value", "numbers, text, gainful's values, dataclasses or named functions", value,
                       "make it a frozen dataclass, or a function with a name")  # fmt: skip


class Codec:
    """Decodes; `known` are a user's own classes and functions, by their names."""

    def __init__(self, known: Iterable[Any] = ()) -> None:
        self.kinds = _known()
        self.functions: dict[str, Any] = {}
        for each in known:
            name = getattr(each, "__name__", None)
            if name is None:
                raise InvalidInput("known", "classes and named functions", each, "pass the class or function itself")
            (self.kinds if isinstance(each, type) else self.functions)[name] = each

    def decode(self, data: Any) -> Any:
        """The value behind JSON data; lists become tuples.

        >>> Codec().decode(encode(kernels.SE((0.2, 0.3))))
        SE(lengthscale=(0.2, 0.3), variance=1.0)
        """
        if isinstance(data, list):
            return tuple(self.decode(part) for part in data)
        if not isinstance(data, dict):
            return data
        if "number" in data:
            return float(data["number"])
        if "mapping" in data:
            return {self.decode(k): self.decode(v) for k, v in data["mapping"]}
        if "function" in data:
            return self._supplied(self.functions, data["function"], "function")
        kind = self._supplied(self.kinds, data.get("type"), "class")
        fields = {name: self.decode(value) for name, value in data.items() if name != "type"}
        if kind in _BUILD:
            return _BUILD[kind](fields)
        return kind(**fields)

    def _supplied(self, among: Mapping[str, Any], name: Any, what: str) -> Any:
        if name not in among:
            raise JournalError(
                f"the journal speaks of the {what} {name!r}, which is not gainful's own; supply it again: "
                f"Campaign.resume(journal, known=[{name}])"
            )
        return among[name]
