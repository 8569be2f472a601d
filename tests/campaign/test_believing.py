"""Campaigns that believe in several posteriors: their events, what undoes them, and models that are weighed."""

from __future__ import annotations

import json

import numpy as np
import pytest

import gainful as gf
from gainful.beliefs import Parts
from gainful.campaign.events import read_event
from gainful.campaign.journal import MemoryJournal

SPACE = gf.Space(gf.Real("x", 0.0, 10.0, unit="mm"))
LAB = gf.Point(cost=3, name="lab")
LOOK = gf.Ordinal([4.0, 5.0, 6.0], cost=1, name="look")
FAST = gf.Search(32, 2)
Z = np.linspace(0.0, 10.0, 21)[:, None]


def _answer(query: gf.Query) -> float:
    f = 5.0 + 1.5 * float(np.sin(query.place[0]))
    return f if query.instrument.label == "lab" else 1.0 + float(np.sum(f > np.array([4.0, 5.0, 6.0])))


def _run(campaign: gf.Campaign, queries: int) -> gf.Campaign:
    for _ in range(queries):
        query = campaign.ask()
        assert query is not None
        campaign.tell(query, _answer(query))
    return campaign


def _kinds(campaign: gf.Campaign) -> list[str]:
    return [event["event"] for event in campaign.journal.events()]


def test_resuming_samples_and_fits_nothing_and_is_exact_to_the_byte(monkeypatch):
    campaign = _run(gf.Campaign(SPACE, [LAB, LOOK], seed=2, search=FAST), 8)
    text = json.dumps(campaign.journal.events())
    assert _kinds(campaign).count("believed") >= 3

    def refuse(*_: object) -> None:
        raise AssertionError("resuming must not learn")

    monkeypatch.setattr("gainful.beliefs.integrated.fit", refuse)
    again = gf.Campaign.resume(campaign.journal)
    assert json.dumps(again.journal.events()) == text
    assert again.belief.mean(Z).tobytes() == campaign.belief.mean(Z).tobytes()
    assert again.belief.weights.tobytes() == campaign.belief.weights.tobytes()
    assert again.instruments == campaign.instruments


def test_a_resumed_campaign_goes_on_as_the_first_one_did():
    first = _run(gf.Campaign(SPACE, [LAB, LOOK], seed=2, search=FAST), 5)
    second = gf.Campaign.resume(first.journal)
    events = first.journal.events()
    journal = MemoryJournal()
    journal.append(*events)
    third = gf.Campaign.resume(journal)
    assert _run(second, 3).journal.events() == _run(third, 3).journal.events()


def test_undoing_returns_to_the_belief_before():
    campaign = _run(gf.Campaign(SPACE, LAB, seed=1, search=FAST), 5)
    before = campaign.belief.mean(Z)
    query = campaign.ask()
    campaign.tell(query, _answer(query))
    assert not np.array_equal(campaign.belief.mean(Z), before)
    campaign.undo()
    np.testing.assert_array_equal(campaign.belief.mean(Z), before)


def test_a_corrected_answer_starts_the_belief_anew():
    campaign = _run(gf.Campaign(SPACE, LAB, seed=1, search=FAST), 5)
    wrong = campaign.history[2].query
    campaign.correct(wrong, 9.0)
    assert _kinds(campaign)[-2:] == ["corrected", "believed"]
    other = gf.Campaign(SPACE, LAB, seed=1, search=FAST)
    for entry in campaign.history:
        other.tell(gf.Query(LAB, entry.query.place), entry.answer)
    sd = np.sqrt(other.belief.variance(Z))
    assert np.max(np.abs(campaign.belief.mean(Z) - other.belief.mean(Z)) / sd) < 0.2


def test_between_refits_the_parts_are_weighed_by_all_answers():
    campaign = _run(gf.Campaign(SPACE, LAB, seed=1, search=FAST, refit=4), 5)
    assert _kinds(campaign).count("believed") == 1
    event = next(e for e in campaign.journal.events() if e["event"] == "believed")
    parts: Parts = read_event(event, 1).parts
    logs = [p.log_weight + q.log_evidence for p, q in zip(parts.parts, campaign.belief.posteriors, strict=True)]
    weights = np.exp(logs - np.max(logs))
    np.testing.assert_allclose(campaign.belief.weights, weights / weights.sum(), atol=1e-12)
    assert len(campaign.belief.data) == 5


def test_rival_models_are_weighed_and_asked_about():
    steps = gf.GP(gf.Matern(nu=0.5), space=SPACE)
    smooth = gf.GP(gf.SE(), space=SPACE)
    goal = gf.PerCost(gf.Learn("model"))
    campaign = _run(gf.Campaign(SPACE, LAB, gf.Models([steps, smooth]), goal, seed=4, search=FAST), 9)
    assert campaign.belief.model_weights.shape == (2,)
    assert campaign.belief.model_weights[1] > 0.8
    bits = gf.information(campaign.belief, LAB, Z, about="model")
    share = campaign.belief.model_weights
    assert np.all(bits <= -np.sum(share * np.log2(share)) + 1e-9)
    assert np.all(bits <= gf.information(campaign.belief, LAB, Z, about="hyperparameters") + 1e-9)
    assert gf.Campaign.resume(campaign.journal).belief.mean(Z).tobytes() == campaign.belief.mean(Z).tobytes()


@pytest.mark.parametrize(
    "goal", ["minimise", "map", "level 5", "learn", "expected-improvement", "bald-hyperparameters"]
)
def test_every_kind_of_goal_is_for_beliefs_of_several(goal):
    campaign = _run(gf.Campaign(SPACE, [LAB, LOOK], goal=goal, seed=1, search=FAST), 5)
    assert len(campaign.ask(2)) == 2
    assert str(campaign.why(4))


def test_the_only_posterior_is_asked_for_in_vain():
    campaign = _run(gf.Campaign(SPACE, LAB, search=FAST), 3)
    with pytest.raises(gf.InvalidInput, match=r"campaign\.belief"):
        _ = campaign.posterior


def test_integration_by_other_means_is_for_predictions_only():
    with pytest.raises(gf.InvalidInput, match="points"):
        gf.Campaign(SPACE, LAB, gf.Integrated(gf.GP(space=SPACE), by="mgp"))


@pytest.mark.parametrize("size", [2, 3, 7, 11, 49])
def test_prior_probabilities_come_back_from_a_journal_whatever_they_are_divided_by(size):
    space = gf.Space(gf.Real("x", 0, 1))
    models = gf.Models([gf.GP(gf.SE(0.1 + 0.01 * i, 1.0), space=space) for i in range(size)])
    campaign = gf.Campaign(space, gf.Point(0.1, name="lab"), models)
    assert gf.Campaign.resume(campaign.journal).model == models
    np.testing.assert_allclose(sum(models.prior), 1.0, rtol=1e-12)
    np.testing.assert_allclose(gf.Models(models.gps, np.arange(1, size + 1)).prior[0], 2 / (size * (size + 1)))
