"""The design of a campaign, checked: everything that can be wrong is said before the first query is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gainful.campaign.state import Design
from gainful.errors import InvalidInput
from gainful.goals import Learn, PerCost
from gainful.gp import GP
from gainful.inference.solution import Inference
from gainful.instruments import Instrument
from gainful.selection import Random, RandomType
from gainful.selection.choose import Search
from gainful.selection.stream import Stream
from gainful.space import Constraint, Restricted, Within

__all__ = ["designed"]


def designed(
    space: Any,
    instruments: Sequence[Instrument] | Instrument,
    gp: GP,
    goal: Any,
    budget: float | None,
    seed: int,
    limits: Mapping[Instrument | str, Constraint],
    forward: str | None,
    repeat: bool,
    stop: Any,
    refit: int | None,
    inference: Inference | None,
    search: Search | None,
) -> Design:
    """A design from what the user gave, or InvalidInput."""
    if not all(
        hasattr(space.space if isinstance(space, Stream) else space, verb)
        for verb in ("candidates", "contains", "where")
    ):
        raise InvalidInput("space", "a Space, a Pool or a Stream", space, "for instance Space(Real('x', 0, 1))")
    several = (instruments,) if isinstance(instruments, Instrument) else tuple(instruments)
    if not several or not all(isinstance(i, Instrument) for i in several):
        raise InvalidInput("instruments", "one or more instruments", instruments, "such as Point(noise=0.1)")
    labels = [i.label for i in several]
    if len(set(labels)) < len(labels):
        raise InvalidInput("instruments", "distinct names", labels, "give each a name: Point(..., name='lab')")
    if not isinstance(gp, GP):
        raise InvalidInput("gp", "a GP such as GP(SE())", gp, "put the kernel into a GP first")
    where = space.space if isinstance(space, Stream) else space
    _fits(gp, where.names)
    wanted = PerCost(Learn("function")) if goal is None else goal
    if not (hasattr(wanted, "score") or isinstance(wanted, Random | RandomType)) or isinstance(wanted, type):
        raise InvalidInput("goal", "a goal such as Learn('function')", goal, "or Random() for the baseline")
    if isinstance(space, Stream) and (space.length is not None and budget is None):
        raise InvalidInput("budget", "a budget to spread over the stream's length", None, "or give the stream a rate")
    if budget is not None:
        _require(_number(budget) and 0 < budget < np.inf, "budget", "a positive number", budget, "None for no limit")
    _require(_whole(seed) and seed >= 0, "seed", "a whole number, at least 0", seed, "for instance 0")
    if refit is not None:
        _require(_whole(refit) and refit >= 1, "refit", "a whole number of answers, at least 1", refit, "None: never")
    if forward is not None and forward not in where.names:
        raise InvalidInput("forward", f"a dimension among {list(where.names)}", forward, "use the names of the space")
    rules = (stop,) if hasattr(stop, "reason") else tuple(stop)
    if not all(hasattr(rule, "reason") and not isinstance(rule, type) for rule in rules):
        raise InvalidInput("stop", "stopping rules such as TooLittleToLearn(0.01)", stop, "or leave it out")
    if search is not None and not isinstance(search, Search):
        raise InvalidInput("search", "Search(...)", search, "leave it out for the defaults")
    return Design(
        space,
        several,
        gp,
        wanted,
        None if budget is None else float(budget),
        int(seed),
        _limits(limits, labels, where),
        forward,
        bool(repeat),
        rules,
        refit,
        inference,
        search or Search(),
    )


def _limits(limits: Mapping[Any, Any], labels: Sequence[str], space: Any) -> dict[str, Any]:
    found = {}
    for key, constraint in limits.items():
        label = key.label if isinstance(key, Instrument) else key
        if label not in labels:
            raise InvalidInput("limits", f"instruments among {list(labels)}", label, "use their names")
        Restricted(space, constraint)  # says what is wrong with it
        _require_name(constraint)
        found[label] = constraint
    return found


def _require_name(constraint: Within | Callable[..., Any]) -> None:
    if not isinstance(constraint, Within) and not hasattr(constraint, "__name__"):
        raise InvalidInput("constraint", "Within(...) or a named function", constraint, "use def, not partial")


def _fits(gp: GP, names: Sequence[str]) -> None:
    """A kernel or mean for other dimensions is refused here, in its own words."""
    probe = np.zeros((1, len(names)))
    if gp.space is not None and len(gp.space.names) != len(names):
        raise InvalidInput(
            "gp", f"a gp over {len(names)} dimensions, like the space", len(gp.space.names), "match them"
        )
    gp.kernel.diag(probe)
    gp.mean(probe)


def _number(value: object) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _require(holds: bool, argument: str, expected: str, got: object, remedy: str) -> None:
    if not holds:
        raise InvalidInput(argument, expected, got, remedy)
