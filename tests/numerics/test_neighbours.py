"""Nearest neighbours against distances to every point, one at a time."""

import time
import tracemalloc

import numpy as np
import pytest

from gainful.numerics.memory import WORKING
from gainful.numerics.neighbours import earlier, maxmin, nearest


def one_at_a_time(X, m):
    out = np.full((len(X), m), -1)
    for i in range(1, len(X)):
        found = np.argsort(np.sum((X[:i] - X[i]) ** 2, axis=1), kind="stable")[:m]
        out[i, : len(found)] = found
    return out


def distances(X, found):
    return np.where(found >= 0, np.sum((X[found] - X[:, None]) ** 2, axis=2), -1.0)


@pytest.mark.parametrize(
    ("n", "D", "m"), [(2500, 1, 9), (2500, 2, 15), (1500, 5, 3), (700, 14, 8), (12, 2, 30), (1, 3, 2)]
)
def test_earlier_neighbours_are_those_of_all_distances(n, D, m):
    X = np.random.default_rng(n).normal(size=(n, D))
    np.testing.assert_array_equal(earlier(X, m), one_at_a_time(X, m))


@pytest.mark.parametrize("order", ["ascending", "inwards", "outwards"])
def test_earlier_neighbours_are_exact_in_orders_that_fill_space_unevenly(order):
    x = np.random.default_rng(1).normal(size=1500) ** 3
    x = np.sort(x) if order == "ascending" else x[np.argsort(np.abs(x) * (-1.0 if order == "inwards" else 1.0))]
    np.testing.assert_array_equal(earlier(x[:, None], 6), one_at_a_time(x[:, None], 6))


@pytest.mark.parametrize("D", [2, 14])
def test_an_offset_loses_no_neighbour(D):
    X = np.random.default_rng(2).normal(size=(800, D)).round(6) + 2.0**22
    np.testing.assert_array_equal(earlier(X, 5), one_at_a_time(X, 5))


def test_of_many_equal_points_neighbours_are_equal_ones():
    X = np.random.default_rng(3).integers(0, 2, size=(5000, 2)).astype(float)
    found = earlier(X, 10)
    np.testing.assert_array_equal(distances(X[:2000], found[:2000]), distances(X[:2000], one_at_a_time(X[:2000], 10)))
    assert np.all(distances(X, found)[2000:] == 0.0)
    assert np.all(found < np.arange(len(X))[:, None])
    assert all(len(set(row)) == 10 for row in found[-200:].tolist())


def test_equal_points_take_no_longer_than_others():
    """A tree that looked at all equal points would look at half of them for each: ten times as long here."""
    rng = np.random.default_rng(3)

    def seconds(X):
        start = time.process_time()
        earlier(X, 5)
        return time.process_time() - start

    others = seconds(rng.normal(size=(60000, 1)))
    assert seconds(rng.integers(0, 2, size=(60000, 1)).astype(float)) < 4.0 * others


def test_points_that_are_all_one_have_the_latest_before_them():
    assert earlier(np.ones((4, 2)), 2).tolist() == [[-1, -1], [0, -1], [1, 0], [2, 1]]
    assert nearest(np.zeros((3, 0)), np.zeros((1, 0)), 2).tolist() == [[0, 1]]


@pytest.mark.parametrize("D", [1, 3, 14])
def test_nearest_are_those_of_all_distances(D):
    rng = np.random.default_rng(D)
    X, Y = rng.normal(size=(600, D)), rng.normal(size=(50, D))
    expected = np.argsort(np.sum((Y[:, None] - X) ** 2, axis=2), axis=1)
    np.testing.assert_array_equal(nearest(X, Y, 7), expected[:, :7])
    np.testing.assert_array_equal(nearest(X, Y, 1), expected[:, :1])
    np.testing.assert_array_equal(nearest(X[:4], Y, 7), np.argsort(np.sum((Y[:, None] - X[:4]) ** 2, axis=2), axis=1))


def test_each_point_of_a_maxmin_order_is_the_farthest_from_those_before():
    X = np.random.default_rng(4).uniform(size=(600, 2))
    order = maxmin(X)
    assert sorted(order.tolist()) == list(range(600))
    for i in (1, 10, 255, 256, 300, 500, 598):
        before, left = X[order[:i]], X[order[i:]]
        away = np.min(np.sum((left[:, None] - before) ** 2, axis=2), axis=1)
        assert away[0] == pytest.approx(away.max(), rel=1e-12)


def test_high_dimensions_stay_within_the_bound_of_memory():
    X = np.random.default_rng(5).normal(size=(6000, 13))
    tracemalloc.start()
    earlier(X, 4)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * WORKING  # all distances at once would take 288 MB, and three times that on the way
