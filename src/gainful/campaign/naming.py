"""What a journal calls classes, functions and objects that it can only name, and which of them it may name.

A class of gainful's is called by its room, "gainful.kernels.SE", wherever in the room its file is; anybody else's by
its module and its name there, "survey:SE". Only the second form has a colon, so a class is never taken for gainful's
because it is called alike.
"""

from __future__ import annotations

import dataclasses
import inspect
from functools import cached_property, lru_cache
from types import BuiltinFunctionType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

import numpy as np

import gainful.acquisition as acquisition
import gainful.inference as inference
import gainful.instruments as instruments
import gainful.kernels as kernels
import gainful.means as means
import gainful.priors as priors
import gainful.space as space
from gainful.acquisition import Random, RandomType
from gainful.beliefs import Integrated, Models
from gainful.beliefs.partitions import Partitions
from gainful.beliefs.programs import Grammar, KernelPrograms, Moves, Program, ProgramGrid
from gainful.beliefs.tasks import TaskClusters
from gainful.coordinates import Axis, Coordinates
from gainful.gp import GP
from gainful.information.about import Region
from gainful.selection.choose import Search
from gainful.selection.stream import Stream

__all__ = [
    "attributes",
    "class_name",
    "declared",
    "function_name",
    "is_bare",
    "is_function",
    "is_plain",
    "is_value",
    "name_of",
]

_HEAP, _IMMUTABLE = 1 << 9, 1 << 8  # of type.__flags__: made at run time, and made by C for good (CPython's object.h)


def name_of(value: Any) -> str:
    """What a function, or an object of one's own class, is called for short."""
    return str(getattr(value, "__name__", type(value).__name__))


def class_name(kind: type) -> str:
    """What a class is called in a journal.

    >>> from gainful.kernels import SE
    >>> class_name(SE), class_name(type("SE", (SE,), {"__module__": "survey"}))
    ('gainful.kernels.SE', 'survey:SE')
    """
    module = str(getattr(kind, "__module__", "?"))
    package, _, rest = module.partition(".")
    if package == "gainful" and rest:
        return f"gainful.{rest.partition('.')[0]}.{kind.__qualname__}"
    return f"{module}:{kind.__qualname__}"


def function_name(function: Any) -> str:
    """What a function is called in a journal."""
    return f"{getattr(function, '__module__', None) or '?'}:{getattr(function, '__qualname__', name_of(function))}"


def is_function(value: Any) -> bool:
    """Whether this is a function: no class, and nothing with arguments of its own, as a partial or a bound method has.

    A decorated function is one too, if it says what it wraps. A closure is as well: like a global variable, what it
    closes over is a part of the function that its owner supplies again.
    """
    if isinstance(value, FunctionType | np.ufunc):
        return True
    if isinstance(value, MethodType | BuiltinFunctionType):
        return isinstance(value.__self__, type | ModuleType | None)
    wraps = None if isinstance(value, type) else getattr(value, "__wrapped__", None)
    return wraps is not None and hasattr(value, "__name__") and is_function(wraps)


def is_value(value: Any) -> bool:
    """Whether this is an object of a dataclass."""
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def is_plain(kind: type) -> bool:
    """Whether all that objects of a class hold is in their attributes: no list, number or array is beneath it."""
    return all(
        base.__flags__ & _HEAP and not isinstance(vars(base).get("__new__"), BuiltinFunctionType)
        for base in kind.__mro__[:-1]
    )


def is_bare(value: Any) -> bool:
    """Whether this is an object without any state: what it does, its class says."""
    kind = type(value)
    made_by_c = kind.__flags__ & _IMMUTABLE
    return not made_by_c and is_plain(kind) and not is_value(value) and not attributes(value)


def attributes(value: Any) -> dict[str, Any]:
    """All that an object holds, by name; not what a cached property keeps, which follows from the rest."""
    kind = type(value)
    held = {name: kept for name, kept in getattr(value, "__dict__", {}).items() if not _is_cached(kind, name)}
    for base in kind.__mro__:
        for name, slot in vars(base).items():
            if isinstance(slot, MemberDescriptorType) and hasattr(value, name):
                held[name] = getattr(value, name)
    return held


def _is_cached(kind: type, name: str) -> bool:
    return any(isinstance(vars(base).get(name), cached_property) for base in kind.__mro__)


@lru_cache(maxsize=1)
def declared() -> dict[str, type]:
    """gainful's own classes of which a design consists, by what a journal calls them."""
    found: list[type] = [GP, Integrated, Models, Region, Search, Stream, Axis, Coordinates, *_exported(space, object)]
    found += [
        acquisition.Limit,
        inference.Solver,
        Grammar,
        KernelPrograms,
        Partitions,
        TaskClusters,
        Moves,
        Program,
        ProgramGrid,
    ]
    for room, base in (
        (kernels, kernels.Kernel),
        (means, means.Mean),
        (priors, priors.Prior),
        (instruments, instruments.Instrument),
    ):
        found += _exported(room, base)
    found += [kind for kind in _exported(inference, object) if hasattr(kind, "solve") or hasattr(kind, "believe")]
    found += [kind for kind in _exported(acquisition, object) if hasattr(kind, "score") or kind in (Random, RandomType)]
    return {class_name(kind): kind for kind in found}


def _exported(room: ModuleType, base: type) -> list[type]:
    """The dataclasses of a room that are for use, and are a kind of the base."""
    kinds = [each for each in (vars(room)[name] for name in room.__all__) if isinstance(each, type)]
    return [k for k in kinds if dataclasses.is_dataclass(k) and issubclass(k, base) and not inspect.isabstract(k)]
