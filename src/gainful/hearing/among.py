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
    """Answers of one pattern: A of them, each about d places, with k tones of which `which` says at what place.

    places  numbers of the places, (A, d)
    which   at which of them each tone was, (k,)
    levels  of the tones, (A, k)
    yes     whether any tone was heard, the same for all
    Under each of P classes and listeners, (P,): the spread, the rate of careless answers like these, and the share of
    careful ones.
    """

    places: NDArray[np.intp]
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
        """log P(answer) for thresholds N(mean, cov), (P, A, d) and (P, A, d, d), its gradient and its Hessian in the
        mean."""
        P, A, d = mean.shape
        k, which = len(self.which), np.array(self.which)
        spread, careless, careful = (np.repeat(each, A) for each in self[4:])
        unit = spread[:, None]
        at = ((self.levels - mean[:, :, which]).reshape(-1, k)) / unit
        seen = cov[:, :, which[:, None], which].reshape(-1, k, k) / unit[..., None] ** 2 + np.eye(k)
        logs = (log_any_above if self.yes else log_mvn_cdf)(-at, seen)
        with np.errstate(divide="ignore"):
            log_z = np.logaddexp(np.log(careless), np.log(careful) + logs)
        gradient, hessian = orthant_slopes(at, seen, log_z)
        # A tone is heard less well the higher its threshold, and tones at one place have one threshold.
        sign = (careful * (-1.0 if self.yes else 1.0))[:, None]
        place = np.equal.outer(which, np.arange(d)).astype(float)
        slope = -sign * (gradient @ place) / unit
        second = (sign / unit**2)[..., None] * (place.T @ hessian @ place) - slope[:, :, None] * slope[:, None, :]
        return log_z.reshape(P, A), slope.reshape(P, A, d), second.reshape(P, A, d, d)
