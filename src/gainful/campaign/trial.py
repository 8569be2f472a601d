"""A design tried out before anything is written: that there are places, and that the goal can score a query there."""

from __future__ import annotations

import warnings

import numpy as np

from gainful.acquisition import Acquisition, Random, RandomType
from gainful.acquisition.switch import FIRST, THEN
from gainful.campaign.design import Design
from gainful.campaign.goal import switch_in, turned
from gainful.errors import GainfulWarning, InvalidInput
from gainful.selection import Option
from gainful.selection.choose import Search, candidates
from gainful.space import Places

__all__ = ["try_out"]


def try_out(design: Design) -> None:
    """Find a place, and score one query of each instrument: what cannot work says so now, not later."""
    _require_places(design)
    for side in (FIRST, THEN) if switch_in(design.goal) is not None else (None,):
        goal = turned(design.goal, side)
        goal = goal.goal if isinstance(goal, RandomType) else goal
        if not isinstance(goal, Random):
            _try(goal, design)


def _try(goal: Acquisition, design: Design) -> None:
    prior, rng = design.prior(), np.random.default_rng(design.seed)
    for instrument in design.instruments:
        few = Search(candidates=4, climbers=0, set_size=design.search.set_size)
        queries = candidates(Option(instrument, design.places), rng, few)[:1]
        if len(queries):
            try:
                goal.score(prior, instrument, queries)
            except InvalidInput as trouble:
                if trouble.argument == "belief" and "several posteriors" in trouble.expected:
                    expected = "a goal about the function or a region, of one GP that is wholly stated"
                    raise InvalidInput("goal", expected, goal, "or give Models, or leave parameters out") from trouble
                if trouble.argument == "belief":
                    continue  # it needs answers first; the user may tell some
                raise InvalidInput(
                    f"goal, instruments ({trouble.argument})", trouble.expected, trouble.got, trouble.remedy
                ) from trouble


def _require_places(design: Design) -> None:
    """Refuse a space, or a limit of an instrument, that leaves no place to ask."""
    remedy = (
        "widen it; say whole numbers by Integer(...), levels by Categorical(...), parts of a whole by "
        "Proportions(...), a fixed value by At(...) and inequalities by LinearLimit(...), searched without chance"
    )
    if _is_empty("space", design.places, design.seed):
        raise InvalidInput("space", "at least one place that its constraints allow", "none that was found", remedy)
    for label, limit in design.limits.items():
        if _is_empty(f"limits[{label!r}]", design.places.where(limit), design.seed):
            expected = f"at least one place of the space where {label} can be used"
            raise InvalidInput("limits", expected, "none that was found", remedy)


def _is_empty(argument: str, places: Places, seed: int) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GainfulWarning)  # that there is none is said as an error
        try:
            return not len(places.candidates(1, np.random.default_rng(seed)))
        except InvalidInput as trouble:
            raise InvalidInput(argument, trouble.expected, trouble.got, trouble.remedy) from trouble
