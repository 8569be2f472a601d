"""The evidence of clusterings of tasks, with their hyperparameters integrated out about the most probable ones.

It depends on the clustering and on the answers alone, not on where a chain has been. All clusterings have the same
hyperparameters, so each search begins from the most probable of the same three points: typical values, and where the
searches for all tasks together and for each task alone have ended. To search from all three found nothing better.

Beside tens of thousands of draws from the priors, for twelve to fifteen readings of three tasks it is 0.0 to 0.2 nats
low; where each task is alone up to 0.6, since shared and own functions then trade places and only one mode counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from gainful.beliefs.integrated import mode_from, part_of, starts_of, unused_by
from gainful.beliefs.partitions.partition import Partition, alone, together
from gainful.beliefs.parts import Part
from gainful.data import Data
from gainful.hyper.integral import spread_points
from gainful.hyper.unstated import Opened, open_up
from gainful.inference.engines.base import Engine
from gainful.inference.posterior import solve
from gainful.inference.solution import Inference
from gainful.instruments.base import Instrument
from gainful.process import Process

__all__ = ["Explained", "Fit"]

Array = NDArray[np.float64]

_SEED = 0  # of the draws from the priors where the first two searches may begin: the same for the same answers


@dataclass(frozen=True, eq=False)
class Fit:
    """The most probable theta of a clustering, and its log evidence."""

    theta: Array
    log_evidence: float


@dataclass(eq=False)
class Explained:
    """Answers as clusterings of `tasks` tasks explain them, each by the GP that `process` makes of it."""

    tasks: int
    process: Callable[[Partition], Process]
    data: Data
    instruments: tuple[Instrument, ...] = ()
    inference: Inference | Engine | None = None
    found: dict[Partition, Fit] = field(default_factory=dict)

    def log_evidence(self, clustering: Partition) -> float:
        """log p(answers | clustering): as `Models` has it, and exact where everything is stated and answers are
        numbers."""
        return self.fit(clustering).log_evidence

    def fit(self, clustering: Partition) -> Fit:
        if clustering not in self.found:
            references = (together(self.tasks), alone(self.tasks))
            begins = None if clustering in references else np.stack([self.fit(each).theta for each in references])
            self.found[clustering] = self._fit(clustering, begins)
        return self.found[clustering]

    def _fit(self, clustering: Partition, begins: Array | None) -> Fit:
        problem = self._opened(clustering).problem
        if not len(problem.free):
            return Fit(problem.theta, problem.log_density(problem.theta)[0])
        if begins is None:
            first = starts_of(problem, None, 0, np.random.default_rng(_SEED))
        else:
            several = np.concatenate([begins, problem.theta[None]])
            evidence, prior = problem.log_densities(several)
            first = several[[int(np.argmax(evidence + prior))]]
        mode = mode_from(problem, first)
        points = spread_points(mode)
        evidence, prior = mode.log_densities(points.theta)
        return Fit(mode.theta, float(logsumexp(points.log_volume + evidence + prior)))

    def _opened(self, clustering: Partition) -> Opened:
        return open_up(self.process(clustering), self.data, self.inference, self.instruments)

    def part(self, clustering: Partition, log_share: float, decimals: int, program: str) -> Part:
        """The clustering at its most probable hyperparameters, to weigh `log_share` once these answers count."""
        opened, theta = self._opened(clustering), self.fit(clustering).theta
        free = len(opened.problem.free) > 0
        parameters = opened.rounded(theta, decimals) if free else opened.problem.parameters
        gp, seen = opened.problem.having(parameters)
        likelihood = solve(gp.mean, gp.kernel, seen, opened.problem.inference).log_evidence
        besides = round(log_share - likelihood, decimals)
        own = part_of(opened, parameters, unused_by(opened, self.instruments), besides, 0)
        return Part(own.gp, own.instruments, besides, 0, program)
