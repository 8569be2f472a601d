"""What kernels see of places."""

import numpy as np
import pytest

import gainful as gf
from gainful.coordinates import Axis, Coordinates
from gainful.testing.differences import gradient
from tests.space.test_dimensions import LAB, MIX, TUNING


def test_the_columns_say_what_they_are():
    assert [tuple(column) for column in LAB.coordinates.columns] == [
        ("temperature", "number", 70.0, 0, 0, True),
        ("concentration", "number", pytest.approx(np.log(1e4)), 0, 1, True),
        ("stages", "number", 7.0, 0, 2, True),
        ("catalyst", "category", 1.0, 3, 3, True),
    ]
    columns = TUNING.coordinates.columns
    assert [(c.dimension, c.kind, c.levels, c.group) for c in columns] == [
        ("solver", "category", 3, 0),
        ("rate", "number", 0, 1),
        ("rate", "number", 0, 1),
        ("momentum", "number", 0, 2),
        ("momentum", "number", 0, 2),
        ("layers", "number", 0, 3),
        ("activation", "category", 3, 4),
    ]
    assert all(c.kind == "number" for c in MIX.coordinates.columns)


def test_plain_numbers_are_seen_as_they_are():
    plain = gf.Space(gf.Real("x", 0, 1), gf.Integer("n", 1, 5), gf.Categorical("s", ["S", "M", "L"], ordered=True))
    X = plain.candidates(9, 0)
    assert plain.coordinates.is_identity
    assert plain.coordinates(X) is X
    assert not LAB.coordinates.is_identity
    assert gf.Pool(X).coordinates.is_identity


def test_differences_in_a_logarithmic_column_are_those_of_the_logarithm_and_factors_of_two_change_no_bit():
    for power in (1.0, 2.0**40):
        space = gf.Space(gf.Real("c", 1e-6 * power, 1e-2 * power, log=True))
        X = space.candidates(50, 0)
        seen = space.coordinates(X)
        np.testing.assert_allclose(seen - seen[0], np.log(X) - np.log(X[0]), atol=1e-13)
        if power == 1.0:
            first = seen
    np.testing.assert_array_equal(seen, first)


def test_absence_is_as_far_from_every_value_and_neighbours_keep_their_distance():
    space = gf.Space(gf.Categorical("c", ["on", "off"]), gf.Real("x", -3.0, 5.0, when={"c": "on"}))
    x = np.linspace(-3.0, 5.0, 401)
    seen = space.coordinates(np.stack([np.zeros(401), x], axis=1))[:, 1:]
    absent = space.coordinates(space.code({"c": ["off"]}))[:, 1:]
    np.testing.assert_allclose(np.linalg.norm(seen - absent, axis=1), 8.0)
    np.testing.assert_allclose(np.linalg.norm(np.diff(seen, axis=0), axis=1), np.diff(x), rtol=1e-6)


def test_what_is_absent_by_what_it_depends_on_is_absent_too():
    space = gf.Space(
        gf.Categorical("a", ["x", "y"]),
        gf.Categorical("b", ["u", "v"], when={"a": "y"}),
        gf.Real("c", 0, 1, when={"b": "u"}),
    )
    assert space.natural(space.code({"a": "x"})[0]) == {"a": "x", "b": None, "c": None}
    assert space.natural(space.code({"a": "y", "b": "v"})[0]) == {"a": "y", "b": "v", "c": None}
    assert space.natural(space.code({"a": "y", "b": "u", "c": 0.5})[0]) == {"a": "y", "b": "u", "c": 0.5}


@pytest.mark.parametrize("space", [LAB, TUNING, MIX], ids=["lab", "tuning", "mix"])
def test_the_pullback_is_the_derivative_in_the_numbers(space):
    rng = np.random.default_rng(0)
    low, width = space.low, np.maximum(space.high - space.low, 1e-9)
    X = np.array([x for x in space.candidates(400, 0) if np.all((x - low > 0.05 * width) | (x == low))][:8])
    G = rng.normal(size=(8, len(space.coordinates.columns)))
    got = space.coordinates.pullback(X, G)
    for i, axis in enumerate(space.coordinates.axes):
        if axis.kind == "real":
            step = np.zeros_like(X)
            step[:, i] = 1e-3 * X[:, i] if axis.log else 1e-3

            def along(h, step=step):
                return float(np.sum(G * space.coordinates(X + h[0] * step)))

            wanted = gradient(along, np.zeros(1), step=0.1)[0]
            np.testing.assert_allclose(np.sum(got * step), wanted, rtol=1e-8, atol=1e-10)


def test_coordinates_are_values():
    assert LAB.coordinates == gf.Space(*LAB.dimensions).coordinates
    assert hash(LAB.coordinates) == hash(gf.Space(*LAB.dimensions).coordinates)
    with pytest.raises(gf.InvalidInput):
        Coordinates(())
    with pytest.raises(gf.InvalidInput):
        Axis("x", "colour")
    with pytest.raises(gf.InvalidInput):
        LAB.coordinates(np.zeros((2, 3)))
