"""Campaigns under bad luck and bad input: what is promised holds in every order of events, and nothing is lost."""

import json
import os
import shutil
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gainful as gf
from gainful.campaign import FileJournal, MemoryJournal, learning
from gainful.campaign.codec import Codec, encode
from gainful.campaign.events import SCHEMA

LAB = gf.Point(noise=0.1, cost=10, name="lab")
LOOK = gf.Ordinal(thresholds=[-0.4, 0.5], noise=0.1, cost=3, name="look")
SPACE = gf.Space(gf.Real("x", 0, 1))
GP = gf.GP(gf.SE(0.3))
FAST = gf.Search(candidates=16, climbers=1)
ELEVEN = gf.Pool(np.linspace(0, 1, 11)[:, None])
THREE = gf.Pool([[0.0], [0.5], [1.0]])
KINDS = [
    gf.Point(0.1),
    gf.Point(0.0),
    gf.Interval(0.1, width=0.5),
    gf.Ordinal([-1, 0.5], 0.2),
    gf.Binary(),
    gf.Preference(0.3),
    gf.Detection(),
]


def answer_of(instrument, seed=0):
    g = np.zeros((1, 2)) if instrument.query == "set" else np.zeros(1)
    return instrument.simulate(g, np.random.default_rng(seed))[0]


def resumed(campaign):
    """The same campaign behind a copy of its journal: whatever it does, the first one does not notice."""
    journal = MemoryJournal()
    journal.append(*campaign.journal.events())
    return gf.Campaign.resume(journal)


# Pending queries


@pytest.mark.parametrize("instrument", KINDS, ids=str)
@pytest.mark.parametrize("pool", [ELEVEN, ELEVEN.where(gf.Within(x0=(0.0, 0.5))), THREE], ids=str)
def test_several_queries_at_once_are_asked_of_a_pool_by_every_instrument(pool, instrument):
    campaign = gf.Campaign(pool, instrument, GP, search=FAST)
    asked = campaign.ask(3)
    assert len(asked) == 3
    assert campaign.pending == tuple(asked)
    assert all(pool.contains(np.atleast_2d(q.place)).all() for q in asked)


def test_in_a_pool_pending_numbers_are_followed_by_the_place_of_largest_variance_given_them():
    campaign = gf.Campaign(ELEVEN, LAB, GP, gf.Learn())
    campaign.tell(gf.Query(LAB, [0.0]), 0.7)
    asked = campaign.ask(3)
    for n in range(3):
        places = [[0.0], *(q.place for q in asked[:n])]
        known = GP.condition(gf.Data().add(LAB, np.array(places), np.zeros(len(places))))
        variance = known.variance(ELEVEN.places)
        assert known.variance(asked[n].place[None])[0] == pytest.approx(variance.max(), rel=1e-6)


def test_readings_without_noise_spread_over_a_pool_as_pending_ones_are_taken_as_known():
    exact = gf.Point(0.0)
    campaign = gf.Campaign(ELEVEN, exact, GP, repeat=False)
    campaign.tell(gf.Query(exact, [0.0]), 0.0)
    first, second = campaign.ask(2)
    assert first.place[0] == 1.0
    known = GP.condition(gf.Data().add(exact, [[0.0], [1.0]], [0.0, 0.0]))
    assert second.place[0] == ELEVEN.places[np.argmax(known.variance(ELEVEN.places)), 0]


# Any order of events

_MOVES = st.lists(
    st.tuples(st.sampled_from(["ask", "ask", "tell", "tell", "own", "correct", "withdraw"]), st.integers(0, 5)),
    max_size=12,
)


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(moves=_MOVES, seed=st.integers(0, 3), forward=st.booleans(), refit=st.sampled_from([None, 3]))
def test_after_any_sequence_of_events_money_adds_up_and_a_resumed_campaign_goes_on_the_same(
    moves, seed, forward, refit
):
    lab = gf.Point(noise=0.1, cost=0.3, name="lab")
    look = gf.Ordinal(thresholds=[-0.4, 0.5], noise=0.1, cost=0.1, name="look")
    replies = {"lab": (0.1, -0.4), "look": (2, 3)}
    gp = gf.GP(gf.SE(0.3), priors={"SE.lengthscale": gf.Fixed()})
    campaign = gf.Campaign(
        SPACE, [lab, look], gp, budget=1.3, seed=seed, forward="x" if forward else None, refit=refit, search=FAST
    )
    book = []  # [status, cost of the instrument, paid, answer]
    for move, which in moves:
        pending = [i for i, row in enumerate(book) if row[0] == "pending"]
        told = [i for i, row in enumerate(book) if row[0] == "told"]
        if move == "ask":
            if (query := campaign.ask()) is not None:
                assert query.number == len(book)
                assert SPACE.contains(query.place[None])[0]
                if forward:
                    kept = [e.query.place[0] for e in campaign.history[:-1] if e.status != "withdrawn"]
                    assert query.place[0] >= max(kept, default=0.0)
                book.append(["pending", query.cost, 0.0, None])
        elif move == "own":
            campaign.tell(gf.Query(lab, [which / 5]), 0.2, cost=0.05 * which)
            book.append(["told", 0.3, 0.05 * which, 0.2])
        elif move == "tell" and pending:
            i = pending[which % len(pending)]
            query = campaign.history[i].query
            campaign.tell(query, replies[query.instrument.label][0])
            book[i] = ["told", query.cost, query.cost, replies[query.instrument.label][0]]
        elif move == "correct" and told:
            i = told[which % len(told)]
            book[i][3] = replies[campaign.history[i].query.instrument.label][1]
            campaign.correct(i, book[i][3])
        elif move == "withdraw" and pending + told:
            i = (pending + told)[which % len(pending + told)]
            campaign.withdraw(i)
            book[i][0] = "withdrawn"
    assert [e.status for e in campaign.history] == [row[0] for row in book]
    assert [e.answer for e in campaign.history if e.status == "told"] == [row[3] for row in book if row[0] == "told"]
    assert campaign.spent == pytest.approx(sum(row[2] for row in book), abs=1e-12)
    reserved = sum(row[1] for row in book if row[0] == "pending")
    left = 1.3 - sum(row[2] for row in book) - reserved
    assert (campaign.stopped is not None) == (left < 0.1 - 1e-9)
    again = resumed(campaign)
    assert [(e.query, e.answer, e.cost, e.status) for e in again.history] == [
        (e.query, e.answer, e.cost, e.status) for e in campaign.history
    ]
    assert (again.spent, again.stopped, again.gp) == (campaign.spent, campaign.stopped, campaign.gp)
    assert campaign.ask() == again.ask()
    data = gf.Data()
    for instrument, name in zip(campaign.instruments, ("lab", "look"), strict=True):
        mine = [e for e in campaign.history if e.status == "told" and e.query.instrument.label == name]
        if mine:
            data = data.add(instrument, np.array([e.query.place for e in mine]), [e.answer for e in mine])
    X = SPACE.grid(5)
    np.testing.assert_allclose(campaign.posterior.mean(X), campaign.gp.condition(data).mean(X), rtol=0, atol=1e-6)


@pytest.mark.parametrize("instrument", KINDS, ids=str)
@pytest.mark.parametrize("goal", [None, gf.Random(), gf.RandomType(gf.Normalised(gf.Learn()))], ids=str)
def test_every_instrument_and_goal_goes_on_the_same_after_each_event(instrument, goal):
    few = gf.Search(candidates=6, climbers=0) if instrument.query == "set" else FAST
    campaign = gf.Campaign(SPACE, instrument, GP, goal, seed=2, search=few)
    for n in range(3):
        again = resumed(campaign).ask()
        query = campaign.ask()
        assert query == again
        assert resumed(campaign).pending == (query,)
        campaign.tell(query, answer_of(instrument, n))
    assert resumed(campaign).ask() == campaign.ask()


def test_time_runs_forward_again_after_the_only_query_was_withdrawn():
    campaign = gf.Campaign(SPACE, LAB, GP, forward="x", search=FAST)
    campaign.withdraw(campaign.ask())
    assert campaign.ask() is not None


@pytest.mark.parametrize(("cost", "uses"), [(0.1, 3), (0.1, 300), (0.05, 500), (1.1, 500)])
def test_a_budget_of_n_uses_pays_for_n_uses_whatever_their_cost(cost, uses):
    lab = gf.Point(0.1, cost=cost, name="lab")
    campaign = gf.Campaign(gf.Pool([[0.0], [1.0]]), lab, gf.GP(gf.SE()), budget=round(cost * uses, 9))
    for _ in range(uses - 1):
        campaign.tell(gf.Query(lab, [0.0]), 0.0)
    assert campaign.stopped is None
    campaign.tell(gf.Query(lab, [0.0]), 0.0)
    assert campaign.stopped is not None
    assert campaign.spent == pytest.approx(cost * uses, rel=1e-14)


# Whose query is it


def test_a_query_of_another_campaign_with_another_instrument_is_refused():
    one = gf.Pool([[0.5]])
    mine, theirs = gf.Campaign(one, LAB, GP), gf.Campaign(one, LOOK, GP)
    mine.ask()
    with pytest.raises(gf.InvalidInput, match="query"):
        mine.tell(theirs.ask(), 2)
    assert mine.spent == 0


def test_a_query_with_what_was_learned_about_the_instrument_is_the_campaigns_own():
    campaign = gf.Campaign(SPACE, gf.Point(0.3, name="lab"), GP, refit=3, search=FAST)
    for answer in (0.0, 1.0, 2.0):
        campaign.tell(campaign.ask(), answer)
    campaign.tell(gf.Query(campaign.instruments[0], [0.5]), 1.0)
    assert len(campaign.history) == 4


def test_equal_queries_have_equal_hashes():
    assert gf.Query(LAB, [0.0]) == gf.Query(LAB, [-0.0])
    assert hash(gf.Query(LAB, [0.0])) == hash(gf.Query(LAB, [-0.0]))


def test_a_note_comes_back_as_it_was_given():
    campaign = gf.Campaign(SPACE, LAB, GP, search=FAST)
    note = {"operator": "Ann", "tries": [2, 2.5], "sober": True}
    campaign.tell(campaign.ask(), 1.0, note=note)
    assert campaign.history[0].note == note
    assert gf.Campaign.resume(campaign.journal).history[0].note == note
    campaign.correct(0, 2.0)
    assert campaign.history[0].note == note  # nothing new was said


# Learning hyperparameters on the way


def test_what_was_learned_from_a_wrong_answer_is_not_believed_after_its_correction():
    wrong, right = (gf.Campaign(SPACE, gf.Point(0.3, name="lab"), GP, refit=3, search=FAST) for _ in range(2))
    for campaign, last in ((wrong, 500.0), (right, 0.5)):
        for x, answer in zip((0.0, 0.5, 1.0), (0.0, 1.0, last), strict=True):
            campaign.tell(gf.Query(gf.Point(0.3, name="lab"), [x]), answer)
    wrong.correct(2, 0.5)
    assert wrong.gp == right.gp


def test_three_new_answers_are_learned_from_though_three_others_were_withdrawn():
    lab = gf.Point(0.3, name="lab")
    campaign = gf.Campaign(SPACE, lab, GP, refit=3, search=FAST)
    for x, answer in zip((0.0, 0.5, 1.0), (0.0, 1.0, 500.0), strict=True):
        campaign.tell(gf.Query(lab, [x]), answer)
    for i in range(3):
        campaign.withdraw(i)
    for x, answer in zip((0.0, 0.5, 1.0), (0.0, 1.0, 0.5), strict=True):
        campaign.tell(gf.Query(lab, [x]), answer)
    assert campaign.gp.kernel.variance < 100.0


def test_a_learning_that_was_interrupted_is_made_up_for_whether_resumed_or_not(tmp_path, monkeypatch):
    def stop_it(*_, **__):
        raise KeyboardInterrupt

    path = tmp_path / "j"
    campaign = gf.Campaign(SPACE, gf.Point(0.3, name="lab"), GP, refit=3, search=FAST, journal=path)
    for answer in (0.0, 1.0):
        campaign.tell(campaign.ask(), answer)
    query = campaign.ask()
    with monkeypatch.context() as patch:
        patch.setattr(learning, "fit", stop_it)
        with pytest.raises(KeyboardInterrupt):
            campaign.tell(query, 5.0)
    shutil.copy(path, tmp_path / "copy")
    resumed = gf.Campaign.resume(tmp_path / "copy")
    assert len(resumed.posterior.data) == 3
    assert campaign.ask() == resumed.ask()


def test_a_warning_made_an_error_while_learning_loses_neither_the_answer_nor_what_was_learned(tmp_path, monkeypatch):
    fit = learning.fit

    def doubtful(*args, **kwargs):
        warnings.warn("ended before its tolerance was met", gf.ConvergenceWarning, stacklevel=2)
        return fit(*args, **kwargs)

    monkeypatch.setattr(learning, "fit", doubtful)
    path = tmp_path / "j"
    campaign = gf.Campaign(SPACE, gf.Point(0.3, name="lab"), GP, refit=2, search=FAST, journal=path)
    campaign.tell(campaign.ask(), 0.0)
    with pytest.raises(gf.ConvergenceWarning):
        campaign.tell(campaign.ask(), 1.0)
    assert [e["event"] for e in campaign.journal.events()][-2:] == ["told", "fitted"]
    assert len(gf.Campaign.resume(path).posterior.data) == 2


# Stopping


def test_one_narrow_ask_does_not_stop_a_campaign_that_has_more_to_learn_elsewhere():
    campaign = gf.Campaign(SPACE, LAB, GP, stop=gf.TooLittleToLearn(0.05), search=FAST)
    campaign.tell(gf.Query(LAB, [0.1]), 0.0)
    campaign.ask(where=gf.Within(x=(0.0999, 0.1001)))  # hardly anything is to be learned just there
    query = campaign.ask()
    assert query is not None
    assert gf.information(campaign.posterior, LAB, query.place[None])[0] / LAB.cost > 0.05


@pytest.mark.parametrize("goal", [gf.Learn(), gf.Random(), gf.RandomType()], ids=str)
def test_a_campaign_stops_for_want_of_information_only_when_no_query_offers_the_level(goal):
    X = np.linspace(0, 1, 201)[:, None]
    thorough = gf.Search(candidates=200, climbers=4)  # with a few candidates the last gap may be missed
    campaign = gf.Campaign(SPACE, [LAB, LOOK], GP, goal, stop=gf.TooLittleToLearn(0.05), search=thorough)
    for _ in range(100):
        if (query := campaign.ask()) is None:
            break
        campaign.tell(query, {"lab": 0.0, "look": 2}[query.instrument.label])
    assert "below the level" in campaign.stopped
    best = max(gf.information(campaign.posterior, i, X).max() / i.cost for i in (LAB, LOOK))
    assert best < 0.05


def five(posterior):
    return 5.0


def two_numbers(posterior):
    return np.array([0.1, 0.2])


def nothing(posterior):
    return None


@pytest.mark.parametrize("level", [float("nan"), "0.1", None])
def test_a_level_that_is_no_number_is_refused(level):
    with pytest.raises(gf.InvalidInput, match="level"):
        gf.GoodEnough(five, level)


@pytest.mark.parametrize("measure", [two_numbers, nothing], ids=lambda f: f.__name__)
def test_a_measure_that_gives_no_number_is_refused_by_name(measure):
    campaign = gf.Campaign(SPACE, LAB, GP, stop=gf.GoodEnough(measure, 1.0), search=FAST)
    with pytest.raises(gf.InvalidInput, match=measure.__name__):
        campaign.ask()
    assert not campaign.history


def test_a_stop_without_words_is_still_a_stop_that_says_so():
    campaign = gf.Campaign(SPACE, LAB, GP)
    campaign.stop("")
    assert campaign.ask() is None
    assert campaign.stopped is not None


def test_why_a_campaign_ended_is_the_same_after_resuming():
    campaign = gf.Campaign(gf.Pool([[0.0]]), LAB, GP, repeat=False)
    campaign.tell(campaign.ask(), 1.0)
    assert campaign.ask() is None
    again = gf.Campaign.resume(campaign.journal)
    assert again.ask() is None
    assert again.stopped == campaign.stopped


# Why


def test_why_compares_with_what_could_have_been_asked_then_and_there():
    campaign = gf.Campaign(SPACE, [LAB, LOOK], GP, search=FAST)
    campaign.tell(gf.Query(LAB, [0.1]), 0.0)
    query = campaign.ask(where=gf.Within(x=(0.09, 0.11)))
    why = campaign.why(query)
    assert why.chosen.score >= max(o.score for o in why.elsewhere) - 1e-9
    assert all(0.09 <= o.place[0] <= 0.11 for o in why.elsewhere)


def test_why_does_not_say_that_the_users_own_choice_won_by_its_score():
    campaign = gf.Campaign(SPACE, [LAB, LOOK], GP, search=FAST)
    campaign.tell(gf.Query(LAB, [0.3]), 0.0)
    assert "highest score" not in str(campaign.why(0))


def test_why_explains_queries_in_every_state():
    campaign = gf.Campaign(SPACE, [LAB, LOOK, gf.Preference(), gf.Detection()], GP, gf.Random(), search=FAST, refit=4)
    for n in range(6):
        query = campaign.ask()
        campaign.tell(query, {"lab": 0.2, "look": 2}.get(query.instrument.label, True))
        if n == 1:
            campaign.withdraw(query)
        if n == 2:
            campaign.correct(query, answer_of(query.instrument, 5))
    campaign.tell(gf.Query(LAB, [0.9]), 0.1)
    campaign.ask()
    for entry in campaign.history:
        before = campaign.why(entry.query)
        assert np.isfinite(before.chosen.bits)
        assert "bits" in str(before)
    again = gf.Campaign.resume(campaign.journal)
    assert [str(again.why(i)) for i in range(8)] == [str(campaign.why(i)) for i in range(8)]


# Designs that cannot work are refused before anything is written


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"stop": 5}, "stop"),
        ({"limits": [gf.Within(x=(0, 1))]}, "limits"),
        ({"instruments": 5}, "instruments"),
        ({"instruments": None}, "instruments"),
        ({"instruments": gf.Point}, "instruments"),
        ({"inference": "ep"}, "inference"),
        ({"inference": gf.Exact()}, "inference"),
        ({"instruments": gf.Interval(0.1)}, "width"),
        ({"space": gf.Stream(SPACE, rate=0.5), "instruments": gf.Preference()}, "stream|pair"),
        ({"space": gf.Stream(SPACE, rate=0.5), "instruments": gf.Detection()}, "stream|set"),
        ({"model": gf.GP(gf.SE(), space=gf.Space(gf.Real("y", 0, 1)))}, "model|space"),
    ],
    ids=str,
)
def test_a_design_that_cannot_work_is_refused_with_the_arguments_name(tmp_path, change, named):
    design = {"space": SPACE, "instruments": [LAB, LOOK], "model": GP, "journal": tmp_path / "j"} | change
    with pytest.raises(gf.InvalidInput, match=named):
        gf.Campaign(**design)
    assert not (tmp_path / "j").exists()


@pytest.mark.parametrize("journal", [3, b"abc", [1]], ids=str)
def test_what_is_no_journal_is_refused(journal):
    with pytest.raises(gf.InvalidInput, match="journal"):
        gf.Campaign(SPACE, LAB, GP, journal=journal)
    with pytest.raises(gf.InvalidInput, match="journal"):
        gf.Campaign.resume(journal)


def test_no_stopping_rule_is_none_of_them():
    assert gf.Campaign(SPACE, LAB, GP, stop=None, search=FAST).ask() is not None


def test_a_gp_that_calls_the_dimensions_in_another_order_is_refused():
    space = gf.Space(gf.Real("east", 0, 1), gf.Real("north", 0, 1))
    turned = gf.Space(gf.Real("north", 0, 1), gf.Real("east", 0, 1))
    with pytest.raises(gf.InvalidInput, match="a gp over"):
        gf.Campaign(space, LAB, gf.GP(gf.SE().on(["north"]), space=turned))


def test_numbers_of_numpy_are_numbers():
    campaign = gf.Campaign(SPACE, LAB, GP, budget=np.float32(40), seed=np.int64(1), search=gf.Search(np.int64(16), 1))
    assert len(campaign.ask(np.int64(2))) == 2
    campaign.withdraw(np.int64(0))
    assert gf.Stream(SPACE, length=np.int64(5)).length == 5
    assert gf.TooLittleToLearn(np.float32(0.5)).level == 0.5


@pytest.mark.parametrize(
    "answer", [[1, [2, 3]], {}, object(), "high", b"\xff"], ids=["ragged", "dict", "object", "text", "bytes"]
)
def test_an_answer_of_any_wrong_kind_is_refused_as_an_answer(answer):
    campaign = gf.Campaign(SPACE, LAB, GP, search=FAST)
    query = campaign.ask()
    with pytest.raises(gf.InvalidInput, match="answer"):
        campaign.tell(query, answer)
    assert campaign.pending == (query,)


@pytest.mark.parametrize("place", ["abc", [1, [2]], None, [float("nan")], [[0.1], [0.2]]], ids=repr)
def test_a_place_of_a_wrong_kind_is_refused_as_a_place(place):
    campaign = gf.Campaign(gf.Stream(SPACE, rate=0.5), LAB, GP)
    with pytest.raises(gf.InvalidInput, match="place"):
        campaign.offer(place)
    assert len(campaign.journal.events()) == 1


def test_a_goal_or_rule_of_ones_own_may_be_any_object():
    class Left:
        def score(self, belief, instrument, places):
            return -places[:, 0]

    class Never:
        def reason(self, belief, best):
            return None

    query = gf.Campaign(ELEVEN, LAB, GP, Left(), stop=Never()).ask()
    assert query.place[0] == 0.0


# Journals


def test_looking_at_a_journal_does_not_hide_what_somebody_else_has_written_to_it(tmp_path):
    path = tmp_path / "j"
    campaign = gf.Campaign(SPACE, LAB, GP, search=FAST, journal=path)
    campaign.tell(campaign.ask(), 1.0)
    gf.Campaign.resume(path).ask()
    campaign.why(0)
    campaign.journal.events()
    assert len(campaign.history) == 1
    campaign.ask()
    assert len(campaign.history) == len(gf.Campaign.resume(path).history) == 3


def test_a_write_that_could_not_begin_takes_nothing_of_others_away(tmp_path, monkeypatch):
    def no_more(*_, **__):
        raise OSError(24, "Too many open files")

    path = tmp_path / "j"
    campaign = gf.Campaign(SPACE, LAB, GP, search=FAST, journal=path)
    gf.Campaign.resume(path).ask()
    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", no_more)
        with pytest.raises(gf.JournalError, match="Too many open files"):
            campaign.stop()
    assert path.read_bytes() == before


def test_a_file_that_is_no_journal_is_not_written_over(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("what I know about the survey")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gf.JournalWarning)
        with pytest.raises(gf.JournalError):
            gf.Campaign(SPACE, LAB, GP, journal=path)
    assert path.read_text() == "what I know about the survey"


def test_an_interrupt_while_writing_leaves_a_journal_that_can_be_resumed(tmp_path, monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt

    path = tmp_path / "j"
    campaign = gf.Campaign(SPACE, LAB, GP, search=FAST, journal=path)
    query = campaign.ask()
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", interrupted)
        with pytest.raises(KeyboardInterrupt):
            campaign.tell(query, 1.0)
    assert campaign.pending == (query,)  # it was not told, and the journal does not have it either
    campaign.tell(query, 2.0)
    again = gf.Campaign.resume(path)
    assert [e.answer for e in again.history] == [2.0]
    assert again.ask() is not None


@pytest.mark.parametrize("rest", [{}, {"design": 3}])
def test_a_journal_without_a_design_is_refused(tmp_path, rest):
    FileJournal(tmp_path / "j").append({"event": "created", "schema": SCHEMA, **rest})
    with pytest.raises(gf.JournalError, match="design"):
        gf.Campaign.resume(tmp_path / "j")


def test_an_answer_that_was_told_twice_is_noticed(tmp_path):
    path = tmp_path / "j"
    campaign = gf.Campaign(SPACE, LAB, GP, search=FAST, journal=path)
    campaign.tell(campaign.ask(), 1.0)
    lines = path.read_text().splitlines(keepends=True)
    for extra in (lines[-1], lines[-1].replace('"query": 0', '"query": -1')):
        path.write_text("".join([*lines, extra]))
        with pytest.raises(gf.JournalError):
            gf.Campaign.resume(path)


@dataclass(frozen=True)
class Named:
    """A goal whose fields have names that the journal uses itself."""

    number: int = 3
    function: str = "f"
    mapping: str = "m"
    type: str = "t"

    def score(self, belief, instrument, places):
        return self.number * places[:, 0]


def test_fields_of_ones_own_may_have_any_name():
    campaign = gf.Campaign(ELEVEN, LAB, GP, Named(number=-1))
    again = gf.Campaign.resume(campaign.journal, known=[Named])
    assert again.ask().place[0] == 0.0


def test_two_different_functions_of_one_name_are_not_taken_for_one_another():
    def limit(low):
        def part(X):
            return np.abs(X[:, 0] - low) < 0.1

        return part

    left, right = limit(0.2), limit(0.8)
    with pytest.raises(gf.InvalidInput, match="part"):
        gf.Campaign(SPACE, [LAB, LOOK], GP, limits={"lab": left, "look": right})


def test_a_class_that_has_changed_since_is_refused_as_a_journal_error():
    @dataclass(frozen=True)
    class Mine(gf.Learn):
        strength: float = 1.0

    campaign = gf.Campaign(ELEVEN, LAB, GP, Mine())

    @dataclass(frozen=True)
    class Mine(gf.Learn):
        pass

    with pytest.raises(gf.JournalError, match="Mine"):
        gf.Campaign.resume(campaign.journal, known=[Mine])


VALUES = [
    gf.SE((0.2, 0.3), 2.0),
    gf.Matern(0.2, nu=0.5),
    gf.RationalQuadratic(),
    gf.SE().on([0]) + 2.0 * gf.Linear(),
    gf.SE().on(["x"]) * gf.Periodic(0.3, 0.4),
    gf.LinearMean([1.0, 2.0], 3.0),
    gf.NotchMean(1, 2, 3, 4, "x"),
    gf.GP(gf.SE(), gf.ConstantMean(1.0), {"SE.lengthscale": gf.LogNormal(1, 2), "SE.variance": gf.Fixed()}),
    gf.GP(gf.SE().on(["x"]), space=SPACE),
    *(gf.Gamma(2, 3), gf.Beta(2, 3), gf.Normal(1, 2), gf.Uniform(0, 1), gf.Flat()),
    *(gf.EP(1e-6, 50, 3), gf.Laplace(1e-6, 7), gf.Exact()),
    *(gf.Point(0.2, cost=3, name="Größe", buckets=7), gf.Interval(), gf.Binary(guess=0.1, lapse=0.05)),
    gf.Ordinal(np.array([-1.0, 0.5]), 0.2),
    *(gf.Count(cost=2), gf.Binomial(trials=10, name="of ten"), gf.StudentT(0.2, df=3.5)),
    SPACE.where(gf.Within(x=(None, 0.5))).where(gf.Within({"x": (0.1, None)})),
    gf.RandomType(gf.Normalised(gf.PerCost(gf.Learn()))),
    gf.Stream(SPACE, length=3),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda v: type(v).__name__)
def test_values_come_back_from_text_equal_to_what_they_were(value):
    again = Codec().decode(json.loads(json.dumps(encode(value), allow_nan=False)))
    assert again == value
    assert repr(again) == repr(value)


def test_open_ends_of_an_interval_survive_the_journal():
    any_width = gf.Interval(0.1, name="censored")
    campaign = gf.Campaign(SPACE, [LAB, any_width], GP, gf.Random(), search=FAST)
    campaign.tell(gf.Query(any_width, [0.2]), (-np.inf, 0.4))
    again = gf.Campaign.resume(campaign.journal)
    assert again.history[0].answer == (-np.inf, 0.4)
    np.testing.assert_array_equal(again.posterior.mean([[0.2]]), campaign.posterior.mean([[0.2]]))
