"""A pool of local processes that send results as they come; one that dies takes nothing but its own task along.

`concurrent.futures` and loky give up all tasks of a pool when one of its processes dies, cannot say what it died of,
and send nothing before a task is finished. Here each process has a pipe of its own. What every user of processes has to
settle is settled here:

- BLAS runs on one thread in each of them (`blas`), hence processes that start afresh;
- Ctrl-C reaches the whole process group, and the parent decides: processes are deaf to it from their first moment;
- processes end when their parent does, be it killed.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import Counter, deque
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnContext
from multiprocessing.resource_tracker import ensure_running
from typing import Any

from gainful.errors import GainfulError
from gainful.lab.blas import one_blas_thread_in_new_processes

__all__ = ["Died", "ProcessPool", "Sent", "cores"]

Work = Callable[..., Iterable[Any]]

_ENOUGH = 10  # deaths in a row after which no task is to blame


@dataclass(frozen=True)
class Sent:
    """A value that a task yielded."""

    key: Any
    value: Any


@dataclass(frozen=True)
class Died:
    """A process died over a task: of what, and whether the task starts over."""

    key: Any
    cause: str
    again: bool


@dataclass(frozen=True)
class ProcessPool:
    """`count` processes that do one task after the other: the values that `work(*arguments)` yields.

    `work` is a function of a module, so that other processes can import it; a script that uses a pool needs
    `if __name__ == "__main__":`. A process that dies is replaced and its task starts over; a task that takes `deaths`
    processes with it is given up. With a `pulse` the caller has a turn after so many seconds without news.
    """

    work: Work
    count: int
    deaths: int = 1
    pulse: float | None = None

    def perform(self, tasks: Mapping[Any, tuple[Any, ...]]) -> Generator[Sent | Died | None]:
        """What comes of tasks, arguments by key, as it comes and in any order; None when the pulse has gone by.

        When a person interrupts, all that was sent by then still comes before KeyboardInterrupt goes on.
        """
        run = _Run(self, tasks)
        try:
            while run.is_unfinished:
                run.engage()
                ready, interrupted = run.wait()
                if not ready and not interrupted:
                    yield None
                while ready:
                    for each in ready:
                        event = run.hear(each)
                        if event is not None:
                            yield event
                    ready = run.speaking(timeout=0.0) if interrupted else []
                if interrupted:
                    raise KeyboardInterrupt
        finally:
            run.end()


def cores() -> int:
    """Of this machine, those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Run:
    """Tasks on their way through a pool: those that wait, the processes, and how many died over what."""

    def __init__(self, pool: ProcessPool, tasks: Mapping[Any, tuple[Any, ...]]) -> None:
        self._pool, self._tasks = pool, tasks
        self._waiting = deque(tasks)
        self._processes: list[_Process] = []
        self._died = Counter[Hashable]()
        self._in_a_row = 0

    @property
    def is_unfinished(self) -> bool:
        return bool(self._waiting) or any(each.busy for each in self._processes)

    def engage(self) -> None:
        """Give every process that has none a task; start processes while there are tasks and room."""
        idle = deque(each for each in self._processes if not each.busy)
        while self._waiting and (idle or len(self._processes) < self._pool.count):
            if not idle:
                idle.append(_Process(self._pool.work))
                self._processes.append(idle[0])
            key = self._waiting.popleft()
            idle.popleft().give(key, self._tasks[key])

    def wait(self) -> tuple[list[_Process], bool]:
        """Those that have something to say, once there are any; and whether a person interrupted the wait."""
        try:
            return self.speaking(self._pool.pulse), False
        except KeyboardInterrupt:
            return self.speaking(timeout=0.0), True

    def speaking(self, timeout: float | None) -> list[_Process]:
        busy = [each for each in self._processes if each.busy]
        heard = wait([each.pipe for each in busy], timeout)
        return [each for each in busy if each.pipe in heard]

    def hear(self, process: _Process) -> Sent | Died | None:
        """What a process says; None if that is that its task is finished."""
        try:
            values = process.pipe.recv()
        except (EOFError, OSError):
            return self._bury(process)
        self._in_a_row = 0
        if not values:
            process.busy = False
            return None
        return Sent(process.key, values[0])

    def _bury(self, process: _Process) -> Died:
        cause = _cause(process.end(patience=2.0))  # its pipe ends a moment before it does
        self._processes.remove(process)
        self._died[process.key] += 1
        self._in_a_row += 1
        if self._in_a_row >= _ENOUGH:
            raise GainfulError(f"{_ENOUGH} processes in a row died ({cause}); what is done is kept")
        again = self._died[process.key] < self._pool.deaths
        if again:
            self._waiting.append(process.key)
        return Died(process.key, cause, again)

    def end(self) -> None:
        for each in self._processes:
            each.end()


class _Process:
    """A process that does one task at a time; it starts at once."""

    def __init__(self, work: Work) -> None:
        context: SpawnContext = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.busy, self.key = False, None
        self._process = context.Process(target=_serve, args=(theirs, work), daemon=True)
        with one_blas_thread_in_new_processes(), _new_processes_deaf_to_interrupts():
            self._process.start()
        theirs.close()  # so that the pipe ends when the process does

    def give(self, key: Any, arguments: tuple[Any, ...]) -> None:
        self.busy, self.key = True, key
        with suppress(OSError):  # it is dead, which shows when it is heard
            self.pipe.send(arguments)

    def end(self, patience: float = 0.0) -> int | None:
        """Kill it if it is still alive after so many seconds; its exit code."""
        self._process.join(patience)
        self._process.kill()
        self._process.join()
        self.pipe.close()
        return self._process.exitcode


def _serve(pipe: Connection, work: Work) -> None:
    """In a process of the pool: take arguments, send (value,) for each value and then (), until the pipe ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])  # what it starts in turn need not be deaf
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    while True:
        try:
            arguments = pipe.recv()
        except (EOFError, OSError):
            return
        for value in work(*arguments):
            _send(pipe, (value,))
        _send(pipe, ())


def _send(pipe: Connection, values: tuple[Any, ...]) -> None:
    try:
        pipe.send(values)
    except BrokenPipeError:  # the parent does not listen any more
        os._exit(1)


def _end_with_the_parent() -> None:
    """A parent that was killed cannot say so; without this its processes would finish their tasks for nobody."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


@contextmanager
def _new_processes_deaf_to_interrupts() -> Iterator[None]:
    """Processes started within inherit that SIGINT is blocked; here one that comes meanwhile is only put off."""
    if not hasattr(signal, "pthread_sigmask"):
        yield  # not on POSIX: they are deaf once they have begun to serve
        return
    ensure_running()  # multiprocessing's own process, whose start would unblock the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _cause(code: int | None) -> str:
    if code is None or code >= 0:
        return f"exit code {code}"
    name = signal.Signals(-code).name
    return f"{name}, as when memory runs out" if name == "SIGKILL" else name
