"""Runs repetitions on a Dask cluster that is already there, by the address of its scheduler.

Only plain values cross the wire: the address of the experiment, a setting, a seed; rows come back. Dask moves the work
of a lost worker to the others, and of workers that come later gives them their share.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from gainful import __version__
from gainful.errors import GainfulError, InvalidInput, MissingExtra
from gainful.lab.blas import keep_blas_on_one_thread
from gainful.lab.experiment import Experiment
from gainful.lab.files import missing_files
from gainful.lab.registry import locate
from gainful.lab.repetition import Failed, Outcome, Repetition, outcome_of
from gainful.lab.workers import Watcher, perform

__all__ = ["Cluster"]

_RETRIES = 3  # for what goes wrong around a repetition; a repetition that raises has given its outcome
_PATIENCE = "15s"  # for the scheduler to answer the first call


@dataclass(frozen=True)
class Cluster:
    """The workers of a Dask scheduler, such as tcp://10.0.0.5:8786; they need the same gainful, and the data files."""

    scheduler: str

    @property
    def where(self) -> str:
        return "on a Dask cluster"

    def perform(
        self, experiment: Experiment, address: str | None, repetitions: Sequence[Repetition], watcher: Watcher
    ) -> Generator[Outcome]:
        assert address is not None
        with _client(self.scheduler) as client:
            _inspect(client, address, watcher)
            futures = {
                client.submit(
                    perform,
                    address,
                    __version__,
                    each.given,
                    each.seed,
                    key=_key(experiment, each),
                    retries=_RETRIES,
                ): each
                for each in repetitions
            }
            try:
                yield from _outcomes(client, futures)
            finally:
                with suppress(OSError):  # the scheduler is gone
                    client.cancel(list(futures))  # of an interrupted run, what has not begun


def _key(experiment: Experiment, repetition: Repetition) -> str:
    """What Dask knows the task by: two comparisons may share seeds, but nothing else."""
    digest = hashlib.sha256(json.dumps(repetition.given, sort_keys=True).encode()).hexdigest()[:16]
    return f"gainful-{experiment.name}-{__version__}-{repetition.seed}-{digest}"


def _outcomes(client: Any, futures: dict[Any, Repetition]) -> Iterator[Outcome]:
    completed = _distributed().as_completed(list(futures), loop=client.loop)
    while futures:
        try:
            ready, interrupted = [next(completed)], False
        except KeyboardInterrupt:
            ready, interrupted = [each for each in futures if each.status == "finished"], True
        for future in ready:
            if future.status in ("cancelled", "lost"):
                raise GainfulError("the Dask scheduler is gone; what is done is kept, and the same run continues")
            repetition = futures.pop(future)
            error = future.exception()
            if error is not None:
                yield Failed(repetition, f"{type(error).__name__}: {error}")
            else:
                yield outcome_of(repetition, future.result())
            future.release()
        if interrupted:
            raise KeyboardInterrupt


@contextmanager
def _client(scheduler: str) -> Iterator[Any]:
    try:
        client = _distributed().Client(scheduler, timeout=_PATIENCE, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        expected, remedy = "the address of a running Dask scheduler", f"start one with `dask scheduler` ({error})"
        raise InvalidInput("dask", expected, scheduler, remedy) from None
    with client:
        yield client


def _distributed() -> Any:
    try:
        return import_module("distributed")
    except ImportError:
        raise MissingExtra("a Dask cluster", "dask") from None


def _inspect(client: Any, address: str, watcher: Watcher) -> None:
    """Say what is wrong with the workers before any of them starts; those that come later are checked task by task."""
    versions = client.get_versions(packages=["gainful"])["workers"]
    if not versions:
        watcher.say("The cluster has no workers yet; the run begins with the first one.")
        return
    other = {worker: found["packages"].get("gainful") for worker, found in versions.items()}
    other = {worker: version for worker, version in other.items() if version != __version__}
    if other:
        worker, version = next(iter(other.items()))
        got = f"{version or 'none'} on {len(other)} of {len(versions)} workers, such as {worker}"
        raise InvalidInput("dask", f"gainful {__version__} on every worker", got, "install the same everywhere")
    problems = {worker: problem for worker, problem in client.run(_problem, address).items() if problem}
    if problems:
        worker, problem = next(iter(problems.items()))
        raise InvalidInput("dask", "workers that can run the experiment", f"at {worker}: {problem}", "see there")
    if not all(client.run(keep_blas_on_one_thread).values()):
        watcher.say(
            "Some workers run BLAS on several threads, which can change last digits: start them with"
            " OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1, or install threadpoolctl there."
        )


def _problem(address: str) -> str:
    """On a worker: what keeps it from running the experiment, if anything."""
    try:
        found = locate(address)
        missing = missing_files(found.data if isinstance(found, Experiment) else ())
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return f"without {', '.join(missing)} in the folder GAINFUL_DATA" if missing else ""
