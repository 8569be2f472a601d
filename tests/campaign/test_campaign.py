"""Campaigns: what is asked, what is told, and that a campaign is the replay of its events."""

import shutil

import numpy as np
import pytest

import gainful as gf
from gainful.campaign.events import SCHEMA
from gainful.campaign.journal import FileJournal, MemoryJournal

LAB = gf.Point(noise=0.1, cost=10, name="lab")
STRIP = gf.Interval(noise=0.1, width=0.6, cost=7, name="strip")
LOOK = gf.Ordinal(thresholds=[-0.4, 0.5], noise=0.1, cost=3, name="look")
ALL = (LAB, STRIP, LOOK)
SPACE = gf.Space(gf.Real("east", 0, 2, unit="km"), gf.Real("north", 0, 2, unit="km"))
GP = gf.GP(gf.SE(0.5, 1.0), space=SPACE)
FAST = gf.Search(candidates=64, climbers=2)


def truth(place):
    return float(np.sin(2 * place[0]) * np.cos(place[-1]))


def measure(query):
    """An answer that depends on the query alone."""
    rng = np.random.default_rng(np.frombuffer(query.place.tobytes(), dtype=np.uint32))
    return query.instrument.simulate(np.array([truth(query.place)]), rng)[0]


def finish(campaign, most=100):
    for _ in range(most):
        query = campaign.ask()
        if query is None:
            return campaign
        campaign.tell(query, measure(query))
    return campaign


def histories(campaign):
    return [(e.query, e.answer, e.cost, e.status) for e in campaign.history]


def test_a_campaign_spends_its_budget_and_says_why_it_ends():
    campaign = finish(gf.Campaign(SPACE, ALL, GP, budget=30, seed=1, search=FAST))
    assert campaign.spent <= 30
    assert 30 - campaign.spent < 3
    assert campaign.ask() is None
    assert "budget of 30" in campaign.stopped
    assert all(SPACE.contains(e.query.place[None])[0] for e in campaign.history)


def test_only_affordable_instruments_are_asked():
    campaign = finish(gf.Campaign(SPACE, [LAB, LOOK], GP, gf.Learn(), budget=18, search=FAST))
    assert [e.query.instrument.label for e in campaign.history] == ["lab", "look", "look"]


def test_vanilla_bald_of_points_picks_the_place_of_largest_variance():
    rng = np.random.default_rng(0)
    pool = gf.Pool(rng.uniform(0, 2, (200, 2)))
    campaign = gf.Campaign(pool, LAB, gf.GP(gf.SE(0.5)), gf.Learn("function"))
    for _ in range(5):
        query = campaign.ask()
        variance = campaign.posterior.variance(pool.places)
        np.testing.assert_array_equal(query.place, pool.places[np.argmax(variance)])
        campaign.tell(query, measure(query))


@pytest.mark.parametrize("goal", [None, gf.Learn(), gf.Normalised(gf.Learn()), gf.Random(), gf.RandomType()], ids=str)
def test_two_campaigns_with_one_seed_are_identical(goal):
    first, second, other = (
        finish(gf.Campaign(SPACE, ALL, GP, goal, budget=30, seed=s, search=FAST)) for s in (3, 3, 4)
    )
    assert histories(first) == histories(second)
    assert first.journal.events() == second.journal.events()
    assert histories(first) != histories(other)


@pytest.mark.parametrize(("refit", "budget"), [(None, 25), (3, 15)])
def test_a_campaign_interrupted_after_any_event_and_resumed_continues_identically(tmp_path, refit, budget):
    whole = tmp_path / "whole.jsonl"
    settings = {"budget": budget, "seed": 5, "search": FAST, "refit": refit}
    done = finish(gf.Campaign(SPACE, ALL, GP, journal=whole, **settings))
    lines = whole.read_bytes().splitlines(keepends=True)
    for n in range(1, len(lines)):
        part = tmp_path / f"{n}.jsonl"
        part.write_bytes(b"".join(lines[:n]))
        again = gf.Campaign.resume(part)
        for query in again.pending:
            again.tell(query, measure(query))
        finish(again)
        assert histories(again) == histories(done)
        assert part.read_bytes() == whole.read_bytes()
        np.testing.assert_array_equal(again.posterior.mean(SPACE.grid(3)), done.posterior.mean(SPACE.grid(3)))


def test_losing_power_between_any_two_bytes_loses_at_most_the_event_being_written(tmp_path):
    whole = tmp_path / "whole.jsonl"
    finish(gf.Campaign(gf.Pool([[0.0], [1.0]]), LOOK, gf.GP(gf.SE()), budget=6, journal=whole))
    content = whole.read_bytes()
    ends = [i + 1 for i, byte in enumerate(content) if byte == 10]
    for cut in sorted({*range(ends[0], len(content), 7), *ends[1:], *(end - 1 for end in ends)}):
        torn = tmp_path / "torn.jsonl"
        torn.write_bytes(content[:cut])
        complete = sum(end - 1 <= cut for end in ends)  # a line that lost its end alone is whole otherwise
        if cut in ends or cut + 1 in ends:
            campaign = gf.Campaign.resume(torn)
        else:
            with pytest.warns(gf.JournalWarning, match="cut short"):
                campaign = gf.Campaign.resume(torn)
        campaign.stop("enough")
        assert len(torn.read_bytes().splitlines()) == complete + 1
        assert gf.Campaign.resume(torn).stopped == "enough"


def test_correcting_an_answer_gives_the_belief_of_having_told_the_right_one():
    wrong, right = (gf.Campaign(SPACE, ALL, GP, search=FAST) for _ in range(2))
    for campaign, answer in ((wrong, 1.5), (right, -0.2)):
        campaign.tell(gf.Query(LAB, [0.3, 0.3]), answer)
        campaign.tell(gf.Query(LOOK, [0.5, 1.0]), 2)
    wrong.correct(0, -0.2, note="the label was read upside down")
    X = SPACE.grid(4)
    np.testing.assert_array_equal(wrong.posterior.mean(X), right.posterior.mean(X))
    assert wrong.history[0].note == "the label was read upside down"
    assert wrong.ask() == right.ask()


def test_withdrawing_an_answer_gives_the_belief_of_never_having_asked_but_the_cost_stays():
    campaign, without = (gf.Campaign(SPACE, ALL, GP, budget=40, search=FAST) for _ in range(2))
    for each in (campaign, without):
        each.tell(gf.Query(LAB, [0.3, 0.3]), 0.4)
    campaign.tell(gf.Query(STRIP, [1.0, 1.0]), (0.0, 0.6))
    campaign.withdraw(1)
    np.testing.assert_array_equal(campaign.posterior.mean(SPACE.grid(4)), without.posterior.mean(SPACE.grid(4)))
    assert campaign.spent == 17
    assert [e.status for e in campaign.history] == ["told", "withdrawn"]


def test_undoing_takes_back_the_last_answer_as_if_it_had_never_been_told(tmp_path):
    campaign = gf.Campaign(SPACE, ALL, GP, budget=60, search=FAST, journal=tmp_path / "j")
    first = campaign.ask()
    campaign.tell(first, measure(first))
    before = campaign.posterior.mean(SPACE.grid(3)), campaign.spent
    second = campaign.ask()
    campaign.tell(second, measure(second))
    assert campaign.undo() == second
    assert campaign.pending == (second,)
    np.testing.assert_array_equal(campaign.posterior.mean(SPACE.grid(3)), before[0])
    assert campaign.spent == before[1]
    assert histories(gf.Campaign.resume(tmp_path / "j")) == histories(campaign)
    campaign.tell(second, measure(second))
    assert [campaign.undo(), campaign.undo()] == [second, first]
    with pytest.raises(gf.InvalidInput, match="undo"):
        campaign.undo()


def test_a_pending_query_reserves_its_cost_and_withdrawing_it_gives_it_back():
    campaign = gf.Campaign(SPACE, LAB, GP, budget=15, search=FAST)
    query = campaign.ask()
    assert campaign.ask() is None
    assert "for pending queries" in campaign.stopped
    campaign.withdraw(query)
    assert campaign.spent == 0
    assert campaign.ask() is not None


def test_pending_queries_push_the_next_ones_elsewhere():
    campaign = gf.Campaign(SPACE, ALL, GP, gf.Learn(), search=FAST)
    batch = campaign.ask(4)
    places = np.array([q.place for q in batch])
    apart = np.linalg.norm(places[:, None] - places[None], axis=-1) + 9 * np.eye(4)
    assert apart.min() > 0.4  # top-4 by single scores would be four times the same place
    assert campaign.pending == tuple(batch)
    for query in reversed(batch):
        campaign.tell(query, measure(query))
    assert not campaign.pending


def test_a_batch_stops_at_the_budget():
    assert len(gf.Campaign(SPACE, LAB, GP, budget=25, search=FAST).ask(10)) == 2


def test_a_users_own_query_is_told_and_what_it_really_cost_is_kept():
    campaign = gf.Campaign(SPACE, ALL, GP, budget=20, search=FAST)
    campaign.tell(gf.Query(LAB, [1.0, 1.0]), 0.3, cost=0)
    assert campaign.spent == 0
    assert len(campaign.posterior.data) == 1


def test_hyperparameters_are_learned_on_schedule_and_kept_in_the_journal():
    pool = gf.Pool(np.linspace(0, 1, 30)[:, None])
    campaign = gf.Campaign(pool, gf.Point(0.3, name="lab"), gf.GP(gf.SE(1.0)), refit=4, budget=9)
    while query := campaign.ask():
        campaign.tell(query, float(np.sin(9 * query.place[0])))
    kinds = [event["event"] for event in campaign.journal.events()]
    assert kinds.count("fitted") == 2
    assert campaign.gp.kernel.lengthscale < 0.6
    assert campaign.instruments[0].noise != 0.3
    learned = campaign.posterior.data.instruments[0]
    assert learned == campaign.instruments[0]


def test_a_place_is_asked_once_where_repeats_are_not_wanted():
    pool = gf.Pool([[0.0], [1.0], [2.0]])
    campaign = finish(gf.Campaign(pool, [LAB, LOOK], gf.GP(gf.SE()), repeat=False))
    assert sorted(float(e.query.place[0]) for e in campaign.history) == [0.0, 1.0, 2.0]
    assert campaign.stopped == gf.campaign.Ending.NO_PLACE


def dry(X):
    return X[:, 0] + X[:, 1] > 1.0


def test_constraints_limits_and_time_are_kept():
    east = gf.Within(east=(None, 0.5))
    campaign = gf.Campaign(SPACE.where(dry), ALL, GP, limits={LOOK: east, "strip": dry}, budget=60, search=FAST)
    for _ in range(6):
        query = campaign.ask(where=gf.Within(north=(0.2, 1.7)))
        assert dry(query.place[None])[0]
        assert 0.2 <= query.place[1] <= 1.7
        if query.instrument == LOOK:
            assert query.place[0] <= 0.5
        campaign.tell(query, measure(query))
    assert any(e.query.instrument == LOOK for e in campaign.history)


def test_no_query_lies_before_an_earlier_one_where_time_runs_forward():
    space = gf.Space(gf.Real("time", 0, 10), gf.Real("depth", 0, 1))
    campaign = gf.Campaign(space, LAB, gf.GP(gf.SE([1.0, 0.5])), forward="time", search=FAST)
    times = []
    for now in (0.0, 2.0, 4.0, 8.0):
        query = campaign.ask(where=gf.Within(time=(now, now + 1.5)))
        campaign.tell(query, 0.0)
        times.append(query.place[0])
    assert times == sorted(times)
    assert campaign.ask(where=gf.Within(time=(0.0, 1.0))) is None
    assert "constraints" in campaign.stopped


def test_a_campaign_stops_when_there_is_too_little_to_learn():
    pool = gf.Pool(np.linspace(0, 1, 20)[:, None])
    campaign = finish(gf.Campaign(pool, LAB, gf.GP(gf.SE(1.0)), stop=gf.TooLittleToLearn(0.05)))
    assert "below the level of 0.05" in campaign.stopped
    best = gf.information(campaign.posterior, LAB, pool.places).max() / LAB.cost
    assert best < 0.05
    assert campaign.journal.events()[-1]["event"] == "stopped"
    campaign.withdraw(0)  # something changed: look again
    assert campaign.stopped is None


def worst_sd(posterior):
    return float(np.sqrt(posterior.variance(np.linspace(0, 1, 20)[:, None]).max()))


def test_a_campaign_stops_when_the_users_own_measure_is_good_enough(tmp_path):
    pool = gf.Pool(np.linspace(0, 1, 20)[:, None])
    rule = gf.GoodEnough(worst_sd, 0.2)
    campaign = finish(gf.Campaign(pool, LAB, gf.GP(gf.SE(1.0)), stop=rule, journal=tmp_path / "j"))
    assert worst_sd(campaign.posterior) <= 0.2
    assert "worst_sd" in campaign.stopped
    with pytest.raises(gf.JournalError, match="worst_sd"):
        gf.Campaign.resume(tmp_path / "j")
    assert gf.Campaign.resume(tmp_path / "j", known=[worst_sd]).stopped == campaign.stopped


def test_why_gives_the_numbers_that_the_choice_was_made_by():
    campaign = gf.Campaign(SPACE, ALL, GP, budget=60, search=FAST)
    query = campaign.ask()
    campaign.tell(query, measure(query))
    second = campaign.ask()
    before = campaign.posterior
    why = campaign.why(second)
    campaign.tell(second, measure(second))
    assert campaign.why(second) == why  # of what was believed then, not now
    bits = gf.information(before, second.instrument, second.place[None])[0]
    assert why.chosen.bits == pytest.approx(bits, abs=1e-12)
    assert why.chosen.cost == second.cost
    assert {o.instrument for o in why.there} == {"lab", "strip", "look"} - {second.instrument.label}
    assert max(why.elsewhere, key=lambda o: o.score).instrument == second.instrument.label
    text = str(why)
    assert all(word in text for word in ("bits", "per unit of cost", "lab", "strip", "look", "Predicted value: ", "±"))


@pytest.mark.parametrize("space", [gf.Space(gf.Real("x", 0, 1)), gf.Pool(np.linspace(0, 1, 12)[:, None])], ids=str)
@pytest.mark.parametrize("instrument", [gf.Preference(noise=0.1), gf.Detection(), gf.Binary()], ids=str)
@pytest.mark.parametrize("goal", [gf.Learn(), gf.Random(), gf.RandomType()], ids=str)
def test_pairs_and_sets_are_asked_too(space, instrument, goal):
    campaign = gf.Campaign(space, instrument, gf.GP(gf.SE(0.3)), goal, search=gf.Search(20, 1))
    for answer in (True, False):
        query = campaign.ask()
        assert query.place.ndim == (1 if instrument.query == "place" else 2)
        campaign.tell(query, answer)
    assert campaign.history[0].answer is True
    assert "bits" in str(campaign.why(1))


def test_a_stream_is_measured_at_the_rate_asked_for_and_where_it_teaches():
    rng = np.random.default_rng(0)
    space = gf.Space(gf.Real("x", 0, 1))
    campaign = gf.Campaign(gf.Stream(space, rate=0.2), LAB, gf.GP(gf.SE(0.1)))
    taken, passed = [], []
    for x in rng.uniform(0, 1, 150):
        # The belief before the place was offered says what it was worth.
        sd = float(np.sqrt(campaign.posterior.variance([[x]])[0]))
        if query := campaign.offer([x]):
            taken.append(sd)
            campaign.tell(query, truth([x]))
        else:
            passed.append(sd)
    assert 0.15 * 150 <= len(taken) <= 0.25 * 150
    assert np.mean(taken) > 1.2 * np.mean(passed)


def test_a_streams_budget_lasts_for_its_length(tmp_path):
    rng = np.random.default_rng(1)
    places = rng.uniform(0, 1, (100, 1))
    stream = gf.Stream(gf.Space(gf.Real("x", 0, 1)), length=100)
    campaign = gf.Campaign(stream, LAB, gf.GP(gf.SE(0.1)), budget=100, journal=tmp_path / "j")
    asked = []
    for i, place in enumerate(places):
        if i == 50:
            campaign = gf.Campaign.resume(tmp_path / "j")
        if query := campaign.offer(place):
            asked.append(i)
            campaign.tell(query, 0.0)
    assert 8 <= len(asked) <= 10
    assert asked[-1] > 60


def test_a_users_own_kernel_comes_back_when_it_is_supplied(tmp_path):
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Doubled(gf.Learn):
        """A goal of one's own."""

        def score(self, belief, instrument, places):
            return 2.0 * super().score(belief, instrument, places)

    gf.Campaign(gf.Pool([[0.0], [1.0]]), LAB, gf.GP(gf.SE()), Doubled(), journal=tmp_path / "j")
    with pytest.raises(gf.JournalError, match="Doubled"):
        gf.Campaign.resume(tmp_path / "j")
    assert gf.Campaign.resume(tmp_path / "j", known=[Doubled]).ask() is not None


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"space": 3}, "space"),
        ({"instruments": []}, "instruments"),
        ({"instruments": [LAB, gf.Point(0.2, name="lab")]}, "distinct names"),
        ({"model": gf.SE()}, "model"),
        ({"model": gf.GP(gf.SE([1.0, 1.0, 1.0]))}, "lengthscale"),
        ({"goal": "study"}, "goal"),
        ({"goal": gf.Learn}, "goal"),
        ({"budget": -1}, "budget"),
        ({"budget": float("nan")}, "budget"),
        ({"seed": -1}, "seed"),
        ({"seed": 0.5}, "seed"),
        ({"limits": {"nobody": dry}}, "limits"),
        ({"limits": {LAB: gf.Within(up=(0, 1))}}, "coordinate"),
        ({"forward": "time"}, "forward"),
        ({"stop": [0.1]}, "stop"),
        ({"refit": 0}, "refit"),
        ({"search": 100}, "search"),
    ],
)
def test_a_design_that_cannot_work_is_refused_before_anything_is_written(tmp_path, change, named):
    settings = {"space": SPACE, "instruments": ALL, "model": GP, "journal": tmp_path / "j"} | change
    with pytest.raises(gf.InvalidInput, match=named):
        gf.Campaign(**settings)
    assert not (tmp_path / "j").exists()


def test_bad_answers_and_queries_are_refused_and_nothing_is_lost(tmp_path):
    campaign = gf.Campaign(SPACE, ALL, GP, budget=60, search=FAST, journal=tmp_path / "j")
    query = campaign.ask()
    before = (tmp_path / "j").read_bytes()
    for bad in (float("nan"), "high", None, [1, 2, 3], 17.5, float("inf")):
        with pytest.raises(gf.InvalidInput, match="answer"):
            campaign.tell(query, bad)
    with pytest.raises(gf.InvalidInput, match="cost"):
        campaign.tell(query, measure(query), cost=-1)
    with pytest.raises(gf.InvalidInput, match="query"):
        campaign.tell("look", 1)
    with pytest.raises(gf.InvalidInput, match="instrument of the campaign"):
        campaign.tell(gf.Query(gf.Binary(), [0.0, 0.0]), True)
    with pytest.raises(gf.InvalidInput, match="coordinates"):
        campaign.tell(gf.Query(LAB, [0.0]), 0.1)
    with pytest.raises(gf.InvalidInput, match="was told"):
        campaign.correct(query, 1)
    with pytest.raises(gf.InvalidInput, match="of this campaign"):
        campaign.withdraw(7)
    assert (tmp_path / "j").read_bytes() == before
    campaign.tell(query, measure(query))
    with pytest.raises(gf.InvalidInput, match="use campaign"):
        campaign.tell(query, measure(query))
    with pytest.raises(gf.InvalidInput, match="count"):
        campaign.ask(0)
    with pytest.raises(gf.InvalidInput, match="offer"):
        campaign.offer([0.0, 0.0])


def test_journals_that_cannot_be_gone_on_with_are_refused_with_a_reason(tmp_path):
    path = tmp_path / "j"
    campaign = gf.Campaign(SPACE, ALL, GP, budget=60, search=FAST, journal=path)
    with pytest.raises(gf.JournalError, match="already holds a campaign"):
        gf.Campaign(SPACE, ALL, GP, journal=path)
    with pytest.raises(gf.JournalError, match="nothing to resume"):
        gf.Campaign.resume(tmp_path / "absent")
    lines = path.read_text().splitlines()
    old = '{"event": "created", "schema": %d, "design": {}}'
    for damage, match in (
        (["{not json", *lines[1:]], "line 1 .*checksum"),
        ([lines[0].replace(f'"schema": {SCHEMA}', '"schema": 99'), *lines[1:]], "line 1 .*checksum"),
        ([old % 2, *lines[1:]], "schema 2, .*another version of gainful: go on with that version"),
        ([old % 1], "schema 1, .*another version"),
        ([*lines, lines[0]], "line 2 .*checksum and the line before it: .*restore .*delete that line and all"),
        ([*lines, "[1, 2]"], "line 2 .*checksum"),
    ):
        copy = tmp_path / "copy"
        copy.write_text("\n".join(damage) + "\n")
        with pytest.raises(gf.JournalError, match=match):
            gf.Campaign.resume(copy)
    (created,) = campaign.journal.events()
    for events, match in (
        ([created | {"schema": 99}], "schema 99"),
        ([created | {"schema": 1}], "schema 1 .*another version"),
        ([created, created], "event 2 .*created once"),
        ([created, {"event": "teleported"}], "event 2 .*teleported"),
        ([created, {"event": "told", "query": 0}], "event 2 .*incomplete: 'answer'"),
        ([created, {"event": "asked", "query": 5, "instrument": "lab", "place": [0, 0]}], "missing"),
    ):
        copy.unlink(missing_ok=True)
        FileJournal(copy).append(*events)
        with pytest.raises(gf.JournalError, match=f"{copy}.*{match}"):
            gf.Campaign.resume(copy)


def test_a_full_disk_loses_nothing(tmp_path, monkeypatch):
    import os

    path = tmp_path / "j"
    campaign = gf.Campaign(SPACE, ALL, GP, search=FAST, journal=path)
    before = path.read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(gf.JournalError, match="No space left"):
        campaign.ask()
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert campaign.ask().number == 0


def test_a_journal_in_memory_can_be_resumed_too():
    journal = MemoryJournal()
    campaign = gf.Campaign(SPACE, ALL, GP, search=FAST, journal=journal)
    campaign.tell(campaign.ask(), 1 if campaign.pending and campaign.pending[0].instrument == LOOK else 2)
    assert histories(gf.Campaign.resume(journal)) == histories(campaign)


def test_a_copied_journal_goes_its_own_way(tmp_path):
    gf.Campaign(SPACE, ALL, GP, search=FAST, journal=tmp_path / "a").ask()
    shutil.copy(tmp_path / "a", tmp_path / "b")
    gf.Campaign.resume(tmp_path / "b").stop()
    assert gf.Campaign.resume(tmp_path / "a").stopped is None


def test_a_pool_without_names_takes_those_of_the_gp_in_their_order():
    campaign = gf.Campaign(gf.Pool([[0.0, 1.0], [1.0, 0.5]]), LAB, GP)
    assert campaign.ask() is not None
    with pytest.raises(gf.InvalidInput, match="a gp over"):
        gf.Campaign(gf.Pool([[0.0, 1.0]], names=["north", "east"]), LAB, GP)
    with pytest.raises(gf.InvalidInput):
        gf.Campaign(gf.Pool([[0.0, 1.0, 2.0]]), LAB, GP)
