"""A box of named dimensions of any kind."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.checks import as_rng, finite_table, require, require_count
from gainful.coordinates import Axis, Coordinates
from gainful.errors import InvalidInput
from gainful.space.coding import code_table
from gainful.space.constraints import Constraint, LinearLimit
from gainful.space.dimensions import At, Categorical, Dimension, Integer, Proportions, Real, spelled
from gainful.space.drawing import evenly
from gainful.space.parts import Restricted
from gainful.space.places import Places, rows_of
from gainful.space.polytope import Polytope
from gainful.space.simplex import bounded

__all__ = ["Mixture", "Space"]

Array = NDArray[np.float64]

_A_FEW = "a few hundred candidates are usual"
_KINDS = (Real, Integer, Categorical, At, Proportions)
_MOST_ROUNDS = 20  # of drawing mixtures again, each twice as many as before
_SUM = 1e-9  # of the total, by which a mixture may miss it


@dataclass(frozen=True)
class Mixture:
    """Coordinates that sum to a total, by their column numbers."""

    columns: tuple[int, ...]
    total: float


@dataclass(frozen=True, init=False)
class Space:
    """A box of named dimensions: Real, Integer, Categorical, At, Proportions.

    A place is a row of codes (`code` makes them, `natural` reads them): numbers as they are, categories as the
    positions of their levels.

    >>> space = Space(Real("east", 0, 2, unit="km"), Categorical("soil", ["clay", "sand"]))
    >>> space.names
    ('east', 'soil')
    >>> space.code([[1.5, "sand"]]).tolist(), space.natural([1.5, 1.0])
    ([[1.5, 1.0]], {'east': 1.5, 'soil': 'sand'})
    >>> space.contains([[1.0, 0.0], [3.0, 0.0]]).tolist()
    [True, False]
    """

    dimensions: tuple[Dimension | Proportions, ...]

    def __init__(self, *dimensions: Dimension | Proportions) -> None:
        if not dimensions or not all(isinstance(d, _KINDS) for d in dimensions):
            raise InvalidInput("dimensions", "one or more dimensions such as Real('x', 0, 1)", dimensions, "name each")
        names = [name for d in dimensions for name in (d.names if isinstance(d, Proportions) else (d.name,))]
        if len(set(names)) != len(names):
            raise InvalidInput("dimensions", "distinct names", names, "rename the repeated dimension")
        if all(isinstance(d, At) for d in dimensions):
            raise InvalidInput("dimensions", "at least one that varies", dimensions, "one place needs no search")
        object.__setattr__(self, "dimensions", tuple(dimensions))
        _ = self.coordinates  # says what is wrong with conditions

    # What there is

    @cached_property
    def single(self) -> tuple[Dimension, ...]:
        """A dimension for each coordinate: the parts of proportions are reals."""
        return tuple(one for d in self.dimensions for one in (d.parts() if isinstance(d, Proportions) else (d,)))

    @cached_property
    def mixtures(self) -> tuple[Mixture, ...]:
        """The coordinates that sum to a total."""
        spans = ((d, span) for d, span in self._spans() if isinstance(d, Proportions))
        return tuple(Mixture(tuple(range(span.start, span.stop)), float(d.total)) for d, span in spans)

    def _spans(self) -> Iterator[tuple[Dimension | Proportions, slice]]:
        start = 0
        for d in self.dimensions:
            stop = start + (len(d.names) if isinstance(d, Proportions) else 1)
            yield d, slice(start, stop)
            start = stop

    @cached_property
    def coordinates(self) -> Coordinates:
        """What kernels see of a place."""
        axes: list[Axis] = []
        for d, _ in self._spans():
            if isinstance(d, Proportions):
                axes.extend(part.axis() for part in d.parts())
            else:
                axes.append(replace(d.axis(), when=self._when(d, axes)))
        return Coordinates(tuple(axes))

    def _when(self, d: Dimension, before: list[Axis]) -> tuple[tuple[int, tuple[float, ...]], ...]:
        """A condition by column numbers and codes, with the conditions of what it depends on."""
        known = {axis.name: i for i, axis in enumerate(before)}
        found: list[tuple[int, tuple[float, ...]]] = []
        for name, values in d.when:
            parent = self.single[known[name]] if name in known else None
            if not isinstance(parent, Categorical | Integer):
                expected = "names of earlier dimensions that are Categorical or Integer"
                raise InvalidInput("when", expected, name, f"put it before {d.name!r}")
            codes = []
            for value in values:
                try:
                    codes.append(parent.code(value))
                except ValueError as trouble:
                    raise InvalidInput("when", f"of {name}, {trouble}", value, "check the condition") from None
                inside = parent.low <= codes[-1] <= parent.high
                require(inside, "when", f"{name} from {parent.low} to {parent.high}", value, "check the condition")
            found.extend(each for each in before[known[name]].when if each not in found)
            found.append((known[name], tuple(codes)))
        return tuple(found)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(d.name for d in self.single)

    @property
    def columns(self) -> tuple[str, ...]:
        """What a table of places must call its columns."""
        return self.names

    @property
    def units(self) -> tuple[str, ...]:
        """The unit of each coordinate, "" where it has none."""
        return tuple(d.unit for d in self.single)

    @property
    def low(self) -> Array:
        return np.array([d.low for d in self.single], dtype=float)

    @property
    def high(self) -> Array:
        return np.array([d.high for d in self.single], dtype=float)

    def contains(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Which places, as codes, lie in the box, its faces included, (M,)."""
        places = finite_table("X", X, len(self.single), names=self.names)
        inside = np.all((places >= self.low) & (places <= self.high), axis=1)
        whole = [i for i, axis in enumerate(self.coordinates.axes) if axis.kind in ("integer", "ordered", "category")]
        if whole:
            inside &= np.all(places[:, whole] == np.round(places[:, whole]), axis=1)
        for mixture in self.mixtures:
            off = np.abs(places[:, mixture.columns].sum(axis=1) - mixture.total)
            inside &= off <= _SUM * mixture.total
        if self.coordinates.is_conditional:
            inside &= np.all(places == self.coordinates.canonical(places), axis=1)
        return np.asarray(inside)

    # Between people and codes

    def code(self, table: Any, argument: str = "table") -> Array:
        """Places (M, D) as codes, from values as people give them: rows in the order of the space, one row, a mapping
        from names to columns or values, a list of mappings, a DataFrame.

        A number that is not a level stands for the position of one, where levels are text. What is absent by its
        condition may be missing or None.
        """
        optional = [d.name for d in self.single if d.when or isinstance(d, At)]
        return code_table(table, self.coordinates, [d.code for d in self.single], optional, argument)

    def natural(self, place: ArrayLike) -> Any:
        """A place (D,) as people speak of it: a mapping from names to numbers and levels, None for what is absent.

        Of several places (M, D), a list of them.
        """
        rows = self._rows(place)
        active = self.coordinates.active(rows)
        several = [
            {d.name: d.natural(x) if on else None for d, x, on in zip(self.single, row, there, strict=True)}
            for row, there in zip(rows.tolist(), active, strict=True)
        ]
        return several[0] if np.ndim(place) == 1 else several

    def words(self, place: ArrayLike) -> str:
        """A place (D,) in words.

        >>> Space(Real("temperature", 20, 90, unit="°C"), Categorical("catalyst", ["Pd", "Ni"])).words([40.0, 0.0])
        'temperature 40 °C, catalyst Pd'
        """
        row = self._rows(place)[0]
        there = self.coordinates.active(row[None])[0]
        return ", ".join(f"{d.name} {d.words(x)}" for d, x, on in zip(self.single, row, there, strict=True) if on)

    @property
    def ends(self) -> str:
        """What there is, in words.

        >>> Space(Real("temperature", 20, 90, unit="°C"), Categorical("catalyst", ["Pd", "Ni"])).ends
        'temperature from 20 to 90 °C, catalyst Pd or Ni'
        """
        said = []
        for d in self.single:
            if isinstance(d, Categorical):
                said.append(f"{d.name} {' or '.join(map(spelled, d.levels))}")
            elif isinstance(d, At):
                said.append(f"{d.name} {d.words(d.low)}")
            else:
                whole = "whole numbers " if isinstance(d, Integer) else ""
                said.append(f"{d.name} {whole}from {d.low:g} to {d.high:g}{' ' + d.unit if d.unit else ''}")
        sums = [f"{', '.join(self.names[i] for i in m.columns)} together {m.total:g}" for m in self.mixtures]
        return ", ".join([*said, *sums])

    def _rows(self, place: ArrayLike) -> Array:
        rows = rows_of(self, place)
        inside = np.all((rows >= self.low) & (rows <= self.high), axis=0)
        for i, d in enumerate(self.single):
            if isinstance(d, Categorical) and not (inside[i] and np.all(rows[:, i] == np.round(rows[:, i]))):
                raise InvalidInput("place", f"codes of {d.name}, 0 to {d.high:g}", rows[:, i], "see space.code")
        return rows

    # Where to look

    def where(self, constraint: Constraint) -> Places:
        """The part of this where a constraint holds: Within(...), LinearLimit(...), or a function from places (M, D),
        as codes, to M booleans."""
        return Restricted(self, constraint)

    @property
    def size(self) -> float:
        """How many places there are, conditions left aside; infinite with a real dimension."""
        varies = [d for d in self.single if not isinstance(d, At)]
        if any(isinstance(d, Real) for d in varies):
            return math.inf
        return math.prod(d.high - d.low + 1.0 for d in varies)

    def everywhere(self, most: int) -> Array | None:
        """All places in order, (M, D), the last coordinate varying fastest; None where there are more than `most`."""
        if self.size > most:
            return None
        axes = [
            np.arange(low, high + 1.0) if low < high else [low] for low, high in zip(self.low, self.high, strict=True)
        ]
        grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
        if not self.coordinates.is_conditional:
            return grid
        return np.asarray(np.unique(self.coordinates.canonical(grid), axis=0))

    def candidates(self, n: int, rng: np.random.Generator | int) -> Array:
        """n places spread evenly and without a grid's alignment, (n, D): quasi-random, shifted by the generator.

        Of a space that has no more places than n, all of them.

        >>> Space(Real("x", 0, 10)).candidates(5, rng=0).shape
        (5, 1)
        """
        n, generator = require_count("n", n, 1, _A_FEW), as_rng(rng)
        everything = self.everywhere(n)
        if everything is not None:
            return everything
        found = self.draw(n, generator, self.low, self.high)
        for _ in range(_MOST_ROUNDS):
            if len(found) >= n:
                return found[:n]
            more = self.draw(2 * len(found) + n, generator, self.low, self.high)
            found = np.concatenate([found, more])
        walked = self.walk(n - len(found), generator, self.low, self.high, [])
        return np.concatenate([found, walked])

    def draw(self, n: int, rng: np.random.Generator, low: Array, high: Array) -> Array:
        """Up to n places between two ends, each kind of coordinate evenly: fewer where mixtures exceed a high end."""
        sizes = [0 if isinstance(d, At) else s.stop - s.start - isinstance(d, Proportions) for d, s in self._spans()]
        unit = evenly(n, sum(sizes), rng)
        out, start = np.empty((n, len(low))), 0
        keep = np.ones(n, dtype=bool)
        for (d, span), size in zip(self._spans(), sizes, strict=True):
            mine = unit[:, start : start + size]
            start += size
            if isinstance(d, At):
                out[:, span] = d.low
            elif isinstance(d, Proportions):
                tight = bounded(low[span], high[span], float(d.total))
                out[:, span] = d.spread(mine, *tight)
                keep &= np.all(out[:, span] <= tight[1], axis=1)
            else:
                out[:, span.start] = d.spread(mine[:, 0], float(low[span.start]), float(high[span.start]))
        return self.coordinates.canonical(out[keep])

    def walk(self, n: int, rng: np.random.Generator, low: Array, high: Array, limits: Sequence[LinearLimit]) -> Array:
        """n places within linear limits however few those leave, by hit-and-run between discrete draws."""
        return Polytope.of(self, low, high, limits).walk(n, rng)

    def grid(self, per_dimension: int | Sequence[int]) -> Array:
        """A regular grid, faces included, with the last dimension varying fastest.

        >>> Space(Real("x", 0, 1), Real("y", 0, 2)).grid([2, 3])[:, 1].tolist()
        [0.0, 1.0, 2.0, 0.0, 1.0, 2.0]
        """
        d = len(self.single)
        several = isinstance(per_dimension, Sequence) or np.ndim(per_dimension) == 1
        given = list(per_dimension) if several else [per_dimension] * d  # type: ignore[arg-type]
        expected = f"one whole number, or {d} of them"
        require(len(given) == d, "per_dimension", expected, per_dimension, "at least 1 in each")
        counts = [require_count("per_dimension", each, 1, expected) for each in given]
        require_count("per_dimension", math.prod(counts), 1, "a coarser grid has fewer places")
        require(not self.mixtures, "grid", "a space without proportions", self.names, "use candidates(n, rng)")
        axes = [_ticks(each, count) for each, count in zip(self.single, counts, strict=True)]
        found = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, d)
        return found if not self.coordinates.is_conditional else np.unique(self.coordinates.canonical(found), axis=0)


def _ticks(d: Dimension, count: int) -> Array:
    """So many values of a dimension from end to end; of whole numbers and levels no more than there are."""
    if isinstance(d, At):
        return np.array([d.low])
    if isinstance(d, Real | Integer) and d.log:
        found = np.clip(np.geomspace(d.low, d.high, count), d.low, d.high)
    else:
        found = np.linspace(d.low, d.high, count)
    return found if isinstance(d, Real) else np.unique(np.round(found))
