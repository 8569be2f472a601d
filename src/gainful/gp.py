"""A Gaussian process to be conditioned on data: as stated, and what is not stated learned and integrated out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gainful.beliefs.integrated import Integrated
from gainful.data import Data
from gainful.errors import InvalidInput
from gainful.inference.belief import Belief
from gainful.inference.engines.base import Engine
from gainful.inference.engines.reaching import reaching
from gainful.inference.posterior import Posterior
from gainful.inference.solution import Inference
from gainful.kernels import Matern, Stationary
from gainful.kernels.mixed import over_all
from gainful.means import Mean, UnknownMean, Zero
from gainful.process import Process
from gainful.space import coordinates_of, require_places

__all__ = ["GP"]


@dataclass(frozen=True)
class GP(Process):
    """f ~ GP(mean, kernel), with priors on their hyperparameters.

    What is stated is kept. On a GP with a `space`, a parameter that is left at its default is not stated: it is scaled
    to the space and the answers, learned and integrated out; so is the kernel (a Matérn 5/2) when it is left out, and
    with either the mean. Without a space every parameter has the value that it shows.

    `priors` maps names (see `names`, and an instrument's own such as "lab.noise") to priors, by which `fit`,
    `Integrated` and whatever else learns will learn that parameter, stated or not. With a `space`, kernels and means
    may call its dimensions by name.

    >>> from gainful.kernels import SE
    >>> gp = GP(SE(lengthscale=0.2))
    >>> gp.names
    ('SE.lengthscale', 'SE.variance')
    >>> gp.with_theta([0.0, 0.0]).kernel
    SE(lengthscale=1.0, variance=1.0)
    """

    kernel: Any = None
    mean: Any = None

    def __post_init__(self) -> None:
        if self.kernel is None:
            if self.space is None:
                raise InvalidInput("kernel", "a kernel such as SE()", None, "or leave it out and give the space")
            object.__setattr__(self, "kernel", Matern())
        if self.space is not None:
            require_places("space", self.space)
        if isinstance(self.kernel, Stationary) and self.space is not None:
            object.__setattr__(self, "kernel", over_all(self.kernel, coordinates_of(self.space)))
        if self.mean is None:
            object.__setattr__(self, "mean", self._unstated_mean())
        super().__post_init__()

    def _unstated_mean(self) -> Mean:
        """Zero for a kernel that is stated, as in the textbooks."""
        stated = getattr(self.kernel, "stated", None)
        return Zero() if self.space is None or stated is None or bool(np.all(stated)) else UnknownMean()

    def condition(
        self,
        data: Data,
        inference: Inference | Engine | None = None,
        *,
        start: Posterior | Belief | None = None,
        rng: np.random.Generator | int = 0,
    ) -> Posterior | Belief:
        """What is believed given the data: exact if it can be, EP otherwise; no data gives the prior.

        One posterior where everything is stated. Otherwise a belief of several, weighted by what the answers say of the
        parameters that are not (`Integrated`); `start` is an earlier belief to go on from.
        """
        if self.is_stated:
            return self.posterior(data, inference)
        return Integrated(self, inference=reaching(inference, self.space)).integrate(data, start, rng)
