"""What all ways of running repetitions promise (`Workers`), and the plainest of them: in this process.

`perform` takes an experiment and repetitions and yields what came of each, as soon as it is there and in any order. A
repetition that fails is an outcome like any other. When a person interrupts, what is finished by then is still yielded
before KeyboardInterrupt goes on. BLAS runs on one thread everywhere, since its sums round differently on several.
"""

from __future__ import annotations

import traceback
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from gainful import __version__
from gainful.lab.blas import keep_blas_on_one_thread
from gainful.lab.experiment import Experiment, Setting
from gainful.lab.registry import locate
from gainful.lab.repetition import Outcome, Repetition, attempt, outcome_of
from gainful.numerics.threads import one_blas_thread

__all__ = ["Here", "Watcher", "Workers", "perform"]


class Watcher(Protocol):
    """Is told how a run goes."""

    def begin(self, total: int, kept: int) -> None:
        """There are so many repetitions, of which so many were finished before."""
        ...

    def advance(self, outcome: Outcome) -> None:
        """One more is finished, or has failed."""
        ...

    def say(self, sentence: str) -> None:
        """Something that a person should know."""
        ...

    def end(self) -> None:
        """No more will come."""
        ...


class Workers(Protocol):
    """Whoever runs repetitions."""

    @property
    def where(self) -> str:
        """In words, for the record of the run."""
        ...

    def perform(
        self, experiment: Experiment, address: str | None, repetitions: Sequence[Repetition], watcher: Watcher
    ) -> Generator[Outcome]:
        """Outcomes as they come. `address` is where other processes import it from, if they can (`address_of`)."""
        ...


@dataclass(frozen=True)
class Here:
    """In this process, one after the other: for a debugger, and for experiments typed into a notebook."""

    @property
    def where(self) -> str:
        return "in one process"

    def perform(
        self, experiment: Experiment, address: str | None, repetitions: Sequence[Repetition], watcher: Watcher
    ) -> Generator[Outcome]:
        for repetition in repetitions:
            with one_blas_thread():
                came = attempt(experiment.run, repetition.given, repetition.seed)
            yield outcome_of(repetition, came)


def perform(address: str, version: str, setting: Setting, seed: int) -> dict[str, Any]:
    """One repetition in another process: plain values in, plain values out (see `attempt`).

    `version` is that of gainful where the run was started; another one here could give other numbers.
    """
    keep_blas_on_one_thread()
    if version != __version__:
        return {"reason": f"The run was started with gainful {version}, and this worker has {__version__}."}
    try:
        found = locate(address)
    except Exception:
        return {"reason": traceback.format_exc()}
    return attempt(found.run if isinstance(found, Experiment) else found, setting, seed)
