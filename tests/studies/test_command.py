"""Commands as evaluations: their arguments, and every way in which they can end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import gainful as gf
from gainful.studies.command import Command, read_answer
from gainful.studies.processes import Processes

SPACE = gf.Space(
    gf.Real("t", 0, 100), gf.Categorical("metal", ["Pd", "n i"]), gf.Integer("n", 1, 9),
    gf.Categorical("wet", [True, False]), gf.Real("m", 0, 1, when={"metal": "Pd"}),
)  # fmt: skip


def query(t: float = 0.1, metal: str = "Pd", n: int = 3, wet: bool = True, m: float | None = 0.5) -> gf.Query:
    return gf.Query(gf.Point(), {"t": t, "metal": metal, "n": n, "wet": wet, "m": m}, 7, space=SPACE)


def run(folder: Path, program: str, *words: str, **options: object) -> object:
    """The outcome of a Python program."""
    command = Command(tuple((word,) for word in (sys.executable, "-c", program, *words)), folder, **options)
    return command.evaluate(query(), Processes())


def test_arguments_are_filled_with_all_digits_and_levels_as_they_are_without_a_shell(tmp_path):
    program = "import sys, json; print(json.dumps(sys.argv[1:]), file=open('said', 'w')); print(1)"
    run(tmp_path, program.replace("{", "{{"), "--t={t}", "{metal}; rm -rf $HOME", "{n}:{wet}", "{{t}}", "$(echo {m})")
    assert json.loads((tmp_path / "said").read_text()) == [
        "--t=0.1", "Pd; rm -rf $HOME", "3:true", "{t}", "$(echo 0.5)",
    ]  # fmt: skip


def test_words_of_what_is_absent_are_left_out_with_those_that_belong_to_them():
    command = Command((("run",), ("--m", "{m}"), ("--m={m}",), ("{metal}",)), Path("."))
    assert command.filled(dict(query().at)) == ["run", "--m", "0.5", "--m=0.5", "Pd"]
    assert command.filled(dict(query(metal="n i", m=None).at)) == ["run", "n i"]


def test_the_place_is_on_standard_input_and_the_number_in_the_environment(tmp_path):
    program = "import sys, json, os; number = int(os.environ['GAINFUL_EVALUATION'])"
    outcome = run(tmp_path, f"{program}; print(json.loads(sys.stdin.readline())['t'] + number)")
    assert outcome.value == 7.1
    assert outcome.seconds > 0.0


@pytest.mark.parametrize(
    ("program", "reason", "words"),
    [
        ("pass", "it printed nothing", ""),
        ("print('all done')", "the last line that it printed does not end in a number: “all done”", "all done"),
        ("print(3); print('Done.')", "does not end in a number: “Done.”", "Done."),
        ("print('nan')", "the value is nan", "nan"),
        ("print('-inf')", "the value is -inf", "-inf"),
        ("print(3); raise SystemExit(5)", "its exit code was 5", "3"),
        ("raise ValueError('no mesh')", "its exit code was 1", "ValueError: no mesh"),
        ("import os; os.kill(os.getpid(), 9)", "it was killed by SIGKILL, as when memory runs out", ""),
        ("import os; os.kill(os.getpid(), 11)", "it was killed by SIGSEGV", ""),
        ("import sys; sys.stdout.buffer.write(bytes(range(128, 256)))", "does not end in a number", "�"),
    ],
)
def test_every_bad_end_has_its_account_and_last_words(tmp_path, program, reason, words):
    outcome = run(tmp_path, program)
    assert outcome.value is None
    assert reason in outcome.reason
    assert words in outcome.words


def test_a_program_that_is_not_there_is_an_outcome_too(tmp_path):
    outcome = Command((("./nothing",),), tmp_path).evaluate(query(), Processes())
    assert outcome.reason == "./nothing could not be started: No such file or directory"


def test_the_value_is_the_last_word_of_the_last_line_or_a_key_of_a_line_of_json():
    assert read_answer("1\n2\nloss = -3.5e-2  \n\n", None).value == -0.035
    lines = '{"loss": 1}\n{"loss": 2, "x": [1]}\n{"other": 3}\nnot json {\n{broken\n'
    assert read_answer(lines, "loss").value == 2.0
    assert read_answer('{"loss": null}', "loss").reason == "the value is None, which is no number"
    assert "no line that it printed is a JSON object with 'loss'; the last is “{}”" in read_answer("{}", "loss").reason


def test_a_flood_of_output_is_read_from_its_end(tmp_path):
    assert run(tmp_path, "print('x' * 10**7); print(4.5)").value == 4.5


def test_a_command_that_hangs_is_ended_with_all_that_it_has_started(tmp_path):
    """It ignores the request to end, and so does its child, whose number it leaves."""
    program = (
        "import os, signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import signal, time; "
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)'])\n"
        "print('began', flush=True); open('child', 'w').write(str(child.pid)); time.sleep(600)\n"
    )
    started = time.monotonic()
    outcome = run(tmp_path, program, timeout=1.5)
    assert time.monotonic() - started < 10.0
    assert outcome.reason == "it took longer than 1.5 s and was ended"
    assert outcome.words == "began"
    assert gone(int((tmp_path / "child").read_text()))


def test_what_a_command_leaves_behind_is_not_waited_for(tmp_path):
    program = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(3)']); print(2)"
    started = time.monotonic()
    assert run(tmp_path, program).value == 2.0
    assert time.monotonic() - started < 2.5


def test_ending_all_ends_what_is_under_way_and_starts_nothing_more(tmp_path):
    import threading

    processes, done = Processes(), []
    command = Command(
        tuple((w,) for w in (sys.executable, "-c", "open('up', 'w'); import time; time.sleep(600)")), tmp_path
    )
    thread = threading.Thread(target=lambda: done.append(command.evaluate(query(), processes)))
    thread.start()
    while not (tmp_path / "up").exists():
        time.sleep(0.01)
    processes.end()
    thread.join(10)
    assert done[0].reason == "it was killed by SIGTERM"
    assert "could not be started" in command.evaluate(query(), processes).reason


def test_a_function_is_called_in_a_process_that_knows_nothing_of_gainful(tmp_path):
    (tmp_path / "model.py").write_text(
        "import sys\ndef loss(place):\n    print('chatter 99')\n"
        "    assert not any(name.split('.')[0] in ('gainful', 'numpy') for name in sys.modules)\n"
        "    if place['x'] == 0.5:\n        raise ValueError('the solvent\\nboils')\n"
        "    if place['x'] == 0.6:\n        sys.exit(7)\n"
        "    return place['x'] * 2 if place['x'] < 0.9 else float('nan')\n"
    )
    (tmp_path / "s.toml").write_text(
        '[study]\ngoal = "minimise"\n[space]\nx = { low = 0, high = 1 }\n[instruments.f]\nfunction = "model:loss"\n'
    )
    from gainful.studies import read_study

    command = read_study(tmp_path / "s.toml").instruments[0].command
    space = gf.Space(gf.Real("x", 0, 1))
    at = {x: command.evaluate(gf.Query(gf.Point(), [x], 0, space=space), Processes()) for x in (0.25, 0.5, 0.6, 0.95)}
    assert at[0.25].value == 0.5
    assert at[0.95].reason == "the value is nan"
    assert at[0.5].reason == "ValueError: the solvent boils"
    assert at[0.5].words.endswith("boils")
    assert "Traceback" in at[0.5].words
    assert at[0.6].reason == "SystemExit: 7"


def gone(pid: int) -> bool:
    """Whether a process is no more, or waits to be buried."""
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True).stdout
        if state.strip()[:1] in ("Z", ""):
            return True
        time.sleep(0.02)
    return False
