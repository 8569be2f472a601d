"""Fields surveyed in other processes, each with BLAS on one thread.

Campaigns factor many small matrices, on which two BLAS threads get in each other's way: on two busy cores one thread
took 2 s where two took 12. How many threads there are is settled when NumPy is imported, hence processes that start
afresh.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait

from gainful.demo.survey import Comparison, Moment, compare
from gainful.errors import GainfulError
from gainful.lab.workers import BLAS_THREADS

__all__ = ["surveyed"]

_MOST = 4  # processes: each takes a second to start
_PULSE = 0.1  # seconds after which the caller has its turn even if there is nothing new


def surveyed(seeds: Sequence[int], watched: int) -> Generator[Moment | Comparison | None]:
    """Every moment of the watched field, explained, and the comparison of each; None when nothing came for a while."""
    context = multiprocessing.get_context("spawn")
    for name in BLAS_THREADS:
        os.environ.setdefault(name, "1")  # for the processes to come: here NumPy is imported already
    processes = min(os.cpu_count() or 1, _MOST, len(seeds))
    crew = []
    waiting: dict[Connection, set[int]] = {}  # what each process has yet to survey, by the pipe it speaks through
    try:
        for i in range(processes):
            ours, theirs = context.Pipe(duplex=False)
            share = tuple(seeds[i::processes])
            crew.append(context.Process(target=_work, args=(theirs, share, watched), daemon=True))
            with _deaf_to_interrupts():
                crew[-1].start()
            theirs.close()  # so that the pipe ends when the process does
            waiting[ours] = set(share)
        while waiting:
            ready = wait(list(waiting), timeout=_PULSE)
            if not ready:
                yield None
            for pipe in ready:
                assert isinstance(pipe, Connection)
                try:
                    came: Moment | Comparison = pipe.recv()
                except EOFError:
                    left = sorted(waiting.pop(pipe))
                    if left:
                        raise GainfulError(f"a process ended before it had surveyed fields {left}; see above") from None
                    continue
                if isinstance(came, Comparison):
                    waiting[pipe].remove(came.seed)
                yield came
    finally:
        for process in crew:
            process.kill()
            process.join()


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Ctrl-C reaches the whole group, and the parent decides: what starts in here ignores it from its first moment."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _work(pipe: Connection, seeds: Sequence[int], watched: int) -> None:
    with suppress(BrokenPipeError):  # the parent is gone, and nobody waits for the rest
        for seed in seeds:
            for came in compare(seed, explain=seed == watched):
                if isinstance(came, Comparison) or seed == watched:
                    pipe.send(came)
