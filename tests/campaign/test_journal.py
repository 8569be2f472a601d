"""One journal and many who write to it: nobody overlooks the others, and an interruption leaves nobody out of step."""

import copy
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest

import gainful as gf
from gainful.campaign import FileJournal, MemoryJournal
from gainful.campaign import campaign as campaign_module

LAB = gf.Point(noise=0.1, cost=1, name="lab")
SPACE = gf.Space(gf.Real("x", 0, 1))
GP = gf.GP(gf.SE(0.3))
FAST = gf.Search(candidates=16, climbers=1)


@pytest.fixture(params=["memory", "file", "two files"])
def two(request, tmp_path):
    """Two campaigns on one journal, or on two openings of it."""
    where = MemoryJournal() if request.param == "memory" else FileJournal(tmp_path / "j")
    first = gf.Campaign(SPACE, LAB, GP, search=FAST, journal=where, budget=100)
    return first, gf.Campaign.resume(tmp_path / "j" if request.param == "two files" else where)


# Several who write


def test_what_one_campaign_writes_the_other_goes_on_from(two):
    one, other = two
    query = one.ask()
    other.tell(gf.Query(LAB, [0.5]), 0.3)  # one's own query gets the next number
    assert [e.query.number for e in other.history] == [0, 1]
    assert other.pending == (query,)
    other.tell(query, 0.1)
    assert one.pending == (query,)  # until it looks
    second = one.ask()
    assert [e.answer for e in one.history] == [0.1, 0.3, None]
    assert second.number == 2
    assert one.journal.events() == other.journal.events()
    calm = gf.Campaign.resume(one.journal)
    assert calm.history == one.history


def test_an_ask_counts_on_what_another_campaign_has_asked(two):
    one, other = two
    first, second = one.ask(), other.ask()
    assert (first.number, second.number) == (0, 1)
    alone = gf.Campaign(SPACE, LAB, GP, search=FAST, budget=100)
    assert [first, second] == [alone.ask(), alone.ask()]


def test_a_query_that_somebody_else_has_told_or_withdrawn_meanwhile_is_refused(two):
    one, other = two
    told, withdrawn, corrected = one.ask(3)
    other.tell(told, 0.1)
    other.withdraw(withdrawn)
    with pytest.raises(gf.InvalidInput, match=r"a pending query.*which is told; use campaign.correct"):
        one.tell(told, 0.2)
    with pytest.raises(gf.InvalidInput, match="which is withdrawn"):
        one.tell(withdrawn, 0.2)
    with pytest.raises(gf.InvalidInput, match="not withdrawn yet"):
        one.withdraw(withdrawn)
    other.withdraw(corrected)
    with pytest.raises(gf.InvalidInput, match="that was told"):
        one.correct(corrected, 0.2)
    assert [e.answer for e in gf.Campaign.resume(one.journal).history] == [0.1, None, None]


def test_undo_takes_back_no_answer_that_was_not_seen(two):
    one, other = two
    one.tell(gf.Query(LAB, [0.1]), 0.1)
    other.tell(gf.Query(LAB, [0.2]), 0.2)
    with pytest.raises(gf.InvalidInput, match="others that came since"):
        one.undo()
    assert len(one.history) == 2  # now it has seen it
    assert one.undo().place == 0.2
    assert [e.status for e in one.history] == ["told", "pending"]


def test_a_campaign_that_somebody_else_has_stopped_asks_nothing(two):
    one, other = two
    other.stop("enough")
    assert one.ask() is None
    assert one.stopped == "enough"


def test_a_journal_is_given_to_one_new_campaign_alone(tmp_path, monkeypatch):
    """Two that are created at the same time both find the file empty."""
    path = tmp_path / "j"
    journal = FileJournal(path)
    monkeypatch.setattr(journal, "events", lambda: [])
    gf.Campaign(SPACE, LAB, GP, journal=path)
    before = path.read_bytes()
    with pytest.raises(gf.JournalError, match="already holds a campaign"):
        gf.Campaign(SPACE, LAB, GP, journal=journal)
    assert path.read_bytes() == before


def test_what_is_learned_while_others_tell_is_learned_again_with_their_answers(two, monkeypatch):
    one, other = two
    for each in (one, other):
        each._state = campaign_module.State.begin(gf.campaign.design.Design(SPACE, LAB, GP, None, refit=2))
    learn, calls = campaign_module.learn, []

    def interrupted(state):
        calls.append(len(state.told))
        if len(calls) == 1:
            monkeypatch.setattr(campaign_module, "learn", learn)
            other.tell(gf.Query(LAB, [0.9]), -0.2)
        return learn(state)

    one.tell(gf.Query(LAB, [0.1]), 0.5)
    monkeypatch.setattr(campaign_module, "learn", interrupted)
    one.tell(gf.Query(LAB, [0.5]), 0.1)
    kinds = [event["event"] for event in one.journal.events()]
    assert kinds == ["created", "told", "told", "told", "fitted"]
    assert [e.answer for e in one.history] == [0.5, 0.1, -0.2]


def test_somebody_who_is_always_too_late_is_told_so(monkeypatch):
    class Busy(MemoryJournal):
        def append(self, *events, after=None):
            if after:
                super().append({"event": "told", "query": after - 1, "answer": 0.1, "cost": 1, "instrument": "lab",
                                "place": [0.5]})  # fmt: skip
            super().append(*events, after=after)

    monkeypatch.setattr(campaign_module, "_TRIES", 5)
    campaign = gf.Campaign(SPACE, LAB, GP, journal=Busy())
    with pytest.raises(gf.JournalError, match="5 times in a row others have written"):
        campaign.stop()
    assert len(campaign.history) == 5


@pytest.mark.parametrize("kind", ["one campaign", "one journal", "one file"])
def test_threads_that_tell_at_the_same_moment_lose_nothing(tmp_path, kind):
    journal = tmp_path / "j" if kind == "one file" else MemoryJournal()
    first = gf.Campaign(gf.Pool([[0.5]]), LAB, GP, journal=journal)
    campaigns = [first if kind == "one campaign" else gf.Campaign.resume(journal) for _ in range(4)]

    def tell(who):
        for n in range(50):
            campaigns[who].tell(gf.Query(LAB, [0.5]), float(who), note=n)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(tell, range(4)))
    told = gf.Campaign.resume(journal).history
    assert sorted((e.answer, e.note) for e in told) == [(who, n) for who in range(4) for n in range(50)]
    assert [e.query.number for e in told] == list(range(200))


def test_threads_that_ask_and_tell_each_get_queries_of_their_own():
    campaign = gf.Campaign(gf.Pool(np.linspace(0, 1, 12)[:, None]), LAB, GP, repeat=False)

    def work(_):
        mine = []
        while query := campaign.ask():
            mine.append(query)
            campaign.tell(query, 0.1)
        return mine

    with ThreadPoolExecutor(3) as pool:
        asked = [query for mine in pool.map(work, range(3)) for query in mine]
    assert sorted(query.number for query in asked) == list(range(12))
    assert sorted(float(query.place[0]) for query in asked) == np.linspace(0, 1, 12).tolist()


def test_a_copy_of_a_campaign_goes_its_own_way():
    campaign = gf.Campaign(SPACE, LAB, GP, search=FAST)
    for again in (copy.deepcopy(campaign), pickle.loads(pickle.dumps(campaign))):
        again.tell(again.ask(), 0.1)
        assert len(again.history) == 1
    assert campaign.history == ()


# A file that changes by other hands


def test_a_file_that_was_cut_replaced_or_removed_is_not_written_to(tmp_path):
    path, other = tmp_path / "j", tmp_path / "other"
    campaign = gf.Campaign(SPACE, LAB, GP, journal=path)
    campaign.tell(gf.Query(LAB, [0.1]), 0.1)
    content = path.read_bytes()
    gf.Campaign(SPACE, LAB, GP, journal=other, seed=1).tell(gf.Query(LAB, [0.1]), 0.1)
    for changed in (content.splitlines(keepends=True)[0], other.read_bytes(), b"", None):
        path.unlink() if changed is None else path.write_bytes(changed)
        for verb in (campaign.stop, campaign.journal.events):
            with pytest.raises(gf.JournalError, match="cut, replaced or removed"):
                verb()
        assert not path.exists() if changed is None else path.read_bytes() == changed
    path.write_bytes(content)
    campaign.stop()


# Interruptions


class Interrupted:
    """A system call that is interrupted, the first time, before it is made or after it."""

    def __init__(self, call, before):
        self.call, self.before, self.left = call, before, 1

    def __call__(self, *args):
        if self.left and self.before:
            self.left -= 1
            raise KeyboardInterrupt
        result = self.call(*args)
        if self.left:
            self.left -= 1
            raise KeyboardInterrupt
        return result


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("call", ["fsync", "write", "ftruncate", "fstat", "close", "stat"])
def test_ctrl_c_in_any_system_call_leaves_nobody_out_of_step(tmp_path, monkeypatch, call, before):
    path = tmp_path / "j"
    campaign = gf.Campaign(SPACE, LAB, GP, search=FAST, journal=path)
    query, waiting = campaign.ask(2)
    with monkeypatch.context() as patch:
        patch.setattr(os, call, Interrupted(getattr(os, call), before))
        try:
            campaign.tell(query, 1.0)
        except KeyboardInterrupt:
            pass
        else:
            assert call in ("close", "stat")  # Python's own files are not closed by it
    kept = gf.Campaign.resume(path).history[0].status == "told"
    if kept:
        with pytest.raises(gf.InvalidInput, match="which is told"):
            campaign.tell(query, 2.0)
    else:
        campaign.tell(query, 2.0)
    campaign.tell(waiting, 3.0)
    assert campaign.history[0].answer == (1.0 if kept else 2.0)
    assert gf.Campaign.resume(path).history == campaign.history


@pytest.mark.parametrize("kept", [True, False])
def test_ctrl_c_that_also_hits_the_clearing_up_leaves_nobody_out_of_step(tmp_path, monkeypatch, kept):
    path = tmp_path / "j"
    campaign = gf.Campaign(SPACE, LAB, GP, search=FAST, journal=path)
    query = campaign.ask()
    truncate, write = os.ftruncate, os.write

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", interrupted)
        patch.setattr(
            os, "ftruncate", lambda file, at: truncate(file, at) if os.fstat(file).st_size == at else interrupted()
        )
        if not kept:
            patch.setattr(os, "write", lambda file, content: (write(file, bytes(content)[:30]), interrupted()))
        with pytest.raises(KeyboardInterrupt):
            campaign.tell(query, 1.0)
    assert campaign.pending == (query,)
    second = campaign.ask()  # goes on from what the file holds
    assert second.number == 1
    assert campaign.history[0].status == ("told" if kept else "pending")
    assert gf.Campaign.resume(path).history == campaign.history


def test_ctrl_c_between_the_journal_and_the_campaign_leaves_nobody_out_of_step(monkeypatch):
    journal = MemoryJournal()
    campaign = gf.Campaign(SPACE, LAB, GP, search=FAST, journal=journal)
    query = campaign.ask()

    def append(*events, after=None):
        MemoryJournal.append(journal, *events, after=after)
        if events:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(journal, "append", append)
        with pytest.raises(KeyboardInterrupt):
            campaign.tell(query, 1.0)
    assert campaign.ask().number == 1
    assert campaign.history[0].answer == 1.0


def test_what_is_no_file_is_refused_as_a_journal(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in ("/dev/zero", pipe):
        with pytest.raises(gf.JournalError, match="device or a pipe"):
            gf.Campaign.resume(path)
    with pytest.raises(gf.InvalidInput, match="journal"):
        gf.Campaign.resume("a\0b")


def test_what_was_not_supplied_is_asked_for_and_nothing_is_to_be_deleted(tmp_path):
    @dataclass(frozen=True)
    class Leftmost:
        def score(self, belief, instrument, places):
            return -np.asarray(places)[:, 0]

    path = tmp_path / "campaign.jsonl"
    gf.Campaign(gf.Space(gf.Real("x", 0, 1)), gf.Point(0.1), gf.GP(gf.SE(0.3)), Leftmost(), journal=path)
    with pytest.raises(gf.JournalError, match="known=") as refused:
        gf.Campaign.resume(path)
    assert "delete" not in str(refused.value)
    assert gf.Campaign.resume(path, known=[Leftmost]).ask() is not None


def test_a_goal_that_no_campaign_can_score_is_refused_at_creation():
    with pytest.raises(gf.InvalidInput, match="goal"):
        gf.Campaign(gf.Pool([[0.0], [1.0]]), gf.Binary(), gf.GP(gf.SE(0.3)), "bald-hyperparameters")
