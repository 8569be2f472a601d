"""One answer given a few others, very many times, in compiled code.

A set has m + 1 slots: m neighbours, of which the first `count` are there, and the point itself in the last. Covariances
between slots come as the upper triangle row by row, (B, m (m + 1)/2), and variances beside them. A set's matrix U has
one more column for the residuals, so that elimination leaves in its last row what is not explained by the neighbours:
the variance d and the residual e.
"""

from __future__ import annotations

import numpy as np

from gainful.numerics.compiling import njit

__all__ = ["conditionals", "pull_conditionals", "weigh"]

_ROUNDING = 2.0 * float(np.finfo(np.float64).eps)  # of a diagonal entry: a pivot below it has no digits left


@njit(cache=True, nogil=True)
def _filled(U, values, variance, residual, count):  # type: ignore[no-untyped-def]
    """The matrix of one set, without the slots that are empty, written to U."""
    m = len(variance) - 1
    start = 0
    for a in range(count):
        U[a, a] = variance[a]
        for b in range(a + 1, count):
            U[a, b] = values[start + b - a - 1]
        U[a, count] = values[start + m - a - 1]
        U[a, count + 1] = residual[a]
        start += m - a
    U[count, count] = variance[m]
    U[count, count + 1] = residual[m]


@njit(cache=True, nogil=True)
def _eliminated(U, variance, count):  # type: ignore[no-untyped-def]
    """Rows of the Cholesky factor for the neighbours, what is left in the last row; False where digits do not
    suffice."""
    width = count + 2
    for k in range(count + 1):
        row = U[k]
        even = k - k % 2
        for a in range(0, even, 2):  # two at a time: half the reading and writing of the row
            first, second, one, two = U[a], U[a + 1], U[a, k], U[a + 1, k]
            for b in range(k, width):
                row[b] -= one * first[b] + two * second[b]
        for a in range(even, k):
            above, share = U[a], U[a, k]
            for b in range(k, width):
                row[b] -= share * above[b]
        if k < count:
            pivot = row[k]
            if not pivot > _ROUNDING * variance[k]:
                return False
            scale = 1.0 / np.sqrt(pivot)
            for b in range(k, width):
                row[b] *= scale
    return True


@njit(cache=True, nogil=True)
def conditionals(values, variance, residual, counts, out):  # type: ignore[no-untyped-def]
    """log N(y_i | y_N(i)) but for −½ log 2π, written to out (B,); returned is whether all have digits enough."""
    m = variance.shape[1] - 1
    U = np.empty((m + 1, m + 2))
    for i in range(len(out)):
        n = counts[i]
        _filled(U, values[i], variance[i], residual[i], n)
        if not _eliminated(U, variance[i], n) or not U[n, n] > _ROUNDING * variance[i, m]:
            return False
        out[i] = -0.5 * (np.log(U[n, n]) + U[n, n + 1] ** 2 / U[n, n])
    return True


@njit(cache=True, nogil=True)
def pull_conditionals(values, variance, residual, counts, sets, out, in_variance, in_mean):  # type: ignore[no-untyped-def]
    """The same, and its slopes: written over `values` those in the covariances, added to in_variance and in_mean (N,)
    those in the variances and prior means of the points that are in the `sets` (B, m + 1).

    With b = (−w, 1), w = C_NN⁻¹ c, and a = (C_NN⁻¹ r_N, 0): d = bᵀ C b, e = bᵀ r, and

        dL/dC = ½ (e²/d² − 1/d) b bᵀ + ½ (e/d) (a bᵀ + b aᵀ),   dL/dr = −(e/d) b
    """
    m = variance.shape[1] - 1
    U = np.empty((m + 1, m + 2))
    a, b = np.zeros(m + 1), np.ones(m + 1)
    for i in range(len(out)):
        n = counts[i]
        _filled(U, values[i], variance[i], residual[i], n)
        if not _eliminated(U, variance[i], n) or not U[n, n] > _ROUNDING * variance[i, m]:
            return False
        d, e = U[n, n], U[n, n + 1]
        out[i] = -0.5 * (np.log(d) + e * e / d)
        for j in range(n - 1, -1, -1):
            left, right = U[j, n + 1], -U[j, n]
            for k in range(j + 1, n):
                left -= U[j, k] * a[k]
                right -= U[j, k] * b[k]
            a[j], b[j] = left / U[j, j], right / U[j, j]
        a[n], b[n] = 0.0, 1.0
        square, cross = (e * e / d - 1.0) / d, e / d
        start = 0
        for j in range(m):
            if j < n:
                for k in range(j + 1, n):
                    values[i, start + k - j - 1] = square * b[j] * b[k] + cross * (a[j] * b[k] + b[j] * a[k])
                values[i, start + n - j - 1 : start + m - j - 1] = 0.0
                values[i, start + m - j - 1] = square * b[j] + cross * a[j]
                in_variance[sets[i, j]] += b[j] * (0.5 * square * b[j] + cross * a[j])
                in_mean[sets[i, j]] += cross * b[j]
            else:
                values[i, start : start + m - j] = 0.0
            start += m - j
        in_variance[sets[i, m]] += 0.5 * square
        in_mean[sets[i, m]] += cross
    return True


@njit(cache=True, nogil=True)
def weigh(values, variance, residual, weights, mean, left):  # type: ignore[no-untyped-def]
    """For places in the last slot, whose residual is 0: w = C_NN⁻¹ c (B, m), w·r_N and c_xx − c·w, (B,) each; returned
    is whether all have digits enough."""
    m = variance.shape[1] - 1
    U = np.empty((m + 1, m + 2))
    for i in range(len(mean)):
        _filled(U, values[i], variance[i], residual[i], m)
        if not _eliminated(U, variance[i], m):
            return False
        left[i], mean[i] = U[m, m], -U[m, m + 1]
        for j in range(m - 1, -1, -1):
            total = U[j, m]
            for k in range(j + 1, m):
                total -= U[j, k] * weights[i, k]
            weights[i, j] = total / U[j, j]
    return True
