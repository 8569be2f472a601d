"""A run gives the same numbers wherever it runs, and whatever happens to it."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import toys
from commands import finish, lines, start, wait_until

import gainful as gf
from gainful.lab import Finished, Here, Processes, journal, run
from gainful.lab.journal import Identity, Journal, write_atomically
from gainful.lab.repetition import Outcome, derive_seed, repetitions_of


class Notes:
    """A watcher that remembers."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.begun: tuple[int, int] = (0, 0)
        self.outcomes: list[Outcome] = []

    def begin(self, total: int, kept: int) -> None:
        self.begun = (total, kept)

    def advance(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)

    def say(self, sentence: str) -> None:
        self.said.append(sentence)

    def end(self) -> None: ...


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of the toy that nothing happened to."""
    folder = tmp_path_factory.mktemp("whole")
    run(toys.TOY, folder, workers=Here())
    return folder


@pytest.fixture
def whole(original: Path) -> bytes:
    """Its result.json."""
    return (original / "result.json").read_bytes()


@pytest.fixture
def copy(original: Path, tmp_path: Path) -> Path:
    """A copy of it, to do things to."""
    return Path(shutil.copytree(original, tmp_path / "copy"))


# ---------------------------------------------------------------------------------------------- the same everywhere


def test_one_and_two_processes_and_none_give_the_same_bytes(tmp_path: Path, whole: bytes) -> None:
    for count in (1, 2):
        summary = run("toys:TOY", tmp_path / str(count), workers=Processes(count))
        assert (summary.ran, summary.kept, summary.failures) == (12, 0, ())
        assert (tmp_path / str(count) / "result.json").read_bytes() == whole


def test_the_result_has_claims_with_intervals_and_seals_the_table(tmp_path: Path) -> None:
    summary = run(toys.TOY, tmp_path, quick=True, workers=Here())
    result = json.loads((tmp_path / "result.json").read_text())
    assert result == summary.result
    assert (result["quick"], result["repetitions"], result["published"]["difference"]) == (True, 4, 1.5)
    more, less = result["claims"]
    assert more["low"] < more["measured"] < more["high"]
    assert (more["holds"], less["holds"], more["published"], less["published"]) == (True, False, 1.5, "less")
    with (tmp_path / "rows.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == ["costs", "repetition", "who", "error", "steps"]
    assert [(row["repetition"], row["who"], row["steps"]) for row in rows[:3]] == [
        ("0", "first", "3"),
        ("0", "second", ""),
        ("1", "first", "3"),
    ]
    assert (tmp_path / "figures" / "errors_by_row.png").read_bytes().startswith(b"\x89PNG")
    assert not list(tmp_path.glob(".*"))  # nothing half-written is left


def test_seeds_depend_on_the_setting_and_not_on_its_neighbours() -> None:
    few, many = repetitions_of(toys.TOY, True, 0), repetitions_of(toys.TOY, False, 0)
    assert many[: len(few)] == few
    assert len({each.seed for each in many}) == len(many)
    assert {each.seed for each in repetitions_of(toys.TOY, False, 1)}.isdisjoint(each.seed for each in many)
    turned = replace(toys.TOY, settings=lambda quick: [{"repetition": 0, "costs": (10, 7)}])
    assert repetitions_of(turned, True, 0)[0].seed == few[0].seed
    assert derive_seed("toy", 0, few[0].key) == few[0].seed == 3676210700125069  # for good: stored runs rely on it


# ----------------------------------------------------------------------------------------------------- interruptions


def test_a_killed_run_continues_where_it_was_and_ends_in_the_same_bytes(tmp_path: Path, whole: bytes) -> None:
    folder, log = tmp_path / "run", tmp_path / "log"
    words = ("run", "toys:TOY", "--out", folder, "--processes", "2")
    process = start(*words, SLEEP=0.2, LOG=log)
    wait_until(lambda: len(lines(folder / "repetitions.jsonl")) >= 4, process)
    process.send_signal(signal.SIGKILL)
    finish(process)
    done = [json.loads(json.loads(line)["key"])["repetition"] for line in lines(folder / "repetitions.jsonl")[1:]]
    assert 3 <= len(done) < 12
    assert not (folder / "result.json").exists()
    log.unlink()
    code, _, err = finish(start(*words, LOG=log))
    assert (code, f"{len(done)} finished before" in err) == (0, True)
    assert Counter(map(int, lines(log))) == Counter(set(range(12)) - set(done))
    assert (folder / "result.json").read_bytes() == whole


def test_ctrl_c_keeps_what_is_done_says_how_to_continue_and_exits_with_130(tmp_path: Path, whole: bytes) -> None:
    folder = tmp_path / "run"
    words = ("run", "toys:TOY", "--out", folder, "--processes", "2")
    process = start(*words, SLEEP=0.3)
    wait_until(lambda: len(lines(folder / "repetitions.jsonl")) >= 3, process)
    os.killpg(process.pid, signal.SIGINT)
    code, _, err = finish(process)
    assert code == 130
    assert "the same command continues" in err
    assert "Traceback" not in err
    kept = len(lines(folder / "repetitions.jsonl")) - 1
    summary = run("toys:TOY", folder, workers=Here())
    assert (summary.kept, summary.ran) == (kept, 12 - kept)
    assert (folder / "result.json").read_bytes() == whole


def test_a_line_cut_short_is_dropped_and_said(copy: Path, whole: bytes) -> None:
    journal = copy / "repetitions.jsonl"
    journal.write_bytes(journal.read_bytes()[:-40])
    notes = Notes()
    summary = run(toys.TOY, copy, workers=Here(), watcher=notes)
    assert (summary.kept, summary.ran, notes.begun) == (11, 1, (12, 11))
    assert notes.said == ["The last line of the journal was cut short, so that repetition runs again."]
    assert len(journal.read_bytes().splitlines()) == 13
    assert (copy / "result.json").read_bytes() == whole


@pytest.mark.parametrize("cut", [1, 2, 100, 230, 231, 1000, 2400])
def test_any_cut_through_the_journal_leaves_a_run_that_continues(copy: Path, whole: bytes, cut: int) -> None:
    journal = copy / "repetitions.jsonl"
    journal.write_bytes(journal.read_bytes()[:-cut])
    (copy / "result.json").unlink()
    run(toys.TOY, copy, workers=Here())
    assert (copy / "result.json").read_bytes() == whole


def test_damage_before_the_last_line_is_an_error_that_names_the_line(copy: Path) -> None:
    journal = copy / "repetitions.jsonl"
    content = journal.read_bytes().splitlines(keepends=True)
    content[2] = content[2][:20] + b"\n"
    journal.write_bytes(b"".join(content))
    with pytest.raises(gf.InvalidInput, match="line 3"):
        run(toys.TOY, copy, workers=Here())


def test_two_runs_cannot_write_the_same_journal(tmp_path: Path) -> None:
    identity, repetitions = Identity("toy", False, 0, gf.__version__), repetitions_of(toys.TOY, False, 0)
    with (
        Journal(tmp_path, identity, repetitions),
        pytest.raises(gf.GainfulError, match="another run"),
    ):
        Journal(tmp_path, identity, repetitions)


# ----------------------------------------------------------------------------------------------- what is not the same


@pytest.mark.parametrize(
    ("change", "words"),
    [({"seed": 1}, "seed 0"), ({"quick": True}, "quick False")],
    ids=["seed", "quick"],
)
def test_another_run_in_the_folder_is_refused_and_nothing_changes(
    copy: Path, change: dict[str, int], words: str
) -> None:
    before = {path: path.read_bytes() for path in copy.iterdir() if path.is_file()}
    with pytest.raises(gf.InvalidInput, match=f"got a run with {words}; give another folder.*start over with .*fresh"):
        run(toys.TOY, copy, workers=Here(), **change)
    assert {path: path.read_bytes() for path in copy.iterdir() if path.is_file()} == before


def test_settings_may_be_added_but_not_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOY_COUNT", "3")
    run(toys.TOY, tmp_path, workers=Here())
    monkeypatch.setenv("TOY_COUNT", "5")
    summary = run(toys.TOY, tmp_path, workers=Here())
    assert (summary.kept, summary.ran) == (3, 2)
    changed = replace(toys.TOY, settings=lambda quick: [{"costs": [9, 7], "repetition": i} for i in range(5)])
    with pytest.raises(
        gf.InvalidInput, match=r"among the 5 asked for, got 5 of 5 that are not, such as \{\"costs\":\[10,7\]"
    ):
        run(changed, tmp_path, workers=Here())


def test_fresh_does_not_take_the_folder_from_a_run_that_is_writing_there(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    identity, repetitions = Identity("toy", False, 0, gf.__version__), repetitions_of(toys.TOY, False, 0)
    with Journal(folder, identity, repetitions), pytest.raises(gf.GainfulError, match="another run"):
        run(toys.TOY, folder, workers=Here(), fresh=True)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_journal_that_was_put_in_its_place_while_it_was_opened_is_the_one_that_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two runs may begin at the same time, and both find no journal."""
    identity, repetitions = Identity("toy", False, 0, gf.__version__), repetitions_of(toys.TOY, False, 0)
    path, lock, replaced = tmp_path / "repetitions.jsonl", journal._lock, []

    def late(file: int, folder: Path) -> None:
        if not replaced:  # the other run comes between opening and locking
            replaced.append(path.read_bytes())
            write_atomically(path, replaced[0])
        lock(file, folder)

    monkeypatch.setattr(journal, "_lock", late)
    with Journal(tmp_path, identity, repetitions) as mine:
        assert os.path.samestat(os.fstat(mine._file), path.stat())


def test_fresh_keeps_the_old_runs_under_other_names(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    for seed in (0, 1, 2):
        run(toys.TOY, folder, quick=True, seed=seed, workers=Here(), fresh=True)
    found = {path.parent.name: json.loads(path.read_text())["seed"] for path in tmp_path.rglob("result.json")}
    assert found == {"run": 2, "run.old-1": 0, "run.old-2": 1}


def test_settings_must_be_json_and_differ() -> None:
    for settings, words in [
        ([{"a": 1}, {"a": 1}], "no two alike"),
        ([{"a": object()}], "values that JSON has"),
        ([{"a": float("nan")}], "values that JSON has"),
        ([3], "values that JSON has"),
        ([], "at least one repetition"),
    ]:
        with pytest.raises(gf.InvalidInput, match=words):
            repetitions_of(replace(toys.TOY, settings=lambda quick, s=settings: s), True, 0)


# ---------------------------------------------------------------------------------------------------------- failures


def test_a_failing_repetition_loses_no_other_and_is_tried_again(
    tmp_path: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOY_FAIL", "5")
    summary = run(toys.TOY, tmp_path, workers=Here())
    assert (summary.result, summary.ran) == (None, 11)
    (failed,) = summary.failures
    assert failed.repetition.setting == {"costs": [10, 7], "repetition": 5}
    assert "RuntimeError: toy 5 was told to fail" in failed.reason
    assert not (tmp_path / "result.json").exists()
    monkeypatch.delenv("TOY_FAIL")
    summary = run(toys.TOY, tmp_path, workers=Here())
    assert (summary.kept, summary.ran) == (11, 1)
    assert (tmp_path / "result.json").read_bytes() == whole


def test_a_process_that_is_killed_loses_nothing(tmp_path: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    marker = tmp_path / "marker"
    marker.touch()
    monkeypatch.setenv("TOY_DIE", f"3 {marker}")
    notes = Notes()
    run(toys.TOY, tmp_path / "run", workers=Processes(2), watcher=notes)
    assert notes.said == ["A process died (SIGKILL, as when memory runs out); its repetition starts over."]
    assert all(isinstance(each, Finished) for each in notes.outcomes)
    assert (tmp_path / "run" / "result.json").read_bytes() == whole


def test_a_repetition_that_kills_every_process_fails_alone(tmp_path: Path) -> None:
    summary = run("toys:DEADLY", tmp_path, quick=True, workers=Processes(1, deaths=2))
    assert (summary.ran, [each.repetition.setting["repetition"] for each in summary.failures]) == (3, [1])
    assert summary.failures[0].reason == "It took 2 processes with it (SIGKILL, as when memory runs out)."


def test_a_row_without_a_number_is_a_failure_that_names_the_column(tmp_path: Path) -> None:
    summary = run(toys.NAN, tmp_path, quick=True, workers=Here())
    assert len(summary.failures) == 4
    assert "row['error']: expected a finite number" in summary.failures[0].reason


def test_an_experiment_made_at_run_time_needs_only_a_run_that_other_processes_can_import(
    tmp_path: Path, whole: bytes
) -> None:
    made = replace(toys.TOY, claims=lambda rows: toys.claims(rows))
    run(made, tmp_path / "made", workers=Processes(2))
    assert (tmp_path / "made" / "result.json").read_bytes() == whole
    local = replace(made, run=lambda setting, seed: toys.run(setting, seed))
    with pytest.raises(gf.InvalidInput, match=r"make its run a function of a module.*Here"):
        run(local, tmp_path / "local")
    assert run(local, tmp_path / "local", quick=True, workers=Here()).ran == 4


def test_what_is_common_reaches_every_repetition_but_neither_its_seed_nor_the_table(
    tmp_path: Path, original: Path
) -> None:
    shared = replace(toys.TOY, common={"colour": "red", "sizes": (1, 2)})
    summary = run(shared, tmp_path, workers=Here())
    assert (tmp_path / "rows.csv").read_bytes() == (original / "rows.csv").read_bytes()
    assert json.loads((tmp_path / "result.json").read_text())["common"] == {"colour": "red", "sizes": [1, 2]}
    assert repetitions_of(shared, True, 0)[0].given == {
        "costs": [10, 7],
        "repetition": 0,
        "colour": "red",
        "sizes": [1, 2],
    }
    assert summary.rows[0].keys() == {"costs", "repetition", "who", "error", "steps"}
    with pytest.raises(gf.InvalidInput, match="expected a run with colour 'blue', got a run with colour 'red'"):
        run(replace(shared, common={"colour": "blue", "sizes": [1, 2]}), tmp_path, workers=Here())
    with pytest.raises(gf.InvalidInput, match="colour None"):
        run(toys.TOY, tmp_path, workers=Here())
    with pytest.raises(gf.InvalidInput, match="common: expected dicts of values that JSON has"):
        run(replace(shared, common={"colour": object()}), tmp_path, workers=Here())


def test_rows_with_seconds_are_timings_and_no_part_of_the_result(tmp_path: Path, original: Path) -> None:
    timed = replace(toys.TOY, run=lambda setting, seed: [*toys.run(setting, seed), {"who": "first", "seconds": 0.5}])
    summary = run(timed, tmp_path, workers=Here())
    assert (tmp_path / "result.json").read_bytes() == (original / "result.json").read_bytes()
    assert [row["seconds"] for row in summary.timings] == [0.5] * 12
    assert (tmp_path / "timings.csv").read_text().splitlines()[:2] == [
        "costs,repetition,who,seconds",
        '"[10, 7]",0,first,0.5',
    ]


def test_figures_that_cannot_be_drawn_do_not_cost_the_result(tmp_path: Path) -> None:
    def absent(rows: object, folder: Path) -> list[Path]:
        raise gf.MissingExtra("figures", "plots")

    notes = Notes()
    summary = run(replace(toys.TOY, figures=absent), tmp_path, quick=True, workers=Here(), watcher=notes)
    assert summary.result is not None
    assert notes.said == ["No figures: figures: an optional dependency is missing; run: pip install 'gainful[plots]'"]
