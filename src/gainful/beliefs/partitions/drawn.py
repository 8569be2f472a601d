"""Parameters of an additive model, drawn from p(theta | answers): what few answers leave open of them widens the bands.

A Markov chain on ellipses of the normal distribution that Laplace's approximation is, a little wider, with the actual
density as its law (`numerics/elliptical`). With twenty numbers and fifty answers the approximation itself is too rough
to draw from, and weighing its draws would leave one of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from gainful.beliefs.partitions.evidence import Additively, Fit
from gainful.kernels.additive import Terms
from gainful.numerics.elliptical import Target, slice_step

__all__ = ["drawn"]

Array = NDArray[np.float64]

_WIDER = 1.2  # the variance of ellipses over that of Laplace's approximation
_STEPS, _FIRST = 10, 30  # from one draw to the next, and from the most probable parameters to the first


def drawn(answers: Additively, terms: Terms, fit: Fit, count: int, rng: np.random.Generator) -> list[Array]:
    """So many draws of theta, all of the same weight; `fit` is that of these terms.

    In coordinates y of the free part, theta = theta_hat + sqrt(1.2) R y with R Rᵀ = F⁻¹, the law is
    p(answers, theta) exp(½ y·y) N(y; 0, I), and none is farther out than a search may go.
    """
    assert fit.curvature is not None
    free = answers.free(terms)
    # R = U⁻¹ where F = Uᵀ U.
    factor, info = lapack.dpotrf(np.asfortranarray(fit.curvature), lower=0)
    assert info == 0, "priors make a curvature positive"
    root = np.sqrt(_WIDER) * lapack.dtrtri(factor, lower=0)[0]

    def theta(y: Array) -> Array:
        return fit.theta + np.triu(root).dot(y)[free]

    def log_ratio(points: Array) -> Array:
        out = np.full(len(points), -np.inf)
        for i, y in enumerate(points):
            here = theta(y)
            if answers.within_reach(terms, here):
                out[i] = answers.log_values(terms, here)[0] + 0.5 * float(y @ y)
        return out

    law = Target(log_ratio, np.zeros((0, len(root))), np.zeros(0), np.zeros(0))
    y, found = np.zeros((1, len(root))), []
    logs = log_ratio(y)
    for i in range(count):
        for _ in range(_FIRST if i == 0 else _STEPS):
            y, logs = slice_step(law, y, logs, rng)
        found.append(theta(y[0]))
    return found
