"""Places that come one at a time: measure here, or let it go by.

The rule is a threshold on the score: measure when a place scores at least as high as all but a share of what the stream
offers. The share is the rate that was asked for, corrected for how many have been measured so far; the comparison is
with the places seen lately, scored by what is believed *now*, because scores fall as one learns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gainful.checks import is_number, require_count
from gainful.errors import InvalidInput
from gainful.space import Places, require_places

__all__ = ["Stream", "threshold"]

Array = NDArray[np.float64]

WINDOW = 200  # places seen lately that a new one is compared with
FEWEST = 20  # before so many have been seen, places of the space stand in for them


@dataclass(frozen=True)
class Stream:
    """Places of a space that are offered one at a time, `campaign.offer(place)`.

    Give `rate`, the share of places to measure, or `length`, how many places will come: the budget is spread over them.

    >>> from gainful.space import Real, Space
    >>> Stream(Space(Real("x", 0, 1)), rate=0.1).rate
    0.1
    """

    space: Places
    rate: float | None = None
    length: int | None = None

    def __post_init__(self) -> None:
        require_places("space", self.space)
        if (self.rate is None) == (self.length is None):
            raise InvalidInput("rate, length", "one of them", (self.rate, self.length), "for instance rate=0.1")
        if self.rate is not None and not (is_number(self.rate) and 0.0 < self.rate <= 1.0):
            raise InvalidInput("rate", "a share above 0 and up to 1", self.rate, "0.1 measures one place in ten")
        if self.length is not None:
            object.__setattr__(self, "length", require_count("length", self.length, 1, "or give a rate instead"))

    def share(self, seen: int, measured: int, affordable: float) -> float:
        """The share of places to measure from here on: of the `rate`, made up for what was missed or taken too much.

        With a length, as many as can be afforded of the places that are still to come.
        """
        if self.length is not None:
            return float(np.clip(affordable / max(self.length - seen, 1), 0.0, 1.0))
        assert self.rate is not None
        owed = self.rate * (seen + 1) - measured
        return float(np.clip(self.rate + 0.1 * (owed - self.rate), 0.0, 1.0))


def threshold(reference: Array, share: float) -> float:
    """The score that a `share` of the reference scores reach.

    >>> threshold(np.arange(101.0), 0.1), threshold(np.arange(101.0), 1.0)
    (90.0, -inf)
    """
    if share >= 1.0:
        return -np.inf
    return float(np.quantile(reference, 1.0 - share)) if share > 0.0 else np.inf
