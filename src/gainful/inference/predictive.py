"""What is predicted at some places, held together with them: several instruments then share one prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

__all__ = ["Predictive", "frozen"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Predictive(NDArrayOperatorsMixin):
    """Places (M, d), and the mean and variance (M,) of f there under one posterior: predicted once, asked many times.

    Under a Belief of S posteriors mean and variance are (S, M), those of each part; `part(s)` has one of them.

    Wherever places are expected it stands for them: arithmetic, NumPy's functions, indices of columns and an array's
    methods are those of the places. Several instruments that are considered at the same places then share one
    prediction, `posterior.marginals(instrument, predictive)`. An index gives one place, a slice or an array of indices
    a smaller Predictive. Its arrays are read-only.

    >>> import gainful as gf
    >>> posterior = gf.GP(gf.SE()).condition(gf.Data().add(gf.Point(0.1), [[0.0]], [1.0]))
    >>> here = posterior.predict([[0.0], [2.0]])
    >>> here.shape, here.mean.round(3).tolist(), posterior.marginals(gf.Binary(), here)[0] is here.mean
    ((2, 1), [0.99, 0.134], True)
    """

    posterior: Any  # a Posterior, or a Belief of several, which this module may not import
    places: Array
    mean: Array
    variance: Array

    def __post_init__(self) -> None:
        for name in ("places", "mean", "variance"):
            object.__setattr__(self, name, _own(getattr(self, name)))

    def part(self, s: int) -> Predictive:
        """The same places under part s of a Belief."""
        return Predictive(self.posterior.posteriors[s], self.places, self.mean[s], self.variance[s])

    def __repr__(self) -> str:
        return f"Predictive({len(self)} places, {self.posterior})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        out = self.places if dtype is None else self.places.astype(dtype, copy=False)
        return out.copy() if copy else out

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if any(isinstance(each, Predictive) for each in options.get("out", ())):
            raise ValueError("a Predictive is read-only: its mean and variance belong to its places")
        return getattr(ufunc, method)(
            *(each.places if isinstance(each, Predictive) else each for each in inputs), **options
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "places":  # not an array's own, or not there yet
            raise AttributeError(name)
        return getattr(self.places, name)

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, index: int | np.integer[Any]) -> Array: ...

    @overload
    def __getitem__(self, index: slice | NDArray[Any]) -> Predictive: ...

    @overload
    def __getitem__(self, index: tuple[Any, ...]) -> Array: ...

    def __getitem__(self, index: int | np.integer[Any] | slice | NDArray[Any] | tuple[Any, ...]) -> Array | Predictive:
        if isinstance(index, int | np.integer | tuple):
            return np.asarray(self.places[index])
        return Predictive(self.posterior, self.places[index], self.mean[..., index], self.variance[..., index])


def _own(array: Array) -> Array:
    """The array, if nobody can change it, or a copy that nobody can: a caller's array stays the caller's."""
    base = array.base
    fixed = not array.flags.writeable and (base is None or (isinstance(base, np.ndarray) and not base.flags.writeable))
    return array if fixed else frozen(np.array(array, dtype=float))


def frozen(array: Array) -> Array:
    """The array itself, which nobody can change from now on."""
    array.flags.writeable = False
    return array
