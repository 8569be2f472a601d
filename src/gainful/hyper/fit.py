"""Maximum a posteriori hyperparameters: a search from several starts, with exact gradients."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.checks import as_rng, listed, numbers, require, require_count
from gainful.data import Data
from gainful.errors import ConvergenceWarning, InvalidInput
from gainful.hyper.climb import Found, bounds_of, climb
from gainful.hyper.problem import Problem, rougher
from gainful.hyper.staged import FIRST, MANY, climb_in_stages
from gainful.inference.engines.base import Choosing, Engine
from gainful.inference.posterior import Posterior, solve
from gainful.inference.solution import Inference
from gainful.inference.solving import warn_if_jittered
from gainful.parameters import natural, to_theta
from gainful.priors import Flat, Prior, Uniform
from gainful.process import Process

__all__ = ["Fitted", "draw", "fit"]

Array = NDArray[np.float64]

_ENOUGH = 2e-9  # of log p(answers, theta): two steps that gain no more are the last


@dataclass(frozen=True, eq=False, repr=False)
class Fitted:
    """A gp and data at their most probable hyperparameters, the posterior there, and how the search went.

    Where the engine was chosen for you, what is believed may be exact after a search by neighbours: `log_density` is by
    `problem.inference`, `log_evidence` by the posterior's. `theta` and `names` cover the gp's parameters and then the
    instruments'. `log_density` is log p(answers, theta), what was maximised; `tried` its value at the end of each start
    (−inf where a start failed), best first.
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
    With several starts there is one more where lengthscales are shorter, if numbers are more probable there than where
    the gp is: what is rough looks like noise to long ones.
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
    return _finish(*climb_in_stages(problem, begins, as_rng(rng)), problem.inference)


def _finish(problem: Problem, found: list[Found], asked: Inference | Engine | None = None) -> Fitted:
    value, theta, success, message = found[0]
    bounds = bounds_of(problem)
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
    if isinstance(asked, Choosing) and final.behind is not None:
        closing = asked.closing(final.behind)
        final = final if closing is None else solve(gp.mean, gp.kernel, data, closing)
    warn_if_jittered(final.jitter)
    converged = success and final.converged
    if not converged:
        warnings.warn(
            f"the fit did not converge: {message}; {final.convergence.message}", ConvergenceWarning, stacklevel=3
        )
    tried = tuple(each[0] for each in found)
    return Fitted(problem, theta, gp, data, final, value, converged, message, tried)


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
    drawn = [draw(problem, generator)[problem.free] for _ in range(number - 1)]
    return [given, *drawn, *(_rougher_start(problem) if drawn else [])]


def _rougher_start(problem: Problem) -> list[Array]:
    """The most probable of these, if it is more so than where the gp is; of answers that are not numbers none is tried,
    as each would take an inference of its own."""
    some = rougher(problem, problem.theta) if problem.data.layout.gaussian else []
    if not some:
        return []
    few = problem.data if len(problem.data) <= FIRST else problem.data.thinned(FIRST, np.random.default_rng(0))
    evidence, prior = replace(problem, data=few).log_densities(np.stack([problem.theta, *some]))
    best = int(np.argmax(evidence + prior))
    return [some[best - 1][problem.free]] if best else []


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
