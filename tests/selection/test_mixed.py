"""Choosing where coordinates are whole numbers, categories, logarithms, conditions and mixtures."""

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize

import gainful as gf
from gainful.acquisition.optimum import UpperConfidenceBound
from gainful.selection import Option, choose
from gainful.selection.chart import Chart
from gainful.testing.differences import gradient

LAB = gf.Point(noise=0.1, name="lab")


@dataclass(frozen=True)
class Height:
    """A score that is a function of the place alone, with no gradient of its own."""

    function: object
    scale: str = "amount"

    def score(self, belief, instrument, places):
        return self.function(np.asarray(places, dtype=float))


def best(space, goal, belief=None, seed=0, instrument=LAB, **search):
    belief = gf.GP(gf.Constant()).condition(gf.Data()) if belief is None else belief
    found = choose(goal, belief, [Option(instrument, space)], np.random.default_rng(seed), search=gf.Search(**search))
    assert space.contains(np.atleast_2d(found.query.place)).all()
    return found


def test_a_choice_over_categories_integers_and_reals_is_that_of_enumeration():
    space = gf.Space(
        gf.Real("x", 0, 1),
        gf.Integer("n", 1, 6),
        gf.Categorical("c", ["a", "b", "c"]),
        gf.Real("dose", 1.0, 100.0, log=True),
    )
    kernel = gf.SE((0.3, 2.0)).on("x", "n") * gf.Exchangeable(3, 0.3).on("c") * gf.SE(1.5).on("dose")
    for seed in range(4):
        rng = np.random.default_rng(seed)
        data = gf.Data().add(LAB, space.candidates(25, seed), rng.normal(size=25))
        post = gf.GP(kernel.as_shown(), space=space).condition(data)
        goal = UpperConfidenceBound()
        got = best(space, goal, post, seed)
        heights = []
        for n, c in product(range(1, 7), range(3)):

            def down(z, n=n, c=c, goal=goal, post=post):
                return -goal.score(post, LAB, np.array([[z[0], n, c, np.exp(z[1])]]))[0]

            grid = [(x, d) for x in np.linspace(0, 1, 7) for d in np.linspace(0, np.log(100.0), 5)]
            start = min(grid, key=down)
            heights.append(-minimize(down, start, bounds=[(0, 1), (0, np.log(100.0))]).fun)
        assert got.score >= max(heights) - 1e-5 * abs(max(heights))


def test_whole_numbers_are_searched_and_not_rounded():
    # The continuous optimum is at n = 2.4, x = 0.2; among whole numbers a valley at 2 makes 3 the best.
    def height(X):
        x, n = X[:, 0], X[:, 1]
        return 5 - (n - 2.4) ** 2 - 10 * (x - 0.3 * n + 0.6) ** 2 - 3 * np.exp(-8 * (n - 2) ** 2)

    space = gf.Space(gf.Real("x", 0, 1), gf.Integer("n", 0, 50))
    found = best(space, Height(height), candidates=40)
    assert found.query.place[1] == 3.0
    np.testing.assert_allclose(found.query.place[0], 0.3, atol=1e-4)


def test_steps_between_levels_reach_what_no_candidate_was_near():
    # Two hundred thousand combinations, and a hill whose foot is everywhere.
    top = np.array([3, 7, 1, 5, 2, 6, 4.0])

    def height(X):
        return -np.sum(X[:, :7] != top, axis=1) - (X[:, 7] - 777.0) ** 2 / 1e5

    levels = [f"l{i}" for i in range(8)]
    space = gf.Space(*(gf.Categorical(f"c{i}", levels) for i in range(7)), gf.Integer("n", 0, 1000))
    found = best(space, Height(height), candidates=50, climbers=2)
    assert found.query.place.tolist() == [*top.tolist(), 777.0]


def test_a_coordinate_that_appears_is_searched_too():
    space = gf.Space(
        gf.Categorical("solver", ["adam", "sgd"]),
        gf.Real("momentum", 0.0, 1.0, when={"solver": "sgd"}),
    )

    def height(X):
        return np.where(X[:, 0] == 0, 1.0, 1.2 - 50 * (X[:, 1] - 0.8) ** 2)

    found = best(space, Height(height), candidates=3, climbers=1)
    assert space.natural(found.query.place)["solver"] == "sgd"
    np.testing.assert_allclose(found.query.place[1], 0.8, atol=1e-4)


@pytest.mark.parametrize("top", [(0.5, 0.3, 0.2), (0.9, 0.4, -0.2), (0.1, 0.2, 0.7)])
def test_mixtures_are_climbed_on_their_simplex(top):
    space = gf.Space(gf.Proportions(["a", "b", "c"], low=0.05, high={"c": 0.6}))

    def height(X):
        return -np.sum((X - np.array(top)) ** 2, axis=1)

    found = best(space, Height(height), candidates=50)
    bounds = [(0.05, 1), (0.05, 1), (0.05, 0.6)]
    oracle = minimize(lambda z: -height(z[None])[0], np.full(3, 1 / 3), bounds=bounds, method="SLSQP",
                      constraints={"type": "eq", "fun": lambda z: z.sum() - 1}, options={"ftol": 1e-12})  # fmt: skip
    np.testing.assert_allclose(found.query.place, oracle.x, atol=2e-3)
    assert abs(found.query.place.sum() - 1.0) < 1e-12


def test_the_face_of_a_linear_limit_is_reached():
    space = gf.Space(gf.Real("a", 0, 1), gf.Real("b", 0, 1)).where(gf.LinearLimit({"a": 1, "b": 1}, most=1))
    found = best(space, Height(lambda X: X[:, 0] + 2 * X[:, 1] - X[:, 1] ** 2))
    # On a + b = 1 the height is 1 + b − b²: at b = 1/2.
    np.testing.assert_allclose(found.score, 1.25, atol=1e-7)
    np.testing.assert_allclose(found.query.place, 0.5, atol=1e-3)


@pytest.mark.parametrize("seed", range(4))
def test_limits_with_levels_logarithms_and_mixtures_are_those_of_an_oracle(seed):
    space = gf.Space(
        gf.Proportions(["p", "q", "r"]),
        gf.Real("dose", 0.1, 10.0, log=True),
        gf.Categorical("c", ["a", "b"]),
        gf.Integer("n", 0, 3),
    )
    weights = {"p": 2.0, "dose": 0.3, "n": 0.5}
    part = space.where(gf.LinearLimit(weights, most=2.2, least=0.5))
    rng = np.random.default_rng(seed)
    towards, shift = rng.normal(size=4), rng.normal(size=(2, 4))

    def height(X):
        X = np.atleast_2d(X)
        reals = np.column_stack([X[:, :3], np.log(X[:, 3]) / 4])
        pull = towards + 0.5 * shift[X[:, 4].astype(int)] + 0.2 * X[:, [5]]
        return np.sum(pull * reals, axis=1) - np.sum(reals**2, axis=1) + 0.3 * X[:, 5]

    found = best(part, Height(height), seed=seed)
    w = np.array([2.0, 0.0, 0.0, 0.3])
    tops = []
    for c, n in product(range(2), range(4)):
        for start in space.candidates(3, 0):
            solved = minimize(
                lambda z, c=c, n=n: -height(np.array([*z, c, n]))[0], start[:4], method="SLSQP",
                bounds=[(0, 1)] * 3 + [(0.1, 10)], options={"ftol": 1e-13, "maxiter": 300},
                constraints=[{"type": "eq", "fun": lambda z: z[:3].sum() - 1},
                             {"type": "ineq", "fun": lambda z, n=n: 2.2 - w @ z - 0.5 * n},
                             {"type": "ineq", "fun": lambda z, n=n: w @ z + 0.5 * n - 0.5}])  # fmt: skip
            if solved.success:
                tops.append(-solved.fun)
    assert found.score >= max(tops) - 1e-5


def test_candidates_and_choices_follow_factors_of_two_and_logarithms():
    rng = np.random.default_rng(0)
    y = rng.normal(size=12)
    chosen = []
    for power in (1.0, 2.0**20):
        for log in (False, True):
            space = gf.Space(gf.Real("x", 0.25 * power, 8 * power, log=log), gf.Categorical("c", ["a", "b"]))
            length = 1.0 if log else 2.0 * power
            gp = gf.GP(gf.SE(length).on("x") * gf.Exchangeable(2, 0.4).on("c"), space=space)
            post = gp.condition(gf.Data().add(LAB, space.candidates(12, 3), y))
            chosen.append(best(space, gf.Learn("function"), post).query.place)
    np.testing.assert_array_equal(chosen[2], chosen[0] * [2.0**20, 1.0])
    np.testing.assert_array_equal(chosen[3], chosen[1] * [2.0**20, 1.0])
    logs = gf.Space(gf.Real("x", np.log(0.25), np.log(8.0)), gf.Categorical("c", ["a", "b"]))
    gp = gf.GP(gf.SE(1.0).on("x") * gf.Exchangeable(2, 0.4).on("c"), space=logs)
    post = gp.condition(gf.Data().add(LAB, logs.candidates(12, 3), y))
    place = best(logs, gf.Learn("function"), post).query.place
    np.testing.assert_allclose([np.exp(place[0]), place[1]], chosen[1], rtol=1e-6)


def test_pairs_and_sets_of_mixed_places_are_chosen():
    space = gf.Space(gf.Real("x", 0, 1), gf.Categorical("c", ["a", "b", "c"]), gf.Integer("n", 1, 3))
    kernel = gf.SE((0.3, 1.0)).on("x", "n") * gf.Exchangeable(3, 0.3).on("c")
    post = gf.GP(kernel, space=space).condition(gf.Data())
    for instrument in (gf.Preference(0.5), gf.Detection()):
        found = best(space, gf.Learn("function"), post, instrument=instrument, candidates=60)
        assert found.query.place.shape == (2, 3)
    small = gf.Space(gf.Integer("n", 1, 2))
    pairs = [choose(gf.Random(), post, [Option(gf.Preference(), small)], np.random.default_rng(s)) for s in range(20)]
    assert all(sorted(each.query.place.ravel()) == [1.0, 2.0] for each in pairs)


def test_the_slopes_of_a_chart_are_derivatives_along_it():
    space = gf.Space(
        gf.Proportions(["a", "b", "c"]), gf.Real("d", 1.0, 9.0, log=True), gf.Real("x", -1, 3), gf.Integer("n", 0, 3)
    )
    chart = Chart(space)
    rng = np.random.default_rng(0)
    X = space.candidates(5, 0)
    G = rng.normal(size=X.shape)
    moves = chart.moves(X)

    def along(t):
        return float(np.sum(G * chart.down(np.where(moves, t, 0.0), X)))

    wanted = gradient(along, chart.up(X), step=1e-4)
    np.testing.assert_allclose(chart.slopes(X, G), wanted, rtol=1e-6, atol=1e-8)
