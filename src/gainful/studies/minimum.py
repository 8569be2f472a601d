"""The result of a minimisation, with the names that SciPy's results have and a few more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gainful.campaign import Campaign
from gainful.campaign.best import with_error
from gainful.campaign.state import Entry, Status
from gainful.studies.driving import End

__all__ = ["Minimum", "best_entry", "minimum_of", "running_best"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Minimum:
    """Where a function is smallest, as far as it was evaluated.

    x              the best place that was evaluated, as the function was given it: `function(result.x)` works. With
                   noise it is the one that is believed to be best, not the one with the luckiest value. None where
                   every evaluation failed, and then `fun` is NaN
    fun            the value that came back there, the mean of several
    mean, sd       what the function is believed to be there; with `noise=0` that is the value
    place          the best place by the names of the space, numbers and levels
    nfev, nfail    how many evaluations were made, and how many of them failed
    success        whether all evaluations were made, or no place was left, and one of them gave a value
    message        how it ended, in a sentence
    places         all places evaluated, in the order of asking, (N, D); levels of categories by their positions
    values         what came back, (N,), NaN where it failed
    best_so_far    the best value up to each evaluation, (N,)
    campaign       what is believed: `campaign.belief`, `campaign.history`, `campaign.best()` of all places
    """

    x: Any
    fun: float
    mean: float
    sd: float
    place: Mapping[str, Any] | None
    nfev: int
    nfail: int
    success: bool
    message: str
    places: Array
    values: Array
    campaign: Campaign
    maximised: bool = False
    where: str = field(default="")  # the best place in words

    @property
    def best_so_far(self) -> Array:
        return running_best(self.values, 1 if self.maximised else -1)

    def __repr__(self) -> str:
        lines = {"message": self.message, "success": self.success, "fun": f"{self.fun:.10g}"}
        if self.sd > 0.0:
            lines["believed"] = with_error(self.mean, self.sd)
        lines |= {"x": repr(self.x), "nfev": self.nfev, "nfail": self.nfail}
        width = max(map(len, lines))
        return "\n".join(f"{name:>{width}}: {value}" for name, value in lines.items())


def running_best(values: Array, sign: int) -> Array:
    """The best value up to each one, (N,): the largest for sign 1, the smallest for −1; NaN before the first.

    >>> running_best(np.array([np.nan, 3.0, 5.0, 2.0]), -1).tolist()
    [nan, 3.0, 3.0, 2.0]
    """
    best = np.fmax if sign > 0 else np.fmin  # which pass over NaN
    return np.asarray(best.accumulate(values)) if len(values) else values


def best_entry(campaign: Campaign, sign: int) -> Entry | None:
    """The evaluation whose place is believed to be best; of readings without noise, the one with the best value."""
    told = [entry for entry in campaign.history if entry.status is Status.TOLD]
    if not told:
        return None
    if all(instrument.is_certain for instrument in campaign.instruments):
        scores = np.array([entry.answer for entry in told])
    else:
        scores = campaign.belief.mean(np.stack([entry.query.place for entry in told]))
    return told[int(np.argmax(sign * scores))]


def minimum_of(campaign: Campaign, ended: End | None, sign: int, dimensions: int | None = None) -> Minimum:
    """The result, from a campaign as it is now; `ended` is None while it goes on. With `dimensions`, of bounds, x is an
    array of so many numbers."""
    done = [entry for entry in campaign.history if entry.status in (Status.TOLD, Status.FAILED)]
    failed = sum(entry.status is Status.FAILED for entry in done)
    values = np.array([np.nan if entry.answer is None else entry.answer for entry in done], dtype=float)
    places = np.stack([entry.query.place for entry in done]) if done else np.zeros((0, dimensions or 0))
    best = best_entry(campaign, sign)
    fine = ended is not None and ended in (End.ALL_MADE, End.NO_PLACE) and best is not None
    common: dict[str, Any] = {
        "nfev": len(done), "nfail": failed, "success": fine, "message": _message(ended, done),
        "places": places, "values": values, "campaign": campaign, "maximised": sign > 0,
    }  # fmt: skip
    if best is None:
        return Minimum(x=None, fun=np.nan, mean=np.nan, sd=np.nan, place=None, **common)
    query = best.query
    here = np.all(places == query.place, axis=1)
    fun = float(np.nanmean(values[here]))
    if all(instrument.is_certain for instrument in campaign.instruments):
        mean, sd = fun, 0.0
    else:
        belief, row = campaign.belief, query.place[None]
        mean, sd = float(belief.mean(row)[0]), float(np.sqrt(belief.variance(row)[0]))
    x = dict(query.at) if dimensions is None else query.place.copy()
    return Minimum(x=x, fun=fun, mean=mean, sd=sd, place=dict(query.at), where=query.words, **common)


def _message(ended: End | None, done: Sequence[Entry]) -> str:
    """How it ended, in a sentence, with what is to be known of failures."""
    failed = [entry for entry in done if entry.status is Status.FAILED]
    lost = f", {len(failed)} of which failed (the last: {failed[-1].note})" if failed else ""
    return f"{len(done)} evaluations so far{lost}" if ended is None else f"{ended}: {len(done)}{lost}"
