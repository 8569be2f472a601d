"""How EP's sites answer to a small change: Newton's step to the fixed point, for a start that is near it.

One look at the cavities asks for sites G(θ) where the sites are θ = (τ, ν); at the fixed point G(θ) = θ. A change x of
the sites moves the belief's marginals, with Σ = Cov[g] and μ = E[g],

    δΣ_ii = −Σ_j Σ_ij² δτ_j,     δμ_i = Σ_j Σ_ij (δν_j − μ_j δτ_j),

these move the cavities, and each cavity the site that it asks for, by a 2-by-2 matrix that differences of the
likelihood's own moments give. So a product with the Jacobian J of G costs two with n-by-n matrices, and the step solves
(I − J) x = G(θ) − θ in a few of them, where each ordinary look would cost a factorisation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gainful.data import Layout
from gainful.inference.cavities import cavity, matching_site
from gainful.inference.compressed import Compressed
from gainful.inference.sites import Conditioned
from gainful.instruments.base import Rows
from gainful.numerics.blas import matmul
from gainful.numerics.krylov import gmres

Array = NDArray[np.float64]

_STEP = 1e-6  # of a cavity's spread, for differences: they err by about as much
_WEAK = 1e-6  # a site of so little precision, against the belief's, follows and does not pull


@dataclass(frozen=True)
class Response:
    """The linearised fixed-point equation at one belief, for rows that are neither Gaussian nor coupled, (n,) of them.

    covariance and its entries' squares (n, n); mean and variance of the rows and of their cavities; and the derivatives
    of the sites asked for in the latter two: by_mean, by_variance, (2, n) each, for τ and ν.
    """

    covariance: Array
    squares: Array
    mean: Array
    variance: Array
    cavity_mean: Array
    cavity_variance: Array
    by_mean: Array
    by_variance: Array

    def asked(self, tau: Array, nu: Array) -> tuple[Array, Array]:
        """J x: how the sites asked for change when the sites do."""
        spread = -matmul(self.squares, tau)
        middle = matmul(self.covariance, nu - self.mean * tau)
        relative = spread / self.variance**2
        v, m = self.cavity_variance, self.cavity_mean
        dv = v**2 * (relative + tau)
        dm = v * (middle / self.variance - self.mean * relative - nu) + m * dv / v
        return (
            self.by_mean[0] * dm + self.by_variance[0] * dv,
            self.by_mean[1] * dm + self.by_variance[1] * dv,
        )

    def step(self, tau: Array, nu: Array, tolerance: float) -> tuple[Array, Array]:
        """x with x − J x = (tau, nu), what one look asks for beyond the sites, to this share of it."""
        n, sd = len(tau), np.sqrt(self.variance)

        def apply(x: Array) -> Array:
            t, s = self.asked(x[:n] / self.variance, x[n:] / sd)
            return x - np.concatenate([t * self.variance, s * sd])

        x = gmres(apply, np.concatenate([tau * self.variance, nu * sd]), tolerance)
        return x[:n] / self.variance, x[n:] / sd


def response(layout: Layout, state: Conditioned | Compressed) -> Response | None:
    """The response at this belief; None where sites are coupled, or something is certain."""
    rows = layout.scalar_rows
    variance = state.variance[rows]
    if state.sites.blocks or not rows.size or not (np.all(variance > 0.0) and np.all(state.keep[rows] > 0.0)):
        return None
    covariance = state.covariance(rows)
    m, v = cavity(state, rows)
    by_mean, by_variance = _tilts(layout, rows, m, v)
    weak = np.abs(state.sites.precision[rows]) * variance < _WEAK
    by_mean[:, weak] = 0.0
    by_variance[:, weak] = 0.0
    return Response(covariance, covariance**2, state.mean[rows], variance, m, v, by_mean, by_variance)


def _tilts(layout: Layout, rows: Rows, m: Array, v: Array) -> tuple[Array, Array]:
    """Derivatives in m and v of the sites asked for at cavities N(m, v), (2, n) each, by forward differences."""
    n = len(rows)
    by_mean, by_variance = np.empty((2, n)), np.empty((2, n))
    at = 0
    for term in layout.terms:
        if term.likelihood.gaussian:
            continue
        k = len(term.rows)
        part = slice(at, at + k)
        at += k
        h = _STEP * np.sqrt(v[part])
        dv = _STEP * v[part]
        mean = np.concatenate([m[part], m[part] + h, m[part]])
        variance = np.concatenate([v[part], v[part], v[part] + dv])
        p = term.likelihood.log_partition(np.concatenate([term.answers] * 3), mean, variance)
        sites = np.stack(matching_site(p, mean)).reshape(2, 3, k)
        by_mean[:, part] = (sites[:, 1] - sites[:, 0]) / h
        by_variance[:, part] = (sites[:, 2] - sites[:, 0]) / dv
    return by_mean, by_variance
