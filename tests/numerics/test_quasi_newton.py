"""Quasi-Newton steps in a box: against Newton's own, the secant equation, and minima that are known."""

from __future__ import annotations

import numpy as np
import pytest

from gainful.numerics.quasi_newton import Box, gain, init, step, updated


def wide(size, longest=1e3):
    return Box(np.full(size, -1e3), np.full(size, 1e3), np.full(size, longest))


def bowl(H, at):
    def function(x):
        return 0.5 * float((x - at) @ H @ (x - at)), H @ (x - at)

    return function


def positive(rng, size):
    A = rng.normal(size=(size, size))
    return A @ A.T + np.eye(size)


def rosenbrock(x):
    a, b = 1.0 - x[0], x[1] - x[0] ** 2
    return float(a * a + 100.0 * b * b), np.array([-2.0 * a - 400.0 * x[0] * b, 200.0 * b])


def descended(function, x, inverse, box, steps=200, rough=0.0):
    """The state at the end, and how many values the steps took."""
    state, evaluations = init(function, x, inverse), 0
    for _ in range(steps):
        state, info = step(state, function, box, rough)
        evaluations += info.evaluations
        if not info.moved:
            break
    return state, evaluations


@pytest.mark.parametrize("size", [1, 2, 7])
def test_with_the_right_curvature_a_parabola_takes_one_value_and_its_fall_is_known(size):
    rng = np.random.default_rng(size)
    H, at = positive(rng, size), rng.normal(size=size)
    function, box = bowl(H, at), wide(size)
    begun = init(function, rng.normal(size=size), np.linalg.inv(H))
    assert gain(begun, box) == pytest.approx(begun.value, rel=1e-9)
    state, info = step(begun, function, box)
    assert (info.moved, info.evaluations) == (True, 1)
    np.testing.assert_allclose(state.x, at, atol=1e-9)
    assert gain(state, box) == pytest.approx(0.0, abs=1e-15)


def test_what_is_known_of_the_curvature_obeys_the_secant_equation_and_stays_positive():
    rng = np.random.default_rng(3)
    C = positive(rng, 5)
    for _ in range(20):
        s, y = rng.normal(size=5), rng.normal(size=5)
        y = y if s @ y > 0 else -y
        C = updated(C, s, y)
        np.testing.assert_allclose(C @ y, s, atol=1e-8 * np.abs(C).max())
        np.testing.assert_allclose(C, C.T, atol=1e-10 * np.abs(C).max())
        assert np.linalg.eigvalsh(C).min() > 0.0
    np.testing.assert_array_equal(updated(C, s, -y), C)  # bends downwards: nothing to learn from
    np.testing.assert_array_equal(updated(C, s, np.zeros(5)), C)


def test_a_wrong_curvature_is_corrected_on_the_way():
    rng = np.random.default_rng(4)
    H = positive(rng, 6)
    function = bowl(H, rng.normal(size=6))
    state, evaluations = descended(function, np.zeros(6), np.eye(6), wide(6), steps=40)
    assert state.value < 1e-12
    assert evaluations < 60
    found, _ = descended(rosenbrock, np.array([-1.2, 1.0]), np.eye(2), wide(2, 1.0))
    np.testing.assert_allclose(found.x, 1.0, atol=1e-6)


def test_it_stays_in_its_box_and_ends_where_the_minimum_within_it_is():
    box = Box(np.array([-2.0, -2.0]), np.array([0.5, 2.0]), np.full(2, 1.0))
    seen = []

    def function(x):
        seen.append(x)
        return rosenbrock(x)

    state, _ = descended(function, np.array([-1.2, 1.0]), np.eye(2), box)
    np.testing.assert_allclose(state.x, [0.5, 0.25], atol=1e-6)  # f is least there for x₀ ≤ 0.5
    assert np.all(np.array(seen) >= box.low)
    assert np.all(np.array(seen) <= box.high)
    assert gain(state, box) == pytest.approx(0.0, abs=1e-9)  # what lies outside is not to be gained


def test_no_step_is_longer_than_told():
    box = Box(np.full(2, -100.0), np.full(2, 100.0), np.array([0.5, 2.0]))
    function, x = bowl(np.eye(2), np.array([50.0, 50.0])), np.zeros(2)
    state, _ = step(init(function, x, np.eye(2)), function, box)
    np.testing.assert_allclose(state.x, [0.5, 0.5])


def test_where_there_is_no_value_it_steps_back():
    def function(x):
        if x[0] > 2.0:
            return np.inf, np.zeros(1)
        return float((x[0] - 1.9) ** 2), 2.0 * (x - 1.9)

    state, _ = descended(function, np.zeros(1), np.full((1, 1), 50.0), wide(1, 5.0))
    np.testing.assert_allclose(state.x, 1.9, atol=1e-6)


def test_values_that_are_rough_by_as_much_as_stated_do_not_end_it():
    """A bowl whose values are wrong by up to 0.01 where its slopes are not: from a tenth of its width on, true falls
    are smaller than that."""
    rng = np.random.default_rng(5)
    H, at = positive(rng, 4), rng.normal(size=4)
    smooth = bowl(H, at)

    def rough(x):
        value, slope = smooth(x)
        return value + 0.01 * np.sin(1e5 * x.sum()), slope

    state, _ = descended(rough, at + 0.1, np.eye(4), wide(4), steps=30, rough=0.02)
    assert smooth(state.x)[0] < 1e-6


def test_it_says_where_there_is_nowhere_to_go():
    function, box = bowl(np.eye(2), np.zeros(2)), wide(2)
    here = init(function, np.zeros(2), np.eye(2))
    state, info = step(here, function, box)
    assert (info.moved, info.evaluations) == (False, 0)
    assert state is here
    hopeless = init(lambda x: (0.0, np.ones(2)), np.zeros(2), np.eye(2))
    after, info = step(hopeless, lambda x: (np.inf, np.zeros(2)), box)
    assert not info.moved
    np.testing.assert_array_equal(after.x, hopeless.x)
