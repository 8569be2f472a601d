"""Values as JSON and back: a campaign's journal holds plain data, never pickles.

A frozen dataclass becomes {"type": its name, "fields": {...}}; tuples and arrays become lists; infinities, which JSON
does not know, {"number": "inf"}. A function, or an object of a user's own class that is no dataclass, becomes
{"supplied": its name}: it cannot be written down, so whoever reads the journal has to supply it again.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

import gainful.acquisition as acquisition
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
from gainful.information.about import Region
from gainful.selection.choose import Search

__all__ = ["Codec", "encode", "name_of", "supplied"]

_ROOMS = (
    kernels,
    kernel_algebra,
    means,
    priors,
    instruments,
    inference,
    acquisition,
    selection,
    space,
)

_BUILD: dict[type, Callable[[dict[str, Any]], Any]] = {
    space.Space: lambda fields: space.Space(*fields["dimensions"]),
    instruments.Likelihood: lambda fields: instruments.Likelihood(
        *fields["functions"], answers=fields["possible"], cost=fields["cost"], name=fields["name"]
    ),
    space.Within: lambda fields: space.Within({name: (low, high) for name, low, high in fields["ends"]}),
}


def _is_value(kind: object) -> bool:
    return isinstance(kind, type) and dataclasses.is_dataclass(kind)


@lru_cache(maxsize=1)
def _known() -> dict[str, type]:
    found = {name: kind for room in _ROOMS for name, kind in vars(room).items() if _is_value(kind)}
    return {**found, "GP": GP, "Region": Region, "Search": Search}


def encode(value: Any) -> Any:
    """A value as JSON data.

    >>> encode(kernels.SE(0.2) * 2.0)["fields"]["right"]
    {'type': 'Constant', 'fields': {'variance': 2.0}}
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
        return {"type": type(value).__name__, "fields": fields}
    return {"supplied": name_of(value)}


def name_of(value: Any) -> str:
    """What a function, or an object of one's own class, is called in a journal."""
    return str(getattr(value, "__name__", type(value).__name__))


def supplied(value: Any) -> list[Any]:
    """Everything in a value that a journal can only name."""
    if isinstance(value, Mapping):
        return [each for part in value.values() for each in supplied(part)]
    if isinstance(value, list | tuple):
        return [each for part in value for each in supplied(part)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [each for f in dataclasses.fields(value) for each in supplied(getattr(value, f.name))]
    plain = value is None or isinstance(value, bool | str | int | float | np.generic | np.ndarray)
    return [] if plain else [value]


class Codec:
    """Decodes; `known` are a user's own classes, functions and objects, found by their names."""

    def __init__(self, known: Iterable[Any] = ()) -> None:
        self.kinds = dict(_known())
        self.others: dict[str, Any] = {}
        each_once = known if isinstance(known, Iterable) and not isinstance(known, type) else [known]
        for each in each_once:
            name = name_of(each)
            among = self.kinds if isinstance(each, type) and dataclasses.is_dataclass(each) else self.others
            if name in self.others and self.others[name] is not each:
                raise InvalidInput("known", "distinct names", f"{name} twice", "rename one of them")
            among[name] = each

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
        if "supplied" in data:
            found = self._supplied(self.others, data["supplied"])
            return found() if isinstance(found, type) else found
        kind = self._supplied(self.kinds, data.get("type"))
        fields = {name: self.decode(value) for name, value in data.get("fields", {}).items()}
        try:
            return _BUILD[kind](fields) if kind in _BUILD else kind(**fields)
        except (TypeError, KeyError) as trouble:
            raise JournalError(
                f"the journal's {kind.__name__} does not fit the class of that name ({trouble}); supply it as it was"
            ) from trouble

    def _supplied(self, among: Mapping[str, Any], name: Any) -> Any:
        if name not in among:
            raise JournalError(
                f"the journal speaks of {name!r}, which is not gainful's own; supply it again: "
                f"Campaign.resume(journal, known=[{name}])"
            )
        return among[name]
