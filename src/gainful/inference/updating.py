"""Adding and removing observations: the covariance, the factor and the sites that an earlier belief can hand on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gainful.errors import NumericalError
from gainful.inference.conditioned import Conditioned, solve_with
from gainful.inference.sites import Sites
from gainful.inference.sweep import matching_site
from gainful.kernels.base import Kernel
from gainful.layout import Layout
from gainful.means import Mean
from gainful.numerics.blas import matmul
from gainful.numerics.cholesky import extend, remove

Array = NDArray[np.float64]


def extend_covariance(kernel: Kernel, old: Layout, layout: Layout, known: Array) -> Array:
    """The covariance of all rows of g, (F, F); the part `known`, of the old rows, is not computed again."""
    new = layout.tail(old.size, len(old.places))
    cross = layout.pick(new.pick(kernel.matrix(new.places, layout.places)).T).T
    cov = np.empty((layout.size, layout.size))
    cov[: old.size, : old.size] = known
    cov[old.size :], cov[: old.size, old.size :] = cross, cross[:, : old.size].T
    return cov


def filtered_sites(prior_mean: Mean, state: Conditioned, new: Layout, sites: Sites, cov: Array) -> Sites:
    """Sites of new answers by moment matching with the present belief (assumed-density filtering), as a start.

    `new` lays out the new answers alone; `sites` and `cov` are of all rows of g, the new ones last.
    """
    precision, shift = sites.precision.copy(), sites.shift.copy()
    size = state.sites.size
    cross = cov[:size, size:]
    mean = new.pick(prior_mean(new.places)) + matmul(cross.T, state.alpha)
    variance = np.diagonal(cov)[size:] - state.factor.square(state.factor.half(state.root.times(cross)))
    for term in new.terms:
        if term.rows.shape[1] == 1 and not term.likelihood.gaussian:
            rows = term.rows[:, 0]
            m, v = mean[rows], np.maximum(variance[rows], np.finfo(float).tiny)
            p = term.likelihood.log_partition(term.answers, m, v)
            precision[size + rows], shift[size + rows] = matching_site(p, m)
    return Sites(precision, shift, sites.blocks)


def is_extendable(layout: Layout, state: Conditioned) -> bool:
    """Whether the factor itself can be extended or shortened: the sites are final and none is negative."""
    return layout.gaussian and layout.size > 0 and state.factor.order is None and state.factor.jitter == 0.0


def append_gaussian(state: Conditioned, sites: Sites, mean: Array, cov: Array) -> Conditioned | None:
    """The belief after Gaussian answers more, whose sites come last: O(N²), or None where it takes a new factor."""
    size = state.sites.size
    try:
        gram = sites.root.gram_rows(cov, size)
        factor = extend(state.factor, gram[:, :size], gram[:, size:], sites.root.sign[size:])
    except NumericalError:
        return None  # not without jitter, which a factorisation from scratch reports
    return solve_with(sites, mean, cov, factor)


def remove_gaussian(state: Conditioned, row: int, sites: Sites, mean: Array, cov: Array) -> Conditioned:
    """The belief without one row's Gaussian answer, O(N²); sites, mean and cov are those of the rows that are left."""
    return solve_with(sites, mean, cov, remove(state.factor, row))
