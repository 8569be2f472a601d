"""`gainful compare` from the outside: what is printed, what is written, and the exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import gainful as gf
from gainful.cli.app import app

COMMAND = [sys.executable, "-c", "from gainful.cli import main; main()"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a table; the current one."""
    rng = np.random.default_rng(1)
    lines = ["id,x,y,colour,kind"]
    for i, (x, y) in enumerate(rng.normal(size=(50, 2))):
        lines.append(f"{i},{x:.4f},{y:.4f},{'red' if i % 3 else 'blue'},{'in' if x**2 + y**2 < 1.2 else 'out'}")
    (tmp_path / "field.csv").write_text("\n".join([*lines, "50,,1.0,red,in"]) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*words: str) -> tuple[int, str]:
    """In this process: exit code and everything that was printed."""
    result = CliRunner().invoke(app, ["compare", *words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def test_one_command_compares_says_what_it_left_out_and_writes_a_report(here: Path) -> None:
    words = ("field.csv", "--answer", "kind", "--splits", "3", "--answers", "4", "--processes", "0")
    code, text = call(*words, "--strategies", "bald,random,activeml:UncertaintySampling:method=entropy")
    assert code == 0, text
    for expected in (
        "field.csv: 50 rows, 2 inputs (x, y), yes/no answers in kind",
        "1 column of words left out: colour (has 'blue')",
        "1 column of row numbers left out: id",
        "1 row with missing values left out (by column: x 1)",
        "kind: yes is out, no is in",
        "3 splits into a pool of 25 and 25 test rows; 5 random answers, then 4 queries by each of 3 strategies",
        "Fewer than 20 splits",
        "less random's",
        "activeml:UncertaintySampling:method=entropy",
        "the reference",
        "seconds",
        "Written to out/compare/field-kind: report.html",
    ):
        assert expected in text
    result = json.loads((here / "out/compare/field-kind/result.json").read_text())
    assert result["common"]["notes"][0].startswith("1 column of words")
    page = (here / "out/compare/field-kind/report.html").read_text()
    assert "Strategies compared" in page
    assert "Published" not in page
    assert page.count("data:image/png") == 2
    with pytest.raises(gf.InvalidInput, match=r"a run with strategies \['bald', 'entropy'\].*, got .*--fresh"):
        call(*words, "--strategies", "bald,entropy")


def test_what_is_not_accepted_is_one_line_and_exit_code_2(here: Path) -> None:
    words = ("compare", "field.csv", "--answer", "knd")
    done = subprocess.run([*COMMAND, *words], cwd=here, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    expected = "gainful: answer: expected a column among id, x, y, colour, kind, got knd; did you mean kind?"
    assert done.stderr.splitlines() == [expected]


def test_a_folder_that_cannot_be_written_is_said_before_anything_runs(here: Path) -> None:
    (here / "file").touch()
    with pytest.raises(gf.InvalidInput, match="--out: expected a folder that can be made, got file/out"):
        call("field.csv", "--answer", "kind", "--out", "file/out")


def test_help_loads_neither_figures_nor_experiments() -> None:
    program = (
        "import sys\nfrom gainful.cli import main\nsys.argv = ['gainful', 'compare', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(sorted({'matplotlib', 'skactiveml', 'gainful.reproduce'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert "--hyperparameters" in out
    assert out.splitlines()[-1] == "[]"
