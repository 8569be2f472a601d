"""Whether readings contradict the model: they lie far outside of what it, and the other answers, lead to expect."""

from __future__ import annotations

import warnings

import numpy as np

from gainful.errors import GainfulWarning
from gainful.inference.posterior import Posterior

__all__ = ["misfit", "warn_if_contradicted"]

_FAR = 10.0  # standard deviations of one reading, or of the sum of squares of all


def misfit(posterior: Posterior) -> tuple[float, int]:
    """Σ r_i α_i over the N readings and N: of a model that is right a χ² with N degrees of freedom.

    r are the readings less the prior mean and α = (K + noise²)⁻¹ r, so that where all answers are readings it is
    r'(K + noise²)⁻¹ r, the sum of squared deviations of each from what the ones before it lead to expect.
    """
    layout, state = posterior.layout, posterior.solution.state
    known = getattr(posterior.behind, "misfit", None)  # of the answers that an engine has taken, where it says so
    total, count = (0.0, 0) if known is None else (float(known), posterior.count)
    if not layout.size:
        return total, count
    prior = layout.pick(posterior.process[0](layout.places))
    for instrument, _, answers, rows in layout.sources:
        if instrument.gaussian and rows.shape[1] == 1:
            at = rows[:, 0]
            total += float((instrument.reading(answers)[:, 0] - prior[at]) @ state.alpha[at])
            count += len(at)
    return total, count


def warn_if_contradicted(posterior: Posterior, stacklevel: int = 3) -> Posterior:
    """The posterior; with a warning, if its readings are more than ten standard deviations off."""
    total, count = misfit(posterior)
    if count and total > count + _FAR * np.sqrt(2.0 * count) + _FAR**2:
        warnings.warn(
            "the readings contradict the model: they lie more than ten standard deviations from what it leads to "
            "expect, so its bands do not hold; check lengthscale, variance, mean and noise and their units, or leave "
            "them out and give the space, GP(space=space), which learns them; gainful.fit learns them once",
            GainfulWarning,
            stacklevel=stacklevel,
        )
    return posterior
