"""What is believed of who acts together: weighted additive models, each with its posterior."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.inference.belief import Belief
from gainful.inference.posterior import Posterior
from gainful.instruments.base import Instrument
from gainful.kernels.additive import Terms

__all__ = ["PartitionBelief", "as_text", "from_text"]

Array = NDArray[np.float64]

_SURE, _LIKELY = 0.9, 0.5


def as_text(terms: Terms, profile: str) -> str:
    """Terms and the profile of their covariances as a journal writes them.

    >>> as_text(((0, 1), (2,)), "SE")
    'SE 0 1|2'
    """
    return f"{profile} " + "|".join(" ".join(map(str, term)) for term in terms)


def from_text(text: str) -> tuple[Terms, str]:
    """What `as_text` wrote.

    >>> from_text("SE 0 1|2")
    (((0, 1), (2,)), 'SE')
    """
    profile, _, terms = text.partition(" ")
    return tuple(tuple(int(d) for d in term.split()) for term in terms.split("|")), profile


@dataclass(frozen=True, init=False, eq=False, repr=False)
class PartitionBelief(Belief):
    """Additive models with weights, and everything that a belief of several posteriors has.

    `terms` are those of each posterior, by the numbers of the dimensions in `names`; one model may have several, each
    with its own parameters. `models` has a number for each model.
    `last` is where the chain ended.
    """

    terms: tuple[Terms, ...]
    names: tuple[str, ...]
    last: Terms

    def __init__(
        self,
        posteriors: Sequence[Posterior],
        weights: ArrayLike,
        instruments: Sequence[Mapping[str, Instrument]],
        terms: Sequence[Terms],
        names: Sequence[str],
        last: Terms,
    ) -> None:
        super().__init__(posteriors, weights, instruments, range(len(posteriors)))
        object.__setattr__(self, "terms", tuple(terms))
        object.__setattr__(self, "names", tuple(names))
        object.__setattr__(self, "last", last)

    def __repr__(self) -> str:
        leading, share = next(iter(self.partitions.items()))
        return f"PartitionBelief({len(self.partitions)} models, {leading} {share:.0%})"

    @cached_property
    def partitions(self) -> dict[str, float]:
        """The probability of each model, the most probable first; dimensions that act together are joined by ·."""
        found: dict[str, float] = {}
        for terms, weight in zip(self.terms, self.weights.tolist(), strict=True):
            text = " + ".join("·".join(self.names[d] for d in term) for term in terms)
            found[text] = found.get(text, 0.0) + weight
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    @cached_property
    def together(self) -> Array:
        """The probability that two dimensions act together, in a term of two or more, (D, D); 1 along the diagonal."""
        out = np.eye(len(self.names))
        for terms, weight in zip(self.terms, self.weights.tolist(), strict=True):
            for a, b in {pair for term in terms for pair in combinations(term, 2)}:
                out[a, b] += weight
                out[b, a] += weight
        return np.minimum(out, 1.0)

    def describe(self) -> str:
        """In words: who acts together, who acts alone, and how sure that is."""
        return described(self.together, self.names)


def described(together: Array, names: Sequence[str]) -> str:
    """Words for probabilities that dimensions act together.

    >>> print(described(np.array([[1.0, 0.97, 0.02], [0.97, 1.0, 0.6], [0.02, 0.6, 1.0]]), ["a", "b", "c"]))
    a and b act together (97 %).
    b and c may act together (60 %).
    """
    pairs = sorted(combinations(range(len(names)), 2), key=lambda pair: -together[pair])
    lines = [_of_pair(names[a], names[b], float(together[a, b])) for a, b in pairs if together[a, b] >= _LIKELY]
    alone = [d for d in range(len(names)) if np.max(np.delete(together[d], d), initial=0.0) < 1.0 - _SURE]
    if len(alone) == len(names):
        lines.append("No two dimensions act together.")
    elif alone:
        several = [names[d] for d in alone]
        verb, rest = ("act", "each alone") if len(several) > 1 else ("acts", "alone")
        lines.append(f"{_listed(several)} {verb} {rest}.")
    open_ = sum(1.0 - _SURE <= together[pair] < _LIKELY for pair in pairs)
    if open_:
        lines.append(f"Of {open_} other pair{'s' if open_ > 1 else ''} it is not known yet.")
    return "\n".join(lines)


def _of_pair(one: str, other: str, probability: float) -> str:
    verb = "act" if probability >= _SURE else "may act"
    return f"{one} and {other} {verb} together ({100.0 * probability:.0f} %)."


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
