"""Cubic convolution against Keys' kernel written out, polynomials, and the order of its error."""

import numpy as np
import pytest

from gainful.errors import InvalidInput
from gainful.numerics import memory
from gainful.numerics.interpolation import Grid, weights, weights_1d

GRIDS = [
    Grid((0.0,), (1.0,), (4,)),
    Grid((-3.0,), (0.25,), (23,)),
    Grid((-1.0, 1e3), (0.1, 7.0), (9, 12)),
    Grid((-1.0, 2.0, 0.0), (0.3, 0.2, 1e-4), (7, 5, 6)),
    Grid((0.0, -9.0, 5.0, 1.0), (1.0, 2.0, 0.5, 0.1), (5, 6, 4, 7)),
]


def places(grid, n, rng):
    """n places anywhere in the interior."""
    low, high = np.array([grid.interior(d) for d in range(len(grid.counts))]).T
    return rng.uniform(low, high, size=(n, len(low)))


def points(grid):
    axes = [grid.axis(d) for d in range(len(grid.counts))]
    return np.stack([each.ravel() for each in np.meshgrid(*axes, indexing="ij")], axis=1)


def keys(far):
    """Keys 1981: the kernel with a = −1/2 at distances in steps."""
    s = np.abs(far)
    near = 1.5 * s**3 - 2.5 * s**2 + 1.0
    return np.where(s < 1, near, np.where(s < 2, -0.5 * s**3 + 2.5 * s**2 - 4.0 * s + 2.0, 0.0))


@pytest.mark.parametrize("grid", GRIDS)
def test_each_weight_is_the_product_of_keys_kernel_at_its_distances(grid):
    X = places(grid, 50, np.random.default_rng(0))
    W = weights(grid, X)
    dense = np.prod(keys((X[:, None] - points(grid)) / np.array(grid.steps)), axis=2)
    assert W.shape == (50, grid.size)
    assert W.dtype == np.float64
    assert np.diff(W.indptr).tolist() == [4 ** X.shape[1]] * 50
    assert np.max(np.abs(W.toarray() - dense)) < 1e-11
    assert W.has_canonical_format  # the entries of a row ascend, none twice


@pytest.mark.parametrize("grid", GRIDS)
def test_weights_sum_to_one(grid):
    W = weights(grid, places(grid, 200, np.random.default_rng(1)))
    assert W.sum(axis=1) == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize("grid", GRIDS)
def test_quadratics_in_every_coordinate_are_reproduced_exactly(grid):
    rng = np.random.default_rng(2)
    coefficients = rng.normal(size=(len(grid.counts), 3))

    def polynomial(X):
        t = (X - np.array(grid.starts)) / np.array(grid.steps)
        return np.prod([np.polyval(c, t[:, d]) for d, c in enumerate(coefficients)], axis=0)

    X = places(grid, 300, rng)
    wanted, known = polynomial(X), polynomial(points(grid))
    assert np.max(np.abs(weights(grid, X) @ known - wanted)) < 1e-10 * np.max(np.abs(known))


@pytest.mark.parametrize("grid", GRIDS)
def test_at_a_point_of_the_grid_the_weights_are_of_that_point_alone(grid):
    inner = np.ix_(*(range(1, count - 1) for count in grid.counts))
    index = np.arange(grid.size).reshape(grid.counts)[inner].ravel()
    alone = np.zeros((len(index), grid.size))
    alone[np.arange(len(index)), index] = 1.0
    assert np.max(np.abs(weights(grid, points(grid)[index]).toarray() - alone)) < 1e-10


def test_the_error_for_a_cubic_is_its_closed_form():
    x = np.linspace(1.0, 4.0, 301)
    index, weight = weights_1d(0.0, 0.5, 10, x)
    s = 2.0 * x - np.clip(np.floor(2.0 * x), 1, 7)
    error = x**3 - np.sum(weight * (0.5 * index) ** 3, axis=1)
    assert error == pytest.approx(-(0.5**3) * s * (1 - s) * (1 - 2 * s), abs=1e-13)


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_half_the_step_leaves_an_eighth_of_the_error(dimensions):
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(3000, dimensions))

    def f(X):
        return np.exp(np.sum(np.sin(2.0 * X + np.arange(dimensions)), axis=1))

    errors = []
    for count in (15, 25, 45):  # steps of 1/10, 1/20, 1/40
        grid = Grid((-2 / (count - 5),) * dimensions, (1 / (count - 5),) * dimensions, (count,) * dimensions)
        errors.append(np.max(np.abs(weights(grid, X) @ f(points(grid)) - f(X))))
    orders = np.log2(errors[:-1]) - np.log2(errors[1:])
    assert np.all(np.abs(orders - 3.0) < 0.2)


def test_weights_and_their_slopes_are_continuous_across_points_of_the_grid():
    grid, h = Grid((0.0,), (1.0,), (8,)), 1e-6
    x = np.arange(2.0, 6.0)
    at = [weights(grid, (x + shift)[:, None]).toarray() for shift in (-h, 0.0, h)]
    assert np.max(np.abs((at[2] - at[1]) - (at[1] - at[0]))) < 1e-10  # of slopes of 1/2 · h


@pytest.mark.parametrize("dimensions", [1, 2])
def test_the_kernel_between_places_is_that_of_the_grid_between_weights(dimensions):
    X = np.random.default_rng(4).normal(size=(60, dimensions))
    grid = Grid.covering(X, 45)

    def kernel(A, B):
        return np.exp(-0.5 * np.sum((A[:, None] - B) ** 2, axis=2))

    W, P = weights(grid, X), points(grid)
    near = W @ (W @ kernel(P, P)).T
    assert np.max(np.abs(near - kernel(X, X))) < 2e-4


def test_a_covering_grid_has_two_spare_points_on_each_side():
    X = np.random.default_rng(5).normal(size=(40, 3)) * [1.0, 1e-3, 1e5] + [0.0, 7.0, -1e6]
    grid = Grid.covering(X, (6, 11, 30))
    assert grid.counts == (6, 11, 30)
    assert grid.size == 6 * 11 * 30
    for d in range(3):
        axis = grid.axis(d)
        assert [axis[2], axis[-3]] == pytest.approx([X[:, d].min(), X[:, d].max()], rel=1e-12)
        assert grid.interior(d) == pytest.approx((axis[1], axis[-2]), rel=1e-12)
    assert weights(grid, X).shape == (40, grid.size)
    assert Grid.covering(X, 9) == Grid.covering(X, np.int64(9)) == Grid.covering(X, np.array([9, 9, 9]))


def test_a_dimension_in_which_all_places_agree_is_covered_one_unit_wide_with_them_on_a_point():
    grid = Grid.covering([[1.0, 3.0], [2.0, 3.0]], 8)
    assert grid.axis(1)[-3] - grid.axis(1)[2] == pytest.approx(1.0)
    assert grid.axis(1)[4] == pytest.approx(3.0)


def test_blocks_of_rows_do_not_change_the_weights(monkeypatch):
    grid = GRIDS[2]
    X = places(grid, 101, np.random.default_rng(6))
    at_once = weights(grid, X)
    monkeypatch.setattr(memory, "WORKING", 8 * 64 * 16 * 7)  # seven rows
    in_turn = weights(grid, X)
    for part in ("data", "indices", "indptr"):
        assert np.array_equal(getattr(in_turn, part), getattr(at_once, part))


def test_no_place_has_no_weights():
    assert weights(GRIDS[2], np.empty((0, 2))).shape == (0, GRIDS[2].size)


@pytest.mark.parametrize("start", [0.1, -1e6, 1.7e9])
def test_the_edges_of_the_interior_belong_to_it_however_they_were_rounded(start):
    grid = Grid((start,), (0.1,), (50,))
    for edge in (*grid.interior(0), grid.axis(0)[1], grid.axis(0)[-2]):
        assert weights(grid, [[edge]]).sum() == pytest.approx(1.0)


def test_places_outside_the_interior_are_refused_by_dimension_and_range():
    grid = Grid((0.0, 10.0), (1.0, 1.0), (6, 6))
    with pytest.raises(InvalidInput, match=r"X: expected places from 11 to 14 in dimension 1.*got 14.01;"):
        weights(grid, [[2.0, 12.0], [2.0, 14.01]])
    with pytest.raises(InvalidInput, match=r"from 1 to 4 in dimension 0.*got 0.99 and 1 more outside"):
        weights(grid, [[0.99, 12.0], [2.0, 12.0], [7.0, 12.0]])
    with pytest.raises(InvalidInput, match="finite"):
        weights(grid, [[np.nan, 12.0]])
    with pytest.raises(InvalidInput, match="dimension 2"):
        weights_1d(0.0, 1.0, 6, np.array([np.nan]), dimension=2)


def test_grids_that_cannot_be_are_refused():
    for starts, steps, counts, named in [
        ((0.0,), (1.0, 1.0), (5,), "grid"),
        ((), (), (), "grid"),
        ((0.0,), (1.0,), (3,), "counts"),
        ((0.0,), (0.0,), (5,), "steps"),
        ((0.0,), (-1.0,), (5,), "steps"),
        ((1e9,), (1e-8,), (5,), "steps"),
        ((np.nan,), (1.0,), (5,), "steps"),
    ]:
        with pytest.raises(InvalidInput) as refused:
            Grid(starts, steps, counts)
        assert refused.value.argument == named
    for X, counts, named in [
        (np.empty((0, 2)), 8, "X"),
        ([[0.0], [np.inf]], 8, "X"),
        ([[0.0, 1.0]], (8,), "counts"),
        ([[0.0], [1.0]], 5, "counts"),
        ([[0.0], [1.0]], [7.5], "counts"),
    ]:
        with pytest.raises(InvalidInput) as refused:
            Grid.covering(X, counts)
        assert refused.value.argument == named
