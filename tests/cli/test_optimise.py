"""`gainful optimise` from the outside: what it writes, what it survives, and that it goes on where it was ended."""

from __future__ import annotations

import csv
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

import gainful as gf
from gainful.cli.app import app

# As a terminal starts it: whoever starts the tests may ignore SIGINT, which is inherited.
PROGRAM = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from gainful.cli import main; main()"
)

# A simulator that breaks down where it is cold, and writes down every call.
SIMULATOR = """\
import sys, time
t, metal = float(sys.argv[1]), sys.argv[2]
with open("calls", "a") as file:
    file.write(f"{t} {metal}\\n")
time.sleep(PAUSE)
if t < 48:
    print("residual", t, file=sys.stderr)
    sys.exit(3)
print("value", (t - 50) ** 2 / 100 + len(metal))
"""

STUDY = """\
[study]
title = "A reactor <1>"
goal = "minimise"
evaluations = 6
initial = 3

[space]
t = { low = 20, high = 90, unit = "°C" }
metal = { levels = ["Pd", "Iron"] }

[instruments.waste]
command = ["PYTHON", "simulate.py", "{t}", "{metal}"]
unit = "g"
noise = 0
timeout = 20
"""


def write(folder: Path, study: str = STUDY, pause: float = 0.0) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "simulate.py").write_text(SIMULATOR.replace("PAUSE", str(pause)))
    path = folder / "reactor.toml"
    path.write_text(study.replace("PYTHON", sys.executable), encoding="utf-8")
    return path


def call(*words: str | Path) -> tuple[int, str]:
    """In this process: exit code and everything that was printed."""
    result = CliRunner().invoke(app, ["optimise", *map(str, words)])
    if result.exception is not None and not isinstance(result.exception, SystemExit | gf.GainfulError):
        raise result.exception
    return result.exit_code, result.output + (str(result.exception) if result.exception else "")


def start(folder: Path, *words: str | Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PROGRAM, "optimise", str(folder / "reactor.toml"), "--out", str(folder / "out")]
    return subprocess.Popen(
        [*command, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def rows(out: Path) -> list[dict[str, str]]:
    """The table, without what a clock says."""
    with (out / "evaluations.csv").open(encoding="utf-8", newline="") as file:
        return [{name: cell for name, cell in row.items() if name != "seconds"} for row in csv.DictReader(file)]


def calls(folder: Path) -> list[str]:
    path = folder / "calls"
    return path.read_text().splitlines() if path.exists() else []


def wait_for(count: int, folder: Path, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 30.0
    while len(calls(folder)) < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nobody interrupts."""
    folder = tmp_path_factory.mktemp("whole")
    code, text = call(write(folder), "--out", folder / "out")
    assert code == 0, text
    (folder / "text").write_text(text)
    return folder


def test_a_study_gives_a_summary_a_table_and_a_report(whole):
    text, table = (whole / "text").read_text(), rows(whole / "out")
    assert re.search(r"Smallest value: [\d.]+ g at t [\d.]+ °C, metal (Pd|Iron)\n", text)
    assert "All evaluations were made: 6, " in text
    failed = [row for row in table if row["status"] == "failed"]
    assert len(table) == 6 == len(calls(whole))
    assert failed
    for row in table:
        t, metal = float(row["t"]), row["metal"]
        assert (row["status"] == "failed") == (t < 48)
        assert row["reason"] == ("its exit code was 3" if t < 48 else "")
        assert row["value"] == ("" if t < 48 else repr((t - 50) ** 2 / 100 + len(metal)))
    page = (whole / "out" / "report.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == 2
    assert not re.search(r"(src|href)=\"?http", page)  # nothing from elsewhere
    best = min(float(row["value"]) for row in table if row["value"])
    for expected in (
        "A reactor &lt;1&gt;",
        f"{best:.6g} g",
        "What failed",
        "residual",
        "gainful optimise",
        "evaluations",
    ):
        assert expected in page, expected
    assert "<1>" not in page


def test_the_same_command_again_evaluates_nothing_and_more_evaluations_go_on(whole, tmp_path):
    before, table = len(calls(whole)), rows(whole / "out")
    code, text = call(whole / "reactor.toml", "--out", whole / "out")
    assert code == 0
    assert "6 evaluations, 6 of them from before" in text
    assert len(calls(whole)) == before
    assert rows(whole / "out") == table


def test_a_run_that_is_killed_goes_on_and_evaluates_what_an_uninterrupted_one_does(whole, tmp_path):
    write(tmp_path, pause=0.15)
    process = start(tmp_path)
    wait_for(5, tmp_path, process)
    process.kill()
    process.communicate()
    code, text = call(tmp_path / "reactor.toml", "--out", tmp_path / "out")
    assert code == 0, text
    assert rows(tmp_path / "out") == rows(whole / "out")
    assert 6 <= len(calls(tmp_path)) <= 7  # what was under way is evaluated again, nothing else
    assert set(calls(tmp_path)) == set(calls(whole))


def test_ctrl_c_waits_for_what_is_under_way_reports_and_goes_on_later(whole, tmp_path):
    write(tmp_path, pause=0.4)
    process = start(tmp_path, "--workers", "1")
    wait_for(4, tmp_path, process)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Stopping after this step" in err
    assert "the same command goes on" in err
    table = rows(tmp_path / "out")
    assert len(table) == 4 == len(calls(tmp_path))
    assert all(row["status"] in ("told", "failed") for row in table)
    assert (tmp_path / "out" / "report.html").exists()
    assert table == rows(whole / "out")[:4]


def test_a_second_ctrl_c_ends_what_is_under_way(tmp_path):
    write(tmp_path, pause=60)
    process = start(tmp_path)
    wait_for(1, tmp_path, process)
    process.send_signal(signal.SIGINT)
    assert "Stopping after this step" in "".join(process.stderr.readline() for _ in range(3))
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 130
    assert rows(tmp_path / "out")[0]["status"] == "under way"


def test_several_at_once_are_killed_and_go_on_as_uninterrupted(tmp_path):
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        write(folder, STUDY.replace("initial = 3", "initial = 4"), pause=0.1)
    process = start(folders[1], "--workers", "3")
    wait_for(4, folders[1], process)
    process.kill()
    process.communicate()
    for folder in folders:
        assert call(folder / "reactor.toml", "--out", folder / "out", "--workers", "3")[0] == 0
    assert rows(folders[1] / "out") == rows(folders[0] / "out")


def test_hanging_commands_are_ended_and_a_study_where_all_fail_says_so(tmp_path):
    path = write(tmp_path, STUDY.replace("timeout = 20", "timeout = 0.3").replace("= 6", "= 2"), pause=30)
    started = time.monotonic()
    code, text = call(path, "--out", tmp_path / "out", "--workers", "2")
    assert time.monotonic() - started < 20
    assert code == 1
    assert "No evaluation gave a value" in text
    assert text.index("No evaluation gave a value") < text.index("Drawing the report.")
    assert "What failed" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "it took longer than 0.3 s and was ended" in text
    assert {row["status"] for row in rows(tmp_path / "out")} == {"failed"}


def test_a_study_that_was_changed_in_what_matters_is_refused_with_what_changed(whole):
    path, out = whole / "reactor.toml", whole / "out"
    good = path.read_text(encoding="utf-8")
    try:
        path.write_text(good.replace("high = 90", "high = 95"), encoding="utf-8")
        code, text = call(path, "--out", out)
        assert code != 0
        assert "reactor.toml, space.t.high, line 8: expected space.t.high = 90, as when the run in" in text
        assert "got space.t.high = 95" in text
        path.write_text(good.replace('"{metal}"]', '"{metal}", "-v"]'), encoding="utf-8")
        assert "instruments.waste.command, line 12" in call(path, "--out", out)[1]
        path.write_text(good.replace("<1>", "<2>").replace("timeout = 20", "timeout = 10"), encoding="utf-8")
        assert call(path, "--out", out)[0] == 0
    finally:
        path.write_text(good, encoding="utf-8")


def test_starting_over_keeps_the_earlier_run_under_another_name(tmp_path):
    path = write(tmp_path, STUDY.replace("evaluations = 6", "evaluations = 1"))
    assert call(path, "--out", tmp_path / "out")[0] == 0
    assert call(path, "--out", tmp_path / "out", "--fresh")[0] == 0
    assert len(calls(tmp_path)) == 2
    assert rows(tmp_path / "out.old-1") == rows(tmp_path / "out")


def test_two_runs_in_one_folder_are_refused(tmp_path):
    write(tmp_path, pause=1.0)
    process = start(tmp_path)
    try:
        wait_for(1, tmp_path, process)
        code, text = call(tmp_path / "reactor.toml", "--out", tmp_path / "out")
        assert code != 0
        assert "another run is at work there" in text
    finally:
        process.kill()
        process.communicate()


def test_a_mistake_in_the_file_is_one_line_with_exit_code_2(tmp_path):
    path = write(tmp_path, STUDY.replace("levels =", "level ="))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "optimise", path], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "reactor.toml, space.metal.level, line 9" in done.stderr
    assert "expected one of the keys kind, low" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_python_function_is_maximised(tmp_path):
    (tmp_path / "model.py").write_text("def score(place):\n    return 3 - (place['x'] - 0.25) ** 2\n")
    path = tmp_path / "study.toml"
    path.write_text(
        '[study]\ngoal = "maximise"\nevaluations = 4\ninitial = 3\n[space]\nx = { low = 0, high = 1 }\n'
        '[instruments.score]\nfunction = "model:score"\nnoise = 0\n'
    )
    code, text = call(path, "--out", tmp_path / "out")
    assert code == 0, text
    assert float(re.search(r"Largest value: ([\d.]+) at x", text)[1]) > 2.9


def test_a_study_to_begin_with_is_written_and_never_over_another(tmp_path):
    path = tmp_path / "new.toml"
    assert call(path, "--init")[0] == 0
    assert "[space]" in path.read_text(encoding="utf-8")
    code, text = call(path, "--init")
    assert code != 0
    assert "a file that is not there yet" in text


def test_how_many_evaluations_is_said_by_the_study_or_the_command(tmp_path):
    path = write(tmp_path, STUDY.replace("evaluations = 6\n", ""))
    code, text = call(path, "--out", tmp_path / "out")
    assert code != 0
    assert "study, line 1: expected the key evaluations" in text
    assert "--evaluations" in text
    assert call(path, "--out", tmp_path / "out", "--evaluations", "1")[0] == 0


def test_the_help_says_how_a_study_begins():
    result = CliRunner().invoke(app, ["optimise", "--help"], env={"COLUMNS": "200", **os.environ, "TERM": "dumb"})
    for expected in ("STUDY.toml", "--workers", "--init", "--fresh", "--evaluations", "goes on"):
        assert expected in result.output


def test_every_kind_of_dimension_is_evaluated_and_drawn(tmp_path):
    """With parts of a mixture, a condition, a limit and what is fixed; the command reads its place from its input."""
    (tmp_path / "simulate.py").write_text(
        "import json, sys\np = json.loads(sys.stdin.readline())\n"
        "assert abs(p['water'] + p['oil'] - 1) < 1e-9 and p['t'] + 10 * p['n'] <= 120.001 and p['bar'] == 1.5\n"
        "assert (p['h'] is None) == (p['metal'] == 'Cu') and isinstance(p['n'], int)\n"
        "print(json.dumps({'loss': p['t'] / 50 + p['water'] + p['n'] + (p['h'] or 0)}))\nprint('Done.')\n"
    )
    path = tmp_path / "all.toml"
    path.write_text(
        '[study]\ngoal = "minimise"\nevaluations = 6\ninitial = 5\n[space]\nt = { low = 20, high = 90, unit = "°C" }\n'
        'c = { low = 1e-6, high = 1e-2, log = true }\nn = { kind = "integer", low = 1, high = 8 }\n'
        'metal = { levels = ["Pd", "Cu"] }\nh = { low = 1, high = 5, when = { metal = "Pd" } }\n'
        "size = { levels = [10, 20, 50], ordered = true }\nbar = { value = 1.5 }\n"
        'mix = { parts = ["water", "oil"], low = { water = 0.2 } }\n'
        "[[limits]]\nweights = { t = 1, n = 10 }\nmost = 120\n"
        f'[instruments.loss]\ncommand = ["{sys.executable}", "simulate.py"]\nanswer = "loss"\n',
        encoding="utf-8",
    )
    code, text = call(path, "--out", tmp_path / "out", "--workers", "2")
    assert code == 0, text
    assert {row["status"] for row in rows(tmp_path / "out")} == {"told"}
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "over 8 dimensions" in page
    assert "believed to be" in text  # the noise is learned


def test_what_acts_together_is_said_where_the_model_knows_it():
    from types import SimpleNamespace

    from gainful.studies.report import interacting

    query = gf.Query(gf.Point(), [0.1, 0.2, 0.3])
    campaign = SimpleNamespace(
        belief=SimpleNamespace(together=[[1, 0.9, 0.2], [0.9, 1, 0.6], [0.2, 0.6, 1]]),
        history=[SimpleNamespace(query=query)],
    )
    assert interacting(campaign) == [("x1", "x0", 0.9), ("x2", "x1", 0.6)]
    assert interacting(SimpleNamespace(belief=SimpleNamespace(), history=[])) == []


def test_the_last_words_are_said_where_nothing_gave_a_value(tmp_path):
    (tmp_path / "model.py").write_text("def score(place):\n    raise ValueError('no solvent')\n")
    path = tmp_path / "study.toml"
    path.write_text(
        '[study]\ngoal = "maximise"\nevaluations = 2\n[space]\nx = { low = 0, high = 1 }\n'
        '[instruments.score]\nfunction = "model:score"\n'
    )
    code, text = call(path, "--out", tmp_path / "out")
    assert code == 1
    assert "(the last: ValueError: no solvent)" in text
    assert "raise ValueError('no solvent')" in text  # the end of its traceback
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "What failed" in page
    assert "ValueError: no solvent" in page


def test_a_report_is_drawn_far_from_zero(tmp_path):
    """Where a band about a known value is as narrow as the rounding of that value."""
    (tmp_path / "model.py").write_text(
        "def score(p):\n    if p['n'] == 5:\n        raise RuntimeError('no')\n"
        "    return 1e5 - (p['n'] - 3) ** 2 - {'Pd': 0, 'Ni': 1}[p['metal']]\n"
    )
    path = tmp_path / "study.toml"
    path.write_text(
        '[study]\ngoal = "maximise"\nevaluations = 9\n[space]\nx = { low = 1e-6, high = 1e-2, log = true }\n'
        'n = { kind = "integer", low = 1, high = 5 }\nmetal = { levels = ["Pd", "Ni"] }\n'
        '[instruments.score]\nfunction = "model:score"\nnoise = 0\n'
    )
    code, text = call(path, "--out", tmp_path / "out")
    assert code == 0, text
    assert "Largest value: " in text
