"""The period of a cycle as people mean it: the shortest after which it repeats.

A cycle of 12 months is one of 24 as well, with two equal halves, and a program may have found that one: with a shorter
lengthscale it explains the answers nearly as well, and it is a long way from one to the other. What is told is the
shortest period; the programs, and what they predict, stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gainful.beliefs.programs.components import Term
from gainful.beliefs.programs.language import Program

if TYPE_CHECKING:
    from gainful.beliefs.programs.belief import ProgramBelief

__all__ = ["told"]

_DIVISORS = (8, 7, 6, 5, 4, 3, 2)
_ALIKE = 0.2  # of a cycle's own spread: how far it may differ from itself a shortest period later
_PLACES = 840  # of a period: they can be shifted by any of the divisors


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
    """The term with the shortest period after which its only cycle repeats, as the answers have left it in the middle
    of the inputs."""
    cycles = [leaf for leaf in term.leaves if leaf.symbol == "PER"]
    if len(cycles) != 1 or belief.weights[i] < 1e-6:
        return term
    (leaf,) = cycles
    period = belief.units.natural(leaf).numbers[1]
    places = belief.units.middle[0] + period * (np.arange(_PLACES) / _PLACES - 0.5)
    mean, _ = belief.posteriors[i].part(term.kernel(belief.units), places[:, None])
    if not np.std(mean) > 0.0:
        return term
    for k in _DIVISORS:
        if np.sqrt(np.mean((np.roll(mean, _PLACES // k) - mean) ** 2)) <= _ALIKE * np.std(mean):
            shorter = Program("PER", (leaf.numbers[0], leaf.numbers[1] / k), (), leaf.column)
            return replace(term, leaves=tuple(shorter if each is leaf else each for each in term.leaves))
    return term
