"""A caller's arrays stay the caller's: never frozen, and what was made of them does not change with them."""

import numpy as np
import pytest

import gainful as gf
from gainful.inference.predictive import Predictive


def test_values_neither_freeze_nor_follow_the_arrays_that_they_were_made_of():
    X, y, weights = np.array([[0.0], [1.0]]), np.array([0.5, -0.5]), np.array([1.0, 3.0])
    data, pool, region = gf.Data().add(gf.Point(0.1), X, y), gf.Pool(X), gf.Region(X, weights=weights)
    query, posterior = gf.Query(gf.Point(0.1), X[0]), gf.GP(gf.SE()).condition(data)
    here, belief = posterior.predict(X), gf.Belief([posterior] * 2, weights)
    lengths = np.array([[0.5], [2.0]])
    batch = gf.SE(lengthscale=lengths)
    before = [posterior.mean([[0.3]]), here.mean.copy(), pool.places.copy(), query.place.copy(), region.points]
    X += 5.0
    y += 5.0
    weights[:] = 0.5
    lengths *= 10.0
    assert X.flags.writeable
    assert y.flags.writeable
    assert weights.flags.writeable
    assert lengths.flags.writeable
    after = [posterior.mean([[0.3]]), here.mean, pool.places, query.place, region.points]
    for one, two in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, two)
    assert here.places.tolist() == [[0.0], [1.0]]
    assert belief.weights.tolist() == [0.25, 0.75]
    np.testing.assert_array_equal(batch.lengthscale, [[0.5], [2.0]])
    # The same array with other places in it is asked about anew.
    assert not np.array_equal(posterior.predict(X).mean, here.mean)
    assert not np.array_equal(posterior.marginals(gf.Binary(), X)[0], here.mean)


def test_a_predictive_made_by_hand_has_arrays_of_its_own():
    posterior = gf.GP(gf.SE()).condition(gf.Data())
    X, m, v = np.zeros((2, 1)), np.zeros(2), np.ones(2)
    seen = X.view()
    seen.flags.writeable = False
    for places in (X, seen):
        here = Predictive(posterior, places, m, v)
        assert X.flags.writeable
        assert m.flags.writeable
        assert v.flags.writeable
        X += 1.0
        assert here.places.tolist() != X.tolist()
        X -= 1.0


def test_a_predictive_cannot_be_changed_in_place():
    here = gf.GP(gf.SE()).condition(gf.Data()).predict([[0.0], [1.0]])
    for change in (lambda: here.__iadd__(1.0), lambda: np.add(here, 1.0, out=here), lambda: here.fill(2.0)):
        with pytest.raises(ValueError, match="read-only"):
            change()
