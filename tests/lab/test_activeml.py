"""scikit-activeml's strategies with gainful's model: where both libraries have the same score, they agree."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import gainful as gf
from gainful.acquisition import Entropy, IntegratedVariance, LeastConfidence, Margin
from gainful.lab import activeml, comparison
from gainful.lab.activeml import ActiveML, activeml_strategies
from gainful.lab.strategies_by_name import acquisition_by_name

pytest.importorskip("skactiveml")

RNG = np.random.default_rng(5)
X = RNG.normal(size=(26, 2))
F = 1.5 * X[:, 0] + np.sin(2.0 * X[:, 1])
ASK, LOOK, LAB = gf.Binary(), gf.Ordinal([-0.8, 0.8], 0.3), gf.Point(noise=0.2)
ANSWERS = {ASK: F > 0.0, LOOK: 1 + np.searchsorted([-0.8, 0.8], F), LAB: F}
GP = gf.GP(gf.SE(1.4, 3.0), gf.ConstantMean(0.2))


def belief(instrument: gf.Instrument, told: int = 6) -> gf.Posterior:
    data = gf.Data().add(instrument, X[:told], ANSWERS[instrument][:told]) if told else gf.Data()
    return GP.condition(data)


@pytest.mark.parametrize("instrument", [ASK, LOOK], ids=["yes/no", "ranks"])
@pytest.mark.parametrize(
    ("method", "ours", "unit"),
    [
        ("entropy", Entropy(), np.log(2.0)),  # theirs is in nats
        ("least_confident", LeastConfidence(), 1.0),
        ("margin_sampling", Margin(), 1.0),
    ],
)
def test_uncertainty_sampling_is_ours(
    instrument: gf.Instrument, method: str, ours: gf.acquisition.Acquisition, unit: float
) -> None:
    post = belief(instrument)
    theirs, chosen = ActiveML("UncertaintySampling", {"method": method}).utilities(post, instrument, X[6:])
    wanted = ours.score(post, instrument, X[6:])
    np.testing.assert_allclose(theirs, unit * wanted, rtol=1e-6)
    assert chosen == int(np.argmax(wanted))


@pytest.mark.parametrize("name", ["QueryByCommittee", "GreedyBALD", "BatchBALD"])
def test_a_large_committee_drawn_from_the_posterior_approaches_bald(name: str) -> None:
    post = belief(ASK)
    many = {"sample_predictions_dict": {"n_samples": 8000, "random_state": 0}}
    theirs, _ = ActiveML(name, many).utilities(post, ASK, X[6:])
    np.testing.assert_allclose(theirs / np.log(2.0), gf.information(post, ASK, X[6:]), atol=0.015)


def test_a_large_committee_of_regressions_disagrees_by_the_standard_deviation() -> None:
    post = belief(LAB)
    many = {"sample_predictions_dict": {"n_samples": 8000, "random_state": 0}}
    theirs, _ = ActiveML("QueryByCommittee", many).utilities(post, LAB, X[6:])
    np.testing.assert_allclose(theirs, np.sqrt(post.variance(X[6:])), rtol=0.04)


def test_expected_variance_reduction_is_alc() -> None:
    post = belief(LAB)
    theirs, _ = ActiveML("ExpectedModelVarianceReduction").utilities(post, LAB, X[6:])
    ours = IntegratedVariance(X).score(post, LAB, X[6:])
    np.testing.assert_allclose(theirs - theirs[0], ours - ours[0], atol=1e-8)


def test_every_strategy_scores_the_answers_that_it_is_made_for_and_refuses_others() -> None:
    fits = {instrument: set() for instrument in (ASK, LOOK, LAB)}
    for name in activeml_strategies():
        for instrument, found in fits.items():
            try:
                scores = ActiveML(name).score(belief(instrument, 5), instrument, X[12:20])
            except gf.InvalidInput:
                continue
            assert scores.shape == (8,)
            assert not np.isnan(scores).any()
            assert np.sum(scores == scores.max()) == 1  # it has chosen
            found.add(name)
    classes = {"Badge", "BatchBALD", "ContrastiveAL", "CostEmbeddingAL", "DropQuery", "Falcun", "FourDs", "GreedyBALD"}
    classes |= {"MonteCarloEER", "ProbabilisticAL", "Quire", "UncertaintySampling", "ValueOfInformationEER"}
    numbers = {"ExpectedModelChangeMaximization", "ExpectedModelOutputChange", "ExpectedModelVarianceReduction"}
    numbers |= {"GreedySamplingTarget", "KLDivergenceMaximization", "RegressionTreeBasedAL"}
    both = {"Clue", "CoreSet", "DiscriminativeAL", "GreedySamplingX", "MaxHerding", "ProbCover", "QueryByCommittee"}
    both |= {"RandomSampling", "TypiClust"}
    assert fits[LAB] >= numbers | both
    assert fits[LOOK] >= classes | both
    assert fits[ASK] >= classes | both | {"EpistemicUncertaintySampling"}
    assert not fits[LAB] & classes
    assert not fits[ASK] & numbers


def test_no_answers_and_answers_of_one_class_are_enough() -> None:
    same = GP.condition(gf.Data().add(ASK, X[:3], [True] * 3))
    for post in (belief(ASK, 0), same):
        for name in ("UncertaintySampling", "QueryByCommittee", "DiscriminativeAL", "ProbabilisticAL"):
            assert np.isfinite(ActiveML(name).score(post, ASK, X[3:12])).all()


def test_draws_depend_on_the_seed_and_on_the_number_of_answers() -> None:
    def drawn(seed: int, told: int) -> int:
        return int(np.argmax(ActiveML("RandomSampling", seed=seed).score(belief(ASK, told), ASK, X[6:])))

    assert drawn(1, 4) == drawn(1, 4)
    assert len({drawn(1, told) for told in range(6)} | {drawn(seed, 4) for seed in range(6)}) > 5


def test_a_campaign_takes_it_as_its_goal_and_asks_every_place_once() -> None:
    goal = acquisition_by_name("activeml:CoreSet", X, 0)
    campaign = gf.Campaign(gf.Pool(X), ASK, GP, goal, repeat=False)
    for _ in range(5):
        query = campaign.ask()
        campaign.tell(query, bool(query.place[0] > 0.0))
    assert len({tuple(entry.query.place) for entry in campaign.history}) == 5


def test_what_it_does_not_know_is_said() -> None:
    with pytest.raises(gf.InvalidInput, match="got UncertaintySamplin; did you mean UncertaintySampling"):
        ActiveML("UncertaintySamplin")
    with pytest.raises(gf.InvalidInput, match=r"those of UncertaintySampling \(method, cost_matrix\), got colour"):
        acquisition_by_name("activeml:UncertaintySampling:colour=red", X, 0)
    with pytest.raises(
        gf.InvalidInput, match=r"what scikit-activeml's UncertaintySampling can work with.*it says: .*method no such is"
    ):
        ActiveML("UncertaintySampling", {"method": "no such"}).score(belief(ASK), ASK, X[6:])
    with pytest.raises(gf.InvalidInput, match=r"strategies: .*got activeml:CoreSt; did you mean CoreSet"):
        acquisition_by_name("activeml:CoreSt", X, 0)
    with pytest.raises(gf.InvalidInput, match="one instrument, for a number or one of a few answers at a place, got"):
        ActiveML("CoreSet").score(belief(ASK), gf.Preference(), X[6:].reshape(-1, 2, 2))


def test_a_comparison_keeps_its_sentence_and_names_strategy_and_option(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("\n".join(["a,b,y", *(f"{a},{b},{int(f > 0)}" for (a, b), f in zip(X, F, strict=True))]))
    name = "activeml:UncertaintySampling:method=foo"
    with pytest.raises(gf.InvalidInput, match=rf"options that the strategy takes, got {name}; .*it says: .*foo is not"):
        comparison(table, "y", strategies=[name, "random"])
    name = "activeml:GreedySamplingTarget"
    with pytest.raises(gf.InvalidInput, match=rf"that can ask for yes/no answers, got {name}; .*numbers, for"):
        comparison(table, "y", strategies=[name, "random"])


def test_without_scikit_activeml_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "skactiveml.pool", None)
    activeml.activeml_strategies.cache_clear()
    with pytest.raises(gf.MissingExtra, match=r"gainful\[activeml\]"):
        acquisition_by_name("activeml:UncertaintySampling", X, 0)
