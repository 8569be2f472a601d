"""Sites: the Gaussian factor exp(νᵀg − ½ gᵀΛg) that stands for each observation's likelihood, and its root form.

A site is used as a pseudo-measurement R g ≈ t with noise of sign s:

    Λ = Rᵀ diag(s) R,   ν = Rᵀ diag(s) t

s is +1 as a rule, −1 for a site of negative precision, and 0 for an answer without noise (R = 1, t = the answer).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainful.instruments.base import Rows

Array = NDArray[np.float64]

_FLOOR = 1e-200  # smallest precision of a site that still pulls: keeps t = ν/√τ finite and changes nothing


class Block(NamedTuple):
    """Sites that couple k rows of g each: rows (n, k), precision (n, k, k)."""

    rows: Rows
    precision: Array


@dataclass(frozen=True)
class Sites:
    """precision Λ and shift ν of every row of g, (F,) each, with the coupled rows in `blocks` (their `precision`
    entry is 0).

    An infinite precision is an answer without noise; its `shift` entry then holds the answer itself.
    """

    precision: Array
    shift: Array
    blocks: tuple[Block, ...] = ()

    @property
    def size(self) -> int:
        return len(self.shift)

    def times(self, values: Array) -> Array:
        """Λ @ values, (F,), where every precision is finite."""
        out = self.precision * values
        for block in self.blocks:
            out[block.rows] = np.einsum("nij,nj->ni", block.precision, values[block.rows])
        return out

    @cached_property
    def root(self) -> Root:
        """The root form."""
        tau = self.precision
        exact = np.isinf(tau)
        size = np.maximum(np.abs(np.where(exact, 1.0, tau)), np.where(self.shift != 0.0, _FLOOR, 0.0))
        sign = np.where(exact, 0.0, np.where(tau < 0.0, -1.0, 1.0))
        scale = np.sqrt(size)
        pull = np.divide(self.shift, scale, out=np.zeros_like(scale), where=scale > 0.0)
        target = np.where(exact, self.shift, sign * pull)
        turns = []
        for rows, precision in self.blocks:
            values, vectors = np.linalg.eigh(precision)
            strength = np.sqrt(np.maximum(np.abs(values), _FLOOR))
            down = np.swapaxes(vectors, 1, 2)
            sign[rows] = np.where(values < 0.0, -1.0, 1.0)
            target[rows] = sign[rows] * np.einsum("nij,nj->ni", down, self.shift[rows]) / strength
            scale[rows] = 1.0
            turns.append((rows, strength[:, :, None] * down))
        return Root(scale, target, sign, tuple(turns))


@dataclass(frozen=True)
class Root:
    """R (a scale per row, and k-by-k matrices for the coupled rows), t and s; see the module."""

    scale: Array
    target: Array
    sign: Array
    turns: tuple[tuple[Rows, Array], ...]

    def times(self, values: Array) -> Array:
        """R @ values, (F,) or (F, M)."""
        out = self.scale[:, None] * values if values.ndim == 2 else self.scale * values
        for rows, turn in self.turns:
            out[rows] = np.einsum("nij,nj...->ni...", turn, values[rows])
        return out

    def transposed_times(self, values: Array) -> Array:
        """Rᵀ @ values."""
        out = self.scale[:, None] * values if values.ndim == 2 else self.scale * values
        for rows, turn in self.turns:
            out[rows] = np.einsum("nji,nj...->ni...", turn, values[rows])
        return out

    def gram(self, C: Array) -> Array:
        """B = diag(s) + R C Rᵀ."""
        B = self.times(C)
        if self.turns:
            B = self.times(np.ascontiguousarray(B.T))
        else:
            B *= self.scale
        B.flat[:: len(B) + 1] += self.sign
        return B

    def gram_rows(self, C: Array, start: int) -> Array:
        """The rows of B from `start` on, (F − start, F), where no row is coupled."""
        rows = C[start:] * self.scale * self.scale[start:, None]
        rows[:, start:].flat[:: len(C) - start + 1] += self.sign[start:]
        return rows


def to_vector(sites: Sites, rows: Rows) -> Array:
    """Precisions and shifts of the uncoupled `rows`, then those of the blocks, as one vector (P,)."""
    parts = [sites.precision[rows], sites.shift[rows]]
    for block in sites.blocks:
        parts += [block.precision.ravel(), sites.shift[block.rows].ravel()]
    return np.concatenate(parts)


def from_vector(sites: Sites, rows: Rows, vector: Array) -> Sites:
    """The sites with these rows and the blocks replaced by the entries of the vector: the inverse of `to_vector`."""
    n = len(rows)
    precision, shift = sites.precision.copy(), sites.shift.copy()
    precision[rows], shift[rows] = vector[:n], vector[n : 2 * n]
    at, blocks = 2 * n, []
    for block in sites.blocks:
        size, flat = block.precision.size, block.rows.size
        blocks.append(Block(block.rows, vector[at : at + size].reshape(block.precision.shape)))
        shift[block.rows] = vector[at + size : at + size + flat].reshape(block.rows.shape)
        at += size + flat
    return Sites(precision, shift, tuple(blocks))
