"""The evidence of an additive model: which dimensions a term has is given, its parameters are fitted.

In units in which every dimension is one wide and the answers spread by one, theta holds the logarithms of a lengthscale
for each dimension, of a variance for each term, and of a noise for each instrument that states none, all with normal
priors or halves of them. At the most probable theta

    laplace      log p(y, θ̂) + ½ P log 2π − ½ log |F|,   F_ij = ½ tr(K⁻¹ ∂_iK K⁻¹ ∂_jK) + prior precision
    bic          log p(y | θ̂) − ½ P log n
    likelihood   log p(y | θ̂)

F is the expected curvature, which is never negative. A constant that may be anywhere is part of the kernel. One
evidence with its slope is a Cholesky factorisation, an inverse and an exponential for each term and pair of answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack
from scipy.optimize import OptimizeResult, minimize

from gainful.errors import NumericalError
from gainful.kernels.additive import PROFILES, Terms
from gainful.numerics.blas import matmul

__all__ = ["EVIDENCES", "Additively", "Begin", "Expected", "Fit", "pairwise"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Single = NDArray[np.float32]

EVIDENCES = ("laplace", "bic", "likelihood")
LEVEL = 4.0  # of the spread: the standard deviation of an unknown constant
_LENGTH = 0.35  # of a range, times the root of how many dimensions a term has: see `hyper/defaults`
_LENGTHS, _VARIANCES = 1.0, 2.0  # standard deviations of log lengthscales and log variances under the prior
_LITTLE = 6.0  # that of log variances of single dimensions below their middle: one may do next to nothing
_REACH = 6.0  # standard deviations of the prior that a search may go: beyond, doubles fail
_WITHIN = 0.9  # of that, where it may begin
_WORST = 1e10  # what counts for a theta at which the matrix is not positive
_STEPS = 60  # of a search
_MANY = 100  # answers: beyond, a search that is not wide begins once
_LONGER, _NOISIER = (-0.7, 0.0, 0.7), 2.0  # logarithms, beside what is usual, where a search may begin
_SHORT = -2.4  # the logarithm of how much shorter than usual a search begins as well
_ENOUGH = 0.02  # nats: two steps that gain no more are the last
LEAST = 1e-4  # of the spread: what a noise that is learned has at least, or sums of smooth terms leave no digits
_TINY = 1e-10  # of the spread squared: what every diagonal has, so that answers without noise can be explained
_LOG_2PI = float(np.log(2.0 * np.pi))


class Fit(NamedTuple):
    """The most probable theta of an additive model, log p(y, theta) there, the model's log evidence, and where it is
    known the curvature in the free numbers."""

    theta: Array
    log_density: float
    log_evidence: float
    curvature: Array | None = None


class Begin(NamedTuple):
    """Where a search begins: theta, and the curvature that may be expected there, where something says so."""

    theta: Array
    curvature: Array | None = None


class Solved(NamedTuple):
    """An additive model at some theta: members over squared lengthscales (G, D), variances (G,) and squared noises;
    correlations of each term and pair of answers, what makes slopes of them, the factor of K, K⁻¹ y, and
    log p(y | theta)."""

    scaled: Array
    variances: Array
    noises: Array
    k: Array
    weights: Callable[[Array], Array]
    factor: Array
    alpha: Array
    value: float


class Expected(NamedTuple):
    """The logarithm of a noise that is usual, and how far it may be from that: for each instrument that states none."""

    noise: Array
    spread: Array


@dataclass(frozen=True, eq=False)
class Additively:
    """Answers that are numbers, in units in which all are of size one, to be explained by sums of terms.

    squares   |x_d − z_d|² of each dimension between all pairs of answers, (D, N (N − 1)/2), the lower triangle by rows
    y         (N,)
    fixed     the variance of each answer's noise where it is stated, (N,)
    own       the number of each answer's noise among those that are learned, or −1, (N,)
    shared    whether all dimensions of a term have one lengthscale, as published; terms must then be apart
    """

    squares: Array
    y: Array
    fixed: Array
    own: Index
    expected: Expected
    profile: str = "SE"
    rule: str = "laplace"
    shared: bool = False

    @property
    def dimensions(self) -> int:
        return len(self.squares)

    @cached_property
    def _at(self) -> tuple[Index, Index, Index]:
        """Rows and columns of the lower triangle, and where its entries are in a matrix laid out by rows."""
        i, j = np.tril_indices(len(self.y), -1)
        return i, j, i * len(self.y) + j

    def members(self, terms: Terms) -> Array:
        """1 where a term has a dimension, (G, D)."""
        if terms not in self._members:
            out = np.zeros((len(terms), self.dimensions))
            for g, term in enumerate(terms):
                out[g, list(term)] = 1.0
            self._members[terms] = out
        return self._members[terms]

    @cached_property
    def _members(self) -> dict[Terms, Array]:
        return {}

    @cached_property
    def _usual(self) -> dict[Terms, tuple[Array, Array]]:
        return {}

    def usual(self, terms: Terms) -> tuple[Array, Array]:
        """Mean and standard deviation of theta under the prior: the more dimensions a term has, the longer are the
        lengthscales; the terms share the variance."""
        if terms not in self._usual:
            self._usual[terms] = self._prior(terms)
        return self._usual[terms]

    def _prior(self, terms: Terms) -> tuple[Array, Array]:
        members = self.members(terms)
        sizes = members.T @ members.sum(axis=1) / members.sum(axis=0)
        lengths = np.log(_LENGTH) + 0.5 * np.log(sizes)
        mean = np.concatenate([lengths, self.expected_variances(terms, lengths)[0], self.expected.noise])
        spreads = (np.full(len(sizes), _LENGTHS), np.full(len(terms), _VARIANCES), self.expected.spread)
        return mean, np.concatenate(spreads)

    def expected_variances(self, terms: Terms, lengths: Array) -> tuple[Array, Array]:
        """The middle of the prior of log variances given log lengthscales, (G,), and its slope, (G, D).

        Terms share the variance that answers have within the ranges. Of a term it is v (1 − Π_d h_d), where h_d is the
        mean correlation along a dimension, near 12 l²/(1 + 12 l²): what is smooth, a trend say, is a small stretch of a
        long and high wave, and that alone makes it no less probable.
        """
        members, wide = self.members(terms), 12.0 * np.exp(2.0 * lengths)
        logs = matmul(members, np.log(wide / (1.0 + wide))[:, None])[:, 0]
        left = -np.expm1(logs)
        slopes = members * (2.0 / (1.0 + wide)) * (np.exp(logs) / left)[:, None]
        return -np.log(len(terms)) - np.log(left), slopes

    def _off(self, terms: Terms, theta: Array) -> tuple[Array, Array, Array]:
        """How far theta is from the middle of its prior, in standard deviations there; the latter; and how the middle
        of log variances moves with log lengthscales, (G, D)."""
        (mean, above), D, G = self.usual(terms), self.dimensions, len(terms)
        middle, slopes = self.expected_variances(terms, theta[:D])
        mean = np.concatenate([mean[:D], middle, mean[D + G :]])
        here = np.where(theta < mean, self._below(terms), above)
        return (theta - mean) / here, here, slopes

    def _below(self, terms: Terms) -> Array:
        """Standard deviations of theta below the middle of its prior: other than above for the variance of a dimension
        alone, which may do next to nothing. Terms of several are there because they do something."""
        spread = self.usual(terms)[1].copy()
        spread[[self.dimensions + g for g, term in enumerate(terms) if len(term) == 1]] = _LITTLE
        return spread

    def free(self, terms: Terms) -> Index:
        """Which free number each entry of theta is: lengthscales may be tied together in a term."""
        if not self.shared:
            return np.arange(self.dimensions + len(terms) + len(self.expected.noise))
        block = np.zeros(self.dimensions, dtype=np.intp)
        for g, term in enumerate(terms):
            block[list(term)] = g
        return np.concatenate([block, len(terms) + np.arange(len(terms) + len(self.expected.noise))])

    def begin(self, terms: Terms, near: Terms, fit: Fit) -> Begin:
        """Where to begin from a model that is like it: each term takes the variance of those that it has dimensions of,
        in proportion; what both have has the same curvature."""
        D, theta, out = self.dimensions, fit.theta, self.usual(terms)[0].copy()
        out[:D], out[D + len(terms) :] = theta[:D], theta[D + len(near) :]
        known = dict(zip(near, np.exp(theta[D : D + len(near)]), strict=True))
        for g, term in enumerate(terms):
            if term in known:
                out[D + g] = np.log(known[term])
            else:
                share = sum(v * len({*term} & {*other}) / len(other) for other, v in known.items())
                out[D + g] = np.log(share) if share > 0.0 else out[D + g]
        if fit.curvature is None or self.shared:
            return Begin(out)
        noises = len(self.expected.noise)
        there = np.array([*range(D), *(near.index(term) + D if term in known else -1 for term in terms),
                          *(D + len(near) + np.arange(noises))], dtype=np.intp)  # fmt: skip
        both = np.ix_(there >= 0, there >= 0)
        curvature = np.eye(len(out))
        curvature[both] = fit.curvature[np.ix_(there[there >= 0], there[there >= 0])]
        return Begin(out, curvature)

    def log_values(self, terms: Terms, theta: Array) -> tuple[float, float]:
        """log p(y, theta) and log p(y | theta); −inf where rounding leaves no positive matrix."""
        solved = self._solved(terms, theta)
        return (-np.inf, -np.inf) if solved is None else (solved.value + self._prior_at(terms, theta), solved.value)

    def log_density(self, terms: Terms, theta: Array) -> tuple[float, Array]:
        """log p(y, theta) and its slope; −inf where rounding leaves no positive matrix."""
        solved = self._solved(terms, theta)
        if solved is None:
            return -np.inf, np.zeros_like(theta)
        D, G, alpha = self.dimensions, len(terms), solved.alpha
        inverse = lapack.dpotri(solved.factor, lower=0, overwrite_c=1)[0].T
        i, j, flat = self._at
        # dL/dK = ½ (α αᵀ − K⁻¹); an entry of the lower triangle stands for two.
        pull = alpha[i] * alpha[j] - inverse.ravel()[flat]
        along = 0.5 * (alpha**2 - np.diagonal(inverse))
        by_variance = solved.variances * (matmul(solved.k, pull) + along.sum())
        slopes = matmul(solved.weights(pull), self.squares.T)
        off, here, moved = self._off(terms, theta)
        by_length = -2.0 * np.sum(solved.variances[:, None] * solved.scaled * slopes, axis=0)
        by_length += (off / here)[D : D + G] @ moved
        noises = solved.noises
        by_noise = 2.0 * noises * np.bincount(self.own + 1, along, minlength=len(noises) + 1)[1:]
        slope = np.concatenate([by_length, by_variance, by_noise]) - off / here
        return solved.value + self._prior_at(terms, theta), slope

    def _prior_at(self, terms: Terms, theta: Array) -> float:
        """log p(theta): two halves of normal densities that meet in the middle."""
        off, _, _ = self._off(terms, theta)
        width = 0.5 * (self._below(terms) + self.usual(terms)[1])
        return -0.5 * float(off @ off) - float(np.log(width).sum()) - 0.5 * len(theta) * _LOG_2PI

    def _solved(self, terms: Terms, theta: Array) -> Solved | None:
        """What the value and its slope are made of; None where rounding leaves no positive matrix."""
        D, G, n = self.dimensions, len(terms), len(self.y)
        scaled, variances = self.members(terms) * np.exp(-2.0 * theta[:D]), np.exp(theta[D : D + G])
        noises = np.exp(2.0 * theta[D + G :])
        k, weights = self._correlations(scaled)
        factor, info = lapack.dpotrf(self._matrix(matmul(variances[None], k)[0], variances, noises).T, lower=0, clean=0,
                                     overwrite_a=1)  # fmt: skip
        if info:
            return None
        alpha = lapack.dpotrs(factor, self.y, lower=0)[0]
        value = -0.5 * float(self.y @ alpha) - float(np.log(np.diagonal(factor)).sum()) - 0.5 * n * _LOG_2PI
        return Solved(scaled, variances, noises, k, weights, factor, alpha, value)

    def within_reach(self, terms: Terms, theta: Array) -> bool:
        """Whether theta is one that doubles can tell apart from others."""
        mean, spread = self.usual(terms)
        return bool(np.all(np.abs(theta - mean) <= _REACH * spread))

    def _correlations(self, scaled: Array) -> tuple[Array, Callable[[Array], Array]]:
        """κ(s) of each term and pair of answers, (G, P), and what G = dL/dκ of the pairs makes of it: G κ′(s).

        Where it is asked for often, in arrays that are kept: new ones of this size cost as much as what is put into
        them.
        """
        if self.profile not in _IN_PLACE:
            k, weights = PROFILES[self.profile].linearise(matmul(scaled, self.squares))
            return k, lambda pull: weights(np.broadcast_to(pull, k.shape))[0]
        G, P = len(scaled), self.squares.shape[1]
        if G not in self._kept:
            self._kept[G] = np.empty((3, G, P))
        k, slope, spare = self._kept[G]
        times, fill = _IN_PLACE[self.profile]
        blas.dgemm(times, self.squares.T, scaled.T, c=k.T, overwrite_c=1)
        fill(k, slope, spare)
        return k, lambda pull: np.multiply(slope, pull, out=slope)

    @cached_property
    def _kept(self) -> dict[int, Array]:
        return {}

    def log_likelihood(self, terms: Terms, theta: Array) -> float:
        """log p(y | theta)."""
        return self.log_values(terms, theta)[1]

    def _matrix(self, lower: Array, variances: Array, noises: Array) -> Array:
        n = len(self.y)
        K = np.zeros((n, n))
        K.ravel()[self._at[2]] = lower + LEVEL**2
        learned = np.concatenate([[0.0], noises + LEAST**2])[self.own + 1]
        K.ravel()[:: n + 1] = variances.sum() + LEVEL**2 + self.fixed + learned + _TINY
        return K

    def fit(self, terms: Terms, starts: Sequence[Begin] = (), wide: bool = True) -> Fit:
        """The most probable parameters of these terms, and their evidence by the rule.

        The density has several hills, of much noise, of short and of long waves. A search climbs from the best of
        `starts`, from typical values and from short waves. One that is not wide, because a neighbour had a wide one,
        leaves out the last, and begins once where answers are many, from the best of all.
        """
        begins = [self._highest(terms, [self._within(terms, each) for each in starts])] if starts else []
        if wide or len(self.y) <= _MANY:
            begins += [self._highest(terms, self._usual_begins(terms)), *([self._short_waves(terms)] if wide else [])]
        else:
            begins = [self._highest(terms, [*begins, Begin(self.usual(terms)[0])])]
        theta, density = max((self._climb(terms, each) for each in begins), key=lambda found: found[1])
        if not density > -_WORST:
            raise NumericalError("no additive model explains these answers: check their units, and the noise stated")
        curvature = self.curvature(terms, theta)
        return Fit(theta, density, self._evidence(terms, theta, density, curvature), curvature)

    def _within(self, terms: Terms, begin: Begin) -> Begin:
        """Where a search may begin: a neighbour's parameters may lie beyond what is usual for these terms."""
        mean, spread = self.usual(terms)
        reach = _WITHIN * _REACH * spread
        return begin._replace(theta=np.clip(begin.theta, mean - reach, mean + reach))

    def _highest(self, terms: Terms, begins: Sequence[Begin]) -> Begin:
        """The one that is most probable."""
        return begins[0] if len(begins) == 1 else max(begins, key=lambda b: self.log_values(terms, b.theta)[0])

    def _usual_begins(self, terms: Terms) -> list[Begin]:
        """Typical values, with more noise, and with longer and shorter lengthscales."""
        usual, D = self.usual(terms)[0], self.dimensions
        noisy = np.where(np.arange(len(usual)) < D + len(terms), 0.0, _NOISIER)
        lengths = (np.arange(len(usual)) < D).astype(float)
        return [Begin(usual + by * lengths + more) for by in _LONGER for more in (0.0, noisy)]

    def _short_waves(self, terms: Terms) -> Begin:
        """Typical values but for lengthscales, which are short: from there each can grow, and none is taken for noise.

        At the beginning of a climb this explains answers badly, so that it is never the best of several.
        """
        usual = self.usual(terms)[0].copy()
        usual[: self.dimensions] += _SHORT
        return Begin(usual)

    def _climb(self, terms: Terms, begin: Begin) -> tuple[Array, float]:
        """theta and log p(y, theta) at the top of a hill, by quasi-Newton steps that begin with the expected
        curvature."""
        free = self.free(terms)
        first = np.unique(free, return_index=True)[1]
        count, gains, value = len(first), (np.inf, np.inf), np.inf

        def objective(part: Array) -> tuple[float, Array]:
            theta = part[free]
            near = self.within_reach(terms, theta)
            density, slope = self.log_density(terms, theta) if near else (-np.inf, theta)
            if not np.isfinite(density):
                return _WORST, np.zeros(count)
            return -density, -np.asarray(np.bincount(free, slope, minlength=count), dtype=np.float64)

        def watch(intermediate_result: OptimizeResult) -> None:
            nonlocal gains, value
            now = float(intermediate_result.fun)
            gains, value = (gains[1], value - now), now
            if max(gains) <= _ENOUGH:
                raise StopIteration

        curvature = self.curvature(terms, begin.theta) if begin.curvature is None else begin.curvature
        done = minimize(
            objective, begin.theta[first], jac=True, method="BFGS", callback=watch,
            options={"hess_inv0": _inverse(curvature), "maxiter": _STEPS, "gtol": 1e-3},
        )  # fmt: skip
        return done.x[free], -float(done.fun)

    def _evidence(self, terms: Terms, theta: Array, log_density: float, curvature: Array) -> float:
        count = len(curvature)
        if self.rule == "laplace":
            return log_density + 0.5 * count * _LOG_2PI - 0.5 * float(np.linalg.slogdet(curvature)[1])
        likelihood = self.log_likelihood(terms, theta)
        return likelihood - (0.5 * count * float(np.log(len(self.y))) if self.rule == "bic" else 0.0)

    def asked_for(self, terms: Terms, theta: Array) -> list[tuple[int, int]]:
        """Pairs of terms, by how much the answers ask for their product beside the model, the most first.

        ½ tr((ααᵀ − K⁻¹) K_ab) over its standard deviation, as `ascent` has it; those that make it worse are left out.
        """
        D, G, n = self.dimensions, len(terms), len(self.y)
        scaled, variances = self.members(terms) * np.exp(-2.0 * theta[:D]), np.exp(theta[D : D + G])
        k = PROFILES[self.profile].linearise(matmul(scaled, self.squares))[0]
        K = self._matrix(matmul(variances[None], k)[0], variances, np.exp(2.0 * theta[D + G :]))
        factor, info = lapack.dpotrf(K.T, lower=0)
        if info:
            return []
        alpha = lapack.dpotrs(factor, self.y, lower=0)[0]
        half = factor.astype(np.float32)
        (i, j, _), scores = self._at, {}
        for a, b in combinations(range(G), 2):
            product = k[a] * k[b]
            M = self._whitened(half, product, 1.0)
            pulled = 2.0 * float((alpha[i] * alpha[j]) @ product) + float(alpha @ alpha)
            trace = float(M[:: n + 1].sum(dtype=float))
            scores[a, b] = (pulled - trace) / np.sqrt(2.0 * max(float(M @ M), 1e-30))
        return sorted((pair for pair in scores if scores[pair] > 0.0), key=lambda pair: -scores[pair])

    def curvature(self, terms: Terms, theta: Array) -> Array:
        """The expected curvature of −log p(y, theta) in the free numbers."""
        D, G, n = self.dimensions, len(terms), len(self.y)
        scaled, variances = self.members(terms) * np.exp(-2.0 * theta[:D]), np.exp(theta[D : D + G])
        noises = np.exp(2.0 * theta[D + G :])
        k, weights = PROFILES[self.profile].linearise(matmul(scaled, self.squares))
        factor, info = lapack.dpotrf(self._matrix(matmul(variances[None], k)[0], variances, noises).T, lower=0)
        if info:
            raise NumericalError("the covariance of the answers is not positive: check the noise stated")
        by_square = weights(np.ones_like(k))[0] * variances[:, None]  # ∂K/∂s of each term
        free, (_, here, moved) = self.free(terms), self._off(terms, theta)
        slopes = [-2.0 * matmul(scaled[:, d][None], by_square)[0] * self.squares[d] for d in range(D)]
        rows = [*((each, 0.0) for each in slopes), *((v * each, v) for v, each in zip(variances, k, strict=True))]
        rows += [(None, np.where(self.own == q, 2.0 * noise, 0.0)) for q, noise in enumerate(noises)]
        tied, half = np.zeros((int(free.max()) + 1, n * n), dtype=np.float32), factor.astype(np.float32)
        for i, (lower, diagonal) in zip(free, rows, strict=True):
            tied[i] += self._whitened(half, lower, diagonal)
        # Where lengthscales are tied, each keeps its prior: the free number is pulled by all of them.
        pulls = np.diag(1.0 / here)
        pulls[D : D + G, :D] -= moved / here[D : D + G, None]
        by_free = np.zeros((len(here), len(tied)))
        np.add.at(by_free.T, free, pulls.T)
        return 0.5 * np.asarray(tied @ tied.T, dtype=np.float64) + by_free.T @ by_free

    def _whitened(self, factor: Single, lower: Array | None, diagonal: Array | float) -> Single:
        """L⁻¹ ∂K L⁻ᵀ by rows, for K = L Lᵀ = UᵀU, in single precision: of a curvature four digits are enough."""
        n = len(self.y)
        M = np.zeros((n, n), dtype=np.float32)
        if lower is not None:
            M.ravel()[self._at[2]] = lower
            M += M.T
        M.ravel()[:: n + 1] = diagonal
        half = blas.strsm(1.0, factor, M, trans_a=1)
        return np.asarray(blas.strsm(1.0, factor, np.asfortranarray(half.T), trans_a=1)).ravel()


def _squared_exponential(k: Array, slope: Array, spare: Array) -> None:
    """exp(−s/2) and its slope in s, where k holds −s/2."""
    np.exp(k, out=k)
    np.multiply(k, -0.5, out=slope)


def _matern52(k: Array, slope: Array, spare: Array) -> None:
    """(1 + r + r²/3) exp(−r) and its slope in s, −5/6 (1 + r) exp(−r), where k holds r² = 5 s."""
    np.maximum(k, 0.0, out=k)  # rounding
    np.sqrt(k, out=slope)
    np.exp(np.negative(slope, out=spare), out=spare)
    slope += 1.0
    k *= 1.0 / 3.0
    k += slope
    k *= spare
    spare *= -5.0 / 6.0
    slope *= spare


_IN_PLACE = {"SE": (-0.5, _squared_exponential), "Matern52": (5.0, _matern52)}  # what s is multiplied by before


def _inverse(curvature: Array) -> Array:
    """Symmetric to the last digit, as quasi-Newton steps need it."""
    found = np.linalg.inv(curvature)
    return 0.5 * (found + found.T)


def pairwise(columns: Sequence[Array], categories: Sequence[bool]) -> Array:
    """|x_d − z_d|² between all pairs of rows, (D, N (N − 1)/2); of a category 1 where they differ.

    `columns` are those of each dimension, (N, c), in units of its range.
    """
    i, j = np.tril_indices(len(columns[0]), -1)
    return np.stack([
        (own[i, 0] != own[j, 0]).astype(float) if is_category else np.square(own[i] - own[j]).sum(axis=1)
        for own, is_category in zip(columns, categories, strict=True)
    ])  # fmt: skip
