"""The examples run, from any folder, and say what they promise."""

import re
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def test_the_example_of_batches_orders_resumes_and_corrects(tmp_path):
    done = subprocess.run(
        [sys.executable, EXAMPLES / "batches.py", tmp_path], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "day 3" in done.stdout
    assert "going on from the journal" in done.stdout
    assert "the budget of 80" in done.stdout
    assert not done.stderr
    events = (tmp_path / "moisture.jsonl").read_text()
    assert events.count('"event": "created"') == 1
    assert "the bags were swapped" in events


def test_the_example_of_comparing_says_who_is_better_and_what_it_left_out(tmp_path):
    done = subprocess.run(
        [sys.executable, EXAMPLES / "compare.py", tmp_path], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "1 column of row numbers left out: well" in done.stdout
    assert done.stdout.count("the reference") == 2
    assert not done.stderr
    assert (tmp_path / "wells" / "report.html").exists()


def test_the_example_of_a_region_measures_where_it_matters(tmp_path):
    done = subprocess.run(
        [sys.executable, EXAMPLES / "region.py", tmp_path / "region.png"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "to learn the whole river: 19 % of the tests" in done.stdout
    assert "to learn the stretch: 90 % of the tests" in done.stdout
    assert not done.stderr
    assert (tmp_path / "region.png").stat().st_size > 10_000


def test_the_example_of_discovering_says_what_a_series_is_made_of(tmp_path):
    done = subprocess.run(
        [sys.executable, EXAMPLES / "discover.py", tmp_path / "well.png"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "a cycle that repeats every 1.0" in done.stdout
    assert "a straight trend, which rises by 3.9" in done.stdout
    assert "would tell most about the programs" in done.stdout
    assert not done.stderr
    assert (tmp_path / "well.png").stat().st_size > 10_000


def test_the_example_of_hearing_measures_both_ears(tmp_path):
    done = subprocess.run(
        [sys.executable, EXAMPLES / "hearing.py", tmp_path / "audiogram.png"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "After 40 tones" in done.stdout
    assert done.stdout.count(" Hz  ") == 14
    assert "Kind of ear: mild" in done.stdout
    off = float(done.stdout.split("Off by ")[1].split(" dB")[0])
    assert off < 5.0
    assert not done.stderr
    assert (tmp_path / "audiogram.png").stat().st_size > 10_000


def test_the_example_of_hard_answers_says_how_far_the_bands_are_off(tmp_path):
    done = subprocess.run(
        [sys.executable, EXAMPLES / "hard_answers.py", tmp_path / "hard_answers.png"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.count("bands of 95% hold") == 2
    assert "asked again it would tell 0 bits" in done.stdout
    assert not done.stderr
    assert (tmp_path / "hard_answers.png").stat().st_size > 10_000


def test_the_example_of_all_defaults_learns_what_nobody_stated(tmp_path):
    done = subprocess.run(
        [sys.executable, EXAMPLES / "all_defaults.py", "60"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    table = [line.split() for line in done.stdout.splitlines()[2:6]]
    assert [float(row[0]) for row in table] == sorted(float(row[0]) for row in table)
    assert all(0.7 <= float(row[-1].rstrip("%")) / 100 <= 1.0 for row in table)
    assert "f is believed to be largest at temperature" in done.stdout
    assert "bits about the function" in done.stdout
    assert not done.stderr


def test_the_example_of_minimising_finds_the_relaxation_that_theory_knows(tmp_path):
    done = subprocess.run(
        [sys.executable, EXAMPLES / "minimise.py", tmp_path / "solver.jsonl"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "success: True" in done.stdout
    assert "ArithmeticError: the sweeps diverge" in done.stdout
    found, theory = (float(x) for x in re.search(r"Relaxation ([\d.]+), .*: ([\d.]+)", done.stdout).groups())
    assert abs(found - theory) < 0.1
    assert not done.stderr


def test_the_example_of_interactions_finds_who_acts_together(tmp_path):
    picture = tmp_path / "interactions.png"
    done = subprocess.run(
        [sys.executable, EXAMPLES / "interactions.py", picture],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "temperature and pressure act together" in done.stdout
    assert "pH and dose act together" in done.stdout
    assert picture.stat().st_size > 10_000
