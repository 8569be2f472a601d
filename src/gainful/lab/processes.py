"""Runs repetitions in local processes, of which one that dies costs nothing but a little time."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from gainful import __version__
from gainful.errors import InvalidInput
from gainful.lab.experiment import Experiment, Setting
from gainful.lab.process_pool import ProcessPool, Sent, cores
from gainful.lab.repetition import Failed, Outcome, Repetition, outcome_of
from gainful.lab.workers import Watcher, perform

__all__ = ["Processes"]


@dataclass(frozen=True)
class Processes:
    """So many processes on this machine; one per core by default.

    Processes start afresh (spawn), so a script that calls `run` needs `if __name__ == "__main__":`. A process that dies
    is replaced, and its repetition starts over; one that takes `deaths` processes with it has failed.
    """

    count: int | None = None
    deaths: int = 3

    def __post_init__(self) -> None:
        if self.count is not None and self.count < 1:
            raise InvalidInput("count", "at least 1 process", self.count, "workers=Here() runs without any")

    @property
    def where(self) -> str:
        count = self.count or cores()
        return f"in {count} local process{'es' if count > 1 else ''}"

    def perform(
        self, experiment: Experiment, address: str | None, repetitions: Sequence[Repetition], watcher: Watcher
    ) -> Generator[Outcome]:
        pool = ProcessPool(_perform, self.count or cores(), self.deaths)
        left = {each.key: each for each in repetitions}
        tasks = {key: (address, __version__, each.given, each.seed) for key, each in left.items()}
        with closing(pool.perform(tasks)) as events:
            for event in events:
                if event is None or event.key not in left:  # of a process that died after it had sent its outcome
                    continue
                repetition = left[event.key]
                if isinstance(event, Sent):
                    yield outcome_of(left.pop(event.key), event.value)
                elif event.again:
                    watcher.say(f"A process died ({event.cause}); its repetition starts over.")
                else:
                    yield Failed(repetition, f"It took {self.deaths} processes with it ({event.cause}).")


def _perform(address: str, version: str, setting: Setting, seed: int) -> Iterator[dict[str, Any]]:
    yield perform(address, version, setting, seed)
