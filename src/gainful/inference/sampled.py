"""Exact inference by sampling: draws from p(g | answers) itself, where a Gaussian approximation is not good enough.

EP (or whatever else) gives a Gaussian near the posterior. Draws from it are brought to the posterior by a ladder of
elliptical slice sampling (`numerics/elliptical.py`), in which answers without noise are bounds that are kept exactly.
What remains is the error of `draws` draws.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from gainful.checks import require, require_whole
from gainful.errors import InvalidInput, NumericalError
from gainful.inference.conditioned import Conditioned, condition_on
from gainful.inference.convergence import Convergence, Result
from gainful.inference.draws import Draws
from gainful.inference.ep import EP
from gainful.inference.sites import Block, Sites
from gainful.inference.solution import Inference, Solution, WarmStart, gaussian_evidence, gaussian_sites, is_block
from gainful.instruments.base import Instrument, Rows, Term
from gainful.instruments.window import Window
from gainful.layout import Layout
from gainful.numerics.blas import matmul
from gainful.numerics.elliptical import Target, climb, require_inside
from gainful.numerics.normal import log_ndtr_between

__all__ = ["Sampled", "smooth"]

Array = NDArray[np.float64]

_RANK = 1e-13  # of the largest variance: directions of g with less are a function of the others
_MOST = 1_000_000  # draws
_WIDER = 1.5  # by how much more than the approximation's variance the ladder begins with: it may be too sure


@dataclass(frozen=True)
class Sampled:
    """The exact posterior, by `draws` draws of the latent values: slower than EP, and right where EP is too sure.

    Means and variances have a relative error of about 1/√draws standard deviations, samples are from the posterior
    itself. `around` is the approximation from which the draws begin; it has no part in where they end, and is what
    hyperparameters are learned with. The same seed gives the same draws.

    >>> import gainful as gf
    >>> sign = gf.Ordinal([0.0], noise=0.0)
    >>> data = gf.Data().add(sign, [[0.0], [0.1], [0.2]], [2, 2, 2])
    >>> exact = gf.GP(gf.SE(0.1)).condition(data, inference=gf.Sampled(draws=4000))
    >>> bool(abs(exact.mean([[0.1]])[0] - 1.0564) < 0.05)
    True
    """

    draws: int = 1000
    seed: int = 0
    around: Inference = field(default_factory=EP)

    def __post_init__(self) -> None:
        draws = require_whole("draws", self.draws, 2, "1000 is a good number")
        require(draws <= _MOST, "draws", f"at most {_MOST}", draws, "1000 is a good number")
        require_whole("seed", self.seed, 0, "any whole number will do")
        if isinstance(self.around, type | Sampled) or not hasattr(self.around, "solve"):
            raise InvalidInput("around", "EP() or Laplace()", self.around, "leave it out for EP")

    def solve(self, layout: Layout, mean: Array, cov: Array, start: WarmStart | None = None) -> Solution:
        base = condition_on(gaussian_sites(layout), mean, cov)
        if layout.gaussian:
            return Solution(base, gaussian_evidence(layout, base), Convergence(Result.EXACT))
        rows = np.unique(np.concatenate([t.rows.ravel() for t in layout.terms if not t.likelihood.gaussian]))
        near, basis, root = self._near(layout, mean, cov, start), *_whitened(base, rows)
        centre, spread = _start(base, None if near is None else _steady(layout, near.sites), rows, root)
        target = _target(layout, rows, base.mean[rows], root, centre, spread)
        if near is None:
            require_inside(target)
        found = climb(target, root.shape[1], self.draws, np.random.default_rng(self.seed))
        values = centre + matmul(found.draws, spread.T)
        draws = Draws(base, basis, values, found.error)
        state = near.state if near is not None else base
        log_evidence = gaussian_evidence(layout, base) + found.log_normaliser + float(np.log(np.diag(spread)).sum())
        result = Result.SAMPLED if found.forgotten else Result.NOT_MIXED
        convergence = Convergence(result, found.steps, found.memory)
        respond = None if near is None else near.respond
        return Solution(state, log_evidence, convergence, draws=draws, respond=respond)

    def _near(self, layout: Layout, mean: Array, cov: Array, start: WarmStart | None) -> Solution | None:
        """The approximation to begin from; None where there is none, and the draws begin from the prior."""
        try:
            return self.around.solve(layout, mean, cov, start)
        except NumericalError:
            return None


def smooth(inference: Inference, responds: bool | None = None) -> Inference:
    """An inference whose results have derivatives in the hyperparameters: draws have none, nor has a correction of
    spreads that begins at a threshold, unless it is said that they are corrected or not (`responds`)."""
    plain = inference.around if isinstance(inference, Sampled) else inference
    return replace(plain, response=responds) if isinstance(plain, EP) and responds is not None else plain


def _whitened(base: Conditioned, rows: Rows) -> tuple[Array, Array]:
    """T (D, F) and L (n, D): given the numbers, g_rows = E[g_rows] + L z with z = T c-coordinates ~ N(0, I).

    Cov[g_rows] = L Lᵀ by its eigenvectors; those of the smallest eigenvalues are left out, where g has no extent.
    """
    half = base.half(rows)
    cov = base.prior_cov[np.ix_(rows, rows)] - matmul(half.T, base.signed(half))
    values, vectors = np.linalg.eigh(0.5 * (cov + cov.T))
    kept = values > _RANK * max(float(values[-1]), float(np.max(np.diagonal(base.prior_cov))) * 1e-3)
    root = vectors[:, kept] * np.sqrt(values[kept])
    onto = (vectors[:, kept] / np.sqrt(values[kept])).T
    # Cov[g_rows, f(x)] = c_rows − C_rows S c, with S c what the numbers take off.
    pick = np.zeros((len(rows), len(base.prior_mean)))
    pick[np.arange(len(rows)), rows] = 1.0
    pick -= base.pulled(base.prior_cov[:, rows]).T
    return matmul(onto, pick), root


def _steady(layout: Layout, sites: Sites) -> Sites:
    """The sites of answers whose likelihood is log-concave, and none for the others.

    Such a likelihood may leave a second mode far out, where a Gaussian about the first has no draws.
    """
    precision, shift, blocks = sites.precision.copy(), sites.shift.copy(), []
    coupled = iter(sites.blocks)
    for term in layout.terms:
        block = next(coupled) if is_block(term) else None
        if isinstance(term.likelihood, Window) or getattr(term.likelihood, "log_concave", False):
            blocks += [] if block is None else [block]
            continue
        precision[term.rows], shift[term.rows] = 0.0, 0.0
        blocks += [] if block is None else [Block(block.rows, np.zeros_like(block.precision))]
    return Sites(precision, shift, tuple(blocks))


def _start(base: Conditioned, sites: Sites | None, rows: Rows, root: Array) -> tuple[Array, Array]:
    """Where the ladder begins, z ~ N(centre, spread spreadᵀ): the approximation's belief about z, somewhat widened."""
    size = root.shape[1]
    if sites is None or not size:
        return np.zeros(size), np.eye(size)
    precision = np.eye(size) + matmul(root.T, _site_precision(sites, rows, root))
    pull = sites.shift[rows] - _site_precision(sites, rows, base.mean[rows][:, None])[:, 0]
    values, vectors = np.linalg.eigh(0.5 * (precision + precision.T))
    if values[0] <= 0.0:
        return np.zeros(size), np.eye(size)
    centre = matmul(vectors, matmul(vectors.T, matmul(root.T, pull)) / values)
    return centre, np.asarray(np.linalg.cholesky(_WIDER * matmul(vectors / values, vectors.T)))


def _site_precision(sites: Sites, rows: Rows, values: Array) -> Array:
    """Λ @ values for the rows of answers that are no numbers, (n, D)."""
    everywhere = np.zeros((sites.size, values.shape[1]))
    everywhere[rows] = values
    out = np.where(np.isfinite(sites.precision), sites.precision, 0.0)[:, None] * everywhere
    for block in sites.blocks:
        out[block.rows] = np.einsum("nij,njd->nid", block.precision, everywhere[block.rows])
    return out[rows]


class _Seen(NamedTuple):
    """A likelihood of some of the drawn values: log p of each answer, and the columns of g (n,) or (n, k) they see."""

    term: Term
    columns: Rows


def _target(layout: Layout, rows: Rows, mean: Array, root: Array, centre: Array, spread: Array) -> Target:
    """The posterior of x, where z = centre + spread x and g_rows = mean + root z: its ℓ and its bounds.

    ℓ(x) = log N(z; 0, I) − log N(x; 0, I) + Σ log p(answer | g) is free of constants that `spread` brings.
    """
    shift, turn = mean + matmul(root, centre), matmul(root, spread)
    soft: list[_Seen] = []
    matrix, low, high = [np.zeros((0, len(centre)))], [np.zeros(0)], [np.zeros(0)]
    for term in layout.terms:
        if term.likelihood.gaussian:
            continue
        columns = np.searchsorted(rows, term.rows)
        if not isinstance(term.likelihood, Window):
            soft.append(_Seen(term, columns if is_block(term) else columns[:, 0]))
            continue
        hard = term.answers[:, 2] == 0.0
        bounded = hard & np.any(np.isfinite(term.answers[:, :2]), axis=1)
        if not hard.all():
            soft.append(_Seen(Term(term.likelihood, term.answers[~hard], term.rows[~hard]), columns[~hard, 0]))
        at = columns[bounded, 0]
        size = np.maximum(np.sqrt(np.sum(turn[at] ** 2, axis=1)), 1e-300)
        matrix.append(turn[at] / size[:, None])
        low.append((term.answers[bounded, 0] - shift[at]) / size)
        high.append((term.answers[bounded, 1] - shift[at]) / size)

    def log_density(x: Array) -> Array:
        z = centre + matmul(x, spread.T)
        g = shift + matmul(x, turn.T)
        out = 0.5 * (np.sum(x**2, axis=1) - np.sum(z**2, axis=1))
        for term, columns in soft:
            out += _log_likelihood(term, g[:, columns])
        return np.asarray(np.where(np.isnan(out), -np.inf, out))

    return Target(log_density, np.concatenate(matrix), np.concatenate(low), np.concatenate(high))


def _log_likelihood(term: Term, g: Array) -> Array:
    """Σ_i log p(answer_i | g_i) of every draw, (S,), for g (S, n) or (S, n, k)."""
    if isinstance(term.likelihood, Window):
        low, high, noise = term.answers.T
        return np.sum(_between((low - g) / noise, (high - g) / noise, np.isinf(low), np.isinf(high)), axis=1)
    assert isinstance(term.likelihood, Instrument)
    answers = np.concatenate([term.answers] * len(g))
    with np.errstate(divide="ignore", over="ignore"):
        each = term.likelihood.log_prob(answers, g.reshape(-1, *g.shape[2:]))
    return np.asarray(each.reshape(g.shape[:2]).sum(axis=1))


def _between(a: Array, b: Array, open_below: NDArray[np.bool_], open_above: NDArray[np.bool_]) -> Array:
    """log(Φ(b) − Φ(a)); most windows are half-lines, which need one Φ."""
    out = np.zeros_like(a)
    up, down, both = open_above & ~open_below, open_below & ~open_above, ~(open_above | open_below)
    out[:, up] = log_ndtr(-a[:, up])
    out[:, down] = log_ndtr(b[:, down])
    if both.any():
        out[:, both] = log_ndtr_between(a[:, both], b[:, both])
    return out
