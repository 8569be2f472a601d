"""`gainful demo`: the survey spends no more than it may, the display shows it, and the report needs nothing else."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

import gainful as gf
from gainful.cli.app import app
from gainful.demo import fields, live, report
from gainful.demo.survey import (
    BUDGET,
    GOALS,
    INSTRUMENTS,
    NEUTRAL,
    PER_SIDE,
    Comparison,
    Field,
    Moment,
    Plan,
    Result,
    Step,
    survey,
)

COSTS = {instrument.label: instrument.cost for instrument in INSTRUMENTS}


def moment(seed: int, strategy: str, errors: Sequence[float], done: bool = True) -> Moment:
    """A survey that looked at one place after the other, with these errors."""
    flat = np.full((PER_SIDE, PER_SIDE), NEUTRAL)
    plans = [Plan("look", (0.1 * i, 0.0), 3.0, 1.0, (NEUTRAL, 1.0), "as asked") for i in range(len(errors) + 1)]
    steps = tuple(
        Step(plan, "acid", 3.0 * i, error) for i, (plan, error) in enumerate(zip(plans, errors, strict=False), start=1)
    )
    return Moment(seed, strategy, steps, flat, flat / 10.0, errors[-1], 0.9, None if done else plans[-1])


def comparison(seed: int, ours: float, theirs: float) -> Comparison:
    truth = np.full((PER_SIDE, PER_SIDE), NEUTRAL + 2.0)
    errors = {"gainful": [1.5, ours], "random": [1.8, theirs]}
    return Comparison(seed, truth, {name: moment(seed, name, errors[name]) for name in GOALS})


def call(*words: str) -> tuple[int, str, str]:
    """Exit code, standard output, standard error."""
    result = CliRunner().invoke(app, ["demo", *words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A demonstration on two fields, in processes of its own: its folder and what it printed."""
    folder = tmp_path_factory.mktemp("demo")
    code, printed, said = call("--quick", "--fields", "2", "--seed", "0", "--out", str(folder))
    assert code == 0
    return folder, printed, said


def queries(folder: Path) -> list[dict[str, str]]:
    with (folder / "queries.csv").open() as stream:
        return list(csv.DictReader(stream))


def test_the_result_is_one_line_and_agrees_with_the_table_of_queries(run: tuple[Path, str, str]) -> None:
    folder, printed, _ = run
    last = {(row["field"], row["strategy"]): float(row["rmse_ph"]) for row in queries(folder)}
    ours, theirs = (np.mean([last[seed, name] for seed in ("0", "1")]) for name in ("gainful", "random"))
    found = re.fullmatch(
        r"gainful: error (\S+) ± \S+ pH against (\S+) ± \S+ for random after spending 60 "
        r"\(better on [0-2] of 2 fields; ratio (\S+), 95 % interval \S+ to \S+\)\. Report: (\S+)\n",
        printed,
    )
    assert found is not None
    assert [float(found[i]) for i in (1, 2, 3)] == pytest.approx([ours, theirs, ours / theirs], abs=0.006)
    assert Path(found[4]) == folder / "report.html"


def test_nobody_spends_more_than_the_budget_or_stops_while_something_can_be_paid_for(
    run: tuple[Path, str, str],
) -> None:
    spent: dict[tuple[str, str], float] = {}
    for row in queries(run[0]):
        key = row["field"], row["strategy"]
        spent[key] = spent.get(key, 0.0) + COSTS[row["instrument"]]
        assert spent[key] == float(row["spent"])
    assert len(spent) == 4
    assert all(BUDGET - min(COSTS.values()) < each <= BUDGET for each in spent.values())


def test_the_same_seed_gives_the_same_survey_here_and_in_another_process(run: tuple[Path, str, str]) -> None:
    theirs = [row for row in queries(run[0]) if row["field"] == "1" and row["strategy"] == "random"]
    *_, last = survey(Field.draw(1), "random")
    assert [row["answer"] for row in theirs] == [step.answer for step in last.steps]
    assert [float(row["rmse_ph"]) for row in theirs] == pytest.approx([s.error for s in last.steps], abs=1e-4)


def test_into_a_log_goes_every_query_of_the_first_field_and_every_field(run: tuple[Path, str, str]) -> None:
    folder, _, said = run
    asked = [row for row in queries(folder) if row["field"] == "0" and row["strategy"] == "gainful"]
    lines = said.splitlines()
    assert lines[0].startswith("Field 0, query by query")
    for number, row in enumerate(asked, start=1):
        assert re.match(rf"\s*{number}  {row['instrument']} +at .*: {row['answer']}", lines[number])
    assert any("2 of 2 fields surveyed" in line for line in lines)
    assert "\x1b" not in said


def test_the_report_needs_nothing_else(run: tuple[Path, str, str]) -> None:
    text = (run[0] / "report.html").read_text(encoding="utf-8")
    pictures = re.compile(r'<img alt="[^"]+" src="data:image/png;base64,[A-Za-z0-9+/=]+">')
    assert len(pictures.findall(text)) == 8
    assert not re.search(r"//|<img|src=|<script|<link|@import|url\(", pictures.sub("", text))


def test_the_report_says_what_was_done_what_came_out_and_how_to_run_it_again(run: tuple[Path, str, str]) -> None:
    text = (run[0] / "report.html").read_text(encoding="utf-8")
    for heading in ("What was done", "All 2 fields", "One field, closely", "Query by query", "How to check it"):
        assert heading in text
    for words in ("gainful demo --fields 2 --seed 0", f"gainful {gf.__version__}", "95 % interval", "of lengthscale"):
        assert words in text
    shown = re.search(r"Query by query, on field (\d)", text)
    assert shown is not None
    asked = [row for row in queries(run[0]) if row["field"] == shown[1] and row["strategy"] == "gainful"]
    assert all(f"<td>{row['answer']}</td>" in text for row in asked)
    assert text.count("bits per unit of cost") >= len(asked)


def test_the_error_is_the_priors_until_the_first_answer_and_constant_between_answers() -> None:
    at = comparison(0, 0.5, 0.7).error("gainful", np.array([0.0, 2.9, 3.0, 5.9, 6.0, 60.0]))
    assert at.tolist() == pytest.approx([2.0, 2.0, 1.5, 1.5, 0.5, 0.5])


def test_the_result_is_the_ratio_of_mean_errors_and_counts_who_was_better() -> None:
    result = Result.of([comparison(0, 0.2, 0.4), comparison(1, 0.4, 0.4), comparison(2, 0.6, 0.8)])
    assert (result.better, result.fields) == (2, 3)
    assert result.ratio.value == pytest.approx(1.2 / 1.6)
    assert result.ratio.low <= result.ratio.value <= result.ratio.high


def test_the_pictured_field_has_the_median_ratio() -> None:
    three = [comparison(0, 0.9, 1.0), comparison(1, 0.5, 1.0), comparison(2, 1.3, 1.0)]
    assert report.middle(three).seed == 0
    assert report.middle([*three, comparison(3, 0.1, 1.0)]).seed == 0  # not 1: the less favourable of the two


def test_the_belief_is_shown_with_marks_where_was_measured_and_the_numbers_beneath() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, color_system="truecolor", width=80, height=24, highlight=False)
    screen = live.Screen(4, console)
    screen.watch(comparison(0, 0.5, 0.7).truth, moment(0, "gainful", [1.5, 0.5], done=False))
    screen.advance([comparison(0, 0.5, 0.7), comparison(1, 0.8, 0.7)])
    screen.end()
    rows = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", out.getvalue()).split("╭")[-1].splitlines()
    assert len(rows) < 24
    assert all(len(row) == 80 for row in rows[1:])
    (south,) = (row for row in rows if "▀" in row and "◆" in row)  # all places are along the southern face
    assert south[2:].split("  ")[1].startswith("◆◆✕▀")
    text = "\n".join(rows)
    for words in (
        "6 of 60",
        "2.0 bits",
        "0.50 pH",
        "look says acid",
        "look at 0.20 km east",
        "as asked",
        "2 of 4; beats",
    ):
        assert words in text


def test_without_colours_or_room_the_maps_are_left_out() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, color_system="truecolor", width=60, height=24)
    screen = live.Screen(4, console)
    screen.watch(comparison(0, 0.5, 0.7).truth, moment(0, "gainful", [0.5]))
    screen.end()
    assert "▀" not in out.getvalue()
    assert "the budget is spent" in out.getvalue()


def interrupted_after(finished: Sequence[int]) -> Callable[..., Iterator[Comparison]]:
    def survey_fields(seeds: Sequence[int], watched: int) -> Iterator[Comparison]:
        for seed in finished:
            yield comparison(seed, 0.5, 0.7)
        raise KeyboardInterrupt

    return survey_fields


def test_when_interrupted_the_fields_that_are_finished_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fields, "survey_fields", interrupted_after([1, 0, 3]))
    monkeypatch.setattr(report, "_image", lambda figure, title, words: title)  # drawing takes seconds
    code, printed, said = call("--out", str(tmp_path))
    assert (code, "of 2 fields" in printed) == (130, True)
    assert "the first 2 fields" in said
    assert "gainful demo --fields 2 --seed 0" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_when_interrupted_too_early_it_says_that_nothing_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fields, "survey_fields", interrupted_after([0]))
    code, printed, said = call("--out", str(tmp_path))
    assert (code, printed) == (130, "")
    assert "nothing was written" in said
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_refused_before_anything_is_surveyed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(gf.InvalidInput, match="--out"):
        call("--out", str(tmp_path / "file"))
