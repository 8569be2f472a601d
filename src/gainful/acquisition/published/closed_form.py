"""The published closed form of information for yes/no answers (Houlsby et al. 2011, sec. 3, eq. 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr, ndtr

from gainful.acquisition.base import AMOUNT
from gainful.errors import InvalidInput
from gainful.inference.belief import Belief, require_askable
from gainful.inference.posterior import Posterior
from gainful.information.entropy import binary_entropy
from gainful.instruments import Instrument
from gainful.numerics.normal import log_pdf

__all__ = ["BALDClosedForm", "probit_information"]

Array = NDArray[np.float64]

C2 = float(np.pi * np.log(2.0) / 2.0)  # C², with C = √(π ln 2/2): entropies are in bits


def probit_information(m: Array, v: Array) -> Array:
    """h(Φ(m/√(v + 1))) − C exp(−m²/(2(v + C²)))/√(v + C²) in bits, for P(yes | g) = Φ(g), g ~ N(m, v) (eq. 5).

    h(Φ(g)) is replaced by exp(−g²/(π ln 2)), which is at most 0.0027 bits off (sec. 3), for any m and v ≥ 0; so is
    this, and where there is nothing to be learned it may be as low as −0.0027.

    >>> probit_information(np.array([0.0]), np.array([3.0])).round(4).tolist()
    [0.484]
    """
    return np.asarray(binary_entropy(ndtr(m / np.sqrt(v + 1.0))) - _conditional(m, v))


def _conditional(m: Array, v: Array) -> Array:
    return np.asarray(np.sqrt(C2 / (v + C2)) * np.exp(-0.5 * m**2 / (v + C2)))


def probit_slopes(m: Array, v: Array) -> tuple[Array, Array]:
    """Derivatives of `probit_information` in m and v; dh(Φ(z))/dz = φ(z) (log2 Φ(−z) − log2 Φ(z))."""
    z, given = m / np.sqrt(v + 1.0), _conditional(m, v)
    in_z = np.exp(log_pdf(z)) * (log_ndtr(-z) - log_ndtr(z)) / np.log(2.0)
    in_mean = in_z / np.sqrt(v + 1.0) + given * m / (v + C2)
    in_variance = -0.5 * in_z * z / (v + 1.0) + 0.5 * given * (1.0 - m**2 / (v + C2)) / (v + C2)
    return np.asarray(in_mean), np.asarray(in_variance)


@dataclass(frozen=True)
class BALDClosedForm:
    """BALD as published: eq. 5 for yes/no, and for preferences through the difference f(u) − f(v) (secs. 3 and
    3.2).

    A preference's difference is measured in its noise, √2 noise, which the text sets to one. Guess and lapse rates are
    not part of the published model; `Learn` has them, is exact, and costs little more. Of several posteriors h is of
    the averaged probability, as their eq. 6 has it.

    >>> import gainful as gf
    >>> prior = gf.GP(gf.SE(variance=3.0)).condition(gf.Data())
    >>> BALDClosedForm().score(prior, gf.Binary(), [[0.0]]).round(4).tolist()
    [0.484]
    """

    scale: ClassVar[str] = AMOUNT

    def score(self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike) -> Array:
        require_askable(belief, instrument, places)
        if isinstance(belief, Belief):
            return _of_several(belief, instrument, places)
        unit = _unit(instrument)
        m, v = belief.marginals(instrument, places)
        return probit_information(m / unit, v / unit**2)

    def score_and_gradient(
        self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike
    ) -> tuple[Array, Array] | None:
        """The scores and their derivatives in the places: smooth and differentiable (sec. 3).

        None of several posteriors.
        """
        if not isinstance(belief, Posterior):
            return None
        unit = _unit(instrument)
        seen = belief.vjp(instrument, places)
        m, v = seen.mean / unit, seen.variance / unit**2
        in_mean, in_variance = probit_slopes(m, v)
        return probit_information(m, v), seen.back(in_mean / unit, in_variance / unit**2)


def _of_several(belief: Belief, instrument: Instrument, places: ArrayLike) -> Array:
    """h(Σ w_s P_s(yes)) − Σ w_s E_s h: the entropy of the mixture's answer, and what is left given f and the part."""
    yes, given = np.zeros(()), np.zeros(())
    for part in belief.each(instrument, places):
        unit = _unit(part.instrument)
        m, v = part.posterior.marginals(part.instrument, part.places)
        yes = yes + part.weight * ndtr(m / np.sqrt(v + unit**2))
        given = given + part.weight * _conditional(m / unit, v / unit**2)
    return np.asarray(binary_entropy(yes) - given)


def _unit(instrument: Instrument) -> float:
    """The noise of the answers, in the function's unit."""
    channel = instrument.channel()
    plain = channel is not None and channel.edges == (0.0,) and channel.mixing is None and not channel.any_of
    if channel is not None and plain and channel.noise > 0.0:
        return channel.noise
    raise InvalidInput(
        "instrument", "Binary() without guess and lapse rates, or a Preference with noise", instrument,
        "use Learn(), which is exact for every instrument",
    )  # fmt: skip
