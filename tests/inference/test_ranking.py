"""Ranking by a belief: against exact probabilities of few items, and the laws that hold for many."""

import numpy as np
import pytest
from scipy.special import ndtr

import gainful as gf
from gainful.inference.ranking import rank


def belief(rng, n=12):
    X = rng.uniform(0, 1, (n, 1))
    utility = np.sin(5 * X[:, 0])
    pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(10)])
    data = gf.Data().add(gf.Preference(0.2), X[pairs], utility[pairs[:, 0]] > utility[pairs[:, 1]])
    return gf.GP(gf.SE(0.3)).condition(data), X


def test_of_two_items_the_probability_of_being_best_is_a_normal_integral():
    post, X = belief(np.random.default_rng(0))
    m, v = post.marginals(gf.Preference(), X[None, :2])
    found = rank(post, X[:2])
    exact = ndtr(m[0] / np.sqrt(v[0]))
    assert found.above[0, 1] == pytest.approx(exact, abs=1e-8)
    assert found.best[0] == pytest.approx(exact, abs=5 * found.error)


def test_of_three_items_it_is_a_bivariate_one():
    from gainful.numerics.orthant import log_mvn_cdf

    post, X = belief(np.random.default_rng(1))
    mean, cov = post.mean(X[:3]), post.covariance(X[:3])
    found = rank(post, X[:3], draws=200_000)
    for i in range(3):
        others = [j for j in range(3) if j != i]
        D = np.zeros((2, 3))
        D[[0, 1], i], D[[0, 1], others] = 1.0, -1.0
        exact = np.exp(log_mvn_cdf((D @ mean)[None], (D @ cov @ D.T)[None]))[0]
        assert found.best[i] == pytest.approx(exact, abs=5 * found.error)


def test_probabilities_add_up_and_ranks_hold_the_order():
    post, X = belief(np.random.default_rng(2))
    found = rank(post, X)
    assert found.best.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(found.above + found.above.T, 1.0, atol=1e-12)
    assert np.all(np.diff(found.mean[found.order]) <= 0)
    places = np.empty(len(X), dtype=int)
    places[found.order] = np.arange(1, len(X) + 1)
    assert np.mean((found.low <= places) & (places <= found.high)) == 1.0
    assert np.all((found.low >= 1) & (found.high <= len(X)))
    assert found.mean.sum() == pytest.approx(0.0, abs=1e-10)
    assert "rank" in str(found)


def test_the_level_of_the_function_does_not_matter():
    post, X = belief(np.random.default_rng(3))
    lifted = gf.GP(gf.SE(0.3), gf.ConstantMean(7.0)).condition(post.data)
    np.testing.assert_allclose(rank(lifted, X).mean, rank(post, X).mean, atol=1e-8)
    np.testing.assert_array_equal(rank(lifted, X).order, rank(post, X).order)


def test_without_answers_every_item_may_be_anywhere():
    found = rank(gf.GP(gf.SE(0.01)).condition(gf.Data()), np.arange(5.0)[:, None])
    np.testing.assert_allclose(found.best, 0.2, atol=0.02)
    assert found.low.tolist() == [1] * 5
    assert found.high.tolist() == [5] * 5


@pytest.mark.parametrize(
    ("args", "named"),
    [((1, [[0.0], [1.0]]), "posterior"), ((None, [[0.0]]), "places"), ((None, [[0.0], [np.nan]]), "X")],
)
def test_what_cannot_be_ranked_is_refused(args, named):
    post = gf.GP(gf.SE()).condition(gf.Data())
    with pytest.raises(gf.InvalidInput, match=named):
        rank(args[0] or post, args[1])


def test_thirty_comparisons_by_information_rank_fifty_items_better_than_random_pairs():
    """Kendall's tau over ten paired runs, p < 0.01."""
    from scipy.stats import kendalltau, ttest_rel

    taus = {"bald": [], "random": []}
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.uniform(0, 1, (50, 2))
        utility = gf.GP(gf.SE(0.4, 4.0)).condition(gf.Data()).sample(X, 1, rng)[0]
        for name, goal in (("bald", gf.Learn()), ("random", gf.Random())):
            answers = np.random.default_rng(seed)
            judge = gf.Preference(noise=0.3, name="judge")
            search = gf.Search(candidates=150)
            campaign = gf.Campaign(gf.Pool(X), judge, gf.GP(gf.SE(0.4, 4.0)), goal, budget=30, seed=seed, search=search)
            while query := campaign.ask():
                u, v = (utility[np.all(place == X, axis=1)][0] for place in query.place)
                campaign.tell(query, judge.simulate(np.array([u - v]), answers)[0])
            taus[name].append(kendalltau(campaign.posterior.mean(X), utility).statistic)
    assert np.mean(taus["bald"]) > np.mean(taus["random"])
    assert ttest_rel(taus["bald"], taus["random"], alternative="greater").pvalue < 0.01
