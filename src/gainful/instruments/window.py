"""y = g + ε with ε ~ N(0, noise²), and the answer says lo ≤ y ≤ hi: the likelihood behind intervals, ranks and yes/no.

With s² = v + noise² and u standard normal restricted to [(lo − m)/s, (hi − m)/s]:

    log Z = log(Φ(b) − Φ(a)),  d1 = E[u]/s,  d2 = (Var[u] − 1)/s²,  d3 = κ₃[u]/s³,  d4 = κ₄[u]/s⁴

and the tilted variance is v (noise² + v Var[u])/s², which keeps its digits when the window is far narrower than the
belief.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gainful.errors import InvalidInput
from gainful.instruments.terms import Derivatives, Partition
from gainful.numerics.normal import Truncated, log_pdf, truncated_normal

Array = NDArray[np.float64]


class Window:
    """The likelihood of all answers of this kind together: `answers` are (n, 3), each with its lo, hi and noise."""

    gaussian = False
    log_concave = True

    def log_partition(self, answers: Array, m: Array, v: Array) -> Partition:
        return partition(answers[:, 0], answers[:, 1], answers[:, 2], m, v)

    def derivatives(self, answers: Array, g: Array) -> Derivatives:
        return derivatives(answers[:, 0], answers[:, 1], answers[:, 2], g)


def bounds(lo: Array, hi: Array, noise: float) -> Array:
    """(lo, hi, noise) as a window's answers, (n, 3)."""
    return np.column_stack([lo, hi, np.full(len(lo), noise)])


def half_line(answers: Array, threshold: float = 0.0) -> tuple[Array, Array]:
    """Yes (1) means that y is above the threshold, no (0) that it is below: the ends of the window, (n,) each."""
    return np.where(answers == 1.0, threshold, -np.inf), np.where(answers == 1.0, np.inf, threshold)


def _restricted(lo: Array, hi: Array, m: Array, s: Array) -> Truncated:
    return truncated_normal((lo - m) / s, (hi - m) / s, (hi - lo) / s)


def partition(lo: Array, hi: Array, noise: Array | float, m: Array, v: Array) -> Partition:
    """log Z, its derivatives and shrink for each observation."""
    s2 = v + noise**2
    s = np.sqrt(s2)
    u = _restricted(lo, hi, m, s)
    share = v / s2
    return Partition(
        u.log_z,
        u.mean / s,
        (u.variance - 1.0) / s2,
        (noise**2 + v * u.variance) / s2,
        u.third * share * np.sqrt(share),
        u.fourth * share**2,
    )


def derivatives(lo: Array, hi: Array, noise: Array | float, g: Array) -> Derivatives:
    """log p(answer | g) and three derivatives; needs noise."""
    if np.any(noise == 0.0):
        raise InvalidInput(
            "noise",
            "a positive number when derivatives of the likelihood are needed",
            noise,
            "use EP, or give it noise",
        )
    s = np.broadcast_to(np.asarray(noise, dtype=float), g.shape)
    u = _restricted(lo, hi, g, s)
    return Derivatives(u.log_z, u.mean / s, (u.variance - 1.0) / s**2, u.third / s**3)


def pullback_noise(lo: Array, hi: Array, noise: Array | float, m: Array, v: Array) -> Array:
    """d log Z/d log noise = noise² (d1² + d2): the heat equation, (n,)."""
    s2 = v + noise**2
    u = _restricted(lo, hi, m, np.sqrt(s2))
    return noise**2 * (u.mean**2 + u.variance - 1.0) / s2


def pullback_ends(lo: Array, hi: Array, noise: Array | float, m: Array, v: Array) -> tuple[Array, Array]:
    """d log Z/d lo and d log Z/d hi, (n,) each; zero for infinite ends."""
    s = np.sqrt(v + noise**2)
    log_z = _restricted(lo, hi, m, s).log_z
    return -np.exp(log_pdf((lo - m) / s) - log_z) / s, np.exp(log_pdf((hi - m) / s) - log_z) / s
