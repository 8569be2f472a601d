"""What an engine is: a way to a belief about f from many answers that never asks for their whole covariance matrix.

    belief = engine.believe(mean, kernel, layout)

A belief is a Gaussian process again: it has a mean and a covariance between any two places. So a posterior puts it in
the place of its prior (`believed.py`), and whatever a posterior can do it can do behind an engine too: predict, draw,
be asked for slopes, take more answers of any kind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from gainful.errors import InvalidInput
from gainful.inference.convergence import Convergence
from gainful.inference.solution import gaussian_sites
from gainful.kernels.base import Kernel
from gainful.layout import Layout
from gainful.means import Mean

__all__ = [
    "Bounded",
    "Choosing",
    "Differentiable",
    "Engine",
    "EngineBelief",
    "Gradient",
    "Readable",
    "Readings",
    "Refinable",
    "read",
]

Array = NDArray[np.float64]


class Gradient(NamedTuple):
    """Slopes of the log evidence: in the kernel's theta and the mean's, and in the logarithm of each answer's noise,
    (F,)."""

    kernel: Array
    mean: Array
    noise: Array


@runtime_checkable
class EngineBelief(Protocol):
    """What is believed about f after many answers."""

    @property
    def log_evidence(self) -> float: ...

    @property
    def convergence(self) -> Convergence: ...

    def mean(self, X: Array) -> Array:
        """E[f] at each place, (M,)."""

    def variance(self, X: Array) -> Array:
        """Var[f] at each place, (M,)."""

    def covariance(self, X: Array, Z: Array) -> Array:
        """Cov[f(X), f(Z)], (M, L), whose diagonal is the variance."""

    def gradient(self) -> Gradient:
        """Of the log evidence."""


@runtime_checkable
class Differentiable(Protocol):
    """A belief that has its slopes in closed form; those of others are differences."""

    def pull_mean(self, X: Array, g: Array) -> Array:
        """d Σ g_i E[f(x_i)] / dX, (M, D)."""

    def pull_variance(self, X: Array, g: Array) -> Array:
        """d Σ g_i Var[f(x_i)] / dX, (M, D)."""

    def pull_covariance(self, X: Array, Z: Array, G: Array) -> Array:
        """d Σ G_ij Cov[f(x_i), f(z_j)] / dX, (M, D), with G (M, L)."""


@runtime_checkable
class Engine(Protocol):
    """A way to such a belief; `start` is an earlier one of the same engine that it may go on from."""

    def believe(
        self, mean: Mean, kernel: Kernel, layout: Layout, start: EngineBelief | None = None
    ) -> EngineBelief: ...


@runtime_checkable
class Refinable(Protocol):
    """An engine that knows a nearer one, dearer, for where a belief of its own leaves much."""

    def refined(self, belief: EngineBelief) -> Engine | None:
        """The nearer engine; None where it would not be worth what it takes, or the user has said how near."""


@runtime_checkable
class Choosing(Protocol):
    """An engine that is another one, according to the prior: a search has to keep to one, and begins with `first`."""

    @property
    def first(self) -> Engine: ...

    def chosen(self, mean: Mean, kernel: Kernel, layout: Layout) -> Engine: ...

    def closing(self, belief: EngineBelief) -> Engine | None:
        """Another one for what is believed where a search ended, if that is worth it."""


@runtime_checkable
class Bounded(Protocol):
    """An engine that needs arrays as large as the readings are many, squared."""

    def require_room(self, readings: int) -> None:
        """InvalidInput for more readings than there can be."""


class Readings(NamedTuple):
    """Numbers that were read at places, one each: places (N, D), the readings less the prior mean, and the variance of
    their noise, (N,) each."""

    X: Array
    residual: Array
    noise: Array


@runtime_checkable
class Readable(Protocol):
    """A belief whose mean is linear in the readings, and that can be asked for that of others at the same places."""

    @property
    def readings(self) -> Readings: ...

    def from_residual(self, residual: Array) -> Callable[[Array], Array]:
        """x -> what is believed of f above the prior mean, from other readings less that mean, (N,)."""


@runtime_checkable
class Drawable(Protocol):
    """A belief that moves a function drawn from the prior, so that it is one drawn from the belief."""

    def moving(self, prior: Callable[[Array], Array], rng: np.random.Generator) -> Callable[[Array], Array]:
        """x -> by how much the drawn function is moved there."""


def read(engine: object, mean: Mean, layout: Layout) -> Readings:
    """The readings of a layout; InvalidInput where there are other answers, or numbers without noise."""
    name = type(engine).__name__
    if not (layout.gaussian and layout.direct):
        kinds = sorted({type(s.instrument).__name__ for s in layout.sources})
        remedy = "Inducing() takes yes/no, ranks, intervals and counts as well; EP() takes everything"
        raise InvalidInput("inference", f"numbers read at places for {name}()", f"answers of {kinds}", remedy)
    sites = gaussian_sites(layout)
    if not np.all(np.isfinite(sites.precision)):
        raise InvalidInput(
            "inference", f"readings with some noise for {name}()", "a noise of 0", "state a noise, however small"
        )
    noise = 1.0 / sites.precision
    return Readings(layout.places, sites.shift * noise - mean(layout.places), noise)
