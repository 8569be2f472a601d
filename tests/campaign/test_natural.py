"""Campaigns speak of °C and "Pd": queries, journals, reasons and data in natural units and level names."""

import json

import numpy as np
import pytest

import gainful as gf
from gainful.campaign.events import replay
from gainful.campaign.journal import read_events

SPACE = gf.Space(
    gf.Real("temperature", 20, 90, unit="°C"),
    gf.Real("concentration", 1e-6, 1e-2, unit="mol/L", log=True),
    gf.Integer("stages", 1, 8),
    gf.Categorical("catalyst", ["Pd", "Ni", "Cu"]),
    gf.Real("light", 0, 5, when={"catalyst": ["Ni", "Cu"]}),
)
LAB = gf.Point(noise=0.5, cost=10, name="lab")
LOOK = gf.Binary(cost=1, name="look")
KERNEL = gf.SE((20.0, 3.0, 3.0)).on("temperature", "concentration", "stages") * gf.Exchangeable(3, 0.4).on(
    "catalyst"
) + gf.SE(2.0).on("light")
SEARCH = gf.Search(candidates=100, climbers=1)


def truth(query):
    extra = 0.0 if query["light"] is None else query["light"] / 5
    metal = {"Pd": 0.0, "Ni": 0.5, "Cu": -0.5}[query["catalyst"]]
    return float(np.sin(query["temperature"] / 20) + np.log10(query["concentration"]) / 4 + metal + extra)


def run(campaign, n):
    for _ in range(n):
        query = campaign.ask()
        campaign.tell(query, truth(query) if query.instrument.label == "lab" else truth(query) > 0)
    return campaign


def begin(**more):
    gp = gf.GP(KERNEL, space=SPACE)
    return gf.Campaign(SPACE, [LAB, LOOK], gp, budget=200, search=SEARCH, **more)


def test_a_campaign_over_mixed_dimensions_resumes_to_the_byte(tmp_path):
    whole = run(begin(journal=tmp_path / "whole.journal"), 6)
    part = run(begin(journal=tmp_path / "part.journal"), 3)
    del part
    resumed = run(gf.Campaign.resume(tmp_path / "part.journal"), 3)
    assert (tmp_path / "part.journal").read_bytes() == (tmp_path / "whole.journal").read_bytes()
    for a, b in zip(whole.history, resumed.history, strict=True):
        assert a == b
        assert a.query.place.tobytes() == b.query.place.tobytes()


def test_the_journal_has_level_names_and_nothing_for_what_is_absent(tmp_path):
    campaign = begin(journal=tmp_path / "j")
    pd = {"temperature": 40, "concentration": 1e-4, "stages": 3, "catalyst": "Pd"}
    cu = {**pd, "catalyst": "Cu", "light": 2.5}
    for values in (pd, cu):
        query = gf.Query(LAB, values, space=SPACE)
        campaign.tell(query, truth(query))
    told = [event for event in read_events(campaign.journal) if event["event"] == "told"]
    assert told[0]["place"] == [40.0, 1e-4, 3, "Pd", None]
    assert told[1]["place"] == [40.0, 1e-4, 3, "Cu", 2.5]
    assert [entry.query.at for entry in campaign.history] == [{**pd, "light": None}, cu]
    again = gf.Campaign.resume(tmp_path / "j")
    assert [entry.query["catalyst"] for entry in again.history] == ["Pd", "Cu"]
    assert "Pd" in json.dumps(told)


@pytest.mark.parametrize(
    "place",
    [[40.0, 1e-4, 3, "Zn", None], [40.0, 1e-4, 2.5, "Pd", None], [40.0, 1e-4, 3, "Cu", None],
     [40.0, 1e-4, 3, True, None], [40.0, "1e-4", 3, "Pd", None], [None, 1e-4, 3, "Pd", None],
     [40.0, 1e-4, 3, "Pd"], [99.0, 1e-4, 3, "Pd", None]],
    ids=str,
)  # fmt: skip
def test_a_journal_whose_places_are_not_of_the_space_is_refused(place):
    campaign = begin()
    events = [*read_events(campaign.journal), {"event": "asked", "query": 0, "instrument": "lab", "place": place}]
    with pytest.raises(gf.JournalError, match=r"event 2 of the journal \(asked\)"):
        replay(events)


def test_text_is_no_coordinate_of_a_space_of_numbers():
    campaign = gf.Campaign(gf.Space(gf.Real("x", 0, 1)), LAB, gf.GP(gf.SE(0.3)))
    for place in (["0.1"], [None], [True], [["0.1"]]):
        event = {"event": "asked", "query": 0, "instrument": "lab", "place": place}
        with pytest.raises(gf.JournalError, match=r"event 2 of the journal \(asked\)"):
            replay([*read_events(campaign.journal), event])


def test_queries_and_reasons_are_in_words():
    campaign = begin()
    query = campaign.ask()
    assert query.words == SPACE.words(query.place)
    assert "°C" in repr(query)
    assert repr(query).startswith("Query 0(")
    why = str(campaign.why(query))
    assert query.words in why
    assert why.count("°C") >= 2  # the rival's place too
    assert set(query.at) == set(SPACE.names)
    assert isinstance(query["stages"], int)
    assert query["catalyst"] in ("Pd", "Ni", "Cu")
    with pytest.raises(gf.InvalidInput, match="colour"):
        query["colour"]


def test_a_query_by_name_is_the_query_by_code():
    codes = np.array([40.0, 1e-4, 3.0, 2.0, 2.5])
    by_name = gf.Query(LAB, {"light": 2.5, "catalyst": "Cu", "stages": 3, "concentration": 1e-4, "temperature": 40},
                       space=SPACE)  # fmt: skip
    assert by_name == gf.Query(LAB, codes)
    assert hash(by_name) == hash(gf.Query(LAB, codes))
    row = gf.Query(LAB, [40, 1e-4, 3, "Cu", 2.5], space=SPACE)
    assert row == by_name
    pair = gf.Query(gf.Preference(), [[40, 1e-4, 3, "Cu", 2.5], [50, 1e-4, 3, "Pd", None]], space=SPACE)
    assert pair["catalyst"] == ("Cu", "Pd")
    assert pair.at[1]["light"] is None
    with pytest.raises(gf.InvalidInput, match="space=space"):
        gf.Query(LAB, {"temperature": 40})
    with pytest.raises(gf.InvalidInput, match="space=space"):
        gf.Query(LAB, [40, "Pd"])
    with pytest.raises(gf.InvalidInput, match="catalyst"):
        gf.Query(LAB, [40, 1e-4, 3, "Zn", 2.5], space=SPACE)


def test_a_query_made_by_another_space_is_read_by_its_names():
    turned = gf.Space(
        *[d if d.name != "catalyst" else gf.Categorical("catalyst", ["Cu", "Pd", "Ni"]) for d in SPACE.dimensions]
    )
    campaign = begin()
    campaign.tell(gf.Query(LAB, [40, 1e-4, 3, "Cu", 2.5], space=turned), 1.0)
    assert campaign.history[0].query["catalyst"] == "Cu"
    assert campaign.history[0].query.place[3] == 2.0


def test_data_take_tables_as_people_have_them():
    rows = [[40, 1e-4, 3, "Cu", 2.5], [50, 1e-3, 2, "Pd", None]]
    data = gf.Data(space=SPACE).add(LAB, rows, [1.0, 2.0])
    codes = gf.Data().add(LAB, SPACE.code(rows), [1.0, 2.0])
    np.testing.assert_array_equal(data.layout.places, codes.layout.places)
    one = gf.Data(space=SPACE).add(LAB, dict(zip(SPACE.names, rows[0], strict=True)), 1.0).add(LAB, rows[1:], [2.0])
    np.testing.assert_array_equal(one.layout.places, codes.layout.places)
    duels = gf.Data(space=SPACE).add(gf.Preference(), [rows, rows[::-1]], [True, False])
    assert len(duels) == 2
    pandas = pytest.importorskip("pandas", reason="tables are optional")
    frame = pandas.DataFrame(rows, columns=list(SPACE.names))[list(reversed(SPACE.names))]
    table = gf.Data(space=SPACE).add(LAB, frame, [1.0, 2.0])
    np.testing.assert_array_equal(table.layout.places, codes.layout.places)


def test_a_stream_offers_places_by_name():
    gp = gf.GP(KERNEL, space=SPACE)
    campaign = gf.Campaign(gf.Stream(SPACE, rate=1.0), [LAB], gp, budget=100)
    query = campaign.offer({"temperature": 40, "concentration": 1e-4, "stages": 3, "catalyst": "Pd"})
    assert query["catalyst"] == "Pd"
    with pytest.raises(gf.InvalidInput):
        campaign.offer({"temperature": 40, "concentration": 1e-4, "stages": 9, "catalyst": "Pd"})
    with pytest.raises(gf.InvalidInput):
        campaign.offer([40, 1e-4, 3, "Zn", None])
    assert len(gf.Campaign.resume(campaign.journal).history) == 1


def test_a_kernel_without_a_space_is_given_the_campaigns():
    space = gf.Space(gf.Real("dose", 1e-6, 1e-2, log=True))
    bare = gf.Campaign(space, LAB, gf.GP(gf.SE(2.0)), search=SEARCH)
    said = gf.Campaign(space, LAB, gf.GP(gf.SE(2.0, 1.0), space=space), search=SEARCH)
    assert bare.ask().place.tobytes() == said.ask().place.tobytes()
    assert isinstance(bare.gp.kernel, gf.Warped)


def test_limits_that_are_sums_are_written_down(tmp_path):
    space = gf.Space(gf.Real("a", 0, 1), gf.Real("b", 0, 1))
    limit = gf.LinearLimit({"a": 1, "b": 1}, most=1.0)
    campaign = gf.Campaign(space, LAB, gf.GP(gf.SE(0.3)), limits={LAB: limit}, search=SEARCH, journal=tmp_path / "j")
    for _ in range(3):
        query = campaign.ask(where=gf.LinearLimit({"a": 1, "b": -1}, least=0.0))
        assert query.place.sum() <= 1.0 + 1e-9
        assert query.place[0] >= query.place[1]
        campaign.tell(query, 0.5)
    again = gf.Campaign.resume(tmp_path / "j")
    assert again.history == campaign.history
    assert "LinearLimit" in str(again.why(1))


def test_no_place_is_asked_twice_until_none_is_left():
    space = gf.Space(gf.Integer("n", 1, 3), gf.Categorical("c", ["a", "b"]))
    gp = gf.GP(gf.SE(1.0, 1.0).on("n") * gf.Exchangeable(2, 0.5).on("c"), space=space)
    campaign = gf.Campaign(space, LAB, gp, repeat=False)
    seen = []
    while query := campaign.ask():
        seen.append((query["n"], query["c"]))
        campaign.tell(query, 0.0)
    assert sorted(seen) == [(n, c) for n in (1, 2, 3) for c in "ab"]


def test_mixtures_are_asked_for_on_their_simplex():
    space = gf.Space(
        gf.Proportions(["water", "ethanol", "oil"], low={"water": 0.2}), gf.At("pressure", 1.0, unit="bar")
    )
    campaign = gf.Campaign(space, LAB, gf.GP(gf.SE(0.3, 1.0), space=space), search=SEARCH)
    for _ in range(3):
        query = campaign.ask()
        assert abs(query["water"] + query["ethanol"] + query["oil"] - 1.0) < 1e-9
        assert "pressure 1 bar" in query.words
        campaign.tell(query, 0.0)
    with pytest.raises(gf.InvalidInput):
        campaign.tell(gf.Query(LAB, [0.5, 0.5, 0.5, 1.0]), 0.0)


def test_every_kind_of_space_comes_back_from_its_journal(tmp_path):
    mixture = gf.Space(gf.Proportions(["a", "b", "c"], total=100, low=5, high={"c": 60}, unit="%"), gf.At("p", 1.5))
    sized = gf.Space(gf.Categorical("size", ["S", "M", "L"], ordered=True), gf.Integer("n", 1, 900, log=True))
    nested = gf.Space(
        gf.Categorical("flag", [False, True]),
        gf.Categorical("batch", [16, 32, 1], when={"flag": True}),
        gf.Real("x", 0.5, 2, log=True, when={"batch": [16, 1]}),
    )
    part = mixture.where(gf.LinearLimit({"a": 1, "b": -1}, least=0)).where(gf.Within(b=(10, None)))
    for i, space in enumerate((mixture, sized, nested, part)):
        gp = gf.GP(gf.SE(2.0, 1.0), space=space)
        campaign = gf.Campaign(space, LAB, gp, search=gf.Search(candidates=50, climbers=1), journal=tmp_path / f"{i}")
        for _ in range(3):
            query = campaign.ask()
            assert gf.Query(LAB, query.at, space=space) == gf.Query(LAB, query.place)
            campaign.tell(query, 1.0)
        (tmp_path / f"copy {i}").write_bytes((tmp_path / f"{i}").read_bytes())
        again = gf.Campaign.resume(tmp_path / f"copy {i}")
        assert again.history == campaign.history
        assert again.gp == campaign.gp
        assert again.ask().place.tobytes() == campaign.ask().place.tobytes()
