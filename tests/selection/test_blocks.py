"""Searches by blocks: what they predict is what the posterior predicts, and they find the best place of a sum."""

from __future__ import annotations

import numpy as np
import pytest

import gainful as gf
from gainful.acquisition import LogExpectedImprovement
from gainful.selection.blocks import _Walk, blocks_of
from gainful.selection.choose import Option, choose
from gainful.selection.scoring import Scoring

D = 8
SPACE = gf.Space(*(gf.Real(f"x{i}", -4, 4) for i in range(D)))
LAB = gf.Point(noise=0.1, name="lab")


def styblinski(X):
    return 0.5 * np.sum(X**4 - 16 * X**2 + 5 * X, axis=1)


def additive(n=60):
    X = SPACE.candidates(n, 0)
    gp = gf.GP(gf.Additive([(i,) for i in range(D)], 1.5, 900.0), gf.ConstantMean(-100.0), space=SPACE)
    return gp.condition(gf.Data().add(LAB, X, styblinski(X)))


def test_blocks_are_the_terms_that_are_no_part_of_another():
    data = gf.Data().add(LAB, np.zeros((1, D)), [0.0])
    kernel = gf.Additive([(0,), (0, 1), *((i,) for i in range(2, D))])
    found = blocks_of(gf.GP(kernel).condition(data), D)
    assert found == [((0, 1), *((i,) for i in range(2, D)))]
    assert blocks_of(gf.GP(gf.SE()).condition(data), D) == [()]  # nothing to gain


def test_beside_a_place_it_predicts_what_the_posterior_predicts():
    belief = gf.Belief([additive(30)])
    scoring = Scoring(LogExpectedImprovement(sign=-1), belief)
    here = SPACE.candidates(1, 3)[0]
    places = np.repeat(here[None], 5, axis=0)
    places[:, 2] = np.linspace(-4, 4, 5)
    walk = _Walk(scoring, LAB, ((2,), (0, 1)))
    walk.begin(here)
    found = walk._predicted(places, 0)
    np.testing.assert_allclose(found.mean[0], belief.posteriors[0].mean(places), rtol=1e-9)
    np.testing.assert_allclose(found.variance[0], belief.posteriors[0].variance(places), rtol=1e-6)
    walk.scores(places, 0)
    walk.go(3)
    further = np.repeat(places[3][None], 4, axis=0)
    further[:, :2] = SPACE.candidates(4, 5)[:, :2]
    np.testing.assert_allclose(walk._predicted(further, 1).mean[0], belief.posteriors[0].mean(further), rtol=1e-9)


def test_the_best_place_of_a_sum_is_found_in_eight_dimensions():
    """Each coordinate by itself is near −2.9; places drawn at random are so in one of a million cases."""
    goal = LogExpectedImprovement(sign=-1)
    choice = choose(goal, additive(), [Option(LAB, SPACE)], np.random.default_rng(0))
    assert np.max(np.abs(np.asarray(choice.query.place) + 2.9)) < 0.7
    assert styblinski(np.asarray(choice.query.place)[None])[0] < -39.166 * D + 25


@pytest.mark.parametrize("goal", [gf.acquisition.UpperConfidenceBound(sign=-1), gf.Learn("function")])
def test_other_goals_are_searched_as_well_as_by_many_candidates(goal):
    belief = additive()
    choice = choose(goal, belief, [Option(LAB, SPACE)], np.random.default_rng(0))
    assert choice.score >= np.max(goal.score(belief, LAB, SPACE.candidates(20_000, 1)))


def test_whole_numbers_categories_and_constraints_are_kept():
    space = gf.Space(
        gf.Real("a", 0, 1), gf.Integer("b", 1, 5), gf.Categorical("c", ["u", "v"]), gf.Real("d", 1, 100, log=True)
    ).where(lambda X: X[:, 0] <= 0.5)
    X = space.candidates(20, 0)
    y = X[:, 0] + X[:, 1] + np.log(X[:, 3])
    belief = gf.Partitions(space, given="additive").condition(gf.Data().add(LAB, X, y))
    choice = choose(LogExpectedImprovement(sign=-1), belief, [Option(LAB, space)], np.random.default_rng(1))
    place = space.code([choice.query.place]) if isinstance(choice.query.place[2], str) else [choice.query.place]
    assert space.contains(np.asarray(place, dtype=float)).all()


def test_with_pending_queries_another_place_is_found():
    belief = gf.Belief([additive(30)])
    goal, rng = LogExpectedImprovement(sign=-1), np.random.default_rng(2)
    first = choose(goal, belief, [Option(LAB, SPACE)], rng)
    second = choose(goal, belief, [Option(LAB, SPACE)], np.random.default_rng(2), pending=[first.query])
    assert np.max(np.abs(np.asarray(first.query.place) - np.asarray(second.query.place))) > 1e-3
