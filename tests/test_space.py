"""Boxes and pools."""

import numpy as np
import pytest

import gainful as gf

BOX = gf.Space(gf.Real("east", 0, 2, unit="km"), gf.Real("north", -1, 1), gf.Real("depth", 5, 50, unit="m"))


def _discrepancy(unit):
    """The centred L2 discrepancy of points in the unit cube (Hickernell 1998)."""
    x = np.abs(unit - 0.5)
    n, d = unit.shape
    first = (13 / 12) ** d
    second = np.prod(1 + 0.5 * x - 0.5 * x**2, axis=1).sum() * 2 / n
    pair = 1 + 0.5 * x[:, None] + 0.5 * x[None] - 0.5 * np.abs(unit[:, None] - unit[None])
    return first - second + np.prod(pair, axis=2).sum() / n**2


@pytest.mark.parametrize("n", [37, 256, 900])
def test_candidates_fill_the_box_more_evenly_than_chance(n):
    X = BOX.candidates(n, rng=0)
    assert X.shape == (n, 3)
    assert np.all(BOX.contains(X))
    unit = (X - BOX.low) / (BOX.high - BOX.low)
    chance = [_discrepancy(np.random.default_rng(s).random((n, 3))) for s in range(10)]
    assert _discrepancy(unit) < 0.5 * np.mean(chance)


def test_candidates_follow_their_seed():
    np.testing.assert_array_equal(BOX.candidates(9, 3), BOX.candidates(9, np.random.default_rng(3)))
    assert not np.array_equal(BOX.candidates(9, 3), BOX.candidates(9, 4))


def test_a_grid_has_the_corners_and_every_combination():
    grid = BOX.grid([3, 2, 4])
    assert len(grid) == 24
    assert len(np.unique(grid, axis=0)) == 24
    np.testing.assert_array_equal(grid[0], BOX.low)
    np.testing.assert_array_equal(grid[-1], BOX.high)
    assert BOX.grid(2).shape == BOX.grid(np.int64(2)).shape == BOX.grid(np.array([2, 2, 2])).shape == (8, 3)


def test_faces_belong_to_the_box_and_what_lies_beyond_does_not():
    corners = BOX.grid(2)
    assert np.all(BOX.contains(corners))
    assert not np.any(BOX.contains(corners + 1e-9 * np.sign(corners - corners.mean(axis=0))))


def test_a_pool_is_its_rows():
    rows = np.arange(20.0).reshape(10, 2)
    pool = gf.Pool(rows)
    assert len(pool) == 10
    assert pool.names == ("x0", "x1")
    assert np.all(pool.contains(rows))
    assert not pool.contains([[0.0, 1.5]])[0]
    np.testing.assert_array_equal(pool.candidates(100, 0), rows)
    some = pool.candidates(4, 0)
    assert np.all(pool.contains(some))
    assert len(np.unique(some, axis=0)) == 4
    rows[0, 0] = 99.0
    assert pool.places[0, 0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        pool.places[0, 0] = 1.0


def test_a_table_names_the_dimensions_of_its_pool():
    pandas = pytest.importorskip("pandas", reason="tables are optional")
    pool = gf.Pool(pandas.DataFrame({"east": [0.0, 1.0], "north": [2.0, 3.0]}))
    assert pool.names == ("east", "north")


@pytest.mark.parametrize(
    "make",
    [
        lambda: gf.Space(),
        lambda: gf.Space("x"),
        lambda: gf.Space(gf.Real("x", 0, 1), gf.Real("x", 0, 2)),
        lambda: gf.Real("x", 1, 1),
        lambda: gf.Real("", 0, 1),
        lambda: gf.Real("x", 0, np.inf),
        lambda: gf.Real("x", False, True),
        lambda: gf.Real("x", "0", 1),
        lambda: BOX.candidates(0, 0),
        lambda: BOX.candidates(2.5, 0),
        lambda: BOX.candidates(True, 0),
        lambda: BOX.grid([2, 2]),
        lambda: BOX.grid(0),
        lambda: BOX.grid(2.5),
        lambda: BOX.grid("222"),
        lambda: BOX.contains([[0.0, 0.0]]),
        lambda: gf.Pool([]),
        lambda: gf.Pool([1.0, 2.0]),
        lambda: gf.Pool([[np.nan]]),
        lambda: gf.Pool([["a"]]),
        lambda: gf.Pool([[0.0, 1.0]], names=["x"]),
        lambda: gf.Pool([[0.0]]).candidates(0, 0),
    ],
)
def test_impossible_spaces_and_pools_are_refused(make):
    with pytest.raises(gf.InvalidInput):
        make()


def _dry(X):
    return X.sum(axis=1) > 0.5


def test_a_part_of_a_box_gives_candidates_inside_it():
    box = gf.Space(gf.Real("x", 0, 1), gf.Real("y", 0, 1))
    part = box.where(gf.Within(x=(0.2, 0.4))).where(_dry).where(gf.Within(y=(None, 0.6), x=(0.3, None)))
    X = part.candidates(200, rng=0)
    assert X.shape == (200, 2)
    assert part.contains(X).all()
    np.testing.assert_allclose(part.low, [0.3, 0.0])
    np.testing.assert_allclose(part.high, [0.4, 0.6])
    assert part.contains([[0.35, 0.5], [0.35, 0.1], [0.25, 0.5]]).tolist() == [True, False, False]
    fixed = box.where(gf.Within(y=(0.25, 0.25))).candidates(10, rng=0)
    assert np.all(fixed[:, 1] == 0.25)


def test_a_constraint_that_leaves_nothing_leaves_no_candidates():
    box = gf.Space(gf.Real("x", 0, 1))
    assert len(box.where(gf.Within(x=(2.0, None))).candidates(5, rng=0)) == 0
    with pytest.warns(gf.GainfulWarning, match="Integer"):
        assert len(box.where(lambda X: X[:, 0] > 2).candidates(5, rng=0)) == 0


def test_a_part_of_a_pool_is_its_rows():
    pool = gf.Pool(np.arange(10.0)[:, None], names=["t"])
    part = pool.where(gf.Within(t=(3, 6)))
    assert part.candidates(100, rng=0).ravel().tolist() == [3.0, 4.0, 5.0, 6.0]
    assert len(part.candidates(2, rng=0)) == 2


@pytest.mark.parametrize(
    "constraint",
    [gf.Within(z=(0, 1)), 3, lambda X: np.ones(len(X)), lambda X: True],
    ids=["unknown name", "no constraint", "no booleans", "no array"],
)
def test_constraints_that_cannot_be_meant_are_refused(constraint):
    with pytest.raises(gf.InvalidInput):
        gf.Space(gf.Real("x", 0, 1)).where(constraint).candidates(3, rng=0)


@pytest.mark.parametrize("ends", [{}, {"x": 3}, {"x": (2, 1)}, {"x": ("a", "b")}], ids=str)
def test_within_needs_ends(ends):
    with pytest.raises(gf.InvalidInput):
        gf.Within(**ends)
