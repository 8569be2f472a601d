"""Laplace approximation of the hyperparameters, the model evidence that follows from it, and the MGP.

    p(theta | answers) ≈ N(theta_hat, Σ),  Σ⁻¹ = −∇² log p(theta, answers)                      (4.6)
    log p(answers) ≈ log p(answers, theta_hat) − ½ log det Σ⁻¹ + d/2 log 2π                      (4.7)
    f* ~ N(μ, 4/3 ν + ∇μᵀ Σ ∇μ + ∇νᵀ Σ ∇ν/(3ν)),  μ, ν, ∇μ, ∇ν at theta_hat                       (4.10)

Numbered as in Gardner 2018, sec. 4.3; the MGP is that of Garnett, Osborne & Hennig 2014. It needs how the predictive
mean and variance move with theta, the sites included. For every kind of inference that is what posteriors at
theta_hat ± h say, each found by a warm start from the sites at theta_hat; no likelihood needs anything special.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.checks import as_rng, require_count, require_kind
from gainful.data import Data, require_instrument
from gainful.errors import ConvergenceWarning, InvalidInput
from gainful.hyper.fit import Fitted
from gainful.hyper.integral import curvature
from gainful.inference.engines.base import Engine
from gainful.inference.posterior import Posterior, solve, warn_about
from gainful.inference.sampled import smooth
from gainful.instruments.answers import Answers
from gainful.instruments.base import Instrument

__all__ = ["MGP", "HyperPosterior", "hyperposterior"]

Array = NDArray[np.float64]

_STEP = 1e-3  # in theta: central differences are then exact to about 1e-6 of the third derivative


@dataclass(frozen=True, eq=False, repr=False)
class HyperPosterior:
    """N(theta, covariance) over the learned entries of theta (named in `names`), and the log evidence of the model."""

    fitted: Fitted
    names: tuple[str, ...]
    theta: Array
    covariance: Array
    log_evidence: float

    def sample(self, size: int, rng: np.random.Generator | int) -> Array:
        """Draws of the learned entries, (size, d)."""
        size, generator = require_count("size", size, 0, "1 draws one theta"), as_rng(rng)
        return np.asarray(generator.multivariate_normal(self.theta, self.covariance, size, method="cholesky"))

    def __repr__(self) -> str:
        sd = np.sqrt(np.diagonal(self.covariance))
        parts = ", ".join(f"{n}={t:.4g}±{s:.2g}" for n, t, s in zip(self.names, self.theta, sd, strict=True))
        return f"HyperPosterior(theta: {parts}; log_evidence={self.log_evidence:.6g})"

    @cached_property
    def mgp(self) -> MGP:
        """The posterior with the hyperparameters approximately integrated out."""
        return MGP(self)


def hyperposterior(fitted: Fitted) -> HyperPosterior:
    """The Laplace approximation at the maximum: the Hessian by central differences of the exact gradient."""
    require_kind("fitted", fitted, Fitted, "what fit(gp, data) gives", "fit first")
    problem, free = fitted.problem, fitted.problem.free
    sites = fitted.posterior.sites
    H = curvature(problem, fitted.theta, sites)
    slope = np.abs(problem.log_density(fitted.theta, sites)[1][free])
    if slope.size and float(slope.max()) > 0.01 * max(1.0, float(np.abs(H).max())):
        steep = problem.names[free[int(np.argmax(slope))]]
        warnings.warn(
            f"the fit is not at a maximum: the density still rises with {steep} (slope {slope.max():.2g}); "
            "an expansion about this point means little",
            ConvergenceWarning,
            stacklevel=2,
        )
    values, vectors = np.linalg.eigh(H)
    flat = values < 1e-6
    if np.any(flat):
        silent = [problem.names[free[int(np.argmax(np.abs(vectors[:, i])))]] for i in np.flatnonzero(flat)]
        warnings.warn(
            f"the answers and priors say nothing of {silent}: their density is flat or not at a maximum; "
            "its curvature is taken as 1e-6; give them proper priors",
            ConvergenceWarning,
            stacklevel=2,
        )
        values = np.maximum(values, 1e-6)
    d = len(free)
    log_evidence = fitted.log_density - 0.5 * float(np.sum(np.log(values))) + 0.5 * d * float(np.log(2.0 * np.pi))
    covariance = (vectors / values) @ vectors.T
    names = tuple(problem.names[i] for i in free)
    return HyperPosterior(fitted, names, fitted.theta[free], covariance, log_evidence)


@dataclass(frozen=True, eq=False)
class MGP:
    """The marginal GP (Garnett, Osborne & Hennig 2014): one Gaussian per place, hyperparameters integrated out."""

    hyper: HyperPosterior

    @cached_property
    def _neighbours(self) -> list[tuple[Posterior, Posterior]]:
        """Posteriors at theta_hat ± h along each learned parameter."""
        fitted = self.hyper.fitted
        sites, out = fitted.posterior.sites, []
        method = fitted.problem.inference
        inference = (
            method if isinstance(method, Engine) else smooth(method, responds=fitted.posterior.response is not None)
        )
        for i in fitted.problem.free:
            pair = []
            for h in (_STEP, -_STEP):
                gp, data = fitted.problem.at(_moved(fitted.theta, int(i), h))
                start = None if data.layout.gaussian else sites
                pair.append(warn_about(solve(gp.mean, gp.kernel, data, inference, start)))
            out.append((pair[0], pair[1]))
        return out

    def mean(self, X: ArrayLike) -> Array:
        """μ at theta_hat, (M,)."""
        return self.hyper.fitted.posterior.mean(X)

    def variance(self, X: ArrayLike) -> Array:
        """(4.10), (M,)."""
        nu = self.hyper.fitted.posterior.variance(X)
        if not self._neighbours:  # nothing was learned, so nothing is uncertain
            return nu
        d_mean = np.stack([a.mean(X) - b.mean(X) for a, b in self._neighbours]) / (2.0 * _STEP)
        d_variance = np.stack([a.variance(X) - b.variance(X) for a, b in self._neighbours]) / (2.0 * _STEP)
        S = self.hyper.covariance
        by_mean = np.einsum("im,ij,jm->m", d_mean, S, d_mean)
        by_variance = np.einsum("im,ij,jm->m", d_variance, S, d_variance)
        tail = np.divide(by_variance, 3.0 * nu, out=np.zeros_like(nu), where=nu > 0.0)
        return 4.0 / 3.0 * nu + by_mean + tail

    def answers(self, instrument: Instrument, X: ArrayLike) -> Answers:
        """The predictive distribution of a one-place instrument's answers."""
        require_instrument(instrument)
        if instrument.query != "place":
            raise InvalidInput(
                "instrument", "one that sees a single place", instrument, "the MGP has no joint variances"
            )
        return instrument.predict(self.mean(X), self.variance(X))

    @property
    def data(self) -> Data:
        """What the belief is based on."""
        return self.hyper.fitted.data


def _moved(theta: Array, i: int, by: float) -> Array:
    out = theta.copy()
    out[i] += by
    return out
