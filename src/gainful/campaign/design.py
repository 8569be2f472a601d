"""The design of a campaign: everything that is decided before the first query, checked field by field.

Whatever can be wrong is said here, as InvalidInput in the caller's words, before anything is asked or written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gainful.acquisition import Learn, PerCost, Random, RandomType
from gainful.beliefs import Integrated, Models
from gainful.beliefs.learner import Learner
from gainful.beliefs.partitions import Partitions
from gainful.beliefs.programs import KernelPrograms, ProgramGrid
from gainful.beliefs.tasks import TaskClusters
from gainful.campaign.codec import Codec, write_down
from gainful.campaign.goal import Goal, completed, goal_named, output_of, sign_of
from gainful.campaign.stopping import GoodEnough, Rule, TooLittleToLearn
from gainful.campaign.trust import TrustRegion
from gainful.checks import column_names, listed, require, require_count, require_positive, require_whole
from gainful.coordinates import output_code
from gainful.data import Data
from gainful.errors import InvalidInput, JournalError
from gainful.gp import GP
from gainful.hyper.problem import require_prior_names
from gainful.hyper.unstated import structure
from gainful.inference import Exact, Laplace
from gainful.inference.belief import Belief
from gainful.inference.engines.base import Engine
from gainful.inference.engines.reaching import reaching
from gainful.inference.posterior import Posterior
from gainful.inference.solution import Inference
from gainful.inference.solving import method_for
from gainful.instruments import Instrument
from gainful.selection.choose import Search
from gainful.selection.stream import Stream
from gainful.space import (
    Constraint,
    LinearLimit,
    Places,
    Pool,
    Restricted,
    Space,
    Within,
    code_in,
    coordinates_of,
    natural_in,
)

__all__ = ["Design", "default_initial"]

_MOST_INITIAL = 10_000  # each is compared with those before it


@dataclass(frozen=True, eq=False)
class Design:
    """Everything that was decided before the first query; see `Campaign` for what each field means.

    What users may write more shortly (one instrument, a strategy's name, None) is here in full.
    """

    space: Places | Stream
    instruments: tuple[Instrument, ...]
    model: GP | Learner
    goal: Goal
    budget: float | None = None
    seed: int = 0
    limits: Mapping[str, Constraint] = field(default_factory=dict)
    forward: str | None = None
    repeat: bool = True
    stop: tuple[Rule, ...] = ()
    refit: int | None = None
    inference: Inference | Engine | None = None
    search: Search = field(default_factory=Search)
    initial: int | None = None
    trust: TrustRegion | None = None

    def __post_init__(self) -> None:
        for name, check in _CHECKS.items():  # in this order: a check may rely on the fields before its own
            object.__setattr__(self, name, check(getattr(self, name), self))

    @property
    def places(self) -> Places:
        """The space, also of a stream."""
        return self.space.space if isinstance(self.space, Stream) else self.space

    @cached_property
    def whole(self) -> Places:
        """The box or the pool, before any constraint: where the user can have measured."""
        found = self.places
        while isinstance(found, Restricted):
            found = found.space
        return found

    @cached_property
    def is_numeric(self) -> bool:
        """Whether every coordinate is a real number, which is its own code."""
        return all(axis.kind == "real" and not axis.when for axis in coordinates_of(self.places).axes)

    def codes(self, place: Any) -> Any:
        """A place, or those of a pair or a set, as codes, from the values that a journal has."""
        if self.is_numeric:
            return place
        nested = bool(place) and isinstance(place[0], list | tuple)
        rows = code_in(self.places, list(place) if nested else [list(place)], "place")
        return rows if nested else rows[0]

    def values(self, place: NDArray[np.float64]) -> list[Any]:
        """A place, or those of a pair or a set, as a journal has it: levels by name, null for what is absent."""
        if self.is_numeric:
            return list(place.tolist())
        rows = [list(natural_in(self.places, row).values()) for row in np.atleast_2d(place)]
        return rows if place.ndim > 1 else rows[0]

    @cached_property
    def output(self) -> int | str | None:
        """Of several functions the one that the goal is about: that which it names, or else the first instrument's."""
        outputs = [each for instrument in self.instruments for each in instrument.seen_outputs]
        code = output_of(self.goal, len(self.places.names))
        return next((each for each in outputs if code in (None, output_code(each))), None)

    @property
    def reaching(self) -> Inference | Engine | None:
        """The inference, over the whole space: that is where it will be asked. A journal has it as it was stated."""
        return reaching(self.inference, self.places)

    @cached_property
    def learner(self) -> Learner | None:
        """What learns and integrates that which is not stated; None for a GP that is wholly stated."""
        if not isinstance(self.model, GP):
            return self.model
        return None if self.model.is_stated else Integrated(self.model, inference=self.reaching)

    def prior(self) -> Posterior | Belief:
        """What is believed before the first answer."""
        empty = Data(names=column_names(self.places), output=self.output)
        if self.learner is None:
            assert isinstance(self.model, GP)
            return self.model.posterior(empty)
        return self.learner.believe(self.learner.typical(empty, self.instruments), empty, self.instruments)

    def require_within(self, place: NDArray[np.float64]) -> None:
        """InvalidInput for a query whose place, or one of whose places, is not in the box or the pool.

        Constraints are not asked: they bind what the campaign asks, not what the user has measured.
        """
        rows, names = np.atleast_2d(place) + 0.0, list(self.places.names)
        if rows.shape[-1] != len(names):
            raise InvalidInput("query", f"a place with coordinates {names}", place.tolist(), "give them all")
        outside = rows[~self._contains(rows)]
        if not len(outside):
            return
        got, whole = outside[0].tolist(), self.whole
        if isinstance(whole, Pool):
            nearest = self.values(whole.places[np.argmin(np.sum((whole.places - outside[0]) ** 2, axis=1))])
            raise InvalidInput("query", "a place of the pool", got, f"the nearest is {nearest}; the pool has no other")
        bounds = zip(names, whole.low, whole.high, strict=True)
        ends = getattr(whole, "ends", None) or ", ".join(f"{n} from {a:g} to {b:g}" for n, a, b in bounds)
        raise InvalidInput("query", f"a place within the space, {ends}", got, "check its units, or widen the space")

    def _contains(self, places: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which places are in the box or the pool."""
        if isinstance(self.whole, Pool):
            return np.array([row.tobytes() in self._rows for row in places], dtype=bool)
        if isinstance(self.whole, Space) and self.is_numeric and not self.whole.mixtures:
            low, high = self._box
            return np.asarray(((places >= low) & (places <= high)).all(axis=1))
        return self.whole.contains(places)

    # Found once, because every event is checked

    @cached_property
    def _box(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return self.whole.low, self.whole.high

    @cached_property
    def _rows(self) -> frozenset[bytes]:
        assert isinstance(self.whole, Pool)
        return frozenset(row.tobytes() for row in self.whole.places + 0.0)

    @property
    def unit(self) -> str:
        """The unit of f, or of the output that is meant."""
        return self.unit_of(self.output)

    def unit_of(self, output: int | str | None) -> str:
        """The unit of a function, from the instruments whose numbers are in it; "" where none says it."""
        meant = [each for each in self.instruments if output in (None, *each.seen_outputs)]
        found = {each.unit for each in meant if each.unit and each.is_scaled}
        return next(iter(found)) if len(found) == 1 else ""

    @property
    def labels(self) -> list[str]:
        """What the instruments are called."""
        return [each.label for each in self.instruments]

    def to_json(self) -> Any:
        """The design as JSON has it; InvalidInput names a part that would not come back from it as it is."""
        return write_down(self)

    @staticmethod
    def from_json(data: Any, known: Any = ()) -> Design:
        """The design that was written; `known` supplies what the journal can only name."""
        own = (Design, TooLittleToLearn, GoodEnough, TrustRegion)
        others = known if isinstance(known, list | tuple | set | frozenset) else (known,)
        design = Codec((*own, *others)).decode(data)
        if not isinstance(design, Design):
            raise JournalError("the journal's first event does not hold the design of a campaign")
        return design


# The checks: each takes what was given for its field and the design so far, and gives the field's value.


def _space(space: Any, design: Design) -> Places | Stream:
    where = space.space if isinstance(space, Stream) else space
    placed = all(hasattr(where, verb) for verb in ("candidates", "contains", "where"))
    require(placed, "space", "a Space, a Pool or a Stream", space, "for instance Space(Real('x', 0, 1))")
    return space


def _instruments(instruments: Any, design: Design) -> tuple[Instrument, ...]:
    several = (instruments,) if isinstance(instruments, Instrument) else tuple(listed(instruments) or ())
    if not several or not all(isinstance(each, Instrument) for each in several):
        raise InvalidInput("instruments", "one or more instruments", instruments, "such as Point(noise=0.1)")
    labels = [each.label for each in several]
    distinct = len(set(labels)) == len(labels)
    require(distinct, "instruments", "distinct names", labels, "give each a name: Point(..., name='lab')")
    for output in {each.output for each in several}:
        units = sorted({each.unit for each in several if each.unit and each.is_scaled and each.output == output})
        remedy = "bring noise, thresholds and answers to one unit: instrument.rescaled(shift, factor)"
        require(len(units) < 2, "instruments", "one unit of the function that they see", units, remedy)
    if isinstance(design.space, Stream):
        wide = [each.label for each in several if each.asks != "place"]
        require(not wide, "instruments", "instruments that see one place, for a stream", wide, "leave them out")
    return several


def _model(model: Any, design: Design) -> GP | Learner:
    """A kernel or mean for other dimensions is refused here, in its own words."""
    if model is None:
        return GP(space=design.places)
    if isinstance(model, Models):
        gps = tuple(_gp(each, design) for each in model.gps)
        return model if gps == model.gps else Models(gps, model.prior, model.inference)
    if isinstance(model, KernelPrograms | ProgramGrid | Partitions | TaskClusters):
        theirs = None if model.space is None else tuple(model.space.names)
        names = tuple(design.places.names)
        require(theirs in (None, names), "model", f"a model over {list(names)}, like the space", theirs, "match them")
        return replace(model, space=design.places) if theirs is None else model
    if isinstance(model, Integrated):
        by = "weighted points in a campaign, whose every answer changes the belief"
        require(model.by == "points", "model", by, model.by, "use Integrated(gp)")
        gp = _gp(model.gp, design)
        return model if gp is model.gp else replace(model, gp=gp)
    return _gp(model, design)


def _gp(gp: Any, design: Design) -> GP:
    if not isinstance(gp, GP):
        others = "Models, an Integrated GP, KernelPrograms, a ProgramGrid, Partitions or TaskClusters"
        expected = f"a GP such as GP(SE()), {others}"
        raise InvalidInput("model", expected, gp, "leave it out to state nothing; put a kernel into a GP first")
    names = design.places.names
    unnamed = tuple(names) == tuple(f"x{i}" for i in range(len(names)))  # a pool made of a bare array
    theirs = None if gp.space is None else tuple(gp.space.names)
    if theirs is not None and theirs != tuple(names) and not (unnamed and len(theirs) == len(names)):
        raise InvalidInput("model", f"a gp over {list(names)}, like the space", list(theirs), "match them")
    if gp.space is None and not coordinates_of(design.places).is_identity:
        gp = replace(gp.as_shown(), space=design.places)  # it has what it shows, as without a space
    several = {each.outputs is not None for each in design.instruments}
    labels, words = [each.label for each in design.instruments], "an output of every one, or of none"
    require(len(several) == 1, "instruments", words, labels, "say which function each sees: output=0, 1, …")
    outputs = [code for each in design.instruments for code in each.outputs or ()]
    probe = np.array([[*design.places.low, *([code] if outputs else [])] for code in outputs or [0]], dtype=float)
    form = structure(gp, design.instruments) if gp.space is not None else gp
    form.kernel.diag(probe)
    form.mean(probe)
    require_prior_names(form, design.instruments, gp.priors)
    return gp


def _seed(seed: Any, design: Design) -> int:
    return require_whole("seed", seed, 0, "for instance 0")


def _goal(goal: Any, design: Design) -> Goal:
    if goal is None:
        return PerCost(Learn("function"))
    if isinstance(goal, str):
        return goal_named(goal, design.instruments, design.places, design.seed)
    scored = goal.goal if isinstance(goal, RandomType) else goal
    usable = (hasattr(scored, "score") or isinstance(goal, Random)) and not isinstance(goal, type)
    remedy = "or a word such as 'minimise', or the name of a strategy, such as 'bald'"
    require(usable, "goal", "a goal such as Learn('function')", goal, remedy)
    return completed(goal, design.places, design.seed, design.instruments)


def _budget(budget: Any, design: Design) -> float | None:
    if budget is None:
        endless = isinstance(design.space, Stream) and design.space.length is not None
        remedy = "or give the stream a rate"
        require(not endless, "budget", "a budget to spread over the stream's length", None, remedy)
        return None
    require_positive("budget", budget, "None for no limit")
    return float(budget)


def _limits(limits: Any, design: Design) -> dict[str, Constraint]:
    given = {} if limits is None else limits
    if not isinstance(given, Mapping):
        raise InvalidInput("limits", "a mapping from instruments to constraints", limits, "such as {lab: Within(...)}")
    found = {}
    for key, constraint in given.items():
        label = key.label if isinstance(key, Instrument) else key
        require(label in design.labels, "limits", f"instruments among {design.labels}", label, "use their names")
        Restricted(design.places, constraint)  # says what is wrong with it
        named = isinstance(constraint, Within | LinearLimit) or hasattr(constraint, "__name__")
        require(named, "constraint", "Within(...) or a named function", constraint, "use def, not partial")
        found[label] = constraint
    return found


def _forward(forward: Any, design: Design) -> str | None:
    names = list(design.places.names)
    known = forward is None or (isinstance(forward, str) and forward in names)
    require(known, "forward", f"a dimension among {names}", forward, "use the names of the space")
    return None if forward is None else str(forward)


def _repeat(repeat: Any, design: Design) -> bool:
    require(isinstance(repeat, bool), "repeat", "True or False", repeat, "False: no place is asked twice")
    return bool(repeat)


def _stop(stop: Any, design: Design) -> tuple[Rule, ...]:
    several = [] if stop is None else stop
    rules = [stop] if _is_rule(stop) else list(several) if isinstance(several, list | tuple) else None
    if rules is None or not all(_is_rule(rule) for rule in rules):
        raise InvalidInput("stop", "stopping rules such as TooLittleToLearn(0.01)", stop, "or leave it out")
    return tuple(rules)


def _refit(refit: Any, design: Design) -> int | None:
    return None if refit is None else require_count("refit", refit, 1, "None: never")


def _inference(inference: Any, design: Design) -> Inference | Engine | None:
    method_for(Data().layout, inference)
    others = [each.label for each in design.instruments if not each.gaussian]
    if isinstance(inference, Exact) and others:
        raise InvalidInput("inference", "EP() or Laplace() for answers that are no numbers", others, "leave it out")
    if isinstance(inference, Laplace) and any(each.gaussian and each.is_certain for each in design.instruments):
        raise InvalidInput("inference", "EP() for readings without noise", inference, "leave it out")
    return inference


def default_initial(design: Design) -> int:
    """How many queries are spread evenly over the space before the goal decides, where nobody has said.

    None while all hyperparameters are stated: the goal then knows what it does from the first query on. Where some are
    learned from the answers, no goal can be trusted before there is about one answer for each dimension and output.
    """
    kinds = len({each.seen_outputs for each in design.instruments})  # each function has a scale of its own
    return 0 if design.learner is None else max(3, len(design.places.names) + 1) * kinds


def _initial(initial: Any, design: Design) -> int:
    if initial is None:
        return 0 if isinstance(design.space, Stream) else default_initial(design)
    whole = require_count("initial", initial, 0, "0: the goal chooses from the first query on")
    require(whole <= _MOST_INITIAL, "initial", f"at most {_MOST_INITIAL}", initial, "a few for each dimension will do")
    streaming = isinstance(design.space, Stream) and whole > 0
    require(not streaming, "initial", "no initial design for a stream, whose places come as they come", initial, "0")
    return whole


def _search(search: Any, design: Design) -> Search:
    usable = search is None or isinstance(search, Search)
    require(usable, "search", "Search(...)", search, "leave it out for the defaults")
    return search or Search()


def _trust(trust: Any, design: Design) -> TrustRegion | None:
    if trust is None:
        return None
    usable = isinstance(trust, TrustRegion)
    require(usable, "trust", "a TrustRegion", trust, "TrustRegion(), or leave it out to look everywhere")
    boxed = isinstance(design.whole, Space) and not isinstance(design.space, Stream)
    require(boxed, "trust", "a region of a Space", design.space, "leave it out: a pool or a stream is what it is")
    sought = sign_of(design.goal) is not None
    require(sought, "trust", "a goal that seeks an optimum", design.goal, "goal='minimise', or leave it out")
    seen = [each.label for each in design.instruments if each.gaussian and each.query == "place"]
    require(bool(seen), "trust", "an instrument that reads numbers", design.labels, "leave it out")
    return trust


_CHECKS: dict[str, Callable[[Any, Design], Any]] = {
    "space": _space,
    "instruments": _instruments,
    "model": _model,
    "seed": _seed,
    "goal": _goal,
    "budget": _budget,
    "limits": _limits,
    "forward": _forward,
    "repeat": _repeat,
    "stop": _stop,
    "refit": _refit,
    "inference": _inference,
    "search": _search,
    "trust": _trust,
    "initial": _initial,  # last: the default may depend on everything
}


def _is_rule(value: Any) -> bool:
    return hasattr(value, "reason") and not isinstance(value, type)
