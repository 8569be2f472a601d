"""The laws of kernels and means."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from gainful.kernels.base import Kernel
from gainful.means import Mean
from gainful.testing.differences import assert_close, gradient

Array = NDArray[np.float64]


def check_kernel(
    kernel: Kernel,
    dimensions: int,
    seed: int = 0,
    *,
    places: Callable[[int, np.random.Generator], Array] | None = None,
) -> None:
    """Symmetric, positive semi-definite, diagonal and rows consistent, batch consistent, pullbacks exact; theta goes
    both ways.

    `places(n, rng)` gives n places (n, D) where the kernel is defined; by default they are anywhere about the origin.

    >>> from gainful.kernels import SE
    >>> check_kernel(SE(lengthscale=0.5), dimensions=2)
    """
    rng = np.random.default_rng(seed)
    anywhere = places or (lambda n, rng: rng.normal(size=(n, dimensions)))
    X, Z = anywhere(6, rng), anywhere(5, rng)
    G, g = rng.normal(size=(6, 5)), rng.normal(size=6)
    theta = kernel.theta
    K = kernel(X)
    assert_close(K, K.T, 1e-12, "a kernel is symmetric")
    assert_close(kernel.diag(X), np.diagonal(K), 1e-12, "diag is the diagonal of the matrix")
    assert_close(np.minimum(np.linalg.eigvalsh(K), 0.0), np.zeros(6), 1e-8 * max(1.0, K.max() * 1e8), "positive")
    assert_close(kernel.with_theta(theta)(X, Z), kernel(X, Z), 1e-12, "with_theta(theta) changes nothing")
    if len(kernel.names) != len(theta) or len(set(kernel.names)) != len(theta):
        raise AssertionError(f"every entry of theta has a name of its own: {kernel.names}")

    value, back = kernel.vjp(X, Z)
    assert_close(value, kernel(X, Z), 1e-12, "vjp gives the matrix")
    by_theta = gradient(lambda t: float(np.sum(G * kernel.with_theta(t)(X, Z))), theta)
    assert_close(back(G), by_theta, 1e-7, "the pullback is the derivative in theta")
    by_x = gradient(lambda x: float(np.sum(G * kernel(x, Z))), X)
    value, back = kernel.vjp_inputs(X, Z)
    assert_close(value, kernel(X, Z), 1e-12, "vjp_inputs gives the matrix")
    assert_close(back(G), by_x, 1e-7, "the pullback is the derivative in the inputs")
    by_diag = gradient(lambda x: float(g @ kernel.diag(x)), X)
    assert_close(kernel.pullback_diag_inputs(X, g), by_diag, 1e-7, "the diagonal's pullback is its derivative")

    W, w = X[:5], G[0]
    pairs, back = kernel.rowwise_vjp(W, Z)
    assert_close(kernel.rowwise(W, Z), np.diagonal(kernel(W, Z)), 1e-12, "rowwise is the diagonal of the matrix")
    assert_close(kernel.rowwise(X, X), kernel.diag(X), 1e-12, "rowwise of equal rows is diag")
    assert_close(pairs, kernel.rowwise(W, Z), 1e-12, "rowwise_vjp gives the values")
    assert_close(back(w), kernel.vjp(W, Z)[1](np.diag(w)), 1e-9, "rowwise_vjp is vjp of a diagonal G")

    batch = theta + 0.1 * rng.normal(size=(3, len(theta)))
    together = kernel.with_theta(batch)
    one_by_one = np.stack([kernel.with_theta(t)(X, Z) for t in batch])
    assert_close(together(X, Z), one_by_one, 1e-10, "a batch axis broadcasts")
    assert_close(together.diag(X), np.stack([kernel.with_theta(t).diag(X) for t in batch]), 1e-10, "batched diagonal")
    assert_close(together.rowwise(W, Z), np.diagonal(one_by_one[:, :5], axis1=1, axis2=2), 1e-10, "batched rows")
    if kernel.slopes_together:
        many = rng.normal(size=(3, 6, 5))
        each = [kernel.with_theta(t).vjp_inputs(X, Z)[1](one) for t, one in zip(batch, many, strict=True)]
        assert_close(
            together.vjp_inputs(X, Z)[1](many),
            np.sum(each, axis=0),
            1e-8,
            "the pullback of a batch is the sum of theirs",
        )


def check_mean(
    mean: Mean, dimensions: int, seed: int = 0, *, places: Callable[[int, np.random.Generator], Array] | None = None
) -> None:
    """Pullbacks exact, batch consistent; `places(n, rng)` as for kernels."""
    rng = np.random.default_rng(seed)
    X = places(6, rng) if places else rng.normal(size=(6, dimensions))
    g = rng.normal(size=6)
    theta = mean.theta
    value, back = mean.vjp(X)
    assert_close(value, mean(X), 1e-12, "vjp gives the values")
    by_theta = gradient(lambda t: float(g @ mean.with_theta(t)(X)), theta)
    assert_close(back(g), by_theta, 1e-7, "the pullback is the derivative in theta")
    assert_close(mean.pullback_inputs(X, g), gradient(lambda x: float(g @ mean(x)), X), 1e-7, "and in the inputs")
    if len(theta):
        batch = theta + 0.1 * rng.normal(size=(3, len(theta)))
        assert_close(mean.with_theta(batch)(X), np.stack([mean.with_theta(t)(X) for t in batch]), 1e-10, "batched")
