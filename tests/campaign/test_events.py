"""Events: what is written comes back, and what was not written by a campaign is refused by its number and field."""

import json

import numpy as np
import pytest

import gainful as gf
from gainful.beliefs import Part, Parts
from gainful.campaign import MemoryJournal, Status
from gainful.campaign.events import (
    KINDS,
    SCHEMA,
    Asked,
    Believed,
    Corrected,
    Created,
    Failed,
    Fitted,
    Passed,
    Stopped,
    Told,
    Undone,
    Withdrawn,
    read_event,
)

LAB = gf.Point(noise=0.1, cost=10, name="lab")
LOOK = gf.Ordinal(thresholds=[-0.4, 0.5], noise=0.1, cost=3, name="look")
SPACE = gf.Space(gf.Real("x", 0, 1))
GP = gf.GP(gf.SE(0.3))
FAST = gf.Search(candidates=16, climbers=1)

EVENTS = [
    Created(SCHEMA, {"type": "Design", "fields": {}}),
    Asked(0, "lab", [0.1, 0.2]),
    Asked(1, "pair", [[0.1], [0.2]], gf.Within(x=(0.0, None))),
    Asked(2, "lab", [0.1], "dry"),
    Asked(2, "lab", [0.1], confirms=True),
    Told(query=0, answer=0.25, cost=3.0),
    Told(query=0, answer=(-np.inf, 0.4), cost=0.0, note={"by": ["Ann", None]}),
    Told(query=3, answer=True, cost=1.0, instrument="lab", place=[0.5]),
    Told(query=3, answer="good", cost=1.0),
    Corrected(0, 7),
    Corrected(0, False, "read again"),
    Failed(0, 3.0),
    Failed(0, 0.0, "it broke"),
    Withdrawn(0),
    Withdrawn(0, 0),
    Undone(4),
    Passed([0.3]),
    Fitted(4, (0.1, -2.0), {"lab": (), "look": (1.5,)}),
    Fitted(2),
    Fitted(4, failed="not positive definite"),
    Believed(5, Parts((Part((0.2, 1.5), {"lab": (0.1,)}, -1.25), Part((0.4, 2.0), {}, 0.5, 1)))),
    Believed(5, failed="not positive definite"),
    Stopped("enough", closed=True),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda e: e.kind)
def test_an_event_comes_back_from_text_as_it_was(event):
    text = json.dumps(event.to_json(), allow_nan=False)
    again = read_event(json.loads(text), 2)
    assert again == event
    assert json.dumps(again.to_json()) == text


def test_every_kind_of_event_says_what_it_means_and_is_tried_above():
    assert {event.kind for event in EVENTS} == set(KINDS)
    assert all(kind.__doc__ and not kind.__doc__.startswith(kind.__name__) for kind in KINDS.values())


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"event": "teleported"}, "got teleported"),
        ({"event": ["told"]}, "told"),
        ({"event": "told", "query": 0, "answer": 1.0}, "incomplete: 'cost'"),
        ({"event": "told", "query": "0", "answer": 1.0, "cost": 1}, "query: expected the number of a query"),
        ({"event": "told", "query": True, "answer": 1.0, "cost": 1}, "query: expected the number of a query"),
        ({"event": "told", "query": -1, "answer": 1.0, "cost": 1}, "query: expected the number of a query"),
        ({"event": "told", "query": 0, "answer": 1.0, "cost": -50}, "cost: expected a finite number, at least 0"),
        ({"event": "told", "query": 0, "answer": 1.0, "cost": "1"}, "cost: "),
        ({"event": "told", "query": 0, "answer": {"type": "SE"}, "cost": 1}, "answer: expected an answer"),
        ({"event": "told", "query": 0, "answer": {"number": "3"}, "cost": 1}, "answer: "),
        ({"event": "told", "query": 0, "answer": None, "cost": 1}, "answer: "),
        ({"event": "told", "query": 0, "answer": 1, "cost": 1, "colour": 3}, "'colour'"),
        ({"event": "asked", "query": 0, "instrument": 3, "place": [0.1]}, "instrument: expected text"),
        ({"event": "asked", "query": 0, "instrument": "lab", "place": 0.1}, "place: expected coordinates"),
        ({"event": "asked", "query": 0, "instrument": "lab", "place": []}, "place: "),
        ({"event": "asked", "query": 0, "instrument": "lab", "place": [[0.1], 0.2]}, "place: "),
        ({"event": "asked", "query": 0, "instrument": "lab", "place": [{"x": 0.1}]}, "place: "),
        ({"event": "asked", "query": 0, "instrument": "lab", "place": [0.1], "where": {"type": "SE"}}, "where: "),
        ({"event": "fitted", "answers": 3, "gp": "x"}, "gp: expected finite numbers"),
        ({"event": "fitted", "answers": 3, "gp": [1], "instruments": [2]}, "instruments: "),
        ({"event": "believed", "answers": 3, "parts": []}, "parts: expected parts of a belief"),
        ({"event": "believed", "answers": 3, "parts": [{"gp": [1.0]}]}, "parts: "),
        ({"event": "stopped", "reason": "enough", "closed": 1}, "closed: expected true or false"),
        ({"event": "passed"}, "incomplete: 'place'"),
    ],
)
def test_what_is_no_event_is_refused_by_its_number_and_field(data, words):
    with pytest.raises(gf.JournalError, match=rf"event 7 of the journal.*{words}"):
        read_event(data, 7)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (Told(query=1, answer=0.5, cost=1.0), "query 1 is taken to be pending"),
        (Told(query=0, answer=0.5, cost=1.0), "query 0 is taken to be pending"),
        (Told(query=1, answer=0.5, cost=1.0, instrument="lab"), "one of them is missing"),
        (Asked(1, "nobody", [0.5]), "'nobody' is not in the design"),
        (Asked(2, "lab", [0.5]), "events are missing"),
        (Asked(1, "lab", [[0.5], [0.6]]), "place"),
        (Undone(1), "not the last one"),
        (Corrected(3, 0.5), "query 3 is taken to be told"),
        (Believed(1, Parts((Part((0.2, 1.5), {}, 0.0),))), "wholly stated"),
    ],
    ids=str,
)
def test_an_event_that_cannot_have_happened_is_refused_by_its_number(data, words):
    campaign = gf.Campaign(SPACE, LAB, GP, search=FAST)
    campaign.tell(gf.Query(LAB, [0.2]), 0.1)
    campaign.journal.append(data.to_json())
    with pytest.raises(gf.JournalError, match=f"event 3 of the journal .*{words}"):
        gf.Campaign.resume(campaign.journal)


def test_a_design_that_could_not_have_been_made_is_no_design():
    campaign = gf.Campaign(SPACE, LAB, GP, budget=40)
    (created,) = campaign.journal.events()
    created["design"]["fields"]["budget"] = -1
    journal = MemoryJournal()
    journal.append(created)
    with pytest.raises(gf.JournalError, match="budget"):
        gf.Campaign.resume(journal)


def test_a_status_is_one_of_four_and_reads_as_its_word():
    campaign = gf.Campaign(SPACE, LAB, GP, search=FAST)
    first, second, third = campaign.ask(3)
    campaign.tell(first, 0.0)
    campaign.withdraw(second)
    campaign.fail(third)
    campaign.ask()
    assert [e.status for e in campaign.history] == ["told", "withdrawn", "failed", "pending"]
    assert {e.status for e in campaign.history} == set(Status)
    assert f"{campaign.history[0].status}" == "told"


# ask(n): all or nothing


def moody(raises):
    """Learn, but it raises the so-many-th time that it scores: the first is when the campaign is created."""
    calls = []

    class Moody:  # without state of its own: a journal could not keep it
        def score(self, belief, instrument, places):
            calls.append(instrument)
            if len(calls) == raises:
                raise RuntimeError("not today")
            return gf.Learn().score(belief, instrument, places)

    return Moody()


@pytest.mark.parametrize("raises", [2, 3, 4])
def test_an_ask_that_cannot_be_completed_leaves_nothing_behind(tmp_path, raises):
    pool = gf.Pool(np.linspace(0, 1, 6)[:, None])
    campaign = gf.Campaign(pool, LAB, GP, moody(raises), budget=100, journal=tmp_path / "j")
    before = (tmp_path / "j").read_bytes()
    with pytest.raises(RuntimeError, match="not today"):
        campaign.ask(3)
    assert campaign.pending == campaign.history == ()
    assert campaign.stopped is None
    assert (tmp_path / "j").read_bytes() == before
    asked = campaign.ask(3)  # in a better mood
    assert campaign.pending == tuple(asked)
    assert [q.number for q in asked] == [0, 1, 2]
    calm = gf.Campaign(pool, LAB, GP, moody(99), budget=100).ask(3)
    assert asked == calm


def test_a_full_disk_keeps_none_of_several_queries(tmp_path, monkeypatch):
    import os

    campaign = gf.Campaign(SPACE, LAB, GP, search=FAST, journal=tmp_path / "j")
    before, write, written = (tmp_path / "j").read_bytes(), os.write, []

    def full(file, content):
        if written:
            raise OSError(28, "No space left on device")
        written.append(write(file, bytes(content)[:100]))  # the first of them, and a part of the second
        return written[0]

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(gf.JournalError, match="No space left"):
            campaign.ask(3)
    assert written == [100]
    assert campaign.pending == ()
    assert (tmp_path / "j").read_bytes() == before
    assert len(campaign.ask(3)) == 3


@pytest.mark.parametrize("budget", [25, 100])
def test_queries_of_one_ask_are_those_of_asking_one_by_one(budget):
    together, apart = (gf.Campaign(SPACE, [LAB, LOOK], GP, budget=budget, search=FAST) for _ in range(2))
    one_by_one = [apart.ask() for _ in range(4)]
    assert together.ask(4) == [query for query in one_by_one if query is not None]
    assert together.journal.events() == apart.journal.events()
    assert together.stopped == apart.stopped


def test_a_batch_that_runs_out_of_places_is_as_long_as_it_can_be_and_says_why():
    campaign = gf.Campaign(gf.Pool([[0.0], [1.0]]), LAB, GP, repeat=False)
    assert len(campaign.ask(5)) == 2
    assert campaign.stopped == gf.campaign.Ending.NO_PLACE


def test_every_query_of_a_batch_sees_the_earlier_ones_as_pending():
    seen = []

    class Spying:
        def score(self, belief, instrument, places):
            return gf.Learn().score(belief, instrument, places)

        def score_beyond(self, belief, instrument, places, pending):
            seen.append(tuple(q.number for q in pending))
            return gf.Learn().score_beyond(belief, instrument, places, pending)

    pool = gf.Pool(np.linspace(0, 1, 6)[:, None])
    gf.Campaign(pool, LAB, GP, Spying()).ask(3)
    assert set(seen) == {(0,), (0, 1)}


def test_with_the_default_goal_a_stopping_rule_and_the_ask_choose_once_between_them(monkeypatch):
    from gainful.campaign import decide

    choose, calls = decide.choose, []
    monkeypatch.setattr(decide, "choose", lambda *args, **named: calls.append(args[0]) or choose(*args, **named))
    rule = gf.TooLittleToLearn(1e-6)
    plain, ruled = (gf.Campaign(SPACE, [LAB, LOOK], GP, stop=stop, search=FAST) for stop in ((), rule))
    assert ruled.ask() == plain.ask()
    assert len(calls) == 2
    gf.Campaign(SPACE, [LAB, LOOK], GP, gf.Learn(), stop=rule, search=FAST).ask()
    assert len(calls) == 4
