"""Local processes: each with a pipe of its own, so that one that dies takes nothing but its own repetition along."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import Counter, deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnContext

from gainful import __version__
from gainful.errors import GainfulError, InvalidInput
from gainful.lab.experiment import Experiment
from gainful.lab.repetition import Failed, Outcome, Repetition, outcome_of
from gainful.lab.workers import BLAS_THREADS, Watcher, perform

__all__ = ["Processes"]

_ENOUGH = 10  # deaths in a row after which no repetition is to blame


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
        count = self.count or _cores()
        return f"in {count} local process{'es' if count > 1 else ''}"

    def perform(
        self, experiment: Experiment, address: str | None, repetitions: Sequence[Repetition], watcher: Watcher
    ) -> Generator[Outcome]:
        assert address is not None
        waiting, died, in_a_row = deque(repetitions), Counter[str](), 0
        crew: list[_Process] = []
        try:
            while waiting or any(each.task for each in crew):
                while waiting and len(crew) < (self.count or _cores()):
                    crew.append(_Process(address))
                for idle in crew:
                    if waiting and idle.task is None:
                        idle.give(waiting.popleft())
                ready, interrupted = _ready(crew)
                for worker in ready:
                    task, came = worker.take()
                    if came is not None:
                        in_a_row = 0
                        yield outcome_of(task, came)
                        continue
                    code = worker.end(patience=2.0)  # its pipe ends a moment before it does
                    crew.remove(worker)
                    died[task.key] += 1
                    in_a_row += 1
                    if in_a_row >= _ENOUGH:
                        raise GainfulError(f"{_ENOUGH} processes in a row died ({_cause(code)}); what is done is kept")
                    if died[task.key] >= self.deaths:
                        yield Failed(task, f"It took {self.deaths} processes with it ({_cause(code)}).")
                    else:
                        watcher.say(f"A process died ({_cause(code)}); its repetition starts over.")
                        waiting.append(task)
                if interrupted:
                    raise KeyboardInterrupt
        finally:
            for worker in crew:
                worker.end()


class _Process:
    """A process that does one task at a time; it starts at once."""

    def __init__(self, address: str) -> None:
        context: SpawnContext = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.task: Repetition | None = None
        self._process = context.Process(target=_serve, args=(theirs, address), daemon=True)
        with _environment_of_workers():
            self._process.start()
        theirs.close()  # so that the pipe ends when the process does

    def give(self, task: Repetition) -> None:
        self.task = task
        with suppress(OSError):  # it is dead, and `take` will say so
            self.pipe.send((task.given, task.seed))

    def take(self) -> tuple[Repetition, dict[str, object] | None]:
        """The task and what came of it: None if the process died over it."""
        assert self.task is not None
        task, self.task = self.task, None
        try:
            return task, self.pipe.recv()
        except (EOFError, OSError):
            return task, None

    def end(self, patience: float = 0.0) -> int | None:
        """Kill it if it is still alive after so many seconds; its exit code."""
        self._process.join(patience)
        self._process.kill()
        self._process.join()
        self.pipe.close()
        return self._process.exitcode


def _ready(crew: list[_Process]) -> tuple[list[_Process], bool]:
    """Those that have something to say, once there are any; and whether a person interrupted the wait."""
    busy = [each for each in crew if each.task is not None]
    try:
        spoke, interrupted = wait([each.pipe for each in busy]), False
    except KeyboardInterrupt:
        spoke, interrupted = wait([each.pipe for each in busy], timeout=0), True
    return [each for each in busy if each.pipe in spoke], interrupted


def _serve(pipe: Connection, address: str) -> None:
    """What a worker process does: take a setting and a seed, send back what came of it, until the pipe ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    with suppress(EOFError, OSError):
        while True:
            setting, seed = pipe.recv()
            pipe.send(perform(address, __version__, setting, seed))


def _end_with_the_parent() -> None:
    """A parent that was killed cannot say so; without this its workers would finish their repetitions for nobody."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


@contextmanager
def _environment_of_workers() -> Iterator[None]:
    """One BLAS thread each, said before NumPy is imported there: several would fight, and round differently."""
    before = {name: os.environ.get(name) for name in BLAS_THREADS}
    os.environ.update(dict.fromkeys(BLAS_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _cause(code: int | None) -> str:
    if code is None or code >= 0:
        return f"exit code {code}"
    name = signal.Signals(-code).name
    return f"{name}, as when memory runs out" if name == "SIGKILL" else name
