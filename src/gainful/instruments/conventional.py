"""Parameters that stand for a convention until somebody states them.

A yes/no answer alone knows neither where f is zero nor what its unit is: the threshold 0 and the noise 1 of `Binary()`
are what f is measured by, and nothing that could be learned. Stated in the function's own unit they are parameters like
any other.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gainful.parameters import Slot

__all__ = ["unless_stated"]

Array = NDArray[np.float64]


class _Declared(Protocol):
    def canonical(self, label: str, value: Any) -> Any: ...

    def is_absent(self, value: Any) -> bool: ...

    def size(self, value: Any) -> int: ...

    def to_theta(self, value: Any) -> Array: ...

    def from_theta(self, old: Any, theta: Array) -> Any: ...

    def to_values(self, value: Any) -> Array: ...

    def from_values(self, old: Any, values: Array) -> Any: ...

    def slots(self, label: str, value: Any) -> list[Slot]: ...


@dataclasses.dataclass(frozen=True)
class _Conventional:
    """A declared parameter that may also be None: the convention, without an entry in theta."""

    declared: _Declared
    per_dimension: bool = False

    def canonical(self, label: str, value: Any) -> Any:
        return None if value is None else self.declared.canonical(label, value)

    def is_absent(self, value: Any) -> bool:
        return value is None or self.declared.is_absent(value)

    def size(self, value: Any) -> int:
        return self.declared.size(value)

    def to_theta(self, value: Any) -> Array:
        return self.declared.to_theta(value)

    def from_theta(self, old: Any, theta: Array) -> Any:
        return self.declared.from_theta(old, theta)

    def to_values(self, value: Any) -> Array:
        return self.declared.to_values(value)

    def from_values(self, old: Any, values: Array) -> Any:
        return self.declared.from_values(old, values)

    def slots(self, label: str, value: Any) -> list[Slot]:
        return self.declared.slots(label, value)


def unless_stated(parameter: Any) -> Any:
    """The field of `positive(...)` or `real(...)`, given by name, with None for what is left to convention."""
    declared = _Conventional(parameter.metadata["parameter"])
    return dataclasses.field(default=None, kw_only=True, metadata={"parameter": declared})
