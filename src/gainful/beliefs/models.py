"""Rival models, each a GP, weighed by their evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.beliefs.integrated import integrated_parts, typical_part
from gainful.beliefs.learner import Learner, Seed, Start, Used
from gainful.beliefs.parts import Part, Parts
from gainful.checks import as_rng, column_names, listed, numbers, require
from gainful.data import Data
from gainful.inference.belief import Belief
from gainful.inference.engines.base import Engine
from gainful.inference.solution import Inference
from gainful.inference.solving import method_for
from gainful.process import Process

__all__ = ["Models"]

Array = NDArray[np.float64]

_ROUNDING = 1e-12  # of a sum of probabilities


@dataclass(frozen=True, init=False)
class Models(Learner):
    """Rival GPs with prior probabilities; what each leaves unstated is integrated out.

    The evidence of each is Laplace's, corrected by importance (see `hyper/integral`); it is exact where everything is
    stated and the answers are numbers.

    >>> import gainful as gf
    >>> data = gf.Data().add(gf.Point(0.1), [[0.0], [0.5], [1.0]], [0.0, 0.5, 1.0])
    >>> belief = gf.Models([gf.GP(gf.Linear(1.0)), gf.GP(gf.SE(0.05, 1.0))]).condition(data)
    >>> belief.model_weights.round(2).tolist()
    [0.99, 0.01]
    """

    gps: tuple[Process, ...]
    prior: tuple[float, ...]
    inference: Inference | Engine | None = None

    def __init__(
        self, gps: Sequence[Process], prior: ArrayLike | None = None, inference: Inference | Engine | None = None
    ) -> None:
        several = tuple(listed(gps) or ())
        usable = bool(several) and all(isinstance(each, Process) for each in several)
        require(usable, "gps", "one or more GPs", gps, "for instance [GP(SE(0.2)), GP(Linear())]")
        expected = f"{len(several)} positive probabilities"
        require(column_names(prior) is None, "prior", expected, prior, "pass .to_numpy(), in the order of the models")
        given = np.full(len(several), 1.0) if prior is None else numbers("prior", prior, expected)
        fine = given.shape == (len(several),) and bool(np.all(np.isfinite(given) & (given > 0.0)))
        require(fine, "prior", expected, prior, "one for each model; leave a model out that cannot be")
        method_for(Data().layout, inference)  # says so, if it is none
        object.__setattr__(self, "gps", several)
        # What sums to one already, rounding left aside, is kept: a journal's numbers make the same value again.
        shares = given if abs(given.sum() - 1.0) < _ROUNDING else given / given.sum()
        object.__setattr__(self, "prior", tuple(shares.tolist()))
        object.__setattr__(self, "inference", inference)

    @property
    def processes(self) -> tuple[Process, ...]:
        return self.gps

    @property
    def method(self) -> Inference | Engine | None:
        return self.inference

    def condition(self, data: Data, start: Start = None, rng: Seed = 0) -> Belief:
        """The belief given the data; `start` is an earlier one to go on from."""
        return self.integrate(data, start, rng)

    def learn(self, data: Data, instruments: Used, start: Start = None, rng: Seed = 0) -> Parts:
        """What the data says of the hyperparameters of every model: to be written down."""
        several, generator = tuple(instruments), as_rng(rng)
        out: list[Part] = []
        for number, (gp, share) in enumerate(zip(self.gps, self.prior, strict=True)):
            found = integrated_parts(gp, data, several, self.inference, start, generator, number)
            out.extend(replace(each, log_weight=each.log_weight + float(np.log(share))) for each in found)
        return Parts(tuple(out))

    def typical(self, data: Data, instruments: Used) -> Parts:
        """One part for each model, with typical hyperparameters for the scale of the data."""
        several = tuple(instruments)
        parts = [typical_part(gp, data, several, self.inference, number) for number, gp in enumerate(self.gps)]
        return Parts(tuple(replace(p, log_weight=float(np.log(q))) for p, q in zip(parts, self.prior, strict=True)))
