"""Maximum a posteriori hyperparameters: L-BFGS from several starts, with exact gradients."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import OptimizeResult, minimize

from gainful.checks import as_rng, listed, numbers, require, require_count
from gainful.data import Data
from gainful.errors import ConvergenceWarning, InvalidInput, NumericalError
from gainful.hyper.problem import Problem
from gainful.hyper.progress import Stage, Stages
from gainful.inference.engines.base import Engine
from gainful.inference.engines.choosing import FEW
from gainful.inference.engines.dense import Dense
from gainful.inference.engines.single import Single
from gainful.inference.ep import EP
from gainful.inference.evidence import UNSETTLED, Start
from gainful.inference.posterior import Posterior, solve
from gainful.inference.solution import Inference
from gainful.inference.solving import warn_if_jittered
from gainful.parameters import FISHER, IDENTITY, LOG, LOGIT, Slot, natural, to_theta
from gainful.priors import Flat, LogNormal, Normal, Prior, Uniform
from gainful.process import Process

__all__ = ["FIRST", "MANY", "Fitted", "climb", "climb_in_stages", "draw", "fit"]

Array = NDArray[np.float64]

_REACH = float(np.log(1e5))  # how far a parameter without a prior may move from where it was, in theta
_WORST = 1e10  # what a theta without a finite evidence counts as: finite, so that the line search can step back from it
_ENOUGH = 2e-9  # of log p(answers, theta): two steps that gain no more are the last
_CLOSEST = 1.0 - 1e-6  # a correlation: nearer to one, two functions are the same to rounding
MANY, FIRST = FEW, 1500  # answers from which on a search goes in stages, and those of the first stage
_STEPS, _LAST = 12, 50  # steps at most in later stages, and on all answers
_STAGED = 1e-6  # of log p(answers, theta): what two steps must gain in later stages
_SLOW = 1e-3  # nats: two steps that gain no more, below the end of another start, and this one is given up


@dataclass(frozen=True, eq=False, repr=False)
class Fitted:
    """A gp and data at their most probable hyperparameters, the posterior there, and how the search went.

    `theta` and `names` cover the gp's parameters and then the instruments'. `log_density` is log p(answers, theta),
    what was maximised; `tried` its value at the end of each start (−inf where a start failed), best first.
    """

    problem: Problem
    theta: Array
    gp: Any  # of the class that was fitted
    data: Data
    posterior: Posterior
    log_density: float
    converged: bool
    message: str
    tried: tuple[float, ...]

    @property
    def log_evidence(self) -> float:
        """log p(answers | theta) at the maximum."""
        return self.posterior.log_evidence

    @property
    def names(self) -> tuple[str, ...]:
        return self.problem.names

    @property
    def values(self) -> dict[str, float]:
        """The learned parameters by name, on their own scale: a lengthscale, not its logarithm."""
        return dict(zip(self.names, natural(self.problem.slots, self.theta).tolist(), strict=True))

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value:.4g}" for name, value in self.values.items())
        return f"Fitted({values}; log_evidence={self.log_evidence:.6g}, converged={self.converged})"


def fit(
    gp: Process,
    data: Data,
    *,
    priors: Mapping[str, Prior] | Prior | None = None,
    inference: Inference | Engine | None = None,
    starts: int | ArrayLike = 4,
    rng: np.random.Generator | int = 0,
) -> Fitted:
    """Learn the hyperparameters of kernel, mean and instruments by maximising their posterior density.

    The first start is where the gp is; the others are drawn from the priors (`starts` may also be an array of thetas).
    `priors` maps names to priors and overrides the gp's own; one prior alone is for every parameter that the
    gp does not fix, so `priors=Flat()` is maximum likelihood. `Fixed()` keeps a parameter.

    >>> from gainful.instruments import Point
    >>> from gainful.kernels import SE
    >>> X = np.linspace(0, 1, 12)[:, None]
    >>> fitted = fit(Process(SE()), Data().add(Point(noise=0.1), X, np.sin(6 * X[:, 0])))
    >>> fitted.converged
    True
    """
    problem = Problem.of(gp, data, priors, inference)
    if not len(problem.data):
        raise InvalidInput(
            "data", "at least one answer", "none", "measure first; before that the priors are all there is"
        )
    begins = _starts(problem, starts, rng)
    if not len(problem.free):
        value = problem.log_density(problem.theta)[0]
        return _finish(problem, [(value, problem.theta, True, "every parameter is fixed")])
    if len(problem.data) <= MANY:
        return _finish(problem, climb(problem, begins, _ENOUGH))
    return _finish(problem, climb_in_stages(problem, begins, as_rng(rng)))


def climb_in_stages(problem: Problem, begins: Iterable[Array], rng: np.random.Generator) -> list[Found]:
    """The search of many answers: from every start on a few of them, then on four times as many at a time from where
    the last one ended, up to all. A step on all costs as much as the whole search on a few."""
    counts = [FIRST]
    while counts[-1] < len(problem.data):
        counts.append(min(4 * counts[-1], len(problem.data)))
    some, stages = list(begins), Stages(_stages(problem, counts))
    for count in counts:
        here = problem if count == len(problem.data) else replace(problem, data=problem.data.thinned(count, rng))
        enough = _ENOUGH if count == FIRST else _STAGED
        found = climb(here, some, enough, stages.begin().steps, stages)
        some = [found[0][1][problem.free]]
    return found


def _stages(problem: Problem, counts: list[int]) -> list[Stage]:
    """The stages on so many answers. A step of exact inference costs N³, of all else about N."""
    method = problem.inference
    power = 1 if isinstance(method, Engine) and not isinstance(method, Dense | Single) else 3
    last = len(counts) - 1
    most = [200 if i == 0 else _LAST if i == last else _STEPS for i in range(len(counts))]
    return [Stage(count, steps, float(count) ** power) for count, steps in zip(counts, most, strict=True)]


Found = tuple[float, Array, bool, str]


def climb(
    problem: Problem, begins: Iterable[Array], enough: float, most: int = 200, stages: Stages | None = None
) -> list[Found]:  # fmt: skip
    """Where the searches from each of these free parts of theta end, best first; two steps that gain no more than
    `enough`, relative to log p(answers, theta), are the last, or so many. `stages` is told of every step."""
    found: list[Found] = []
    for start in begins:
        best = max((each[0] for each in found), default=-np.inf)
        found.append(_search(problem, start, best, enough, most, stages))
    found = [each for each in found if np.isfinite(each[0])]
    if not found:
        raise NumericalError(
            "no start gave a finite evidence: the answers contradict the model for every hyperparameter that was "
            "tried; check the units of X and the answers, and the instruments' noise"
        )
    return sorted(found, key=lambda each: -each[0])


def _search(
    problem: Problem, start: Array, best: float, satisfied: float, most: int, stages: Stages | None = None
) -> Found:  # fmt: skip
    """One start: the density reached, theta there, whether the search was satisfied, and what it says of itself.

    A start that slows down below `best`, what another has reached, is not followed to the end.
    """
    bounds = _every_bound(problem)
    # Sites need not be final on the way: EP's evidence is stationary in them.
    loose = (
        replace(problem.inference, tolerance=max(1e-7, problem.inference.tolerance))
        if isinstance(problem.inference, EP)
        else problem.inference
    )
    rough = replace(problem, inference=loose)
    low, high = np.array(bounds).T
    full = problem.theta.copy()
    sites: Start = None
    size = 0.0  # of the objective's gradient at the start
    error = 0.0  # of the evidence, where probes estimate it
    gains, value, enough = (np.inf, np.inf), np.inf, False

    def objective(part: Array) -> tuple[float, Array]:
        nonlocal sites, size, error
        full[problem.free] = part
        try:
            value, gradient, evidence = rough.log_density(full, sites)
            settled = evidence.convergence.residual < UNSETTLED
            usable = bool(settled and np.isfinite(value) and np.all(np.isfinite(gradient)))
        except NumericalError:
            usable = False
        if not usable:
            sites = None
            return _WORST, np.zeros_like(part)
        sites, error = evidence.sites if evidence.convergence else None, evidence.error
        uphill = gradient[problem.free]
        # L-BFGS begins with a step as long as the gradient, which in a box may go straight to its corner.
        size = size or max(1.0, float(np.sqrt(uphill @ uphill)))
        return -value / size, -uphill / size

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
        np.clip(start, low, high),
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
    if error > 0.0 and not settled and size and np.isfinite(reached):
        # Values by probes are rough where slopes are not, and a line search ends on that. What a step of Newton would
        # gain, ½ gᵀ H⁻¹ g with H as L-BFGS has it, is then held against the error that the evidence states.
        gain = 0.5 * float(uphill @ done.hess_inv.dot(uphill)) / size
        settled = gain <= error
        message += f", to be gained {gain:.1g} where the evidence has a standard error of {error:.1g}"
    return reached, theta, settled, message


def _finish(problem: Problem, found: list[Found]) -> Fitted:
    value, theta, success, message = found[0]
    bounds = _every_bound(problem)
    at_end = [
        problem.names[i]
        for i, (low, high) in zip(problem.free, bounds, strict=True)
        if not isinstance(problem.priors[i], Uniform) and not low < theta[i] < high
    ]
    if at_end:
        success, message = (
            False,
            f"{at_end} went as far as they may; the answers say nothing of them, or the data is noiseless",
        )
    gp, data = problem.at(theta)
    final = solve(gp.mean, gp.kernel, data, problem.inference)
    warn_if_jittered(final.jitter)
    converged = success and final.converged
    if not converged:
        warnings.warn(
            f"the fit did not converge: {message}; {final.convergence.message}", ConvergenceWarning, stacklevel=3
        )
    tried = tuple(each[0] for each in found)
    return Fitted(problem, theta, gp, data, final, value, converged, message, tried)


def _every_bound(problem: Problem) -> list[tuple[float, float]]:
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


def _starts(problem: Problem, starts: int | ArrayLike, rng: np.random.Generator | int) -> list[Array]:
    """Starting points in the free part of theta."""
    given = problem.theta[problem.free]
    generator = as_rng(rng)
    if listed(starts) is not None:
        expected = f"a whole number, or rows of {len(problem.theta)} finite numbers like theta"
        points = np.atleast_2d(numbers("starts", starts, expected, "see .names"))
        shaped = points.ndim == 2 and len(points) > 0 and points.shape[1] == len(problem.theta)
        require(shaped and bool(np.isfinite(points).all()), "starts", expected, starts, "see .names")
        return list(points[:, problem.free])
    number = require_count("starts", starts, 1, "1 starts from where the gp is")
    return [given, *(draw(problem, generator)[problem.free] for _ in range(number - 1))]


def draw(problem: Problem, rng: np.random.Generator) -> Array:
    """A theta from the priors, their tails left out; what is fixed stays."""
    out = problem.theta.copy()
    shares = rng.uniform(0.05, 0.95, len(problem.free))
    out[problem.free] = [_draw(problem, i, u) for i, u in zip(problem.free, shares, strict=True)]
    return out


def _draw(problem: Problem, i: int, u: float) -> float:
    prior, slot = problem.priors[i], problem.slots[i]
    if isinstance(prior, Flat):
        return float(problem.theta[i] + (2.0 * u - 1.0) * float(np.log(30.0)))
    return to_theta(slot, prior.quantile(u))
