"""E[h(g)] for g ~ N(mean, variance), in one dimension: a fixed Gauss–Hermite rule, and an adaptive one with an error
bound.

Gauss–Hermite is exact for polynomials and excellent for functions that are smooth on the scale of the Gaussian. A
function with features far narrower than the Gaussian (a precise instrument under a vague belief) needs the adaptive
rule: Gauss–Kronrod panels, halved where their error is too large, all panels of all expectations evaluated together.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.errors import InvalidInput, NumericalError

__all__ = ["adaptive_expectation", "gauss_hermite", "hermite_expectation"]

Array = NDArray[np.float64]
Index = NDArray[np.intp]

_REACH = 9.0  # standard deviations: beyond them lies less than 1e-18 of the mass
_MOST_PANELS = 300_000

# The 15-point Kronrod extension of the 7-point Gauss rule on [−1, 1] (Piessens et al., QUADPACK, 1983): positive nodes.
_KRONROD_NODES = np.array([
    0.991455371120812639206854697526329, 0.949107912342758524526189684047851, 0.864864423359769072789712788640926,
    0.741531185599394439863864773280788, 0.586087235467691130294144691693520, 0.405845151377397166906606412076961,
    0.207784955007898467600689403773245, 0.000000000000000000000000000000000,
])  # fmt: skip
_KRONROD_WEIGHTS = np.array([
    0.022935322010529224963732008058970, 0.063092092629978553290700663189204, 0.104790010322250183839876322541518,
    0.140653259715525918745189590510238, 0.169004726639267902826583426598550, 0.190350578064785409913256402421014,
    0.204432940075298892414161999234649, 0.209482141084727828012999174891714,
])  # fmt: skip
_GAUSS_WEIGHTS = np.array([
    0.129484966168869693270611432679082, 0.279705391489276667901467771423780, 0.381830050505118944950369775488975,
    0.417959183673469387755102040816327,
])  # fmt: skip


@lru_cache(maxsize=16)
def gauss_hermite(n: int) -> tuple[Array, Array]:
    """Nodes and weights with Σ w h(x) = E[h(x)] for x ~ N(0, 1) and polynomials h of degree below 2n.

    >>> nodes, weights = gauss_hermite(20)
    >>> print(f"{weights @ nodes**4:.12f}")
    3.000000000000
    """
    if n < 1:
        raise InvalidInput("n", "a positive number of nodes", n, "20 is a good start")
    nodes, weights = np.polynomial.hermite_e.hermegauss(n)
    return nodes, weights / weights.sum()


def hermite_expectation(h: Callable[[Array], Array], mean: ArrayLike, variance: ArrayLike, n: int = 40) -> Array:
    """E[h(g)] by n Gauss–Hermite nodes; h maps (n, M) to (n, M), mean and variance are (M,)."""
    nodes, weights = gauss_hermite(n)
    m, v = np.asarray(mean, dtype=float), np.asarray(variance, dtype=float)
    return np.einsum("n,n...->...", weights, h(m + np.sqrt(v) * nodes.reshape(-1, *[1] * m.ndim)))


def adaptive_expectation(
    h: Callable[[Array, Index], Array],
    mean: ArrayLike,
    variance: ArrayLike,
    *,
    breaks: Array | None = None,
    tolerance: float = 1e-12,
) -> Array:
    """E[h(g)] to an absolute error of about `tolerance` times the largest |h| seen, for each of M Gaussians.

    h(g, which) is evaluated at g (K, 15), row k belonging to expectation which[k]. `breaks` (M, B) are values of g
    where h bends sharply or jumps, and on either side of features far narrower than the Gaussian, which no rule finds
    by itself; panels begin there. `breaks` broadcasts over expectations. mean and variance are (M,).

    >>> step = lambda g, which: (g > 0.3).astype(float)
    >>> value = adaptive_expectation(step, [0.0], [1.0], breaks=np.array([[0.3]]))
    >>> print(f"{value[0]:.12f}")
    0.382088577811
    """
    m, sd = np.asarray(mean, dtype=float), np.sqrt(np.asarray(variance, dtype=float))
    if m.ndim != 1 or sd.shape != m.shape or not np.all(np.isfinite(m) & np.isfinite(sd)):
        raise InvalidInput("mean, variance", "finite vectors of one length", (m.shape, sd.shape), "one per Gaussian")
    which, low, high = _first_panels(m, sd, breaks)
    total, largest = np.zeros(len(m)), np.zeros(len(m))
    certain = np.flatnonzero(sd == 0.0)
    if certain.size:
        total[certain] = h(np.broadcast_to(m[certain, None], (len(certain), 15)), certain)[:, 0]
    while which.size:
        value, error, size = _panels(h, m, sd, which, low, high)
        np.maximum.at(largest, which, size)
        # A panel may err in proportion to its share of the whole width, so that all of them together keep the
        # tolerance.
        allowed = tolerance * np.maximum(largest[which], 1e-300) * np.maximum((high - low) / (2.0 * _REACH), 1e-6)
        done = (error <= allowed) | (high - low < 1e-13 * np.maximum(1.0, np.abs(low)))
        np.add.at(total, which[done], value[done])
        which, low, high = which[~done], low[~done], high[~done]
        if 2 * which.size > _MOST_PANELS:
            raise NumericalError("an expectation does not settle: the function jumps; pass `breaks` where it does")
        middle = 0.5 * (low + high)
        which = np.concatenate([which, which])
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
    return total


def _first_panels(m: Array, sd: Array, breaks: Array | None) -> tuple[Index, Array, Array]:
    """Panels in units of sd about the mean, (owner, low, high): six equal ones, cut again at the breaks."""
    count = len(m)
    edges = np.broadcast_to(np.linspace(-_REACH, _REACH, 7), (count, 7))
    if breaks is not None:
        with np.errstate(divide="ignore", invalid="ignore"):
            cuts = np.nan_to_num((np.asarray(breaks, dtype=float) - m[:, None]) / sd[:, None], nan=0.0)
        edges = np.sort(
            np.concatenate([edges, np.clip(np.broadcast_to(cuts, (count, cuts.shape[1])), -_REACH, _REACH)], axis=1),
            axis=1,
        )
    low, high = edges[:, :-1], edges[:, 1:]
    keep = (high > low) & (sd > 0.0)[:, None]
    which = np.broadcast_to(np.arange(count)[:, None], low.shape)[keep]
    return which.astype(np.intp), low[keep], high[keep]


def _panels(
    h: Callable[[Array, Index], Array], m: Array, sd: Array, which: Index, low: Array, high: Array
) -> tuple[Array, Array, Array]:
    """Kronrod's value of each panel, its difference from Gauss's, and the largest |h| in it."""
    half, middle = 0.5 * (high - low), 0.5 * (high + low)
    nodes = np.concatenate([-_KRONROD_NODES[:-1], _KRONROD_NODES[::-1]])
    weights = np.concatenate([_KRONROD_WEIGHTS[:-1], _KRONROD_WEIGHTS[::-1]])
    gauss = np.zeros(15)
    gauss[1::2] = np.concatenate([_GAUSS_WEIGHTS[:-1], _GAUSS_WEIGHTS[::-1]])
    z = middle[:, None] + half[:, None] * nodes
    values = h(m[which, None] + sd[which, None] * z, which)
    density = values * np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)
    kronrod = half * (density @ weights)
    return kronrod, np.abs(kronrod - half * (density @ gauss)), np.max(np.abs(values), axis=1)
