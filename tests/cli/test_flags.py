"""The same refusal names arguments to whoever calls a function, and options to whoever gives a command."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import gainful as gf
from gainful.cli import main
from gainful.cli.flags import as_flags
from gainful.lab import Here, comparison, run


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Thirty rows; fifteen classes, three whole numbers, a column without a scale, and one with gaps."""
    kinds = [f"tree{letter}" for letter in "abcdefghijklmno"]
    rows = [f"{i / 7:.3f},{kinds[i % 15]},{i % 3},{1e300 * (i % 5)},{'' if i > 9 else i},{i % 2}" for i in range(30)]
    (tmp_path / "trees.csv").write_text("\n".join(["x,kind,grade,wild,few,ok", *rows]) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "trees.csv"


@pytest.mark.parametrize(
    ("answer", "options", "argument", "flag"),
    [
        ("kind", {"inputs": ["x"]}, 'yes="CLASS"', "--yes CLASS"),
        ("grade", {"inputs": ["x"]}, 'say yes="CLASS" for one', "say --yes CLASS for one"),
        ("grade", {"inputs": ["x"]}, "ranks=True or numbers=True", "--ranks or --numbers"),
        ("ok", {"inputs": ["x", "wild"]}, "leave it out with drop=['wild']", "leave it out with --drop wild"),
        ("ok", {"inputs": ["x", "few"]}, "leave columns out with drop=[...]", "leave columns out with --drop NAME"),
        ("ok", {"drop": ["x", "grade", "wild", "few"]}, "inputs=[...]", "--inputs A,B"),
    ],
)
def test_remedies_are_in_the_words_of_whoever_asked(
    table: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    answer: str,
    options: dict[str, list[str]],
    argument: str,
    flag: str,
) -> None:
    with pytest.raises(gf.InvalidInput) as refused:
        comparison(table, answer, **options)
    assert argument in refused.value.remedy
    assert "--" not in refused.value.remedy
    words = [word for name, columns in options.items() for word in (f"--{name}", ",".join(columns))]
    monkeypatch.setattr(sys, "argv", ["gainful", "compare", str(table), "--answer", answer, *words])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr().err
    assert (ended.value.code, flag in said, argument in said) == (2, True, False), said


def test_a_run_that_is_another_one_says_how_to_start_over(
    table: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = {"inputs": ["x"], "strategies": ["entropy", "random"], "answers": 2, "splits": 2}
    run(comparison(table, "ok", **small), "out", workers=Here())
    words = "--inputs x --strategies bald,random --answers 2 --splits 2 --processes 0 --out out"
    monkeypatch.setattr(sys, "argv", ["gainful", "compare", str(table), "--answer", "ok", *words.split()])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr().err
    assert (ended.value.code, "start over with --fresh" in said, "fresh=True" in said) == (2, True, False), said


def test_other_words_stay_as_they_are() -> None:
    for words in ("see settings(quick=True)", "start=5 is the usual", "yes is out", "drop it, if it is one"):
        assert as_flags(words) == words
