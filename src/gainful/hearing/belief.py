"""What is believed about somebody's thresholds after some tones.

The belief is a mixture: of classes of ears (`population.py`) and of listeners (`expectations.py`), each with a Gaussian
process over the threshold curves and weighed by its evidence. An answer is yes with probability

    guess + (1 − guess − lapse) Φ((level − t(φ))/spread)

so a louder tone is never less audible, and what an answer tells about the curve it tells about t at its own place.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from gainful.checks import is_number, require, require_finite
from gainful.errors import ConvergenceWarning
from gainful.hearing.among import Among
from gainful.hearing.expectations import Listeners
from gainful.hearing.population import Curves, Population, places_of
from gainful.hearing.settling import GRID, Settled, settle
from gainful.information.entropy import binary_entropy

__all__ = ["Heard", "Threshold", "ThresholdBelief", "Tone", "believe"]

Array = NDArray[np.float64]

UNSETTLED = 1e-2  # a share of the weight that may be under classes where EP has not settled
_FAINT = 1e-4  # of the largest weight: classes and listeners below it move no choice
_LOOSE = 1e-2  # standard deviations by which moments may still move


class Tone(NamedTuple):
    """A tone to be played: frequency in Hz, level in dB HL (None for silence, to see who guesses), ear 0 or 1."""

    frequency: float
    level: float | None
    ear: int = 0


def one_or_more(tones: Tone | Sequence[Tone]) -> tuple[Tone, ...]:
    """The tones of a trial, where a tone is one."""
    return (tones,) if isinstance(tones, Tone) else tuple(tones)


class Heard(NamedTuple):
    """Tones that were played in one trial, usually one, and whether any of them was heard."""

    tones: tuple[Tone, ...]
    yes: bool


class Threshold(NamedTuple):
    """At a frequency of an ear: the median threshold in dB HL, and the ends of the interval that holds it."""

    frequency: float
    ear: int
    median: float
    low: float
    high: float


class _Place(NamedTuple):
    frequency: float
    ear: int


@dataclass(frozen=True, eq=False)
class ThresholdBelief:
    """Weighted classes and listeners, each with its thresholds; see `believe`.

    weights    of the classes and listeners, (K, Q)
    unsettled  what those would weigh whose thresholds did not settle: their evidence is no evidence yet, and they are
               left out of the weights, unless no other is there
    """

    population: Population
    listeners: Listeners
    weights: Array
    log_evidence: float
    tested: tuple[_Place, ...]
    settled: Settled
    unsettled: float = 0.0
    _last: list[Any] = field(default_factory=list, repr=False)

    @property
    def classes(self) -> Array:
        """The probability of each class of the population, (K,)."""
        return np.asarray(self.weights.sum(axis=1))

    @property
    def grid(self) -> Array:
        """The levels in dB HL that thresholds are believed on, (G,)."""
        return GRID

    @cached_property
    def diagnosis(self) -> dict[str, float]:
        """How probable each kind of ear is, the likeliest first."""
        found: dict[str, float] = {}
        for name, weight in zip(self.population.names, self.classes, strict=True):
            found[name] = found.get(name, 0.0) + float(weight)
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    @property
    def guessing(self) -> float:
        """The expected share of yeses to nothing."""
        return float(self.weights.sum(axis=0) @ self.listeners.guess)

    @property
    def spread(self) -> float:
        """The expected spread of the psychometric function, in dB: the mean of its logarithm."""
        return float(np.exp(self.weights.sum(axis=0) @ np.log(self.listeners.spread)))

    def densities(self, frequencies: ArrayLike, ears: ArrayLike | None = None) -> Array:
        """Of the threshold at each place under each class and listener, (J, K, Q, G): masses on the grid of levels."""
        places = _places(frequencies, ears)
        if self._last and self._last[0] == places:  # a trial asks for the same places several times
            return self._last[1]
        found = self._densities(places)
        self._last[:] = [places, found]
        return found

    def _densities(self, places: list[_Place]) -> Array:
        K, Q = self.weights.shape
        out = np.empty((len(places), K, Q, len(GRID)))
        known = {place: i for i, place in enumerate(self.tested)}
        new = [j for j, place in enumerate(places) if place not in known]
        for j, place in enumerate(places):
            if place in known:
                out[j] = self.settled.marginal[:, known[place]].reshape(K, Q, -1)
        if new:
            mean, variance = self._elsewhere([places[j] for j in new])
            inside = np.clip(mean, GRID[0], GRID[-1])  # of somebody who hears nothing, a class may expect more
            z = (GRID - inside[..., None]) / np.sqrt(variance)[..., None]
            some = np.exp(-0.5 * z**2)
            out[new] = some / some.sum(axis=-1, keepdims=True)
        return out

    def _elsewhere(self, asked: Sequence[_Place]) -> tuple[Array, Array]:
        """Mean and variance (J, K, Q) at places without tones, by what those with tones say."""
        mean, cov = self._moments(asked)
        variance = np.maximum(np.diagonal(cov, axis1=1, axis2=2), 1e-6)
        shape = len(asked), *self.weights.shape
        return mean.T.reshape(shape), variance.T.reshape(shape)

    def _pull(self) -> Array:
        """What thresholds elsewhere are drawn by through their covariance with those that are tested, (P, T)."""
        precision, shift, mean = self.settled[:3]
        return np.asarray(shift - np.einsum("pst,pt->ps", precision, mean))

    def moments(self, frequencies: ArrayLike, ears: ArrayLike | None = None) -> tuple[Array, Array]:
        """Mean (P, J) and covariance (P, J, J) of the thresholds under each class and listener."""
        return self._moments(_places(frequencies, ears))

    def _moments(self, places: Sequence[_Place]) -> tuple[Array, Array]:
        Q, T = self.weights.shape[1], len(self.tested)
        both = _curves(self.population, [*self.tested, *places])
        mean, cross = np.repeat(both.mean[:, T:], Q, axis=0), np.repeat(both.cov[:, T:, :T], Q, axis=0)
        return mean + np.einsum("pjt,pt->pj", cross, self._pull()), self._covariances(places)

    def marginals(self, frequencies: ArrayLike, ears: ArrayLike | None = None) -> Array:
        """Of the threshold at each place, (J, G): masses on the grid of levels."""
        return np.einsum("jkqg,kq->jg", self.densities(frequencies, ears), self.weights)

    def mean(self, frequencies: ArrayLike, ears: ArrayLike | None = None) -> Array:
        """The expected threshold at each place, (J,), in dB HL."""
        return np.asarray(self.marginals(frequencies, ears) @ GRID)

    def thresholds(self, frequencies: ArrayLike, ears: ArrayLike | None = None, level: float = 0.9) -> list[Threshold]:
        """Medians, with the central intervals that hold the threshold with this probability."""
        require(is_number(level) and 0.0 < level < 1.0, "level", "a probability", level, "0.9 is usual")
        places = _places(frequencies, ears)
        tails = np.array([0.5, 0.5 - 0.5 * level, 0.5 + 0.5 * level])
        ends = [quantiles(mass, tails) for mass in self.marginals(frequencies, ears)]
        return [Threshold(*place, *(float(x) for x in end)) for place, end in zip(places, ends, strict=True)]

    def within(self, frequencies: ArrayLike, ears: ArrayLike | None = None, precision: float = 5.0) -> Array:
        """The probability that each threshold is within so many dB of its median, (J,)."""
        fine = is_number(precision) and precision > 0.0
        require(fine, "precision", "decibels above zero", precision, "5 is usual")
        out = []
        for mass in self.marginals(frequencies, ears):
            middle = quantiles(mass, np.array([0.5]))[0]
            out.append(upto(mass, middle + precision) - upto(mass, middle - precision))
        return np.array(out)

    def upto(self, level: float, frequencies: ArrayLike, ears: ArrayLike | None = None) -> Array:
        """The probability that each threshold is at most this level, (J,)."""
        require_finite("level", level, "levels are in dB HL")
        return np.array([upto(mass, level) for mass in self.marginals(frequencies, ears)])

    def chance(self, frequencies: ArrayLike, levels: ArrayLike, ears: ArrayLike | None = None) -> Array:
        """The probability that each tone is answered by a yes, (J, L)."""
        heard = self.listeners.heard_at(levels, GRID)
        mass = np.einsum("jkqg,kq->jqg", self.densities(frequencies, ears), self.weights)
        return np.asarray(np.einsum("jqg,qlg->jl", mass, heard, optimize=True))

    def information(self, frequencies: ArrayLike, levels: ArrayLike, ears: ArrayLike | None = None) -> Array:
        """Bits that the answer to each tone would tell about the threshold curve, (J, L), whoever the listener is.

        I(y; t) = H[y] − E H[y | t] at the tone's own place, where y given t is averaged over listeners as probable as
        they are at that threshold: spread, guesses and lapses are not what one wants to know.
        """
        heard = self.listeners.heard_at(levels, GRID)
        mass = np.einsum("jkqg,kq->jqg", self.densities(frequencies, ears), self.weights)
        both = np.einsum("jqg,qlg->jlg", mass, heard, optimize=True)
        total = mass.sum(axis=1)[:, None]
        given = np.divide(both, total, out=np.zeros_like(both), where=total > 0.0)
        return np.maximum(answer_entropy(both.sum(axis=2)) - np.sum(total * answer_entropy(given), axis=2), 0.0)

    def gain(self, frequencies: ArrayLike, levels: ArrayLike, ears: ArrayLike | None = None) -> Array:
        """By how many dB the answer to each tone is expected to narrow the standard deviation of a threshold, (J, L),
        on average over these places.

        An answer tells at most one bit, and hardly less where a threshold is known to 6 dB than where it is known to
        20: bits do not say how large an error they take away, and this does. Under each class and listener, the
        threshold at the tone's own place takes the others along by their covariance; each answer weighs the classes.
        """
        places = _places(frequencies, ears)
        likely = np.flatnonzero(self.weights.ravel() > _FAINT * self.weights.max())
        mass = self.densities(frequencies, ears).reshape(len(places), -1, len(GRID))[:, likely]  # (J, P, G)
        weights, cov = self.weights.ravel()[likely], self._covariances(places)[likely]
        weights = weights / weights.sum()
        mean = mass @ GRID
        variance = np.maximum(mass @ GRID**2 - mean**2, 1e-9)
        slope = (
            cov / np.maximum(np.diagonal(cov, axis1=1, axis2=2), 1e-9)[:, None, :]
        )  # of each on the tone's, (P, J', J)
        before = _mixture_sd(weights[:, None], mean.T, variance.T).mean()
        heard = self.listeners.heard_at(levels, GRID)  # (Q, L, G)
        which = np.tile(np.arange(len(self.listeners.weight)), len(self.population.weights))[likely]
        powers = np.stack([np.ones_like(GRID), GRID, GRID**2])
        moments = np.empty((len(places), len(likely), 3, heard.shape[1]))
        for q in np.unique(which):  # Σ mass · heard, times the threshold and its square too
            rows = np.flatnonzero(which == q)
            table = (powers[:, None] * heard[q]).reshape(-1, len(GRID))
            moments[:, rows] = (mass[:, rows] @ table.T).reshape(len(places), len(rows), 3, -1)
        whole = (mass @ powers.T)[..., None]  # (J, P, 3, 1)
        out = np.zeros((len(places), heard.shape[1]))
        for j in range(len(places)):
            for part in (moments[j], whole[j] - moments[j]):
                chance = np.maximum(part[:, 0], 1e-12)
                own = part[:, 1] / chance
                left = np.maximum(part[:, 2] / chance - own**2, 0.0)
                weight = weights[:, None] * chance
                total = weight.sum(axis=0)
                moved = mean.T[:, :, None] + slope[:, :, j, None] * (own - mean[j, :, None])[:, None]
                narrowed = variance.T[:, :, None] - slope[:, :, j, None] ** 2 * (variance[j, :, None] - left)[:, None]
                after = _mixture_sd(weight[:, None] / total, moved, np.maximum(narrowed, 1e-9))
                out[j] += total * (before - after.mean(axis=0))
        return out

    def _covariances(self, places: Sequence[_Place]) -> Array:
        """Of the thresholds at these places under each class and listener, (P, J, J)."""
        Q, T = self.weights.shape[1], len(self.tested)
        both = _curves(self.population, [*self.tested, *places]).cov
        prior, cross = np.repeat(both[:, T:, T:], Q, axis=0), np.repeat(both[:, T:, :T], Q, axis=0)
        if not T:
            return prior
        precision = self.settled.precision
        grow = np.eye(T) + precision @ np.repeat(both[:, :T, :T], Q, axis=0)
        return np.asarray(prior - cross @ np.linalg.solve(grow, precision @ np.swapaxes(cross, 1, 2)))

    def about_class(self, frequencies: ArrayLike, levels: ArrayLike, ears: ArrayLike | None = None) -> Array:
        """Bits that the answer to each tone would tell about the kind of ear, (J, L): kinds are classes of one name."""
        heard = self.listeners.heard_at(levels, GRID)
        mass = self.densities(frequencies, ears) * self.weights[..., None]
        names = list(self.diagnosis)
        kind = np.array([[name == each for each in self.population.names] for name in names], dtype=float)
        yes = np.einsum("jkqg,qlg->jkl", mass, heard, optimize=True)
        yes = np.einsum("nk,jkl->njl", kind, yes)
        weight = (kind @ self.classes)[:, None, None]
        given = np.divide(yes, weight, out=np.zeros_like(yes), where=weight > 0.0)
        return np.maximum(answer_entropy(yes.sum(axis=0)) - np.sum(weight * answer_entropy(given), axis=0), 0.0)


def believe(
    population: Population,
    listeners: Listeners,
    heard: Sequence[Heard],
    age: float | None = None,
    earlier: ThresholdBelief | None = None,
) -> ThresholdBelief:
    """What is believed after these answers, and a function of them alone: a test that is gone on with asks for the same
    tones. `earlier`, what was believed before the last answer, saves time.

    Answers at single places are taken all at once. Sites of answers among several places settle in few sweeps from
    those without the last answer, and in many or never from nothing: they are found answer by answer.
    """
    joint = [n for n, each in enumerate(heard) if len({tone[::2] for tone in _sounded(each)}) > 1]
    if not joint:
        earlier = None
    elif earlier is None:
        for n in range(joint[0], len(heard)):
            earlier = _believe(population, listeners, heard[:n], age, earlier if n > joint[0] else None)
    found = _believe(population, listeners, heard, age, earlier)
    if found.unsettled > UNSETTLED:
        what = "left out" if (found.settled.residual <= _LOOSE).any() else "all there are"
        warnings.warn(
            f"classes of ears and listeners that would weigh {found.unsettled:.1%} have not settled, and are {what}: "
            "the answers contradict each other there; thresholds and their intervals may be far off until more tones "
            "are played",
            ConvergenceWarning,
            stacklevel=2,
        )
    return found


def _sounded(heard: Heard) -> tuple[Tone, ...]:
    return tuple(tone for tone in heard.tones if tone.level is not None)


def _believe(
    population: Population,
    listeners: Listeners,
    heard: Sequence[Heard],
    age: float | None,
    earlier: ThresholdBelief | None,
) -> ThresholdBelief:
    """By all answers, from where the sites of an earlier belief were."""
    sounded = [(_sounded(each), each.yes) for each in heard]
    tested = tuple(dict.fromkeys(_Place(tone.frequency, tone.ear) for tones, _ in sounded for tone in tones))
    K, Q, T = population.classes, len(listeners.weight), len(tested)
    log_likelihood, alone = np.zeros((Q, T, len(GRID))), np.zeros(Q)
    among: dict[tuple[tuple[int, ...], bool], list[tuple[list[int], Array]]] = {}
    for tones, yes in sounded:
        at = [tested.index(_Place(tone.frequency, tone.ear)) for tone in tones]
        levels = np.array([tone.level for tone in tones], dtype=float)
        if not tones:
            with np.errstate(divide="ignore"):
                alone += np.log(listeners.guess if yes else 1.0 - listeners.guess)
        elif len(set(at)) == 1:
            log_likelihood[:, at[0]] += listeners.log_answer(levels[:, None] - GRID, yes)
        else:
            places = list(dict.fromkeys(at))
            pattern = tuple(places.index(each) for each in at), yes
            among.setdefault(pattern, []).append((places, levels))
    curves = _curves(population, tested)
    parts = np.repeat(np.arange(K), Q)
    require(
        bool(np.isfinite(alone).any()), "heard", "answers that a listener with guess=0 can give", "a yes to silence",
        "leave guess out, or take that answer away",
    )  # fmt: skip
    with np.errstate(divide="ignore"):
        prior = np.log(population.at_age(age))[:, None] + np.log(listeners.weight) + alone
    like = np.tile(log_likelihood, (K, 1, 1))
    sites = None if earlier is None else earlier.settled.sites
    settled = settle(curves.mean[parts], curves.cov[parts], like, prior.ravel(), _among(among, listeners, K), sites)
    logs = prior + settled.log_evidence.reshape(K, Q)
    loose = (settled.residual > _LOOSE).reshape(K, Q)
    unsettled = float(np.exp(logsumexp(logs[loose]) - logsumexp(logs))) if loose.any() else 0.0
    if not loose.all():
        logs = np.where(loose, -np.inf, logs)
    log_evidence = float(logsumexp(logs))
    weights = np.exp(logs - log_evidence)
    return ThresholdBelief(population, listeners, weights, log_evidence, tested, settled, unsettled)


def _among(
    answers: dict[tuple[tuple[int, ...], bool], list[tuple[list[int], Array]]], listeners: Listeners, classes: int
) -> list[Among]:
    """Answers to tones at several places by their patterns, in the order in which those came up, under every class and
    listener."""
    spread, guess, lapse = (np.tile(each, classes) for each in (listeners.spread, listeners.guess, listeners.lapse))
    out = []
    for (which, yes), some in answers.items():
        places, levels = (np.array(each) for each in zip(*some, strict=True))
        out.append(Among(places, which, levels, yes, spread, guess if yes else lapse, 1.0 - guess - lapse))
    return out


def _places(frequencies: ArrayLike, ears: ArrayLike | None) -> list[_Place]:
    hertz, which = places_of(frequencies, ears)
    return [_Place(float(f), int(e)) for f, e in zip(hertz, which, strict=True)]


def _curves(population: Population, places: Sequence[_Place]) -> Curves:
    if not places:
        K = population.classes
        return Curves(np.zeros((K, 0)), np.zeros((K, 0, 0)))
    return population.curves([p.frequency for p in places], [p.ear for p in places])


def _mixture_sd(weight: Array, mean: Array, variance: Array) -> Array:
    """The standard deviation of a mixture whose parts are along the first axis."""
    centre = np.sum(weight * mean, axis=0)
    return np.sqrt(np.maximum(np.sum(weight * (variance + mean**2), axis=0) - centre**2, 0.0))


def answer_entropy(yes: Array) -> Array:
    """Of an answer, in bits, from the probability of a yes, which rounding may have left a little above one."""
    return binary_entropy(np.clip(yes, 0.0, 1.0))


def upto(mass: Array, end: float) -> float:
    """The probability of thresholds up to this one: masses are spread evenly over their steps of the grid."""
    step = GRID[1] - GRID[0]
    below = np.concatenate([[0.0], np.cumsum(mass)])
    return float(np.interp(end, np.append(GRID, GRID[-1] + step) - 0.5 * step, below))


def quantiles(mass: Array, shares: Array) -> Array:
    """Below which these shares of the masses lie."""
    step = GRID[1] - GRID[0]
    below = np.concatenate([[0.0], np.cumsum(mass)])
    return np.asarray(np.interp(shares, below, np.append(GRID, GRID[-1] + step) - 0.5 * step))
