"""The search over many answers: on a few of them first, then on more, each from where the last ended.

A value and a slope on all N answers can take a minute, so what is counted is how often they are asked for. From one
stage to the next the search takes along how the density bends: by differences of slopes on the first answers, then as
every point that was tried corrects it. What answers add to that grows with their number; what priors add stays.

Few of many answers, drawn at random, are far apart: what is small among all of them looks like noise. So before answers
are added, shorter lengthscales are tried on some that lie next to each other, and where they explain those better, the
next stage goes from there as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gainful.errors import InvalidInput, NumericalError
from gainful.hyper.climb import Density, Found, climb, descend, units_of
from gainful.hyper.problem import Problem, rougher
from gainful.hyper.progress import Stage, Stages
from gainful.inference.engines.base import Choosing, Engine, Refinable
from gainful.inference.engines.choosing import FEW
from gainful.inference.engines.dense import Dense
from gainful.inference.engines.metric import points_of
from gainful.inference.engines.single import Single
from gainful.inference.exact import Exact
from gainful.inference.posterior import solve
from gainful.inference.solution import Inference

__all__ = ["FIRST", "MANY", "climb_in_stages"]

Array = NDArray[np.float64]

MANY, FIRST = FEW, 1500  # answers from which on a search goes in stages, and those of the first stage
_TIMES = 4  # as many answers in a stage as in the one before, at most
_ENOUGH = 1e-6  # of log p(answers, theta): two steps that gain no more end the first stage
_LEFT, _LAST = 0.3, 0.03  # nats to be gained, at which a later stage ends, and the last
_STEPS = 40  # at most, in a later stage
_BETTER = 1.0  # nats, by which it has to end higher there than from where the search is
_ABOUT = 12  # steps, after which a search on few answers knows about where to go on
_PART = 1000  # answers next to each other, at most, on which shorter lengthscales are tried
_APART = 0.02  # of a unit: slopes so far apart are differenced


def climb_in_stages(problem: Problem, begins: Iterable[Array], rng: np.random.Generator) -> tuple[Problem, list[Found]]:
    """The search of many answers: from every start on a few of them, then on some times as many from where the last one
    ended, up to all. An engine that chooses does so before the last stage, by what is known then; and one
    that knows a nearer one ends with that, where it says that this is worth it. Returned with the problem as it was
    solved in the end."""
    counts = _counts(len(problem.data))
    stages, asked = Stages(_stages(problem, counts)), problem.inference
    if isinstance(asked, Choosing):
        problem = replace(problem, inference=asked.first)
    here = _thinned(problem, counts[0], rng)
    found = climb(here, begins, _ENOUGH, stages.begin().steps, stages)[0]
    hessian = _curvature(here, found[1])
    for before, count in pairwise(counts):
        closer = _closer(problem, found[1], rng)
        settled = replace(problem, inference=asked).settled(found[1]) if count == counts[-1] else problem
        if settled.inference != problem.inference:  # on as many answers again, as what is most probable is elsewhere
            problem = settled
            stages.further(Stage(before, _STEPS, _cost(before, problem.inference)))
            here = _thinned(problem, before, rng)
            found, inverse = descend(here, found[1], _inverse(hessian), _LEFT, stages.begin().steps, stages)
            hessian = _inverse(inverse)
        here = _thinned(problem, count, rng)
        left = _LAST if count == counts[-1] else _LEFT
        inverse = _inverse(_grown(hessian, count / before))
        ends = [descend(here, found[1], inverse, left, stages.begin().steps, stages)]
        if closer is not None:
            stages.again()
            with suppress(NumericalError):  # an engine may refuse what is so rough
                ends.append(descend(here, closer, inverse, left, _STEPS, stages))
        found, inverse = max(ends, key=lambda end: end[0][0])
        hessian = _inverse(inverse)
    nearer = _refined(problem, asked, found[1])
    if nearer is not None:
        problem = replace(problem, inference=nearer)
        stages.further(Stage(counts[-1], _STEPS, _cost(counts[-1], nearer)))
        found, _ = descend(problem, found[1], _inverse(hessian), _LAST, stages.begin().steps, stages)
    return problem, [found]


def _closer(problem: Problem, theta: Array, rng: np.random.Generator) -> Array | None:
    """Where a search ends among answers that lie next to each other, begun at shorter lengthscales; None where these
    explain them no better than theta does, where answers are not numbers, or where there are too few to be a part."""
    data, some = problem.data, rougher(problem, theta)
    if not some or not data.layout.gaussian or len(data) <= _PART:
        return None
    gp, _ = problem.at(theta)
    places = data.layout.places[data.layout.first[data.layout.starts[:-1]]]
    try:
        points = points_of(gp.kernel, places)
    except InvalidInput:  # a kernel of one's own that has levels, and does not say so
        return None
    distances = np.sum((points - points[rng.integers(len(points))]) ** 2, axis=1)
    same = dict(zip(problem.names, problem.priors, strict=True))  # by default they follow from the data
    part = replace(problem, data=data.around(distances, _PART), given=same, inference=Exact())
    evidence, prior = part.log_densities(np.stack([theta, *some]))
    densities = evidence + prior
    best = int(np.argmax(densities))
    if not densities[best] > densities[0] + _LEFT:
        return None
    # A part has an end of its own, which a search from theta may come to as well.
    here, closer = (climb(part, [begin[problem.free]], _ENOUGH, _ABOUT)[0] for begin in (theta, some[best - 1]))
    return closer[1] if closer[0] > here[0] + _BETTER else None


def _counts(N: int) -> list[int]:
    """How many answers each stage has, in equal proportions: a last but one with nearly all would save nothing.

    >>> _counts(24_000)
    [1500, 6000, 24000]
    """
    later = max(0, int(np.ceil(np.log(N / FIRST) / np.log(_TIMES) - 1e-9)))
    return [FIRST, *(round(FIRST * (N / FIRST) ** (i / later)) for i in range(1, later + 1))]


def _refined(problem: Problem, asked: Inference | Engine, theta: Array) -> Engine | None:
    """A nearer engine than the problem's, where the one that was asked for finds that worth it at theta."""
    if not isinstance(asked, Refinable):
        return None
    gp, data = problem.at(theta)
    behind = solve(gp.mean, gp.kernel, data, problem.inference).behind
    return None if behind is None else asked.refined(behind)


def _stages(problem: Problem, counts: list[int]) -> list[Stage]:
    """The stages on so many answers."""
    method = problem.inference
    return [Stage(count, 200 if i == 0 else _STEPS, _cost(count, method)) for i, count in enumerate(counts)]


def _cost(count: int, method: Inference | Engine) -> float:
    """A step of exact inference costs N³, of all else about N."""
    return float(count) ** (1 if isinstance(method, Engine) and not isinstance(method, Dense | Single) else 3)


def _thinned(problem: Problem, count: int, rng: np.random.Generator) -> Problem:
    return problem if count >= len(problem.data) else replace(problem, data=problem.data.thinned(count, rng))


def _curvature(problem: Problem, theta: Array) -> Array:
    """−∇² log p(answers, theta) in units, by differences of slopes; what cannot be differenced bends as the prior."""
    density, part, unit = Density(problem), theta[problem.free], units_of(problem)
    rows = np.eye(len(part))
    for i, each in enumerate(unit):
        apart = np.zeros_like(part)
        apart[i] = _APART * each
        (up, above), (down, below) = density(part + apart), density(part - apart)
        if np.isfinite(up) and np.isfinite(down):
            rows[i] = (above - below) * unit / (2.0 * _APART)
    return 0.5 * (rows + rows.T)


def _grown(hessian: Array, ratio: float) -> Array:
    """Of so many times the answers: in units, a prior bends by about one, and what bends more does so by answers."""
    values, vectors = np.linalg.eigh(hessian)
    values = 1.0 + ratio * (np.maximum(np.abs(values), 1.0) - 1.0)
    return np.asarray((vectors * values).dot(vectors.T))


def _inverse(matrix: Array) -> Array:
    return np.asarray(np.linalg.inv(matrix), dtype=float)
