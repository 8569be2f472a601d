"""Steps of several accelerated iterations at once are the steps of each."""

import numpy as np

from gainful.numerics.anderson import History, step, step_together


def test_steps_together_are_the_steps_of_each():
    rng = np.random.default_rng(0)
    points, moves, weights = rng.normal(size=(4, 4, 9)), rng.normal(size=(4, 4, 9)), rng.random((4, 9))
    damping = np.array([1.0, 0.5, 0.2, 1.0])
    found = step_together(points, moves, weights, damping)
    for s in range(4):
        past = History(tuple(points[s, :-1]), tuple(moves[s, :-1]))
        alone, _ = step(past, points[s, -1], moves[s, -1], weights[s], damping[s], memory=5)
        np.testing.assert_allclose(found[s], alone, rtol=1e-8)


def test_a_point_that_stands_where_the_next_does_counts_for_nothing():
    rng = np.random.default_rng(1)
    points, moves, weights = rng.normal(size=(1, 4, 6)), rng.normal(size=(1, 4, 6)), np.ones((1, 6))
    longer = [np.concatenate([each[:, :1], each], axis=1) for each in (points, moves)]
    short = step_together(points, moves, weights, np.ones(1))
    np.testing.assert_allclose(step_together(*longer, weights, np.ones(1)), short, rtol=1e-8)
