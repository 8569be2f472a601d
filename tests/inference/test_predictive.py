"""A prediction that is made once and asked many times: it stands for its places, and holds their moments."""

import numpy as np
import pytest

import gainful as gf
from gainful.data import as_queries
from gainful.inference.predicting import Predictor

INSTRUMENTS = [gf.Point(0.1), gf.Binary(), gf.Ordinal([0.0, 1.0], 0.2), gf.Interval(0.1, width=0.5)]


@pytest.fixture
def post():
    rng = np.random.default_rng(0)
    X = rng.random((12, 2))
    data = gf.Data().add(gf.Point(0.1), X[:6], np.sin(4.0 * X[:6, 0]))
    return gf.GP(gf.SE(0.5)).condition(data.add(gf.Binary(), X[6:], X[6:, 1] > 0.5))


@pytest.fixture
def places():
    return np.random.default_rng(1).random((7, 2))


def _predictions(monkeypatch):
    """How many places were predicted each time, as a list that grows."""
    calls, original = [], Predictor.cross
    monkeypatch.setattr(Predictor, "cross", lambda self, X: calls.append(len(X)) or original(self, X))
    return calls


def test_it_holds_what_the_posterior_says_of_the_places(post, places):
    here = post.predict(places)
    np.testing.assert_array_equal(here.mean, post.mean(places))
    np.testing.assert_array_equal(here.variance, post.variance(places))
    np.testing.assert_array_equal(here.places, places)
    assert post.predict(here) is here
    assert (len(here), here.shape) == (7, (7, 2))
    assert repr(here).startswith("Predictive(7 places")


def test_instruments_that_see_a_place_share_the_held_moments(post, places, monkeypatch):
    wanted = [post.marginals(instrument, places) for instrument in INSTRUMENTS]
    predicted = _predictions(monkeypatch)
    here = post.predict(places)
    for instrument, (mean, variance) in zip(INSTRUMENTS, wanted, strict=True):
        got = post.marginals(instrument, here)
        np.testing.assert_array_equal(got[0], mean)
        np.testing.assert_array_equal(got[1], variance)
        gf.information(post, instrument, here)
    assert predicted == [7]


def test_it_stands_for_its_places_wherever_places_are_expected(post, places):
    here = post.predict(places)
    np.testing.assert_array_equal(np.asarray(here), places)
    np.testing.assert_array_equal(np.asarray(here, dtype=np.float32), places.astype(np.float32))
    np.testing.assert_array_equal(as_queries(gf.Binary(), here)[0], places)
    np.testing.assert_array_equal(post.mean(here), here.mean)
    np.testing.assert_array_equal(post.covariance(here), post.covariance(places))
    np.testing.assert_array_equal(gf.information(post, gf.Binary(), here), gf.information(post, gf.Binary(), places))
    with pytest.raises(gf.InvalidInput):
        post.marginals(gf.Preference(), post.predict(places))
    assert np.array(here).flags.writeable
    assert len(post.data.add(gf.Point(0.1), here, np.zeros(7))) == 19


def test_another_posterior_predicts_for_itself(post, places):
    less, here = post.without(0), post.predict(places)
    np.testing.assert_array_equal(less.marginals(gf.Binary(), here)[0], less.mean(places))
    assert not np.allclose(less.marginals(gf.Binary(), here)[0], here.mean)
    assert less.predict(here).posterior is less


@pytest.mark.parametrize("index", [slice(2, 5), np.array([4, 0]), np.arange(7) % 2 == 0], ids=["slice", "list", "mask"])
def test_a_part_of_it_is_a_prediction_and_one_of_it_is_a_place(post, places, index, monkeypatch):
    here = post.predict(places)
    predicted = _predictions(monkeypatch)
    part = here[index]
    np.testing.assert_array_equal(np.asarray(part), places[index])
    np.testing.assert_array_equal(post.marginals(gf.Binary(), part)[1], here.variance[index])
    np.testing.assert_array_equal(here[3], places[3])
    assert gf.Query(gf.Binary(), here[np.argmax(here.mean)]).place.shape == (2,)
    assert predicted == []


def test_it_does_not_change_with_the_array_it_was_made_of_nor_by_hand(post, places):
    here, before = post.predict(places), post.mean(places)
    places += 0.1
    np.testing.assert_array_equal(post.marginals(gf.Binary(), here)[0], before)
    for array in (here.places, here.mean, here.variance, here[1:].mean):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0


def test_moments_are_not_remembered_behind_the_callers_back(post, places):
    places.flags.writeable = False
    first = post.marginals(gf.Binary(), places)[0]
    assert first.flags.writeable
    assert post.marginals(gf.Binary(), places)[0] is not first
    fields = {"prior_mean", "kernel", "data", "solution", "inference", "behind", "count"}
    assert set(vars(post)) <= fields | {"predictor", "response", "layout", "process"}
    known = {"prior_mean", "kernel", "layout", "sites", "known"}
    assert set(vars(post.predictor)) <= known | {"weights", "each"}
