"""Tasks on the workers of a Dask cluster: sent, waited for, and let go.

A connection is opened once for each address and kept, so that a fit does not connect for every setting that it tries.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from itertools import count
from typing import Any
from uuid import uuid4
from weakref import WeakSet

from gainful.errors import GainfulError, InvalidInput, MissingExtra

__all__ = ["Tasks", "address_of", "tasks_at"]

_PATIENCE = 15  # seconds for the scheduler to answer, and for a first worker to be there
_clients: dict[tuple[int, str], Any] = {}  # by process and address: a child must not talk through its parent's
_seen: set[str] = set()  # workers that have the same gainful


@dataclass(frozen=True, eq=False)
class Tasks:
    """Tasks of one belief: `submit` gives a future, which is a result that stays where it was worked out.

    Row i is the business of worker i modulo their number, so that a task finds most of what it needs there. Should that
    worker be lost, Dask gives its tasks to the others, and has what it held worked out again.
    """

    client: Any
    workers: tuple[str, ...]
    _name: str = field(default_factory=lambda: f"gainful-{uuid4().hex[:12]}")
    _numbers: Iterator[int] = field(default_factory=count)
    _alive: WeakSet[Any] = field(default_factory=WeakSet)

    def submit(self, function: Callable[..., Any], *given: Any, row: int, order: float = 0.0) -> Any:
        """A future of function(*given), in which futures stand for their results; lower `order` goes first."""
        if self.client.status == "closed":
            raise GainfulError("the Dask client that this belief is worked out by is closed: open one, condition again")
        future = self.client.submit(
            function,
            *given,
            key=f"{function.__name__}-{self._name}-{next(self._numbers)}",  # Dask learns durations by the first word
            workers=[self.workers[row % len(self.workers)]],
            allow_other_workers=True,
            priority=-order,
        )
        self._alive.add(future)
        return future

    def wait(self, futures: Sequence[Any]) -> None:
        """Until all of them are there; nothing is moved."""
        with _in_words(), self.client.as_current():
            _distributed().wait(list(futures))
            for future in futures:
                if future.status != "finished":
                    future.result()

    def gather(self, futures: Sequence[Any]) -> list[Any]:
        """Their results."""
        with _in_words():
            return list(self.client.gather(list(futures)))

    def release(self, but: AbstractSet[str] = frozenset()) -> None:
        """Let go of everything but these keys: what is not begun yet is not begun any more."""
        try:
            self._arrive()
        finally:  # a second Ctrl-C does not wait
            with suppress(RuntimeError):  # the connection is closed already
                for future in list(self._alive):
                    if future.key not in but:
                        future.release()

    @contextmanager
    def unless_interrupted(self, keep: bool) -> Iterator[None]:
        """Where what follows is cut short, by Ctrl-C too, let go of what it has begun, or of all where nothing is to be
        kept: a traceback would keep futures, and workers their tiles."""
        before = frozenset(future.key for future in list(self._alive)) if keep else frozenset()
        try:
            yield
        except BaseException:
            self.release(before)
            raise

    def _arrive(self) -> None:
        """Wait until the scheduler has all that was sent: it keeps for good what it is told to let go of too early."""
        package = _distributed()
        with suppress(RuntimeError, OSError, TimeoutError, package.CancelledError, package.KilledWorker):
            last = self.submit(_nothing, row=0, order=-1.0)  # it takes tasks in the order in which they are sent
            last.result(timeout=_PATIENCE)


def _nothing() -> None:
    """The last of several tasks."""


@contextmanager
def _in_words() -> Iterator[None]:
    package = _distributed()
    try:
        yield
    except package.KilledWorker as error:
        raise GainfulError(
            f"workers of the Dask cluster died again and again over the same task ({error}): give them more memory, "
            "or take more of them, or smaller tiles"
        ) from error
    except (package.CancelledError, OSError) as error:
        raise GainfulError(
            f"the Dask cluster has let go of what it was working on ({error}): is it still there?"
        ) from error


def address_of(scheduler: object) -> str:
    """The address of a scheduler: as it is, or that of a Dask client, which is then used for what is sent there."""
    if isinstance(scheduler, str) and ":" in scheduler:
        return scheduler
    address = getattr(getattr(scheduler, "scheduler", None), "address", None)
    if not (isinstance(address, str) and hasattr(scheduler, "submit")) or getattr(scheduler, "asynchronous", True):
        expected = "the address of a Dask scheduler, or a Dask client (not an asynchronous one)"
        raise InvalidInput("scheduler", expected, scheduler, "such as tcp://10.0.0.5:8786")
    _clients[os.getpid(), address] = scheduler
    return address


def tasks_at(address: str) -> Tasks:
    """Tasks for the workers of this scheduler; InvalidInput where there is none, or it has no workers."""
    client = _clients.get((os.getpid(), address))
    if client is None or client.status != "running":
        client = _clients[os.getpid(), address] = _connected(address)
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError:
        raise InvalidInput("scheduler", "a Dask scheduler with workers", address, "start some: dask worker") from None
    workers = tuple(sorted(client.nthreads()))
    _require_gainful(client, workers)
    return Tasks(client, workers)


def _require_gainful(client: Any, workers: Sequence[str]) -> None:
    """Refuse workers without this version of gainful, those that were not seen before."""
    if _seen.issuperset(workers):
        return
    found = client.get_versions(packages=["gainful"])
    own = found["client"]["packages"]["gainful"]
    other = {each: its for each in found["workers"] if (its := found["workers"][each]["packages"]["gainful"]) != own}
    if other:
        worker, version = next(iter(other.items()))
        got = f"{version or 'none'} on {len(other)} of {len(workers)}, such as {worker}"
        raise InvalidInput("scheduler", f"workers with gainful {own}", got, "install the same everywhere")
    _seen.update(workers)


def _connected(address: str) -> Any:
    package = _distributed()
    try:
        client = package.Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        expected, remedy = "the address of a running Dask scheduler", f"start one with `dask scheduler` ({error})"
        raise InvalidInput("scheduler", expected, address, remedy) from None
    atexit.register(client.close)
    return client


def _distributed() -> Any:
    try:
        return import_module("distributed")
    except ImportError:
        raise MissingExtra("a Dask cluster", "dask") from None
