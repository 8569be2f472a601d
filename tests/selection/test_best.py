"""The best place against exhaustive search, its regret against closed forms, its band against quantiles of draws."""

import numpy as np
import pytest
from scipy.stats import norm

import gainful as gf
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
