"""Yes when at least one of several places is detected: the OR-channel of Gardner 2018, sec. 3.3.3."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from gainful.checks import require
from gainful.instruments.answers import DiscreteAnswers
from gainful.instruments.base import Derivatives, Partition, Rows, Term
from gainful.instruments.binary import Binary
from gainful.instruments.channel import Channel
from gainful.instruments.thresholded import Thresholded
from gainful.numerics.lower_orthant import orthant_slopes
from gainful.numerics.normal import hazard, log_of_rest
from gainful.numerics.orthant import log_any_above, log_mvn_cdf

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Detection(Thresholded):
    """A query is a set of k places; P(yes | f) = guess + (1 − guess − lapse) (1 − Π_j Φ((threshold − f_j)/noise)).

    At each place a reading f_j + ε passes the threshold or does not, and a careful yes says that at least one did.
    Threshold and noise are 0 and 1 where they are left out, as with `Binary`.

    A careful "no" says that every place was missed, and factorises into k yes/no terms. "Yes" couples its k places, is
    not log-concave, and is treated as one block of k values; so is a "no" that may be careless. Sets of up to four
    places are supported.

    >>> import gainful as gf
    >>> tones = gf.Detection(guess=0.02, lapse=0.02, threshold=0.0, noise=4.0)
    >>> np.exp(tones.log_prob(np.array([1.0]), np.array([[-100.0, 0.0]]))).round(3).tolist()
    [0.5]
    """

    query: ClassVar[str] = "set"
    most_places: ClassVar[int | None] = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        hard = self.noise is not None and not self.noise > 0.0
        require(not hard, "noise", "a positive number", self.noise, "a small one is nearly a hard limit")

    def channel(self) -> Channel:
        return Channel(self._noise, (self._threshold,), self._mixing, any_of=True)

    def log_prob(self, answers: Array, g: Array) -> Array:
        return self.derivatives(answers, g).log_p

    def split(self, answers: Array, rows: Rows) -> Sequence[Term]:
        alone = Binary(self.guess, self.lapse, threshold=self.threshold, noise=self.noise)
        if rows.shape[1] == 1:
            return [Term(alone, answers, rows)]
        apart = (answers == 0.0) & self._plain
        missed = rows[apart].reshape(-1, 1)
        terms = [Term(alone, np.zeros(len(missed)), missed)] if len(missed) else []
        if not apart.all():
            terms.append(Term(self, answers[~apart], rows[~apart]))
        return terms

    def _scaled(self, m: Array, v: Array) -> tuple[Array, Array]:
        """What is seen above the threshold in units of the noise, and the covariance of the readings in these units."""
        return (m - self._threshold) / self._noise, v / self._noise**2 + np.eye(m.shape[1])

    def log_partition(self, answers: Array, m: Array, v: Array) -> Partition:
        """m is (n, k) and v (n, k, k): a careful no has Q = P(f + ε ≤ 0), a lower orthant of N(m, v + I)."""
        at, cov = self._scaled(m, v)
        log_z, _ = self._log_z(answers, at, cov)
        sign = np.where(answers == 1.0, -1.0, 1.0) * (1.0 - self.guess - self.lapse)
        gradient, hessian = orthant_slopes(at, cov, log_z)
        d1 = sign[:, None] * gradient / self._noise
        second = sign[:, None, None] * hessian / self._noise**2
        return Partition(log_z, d1, second - d1[:, :, None] * d1[:, None, :], np.ones_like(log_z))

    def _log_z(self, answers: Array, at: Array, cov: Array) -> tuple[Array, Array]:
        """log P(answer), and that of a careful one."""
        careful = np.where(answers == 1.0, log_any_above(-at, cov), log_mvn_cdf(-at, cov))
        return (careful if self._plain else self._weights(answers, careful)[0]), careful

    def derivatives(self, answers: Array, g: Array) -> Derivatives:
        """log p and its derivatives from those of q = Π Φ(−g_j): q_ab.. /q is a product of one-place ratios."""
        k, g = g.shape[1], (g - self._threshold) / self._noise
        h = hazard(-g)  # φ(g)/Φ(−g)
        # Φ(−g)⁽ⁿ⁾/Φ(−g) for n = 0..3: φ′ = −gφ, φ″ = (g² − 1)φ.
        ratios = np.stack([np.ones_like(g), -h, g * h, (1.0 - g**2) * h])
        log_q = log_ndtr(-g).sum(axis=1)
        yes = answers == 1.0
        careful = np.where(yes, log_of_rest(log_q), log_q)
        log_p = careful if self._plain else self._weights(answers, careful)[0]
        weight = np.where(yes, -1.0, 1.0) * (1.0 - self.guess - self.lapse) * np.exp(log_q - log_p)

        def raw(*places: int) -> Array:
            counts = [places.count(j) for j in range(k)]
            found = weight * np.prod([ratios[c, :, j] for j, c in enumerate(counts)], axis=0)
            return np.asarray(found / self._noise ** len(places))

        d1 = np.stack([raw(a) for a in range(k)], axis=1)
        second = np.zeros((len(g), k, k))
        third = np.zeros((len(g), k, k, k))
        for a, b in product(range(k), repeat=2):
            second[:, a, b] = raw(a, b)
        for a, b, c in product(range(k), repeat=3):
            mixed = second[:, a, b] * d1[:, c] + second[:, a, c] * d1[:, b] + second[:, b, c] * d1[:, a]
            third[:, a, b, c] = raw(a, b, c) - mixed + 2.0 * d1[:, a] * d1[:, b] * d1[:, c]
        return Derivatives(log_p, d1, second - d1[:, :, None] * d1[:, None, :], third)

    def pullback_theta(self, answers: Array, m: Array, v: Array) -> Array:
        """d log Z: the covariance moves Z as half of its curvature does, ∂Z/∂v_ab = ½ ∂²Z/∂m_a∂m_b."""
        found = self.log_partition(answers, m, v)
        careful = self._log_z(answers, *self._scaled(m, v))[1]
        columns = self._pullback_rates(answers, careful, found.log_z)
        if self.threshold is not None:
            columns.append(-found.d1.sum(axis=1))
        if self.noise is not None:
            second = found.d2 + found.d1[:, :, None] * found.d1[:, None, :]
            columns.append(-np.sum(found.d1 * (m - self._threshold), axis=1) - np.sum(second * v, axis=(1, 2)))
        return np.column_stack(columns) if columns else np.zeros((len(m), 0))

    def predict(self, m: Array, v: Array) -> DiscreteAnswers:
        at, cov = self._scaled(m, v)
        logs = [self._log_z(np.full(len(m), answer), at, cov)[0] for answer in (0.0, 1.0)]
        return DiscreteAnswers((0.0, 1.0), np.column_stack(logs))

    def simulate(self, g: Array, rng: np.random.Generator) -> Array:
        careful = np.any(g + self._noise * rng.standard_normal(np.shape(g)) > self._threshold, axis=-1)
        chance = rng.random(np.shape(careful))
        return np.where(careful, chance >= self.lapse, chance < self.guess).astype(float)
