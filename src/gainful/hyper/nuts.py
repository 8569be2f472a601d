"""Hyperparameters by the No-U-Turn sampler, through nutpie."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gainful.checks import require, require_count, require_kind, require_seed
from gainful.data import Data
from gainful.errors import InvalidInput, MissingExtra, NumericalError
from gainful.hyper.fit import fit
from gainful.hyper.problem import Problem
from gainful.inference.belief import Belief
from gainful.inference.engines.base import Engine
from gainful.inference.ep import EP
from gainful.inference.posterior import solve, warn_about
from gainful.inference.solution import Inference
from gainful.priors import Flat, Prior
from gainful.process import Process

__all__ = ["nuts"]

Array = NDArray[np.float64]

_FAR = 50.0  # in theta: e^50 times the most probable value, where exponentials start to overflow


def nuts(
    gp: Process,
    data: Data,
    *,
    draws: int = 200,
    tune: int = 300,
    chains: int = 2,
    thin: int = 1,
    seed: int = 0,
    priors: Mapping[str, Prior] | None = None,
    inference: Inference | Engine | None = None,
    progress: bool = False,
) -> Belief:
    """A belief of equally weighted posteriors, one per kept draw of the hyperparameters: chains · draws/thin of them.

    The density is exact for exact inference, and EP's or Laplace's own otherwise. Sampling starts at the maximum.
    Needs proper priors.
    """
    for name, value, least in (("draws", draws, 1), ("tune", tune, 1), ("chains", chains, 1), ("thin", thin, 1)):
        require_count(name, value, least, "leave it out for the usual one")
    require(require_seed("seed", seed) < 2**64, "seed", "a whole number below 2**64", seed, "0 will do")
    require_kind("progress", progress, bool, "True or False", "True draws a bar")
    problem = Problem.of(gp, data, priors, inference)
    try:
        import nutpie
        from nutpie.compiled_pyfunc import from_pyfunc
    except ImportError:
        raise MissingExtra("NUTS", "nuts") from None
    improper = [n for n, p in zip(problem.names, problem.priors, strict=True) if isinstance(p, Flat)]
    if improper:
        raise InvalidInput(
            "priors", "proper priors for sampling", f"Flat() for {improper}", "use LogNormal, for instance"
        )
    if not len(problem.free):
        return Belief([gp.posterior(data, inference)])
    best = fit(gp, data, priors=priors, inference=inference, starts=1)
    problem = problem.settled(best.theta)
    compiled = from_pyfunc(
        ndim=len(problem.free),
        make_logp_fn=lambda: _density(problem, best.theta[problem.free], best.posterior.sites),
        make_expand_fn=lambda *_: lambda x: {"theta": x},
        expanded_dtypes=[np.dtype("float64")],
        expanded_shapes=[(len(problem.free),)],
        expanded_names=["theta"],
        make_initial_point_fn=lambda _: best.theta[problem.free].copy(),
    )
    trace: Any = nutpie.sample(
        compiled, draws=draws, tune=tune, chains=chains, cores=1, seed=seed, progress_bar=progress
    )
    kept = np.asarray(trace.posterior["theta"].values)[:, ::thin].reshape(-1, len(problem.free))
    posteriors = []
    for part in kept:
        theta = problem.theta.copy()
        theta[problem.free] = part
        at, seen = problem.at(theta)
        start = None if seen.layout.gaussian else best.posterior.sites
        posteriors.append(warn_about(solve(at.mean, at.kernel, seen, problem.inference, start)))
    return Belief(posteriors)


def _density(problem: Problem, centre: Array, start: Any) -> Callable[[Array], tuple[float, Array]]:
    """log p(theta, answers) and its gradient in the learned entries, as nutpie calls it: from the sites found last."""
    sites, inference = start, problem.inference
    if isinstance(inference, EP):  # EP's evidence is stationary in the sites: they need not be final
        problem = replace(problem, inference=replace(inference, tolerance=max(1e-8, inference.tolerance)))

    def log_density(part: Array) -> tuple[float, Array]:
        nonlocal sites
        theta = problem.theta.copy()
        theta[problem.free] = part
        try:
            if np.max(np.abs(part - centre)) > _FAR:
                raise NumericalError("hyperparameters beyond any prior")
            value, gradient, found = problem.log_density(theta, None if problem.data.layout.gaussian else sites)
        except NumericalError:
            return -np.inf, np.zeros(
                len(problem.free)
            )  # outside what double precision can evaluate: a divergence, counted there
        sites = found.sites if found.convergence else start
        return value, gradient[problem.free]

    return log_density
