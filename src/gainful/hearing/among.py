"""An answer to several tones at different places: the listener says whether any of them was heard.

    P(yes | t) = guess + (1 − guess − lapse) (1 − Π_j Φ((t_j − level_j)/spread))

(Gardner 2018, sec. 3.3.3, with guesses and lapses.) For normal t, the probability that all tones are missed is an
orthant probability, and its slopes in the mean give the moments that expectation propagation needs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainful.numerics.lower_orthant import orthant_slopes
from gainful.numerics.orthant import log_any_above, log_mvn_cdf

__all__ = ["Among"]

Array = NDArray[np.float64]


class Among(NamedTuple):
    """An answer: the numbers of the places (d,), at which of them each tone was (k,), and its level.

    Under each of P classes and listeners, (P,): the spread, the rate of careless answers like this one, and the share
    of careful ones.
    """

    places: tuple[int, ...]
    which: tuple[int, ...]
    levels: Array
    yes: bool
    spread: Array
    careless: Array
    careful: Array

    def take(self, rows: NDArray[np.intp]) -> Among:
        """Of some classes and listeners."""
        return self._replace(spread=self.spread[rows], careless=self.careless[rows], careful=self.careful[rows])

    def log_partition(self, mean: Array, cov: Array) -> tuple[Array, Array, Array]:
        """log P(answer) for thresholds N(mean, cov), (P, d) and (P, d, d), its gradient and its Hessian in the mean."""
        which, unit = np.array(self.which), self.spread[:, None]
        at = (self.levels - mean[:, which]) / unit
        seen = cov[:, which[:, None], which] / unit[..., None] ** 2 + np.eye(len(which))
        logs = (log_any_above if self.yes else log_mvn_cdf)(-at, seen)
        with np.errstate(divide="ignore"):
            log_z = np.logaddexp(np.log(self.careless), np.log(self.careful) + logs)
        gradient, hessian = orthant_slopes(at, seen, log_z)
        # A tone is heard less well the higher its threshold, and tones at one place have one threshold.
        sign = (self.careful * (-1.0 if self.yes else 1.0))[:, None]
        place = np.equal.outer(which, np.arange(len(self.places))).astype(float)
        slope = -sign * (gradient @ place) / unit
        second = (sign / unit**2)[..., None] * (place.T @ hessian @ place)
        return np.asarray(log_z), slope, second - slope[:, :, None] * slope[:, None, :]
