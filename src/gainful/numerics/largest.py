"""Which of several jointly normal variables is the largest: probabilities, with slopes and curvatures in the means.

Of x ~ N(m, W), the first is the largest where all differences x_j − x_1 are below zero: an orthant of k − 1 variables.
Of four variables that is one integral where the differences have one factor in common, and nested integrals elsewhere
and of fewer, to 1e-8. Beyond, variables are drawn one after the other, x_1 tilted to where it wins and each other below
it (Genz 1992; the tilt as in Botev 2017), over the points of a lattice: probabilities to 1e-4, up to ten variables.

Independent variables of unit variance need one integral, over the value of the largest.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import map_coordinates, spline_filter
from scipy.special import log_ndtr, logsumexp, ndtr, ndtri, ndtri_exp, xlogy

from gainful.numerics.cholesky import semidefinite_root
from gainful.numerics.lower_orthant import Orthant, lower_orthant
from gainful.numerics.normal import log_pdf
from gainful.numerics.one_factor import log_orthant_by_factor, one_factor, orthant_by_factor, peak
from gainful.numerics.orthant import log_mvn_cdf
from gainful.numerics.quadrature import lattice, normal_lattice

__all__ = [
    "MOST",
    "Largest",
    "expected_entropy",
    "first_is_largest",
    "log_each_is_largest",
    "log_first_is_largest",
    "probabilities",
]

Array = NDArray[np.float64]

MOST = 10  # variables
_EXACT = 4  # variables up to which nested integrals serve
_POINTS = 2039
_NUMBERS = 2_000_000  # held at a time
_ROWS = 4000  # of integrals at a time
# The largest of up to ten lies within these of the largest mean; a peak of ten equals is 0.3 wide, and the trapezoid
# rule with this step exact to 1e-6 of it.
_WHERE = np.arange(-5.0, 8.1, 0.45)
_AXES = {2: 6, 3: 3, 4: 2}  # nodes in one standard deviation of each of the differences
_NEAR = 1.2  # spreads below which one node to a standard deviation will do
_FEW = 251
_BEHIND = 10.0  # what is so far behind the largest does not win
_MARGIN = 1.5  # of the table, so that no spline ends where it is used
_STEPS = {2: 0.1, 3: 0.125, 4: 0.4}
_FINE = np.arange(-9.5, 9.6, 0.25)


class Largest(NamedTuple):
    """log P(x_1 is the largest), (n,), its gradient (n, k) and its Hessian (n, k, k) in m."""

    log_p: Array
    slope: Array
    curvature: Array


def first_is_largest(m: Array, cov: Array) -> Largest:
    """For m (n, k) and positive definite cov (n, k, k).

    >>> print(f"{np.exp(first_is_largest(np.zeros((1, 3)), np.eye(3)[None]).log_p[0]):.6f}")
    0.333333
    """
    n, k = m.shape
    if k > _EXACT:
        some = max(1, _NUMBERS // (_POINTS * k))
        parts = [_by_points(m[i : i + some], cov[i : i + some]) for i in range(0, max(n, 1), some)]
        return Largest(*(np.concatenate(each) for each in zip(*parts, strict=True)))
    turn = np.column_stack([-np.ones(k - 1), np.eye(k - 1)])  # x_j − x_1
    found = _orthant(m @ turn.T, turn @ cov @ turn.T)
    return Largest(found.log_p, found.slope @ turn, turn.T @ found.curvature @ turn)


def _orthant(m: Array, cov: Array) -> Orthant:
    """By one integral where the differences have one factor in common, and else by nested ones."""
    if m.shape[1] < 3:
        return lower_orthant(m, cov)
    factor = one_factor(cov)
    if factor.exact.all():
        return orthant_by_factor(m, factor)
    some, others = np.flatnonzero(factor.exact), np.flatnonzero(~factor.exact)
    parts = (
        orthant_by_factor(m[some], factor.some(some)),
        lower_orthant(m[others], cov[others]),
    )
    order = np.argsort(np.concatenate([some, others]))
    return Orthant(*(np.concatenate(each)[order] for each in zip(*parts, strict=True)))


def _log_orthants(m: Array, cov: Array) -> Array:
    """The same without derivatives, (n,)."""
    if m.shape[1] < 3:
        return np.asarray(log_mvn_cdf(-m, cov))
    out, factor = np.empty(len(m)), one_factor(cov)
    some, others = np.flatnonzero(factor.exact), np.flatnonzero(~factor.exact)
    for i in range(0, len(some), _ROWS):
        part = some[i : i + _ROWS]
        out[part] = log_orthant_by_factor(m[part], factor.some(part))
    if len(others):
        out[others] = log_mvn_cdf(-m[others], cov[others])
    return out


def log_each_is_largest(m: Array, cov: Array) -> Array:
    """log P(x_c is the largest) for every c, (n, k)."""
    k = m.shape[1]
    turns = np.stack([np.delete(np.eye(k), c, axis=0) - np.eye(k)[c] for c in range(k)])  # x_j − x_c, (k, k − 1, k)
    if k <= _EXACT:
        means, covs = np.einsum("cij,nj->nci", turns, m), turns @ cov[:, None] @ np.swapaxes(turns, 1, 2)
        return _log_orthants(means.reshape(-1, k - 1), covs.reshape(-1, k - 1, k - 1)).reshape(-1, k)
    orders = [np.r_[c, np.delete(np.arange(k), c)] for c in range(k)]
    logs = np.stack([first_is_largest(m[:, o], cov[:, o][:, :, o]).log_p for o in orders], axis=1)
    return np.asarray(logs - logsumexp(logs, axis=1, keepdims=True))


def _by_points(m: Array, cov: Array) -> Largest:
    """x = m + L z; z_1 ~ N(t, 1) with t where its density and the others' probabilities are largest together."""
    n, k = m.shape
    root = np.linalg.cholesky(cov)
    own, lean = root[:, 0, 0, None], root[:, 1:, 0]
    sd = np.sqrt(np.einsum("nii->ni", cov)[:, 1:] - lean**2)
    t = peak((m[:, :1] - m[:, 1:]) / sd, (own - lean) / sd)
    u = lattice(_POINTS, k)
    log_u = np.log(u)
    z = np.zeros((n, _POINTS, k))
    z[:, :, 0] = t[:, None] + ndtri(u[:, 0])
    log_weight = 0.5 * t[:, None] ** 2 - t[:, None] * z[:, :, 0]
    for j in range(1, k):
        ahead = (m[:, 0] - m[:, j])[:, None] + own * z[:, :, 0]
        log_below = log_ndtr((ahead - (z[:, :, :j] @ root[:, j, :j, None])[..., 0]) / root[:, j, j, None])
        log_weight += log_below
        z[:, :, j] = ndtri_exp(log_u[:, j] + log_below)
    total = logsumexp(log_weight, axis=1)
    weight = np.exp(log_weight - total[:, None])
    first = np.einsum("nq,nqi->ni", weight, z)
    centred = z - first[:, None, :]
    spread = np.swapaxes(weight[:, :, None] * centred, 1, 2) @ centred
    inverse = np.linalg.inv(root)
    curvature = np.swapaxes(inverse, 1, 2) @ (spread - np.eye(k)) @ inverse
    return Largest(total - np.log(_POINTS), np.einsum("nji,nj->ni", inverse, first), curvature)


def probabilities(g: Array) -> Array:
    """P(g_c + ε_c is the largest) for every c with ε standard normal, (..., k), to 1e-6; rows sum to one.

    P_c = ∫ φ(t − g_c) Π_{j≠c} Φ(t − g_j) dt.
    """
    t = g.max(axis=-1)[..., None, None] + _WHERE[:, None] - g[..., None, :]
    below = np.maximum(ndtr(t), 1e-300)
    density = np.exp(-0.5 * t**2) / below
    found = np.einsum("...t,...tc->...c", np.prod(below, axis=-1), density)
    return found / found.sum(axis=-1, keepdims=True)


def expected_entropy(m: Array, v: Array) -> tuple[Array, Array]:
    """E[p] (n, k) and E[H[p]] in nats (n,) over g ~ N(m, v), p being the probabilities of which is largest given g.

    Only differences count. Up to four variables the entropy is read off a table, E[H[p]] to 1e-4 for spreads up to 3
    and to 1e-2 for any; E[p] is then left 0, `log_each_is_largest` having it exactly. Beyond, both are averages over
    the few points of a lattice, to a few hundredths.
    """
    n, k = m.shape
    contrasts = np.linalg.qr(np.column_stack([np.ones(k), np.eye(k)[:, 1:]]))[0][:, 1:].T
    # A triangular root moves smoothly with v, where principal axes would turn at once: gradients are differences.
    axes = np.einsum("ji,njl->nil", contrasts, semidefinite_root(contrasts @ v @ contrasts.T))
    near = np.sqrt(np.max(np.sum(axes**2, axis=1), axis=1)) < _NEAR if k == _EXACT else np.zeros(n, dtype=bool)
    mean, entropy = np.zeros((n, k)), np.zeros(n)
    for rows, per_sd in ((np.flatnonzero(~near), _AXES.get(k, 0)), (np.flatnonzero(near), 1)):
        mean[rows], entropy[rows] = _averages(m[rows], axes[rows], *_difference_nodes(k, per_sd))
    return mean, entropy


def _averages(m: Array, axes: Array, z: Array, share: Array) -> tuple[Array, Array]:
    """E[p] and E[H[p]] over g = m + axes z at nodes z (Q, k − 1) with weights (Q,)."""
    n, k = m.shape
    mean, entropy = np.zeros((n, k)), np.zeros(n)
    some = max(1, _NUMBERS // (len(z) * k * (1 if k <= _EXACT else len(_WHERE))))
    for i in range(0, n, some):
        part = slice(i, i + some)
        g = m[part, None, :] + np.einsum("nil,ql->nqi", axes[part], z)
        if k <= _EXACT:
            entropy[part] = _entropy(g) @ share
        else:
            p = probabilities(g)
            mean[part], entropy[part] = share @ p, -np.einsum("q,nqk->n", share, xlogy(p, p))
    return mean, entropy


@lru_cache(maxsize=16)
def _difference_nodes(k: int, per_sd: int) -> tuple[Array, Array]:
    """Nodes (Q, k − 1) and weights (Q,) for averages over standard normals, so many to a standard deviation."""
    if k > _EXACT:
        z = ndtri(lattice(_FEW, k - 1))
        return z, np.full(len(z), 1.0 / len(z))
    x, w = normal_lattice(per_sd, 4.0 if k < _EXACT else 3.5)
    z = np.stack(np.meshgrid(*[x] * (k - 1), indexing="ij"), axis=-1).reshape(-1, k - 1)
    return z, np.prod(np.meshgrid(*[w] * (k - 1), indexing="ij"), axis=0).ravel()


def _entropy(g: Array) -> Array:
    """H[p] in nats for g (..., k) of up to four variables: a function of how far the others are behind the largest."""
    k = g.shape[-1]
    step = _STEPS[k]
    behind = np.sort(g, axis=-1)
    gaps = (np.minimum(behind[..., -1:] - behind[..., :-1], _BEHIND) + _MARGIN) / step
    at = np.moveaxis(gaps, -1, 0)
    return np.asarray(map_coordinates(_entropy_table(k), at, order=3, prefilter=False, mode="mirror"))


@lru_cache(maxsize=4)
def _entropy_table(k: int) -> Array:
    """Cubic spline coefficients of H[p] over the gaps of the others to the largest, (T, …, T)."""
    grid = np.arange(-_MARGIN, _BEHIND + 0.5 * _STEPS[k], _STEPS[k])
    gaps = np.stack(np.meshgrid(*[grid] * (k - 1), indexing="ij"), axis=-1)
    p = probabilities(np.concatenate([np.zeros((*gaps.shape[:-1], 1)), -gaps], axis=-1))
    return np.asarray(spline_filter(-xlogy(p, p).sum(axis=-1), order=3, mode="mirror"))


class Given(NamedTuple):
    """Nodes and weights (n, Q) of u, and a_j = u + g_1 − g_j, (n, Q, k − 1), with log P (n,)."""

    log_p: Array
    weight: Array
    a: Array


def log_first_is_largest(g: Array) -> Given:
    """P(g_1 + u ≥ g_j + ε_j for all j) = E_u Π_j Φ(u + g_1 − g_j), one integral, in log space.

    g is (n, k). The weights are those of u given that 1 is the largest (Riihimäki, Jylänki & Vehtari 2013, sec. 2).
    """
    lead = g[:, :1] - g[:, 1:]
    u = peak(lead, np.ones_like(lead))[:, None] + _FINE
    a = u[:, :, None] + lead[:, None, :]
    logs = log_pdf(u) + log_ndtr(a).sum(axis=2)
    total = logsumexp(logs, axis=1)
    return Given(total + np.log(_FINE[1] - _FINE[0]), np.exp(logs - total[:, None]), a)
