"""Values with learnable parameters, seen by an optimiser as one vector ``theta``.

A kernel, a mean or an instrument is a frozen dataclass. Its learnable numbers are fields declared with `positive`,
`real`, `fraction` or `ordered`; everything else about ``theta`` follows from that declaration, for a single kernel as
for a tree of them:

    theta  = concatenation, in field order, of log(positive), real, logit(fraction), (first, log gaps) of ordered
    slots  = for each entry of theta its name, its role (what it measures, for default priors) and its dimensions

A positive number that is exactly zero (a hard interval's noise) is part of the model's structure: it has no entry in
theta.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import count
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.errors import InvalidInput

Array = NDArray[np.float64]


class Slot(NamedTuple):
    """One entry of theta: what it is called, what it measures, how it is transformed, which dimensions it belongs
    to."""

    name: str
    role: str
    transform: str  # "log", "identity" or "logit"
    dims: tuple[int, ...] | None = None  # None: every dimension the owner sees


def positive(default: float, role: str, *, per_dimension: bool = False, zero: bool = False) -> Any:
    """Declare a positive parameter, optionally one per input dimension; an optimiser sees its logarithm.

    With `zero`, exactly 0 is allowed too and means that the parameter is absent.
    """
    return _declare(default, role, "log", per_dimension, zero)


def real(default: float, role: str, *, per_dimension: bool = False) -> Any:
    """Declare a parameter of any sign; an optimiser sees it as it is."""
    return _declare(default, role, "identity", per_dimension, False)


def fraction(default: float, role: str) -> Any:
    """Declare a parameter in [0, 1); an optimiser sees its logit. Zero means absent."""
    return _declare(default, role, "logit", False, True)


def ordered(role: str) -> Any:
    """Declare an increasing sequence; an optimiser sees the first value and the logarithms of the gaps."""
    return dataclasses.field(metadata={"transform": "ordered", "role": role, "event": 1, "zero": False})


def _declare(default: float, role: str, transform: str, per_dimension: bool, zero: bool) -> Any:
    metadata = {"transform": transform, "role": role, "event": int(per_dimension), "zero": zero}
    return dataclasses.field(default=default, metadata=metadata)


def natural(slots: Sequence[Slot], theta: Array) -> Array:
    """The values behind theta: exp, identity or logistic, entry by entry."""
    return np.array([_INVERSE[slot.transform](value) for slot, value in zip(slots, theta, strict=True)])


def to_theta(slot: Slot, value: float) -> float:
    """The entry of theta behind one value: its logarithm, itself, or its logit."""
    if slot.transform == "log":
        return float(np.log(value))
    return float(np.log(value) - np.log1p(-value)) if slot.transform == "logit" else float(value)


_INVERSE: dict[str, Callable[[float], float]] = {
    "log": np.exp,
    "identity": float,
    "logit": lambda t: 1.0 / (1.0 + np.exp(-t)),
}


@dataclasses.dataclass(frozen=True)
class Parametrised:
    """The base of every value with parameters: `theta`, `slots`, `names` and `with_theta`, from the field
    declarations."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            if "transform" in field.metadata:
                label = f"{type(self).__name__}.{field.name}"
                object.__setattr__(self, field.name, _canonical(label, field.metadata, getattr(self, field.name)))

    @property
    def label(self) -> str:
        """What this value is called in the names of its parameters."""
        return type(self).__name__

    @property
    def theta(self) -> Array:
        """The learnable parameters as one vector (P,), or (S, P) when the value carries a batch of S parameter
        settings."""
        parts = [
            part.theta if isinstance(part, Parametrised) else _to_free(field.metadata, part)
            for field, part in self._parts()
        ]
        if not parts:
            return np.zeros(0)
        batch = np.broadcast_shapes(*(part.shape[:-1] for part in parts))
        return np.concatenate([np.broadcast_to(part, (*batch, part.shape[-1])) for part in parts], axis=-1)

    def groups(self) -> list[list[Slot]]:
        """The slots of each part that owns parameters, in the order of theta, before repeated owners are numbered."""
        own: list[Slot] = []
        out: list[list[Slot]] = []
        for field, part in self._parts():
            if isinstance(part, Parametrised):
                out.extend(part.groups())
            else:
                own.extend(_slots(f"{self.label}.{field.name}", field.metadata, part))
        return [own, *out] if own else out

    @property
    def slots(self) -> tuple[Slot, ...]:
        """One `Slot` per entry of theta; the second owner of a name is numbered: SE.lengthscale, SE2.lengthscale."""
        return tuple(unique_names(self.groups()))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of theta's entries."""
        return tuple(slot.name for slot in self.slots)

    @cached_property
    def size(self) -> int:
        """How many entries theta has."""
        return sum(
            part.size if isinstance(part, Parametrised) else _size(field.metadata, part)
            for field, part in self._parts()
        )

    def with_theta(self, theta: ArrayLike) -> Self:
        """The same value with other parameters; theta of shape (S, P) gives a batch of S settings."""
        vector = np.asarray(theta, dtype=float)
        if vector.ndim not in (1, 2) or vector.shape[-1] != self.size:
            raise InvalidInput(
                "theta",
                f"{self.size} numbers ({', '.join(self.names)})",
                f"shape {vector.shape}",
                "see .theta and .names",
            )
        return self._rebuild(vector)

    def _rebuild(self, theta: Array) -> Self:
        changes: dict[str, Any] = {}
        start = 0
        for field, part in self._parts():
            if isinstance(part, Parametrised):
                stop = start + part.size
                changes[field.name] = part._rebuild(theta[..., start:stop])
            else:
                stop = start + _size(field.metadata, part)
                if not np.array_equal(theta[..., start:stop], _to_free(field.metadata, part)):  # else keep every bit
                    label = f"{self.label}.{field.name}"
                    value = _from_free(field.metadata, part, theta[..., start:stop])
                    changes[field.name] = _canonical(label, field.metadata, value)
            start = stop
        # Only parameters change, and they have just been checked: `replace` would check everything again.
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        new.__dict__.update(changes)
        return new

    def _parts(self) -> Iterator[tuple[dataclasses.Field[Any], Any]]:
        for field in _fields(type(self)):  # type: ignore[arg-type]  # a class is hashable whatever its instances are
            value = getattr(self, field.name)
            if isinstance(value, Parametrised) or (
                "transform" in field.metadata and not _absent(field.metadata, value)
            ):
                yield field, value


@lru_cache
def _fields(owner: type[Any]) -> tuple[dataclasses.Field[Any], ...]:
    """The fields of a class; optimisers ask for theta thousands of times."""
    return dataclasses.fields(owner)


def unique_names(groups: Sequence[Sequence[Slot]]) -> list[Slot]:
    """Slots of several owners with the repeated owners numbered: SE.variance, SE2.variance, ..."""
    taken: set[str] = set()
    out: list[Slot] = []
    for group in groups:
        if not group:
            continue
        owner = group[0].name.rpartition(".")[0]
        numbered = (owner + (str(k) if k > 1 else "") for k in count(1))
        name = next(candidate for candidate in numbered if candidate not in taken)
        taken.add(name)
        out.extend(slot._replace(name=name + slot.name[len(owner) :]) for slot in group)
    return out


def _absent(metadata: Any, value: Any) -> bool:
    return bool(metadata["zero"]) and isinstance(value, float) and value == 0.0


def _canonical(label: str, metadata: Any, value: Any) -> Any:
    """A float, a tuple of floats, or (with a batch axis) an array; anything else is refused by name."""
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        array = np.array(np.nan)
    transform, event = metadata["transform"], metadata["event"]
    expected = {
        "log": "a finite number, at least 0" if metadata["zero"] else "a finite positive number",
        "identity": "a finite number",
        "logit": "a fraction, at least 0 and below 1",
        "ordered": "increasing finite numbers",
    }[transform]
    fine = bool(np.all(np.isfinite(array))) and array.ndim <= event + 1 and array.size > 0
    if transform == "log":
        fine = fine and bool(np.all(array >= 0.0 if metadata["zero"] else array > 0.0))
    elif transform == "logit":
        fine = fine and bool(np.all((array >= 0.0) & (array < 1.0)))
    elif transform == "ordered":
        fine = fine and array.ndim == 1 and bool(np.all(np.diff(array) > 0.0))
    if not fine:
        raise InvalidInput(label, expected, value, "check the value and its units")
    if array.ndim == 0:
        return float(array)
    if event == 1 and array.ndim == 1:
        return tuple(float(v) for v in array)
    return array


def _size(metadata: Any, value: Any) -> int:
    return 1 if metadata["event"] == 0 or np.ndim(value) == 0 else int(np.shape(value)[-1])


def _to_free(metadata: Any, value: Any) -> Array:
    array = np.asarray(value, dtype=float)
    if metadata["event"] == 0 or array.ndim == 0:
        array = array[..., None]
    transform = metadata["transform"]
    if transform == "log":
        return np.log(array)
    if transform == "logit":
        return np.log(array) - np.log1p(-array)
    if transform == "ordered":
        return np.concatenate([array[:1], np.log(np.diff(array))])
    return array


def _from_free(metadata: Any, old: Any, free: Array) -> Any:
    transform = metadata["transform"]
    if transform == "log":
        value = np.exp(free)
    elif transform == "logit":
        value = 1.0 / (1.0 + np.exp(-free))
    elif transform == "ordered":
        if free.ndim != 1:
            raise InvalidInput(
                "theta", "one setting for ordered parameters", f"shape {free.shape}", "loop over settings"
            )
        return np.concatenate([free[:1], free[0] + np.cumsum(np.exp(free[1:]))])
    else:
        value = free
    scalar = metadata["event"] == 0 or (np.ndim(old) == 0 and free.ndim == 1)
    return value[..., 0] if scalar else value


def _slots(label: str, metadata: Any, value: Any) -> list[Slot]:
    role, transform = metadata["role"], metadata["transform"]
    size = _size(metadata, value)
    if transform == "ordered":
        gaps = [Slot(f"{label}.gap[{i}]", "gap", "log") for i in range(1, size)]
        return [Slot(f"{label}[0]", role, "identity"), *gaps]
    if metadata["event"] == 0 or np.ndim(value) == 0 or (np.ndim(value) == 2 and size == 1):
        return [Slot(label, role, transform)]
    return [Slot(f"{label}[{i}]", role, transform, (i,)) for i in range(size)]
