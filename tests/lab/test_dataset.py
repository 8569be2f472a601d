"""Tables of all kinds: what is read, what is left out and counted, and what is refused in words."""

from __future__ import annotations

import gzip
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import gainful as gf
from gainful.lab.dataset import read_dataset, reread


def csv_of(path: Path, header: str, rows: list[str]) -> Path:
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def numbers(n: int = 30) -> np.ndarray:
    return np.random.default_rng(3).normal(size=n).round(6)


def test_inputs_are_standardised_and_everything_left_out_is_counted(tmp_path: Path) -> None:
    x = numbers()
    rows = [f"{i + 1},{v},{'blue' if i % 2 else 'red'},4,{'yes' if v > 0 else 'no'}" for i, v in enumerate(x)]
    rows += [
        "31,,red,4,yes",
        "32,NaN,red,4,no",
        "33,?,red,4,no",
        "34,1.5,red,4,",
        f"35,{x[0]},red,4,no",
        "36,inf,red,4,no",
    ]
    found = read_dataset(csv_of(tmp_path / "t.csv", "id,x,colour,one,answer", rows), "answer")
    assert (found.kind, found.yes, found.inputs) == ("yes/no", "yes", ("x",))
    assert found.notes == (
        "1 column of words left out: colour (has 'red')",
        "1 column of row numbers left out: id",
        "5 rows with missing values left out (by column: x 4, answer 1)",
        "1 constant column left out: one",
        "1 row with the inputs of an earlier one left out, 1 of them with another answer: a place is asked once"
        "; 38.7 % were yes before, 40.0 % are now",
        "answer: yes is yes, no is no",
    )
    whole = np.append(x, x[0])
    order = np.argsort(x)
    np.testing.assert_allclose(found.X[:, 0], (x[order] - whole.mean()) / whole.std())
    np.testing.assert_array_equal(found.answers, x[order] > 0)


def test_words_become_columns_where_they_are_named(tmp_path: Path) -> None:
    x = numbers()
    rows = [f"{v},{'abc'[i % 3]},{'rl'[i % 2]},{int(v > 0)}" for i, v in enumerate(x)]
    path = csv_of(tmp_path / "t.csv", "x,letter,side,answer", rows)
    found = read_dataset(path, "answer", inputs=["x", "letter", "side"])
    assert (found.X.shape, found.inputs) == ((30, 5), ("x", "letter", "side"))  # three letters, and one of two sides
    assert [len(np.unique(column)) for column in found.X.T] == [30, 2, 2, 2, 2]
    assert read_dataset(path, "answer", drop=["letter"]).inputs == ("x",)


def test_the_kind_of_answers_follows_from_the_column_or_is_said(tmp_path: Path) -> None:
    x = numbers()
    rows = [f"{v},{1.0 + (i % 3)},{10 * v},{'xyz'[i % 3]},{i % 2}.0" for i, v in enumerate(x)]
    path = csv_of(tmp_path / "t.csv", "x,grade,value,class,bit", rows)
    kinds = {
        "numbers": read_dataset(path, "value", inputs=["x"]),
        "ranks": read_dataset(path, "grade", inputs=["x"], ranks=True),
        "yes/no": read_dataset(path, "class", inputs=["x"], yes="y"),
    }
    assert all(found.kind == kind for kind, found in kinds.items())
    assert kinds["ranks"].ranks == (1.0, 2.0, 3.0)
    assert kinds["yes/no"].answers.sum() == 10
    assert "class: yes is y, no is any of 2 others" in kinds["yes/no"].notes
    bit = read_dataset(path, "bit", inputs=["x"])
    assert (bit.kind, bit.yes) == ("yes/no", "1")
    assert read_dataset(path, "bit", inputs=["x"], numbers=True).kind == "numbers"
    for yes in ("0", "0.0"):  # the same class, however it is written
        np.testing.assert_array_equal(read_dataset(path, "bit", inputs=["x"], yes=yes).answers, 1.0 - bit.answers)
    with pytest.raises(
        gf.InvalidInput,
        match=r"the whole numbers 1, 2, 3 in column grade; say yes=\"CLASS\".*ranks=True or numbers=True",
    ):
        read_dataset(path, "grade", inputs=["x"])
    several = read_dataset(path, "class", inputs=["x"])
    assert (several.kind, several.classes) == ("classes", ("x", "y", "z"))
    assert set(several.answers) == {0.0, 1.0, 2.0}


def test_another_process_reads_the_same_rows(tmp_path: Path) -> None:
    """Also where a constant column has gaps: they do not matter, since it is not used."""
    rows = [f"{v},{'' if i % 7 == 0 else 5},{int(v > 0)}" for i, v in enumerate(numbers(60))]
    path = csv_of(tmp_path / "t.csv", "x,constant,answer", rows)
    first = read_dataset(path, "answer")
    again = reread(str(path), first.sha256, "answer", first.kind, first.inputs, first.yes)
    assert len(first.X) == len(again.X) == 60
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.answers, again.answers)


def good(n: int = 30) -> list[str]:
    return [f"{v},{int(v > 0)}" for v in numbers(n)]


GOOD = "\n".join(["x,answer", *good()]).encode()


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [
        (b"", {}, "a header and rows, got nothing in"),
        (b"x,answer\n", {}, "at least 20 different rows without gaps, got 0 in"),
        ("\n".join(["x,answer", *good(12)]).encode(), {}, "at least 20 different rows without gaps, got 12 in"),
        ("\n".join(["x,answer", *(["0.5,1", "0.7,0"] * 20)]).encode(), {}, "at least 20 different rows .* got 2 in"),
        ("\n".join(["x,answer", *[f"{i / 7},1" for i in range(30)]]).encode(), {}, "different answers, got only 1 in"),
        ("\n".join(["x,answer", *good()]).encode("utf-16"), {}, "text in UTF-8, got byte 0xff at position 0"),
        ("x,größe\n1,2\n".encode("latin-1"), {"answer": "größe"}, "text in UTF-8, got byte 0xf6 at position 4"),
        (GOOD, {"answer": "anwser"}, "answer: .* got anwser; did you mean answer"),
        (GOOD, {"inputs": ["z"]}, "inputs: expected a column among x, answer, got z"),
        (GOOD, {"drop": ["y"]}, "drop: expected a column among x, answer, got y"),
        (GOOD, {"inputs": ["answer"]}, "columns other than the answer"),
        (GOOD, {"drop": ["x"]}, "at least one column of numbers that vary, got none"),
        (GOOD, {"yes": "2"}, "yes: expected one of 0, 1, got 2"),
        (GOOD, {"ranks": True}, "ranks: expected 3 to 20 different ranks, got 2"),
        (GOOD, {"ranks": True, "numbers": True}, "at most one of them"),
        ("\n".join(["x,answer", *good(), "1,2,3"]).encode(), {}, "2 cells in every row.* got 3 in line 32 of"),
        ("\n".join(["x,x,answer", "1,2,3"]).encode(), {}, "got 'x' for columns 1 and 2; rename one"),
        ("\n".join(["x,,answer", "1,2,3"]).encode(), {}, "got column 2 without a name; name it; the"),
        ("\n".join(["x,answer,", "1,2,"]).encode(), {}, "got column 3 without a name; name it, or remove the comma"),
        (gzip.compress(GOOD), {}, r"text in UTF-8, got compressed data \(gzip\) in .*; unpack it"),
        (GOOD, {"answer": "ANSWER"}, "got ANSWER; did you mean answer"),
        (GOOD, {"inputs": ["X"]}, "inputs: .* got X; did you mean x"),
        (GOOD, {"drop": ["X"]}, "drop: .* got X; did you mean x"),
        (GOOD, {"inputs": ["x", "x"]}, "inputs: expected every column once, got x twice"),
        (GOOD, {"drop": ["x", "x"]}, "drop: expected every column once, got x twice"),
        (GOOD, {"inputs": "x"}, r"inputs: expected a list of names, got one string, 'x'; give a list, \['x'\]"),
        (GOOD, {"drop": "x"}, "drop: expected a list of names, got one string"),
        (GOOD, {"inputs": 3}, "inputs: expected a list of names, got 3"),
        (GOOD, {"inputs": [3]}, "inputs: expected a list of names, got"),
        (GOOD, {"answer": 1}, "answer: expected the name of a column, got 1"),
        (GOOD, {"yes": 1}, "yes: expected a class, as the table writes it, got 1; give a string, '1'"),
        (b"x;answer\n1;2\n", {}, "columns divided by commas, got x;answer"),
        (b'x,answer\n"1,2\n', {}, "expected a CSV file"),
        ("\n".join(["x,answer", *[f"{v},{i > 27}" for i, v in enumerate(numbers())]]).encode(), {},
         "at least 5 rows of yes and of no, got 2 of one in column answer"),
        ("\n".join(["x,answer", *[f"{v},{'abc'[i % 3]}" for i, v in enumerate(numbers())]]).encode(), {"numbers": True},
         "numbers, for numbers, got 'a' in column answer"),
        ("\n".join(["x,answer", *[f"w{i},{i % 2}" for i in range(30)]]).encode(), {"inputs": ["x"]},
         "numbers, or at most 10 different words, got x with 30 different words"),
        ("\n".join(["x,answer", *[f"{i * 1e307},{i % 2}" for i in range(5, 17)], *good()]).encode(), {},
         "numbers that can be scaled"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_said(tmp_path: Path, content: bytes, options: dict, words: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(gf.InvalidInput, match=words):
        read_dataset(path, options.pop("answer", "answer"), **options)


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.csv", tmp_path):
        with pytest.raises(gf.InvalidInput, match="a file that can be read"):
            read_dataset(path, "answer")


def test_what_is_no_path_is_said() -> None:
    for table in (None, {"x": [1.0]}, 3):
        with pytest.raises(gf.InvalidInput, match="table: expected the path of a CSV file"):
            read_dataset(table, "answer")


# ----------------------------------------------------------------------------------------------------- hostile tables


@pytest.mark.parametrize("unit", [1e160, 1e300, 1e-160, 1e-300])
def test_an_input_that_cannot_be_scaled_is_refused_by_name(tmp_path: Path, unit: float) -> None:
    """Its variance is not a number, or is zero: it would have become a column of zeros."""
    rows = [f"{v * unit},{v},{int(v > 0)}" for v in numbers()]
    path = csv_of(tmp_path / "t.csv", "wild,x,answer", rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(gf.InvalidInput, match=r"inputs: expected numbers that can be scaled.* column wild; .*wild"):
            read_dataset(path, "answer")
        assert read_dataset(path, "answer", drop=["wild"]).inputs == ("x",)


@pytest.mark.parametrize("unit", [1e200, 5e307, 1e-200, 1e-318])
def test_answers_that_cannot_be_scaled_are_refused_by_name(tmp_path: Path, unit: float) -> None:
    path = csv_of(tmp_path / "t.csv", "x,y", [f"{v},{v / 4.0 * unit}" for v in numbers()])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(gf.InvalidInput, match=r"answer: expected numbers that can be scaled, got .* in column y"):
            read_dataset(path, "y")


def test_a_column_that_is_mostly_empty_costs_no_rows(tmp_path: Path) -> None:
    rows = [f"{v},,{i if i % 6 == 0 else ''},{int(v > 0)}" for i, v in enumerate(numbers())]
    path = csv_of(tmp_path / "t.csv", "x,none,few,answer", rows)
    found = read_dataset(path, "answer")
    assert (found.inputs, len(found.X)) == (("x",), 30)
    assert found.notes[0] == (
        "2 columns with too many gaps left out: none (0 of 30 rows have a value), few (5 of 30 rows have a value)"
    )
    with pytest.raises(gf.InvalidInput, match=r"got 5 in .*; most gaps are in few \(25\): leave .* drop=\[...\]"):
        read_dataset(path, "answer", inputs=["x", "few"])  # who names it gets it
    half = [f"{v},{v if i % 2 else ''},{'' if i % 2 else v},{int(v > 0)}" for i, v in enumerate(numbers())]
    with pytest.raises(gf.InvalidInput, match=r"got 0 in .*; most gaps are in a \(15\), b \(15\)"):
        read_dataset(csv_of(tmp_path / "half.csv", "x,a,b,answer", half), "answer")


@pytest.mark.parametrize("classes", [("Na", "K"), ("none", "some"), ("None", "All"), ("inf", "sup"), ("Nan", "Roti")])
def test_words_that_only_look_like_gaps_are_classes(tmp_path: Path, classes: tuple[str, str]) -> None:
    path = csv_of(tmp_path / "t.csv", "x,answer", [f"{v},{classes[int(v > 0)]}" for v in numbers()])
    found = read_dataset(path, "answer", yes=classes[1])
    assert len(found.X) == 30
    np.testing.assert_array_equal(found.answers, found.X[:, 0] * numbers().std() + numbers().mean() > 0)


@pytest.mark.parametrize("word", ["NA", "N/A", "n/a", "NaN", "nan", "?", "null", "NULL"])
def test_answers_that_count_as_missing_are_named_and_counted(tmp_path: Path, word: str) -> None:
    rows = [f"{v},{'EU' if v > 0 else 'US'}" for v in numbers()]
    path = csv_of(tmp_path / "t.csv", "x,answer", [*rows, f"7,{word}", f"8,{word}", "9,"])
    note = f"3 rows with missing values left out (by column: answer 3); in answer {word!r} counts as missing (2)"
    assert note in read_dataset(path, "answer").notes
    rows = [f"{v},{'EU' if i % 4 else word}" for i, v in enumerate(numbers())]
    with pytest.raises(gf.InvalidInput, match=r"got only EU in column answer; in answer .* counts as missing \(8\)"):
        read_dataset(csv_of(tmp_path / "t.csv", "x,answer", rows), "answer")


def test_repeated_rows_say_how_many_contradicted_the_first(tmp_path: Path) -> None:
    rows = [f"{v},{10 * v}" for v in numbers()]
    same = read_dataset(csv_of(tmp_path / "a.csv", "x,y", rows + rows[:4]), "y")
    assert same.notes == (
        "4 rows with the inputs of an earlier one left out, none with another answer: a place is asked once",
    )
    other = read_dataset(csv_of(tmp_path / "b.csv", "x,y", [*rows, *rows[:4], f"{numbers()[5]},0"]), "y")
    assert other.notes[0].startswith("5 rows with the inputs of an earlier one left out, 1 of them with another answer")
    np.testing.assert_array_equal(same.answers, other.answers)


@pytest.mark.parametrize("ids", [lambda i: 1001 + i, lambda i: 7 * i, lambda i: i * i, lambda i: max(3, 3 * i)])
def test_a_column_that_looks_like_an_identifier_is_used_and_noted(tmp_path: Path, ids: Callable[[int], int]) -> None:
    path = csv_of(tmp_path / "t.csv", "no,x,answer", [f"{ids(i)},{v},{int(v > 0)}" for i, v in enumerate(numbers())])
    found = read_dataset(path, "answer")
    assert found.inputs == ("no", "x")
    assert found.notes[0] == "no looks like an identifier; drop it, if it is one"
    assert not any("identifier" in note for note in read_dataset(path, "answer", inputs=["no", "x"]).notes)


def test_a_measurement_does_not_look_like_an_identifier(tmp_path: Path) -> None:
    rows = [f"{i % 12},{(37 * i) % 101},{i + 0.5},{v},{int(v > 0)}" for i, v in enumerate(numbers())]
    path = csv_of(tmp_path / "t.csv", "month,shuffled,half,x,answer", rows)
    assert not any("identifier" in note for note in read_dataset(path, "answer").notes)


def test_a_number_with_underscores_is_a_word(tmp_path: Path) -> None:
    path = csv_of(tmp_path / "t.csv", "n,x,answer", [f"1_{i:03},{v},{int(v > 0)}" for i, v in enumerate(numbers())])
    assert read_dataset(path, "answer").notes[0] == "1 column of words left out: n (has '1_000')"


def test_long_lists_and_names_with_line_breaks_are_shortened(tmp_path: Path) -> None:
    names = ['"two\nlines"', *(f"word{i}" for i in range(3000))]
    rows = [",".join([str(v), *["w"] * 3000, str(int(v > 0))]) for v in numbers()]
    path = csv_of(tmp_path / "t.csv", ",".join([*names, "answer"]), rows)
    found = read_dataset(path, "answer")
    assert found.inputs == ("two\nlines",)
    assert len(found.notes[0]) < 400
    assert found.notes[0].endswith("word11 (has 'w'), … 3000 in all")
    with pytest.raises(gf.InvalidInput, match=r"a column among two lines, word0, .*, … 3002 in all, got z"):
        read_dataset(path, "z")
