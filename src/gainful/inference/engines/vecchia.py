"""Vecchia's approximation: each reading given a few of those before it, in O(N m³) (Vecchia 1988).

    log p(y) ≈ Σ_i log N(y_i | y_N(i))

N(i) are the m nearest of the readings that come before i in an order, in the kernel's own metric (`metric.py`). It is a
proper joint distribution of the readings, noise included (the response is what is modelled: Katzfuss & Guinness 2021),
and with all neighbours it is the exact one. In a random order the first have neighbours far away and the last near
ones, which serves better than an order along a coordinate (Guinness 2018). Rough functions read precisely need few
neighbours; of a smooth function under noise, distant readings still tell much, and inducing points are the better way.
Readings at one place are taken as one (`merged.py`).

A place is predicted from its nearest readings, of which there are more: they are cheap, as a prediction is one set
where the evidence is N of them, and on smooth functions they halve its error. The belief is that of the best linear
predictions f̂(x) = w_x·y_N(x), and covariances are those of their errors under the prior: positive semidefinite,
whatever the places.

Points are taken in blocks of about `_PAIRS` pairs, whose arrays stay in a processor's cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from gainful.checks import require_choice, require_count
from gainful.errors import NumericalError
from gainful.inference.convergence import Convergence, Result
from gainful.inference.engines.base import EngineBelief, Gradient, Readings, read
from gainful.inference.engines.merged import Merged, Together, merge, together
from gainful.inference.engines.metric import Metric, metric_of
from gainful.kernels.base import Kernel
from gainful.kernels.warped import Warped
from gainful.layout import Layout
from gainful.means import Mean, Zero
from gainful.numerics.memory import blocks, require_room
from gainful.numerics.neighbours import Indices, Neighbours, earlier, maxmin, nearest

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Vecchia", "VecchiaBelief"]

Array = NDArray[np.float64]

_PAIRS = 2**16  # covariances at a time: half a megabyte
_USUAL = 30  # neighbours
_WORTH = 0.01  # nats for each reading, which more neighbours would add: a deviation that is off by a hundredth
_MORE = 4  # times as many readings for a prediction as for the evidence
_COMPILED = 40  # neighbours up to which elimination in compiled code is quicker than a call of LAPACK for each place
_CHECKED = 32  # readings whose conditionals are held against those given more neighbours
_SEED = 0  # of the random order: the same data have the same neighbours
_ROUNDING = 2.0 * float(np.finfo(np.float64).eps)  # of a diagonal entry: a pivot below it has no digits left
_LOG_2PI = float(np.log(2.0 * np.pi))


class Sets(NamedTuple):
    """The places' order (P,), and of each in that order the neighbours (P, m), by their positions in it; −1: none.
    Beside them some positions (K,), with four times as many neighbours (K, 4m): what more of them would tell."""

    order: NDArray[np.intp]
    neighbours: Indices
    checked: NDArray[np.intp]
    more: Indices


@dataclass(frozen=True)
class Vecchia:
    """Each reading given its `neighbours` nearest among those before it, in "random" or in "maxmin" order; a place is
    predicted from the `nearest` readings, four times as many if not stated.

    Where nothing is stated there are 30. A fit of many answers then goes on with 60 if more of them would add much to
    the evidence: with few, what is smooth is taken for noise.

    In maxmin order each reading is as far as can be from those before it, which is a little more accurate and takes far
    longer to find. A belief goes on from an earlier one, `start`, with the same neighbours where the places are the
    same, so that a search for hyperparameters climbs one smooth function; where it ends, a fit chooses them again.

    >>> import gainful as gf
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> data = gf.Data().add(gf.Point(noise=0.1), X, np.sin(6.0 * X[:, 0]))
    >>> belief = Vecchia(neighbours=10).believe(gf.Zero(), gf.SE(0.3), data.layout)
    >>> round(belief.log_evidence, 1), round(belief.missing, 1)
    (247.4, 4.4)
    >>> print(belief.convergence.message)
    approximated by each of 200 readings given the 10 nearest before it; 40 would raise the log evidence by about 4.4
    """

    neighbours: int | None = None
    order: str = "random"
    nearest: int | None = None

    def __post_init__(self) -> None:
        if self.neighbours is not None:
            require_count("neighbours", self.neighbours, 1, "15 to 60 are usual")
        if self.nearest is not None:
            require_count("nearest", self.nearest, 1, "100 to 400 are usual")
        require_choice("order", self.order, ("random", "maxmin"), "random is quicker")

    def believe(self, mean: Mean, kernel: Kernel, layout: Layout, start: EngineBelief | None = None) -> VecchiaBelief:
        """What is believed about f after the readings of the layout."""
        readings = read(self, mean, layout)
        before = start if isinstance(start, VecchiaBelief) and start.engine == self else None
        if before is not None and np.array_equal(before.readings.X, readings.X):
            return VecchiaBelief(self, mean, kernel, readings, before.where, before.sets)
        where = together(readings.X)
        return VecchiaBelief(self, mean, kernel, readings, where, self._sets(kernel, readings.X[where.first]))

    def refined(self, belief: EngineBelief) -> Vecchia | None:
        """With twice the usual neighbours, where none are stated and more are worth it."""
        if self.neighbours is not None or not isinstance(belief, VecchiaBelief):
            return None
        return replace(self, neighbours=2 * _USUAL) if belief.missing > _WORTH * len(belief.sets.order) else None

    @property
    def _each(self) -> int:
        return _USUAL if self.neighbours is None else self.neighbours

    @property
    def predicted_from(self) -> int:
        """How many readings a place is predicted from."""
        return _MORE * self._each if self.nearest is None else self.nearest

    def _sets(self, kernel: Kernel, X: Array) -> Sets:
        seen = _seen(kernel, X)
        points = metric_of(_inner(kernel), seen)(seen)
        shuffled = np.random.default_rng(_SEED).permutation(len(X))
        order = shuffled[maxmin(points[shuffled])] if self.order == "maxmin" else shuffled
        m, points = min(self._each, max(len(X) - 1, 0)), points[order]
        later = np.arange(m + 1, len(X))  # those that have more than m before them
        checked = np.random.default_rng(_SEED).permutation(later)[:_CHECKED]
        more = np.full((len(checked), _MORE * m), -1, dtype=np.int32)
        for row, i in zip(more, checked, strict=True):
            found = nearest(points[:i], points[i : i + 1], _MORE * m)[0]
            row[: len(found)] = found
        return Sets(order, earlier(points, m), checked, more)


@dataclass(frozen=True, eq=False)
class VecchiaBelief:
    """f given N readings, by the conditionals of each; of readings at one place, by those of their mean."""

    engine: Vecchia
    prior_mean: Mean
    kernel: Kernel
    readings: Readings
    where: Together
    sets: Sets

    @cached_property
    def convergence(self) -> Convergence:
        """Exact where every reading is given all those before it; else what was done instead, and what it costs."""
        if self._complete:
            return Convergence(Result.EXACT)
        N, m = self.sets.neighbours.shape
        what = f"{N} readings" if self.where.apart else f"{N} places, read {len(self.where.place)} times,"
        gain = f"raise the log evidence by about {float(f'{self.missing:.2g}'):,g}"
        if np.isnan(self.missing):
            gain = "have variances that double precision cannot tell from 0"
        note = f" by each of {what} given the {m} nearest before it; {min(_MORE * m, N - 1)} would {gain}"
        return Convergence(Result.APPROXIMATED, note=note)

    @cached_property
    def missing(self) -> float:
        """What four times as many neighbours are expected to add to the log evidence.

        A reading with variance v given m others, and v′ ≤ v given more, is expected to gain ½ log(v/v′), whatever was
        read. What all gain is estimated from some of them; NaN where rounding leaves nothing of a variance.
        """
        N, m = self.sets.neighbours.shape
        gains = [
            0.5 * np.log(self._left(i, near[:m]) / self._left(i, near[near >= 0]))
            for i, near in zip(self.sets.checked, self.sets.more, strict=True)
        ]
        return (N - m - 1) * float(np.mean(gains)) if gains else 0.0

    def falls_short(self, worth: float) -> bool:
        """Whether more neighbours would add more nats for each reading, or rounding leaves nothing to tell."""
        return not self.missing <= worth * len(self.sets.order)

    @cached_property
    def widened(self) -> float:
        """By what share variances of f are larger than they would be if places were predicted from four times as many
        readings, at some of the readings' places; NaN where rounding leaves nothing of a variance."""
        N, most = len(self.sets.order), self.engine.predicted_from
        if most >= N - 1:
            return 0.0
        some = np.random.default_rng(_SEED).permutation(N)[:_CHECKED]
        found = self._search(self._metric(self._ready.columns.T[some]), min(_MORE * most + 1, N))
        noise, ratios = self._ready.noise, []
        for i, near in zip(some, found, strict=True):
            others = near[near != i]
            few, many = (self._left(i, others[:count]) - noise[i] for count in (most, len(others)))
            ratios.append(few / many if many > _ROUNDING * self._ready.variance[i] else np.nan)
        return float(np.mean(ratios)) - 1.0

    def _left(self, i: int, near: Indices) -> float:
        """The variance of the reading at a position given those at others; NaN where double precision has none."""
        ready, places = self._ready, self._ready.columns.T
        K = self._inner.matrix(places[near], places[np.append(near, i)])
        among = K[:, : len(near)]
        among.flat[:: len(near) + 1] = ready.variance[near]
        lower, info = lapack.dpotrf(among, lower=1)
        half = lapack.dtrtrs(lower, K[:, -1], lower=1)[0] if info == 0 else np.full(len(near), np.nan)
        left = float(ready.variance[i] - half @ half)
        return left if left > _ROUNDING * ready.variance[i] else np.nan

    @property
    def _complete(self) -> bool:
        N, m = self.sets.neighbours.shape
        return m >= N - 1

    @cached_property
    def log_evidence(self) -> float:
        """Σ_i log N(y_i | y_N(i))."""
        if "_pulled" in self.__dict__:
            return self._pulled[0]
        from gainful.inference.engines.vecchia_compiled import conditionals  # Numba takes half a second to import

        total, ready = 0.0, self._ready
        for part, sets in self._blocks():
            left, right = ready.pairs(sets)
            values = self._inner.rowwise(left, right).reshape(len(sets), -1)
            out = np.empty(len(sets))
            enough = conditionals(values, ready.variance[sets], ready.residual[sets], self._counts(part), out)
            _require_digits(enough)
            total += float(out.sum())
        return total - 0.5 * len(self.sets.order) * _LOG_2PI + self._merged.log_scale

    def gradient(self) -> Gradient:
        """Of the log evidence, with each neighbour where it is; asked for first, it leaves the log evidence as well."""
        return self._pulled[1]

    @cached_property
    def _pulled(self) -> tuple[float, Gradient]:
        from gainful.inference.engines.vecchia_compiled import pull_conditionals

        ready, N = self._ready, len(self.sets.order)
        total, in_kernel = 0.0, np.zeros(self.kernel.size)
        in_variance, in_mean = np.zeros(N), np.zeros(N)
        for part, sets in self._blocks():
            values, back = self._inner.rowwise_vjp(*ready.pairs(sets))
            slopes, out = values.reshape(len(sets), -1).copy(), np.empty(len(sets))
            enough = pull_conditionals(
                slopes, ready.variance[sets], ready.residual[sets], self._counts(part), sets, out, in_variance, in_mean
            )
            _require_digits(enough)
            total += float(out.sum())
            in_kernel += back(slopes.ravel())
        for part in blocks(N, 8 * ready.columns.shape[0]):
            here = ready.columns[:, part].T
            in_kernel += self._inner.rowwise_vjp(here, here)[1](in_variance[part])
        noise, pull = np.empty(N), np.empty(N)
        noise[self.sets.order], pull[self.sets.order] = in_variance, in_mean
        merged = self._merged
        in_mean = self.prior_mean.vjp(merged.readings.X)[1](pull)
        gradient = Gradient(in_kernel, in_mean, 2.0 * self.readings.noise * merged.noise_slope(noise, -pull))
        return total - 0.5 * N * _LOG_2PI + merged.log_scale, gradient

    def mean(self, X: Array) -> Array:
        """m(x) + w·(y_N − m_N)."""
        return self.moments(X)[0]

    def variance(self, X: Array) -> Array:
        """k(x, x) − k(x, N) w."""
        return self.moments(X)[1]

    def moments(self, X: Array) -> tuple[Array, Array]:
        """Mean and variance of f at each place, from the same neighbours."""
        found = self._predict(X)
        return found.mean, found.variance

    def from_residual(self, residual: Array) -> Callable[[Array], Array]:
        return replace(self, prior_mean=Zero(), readings=self.readings._replace(residual=residual)).mean

    def covariance(self, X: Array, Z: Array) -> Array:
        """Cov[f(x) − w_x·y, f(z) − w_z·y], (M, L).

        It is k(x, z) − w_xᵀ k(N_x, z) − k(x, N_z) w_z + w_xᵀ (K(N_x, N_z) + noise) w_z, with K worked out once for all
        readings that are neighbours of any of the places: up to (M + M m)(L + L m) covariances.
        """
        M, L = len(X), len(Z)
        require_room("X", M, L, "ask for fewer places at once")
        if not len(self.readings.X):
            return self.kernel.matrix(X, Z)
        here, there = self._predict(X), self._predict(Z)
        ready = self._ready
        W, V = here.sparse(len(ready.residual)), there.sparse(len(ready.residual))
        near_x, near_z = np.unique(here.neighbours), np.unique(there.neighbours)
        others = np.concatenate([_seen(self.kernel, Z), ready.columns.T[near_z]])
        in_z, in_x = V[:, near_z], W[:, near_x].tocsc()

        def errors(points: Array) -> Array:
            """Cov[f(points), f(z) − w_z·y], (P, L)."""
            K = self._inner.matrix(points, others)
            return K[:, :L] - (in_z @ np.ascontiguousarray(K[:, L:].T)).T

        out = (W.multiply(ready.noise[None, :]).tocsr() @ V.T).toarray()
        places, neighbours = _seen(self.kernel, X), ready.columns.T[near_x]
        for part in blocks(M, 3 * len(others)):
            out[part] += errors(places[part])
        for part in blocks(len(neighbours), 3 * len(others)):
            out -= in_x[:, part] @ errors(neighbours[part])
        return np.asarray(out)

    def _predict(self, X: Array) -> Weighed:
        if not len(self.readings.X):
            none = np.zeros((len(X), 0))
            return Weighed(none.astype(np.int32), none, self.prior_mean(X), self.kernel.diag(X))
        ready, seen = self._ready, _seen(self.kernel, X)
        # Where every reading is given all others, so is a place, which has one more of them.
        most = len(ready.residual) if self._complete else min(self.engine.predicted_from, len(ready.residual))
        neighbours = self._search(self._metric(seen), most)
        M, m = neighbours.shape
        found = Weighed(neighbours, np.empty((M, m)), np.empty(M), self._inner.diag(seen))
        (self._eliminate if m <= _COMPILED else self._factor)(found, seen)
        # Rounding, where a precise reading has left nothing.
        return found._replace(mean=found.mean + self.prior_mean(X), variance=np.maximum(found.variance, 0.0))

    def _eliminate(self, found: Weighed, seen: Array) -> None:
        """Fill in weights, means and variances, many small sets at a time."""
        from gainful.inference.engines.vecchia_compiled import weigh

        ready, prior = self._ready, found.variance.copy()
        for part in _parts(*found.weights.shape):
            near = found.neighbours[part]
            left, right = ready.pairs(near, np.ascontiguousarray(seen[part].T))
            values = self._inner.rowwise(left, right).reshape(len(near), -1)
            known = np.column_stack([ready.variance[near], prior[part]])
            residual = np.column_stack([ready.residual[near], np.zeros(len(near))])
            _require_digits(weigh(values, known, residual, found.weights[part], found.mean[part], found.variance[part]))

    def _factor(self, found: Weighed, seen: Array) -> None:
        """The same, one large set after the other."""
        ready, places = self._ready, np.ascontiguousarray(self._ready.columns.T)
        m = found.weights.shape[1]
        for i, near in enumerate(found.neighbours):
            K = self._inner.matrix(places[near], np.concatenate([places[near], seen[i : i + 1]]))
            among, right = np.asfortranarray(K[:, :m]), np.column_stack([K[:, m], ready.residual[near]])
            among.flat[:: m + 1] = ready.variance[near]
            lower, info = lapack.dpotrf(among, lower=1, clean=0, overwrite_a=1)
            _require_digits(info == 0 and bool(np.all(np.diagonal(lower) ** 2 > _ROUNDING * ready.variance[near])))
            half = lapack.dtrtrs(lower, right, lower=1)[0]
            found.mean[i] = half[:, 0] @ half[:, 1]
            found.variance[i] -= half[:, 0] @ half[:, 0]
            found.weights[i] = lapack.dtrtrs(lower, half[:, 0], lower=1, trans=1)[0]

    @cached_property
    def _merged(self) -> Merged:
        return merge(self.readings, self.where)

    @cached_property
    def _inner(self) -> Kernel:
        return _inner(self.kernel)

    @cached_property
    def _ready(self) -> Ready:
        order, (X, residual, noise) = self.sets.order, self._merged.readings
        seen = _seen(self.kernel, X)[order]
        variance = self._inner.diag(seen) + noise[order]
        return Ready(np.ascontiguousarray(seen.T), variance, residual[order], noise[order])

    @cached_property
    def _metric(self) -> Metric:
        return metric_of(self._inner, _seen(self.kernel, self._merged.readings.X))

    @cached_property
    def _search(self) -> Neighbours:
        return Neighbours(self._metric(self._ready.columns.T))

    def _blocks(self) -> Iterator[tuple[slice, Indices]]:
        """Points in blocks, with their sets (B, m + 1): neighbours, and then themselves, also where there are none."""
        N, m = self.sets.neighbours.shape
        for part in _parts(N, m):
            own = np.arange(part.start, part.stop, dtype=np.int32)[:, None]
            near = self.sets.neighbours[part]
            yield part, np.concatenate([np.where(near >= 0, near, own), own], axis=1)

    def _counts(self, part: slice) -> NDArray[np.intp]:
        """How many neighbours each point has: all that come before, up to m."""
        return np.minimum(np.arange(part.start, part.stop), self.sets.neighbours.shape[1])


class Ready(NamedTuple):
    """The readings in their order: columns that the kernel sees (D, N), variances with noise, residuals, noise (N,)."""

    columns: Array
    variance: Array
    residual: Array
    noise: Array

    def pairs(self, sets: Indices, last: Array | None = None) -> tuple[Array, Array]:
        """Both places of each pair of slots of each set (B, m), or with one slot more for places (D, B), as two tables
        (B pairs, D) of which columns are contiguous."""
        points = np.take(self.columns, sets, axis=1)  # a fifth of the time of an index in brackets
        if last is not None:
            points = np.concatenate([points, last[:, :, None]], axis=2)
        a, b = np.triu_indices(points.shape[2], 1)
        left, right = (np.take(points, each, axis=2).reshape(len(points), -1).T for each in (a, b))
        return left, right


class Weighed(NamedTuple):
    """Neighbours (M, m), their weights, and the mean and variance of f at each of M places."""

    neighbours: Indices
    weights: Array
    mean: Array
    variance: Array

    def sparse(self, size: int) -> csr_array:
        """The weights as a matrix (M, N)."""
        from scipy.sparse import csr_array

        M, m = self.weights.shape
        return csr_array((self.weights.ravel(), self.neighbours.ravel(), np.arange(0, M * m + 1, m)), shape=(M, size))


def _inner(kernel: Kernel) -> Kernel:
    """The kernel of what it sees of places: a pair of columns is then made of two that are there already."""
    return kernel.base if isinstance(kernel, Warped) else kernel


def _seen(kernel: Kernel, X: Array) -> Array:
    return kernel.coordinates(X) if isinstance(kernel, Warped) else X


def _parts(count: int, m: int) -> Iterator[slice]:
    size = max(1, _PAIRS // max(1, m * (m + 1) // 2))
    return (slice(i, min(i + size, count)) for i in range(0, count, size))


def _require_digits(enough: bool) -> None:
    if not enough:
        raise NumericalError(
            "neighbouring readings are so much alike that double precision cannot tell them apart at this noise: "
            "increase the noise, or use fewer neighbours"
        )
