"""Yes when at least one of several places is detected: the OR-channel of Gardner 2018, sec. 3.3.3."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from gainful.instruments.answers import DiscreteAnswers
from gainful.instruments.base import Derivatives, Partition, Rows, Term, YesNo
from gainful.instruments.binary import Binary
from gainful.instruments.channel import Channel
from gainful.numerics.lower_orthant import orthant_slopes
from gainful.numerics.normal import hazard
from gainful.numerics.orthant import log_any_above, log_mvn_cdf

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Detection(YesNo):
    """A query is a set of k places; P(yes | f) = 1 − Π_j Φ(−f_j).

    "No" says that every place was missed and factorises into k yes/no terms; "yes" couples its k places, is not
    log-concave, and is treated as one block of k values. Sets of up to four places are supported.
    """

    query: ClassVar[str] = "set"
    most_places: ClassVar[int | None] = 4

    def channel(self) -> Channel:
        return Channel(1.0, (0.0,), any_of=True)

    def log_prob(self, answers: Array, g: Array) -> Array:
        return self.derivatives(answers, g).log_p

    def split(self, answers: Array, rows: Rows) -> Sequence[Term]:
        yes = answers == 1.0
        missed = rows[~yes].reshape(-1, 1)
        terms = [Term(Binary(), np.zeros(len(missed)), missed)] if len(missed) else []
        if np.any(yes):
            heard = np.ones(int(np.sum(yes)))
            terms.append(Term(Binary() if rows.shape[1] == 1 else self, heard, rows[yes]))
        return terms

    def log_partition(self, answers: Array, m: Array, v: Array) -> Partition:
        """m is (n, k) and v (n, k, k): Z(yes) = 1 − Q with Q = P(f + ε ≤ 0), a lower orthant of N(m, v + I)."""
        cov = v + np.eye(m.shape[1])
        log_yes, log_no = log_any_above(-m, cov), log_mvn_cdf(-m, cov)
        yes = answers == 1.0
        log_z = np.where(yes, log_yes, log_no)
        sign = np.where(yes, -1.0, 1.0)
        gradient, hessian = orthant_slopes(m, cov, log_z)
        d1 = sign[:, None] * gradient
        d2 = sign[:, None, None] * hessian - d1[:, :, None] * d1[:, None, :]
        return Partition(log_z, d1, d2, np.ones_like(log_z))

    def derivatives(self, answers: Array, g: Array) -> Derivatives:
        """log p and its derivatives from those of q = Π Φ(−g_j): q_ab.. /q is a product of one-place ratios."""
        k = g.shape[1]
        h = hazard(-g)  # φ(g)/Φ(−g)
        # Φ(−g)⁽ⁿ⁾/Φ(−g) for n = 0..3: φ′ = −gφ, φ″ = (g² − 1)φ.
        ratios = np.stack([np.ones_like(g), -h, g * h, (1.0 - g**2) * h])
        log_q = log_ndtr(-g).sum(axis=1)
        with np.errstate(divide="ignore"):
            log_yes = np.where(log_q > -0.7, np.log(-np.expm1(log_q)), np.log1p(-np.exp(log_q)))
        yes = answers == 1.0
        log_p = np.where(yes, log_yes, log_q)
        weight = np.where(yes, -1.0, 1.0) * np.exp(log_q - log_p)

        def raw(*places: int) -> Array:
            counts = [places.count(j) for j in range(k)]
            return weight * np.prod([ratios[c, :, j] for j, c in enumerate(counts)], axis=0)

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
        return np.zeros((len(m), 0))

    def predict(self, m: Array, v: Array) -> DiscreteAnswers:
        cov = v + np.eye(m.shape[1])
        return DiscreteAnswers((0.0, 1.0), np.column_stack([log_mvn_cdf(-m, cov), log_any_above(-m, cov)]))

    def simulate(self, g: Array, rng: np.random.Generator) -> Array:
        heard = g + rng.standard_normal(np.shape(g)) > 0.0
        return heard.any(axis=-1).astype(float)
