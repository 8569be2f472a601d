"""A channel: what information needs to know of an instrument so that exact formulas apply.

An answer comes from a reading r = g + ε, ε ~ N(0, noise²), of what the instrument sees:

    a number            the reading itself
    an interval         a window of known width around the reading, placed uniformly
    one of a few        between which edges the reading lies, then mixed: P(answer | bin), for careless answers
    any of a set        one reading per place; yes when any of them lies above the edge

All that several answers tell together is then about one normal vector of readings. An instrument whose answers do not
come about like this has no channel, and is served by quadrature over its own `log_prob`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

__all__ = ["Channel"]

Array = NDArray[np.float64]

_LEAST = 1e-300


@dataclass(frozen=True)
class Channel:
    """noise of the reading; edges (T,) for T + 1 bins; mixing (T + 1, K) from bins to answers; width of an interval.

    `any_of`: the answer of several readings, which is no when all of them lie in the lower bin.
    """

    noise: float
    edges: tuple[float, ...] | None = None
    mixing: tuple[tuple[float, ...], ...] | None = None
    width: float = 0.0
    any_of: bool = False

    @property
    def is_discrete(self) -> bool:
        """Whether the answer is one of a few."""
        return self.edges is not None

    @property
    def is_number(self) -> bool:
        """Whether the answer is the reading itself."""
        return self.edges is None and self.width == 0.0

    @property
    def is_interval(self) -> bool:
        return self.edges is None and self.width > 0.0

    @cached_property
    def bounds(self) -> Array:
        """The edges as an array, (T,); none where the answer is no bin."""
        return np.asarray(self.edges or (), dtype=float)

    @cached_property
    def mix(self) -> Array | None:
        """P(answer | bin), (T + 1, K); None where the bin is the answer."""
        return None if self.mixing is None else np.asarray(self.mixing, dtype=float)

    @property
    def limits(self) -> Array:
        """P(answer | bin) of every bin, (T + 1, K): what answers are like far from all edges."""
        return np.eye(len(self.bounds) + 1) if self.mix is None else self.mix

    def answers(self, p: list[Array]) -> list[Array]:
        """From probabilities of the bins to those of the answers, one array each."""
        mix = self.mix
        if mix is None:
            return p
        return [np.asarray(sum(p[b] * mix[b, a] for b in range(len(p)))) for a in range(mix.shape[1])]

    def probabilities(self, m: Array, v: Array) -> list[Array]:
        """P(answer) for each discrete answer when g ~ N(m, v), shaped like m; to 1e-16, not in the tails.

        >>> p = Channel(1.0, (0.0,)).probabilities(np.array([0.0, 1.0]), np.array([0.0, 3.0]))
        >>> [each.round(4).tolist() for each in p]
        [[0.5, 0.3085], [0.5, 0.6915]]
        """
        spread = np.sqrt(np.maximum(v + self.noise**2, _LEAST))
        below = [ndtr((edge - m) / spread) for edge in self.bounds]
        upto = [*below, np.ones_like(m)]
        return self.answers([upto[0], *(np.maximum(b - a, 0.0) for a, b in pairwise(upto))])
