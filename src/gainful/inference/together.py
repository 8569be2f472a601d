"""EP for the same answers under several priors of g at once: one array operation where each alone takes a small one.

A few answers under 64 hyperparameters are 64 times the same small steps, and most of what each step costs alone is the
calling. Here every array has one more axis in front, and a sweep (`sweep.py`) is made for all that are not settled yet:

    B = I + R C R,   b = diag B⁻¹,   α = R B⁻¹ (t − R m),   Var[g] = diag(C − C R B⁻¹ R C)

Sites of log-concave likelihoods have no negative precision, so B has no eigenvalue below 1 and every cavity is proper.
Answers that are not log-concave, without noise, or coupled are for each alone; so is the last digit: what is found here
is good for an evidence, which is stationary in the sites, and to start from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gainful.data import Data
from gainful.inference.sites import Sites
from gainful.inference.solution import as_start, is_block, starting_sites
from gainful.inference.sweep import matching_site
from gainful.instruments.base import Term
from gainful.instruments.terms import Partition
from gainful.instruments.window import Window
from gainful.kernels.base import Kernel
from gainful.kernels.batch import as_batch
from gainful.layout import Layout
from gainful.means import Mean
from gainful.numerics.anderson import step_together

__all__ = ["Model", "Settled", "can_be_settled", "prior_covariances", "settle", "settle_models"]

Array = NDArray[np.float64]
Model = tuple[Mean, Kernel, Data]

_LARGEST = 200  # rows of g: with more, the steps cost more than the calls
_SWEEPS = 25
_MEMORY = 5  # steps that the next is mixed with
_STIFFEST = 1e8  # times the prior's: sites more precise than this lose digits here
_FLOOR = 1e-200  # as in `sites.py`
_LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True)
class Settled:
    """Sites (S, F) for each prior, the log evidence there (S,), and the mismatch of moments in standard deviations
    (S,)."""

    cov: Array  # (S, F, F), the priors' own
    precision: Array
    shift: Array
    log_evidence: Array
    residual: Array

    def sites(self, s: int) -> Sites:
        return Sites(self.precision[s].copy(), self.shift[s].copy())


def settle_models(models: Sequence[Model], start: Sites | None, tolerance: float) -> Settled | None:
    """`settle` for the same answers under several means, kernels and instruments; None where that cannot."""
    layouts = [data.layout for _, _, data in models]
    if not layouts or not can_be_settled(layouts[0]):
        return None
    both = [(each, mean, kernel) for each, (mean, kernel, _) in zip(layouts, models, strict=True)]
    means = np.stack([each.pick(mean(each.places)) for each, mean, _ in both])
    return settle(layouts, means, prior_covariances(models), None if layouts[0].gaussian else start, tolerance)


def prior_covariances(models: Sequence[Model]) -> Array:
    """The prior covariance of g, (S, F, F), for the same answers under several kernels."""
    layouts, kernels = [data.layout for _, _, data in models], [kernel for _, kernel, _ in models]
    places, batch = layouts[0].places, as_batch(kernels)
    alike = batch is not None and all(np.array_equal(places, each.places) for each in layouts[1:])
    if batch is not None and alike:
        K = np.broadcast_to(batch.matrix(places, places), (len(models), len(places), len(places)))
        return K if layouts[0].direct else np.stack([each.covariance(k) for each, k in zip(layouts, K, strict=True)])
    each = zip(layouts, kernels, strict=True)
    return np.stack([one.covariance(kernel.matrix(one.places, one.places)) for one, kernel in each])


def settle(
    layouts: Sequence[Layout], mean: Array, cov: Array, start: Sites | None, tolerance: float, most: int = _SWEEPS
) -> Settled | None:
    """The sites of each of S priors, means (S, F) and covariances (S, F, F), after at most `most` sweeps.

    The layouts are of the same answers, with each prior's own instruments. None where this form cannot.
    """
    first = layouts[0]
    if not all(_are_alike(first, each) for each in layouts):
        return None
    begins = [starting_sites(as_start(start), each) for each in layouts]
    if begins[0].blocks:
        return None
    precision, shift = np.stack([s.precision for s in begins]), np.stack([s.shift for s in begins])
    if not np.all((precision >= 0.0) & (precision * np.diagonal(cov, axis1=1, axis2=2) < _STIFFEST)):
        return None
    iteration = _Iteration(layouts, mean, cov, precision, shift)
    iteration.run(tolerance, most)
    return Settled(cov, iteration.precision, iteration.shift, iteration.log_evidence, iteration.residual)


def can_be_settled(layout: Layout) -> bool:
    """Whether the answers are of kinds that this form is for, and few enough."""
    return 0 < layout.size <= _LARGEST and all(_is_fit(term) for term in layout.terms)


def _are_alike(one: Layout, other: Layout) -> bool:
    """Whether two layouts have the same rows in the same order, all of a kind that this form is for."""
    if one.size != other.size or len(one.terms) != len(other.terms):
        return False
    pairs = zip(one.terms, other.terms, strict=True)
    return all(_is_fit(a) and type(a.likelihood) is type(b.likelihood) and _same_rows(a, b) for a, b in pairs)


def _is_fit(term: Term) -> bool:
    return not is_block(term) and (term.likelihood.gaussian or bool(getattr(term.likelihood, "log_concave", False)))


def _same_rows(one: Term, other: Term) -> bool:
    return one.rows is other.rows or np.array_equal(one.rows, other.rows)


@dataclass
class _Iteration:
    """Where all are: (S, F) sites; what is settled is not touched again."""

    layouts: Sequence[Layout]
    mean: Array
    cov: Array
    precision: Array
    shift: Array
    log_evidence: Array = field(init=False)
    residual: Array = field(init=False)

    def __post_init__(self) -> None:
        self.log_evidence = np.full(len(self.layouts), np.nan)
        self.residual = np.full(len(self.layouts), np.inf)

    def run(self, tolerance: float, most: int) -> None:
        """Mixed sweeps (Anderson), each as long as it was bold enough for: halved where the mismatch grew."""
        active = np.arange(len(self.layouts))
        size = self.mean.shape[1]
        best, factor = np.full(len(active), np.inf), np.ones(len(active))
        points: list[Array] = []
        moves: list[Array] = []
        for _ in range(most):
            precision, shift, variance = self._sweep(active)
            off = self.residual[active]
            grown, halved = off > 2.0 * best, off < 0.5 * best
            factor = np.where(
                grown, np.maximum(0.5 * factor, 0.1), np.where(halved, np.minimum(1.2 * factor, 1.0), factor)
            )
            best = np.minimum(best, off)
            here = np.hstack([self.precision[active], self.shift[active]])
            move = np.hstack([precision, shift]) - here
            for past, now in ((points, here), (moves, move)):
                past.append(now)
                for old in past[:-1]:
                    old[grown] = now[grown]  # what led to a worse place is forgotten
                del past[: -_MEMORY - 1]
            left = off > tolerance
            if not left.any():
                return
            active, best, factor, variance = active[left], best[left], factor[left], variance[left]
            points, moves = [p[left] for p in points], [m[left] for m in moves]
            units = np.hstack([variance, np.sqrt(variance)])
            target = step_together(np.stack(points, 1), np.stack(moves, 1), units, factor)
            plain = points[-1] + factor[:, None] * moves[-1]
            over = target[:, :size] < 0.0  # no such likelihood implies that
            over = np.hstack([over, over])
            target[over] = plain[over]
            self.precision[active], self.shift[active] = target[:, :size], target[:, size:]

    def _sweep(self, active: NDArray[np.intp]) -> tuple[Array, Array, Array]:
        """What a sweep makes of the sites of these, and Var[g], (A, F) each; notes evidences and mismatches."""
        tau, nu, m, C = self.precision[active], self.shift[active], self.mean[active], self.cov[active]
        scale = np.sqrt(np.maximum(tau, np.where(nu != 0.0, _FLOOR, 0.0)))
        t = np.divide(nu, scale, out=np.zeros_like(nu), where=scale > 0.0)
        CR = C * scale[:, None, :]
        B = scale[:, :, None] * CR
        B[:, np.arange(B.shape[1]), np.arange(B.shape[1])] += 1.0
        inverse = np.linalg.inv(B)
        ratio = np.diagonal(inverse, axis1=1, axis2=2)
        alpha = scale * (inverse @ (t - scale * m)[:, :, None])[:, :, 0]
        g = m + (C @ alpha[:, :, None])[:, :, 0]
        weak = 1.0 - ratio
        variance = np.divide(weak, tau, out=np.zeros_like(tau), where=weak > 1e-5)
        few = np.flatnonzero((weak <= 1e-5).any(axis=0))
        if few.size:  # a site that says hardly anything
            part = CR[:, few]
            direct = np.diagonal(C, axis1=1, axis2=2)[:, few] - np.sum((part @ inverse) * part, axis=2)
            variance[:, few] = np.where(weak[:, few] > 1e-5, variance[:, few], np.maximum(direct, 1e-300))
        log_det = np.linalg.slogdet(B)[1]
        new_tau, new_nu, total, off = tau.copy(), nu.copy(), -0.5 * log_det, np.zeros(len(active))
        for k, term in enumerate(self.layouts[0].terms):
            rows = term.rows[:, 0]
            a, prior = alpha[:, rows], m[:, rows]
            if term.likelihood.gaussian:
                y = nu[:, rows] / tau[:, rows]
                total += np.sum(np.log(scale[:, rows]) - 0.5 * (_LOG_2PI + a * (y - prior)), axis=1)
                continue
            v = variance[:, rows] / ratio[:, rows]
            mu = g[:, rows] - v * a
            p = self._partition(k, active, mu, v)
            new_tau[:, rows], new_nu[:, rows] = matching_site(p, mu)
            total += np.sum(p.log_z - 0.5 * np.log(ratio[:, rows]) - 0.5 * a * (mu - prior), axis=1)
            in_mean = np.sqrt(v / p.shrink) * np.abs(p.d1 - a)
            in_variance = np.abs(p.shrink / ratio[:, rows] - 1.0)
            off = np.maximum(off, np.maximum(in_mean.max(axis=1), in_variance.max(axis=1)))
        usable = np.isfinite(total) & np.isfinite(off)
        self.log_evidence[active], self.residual[active] = (
            np.where(usable, total, np.nan),
            np.where(usable, off, np.inf),
        )
        return new_tau, new_nu, variance

    def _partition(self, k: int, active: NDArray[np.intp], mu: Array, v: Array) -> Partition:
        """Of the k-th term of all layouts: in one call where the answers say everything, as those of windows do."""
        terms = [self.layouts[s].terms[k] for s in active]
        if isinstance(terms[0].likelihood, Window):
            answers = np.concatenate([each.answers for each in terms])
            found = terms[0].likelihood.log_partition(answers, mu.ravel(), v.ravel())
            return Partition(*(each.reshape(mu.shape) for each in found[:4]))
        parts = [t.likelihood.log_partition(t.answers, a, b)[:4] for t, a, b in zip(terms, mu, v, strict=True)]
        return Partition(*(np.stack(each) for each in zip(*parts, strict=True)))
