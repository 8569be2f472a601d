"""JSON lines: locked, on the disk, and never spoiled by two writers or by an interruption."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from gainful.campaign.lines import Lines, read_lines, to_line


def test_what_is_written_is_read_and_what_was_torn_is_cut_off(tmp_path):
    path = tmp_path / "lines"
    with Lines(path, create=True) as file:
        end = file.write([to_line({"n": 1}), to_line({"µ": "≤"})], at=0)
        assert file.size == end
    path.write_bytes(path.read_bytes() + b'{"torn": ')
    content = read_lines(path)
    assert [json.loads(line) for line in content.lines] == [{"n": 1}, {"µ": "≤"}]
    assert (content.whole, content.torn, content.size) == (end, b'{"torn": ', end + 9)
    with Lines(path) as file:
        file.write([to_line({"n": 3})], at=content.whole)
    assert [json.loads(line) for line in read_lines(path).lines] == [{"n": 1}, {"µ": "≤"}, {"n": 3}]


def test_half_a_surrogate_pair_is_written_too():
    assert json.loads(to_line({"text": "\ud800"})) == {"text": "\ud800"}


@pytest.mark.parametrize("trouble", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=repr)
def test_a_write_that_is_interrupted_leaves_the_lines_before_it(tmp_path, monkeypatch, trouble):
    path = tmp_path / "lines"
    with Lines(path, create=True) as file:
        end = file.write([to_line({"n": 1})], at=0)
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(trouble))
            with pytest.raises(type(trouble)):
                file.write([to_line({"n": 2})], at=end)
        assert file.size == end
        file.write([to_line({"n": 3})], at=end)
    assert [json.loads(line)["n"] for line in read_lines(path).lines] == [1, 3]


def test_a_second_writer_waits_so_long_and_no_longer(tmp_path):
    path = tmp_path / "lines"
    with Lines(path, create=True):
        for wait in (0.0, 0.05):
            begun = time.monotonic()
            with pytest.raises(BlockingIOError):
                Lines(path, wait)
            assert wait <= time.monotonic() - begun < wait + 5.0
        with pytest.raises(BlockingIOError):
            read_lines(path, wait=0.0)
        assert read_lines(path).size == 0  # whoever does not care may look
    Lines(path).close()


HOLD = """
import sys, time
from pathlib import Path
from gainful.campaign.lines import Lines
file = Lines(Path(sys.argv[1]), create=True)
print("held", flush=True)
time.sleep(60)
"""


def test_the_lock_of_a_process_that_was_killed_is_gone(tmp_path):
    path = tmp_path / "lines"
    with subprocess.Popen([sys.executable, "-c", HOLD, path], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        with pytest.raises(BlockingIOError):
            Lines(path)
        process.send_signal(signal.SIGKILL)
    with Lines(path) as file:
        file.write([to_line({"n": 1})], at=0)
    assert len(read_lines(path).lines) == 1


RACE = """
import sys
import gainful as gf
path, who = sys.argv[1], int(sys.argv[2])
kept = 0
sys.stdin.readline()
while kept < 20:
    try:
        campaign = gf.Campaign.resume(path)
        campaign.tell(gf.Query(campaign.instruments[0], [0.5]), float(who), note=kept)
        kept += 1
    except gf.JournalError as trouble:
        assert "has changed" in str(trouble), trouble
"""


def test_two_processes_that_tell_at_the_same_moment_lose_nothing_that_was_acknowledged(tmp_path):
    import gainful as gf

    path = tmp_path / "j"
    gf.Campaign(gf.Pool([[0.5]]), gf.Point(0.1, name="lab"), gf.GP(gf.SE()), journal=path)
    words = [sys.executable, "-W", "error", "-c", RACE, str(path)]
    racers = [subprocess.Popen([*words, str(who)], stdin=subprocess.PIPE, text=True) for who in range(2)]
    for racer in racers:
        racer.stdin.write("go\n")
        racer.stdin.flush()
    for racer in racers:
        racer.communicate(timeout=120)
        assert racer.returncode == 0
    told = gf.Campaign.resume(path).history
    assert sorted((e.answer, e.note) for e in told) == [(who, n) for who in (0.0, 1.0) for n in range(20)]
