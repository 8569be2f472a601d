"""The design of a campaign, checked: everything that can be wrong is said before the first query is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gainful.acquisition import Learn, PerCost, Random, RandomType
from gainful.campaign.codec import name_of, supplied
from gainful.campaign.state import Design
from gainful.data import Data
from gainful.errors import InvalidInput
from gainful.gp import GP
from gainful.inference import Exact, Laplace
from gainful.inference.solution import Inference
from gainful.inference.solving import method_for
from gainful.instruments import Instrument
from gainful.selection import Option
from gainful.selection.choose import Search, candidates
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
    several = (instruments,) if isinstance(instruments, Instrument) else _tuple(instruments)
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
    _require(isinstance(repeat, bool), "repeat", "True or False", repeat, "False: no place is asked twice")
    if budget is not None:
        _require(_number(budget) and 0 < budget < np.inf, "budget", "a positive number", budget, "None for no limit")
    _require(_whole(seed) and seed >= 0, "seed", "a whole number, at least 0", seed, "for instance 0")
    if refit is not None:
        _require(_whole(refit) and refit >= 1, "refit", "a whole number of answers, at least 1", refit, "None: never")
    if forward is not None and forward not in where.names:
        raise InvalidInput("forward", f"a dimension among {list(where.names)}", forward, "use the names of the space")
    rules = (stop,) if hasattr(stop, "reason") and not isinstance(stop, type) else _tuple(() if stop is None else stop)
    if rules is None or not all(hasattr(rule, "reason") and not isinstance(rule, type) for rule in rules):
        raise InvalidInput("stop", "stopping rules such as TooLittleToLearn(0.01)", stop, "or leave it out")
    if search is not None and not isinstance(search, Search):
        raise InvalidInput("search", "Search(...)", search, "leave it out for the defaults")
    _require_inference(inference, several)
    design = Design(
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
    names: dict[str, Any] = {}
    for each in supplied(design):
        if names.setdefault(name_of(each), each) is not each:
            raise InvalidInput("design", "functions of distinct names", f"{name_of(each)} twice", "rename one of them")
    _try_out(design)
    return design


def _try_out(design: Design) -> None:
    """Score one query of each instrument: a goal that cannot score it says so now, not after the first answer."""
    if isinstance(design.space, Stream) and any(i.query != "place" for i in design.instruments):
        kinds = [i.label for i in design.instruments if i.query != "place"]
        raise InvalidInput("instruments", "instruments that see one place, for a stream", kinds, "leave them out")
    goal = design.goal.goal if isinstance(design.goal, RandomType) else design.goal
    if isinstance(goal, Random):
        return
    prior, rng = design.gp.condition(Data()), np.random.default_rng(design.seed)
    for instrument in design.instruments:
        few = Search(candidates=4, climbers=0, set_size=design.search.set_size)
        queries = candidates(Option(instrument, design.places), rng, few)[:1]
        if len(queries):
            try:
                goal.score(prior, instrument, queries)
            except InvalidInput as trouble:
                if trouble.argument == "belief":
                    continue  # it needs answers first; the user may tell some
                raise InvalidInput(
                    f"goal, instruments ({trouble.argument})", trouble.expected, trouble.got, trouble.remedy
                ) from trouble


def _require_inference(inference: Any, instruments: Sequence[Instrument]) -> None:
    method_for(Data().layout, inference)
    if isinstance(inference, Exact) and not all(i.gaussian for i in instruments):
        names = [i.label for i in instruments if not i.gaussian]
        raise InvalidInput("inference", "EP() or Laplace() for answers that are no numbers", names, "leave it out")
    if isinstance(inference, Laplace) and any(i.gaussian and i.is_certain for i in instruments):
        raise InvalidInput("inference", "EP() for readings without noise", inference, "leave it out")


def _tuple(values: Any) -> Any:
    try:
        return tuple(values)
    except TypeError:
        return None


def _limits(limits: Mapping[Any, Any], labels: Sequence[str], space: Any) -> dict[str, Any]:
    if not isinstance(limits, Mapping):
        raise InvalidInput("limits", "a mapping from instruments to constraints", limits, "such as {lab: Within(...)}")
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
    unnamed = tuple(names) == tuple(f"x{i}" for i in range(len(names)))  # a pool made of a bare array
    theirs = None if gp.space is None else tuple(gp.space.names)
    if theirs is not None and theirs != tuple(names) and not (unnamed and len(theirs) == len(names)):
        raise InvalidInput("gp", f"a gp over {list(names)}, like the space", list(theirs), "match them")
    gp.kernel.diag(probe)
    gp.mean(probe)


def _number(value: object) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _require(holds: bool, argument: str, expected: str, got: object, remedy: str) -> None:
    if not holds:
        raise InvalidInput(argument, expected, got, remedy)
