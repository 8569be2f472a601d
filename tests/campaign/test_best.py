"""The best place of a campaign and the words of `why`, in the terms of the goal and in units."""

import re
from dataclasses import replace

import numpy as np
import pytest

import gainful as gf
from gainful.acquisition import KnowledgeGradient
from gainful.campaign.best import best_of

SPACE = gf.Space(gf.Real("temperature", 20, 90, unit="°C"), gf.Real("pH", 4, 9))
LAB, LOOK = gf.Point(0.5, cost=10, name="lab"), gf.Ordinal([70.0], 2.0, cost=1, name="look")
GP = gf.GP(gf.SE([15, 1.2], variance=100.0), gf.ConstantMean(60.0), space=SPACE)
FAST = gf.Search(candidates=60, climbers=2)
SCALES = (8.0, 10.0, 12.0, 14.0, 17.0, 20.0, 24.0)


def truth(place):
    return 80 - ((place[..., 0] - 65) / 10) ** 2 - 4 * (place[..., 1] - 6.5) ** 2


def told(goal, n=12, space=SPACE, unit="", **options):
    rng, lab = np.random.default_rng(0), replace(LAB, unit=unit)
    campaign = gf.Campaign(space, [lab, LOOK], GP, goal, budget=500, search=FAST, **options)
    for place in space.candidates(n, 3):
        campaign.tell(gf.Query(lab, place), lab.simulate(np.array([truth(place)]), rng)[0])
    return campaign


def test_the_best_place_has_the_best_mean_of_the_space_and_says_so_in_units():
    campaign = told("maximise", 25)
    best, grid = campaign.best(), SPACE.grid(61)
    assert best.mean >= campaign.posterior.mean(grid).max() - 1e-4
    here = np.array([best.place])
    assert best.mean == pytest.approx(campaign.posterior.mean(here)[0])
    assert best.sd == pytest.approx(np.sqrt(campaign.posterior.variance(here)[0]))
    assert (best.low, best.high) == pytest.approx((best.mean - 1.96 * best.sd, best.mean + 1.96 * best.sd), rel=1e-4)
    assert truth(np.array(best.place)) > 79
    assert 0.0 <= best.regret < 3.0
    text = str(best)
    assert all(
        w in text for w in ("largest at temperature", "°C, pH ", "±", "95 % between", "expected to be better by")
    )


def test_the_other_end_and_the_measured_places_can_be_asked_for():
    campaign = told("maximise")
    measured = np.array([e.query.place for e in campaign.history])
    best = campaign.best(measured=True)
    assert best.measured
    np.testing.assert_array_equal(best.place, measured[np.argmax(campaign.posterior.mean(measured))])
    assert best.mean <= campaign.best().mean
    least = campaign.best("minimise")
    assert least.mean < best.mean
    assert "smallest at" in str(least)


def test_it_is_the_same_whoever_asks_and_whenever():
    campaign = told("minimise")
    first = campaign.best()
    assert campaign.best() == first
    assert gf.Campaign.resume(campaign.journal).best() == first
    campaign.ask()
    assert campaign.best() == first


def test_several_posteriors_have_a_best_place_too():
    campaign = told("maximise")
    data = campaign.posterior.data
    belief = gf.Belief([campaign.posterior, gf.GP(gf.SE([25, 2.0], 150.0), gf.ConstantMean(55.0)).condition(data)])
    best = best_of(belief, campaign._state, 1)
    assert best.mean == pytest.approx(belief.mean(np.array([best.place]))[0])
    assert best.mean >= belief.mean(SPACE.grid(41)).max() - 1e-4
    assert best.sd == pytest.approx(np.sqrt(belief.variance(np.array([best.place]))[0]))


def test_a_goal_without_an_end_says_how_to_name_one():
    with pytest.raises(gf.InvalidInput, match=r"end: .*to learn the function.*campaign\.best\('minimise'\)"):
        told("learn").best()
    assert told("learn").best("maximise").sign == 1
    with pytest.raises(gf.InvalidInput, match="end: "):
        told("learn").best("highest")
    with pytest.raises(gf.InvalidInput, match="measured: "):
        told("learn").best("maximise", measured="yes")
    with pytest.raises(gf.InvalidInput, match=r"best: .*answer"):
        gf.Campaign(SPACE, LAB, GP, "maximise").best()


def test_constraints_bind_the_best_place_and_pools_hold_it():
    cool = SPACE.where(gf.Within(temperature=(None, 40)))
    assert told("maximise", space=cool).best().place[0] <= 40
    pool = gf.Pool(SPACE.candidates(30, 1), names=SPACE.names)
    assert pool.contains([told("maximise", space=pool).best().place])[0]


def test_why_speaks_of_improvement_where_the_optimum_is_wanted():
    campaign = told("maximise")
    before, query = campaign.posterior, campaign.ask()
    why = campaign.why(query)
    goal = KnowledgeGradient(1, SPACE.candidates(200, 0))
    here, cost = query.place[None], query.cost
    assert why.chosen.worth == pytest.approx(goal.score(before, query.instrument, here)[0], rel=1e-9)
    assert why.chosen.per_cost == pytest.approx(why.chosen.score, rel=1e-9) == pytest.approx(why.chosen.worth / cost)
    text = str(why)
    assert f"expected to better the best place by {why.chosen.worth:.3g} for {cost:g}" in text
    assert "best place measured so far is temperature" in text
    assert "to maximise f" in text
    assert "bits" not in text
    assert (why.low, why.high) == pytest.approx((why.mean - 1.96 * why.sd, why.mean + 1.96 * why.sd), rel=1e-4)


def test_why_turns_logarithms_back_into_improvements():
    logs, plain = (told(name) for name in ("log-expected-improvement", "expected-improvement"))
    one, two = (str(c.why(c.ask())).split(", after")[1].split(" for ")[0] for c in (logs, plain))
    assert one == two
    assert "better the best place by" in one


def test_why_speaks_of_the_chance_to_be_above_a_level():
    campaign = told("level 70")
    query = campaign.ask()
    p = gf.Level(70).probability(told("level 70").posterior, query.place[None])[0]
    text = str(campaign.why(query))
    assert f"Chance that f is above 70 here: {100 * p:.2g} %." in text
    assert "of the doubt where f lies above 70" in text
    assert "bits" not in text


def test_why_speaks_of_variance_where_a_map_is_wanted_and_of_bits_where_information_is():
    campaign = told("map")
    why = campaign.why(campaign.ask())
    share = 100 * why.chosen.worth / why.terms.total
    assert 0 < share < 100
    assert f"take {share:.2g} % off the mean variance" in str(why)
    assert "bits" not in str(why)
    for goal in ("learn", gf.Random()):
        campaign = told(goal)
        assert "bits about the function" in str(campaign.why(campaign.ask()))
    campaign = told("upper-confidence-bound")
    text = str(campaign.why(campaign.ask()))
    assert "scores" in text
    assert "per unit" not in text  # a bound cannot be divided by a cost


def test_the_unit_of_the_function_is_written_behind_its_values():
    campaign = told("maximise", unit="°C")
    best = campaign.best()
    assert best.unit == "°C"
    assert re.search(r": \d+\.\d+ ± \S+ °C, with 95 % between \S+ and \S+ °C\. .* better by \S+ °C\.$", str(best))
    text = str(campaign.why(campaign.ask()))
    assert re.search(r"better the best place by \S+ °C for ", text)
    assert re.search(r"Predicted value: \S+ ± \S+ °C, with 95 % between \S+ and \S+ °C\.", text)
    assert re.search(r"where \S+ ± \S+ °C is predicted", text)
    level = told("level 70", unit="°C")
    text = str(level.why(level.ask()))
    assert "Chance that f is above 70 °C here" in text
    assert "to find where f crosses 70 °C" in text
    bits = told("learn", unit="°C")
    assert re.search(r"tell \S+ bits about the function", str(bits.why(bits.ask())))


def test_a_unit_changes_words_and_nothing_else():
    with_unit, without = told("maximise", unit="°C"), told("maximise")
    assert with_unit.best().place == without.best().place
    assert with_unit.ask().place.tobytes() == without.ask().place.tobytes()
    assert gf.Campaign.resume(with_unit.journal).best() == with_unit.best()


def test_two_units_of_one_function_are_refused_and_what_is_not_in_its_unit_does_not_count():
    kelvin = gf.Point(1.0, name="probe", unit="K")
    with pytest.raises(gf.InvalidInput, match=r"instruments: expected one unit .*'K', '°C'.*rescaled"):
        gf.Campaign(SPACE, [gf.Point(0.5, name="lab", unit="°C"), kelvin], GP)
    flashes = gf.Count(name="flashes", unit="1/s")  # of a rate, whose logarithm f is
    rates = gf.GP(gf.SE([15, 1.2], variance=1.0))
    assert gf.Campaign(SPACE, [kelvin, flashes], rates)._state.design.unit == "K"
    assert gf.Campaign(SPACE, [flashes], rates)._state.design.unit == ""
    with pytest.raises(gf.InvalidInput, match="unit: "):
        gf.Point(unit=3)
    assert kelvin.rescaled(273.15, 1.0).unit == ""


@pytest.mark.parametrize("seed", [0, 2])
def test_no_instrument_is_said_to_be_worth_less_at_its_best_place_than_at_the_chosen_one(seed):
    """Of a mixture a search may miss the best place by a little: the chosen place counts for every instrument."""
    lab, strip = gf.Point(0.5, cost=5, name="lab"), gf.Binary(threshold=70.0, noise=2.0, cost=1, name="strip")
    look = gf.Ordinal([60.0, 75.0], 3.0, cost=2, name="look")
    rivals = gf.Models([gf.GP(gf.SE([s, s / 12], 100.0), gf.ConstantMean(60.0), space=SPACE) for s in SCALES])
    limits, search = {"strip": gf.Within(temperature=(30, None))}, gf.Search(candidates=12, climbers=1)
    campaign = gf.Campaign(SPACE, [lab, strip, look], rivals, seed=seed, limits=limits, search=search)
    for place in SPACE.candidates(6, np.random.default_rng(seed)):
        campaign.tell(gf.Query(lab, place), truth(place))
    for _ in range(2):
        why = campaign.why(campaign.ask())
        there = {each.instrument: each.score for each in why.there}
        assert {each.instrument for each in why.elsewhere} == {"lab", "strip", "look"}
        for rival in why.elsewhere:
            assert rival.score >= there.get(rival.instrument, -np.inf)
            assert rival.score <= why.chosen.score * (1 + 1e-6)
