"""The space that a study file states: a table for each dimension, and linear limits."""

from __future__ import annotations

from typing import Any

from gainful.space import At, Categorical, Integer, LinearLimit, Places, Proportions, Real, Space
from gainful.studies.tables import Table

__all__ = ["KEYS", "read_space"]

# What each kind of dimension may say. A kind that is not stated follows from the keys that only one kind has.
KEYS = {
    "real": ("low", "high", "unit", "log", "when"),
    "integer": ("low", "high", "unit", "log", "when"),
    "categorical": ("levels", "ordered", "when"),
    "fixed": ("value", "unit"),
    "mixture": ("parts", "total", "low", "high", "unit"),
}
_OWN = {"levels": "categorical", "value": "fixed", "parts": "mixture"}
_NEEDED = {
    "real": ("low", "high"), "integer": ("low", "high"), "categorical": ("levels",), "fixed": ("value",),
    "mixture": ("parts",),
}  # fmt: skip
_FOR_INSTANCE = "for instance temperature = { low = 20, high = 90 } under [space]"


def read_space(whole: Table) -> Places:
    """The space of a study: the dimensions under [space], within the limits under [[limits]]."""
    table = whole.table("space", _FOR_INSTANCE)
    if not table.values:
        table.refuse([], "at least one dimension", "none", _FOR_INSTANCE)
    dimensions = [_dimension(name, each) for name, each in table.tables(_FOR_INSTANCE)]
    with table.making():
        space: Places = Space(*dimensions)
    for limit in whole.listed("limits", "for instance [[limits]], then weights = { a = 1, b = 2 } and most = 3"):
        limit.only(("weights", "least", "most"))
        limit.get("weights", lambda v: isinstance(v, dict), "a weight for each dimension", "weights = { a = 1, b = 2 }")
        with limit.making():
            space = space.where(LinearLimit(**limit.values))
    return space


def _dimension(name: str, table: Table) -> Any:
    kind = _kind(table)
    table.only(("kind", *KEYS[kind]))
    for key in _NEEDED[kind]:
        table.get(key, lambda v: True, f"which every {kind} dimension has", f"add {key} = …")
    told = {key: value for key, value in table.values.items() if key != "kind"}
    with table.making():
        match kind:
            case "real":
                return Real(name, **told)
            case "integer":
                return Integer(name, **told)
            case "categorical":
                return Categorical(name, **told)
            case "fixed":
                return At(name, **told)
            case _:
                return Proportions(told.pop("parts"), **told)


def _kind(table: Table) -> str:
    known = list(KEYS)
    remedy = "leave it out for a real number; levels, value and parts say their kind themselves"
    stated = table.get("kind", lambda v: v in known, f"one of {', '.join(known)}", remedy, None)
    return stated or next((kind for key, kind in _OWN.items() if key in table.values), "real")
