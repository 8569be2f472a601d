"""The standard normal restricted to an interval, in log space, with relative accuracy everywhere.

Every interval is first mirrored so that its end nearest to 0 is the lower one, a. Three methods then cover the plane:

    closed form          the interval straddles 0 and is wide, or is effectively [a, inf) with a < 3
    continued fraction   effectively [a, inf) with a >= 3, where the closed form would cancel
    quadrature           everything narrower, where the closed form would cancel as well

"Effectively [a, inf)" means that the density at b is below e^-45 of the density at a.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import erfcx, log_ndtr, ndtr

from gainful.errors import InvalidInput
from gainful.numerics.blas import matmul
from gainful.numerics.quadrature import gauss_legendre

__all__ = ["Truncated", "hazard", "log_ndtr_between", "log_of_rest", "log_pdf", "truncated_normal"]

Array = NDArray[np.float64]
Cumulants = tuple[Array, Array, Array, Array, Array]

_LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)
_INV_SQRT_2PI, _SQRT_HALF_PI, _SQRT_HALF = 1.0 / np.sqrt(2.0 * np.pi), np.sqrt(np.pi / 2.0), np.sqrt(0.5)
_NEGLIGIBLE = (
    45.0  # e^-45 45^4 < 1e-12: what lies beyond changes no digit of the third moment, hardly one of the fourth
)
_TAIL_START = 3.0
_TAIL_TERMS = 44  # the continued fraction is exact to 1e-14 from _TAIL_START on
_LEGENDRE_NODES, _LEGENDRE_WEIGHTS = gauss_legendre(24)
_NODES, _WEIGHTS = (1.0 + _LEGENDRE_NODES) / 2.0, _LEGENDRE_WEIGHTS / 2.0  # on [0, 1]; exact to 1e-16 for e^-45x
_BLOCK = 1024  # entries of quadrature at a time: their nodes stay in the cache


class Truncated(NamedTuple):
    """log(Φ(b) − Φ(a)), and the mean, variance, third and fourth cumulant of u ~ N(0, 1) restricted to [a, b]."""

    log_z: Array
    mean: Array
    variance: Array
    third: Array
    fourth: Array


def truncated_normal(a: ArrayLike, b: ArrayLike, width: ArrayLike | None = None) -> Truncated:
    """log Z = log(Φ(b) − Φ(a)) and the first four cumulants of N(0, 1) restricted to [a, b], to about 1e-13.

    `log_z` and `variance` are exact in relative terms; `mean` up to its own rounding and the standard deviation;
    `third`, to 1e-12, relative to variance**1.5, `fourth`, to 1e-11, relative to variance**2. `a`, `b` and `width`
    broadcast; a < b; either end may be infinite. `width` is b − a where the caller knows it better than the
    subtraction would; a + width is then believed rather than b (and b − width rather than a, when b is the end nearest
    to 0).

    >>> half = truncated_normal(0.0, np.inf)
    >>> print(f"{half.log_z:.6f} {half.mean:.6f} {half.variance:.6f} {half.third:.6f}")
    -0.693147 0.797885 0.363380 0.218014
    >>> print(f"{truncated_normal(1e8, np.inf).variance:.3e}")
    1.000e-16
    """
    near, far, reach, mirrored = _lean(a, b, width)
    log_z, mean, variance, third, fourth = (np.empty(near.shape) for _ in range(5))
    for regime, formula in zip(_regimes(near, reach), (_closed, _tail, _inside), strict=True):
        if regime.any():
            values = formula(near[regime], far[regime], reach[regime])
            log_z[regime], mean[regime], variance[regime], third[regime], fourth[regime] = values
    sign = np.where(mirrored, -1.0, 1.0)
    return Truncated(log_z[()], (sign * mean)[()], variance[()], (sign * third)[()], fourth[()])


def log_ndtr_between(a: ArrayLike, b: ArrayLike, width: ArrayLike | None = None) -> Array:
    """log(Φ(b) − Φ(a)), exact in relative terms; arguments as for `truncated_normal`.

    >>> print(f"{log_ndtr_between(-9.0, 9.0):.6e} {log_ndtr_between(40.0, 41.0):.6f}")
    -2.257177e-19 -804.608442
    """
    near, far, reach, _ = _lean(a, b, width)
    out = np.empty(near.shape)
    closed, tail, inside = _regimes(near, reach)
    out[closed] = _closed_log_z(near[closed], far[closed])[0]
    out[tail] = log_ndtr(-near[tail])
    if inside.any():
        mass = _relative_density(near[inside], reach[inside]).sum(axis=0)
        out[inside] = log_pdf(near[inside]) + np.log(mass * reach[inside])
    return out[()]


def log_pdf(x: ArrayLike) -> Array:
    """log φ(x) = −x²/2 − log √(2π), elementwise.

    >>> print(f"{log_pdf(0.0):.6f}")
    -0.918939
    """
    x = np.asarray(x, dtype=np.float64)
    with np.errstate(over="ignore"):
        value: Array = -0.5 * x * x - _LOG_SQRT_2PI
    return value


def hazard(z: ArrayLike) -> Array:
    """φ(z) / Φ(z), exact in relative terms for all z: φ(z) far above 0, −z + O(1/z) far below.

    >>> print(f"{hazard(0.0):.6f} {hazard(-1e8):.6e} {hazard(30.0):.6e}")
    0.797885 1.000000e+08 1.473646e-196
    """
    z = np.asarray(z, dtype=np.float64)
    with np.errstate(divide="ignore"):  # the limit at -inf is inf
        below = 1.0 / _mills(np.maximum(-z, 0.0))
    return np.where(z < 0.0, below, _pdf(z) / ndtr(np.maximum(z, 0.0)))[()]


def _lean(a: ArrayLike, b: ArrayLike, width: ArrayLike | None) -> tuple[Array, Array, Array, NDArray[np.bool_]]:
    """The interval as [near, far] with |near| <= far, its width, and where it had to be mirrored for that."""
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    with np.errstate(invalid="ignore", over="ignore"):  # inf - inf: an empty interval, or the whole line
        reach = b - a if width is None else np.asarray(width, dtype=np.float64)
        mirrored = a + b < 0.0
    if not np.all(reach > 0.0):
        raise InvalidInput(
            "b" if width is None else "width",
            "every interval [a, b] to have a positive width",
            f"a width of {np.min(reach)}",
            "order the ends, and pass width for intervals too narrow to subtract",
        )
    near, far, reach, mirrored = np.broadcast_arrays(
        np.where(mirrored, -b, a), np.where(mirrored, -a, b), reach, mirrored
    )
    return near, far, reach, mirrored


def _regimes(near: Array, reach: Array) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Where the closed form, the continued fraction and the quadrature apply; they partition the entries."""
    with np.errstate(over="ignore"):
        endless = (near >= 0.0) & (reach * (np.maximum(near, 0.0) + reach / 2.0) > _NEGLIGIBLE)
    tail = endless & (near >= _TAIL_START)
    closed = (endless & ~tail) | ((near < 0.0) & (reach >= 1.0))
    return closed, tail, ~(closed | tail)


def _pdf(x: Array) -> Array:
    """φ(x) without the error x² ε that rounding x²/2 would bring: x² = c² + (x − c)(x + c) with c² exact."""
    x = np.minimum(np.abs(x), 64.0)
    coarse = np.rint(16.0 * x) / 16.0
    value: Array = np.exp(-0.5 * coarse * coarse) * np.exp(-0.5 * (x - coarse) * (x + coarse)) * _INV_SQRT_2PI
    return value


def _mills(x: Array) -> Array:
    """(1 − Φ(x)) / φ(x) for x >= 0."""
    value: Array = _SQRT_HALF_PI * erfcx(x * _SQRT_HALF)
    return value


def _closed_log_z(a: Array, b: Array) -> tuple[Array, Array, Array, Array]:
    """log Z, Z, φ(a) and φ(b), the tails beyond |a| and b being φ(x) erfcx(x / √2) √(π/2)."""
    endless = np.isinf(b).all()  # by far the most common call
    at_a, at_b = _pdf(a), np.zeros_like(b) if endless else _pdf(b)
    tail_a, tail_b = at_a * _mills(np.abs(a)), at_b if endless else at_b * _mills(b)
    straddles = a < 0.0
    outside = np.where(straddles, tail_a, 1.0 - tail_a) + tail_b
    z = np.where(straddles, 1.0 - outside, tail_a - tail_b)
    return np.where(straddles, np.log1p(-outside), np.log(z)), z, at_a, at_b


def _closed(a: Array, b: Array, _: Array) -> Cumulants:
    """Cumulants by parts, E u f(u) = E f′(u) + (f(a) φ(a) − f(b) φ(b)) / Z with f = 1, u − mean, (u − mean)² and ³."""
    log_z, z, at_a, at_b = _closed_log_z(a, b)
    at_a, at_b = at_a / z, at_b / z
    mean = at_a - at_b
    from_a, from_b = np.maximum(a, -1e60) - mean, np.minimum(b, 1e60) - mean  # 0 * inf would be NaN
    at_a, at_b = from_a * at_a, from_b * at_b
    variance = 1.0 + at_a - at_b
    at_a, at_b = from_a * at_a, from_b * at_b
    third = at_a - at_b - mean * variance
    fourth = from_a * at_a - from_b * at_b - mean * third + 3.0 * variance * (1.0 - variance)
    return log_z, mean, variance, third, fourth


def _tail(a: Array, _b: Array, _width: Array) -> Cumulants:
    """Cumulants from ratios of the moments Mₙ = ∫₀^∞ tⁿ exp(−a t − t²/2) dt of the excess t = u − a.

    By parts Mₙ₊₁ = n Mₙ₋₁ − a Mₙ, so rₙ = Mₙ / Mₙ₋₁ = n / (a + rₙ₊₁): run downwards, every step adds positive numbers.
    """
    n_last = _TAIL_TERMS + 1.0
    ratio = n_last / (a / 2.0 + np.hypot(a / 2.0, np.sqrt(n_last)))  # the root of r = n / (a + r)
    for n in range(_TAIL_TERMS, 3, -1):
        ratio += a
        np.divide(n, ratio, out=ratio)
    fourth_ratio = ratio
    third_ratio = 3.0 / (a + fourth_ratio)
    second_ratio = 2.0 / (a + third_ratio)
    excess = 1.0 / (a + second_ratio)
    variance = excess * (second_ratio - excess)
    third = excess * (second_ratio * (third_ratio - 3.0 * excess) + 2.0 * excess * excess)
    by_three = third_ratio * (fourth_ratio - 4.0 * excess) - 3.0 * excess * (second_ratio - 4.0 * excess)
    fourth = excess * (second_ratio * by_three - 6.0 * excess**3)
    return log_ndtr(-a), a + excess, variance, third, fourth


def _relative_density(a: Array, width: Array) -> Array:
    """φ(a + t) / φ(a) = exp(−a t − t²/2) times the quadrature weights, at the nodes t of [0, width]; (nodes, N)."""
    t = _NODES[:, None] * width
    density = -0.5 * t
    density -= a
    density *= t
    np.exp(density, out=density)
    density *= _WEIGHTS[:, None]
    return density


def _inside(a: Array, _b: Array, width: Array) -> Cumulants:
    """Central moments in two passes of Gauss–Legendre quadrature over x = (u − a) / width in [0, 1]."""
    out = np.empty((5, a.size))
    for start in range(0, a.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        density = _relative_density(a[block], width[block])
        mass = density.sum(axis=0)
        density /= mass
        mean = matmul(density.T, _NODES)
        deviation = _NODES[:, None] - mean
        squares = deviation * deviation
        density *= squares
        variance = density.sum(axis=0)
        third, fourth = np.einsum("ij,ij->j", density, deviation), np.einsum("ij,ij->j", density, squares)
        out[:, block] = mass, mean, variance, third, fourth - 3.0 * variance**2
    mass, mean, variance, third, fourth = out
    log_z = log_pdf(a) + np.log(mass * width)
    return log_z, a + width * mean, width**2 * variance, width**3 * third, width**4 * fourth


def log_of_rest(log_p: Array) -> Array:
    """log(1 − p) from log p ≤ 0, with relative accuracy for p near 0 and near 1.

    >>> log_of_rest(np.array([-1e-20, -50.0])).round(12).tolist()
    [-46.051701859881, -0.0]
    """
    with np.errstate(divide="ignore"):
        return np.where(log_p > -0.7, np.log(-np.expm1(log_p)), np.log1p(-np.exp(log_p)))
