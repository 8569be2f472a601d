"""One GP with its hyperparameters integrated out, by weighted points about the mode, by NUTS or by the MGP.

    p(f | answers) ≈ Σ_s w_s p(f | answers, theta_s),   w_s ∝ volume_s · p(answers, theta_s)

After Rue, Martino & Chopin 2009 (see `hyper/integral`). EP at each point starts from the sites at the mode.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gainful.beliefs.learner import Learner, Seed, Start, Used
from gainful.beliefs.parts import Part, Parts
from gainful.checks import as_rng, require_choice, require_kind
from gainful.data import Data
from gainful.hyper.climb import climb
from gainful.hyper.fit import draw, fit
from gainful.hyper.integral import Mode, find_mode, loosened, spread_points, thinned
from gainful.hyper.laplace import MGP, hyperposterior
from gainful.hyper.nuts import nuts
from gainful.hyper.problem import Problem, rougher
from gainful.hyper.staged import FIRST, MANY, climb_in_stages
from gainful.hyper.unstated import Opened, open_up
from gainful.inference.belief import Belief
from gainful.inference.engines.base import Engine
from gainful.inference.posterior import Posterior
from gainful.inference.solution import Inference
from gainful.inference.solving import method_for
from gainful.inference.together import can_be_settled
from gainful.instruments.base import Instrument
from gainful.process import Process

__all__ = ["Integrated", "integrated_parts", "mode_from", "part_of", "starts_of", "typical_part", "unused_by"]

Array = NDArray[np.float64]

_DECIMALS = 4  # of a parameter in its units: see `Opened.rounded`
_MOST = 24  # parts: each has its own posterior
_FEWER = (
    8  # where an answer sees several values at once: a posterior of classes is as dear as one of k times the answers
)
_SEARCH = 1e-4  # EP's tolerance on the way to the mode
_DRAWS, _DEAR_DRAWS = 30, 3  # from the priors, where the search for the mode may begin; fewer where each costs an EP
_NEAR = 1e-7  # of the log density: what two steps gain at most when the search ends and Newton's steps begin
_ROUGH = 0.03  # EP's tolerance for where to begin


@dataclass(frozen=True)
class Integrated(Learner):
    """A GP whose hyperparameters are not known: what was not stated, or has a prior, is integrated out.

    by   "points", weighted points about the mode; "nuts", samples (needs the extra gainful[nuts]); "mgp", one Gaussian
         at each place, for predictions only

    >>> import gainful as gf
    >>> space = gf.Space(gf.Real("x", 0, 10))
    >>> data = gf.Data().add(gf.Point(), np.linspace(0, 10, 8)[:, None], np.sin(np.linspace(0, 10, 8)))
    >>> belief = gf.Integrated(gf.GP(space=space)).condition(data)
    >>> low, high = belief.band([[5.0]])
    >>> bool(low[0] < np.sin(5.0) < high[0])
    True
    """

    gp: Process
    by: str = "points"
    inference: Inference | Engine | None = None

    def __post_init__(self) -> None:
        require_kind("gp", self.gp, Process, "a GP", "for instance GP(space=space)")
        require_choice("by", self.by, ("points", "nuts", "mgp"), "points is the fastest")
        method_for(Data().layout, self.inference)  # says so, if it is none

    @property
    def processes(self) -> tuple[Process, ...]:
        return (self.gp,)

    @property
    def method(self) -> Inference | Engine | None:
        return self.inference

    def condition(self, data: Data, start: Start = None, rng: Seed = 0) -> Belief | MGP:
        """The belief given the data; `start` is an earlier one to go on from."""
        if self.by == "points":
            return self.integrate(data, start, rng)
        problem = open_up(self.gp, data, self.inference).problem
        if self.by == "nuts":
            seed = int(as_rng(rng).integers(2**63))
            return nuts(problem.gp, problem.data, priors=problem.given, inference=self.inference, seed=seed)
        return hyperposterior(
            fit(problem.gp, problem.data, priors=problem.given, inference=self.inference, rng=rng)
        ).mgp

    def learn(self, data: Data, instruments: Used, start: Start = None, rng: Seed = 0) -> Parts:
        """What the data says of the hyperparameters of the gp and of these instruments: to be written down."""
        return Parts(integrated_parts(self.gp, data, instruments, self.inference, start, rng))

    def typical(self, data: Data, instruments: Used) -> Parts:
        """One part with typical hyperparameters for the scale of the data, where too little is known to learn any."""
        return Parts((typical_part(self.gp, data, instruments, self.inference),))


def typical_part(
    gp: Process, data: Data, instruments: Iterable[Instrument], inference: Inference | Engine | None, model: int = 0
) -> Part:
    """A GP at typical hyperparameters, nothing learned."""
    several = tuple(instruments)
    opened = open_up(gp, data, inference, several)
    return part_of(opened, opened.problem.parameters, unused_by(opened, several), 0.0, model)


def unused_by(opened: Opened, instruments: Iterable[Instrument]) -> list[Instrument]:
    """The instruments that have not answered yet, each with a typical noise where it was not stated."""
    used = {each.label for each in opened.problem.data.instruments}
    return [opened.readable(each) for each in instruments if each.label not in used]


def integrated_parts(
    gp: Process,
    data: Data,
    instruments: Iterable[Instrument],
    inference: Inference | Engine | None,
    start: Belief | Posterior | None,
    rng: np.random.Generator | int,
    model: int = 0,
) -> tuple[Part, ...]:
    """The weighted points of one GP; one part where there is nothing to learn, or nothing to learn from."""
    several = tuple(instruments)
    opened = open_up(gp, data, inference, several)
    unused, problem = unused_by(opened, several), opened.problem
    if not len(problem.free) or not len(data):
        return (part_of(opened, problem.parameters, unused, 0.0, model),)
    if len(problem.data) > MANY:  # they leave no doubt to speak of, and every point would take all of them again
        source = as_rng(rng)
        some = replace(problem, data=problem.data.thinned(FIRST, source))
        begins = starts_of(some, start, model, source)
        theta = climb_in_stages(problem, begins[:, problem.free], source)[1][0][1]
        return (part_of(opened, opened.rounded(theta, _DECIMALS), unused, 0.0, model),)
    begins = starts_of(problem, start, model, as_rng(rng))
    mode = mode_from(problem, begins)
    points = spread_points(mode)
    evidence, prior = mode.log_densities(points.theta)
    coupled = any(each.query == "set" for each in problem.data.instruments)
    most = _FEWER if coupled else _MOST
    kept, log_share = thinned(points.log_volume + evidence + prior, points.along, most)
    # A kept point stands for its share of all of them: what it weighs besides its evidence.
    besides = log_share - evidence[kept]
    heaviest = np.argsort(-log_share, kind="stable")
    return tuple(
        part_of(opened, opened.rounded(points.theta[kept[i]], _DECIMALS), unused, _round(besides[i]), model)
        for i in heaviest
    )


def mode_from(problem: Problem, begins: Array) -> Mode:
    """The most probable of the modes that searches from these thetas (S, P) end at."""
    _, theta, _, _ = climb(loosened(problem, _SEARCH), begins[:, problem.free], _NEAR)[0]
    return find_mode(problem, theta, None)


def _round(value: float) -> float:
    return round(float(value), _DECIMALS)


def starts_of(problem: Problem, start: Belief | Posterior | None, model: int, rng: np.random.Generator) -> Array:
    """Where to begin the search: the most probable of where an earlier belief ended, of draws and of rougher functions,
    and typical values."""
    cheap = can_be_settled(problem.data.layout)
    draws = [draw(problem, rng) for _ in range(_DRAWS if cheap else _DEAR_DRAWS)]
    rough = rougher(problem, problem.theta) if cheap or problem.data.layout.gaussian else []
    tried = np.stack([problem.theta, *_earlier(problem, start, model), *draws, *rough])
    evidence, prior = loosened(problem, _ROUGH).log_densities(tried)
    best = int(np.argmax(evidence + prior))
    return tried[:1] if best == 0 else tried[[best, 0]]


def _earlier(problem: Problem, start: Belief | Posterior | None, model: int) -> list[Array]:
    """theta of the heaviest part of an earlier belief; none where there is none of this kind."""
    if not isinstance(start, Belief) or model not in start.models:
        return []
    weights = np.where(np.array(start.models) == model, start.weights, 0.0)
    earlier = start.posteriors[int(np.argmax(weights))]
    read = {each.label: each for each in earlier.data.instruments}
    thetas = [read[each.label].theta if each.label in read else each.theta for each in problem.data.instruments]
    there = np.concatenate([earlier.kernel.theta, earlier.prior_mean.theta, *thetas])
    if len(there) != len(problem.theta):
        return []
    out = problem.theta.copy()
    out[problem.free] = there[problem.free]
    return [out]


def part_of(opened: Opened, parameters: Array, unused: list[Instrument], log_weight: float, model: int) -> Part:
    """The part with these parameters; `unused` are instruments that have not answered yet."""
    problem = opened.problem
    labels = [each.label for each in problem.data.instruments]
    sizes = [problem.gp.size, *(each.size for each in problem.data.instruments)]
    own, *others = np.split(parameters, np.cumsum(sizes)[:-1])
    read = {label: tuple(each.tolist()) for label, each in zip(labels, others, strict=True) if len(each)}
    read |= {each.label: tuple(each.parameters.tolist()) for each in unused if each.size}
    return Part(tuple(own.tolist()), read, log_weight, model)
