"""Probabilities that jointly normal variables all stay below given levels, in log space.

The bivariate case is one integral of an elementary, log-concave function. Differentiating P(X ≤ h, Y ≤ k) in the
correlation r gives the bivariate density (Plackett 1954); integrating from r = −1 and writing r = tanh v,

    P = max(0, Φ(h) − Φ(−k)) + (1/π) ∫_{−∞}^{artanh ρ} exp(−(p (1 + e^{−2v}) + q (1 + e^{2v})) / 2) / (2 cosh v) dv,

p = (h + k)²/4 and q = (h − k)²/4. Both terms are positive, so nothing cancels, however small P is. Three and four
variables condition on the one whose level is lowest and integrate over it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr, logsumexp, ndtr, owens_t

from gainful.errors import InvalidInput
from gainful.numerics.normal import log_ndtr_between, log_pdf
from gainful.numerics.quadrature import gauss_legendre, panels

__all__ = ["bvn_cdf", "log_any_above", "log_bvn_cdf", "log_mvn_cdf"]

Array = NDArray[np.float64]

_DROP = 40.0  # a log-concave integrand is followed until it is e^-40 of its maximum
_SAFE = 1e-3  # above this, the absolute accuracy of bvn_cdf is relative accuracy enough
_BLOCK = 2048  # bivariate integrals at a time, so that their nodes stay in the cache
_ENTRIES = 256  # entries of log_mvn_cdf at a time, to bound memory
_ENDLESS = 1e12  # a level beyond this counts as infinite: near it, even log P would hold no digit of P


_PER_PANEL = 24
_INNER = tuple(0.5 * part + at for part, at in zip(gauss_legendre(48), (0.5, 0.0), strict=True))  # on [0, 1]
_GRID = np.linspace(0.0, 1.0, 17)


def bvn_cdf(h: ArrayLike, k: ArrayLike, rho: ArrayLike) -> Array:
    """P(X ≤ h, Y ≤ k) for standard normals of correlation rho, to 1e-14 in absolute terms (Owen 1956).

    Broadcasts; |rho| ≤ 1 and the levels may be infinite.

    >>> print(f"{bvn_cdf(0.0, 0.0, 0.5):.6f} {bvn_cdf(1.0, np.inf, -0.3):.6f}")
    0.333333 0.841345
    """
    h, k, rho = _bivariate(h, k, rho)
    finite_h, finite_k = np.clip(h, -40.0, 40.0), np.clip(k, -40.0, 40.0)
    inner = np.clip(rho, -1.0 + 1e-16, 1.0 - 1e-16)
    root = np.sqrt((1.0 - inner) * (1.0 + inner))
    t_h = owens_t(finite_h, _slope(finite_h, finite_k, inner, root))
    t_k = owens_t(finite_k, _slope(finite_k, finite_h, inner, root))
    value = 0.5 * (ndtr(h) + ndtr(k) - ((h < 0.0) != (k < 0.0))) - t_h - t_k
    value = np.where((h == 0.0) & (k == 0.0), 0.25 + np.arcsin(rho) / (2.0 * np.pi), value)
    value = np.where(rho == 1.0, ndtr(np.minimum(h, k)), np.where(rho == -1.0, ndtr(h) - ndtr(-k), value))
    return np.clip(value, 0.0, 1.0)[()]


def log_bvn_cdf(h: ArrayLike, k: ArrayLike, rho: ArrayLike) -> Array:
    """log P(X ≤ h, Y ≤ k) for standard normals of correlation rho, the probability exact to 1e-12 in relative terms.

    Broadcasts; |rho| ≤ 1 and the levels may be infinite; −inf where the probability is exactly 0.

    >>> print(f"{log_bvn_cdf(-30.0, -30.0, 0.0):.6f} {log_bvn_cdf(-40.0, -40.0, -0.9):.4f}")
    -908.642488 -16012.9905
    """
    h, k, rho = _bivariate(h, k, rho)
    shape = h.shape
    h, k, rho = h.ravel(), k.ravel(), rho.ravel()
    probability = bvn_cdf(h, k, rho)
    out: Array = np.log(np.maximum(probability, _SAFE))
    interior = np.isfinite(h) & np.isfinite(k) & (np.abs(rho) < 1.0)
    out[~interior] = _log_degenerate(h[~interior], k[~interior], rho[~interior])
    (rest,) = np.nonzero(interior & (probability < _SAFE))
    for start in range(0, rest.size, _BLOCK):
        block = rest[start : start + _BLOCK]
        out[block] = np.logaddexp(_log_plackett(h[block], k[block], rho[block]), _log_overlap(h[block], k[block]))
    return out.reshape(shape)[()]


def log_mvn_cdf(b: ArrayLike, cov: ArrayLike) -> Array:
    """log P(X_1 ≤ b_1, …, X_k ≤ b_k) for X ~ N(0, cov) and k ≤ 4, exact to about 1e-9 in relative terms.

    `b` is (..., k) and may be infinite; `cov` is (..., k, k), positive definite; the result is (...), zeros for k = 0.
    Digits are lost, from k = 3 on, where the correlation matrix is nearly singular (smallest eigenvalue below 1e-3).

    >>> print(f"{np.exp(log_mvn_cdf(np.zeros(3), np.eye(3) + 1.0)):.6f}")
    0.250000
    """
    level, corr, shape = _standardised(b, cov)
    return _in_blocks(level, corr).reshape(shape)[()]


def log_any_above(b: ArrayLike, cov: ArrayLike) -> Array:
    """log P(at least one X_j > b_j) = log Σ_j P(X_1 ≤ b_1, …, X_{j−1} ≤ b_{j−1}, X_j > b_j), without cancellation.

    Shapes and limits as for `log_mvn_cdf`; −inf for k = 0.

    >>> print(f"{log_any_above([9.0, 9.0], np.eye(2)):.6f}")
    -42.935002
    """
    level, corr, shape = _standardised(b, cov)
    total = np.full(level.shape[0], -np.inf)
    for j in range(1, level.shape[1] + 1):
        sign = np.append(np.ones(j - 1), -1.0)
        total = np.logaddexp(total, _in_blocks(sign * level[:, :j], sign[:, None] * corr[:, :j, :j] * sign))
    return total.reshape(shape)[()]


def _standardised(b: ArrayLike, cov: ArrayLike) -> tuple[Array, Array, tuple[int, ...]]:
    """Levels (N, k) in standard deviations and correlations (N, k, k), checked, and the shape that N stands for."""
    b, cov = np.asarray(b, dtype=np.float64), np.asarray(cov, dtype=np.float64)
    k = b.shape[-1]
    if k > 4:
        raise InvalidInput("b", "up to 4 levels", f"{k}", "up to 4 are supported: split the set, or sample")
    if cov.shape[-2:] != (k, k):
        raise InvalidInput("cov", f"a covariance of shape (..., {k}, {k})", f"{cov.shape}", "match it to b")
    shape = np.broadcast_shapes(b.shape[:-1], cov.shape[:-2])
    level = np.broadcast_to(b, (*shape, k)).reshape(int(np.prod(shape)), k)
    corr = np.broadcast_to(cov, (*shape, k, k)).reshape(int(np.prod(shape)), k, k)
    variance = np.diagonal(corr, axis1=1, axis2=2)
    scale = np.sqrt(np.where(variance > 0.0, variance, 1.0))
    corr = corr / (scale[:, :, None] * scale[:, None, :])
    if not np.all(variance > 0.0) or (k > 2 and not np.all(np.linalg.eigvalsh(corr)[:, 0] > 1e-13)):
        raise InvalidInput("cov", "a positive definite covariance", "a singular one", "merge variables that coincide")
    return level / scale, corr, shape


def _in_blocks(level: Array, corr: Array) -> Array:
    blocks = (slice(start, start + _ENTRIES) for start in range(0, len(level), _ENTRIES))
    return np.concatenate([np.empty(0), *(_log_orthant(level[block], corr[block]) for block in blocks)])


def _bivariate(h: ArrayLike, k: ArrayLike, rho: ArrayLike) -> tuple[Array, Array, Array]:
    h, k, rho = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in (h, k, rho)))
    if not np.all(np.abs(rho) <= 1.0):
        raise InvalidInput("rho", "correlations from -1 to 1", f"{rho}", "divide the covariance by both deviations")
    h, k = (np.where(np.abs(x) > _ENDLESS, np.copysign(np.inf, x), x) + 0.0 for x in (h, k))  # no -0.0
    return h, k, rho


def _slope(h: Array, k: Array, rho: Array, root: Array) -> Array:
    """(k − ρh) / (h √(1 − ρ²)), with the numerator split so that it does not cancel when ρ is near ±1."""
    numerator = np.where(rho > 0.0, (k - h) + h * (1.0 - rho), (k + h) - h * (1.0 + rho))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return np.where(numerator == 0.0, 0.0, numerator / (h * root))


def _log_degenerate(h: Array, k: Array, rho: Array) -> Array:
    """log P where a level is infinite or the correlation is ±1."""
    single = (np.maximum(h, k) == np.inf) | (rho == 1.0)
    return np.where(single, log_ndtr(np.minimum(h, k)), np.where(rho == -1.0, _log_overlap(h, k), -np.inf))


def _log_overlap(h: Array, k: Array) -> Array:
    """log max(0, Φ(h) − Φ(−k)), the probability at correlation −1."""
    out = np.full(h.shape, -np.inf)
    overlap = h > -k
    out[overlap] = log_ndtr_between(-k[overlap], h[overlap], h[overlap] + k[overlap])
    return out


def _log_plackett(h: Array, k: Array, rho: Array) -> Array:
    """The log of the integral in the module's docstring, from its mode (or from artanh ρ, below it) outwards."""
    p, q, end = (h + k) ** 2 / 4.0, (h - k) ** 2 / 4.0, np.arctanh(rho)
    mode = np.minimum(_mode(p, q), end)
    at_p, at_q = p * np.exp(-2.0 * mode), q * np.exp(2.0 * mode)
    mass = _half_mass(at_p, at_q, -mode, np.inf)
    inside = mode < end
    mass[inside] += _half_mass(at_q[inside], at_p[inside], mode[inside], (end - mode)[inside])
    log_peak: Array = -0.5 * (p + q + at_p + at_q) - np.logaddexp(mode, -mode) - np.log(np.pi)
    return log_peak + np.log(mass)


def _mode(p: Array, q: Array) -> Array:
    """argmax over v of −(p e^{−2v} + q e^{2v})/2 − log 2cosh v; for p ≥ q, y = e^{2v} ≥ 1 is a convex cubic's root."""
    high, low = np.maximum(p, q), np.minimum(p, q)
    with np.errstate(divide="ignore", invalid="ignore"):
        y = np.fmin(np.sqrt(high / low), (1.0 + high + np.sqrt((1.0 + high) ** 2 + 4.0 * high)) / 2.0)
    for _ in range(8):  # both bounds are above the root, the lower one within a factor of 2: Newton decreases to it
        value = ((low * y + low + 1.0) * y - high - 1.0) * y - high
        y = y - value / ((3.0 * low * y + 2.0 * (low + 1.0)) * y - high - 1.0)
    return np.where(p >= q, 0.5, -0.5) * np.log(np.maximum(y, 1.0))


def _fall(at_p: Array, at_q: Array, v: Array, x: Array) -> Array:
    """How far the log-integrand falls over a distance x from the mode, v being the mode's place, x in its direction."""
    fall: Array = 0.5 * at_p * np.expm1(2.0 * x) + 0.5 * at_q * np.expm1(-2.0 * x)
    return fall + np.logaddexp(v + x, -v - x) - np.logaddexp(v, -v)


def _reach(at_p: Array, at_q: Array, v: Array) -> Array:
    """The distance over which the log-integrand falls by _DROP; Newton's method on a convex function, from beyond."""
    x = np.minimum(np.arcsinh(np.sqrt((_DROP + 4.0) / (2.0 * np.maximum(at_p, 1e-300)))), _DROP + 2.0)
    for _ in range(5):
        slope = at_p * np.exp(2.0 * x) - at_q * np.exp(-2.0 * x) + np.tanh(v + x)
        x = x - np.maximum(_fall(at_p, at_q, v, x) - _DROP, 0.0) / slope
    return x


def _half_mass(at_p: Array, at_q: Array, v: Array, end: Array | float) -> Array:
    """∫₀^end exp(−fall(x)) dx."""
    nodes, weights = _INNER
    end = np.minimum(_reach(at_p, at_q, v), end)
    return end * (weights @ np.exp(-_fall(at_p, at_q, v, end * nodes[:, None])))


def _log_orthant(b: Array, corr: Array) -> Array:
    """log P(X ≤ b) for standard normals; b (N, k), corr (N, k, k): over x₁ ≤ b₁ integrate φ(x₁) P(X₂.. ≤ b₂.. | x₁)."""
    k = b.shape[1]
    if k < 2:
        return np.asarray(np.sum(log_ndtr(b), axis=1))
    if k == 2:
        return np.asarray(log_bvn_cdf(b[:, 0], b[:, 1], np.clip(corr[:, 0, 1], -1.0, 1.0)))
    # With the lowest level first, the other levels bind near the upper end, where the nodes are dense.
    rows, order = np.arange(b.shape[0])[:, None], np.argsort(b, axis=1)
    b, corr = b[rows, order], corr[rows[:, :, None], order[:, :, None], order[:, None, :]]
    impossible = b[:, 0] < -_ENDLESS
    b = np.where(impossible[:, None], 0.0, np.minimum(b, _ENDLESS))
    slope = corr[:, 1:, 0]
    rest = corr[:, 1:, 1:] - slope[:, :, None] * slope[:, None, :]
    scale = np.sqrt(np.diagonal(rest, axis1=1, axis2=2))
    rest = rest / (scale[:, :, None] * scale[:, None, :])

    def levels(x: Array) -> Array:
        return (b[:, None, 1:] - slope[:, None, :] * x[:, :, None]) / scale[:, None, :]

    x, log_weight = _nodes(_breaks(*_window(b, corr, rest, levels), *_turns(b[:, 1:] / scale, slope / scale, rest)))
    inner = _log_orthant(levels(x).reshape(-1, k - 1), np.repeat(rest, x.shape[1], axis=0)).reshape(x.shape)
    return np.where(impossible, -np.inf, logsumexp(log_pdf(x) + inner + log_weight, axis=1))


def _turns(level: Array, slope: Array, corr: Array) -> tuple[Array, Array]:
    """Where level − slope·x₁ turns from loose to binding, alone (at 0) or against another level, and how sharply."""
    i, j = np.triu_indices(level.shape[1], 1)
    sign = np.where(corr[:, i, j] < 0.0, -1.0, 1.0)
    rise = np.hstack([slope, slope[:, i] - sign * slope[:, j]])
    spread = np.hstack([np.ones_like(slope), np.sqrt(2.0 * np.maximum(1.0 - np.abs(corr[:, i, j]), 1e-16))])
    place = np.hstack([level, level[:, i] - sign * level[:, j]]) / np.where(rise == 0.0, 1e-30, rise)
    return place, np.abs(rise) / spread


def _breaks(low: Array, mode: Array, high: Array, turns: Array, sharpness: Array) -> Array:
    """The window's ends, its mode, and the sharpest turn inside (or else the middle of the longer side); (N, 4)."""
    mode = np.clip(mode, 0.8 * low + 0.2 * high, 0.2 * low + 0.8 * high)
    sharpness = np.where((turns > low[:, None]) & (turns < high[:, None]), sharpness, -1.0)
    rows, sharpest = np.arange(low.size), np.argmax(sharpness, axis=1)
    longer = 0.5 * (mode + np.where(mode - low > high - mode, low, high))
    turn = np.where(sharpness[rows, sharpest] > 0.0, turns[rows, sharpest], longer)
    return np.sort(np.stack([low, mode, high, turn], axis=1), axis=1)


def _nodes(breaks: Array) -> tuple[Array, Array]:
    """Gauss–Legendre nodes and log-weights between consecutive breaks; both (N, nodes)."""
    nodes, weight = panels(breaks, _PER_PANEL)
    with np.errstate(divide="ignore"):  # breaks may coincide
        return nodes, np.log(weight)


def _window(b: Array, corr: Array, rest: Array, levels: Callable[[Array], Array]) -> tuple[Array, Array, Array]:
    """Where φ(x₁) P(X₂.. ≤ b₂.. | x₁) is within e^−_DROP of its maximum, and a place inside, near that maximum.

    P(X ≤ b) ≤ exp(−d²/2) with d² = min {xᵀ corr⁻¹ x : x ≤ b}, and it is as large but for a power of d: so d² stands in
    for −2 log P. It is at least x₁², which bounds the search; the search zooms in, six times by up to a factor of 8.
    """
    limit = _distance(b[:, None, :], _inverses(corr))[:, 0] + 2.0 * _DROP
    inverses, rows, last = _inverses(rest), np.arange(b.shape[0]), _GRID.size - 1
    low, high = -np.sqrt(limit), np.minimum(b[:, 0], np.sqrt(limit))
    for _ in range(6):
        x = low[:, None] + (high - low)[:, None] * _GRID
        distance = x * x + _distance(levels(x), inverses)
        mode = x[rows, np.argmin(distance, axis=1)]
        inside = (distance <= limit[:, None]) | (x == mode[:, None])
        first, final = np.argmax(inside, axis=1), last - np.argmax(inside[:, ::-1], axis=1)
        low, high = x[rows, np.maximum(first - 1, 0)], x[rows, np.minimum(final + 1, last)]
    return low, mode, high


def _inverses(corr: Array) -> dict[tuple[int, ...], Array]:
    """The inverse of every principal submatrix of corr (N, k, k), by its indices."""
    k = corr.shape[-1]
    subsets = itertools.chain.from_iterable(itertools.combinations(range(k), size) for size in range(1, k + 1))
    return {s: np.asarray(np.linalg.inv(corr[:, s][:, :, s]), dtype=np.float64) for s in subsets}


def _distance(b: Array, inverses: dict[tuple[int, ...], Array]) -> Array:
    """min {xᵀ corr⁻¹ x : x ≤ b} for b (N, X, k): the largest b_Aᵀ corr_AA⁻¹ b_A whose multipliers are not negative."""
    best = np.zeros(b.shape[:-1])
    for subset, inverse in inverses.items():
        multipliers = -b[:, :, subset] @ inverse
        value = -np.sum(multipliers * b[:, :, subset], axis=-1)
        best = np.where(np.all(multipliers >= 0.0, axis=-1), np.maximum(best, value), best)
    return best
