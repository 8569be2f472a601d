"""log P(x ≤ 0) for a few x ~ N(m, cov), with its slope and curvature in m.

Each derivative is again an orthant probability, of fewer variables.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainful.numerics.normal import log_pdf
from gainful.numerics.orthant import log_mvn_cdf

__all__ = ["Orthant", "lower_orthant", "orthant_slopes"]

Array = NDArray[np.float64]

_EXACT = 3  # variables up to which the probabilities are nested integrals
_POINTS = 1021
_NUMBERS = 4_000_000  # held at a time


class Orthant(NamedTuple):
    """log P (n,), its gradient (n, k) and its Hessian (n, k, k) in m."""

    log_p: Array
    slope: Array
    curvature: Array


def lower_orthant(m: Array, cov: Array) -> Orthant:
    """For m (n, k) and positive definite cov (n, k, k), k ≤ 4.

    >>> one = lower_orthant(np.zeros((1, 2)), np.eye(2)[None])
    >>> print(f"{np.exp(one.log_p[0]):.6f} {one.slope[0, 0]:.6f} {one.curvature[0, 0, 0]:.6f}")
    0.250000 -0.797885 -0.636620
    """
    log_p = np.asarray(log_mvn_cdf(-m, cov))
    slope, second = orthant_slopes(m, cov, log_p)
    return Orthant(log_p, slope, second - slope[:, :, None] * slope[:, None, :])


def orthant_slopes(m: Array, cov: Array, log_z: Array) -> tuple[Array, Array]:
    """∇Q/Z and ∇²Q/Z for Q(m) = P(x ≤ 0), x ~ N(m, cov); each derivative is an orthant of fewer dimensions.

    ∂Q/∂m_a = −N(0; m_a, c_aa) Q₋ₐ with the others conditioned on x_a = 0, likewise the mixed second derivatives; the
    diagonal ones follow from c_aa ∂²Q/∂m_a² = −m_a ∂Q/∂m_a − Σ_{b≠a} c_ab ∂²Q/∂m_a∂m_b.
    """
    n, k = m.shape
    gradient, hessian = np.zeros((n, k)), np.zeros((n, k, k))
    for a in range(k):
        gradient[:, a] = -_conditioned(m, cov, [a], log_z)
        for b in range(a):
            hessian[:, a, b] = hessian[:, b, a] = _conditioned(m, cov, [a, b], log_z)
    for a in range(k):
        others = [b for b in range(k) if b != a]
        coupling = np.sum(cov[:, a, others] * hessian[:, a, others], axis=1)
        hessian[:, a, a] = -(m[:, a] * gradient[:, a] + coupling) / cov[:, a, a]
    return gradient, hessian


def _conditioned(m: Array, cov: Array, fixed: list[int], log_z: Array) -> Array:
    """exp(log N(0; m_fixed, cov_fixed) + log P(rest ≤ 0 | x_fixed = 0) − log Z), (n,)."""
    rest = [j for j in range(m.shape[1]) if j not in fixed]
    inner = cov[:, fixed][:, :, fixed]
    if len(fixed) == 1:
        sd = np.sqrt(inner[:, 0, 0])
        log_density = log_pdf(m[:, fixed[0]] / sd) - np.log(sd)
    else:
        det = inner[:, 0, 0] * inner[:, 1, 1] - inner[:, 0, 1] ** 2
        a, b = m[:, fixed[0]], m[:, fixed[1]]
        quadratic = (inner[:, 1, 1] * a**2 - 2.0 * inner[:, 0, 1] * a * b + inner[:, 0, 0] * b**2) / det
        log_density = -0.5 * quadratic - 0.5 * np.log(det) - np.log(2.0 * np.pi)
    if not rest:
        return np.exp(log_density - log_z)
    cross = cov[:, rest][:, :, fixed]
    gain = np.swapaxes(np.linalg.solve(inner, np.swapaxes(cross, 1, 2)), 1, 2)
    mean = m[:, rest] - np.einsum("nrf,nf->nr", gain, m[:, fixed])
    spread = cov[:, rest][:, :, rest] - gain @ np.swapaxes(cross, 1, 2)
    return np.exp(log_density + log_mvn_cdf(-mean, spread) - log_z)
