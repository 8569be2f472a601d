"""A Gaussian belief whose covariance is that of another one, changed in a few directions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gainful.inference.conditioned import Conditioned
from gainful.instruments.base import Rows
from gainful.numerics.blas import matmul

__all__ = ["Adjusted", "Response"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Adjusted:
    """Cov[f] = (that of base) − (T c)ᵀ S (T c), with c = A k(Z, x), T = `turned` (D, F) and S = `sign` (D,) of ±1.

    It stands where a `Conditioned` does when predictions ask what the answers take off a covariance. alpha (F,) has the
    mean, E[f(x)] = m(x) + cᵀ α.
    """

    base: Conditioned
    turned: Array
    sign: Array
    alpha: Array
    drawn_variance: Array | None = None  # Var[g_i], (F,), where it is known better than by the formula

    def reduction(self, seen: Array) -> Array:
        """H with Cov[f] = k − Hᵀ D H, (F + D, M), for seen c = A k(Z, x)."""
        return np.concatenate([self.base.reduction(seen), matmul(self.turned, seen)])

    def signed(self, half: Array) -> Array:
        """D H, for H of any number of axes."""
        size = len(half) - len(self.turned)
        sign = self.sign.reshape(-1, *[1] * (half.ndim - 1))
        return np.concatenate([self.base.signed(half[:size]), sign * half[size:]])

    def square(self, half: Array) -> Array:
        """Σ_i D_i H_i² along the first axis."""
        size = len(half) - len(self.turned)
        return self.base.square(half[:size]) + np.einsum("i,i...,i...->...", self.sign, half[size:], half[size:])

    def pulled(self, seen: Array) -> Array:
        """S c with Var[f] = k − cᵀ S c, (F, M)."""
        return self.base.pulled(seen) + matmul(self.turned.T, self.sign[:, None] * matmul(self.turned, seen))

    @cached_property
    def variance(self) -> Array:
        """Var[g_i] of every row, (F,)."""
        if self.drawn_variance is not None:
            return self.drawn_variance
        return self.base.variance - self.sign @ matmul(self.turned, self.base.prior_cov) ** 2


@dataclass(frozen=True, eq=False)
class Response:
    """A covariance that is larger by e(x)ᵀ W e(x′), where e(x) is that of f(x) with the rows (n,) of g.

    W = Vᵀ diag(sign) V, and `root` is V, (D, n).
    """

    rows: Rows
    root: Array
    sign: Array

    def adjust(self, state: Conditioned) -> Adjusted:
        """The belief with its covariance by linear response. `state` may know of more answers, whose sites are held."""
        picked = -state.pulled(state.prior_cov[:, self.rows])
        picked[self.rows, np.arange(len(self.rows))] += 1.0
        return Adjusted(state, matmul(self.root, picked.T), -self.sign, state.alpha)
