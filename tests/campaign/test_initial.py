"""The initial design: even, exact when replayed, within limits and budget, and out of the way when it is not wanted."""

import numpy as np
import pytest

import gainful as gf
from gainful.campaign import MemoryJournal
from gainful.campaign.initial import places_apart

SPACE = gf.Space(gf.Real("x", 0, 1), gf.Real("y", -1, 1))
POOL = gf.Pool(np.random.default_rng(0).random((40, 2)), names=["x", "y"])
GP = gf.GP(gf.SE(0.4))
LAB, LOOK = gf.Point(0.05, cost=4, name="lab"), gf.Binary(cost=1, name="look")
FAST = gf.Search(candidates=40, climbers=0)


def places(queries):
    return np.array([q.place for q in queries])


def answer(query):
    return bool(query.place.sum() > 0.5) if query.instrument.label != "lab" else float(query.place.sum())


def test_stated_hyperparameters_need_no_initial_design():
    for initial in (None, 0):
        campaign = gf.Campaign(SPACE, LAB, GP, search=FAST, initial=initial)
        assert campaign.ask() == gf.Campaign(SPACE, LAB, GP, search=FAST).ask()
        assert campaign._state.design.initial == 0


@pytest.mark.parametrize("space", [SPACE, POOL], ids=["box", "pool"])
def test_the_first_queries_are_spread_over_the_space_and_follow_the_seed(space):
    first = [places(gf.Campaign(space, LAB, GP, "minimise", s, initial=6, search=FAST).ask(6)) for s in (60, 60)]
    np.testing.assert_array_equal(*first)
    width = space.high - space.low
    gaps = np.sqrt(np.sum(((first[0][:, None] - first[0]) / width) ** 2, axis=-1)) + 9 * np.eye(6)
    chance = np.random.default_rng(0).random((1000, 6, 2))
    usual = np.sqrt(np.sum((chance[:, :, None] - chance[:, None]) ** 2, axis=-1)) + 9 * np.eye(6)
    assert gaps.min() > np.quantile(usual.min(axis=(1, 2)), 0.9)


def test_of_a_pool_each_place_is_the_farthest_from_those_before():
    chosen = places_apart(POOL, 5, seed=0)
    width = POOL.high - POOL.low
    for n in range(1, 5):
        nearest = np.min(np.sum(((POOL.places[:, None] - chosen[:n]) / width) ** 2, axis=-1), axis=1)
        np.testing.assert_array_equal(POOL.places[np.argmax(nearest)], chosen[n])
    assert len(places_apart(POOL, 99, seed=0)) == 40


@pytest.mark.parametrize("space", [SPACE, POOL], ids=["box", "pool"])
@pytest.mark.parametrize("goal", ["learn", "maximise", gf.Random(), gf.RandomType()], ids=str)
def test_it_is_resumed_after_every_event(space, goal):
    campaign = gf.Campaign(space, [LAB, LOOK], GP, goal, seed=2, initial=4, search=FAST)
    for _ in range(6):
        journal = MemoryJournal()
        journal.append(*campaign.journal.events())
        query = campaign.ask()
        assert gf.Campaign.resume(journal).ask() == query
        campaign.tell(query, answer(query))


def test_one_at_a_time_or_all_at_once_are_the_same_places():
    together = places(gf.Campaign(SPACE, LAB, GP, initial=5, search=FAST).ask(5))
    campaign = gf.Campaign(SPACE, LAB, GP, initial=5, search=FAST)
    one_by_one = []
    for _ in range(5):
        one_by_one.append(campaign.ask())
        campaign.tell(one_by_one[-1], answer(one_by_one[-1]))
    np.testing.assert_array_equal(together, places(one_by_one))


def test_what_the_user_has_measured_counts_and_is_kept_away_from():
    campaign = gf.Campaign(SPACE, LAB, GP, initial=4, search=FAST)
    planned = places(gf.Campaign(SPACE, LAB, GP, initial=4, search=FAST).ask(4))
    for place in planned[1:3] + 0.01:
        campaign.tell(gf.Query(LAB, place), 0.3)
    rest = places(campaign.ask(2))
    assert {tuple(row) for row in rest} == {tuple(row) for row in planned[[0, 3]]}


def test_a_withdrawn_place_is_asked_again():
    campaign = gf.Campaign(SPACE, LAB, GP, initial=3, search=FAST)
    first = campaign.ask()
    campaign.withdraw(first)
    again = campaign.ask()
    np.testing.assert_array_equal(again.place, first.place)


def test_limits_constraints_and_this_ask_alone_are_respected():
    def corner(X):
        return X[:, 0] + X[:, 1] > 0.0

    land = SPACE.where(corner)
    limits = {"lab": gf.Within(x=(None, 0.5))}
    campaign = gf.Campaign(land, [LAB, LOOK], GP, "maximise", initial=8, limits=limits, search=FAST)
    asked = campaign.ask(7)
    assert corner(places(asked)).all()
    assert all(q.instrument.label == "look" for q in asked if q.place[0] > 0.5)
    here = gf.Within(x=(0.30, 0.31), y=(0.5, 0.51))
    assert here.mask(campaign.ask(where=here).place[None], SPACE.names).all()


def test_time_is_not_skipped():
    space = gf.Space(gf.Real("t", 0, 10))
    campaign = gf.Campaign(space, LAB, GP, initial=5, forward="t", search=FAST)
    times = [q.place[0] for q in campaign.ask(5)]
    assert times == sorted(places_apart(space, 5, seed=0).ravel())


def test_the_budget_ends_it():
    campaign = gf.Campaign(SPACE, [LAB, LOOK], GP, "learn", budget=6, initial=9, search=FAST)
    costs = [q.cost for q in campaign.ask(9)]
    assert sum(costs) <= 6
    assert campaign.stopped is not None


def test_the_instrument_is_the_one_that_the_goal_likes_best_there():
    for look, expected in ((gf.Binary(cost=0.01, name="look"), "look"), (gf.Binary(cost=100, name="look"), "lab")):
        for word in ("learn", "maximise", "level 0.2"):
            asked = gf.Campaign(SPACE, [LAB, look], GP, word, initial=3, search=FAST).ask(3)
            assert {q.instrument.label for q in asked} == {expected}


@pytest.mark.parametrize("instrument", [gf.Preference(0.1), gf.Detection()], ids=str)
def test_pairs_and_sets_are_made_of_places_apart(instrument):
    asked = gf.Campaign(SPACE, instrument, GP, initial=3, search=FAST).ask(3)
    every = places(asked).reshape(-1, 2)
    assert len(np.unique(every, axis=0)) == 6


def test_why_says_that_it_is_the_initial_design():
    campaign = gf.Campaign(SPACE, LAB, GP, "maximise", initial=2, search=FAST)
    for _ in range(3):
        query = campaign.ask()
        campaign.tell(query, answer(query))
    assert "initial design" in str(campaign.why(0))
    assert "initial design" in str(campaign.why(1))
    assert "initial design" not in str(campaign.why(2))


def test_goals_that_need_answers_first_can_begin():
    campaign = gf.Campaign(SPACE, LOOK, GP, "conformal", initial=3, search=FAST)
    for truth in (True, False, True):
        campaign.tell(campaign.ask(), truth)
    assert campaign.ask() is not None


@pytest.mark.parametrize("wrong", [-1, 1.5, "two", True])
def test_a_number_of_queries_is_whole(wrong):
    with pytest.raises(gf.InvalidInput, match="initial: "):
        gf.Campaign(SPACE, LAB, GP, initial=wrong)


def test_a_stream_has_no_initial_design():
    with pytest.raises(gf.InvalidInput, match=r"initial: .*stream"):
        gf.Campaign(gf.Stream(SPACE, rate=0.2), LAB, GP, initial=3)
