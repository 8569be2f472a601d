"""The best place against exhaustive search, its regret against closed forms, its band against quantiles of draws."""

import numpy as np
import pytest
from scipy.stats import norm

import gainful as gf
from gainful.acquisition import LogExpectedImprovement, UpperConfidenceBound
from gainful.selection.best import best_place, expected_regret, interval

SPACE = gf.Space(gf.Real("x", 0, 1), gf.Real("y", 0, 1))
X = np.random.default_rng(0).random((12, 2))
DATA = gf.Data().add(gf.Point(0.1), X, np.sin(5 * X[:, 0]) + X[:, 1])
ONE = gf.GP(gf.SE(0.4)).condition(DATA)
BOTH = gf.Belief([ONE, gf.GP(gf.SE(0.9)).condition(DATA)], [0.4, 0.6])
NONE = np.zeros((0, 2))


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("belief", [ONE, BOTH], ids=["one", "several"])
def test_no_place_of_a_fine_grid_has_a_better_mean(belief, sign):
    grid = SPACE.grid(101)
    place = best_place(belief, SPACE, sign, X, 0)
    assert sign * belief.mean(place[None])[0] >= np.max(sign * belief.mean(grid)) - 1e-6


def test_constraints_and_pools_are_respected():
    def left(places):
        return places[:, 0] < 0.2

    assert best_place(ONE, SPACE.where(left), 1, X, 0)[0] < 0.2
    pool = gf.Pool(np.random.default_rng(1).random((50, 2)))
    np.testing.assert_array_equal(best_place(ONE, pool, 1, X, 0), pool.places[np.argmax(ONE.mean(pool.places))])


@pytest.mark.parametrize("sign", [1, -1])
def test_of_measured_places_it_is_the_best_of_them(sign):
    place = best_place(ONE, SPACE, sign, X, 0, anywhere=False)
    np.testing.assert_array_equal(place, X[np.argmax(sign * ONE.mean(X))])
    assert best_place(ONE, SPACE, sign, NONE, 0, anywhere=False) is None


def test_a_measured_place_wins_a_tie():
    pool = gf.Pool([[0.0], [1.0]])
    post = gf.GP(gf.SE(0.01)).condition(gf.Data().add(gf.Point(0.1), [[1.0], [0.0]], [0.5, 0.5]))
    np.testing.assert_array_equal(best_place(post, pool, 1, np.array([[1.0]]), 0), [1.0])


def test_the_regret_of_independent_places_is_the_mean_of_their_maximum():
    prior = gf.GP(gf.SE(1e-3)).condition(gf.Data())
    for n, wanted in ((2, 1 / np.sqrt(np.pi)), (3, 1.5 / np.sqrt(np.pi))):
        pool = gf.Pool(np.linspace(0, 1, n)[:, None])
        got = expected_regret(prior, pool, np.array([0.0]), -1, np.zeros((0, 1)), 0)
        assert got == pytest.approx(wanted, rel=0.06)


def test_nothing_is_left_to_gain_where_everything_is_known():
    pool = gf.Pool([[0.0], [1.0]])
    sure = gf.GP(gf.SE()).condition(gf.Data().add(gf.Point(0.0), [[0.0], [1.0]], [0.2, 0.7]))
    assert expected_regret(sure, pool, np.array([1.0]), 1, pool.places, 0) == pytest.approx(0.0, abs=1e-5)
    assert expected_regret(sure, pool, np.array([0.0]), 1, pool.places, 0) == pytest.approx(0.5, abs=1e-4)


def test_a_band_is_the_quantiles_of_the_mixture():
    place = np.array([0.3, 0.9])
    draws = BOTH.sample(place[None], 200_000, 0).ravel()
    np.testing.assert_allclose(interval(BOTH, place), np.quantile(draws, [0.025, 0.975]), atol=0.01)
    sd = np.sqrt(ONE.variance(place[None])[0])
    np.testing.assert_allclose(interval(ONE, place, 0.9), ONE.mean(place[None])[0] + sd * norm.ppf([0.05, 0.95]))
    sure = gf.GP(gf.SE()).condition(gf.Data().add(gf.Point(0.0), [[0.0]], [0.2]))
    np.testing.assert_allclose(interval(sure, np.array([0.0])), 0.2, atol=1e-6)


@pytest.mark.parametrize("goal", [UpperConfidenceBound(sign=-1), LogExpectedImprovement(sign=-1), "minimise"], ids=str)
def test_a_number_added_to_all_answers_changes_neither_the_choice_nor_the_best_place(goal):
    space = gf.Space(gf.Real("a", -2, 2), gf.Integer("n", -3, 9))
    X = space.candidates(12, 0)
    y = (X[:, 0] - 0.3) ** 2 + 0.2 * (X[:, 1] - 4.0) ** 2
    found = []
    for shift in (0.0, 1e6):
        gp = gf.GP(gf.SE([1.5, 4.0], 9.0), gf.ConstantMean(shift), space=space)
        campaign = gf.Campaign(space, [gf.Point(0.0)], gp, goal=goal, repeat=False, seed=0)
        for x, value in zip(X, y + shift, strict=True):
            campaign.tell(gf.Query(campaign.instruments[0], x), float(value))
        best, query = campaign.best("minimise"), campaign.ask()
        wide = campaign.belief.mean(space.candidates(4000, 1)).min()
        assert best.mean <= wide + 1e-8
        found.append((*best.place, best.mean - shift, best.regret, *query.place, *campaign.confirm("minimise").place))
    assert found[1] == pytest.approx(found[0], rel=1e-3, abs=1e-4)


def test_the_best_place_of_a_belief_of_many_is_where_its_own_mean_is_best():
    space = gf.Space(gf.Real("a", -2, 2), gf.Real("b", -1, 3))
    X = space.candidates(12, 0)
    y = (X[:, 0] - 0.3) ** 2 + (X[:, 1] + 0.4) ** 2 + 1e5
    belief = gf.GP(space=space).condition(gf.Data().add(gf.Point(0.0), X, y))
    place = best_place(belief, space, -1, X, 0)
    fine = np.stack(np.meshgrid(*[np.linspace(-0.03, 0.03, 61)] * 2), axis=-1).reshape(-1, 2) + place
    assert belief.mean(place[None])[0] <= belief.mean(fine).min() + 1e-7
