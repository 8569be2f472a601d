"""Minimise a function: five lines for whoever knows SciPy's `minimize`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gainful.acquisition import Acquisition
from gainful.beliefs.learner import Learner
from gainful.campaign import Campaign, TrustRegion
from gainful.campaign.design import Design
from gainful.campaign.encoding import Writer
from gainful.campaign.journal import FileJournal, Journal, open_journal, read_events
from gainful.checks import listed, numbers, require, require_count, require_not_negative, require_seed
from gainful.data import Query
from gainful.errors import InvalidInput
from gainful.gp import GP
from gainful.instruments import Point
from gainful.selection.stream import Stream
from gainful.space import At, Places, Real, Space, require_places
from gainful.studies.driving import End, drive
from gainful.studies.evaluating import Evaluator, Here, Threads, in_processes
from gainful.studies.kept import Kept
from gainful.studies.minimum import Minimum, minimum_of
from gainful.studies.model import default_goal, default_model, goal_towards
from gainful.studies.outcome import Outcome, call

__all__ = ["minimise", "pursued"]

_CHANGED = "give what was given before, or take another journal"


def minimise(
    function: Callable[[Any], Any],
    space: Places | Sequence[tuple[float, float]],
    evaluations: int,
    *,
    maximise: bool = False,
    noise: float | None = None,
    initial: int | None = None,
    seed: int = 0,
    model: GP | Learner | None = None,
    goal: Acquisition | str | None = None,
    trust: TrustRegion | None = None,
    workers: int = 1,
    processes: bool = False,
    journal: Journal | str | os.PathLike[str] | None = None,
    callback: Callable[[Minimum], Any] | None = None,
) -> Minimum:
    """Find where a function is smallest in a few dozen evaluations, chosen one by one by what is believed of it.

    function      gets one place and gives a number. Of a space that is a list of bounds the place is an array (D,), as
                  in SciPy; of any other it is a dict from the names of the space to numbers and levels. What raises, or
                  gives no finite number, has failed: it counts, nothing is believed of it, and neither that place nor
                  its neighbourhood is evaluated again (`Campaign.fail`)
    space         bounds [(low, high), …], SciPy's Bounds, or a Space, a part of one, or a Pool
    evaluations   how many to make in all, failures and those in the journal included
    maximise      True: find where it is largest
    noise         the standard deviation of the function's noise; None learns it, 0 is for a function that gives the
                  same value every time, and then no place is evaluated twice
    initial       how many are spread over the space before the goal decides where; one more than dimensions if not
                  given, and at least three
    seed          the same seed and the same function give the same result
    model, goal   as for a Campaign. If no model is given, one GP; of eight numbers or more a sum that finds out who
                  acts together, `Partitions(space, parameters="best")`. If no goal is given, the knowledge gradient
                  decides (of Partitions log expected improvement). A goal by name goes to the end that is sought; the
                  last evaluation is made where the function is believed to be smallest, whatever the goal
    trust         TrustRegion() looks near the best place so far: for hundreds of evaluations in many dimensions
    workers       how many evaluations are made at once, in threads; with `processes` each in a process of its own. More
                  choose other places, but their result does not depend on which is ready first
    journal       the path of a file to which all is written, and from which the same call goes on
    callback      is called with the result so far after every evaluation; True stops

    Ctrl-C stops as well, and gives what is known so far.

    >>> result = minimise(lambda x: (x[0] - 0.3) ** 2, [(0.0, 1.0)], 8, noise=0)
    >>> result.success, result.nfev, bool(abs(result.x[0] - 0.3) < 0.02)
    (True, 8, True)
    """
    require(callable(function), "function", "a function of one place", function, "for instance lambda x: x[0] ** 2")
    given = _Given.of(space)
    evaluations = require_count("evaluations", evaluations, 1, "how many to make in all")
    workers = require_count("workers", workers, 1, "1: one after the other")
    for name, value in (("maximise", maximise), ("processes", processes)):
        require(isinstance(value, bool), name, "True or False", value, "leave it out for False")
    usable = callback is None or callable(callback)
    require(usable, "callback", "a function of the result so far", callback, "leave it out")
    sign, end_word = (1, "maximise") if maximise else (-1, "minimise")
    model = default_model(given.space) if model is None else model
    seed = require_seed("seed", seed)
    point = Point(name="function") if noise is None else Point(_noise(noise), name="function")
    wanted = default_goal(model, sign) if goal is None else goal_towards(goal, sign, [point], given.space, seed)
    design = Design(
        given.space, point, model, wanted,  # type: ignore[arg-type]
        seed=seed, repeat=noise != 0, initial=initial, trust=trust,
    )  # fmt: skip
    campaign = pursued(design, journal)
    evaluator, end = _evaluator(function, given, workers, processes)
    watcher = _Watcher(campaign, callback, sign, given.dimensions)
    with Kept(_beside(journal) if workers > 1 else None) as kept:
        try:
            ended = drive(campaign, evaluator, evaluations, workers, kept, watcher, confirm=end_word)
        except KeyboardInterrupt:
            ended = End.INTERRUPTED
        finally:
            evaluator.close()
            end()
    return minimum_of(campaign, ended, sign, given.dimensions)


def pursued(design: Design, journal: Journal | str | os.PathLike[str] | None) -> Campaign:
    """The campaign of this design: the one in the journal, or a new one. InvalidInput says how that in the journal
    differs."""
    kept = open_journal(journal)
    events = read_events(kept)
    if not events:
        names = ("space", "instruments", "model", "goal", "seed", "repeat", "initial", "trust")
        return Campaign(journal=kept, **{name: getattr(design, name) for name in names})
    before = events[0].get("design", {}).get("fields", {})
    now = design.to_json()["fields"]
    for name in ("space", "instruments", "seed", "initial", "repeat", "model", "goal", "trust"):
        difference = _difference(name, before.get(name), now[name])
        if difference is not None:
            where, was, got = difference
            raise InvalidInput("journal", f"a run with {where} {was!r}, as it was begun", f"{got!r}", _CHANGED)
    writer = Writer()
    writer.write(design)
    return Campaign.resume(kept, known=list(writer.named.values()))


def _difference(path: str, before: Any, now: Any) -> tuple[str, Any, Any] | None:
    """The first part of a design that is not as it was: where, what it was, what it is."""
    if isinstance(before, dict) and isinstance(now, dict) and before.keys() == now.keys():
        inner = ((path if key in ("fields",) else f"{path}.{key}", before[key], now[key]) for key in before)
        return next((found for each in inner if (found := _difference(*each)) is not None), None)
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        pairs = ((f"{path}[{i}]", a, b) for i, (a, b) in enumerate(zip(before, now, strict=True)))
        return next((found for each in pairs if (found := _difference(*each)) is not None), None)
    return None if before == now else (path, before, now)


@dataclass(frozen=True)
class _Given:
    """The space, and of bounds how many dimensions they have."""

    space: Places
    dimensions: int | None

    @staticmethod
    def of(space: Any) -> _Given:
        if hasattr(space, "lb") and hasattr(space, "ub"):  # SciPy's Bounds
            space = np.column_stack(np.broadcast_arrays(space.lb, space.ub))
        pairs = None if hasattr(space, "candidates") else listed(space)
        if pairs is None:
            require(not isinstance(space, Stream), "space", "a Space or bounds", space, "a stream is for a Campaign")
            known = hasattr(space, "candidates")
            require(known, "space", "a Space or bounds", space, "for instance bounds [(low, high), ...]")
            require_places("space", space)
            return _Given(space, None)
        expected = "pairs (low, high), one for each dimension"
        bounds = numbers("space", pairs, expected, "for instance [(0, 1), (-5, 10)]")
        require(bounds.ndim == 2 and bounds.shape[1] == 2, "space", expected, space, "for instance [(0, 1), (-5, 10)]")
        require(bool(np.all(np.isfinite(bounds))), "space", "finite bounds", space, "say how far to look")
        wrong = [tuple(pair) for pair in bounds.tolist() if pair[0] > pair[1]]
        require(not wrong, "space", "low ≤ high", wrong[:1], "the lower end comes first")
        named = [(f"x{i}", low, high) for i, (low, high) in enumerate(bounds.tolist())]
        return _Given(Space(*(Real(n, a, b) if a < b else At(n, a) for n, a, b in named)), len(named))

    def argument(self, query: Query) -> Any:
        """The place as the function gets it."""
        return dict(query.at) if self.dimensions is None else query.place.copy()


def _noise(noise: Any) -> float:
    require_not_negative("noise", noise, "a standard deviation; None learns it, 0 says that there is none")
    return float(noise)


def _evaluator(
    function: Callable[[Any], Any], given: _Given, workers: int, processes: bool
) -> tuple[Evaluator, Callable[[], None]]:
    def called(argument: Any) -> Outcome:
        return call(function, argument)

    def nothing() -> None: ...

    evaluate, end = in_processes(function) if processes else (called, nothing)
    if workers == 1 and not processes:
        return Here(lambda query: evaluate(given.argument(query))), end
    return Threads(lambda query: evaluate(given.argument(query)), workers), end


def _beside(journal: Any) -> Path | None:
    """The file beside a journal for outcomes that are ready before their turn."""
    path = journal.path if isinstance(journal, FileJournal) else journal
    return Path(path).with_suffix(".outcomes.jsonl") if isinstance(path, str | os.PathLike) else None


class _Watcher:
    """Calls the callback after each evaluation."""

    def __init__(
        self, campaign: Campaign, callback: Callable[[Minimum], Any] | None, sign: int, dimensions: int | None
    ) -> None:
        self._campaign, self._callback, self._sign, self._dimensions = campaign, callback, sign, dimensions

    def asked(self, query: Query) -> None: ...

    def answered(self, query: Query, outcome: Outcome) -> bool:
        if self._callback is None:
            return False
        said = self._callback(minimum_of(self._campaign, None, self._sign, self._dimensions))
        return isinstance(said, bool | np.bool_) and bool(said)
