"""Points and volumes for ∫ h(z) dz over k numbers, where h is nearly a standard Normal density or somewhat wider.

k ≤ 2   the product of Gauss-Hermite rules
k > 2   64 points of an additive recurrence (Roberts 2018), made Normal and spread wider by 1.2 + 0.9/k, so that tails
        heavier than a Normal's have points too
"""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, roots_hermitenorm

__all__ = ["scattered"]

Array = NDArray[np.float64]

_NODES = {1: 9, 2: 7}
_POINTS = 64


@cache
def scattered(k: int) -> tuple[Array, Array]:
    """Points (S, k) and the logarithms (S,) of their volumes: ∫ h dz ≈ Σ exp(log volume) h(point).

    >>> z, log_volume = scattered(3)
    >>> normal = np.exp(-0.5 * np.sum(z**2, axis=1)) / (2 * np.pi) ** 1.5
    >>> bool(abs(np.exp(log_volume) @ normal - 1.0) < 0.02)
    True
    """
    if k in _NODES:
        nodes, weight = roots_hermitenorm(_NODES[k])
        points = np.array(list(product(nodes, repeat=k)))
        log_weights = np.sum(np.log(list(product(weight, repeat=k))), axis=1)
        found = points, log_weights + 0.5 * np.sum(points**2, axis=1)
    else:
        wider = 1.2 + 0.9 / k
        unit = (0.5 + np.arange(_POINTS)[:, None] * _steps(k)) % 1.0
        z = ndtri(unit)
        log_density = -0.5 * np.sum(z**2, axis=1) - 0.5 * k * np.log(2.0 * np.pi) - k * np.log(wider)
        found = wider * z, -np.log(_POINTS) - log_density
    for each in found:
        each.flags.writeable = False
    return found


def _steps(k: int) -> Array:
    """(1/φ, 1/φ², …) with φ the root of φ^(k+1) = φ + 1."""
    root = 2.0
    for _ in range(60):
        root = (1.0 + root) ** (1.0 / (k + 1))
    return np.asarray(root ** -np.arange(1.0, k + 1.0))
