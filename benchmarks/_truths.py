"""Truths to be found, and seven sets of instruments to find them with, all at their defaults.

    prior       as gainful itself supposes: Matérn 5/2, a lengthscale for each dimension, LogNormal about 0.35 √D of the
                range with spread 1, a level with a spread of four amplitudes, a noise LogNormal about a tenth with
                spread 1
    rough       Matérn 3/2 or 5/2, as likely, one lengthscale for all dimensions, log-uniform from 0.1
                to 1 of the range; noise as above

The amplitude is 1, but where answers only compare f with a noise (pass or fail, preferences): there gainful supposes
an amplitude of two noises, its square LogNormal with spread 1, and so it is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import gainful as gf

SETS = ("readings", "stated", "intervals", "ranks", "passfail", "preferences", "mixture")
TRUTHS = ("prior", "rough")
MARKS = np.array([-0.9, -0.3, 0.3, 0.9])  # thresholds of ranks, in amplitudes from the level
WIDTH = 0.5  # of intervals, in amplitudes
NOISE = 0.1  # where it is stated, and the median where it is not
UNIT = float(np.sqrt(0.5))  # the noise of a preference: of the difference it is 1


@dataclass(frozen=True)
class Problem:
    """Answers, and places (M, D) with f there (M,); for preferences pairs (M, 2, D) with f(u) − f(v)."""

    space: gf.Space
    data: gf.Data
    places: np.ndarray
    truth: np.ndarray
    amplitude: float


def draw(truth: str, kind: str, dimensions: int, answers: int, places: int, rng: np.random.Generator) -> Problem:
    """A truth, its answers at random places, and what it is at others."""
    space = gf.Space(*(gf.Real(f"x{d}", 0, 1) for d in range(dimensions)))
    each = 2 if kind == "preferences" else 1
    X = rng.random((each * (answers + places), dimensions))
    compared = kind in ("passfail", "preferences")
    amplitude = 2.0 * np.exp(0.5 * rng.standard_normal()) if compared else 1.0
    f = amplitude * _shape(truth, X, rng)
    level = amplitude * 4.0 * rng.standard_normal()
    if kind == "preferences":
        pairs, difference = X.reshape(-1, 2, dimensions), f[::2] - f[1::2]
        said = gf.Preference(UNIT).simulate(difference[:answers], rng)
        data = gf.Data().add(gf.Preference(), pairs[:answers], said)
        return Problem(space, data, pairs[answers:], difference[answers:], amplitude)
    if kind == "passfail":
        # The level, as gainful supposes it, is four spreads from the threshold; a person chooses a nearer one.
        threshold = level - (8.0 if truth == "prior" else amplitude) * rng.standard_normal()
        test = gf.Binary(threshold=threshold, noise=1.0)
        data = gf.Data().add(test, X[:answers], test.simulate(level + f[:answers], rng))
    else:
        data = _answered(kind, X[:answers], level + f[:answers], level, rng)
    return Problem(space, data, X[answers:], level + f[answers:], amplitude)


def _shape(truth: str, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A function of amplitude 1 at some places."""
    D = X.shape[1]
    if truth == "prior":
        nu, lengths = 2.5, 0.35 * np.sqrt(D) * np.exp(rng.standard_normal(D))
    else:
        nu, lengths = (1.5, 2.5)[int(rng.integers(2))], np.full(D, 10.0 ** -rng.random())
    K = np.asarray(gf.Matern(nu=nu, lengthscale=lengths.tolist(), variance=1.0)(X, X))
    values, vectors = np.linalg.eigh(K)
    return vectors @ (np.sqrt(np.maximum(values, 0.0)) * rng.standard_normal(len(X)))


def _answered(kind: str, X: np.ndarray, f: np.ndarray, level: float, rng: np.random.Generator) -> gf.Data:
    """What instruments that know the unit of f say of it; each has a noise of its own."""
    n = len(f)
    if kind == "mixture":
        parts = zip(("readings", "ranks", "test"), np.split(np.arange(n), [n // 3, 2 * (n // 3)]), strict=True)
    else:
        parts = iter([(kind, np.arange(n))])
    data = gf.Data()
    for name, rows in parts:
        noise = NOISE if name == "stated" else NOISE * np.exp(rng.standard_normal())
        device, as_declared = _device(name, noise, level, rng)
        data = data.add(as_declared, X[rows], device.simulate(f[rows], rng))
    return data


def _device(name: str, noise: float, level: float, rng: np.random.Generator) -> tuple[gf.Instrument, gf.Instrument]:
    """The instrument as it is, and as a person declares it who leaves out what is not known."""
    if name == "stated":
        return gf.Point(noise), gf.Point(noise)
    if name == "readings":
        return gf.Point(noise), gf.Point()
    if name == "intervals":
        return gf.Interval(noise, width=WIDTH), gf.Interval()
    if name == "ranks":
        marks = (level + MARKS).tolist()
        return gf.Ordinal(marks, noise), gf.Ordinal(marks)
    threshold = level + 0.5 * rng.standard_normal()
    return gf.Binary(threshold=threshold, noise=noise), gf.Binary(threshold=threshold)
