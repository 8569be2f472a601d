"""How far an approximate posterior is from the exact one: its bands, its spreads, its evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from gainful.inference.draws import Draws

__all__ = ["Check", "compare"]

Array = NDArray[np.float64]

_TOLERANCE = 0.02  # by which a band may hold more or less than it says before it counts as off


class Compared(Protocol):
    """What is compared of a posterior."""

    @property
    def draws(self) -> Draws | None: ...

    @property
    def log_evidence(self) -> float: ...

    def mean(self, X: ArrayLike) -> Array: ...

    def variance(self, X: ArrayLike) -> Array: ...

    def by_draw(self, X: ArrayLike) -> tuple[Array, Array]: ...


@dataclass(frozen=True, eq=False)
class Check:
    """A posterior beside the exact one at `places` (M, d); true when its bands hold what they say.

    mean_off       how far its mean is from the exact one, in exact standard deviations, (M,)
    sd_ratio       its standard deviation over the exact one, (M,); below 1 it is too sure
    coverage       the exact probability that f lies in its band of probability `level`, (M,)
    log_evidence_off   its log evidence minus the exact one, which is known up to log_evidence_error

    The exact side is `draws` draws: a coverage near 0.95 is known to about 0.2/√draws.
    """

    places: Array
    mean_off: Array
    sd_ratio: Array
    coverage: Array
    level: float
    log_evidence_off: float
    log_evidence_error: float
    draws: int

    def __bool__(self) -> bool:
        """Whether the bands hold on average what they say, up to two hundredths and the error of the draws."""
        if not len(self.coverage):
            return True
        unsure = 2.0 * np.sqrt(self.level * (1.0 - self.level) / self.draws) if self.draws else 0.0
        return bool(abs(float(self.coverage.mean()) - self.level) <= _TOLERANCE + unsure)

    def __str__(self) -> str:
        if not len(self.coverage):
            return "there is no place to compare at, and without answers the belief is the prior, which is exact"
        where = "one place" if len(self.coverage) == 1 else f"{len(self.coverage)} places"
        lines = [
            f"bands of {self.level:.0%} hold {self.coverage.mean():.1%} on average over {where}, "
            f"{self.coverage.min():.1%} at worst",
            f"standard deviations are {self.sd_ratio.mean():.2f} of the exact ones on average, "
            f"{self.sd_ratio.min():.2f} to {self.sd_ratio.max():.2f}; means are off by up to "
            f"{np.abs(self.mean_off).max():.2f} of one",
            f"the log evidence is off by {self.log_evidence_off:+.3f} ± {self.log_evidence_error:.3f}",
        ]
        if not self:
            lines.append("for exact bands: gp.condition(data, inference=gf.Sampled())")
        return "\n".join(lines)


def compare(approximate: Compared, exact: Compared, places: Array, level: float) -> Check:
    """The approximate posterior beside the exact one, whose marginals are mixtures over its draws."""
    draws = exact.draws
    off = approximate.log_evidence - exact.log_evidence
    error, count = (0.0, 0) if draws is None else (draws.log_evidence_error, len(draws))
    if not len(places):
        none = np.zeros(0)
        return Check(places, none, none, none, level, off, error, count)
    mean, sd = approximate.mean(places), np.sqrt(approximate.variance(places))
    right, right_sd = exact.mean(places), np.sqrt(exact.variance(places))
    means, within = exact.by_draw(places)
    reach, spread = float(ndtri(0.5 + 0.5 * level)) * sd, np.maximum(np.sqrt(within), 1e-300)
    held = np.mean(ndtr((mean + reach - means) / spread) - ndtr((mean - reach - means) / spread), axis=0)
    safe = np.where(right_sd > 0.0, right_sd, 1.0)
    known = (right_sd <= 0.0) & (sd <= 0.0)  # by a number without noise, on both sides
    return Check(
        places,
        (mean - right) / safe,
        np.where(known, 1.0, sd / safe),
        np.where(known, level, held),
        level,
        off,
        error,
        count,
    )
