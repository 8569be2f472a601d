"""A function drawn from the belief, as a function: it can be asked anywhere, as often as one likes.

    f(x) = f₀(x) + k(x, Z) Aᵀ Rᵀ B⁻¹ (t − R A f₀(Z) − ε),   f₀ from the prior, ε ~ N(0, diag(s))

is a draw from the posterior if f₀ is one from the prior (Matheron's rule; Wilson et al. 2020), in the root form of the
sites (`conditioned.py`). Here f₀ is a sum of random waves of the kernel (`Kernel.features`), with the prior's mean and
nearly its covariance; how far an answer moves it is the posterior's own, so that draws agree with the answers wherever
there are any. A draw takes one solve, and O(F + N) for each place: no covariance among the places is ever formed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gainful.errors import InvalidInput
from gainful.inference.engines.base import Drawable, Readable
from gainful.kernels.base import Kernel
from gainful.means import Mean
from gainful.numerics.blas import matmul
from gainful.numerics.memory import in_blocks

if TYPE_CHECKING:
    from gainful.inference.posterior import Posterior

__all__ = ["draw_function"]

Array = NDArray[np.float64]
Function = Callable[[Array], Array]

_DRAWN = "Exact(), Single(), Vecchia(), Inducing(), Iterative() or SKIP()"
_ANYWAY = "posterior.sample(X) draws at stated places from any belief"


def draw_function(posterior: Posterior, count: int, rng: np.random.Generator) -> Function:
    """A draw from the belief, places (M, D) -> values (M,), by `count` random waves."""
    if posterior.draws is not None:
        raise InvalidInput("inference", "a Gaussian belief", "one that is made of draws", _ANYWAY)
    before = _before_later_answers(posterior, count, rng)
    layout, state = posterior.layout, posterior.solution.state
    if not layout.size:
        return before
    root = state.root
    if np.any(root.sign < 0.0):
        expected = "answers that narrow the belief, each by itself"
        raise InvalidInput("inference", expected, "some that widen it", _ANYWAY)
    noise = np.sqrt(root.sign) * rng.standard_normal(layout.size)
    apart = root.target - root.times(layout.pick(before(layout.places))) - noise
    alpha = root.transposed_times(state.factor.solve(apart))
    predictor = posterior.predictor

    def moved(X: Array) -> Array:
        return before(X) + in_blocks(lambda part: matmul(predictor.seen(X[part]).T, alpha), len(X), predictor.each)

    return moved


def _before_later_answers(posterior: Posterior, count: int, rng: np.random.Generator) -> Function:
    """From the prior, or from what an engine believes after the first answers."""
    dimensions = posterior.data.dimensions
    prior = _from_prior(posterior.prior_mean, posterior.kernel, dimensions, count, rng)
    belief = posterior.behind
    if belief is None:
        return prior
    if isinstance(belief, Drawable):
        change = belief.moving(prior, rng)
        return lambda X: prior(X) + change(X)
    if not isinstance(belief, Readable):
        raise InvalidInput(
            "inference", "Exact(), Single(), Vecchia(), Iterative() or SKIP()", posterior.inference, _ANYWAY
        )
    readings = belief.readings
    noise = np.sqrt(readings.noise) * rng.standard_normal(len(readings.X))
    drawn = prior(readings.X) - posterior.prior_mean(readings.X)
    change = belief.from_residual(readings.residual - drawn - noise)
    return lambda X: prior(X) + change(X)


def _from_prior(mean: Mean, kernel: Kernel, dimensions: int | None, count: int, rng: np.random.Generator) -> Function:
    if dimensions is None:
        expected = "data that say how many coordinates a place has"
        raise InvalidInput("data", expected, "none", "condition on an answer, or sample(X) at stated places")
    features = kernel.features(dimensions, count, rng)
    a, b = rng.standard_normal((2, count)) / np.sqrt(count)

    def function(X: Array) -> Array:
        def of(part: slice) -> Array:
            phi = features(X[part])
            return np.asarray(phi.real @ a + phi.imag @ b)

        return mean(X) + in_blocks(of, len(X), 6 * count)

    return function
