"""Queries that were made and gave no answer: what they cost, where is not asked again, and what a journal has of it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gainful as gf
from gainful.campaign.failures import AwayFromFailures

LAB = gf.Point(noise=0.1, cost=2, name="lab")
LOOK = gf.Point(noise=0.5, cost=1, name="look")
SPACE = gf.Space(gf.Real("x", 0, 1), gf.Real("y", 0, 1))
GP = gf.GP(gf.SE(0.3), space=SPACE)


def test_a_failure_is_paid_for_and_changes_no_belief():
    campaign = gf.Campaign(SPACE, LAB, GP, budget=10)
    campaign.tell(campaign.ask(), 0.3)
    before = campaign.belief.mean(SPACE.grid(5))
    query = campaign.ask()
    campaign.fail(query, note="the vessel broke")
    assert campaign.spent == 4
    assert not campaign.pending
    assert np.array_equal(campaign.belief.mean(SPACE.grid(5)), before)
    entry = campaign.history[1]
    assert (str(entry.status), entry.answer, entry.note) == ("failed", None, "the vessel broke")
    assert campaign.history.rows[1]["status"] == "failed"


def test_a_failure_may_cost_what_it_did():
    campaign = gf.Campaign(SPACE, LAB, GP)
    campaign.fail(campaign.ask(), cost=0.25)
    assert campaign.spent == 0.25
    with pytest.raises(gf.InvalidInput, match=r"cost: expected a finite number, at least 0"):
        campaign.fail(campaign.ask(), cost=-1)


def test_only_a_pending_query_fails():
    campaign = gf.Campaign(SPACE, LAB, GP)
    query = campaign.ask()
    campaign.fail(query)
    for verb in (campaign.fail, lambda q: campaign.tell(q, 1.0), lambda q: campaign.correct(q, 1.0)):
        with pytest.raises(gf.InvalidInput, match="which is failed"):
            verb(query)


def test_a_campaign_with_failures_goes_on_from_its_journal_as_if_it_had_not_stopped(tmp_path):
    def asked(stops):
        path = tmp_path / f"{stops}.jsonl"
        campaign = gf.Campaign(SPACE, LAB, GP, "minimise", seed=3, initial=3, journal=path)
        places = []
        for i in range(7):
            if i in stops:
                campaign = gf.Campaign.resume(path)
            query = campaign.ask()
            places.append(query.place.tolist())
            if query.place.sum() > 1.0:
                campaign.fail(query, note="too far")
            else:
                campaign.tell(query, float(query.place[0]))
        return places, path.read_bytes()

    assert asked(()) == asked((1, 4, 5, 6))


def test_no_place_near_a_failure_is_asked_unless_one_that_answered_is_nearer():
    """The oracle is the rule, computed one pair of places at a time."""
    campaign = gf.Campaign(SPACE, LAB, GP, gf.Random(), seed=1)
    answered, failed = [], []
    for _ in range(40):
        place = campaign.ask().place
        for bad in failed if answered else []:
            near = all(abs(place - bad) <= 0.25)
            nearer = min(np.linalg.norm(place - good) for good in answered) <= np.linalg.norm(place - bad)
            assert not near or nearer
        if place[0] > 0.6:
            failed.append(place)
            campaign.fail(campaign.pending[0])
        else:
            answered.append(place)
            campaign.tell(campaign.pending[0], 0.0)
    assert len(failed) < 13  # of 40, where chance alone gives 16
    assert max(place[0] for place in answered) > 0.55  # the edge is found by halving


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 128), min_size=1, max_size=5), st.lists(st.integers(0, 128), max_size=5))
def test_a_failed_place_is_never_allowed_and_a_nearer_answer_always_opens_the_place(failed, answered):
    seen = gf.Space(gf.Real("x", 0, 128)).coordinates
    allowed = AwayFromFailures(seen, [np.array([x]) for x in failed], [np.array([x]) for x in answered])
    assert not allowed(np.array(failed, dtype=float)[:, None]).any()
    others = np.array([x for x in range(129) if x not in failed], dtype=float)
    far = [min(abs(x - bad) for bad in failed) > 32 for x in others]
    nearer = [min([abs(x - y) for y in answered], default=1000) <= min(abs(x - y) for y in failed) for x in others]
    assert allowed(others[:, None]).tolist() == [a or b for a, b in zip(far, nearer, strict=True)]


def test_a_level_that_failed_once_is_left_out_near_that_place_alone():
    space = gf.Space(gf.Categorical("metal", ["Pd", "Ni"]), gf.Real("t", 20, 90))
    campaign = gf.Campaign(space, LAB, goal=gf.Random(), initial=0)
    allowed = AwayFromFailures(space.coordinates, [np.array([1.0, 50.0])], [np.array([0.0, 20.0])])
    tried = space.code([["Ni", 50.0], ["Ni", 55.0], ["Ni", 85.0], ["Pd", 50.0]])
    assert allowed(tried).tolist() == [False, False, True, True]
    assert campaign.ask() is not None


def test_a_failure_of_one_instrument_leaves_the_others_where_they_were():
    pool = gf.Pool([[0.5]])
    campaign = gf.Campaign(pool, [LAB, LOOK], gf.GP(gf.SE(0.3)), gf.Random(), seed=0)
    failing = campaign.ask()
    campaign.tell(gf.Query(LAB, [0.5]), 0.1)
    campaign.fail(failing)
    left = {campaign.ask().instrument.label for _ in range(6)}
    assert left == {"lab", "look"} - {failing.instrument.label}


def test_while_everything_fails_places_are_spread_evenly():
    campaign = gf.Campaign(SPACE, LAB, GP, "minimise", initial=2)
    places = []
    for _ in range(12):
        query = campaign.ask()
        places.append(query.place)
        campaign.fail(query)
    gaps = [np.linalg.norm(a - b) for i, a in enumerate(places) for b in places[:i]]
    assert min(gaps) > 0.15
    query = campaign.ask()
    campaign.tell(query, 1.0)
    assert campaign.ask() is not None


def test_failures_do_not_count_to_the_initial_design():
    campaign = gf.Campaign(SPACE, LAB, GP, "minimise", initial=3)
    for i in range(5):
        query = campaign.ask()
        if i in (0, 2):
            campaign.fail(query)
        else:
            campaign.tell(query, float(i))
    spread = gf.Campaign(SPACE, LAB, GP, "minimise", initial=3)
    first = {tuple(spread.ask().place) for _ in range(3)}
    assert first < {tuple(entry.query.place) for entry in campaign.history}


def test_a_failure_that_does_not_count_is_withdrawn():
    pool = gf.Pool([[0.0], [1.0]])
    campaign = gf.Campaign(pool, LAB, gf.GP(gf.SE(0.3)), gf.Random())
    campaign.tell(gf.Query(LAB, [0.0]), 0.0)
    while (query := campaign.ask()).place[0] != 1.0:
        campaign.tell(query, 0.0)
    campaign.fail(query)
    assert all(campaign.ask().place[0] == 0.0 for _ in range(5))
    campaign.withdraw(query)
    assert any(campaign.ask().place[0] == 1.0 for _ in range(20))


def test_confirming_asks_for_the_place_that_is_believed_to_be_best():
    campaign = gf.Campaign(SPACE, LAB, GP, "minimise", seed=1)
    for x, y, value in [(0.2, 0.2, 1.0), (0.5, 0.5, -1.0), (0.8, 0.2, 0.5), (0.5, 0.9, 0.7)]:
        campaign.tell(gf.Query(LAB, [x, y]), value)
    best = campaign.best()
    query = campaign.confirm()
    assert query in campaign.pending
    assert "It was asked to confirm it" in str(campaign.why(query))
    mean = campaign.belief.mean(np.stack([query.place, best.place]))
    assert mean[0] == pytest.approx(mean[1], abs=1e-6)
    grid = campaign.belief.mean(SPACE.grid(60))
    assert mean[0] <= grid.min() + 1e-6
    other = campaign.confirm("maximise")
    assert campaign.belief.mean(other.place[None])[0] >= grid.max() - 1e-6


def test_confirming_keeps_away_from_failures_and_from_what_is_known():
    certain = gf.Point(noise=0.0, name="certain")
    campaign = gf.Campaign(
        gf.Pool(np.linspace(0, 1, 11)[:, None]), certain, gf.GP(gf.SE(0.5)), "minimise", repeat=False
    )
    for x in (0.0, 0.2, 1.0):
        campaign.tell(gf.Query(certain, [x]), x)
    first = campaign.confirm()
    assert first.place[0] not in (0.0, 0.2, 1.0)
    campaign.fail(first)
    second = campaign.confirm()
    assert second.place[0] not in (0.0, 0.2, 1.0, first.place[0])


def test_there_is_nothing_to_confirm_before_the_first_answer():
    assert gf.Campaign(SPACE, LAB, GP, "minimise").confirm() is None
