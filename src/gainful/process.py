"""A Gaussian process as a value: mean, kernel, priors on their hyperparameters, and the space that they speak of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gainful.checks import column_names
from gainful.data import Data
from gainful.errors import InvalidInput
from gainful.inference.contradiction import warn_if_contradicted
from gainful.inference.engines.base import Engine
from gainful.inference.engines.choosing import comparable
from gainful.inference.engines.reaching import reaching
from gainful.inference.evidence import evidence_and_gradient
from gainful.inference.posterior import Posterior, solve, warn_about
from gainful.inference.solution import Inference
from gainful.inference.solving import method_for, warn_if_jittered, warn_if_unconverged
from gainful.kernels.base import Kernel
from gainful.kernels.warped import warped
from gainful.means import Mean, UnknownMean, Zero
from gainful.parameters import Parametrised
from gainful.priors import Prior
from gainful.space import Places, coordinates_of, require_places

__all__ = ["Process"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Process(Parametrised):
    """f ~ GP(mean, kernel), with priors on their hyperparameters: what a `GP` is before it is conditioned.

    `priors` maps names (see `names`, and an instrument's own such as "lab.noise") to priors. With a `space`, kernels
    and means may call its dimensions by name.
    """

    kernel: Kernel
    mean: Mean = field(default_factory=Zero)
    priors: Mapping[str, Prior] = field(default_factory=dict, hash=False)
    space: Places | None = None

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
            object.__setattr__(self, "kernel", warped(self.kernel, coordinates_of(self.space)))
            object.__setattr__(self, "mean", self.mean.bind(self.space.names))

    @property
    def is_stated(self) -> bool:
        """Whether nothing was left open: there is no space to scale it by, or everything is stated."""
        return self.space is None or (bool(np.all(self.stated)) and not isinstance(self.mean, UnknownMean))

    def posterior(self, data: Data, inference: Inference | Engine | None = None) -> Posterior:
        """The posterior with the parameters as they are: exact if it can be, EP otherwise; no data gives the prior."""
        found = warn_about(solve(self.mean, self.kernel, self.fitting(data), reaching(inference, self.space)))
        return warn_if_contradicted(found, stacklevel=4)

    def log_evidence_and_gradient(self, data: Data, inference: Inference | Engine | None = None) -> tuple[float, Array]:
        """log p(answers | theta) and its gradient, in the order of `theta`."""
        data = self.fitting(data)
        method = comparable(method_for(data.layout, reaching(inference, self.space)), data.layout)
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
        return data if names is None else data.called(names, self.space)


def _require_names(priors: Mapping[str, Prior], names: tuple[str, ...]) -> None:
    """Refuse priors for what no parameter is called, as far as can be said before there are instruments."""
    owners = {name.partition(".")[0] for name in names}
    for name in priors:
        owner, dot, _ = name.partition(".") if isinstance(name, str) else ("", "", "")
        if not (owner and dot) or (owner in owners and name not in names):
            expected = f"names among {list(names)}, or an instrument's own such as 'lab.noise'"
            raise InvalidInput("priors", expected, name, "see gp.names and instrument.names")
