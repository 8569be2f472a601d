"""Learns a campaign's hyperparameters anew when its schedule says so, as an event to be written down."""

from __future__ import annotations

import warnings
from dataclasses import replace
from math import floor, log10

import numpy as np
from numpy.typing import NDArray

from gainful.beliefs.learner import Learner
from gainful.campaign.events import Believed, Fitted
from gainful.campaign.state import State
from gainful.errors import GainfulWarning, NumericalError
from gainful.gp import GP
from gainful.hyper import fit
from gainful.hyper.problem import Problem, parameter_names
from gainful.parameters import IDENTITY, natural
from gainful.priors import Flat, Prior

__all__ = ["learn"]

Array = NDArray[np.float64]

_DECIMALS = 4  # of theta: see `rounded`


def learn(state: State) -> tuple[Fitted | Believed, list[warnings.WarningMessage]]:
    """What the answers so far teach about the hyperparameters, and what was warned of on the way."""
    return _fit(state) if state.design.learner is None else _believe(state, state.design.learner)


def _believe(state: State, learner: Learner) -> tuple[Believed, list[warnings.WarningMessage]]:
    """The parts of a belief of several; the search for them begins where the last ones are."""
    known, answers = state.known, len(state.told)
    rng = np.random.default_rng([state.design.seed, state.events])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            start = None if known.parts is None else known.belief
            return Believed(answers, learner.learn(known.data, state.design.instruments, start, rng)), caught
        except NumericalError as trouble:
            failed = f"hyperparameters could not be learned and stay as they were: {trouble}"
            warnings.warn(failed, GainfulWarning, stacklevel=2)
            return Believed(answers, failed=failed), caught


def _fit(state: State) -> tuple[Fitted, list[warnings.WarningMessage]]:
    answers = len(state.told)
    if answers < (state.design.refit or 0):  # answers were withdrawn: what was learned from them is forgotten
        return Fitted(answers), []
    rng = np.random.default_rng([state.design.seed, answers])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            data, gp = state.known.data, state.design.model
            assert isinstance(gp, GP)
            answered = parameter_names(gp, data.instruments)  # the others' priors are for when they are used
            gp = replace(gp, priors={name: prior for name, prior in gp.priors.items() if name in answered})
            found = fit(gp, data, inference=state.design.reaching, rng=rng)
        except NumericalError as trouble:
            failed = f"hyperparameters could not be learned and stay as they were: {trouble}"
            warnings.warn(failed, GainfulWarning, stacklevel=2)
            return Fitted(answers, failed=failed), caught
    sizes = [gp.size, *(each.size for each in data.instruments)]
    theta, *others = np.split(rounded(found.problem, found.theta), np.cumsum(sizes)[:-1])
    thetas = {each.label: tuple(own.tolist()) for each, own in zip(data.instruments, others, strict=True)}
    return Fitted(answers, tuple(theta.tolist()), thetas), caught


def rounded(problem: Problem, theta: Array) -> Array:
    """What was learned, without digits that the fit does not promise and that differ with the number of threads.

    A search ends when a step gains no more than 2e-9 of log p, and near the maximum log p falls by about N δ²/4 when a
    logarithm is off by δ: δ is known to some 1e-4. A number of any sign is rounded to as much of its prior's
    interquartile range. What rounding would take out of its prior's bounds stays as it is, and so does what is fixed.
    """
    out = theta.copy()
    for i in problem.free:
        slot, prior = problem.slots[i], problem.priors[i]
        decimals = _DECIMALS if slot.transform != IDENTITY else _decimals_within(prior)
        if decimals is None:
            continue
        new = round(float(theta[i]), decimals)
        if np.isfinite(prior.log_density(float(natural([slot], np.array([new]))[0]))):
            out[i] = new
    return out


def _decimals_within(prior: Prior) -> int | None:
    """The decimals of a number that this prior is about; None where it does not say."""
    if isinstance(prior, Flat):
        return None
    spread = prior.quantile(0.75) - prior.quantile(0.25)
    return _DECIMALS - floor(log10(spread)) if 0.0 < spread < np.inf else None
