"""Linear and periodic kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ive

from gainful.kernels.base import Features, Kernel, Pullback, batched, planes, waves
from gainful.kernels.distance import check_lengthscale
from gainful.numerics.blas import dot, matmul
from gainful.parameters import positive, real

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Linear(Kernel):
    """k(x, z) = variance · x·z: a plane through the origin. Scale or centre the inputs so that the origin means
    something."""

    variance: Any = positive(1.0, "slope")

    def features(self, dimensions: int, count: int, rng: np.random.Generator) -> Features:
        return planes(rng.standard_normal((count, dimensions)), np.sqrt(self.variance), rng)

    def matrix(self, X: Array, Z: Array) -> Array:
        return batched(self.variance, 2) * matmul(X, Z.T)

    def diag(self, X: Array) -> Array:
        return batched(self.variance, 1) * np.einsum("id,id->i", X, X)

    def vjp(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        K = self.matrix(X, Z)
        return K, lambda G: np.array([dot(G, K)])

    def rowwise(self, X: Array, Z: Array) -> Array:
        return batched(self.variance, 1) * np.einsum("id,id->i", X, Z)

    def rowwise_vjp(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        k = self.rowwise(X, Z)
        return k, lambda g: np.array([g @ k])

    def vjp_inputs(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        return self.matrix(X, Z), lambda G: self.variance * matmul(G, Z)

    def pullback_diag_inputs(self, X: Array, g: Array) -> Array:
        return 2.0 * self.variance * g[:, None] * X


@dataclass(frozen=True)
class CentredLinear(Kernel):
    """k(x, z) = variance · (x − centre)·(z − centre): a plane that is zero at the centre, one number or one for
    each dimension.

    >>> CentredLinear(centre=2.0)([[0.0]], [[5.0]]).tolist()
    [[-6.0]]
    """

    centre: Any = real(0.0, "position", per_dimension=True)
    variance: Any = positive(1.0, "slope")

    def _off(self, X: Array) -> Array:
        """x − centre, (N, D), or with a batch of settings (S, N, D)."""
        check_lengthscale(self.centre, X.shape[1])
        centre = np.asarray(self.centre, dtype=float)
        return X - (centre[:, None, :] if centre.ndim > 1 else centre)

    def features(self, dimensions: int, count: int, rng: np.random.Generator) -> Features:
        through_zero = planes(rng.standard_normal((count, dimensions)), np.sqrt(self.variance), rng)
        return lambda X: through_zero(self._off(X))

    def matrix(self, X: Array, Z: Array) -> Array:
        return batched(self.variance, 2) * np.einsum("...id,...jd->...ij", self._off(X), self._off(Z))

    def diag(self, X: Array) -> Array:
        return batched(self.variance, 1) * np.sum(self._off(X) ** 2, axis=-1)

    def vjp(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        K, x, z = self.matrix(X, Z), self._off(X), self._off(Z)
        return K, lambda G: self._back(G.sum(axis=1) @ x + G.sum(axis=0) @ z, dot(G, K))

    def rowwise(self, X: Array, Z: Array) -> Array:
        return batched(self.variance, 1) * np.einsum("...id,...id->...i", self._off(X), self._off(Z))

    def rowwise_vjp(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        k, both = self.rowwise(X, Z), self._off(X) + self._off(Z)
        return k, lambda g: self._back(g @ both, float(g @ k))

    def _back(self, offsets: Array, own: float) -> Array:
        slopes = -self.variance * offsets
        return np.concatenate([slopes if np.size(self.centre) > 1 else [slopes.sum()], [own]])

    def vjp_inputs(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        return self.matrix(X, Z), lambda G: self.variance * matmul(G, self._off(Z))

    def pullback_diag_inputs(self, X: Array, g: Array) -> Array:
        return 2.0 * self.variance * g[:, None] * self._off(X)


@dataclass(frozen=True)
class Periodic(Kernel):
    """k(x, z) = variance · exp(−2 Σ_d sin²(π (x_d − z_d)/p_d)/ℓ_d²): functions that repeat with the period.

    lengthscale and period may be one number or one per dimension.
    """

    lengthscale: Any = positive(1.0, "shape", per_dimension=True)
    period: Any = positive(1.0, "period", per_dimension=True)
    variance: Any = positive(1.0, "variance")

    def _scales(self, dimensions: int) -> tuple[Array, Array]:
        """ℓ and p as (..., D): with a batch axis where the parameters have one."""
        if np.ndim(self.lengthscale) == 0 and np.ndim(self.period) == 0:
            return np.full(dimensions, float(self.lengthscale)), np.full(dimensions, float(self.period))
        check_lengthscale(self.lengthscale, dimensions)
        check_lengthscale(self.period, dimensions)
        length, period = (np.atleast_1d(np.asarray(v, dtype=float)) for v in (self.lengthscale, self.period))
        return (
            np.broadcast_to(length, (*length.shape[:-1], dimensions)),
            np.broadcast_to(period, (*period.shape[:-1], dimensions)),
        )

    def features(self, dimensions: int, count: int, rng: np.random.Generator) -> Features:
        """exp(z cos t − z) = Σ_n exp(−z) I_n(z) cos(n t): whole multiples n of the base frequency, drawn by their
        weight, with z = 1/ℓ² in each dimension."""
        length, period = self._scales(dimensions)
        frequencies = np.empty((count, dimensions))
        for d in range(dimensions):
            z = float(length[d]) ** -2
            most = int(12.0 * np.sqrt(z)) + 20
            n = np.arange(-most, most + 1)
            weight = ive(np.abs(n), z)
            frequencies[:, d] = 2.0 * np.pi * rng.choice(n, count, p=weight / weight.sum()) / period[d]
        return waves(frequencies, np.sqrt(self.variance), rng)

    def matrix(self, X: Array, Z: Array) -> Array:
        return self._values([X[:, d, None] - Z[None, :, d] for d in range(X.shape[1])])

    def rowwise(self, X: Array, Z: Array) -> Array:
        return self._values([(X[:, d] - Z[:, d])[None] for d in range(X.shape[1])])[..., 0, :]

    def _values(self, apart: list[Array]) -> Array:
        """k of differences (N, M) in each dimension."""
        length, period = self._scales(len(apart))
        exponent: Array = np.zeros(apart[0].shape)
        for d, difference in enumerate(apart):
            phase = difference * (np.pi / period[..., d, None, None])
            exponent = exponent - 2.0 * (np.sin(phase) / length[..., d, None, None]) ** 2
        return batched(self.variance, 2) * np.exp(exponent)

    def diag(self, X: Array) -> Array:
        return batched(self.variance, 1) * np.ones(len(X))

    def vjp(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        K = self.matrix(X, Z)
        return K, lambda G: self._back(G * K, [X[:, d, None] - Z[None, :, d] for d in range(X.shape[1])])

    def rowwise_vjp(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        k = self.rowwise(X, Z)
        return k, lambda g: self._back((g * k)[None], [(X[:, d] - Z[:, d])[None] for d in range(X.shape[1])])

    def _back(self, GK: Array, apart: list[Array]) -> Array:
        """dL/dtheta from G ∘ K and the differences in each dimension, (N, M) all."""
        length, period = self._scales(len(apart))
        lengths, periods = np.zeros(len(apart)), np.zeros(len(apart))
        for d, difference in enumerate(apart):
            phase = difference * (np.pi / period[d])
            lengths[d] = 4.0 / length[d] ** 2 * dot(GK, np.sin(phase) ** 2)
            periods[d] = 2.0 / length[d] ** 2 * dot(GK, phase * np.sin(2.0 * phase))
        return np.concatenate(
            [
                lengths if np.ndim(self.lengthscale) else [lengths.sum()],
                periods if np.ndim(self.period) else [periods.sum()],
                [GK.sum()],
            ]
        )

    def vjp_inputs(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        K = self.matrix(X, Z)

        def back(G: Array) -> Array:
            length, period = self._scales(X.shape[1])
            GK, out = G * K, np.zeros_like(X)
            for d in range(X.shape[1]):
                wave = np.sin((X[:, d, None] - Z[None, :, d]) * (2.0 * np.pi / period[d]))
                out[:, d] = -2.0 * np.pi / (period[d] * length[d] ** 2) * np.einsum("ij,ij->i", GK, wave)
            return out

        return K, back

    def pullback_diag_inputs(self, X: Array, g: Array) -> Array:
        return np.zeros_like(X)
