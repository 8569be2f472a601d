"""Active learning of a support vector machine: halve the version space (Tong & Koller 2001; Houlsby et al. 2011,
sec. 4).

The version space is the set of unit vectors w that classify every answer correctly. A query at x cuts it along the
hyperplane w·φ(x) = 0; the best cut halves it whatever the answer is. Its volume is approximated by the largest ball
inside, whose centre is the SVM's w and whose radius is its margin. The feature space is that of the belief's kernel,
and nothing else of the belief is used: there is no probability in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.acquisition.parts import averaged
from gainful.checks import require_choice, require_positive
from gainful.errors import InvalidInput, MissingExtra
from gainful.inference.belief import Belief, queries_of
from gainful.inference.posterior import Posterior
from gainful.instruments import Instrument
from gainful.numerics.memory import in_blocks

__all__ = ["ActiveSVM", "farthest", "hyperplane_distance", "margin"]

Array = NDArray[np.float64]

_RULES = ("simple", "maxmin", "ratio")


def hyperplane_distance(within: Array, across: Array, answers: Array, C: float) -> Array:
    """|w·φ(x) + b|/‖w‖ of each place, (M,), for the SVM of `answers` (N,), kernels (N, N) and (M, N).

    Infinite where w = 0, which is no hyperplane: the answers contradict each other, and say nothing else.
    """
    machine = _trained(within, answers, C)
    norm = np.sqrt(_square(machine, within))
    if norm <= 1e-6 / np.sqrt(np.max(np.diagonal(within))):  # w·φ cannot reach 1e-6 of the way to either answer
        return np.full(len(across), np.inf)
    return np.asarray(np.abs(machine.decision_function(across)) / norm)


def margin(within: Array, answers: Array, C: float) -> float:
    """1/√(‖w‖² + 2C Σξ): where the answers can be separated 1/‖w‖, the distance of the hyperplane to the nearest.

    Slack ξ makes it small where they cannot, when there is no version space. By duality it is Σ|α| that gives it.
    """
    machine = _trained(within, answers, C)
    return float(1.0 / np.sqrt(2.0 * np.sum(np.abs(machine.dual_coef_)) - _square(machine, within)))


def farthest(within: Array, across: Array, own: Array) -> Array:
    """min_i ‖φ(x) − φ(x_i)‖ of each place to what has been measured, or ‖φ(x)‖ before there is anything, (M,)."""
    if not len(within):
        return np.sqrt(own)
    return np.sqrt(np.maximum(np.min(own[:, None] + np.diagonal(within) - 2.0 * across, axis=1), 0.0))


@dataclass(frozen=True)
class ActiveSVM:
    """Where an SVM's version space would be halved, for yes/no answers at places (scikit-learn's SVC).

    rule="simple": 1/(1 + d), d the distance of x to the hyperplane in feature space ("simple margin"); 1 on it.
    rule="maxmin": the smaller of the two margins m⁻ and m⁺ that the SVM would have after a no and after a yes at x.
    rule="ratio": the smaller of m⁻/m⁺ and m⁺/m⁻.

    The last two train two machines for each place. Houlsby et al. 2011 report the one that did best, without saying
    which. C is the price of an answer on the wrong side; large means that answers are
    right, as version spaces suppose. Before both a yes and a no have been told, at different places, there is no
    hyperplane, and a place scores its distance in feature space to the nearest one measured: the farthest is asked
    first, which soon finds the other answer. Of several posteriors each has its own kernel and machine, and their
    scores are averaged. Needs the extra `sklearn`.

    >>> import gainful as gf
    >>> data = gf.Data().add(gf.Binary(), [[0.0], [1.0]], [False, True])
    >>> post = gf.GP(gf.SE(0.5)).condition(data)
    >>> ActiveSVM().score(post, gf.Binary(), [[0.5], [0.9]]).round(3).tolist()
    [1.0, 0.627]
    """

    rule: str = "simple"
    C: float = 100.0

    def __post_init__(self) -> None:
        require_choice("rule", self.rule, _RULES, "'simple' is the usual one")
        require_positive("C", self.C, "100 all but forbids errors")

    def score(self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike) -> Array:
        if isinstance(belief, Belief):
            return averaged(self, belief, instrument, places)
        queries = queries_of(belief, instrument, places)
        X, answers = _yes_or_no(belief, instrument)
        if not len(queries):
            return np.zeros(0)
        kernel = belief.kernel
        if not len(X):
            return farthest(np.zeros((0, 0)), np.zeros((len(queries), 0)), kernel.diag(queries))
        within = kernel.matrix(X, X)

        def of(part: slice) -> Array:
            across, own = kernel.matrix(queries[part], X), kernel.diag(queries[part])
            if len(np.unique(answers)) < 2:
                return farthest(within, across, own)
            if self.rule == "simple":
                distance = hyperplane_distance(within, across, answers, self.C)
                return 1.0 / (1.0 + distance) if np.isfinite(distance).all() else farthest(within, across, own)
            return np.array([self._after(within, answers, row, k) for row, k in zip(across, own, strict=True)])

        return in_blocks(of, len(queries), 4 * len(X))

    def _after(self, within: Array, answers: Array, row: Array, own: float) -> float:
        grown = np.block([[within, row[:, None]], [row[None], np.array([[own]])]])
        no, yes = (margin(grown, np.append(answers, answer), self.C) for answer in (0.0, 1.0))
        return min(no, yes) if self.rule == "maxmin" else min(no / yes, yes / no)


def _trained(within: Array, answers: Array, C: float) -> Any:
    try:
        from sklearn.svm import SVC
    except ImportError:
        raise MissingExtra("ActiveSVM", "sklearn") from None
    return SVC(C=C, kernel="precomputed", tol=1e-6).fit(within, answers)


def _square(machine: Any, within: Array) -> float:
    """‖w‖² = αᵀ K α."""
    support, alpha = machine.support_, machine.dual_coef_[0]
    return max(float(alpha @ within[np.ix_(support, support)] @ alpha), 0.0)


def _yes_or_no(belief: Posterior, instrument: Instrument) -> tuple[Array, Array]:
    """The places measured (N, d) and their answers (N,)."""
    for each in (instrument, *belief.data.instruments):
        if each.query != "place" or each.values != (0.0, 1.0):
            raise InvalidInput(
                "instrument", "yes/no answers at places, for the query and in the data", each,
                "an SVM learns from yes and no alone",
            )  # fmt: skip
    batches = belief.data.batches
    if not batches:
        return np.zeros((0, 0)), np.zeros(0)
    return np.concatenate([b.X for b in batches]), np.concatenate([b.answers for b in batches])
