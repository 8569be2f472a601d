"""Products with K = K₁ ∘ … ∘ K_d by merging Lanczos decompositions, as printed (Gardner 2018, ch. 6).

Each factor is decomposed by k steps of Lanczos with full reorthogonalisation, halves of the factors are merged first,
and the last pair is used as it is. The factors are those of a squared exponential, exact to rounding:

    exp(−(x − z)²/2) = Σ_j φ_j(x) φ_j(z),   φ_j(x) = e^{−x²/2} x^j/√j!

What the text leaves open is where Lanczos begins: at a random normal vector (`normal`), at v itself (`at`), or at the
factor times a vector of positive numbers (`warm`), which is where gainful's own begins. With more steps than the rank,
the k largest Ritz values are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

__all__ = ["Form", "Pair", "Times", "at", "best_of_rank", "features", "merged", "normal", "relative", "warm"]

Array = NDArray[np.float64]
Times = Callable[[Array], Array]
Start = Callable[[Times, int], Array]

_ROUNDING = 1e-13


class Form(NamedTuple):
    """Q T Qᵀ: Q (N, k) orthonormal, T (k, k)."""

    Q: Array
    T: Array


class Pair(NamedTuple):
    """(Q₁ T₁ Q₁ᵀ) ∘ (Q₂ T₂ Q₂ᵀ)."""

    left: Form
    right: Form

    def times(self, v: Array) -> Array:
        """With v (N,), O(k² N)."""
        (Q, T), (R, S) = self
        return np.asarray(np.einsum("nk,nk->n", Q @ (T @ (Q.T @ (v[:, None] * R)) @ S), R))


def features(x: Array) -> Array:
    """φ (N, J), of as many powers as leave nothing out: e^{−x²} x^{2j}/j! is Poisson's probability of j at x²."""
    most = float(np.max(x**2))
    j = np.arange(int(most + 12.0 * np.sqrt(most) + 30.0))
    size = np.maximum(np.abs(x), 1e-300)[:, None]
    signs = np.where((x[:, None] < 0.0) & (j % 2 == 1), -1.0, 1.0)
    return np.asarray(signs * np.exp(j * np.log(size) - 0.5 * gammaln(j + 1.0) - 0.5 * x[:, None] ** 2))


def normal(rng: np.random.Generator) -> Start:
    return lambda times, size: rng.normal(size=size)


def warm(rng: np.random.Generator) -> Start:
    return lambda times, size: times(rng.random(size))


def at(v: Array) -> Start:
    return lambda times, size: v


def merged(factors: Sequence[Array], rank: int, start: Start, steps: int = 0) -> Pair:
    """That of two or more factors φ φᵀ, each given as φ (N, J)."""

    def decomposed(some: Sequence[Array]) -> Form:
        if len(some) == 1:
            return _lanczos(lambda v: some[0] @ (some[0].T @ v), len(some[0]), rank, start, steps)
        return _lanczos(pair(some).times, len(some[0]), rank, start, steps)

    def pair(some: Sequence[Array]) -> Pair:
        middle = len(some) // 2
        return Pair(decomposed(some[:middle]), decomposed(some[middle:]))

    return pair(factors)


def _lanczos(times: Times, size: int, rank: int, start: Start, steps: int) -> Form:
    """Ended early where nothing is left of a product; projected twice at each step."""
    most = max(rank, steps)
    Q, T = np.zeros((size, most), order="F"), np.zeros((most, most))
    w, longest, k = start(times, size), 0.0, 0
    while k < most:
        left = float(np.linalg.norm(w))
        if left <= _ROUNDING * longest:
            break
        if k:
            T[k, k - 1] = T[k - 1, k] = left
        Q[:, k] = w / left
        w = times(Q[:, k])
        T[k, k], longest = Q[:, k] @ w, max(longest, float(np.linalg.norm(w)))
        k += 1
        for _ in range(2):
            w = w - Q[:, :k] @ (Q[:, :k].T @ w)
    Q, T = np.ascontiguousarray(Q[:, :k]), T[:k, :k]
    if k <= rank:
        return Form(Q, T)
    values, vectors = np.linalg.eigh(T)
    return Form(Q @ vectors[:, -rank:], np.diag(values[-rank:]))


def relative(times: Times, K: Array, V: Array) -> Array:
    """|K̂ v − K v|/|K v| for each of the columns v of V (N, p), (p,)."""
    exact = K @ V
    found = np.column_stack([times(v) for v in V.T])
    return np.asarray(np.linalg.norm(found - exact, axis=0) / np.linalg.norm(exact, axis=0))


def best_of_rank(K: Array, ranks: Sequence[int]) -> list[float]:
    """For each rank, |K̂ − K|/|K| in Frobenius norm of the best matrix of that rank (Eckart & Young 1936): the root mean
    square of |K̂ v − K v| over that of |K v| for normal v. No product of two decompositions of rank k is nearer than the
    best of rank k²."""
    squares = np.sort(np.linalg.eigvalsh(K) ** 2)[::-1]
    beyond = np.append(np.cumsum(squares[::-1])[::-1], 0.0)
    return [float(np.sqrt(beyond[min(rank, len(squares))] / beyond[0])) for rank in ranks]
