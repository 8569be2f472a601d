"""Symmetric block Toeplitz matrices with Toeplitz blocks: covariances of a stationary process on a regular grid.

An entry depends on the distance of two grid points along each axis alone, T_ij = c(|i₁ − j₁|, …, |i_D − j_D|).
Embedded in a circulant matrix of twice the size along every axis, its products are multiplications of Fourier
transforms: O(m log m) for m points, whatever the dimension.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfftn, next_fast_len, rfftn

from gainful.numerics.memory import blocks

__all__ = ["BlockToeplitz"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BlockToeplitz:
    """T (m, m) with entries c(|i − j|): `values` is c, an array with one axis for each of the grid's.

    >>> T = BlockToeplitz(np.array([2.0, 1.0, 0.5]))
    >>> T.times(np.eye(3)).round(12).tolist()
    [[2.0, 1.0, 0.5], [1.0, 2.0, 1.0], [0.5, 1.0, 2.0]]
    """

    values: Array

    @property
    def size(self) -> int:
        """m, in C order: the last axis runs fastest."""
        return int(self.values.size)

    @property
    def _axes(self) -> tuple[int, ...]:
        return tuple(range(1, self.values.ndim + 1))

    @cached_property
    def _lengths(self) -> tuple[int, ...]:
        """Of the circulant matrix: a distance and its negative must not meet."""
        return tuple(1 if n == 1 else int(next_fast_len(2 * n - 1, real=True)) for n in self.values.shape)

    @cached_property
    def _spectrum(self) -> Array:
        """The eigenvalues of the circulant matrix, as rfftn orders them."""
        whole = np.zeros(self._lengths)
        whole[tuple(slice(0, n) for n in self.values.shape)] = self.values
        for axis, (n, length) in enumerate(zip(self.values.shape, self._lengths, strict=True)):
            if n > 1:  # c is even along each axis
                here, there = [slice(None)] * whole.ndim, [slice(None)] * whole.ndim
                here[axis], there[axis] = slice(length - n + 1, length), slice(n - 1, 0, -1)
                whole[tuple(here)] = whole[tuple(there)]
        return np.asarray(rfftn(whole).real)

    def times(self, V: Array) -> Array:
        """T V for V (m, p): one transform there, one back, some columns at a time."""
        out = np.empty((V.shape[1], self.size))
        for part in self._columns(V.shape[1]):
            there = self._transformed(V[:, part])
            there *= self._spectrum
            back = irfftn(there, self._lengths, self._axes)
            out[part] = back[(slice(None), *(slice(0, n) for n in self.values.shape))].reshape(-1, self.size)
        return np.ascontiguousarray(out.T)

    def pulled(self, U: Array, V: Array) -> Array:
        """The derivative of Σ_j u_jᵀ T v_j in the values, an array like them: how often each distance meets."""
        total = np.zeros(self._spectrum.shape, dtype=np.complex128)
        for part in self._columns(U.shape[1]):
            total += np.sum(np.conj(self._transformed(U[:, part])) * self._transformed(V[:, part]), axis=0)
        found = np.asarray(irfftn(total, self._lengths))
        for axis, (n, length) in enumerate(zip(self.values.shape, self._lengths, strict=True)):
            folded = np.take(found, np.arange(n), axis=axis)
            if n > 1:
                rest = [slice(None)] * found.ndim
                rest[axis] = slice(1, n)
                folded[tuple(rest)] += np.take(found, length - np.arange(1, n), axis=axis)
            found = folded
        return found

    def _columns(self, count: int) -> Iterator[slice]:
        """As many columns at a time as their transforms have room for."""
        return blocks(count, 4 * int(np.prod(self._lengths)))

    def _transformed(self, V: Array) -> NDArray[np.complex128]:
        """Of each column, along every axis of the grid: (p, …)."""
        return np.asarray(rfftn(np.ascontiguousarray(V.T).reshape(-1, *self.values.shape), self._lengths, self._axes))

    def dense(self) -> Array:
        """T in full, (m, m)."""
        at = np.stack(np.unravel_index(np.arange(self.size), self.values.shape), axis=1)
        out = np.empty((self.size, self.size))
        for row, here in zip(out, at, strict=True):
            row[:] = self.values[tuple(np.abs(at - here).T)]
        return out
