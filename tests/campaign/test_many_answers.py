"""Beyond some thousands of answers the next few are added to what is believed, and it is the same belief."""

import dataclasses
import shutil
import warnings

import numpy as np
import pytest

import gainful as gf
from gainful.campaign import state

SPACE = gf.Space(gf.Real("a", 0, 1), gf.Real("b", 0, 1))
LAB = gf.Point(0.1, name="lab")
Z = np.random.default_rng(9).uniform(size=(7, 2))


@pytest.fixture(autouse=True)
def _few(monkeypatch):
    monkeypatch.setattr(state, "FEW", 20)
    monkeypatch.setattr(state, "_MOST_LATER", 8)


def answered(campaign, count, seed=0):
    rng = np.random.default_rng(seed)
    for x in rng.uniform(size=(count, 2)):
        campaign.tell(gf.Query(LAB, x), float(np.sin(5.0 * x[0]) + x[1]))
    return campaign


def taken_together(campaign):
    """The belief from all answers at once."""
    known = campaign._state.known
    return gf.GP(gf.SE((0.4, 0.6))).condition(known.data)


@pytest.mark.parametrize("count", [20, 21, 22, 28, 29, 30, 31, 40])
def test_a_belief_that_goes_on_is_the_one_from_all_answers(count):
    campaign = answered(gf.Campaign(SPACE, [LAB], gf.GP(gf.SE((0.4, 0.6)))), count)
    whole = taken_together(campaign)
    assert campaign.belief.mean(Z) == pytest.approx(whole.mean(Z), abs=1e-9)
    assert campaign.belief.variance(Z) == pytest.approx(whole.variance(Z), abs=1e-9)
    assert campaign.belief.log_evidence == pytest.approx(whole.log_evidence, abs=1e-7)
    base = campaign._state.known.base
    assert (base is None) == (count in (20, 21, 30))  # few, or all taken together again
    assert base is None or len(base.told) in (21, 30, 39)


def test_what_went_before_is_kept_until_one_of_its_answers_changes():
    campaign = answered(gf.Campaign(SPACE, [LAB], gf.GP(gf.SE((0.4, 0.6)))), 25)
    base = campaign._state.known.base
    query = campaign.ask()
    assert campaign._state.known.base is base
    campaign.tell(query, 0.5)
    assert campaign._state.known.base is base
    campaign.correct(query, 0.7)  # a later one
    assert campaign._state.known.base is base
    assert campaign.belief.mean(Z) == pytest.approx(taken_together(campaign).mean(Z), abs=1e-9)
    campaign.correct(3, 2.0)  # one of those before
    assert campaign._state.known.base is None
    assert campaign.belief.mean(Z) == pytest.approx(taken_together(campaign).mean(Z), abs=1e-9)
    campaign.withdraw(4)
    assert campaign.belief.mean(Z) == pytest.approx(taken_together(campaign).mean(Z), abs=1e-9)


def test_resumed_it_believes_the_same_to_the_last_digit(tmp_path):
    campaign = answered(gf.Campaign(SPACE, [LAB], gf.GP(gf.SE((0.4, 0.6))), journal=tmp_path / "many.jsonl"), 27)
    campaign.tell(campaign.ask(), 0.4)
    shutil.copy(tmp_path / "many.jsonl", tmp_path / "copy.jsonl")
    again = gf.Campaign.resume(tmp_path / "copy.jsonl")
    assert again.belief.mean(Z).tolist() == campaign.belief.mean(Z).tolist()
    first, second = campaign.ask(), again.ask()
    assert first.place.tolist() == second.place.tolist()


def test_what_is_learned_anew_is_learned_from_all():
    campaign = answered(gf.Campaign(SPACE, [LAB], gf.GP(gf.SE((0.4, 0.6))), refit=12), 26)
    known = campaign._state.known
    assert known.base is not None
    assert known.base.hyper == known.hyper
    whole = known.gp.condition(known.data.with_instruments({LAB: known.learned(LAB)}))
    assert campaign.belief.mean(Z) == pytest.approx(whole.mean(Z), abs=1e-8)


def test_rival_models_weigh_what_all_answers_make_them_weigh():
    """A belief of several goes on as well: each part by itself, and the weights by what each made of the answers."""
    data = [gf.Data().add(LAB, *each) for each in ((Z[:4], [0.1, 0.4, 0.3, 0.9]), (Z[4:], [0.2, 0.3, 0.1]))]
    gps = [gf.GP(gf.SE(0.4)), gf.GP(gf.Matern(0.2))]
    first = [gp.condition(data[0]) for gp in gps]
    odds = np.exp([each.log_evidence for each in first])
    belief = gf.Belief(first, odds / odds.sum(), log_evidence=float(np.log(odds.mean()))).condition(data[1])
    all_of_it = data[0].join(data[1])
    after = np.exp([gp.condition(all_of_it).log_evidence for gp in gps])
    assert belief.weights == pytest.approx(after / after.sum(), rel=1e-9)
    assert belief.log_evidence == pytest.approx(np.log(after.mean()), rel=1e-9)
    with pytest.raises(gf.InvalidInput, match="more: expected a Data value"):
        belief.condition([1.0])


@pytest.mark.parametrize("engine", [gf.SKI(), gf.SKIP()])
def test_a_campaign_asks_anywhere_in_its_space_through_a_grid(engine, tmp_path):
    """Answers are from the middle; grids reach over the space, and a journal has the engine as it was stated."""
    gp, path = gf.GP(gf.SE((0.3, 0.5))), tmp_path / "grid.jsonl"
    campaign = gf.Campaign(SPACE, [LAB], gp, inference=engine, journal=path)
    for x in np.random.default_rng(0).uniform(0.3, 0.7, size=(30, 2)):
        campaign.tell(gf.Query(LAB, x), float(np.sin(6.0 * x[0])))
    whole = gp.condition(campaign._state.known.data)
    corners = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    assert campaign.belief.mean(corners) == pytest.approx(whole.mean(corners), abs=0.01)
    assert campaign._state.known.design.inference == engine
    shutil.copy(path, tmp_path / "copy.jsonl")
    again = gf.Campaign.resume(tmp_path / "copy.jsonl")
    assert again.ask().place.tolist() == campaign.ask().place.tolist()


@pytest.mark.parametrize(
    "engine", [gf.SKI(grid=24), gf.SKIP(rank=20, grid=24), gf.SKI(grid=24, over=[[-1.0, -1.0], [2.0, 2.0]])]
)
def test_a_model_with_a_space_reaches_over_it_unless_told_otherwise(engine):
    X = np.random.default_rng(0).uniform(0.3, 0.7, size=(40, 2))
    data = gf.Data().add(LAB, X, np.sin(6.0 * X[:, 0]))
    gp = gf.GP(gf.SE((0.3, 0.5), 1.0), gf.Zero(), space=SPACE)
    over = [[0.0, 0.0], [1.0, 1.0]] if engine.over is None else engine.over
    edge = np.array([[1.0, 0.0]])
    found = gp.condition(data, engine)
    assert found.mean(edge).tolist() == gp.condition(data, dataclasses.replace(engine, over=over)).mean(edge).tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gf.ConvergenceWarning)  # slopes by probes are noisy
        fitted = gf.fit(gp, data, starts=1, inference=engine)
    assert np.isfinite(fitted.posterior.mean(edge)[0])


@pytest.mark.parametrize("engine", [gf.SKI(), gf.SKIP()])
def test_without_a_space_a_place_beyond_the_grid_is_refused_with_a_way_out(engine):
    X = np.random.default_rng(0).uniform(0.3, 0.7, size=(40, 2))
    found = gf.GP(gf.SE((0.3, 0.5))).condition(gf.Data().add(LAB, X, X[:, 0]), engine)
    with pytest.raises(gf.InvalidInput, match="over="):
        found.mean([[1.0, 0.0]])


@pytest.mark.parametrize(
    "engine",
    [gf.Vecchia(20), gf.SKI(grid=30), gf.SKIP(rank=20), gf.Inducing(20), gf.Iterative(solver=gf.Solver(probes=8)),
     gf.Single(), gf.Exact(), gf.Distributed("tcp://127.0.0.1:8786")],
    ids=lambda each: type(each).__name__,
)  # fmt: skip
def test_a_journal_knows_gainfuls_engines(engine, tmp_path):
    path = tmp_path / "campaign.jsonl"
    space = gf.Space(gf.Real("a", 0, 1), gf.Real("b", 0, 1))
    gf.Campaign(space, [gf.Point(0.1, name="lab")], gf.GP(gf.SE((0.3, 0.5))), inference=engine, journal=path)
    assert gf.Campaign.resume(path)._state.design.inference == engine
