"""A change from one covariance to another along one coordinate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from gainful.checks import is_whole, require, require_kind
from gainful.kernels.base import FAR, Kernel, Pullback, batched
from gainful.parameters import Slot, positive, real

__all__ = ["ChangePoint"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ChangePoint(Kernel):
    """k(x, z) = (1 − s(x))(1 − s(z)) before(x, z) + s(x) s(z) after(x, z): one function up to a place along a column,
    another behind it, with s a logistic curve of this width (Lloyd et al. 2014, sec. 2).

    >>> from gainful.kernels import SE
    >>> ChangePoint(SE(), 4.0 * SE(), place=0.0, width=0.1).diag(np.array([[-1.0], [0.0], [1.0]])).round(2).tolist()
    [1.0, 1.25, 4.0]
    """

    before: Kernel
    after: Kernel
    place: Any = real(0.0, "position")
    width: Any = positive(1.0, "length")
    column: int = 0

    def __post_init__(self) -> None:
        for name in ("before", "after"):
            require_kind(name, getattr(self, name), Kernel, "a kernel", "such as SE(), not SE")
        fine = is_whole(self.column) and 0 <= self.column < FAR
        require(fine, "column", "the number of a column, from 0", self.column, "0 is the first")
        object.__setattr__(self, "column", int(self.column))
        super().__post_init__()

    def groups(self) -> list[list[Slot]]:
        """In the order of the fields: its own numbers come last."""
        own, *inside = super().groups()
        return [*inside, own]

    def _share(self, X: Array) -> Array:
        """s(x), (..., N)."""
        return np.asarray(expit((X[:, self.column] - batched(self.place, 1)) / batched(self.width, 1)))

    def _joined(self, s: Array, o: Array, before: Array, after: Array) -> Array:
        early = (1.0 - s)[..., :, None] * (1.0 - o)[..., None, :]
        return np.asarray(early * before + s[..., :, None] * o[..., None, :] * after)

    def between(self, columns: tuple[int, ...]) -> frozenset[int]:
        return self.before.between(columns) | self.after.between(columns) | {columns[self.column]}

    def matrix(self, X: Array, Z: Array) -> Array:
        return self._joined(self._share(X), self._share(Z), self.before.matrix(X, Z), self.after.matrix(X, Z))

    def diag(self, X: Array) -> Array:
        s = self._share(X)
        return np.asarray((1.0 - s) ** 2 * self.before.diag(X) + s**2 * self.after.diag(X))

    def vjp(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        (a, back_a), (b, back_b) = self.before.vjp(X, Z), self.after.vjp(X, Z)
        s, o = self._share(X), self._share(Z)

        def back(G: Array) -> Array:
            by_s = s * (1.0 - s) * np.sum(G * (o * b - (1.0 - o) * a), axis=1)
            by_o = o * (1.0 - o) * np.sum(G * (s[:, None] * b - (1.0 - s)[:, None] * a), axis=0)
            own = self._own(by_s, by_o, X, Z)
            return np.concatenate([back_a(G * np.outer(1.0 - s, 1.0 - o)), back_b(G * np.outer(s, o)), own])

        return self._joined(s, o, a, b), back

    def rowwise(self, X: Array, Z: Array) -> Array:
        s, o = self._share(X), self._share(Z)
        before, after = self.before.rowwise(X, Z), self.after.rowwise(X, Z)
        return np.asarray((1.0 - s) * (1.0 - o) * before + s * o * after)

    def rowwise_vjp(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        (a, back_a), (b, back_b) = self.before.rowwise_vjp(X, Z), self.after.rowwise_vjp(X, Z)
        s, o = self._share(X), self._share(Z)

        def back(g: Array) -> Array:
            by_s = s * (1.0 - s) * g * (o * b - (1.0 - o) * a)
            by_o = o * (1.0 - o) * g * (s * b - (1.0 - s) * a)
            return np.concatenate([back_a(g * (1.0 - s) * (1.0 - o)), back_b(g * s * o), self._own(by_s, by_o, X, Z)])

        return np.asarray((1.0 - s) * (1.0 - o) * a + s * o * b), back

    def _own(self, by_s: Array, by_o: Array, X: Array, Z: Array) -> list[float]:
        """dL/d place and dL/d log width, from the slopes in the arguments of s(x) and s(z)."""
        x, z = (each[:, self.column] - self.place for each in (X, Z))
        return [-(by_s.sum() + by_o.sum()) / self.width, -float(by_s @ x + by_o @ z) / self.width]

    def vjp_inputs(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        (a, back_a), (b, back_b) = self.before.vjp_inputs(X, Z), self.after.vjp_inputs(X, Z)
        s, o = self._share(X), self._share(Z)

        def back(G: Array) -> Array:
            out = back_a(G * np.outer(1.0 - s, 1.0 - o)) + back_b(G * np.outer(s, o))
            out[:, self.column] += s * (1.0 - s) / self.width * np.sum(G * (o * b - (1.0 - o) * a), axis=1)
            return np.asarray(out)

        return self._joined(s, o, a, b), back

    def pullback_diag_inputs(self, X: Array, g: Array) -> Array:
        s = self._share(X)
        out = self.before.pullback_diag_inputs(X, g * (1.0 - s) ** 2) + self.after.pullback_diag_inputs(X, g * s**2)
        slope = s * (1.0 - s) / self.width
        out[:, self.column] += 2.0 * g * slope * (s * self.after.diag(X) - (1.0 - s) * self.before.diag(X))
        return np.asarray(out)
