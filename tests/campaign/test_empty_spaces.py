"""A constraint that chance never meets is said, with its remedy: no campaign ends without a word."""

import numpy as np
import pytest

import gainful as gf
from gainful.space.steps import stepped

SPACE = gf.Space(gf.Real("n", 0, 10), gf.Real("t", 0, 1, unit="s"))
LAB, LOOK = gf.Point(0.1, name="lab"), gf.Binary(name="look")
GP = gf.GP(gf.SE(2.0, 1.0))


def whole(X):
    return X[:, 0] == np.round(X[:, 0])


def both_whole(X):
    return whole(X) & (X[:, 1] == np.round(X[:, 1]))


def half_way(X):
    return whole(X) & (np.abs(X[:, 1] - 0.5) < 0.2)


def nowhere(X):
    return X[:, 0] > 11.0


@pytest.mark.parametrize("constraint", [whole, both_whole, half_way])
def test_whole_numbers_of_a_real_are_an_error_that_names_integer(constraint):
    with pytest.raises(gf.InvalidInput, match=r"whole numbers alone satisfy in n.*Integer\('n', 0, 10\)") as caught:
        gf.Campaign(SPACE.where(constraint), LAB, GP)
    assert caught.value.argument == "space"
    assert constraint.__name__ in str(caught.value)


def test_decimals_of_a_real_are_an_error_too():
    with pytest.raises(gf.InvalidInput, match="numbers with 1 decimals alone satisfy in t"):
        gf.Campaign(SPACE.where(lambda X: (X[:, 1] == np.round(X[:, 1], 1)) & (X[:, 1] % 1 != 0)), LAB, GP)


@pytest.mark.parametrize("goal", [None, gf.Random(), "minimise"])
def test_it_is_said_of_limits_when_the_campaign_is_made_whatever_the_goal(goal):
    with pytest.raises(gf.InvalidInput, match=r"limits\['lab'\].*Integer"):
        gf.Campaign(SPACE, [LAB, LOOK], GP, goal, limits={"lab": whole})


def test_it_is_said_of_one_ask_when_it_is_asked_and_the_campaign_goes_on():
    campaign = gf.Campaign(SPACE, LAB, GP, search=gf.Search(20, 0))
    with pytest.raises(gf.InvalidInput, match="Integer"):
        campaign.ask(where=whole)
    assert campaign.ask() is not None


def test_within_linear_limits_it_is_said_too():
    thin = SPACE.where(gf.LinearLimit({"n": 1, "t": 10}, least=10, most=10.0001))
    with pytest.raises(gf.InvalidInput, match="Integer"):
        thin.where(whole).candidates(10, rng=0)


def test_a_space_without_a_place_is_an_error_when_the_campaign_is_made():
    with pytest.raises(gf.InvalidInput, match="space: expected at least one place"):
        gf.Campaign(SPACE.where(nowhere), LAB, GP)
    with pytest.raises(gf.InvalidInput, match=r"limits: .* where look can be used"):
        gf.Campaign(SPACE, [LAB, LOOK], GP, limits={"look": nowhere})


def test_an_ask_that_finds_none_warns_and_the_campaign_says_why():
    campaign = gf.Campaign(SPACE, LAB, GP, search=gf.Search(20, 0))
    with pytest.warns(gf.GainfulWarning, match="none satisfies nowhere"):
        assert campaign.ask(where=nowhere) is None
    assert campaign.stopped == gf.campaign.Ending.NO_PLACE


def test_a_constraint_that_some_places_satisfy_is_as_it_was():
    campaign = gf.Campaign(SPACE.where(lambda X: X[:, 0] < 0.01), LAB, GP, search=gf.Search(20, 0))
    assert campaign.ask().place[0] < 0.01


def test_whole_numbers_of_an_integer_are_found():
    space = gf.Space(gf.Integer("n", 0, 10), gf.Real("t", 0, 1))
    assert len(space.where(whole).candidates(50, rng=0)) == 50


def test_what_rounding_does_not_help_is_not_called_steps():
    places = np.random.default_rng(0).random((100, 2))
    assert stepped(places, [0, 1], nowhere) is None
    assert stepped(places, [], whole) is None
