"""What models that become several posteriors have in common: learned as plain numbers, believed again from them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

import numpy as np

from gainful.beliefs.parts import Parts
from gainful.data import Data
from gainful.inference.belief import Belief
from gainful.inference.engines.base import Engine
from gainful.inference.posterior import Posterior
from gainful.inference.solution import Inference
from gainful.instruments.base import Instrument
from gainful.process import Process
from gainful.space import Places

__all__ = ["Learner", "Seed", "Start", "Used"]

Start = Belief | Posterior | None  # an earlier belief to go on from
Seed = np.random.Generator | int
Used = Iterable[Instrument]

_GROWTH = 4  # hyperparameters are learned anew when there are a quarter more answers


class Learner(ABC):
    """A model whose belief is several posteriors: `learn` finds its parts, `believe` conditions them on data."""

    @property
    @abstractmethod
    def processes(self) -> tuple[Process, ...]:
        """The rival GPs, in the order of their numbers; one where there are no rivals."""

    def space_of(self, model: int) -> Places | None:
        """The space of one of the rivals."""
        return self.processes[model].space

    @property
    @abstractmethod
    def method(self) -> Inference | Engine | None:
        """How each part is conditioned; None for what fits the data."""

    @abstractmethod
    def learn(self, data: Data, instruments: Used, start: Start = None, rng: Seed = 0) -> Parts:
        """What the data says of the hyperparameters of the models and of these instruments: to be written down."""

    @abstractmethod
    def typical(self, data: Data, instruments: Used) -> Parts:
        """Parts with typical hyperparameters for the scale of the data, where too little is known to learn any."""

    def require(self, parts: Parts, instruments: Used) -> None:
        """InvalidInput for parts that these models or instruments cannot have."""
        parts.require_for(self.processes, instruments)

    def due(self, known: int, new: int) -> bool:
        """Whether it is time to learn anew, when so many answers are new beside those that it has learned from."""
        return new >= max(1, known // _GROWTH)

    def believe(self, parts: Parts, data: Data, instruments: Used) -> Belief:
        """The belief of these parts given the data: nothing is sampled or fitted."""
        return parts.believe(self.processes, data, instruments, self.method)

    def integrate(self, data: Data, start: Start = None, rng: Seed = 0) -> Belief:
        """The belief given the data, by weighted parts."""
        return self.believe(self.learn(data, (), start, rng), data, ())
