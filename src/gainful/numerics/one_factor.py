"""log P(x ≤ 0) for two or three x ~ N(m, cov) that have one factor in common: one integral instead of nested ones.

    x_j = m_j + l_j u + √d_j ε_j,   P = ∫ φ(u) Π_j Φ(−(m_j + l_j u)/√d_j) du

Any two variables whose covariance is positive have one, and three whose covariances are positive and not too unequal:
l_1² = c_12 c_13/c_23 (a triad, Spearman 1904). Differences to one variable share it, so nearly all are of that kind
(Riihimäki, Jylänki & Vehtari 2013, sec. 2, for independent ones).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, logsumexp

from gainful.numerics.lower_orthant import Orthant
from gainful.numerics.normal import hazard, log_pdf

__all__ = ["Factor", "log_orthant_by_factor", "one_factor", "orthant_by_factor"]

Array = NDArray[np.float64]

_REACH = 7.5  # either side of the peak of the integrand
_STEEP = 8.0  # Φ rises over 1/8 of u at the steepest: the trapezoid rule with a step of 1/8 is then exact to 1e-9


class Factor(NamedTuple):
    """Loadings l (n, k), what is left d (n, k), and whether cov is diag(d) + l lᵀ with d large enough, (n,)."""

    loading: Array
    rest: Array
    exact: NDArray[np.bool_]

    def some(self, rows: NDArray[np.intp]) -> Factor:
        return Factor(self.loading[rows], self.rest[rows], self.exact[rows])


def one_factor(cov: Array) -> Factor:
    """Of cov (n, k, k), k ≤ 3.

    >>> found = one_factor(np.array([[[2.0, 0.5, 1.0], [0.5, 1.0, 0.5], [1.0, 0.5, 3.0]]]))
    >>> (found.loading**2).round(6).tolist(), bool(found.exact[0])
    ([[1.0, 0.25, 1.0]], True)
    """
    n, k, _ = cov.shape
    own = np.einsum("nii->ni", cov)
    if k == 1:
        return Factor(np.zeros((n, 1)), own, np.ones(n, dtype=bool))
    if k == 2:
        # Any split of the covariance will do; shares by the spreads leave the larger variable the larger rest.
        shared = np.maximum(cov[:, 0, 1], 0.0)
        ratio = np.sqrt(own[:, 0] / own[:, 1])
        loading = np.sqrt(np.column_stack([shared * ratio, shared / ratio]))
    else:
        a, b, c = cov[:, 1, 2], cov[:, 0, 2], cov[:, 0, 1]
        with np.errstate(divide="ignore", invalid="ignore"):
            loading = np.sqrt(np.column_stack([b * c / a, a * c / b, a * b / c]))
    positive = np.all(cov > 0.0, axis=(1, 2))
    loading = np.where(positive[:, None], loading, 0.0)
    rest = own - loading**2
    return Factor(loading, rest, positive & np.all(rest * _STEEP**2 >= loading**2, axis=1) & np.all(rest > 0, axis=1))


class _Nodes(NamedTuple):
    """a_j = −(m_j + l_j u)/√d_j at nodes of u, (n, Q, k), log Φ(a), the integrand's logarithm and its total."""

    a: Array
    log_cdf: Array
    logs: Array
    log_p: Array


def log_orthant_by_factor(m: Array, factor: Factor) -> Array:
    """log P(x ≤ 0), (n,)."""

    def of(m: Array, factor: Factor, step: float) -> tuple[Array, ...]:
        return (_at_nodes(m, factor, step).log_p,)

    return _by_steepness(of, m, factor)[0]


def orthant_by_factor(m: Array, factor: Factor) -> Orthant:
    """log P(x ≤ 0), its gradient and its Hessian in m (n, k)."""
    return Orthant(*_by_steepness(_with_slopes, m, factor))


def _by_steepness(of: Callable[[Array, Factor, float], tuple[Array, ...]], m: Array, factor: Factor) -> list[Array]:
    """What a function gives, with a step of u as fine as each row needs."""
    steep = np.any(factor.loading**2 > (0.5 * _STEEP) ** 2 * factor.rest, axis=1)
    rows = [np.flatnonzero(~steep), np.flatnonzero(steep)]
    found = [
        of(m[part], factor.some(part), step)
        for part, step in zip(rows, (2.0 / _STEEP, 1.0 / _STEEP), strict=True)
        if len(part) or (step > 1.0 / _STEEP and not len(m))
    ]
    order = np.argsort(np.concatenate(rows))
    return [np.concatenate(each)[order] for each in zip(*found, strict=True)]


def _at_nodes(m: Array, factor: Factor, step: float) -> _Nodes:
    sd = np.sqrt(factor.rest)
    at, rise = -m / sd, -factor.loading / sd
    # The nodes reach far beyond the peak.
    u = peak(at, rise, nearly=1e-2)[:, None] + np.arange(-_REACH, _REACH + 0.5 * step, step)
    a = at[:, None, :] + rise[:, None, :] * u[:, :, None]
    log_cdf = log_ndtr(a)
    logs = log_pdf(u) + log_cdf.sum(axis=2)
    return _Nodes(a, log_cdf, logs, np.asarray(logsumexp(logs, axis=1) + np.log(step)))


def _with_slopes(m: Array, factor: Factor, step: float) -> tuple[Array, ...]:
    a, log_cdf, logs, log_p = _at_nodes(m, factor, step)
    weight = np.exp(logs - log_p[:, None]) * step
    h = np.exp(log_pdf(a) - log_cdf)
    first = np.einsum("nq,nqj->nj", weight, h)
    off = h - first[:, None, :]
    second = np.swapaxes(weight[:, :, None] * off, 1, 2) @ off
    k = m.shape[1]
    second[:, np.arange(k), np.arange(k)] -= np.einsum("nq,nqj->nj", weight, h * (a + h))
    sd = np.sqrt(factor.rest)
    return log_p, -first / sd, second / (sd[:, :, None] * sd[:, None, :])


def peak(at: Array, rise: Array, nearly: float = 1e-9) -> Array:
    """argmax over t of −t²/2 + Σ_j log Φ(at_j + rise_j t), (n,): Newton's on a concave function."""
    t = np.zeros(len(at))
    for _ in range(60):
        a = at + rise * t[:, None]
        h = hazard(a)
        slope, curvature = np.sum(rise * h, axis=1) - t, -np.sum(rise**2 * h * (a + h), axis=1) - 1.0
        step = np.clip(-slope / curvature, -0.5 * (1.0 + np.abs(t)), 0.5 * (1.0 + np.abs(t)))
        t = t + step
        if np.all(np.abs(step) < nearly):
            break
    return t
