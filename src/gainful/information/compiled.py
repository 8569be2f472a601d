"""How far an answer moves the weights of very many parts, in compiled code."""

from __future__ import annotations

import numpy as np

from gainful.numerics.compiling import njit

__all__ = ["movement"]


@njit(cache=True, nogil=True)
def movement(y, which, weights, mean, inverse, log_spread, reach, out):  # type: ignore[no-untyped-def]
    """p(y) KL(r(y) ‖ w) = Σ w_s p_s log p_s − p log p in nats at y (K, 15), row k belonging to query which[k].

    Parts are normals with means (M, S), one over their spreads, and the logarithms of these. Those farther than `reach`
    spreads from all nodes of a row are not there.
    """
    for k in range(y.shape[0]):
        i = which[k]
        total, mixed = np.zeros(y.shape[1]), np.zeros(y.shape[1])
        low, high = y[k, 0], y[k, 0]
        for j in range(y.shape[1]):
            low, high = min(low, y[k, j]), max(high, y[k, j])
        for s in range(len(weights)):
            m, by = mean[i, s], inverse[i, s]
            if (low - m) * by > reach or (m - high) * by > reach:
                continue
            for j in range(y.shape[1]):
                t = (y[k, j] - m) * by
                log_p = -0.5 * t * t - log_spread[i, s]
                share = weights[s] * np.exp(log_p)
                total[j] += share
                mixed[j] += share * log_p
        for j in range(y.shape[1]):
            out[k, j] = mixed[j] - total[j] * np.log(total[j]) if total[j] > 0.0 else 0.0
