"""A Markov chain over which dimensions act together, given the answers.

    state = init(target, terms)
    state, info = step(state, target, rng)

What is visited is visited in proportion to p(terms) p(answers | terms), if that is a function of the terms alone: the
evidence that was found first is kept for as long as the answers are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import log
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gainful.beliefs.partitions.evidence import Begin, Fit
from gainful.beliefs.partitions.graph import is_graph, is_partition, log_graph_prior, other_form, stepped
from gainful.beliefs.partitions.partition import Move, log_ways, moved_one, proposed
from gainful.kernels.additive import Terms

__all__ = ["FORMS", "PRIORS", "Explains", "Info", "State", "Target", "init", "log_prior", "step"]

Array = NDArray[np.float64]

FORMS = ("partitions", "graphs", "both")
PRIORS = ("blocks", "partitions")
_ACROSS = 0.1  # the share of steps that try the other form, where there are two


class Explains(Protocol):
    """Answers that additive models are to explain."""

    @property
    def dimensions(self) -> int: ...

    def fit(self, terms: Terms, starts: Sequence[Begin] = (), wide: bool = True) -> Fit: ...

    def begin(self, terms: Terms, near: Terms, fit: Fit) -> Begin: ...

    def log_likelihood(self, terms: Terms, theta: Array) -> float: ...

    def asked_for(self, terms: Terms, theta: Array) -> list[tuple[int, int]]: ...


def log_prior(terms: Terms, dimensions: int, form: str, prior: str) -> float:
    """log p(terms). Of partitions: "partitions", all as probable; "blocks", every number of blocks as probable, and all
    partitions with that number. Of both forms: each has a half, and what both have, no interaction at all, two."""
    shares = []
    if form != "graphs" and is_partition(terms):
        ways = log_ways(dimensions)
        blocks = ways[len(terms)] + log(dimensions)
        shares.append(-blocks if prior == "blocks" else -float(np.logaddexp.reduce(ways)))
    if form != "partitions" and is_graph(terms):
        shares.append(log_graph_prior(terms, dimensions))
    return float(np.logaddexp.reduce(shares)) - (log(2.0) if form == "both" else 0.0)


@dataclass(eq=False)
class Target:
    """p(terms) p(answers | terms), each worked out once; `known` are parameters to begin with, of models that were
    fitted to earlier answers."""

    answers: Explains
    form: str
    prior: str
    published: bool = False
    known: dict[Terms, Array] = field(default_factory=dict)
    found: dict[Terms, Fit] = field(default_factory=dict)
    _densities: dict[Terms, float] = field(default_factory=dict)
    _likelihoods: dict[Terms, float] = field(default_factory=dict)

    def fit(self, terms: Terms, near: Terms | None = None) -> Fit:
        """The fitted model; the search begins from one that is like it, if there is one, and from what is known of it
        by earlier answers."""
        if terms not in self.found:
            starts = [] if near is None else [self.answers.begin(terms, near, self.found[near])]
            starts += [Begin(self.known[terms])] if terms in self.known else []
            self.found[terms] = self.answers.fit(terms, starts, wide=near is None)
        return self.found[terms]

    def log_density(self, terms: Terms, near: Terms | None = None) -> float:
        """log p(terms) p(answers | terms)."""
        if terms not in self._densities:
            prior = log_prior(terms, self.answers.dimensions, self.form, self.prior)
            self._densities[terms] = self.fit(terms, near).log_evidence + prior
        return self._densities[terms]

    def log_likelihood(self, terms: Terms) -> float:
        """log p(answers) at the parameters of a model that was fitted."""
        if terms not in self._likelihoods:
            self._likelihoods[terms] = self.answers.log_likelihood(terms, self.found[terms].theta)
        return self._likelihoods[terms]

    def propose(self, here: Terms, rng: np.random.Generator) -> Move:
        """Where the chain may go; each kind of step has its own balance, so that they can be mixed."""
        D = self.answers.dimensions
        if self.form == "both" and rng.random() < _ACROSS:
            return Move(other_form(here, D), 0.0)
        as_graph = self.form == "graphs" or not is_partition(here)
        between = self.form == "both" and is_graph(here) and not as_graph  # no interaction at all: either may come next
        if as_graph or (between and rng.random() < 0.5):
            there, ratio = stepped(here, D, rng)
        elif self.published or rng.random() < 0.5:
            there, ratio = proposed(here, rng)
        else:
            there, ratio = moved_one(here, rng)
        return Move(there, ratio + self._log_share(there) - self._log_share(here))

    def _log_share(self, terms: Terms) -> float:
        """Of the steps from there, those of the one form or of the other."""
        return log(0.5) if self.form == "both" and is_graph(terms) and is_partition(terms) else 0.0


@dataclass(frozen=True)
class State:
    """Where the chain is, and log p(terms) p(answers | terms) there."""

    terms: Terms
    log_density: float


@dataclass(frozen=True)
class Info:
    """What a step tried and whether it went there, and how many models have been fitted so far."""

    proposed: Terms
    accepted: bool
    fitted: int


def init(target: Target, terms: Terms) -> State:
    """A chain that begins with these terms."""
    return State(terms, target.log_density(terms))


def step(state: State, target: Target, rng: np.random.Generator) -> tuple[State, Info]:
    """One step, by Metropolis and Hastings."""
    there, ratio = target.propose(state.terms, rng)
    if there == state.terms:
        return state, Info(there, False, len(target.found))
    density = target.log_density(there, state.terms)
    accepted = log(max(rng.random(), 1e-300)) < density - state.log_density + ratio
    return (State(there, density) if accepted else state), Info(there, accepted, len(target.found))
