"""The period of a cycle as people mean it: the shortest after which it repeats.

A cycle of 12 months is one of 24 as well, with two equal halves, and a program may have found that one: with a shorter
lengthscale it explains the answers nearly as well, and it is a long way from one to the other. What is told is the
shortest period; the programs, and what they predict, stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gainful.beliefs.programs.components import Term
from gainful.beliefs.programs.language import Program
from gainful.inference.posterior import Posterior
from gainful.kernels.base import Kernel

if TYPE_CHECKING:
    from gainful.beliefs.programs.belief import ProgramBelief

__all__ = ["told"]

Array = NDArray[np.float64]

_DIVISORS = (8, 7, 6, 5, 4, 3, 2)
_ALIKE = 0.2  # of a cycle's spread: what it may differ from itself a shortest period later
_UNLIKE = 0.3  # of what it differs from itself half of that later: in between it must have been elsewhere
_SURE = 3.0  # standard deviations that a difference must have to count
_PLACES = 48  # of a period


@dataclass(frozen=True)
class _Difference(Kernel):
    """Of f(x + shift) − f(x), with f at other places: those come first, as `Posterior.part` has them."""

    base: Kernel
    shift: float

    def matrix(self, X: Array, Z: Array) -> Array:
        return self.base.matrix(X, Z + self.shift) - self.base.matrix(X, Z)

    def diag(self, X: Array) -> Array:
        later = X + self.shift
        return self.base.diag(later) + self.base.diag(X) - 2.0 * np.diagonal(self.base.matrix(later, X))


def told(belief: ProgramBelief, kinds: Mapping[str, dict[int, list[Term]]]) -> dict[str, dict[int, list[Term]]]:
    """The same terms with each period as it is to be told."""
    plain = belief.data.dimensions == 1 and len(belief.units.middle) == 1 and not _sees_logarithms(belief)
    if not plain:
        return dict(kinds)
    return {
        name: {i: [_shortest(belief, i, term) for term in terms] for i, terms in having.items()}
        for name, having in kinds.items()
    }


def _sees_logarithms(belief: ProgramBelief) -> bool:
    space = belief.data.told_by
    axes = getattr(getattr(space, "coordinates", None), "axes", ())
    return any(axis.log for axis in axes)


def _shortest(belief: ProgramBelief, i: int, term: Term) -> Term:
    """The term with the shortest period after which its only cycle repeats, as far as the answers can tell: what it
    then differs is small beside the cycle, or not sure."""
    cycles = [leaf for leaf in term.leaves if leaf.symbol == "PER"]
    if len(cycles) != 1 or belief.weights[i] < 1e-6:
        return term
    (leaf,) = cycles
    posterior, kernel = belief.posteriors[i], term.kernel(belief.units)
    period = belief.units.natural(leaf).numbers[1]
    places = (belief.units.middle[0] + period * (np.arange(_PLACES) / _PLACES - 0.5))[:, None]
    spread = float(np.std(posterior.part(kernel, places)[0]))
    for k in _DIVISORS:
        off, unsure = _differs(posterior, kernel, places, period / k)
        between, _ = _differs(posterior, kernel, places, period / (2 * k))
        if off <= min(max(_ALIKE * spread, _SURE * unsure), _UNLIKE * between):
            shorter = Program("PER", (leaf.numbers[0], leaf.numbers[1] / k), (), leaf.column)
            return replace(term, leaves=tuple(shorter if each is leaf else each for each in term.leaves))
    return term


def _differs(posterior: Posterior, kernel: Kernel, places: Array, shift: float) -> tuple[float, float]:
    """By how much a part differs from itself so much later, and the standard deviation of that: over the places."""
    mean, variance = posterior.part(_Difference(kernel, shift), places)
    return float(np.sqrt(np.mean(mean**2))), float(np.sqrt(np.mean(variance)))
