"""A pool sends what comes as it comes, loses nothing to a process that dies, and leaves no process behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
import tasks
from commands import environment, wait_until

import gainful as gf
from gainful.lab import Died, ProcessPool, Sent
from gainful.lab import process_pool as module


def is_alive(pid: int) -> bool:
    """Whether it runs: one that was not waited for yet has ended all the same."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_everything_that_tasks_yield_comes_in_the_order_of_each_task() -> None:
    events = list(ProcessPool(tasks.count, 2).perform({n: (n,) for n in range(6)}))
    found = {n: [each.value for each in events if isinstance(each, Sent) and each.key == n] for n in range(6)}
    assert found == {n: list(range(n)) for n in range(6)}
    assert len(events) == sum(range(6))


def test_values_come_before_their_task_is_finished() -> None:
    events = ProcessPool(tasks.count, 1).perform({"slow": (2, 60.0)})
    assert next(events) == Sent("slow", 0)
    events.close()


def test_a_process_that_dies_takes_only_its_own_task_along_which_starts_over(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    marker.touch()
    pool = ProcessPool(tasks.die_once, 2, deaths=2)
    events = list(pool.perform({n: (str(marker), n) for n in range(1, 5)}))
    (died,) = (each for each in events if isinstance(each, Died))
    assert (died.cause, died.again) == ("SIGKILL, as when memory runs out", True)
    values = Counter(each.value for each in events if isinstance(each, Sent))
    assert values == Counter([*range(1, 5), died.key, *(-n for n in range(1, 5))])  # what it had sent comes twice


def test_a_task_that_kills_every_process_is_given_up_alone() -> None:
    events = list(ProcessPool(tasks.die, 1, deaths=2).perform({n: (n,) for n in range(3)}))
    assert [each.again for each in events if isinstance(each, Died)] == [True, False]
    assert {each.key for each in events if isinstance(each, Died)} == {1}
    assert sorted(each.value for each in events if isinstance(each, Sent)) == [0, 2]


def test_when_process_after_process_dies_no_task_is_to_blame(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ENOUGH", 3)
    with pytest.raises(gf.GainfulError, match=r"3 processes in a row died \(SIGKILL"):
        list(ProcessPool(tasks.die, 1, deaths=9).perform({"deadly": (1,)}))


def test_a_task_that_raises_ends_its_process_and_says_why_on_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    events = list(ProcessPool(tasks.fail, 1).perform({"a": (7,), "b": (8,)}))
    assert [each.value for each in events if isinstance(each, Sent)] == [7, 8]
    assert [(each.key, each.cause) for each in events if isinstance(each, Died)] == [
        ("a", "exit code 1"),
        ("b", "exit code 1"),
    ]
    assert capfd.readouterr().err.count("OSError: as asked") == 2


def test_with_a_pulse_the_caller_has_a_turn() -> None:
    events = ProcessPool(tasks.count, 1, pulse=0.01).perform({"slow": (1, 0.2)})
    assert None in list(events)


def test_processes_have_one_blas_thread_and_are_deaf_to_interrupts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    (sent,) = ProcessPool(tasks.surroundings, 1).perform({0: ()})
    assert set(sent.value["threads"].values()) == {"1"}
    assert (sent.value["deaf"], sent.value["blocked"]) == (True, set())
    assert (os.environ["OMP_NUM_THREADS"], "MKL_NUM_THREADS" in os.environ) == ("7", False)
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])
    assert [each.value for each in ProcessPool(tasks.survive_interrupts, 1).perform({0: (3,)})] == [0, 1, 2]


def test_it_works_outside_the_main_thread() -> None:
    found: list[Sent | Died | None] = []
    thread = threading.Thread(target=lambda: found.extend(ProcessPool(tasks.count, 1).perform({0: (2,)})))
    thread.start()
    thread.join(60)
    assert found == [Sent(0, 0), Sent(0, 1)]


def test_an_interrupt_yields_what_was_sent_by_then_and_leaves_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = module.wait

    def interrupted(pipes: list[object], timeout: float | None = None) -> list[object]:
        if timeout is None:  # as if Ctrl-C came when both have sent something
            while len(waits(pipes, 0.1)) < 2:
                pass
            raise KeyboardInterrupt
        return waits(pipes, timeout)

    monkeypatch.setattr(module, "wait", interrupted)
    events = ProcessPool(tasks.note, 2).perform({n: (str(tmp_path / n), 60.0) for n in "ab"})
    found = [next(events), next(events)]
    with pytest.raises(KeyboardInterrupt):
        next(events)
    assert {each.key for each in found if isinstance(each, Sent)} == {"a", "b"}
    assert not any(is_alive(each.value) for each in found if isinstance(each, Sent))


def test_processes_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    arguments = (str(tmp_path / "pid"), 60.0)
    program = ["import tasks", "from gainful.lab import ProcessPool", "if __name__ == '__main__':"]
    program.append(f"    list(ProcessPool(tasks.note, 1).perform({{0: {arguments!r}}}))")
    (tmp_path / "program.py").write_text("\n".join(program))
    parent = subprocess.Popen(
        [sys.executable, str(tmp_path / "program.py")], env=environment(), stderr=subprocess.PIPE, text=True
    )
    wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text() != "", parent)
    pid = int((tmp_path / "pid").read_text())
    assert is_alive(pid)
    parent.kill()
    parent.communicate()
    deadline = time.monotonic() + 10.0
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not is_alive(pid)
