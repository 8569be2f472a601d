"""A Gaussian process prior: mean, kernel and priors on their hyperparameters, to be conditioned on data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gainful.checks import column_names
from gainful.data import Data
from gainful.errors import InvalidInput
from gainful.inference.evidence import evidence_and_gradient
from gainful.inference.posterior import Posterior, solve, warn_about
from gainful.inference.solution import Inference
from gainful.inference.solving import method_for, warn_if_jittered, warn_if_unconverged
from gainful.kernels.base import Kernel
from gainful.means import Mean, Zero
from gainful.parameters import Parametrised
from gainful.priors import Prior
from gainful.space import Space, require_places

__all__ = ["GP"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class GP(Parametrised):
    """f ~ GP(mean, kernel), with priors on their hyperparameters.

    `priors` maps names (see `names`, and an instrument's own such as "lab.noise") to priors; what is not named gets a
    default from the scale of the space or of the data. With a `space`, kernels and means may call its dimensions by
    name.

    >>> from gainful.kernels import SE
    >>> gp = GP(SE(lengthscale=0.2))
    >>> gp.names
    ('SE.lengthscale', 'SE.variance')
    >>> gp.with_theta([0.0, 0.0]).kernel
    SE(lengthscale=1.0, variance=1.0)
    """

    kernel: Kernel
    mean: Mean = field(default_factory=Zero)
    priors: Mapping[str, Prior] = field(default_factory=dict, hash=False)
    space: Space | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise InvalidInput("kernel", "a kernel such as SE()", self.kernel, "pass it first")
        if not isinstance(self.mean, Mean):
            raise InvalidInput("mean", "a mean such as ConstantMean()", self.mean, "leave it out for zero")
        if not isinstance(self.priors, Mapping) or not all(isinstance(p, Prior) for p in self.priors.values()):
            remedy = "for instance {'SE.lengthscale': LogNormal(0, 1)}"
            raise InvalidInput("priors", "a mapping from names to priors", self.priors, remedy)
        _require_names(self.priors, self.names)
        if self.space is not None:
            require_places("space", self.space)
            object.__setattr__(self, "kernel", self.kernel.bind(self.space.names))
            object.__setattr__(self, "mean", self.mean.bind(self.space.names))

    def condition(self, data: Data, inference: Inference | None = None) -> Posterior:
        """The posterior given the data: exact if it can be, EP otherwise; no data gives the prior."""
        return warn_about(solve(self.mean, self.kernel, self.fitting(data), inference))

    def log_evidence_and_gradient(self, data: Data, inference: Inference | None = None) -> tuple[float, Array]:
        """log p(answers | theta) and its gradient, in the order of `theta`."""
        data = self.fitting(data)
        method = method_for(data.layout, inference)
        found = evidence_and_gradient(self.mean, self.kernel, data, method, instruments=False)
        warn_if_jittered(found.jitter, stacklevel=3)
        warn_if_unconverged(found.convergence, stacklevel=3)
        return found.value, np.concatenate([found.kernel, found.mean])

    def fitting(self, data: Data) -> Data:
        """The data, called as the space calls its dimensions; InvalidInput if it is none, or has other places."""
        if not isinstance(data, Data):
            raise InvalidInput("data", "a Data value", data, "for instance Data().add(Point(noise=0.1), X, y)")
        if self.space is not None and data.dimensions not in (None, len(self.space.names)):
            raise InvalidInput(
                "data",
                f"places with {len(self.space.names)} coordinates, like the space",
                data.dimensions,
                "match them",
            )
        names = column_names(self.space)
        return data if names is None else data.called(names)


def _require_names(priors: Mapping[str, Prior], names: tuple[str, ...]) -> None:
    """Refuse priors for what no parameter is called, as far as can be said before there are instruments."""
    owners = {name.partition(".")[0] for name in names}
    for name in priors:
        owner, dot, _ = name.partition(".") if isinstance(name, str) else ("", "", "")
        if not (owner and dot) or (owner in owners and name not in names):
            expected = f"names among {list(names)}, or an instrument's own such as 'lab.noise'"
            raise InvalidInput("priors", expected, name, "see gp.names and instrument.names")
