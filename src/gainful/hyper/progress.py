"""How far a search over many answers has come, and how long it will take: lines of the log `gainful.fit`.

    import logging
    logging.basicConfig(level=logging.INFO)

Python's own log is silent until it is asked for, and it is the same one whoever calls the search.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field

__all__ = ["Stage", "Stages"]

_LOG = logging.getLogger("gainful.fit")
_EVERY = 5.0  # seconds between two lines


@dataclass(frozen=True)
class Stage:
    """A search on so many answers, of so many steps at most; what one step costs, in any unit that stages share."""

    answers: int
    steps: int
    cost: float


@dataclass
class Stages:
    """The stages of a search, one after the other."""

    stages: list[Stage]
    _now: int = -1
    _steps: int = 0
    _begun: float = 0.0
    _said: float = field(default_factory=time.monotonic)

    def further(self, stage: Stage) -> None:
        """One more stage turned out to be worth it, the next one."""
        self.stages.insert(self._now + 1, stage)

    def begin(self) -> Stage:
        """The next stage."""
        self._now, self._steps, self._begun = self._now + 1, 0, time.monotonic()
        return self.stages[self._now]

    def again(self) -> None:
        """The stage that is on, once more."""
        self.further(self.stages[self._now])
        self.begin()

    def step(self, log_density: float) -> None:
        """A step was made, to this log density."""
        self._steps += 1
        if time.monotonic() >= self._said + _EVERY:
            self._said = time.monotonic()
            _LOG.info(
                "%d of %d answers, step %d, log density %.6g, at most about %s left",
                self.stages[self._now].answers, self.stages[-1].answers, self._steps, log_density, _words(self.left),
            )  # fmt: skip

    @property
    def left(self) -> float:
        """Seconds, if every later stage takes all of its steps; by what a step took here."""
        here = self.stages[self._now]
        each = (time.monotonic() - self._begun) / max(self._steps, 1)
        later = sum(stage.steps * stage.cost for stage in self.stages[self._now + 1 :])
        return each * (max(here.steps - self._steps, 0) + later / here.cost)


def _words(seconds: float) -> str:
    """
    >>> _words(42.0), _words(400.0), _words(9000.0)
    ('42 s', '7 min', '2.5 h')
    """
    if seconds < 100.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 5400.0 else f"{seconds / 3600.0:.1f} h"
