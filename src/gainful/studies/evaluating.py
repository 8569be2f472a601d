"""Where evaluations are made: in this thread one after the other, or several at once in threads or processes.

An evaluator promises: `start(query)` returns at once; `wait()` gives the number of a query that is done, and its
outcome, in any order; `close()` gives up what is still under way. Nothing that an evaluation does is an error here.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait as wait_for
from queue import SimpleQueue
from typing import Any, Protocol

from gainful.data import Query
from gainful.errors import InvalidInput
from gainful.lab.blas import one_blas_thread_in_new_processes
from gainful.studies.outcome import Outcome, call

__all__ = ["Evaluate", "Evaluator", "Here", "Threads", "in_processes"]

Evaluate = Callable[[Query], Outcome]


class Evaluator(Protocol):
    """See the module."""

    def start(self, query: Query) -> None: ...

    def wait(self) -> tuple[int, Outcome]: ...

    def close(self) -> None: ...


class Here:
    """One evaluation after the other, in the thread that waits for it."""

    def __init__(self, evaluate: Evaluate) -> None:
        self._evaluate = evaluate
        self._waiting: deque[Query] = deque()

    def start(self, query: Query) -> None:
        self._waiting.append(query)

    def wait(self) -> tuple[int, Outcome]:
        query = self._waiting[0]
        outcome = self._evaluate(query)
        self._waiting.popleft()
        return _number(query), outcome

    def close(self) -> None:
        self._waiting.clear()


class Threads:
    """So many evaluations at once, each in a thread; `close` leaves those that are under way to themselves."""

    def __init__(self, evaluate: Evaluate, count: int) -> None:
        self._waiting: SimpleQueue[Query | None] = SimpleQueue()
        self._done: SimpleQueue[tuple[int, Outcome]] = SimpleQueue()
        self._evaluate, self._count = evaluate, count
        for _ in range(count):
            threading.Thread(target=self._serve, daemon=True).start()  # a hanging one does not keep the program alive

    def _serve(self) -> None:
        while (query := self._waiting.get()) is not None:
            try:
                outcome = self._evaluate(query)
            except BaseException as error:  # nobody else would hear of it, and whoever waits would wait for ever
                outcome = Outcome(None, type(error).__name__)
            self._done.put((_number(query), outcome))

    def start(self, query: Query) -> None:
        self._waiting.put(query)

    def wait(self) -> tuple[int, Outcome]:
        return self._done.get()

    def close(self) -> None:
        while not self._waiting.empty():
            self._waiting.get()
        for _ in range(self._count):
            self._waiting.put(None)


def in_processes(function: Callable[[Any], Any]) -> tuple[Callable[[Any], Outcome], Callable[[], None]]:
    """The function called in other processes, one for each thread that calls; and what ends them all.

    A pool of its own for every process: one that dies takes nothing but its own evaluation along.
    """
    try:
        pickle.dumps(function)
    except Exception as error:
        expected = "a function that other processes can import"
        raise InvalidInput("function", expected, f"{function!r} ({error})", "define it in a module, with def") from None
    mine, pools, starting = threading.local(), list[ProcessPoolExecutor](), threading.Lock()

    def called(argument: Any) -> Outcome:
        if getattr(mine, "pool", None) is None:
            context = multiprocessing.get_context("spawn")
            mine.pool = ProcessPoolExecutor(1, mp_context=context, initializer=_end_with_the_parent)
            pools.append(mine.pool)
        try:
            with starting, one_blas_thread_in_new_processes():
                future = mine.pool.submit(call, function, argument)
            return future.result()
        except BrokenProcessPool:
            mine.pool = None  # the next evaluation starts a new one
            return Outcome(None, "its process died, as when memory runs out")
        except Exception as error:  # what could not be sent, either way
            return Outcome(None, f"{type(error).__name__}: {error}")

    def end() -> None:
        for pool in pools:
            for process in list((getattr(pool, "_processes", None) or {}).values()):
                process.kill()
            pool.shutdown(wait=False, cancel_futures=True)

    return called, end


def _end_with_the_parent() -> None:
    """In a new process: deaf to Ctrl-C, which is the parent's to answer, and ended when the parent is."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            wait_for([parent.sentinel])
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _number(query: Query) -> int:
    assert query.number is not None  # a campaign has asked it
    return query.number
