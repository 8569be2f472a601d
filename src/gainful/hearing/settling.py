"""Expectation propagation over thresholds: one site for each place that tones were played at.

A place is an ear and a frequency. Given the class of the ears, thresholds t at all places are one normal vector, and an
answer depends on the threshold at its own place alone. So all answers at a place are one function of one number,

    L_j(t_j) = Π P(answer | level − t_j)

which is known on a grid of levels, guesses, lapses and contradictions included. EP then has as many sites as there are
places with tones, seven or fourteen, however many tones there were; each is matched by a sum over the grid (Minka 2001;
Rasmussen & Williams 2006, sec. 3.6, has the updates). Classes and listeners are one more axis in front.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["GRID", "Settled", "settle"]

Array = NDArray[np.float64]

GRID = np.arange(-40.0, 141.0)  # dB HL: thresholds are between these, and known no better than to half a step
_SPACING = float(GRID[1] - GRID[0])
_LOG_SPACING = float(np.log(_SPACING))
_SWEEPS, _TOLERANCE = 80, 1e-4
_FOR_ALL = 6  # sweeps that every class and listener gets
_NEGLIGIBLE = 8.0  # nats
_NARROWEST = 0.05 * _SPACING**2  # a variance below which the grid says nothing
_ROOT = 0.5 * float(np.log(2.0 * np.pi))


class Settled(NamedTuple):
    """Under each of P classes and listeners: sites (P, T), means and covariance of the deviations from the class's mean
    (P, T) and (P, T, T), the marginals on the grid (P, T, G), the log evidence (P,), and how far moments still moved
    in the last sweep, in standard deviations (P,)."""

    precision: Array
    shift: Array
    mean: Array
    cov: Array
    marginal: Array
    log_evidence: Array
    residual: Array


def settle(centre: Array, cov: Array, log_likelihood: Array, log_prior: Array | None = None) -> Settled:
    """For centres (P, T) and prior covariances (P, T, T), log L on the grid (P, T, G).

    With `log_prior` (P,), what hardly weighs anything is not followed to its end: classes that the answers contradict
    are those that settle slowly.

    >>> flat = settle(np.zeros((1, 1)), np.full((1, 1, 1), 25.0), np.zeros((1, 1, len(GRID))))
    >>> bool(abs(flat.log_evidence[0]) < 1e-12), flat.cov[0, 0, 0].round(9).item()
    (True, 25.0)
    """
    P, T = centre.shape
    sites = _Sites(np.zeros((P, T)), np.zeros((P, T)))
    log_z, marginal, moved = np.zeros((P, T)), np.empty((P, T, len(GRID))), np.full(P, np.inf)
    active = np.arange(P)
    for number in range(_SWEEPS):
        some = _Sites(sites.precision[active], sites.shift[active])
        found = _sweep(centre[active], cov[active], log_likelihood[active], some, _damping(number))
        sites.precision[active], sites.shift[active] = some
        log_z[active], marginal[active], moved[active] = found
        active = active[moved[active] > _TOLERANCE]
        if number + 1 == _FOR_ALL and log_prior is not None:
            weight = log_prior + _evidence(cov, sites, log_z)[0]
            active = active[weight[active] > weight.max() - _NEGLIGIBLE]
        if not len(active):
            break
    evidence, m, S = _evidence(cov, sites, log_z)
    return Settled(*sites, m, S, marginal, evidence, moved)


def _evidence(cov: Array, sites: _Sites, log_z: Array) -> tuple[Array, Array, Array]:
    """The log evidence (P,), and the mean and covariance of the belief."""
    S, m = _believed(cov, *sites)
    sign, log_det = np.linalg.slogdet(np.eye(cov.shape[1]) + cov * sites.precision[:, None, :])
    joint = -0.5 * log_det + 0.5 * np.einsum("pi,pij,pj->p", sites.shift, S, sites.shift)
    return np.where(sign > 0.0, joint + log_z.sum(axis=1), -np.inf), m, S


class _Sites(NamedTuple):
    precision: Array
    shift: Array


def _damping(number: int) -> float:
    """The share of the way that sites go: all of it at first, less for those that go to and fro."""
    return 1.0 if number < 4 else 0.5 if number < 12 else 0.25 if number < 24 else 0.1


def _sweep(
    centre: Array, cov: Array, log_likelihood: Array, sites: _Sites, damping: float
) -> tuple[Array, Array, Array]:
    """Each site in its turn, changed in place: log Ẑ of the tilted distributions over what the sites say there (P, T),
    the tilted distributions on the grid (P, T, G), and how far moments have moved (P,)."""
    precision, shift = sites
    P, T = centre.shape
    S, m = _believed(cov, precision, shift)
    log_z, marginal, moved = np.zeros((P, T)), np.empty((P, T, len(GRID))), np.zeros(P)
    for j in range(T):
        off, v = GRID - centre[:, j, None], S[:, j, j]
        left = 1.0 / v - precision[:, j]
        proper = left > 1e-9
        cavity = 1.0 / np.where(proper, left, 1.0 / v)
        at = np.where(proper, cavity * (m[:, j] / v - shift[:, j]), m[:, j])
        logs = log_likelihood[:, j] - 0.5 * (off - at[:, None]) ** 2 / cavity[:, None]
        top = logs.max(axis=1)
        weight = np.exp(logs - top[:, None])
        total = weight.sum(axis=1)
        weight /= total[:, None]
        mean = np.einsum("pg,pg->p", weight, off)
        spread = np.maximum(np.einsum("pg,pg,pg->p", weight, off, off) - mean**2, _NARROWEST)
        marginal[:, j] = weight
        new, pull = 1.0 / spread - 1.0 / cavity, mean / spread - at / cavity
        # Without a proper cavity the site is taken off, and found anew from the others; what would leave no proper
        # belief goes half-way to its limit.
        wanted = np.where(proper, damping * (new - precision[:, j]), -precision[:, j])
        change = np.maximum(wanted, -0.5 / v)
        push = np.where(proper, damping * (pull - shift[:, j]), -shift[:, j])
        far = np.maximum(np.abs(mean - m[:, j]) / np.sqrt(v), np.abs(spread / v - 1.0))
        moved = np.maximum(moved, np.where(proper, far, np.inf))
        precision[:, j] += change
        shift[:, j] += push
        # One site has moved: the belief follows by a matrix of rank one.
        column, gain = S[:, :, j], 1.0 + change * v
        m = m + column * ((push - change * m[:, j]) / gain)[:, None]
        S = S - column[:, :, None] * column[:, None, :] * (change / gain)[:, None, None]
        log_z[:, j] = top + np.log(total) + _LOG_SPACING - 0.5 * np.log(cavity) - _ROOT
        log_z[:, j] -= _site(at, cavity, precision[:, j], shift[:, j])
    return log_z, marginal, moved


def _believed(cov: Array, precision: Array, shift: Array) -> tuple[Array, Array]:
    """(K⁻¹ + diag τ)⁻¹ = (I + K diag τ)⁻¹ K, and that times ν."""
    S = np.linalg.solve(np.eye(cov.shape[1]) + cov * precision[:, None, :], cov)
    S = np.asarray(0.5 * (S + np.swapaxes(S, 1, 2)), dtype=np.float64)
    return np.asarray(S), np.einsum("pij,pj->pi", S, shift)


def _site(at: Array, cavity: Array, precision: Array, shift: Array) -> Array:
    """log ∫ N(x; at, cavity) exp(shift x − ½ precision x²) dx."""
    whole = 1.0 / cavity + precision
    return -0.5 * np.log(cavity * whole) + 0.5 * ((at / cavity + shift) ** 2 / whole - at**2 / cavity)
