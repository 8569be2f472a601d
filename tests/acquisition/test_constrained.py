"""Improvement within limits of other outputs: the product, the incumbent that keeps to them, and a campaign."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

import gainful as gf
from gainful.acquisition import Constrained, ExpectedImprovement, Limit, LogExpectedImprovement

SPACE = gf.Space(gf.Real("x", 0, 1))
COST, SMOKE = gf.Point(0.05, output="cost", name="cost"), gf.Point(0.05, output="smoke", name="smoke")
LIMIT = Limit("smoke", at_most=0.5)


def cost(x):
    return (x - 0.2) ** 2


def smoke(x):
    return 1.0 - x  # at most a half from 0.5 on: the best place that is allowed is 0.5


def belief(X=(0.1, 0.4, 0.6, 0.9)):
    x = np.array(X)[:, None]
    data = gf.Data().add(COST, x, cost(x[:, 0])).add(SMOKE, x, smoke(x[:, 0]))
    kernel = gf.SE(0.4, 1.0).on([0]) * gf.Coregionalised(("cost", "smoke"), variance=(0.3, 1.0), correlation=0.0).on(
        [1]
    )
    return gf.GP(kernel).condition(data).of("cost")


def test_it_is_the_score_times_the_probability_beyond_the_best_that_is_allowed():
    post, X = belief(), np.array([[0.3], [0.5], [0.7]])
    found = Constrained(ExpectedImprovement(sign=-1), [LIMIT]).score(post, COST, X)
    allowed = post.mean([[0.6], [0.9]]).min()
    other = post.of("smoke")
    chance = norm.cdf((0.5 - other.mean(X)) / np.sqrt(other.variance(X)))
    np.testing.assert_allclose(found, ExpectedImprovement(allowed, -1).score(post, COST, X) * chance, rtol=1e-9)
    logs = Constrained(LogExpectedImprovement(sign=-1), LIMIT).score(post, COST, X)
    np.testing.assert_allclose(np.exp(logs), found, rtol=1e-9)


def test_before_any_place_is_allowed_the_probability_is_the_score():
    post, X = belief((0.1, 0.2, 0.3)), np.array([[0.1], [0.8]])
    goal = Constrained(ExpectedImprovement(sign=-1), [LIMIT])
    np.testing.assert_allclose(goal.score(post, COST, X), goal.probability(post, X))
    assert np.diff(goal.score(post, COST, X))[0] > 0.0


def test_both_ends_of_a_limit_count_and_instruments_of_other_outputs_score_nothing():
    post, X = belief(), np.array([[0.45]])
    both, low, high = (
        Limit("smoke", **ends).probability(post, X)[0]
        for ends in ({"at_least": 0.3, "at_most": 0.7}, {"at_least": 0.3}, {"at_most": 0.7})
    )
    assert both == pytest.approx(low + high - 1.0)
    assert Constrained(ExpectedImprovement(sign=-1), LIMIT).score(post, SMOKE, X).tolist() == [0.0]
    assert Constrained(LogExpectedImprovement(sign=-1), LIMIT).score(post, SMOKE, X).tolist() == [-np.inf]


def test_several_posteriors_are_averaged():
    post, X = belief(), np.array([[0.45]])
    several = gf.Belief([post, post], [0.4, 0.6])
    goal = Constrained(ExpectedImprovement(sign=-1), LIMIT)
    np.testing.assert_allclose(goal.score(several, COST, X), goal.score(post, COST, X), rtol=1e-9)


def test_a_campaign_finds_the_best_place_that_is_allowed():
    goal = Constrained(LogExpectedImprovement(sign=-1), LIMIT)
    kernel = gf.SE(0.4, 1.0).on("x") * gf.Coregionalised(("cost", "smoke"), variance=(0.3, 1.0), correlation=0.0).on(
        "output"
    )
    campaign = gf.Campaign(SPACE, [COST, SMOKE], gf.GP(kernel, space=SPACE), goal=goal, initial=4, seed=0)
    for _ in range(16):
        query = campaign.ask()
        x = query.place[0]
        campaign.tell(query, float(cost(x) if query.instrument.label == "cost" else smoke(x)))
        if query.instrument.label == "cost":  # every run tells both
            campaign.tell(gf.Query(SMOKE, query.place), float(smoke(x)))
    places = np.array([e.query.place[0] for e in campaign.history if e.query.instrument.label == "cost"])
    allowed = places[smoke(places) <= 0.5]
    assert allowed.min() == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Limit("smoke"),
        lambda: Limit("smoke", at_most=np.nan),
        lambda: Limit("smoke", at_most=0.1, at_least=0.2),
        lambda: Constrained(ExpectedImprovement(), []),
        lambda: Constrained(gf.Learn(), [LIMIT]),
        lambda: Constrained(gf.acquisition.UpperConfidenceBound(), [LIMIT]),
    ],
)
def test_what_cannot_be_is_refused(make):
    with pytest.raises(gf.InvalidInput):
        make()
