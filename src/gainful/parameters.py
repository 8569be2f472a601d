"""Values with learnable parameters, seen by an optimiser as one vector ``theta``.

A kernel, a mean or an instrument is a frozen dataclass. Its learnable numbers are fields declared with `positive`,
`real`, `fraction`, `correlation` or `ordered`; everything else about ``theta`` follows from that declaration, for a
single kernel as for a tree of them:

    theta  = concatenation, in field order, of log(positive), real, logit(fraction), artanh(correlation), and of ordered
             (first, log gaps)
    slots  = for each entry of theta its name, its role (what it measures, for default priors) and its dimensions

How one number becomes an entry of theta is a `Transform` (`LOG`, `IDENTITY`, `LOGIT` or `FISHER`). A positive number
that is exactly zero (a hard interval's noise) is part of the model's structure: it has no entry in theta. Numbers
beyond 1e100 in size, and positive ones below 1e-100, are refused: their squares are not numbers any more.

A number that was left at its default is `Unstated`: it evaluates as that number; a model that has a space learns it.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import count
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.checks import column_names, numbers
from gainful.errors import InvalidInput

__all__ = [
    "FISHER",
    "IDENTITY",
    "LOG",
    "LOGIT",
    "Parametrised",
    "Slot",
    "Transform",
    "Unstated",
    "correlation",
    "fraction",
    "natural",
    "ordered",
    "positive",
    "real",
    "to_theta",
    "unique_names",
]

Array = NDArray[np.float64]

SMALLEST, LARGEST = 1e-100, 1e100  # of a parameter in size: beyond, squares and products of two are 0 or infinite
_CHECK = "check the value and its units"


class Unstated(float):
    """A number that nobody stated: it was left at its default. It counts as that number wherever one is needed."""


class Local(NamedTuple):
    """A transform at one t: x, dx/dt, log |dx/dt| and d log |dx/dt|/dt, which a density of x needs to be one of t."""

    value: float
    jacobian: float
    log_jacobian: float
    bend: float


class Transform(ABC):
    """A parameter's own scale on the one side, an optimiser's on the other: x = from_theta(t), t = to_theta(x)."""

    low: ClassVar[float] = -np.inf  # x lies strictly between these
    high: ClassVar[float] = np.inf
    positive: ClassVar[bool] = False  # whether x is a positive number of any size
    expected: ClassVar[str]
    expected_or_zero: ClassVar[str]  # where exactly zero is allowed too

    @abstractmethod
    def to_theta(self, x: Array) -> Array: ...

    @abstractmethod
    def from_theta(self, t: Array) -> Array: ...

    @abstractmethod
    def local(self, t: float) -> Local: ...


@dataclasses.dataclass(frozen=True)  # equal to a copy of itself in another process
class _Log(Transform):
    """x = exp(t), for positive numbers."""

    low: ClassVar[float] = 0.0
    positive: ClassVar[bool] = True
    expected: ClassVar[str] = "a finite positive number"
    expected_or_zero: ClassVar[str] = "a finite number, at least 0"

    def to_theta(self, x: Array) -> Array:
        return np.log(x)

    def from_theta(self, t: Array) -> Array:
        return np.exp(t)

    def local(self, t: float) -> Local:
        return Local(float(np.exp(t)), float(np.exp(t)), t, 1.0)


@dataclasses.dataclass(frozen=True)
class _Identity(Transform):
    """x = t, for numbers of any sign."""

    expected: ClassVar[str] = "a finite number"
    expected_or_zero: ClassVar[str] = "a finite number"

    def to_theta(self, x: Array) -> Array:
        return x

    def from_theta(self, t: Array) -> Array:
        return t

    def local(self, t: float) -> Local:
        return Local(t, 1.0, 0.0, 0.0)


@dataclasses.dataclass(frozen=True)
class _Logit(Transform):
    """x = 1/(1 + exp(−t)), for fractions."""

    low: ClassVar[float] = 0.0
    high: ClassVar[float] = 1.0
    expected: ClassVar[str] = "a fraction, above 0 and below 1"
    expected_or_zero: ClassVar[str] = "a fraction, at least 0 and below 1"

    def to_theta(self, x: Array) -> Array:
        return np.log(x) - np.log1p(-x)

    def from_theta(self, t: Array) -> Array:
        return 1.0 / (1.0 + np.exp(-t))

    def local(self, t: float) -> Local:
        x = float(1.0 / (1.0 + np.exp(-t)))
        return Local(x, x * (1.0 - x), float(np.log(x * (1.0 - x))), 1.0 - 2.0 * x)


@dataclasses.dataclass(frozen=True)
class _Fisher(Transform):
    """x = tanh(t), for correlations."""

    low: ClassVar[float] = -1.0
    high: ClassVar[float] = 1.0
    expected: ClassVar[str] = "a correlation, above -1 and below 1"
    expected_or_zero: ClassVar[str] = "a correlation, above -1 and below 1"

    def to_theta(self, x: Array) -> Array:
        return np.arctanh(x)

    def from_theta(self, t: Array) -> Array:
        return np.tanh(t)

    def local(self, t: float) -> Local:
        x, log_jacobian = float(np.tanh(t)), -2.0 * float(np.logaddexp(t, -t) - np.log(2.0))
        return Local(x, float(np.exp(log_jacobian)), log_jacobian, -2.0 * x)


LOG, IDENTITY, LOGIT, FISHER = _Log(), _Identity(), _Logit(), _Fisher()


class Slot(NamedTuple):
    """One entry of theta: what it is called, what it measures, how it is transformed, which dimensions it belongs
    to."""

    name: str
    role: str
    transform: Transform
    dims: tuple[int, ...] | None = None  # None: every dimension the owner sees
    output: int | None = None  # the code of the one output that it is about (`coordinates.output_code`)


def natural(slots: Sequence[Slot], theta: Array) -> Array:
    """The values behind theta: exp, identity or logistic, entry by entry."""
    return np.array([slot.transform.from_theta(value) for slot, value in zip(slots, theta, strict=True)], dtype=float)


def to_theta(slot: Slot, value: float) -> float:
    """The entry of theta behind one value: its logarithm, itself, or its logit."""
    return float(slot.transform.to_theta(np.asarray(value, dtype=float)))


# What a field is declared to be. Values of it are a float, a tuple of floats, or (with a batch axis) an array.


@dataclasses.dataclass(frozen=True)
class _Numbers:
    """One number, or with `per_dimension` one for each input dimension, each an entry of theta."""

    role: str
    transform: Transform
    per_dimension: bool = False
    zero: bool = False  # exactly 0 is allowed too, and has no entry in theta

    def canonical(self, label: str, value: Any) -> Any:
        if not _said(value) and (self.per_dimension or not isinstance(value, tuple)):
            return value
        transform = self.transform
        plain = self._plain(value)
        if plain is not None:
            return plain
        array = _floats(label, value, transform.expected)
        fine = array.ndim <= self.per_dimension + 1 and array.size > 0 and bool(np.all(np.isfinite(array)))
        inside = (transform.low < array) & (array < transform.high)
        if not fine or not np.all(inside | (array == 0.0) if self.zero else inside):
            expected = transform.expected_or_zero if self.zero else transform.expected
            raise InvalidInput(label, expected, value, _CHECK)
        _require_range(label, array, value, SMALLEST if transform.positive else 0.0)
        if array.ndim == 0:
            return float(array)
        if self.per_dimension and array.ndim == 1:
            return tuple(array.tolist())
        own = np.array(array)  # a batch: the caller's array stays the caller's
        own.flags.writeable = False
        return own

    def _plain(self, value: Any) -> float | tuple[float, ...] | None:
        """A number, or an array of one axis, in which nothing is amiss, as an optimiser gives them thousands of times;
        None for what is to be looked at more closely."""
        if isinstance(value, float):
            return float(value) if self._is_inside(value) else None
        if self.per_dimension and type(value) is np.ndarray and value.dtype == np.float64 and value.ndim == 1:
            several = tuple(value.tolist())
            return several if several and all(map(self._is_inside, several)) else None
        return None

    def _is_inside(self, value: float) -> bool:
        return self.transform.low < value < self.transform.high and SMALLEST < abs(value) < LARGEST

    def is_absent(self, value: Any) -> bool:
        return self.zero and isinstance(value, float) and value == 0.0

    def size(self, value: Any) -> int:
        return int(np.shape(value)[-1]) if self.per_dimension and np.ndim(value) else 1

    def to_theta(self, value: Any) -> Array:
        array = np.asarray(value, dtype=float)
        return self.transform.to_theta(array if self.per_dimension and array.ndim else array[..., None])

    def from_theta(self, old: Any, theta: Array) -> Any:
        return self.from_values(old, self.transform.from_theta(theta))

    def to_values(self, value: Any) -> Array:
        return np.atleast_1d(np.asarray(value, dtype=float))

    def from_values(self, old: Any, values: Array) -> Any:
        one = not self.per_dimension or (np.ndim(old) == 0 and values.ndim == 1)
        if not one:
            return values
        return float(values[0]) if values.ndim == 1 else values[..., 0]

    def slots(self, label: str, value: Any) -> list[Slot]:
        size = self.size(value)
        if not self.per_dimension or np.ndim(value) == 0 or (np.ndim(value) == 2 and size == 1):
            return [Slot(label, self.role, self.transform)]
        return [Slot(f"{label}[{i}]", self.role, self.transform, (i,)) for i in range(size)]


@dataclasses.dataclass(frozen=True)
class _Ordered:
    """An increasing sequence: theta has its first number and the logarithms of the gaps."""

    role: str

    def canonical(self, label: str, value: Any) -> tuple[float, ...]:
        array = _floats(label, value, "increasing finite numbers")
        if array.ndim != 1 or not array.size or not np.all(np.isfinite(array)) or np.any(np.diff(array) <= 0.0):
            raise InvalidInput(label, "increasing finite numbers", value, _CHECK)
        _require_range(label, array, value, 0.0)
        return tuple(array.tolist())

    def is_absent(self, value: Any) -> bool:
        return False

    def size(self, value: Any) -> int:
        return len(value)

    def to_theta(self, value: Any) -> Array:
        array = np.asarray(value, dtype=float)
        return np.concatenate([array[:1], np.log(np.diff(array))])

    def from_theta(self, old: Any, theta: Array) -> Array:
        self._require_one("theta", theta)
        return self.from_values(old, np.concatenate([theta[:1], np.exp(theta[1:])]))

    @staticmethod
    def _require_one(argument: str, given: Array) -> None:
        if given.ndim != 1:
            expected = "one setting for ordered parameters"
            raise InvalidInput(argument, expected, f"shape {given.shape}", "loop over settings")

    def to_values(self, value: Any) -> Array:
        return np.concatenate([value[:1], np.diff(value)])

    def from_values(self, old: Any, values: Array) -> Array:
        self._require_one("parameters", values)
        return np.cumsum(values)

    def slots(self, label: str, value: Any) -> list[Slot]:
        gaps = [Slot(f"{label}.gap[{i}]", "gap", LOG) for i in range(1, len(value))]
        return [Slot(f"{label}[0]", self.role, IDENTITY), *gaps]


def _require_range(label: str, array: Array, value: Any, least: float) -> None:
    """Refuse numbers whose squares are not numbers any more; 0 is one."""
    size = np.abs(array[array != 0.0])
    if np.any(size > LARGEST) or np.any(size < least):
        expected = f"at most {LARGEST:g} in size" if least == 0.0 else f"between {least:g} and {LARGEST:g}"
        raise InvalidInput(label, expected, value, "measure it in another unit")


def _floats(label: str, value: Any, expected: str) -> Array:
    """Numbers without names: a table's columns might be in another order than the dimensions."""
    names = column_names(value)
    if names is not None:
        raise InvalidInput(
            label, expected, f"a table of {list(names)}", "pass .to_numpy(), in the order of the dimensions"
        )
    return numbers(label, value, expected, _CHECK)


def positive(default: float, role: str, *, per_dimension: bool = False, zero: bool = False) -> Any:
    """Declare a positive parameter, optionally one per input dimension; an optimiser sees its logarithm.

    With `zero`, exactly 0 is allowed too and means that the parameter is absent.
    """
    return _field(_Numbers(role, LOG, per_dimension, zero), default)


def real(default: float, role: str, *, per_dimension: bool = False) -> Any:
    """Declare a parameter of any sign; an optimiser sees it as it is."""
    return _field(_Numbers(role, IDENTITY, per_dimension), default)


def fraction(default: float, role: str) -> Any:
    """Declare a parameter in [0, 1); an optimiser sees its logit. Zero means absent."""
    return _field(_Numbers(role, LOGIT, zero=True), default)


def correlation(role: str = "correlation") -> Any:
    """Declare correlations, each above -1 and below 1; an optimiser sees their Fisher transform. A bare 0 means
    absent."""
    return _field(_Numbers(role, FISHER, per_dimension=True, zero=True), 0.0)


def ordered(role: str) -> Any:
    """Declare an increasing sequence; an optimiser sees the first value and the logarithms of the gaps."""
    return _field(_Ordered(role), dataclasses.MISSING)


def _field(declared: _Numbers | _Ordered, default: Any) -> Any:
    unstated = Unstated(default) if isinstance(default, float) else default
    return dataclasses.field(default=unstated, metadata={"parameter": declared})


@dataclasses.dataclass(frozen=True)
class Parametrised:
    """The base of every value with parameters: `theta`, `slots`, `names` and `with_theta`, from the field
    declarations."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            if "parameter" in field.metadata:
                label = f"{type(self).__name__}.{field.name}"
                checked = field.metadata["parameter"].canonical(label, getattr(self, field.name))
                object.__setattr__(self, field.name, checked)

    @property
    def label(self) -> str:
        """What this value is called in the names of its parameters."""
        return type(self).__name__

    @property
    def theta(self) -> Array:
        """The learnable parameters as one vector (P,), or (S, P) when the value carries a batch of S parameter
        settings."""
        parts = [
            part.theta if isinstance(part, Parametrised) else field.metadata["parameter"].to_theta(part)
            for field, part in self._parts()
        ]
        if not parts:
            return np.zeros(0)
        if all(part.ndim == 1 for part in parts):
            return np.concatenate(parts)
        batch = np.broadcast_shapes(*(part.shape[:-1] for part in parts))
        return np.concatenate([np.broadcast_to(part, (*batch, part.shape[-1])) for part in parts], axis=-1)

    @property
    def is_batch(self) -> bool:
        """Whether the value carries a batch of parameter settings."""
        parts = (part for _, part in self._parts())
        return any(part.is_batch if isinstance(part, Parametrised) else type(part) is np.ndarray for part in parts)

    def groups(self) -> list[list[Slot]]:
        """The slots of each part that owns parameters, in the order of theta, before repeated owners are numbered."""
        own: list[Slot] = []
        out: list[list[Slot]] = []
        for field, part in self._parts():
            if isinstance(part, Parametrised):
                out.extend(part.groups())
            else:
                own.extend(field.metadata["parameter"].slots(f"{self.label}.{field.name}", part))
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
            part.size if isinstance(part, Parametrised) else field.metadata["parameter"].size(part)
            for field, part in self._parts()
        )

    def widened(self, dimensions: int) -> Self:
        """The same value for so many dimensions, each with a number of its own where one for all was not stated."""
        changes: dict[str, Any] = {}
        for field, part in self._parts():
            if isinstance(part, Parametrised):
                changes[field.name] = part.widened(dimensions)
            elif isinstance(part, Unstated) and field.metadata["parameter"].per_dimension and dimensions > 1:
                changes[field.name] = (part,) * dimensions
        return dataclasses.replace(self, **changes) if changes else self

    def as_shown(self) -> Self:
        """The same value with every number stated as it is, also those that were left at their defaults."""
        changes: dict[str, Any] = {}
        for field, part in self._parts():
            if isinstance(part, Parametrised):
                changes[field.name] = part.as_shown()
            elif not _said(part):
                changes[field.name] = tuple(map(float, part)) if isinstance(part, tuple) else float(part)
        return dataclasses.replace(self, **changes) if changes else self

    @property
    def stated(self) -> NDArray[np.bool_]:
        """For each entry of theta, whether somebody stated it: False where it was left at its default, (P,)."""
        parts = [
            part.stated
            if isinstance(part, Parametrised)
            else np.full(field.metadata["parameter"].size(part), _said(part))
            for field, part in self._parts()
        ]
        return np.concatenate([np.zeros(0, dtype=bool), *parts])

    @property
    def parameters(self) -> Array:
        """What `theta` stands for, entry by entry: a lengthscale, not its logarithm, (P,)."""
        parts = [
            part.parameters if isinstance(part, Parametrised) else field.metadata["parameter"].to_values(part)
            for field, part in self._parts()
        ]
        if any(part.ndim > 1 for part in parts):
            raise InvalidInput("parameters", "one setting of the parameters", "a batch of them", "take one at a time")
        return np.concatenate([np.zeros(0), *parts])

    def with_theta(self, theta: ArrayLike) -> Self:
        """The same value with other parameters; theta of shape (S, P) gives a batch of S settings."""
        return self._rebuild(self._vector("theta", theta, most_axes=2), "to_theta", "from_theta")

    def with_parameters(self, parameters: ArrayLike) -> Self:
        """The same value with other parameters, on their own scale (see `parameters`), not a bit of them changed; of
        shape (S, P) a batch of S settings."""
        return self._rebuild(self._vector("parameters", parameters, most_axes=2), "to_values", "from_values")

    def _vector(self, argument: str, given: ArrayLike, most_axes: int) -> Array:
        vector = _floats(argument, given, f"{self.size} numbers")
        if not 1 <= vector.ndim <= most_axes or vector.shape[-1] != self.size:
            expected = f"{self.size} numbers ({', '.join(self.names)})"
            raise InvalidInput(argument, expected, f"shape {vector.shape}", f"see .{argument} and .names")
        return vector

    def _rebuild(self, vector: Array, to: str, back: str) -> Self:
        """The value with these parameters, of which a declared field knows its own by the verbs `to` and `back`."""
        changes: dict[str, Any] = {}
        start = 0
        for field, part in self._parts():
            if isinstance(part, Parametrised):
                stop = start + part.size
                changes[field.name] = part._rebuild(vector[..., start:stop], to, back)
            else:
                declared = field.metadata["parameter"]
                stop = start + declared.size(part)
                if not np.array_equal(vector[..., start:stop], getattr(declared, to)(part)):  # else keep every bit
                    value = getattr(declared, back)(part, vector[..., start:stop])
                    changes[field.name] = declared.canonical(f"{self.label}.{field.name}", value)
            start = stop
        # Only parameters change, and they have just been checked: `replace` would check everything again.
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        new.__dict__.update(changes)
        return new

    def _parts(self) -> Iterator[tuple[dataclasses.Field[Any], Any]]:
        for field in _fields(type(self)):  # type: ignore[arg-type]  # a class is hashable whatever its instances are
            value = getattr(self, field.name)
            declared = field.metadata.get("parameter")
            if isinstance(value, Parametrised) or (declared is not None and not declared.is_absent(value)):
                yield field, value


@lru_cache
def _fields(owner: type[Any]) -> tuple[dataclasses.Field[Any], ...]:
    """The fields of a class; optimisers ask for theta thousands of times."""
    return dataclasses.fields(owner)


def _said(value: Any) -> bool:
    """Whether a parameter's value was stated."""
    several = value if isinstance(value, tuple) and value else (value,)
    return not all(isinstance(each, Unstated) for each in several)


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
