"""Matrices on regular grids, known by a few numbers: symmetric Toeplitz, and Kronecker products of such.

A stationary kernel on m equally spaced places is a Toeplitz matrix, on a D-dimensional grid a product kernel is the
Kronecker product of one such matrix per dimension (Wilson & Nickisch 2015). Products cost O(m log m)
by FFT instead of O(m²). All is in C-order, the first factor slowest, as `np.kron` and a ravelled
`np.meshgrid(..., indexing="ij")` are.

Besides the product each has its pullback: for L = Σ U ∘ (A V) the derivative of L with respect to the numbers that A
is made of. The gradient of uᵀ A v, of which log evidences are sums, is U = u, V = v; many pairs at once are columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft

from gainful.errors import InvalidInput
from gainful.numerics.blas import matmul
from gainful.numerics.memory import require_room

__all__ = ["Dense", "Factor", "Kronecker", "Toeplitz"]

Array = NDArray[np.float64]

_DENSE = 256  # up to this size BLAS is 2 to 10 times as fast as the FFT, for one column as for thousands
_TOGETHER = 2**16  # numbers transformed at a time: what stays in the cache is up to twice as fast


class Factor(Protocol):
    """A square matrix A (m, m) that `Kronecker` can be made of."""

    @property
    def size(self) -> int: ...

    def times(self, V: Array) -> Array: ...

    def pulled(self, U: Array, V: Array) -> Array: ...

    def dense(self) -> Array: ...


@dataclass(frozen=True, eq=False)
class Dense:
    """A matrix (m, m) without structure, among factors that have some.

    >>> Dense([[1.0, 2.0], [3.0, 4.0]]).times(np.array([1.0, 1.0])).tolist()
    [3.0, 7.0]
    """

    matrix: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "matrix", _fixed(self.matrix))

    @property
    def size(self) -> int:
        return len(self.matrix)

    def times(self, V: Array) -> Array:
        """A V for V (m,) or (m, p); see `Toeplitz.times` for the order in memory."""
        return _product(self.matrix, _checked(V, self.size))

    def pulled(self, U: Array, V: Array) -> Array:
        """∂/∂A Σ U ∘ (A V) = U Vᵀ, (m, m)."""
        U, V = _paired(U, V, self.size)
        return matmul(U, V.T)

    def dense(self) -> Array:
        return self.matrix.copy()


@dataclass(frozen=True, eq=False)
class Toeplitz:
    """T with T_ij = column[|i − j|], (m, m), kept as its first column.

    T is the corner of a circulant matrix of size L ≥ 2m − 1, whose eigenvalues are the Fourier transform of its first
    column; they are real because T is symmetric. The error of a product is some ε log m · |column| |v|: small beside
    the largest of its entries, not beside each of them.

    >>> Toeplitz(np.array([2.0, 1.0, 0.0])).times(np.array([1.0, 0.0, 3.0])).tolist()
    [2.0, 4.0, 6.0]
    """

    column: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "column", _fixed(self.column))

    @property
    def size(self) -> int:
        return len(self.column)

    def times(self, V: Array) -> Array:
        """T V for V (m,) or (m, p), by FFT; through the matrix itself up to m = 256.

        A result (m, p) is in Fortran order, so that its transpose can be reshaped without a copy.
        """
        V = _checked(V, self.size)
        if self.size <= _DENSE:
            return _product(self._matrix, V)
        columns = _columns(V, self.size)
        rows = np.empty(columns.shape[::-1])
        for part in self._parts(columns):
            hat = rfft(columns[:, part].T, self._length)
            hat *= self._eigenvalues
            rows[part] = irfft(hat, self._length, overwrite_x=True)[:, : self.size]
        return rows.T.reshape(V.shape, order="F")

    def pulled(self, U: Array, V: Array) -> Array:
        """∂/∂column Σ U ∘ (T V), (m,): entry k is the sum of U_ip V_jp over all |i − j| = k and all p."""
        U, V = _paired(U, V, self.size)
        if self.size <= _DENSE:
            of_pairs = matmul(U, V.T)
            return np.bincount(self._lags.reshape(-1), of_pairs.reshape(-1), self.size).astype(np.float64, copy=False)
        correlation = np.zeros(self._length // 2 + 1)
        for part in self._parts(U):
            left, right = rfft(U[:, part].T, self._length), rfft(V[:, part].T, self._length)
            both = np.einsum("pk,pk->k", left.view(np.float64), right.view(np.float64))
            correlation += both.reshape(-1, 2).sum(axis=1)  # the real part of Σ_p left · conj(right)
        # The inverse of a real part is even: the mean of lags k and −k, where k > 0 wants their sum.
        gradient = 2.0 * irfft(correlation, self._length)[: self.size]
        gradient[0] *= 0.5
        return np.asarray(gradient)

    def dense(self) -> Array:
        require_room("size", self.size, self.size, "use times, which needs no matrix")
        return np.asarray(self.column[self._lags])

    @property
    def _lags(self) -> NDArray[np.intp]:
        places = np.arange(self.size)
        return np.abs(places[:, None] - places)

    @cached_property
    def _matrix(self) -> Array:
        return self.dense()

    @cached_property
    def _length(self) -> int:
        return int(next_fast_len(2 * self.size - 1, real=True))

    @cached_property
    def _eigenvalues(self) -> Array:
        first = np.zeros(self._length)
        first[: self.size] = self.column
        first[self._length - self.size + 1 :] = self.column[:0:-1]
        return rfft(first).real.copy()

    def _parts(self, columns: Array) -> Iterator[slice]:
        several = max(1, _TOGETHER // self._length)
        return (slice(start, start + several) for start in range(0, columns.shape[1], several))


@dataclass(frozen=True, eq=False)
class Kronecker:
    """A₁ ⊗ … ⊗ A_D of square factors, (m, m) with m the product of their sizes.

    >>> both = Kronecker((Toeplitz(np.array([2.0, 1.0])), Dense(np.array([[1.0, 3.0], [0.0, 1.0]]))))
    >>> v = np.arange(4.0)
    >>> both.times(v).tolist() == (both.dense() @ v).tolist()
    True
    """

    factors: tuple[Factor, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "factors", tuple(self.factors))

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(factor.size for factor in self.factors)

    @property
    def size(self) -> int:
        return math.prod(self.sizes)

    def times(self, V: Array) -> Array:
        """(A₁ ⊗ … ⊗ A_D) V for V (m,) or (m, p): each factor along its own axis of V as (m₁, …, m_D, p).

        Each factor multiplies the first axis, which then goes to the end; after D of them the columns come first.
        """
        V = _checked(V, self.size)
        turned = V.reshape(-1)
        for factor in self.factors:
            turned = factor.times(turned.reshape(factor.size, -1)).T.reshape(-1)
        return turned if V.ndim == 1 else np.ascontiguousarray(turned.reshape(V.shape[::-1]).T)

    def pulled(self, U: Array, V: Array) -> list[Array]:
        """∂/∂(each factor's column or matrix) of Σ U ∘ (A V), in the order of the factors.

        Factor d sees U and (⊗_{e≠d} A_e) V along its axis. Halving the set of factors that V lacks gives all of these
        with D log₂ D products along an axis instead of D(D − 1).
        """
        U, V = _paired(U, V, self.size)
        shape = (*self.sizes, V.shape[1])
        return self._pulled(U.reshape(shape), V.reshape(shape), 0, len(self.factors))

    def _pulled(self, U: Array, V: Array, first: int, last: int) -> list[Array]:
        """The gradients for factors first, …, last − 1, where V has been multiplied by all the others."""
        if last - first <= 1:
            along = [(factor, axis) for axis, factor in enumerate(self.factors[first:last], first)]
            return [factor.pulled(_unfolded(U, axis), _unfolded(V, axis)) for factor, axis in along]
        middle = (first + last) // 2
        lower = self._pulled(U, self._along(V, middle, last), first, middle)
        return lower + self._pulled(U, self._along(V, first, middle), middle, last)

    def _along(self, V: Array, first: int, last: int) -> Array:
        """V (m₁, …, m_D, p) multiplied by factors first, …, last − 1."""
        for axis in range(first, last):
            moved = np.moveaxis(V, axis, 0)
            V = np.moveaxis(self.factors[axis].times(_unfolded(V, axis)).reshape(moved.shape), 0, axis)
        return V

    def dense(self) -> Array:
        require_room("size", self.size, self.size, "use times, which needs no matrix")
        matrix: Array = np.ones((1, 1))
        for factor in self.factors:
            matrix = np.asarray(np.kron(matrix, factor.dense()), dtype=np.float64)
        return matrix


def _unfolded(V: Array, axis: int) -> Array:
    """V with one axis as rows, (m_axis, all others)."""
    return np.moveaxis(V, axis, 0).reshape(V.shape[axis], -1)


def _product(A: Array, V: Array) -> Array:
    """A V, for a matrix V in Fortran order."""
    return matmul(A, V) if V.ndim == 1 else matmul(V.T, A.T).T


def _columns(V: Array, size: int) -> Array:
    V = _checked(V, size)
    return V[:, None] if V.ndim == 1 else V


def _paired(U: Array, V: Array, size: int) -> tuple[Array, Array]:
    U, V = _columns(U, size), _columns(V, size)
    if U.shape != V.shape:
        raise InvalidInput("U", f"the shape of V, {V.shape}", f"shape {U.shape}", "give one column of U for each of V")
    return U, V


def _checked(V: Array, size: int) -> Array:
    """V as it is; a transform would fill up or cut what has another length, and say nothing."""
    V = np.asarray(V, dtype=np.float64)
    if V.ndim not in (1, 2) or len(V) != size:
        raise InvalidInput(
            "V", f"shape ({size},) or ({size}, p)", f"shape {V.shape}", "give one row per place of the grid"
        )
    return V


def _fixed(values: Array) -> Array:
    """A copy that cannot change, since what follows from it is kept."""
    values = np.array(values, dtype=np.float64)
    values.flags.writeable = False
    return values
