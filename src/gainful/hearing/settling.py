"""Expectation propagation over thresholds: one site for each place that tones were played at.

A place is an ear and a frequency. Given the class of the ears, thresholds t at all places are one normal vector, and an
answer depends on the threshold at its own place alone. So all answers at a place are one function of one number,

    L_j(t_j) = Π P(answer | level − t_j)

which is known on a grid of levels, guesses, lapses and contradictions included. EP then has as many sites as there are
places with tones, seven or fourteen, however many tones there were; each is matched by a sum over the grid (Minka 2001;
Rasmussen & Williams 2006, sec. 3.6, has the updates). Classes and listeners are one more axis in front.

An answer to tones at several places (`among.py`) is a function of several thresholds, and has a site of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainful.hearing.among import Among

__all__ = ["GRID", "Settled", "Sites", "settle"]

Array = NDArray[np.float64]

GRID = np.arange(-40.0, 141.0)  # dB HL: thresholds are between these, and known no better than to half a step
_SPACING = float(GRID[1] - GRID[0])
_SWEEPS, _TOLERANCE = 80, 1e-4
_FREE = 2  # sweeps in which sites go all the way
_PATIENCE = 30  # sweeps after which sites may only narrow the belief
_LEAST = 0.1  # of the way
_FOR_ALL = 6  # sweeps that every class and listener gets
_NEGLIGIBLE = 8.0  # nats
_WILD = 1.0  # standard deviations that moments still move by: the evidence says nothing yet
_NARROWEST = 0.05 * _SPACING**2  # a variance below which the grid says nothing


class Settled(NamedTuple):
    """Under each of P classes and listeners: what the sites say together, precisions (P, T, T) and shifts (P, T); means
    and covariance of the deviations from the class's mean (P, T) and (P, T, T), the marginals on the grid (P, T, G),
    the log evidence (P,), how far moments still moved in the last sweep, in standard deviations (P,), and the sites."""

    precision: Array
    shift: Array
    mean: Array
    cov: Array
    marginal: Array
    log_evidence: Array
    residual: Array
    sites: Sites


class Sites(NamedTuple):
    """Of the places, precisions and shifts (P, T) each; of A answers of one pattern among d places, (P, A, d, d) and
    (P, A, d) each, in lists; and where sites are kept from widening the belief, (P,)."""

    precision: Array
    shift: Array
    joint: list[Array]
    push: list[Array]
    cautious: NDArray[np.bool_]

    @classmethod
    def grown(cls, P: int, T: int, among: Sequence[Among], earlier: Sites | None) -> Sites:
        """For these places and answers: as they were earlier, and new ones say nothing yet."""
        shapes = [(P, *each.places.shape) for each in among]
        joint, push = [np.zeros((*shape, shape[-1])) for shape in shapes], [np.zeros(shape) for shape in shapes]
        new = cls(np.zeros((P, T)), np.zeros((P, T)), joint, push, np.zeros(P, dtype=bool))
        if earlier is not None:
            known = earlier.shift.shape[1]
            new.precision[:, :known], new.shift[:, :known] = earlier.precision, earlier.shift
            new.cautious[:] = earlier.cautious
            for mine, theirs in zip((*joint, *push), _padded(earlier, len(among)), strict=True):
                if theirs is not None:
                    mine[:, : theirs.shape[1]] = theirs
        return new

    def take(self, rows: NDArray[np.intp]) -> Sites:
        joint, push = ([each[rows] for each in some] for some in (self.joint, self.push))
        return Sites(self.precision[rows], self.shift[rows], joint, push, self.cautious[rows])

    def put(self, rows: NDArray[np.intp], some: Sites) -> None:
        self.precision[rows], self.shift[rows], self.cautious[rows] = some.precision, some.shift, some.cautious
        for mine, theirs in zip((*self.joint, *self.push), (*some.joint, *some.push), strict=True):
            mine[rows] = theirs

    def restrain(self, rows: NDArray[np.bool_]) -> None:
        """From now on these may only narrow the belief, whatever their moments are: what widens it is left out."""
        self.cautious[rows] = True
        self.precision[rows] = np.maximum(self.precision[rows], 0.0)
        for joint in self.joint:
            joint[rows] = _narrowing(joint[rows])

    def together(self, among: Sequence[Among]) -> tuple[Array, Array]:
        """What they say about all places, (P, T, T) and (P, T)."""
        shift, precision = self.shift.copy(), np.zeros((*self.shift.shape, self.shift.shape[1]))
        every = np.arange(self.shift.shape[1])
        precision[:, every, every] = self.precision
        for each, joint, push in zip(among, self.joint, self.push, strict=True):
            for a, at in enumerate(each.places):
                precision[:, at[:, None], at] += joint[:, a]
                shift[:, at] += push[:, a]
        return precision, shift


def _padded(sites: Sites, groups: int) -> list[Array | None]:
    """Sites of answers, with nothing for patterns that are new."""
    new = [None] * (groups - len(sites.joint))
    return [*sites.joint, *new, *sites.push, *new]


def settle(
    centre: Array,
    cov: Array,
    log_likelihood: Array,
    log_prior: Array | None = None,
    among: Sequence[Among] = (),
    earlier: Sites | None = None,
) -> Settled:
    """For centres (P, T) and prior covariances (P, T, T), log L on the grid (P, T, G), and answers among places.

    With `log_prior` (P,), what hardly weighs anything beside what has settled is not followed to its end: classes that
    the answers contradict are those that settle slowly. With `earlier`, sites of the first places and answers begin
    where they were.

    >>> flat = settle(np.zeros((1, 1)), np.full((1, 1, 1), 25.0), np.zeros((1, 1, len(GRID))))
    >>> bool(abs(flat.log_evidence[0]) < 1e-12), flat.cov[0, 0, 0].round(9).item()
    (True, 25.0)
    """
    P, T = centre.shape
    sites = Sites.grown(P, T, among, earlier)
    answers = sum(len(each.places) for each in among)
    log_z, marginal, moved = np.zeros((P, T + answers)), np.empty((P, T, len(GRID))), np.full(P, np.inf)
    active, damping = np.arange(P), np.full(P, 0.5 if among else 1.0)
    for number in range(_SWEEPS):
        some, theirs = sites.take(active), [each.take(active) for each in among]
        if number == _PATIENCE:
            some.restrain(np.ones(len(active), dtype=bool))
        found = _sweep(centre[active], cov[active], log_likelihood[active], some, theirs, damping[active])
        sites.put(active, some)
        if number >= _FREE or among:
            damping[active] = _damped(damping[active], moved[active], found[2])
        log_z[active], marginal[active], moved[active] = found
        active = active[moved[active] > _TOLERANCE]
        if number + 1 == (2 * _FOR_ALL if among else _FOR_ALL) and log_prior is not None:
            # Before moments come to rest the evidence may be anything: it drops nobody, and is dropped for nobody's.
            weight = log_prior + _evidence(cov, *sites.together(among), log_z)[0]
            best = np.max(weight[moved < _WILD], initial=-np.inf)
            active = active[(weight[active] > best - _NEGLIGIBLE) | (moved[active] > _WILD)]
        if not len(active):
            break
    said = sites.together(among)
    evidence, m, S = _evidence(cov, *said, log_z)
    return Settled(*said, m, S, marginal, evidence, moved, sites)


def _evidence(cov: Array, precision: Array, shift: Array, log_z: Array) -> tuple[Array, Array, Array]:
    """The log evidence (P,), and the mean and covariance of the belief."""
    S, m = _believed(cov, precision, shift)
    sign, log_det = np.linalg.slogdet(np.eye(cov.shape[1]) + cov @ precision)
    joint = -0.5 * log_det + 0.5 * np.einsum("pi,pij,pj->p", shift, S, shift)
    return np.where(sign > 0.0, joint + log_z.sum(axis=1), -np.inf), m, S


def _damped(damping: Array, before: Array, now: Array) -> Array:
    """The share of the way that sites go next: less where they go to and fro, more where they come nearer."""
    slower = now > before
    return np.where(slower, np.maximum(0.5 * damping, _LEAST), np.minimum(1.25 * damping, 1.0))


def _sweep(
    centre: Array, cov: Array, log_likelihood: Array, sites: Sites, among: Sequence[Among], damping: Array
) -> tuple[Array, Array, Array]:
    """Each site in its turn, changed in place: log Ẑ of the tilted distributions over what the sites say there, of the
    places and then of the answers among them (P, T + A), the tilted distributions on the grid (P, T, G), and how far
    moments have moved (P,)."""
    from gainful.hearing.compiled import sweep_places  # Numba takes half a second to import

    P, T = centre.shape
    S, m = _believed(cov, *sites.together(among))
    alone, marginal, moved = np.zeros((P, T)), np.empty((P, T, len(GRID))), np.zeros(P)
    sweep_places(
        GRID, centre, log_likelihood, sites.precision, sites.shift, sites.cautious, damping, S, m, _NARROWEST, alone,
        marginal, moved,
    )  # fmt: skip
    log_z = [alone]
    for each, joint, push in zip(among, sites.joint, sites.push, strict=True):
        logs, far = _answered(centre, S, m, each, joint, push, damping, sites.cautious)
        log_z.append(logs)
        moved = np.maximum(moved, far)
        S, m = _believed(cov, *sites.together(among))
        astray = np.isinf(far) | ~(np.linalg.eigvalsh(S)[:, 0] > 0.0)
        if astray.any():
            sites.restrain(astray)
            S, m = _believed(cov, *sites.together(among))
    return np.concatenate(log_z, axis=1), marginal, moved


def _answered(
    centre: Array, S: Array, m: Array, answers: Among, joint: Array, push: Array, damping: Array,
    cautious: NDArray[np.bool_],
) -> tuple[Array, Array]:  # fmt: skip
    """The same for answers among several places, all at once from one belief: log Ẑ over what each site says (P, A),
    and how far moments are from the belief's (P,)."""
    at = answers.places
    v, here = S[:, at[:, :, None], at[:, None, :]], m[:, at]
    inverse = np.asarray(np.linalg.inv(v), dtype=np.float64)
    left = inverse - joint
    proper = np.linalg.eigvalsh(left)[..., 0] > 1e-9
    held, matrix = proper[..., None], proper[..., None, None]
    left = np.where(matrix, left, inverse)
    cavity = np.asarray(np.linalg.inv(left), dtype=np.float64)
    pull = _times(inverse, here) - np.where(held, push, 0.0)
    middle = _times(cavity, pull)
    log_z, slope, curvature = answers.log_partition(centre[:, at] + middle, cavity)
    mean = middle + _times(cavity, slope)
    spread = cavity + cavity @ curvature @ cavity
    added = np.linalg.inv(0.5 * (spread + np.swapaxes(spread, -1, -2))) - left
    added = np.where(cautious[:, None, None, None], _narrowing(added), added)
    whole = left + added
    step = damping[:, None, None]
    wanted = np.where(matrix, step[..., None] * (added - joint), -joint)
    follow = np.where(held, step * (_times(whole, mean) - pull - push), -push)
    # What would leave no proper belief, were all of them to go there, goes half-way to its limit.
    root = np.linalg.cholesky(v)
    least = np.linalg.eigvalsh(np.swapaxes(root, -1, -2) @ wanted @ root)[..., 0] * len(at)
    share = np.where((least < -0.5) & ~cautious[:, None], 0.5 / np.maximum(-least, 0.5), 1.0)[..., None]
    joint += share[..., None] * wanted
    push += share * follow
    sd = np.sqrt(np.diagonal(v, axis1=-2, axis2=-1))
    wide = np.diagonal(np.linalg.inv(whole), axis1=-2, axis2=-1) / sd**2
    far = np.where(held, np.maximum(np.abs(mean - here) / sd, np.abs(wide - 1.0)), np.inf)
    now, total = left + joint, pull + push
    site = -0.5 * (np.linalg.slogdet(cavity)[1] + np.linalg.slogdet(now)[1])
    site += 0.5 * np.einsum("pai,pai->pa", total, np.linalg.solve(now, total[..., None])[..., 0])
    site -= 0.5 * np.einsum("pai,pai->pa", pull, middle)
    return log_z - site, far.max(axis=(1, 2))


def _times(matrix: Array, vector: Array) -> Array:
    return np.asarray(np.einsum("...ij,...j->...i", matrix, vector))


def _narrowing(precision: Array) -> Array:
    """Without what is negative along its own axes."""
    along, axes = np.linalg.eigh(0.5 * (precision + np.swapaxes(precision, -1, -2)))
    return np.asarray((axes * np.maximum(along, 0.0)[..., None, :]) @ np.swapaxes(axes, -1, -2))


def _believed(cov: Array, precision: Array, shift: Array) -> tuple[Array, Array]:
    """(K⁻¹ + Λ)⁻¹ = (I + K Λ)⁻¹ K, and that times ν."""
    S = np.linalg.solve(np.eye(cov.shape[1]) + cov @ precision, cov)
    S = np.asarray(0.5 * (S + np.swapaxes(S, 1, 2)), dtype=np.float64)
    return np.asarray(S), np.einsum("pij,pj->pi", S, shift)
