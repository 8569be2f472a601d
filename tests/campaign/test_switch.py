"""A goal that switches: by the entropy over structures, with hysteresis, and the same after every resumption."""

import json

import numpy as np
import pytest

import gainful as gf
from gainful.acquisition.switch import FIRST, THEN
from gainful.campaign.events import replay
from gainful.campaign.goal import sign_of
from gainful.campaign.journal import read_events

PLACES = np.linspace(-1.0, 1.0, 21)[:, None]
POOL = gf.Pool(PLACES)
LAB = gf.Point(0.3, name="lab")
RIVALS = gf.Models([gf.GP(gf.Linear(1.0)), gf.GP(gf.SE(0.15, 1.0))])
GOAL = gf.Switch(gf.Learn("structure"), gf.Predictions(PLACES), below=0.5, above=0.8)


def _truth(place):
    """A line with a step far out: first it looks like a line, then it does not."""
    x = float(place[0])
    return 0.9 * x + (1.5 if x > 0.75 else 0.0)


def _run(campaign, count):
    for _ in range(count):
        query = campaign.ask()
        campaign.tell(query, _truth(query.place))
    return campaign


def _sides(path):
    events = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [event["side"] for event in events if event["event"] == "asked"]


def _campaign(path, goal=GOAL, **options):
    return gf.Campaign(POOL, LAB, RIVALS, goal, journal=path, repeat=False, initial=0, **options)


def test_the_side_follows_the_entropy_with_hysteresis():
    entropies = [1.0, 0.6, 0.49, 0.6, 0.79, 0.81, 0.6, 0.5, 0.4]
    was, sides = None, []
    for bits in entropies:
        was = GOAL.side(bits, was)
        sides.append(was)
    assert sides == [FIRST, FIRST, THEN, THEN, THEN, FIRST, FIRST, FIRST, THEN]


def test_each_query_is_the_one_that_the_goal_of_its_side_chooses(tmp_path):
    path = tmp_path / "a.jsonl"
    campaign = _run(_campaign(path), 10)
    sides = _sides(path)
    assert sides[:9] == [FIRST] * 2 + [THEN] * 4 + [FIRST] * 3  # there and back
    was = None
    data = gf.Data()
    for entry, side in zip(campaign.history, sides, strict=True):
        belief = RIVALS.condition(data)
        was = GOAL.side(belief.entropy, was)
        assert side == was
        scores = GOAL.on(side).score(belief, LAB, PLACES)
        asked = [float(e.query.place[0]) for e in campaign.history][: entry.query.number]
        scores[np.isin(PLACES[:, 0], asked)] = -np.inf
        best = scores[np.flatnonzero(np.all(entry.query.place == PLACES, axis=1))[0]]
        assert best >= scores.max() - 1e-6
        data = data.add(LAB, [entry.query.place], [entry.answer])


@pytest.mark.parametrize("at", [1, 3, 5, 8])
def test_a_resumed_campaign_goes_on_as_the_first_would_have(tmp_path, at):
    whole = _run(_campaign(tmp_path / "whole.jsonl"), 10)
    _run(_campaign(tmp_path / "part.jsonl"), at)
    part = _run(gf.Campaign.resume(tmp_path / "part.jsonl"), 10 - at)
    assert (tmp_path / "part.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    assert [e.query.place.tolist() for e in part.history] == [e.query.place.tolist() for e in whole.history]


def test_within_one_ask_the_side_is_the_same(tmp_path):
    path = tmp_path / "a.jsonl"
    campaign = _run(_campaign(path), 2)
    queries = campaign.ask(4)
    assert len(queries) == 4
    assert len(set(_sides(path)[-4:])) == 1
    for query in queries:
        campaign.tell(query, _truth(query.place))
    asked = campaign.ask(3)
    assert asked
    assert len(set(_sides(path)[-3:])) == 1


def test_why_says_which_goal_counted_and_at_what_entropy(tmp_path):
    path = tmp_path / "a.jsonl"
    campaign = _run(_campaign(path), 10)
    for number, side in enumerate(_sides(path)):
        said = str(campaign.why(number))
        assert "Which structure is right is open by" in said
        assert ("the second counts, until that is more than 0.8" in said) == (side == THEN)
        assert ("the first counts, until that is less than 0.5" in said) == (side == FIRST)
        assert ("to learn the structure" in said) == (side == FIRST)


def test_cost_goes_around_a_switch_and_inside_it(tmp_path):
    around = gf.PerCost(GOAL)
    inside = gf.Switch(gf.PerCost(GOAL.first), gf.PerCost(GOAL.then))
    found = [_run(_campaign(tmp_path / name, goal), 6) for name, goal in (("a", around), ("b", inside))]
    first, second = ([e.query.place.tolist() for e in each.history] for each in found)
    assert first == second


def test_goals_inside_get_their_places_and_both_are_tried_out():
    goal = gf.Switch(gf.Learn("structure"), gf.PerCost(gf.Level(0.2)))
    campaign = gf.Campaign(POOL, LAB, RIVALS, goal)
    assert campaign.ask() is not None
    with pytest.raises(gf.InvalidInput, match="goal"):
        gf.Campaign(POOL, LAB, gf.GP(gf.SE(0.3)), gf.Switch(gf.Learn("model"), gf.Learn("function")))
    assert sign_of(gf.Switch(gf.Learn("structure"), gf.acquisition.ExpectedImprovement())) is not None


def test_a_side_where_the_goal_is_no_switch_is_refused():
    campaign = _campaign(None, gf.Learn("model"))
    campaign.ask()
    events = read_events(campaign.journal)
    assert "side" not in events[-1]
    with pytest.raises(gf.JournalError, match="which the goal is not"):
        replay([*events[:-1], {**events[-1], "side": "then"}])
    with pytest.raises(gf.JournalError, match="'first' or 'then'"):
        replay([*events[:-1], {**events[-1], "side": "both"}])


@pytest.mark.parametrize(
    ("below", "above"), [(0.8, 0.5), (0.0, 0.5), (-1.0, 0.5), (np.nan, 0.5), ("a", 0.5), (0.5, np.inf)]
)
def test_bounds_are_bits_in_order(below, above):
    with pytest.raises(gf.InvalidInput, match="below, above"):
        gf.Switch(gf.Learn("structure"), gf.Learn(), below, above)


def test_switches_do_not_nest_and_have_goals():
    with pytest.raises(gf.InvalidInput, match="first"):
        gf.Switch(GOAL, gf.Learn())
    with pytest.raises(gf.InvalidInput, match="first"):
        gf.Switch(gf.Random(), gf.Learn())


def test_by_itself_a_switch_scores_by_the_side_of_the_belief():
    open_ = RIVALS.condition(gf.Data())
    data = gf.Data().add(LAB, PLACES, np.sin(12.0 * PLACES[:, 0]))
    settled = RIVALS.condition(data)
    assert open_.entropy > 0.8
    assert settled.entropy < 0.5
    np.testing.assert_allclose(GOAL.score(open_, LAB, PLACES), GOAL.first.score(open_, LAB, PLACES))
    np.testing.assert_allclose(GOAL.score(settled, LAB, PLACES), GOAL.then.score(settled, LAB, PLACES))
    post = gf.GP(gf.SE(0.3)).condition(gf.Data())
    np.testing.assert_allclose(GOAL.score(post, LAB, PLACES), GOAL.then.score(post, LAB, PLACES))
