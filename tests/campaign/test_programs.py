"""Campaigns whose model is a belief over kernel programs."""

import numpy as np
import pytest

import gainful as gf

SPACE = gf.Space(gf.Real("time", 0.0, 30.0, unit="months"))
FEW = gf.KernelPrograms(particles=30, moves=gf.Moves(sweeps=2))
GRID = gf.ProgramGrid(["(LIN 3.0)", "(PER 0.5 7.0)", "(PER 0.5 9.0)", "(SE 4.0)"], prior=[1, 2, 2, 3], noise=0.01)


def asked(campaign, count, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        query = campaign.ask()
        campaign.tell(query, 5.0 + 2.0 * np.sin(2 * np.pi * query.place[0] / 7.0) + 0.05 * rng.standard_normal())


@pytest.mark.parametrize("model", [FEW, GRID], ids=["programs", "grid"])
def test_a_campaign_over_programs_resumes_to_the_byte(model, tmp_path):
    journal = tmp_path / "journal.jsonl"
    campaign = gf.Campaign(SPACE, [gf.Point(name="lab")], model, goal=gf.Learn("model"), seed=3, journal=journal)
    asked(campaign, 6)
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(journal.read_bytes())
    again = gf.Campaign.resume(copy)
    assert again.belief.programs == campaign.belief.programs
    np.testing.assert_array_equal(again.belief.weights, campaign.belief.weights)
    np.testing.assert_array_equal(again.ask().place, campaign.ask().place)


def test_weights_between_two_searches_are_those_of_all_answers():
    """What is believed of some programs after more answers is by their evidence alone."""
    data = gf.Data().add(gf.Point(0.1), [[1.0], [4.0], [9.0]], [5.0, 6.0, 4.5])
    more = data.add(gf.Point(0.1), [[12.0], [20.0]], [4.9, 5.5])
    parts = FEW.learn(data, ())
    before, after = FEW.believe(parts, data, ()), FEW.believe(parts, more, ())
    ahead = np.array([p.log_evidence for p in after.posteriors]) - [p.log_evidence for p in before.posteriors]
    weights = before.weights * np.exp(ahead - ahead.max())
    np.testing.assert_allclose(after.weights, weights / weights.sum(), rtol=1e-9)


def test_asking_about_the_program_tells_its_period_sooner_than_even_places():
    campaign = gf.Campaign(SPACE, [gf.Point(name="lab")], GRID, goal=gf.Learn("model"), initial=1)
    asked(campaign, 5)
    assert campaign.belief.probability(lambda p: p.symbol == "PER" and p.numbers[1] == 7.0) > 0.99


def test_any_instrument_tells_of_programs():
    yes = gf.Binary(threshold=5.0, name="gauge")
    campaign = gf.Campaign(SPACE, [gf.Point(name="lab", cost=3), yes], FEW, goal="learn", initial=2)
    for _ in range(5):
        query = campaign.ask()
        truth = 5.0 + 2.0 * np.sin(2 * np.pi * query.place[0] / 7.0)
        campaign.tell(query, truth > 5.0 if query.instrument.label == "gauge" else truth)
    assert len(campaign.belief.data) == 5
    assert np.isfinite(campaign.belief.band([[3.0]])).all()


def test_an_answer_that_is_corrected_begins_the_belief_anew():
    campaign = gf.Campaign(SPACE, [gf.Point(name="lab")], FEW, goal=gf.Learn("model"), seed=1)
    asked(campaign, 4)
    before = campaign.belief.programs
    campaign.correct(campaign.history[-1].query, 9.0)
    campaign.ask()
    assert campaign.belief.programs != before


def test_programs_over_other_dimensions_and_categories_are_refused():
    other = gf.Space(gf.Real("depth", 0, 1))
    with pytest.raises(gf.InvalidInput, match="like the space"):
        gf.Campaign(SPACE, [gf.Point()], gf.KernelPrograms(space=other))
    mixed = gf.Space(gf.Real("depth", 0, 1), gf.Categorical("soil", ["clay", "sand"]))
    with pytest.raises(gf.InvalidInput, match="numbers, which programs look at"):
        gf.Campaign(mixed, [gf.Point()], gf.KernelPrograms(particles=10)).ask()
    with pytest.raises(gf.InvalidInput, match="one function"):
        gf.Campaign(SPACE, [gf.Point(output="a"), gf.Point(output="b")], gf.KernelPrograms(particles=10)).ask()
