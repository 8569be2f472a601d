"""Goals and journals keep their promises."""

import shutil

import numpy as np
import pytest

import gainful as gf
from gainful import acquisition
from gainful.campaign import FileJournal, MemoryJournal
from gainful.testing import check_acquisition, check_journal

POSTERIOR = gf.GP(gf.SE([0.5, 0.8])).condition(
    gf.Data().add(gf.Point(0.1), [[0.2, 0.1], [0.9, 0.4]], [0.3, -1.0]).add(gf.Binary(), [[0.5, 0.5]], [True])
)
GOALS = [gf.Learn(), gf.PerCost(gf.Learn()), gf.Normalised(gf.Learn())]
INSTRUMENTS = [
    gf.Point(0.2, cost=3.0),
    gf.Interval(0.1, width=0.4),
    gf.Ordinal([-0.5, 0.5], 0.2),
    gf.Binary(),
    gf.Preference(0.3),
    gf.Detection(),
]


@pytest.mark.parametrize("goal", GOALS, ids=str)
@pytest.mark.parametrize("instrument", INSTRUMENTS, ids=str)
def test_goals_conform(goal, instrument):
    rng = np.random.default_rng(0)
    check_acquisition(goal, POSTERIOR, instrument, rng.random((3, 2) if instrument.query == "place" else (3, 2, 2)))


def test_a_file_is_a_journal(tmp_path):
    check_journal(lambda: FileJournal(tmp_path / "events.jsonl"))


def test_memory_is_a_journal():
    kept = MemoryJournal()
    check_journal(lambda: kept)


def test_goals_that_do_not_conform_are_found():
    class Crowded:
        def score(self, belief, instrument, places):
            return np.arange(len(places)) + 0.0  # depends on where in the list a query stands

    with pytest.raises(AssertionError, match="its own"):
        check_acquisition(Crowded(), POSTERIOR, gf.Binary(), np.random.default_rng(0).random((4, 2)))

    class Short:
        def score(self, belief, instrument, places):
            return np.zeros(1)

    with pytest.raises(AssertionError, match="queries"):
        check_acquisition(Short(), POSTERIOR, gf.Binary(), np.zeros((3, 2)))


def test_journals_that_lose_events_are_found():
    class Forgetful(MemoryJournal):
        def append(self, *events, after=None):
            self.__init__()
            super().append(*events)

    kept = Forgetful()
    with pytest.raises(AssertionError, match="in order"):
        check_journal(lambda: kept)


def test_journals_that_keep_a_part_of_what_they_refuse_are_found():
    class Hasty(MemoryJournal):
        def append(self, *events, after=None):
            for event in events:
                super().append(event)

    kept = Hasty()
    with pytest.raises(AssertionError, match="no trace"):
        check_journal(lambda: kept)


def test_journals_that_do_not_compare_are_found():
    class Trusting(MemoryJournal):
        def append(self, *events, after=None):
            super().append(*events)

    kept = Trusting()
    with pytest.raises(AssertionError, match="expected JournalChanged"):
        check_journal(lambda: kept)


REFERENCE = [[0.1, 0.1], [0.6, 0.9]]


@pytest.mark.parametrize(
    "goal",
    [
        acquisition.BALDClosedForm(),
        acquisition.Entropy(),
        acquisition.Margin(),
        acquisition.QueryByCommittee(size=5, measure="vote"),
        acquisition.IVM(),
        acquisition.Kapoor(REFERENCE),
        acquisition.Zhu(REFERENCE),
        acquisition.ExpectedError(REFERENCE),
        acquisition.ExpectedModelChange(REFERENCE),
        acquisition.IntegratedVariance(REFERENCE),
        acquisition.DOptimal(REFERENCE),
        acquisition.Conformal(),
        acquisition.LogExpectedImprovement(),
        acquisition.UpperConfidenceBound(),
    ],
    ids=lambda goal: type(goal).__name__,
)
def test_a_campaign_with_any_strategy_is_resumed_from_its_journal(goal, tmp_path):
    pool = gf.Pool(np.random.default_rng(0).random((6, 2)))
    ask = gf.Binary(name="ask")
    campaign = gf.Campaign(pool, ask, gf.GP(gf.SE(0.5)), goal, journal=tmp_path / "j")
    for place, answer in zip(pool.places, (True, False), strict=False):
        campaign.tell(gf.Query(ask, place), answer)
    shutil.copy(tmp_path / "j", tmp_path / "copy")
    assert gf.Campaign.resume(tmp_path / "copy").ask() == campaign.ask()
