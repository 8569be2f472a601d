"""A Dask scheduler and its workers, as real processes, give the same bytes as local ones."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import toys
from commands import environment, finish, lines, start, wait_until

import gainful as gf
from gainful.lab import Cluster, Here, run
from gainful.lab.cluster import _problem
from gainful.lab.workers import perform

pytest.importorskip("distributed")


@contextmanager
def dask(kind: str, folder: Path, *words: str, **toy: object) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "dask", kind, "--scheduler-file", str(folder / "scheduler.json"), "--no-dashboard"]
    with (folder / f"{kind}.log").open("a") as log:
        process = subprocess.Popen([*command, *words], env=environment(**toy), stdout=log, stderr=log, text=True)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _written(path: Path) -> bool:
    """Whether the file is there as a whole."""
    try:
        json.loads(path.read_text())
    except (OSError, ValueError):
        return False
    return True


@contextmanager
def scheduler(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    with dask("scheduler", folder, "--host", "127.0.0.1", "--port", "0") as process:
        wait_until(lambda: _written(folder / "scheduler.json"), process)
        yield process, json.loads((folder / "scheduler.json").read_text())["address"]


@contextmanager
def worker(folder: Path, name: str, **toy: object) -> Iterator[subprocess.Popen[str]]:
    words = ("--no-nanny", "--nthreads", "1", "--name", name, "--local-directory", str(folder / name))
    with dask("worker", folder, *words, **toy) as process:
        yield process


def test_two_workers_one_killed_in_the_middle_give_the_bytes_of_a_local_run(tmp_path: Path) -> None:
    folder, log = tmp_path / "run", tmp_path / "log"
    run(toys.TOY, tmp_path / "local", workers=Here())
    with (
        scheduler(tmp_path) as (_, address),
        worker(tmp_path, "one", SLEEP=0.25, LOG=log) as victim,
        worker(tmp_path, "two", SLEEP=0.25, LOG=log),
    ):
        joined = tmp_path / "scheduler.log"
        wait_until(lambda: joined.read_text().count("Register worker") == 2, victim)
        process = start("run", "toys:TOY", "--out", folder, "--dask", address)
        wait_until(lambda: len(lines(folder / "repetitions.jsonl")) >= 4, process)
        os.kill(victim.pid, signal.SIGKILL)
        at_the_kill = len(lines(folder / "repetitions.jsonl"))
        code, _, err = finish(process)
    assert (code, at_the_kill < 13) == (0, True), err
    assert (folder / "result.json").read_bytes() == (tmp_path / "local" / "result.json").read_bytes()
    assert set(map(int, lines(log))) == set(range(12))
    assert json.loads((folder / "run.json").read_text())["where"] == "on a Dask cluster"


def test_a_lost_scheduler_keeps_what_is_done_and_failures_come_back_as_outcomes(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with (
        scheduler(tmp_path) as (process, address),
        worker(tmp_path, "one", SLEEP=0.2, FAIL=1),
    ):
        summary = run("toys:TOY", tmp_path / "failing", quick=True, workers=Cluster(address))
        words = ("run", "toys:TOY", "--out", folder, "--dask", address)
        command = start(*words)
        wait_until(lambda: len(lines(folder / "repetitions.jsonl")) >= 3, command)
        command.send_signal(signal.SIGINT)
        interrupted = finish(command)
        command, kept = start(*words), len(lines(folder / "repetitions.jsonl"))
        wait_until(lambda: len(lines(folder / "repetitions.jsonl")) > kept, command)
        process.kill()
        code, _, err = finish(command)
    (failed,) = summary.failures
    assert "toy 1 was told to fail" in failed.reason
    assert (interrupted[0], "the same command continues" in interrupted[2]) == (130, True), interrupted
    assert (code, "the Dask scheduler is gone" in err) == (2, True)
    assert len(lines(folder / "repetitions.jsonl")) > kept


def test_a_worker_says_what_keeps_it_from_running(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "started with gainful 0.0.9" in perform("toys:TOY", "0.0.9", {"repetition": 0}, 1)["reason"]
    assert (
        "a module that can be imported, got absent"
        in perform("absent:TOY", gf.__version__, {"repetition": 0}, 1)["reason"]
    )
    assert "InvalidInput" in _problem("absent:TOY")
    assert _problem("toys:TOY") == ""
    monkeypatch.setenv("GAINFUL_DATA", "")
    assert _problem("toys:HOUSES") == "without taiwan_real_estate.csv in the folder GAINFUL_DATA"


def test_an_address_without_a_scheduler_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gainful.lab.cluster._PATIENCE", "500ms")
    with pytest.raises(gf.InvalidInput, match="the address of a running Dask scheduler"):
        run("toys:TOY", tmp_path, workers=Cluster("tcp://127.0.0.1:1"))
    with pytest.raises(gf.InvalidInput, match="the address of a running Dask scheduler"):
        run("toys:TOY", tmp_path, workers=Cluster("not an address"))


def test_without_distributed_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(gf.MissingExtra, match=r"gainful\[dask\]"):
        run("toys:TOY", tmp_path, workers=Cluster("tcp://127.0.0.1:1"))
