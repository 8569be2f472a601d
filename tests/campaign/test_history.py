"""A history as a table: every query once, in people's own units and words, however it came about."""

import builtins
import csv

import numpy as np
import pytest

import gainful as gf
from gainful.campaign import History

SPACE = gf.Space(
    gf.Real("temperature", 20, 90, unit="°C"),
    gf.Real("concentration", 1e-6, 1e-2, log=True),
    gf.Categorical("catalyst", ["Pd", "Ni"]),
    gf.Real("light", 0, 5, when={"catalyst": "Ni"}),
    gf.Real("cost", 0, 1),  # called like a column of the table
)
LAB, STRIP = gf.Point(noise=0.5, cost=10, name="lab"), gf.Interval(0.5, cost=2, name="strip")
PD = {"temperature": 40, "concentration": 1e-4, "catalyst": "Pd", "cost": 0.25}
NI = {**PD, "catalyst": "Ni", "light": 2.5}
KERNEL = gf.SE(20.0, 1.0).on("temperature") * gf.Exchangeable(2, 0.4).on("catalyst")


@pytest.fixture
def campaign():
    """One told, one corrected, one withdrawn after it was told, one pending."""
    made = gf.Campaign(SPACE, [LAB, STRIP], gf.GP(KERNEL, space=SPACE), gf.Random())
    made.tell(gf.Query(LAB, PD, space=SPACE), 1.5, note="first")
    made.tell(gf.Query(STRIP, NI, space=SPACE), (-np.inf, 0.1 + 0.2), cost=3)
    made.correct(1, (-np.inf, 0.5))
    made.tell(gf.Query(LAB, NI, space=SPACE), 9.0)
    made.withdraw(2)
    made.ask()
    return made


def test_every_query_is_one_row_with_its_place_as_people_say_it(campaign):
    first, second, third, last = campaign.history.rows
    assert list(first)[:2] == ["number", "instrument"]
    assert list(first)[2:7] == ["temperature", "concentration", "catalyst", "light", "place.cost"]
    assert first == {
        "number": 0, "instrument": "lab", "temperature": 40.0, "concentration": 1e-4, "catalyst": "Pd", "light": None,
        "place.cost": 0.25, "answer": 1.5, "cost": 10.0, "status": "told", "corrected": False, "own": True,
        "note": "first",
    }  # fmt: skip
    assert (second["instrument"], second["light"], second["answer"]) == ("strip", 2.5, (-np.inf, 0.5))
    assert (second["cost"], second["corrected"], second["status"]) == (3.0, True, "told")
    assert (third["status"], third["answer"], third["cost"]) == ("withdrawn", 9.0, 10.0)
    assert (last["status"], last["answer"], last["own"], last["cost"]) == ("pending", None, False, 0.0)
    assert sum(row["cost"] for row in campaign.history.rows) == campaign.spent


def test_what_is_taken_back_is_not_corrected_any_more(campaign):
    campaign.correct(0, 2.0)
    assert campaign.history.rows[0]["corrected"]
    query = campaign.undo()  # the last answer that still counts
    assert not campaign.history.rows[query.number]["corrected"]


def test_it_is_the_tuple_of_entries_that_it_was(campaign):
    assert isinstance(campaign.history, tuple)
    assert campaign.history == campaign._state.entries
    assert campaign.history[0].query["catalyst"] == "Pd"


def test_the_frame_has_the_rows(campaign):
    pandas = pytest.importorskip("pandas", reason="tables are optional")
    frame = campaign.history.to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert len(frame) == 4
    assert list(frame.columns) == list(campaign.history.rows[0])
    assert frame["temperature"].dtype == float
    assert frame[frame["status"] == "told"]["catalyst"].tolist() == ["Pd", "Ni"]
    told = frame[(frame["status"] == "told") & (frame["instrument"] == "lab")]
    places = told.drop(columns="cost").rename(columns={"place.cost": "cost"})[list(SPACE.names)]
    again = gf.Data(space=SPACE).add(LAB, places, told["answer"].astype(float))
    assert again.batches[0].X.tobytes() == campaign.history[0].query.place.tobytes()


def test_an_empty_history_has_the_columns_that_are_always_there(tmp_path):
    pytest.importorskip("pandas", reason="tables are optional")
    frame = History().to_frame()
    assert len(frame) == 0
    assert {"number", "instrument", "answer", "status"} <= set(frame.columns)
    History().to_csv(tmp_path / "h.csv")
    assert (tmp_path / "h.csv").read_text().startswith("number,instrument,answer,")


def test_the_file_has_every_digit_and_no_word_for_what_is_absent(campaign, tmp_path):
    campaign.correct(1, (-np.inf, 0.1 + 0.2))
    campaign.history.to_csv(tmp_path / "h.csv")
    with (tmp_path / "h.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["number"] for row in rows] == ["0", "1", "2", "3"]
    assert rows[0]["light"] == ""
    assert rows[3]["answer"] == ""
    assert float(rows[0]["concentration"]) == 1e-4
    low, high = map(float, rows[1]["answer"].split())
    assert (low, high) == (-np.inf, 0.1 + 0.2)
    assert float(rows[3]["temperature"]) == campaign.history[3].query["temperature"]


def test_a_pair_has_a_column_for_each_of_its_places():
    space = gf.Space(gf.Real("a", 0, 1), gf.Real("a 2", 0, 1))
    better = gf.Preference(0.1, name="better")
    campaign = gf.Campaign(space, [better, LAB], gf.GP(gf.SE(0.3, 1.0)))
    campaign.tell(gf.Query(better, [[0.1, 0.2], [0.3, 0.4]]), True)
    campaign.tell(gf.Query(LAB, [0.5, 0.6]), 1.0)
    first, second = campaign.history.rows
    places = {"a": 0.1, "place.a 2": 0.2, "a 2": 0.3, "place.a 2 2": 0.4}
    assert {name: first[name] for name in places} == places
    assert [second[name] for name in places] == [0.5, 0.6, None, None]


def test_named_items_have_a_column():
    pool = gf.Pool({"dose": [1.0, 2.0]}, items=["aspirin", "codeine"])
    campaign = gf.Campaign(pool, LAB, gf.GP(gf.SE(1.0, 1.0), space=pool))
    campaign.tell(gf.Query(LAB, "codeine", space=pool), 0.4)
    (row,) = campaign.history.rows
    assert (row["item"], row["dose"]) == ("codeine", 2.0)


def test_without_pandas_the_remedy_is_named(campaign, monkeypatch):
    real = builtins.__import__

    def absent(name, *rest, **more):
        if name == "pandas":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(gf.MissingExtra, match=r"gainful\[tables\]"):
        campaign.history.to_frame()


@pytest.mark.parametrize("path", [None, 3, b"h.csv"])
def test_what_is_no_path_is_refused(campaign, path):
    with pytest.raises(gf.InvalidInput, match="path"):
        campaign.history.to_csv(path)


def test_a_folder_that_is_not_there_is_said(campaign, tmp_path):
    with pytest.raises(gf.InvalidInput, match="path: expected a file that can be written"):
        campaign.history.to_csv(tmp_path / "none" / "h.csv")
