"""Spreads by linear response: EP's means know more about the covariance than its sites do.

A field h(x′) on f, which shifts the prior mean by k(·, x′), moves the mean of f(x) by their covariance: of the exact
posterior that is an identity, and of EP's means it is an estimate of the covariance that counts how every site answers
to the field (Opper & Winther 2004). The sites' own covariance holds them still, and is too small where many hard
answers say nearly the same.

In the units of `jacobian.py`, with R = I + C the correlations of the rows, a field that moves the rows' means by e
standard deviations changes the sites to (t, s) with

    t + q∘(C² t) + p∘(C (r∘(C² t))) = p∘e,     s = −r∘(C² t)

where C² is entry by entry, p, q, r are t_from_mean, t_from_variance, s_from_variance. So

    Cov[f(x), f(x′)] = (EP's) + e(x)ᵀ W e(x′),     W = −r∘C² (I + q∘C² + p∘C (r∘C²))⁻¹ p

which is exact where EP's mean is for every prior mean: for numbers, and for one answer of any kind.

How much it matters is told by the leading correction of EP's evidence (Opper, Paquet & Winther 2013), from the skewness
γ and the excess kurtosis κ of the tilted distributions: ½ Σ_{i≠j} (γ_i γ_j ρ³/6 + κ_i κ_j ρ⁴/24).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from gainful.inference.adjusted import Response
from gainful.inference.conditioned import Conditioned
from gainful.inference.jacobian import FixedPointJacobian, Full, Slopes, jacobian
from gainful.inference.sweep import Sweep
from gainful.layout import Layout
from gainful.numerics.blas import matmul

__all__ = ["DOUBT", "LEAST", "Shapes", "is_steady", "respond", "shapes_of", "weights"]

Array = NDArray[np.float64]

DOUBT = 0.1  # nats of the evidence's leading correction, above which spreads are corrected
LEAST = 1e-2  # of EP's variance, and its inverse: a correction by more is none
_SMALL = 1e-10  # of the largest: directions of W with less are left out


def respond(layout: Layout, state: Conditioned, swept: Sweep, always: bool = False) -> Response | None:
    """How spreads are to be corrected; None where sites are coupled or not log-concave, where double precision does not
    resolve it, and, unless `always`, where EP has little to correct.

    Without log-concavity EP may have several fixed points, and the response of one is no estimate. One answer is exact.
    """
    if len(layout.scalar_rows) < 2 or not all(is_steady(term.likelihood) for term, *_ in swept.tilted):
        return None
    with np.errstate(all="ignore"):  # sites too precise for it are found below
        found = jacobian(layout, state, swept)
        if found is None or not isinstance(found.correlations, Full):
            return None
        C, squares = found.correlations.values, found.correlations.squares
        shapes = shapes_of(swept)
        if not (always or shapes is None or shapes.correction(C, squares) >= DOUBT):  # the unknown is corrected
            return None
        W = weights(C, squares, found)
    if W is None:
        return None
    values, vectors = np.linalg.eigh(W / found.sd / found.sd[:, None])
    kept = np.abs(values) > _SMALL * np.max(np.abs(values), initial=0.0)
    root = np.sqrt(np.abs(values[kept]))[:, None] * vectors[:, kept].T
    return Response(layout.scalar_rows, root, np.sign(values[kept]))


def weights(C: Array, squares: Array, by: FixedPointJacobian | Slopes) -> Array | None:
    """W in standard deviations, (n, n), for correlations C and their squares; None where it is not resolved, or would
    leave a row no variance."""
    p, q, r = (each[:, None] for each in (by.t_from_mean, by.t_from_variance, by.s_from_variance))
    system = np.eye(len(C)) + q * squares + p * matmul(C, r * squares)
    *_, solved, info = lapack.dgesv(system, np.diag(by.t_from_mean))
    if info != 0:
        return None
    W = -matmul(r * squares, solved)
    W = 0.5 * (W + W.T)
    R = C + np.eye(len(C))
    variance = 1.0 + np.einsum("ij,ji->i", matmul(R, W), R)
    return W if np.all(np.isfinite(W)) and np.all((variance > LEAST) & (variance < 1.0 / LEAST)) else None


def is_steady(likelihood: object) -> bool:
    """Whether EP has one fixed point, so that its response is an estimate."""
    return bool(getattr(likelihood, "log_concave", False))


class Shapes(NamedTuple):
    """Skewness and excess kurtosis of the tilted distributions, (n,) each."""

    skew: Array
    kurtosis: Array

    def correction(self, C: Array, squares: Array) -> float:
        """What the evidence lacks at first, in nats, for correlations C of the rows, 0 on the diagonal."""
        by_skew = self.skew @ matmul(squares * C, self.skew) / 6.0
        by_kurtosis = self.kurtosis @ matmul(squares**2, self.kurtosis) / 24.0
        return 0.5 * float(by_skew + by_kurtosis)


def shapes_of(swept: Sweep) -> Shapes | None:
    """Those of the tilted distributions of a sweep; None where some are not known in closed form."""
    shapes = [
        (p.third / p.shrink**1.5, p.fourth / p.shrink**2)
        for p in (tilted.partition for tilted in swept.tilted)
        if p.third.shape == p.log_z.shape
    ]
    if len(shapes) < len(swept.tilted):
        return None
    skew, kurtosis = (np.concatenate(each) for each in zip(*shapes, strict=True))
    return Shapes(skew, kurtosis)
