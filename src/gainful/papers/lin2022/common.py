"""What the grid experiments of Lin 2022, ch. 4, share: the nine grids, and the belief over all programs of one.

A grid at a hundred places is small linear algebra, so all its programs are believed at once, as arrays (S programs, M
places): an answer is one step of Bayes' rule for each. The tests hold every number against `ProgramGrid`,
`information(..., about="model")` and `Predictions`, which are the same for any instrument, space and number of answers.

What the text leaves open, and what the published numbers say about it: lines are (x − ν)(x′ − ν), a period p and a
scale ℓ are exp(−2 sin²(πd/p)/ℓ²), noise is a variance. Of the 155 programs each one, not each structure, had the stated
weights 0.3, 0.3 and 0.4 · 0.3 · 0.3: so it is by default, and by structure beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

import gainful as gf

__all__ = ["AFTER", "BUDGET", "PLACES", "POINTS", "STRATEGIES", "STUDIES", "Known", "Study"]

Array = NDArray[np.float64]

PLACES: Array = np.linspace(-1.0, 1.0, 100, dtype=np.float64)
# Midpoints of 50 parts of the range; how many there were is not printed.
POINTS: Array = np.asarray(-1.0 + (np.arange(50) + 0.5) / 25.0, dtype=np.float64)
FIRST, BUDGET, AFTER = 49, 16, (1, 5, 10, 15)  # the first place is the centre; what the tables show
NOISE = 0.1

_TENTHS = tuple(round(0.1 * i, 1) for i in range(1, 11))
_FIFTHS = tuple(round(0.2 * i, 1) for i in range(1, 6))
_NOISES = (0.3, 0.4, 0.5, 0.6, 0.7)
_REACH, _STEP, _LIGHT = 7.0, 0.6, 1e-12  # spreads on either side, step in the narrowest spread, weight of no account
_TIE = 1e-9  # bits


@dataclass(frozen=True)
class Study:
    """One figure: its programs, the names and values of their numbers, their noises, their odds by prior, and which of
    them the data sets are drawn from."""

    figure: str
    title: str
    programs: tuple[str, ...]
    numbers: tuple[dict[str, float], ...] = field(repr=False)
    odds: dict[str, tuple[float, ...]] = field(repr=False)
    truths: tuple[int, ...] = field(repr=False)
    measures: tuple[str, ...]

    @cached_property
    def noises(self) -> Array:
        return np.array([own.get("noise", NOISE) for own in self.numbers])

    @cached_property
    def structures(self) -> tuple[str, ...]:
        return tuple(gf.Program.read(each).structure for each in self.programs)

    def grid(self, prior: str) -> gf.ProgramGrid:
        """The same as gainful's model."""
        return gf.ProgramGrid(self.programs, self.odds[prior], self.noises)

    def drawn(self, truth: int, rng: np.random.Generator) -> Array:
        """A reading at every place, (M,)."""
        K = kernel_at(self.programs[truth], PLACES, PLACES) + self.noises[truth] * np.eye(len(PLACES))
        return np.asarray(np.linalg.cholesky(K) @ rng.standard_normal(len(PLACES)))


def kernel_at(program: str, X: Array, Z: Array) -> Array:
    return np.asarray(gf.Program.read(program).kernel(X[:, None], Z[:, None]))


def _studies() -> dict[str, Study]:
    def one(figure: str, title: str, symbol: str, named: dict[str, tuple[float, ...]], each: int) -> Study:
        cells = [dict(zip(named, values, strict=True)) for values in product(*named.values())]
        programs = tuple(f"({symbol} {' '.join(f'{v:g}' for n, v in own.items() if n != 'noise')})" for own in cells)
        truths = tuple(i for i in range(len(cells)) for _ in range(each))
        measures = ("predictive", *named, "truth")
        return Study(figure, title, programs, tuple(cells), {"by program": (1.0,) * len(cells)}, truths, measures)

    pairs, fives = {"scale": _TENTHS, "period": _TENTHS}, {"scale": _FIFTHS, "period": _FIFTHS}
    noise = {"noise": _NOISES}
    found = [
        one("4-1", "periodic", "PER", pairs, 1),
        one("4-2", "periodic, noise unknown", "PER", fives | noise, 1),
        one("4-3", "linear", "LIN", {"parameter": _TENTHS}, 5),
        one("4-4", "linear, noise unknown", "LIN", {"parameter": _TENTHS} | noise, 1),
        one("4-5", "squared exponential", "SE", {"parameter": _TENTHS}, 5),
        one("4-6", "squared exponential, noise unknown", "SE", {"parameter": _TENTHS} | noise, 1),
    ]
    periodic = [{"scale": a, "period": b} for a in _FIFTHS for b in _FIFTHS]
    linear = [{"parameter": c} for c in _FIFTHS]
    both = [a | b for a in periodic for b in linear]
    programs = [
        *(f"(PER {own['scale']:g} {own['period']:g})" for own in periodic),
        *(f"(LIN {own['parameter']:g})" for own in linear),
        *(f"(+ (PER {own['scale']:g} {own['period']:g}) (LIN {own['parameter']:g}))" for own in both),
    ]
    counts = (len(periodic), len(linear), len(both))
    odds = {
        "by program": (*(0.3,) * counts[0], *(0.3,) * counts[1], *(0.4 * 0.3 * 0.3,) * counts[2]),
        "by structure": tuple(o / n for o, n in zip((0.3, 0.3, 0.4), counts, strict=True) for _ in range(n)),
    }
    begins = np.cumsum([0, *counts])
    shown = (("scale", "period"), ("parameter",), ("scale", "period", "parameter"))
    for k, (figure, title) in enumerate((("4-7", "periodic"), ("4-8", "linear"), ("4-9", "periodic plus linear"))):
        found.append(
            Study(
                figure, f"{title} among 155", tuple(programs), (*periodic, *linear, *both), odds,
                tuple(range(begins[k], begins[k + 1])), ("predictive", *shown[k], "truth", "structure"),
            )
        )  # fmt: skip
    return {study.figure: study for study in found}


STUDIES = _studies()


@cache
def _prior(programs: tuple[str, ...]) -> tuple[Array, Array]:
    """Covariances (S, M + R, M) of places and points with places, and the points' variances (S, R)."""
    everywhere = np.concatenate([PLACES, POINTS])
    cov = np.stack([kernel_at(each, everywhere, PLACES) for each in programs])
    return cov, np.stack([np.diag(kernel_at(each, POINTS, POINTS)) for each in programs])


class Known:
    """What is believed of all programs of a study after some answers: log weights, means and covariances."""

    def __init__(self, study: Study, prior: str) -> None:
        self.study = study
        cov, points = _prior(study.programs)
        odds = np.array(study.odds[prior])
        self.log_odds = np.log(odds / odds.sum())
        self.mean, self.cov, self.points = np.zeros((len(odds), len(PLACES))), cov.copy(), points.copy()

    @property
    def weights(self) -> Array:
        shares = np.exp(self.log_odds - self.log_odds.max())
        return np.asarray(shares / shares.sum())

    @property
    def variance(self) -> Array:
        """Of f at every place, (S, M)."""
        places = np.arange(len(PLACES))
        return self.cov[:, places, places]

    def tell(self, place: int, y: float) -> None:
        """One reading at a place, by its number."""
        M = len(PLACES)
        seen = self.cov[:, place, place] + self.study.noises
        off = y - self.mean[:, place]
        self.log_odds = self.log_odds - 0.5 * (off**2 / seen + np.log(seen))
        gain = self.cov[:, :, place] / seen[:, None]
        self.mean = self.mean + gain[:, :M] * off[:, None]
        self.points = self.points - gain[:, M:] * self.cov[:, M:, place]
        self.cov -= gain[:, :, None] * self.cov[:, place, :][:, None, :]

    def about_the_program(self) -> Array:
        """I(answer; program) in bits at every place, (M,): H[Σ w N(μ, σ²)] − Σ w H[N(μ, σ²)], by the trapezoid rule,
        which for normals is exact to rounding at this step."""
        heavy = self.weights > _LIGHT
        w = self.weights[heavy] / self.weights[heavy].sum()
        m, s = self.mean[heavy], np.sqrt(self.variance[heavy] + self.study.noises[heavy, None])
        low, high = np.min(m - _REACH * s, axis=0), np.max(m + _REACH * s, axis=0)
        nodes = int(np.ceil(np.max((high - low) / (_STEP * s.min(axis=0))))) + 1
        y = low + (high - low) * np.linspace(0.0, 1.0, nodes)[:, None]
        p = np.zeros(y.shape)
        for weight, centre, spread in zip(w, m, s, strict=True):  # arrays of all programs would not fit the cache
            t = (y - centre) / spread
            p += (weight / np.sqrt(2.0 * np.pi)) / spread * np.exp(-0.5 * t * t)
        inside = np.where(p > 0.0, -p * np.log2(np.where(p > 0.0, p, 1.0)), 0.0)
        entropy = inside.sum(axis=0) * (high - low) / (nodes - 1)
        return np.asarray(np.maximum(entropy - w @ (0.5 * np.log2(2.0 * np.pi * np.e * s**2)), 0.0))

    def about_predictions(self) -> Array:
        """Σ w mean_r ½ log2(σ²(r)/σ²(r | x)) at every place, (M,)."""
        heavy = np.flatnonzero(self.weights > _LIGHT)
        seen = self.variance[heavy] + self.study.noises[heavy, None]
        total = np.zeros(len(PLACES))
        for i, s in enumerate(heavy):
            told = self.cov[s, len(PLACES) :] ** 2 / np.maximum(self.points[s], 1e-300)[:, None] / seen[i]
            total -= 0.5 / np.log(2.0) * self.weights[s] * np.log1p(-np.minimum(told, 1.0 - 1e-15)).mean(axis=0)
        return total

    def measured(self, truth: int, y: Array) -> dict[str, float]:
        """What the published tables show: squared errors averaged over programs, not those of an average."""
        w, study = self.weights, self.study
        own = study.numbers[truth]
        right = np.array([each == study.structures[truth] for each in study.structures])
        within = np.where(right, w, 0.0) / w[right].sum()
        out = {"predictive": float(w @ np.sum((y - self.mean) ** 2, axis=1)), "truth": float(w[truth])}
        out["structure"] = float(w[right].sum())
        for name, value in own.items():
            off = np.array([each.get(name, np.nan) - value for each in study.numbers])
            out[name] = float(within[right] @ off[right] ** 2)
        return out


STRATEGIES = {"IG-K": Known.about_the_program, "IG-P": Known.about_predictions}


def choose(scores: Array, asked: Sequence[int]) -> int:
    """The place with the largest score among those not asked; of a tie the first."""
    left = np.array(scores)
    left[list(asked)] = -np.inf
    return int(np.flatnonzero(left >= left.max() - _TIE)[0])


def curve(study: Study, prior: str, strategy: str, truth: int, y: Array) -> list[dict[str, Any]]:
    """What is measured after each of the answers, and how near to an earlier one each was asked."""
    known, asked = Known(study, prior), [FIRST]
    near: list[float] = []
    rows = []
    while True:
        known.tell(asked[-1], float(y[asked[-1]]))
        spaced = float(np.mean(near)) if near else None
        rows.append({"answers": len(asked), **known.measured(truth, y), "spacing": spaced, "place": asked[-1]})
        if len(asked) == BUDGET:
            return rows
        chosen = choose(STRATEGIES[strategy](known), asked)
        near.append(float(np.min(np.abs(PLACES[asked] - PLACES[chosen]))))
        asked.append(chosen)
