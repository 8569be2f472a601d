"""JSON lines: locked, on the disk, and never spoiled by two writers or by an interruption."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from gainful.campaign.lines import Lines, Mark, read_lines, to_lines, to_text

RECORDS = [{"n": 1}, {"µ": "≤"}, {}, {"check": "one's own", "n": [4, {"check": 5}]}]


def written(path, records):
    """A file of these records, and the mark at its end."""
    with Lines(path, create=True) as file:
        return file.write(map(to_text, records), Mark())


def test_what_is_written_is_read_and_what_was_torn_is_cut_off(tmp_path):
    path = tmp_path / "lines"
    mark = written(path, RECORDS)
    assert path.stat().st_size == mark.end
    assert json.loads(path.read_bytes().splitlines()[0])["n"] == 1
    path.write_bytes(path.read_bytes() + b'{"torn": ')
    content = read_lines(path)
    assert content.records == RECORDS
    assert (content.mark, content.torn, content.damage, content.size) == (mark, b'{"torn": ', None, mark.end + 9)
    with Lines(path) as file:
        assert file.read(mark).torn == content.torn
        file.write([to_text({"n": 3})], mark)
    assert read_lines(path).records == [*RECORDS, {"n": 3}]


def test_half_a_surrogate_pair_is_written_too():
    assert json.loads(to_text({"text": "\ud800"})) == {"text": "\ud800"}


def test_every_beginning_that_ends_with_a_line_is_whole_and_a_line_without_its_end_is_too(tmp_path):
    path = tmp_path / "lines"
    written(path, RECORDS)
    content = path.read_bytes()
    for cut in range(len(content)):
        path.write_bytes(content[:cut])
        found = read_lines(path)
        whole = content[:cut].count(b"\n") + (content[cut : cut + 1] == b"\n")
        assert found.records == RECORDS[:whole]
        assert found.damage is None
        with Lines(path) as file:
            assert file.read(found.mark).records == []
            file.write(map(to_text, RECORDS[whole:]), found.mark)
        assert path.read_bytes() == content


def test_every_bit_that_flips_is_found_with_its_line(tmp_path):
    path = tmp_path / "lines"
    written(path, RECORDS)
    content = path.read_bytes()
    for place in range(8 * len(content)):
        damaged = bytearray(content)
        damaged[place // 8] ^= 1 << place % 8
        path.write_bytes(damaged)
        found = read_lines(path)
        assert found.damage.line == content[: place // 8].count(b"\n") + 1
        assert found.records == RECORDS[: found.damage.line - 1]


def test_lines_removed_inserted_swapped_doubled_or_moved_from_another_file_are_found(tmp_path):
    path = tmp_path / "lines"
    written(path, [{"n": n} for n in range(5)])
    lines = path.read_bytes().splitlines(keepends=True)
    stranger = to_lines([to_text({"n": 9})], Mark())[0]
    for order, line in (
        (lines[1:], 1),
        ([*lines[:2], *lines[3:]], 3),
        ([*lines[:2], lines[3], lines[2], lines[4]], 3),
        ([*lines[:3], lines[2], *lines[3:]], 4),
        ([*lines[:3], stranger, *lines[3:]], 4),
        ([*lines, stranger], 6),
        ([*lines, b"\n"], 6),
    ):
        path.write_bytes(b"".join(order))
        assert read_lines(path).damage.line == line


def test_a_mark_of_lines_that_are_no_longer_there_is_noticed(tmp_path):
    path = tmp_path / "lines"
    mark = written(path, [{"n": 1}, {"n": 2}])
    for others in ([{"n": 1}], [{"n": 1}, {"n": 3}], [{"n": 1}, {"n": 3}, {"n": 4}]):
        written(path, others)
        with Lines(path) as file:
            assert file.read(mark) is None


@pytest.mark.parametrize("text", [b"NaN", b"[" * 100_000, b"9" * 5000, b"\xff", b"3"], ids=lambda t: repr(t[:8]))
def test_lines_that_hold_no_record_are_found_though_their_checksum_is_right(tmp_path, text):
    path = tmp_path / "lines"
    body = text + b"}" if text == b"3" else b'{"n": ' + text + b"}"
    path.write_bytes(to_lines([body], Mark())[0])
    assert read_lines(path).damage.line == 1


@pytest.mark.parametrize("trouble", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=repr)
def test_a_write_that_is_interrupted_leaves_the_lines_before_it(tmp_path, monkeypatch, trouble):
    path = tmp_path / "lines"
    mark = written(path, [{"n": 1}])
    with Lines(path) as file:
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(trouble))
            with pytest.raises(type(trouble)):
                file.write([to_text({"n": 2})], mark)
        assert file.size == mark.end
        file.write([to_text({"n": 3})], mark)
    assert [record["n"] for record in read_lines(path).records] == [1, 3]


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
        file.write([to_text({"n": 1})], Mark())
    assert len(read_lines(path).records) == 1
