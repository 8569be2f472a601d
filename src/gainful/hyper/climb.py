"""The search for the most probable hyperparameters, with exact gradients, from one start after the other.

L-BFGS finds the hill. Where evidences are estimated it ends wherever two of them are out of order, and where they are
dear it takes too many: from there `descend` goes on, which expects both.

An engine may keep to what it chose where a search began, such as neighbours, so that there is one smooth hill to climb.
Where that ends, another choice may be better: the engine chooses again there, and the search goes on (`_afresh`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import OptimizeResult, minimize

from gainful.errors import NumericalError
from gainful.hyper.problem import Problem
from gainful.hyper.progress import Stages
from gainful.inference.ep import EP
from gainful.inference.evidence import UNSETTLED, Start
from gainful.inference.sites import Sites
from gainful.numerics import quasi_newton
from gainful.numerics.quasi_newton import Box
from gainful.parameters import FISHER, IDENTITY, LOG, LOGIT, Slot, to_theta
from gainful.priors import Flat, LogNormal, Normal, Prior

__all__ = ["Density", "Found", "bounds_of", "climb", "descend", "units_of"]

Array = NDArray[np.float64]
Found = tuple[float, Array, bool, str]  # the density reached, theta there, whether the search was satisfied, its words

_NOWHERE = (
    "no start gave a finite evidence: the answers contradict the model for every hyperparameter that was "
    "tried; check the units of X and the answers, and the instruments' noise"
)
_REACH = float(np.log(1e5))  # how far a parameter without a prior may move from where it was, in theta
_WORST = 1e10  # what a theta without a finite evidence counts as: finite, so that the line search can step back from it
_CLOSEST = 1.0 - 1e-6  # a correlation: nearer to one, two functions are the same to rounding
_SLOW = 1e-3  # nats: two steps that gain no more, below the end of another start, and this one is given up
_RAISED, _RAISE = 8, 1.0  # how often, and by how much in theta, a noise is raised where a search cannot begin
_SAME = 1e-9  # of an evidence: an engine has chosen the same again
_UNSEEN = 3e-4  # nats for each answer: a deviation that is off by as much of itself
_CHOICES = 3  # at most, of what an engine keeps to in a search
_MEASURED = 20.0  # a box is ten standard deviations of the prior either way; one of them is the unit


class Density:
    """−log p(answers, theta) and its slope in the free entries of theta; inf where there is none.

    It remembers where inference may begin next time, by how much an estimated evidence may be off, and the last value.
    """

    def __init__(self, problem: Problem) -> None:
        # Sites need not be final on the way: EP's evidence is stationary in them.
        method = problem.inference
        loose = replace(method, tolerance=max(1e-7, method.tolerance)) if isinstance(method, EP) else method
        self.problem = replace(problem, inference=loose)
        self.theta = problem.theta.copy()
        self.error = 0.0
        self._sites: Start = None
        self._last: tuple[Array, tuple[float, Array]] | None = None

    @property
    def keeps(self) -> bool:
        """Whether an engine keeps to what it chose at the first theta that was asked for."""
        return self._sites is not None and not isinstance(self._sites, Sites)

    def __call__(self, part: Array) -> tuple[float, Array]:
        if self._last is None or not np.array_equal(self._last[0], part):
            self._last = part.copy(), self._asked(part)
        value, slope = self._last[1]
        return value, slope.copy()

    def _asked(self, part: Array) -> tuple[float, Array]:
        free = self.problem.free
        self.theta[free] = part
        try:
            value, gradient, evidence = self.problem.log_density(self.theta, self._sites)
        except NumericalError:
            self._sites = None
            return np.inf, np.zeros_like(part)
        settled = evidence.convergence.residual < UNSETTLED
        if not (settled and np.isfinite(value) and np.all(np.isfinite(gradient))):
            self._sites = None
            return np.inf, np.zeros_like(part)
        self._sites, self.error = evidence.sites if evidence.convergence else None, evidence.error
        return -value, -gradient[free]


def climb(
    problem: Problem, begins: Iterable[Array], enough: float, most: int = 200, stages: Stages | None = None
) -> list[Found]:  # fmt: skip
    """Where the searches from each of these free parts of theta end, best first; two steps that gain no more than
    `enough`, relative to log p(answers, theta), are the last, or so many, for each choice of an engine. `stages` is
    told of every step."""
    found: list[Found] = []
    for start in begins:
        best = max((each[0] for each in found), default=-np.inf)
        found.append(_search(problem, start, best, enough, most, stages))
    found = [each for each in found if np.isfinite(each[0])]
    if not found:
        raise NumericalError(_NOWHERE)
    return sorted(found, key=lambda each: -each[0])


def _search(
    problem: Problem, start: Array, best: float, satisfied: float, most: int, stages: Stages | None = None
) -> Found:  # fmt: skip
    """One start: the density reached, theta there, whether the search was satisfied, and what it says of itself.

    A start that slows down below `best`, what another has reached, is not followed to the end.
    """

    def search(density: Density, begin: Array, _: float) -> Found:
        return _search_once(density, begin, best, satisfied, most, stages)

    def enough(value: float) -> float:
        return _SLOW if value < best + _SLOW else satisfied * max(abs(value), 1.0)

    low, high = np.array(bounds_of(problem)).T
    return _afresh(problem, search, np.clip(start, low, high), enough, stages)


def _afresh(
    problem: Problem,
    search: Callable[[Density, Array, float], Found],
    begin: Array,
    enough: Callable[[float], float],
    stages: Stages | None,
) -> Found:
    """A search, and where an engine keeps to what it chose at its beginning, more of them, each from the end of the one
    before: until there is hardly more to be gained, or what is chosen at an end explains the answers no better. What
    would be seen in no prediction is not looked for."""
    density, unseen = Density(problem), _UNSEEN * len(problem.data)
    found, best = search(density, begin, 0.0), None
    for _ in range(_CHOICES if density.keeps else 0):
        density = Density(problem)
        kept, value = found[0], -density(found[1][problem.free])[0]
        if not np.isfinite(value):  # the engine can choose nothing there
            return found if best is None else best
        worth = max(enough(value), density.error, unseen)
        found = (value, *found[1:])
        if abs(value - kept) <= max(_SAME * abs(value), density.error):
            return found
        if best is not None and value <= best[0] + worth:
            return max(best, found, key=lambda each: each[0])
        best = found
        if stages is not None:
            stages.again()
        found = search(density, found[1][problem.free], unseen)
        if found[0] - value <= worth:
            return found
    return found if best is None else best


def _search_once(
    density: Density, start: Array, best: float, satisfied: float, most: int, stages: Stages | None
) -> Found:  # fmt: skip
    """One search by L-BFGS, to its end or until it slows down below `best`."""
    problem = density.problem
    bounds = bounds_of(problem)
    low, high = np.array(bounds).T
    size = 0.0  # of the objective's gradient at the start
    gains, value, enough = (np.inf, np.inf), np.inf, False

    def objective(part: Array) -> tuple[float, Array]:
        nonlocal size
        now, slope = density(part)
        if not np.isfinite(now):
            return _WORST, slope
        # L-BFGS begins with a step as long as the gradient, which in a box may go straight to its corner.
        size = size or max(1.0, float(np.sqrt(slope @ slope)))
        return now / size, slope / size

    def watch(intermediate_result: OptimizeResult) -> None:
        nonlocal gains, value, enough
        now = float(intermediate_result.fun) * size
        gains, value = (gains[1], value - now), now
        if stages is not None:
            stages.step(-now)
        enough = max(gains) <= (_SLOW if -now < best + _SLOW else satisfied * max(abs(now), 1.0))
        if enough:
            raise StopIteration

    done = minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        callback=watch,
        options={"maxiter": most, "ftol": 0.0, "gtol": 1e-8},
    )
    theta = problem.theta.copy()
    theta[problem.free] = done.x
    reached = -float(done.fun) * size if size and done.fun < _WORST else -np.inf
    # Near the maximum the line search can end on rounding; what counts is whether there is anywhere left to climb.
    slope = done.jac * size
    uphill = np.where(done.x <= low, np.minimum(slope, 0.0), np.where(done.x >= high, np.maximum(slope, 0.0), slope))
    settled = enough or bool(done.success) or float(np.max(np.abs(uphill))) < 1e-4 * max(1.0, abs(reached))
    message = f"{done.nit} steps of L-BFGS, gradient {float(np.max(np.abs(uphill))):.1e} at the end"
    if density.error > 0.0 and size and np.isfinite(reached):
        # Values by probes are rough where slopes are not: what ended the search may be that, and is no sign of an end.
        unit = units_of(problem)
        curved = np.asarray(done.hess_inv @ np.eye(len(unit))) / (size * np.outer(unit, unit))
        return _descend_once(density, done.x, curved, density.error, most, stages)[0]
    return reached, theta, settled, message


def descend(
    problem: Problem, theta: Array, inverse: Array, left: float, most: int, stages: Stages | None = None
) -> tuple[Found, Array]:  # fmt: skip
    """The search from one theta on, by so many steps at most for each choice of an engine, until no more than `left`
    nats are to be gained, or than the evidence may be off. `inverse` is about the inverse curvature there, in units of
    `units_of`; the one at the end is returned as well."""

    def search(density: Density, begin: Array, unseen: float) -> Found:
        nonlocal inverse
        found, inverse = _descend_once(density, begin, inverse, max(left, unseen), most, stages)
        return found

    low, high = np.array(bounds_of(problem)).T
    found = _afresh(problem, search, np.clip(theta[problem.free], low, high), lambda _: left, stages)
    return found, inverse


def _descend_once(
    density: Density, begin: Array, inverse: Array, left: float, most: int, stages: Stages | None
) -> tuple[Found, Array]:  # fmt: skip
    problem = density.problem
    unit = units_of(problem)
    low, high = np.array(bounds_of(problem)).T
    box = Box(low / unit, high / unit, np.ones_like(unit))

    first = begin / unit

    def function(z: Array) -> tuple[float, Array]:
        value, slope = density(begin if np.array_equal(z, first) else z * unit)  # to the last bit: it is known there
        return value, slope * unit

    state = quasi_newton.init(function, first, inverse)
    noises = np.flatnonzero(np.isin(problem.free, list(problem.learned_noises)))
    for _ in range(_RAISED if len(noises) else 0):
        if np.isfinite(state.value):
            break
        raised = state.x * unit
        raised[noises] += _RAISE  # what neighbours take, a whole matrix may not
        state = quasi_newton.init(function, np.clip(raised, low, high) / unit, inverse)
    if not np.isfinite(state.value):
        raise NumericalError(_NOWHERE)
    steps, failed = 0, 0
    # What is to be gained is believed of a curvature that a step was tried with. A step that failed has corrected it;
    # where the next fails as well, there is nowhere to go.
    while (steps == 0 or quasi_newton.gain(state, box) > max(left, density.error)) and steps < most and failed < 2:
        state, info = quasi_newton.step(state, function, box, density.error)
        steps, failed = steps + 1, 0 if info.moved else failed + 1
        if stages is not None:
            stages.step(-state.value)
    theta = problem.theta.copy()
    theta[problem.free] = state.x * unit
    gain = quasi_newton.gain(state, box)
    settled = gain <= max(left, density.error)
    message = f"{steps} steps of BFGS on {len(problem.data)} answers, {gain:.1g} nats to be gained at the end"
    if density.error > 0.0:
        message += f", where the evidence has a standard error of {density.error:.1g}"
    return (-state.value, theta, settled, message), state.inverse


def units_of(problem: Problem) -> Array:
    """How far each free entry of theta moves before it matters: a standard deviation of its prior, and a logarithm by
    no more than one."""
    spread = np.array([(high - low) / _MEASURED for low, high in bounds_of(problem)])
    logarithmic = np.array([problem.slots[i].transform != IDENTITY for i in problem.free])
    return np.where(logarithmic, np.minimum(spread, 1.0), spread)


def bounds_of(problem: Problem) -> list[tuple[float, float]]:
    """Where each free entry of theta may go."""
    return [_bounds(problem.priors[i], problem.slots[i], problem.theta[i]) for i in problem.free]


def _bounds(prior: Prior, slot: Slot, here: float) -> tuple[float, float]:
    """Where theta may go: as far as the prior has any mass to speak of, or five decades either way without a prior."""
    if isinstance(prior, Flat):
        return here - _REACH, here + _REACH
    if isinstance(prior, LogNormal | Normal):  # symmetric in theta; quantiles near 1 are lost to rounding
        middle, spread = (prior.mu, prior.sigma) if isinstance(prior, LogNormal) else (prior.mean, prior.sd)
        if (slot.transform == LOG) == isinstance(prior, LogNormal):
            return middle - 10.0 * spread, middle + 10.0 * spread
    low, middle, high = (prior.quantile(u) for u in (1e-12, 0.5, 1.0 - 1e-12))
    if slot.transform == FISHER:
        return to_theta(slot, max(low, -_CLOSEST)), to_theta(slot, min(high, _CLOSEST))
    if slot.transform != IDENTITY:
        low = max(low, 1e-10 * middle)
    if slot.transform == LOGIT:
        high = min(high, 1.0 - 1e-10)
    return to_theta(slot, low), to_theta(slot, high)
