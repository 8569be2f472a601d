"""Artificial worlds: draws from the right distribution, instruments as published, and the divergence."""

from dataclasses import replace

import numpy as np
import pytest

import gainful as gf
from gainful.lab.synthetic import World, divergence
from gainful.papers.fletcher2022.common import cost_settings


@pytest.mark.parametrize(("dimensions", "per"), [(1, 6), (2, 4), (3, 3)])
def test_a_world_is_a_draw_from_its_gp_on_the_grid_in_any_number_of_dimensions(dimensions, per):
    """The function is linear in standard normal coefficients, by a map T with T Tᵀ = K."""
    world = World.draw(dimensions, 0, high=0.5, per_dimension=per)
    units = np.eye(world.coefficients.size).reshape(-1, *world.coefficients.shape)
    T = np.array([replace(world, coefficients=unit).truth(world.grid) for unit in units]).T
    np.testing.assert_allclose(T @ T.T, world.gp.kernel(world.grid), atol=1e-10)
    np.testing.assert_allclose(world.truth(world.grid), T @ world.coefficients.ravel(), atol=1e-10)
    drawn = np.concatenate([World.draw(dimensions, seed).coefficients.ravel() for seed in range(3)])
    assert abs(drawn.mean()) < 5 / np.sqrt(drawn.size)
    assert abs(drawn.std() - 1) < 5 / np.sqrt(drawn.size)


def test_the_function_is_smooth_between_the_places_of_the_grid():
    world = World.draw(2, 1, per_dimension=30)
    between = np.array([[0.7, 1.1], [0.701, 1.1]])
    step = np.diff(world.truth(between))[0]
    assert abs(step) < 0.05
    post = world.gp.condition(gf.Data().add(gf.Point(1e-3), world.grid, world.truth(world.grid)))
    np.testing.assert_allclose(post.mean(between), world.truth(between), atol=5e-3)


def test_instruments_are_as_published():
    world = World.draw(2, 3, per_dimension=20, costs=(12, 8, 2))
    point, interval, ordinal = world.instruments
    assert [i.cost for i in world.instruments] == [12, 8, 2]
    assert (point.noise, interval.width, ordinal.levels) == (0.1, 0.6, 3)
    values = world.truth(world.grid)
    counts = np.bincount(np.searchsorted(ordinal.thresholds, values), minlength=3)
    assert counts.max() - counts.min() <= 1
    rng = np.random.default_rng(0)
    here = world.grid[7]
    truth = world.truth(here[None])[0]
    low, high = world.answer(gf.Query(interval, here), rng)
    assert high - low == pytest.approx(0.6)
    assert abs(world.answer(gf.Query(point, here), rng) - truth) < 0.6
    assert world.answer(gf.Query(ordinal, here), rng) in (1, 2, 3)


def test_the_divergence_is_that_of_two_normal_distributions():
    world = World.draw(1, 0, high=1.0, per_dimension=7)
    post = world.gp.condition(gf.Data().add(gf.Point(0.1), [[0.2], [0.9]], [0.4, -0.3]))
    truth = world.truth(world.grid)
    cov, error = post.covariance(world.grid) + 0.01 * np.eye(7), truth - post.mean(world.grid)
    by_hand = 0.5 * (
        0.01 * np.trace(np.linalg.inv(cov))
        - 7
        + np.linalg.slogdet(cov)[1]
        - 7 * np.log(0.01)
        + error @ np.linalg.solve(cov, error)
    )
    assert divergence(post, world.grid, truth, 0.1) == pytest.approx(by_hand, rel=1e-9)


def test_the_expected_divergence_falls_by_the_information_of_the_answers():
    """E[KL] is half a log-determinant: the fact that bounds what any strategy can gain."""
    gp, X = gf.GP(gf.SE(0.3)), np.linspace(0, 1, 8)[:, None]
    data = gf.Data().add(gf.Point(0.1), [[0.1], [0.8]], [0.0, 0.0])
    post, rng = gp.condition(data), np.random.default_rng(0)
    values = [divergence(post, X, f, 0.1) for f in post.sample(X, 4000, rng)]
    exact = 0.5 * np.linalg.slogdet(np.eye(8) + post.covariance(X) / 0.01)[1]
    assert np.mean(values) == pytest.approx(exact, abs=4 * np.std(values) / np.sqrt(4000))


def test_there_are_57_settings_of_the_costs_not_54():
    settings = cost_settings()
    assert len(settings) == 57
    assert all(p >= i for p, i, _ in settings)
    assert sum(p > i for p, i, _ in settings) == 51


@pytest.mark.parametrize("wrong", [{"dimensions": 0}, {"per_dimension": 1}, {"ranks": 1}, {"costs": (1, 2)}], ids=str)
def test_worlds_that_cannot_be_are_refused(wrong):
    with pytest.raises(gf.InvalidInput):
        World.draw(**wrong)
