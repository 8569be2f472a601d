"""Goals in words: what each stands for, and that a campaign reaches it."""

import numpy as np
import pytest

import gainful as gf
from gainful import acquisition
from gainful.campaign import MemoryJournal
from gainful.campaign.goal import completed, innermost, sign_of

SPACE = gf.Space(gf.Real("x", 0, 1, unit="km"), gf.Real("y", -1, 1))
POOL = gf.Pool(np.random.default_rng(0).random((30, 2)), names=["x", "y"])
GP = gf.GP(gf.SE(0.4))
LAB, LOOK = gf.Point(0.05, cost=4, name="lab"), gf.Binary(cost=1, name="look")
FAST = gf.Search(candidates=60, climbers=2)
WORDS = ("learn", "map", "minimise", "minimize", "maximise", "maximize", "level 0.5", " Level -2e-1 ")


def hill(place):
    return 1.5 * np.exp(-4 * np.sum((np.asarray(place) - [0.7, 0.2]) ** 2, axis=-1)) - 0.5


def finish(campaign):
    rng = np.random.default_rng(0)
    while query := campaign.ask():
        campaign.tell(query, query.instrument.simulate(np.atleast_1d(hill(query.place)), rng)[0])
    return campaign


def goal_of(campaign):
    return campaign._state.design.goal


@pytest.mark.parametrize("space", [SPACE, POOL, SPACE.where(gf.Within(x=(0.5, None)))], ids=["box", "pool", "part"])
@pytest.mark.parametrize("word", WORDS)
def test_every_word_steers_a_campaign_and_is_resumed(word, space):
    campaign = gf.Campaign(space, [LAB, LOOK], GP, word, seed=3, search=FAST)
    for place in space.candidates(3, 1):
        campaign.tell(gf.Query(LAB, place), float(hill(place)))
    journal = MemoryJournal()
    journal.append(*campaign.journal.events())
    again = gf.Campaign.resume(journal)
    asked = campaign.ask(), *campaign.ask(2)
    assert (again.ask(), *again.ask(2)) == asked


def test_words_stand_for_the_goals_that_one_would_write():
    places, few = POOL.candidates(1000, 0), POOL.candidates(200, 0)
    for word, goal in (
        ("learn", gf.PerCost(gf.Learn())),
        ("map", gf.PerCost(acquisition.IntegratedVariance(places))),
        ("minimise", gf.PerCost(acquisition.KnowledgeGradient(-1, few))),
        ("maximize", gf.PerCost(acquisition.KnowledgeGradient(1, few))),
        ("level 0.5", gf.PerCost(gf.Level(0.5, places))),
    ):
        assert goal_of(gf.Campaign(POOL, LAB, GP, word)) == goal


def test_a_goal_without_places_gets_those_of_the_space_and_one_with_them_keeps_them():
    places = POOL.candidates(1000, 0)
    assert goal_of(gf.Campaign(POOL, LAB, GP, gf.Level(0.5))) == gf.Level(0.5, places)
    wrapped = gf.RandomType(gf.PerCost(gf.Level(0.5)))
    assert goal_of(gf.Campaign(POOL, LAB, GP, wrapped)) == gf.RandomType(gf.PerCost(gf.Level(0.5, places)))
    for given in (gf.Level(0.5, [[0.0, 0.0]]), gf.PerCost(gf.Learn()), gf.Random()):
        assert completed(given, POOL, 0) is given


@pytest.mark.parametrize(
    ("word", "sign", "instruments"),
    [("maximise", 1, LAB), ("minimise", -1, LOOK), ("minimise", -1, [LAB, LOOK])],
    ids=["numbers", "yes/no", "both"],
)
def test_the_optimum_is_found_with_every_instrument(word, sign, instruments):
    def turned(query):
        return query.instrument.simulate(np.atleast_1d(4 * sign * hill(query.place)), rng)[0]

    rng = np.random.default_rng(1)
    gp = gf.GP(gf.SE([0.4, 0.5], variance=6.0))
    campaign = gf.Campaign(SPACE, instruments, gp, word, budget=48, search=FAST)
    while query := campaign.ask():
        campaign.tell(query, turned(query))
    assert hill(campaign.best().place) > 0.75  # of 1.0; the space's own mean is near -0.2


def test_a_level_is_asked_about_where_it_is_crossed():
    grid, gaps, doubt = SPACE.grid(20), [], []
    for word in ("level 0.5", "learn"):
        campaign = finish(gf.Campaign(SPACE, LAB, GP, word, budget=72, search=FAST))
        gaps.append(np.mean([abs(hill(e.query.place) - 0.5) for e in campaign.history[6:]]))
        p = gf.Level(0.5).probability(campaign.posterior, grid)
        doubt.append(np.mean(np.where(hill(grid) > 0.5, 1 - p, p)))
    assert gaps[0] < 0.7 * gaps[1]
    assert doubt[0] < doubt[1]


def test_a_map_is_better_everywhere_than_a_search_for_the_optimum():
    grid = SPACE.grid(15)
    errors = {"map": 0.0, "maximise": 0.0}
    for seed in range(4):  # one may be lucky
        for word in errors:
            campaign = finish(gf.Campaign(SPACE, LAB, GP, word, budget=60, search=FAST, seed=seed))
            errors[word] += np.mean((campaign.posterior.mean(grid) - hill(grid)) ** 2)
    assert errors["map"] < errors["maximise"]


def test_pairs_are_asked_to_find_the_optimum():
    duel = gf.Preference(noise=0.1, name="duel")
    campaign = gf.Campaign(POOL, duel, GP, "maximise", search=FAST, initial=4)
    for _ in range(15):
        query = campaign.ask()
        campaign.tell(query, bool(hill(query.place[0]) > hill(query.place[1])))
    assert np.mean(hill(POOL.places) < hill(campaign.best().place)) > 0.8


@pytest.mark.parametrize(
    ("word", "meant"),
    [("minimse", "'minimise'"), ("expected-improvment", "'expected-improvement'"), ("Map it", "map"), ("xyz", "print")],
)
def test_unknown_words_are_refused_with_the_words_there_are_and_what_may_be_meant(word, meant):
    with pytest.raises(gf.InvalidInput, match=r"goal: .*learn, map, minimise, maximise, level 0.5.*bald, ") as trouble:
        gf.Campaign(SPACE, LAB, GP, goal=word)
    assert meant in str(trouble.value)


@pytest.mark.parametrize("word", ["level", "level high", "level nan", "level inf", "level 0.5 0.6"])
def test_a_level_without_its_value_says_how_to_give_it(word):
    with pytest.raises(gf.InvalidInput, match=r"goal: .*'level 0.5'"):
        gf.Campaign(SPACE, LAB, GP, goal=word)


def test_the_sign_of_a_goal_is_known_through_what_is_around_it():
    assert sign_of(gf.PerCost(acquisition.ExpectedImprovement(sign=-1))) == -1
    assert sign_of(gf.RandomType(acquisition.UpperConfidenceBound())) == 1
    assert sign_of(gf.PerCost(gf.Learn())) is None
    assert sign_of(gf.Random()) is None
    assert innermost(gf.RandomType(gf.PerCost(gf.Learn()))) == gf.Learn()
