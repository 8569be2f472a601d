"""Linear systems known only through products: GMRES (Saad & Schultz 1986), for small systems near the identity.

Kept beside scipy.sparse.linalg.gmres because that one takes twice as long here: at n = 256 one system takes 0.4 to
0.7 ms instead of 0.2 to 0.4, and adding an answer to a posterior, which solves one to three of them, 7 to 17 % longer.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from gainful.numerics.blas import matmul

Array = NDArray[np.float64]


def gmres(apply: Callable[[Array], Array], rhs: Array, tolerance: float, most: int = 40) -> Array:
    """x with |rhs − apply(x)| ≤ tolerance · |rhs|, or the best of `most` products; without restarts, x starting at 0.

    Meant for operators near the identity, where a handful of products is enough.

    >>> A = np.array([[1.0, 0.3], [-0.2, 1.1]])
    >>> x = gmres(lambda v: A @ v, np.array([1.0, 2.0]), 1e-12)
    >>> bool(np.allclose(A @ x, [1.0, 2.0]))
    True
    """
    size = float(np.sqrt(rhs @ rhs))
    if size == 0.0:
        return np.zeros_like(rhs)
    most = min(most, len(rhs))
    basis = np.empty((most + 1, len(rhs)))
    basis[0] = rhs / size
    upper = np.zeros((most, most))  # R of the QR decomposition of the Hessenberg matrix, by rotations (c, s)
    turned = np.zeros(most + 1)
    turned[0] = size
    rotations: list[tuple[float, float]] = []
    for k in range(most):
        w = apply(basis[k])
        known = basis[: k + 1]
        h = matmul(known, w)
        w = w - matmul(known.T, h)
        column = h.tolist()
        below = float(np.sqrt(w @ w))
        for i, (c, s) in enumerate(rotations):
            column[i], column[i + 1] = c * column[i] + s * column[i + 1], c * column[i + 1] - s * column[i]
        length = float(np.hypot(column[k], below))
        if length == 0.0:
            k -= 1  # apply is singular in what is left: nothing more can be matched
            break
        c, s = column[k] / length, below / length
        rotations.append((c, s))
        column[k] = length
        upper[: k + 1, k] = column
        turned[k], turned[k + 1] = c * turned[k], -s * turned[k]
        if abs(turned[k + 1]) <= tolerance * size or below == 0.0:
            break
        basis[k + 1] = w / below
    mix = np.linalg.solve(upper[: k + 1, : k + 1], turned[: k + 1])
    return matmul(basis[: k + 1].T, np.asarray(mix, dtype=np.float64))
