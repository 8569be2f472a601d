"""The space that a study file states: a table for each dimension, and linear limits."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from gainful.checks import is_number
from gainful.errors import InvalidInput
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
    _require_own_names(table)
    for name, each in table.tables(_FOR_INSTANCE):
        _require_conditions(name, each, table)
    with table.making():
        space: Places = Space(*dimensions)
    for limit in whole.listed("limits", "for instance [[limits]], then weights = { a = 1, b = 2 } and most = 3"):
        limit.only(("weights", "least", "most"))
        limit.get("weights", lambda v: isinstance(v, dict), "a weight for each dimension", "weights = { a = 1, b = 2 }")
        for name in limit.values["weights"]:
            if any(isinstance(each, Categorical) and each.name == name for each in dimensions):
                limit.refuse(["weights", name], "numbers alone", f"{name}, a category", "take it out")
        with limit.making():
            space = space.where(LinearLimit(**limit.values))
        _require_some(space, limit)
    return space


def _require_some(space: Places, limit: Table) -> None:
    """Refuse a limit that leaves no place."""
    try:
        some = len(space.candidates(1, 0)) > 0
    except InvalidInput:
        some = False
    if not some:
        limit.refuse([], "a limit that some place keeps, with those before it", "no place that does", "widen it")


def _require_own_names(table: Table) -> None:
    """Refuse a part of a mixture that is called as another dimension is."""
    seen = [name for name, each in table.values.items() if "parts" not in each]
    for name, each in table.tables(_FOR_INSTANCE):
        parts = each.values.get("parts", [])
        for part in parts if isinstance(parts, list) else []:
            if part in seen:
                table.refuse([name, "parts"], "names that no other dimension has", part, "rename one of them")
            seen.append(part)


def _require_conditions(name: str, each: Table, table: Table) -> None:
    """Refuse a condition on what is not there before, or is neither a category nor a whole number."""
    given: dict[str, Any] = each.values.get("when", {})
    known = list(table.values)
    for on in given:
        key, expected = [name, "when", on], "the name of a category or whole number"
        if on not in known:
            near = get_close_matches(on, known, n=1)
            meant = f"; did you mean {near[0]}?" if near else ""
            table.refuse(key, expected, on, f"there is no {on}{meant}")
        if known.index(on) >= known.index(name):
            table.refuse(key, f"{expected} that stands before", on, f"put it above {name}")
        if _kind(Table(table.file, table.values[on], table.lines, (*table.path, on))) not in ("categorical", "integer"):
            table.refuse(key, expected, on, "a number that is not whole has no values to choose from")
        levels, wanted = table.values[on].get("levels"), given[on]
        for level in wanted if isinstance(wanted, list) else [wanted]:
            if isinstance(levels, list) and level not in levels:
                table.refuse(key, f"one of {levels}", level, f"the levels of {on}")


def _dimension(name: str, table: Table) -> Any:
    kind = _kind(table)
    _require_known(table, ("kind", *KEYS[kind]))
    for key in _NEEDED[kind]:
        table.get(key, lambda v: True, f"which every {kind} dimension has", f"add {key} = …")
    low, high = table.values.get("low"), table.values.get("high")
    if kind in ("real", "integer") and is_number(low) and is_number(high) and low >= high:
        same = f"where it is the same everywhere, write {name} = {{ value = {low} }}"
        table.refuse(["low"], "low < high", f"{low} and {high}", same if low == high else "the lower end comes first")
    example = 'for instance when = { catalyst = ["Pd", "Ni"] }'
    table.get("when", lambda v: isinstance(v, dict), "a table of conditions", example, None)
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


def _require_known(table: Table, known: tuple[str, ...]) -> None:
    """Refuse a key that this kind of dimension does not have, with the nearest that any has."""
    every = ["kind", *dict.fromkeys(key for keys in KEYS.values() for key in keys)]
    hints = {}
    for key in table.values:
        if near := get_close_matches(key, every, n=1):
            hints[key] = f"did you mean {near[0]}?" if near[0] != key else f"take {key} out"
    table.only(known, hints)


def _kind(table: Table) -> str:
    known = list(KEYS)
    remedy = "leave it out for a real number; levels, value and parts say their kind themselves"
    stated = table.get("kind", lambda v: v in known, f"one of {', '.join(known)}", remedy, None)
    return stated or next((kind for key, kind in _OWN.items() if key in table.values), "real")
