"""`gainful reproduce` from the outside: what is printed, and the exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import gainful as gf
from gainful.cli.app import app
from gainful.papers import experiments, find

OWN = """
from pathlib import Path
from gainful.lab import Claim, Experiment

def run(setting, seed):
    if setting["i"] == 1 and Path("broken").exists():
        raise ValueError("as asked")
    return [{"x": setting["i"]}]

def claims(rows):
    return [Claim("all is well", None, 1.0, 1.0, 1.0, True)]

MINE = Experiment("mine", "My own", "my notebook", {}, lambda quick: [{"i": i} for i in range(2 if quick else 3)],
                  run, claims, lambda rows, folder: [])
"""
COMMAND = [sys.executable, "-m", "gainful"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an experiment of one's own; the current one."""
    (tmp_path / "own_experiment.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "own_experiment", raising=False)
    return tmp_path


def call(*words: str) -> tuple[int, str]:
    """In this process: exit code and everything that was printed."""
    result = CliRunner().invoke(app, ["reproduce", *words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def test_an_experiment_of_ones_own_runs_from_the_current_folder_and_is_reported(here: Path) -> None:
    code, text = call("run", "own_experiment:MINE", "--quick", "--processes", "0")
    assert code == 0
    assert "✓ holds" in text
    assert json.loads((here / "out/reproduce/mine-quick/result.json").read_text())["repetitions"] == 2
    code, text = call("run", "own_experiment:MINE", "--processes", "1")
    assert (code, "3 of 3 finished" in text) == (0, True)
    code, text = call("report")
    assert (code, text.count("My own (my notebook")) == (0, 2)
    assert (here / "out/reproduce/report.html").exists()


def test_a_failure_is_shown_with_its_setting_and_traceback_and_exits_with_1(here: Path) -> None:
    (here / "broken").touch()
    code, text = call("run", "own_experiment:MINE", "--processes", "0")
    assert code == 1
    for words in ('{"i":1} failed', "ValueError: as asked", "Failed: 1. Finished and kept: 2.", "tries again"):
        assert words in text
    (here / "broken").unlink()
    code, text = call("run", "own_experiment:MINE", "--processes", "0")
    assert (code, "3 repetitions, 2 finished before" in text) == (0, True)


def test_the_list_names_every_experiment_and_missing_data(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, text = call("list")
    assert code == 0
    assert all(name in text for name in experiments())
    monkeypatch.delenv("GAINFUL_DATA", raising=False)
    mine = replace(find("own_experiment:MINE"), data=("wine.csv",))
    monkeypatch.setattr("gainful.papers.experiments", lambda: {"mine": mine})
    code, text = call("list")
    assert code == 0
    assert [words in text for words in ("mine", "my notebook", "My own", "missing: wine.csv")] == [True] * 4


def test_options_that_exclude_each_other_are_refused(here: Path) -> None:
    code, text = call("run", "own_experiment:MINE", "--dask", "tcp://127.0.0.1:1", "--processes", "2")
    assert (code, "either --processes or --dask" in text) == (2, True)


def test_what_is_not_accepted_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "reproduce", "run", "nothing-like-it"], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("gainful: name: expected one of")
    assert len(done.stderr.splitlines()) == 1


def test_help_and_version_load_neither_figures_nor_clusters() -> None:
    program = (
        "import sys\nfrom gainful.cli import main\nsys.argv = ['gainful', *{!r}]\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(sorted({{'matplotlib', 'distributed', 'dask', 'gainful.lab', 'gainful.papers'}} & set(sys.modules)))"
    )
    for words, expected in [(["--version"], f"gainful {gf.__version__}"), (["reproduce", "run", "--help"], "--quick")]:
        out = subprocess.run(
            [sys.executable, "-c", program.format(words)], capture_output=True, text=True, check=True
        ).stdout
        assert expected in out
        assert out.splitlines()[-1] == "[]"


def test_without_typer_the_extra_is_named() -> None:
    program = "import sys; sys.modules['typer'] = None; from gainful.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, "gainful[cli]" in done.stderr) == (2, True)
