"""Files that are read piece by piece: the numbers that are in them, one copy of each, and words for what is none."""

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

import gainful as gf
from gainful import tables

RNG = np.random.default_rng(0)
COLUMNS = {"east": RNG.random(100), "north": RNG.random(100), "depth": np.arange(100), "y": RNG.normal(size=100)}
LAB = gf.Point(0.1, name="lab")


def parquet(path, columns, **options):
    arrow = pytest.importorskip("pyarrow")
    module = pytest.importorskip("pyarrow.parquet")
    module.write_table(arrow.table(columns), path, **options)
    return path


@pytest.fixture
def small(monkeypatch):
    """Pieces of a few rows."""
    monkeypatch.setattr(tables, "_ROWS", 7)


@pytest.fixture(params=["npy", "named npy", "parquet"])
def saved(request, tmp_path):
    """A file, what its columns are called, and its numbers."""
    numbers = np.column_stack(list(COLUMNS.values()))
    if request.param == "parquet":
        return parquet(tmp_path / "readings.parquet", COLUMNS, row_group_size=30), list(COLUMNS), numbers
    if request.param == "npy":
        np.save(tmp_path / "readings.npy", numbers)
        return tmp_path / "readings.npy", [0, 1, 2, 3], numbers
    named = np.empty(100, dtype=[(name, np.asarray(values).dtype) for name, values in COLUMNS.items()])
    for name, values in COLUMNS.items():
        named[name] = values
    np.save(tmp_path / "readings.npy", named)
    return tmp_path / "readings.npy", list(COLUMNS), numbers


def test_a_file_gives_the_numbers_that_are_in_it(saved, small):
    path, names, numbers = saved
    all_others = gf.read_table(path, answer=names[3])
    assert (all_others.inputs, all_others.answer, len(all_others)) == (tuple(names[:3]), names[3], 100)
    assert np.array_equal(all_others.X, numbers[:, :3])
    assert np.array_equal(all_others.answers, numbers[:, 3])
    some = gf.read_table(str(path), names[0], inputs=[names[2], names[1]])
    assert np.array_equal(some.X, numbers[:, [2, 1]])
    assert np.array_equal(some.answers, numbers[:, 0])
    data = gf.Data().add(LAB, all_others.X, all_others.answers)
    assert np.array_equal(data.layout.places, numbers[:, :3])


def test_numbers_of_every_kind_become_floats(tmp_path):
    columns = {"whole": np.arange(5, dtype=np.int16), "half": np.arange(5, dtype=np.float32), "yes": np.arange(5) > 2}
    found = gf.read_table(parquet(tmp_path / "kinds.parquet", columns), "yes")
    assert found.X.dtype == found.answers.dtype == np.float64
    assert found.answers.tolist() == [0.0, 0.0, 0.0, 1.0, 1.0]
    assert len(gf.Data().add(gf.Binary(), found.X, found.answers)) == 5
    np.save(tmp_path / "half.npy", np.arange(6, dtype=np.float32).reshape(3, 2))
    assert gf.read_table(tmp_path / "half.npy", -1).answers.tolist() == [1.0, 3.0, 5.0]


def test_a_column_that_is_missing_is_refused_with_what_was_meant(saved):
    path, names, _ = saved
    if names[0] == 0:
        for wrong in (4, -5, "y", 1.0, True):
            with pytest.raises(gf.InvalidInput, match="answer: expected a column number below 4"):
                gf.read_table(path, answer=wrong)
        return
    with pytest.raises(gf.InvalidInput, match=r"answer: .*did you mean 'depth'"):
        gf.read_table(path, answer="dept")
    with pytest.raises(gf.InvalidInput, match=r"inputs: expected a column among \['east'"):
        gf.read_table(path, answer="y", inputs=["east", "elsewhere"])


def test_inputs_that_are_none_or_not_distinct_are_refused(saved):
    path, names, _ = saved
    for wrong, words in (([names[0]] * 2, "each column once"), (names, "each column once"), ([], "one at least")):
        with pytest.raises(gf.InvalidInput, match=f"inputs: expected .*{words}"):
            gf.read_table(path, answer=names[3], inputs=wrong)
    with pytest.raises(gf.InvalidInput, match="inputs: expected a list of columns"):
        gf.read_table(path, answer=names[3], inputs="east")


def test_words_dates_and_gaps_are_refused_by_column_and_row(tmp_path, small):
    words = {"x": np.arange(20.0), "who": ["a"] * 20, "when": np.arange(20).astype("M8[D]"), "y": np.arange(20.0)}
    path = parquet(tmp_path / "words.parquet", words)
    with pytest.raises(
        gf.InvalidInput, match=r"inputs: expected columns of numbers, got 'who' with text; leave it out"
    ):
        gf.read_table(path, "y")
    with pytest.raises(gf.InvalidInput, match="'when' with"):
        gf.read_table(path, "y", inputs=["x", "when"])
    with pytest.raises(gf.InvalidInput, match=r"answer: .*'who' with text"):
        gf.read_table(path, "who", inputs=["x"])
    flags = parquet(tmp_path / "flags.parquet", {"x": [True, False], "y": [1.0, 2.0]})
    with pytest.raises(gf.InvalidInput, match="'x' with True or False"):
        gf.read_table(flags, "y")
    gap = [None if i == 13 else float(i) for i in range(20)]
    with pytest.raises(gf.InvalidInput, match=r"answer: .*nan in column 'y', row 13"):
        gf.read_table(parquet(tmp_path / "gap.parquet", {"x": list(range(20)), "y": gap}), "y")
    with pytest.raises(gf.InvalidInput, match=r"inputs: .*nan in column 'y', row 13"):
        gf.read_table(tmp_path / "gap.parquet", "x")
    whole = np.array(gap, dtype=float)[:, None] * [1.0, 2.0]
    np.save(tmp_path / "gap.npy", np.where(np.isnan(whole), np.inf, whole))
    with pytest.raises(gf.InvalidInput, match="inf in column 0, row 13"):
        gf.read_table(tmp_path / "gap.npy", 1)


def test_the_index_of_a_pandas_table_is_not_taken_for_an_input(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame({"x": [1.0, 2.0], "y": [3.0, 4.0]})
    frame.to_parquet(tmp_path / "plain.parquet")
    assert gf.read_table(tmp_path / "plain.parquet", "y").inputs == ("x",)
    frame.set_axis([7, 9]).to_parquet(tmp_path / "indexed.parquet")
    with pytest.raises(gf.InvalidInput, match=r"inputs: .*for a table with an index"):
        gf.read_table(tmp_path / "indexed.parquet", "y")
    assert gf.read_table(tmp_path / "indexed.parquet", "y", inputs=["x"]).X.tolist() == [[1.0], [2.0]]


def test_what_is_no_such_file_is_refused(tmp_path):
    (tmp_path / "broken.npy").write_bytes(b"\x93NUMPY")
    (tmp_path / "empty.npy").touch()
    (tmp_path / "table.csv").write_text("x,y\n1,2\n")
    np.save(tmp_path / "line.npy", np.arange(3.0))
    np.save(tmp_path / "objects.npy", np.array([{}, None]), allow_pickle=True)
    for name in ("broken.npy", "empty.npy", "objects.npy"):
        with pytest.raises(gf.InvalidInput, match=r"table: expected an array as np\.save writes it"):
            gf.read_table(tmp_path / name, 0)
    with pytest.raises(gf.InvalidInput, match=r"ends in .npy or .parquet"):
        gf.read_table(tmp_path / "table.csv", "y")
    with pytest.raises(gf.InvalidInput, match=r"shape \(n, d\).*shape \(3,\)"):
        gf.read_table(tmp_path / "line.npy", 0)
    with pytest.raises(gf.InvalidInput, match="a file that is there"):
        gf.read_table(tmp_path / "absent.npy", 0)
    with pytest.raises(gf.InvalidInput, match="table: expected the path"):
        gf.read_table(np.zeros((3, 2)), 0)


def test_a_broken_parquet_file_and_a_missing_extra_are_said(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(gf.InvalidInput, match="table: expected a Parquet file"):
        gf.read_table(tmp_path / "broken.parquet", "y")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(gf.MissingExtra, match=r"gainful\[parquet\]"):
        gf.read_table(tmp_path / "broken.parquet", "y")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_memory_maps_are_copied_once_and_no_more(tmp_path, dtype):
    N = 200_000
    np.save(tmp_path / "X.npy", RNG.random((N, 3)).astype(dtype))
    np.save(tmp_path / "y.npy", RNG.random(N).astype(dtype))
    X, y = (np.load(tmp_path / name, mmap_mode="r") for name in ("X.npy", "y.npy"))
    tracemalloc.start()
    data = gf.Data().add(LAB, X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    needed = 8 * 4 * N
    assert needed <= peak < 1.3 * needed  # one copy, and a mask of what is finite
    (batch,) = data.batches
    assert np.array_equal(batch.X, X)
    assert np.array_equal(batch.answers, y)
    assert not batch.X.flags.writeable
    assert not np.may_share_memory(batch.X, X)


def test_what_was_added_does_not_change_with_the_array_it_came_from():
    for dtype in (np.float64, np.float32, np.int64):
        X, y = np.ones((3, 2), dtype=dtype), np.ones(3, dtype=dtype)
        data = gf.Data().add(LAB, X, y)
        X[:], y[:] = 7, 7
        assert data.batches[0].X.max() == data.batches[0].answers.max() == 1.0
        assert X.flags.writeable


def test_a_parquet_file_is_never_in_memory_as_a_whole(tmp_path):
    """Beside the numbers that were asked for, Arrow holds less than two row groups of the columns read."""
    N, group = 400_000, 20_000
    columns = {name: RNG.random(N) for name in ("a", "b", "y", "unused")}
    path = parquet(tmp_path / "large.parquet", columns, row_group_size=group, compression=None, use_dictionary=False)
    program = f"""
import pyarrow, gainful as gf
found = gf.read_table({str(path)!r}, "y", inputs=["a", "b"])
print(len(found), pyarrow.default_memory_pool().max_memory())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    count, most = map(int, done.stdout.split())
    assert count == N
    assert most < 2 * 3 * 8 * group + 2**20
