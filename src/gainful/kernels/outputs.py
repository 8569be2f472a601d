"""The kernel of several functions of the same inputs: how much each varies, and how they go together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gainful.checks import is_whole, require
from gainful.coordinates import output_code, output_positions, require_outputs
from gainful.errors import InvalidInput
from gainful.kernels.base import PiecewiseConstant, Pullback
from gainful.parameters import Slot, Unstated, correlation, positive

__all__ = ["Coregionalised"]

Array = NDArray[np.float64]
Positions = NDArray[np.intp]


@dataclass(frozen=True)
class Coregionalised(PiecewiseConstant):
    """k(i, j) = √(v_i v_j) C_ij: each of several `outputs` has its own variance v, each pair its correlation.

    Times a kernel of the inputs it is the intrinsic coregionalisation model (Bonilla, Chai & Williams 2008), as in
    `SE(0.3).on("x") * Coregionalised(("yield", "purity"), variance=(4.0, 1.0), correlation=0.7).on("output")`. Outputs
    are called by name or by number; a number alone says how many there are, numbered from 0.

    `correlation` has a number above -1 and below 1 for each pair: of the outputs 1 and 0, then 2 and 0, 2 and 1, and so
    on. Beyond two outputs they are partial correlations given the outputs before both, so that any numbers fit
    together; `correlations` is the matrix that they make. 0 alone is independence, with nothing to learn.

    `alike` has a number for each output. Outputs with the same number share one variance and are independent of all
    others, as the functions of several classes are.

    >>> Coregionalised(2, variance=(4.0, 1.0), correlation=0.5)([[0.0]], [[0.0], [1.0]]).tolist()
    [[4.0, 1.0]]
    """

    outputs: Any = 2
    variance: Any = positive(1.0, "variance", per_dimension=True)
    correlation: Any = correlation()
    alike: Any = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "outputs", require_outputs(self.outputs))
        object.__setattr__(self, "alike", self._require_alike())
        kinds, pairs = len(set(self.alike)), len(self._pairs)
        super().__post_init__()
        if isinstance(self.variance, float):
            object.__setattr__(self, "variance", (self.variance,) * kinds)
        if isinstance(self.correlation, float) and (isinstance(self.correlation, Unstated) or self.correlation != 0.0):
            object.__setattr__(self, "correlation", (self.correlation,) * pairs if pairs else 0.0)
        words = f"{kinds} numbers, one for each output (outputs that are alike share one)"
        require(np.shape(self.variance)[-1] == kinds, "variance", words, self.variance, "or one for all")
        given = np.shape(self.correlation)[-1] if np.ndim(self.correlation) else 0
        words = f"{pairs} numbers, one for each pair of outputs that stand alone"
        require(given in (0, pairs), "correlation", words, self.correlation, "or one for all; 0 is independence")

    def _require_alike(self) -> tuple[int, ...]:
        if isinstance(self.alike, tuple) and not self.alike:
            return tuple(range(len(self.outputs)))
        listed = isinstance(self.alike, tuple) and len(self.alike) == len(self.outputs)
        usable = listed and all(is_whole(each) for each in self.alike)
        kinds = tuple(dict.fromkeys(self.alike)) if usable else ()
        if not usable or kinds != tuple(range(len(kinds))):
            expected = f"{len(self.outputs)} whole numbers, each new one the next from 0"
            raise InvalidInput("alike", expected, self.alike, "(0, 0, 1): the first two are alike")
        return tuple(int(each) for each in self.alike)

    @cached_property
    def _single(self) -> list[int]:
        """The outputs that are like no other: these may be correlated."""
        return [i for i, kind in enumerate(self.alike) if self.alike.count(kind) == 1]

    @cached_property
    def _pairs(self) -> list[tuple[int, int]]:
        """Of those, by their positions among them, the pairs in the order of `correlation`."""
        return [(i, j) for i in range(len(self._single)) for j in range(i)]

    def groups(self) -> list[list[Slot]]:
        """Variances belong to outputs, not to dimensions; of those that are alike, to the first."""
        first = [output_code(self.outputs[self.alike.index(kind)]) for kind in range(len(set(self.alike)))]

        def owned(slot: Slot, i: int) -> Slot:
            return slot._replace(dims=None, output=first[i] if slot.role == "variance" else None)

        return [[owned(slot, i) for i, slot in enumerate(group)] for group in super().groups()]

    def _root(self) -> Array:
        """L with C = L Lᵀ over the single outputs, (…, k, k): L_ij = p_ij Π_{m<j} √(1 − p_im²)."""
        k = len(self._single)
        flat = np.asarray(self.correlation, dtype=float)
        if flat.ndim == 0:
            return np.eye(k)
        L = np.zeros((*flat.shape[:-1], k, k))
        left = np.ones((*flat.shape[:-1], k))  # of each row's unit length, what the columns before leave
        for n, (i, j) in enumerate(self._pairs):
            p = flat[..., n]
            L[..., i, j] = p * left[..., i]
            left[..., i] = left[..., i] * np.sqrt(1.0 - p**2)
        at = np.arange(k)
        L[..., at, at] = left
        return L

    @property
    def correlations(self) -> Array:
        """The correlation of each pair of outputs, (K, K), or with a batch of settings (S, K, K)."""
        L = self._root()
        C = np.zeros((*L.shape[:-2], len(self.outputs), len(self.outputs)))
        C[..., np.arange(len(self.outputs)), np.arange(len(self.outputs))] = 1.0
        single = np.array(self._single, dtype=np.intp)
        inner = L @ np.swapaxes(L, -1, -2)
        inner[..., np.arange(len(single)), np.arange(len(single))] = 1.0
        C[..., single[:, None], single[None, :]] = inner
        return C

    def _scales(self) -> Array:
        """√v of each output, (…, K)."""
        return np.sqrt(np.asarray(self.variance, dtype=float))[..., list(self.alike)]

    @property
    def covariances(self) -> Array:
        """√(v_i v_j) C_ij, (K, K), or with a batch of settings (S, K, K)."""
        return _covariances(self) if isinstance(self.variance, tuple) else self._product()

    def _product(self) -> Array:
        s = self._scales()
        return np.asarray(s[..., :, None] * s[..., None, :] * self.correlations)

    def _see(self, X: Array) -> Positions:
        if X.shape[1] != 1:
            raise InvalidInput("X", "one column, the output", f"{X.shape[1]}", "use .on('output')")
        return output_positions(self.outputs, X[:, 0])

    def matrix(self, X: Array, Z: Array) -> Array:
        return np.asarray(self.covariances[..., self._see(X)[:, None], self._see(Z)[None, :]])

    def diag(self, X: Array) -> Array:
        return np.asarray(np.diagonal(self.covariances, axis1=-2, axis2=-1)[..., self._see(X)])

    def vjp(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        x, z, k = self._see(X), self._see(Z), len(self.outputs)
        values = np.asarray(self.covariances[x[:, None], z[None, :]])
        return values, lambda G: self._back(np.eye(k)[:, x] @ G @ np.eye(k)[z])

    def rowwise(self, X: Array, Z: Array) -> Array:
        return np.asarray(self.covariances[..., self._see(X), self._see(Z)])

    def rowwise_vjp(self, X: Array, Z: Array) -> tuple[Array, Pullback]:
        k = len(self.outputs)
        both = self._see(X) * k + self._see(Z)
        values = self.covariances.reshape(-1)[both]
        return values, lambda g: self._back(np.asarray(np.bincount(both, g, k * k), dtype=float).reshape(k, k))

    def _back(self, pairs: Array) -> Array:
        """dL/dtheta from dL/dB, summed over the places of each pair of outputs, (K, K)."""
        B, s, L = self.covariances, self._scales(), self._root()
        by_output = 0.5 * (np.sum(pairs * B, axis=1) + np.sum(pairs * B, axis=0))
        variances = np.bincount(self.alike, weights=by_output)
        if not np.ndim(self.correlation):
            return np.asarray(variances)
        single = np.array(self._single, dtype=np.intp)
        inC = (pairs * np.outer(s, s))[single[:, None], single[None, :]]
        inC = inC + inC.T
        np.fill_diagonal(inC, 0.0)  # 1, whatever the correlations
        inL = inC @ L
        partial, out = np.asarray(self.correlation, dtype=float), []
        for p, (i, j) in zip(partial, self._pairs, strict=True):
            # In t = artanh p: dL_ij = (1 − p²) Π_{m<j} √(1 − p_im²), dL_im = −p L_im for m > j.
            before = np.prod(np.sqrt(1.0 - partial[i * (i - 1) // 2 :][:j] ** 2))
            out.append(inL[i, j] * (1.0 - p**2) * before - p * float(inL[i, j + 1 :] @ L[i, j + 1 :]))
        return np.concatenate([variances, out])


@lru_cache(maxsize=256)
def _covariances(kernel: Coregionalised) -> Array:
    """Those of one setting, kept: a search asks for them at every step."""
    found = kernel._product()
    found.flags.writeable = False
    return found
