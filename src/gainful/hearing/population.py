"""What ears look like before the first tone: classes of threshold curves, learned from many people.

A person has two curves t(φ), thresholds in dB HL over φ = log2 of the frequency. At the audiometric frequencies both
curves of a class together are one normal vector,

    p(t) = Σ_c π_c N(t; μ_c, Σ_c),   t = (one ear at every knot, the other ear at every knot)

and between two of these frequencies a curve is a straight line plus a random walk that is tied to both ends, which is
what a Gaussian process of independent increments becomes once it is known at the knots. Below the first and above the
last knot it walks on from there. Ears have no order: with every person counts the same person with ears exchanged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from gainful.checks import is_number, numbers, require, require_count
from gainful.hearing.kinds import degree, pure_tone_average, shape

__all__ = ["Curves", "Population", "fit_population"]

Array = NDArray[np.float64]

_FILE = "population.json"
_ROUNDING = 25.0 / 12.0  # variance of what is rounded to 5 dB
_YOUNGEST, _OLDEST = 1.0, 120.0
_MIXED = 16.0  # dB: where the pure-tone averages of a class differ by more, it holds ears of every degree


class Curves(NamedTuple):
    """For each class the mean (K, J) and covariance (K, J, J) of thresholds at J places."""

    mean: Array
    cov: Array


@dataclass(frozen=True)
class Population:
    """Classes of pairs of threshold curves.

    frequencies  the knots (F,), in Hz
    weights      of the classes (K,)
    mean, cov    of both ears at the knots, (K, 2F) and (K, 2F, 2F), in dB HL
    roughness    of the walk between knots: its standard deviation after an octave, in dB
    ages         (A,) at which the weights are known, and `by_age` (A, K) what they are there
    names        of the classes, in words; "mixed" is one that takes in ears of every degree
    provenance   where all this comes from

    >>> ears = Population.load()
    >>> bool(abs(ears.weights.sum() - 1.0) < 1e-9)
    True
    """

    frequencies: Array
    weights: Array
    mean: Array
    cov: Array
    roughness: float
    ages: Array = field(default_factory=lambda: np.zeros(0))
    by_age: Array = field(default_factory=lambda: np.zeros((0, 0)))
    names: tuple[str, ...] = ()
    provenance: str = ""

    @staticmethod
    def load() -> Population:
        """The one that comes with gainful."""
        return Population.read(json.loads(files("gainful.hearing").joinpath(_FILE).read_text(encoding="utf-8")))

    @staticmethod
    def read(stored: Mapping[str, object]) -> Population:
        """From what `stored` gives."""
        arrays = {name: np.array(stored[name], dtype=float) for name in ("frequencies", "weights", "mean", "ages")}
        size = arrays["mean"].shape[1]
        upper = np.array(stored["cov"], dtype=float)
        cov = np.zeros((len(upper), size, size))
        rows, columns = np.triu_indices(size)
        cov[:, rows, columns] = upper
        cov[:, columns, rows] = upper
        by_age = np.array(stored["by_age"], dtype=float).reshape(len(arrays["ages"]), len(upper))
        return Population(**arrays, cov=cov, roughness=float(stored["roughness"]), by_age=by_age,  # type: ignore[arg-type]
                          names=tuple(stored["names"]), provenance=str(stored["provenance"]))  # type: ignore[arg-type]  # fmt: skip

    def stored(self) -> dict[str, object]:
        """As JSON: covariances by their upper triangles, everything to a hundredth of a decibel or better."""
        rows, columns = np.triu_indices(self.mean.shape[1])
        return {
            "provenance": self.provenance,
            "names": list(self.names),
            "frequencies": self.frequencies.tolist(),
            "roughness": round(self.roughness, 3),
            "weights": (np.round(self.weights, 5) / np.round(self.weights, 5).sum()).round(7).tolist(),
            "ages": self.ages.tolist(),
            "by_age": np.round(self.by_age, 4).tolist(),
            "mean": np.round(self.mean, 2).tolist(),
            "cov": np.round(self.cov[:, rows, columns], 2).tolist(),
        }

    def digest(self) -> str:
        """A short text that differs where the numbers of two populations do, whatever they are called."""
        numbers = {name: each for name, each in self.stored().items() if name not in ("provenance", "names")}
        return sha256(json.dumps(numbers, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def classes(self) -> int:
        return len(self.weights)

    @cached_property
    def knots(self) -> Array:
        """log2 of the frequencies."""
        return np.log2(self.frequencies)

    def at_age(self, age: float | None) -> Array:
        """The weights of the classes, (K,), for somebody of this age in years; None for anybody."""
        fine = age is None or (is_number(age) and _YOUNGEST <= age <= _OLDEST)
        require(fine, "age", f"years from {_YOUNGEST:g} to {_OLDEST:g}, or None", age, "leave it out if unknown")
        if age is None or not len(self.ages):
            return self.weights
        found = np.array([np.interp(age, self.ages, each) for each in self.by_age.T])
        return np.asarray(found / found.sum())

    def curves(self, frequencies: ArrayLike, ears: ArrayLike | None = None) -> Curves:
        """The thresholds at these frequencies, of these ears (0 or 1 each; all of one ear where left out)."""
        hertz, which = places_of(frequencies, ears)
        lines = np.zeros((len(hertz), 2 * len(self.knots)))
        walk = _walk(np.log2(hertz), self.knots, lines, which)
        cov = lines @ self.cov @ lines.T + self.roughness**2 * np.where(which[:, None] == which, walk, 0.0)
        return Curves(self.mean @ lines.T, cov)


def places_of(frequencies: ArrayLike, ears: ArrayLike | None = None) -> tuple[Array, NDArray[np.int64]]:
    """Frequencies in Hz and the number of the ear at each, (J,) both; one ear may be given for all."""
    hertz = hertz_of(frequencies)
    given = np.zeros(1) if ears is None else np.atleast_1d(numbers("ears", ears, "0 or 1 for each frequency"))
    fine = given.ndim == 1 and len(given) in (1, len(hertz)) and bool(np.all((given == 0.0) | (given == 1.0)))
    require(fine, "ears", "0 or 1, once or for each frequency", ears, "ears count from 0")
    return hertz, np.broadcast_to(given.astype(np.int64), hertz.shape)


def hertz_of(frequencies: ArrayLike) -> Array:
    """Frequencies in Hz, (J,), checked."""
    hertz = np.atleast_1d(numbers("frequencies", frequencies, "frequencies in Hz"))
    fine = hertz.ndim == 1 and bool(np.all(np.isfinite(hertz) & (hertz >= 20.0) & (hertz <= 20_000.0)))
    require(fine, "frequencies", "frequencies in Hz, from 20 to 20000", frequencies, "such as [500, 1000, 2000]")
    return hertz


def _walk(phi: Array, knots: Array, lines: Array, ears: NDArray[np.int64]) -> Array:
    """Fill in the weights of the knots at each place; the covariance (J, J) of a unit walk that is zero at knots."""
    inner = np.clip(phi, knots[0], knots[-1])
    after = np.clip(np.searchsorted(knots, inner, side="left"), 1, len(knots) - 1)
    share = (inner - knots[after - 1]) / (knots[after] - knots[after - 1])
    rows = np.arange(len(phi))
    lines[rows, ears * len(knots) + after - 1] += 1.0 - share
    lines[rows, ears * len(knots) + after] += share
    low, high = np.minimum(phi[:, None], phi), np.maximum(phi[:, None], phi)
    start, end = knots[after - 1][:, None], knots[after][:, None]
    bridge = np.where(after[:, None] == after, (low - start) * (end - high) / (end - start), 0.0)
    below = np.minimum(knots[0] - low, knots[0] - high)
    above = np.minimum(low - knots[-1], high - knots[-1])
    outside = np.where(high < knots[0], below, np.where(low > knots[-1], above, 0.0))
    return np.where((low >= knots[0]) & (high <= knots[-1]), np.maximum(bridge, 0.0), outside)


def fit_population(
    both: Array, frequencies: Sequence[float], classes: int, ages: ArrayLike | None = None, seed: int = 0,
    starts: int = 3, provenance: str = "",
) -> Population:  # fmt: skip
    """The population that thresholds of both ears (N, 2, F) come from, by expectation maximisation from several starts.

    `ages` (N,) may have unknown ones (nan). Thresholds are in dB HL, rounded to 5 dB as audiometers do.
    """
    people, hertz = _people(both, frequencies)
    size, old = len(hertz), None if ages is None else _ages(ages, len(people))
    require_count("classes", classes, 1, "kinds of ears")
    require_count("starts", starts, 1, "runs, of which the best is kept")
    require(
        len(people) >= 2 * classes, "both", f"at least two people for each of {classes} classes", len(people),
        "give more people, or fewer classes",
    )  # fmt: skip
    rows = np.concatenate([people.reshape(len(people), -1), people[:, ::-1].reshape(len(people), -1)])
    best = max((_expected(rows, classes, np.random.default_rng([seed, s])) for s in range(starts)), key=lambda m: m[3])
    weights, mean, cov, _, share = best
    order = np.argsort(-weights)
    weights, mean, cov, share = weights[order], mean[order], cov[order], share[:, order]
    grid = np.arange(10.0, 81.0, 10.0) if old is not None else np.zeros(0)
    by_age = np.zeros((0, classes))
    if old is not None:
        by_age = _smoothed(np.tile(old, 2), share, grid)
    names = tuple(_name(m[:size], c[:size, :size], frequencies) for m, c in zip(mean, cov, strict=True))
    return Population(hertz, weights, mean, cov, _roughness(people, np.log2(hertz)), grid, by_age, names, provenance)


def _people(both: ArrayLike, frequencies: ArrayLike) -> tuple[Array, Array]:
    """Thresholds (N, 2, F) and their frequencies (F,), checked."""
    hertz = hertz_of(frequencies)
    rising = len(hertz) >= 2 and bool(np.all(np.diff(hertz) > 0.0))
    require(rising, "frequencies", "two or more in Hz, rising", frequencies, "order the thresholds in the same way")
    people = numbers("both", both, "thresholds in dB HL, (people, 2 ears, frequencies)")
    fine = people.ndim == 3 and people.shape[1:] == (2, len(hertz))
    require(fine, "both", f"thresholds of shape (people, 2, {len(hertz)})", people.shape, "both ears of each person")
    known = np.isfinite(people).all(axis=(1, 2))
    require(
        bool(known.all()), "both", "thresholds that are all known", f"{int((~known).sum())} people with gaps",
        "leave them out: both[np.isfinite(both).all(axis=(1, 2))]",
    )  # fmt: skip
    return people, hertz


def _ages(ages: ArrayLike, people: int) -> Array:
    found = numbers("ages", ages, "years, nan where unknown")
    fine = found.shape == (people,) and not bool(np.any((found < 0.0) | (found > _OLDEST)))
    require(fine, "ages", f"{people} ages from 0 to {_OLDEST:g} years", ages, "one for each person, nan where unknown")
    return found


def _expected(rows: Array, classes: int, rng: np.random.Generator) -> tuple[Array, Array, Array, float, Array]:
    """One run: weights, means, covariances, the mean log density, the classes' share of every row."""
    n, d = rows.shape
    mean = rows[rng.choice(n, classes, replace=False)]
    cov = np.repeat(np.diag(rows.var(axis=0))[None] / 4.0, classes, axis=0)
    weights, last = np.full(classes, 1.0 / classes), -np.inf
    share = np.zeros((n, classes))
    for _ in range(400):
        logs = np.log(weights) + log_normal(rows, mean, cov)
        total = logsumexp(logs, axis=1, keepdims=True)
        share = np.exp(logs - total)
        mass = share.sum(axis=0)
        weights, mean = mass / n, share.T @ rows / mass[:, None]
        cov = np.stack([(s[:, None] * (rows - m)).T @ (rows - m) for s, m in zip(share.T, mean, strict=True)])
        # As if each class had been seen in two more people of its own size: a class of few has no thin directions.
        cov = (cov + 2.0 * d * _ROUNDING * np.eye(d)) / (mass + 2.0)[:, None, None]
        if total.mean() - last < 1e-6:
            break
        last = float(total.mean())
    return weights, mean, cov, last, share


def log_normal(rows: Array, mean: Array, cov: Array) -> Array:
    """log N(row; mean_k, cov_k), (N, K)."""
    lower = np.linalg.cholesky(cov)
    off = np.stack([np.linalg.solve(each, (rows - m).T) for each, m in zip(lower, mean, strict=True)], axis=1)
    log_det = np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1)
    return np.asarray(-0.5 * np.sum(off**2, axis=0).T - log_det - 0.5 * rows.shape[1] * np.log(2.0 * np.pi))


def _smoothed(ages: Array, share: Array, grid: Array) -> Array:
    """The classes' shares at each age of the grid, over the people of about that age."""
    known = np.isfinite(ages)
    near = np.exp(-0.5 * ((ages[known] - grid[:, None]) / 5.0) ** 2)
    found = near @ share[known] + 1e-3 * share.mean(axis=0)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _roughness(people: Array, knots: Array) -> float:
    """How far thresholds lie from the line between their neighbours, as a walk's: per root of an octave."""
    walked, expected = 0.0, 0.0
    for j in range(1, len(knots) - 1):
        gap = knots[j + 1] - knots[j - 1]
        share = (knots[j] - knots[j - 1]) / gap
        off = people[:, :, j] - (1.0 - share) * people[:, :, j - 1] - share * people[:, :, j + 1]
        rounding = _ROUNDING * (1.0 + share**2 + (1.0 - share) ** 2)
        walked += max(float(np.mean(off**2)) - rounding, 0.0)
        expected += share * (1.0 - share) * gap
    return float(np.sqrt(walked / expected))


def _name(mean: Array, cov: Array, frequencies: Sequence[float]) -> str:
    """A class in an audiologist's words, by its mean curve; one that takes in all degrees is none of them."""
    share = np.array([pure_tone_average(each, frequencies) for each in np.eye(len(mean))])
    if np.sqrt(share @ cov @ share) > _MIXED:
        return "mixed"
    return f"{degree(pure_tone_average(mean, frequencies))}, {shape(mean, frequencies, margin=5.0)}"
