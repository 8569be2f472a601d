"""Posteriors that differ in their parameters alone, asked as one: a single kernel with a batch axis sees for all.

The parts of a belief have the same answers, and kernels of one form. With forty answers nearly all that one of them
costs is the calling, and the kernel is most of it: here it is called once for all parts, and what comes after, a
triangular solve and two products each, is done part by part as a posterior alone does it (`pullback`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainful.inference.posterior import Posterior
from gainful.inference.predicting import Predictor
from gainful.kernels.base import Kernel
from gainful.kernels.batch import as_batch
from gainful.numerics.blas import matmul

__all__ = ["Abreast", "Stacked", "Views", "stack"]

Array = NDArray[np.float64]


class Abreast(NamedTuple):
    """Watched places (R, d) under S posteriors: f's mean and variance there, (S, R), and for each posterior what
    covariances with f there and their slopes need (see `Beside`), (F, R) each."""

    places: Array
    mean: Array
    variance: Array
    half: tuple[Array, ...]
    seen: tuple[Array, ...]

    def some(self, kept: Any) -> Abreast:
        """Some of the places, by their numbers or a mask."""
        halves, seen = (tuple(each[:, kept] for each in several) for several in (self.half, self.seen))
        return Abreast(self.places[kept], self.mean[:, kept], self.variance[:, kept], halves, seen)


class Views(NamedTuple):
    """Of f at M places under S posteriors: mean, variance and the prior's variance, (S, M), covariances with what is
    watched, (S, M, R), and the map from dL/d of mean, variance and those to dL/dX (M, d), summed over all."""

    mean: Array
    variance: Array
    prior: Array
    cross: Array
    back: Callable[[Array, Array, Array], Array]


@dataclass(frozen=True, eq=False)
class Stacked:
    """S posteriors of the same answers, and the kernel with the parameters of all."""

    posteriors: tuple[Posterior, ...]
    kernel: Kernel

    def __len__(self) -> int:
        return len(self.posteriors)

    @cached_property
    def _predictors(self) -> tuple[Predictor, ...]:
        return tuple(each.predictor for each in self.posteriors)

    @cached_property
    def _alike(self) -> bool:
        """Whether all have one prior mean."""
        means = [each.prior_mean for each in self._predictors]
        return all(each == means[0] for each in means[1:])

    @property
    def _measured(self) -> Array:
        return self._predictors[0].layout.places

    def watch(self, places: Array) -> Abreast:
        """Places (R, d) made ready to be watched."""
        found = self._see(places, self.kernel.matrix(places, self._measured))
        mean, variance, _ = self._moments(places, *found)
        return Abreast(places, mean, variance, tuple(found[1]), tuple(found[0]))

    def covariances(self, places: Array, watched: Abreast) -> Array:
        """Cov[f(places), f(watched)] under each posterior, (S, M, R)."""
        return self.look(places, watched).cross

    def look(self, places: Array, watched: Abreast) -> Views:
        """Moments of f at places (M, d), and covariances with what is watched."""
        return self._views(places, watched, self.kernel.matrix(places, self._others(watched)), None)

    def climb(self, places: Array, watched: Abreast) -> Views:
        """The same for a few places, with the way back to them."""
        return self._views(places, watched, *self.kernel.vjp_inputs(places, self._others(watched)))

    def _others(self, watched: Abreast) -> Array:
        return np.concatenate([self._measured, watched.places])

    def _see(self, places: Array, K: Array) -> tuple[list[Array], list[Array]]:
        """A k(Z, x) and L⁻¹ R A k(Z, x) under each posterior, (F, M), from k(x, Z), (S, M, P)."""
        K = np.broadcast_to(K, (len(self), *K.shape[-2:]))
        seen = [each.layout.pick(k.T) for each, k in zip(self._predictors, K, strict=True)]
        return seen, [each.known.reduction(c) for each, c in zip(self._predictors, seen, strict=True)]

    def _moments(self, places: Array, seen: Sequence[Array], half: Sequence[Array]) -> tuple[Array, Array, Array]:
        prior = np.broadcast_to(self.kernel.diag(places), (len(self), len(places)))
        rows = zip(self._predictors, seen, half, prior, strict=True)
        first = self._predictors[0].prior_mean(places)
        mean, variance = np.empty(prior.shape), np.empty(prior.shape)
        for s, (each, c, h, own) in enumerate(rows):
            mean[s] = (first if self._alike else each.prior_mean(places)) + matmul(c.T, each.known.alpha)
            variance[s] = each.refine_measured(places, own, own - each.known.square(h))
        return mean, variance, prior

    def _views(self, places: Array, watched: Abreast, K: Array, back_through: Callable[[Array], Array] | None) -> Views:
        P = len(self._measured)
        seen, half = self._see(places, K[..., :P])
        cross = np.array(np.broadcast_to(K[..., P:], (len(self), len(places), len(watched.places))))
        for s, each in enumerate(self._predictors):
            cross[s] -= matmul(each.known.signed(half[s]).T, watched.half[s])

        def back(d_mean: Array, d_variance: Array, d_cross: Array) -> Array:
            assert back_through is not None
            out, G = np.zeros_like(places), np.empty((len(self), len(places), P + len(watched.places)))
            G[..., P:] = d_cross
            for s, each in enumerate(self._predictors):
                # As in `pullback`: dL/dc = α d_mean − 2 S c d_variance − S c_watched d_cross, with one solve for both.
                pulled = 2.0 * d_variance[s] * seen[s] + matmul(watched.seen[s], d_cross[s].T)
                d_seen = each.known.alpha[:, None] * d_mean[s] - each.known.pulled(pulled)
                G[s, :, :P] = each.layout.spread(d_seen).T
                if not self._alike:
                    out += each.prior_mean.pullback_inputs(places, d_mean[s])
            if self._alike:
                out += self._predictors[0].prior_mean.pullback_inputs(places, d_mean.sum(axis=0))
            return out + back_through(G)

        return Views(*self._moments(places, seen, half), cross, back)


def stack(posteriors: Sequence[Posterior]) -> Stacked | None:
    """The posteriors as one; None where they are of different places or of kernels that cannot be asked together."""
    first, measured = posteriors[0].kernel, posteriors[0].data.layout.places
    if not len(measured) or not first.slopes_together or any(each.draws is not None for each in posteriors):
        return None
    if not all(np.array_equal(measured, each.data.layout.places) for each in posteriors[1:]):
        return None
    kernel = as_batch([each.kernel for each in posteriors])
    return None if kernel is None else Stacked(tuple(posteriors), kernel)
