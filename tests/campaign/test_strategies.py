"""A strategy's name is a goal: made for the space, written down as what it was made into, resumed exactly."""

import numpy as np
import pytest

import gainful as gf
from gainful import acquisition
from gainful.campaign import MemoryJournal

SPACE = gf.Space(gf.Real("x", 0, 1), gf.Real("y", -1, 1))
POOL = gf.Pool(np.random.default_rng(0).random((7, 2)))
GP = gf.GP(gf.SE(0.5))
FAST = gf.Search(candidates=12, climbers=0)
NEEDS_SEVERAL = {"bald-hyperparameters"}  # beliefs of several models


def told(space, name, instrument, journal=None):
    campaign = gf.Campaign(space, instrument, GP, name, seed=5, search=FAST, journal=journal)
    for place, answer in zip(POOL.places, (True, False), strict=False):
        query = gf.Query(instrument, place)
        campaign.tell(query, answer if instrument.values else float(answer))
    return campaign


def instrument_for(strategy):
    return gf.Point(0.1, name="lab") if "improvement" in strategy.name else gf.Binary(name="ask")


@pytest.mark.parametrize("space", [SPACE, POOL], ids=["box", "pool"])
@pytest.mark.parametrize("strategy", [s for s in gf.strategies() if s.name not in NEEDS_SEVERAL], ids=lambda s: s.name)
def test_every_strategy_steers_a_campaign_by_its_name_and_is_resumed(strategy, space):
    campaign = told(space, strategy.name, instrument_for(strategy))
    journal = MemoryJournal()
    journal.append(*campaign.journal.events())
    again = gf.Campaign.resume(journal)
    asked = campaign.ask(), *campaign.ask(4)  # the second while the first is pending, then four at once
    assert (again.ask(), *again.ask(4)) == asked
    assert len(asked) == 5


def test_a_name_stands_for_the_goal_that_one_would_write():
    lab = gf.Point(0.1, name="lab")
    for name, goal in (
        ("expected-improvement", acquisition.ExpectedImprovement()),
        ("bald-per-cost", gf.PerCost(gf.Learn())),
        ("alc", acquisition.IntegratedVariance(POOL.places)),
        ("random", gf.Random()),
    ):
        named, written = (told(POOL, each, lab) for each in (name, goal))
        assert named.journal.events() == written.journal.events()
        assert named.ask() == written.ask()


def test_the_reference_of_a_box_is_200_places_spread_over_it_and_follows_the_seed():
    events = [
        gf.Campaign(SPACE.where(gf.Within(x=(0.5, None))), gf.Point(), GP, "alc", seed=seed).journal.events()[0]
        for seed in (1, 1, 2)
    ]
    reference = np.array(events[0]["design"]["fields"]["goal"]["fields"]["reference"]["places"])
    assert reference.shape == (200, 2)
    assert reference[:, 0].min() >= 0.5
    np.testing.assert_array_equal(reference, SPACE.where(gf.Within(x=(0.5, None))).candidates(200, 1))
    assert events[0] == events[1] != events[2]


def test_the_reference_of_a_large_pool_is_a_thousand_of_its_places():
    pool = gf.Pool(np.random.default_rng(0).random((1500, 2)))
    (created,) = gf.Campaign(pool, gf.Point(), GP, "alc").journal.events()
    reference = np.array(created["design"]["fields"]["goal"]["fields"]["reference"]["places"])
    assert reference.shape == (1000, 2)
    assert pool.contains(reference).all()


def test_where_every_instrument_compares_places_answers_are_predicted_for_pairs():
    campaign = gf.Campaign(POOL, gf.Preference(), GP, "zhu", search=FAST)
    query = campaign.ask()
    assert query.place.shape == (2, 2)
    campaign.tell(query, True)
    assert campaign.ask() is not None


def test_an_unknown_name_is_refused_with_the_names_there_are():
    with pytest.raises(gf.InvalidInput, match=r"goal: .*bald, bald-per-cost.*expected-improvement.*got greedy"):
        gf.Campaign(POOL, gf.Point(), GP, goal="greedy")


def test_a_strategy_that_cannot_ask_with_an_instrument_says_so_before_anything_is_written(tmp_path):
    with pytest.raises(gf.InvalidInput, match="goal, instruments"):
        gf.Campaign(POOL, gf.Point(), GP, goal="zhu", journal=tmp_path / "j")
    assert not (tmp_path / "j").exists()
