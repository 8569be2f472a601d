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
from gainful.cli.compare import _remarks, _usual_folder
from gainful.cli.tables import _with_half
from gainful.lab.comparison_statistics import Measure, Standing
from gainful.lab.statistics import Estimate

COMMAND = [sys.executable, "-m", "gainful"]


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
        "  always saying",
        "Fewer than 5 splits: too few to say what is beyond chance",
        "too few splits",
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
    assert "· too few splits" in page
    assert "does not hold" not in page
    with pytest.raises(gf.InvalidInput, match=r"a run with strategies \['bald', 'entropy'\].*, got .*fresh"):
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


@pytest.mark.parametrize(("out", "words"), [("", "the name of a folder, got nothing"), ("file", "file, which is a")])
def test_an_out_that_is_no_folder_is_refused_before_the_table_is_read(here: Path, out: str, words: str) -> None:
    (here / "file").touch()
    with pytest.raises(gf.InvalidInput, match=f"--out: .*{words}"):
        call("absent.csv", "--answer", "kind", "--out", out)


def test_long_names_make_short_folders_and_none_outside() -> None:
    assert _usual_folder(Path("a/b.csv"), "../y") == Path("out/compare/b-..-y")
    long, other = (_usual_folder(Path("b.csv"), "y" * 300 + end) for end in "ab")
    assert long != other
    assert len(long.name) < 100
    assert _usual_folder(Path("b.csv"), "two\nlines").name == "b-two-lines"


def test_a_closed_pipe_loses_no_file(here: Path) -> None:
    words = ["compare", "field.csv", "--answer", "kind", "--strategies", "bald,random", "--splits", "2"]
    words += ["--answers", "2", "--processes", "0"]
    with subprocess.Popen([*COMMAND, *words], cwd=here, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        process.stdout.readline()
        process.stdout.close()
    assert (here / "out/compare/field-kind/report.html").exists()


def test_what_the_start_was_enough_for_and_what_did_not_converge_is_said() -> None:
    some, measure = Estimate(0.9, 0.8, 1.0), Measure("accuracy", "accuracy")
    enough = Standing("a", measure, "b", some, some, some, some, (5, 5), 2, 5)
    later = Standing("b", measure, "b", some, some, None, None, (5, 6), 2, 5)
    timing = {"strategy": "a", "queries": 3, "seconds": 0.6, "unconverged": 0}
    assert _remarks([enough, later], [timing]) == []
    start, fits = _remarks([enough], [timing, timing | {"unconverged": 2}])
    assert start.startswith(
        "97.5 % of the whole pool is there with the 5 random answers of the start, before the first"
    )
    assert fits == "2 fits did not converge; timings.csv says where."


@pytest.mark.parametrize(
    ("mean", "half", "words"),
    [
        (0.893, 0.013, "+0.893 ± 0.013"),
        (-0.00001, 0.02, "+0.000 ± 0.020"),
        (1.234e12, 5.6e10, "(+1.234 ± 0.056)e+12"),
        (-1.2e-12, 5e-14, "(-1.200 ± 0.050)e-12"),
        (104.2, 1.5, "+104.2 ± 1.5"),
        (0.0, 0.0, "+0"),
        (0.25, 0.0, "+0.250 ± 0.000"),
    ],
)
def test_numbers_of_any_size_have_digits_that_matter(mean: float, half: float, words: str) -> None:
    assert _with_half(Estimate(mean, mean - half, mean + half), "+") == words


def test_help_loads_neither_figures_nor_experiments() -> None:
    program = (
        "import sys\nfrom gainful.cli import main\nsys.argv = ['gainful', 'compare', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(sorted({'matplotlib', 'skactiveml', 'gainful.lab', 'gainful.papers'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert "--hyperparameters" in out
    assert out.splitlines()[-1] == "[]"
