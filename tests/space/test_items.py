"""Pools of named items with columns of any kind."""

import numpy as np
import pytest

import gainful as gf

COLUMNS = {
    "dose": [1.0, 2.0, 4.0, 2.0],
    "form": ["pill", "syrup", "pill", "drops"],
    "coated": [True, False, True, False],
}
NAMES = ["aspirin", "ibuprofen", "codeine", "menthol"]
LAB = gf.Point(noise=0.1, name="lab")


def pool(**more):
    return gf.Pool(COLUMNS, items=NAMES, **more)


def test_text_and_flags_become_categories_and_numbers_stay():
    drugs = pool()
    assert drugs.names == ("dose", "form", "coated")
    assert drugs.levels == (None, ("drops", "pill", "syrup"), (False, True))
    assert drugs.places.tolist() == [[1, 1, 1], [2, 2, 0], [4, 1, 1], [2, 0, 0]]
    assert [(c.dimension, c.kind, c.levels) for c in drugs.coordinates.columns] == [
        ("dose", "number", 0), ("form", "category", 3), ("coated", "category", 2),
    ]  # fmt: skip
    rows = drugs.natural(drugs.places)
    assert rows == [{key: COLUMNS[key][i] for key in COLUMNS} for i in range(4)]
    np.testing.assert_array_equal(drugs.code(rows), drugs.places)
    np.testing.assert_array_equal(drugs.code(["codeine", "aspirin"]), drugs.places[[2, 0]])


def test_a_table_is_a_pool_and_its_index_names_the_items():
    pandas = pytest.importorskip("pandas", reason="tables are optional")
    frame = pandas.DataFrame(COLUMNS, index=NAMES)
    drugs, wanted = gf.Pool(frame), pool()
    assert (drugs.names, drugs.levels, drugs.items) == (wanted.names, wanted.levels, wanted.items)
    np.testing.assert_array_equal(drugs.places, wanted.places)
    np.testing.assert_array_equal(drugs.code(frame[["coated", "dose", "form"]]), drugs.places)
    category = frame.astype({"form": "category"})
    np.testing.assert_array_equal(gf.Pool(category).places, drugs.places)
    plain = gf.Pool(pandas.DataFrame({"a": [1, 2], "b": [0.5, 0.7]}))
    assert plain.levels is None
    assert plain.items is None


def test_a_campaign_over_items_asks_for_them_by_name(tmp_path):
    drugs = pool()
    gp = gf.GP(gf.SE(2.0).on("dose") * gf.Exchangeable(3).on("form") * gf.Exchangeable(2).on("coated"), space=drugs)
    campaign = gf.Campaign(drugs, LAB, gp, repeat=False, journal=tmp_path / "j")
    asked = []
    while query := campaign.ask():
        asked.append(query.item)
        number = NAMES.index(query.item)
        assert f"lab at item {number}, {query.item}" in repr(query)
        assert query["form"] == COLUMNS["form"][number]
        campaign.tell(query, float(number))
    assert sorted(asked) == sorted(NAMES)
    again = gf.Campaign.resume(tmp_path / "j")
    assert [entry.query.item for entry in again.history] == asked
    assert again.history == campaign.history
    assert "item" in str(again.why(1))


def test_an_item_is_told_by_its_name():
    drugs = pool()
    campaign = gf.Campaign(drugs, LAB, gf.GP(gf.SE(1.0).on("dose"), space=drugs))
    campaign.tell(gf.Query(LAB, "codeine", space=drugs), 3.0)
    assert campaign.history[0].query.item == "codeine"
    part = drugs.where(gf.Within(dose=(1.5, 3)))
    assert gf.Query(LAB, "menthol", space=part).item == "menthol"
    with pytest.raises(gf.InvalidInput, match="morphine"):
        gf.Query(LAB, "morphine", space=drugs)


def test_items_that_are_alike_in_every_column_are_named_together():
    twins = gf.Pool({"dose": [1.0, 1.0, 2.0], "form": ["a", "a", "b"]}, items=["x", "y", "z"])
    assert twins.item(twins.places[0]) == "x or y"
    assert twins.words(twins.places[1]) == "item 0 or 1, x or y"


@pytest.mark.parametrize(
    "make",
    [
        lambda: gf.Pool(COLUMNS, items=["a", "a", "b", "c"]),
        lambda: gf.Pool(COLUMNS, items=["a"]),
        lambda: gf.Pool({"x": [1.0, 2.0], "y": ["a"]}),
        lambda: gf.Pool({"x": [1.0, None]}),
        lambda: gf.Pool({"x": ["a", True]}),
        lambda: gf.Pool({"x": ["a", 1.0]}),
        lambda: gf.Pool([[0.0, 3.0]], levels=[None, ["a", "b"]]),
        lambda: gf.Pool([[0.0, 1.0]], levels=[["a", "b"]]),
        lambda: pool().code([[1.0, "cream", True]]),
    ],
)
def test_what_cannot_be_meant_is_refused(make):
    with pytest.raises(gf.InvalidInput):
        make()
