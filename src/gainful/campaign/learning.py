"""Learns a campaign's hyperparameters anew when its schedule says so, as an event to be written down."""

from __future__ import annotations

import warnings

import numpy as np

from gainful.campaign.events import Fitted
from gainful.campaign.state import State
from gainful.errors import GainfulWarning, NumericalError
from gainful.hyper import fit

__all__ = ["learn"]


def learn(state: State) -> tuple[Fitted, list[warnings.WarningMessage]]:
    """What the answers so far teach about the hyperparameters, and what was warned of on the way."""
    answers = len(state.told)
    if answers < (state.design.refit or 0):  # answers were withdrawn: what was learned from them is forgotten
        return Fitted(answers), []
    rng = np.random.default_rng([state.design.seed, answers])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            data = state.known.data
            found = fit(state.design.gp, data, inference=state.design.inference, rng=rng)
        except NumericalError as trouble:
            failed = f"hyperparameters could not be learned and stay as they were: {trouble}"
            warnings.warn(failed, GainfulWarning, stacklevel=2)
            return Fitted(answers, failed=failed), caught
    learned = zip(data.instruments, found.data.instruments, strict=True)
    thetas = {before.label: tuple(after.theta.tolist()) for before, after in learned}
    return Fitted(answers, tuple(found.gp.theta.tolist()), thetas), caught
