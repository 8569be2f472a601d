"""A kernel's own metric: coordinates scaled so that equal steps change the function equally.

With γ_d(h) = E[½ k(x, x) + ½ k(x′, x′) − k(x, x′)], where x′ is x moved by h along column d (half the variance of
f(x) − f(x′), the semivariogram), each column is divided by the step at which γ_d reaches a small share of the largest
semivariance that any column shows. Of a kernel of distances these steps are in the proportion of its lengthscales,
whatever its profile; of a sum, a product or a kernel of one's own they are what it makes of them near the data. A
column that the kernel does not see gets the scale 0, and so does one of a single value, which tells no places apart.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gainful.kernels.base import Kernel

__all__ = ["column_scales"]

Array = NDArray[np.float64]

_PLACES = 256  # of the data, at which the kernel is asked
_OCTAVES = 20  # of steps, from half the range of a column down to a millionth of it
_SHARE = 0.05  # of the largest semivariance: a step that is small, and large enough to stand above rounding
_UNSEEN = 1e-13  # of the prior variance: what rounding may make of no change at all
_HALVINGS = 45  # of an octave, in its logarithm: to the last digit


def column_scales(kernel: Kernel, X: Array) -> Array:
    """One over the step of each column of X (N, D) that changes f as much as those of the others, (D,); 0 where none
    does.

    >>> from gainful.kernels import SE
    >>> X = np.random.default_rng(0).uniform(size=(50, 3))
    >>> scales = column_scales(SE((0.1, 0.4)).on(0, 2), X)
    >>> scales[1], round(float(scales[0] / scales[2]), 6)
    (np.float64(0.0), 4.0)
    """
    out = np.zeros(X.shape[1])
    if len(X) < 2:
        return out
    some = X[np.unique(np.linspace(0, len(X) - 1, _PLACES).astype(np.intp))]
    low, high = X.min(axis=0), X.max(axis=0)
    inwards = np.where(some > 0.5 * (low + high), -1.0, 1.0)  # half the range either way, and still among the data
    prior = kernel.diag(some)

    def semivariance(d: int, step: float) -> float:
        moved = some.copy()
        moved[:, d] += step * inwards[:, d]
        return float(np.mean(0.5 * (prior + kernel.diag(moved)) - kernel.rowwise(some, moved)))

    varying = np.flatnonzero(high > low)
    steps = {int(d): 0.5 * float(high[d] - low[d]) * 0.5 ** np.arange(_OCTAVES, -1, -1) for d in varying}
    found = {d: np.array([semivariance(d, step) for step in steps[d].tolist()]) for d in steps}
    largest = max((float(values.max()) for values in found.values()), default=0.0)
    target = _SHARE * largest
    for d, values in found.items():
        if values.max() <= _UNSEEN * float(prior.mean()):
            continue
        reached = np.flatnonzero(values >= target)
        if not len(reached):  # further than the data reach, by the power law that they end with
            power = np.clip(np.log2(values[-1] / max(values[-2], 0.25 * values[-1])), 1.0, 2.0)
            out[d] = (values[-1] / target) ** (1.0 / power) / steps[d][-1] if values[-1] > 0.0 else 0.0
            continue
        upper = float(steps[d][reached[0]])
        lower = upper if reached[0] == 0 else 0.5 * upper
        for _ in range(_HALVINGS if lower < upper else 0):
            middle = float(np.sqrt(lower * upper))
            lower, upper = (lower, middle) if semivariance(d, middle) >= target else (middle, upper)
        out[d] = 1.0 / upper
    return out
