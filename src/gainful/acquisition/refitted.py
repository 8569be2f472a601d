"""Re-scores the leaders of a ranking with full EP refits, where one step of lookahead leaves near ties.

One step (`lookahead`) leaves the older sites where they are, which misplaces near ties. FullLookahead EP for every
candidate and answer would not, at a thousand times the price. So the leaders of the ranking are refitted, and with them
all that the errors of a step, as these refits show them, might have kept from the lead.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gainful.acquisition.decision import ExpectedError, ExpectedErrorReduction, Kapoor, Zhu
from gainful.acquisition.lookahead import each_with_full_lookahead
from gainful.acquisition.published.conformal import Conformal
from gainful.acquisition.published.empirical import EmpiricalError
from gainful.checks import require_count
from gainful.errors import InvalidInput
from gainful.inference.belief import Belief, queries_of
from gainful.inference.posterior import Posterior
from gainful.instruments import Instrument

__all__ = ["Refitted"]

Array = NDArray[np.float64]

_AHEAD = (ExpectedError, Zhu, Kapoor, EmpiricalError, ExpectedErrorReduction, Conformal)
_SPREADS = 3.0  # of a step's error, within which a candidate might belong to the leaders
_FEWEST = 4  # refits from which a step's error is judged


@contextmanager
def _each_once() -> Iterator[None]:
    """Pass warnings on once each, not once for every refit."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for message, category in dict.fromkeys((str(each.message), each.category) for each in caught):
        warnings.warn(message, category, stacklevel=4)


@dataclass(frozen=True)
class Refitted:
    """A goal that looks ahead, with the `first` of its ranking as EP on all the answers would have them.

    For ExpectedError, Zhu, Kapoor, EmpiricalError, ExpectedErrorReduction and Conformal. Scores of the leaders are
    those of refits; those of the others are one step's, moved by what with_full_lookahead changed on average, and stay
    behind. So a score depends on what it is ranked with. A leader is missed only if its step errs by three standard
    deviations more than those of the refitted; `first=1` is enough to choose one query. About 1.3 refits for each
    leader and answer, and of several posteriors for each of them.

    >>> import gainful as gf
    >>> goal = gf.acquisition.ExpectedError([[0.3], [0.6]])
    >>> data = gf.Data().add(gf.Binary(), [[0.0], [1.0]], [True, False])
    >>> belief = gf.GP(gf.SE(0.5)).condition(data)
    >>> places = [[0.2], [0.5], [0.8]]
    >>> goal.score(belief, gf.Binary(), places).round(5).tolist()
    [-0.38486, -0.36618, -0.39356]
    >>> Refitted(goal).score(belief, gf.Binary(), places).round(5).tolist()
    [-0.38561, -0.36643, -0.39406]
    """

    goal: Any
    first: int = 10

    def __post_init__(self) -> None:
        if not isinstance(self.goal, _AHEAD):
            names = ", ".join(kind.__name__ for kind in _AHEAD)
            raise InvalidInput("goal", f"one that looks ahead ({names})", self.goal, "others need no refits")
        object.__setattr__(self, "first", require_count("first", self.first, 1, "1 is enough to choose one query"))

    def score(self, belief: Posterior | Belief, instrument: Instrument, places: ArrayLike) -> Array:
        queries = queries_of(belief, instrument, places)
        by_step = self.goal.score(belief, instrument, queries)
        full, exact, others = each_with_full_lookahead(belief), by_step.copy(), by_step
        done = np.zeros(len(queries), dtype=bool)
        todo = np.argsort(-by_step, kind="stable")[: max(self.first, _FEWEST)]
        with _each_once():
            while todo.size:
                exact[todo] = self.goal.score(full, instrument, queries[todo])
                done[todo] = True
                errors = (exact - by_step)[done]
                others = by_step + errors.mean()
                bar = np.sort(exact[done])[-self.first :][0]
                todo = np.flatnonzero(~done & (others + _SPREADS * errors.std() >= bar))
        return np.where(done, exact, others)
