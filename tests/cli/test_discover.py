"""`gainful discover` from the outside: what a spreadsheet may look like, and what is said of it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import gainful as gf
from gainful.beliefs.programs import Progress
from gainful.cli.app import app
from gainful.discovery import Calendar, discover, read_series
from gainful.discovery.calendar import read_dates
from gainful.discovery.series import MOST_ROWS

QUICK = ("--particles", "6")


def call(*words: str) -> tuple[int, str]:
    """In this process: exit code and everything that was printed."""
    result = CliRunner().invoke(app, ["discover", *words])
    if result.exception is not None and not isinstance(result.exception, SystemExit | gf.InvalidInput):
        raise result.exception
    return result.exit_code, result.output + (str(result.exception) if result.exception else "")


def write(path: Path, header: str, rows: list[str]) -> str:
    path.write_text("\n".join([header, *rows]) + "\n")
    return str(path)


def monthly(count: int = 36) -> list[tuple[str, float]]:
    return [
        (f"{2015 + i // 12}-{i % 12 + 1:02d}", round(20.0 + 0.1 * i + 5.0 * float(np.sin(2 * np.pi * i / 12)), 3))
        for i in range(count)
    ]


def test_a_table_with_dates_gaps_and_words_gives_a_summary_and_a_report(tmp_path: Path) -> None:
    rows = [f"{month},{'' if i == 7 else value},{'ok' if i % 3 else 'late'}" for i, (month, value) in
            enumerate(monthly())]  # fmt: skip
    table = write(tmp_path / "yield.csv", "month,yield (kg),remark", rows)
    code, text = call(table, "--answer", "yield (kg)", "--out", str(tmp_path / "out"), "--particles", "20")
    assert code == 0, text
    for expected in (
        "yield.csv: 35 rows, yield along month",
        "columns of words left out: remark",
        "1 of 36 rows left out, which have gaps (yield (kg) 1)",
        "What 35 answers show: a cycle:",
        "Noise of yield: a standard deviation of",
        "kg",
        "Inside the range: at 201",
        "Ahead: at 2018-",
        "report.html",
    ):
        assert expected in text, expected
    page = (tmp_path / "out" / "report.html").read_text()
    assert page.count("data:image/png;base64,") >= 4
    assert not re.search(r"(src|href)=\"?http", page)  # nothing from elsewhere
    for expected in ("What “yield” shows", "What to expect", "What to measure next", "gainful discover", "remark"):
        assert expected in page, expected


def test_a_period_of_dates_is_said_in_the_unit_that_fits() -> None:
    from datetime import datetime

    calendar = Calendar("day", datetime(2020, 1, 1), (0.0, 900.0))
    assert calendar.extent([364.0, 365.0, 366.0]) == "0.999 (0.997 to 1.002) years"
    assert calendar.extent([90.0, 91.3, 93.0]) == "3.00 (2.96 to 3.06) months"
    assert calendar.extent([6.9, 7.0, 7.1]) == "7.0 (6.9 to 7.1) days"
    assert calendar.extent([0.4, 0.5, 0.6]) == "12 (10 to 14) hours"
    assert calendar.place([10.0, 31.0, 60.0]) == "2020-02-01 (2020-01-11 to 2020-03-01)"


@pytest.mark.parametrize(
    ("cells", "first", "days"),
    [
        (["2020-01-31", "2020-02-01"], "2020-01-31", 1.0),
        (["2020-01", "2020-03"], "2020-01-01", 60.0),
        (["31.12.2019", "01.01.2020"], "2019-12-31", 1.0),
        (["01/31/2020", "02/01/2020"], "2020-01-31", 1.0),
        (["31/01/2020", "01/02/2020"], "2020-01-31", 1.0),
        (["5 Jan 2020", "7 Jan 2020"], "2020-01-05", 2.0),
        (["Jan 2020", "Feb 2020"], "2020-01-01", 31.0),
        (["2019Q4", "2020Q1"], "2019-10-01", 92.0),
        (["2020-01-01T00:00:00Z", "2020-01-01T12:00:00Z"], "2020-01-01", 0.5),
        (["2020-01-01 06:00", "2020-01-02 06:00"], "2020-01-01", 1.0),
    ],
)
def test_dates_are_read_as_spreadsheets_write_them(cells: list[str], first: str, days: float) -> None:
    found = read_dates(cells)
    assert found is not None
    (one, other), _ = found
    assert f"{one:%Y-%m-%d}" == first
    assert (other - one).total_seconds() / 86400.0 == days


def test_a_date_that_can_be_read_in_two_ways_is_said() -> None:
    found = read_dates(["01/02/2020", "03/02/2020"])
    assert found is not None
    assert "was read as 2020-02-01" in found[1]
    assert read_dates(["spring", "autumn"]) is None


def test_numbers_like_20241231_are_dates_where_all_are(tmp_path: Path) -> None:
    table = write(tmp_path / "t.csv", "day,y", [f"202401{i:02d},{i % 5}" for i in range(1, 15)])
    series = read_series(table, "y")
    assert series.calendar is not None
    assert series.X[:, 0].tolist() == [float(i) for i in range(14)]


def refused(tmp_path: Path, header: str, rows: list[str], *words: str) -> str:
    table = write(tmp_path / "t.csv", header, rows)
    code, text = call(table, *words, *QUICK, "--out", str(tmp_path / "out"))
    assert code != 0
    assert not (tmp_path / "out").exists()
    return text


def test_what_cannot_be_explained_is_refused_with_what_to_do(tmp_path: Path) -> None:
    rows = [f"{i},{i * i},3,{'ab'[i % 2]}" for i in range(9)]
    header = "time,height,flat,kind"
    assert "a column among time, height, flat, kind" in refused(tmp_path, header, rows, "--answer", "hieght")
    assert "did you mean height?" in refused(tmp_path, header, rows, "--answer", "hieght")
    assert "3 in all 9 rows of flat" in refused(tmp_path, header, rows, "--answer", "flat")
    assert "a column of numbers" in refused(tmp_path, header, rows, "--answer", "kind")
    assert "'a' in kind" in refused(tmp_path, header, rows, "--answer", "kind")
    words = refused(tmp_path, header, rows, "--answer", "height", "--inputs", "kind")
    assert "columns of numbers or of dates" in words
    assert "a column among" in refused(tmp_path, header, rows, "--answer", "height", "--inputs", "tme")
    assert "a column that varies" in refused(tmp_path, header, rows, "--answer", "height", "--inputs", "flat")
    assert "at least 3 rows" in refused(tmp_path, header, rows[:2], "--answer", "height")


def test_changes_are_looked_for_where_one_asks(tmp_path: Path) -> None:
    rows = [f"{i},{(5.0 if i < 15 else 25.0) + 0.1 * (i % 3)}" for i in range(30)]
    table = write(tmp_path / "level.csv", "time,level", rows)
    code, text = call(table, "--answer", "level", "--out", str(tmp_path), "--particles", "30", "--changes")
    assert code == 0, text
    assert "change" in text
    assert "--changes" in (tmp_path / "report.html").read_text()


def test_three_rows_are_an_honest_result(tmp_path: Path) -> None:
    table = write(tmp_path / "t.csv", "time,y", ["0,1.0", "1,3.0", "2,2.0"])
    code, text = call(table, "--answer", "y", "--out", str(tmp_path / "out"), "--particles", "40")
    assert code == 0, text
    assert "What 3 answers show" in text
    assert "none of its parts are sure" in text


def test_repeated_times_and_several_inputs_are_fine(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [f"{i // 2},{rng.random():.3f},{i % 7 + rng.normal():.3f}" for i in range(24)]
    table = write(tmp_path / "t.csv", "time,heat,y", rows)
    code, text = call(table, "--answer", "y", "--out", str(tmp_path / "out"), *QUICK)
    assert code == 0, text
    assert "12 rows repeat the inputs of another" in text
    assert "columns not used: heat; --inputs names others" in text
    code, text = call(table, "--answer", "y", "--inputs", "time,heat", "--out", str(tmp_path / "out"), *QUICK)
    assert code == 0, text
    assert "y along time, heat" in text
    assert "How well it fits" in (tmp_path / "out" / "report.html").read_text()


def test_without_a_column_to_go_along_rows_are_numbered(tmp_path: Path) -> None:
    series = read_series(write(tmp_path / "t.csv", "y,kind", [f"{i % 3},a" for i in range(6)]), "y")
    assert [axis.name for axis in series.axes] == ["row"]
    assert any("the rows are numbered" in note for note in series.notes)


def test_of_very_many_rows_an_even_part_is_taken_and_said(tmp_path: Path) -> None:
    rows = [f"{i},{i % 7}" for i in range(2000)]
    series = read_series(write(tmp_path / "t.csv", "time,y", rows), "y")
    assert len(series.y) == MOST_ROWS
    assert series.X[0, 0] == 0.0
    assert series.X[-1, 0] == 1999.0
    assert np.ptp(np.diff(series.X[:, 0])) <= 1.0
    assert any("2000 rows are many: 800 of them were taken" in note for note in series.notes)


def test_an_interrupted_search_reports_what_is_believed_so_far(tmp_path: Path) -> None:
    series = read_series(write(tmp_path / "t.csv", "time,y", [f"{i},{np.sin(i):.3f}" for i in range(30)]), "y")
    steps = 0

    def stop(progress: Progress) -> None:
        nonlocal steps
        steps += 1
        if steps == 2:
            raise KeyboardInterrupt

    found = discover(series, particles=6, watch=stop)
    assert 0.0 < found.done < 1.0
    assert len(found.belief.data) == 30
    assert found.belief.weights.sum() == pytest.approx(1.0)


@pytest.mark.skipif(os.name == "nt", reason="a signal that Windows has not")
def test_ctrl_c_writes_the_report_and_says_how_far_it_came(tmp_path: Path) -> None:
    rows = [f"{month},{value}" for month, value in monthly(160)]
    table = write(tmp_path / "t.csv", "month,y", rows)
    words = [sys.executable, "-m", "gainful", "discover", table, "--answer", "y", "--particles", "60"]
    run = subprocess.Popen(
        [*words, "--out", str(tmp_path / "out")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert run.stderr is not None
    while not re.match(r"\d+ %", run.stderr.readline()):  # the first line of progress: the search is under way
        assert run.poll() is None
        time.sleep(0.01)
    run.send_signal(signal.SIGINT)
    try:
        text, errors = run.communicate(timeout=300)
    finally:
        run.kill()
    assert run.returncode == 130
    assert "Stopping after this step; Ctrl-C again stops at once." in errors
    assert re.search(r"Interrupted after \d+ % of the search", errors)
    assert "What 160 answers show" in text
    assert "The search was interrupted" in (tmp_path / "out" / "report.html").read_text()
