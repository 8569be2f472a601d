"""A kernel's own metric: coordinates scaled so that equal steps change the function equally.

With γ_d(h) = E[½ k(x, x) + ½ k(x′, x′) − k(x, x′)], where x′ is x moved by h along column d (half the variance of
f(x) − f(x′), the semivariogram), each column is divided by the step at which γ_d reaches a small share of the largest
semivariance that any column shows. Of a kernel of distances these steps are in the proportion of its lengthscales,
whatever its profile; of a sum, a product or a kernel of one's own they are what it makes of them near the data. A
column that the kernel does not see gets the scale 0, and so does one of a single value, which tells no places apart.

Between two levels of a category, or two outputs, there is nothing to step to. Two of them are as far apart as the step
of a length that leaves as much of the correlation, |ρ|: what goes the opposite way tells as much. They become points
at about these distances (classical scaling: Torgerson 1952), in columns of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainful.kernels.base import Kernel
from gainful.kernels.warped import Warped

__all__ = ["Metric", "column_scales", "metric_of", "points_of"]

Array = NDArray[np.float64]

_PLACES = 256  # of the data, at which the kernel is asked
_OCTAVES = 20  # of steps, from half the range of a column down to a millionth of it
_SHARE = 0.05  # of the largest semivariance: a step that is small, and large enough to stand above rounding
_UNSEEN = 1e-13  # of the prior variance: what rounding may make of no change at all
_HALVINGS = 45  # of an octave, in its logarithm: to the last digit
_LEVELS, _SOME = 256, 64  # of a column whose correlations are all worked out, at most; else between so many
_PAIRS = 2**16  # of levels and places
_ROOM, _LEAST = 12, 2  # columns in all, up to which trees find neighbours; of levels, at least
_FLAT = 1e-9  # of the largest eigenvalue: a direction in which levels do not differ
_KEPT = 0.9  # of the distances' squares: with less in the columns that there is room for, levels stand in a line


class Metric(NamedTuple):
    """Places as points whose distances are the kernel's: a scale for each column (D,), 0 where it is not seen, and for
    columns of levels the values (L,) with a point each (L, Q)."""

    scales: Array
    levels: dict[int, tuple[Array, Array]]

    def __call__(self, X: Array) -> Array:
        """(N, D) -> (N, columns seen + Q …); a level that was not there before is in the middle of others."""
        seen = self.scales > 0.0
        columns = [X[:, seen] * self.scales[seen]]
        for d, (values, points) in self.levels.items():
            at = np.minimum(values.searchsorted(X[:, d]), len(values) - 1)
            columns.append(np.where((values[at] == X[:, d])[:, None], points[at], 0.0))
        return np.concatenate(columns, axis=1) if self.levels else columns[0]


def metric_of(kernel: Kernel, X: Array) -> Metric:
    """The metric of a kernel among the data X (N, D).

    >>> from gainful.kernels import SE, Exchangeable
    >>> X = np.column_stack([np.linspace(0.0, 9.0, 60), np.arange(60) % 2])
    >>> metric = metric_of(SE(1.0).on(0) * Exchangeable(2, correlation=0.6).on(1), X)
    >>> a, b = metric(np.array([[3.0, 0.0], [3.0, 1.0]]))
    >>> alike = np.sqrt(-2.0 * np.log(0.6))  # so far apart, one level has a correlation of 0.6
    >>> c, d = metric(np.array([[3.0, 0.0], [3.0 + alike, 0.0]]))
    >>> bool(np.isclose(np.linalg.norm(a - b), np.linalg.norm(c - d), rtol=0.02))
    True
    """
    between, curves = kernel.between(tuple(range(X.shape[1]))), _curves(kernel, X)
    scales = _scales(curves, X.shape[1])
    found = {d: np.unique(X[:, d]) for d in range(X.shape[1]) if d not in between}
    several = {d: values for d, values in found.items() if len(values) > 1}
    room = max(_LEAST, (_ROOM - int(np.sum(scales > 0.0))) // max(len(several), 1))
    levels = {}
    for d, values in several.items():
        some = values if len(values) <= _LEVELS else values[np.linspace(0, len(values) - 1, _SOME).astype(np.intp)]
        apart = _distances(kernel, X, d, some, curves, scales)
        if apart.any():
            levels[d] = values, _points(apart, room) if len(some) == len(values) else _line(len(values), apart)
    return Metric(scales, levels)


def points_of(kernel: Kernel, X: Array) -> Array:
    """The places as points in a kernel's own metric."""
    if isinstance(kernel, Warped):
        return points_of(kernel.base, kernel.coordinates(X))
    return metric_of(kernel, X)(X)


def _distances(kernel: Kernel, X: Array, d: int, values: Array, curves: Curves, scales: Array) -> Array:
    """How far apart the levels of a column are, (L, L)."""
    i, j = np.triu_indices(len(values), 1)
    some = _some(X, max(1, min(_PLACES, _PAIRS // len(i))))
    left, right = np.tile(some, (len(i), 1)), np.tile(some, (len(i), 1))
    left[:, d], right[:, d] = np.repeat(values[i], len(some)), np.repeat(values[j], len(some))
    both = np.sqrt(kernel.diag(left) * kernel.diag(right))
    share = np.divide(np.abs(kernel.rowwise(left, right)), both, out=np.zeros_like(both), where=both > 0.0)
    lost = np.maximum(1.0 - share.reshape(len(i), -1).mean(axis=1), 0.0) * float(np.mean(kernel.diag(some)))
    longest = max(curves.semivariances, key=lambda c: curves.semivariances[c].max(), default=None)
    if longest is not None and scales[longest] > 0.0:
        rises = np.maximum.accumulate(curves.semivariances[longest])
        lost = np.interp(lost, np.append(0.0, rises), np.append(0.0, curves.steps[longest])) * scales[longest]
    out = np.zeros((len(values), len(values)))
    out[i, j] = out[j, i] = lost
    return out


def _line(count: int, distances: Array) -> Array:
    """Points (count, 1) on a line around 0, of which neighbours are as far apart as levels mostly are."""
    usual = float(np.median(distances[np.triu_indices(len(distances), 1)]))
    return np.asarray(usual * (np.arange(count) - 0.5 * (count - 1))[:, None], dtype=float)


def _points(distances: Array, most: int) -> Array:
    """Points (L, Q), Q at most so many, that lie about so far apart, around 0. Many levels of which none is nearer to
    another have no such points: on a line they are kept apart, the most alike next to each other."""
    squares = distances**2
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
    values, vectors = np.linalg.eigh(-0.5 * centred)
    kept = np.flatnonzero(values > _FLAT * values[-1])[::-1][:most]
    if values[kept].sum() < _KEPT * np.maximum(values, 0.0).sum():
        return _line(len(distances), distances)[np.argsort(np.argsort(vectors[:, -1], kind="stable"), kind="stable")]
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))


def column_scales(kernel: Kernel, X: Array) -> Array:
    """One over the step of each column of X (N, D) that changes f as much as those of the others, (D,); 0 where none
    does, and of levels, which there is nothing between.

    >>> from gainful.kernels import SE
    >>> X = np.random.default_rng(0).uniform(size=(50, 3))
    >>> scales = column_scales(SE((0.1, 0.4)).on(0, 2), X)
    >>> scales[1], round(float(scales[0] / scales[2]), 6)
    (np.float64(0.0), 4.0)
    """
    return _scales(_curves(kernel, X), X.shape[1])


class Curves(NamedTuple):
    """Of each column that varies and that there is something between, steps (K,), growing, and how much f changes with
    them (K,); how that is worked out, and the prior variance on average."""

    steps: dict[int, Array]
    semivariances: dict[int, Array]
    semivariance: Callable[[int, float], float]
    prior: float


def _some(X: Array, count: int) -> Array:
    return X[np.unique(np.linspace(0, len(X) - 1, count).astype(np.intp))]


def _curves(kernel: Kernel, X: Array) -> Curves:
    if len(X) < 2:
        return Curves({}, {}, lambda d, step: 0.0, 0.0)
    some = _some(X, _PLACES)
    low, high = X.min(axis=0), X.max(axis=0)
    inwards = np.where(some > 0.5 * (low + high), -1.0, 1.0)  # half the range either way, and still among the data
    prior = kernel.diag(some)

    def semivariance(d: int, step: float) -> float:
        moved = some.copy()
        moved[:, d] += step * inwards[:, d]
        return float(np.mean(0.5 * (prior + kernel.diag(moved)) - kernel.rowwise(some, moved)))

    varying = sorted(kernel.between(tuple(range(X.shape[1]))) & set(np.flatnonzero(high > low).tolist()))
    octaves = np.array(0.5 ** np.arange(_OCTAVES, -1, -1), dtype=float)
    steps = {d: 0.5 * float(high[d] - low[d]) * octaves for d in varying}
    found = {d: np.array([semivariance(d, step) for step in steps[d].tolist()]) for d in steps}
    return Curves(steps, found, semivariance, float(prior.mean()))


def _scales(curves: Curves, columns: int) -> Array:
    out = np.zeros(columns)
    largest = max((float(values.max()) for values in curves.semivariances.values()), default=0.0)
    target = _SHARE * largest
    for d, values in curves.semivariances.items():
        steps = curves.steps[d]
        if values.max() <= _UNSEEN * curves.prior:
            continue
        reached = np.flatnonzero(values >= target)
        if not len(reached):  # further than the data reach, by the power law that they end with
            power = np.clip(np.log2(values[-1] / max(values[-2], 0.25 * values[-1])), 1.0, 2.0)
            out[d] = (values[-1] / target) ** (1.0 / power) / steps[-1] if values[-1] > 0.0 else 0.0
            continue
        upper = float(steps[reached[0]])
        lower = upper if reached[0] == 0 else 0.5 * upper
        for _ in range(_HALVINGS if lower < upper else 0):
            middle = float(np.sqrt(lower * upper))
            lower, upper = (lower, middle) if curves.semivariance(d, middle) >= target else (middle, upper)
        out[d] = 1.0 / upper
    return out
