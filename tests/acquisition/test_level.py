"""The side of a level, against brute-force integration over the value asked about, the reference and the answer."""

from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
from scipy.special import ndtr

import gainful as gf
from gainful.acquisition.level import Level, explained_of_event
from gainful.testing import check_acquisition

PLACES = np.linspace(-0.5, 2.5, 5)[:, None]
REFERENCE = np.array([[0.1], [0.9], [1.7]])
VALUE = 0.4
POSTERIOR = gf.GP(gf.SE(0.6, 2.0)).condition(
    gf.Data().add(gf.Point(0.3), [[0.0], [0.7], [2.0]], [0.4, 1.3, -0.6]).add(gf.Binary(), [[1.2]], [True])
)
EXACT = {
    "number": (gf.Point(0.5), np.linspace(-10, 10, 2001)),
    "yes/no": (gf.Binary(), np.array([0.0, 1.0])),
    "careless": (gf.Binary(guess=0.2, lapse=0.1), np.array([0.0, 1.0])),
    "ranks": (gf.Ordinal([-0.5, 0.8, 1.4], 0.2), np.array([1.0, 2.0, 3.0, 4.0])),
}
AS_NUMBERS = {
    "count": (gf.Count(), np.arange(3000.0)),
    "so many of ten": (gf.Binomial(trials=10), np.arange(11.0)),
    "heavy tails": (gf.StudentT(0.3, df=4.0), np.sinh(np.linspace(-6, 6, 1201))),
}


def _variance_explained(m, v, there, spread, cross, instrument, y):
    """Var_y P(f_r > VALUE | y) by sums over g and y; at its own place the event has an edge at the level."""
    x, w = np.polynomial.legendre.leggauss(300)
    ends = [-8.5, np.clip((VALUE - m) / np.sqrt(v), -8.4, 8.4), 8.5]
    z = np.concatenate([a + (b - a) * 0.5 * (1 + x) for a, b in pairwise(ends)])
    weight = np.concatenate([(b - a) * 0.5 * w for a, b in pairwise(ends)]) * np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
    g = m + np.sqrt(v) * z
    left = np.sqrt(max(spread - cross**2 / v, 1e-30))
    above = ndtr((there + cross / v * (g - m) - VALUE) / left)
    likelihood = np.exp(instrument.log_prob(y[:, None], g))
    p = likelihood @ weight
    measure = np.gradient(y) if instrument.values is None and not isinstance(instrument, gf.Count) else np.ones(len(y))
    after = (likelihood * above) @ weight / np.maximum(p, 1e-300)
    return np.sum(measure * p * (after - weight @ above) ** 2)


def _brute_force(instrument, y, reference):
    m, v = POSTERIOR.mean(PLACES), POSTERIOR.variance(PLACES)
    wanted = []
    for i, place in enumerate(PLACES):
        places = place[None] if reference is None else reference
        cov = POSTERIOR.covariance(place[None], places)[0]
        moments = zip(POSTERIOR.mean(places), POSTERIOR.variance(places), cov, strict=True)
        wanted.append(np.mean([_variance_explained(m[i], v[i], *each, instrument, y) for each in moments]))
    return np.array(wanted)


@pytest.mark.parametrize("reference", [None, REFERENCE], ids=["at the place", "at a reference"])
@pytest.mark.parametrize("name", EXACT)
def test_what_is_settled_is_the_variance_of_the_probability_to_be_above(name, reference):
    instrument, y = EXACT[name]
    got = Level(VALUE, reference).score(POSTERIOR, instrument, PLACES)
    assert got == pytest.approx(_brute_force(instrument, y, reference), rel=1e-4)


@pytest.mark.parametrize("name", AS_NUMBERS)
def test_other_answers_count_as_numbers_that_explain_as_much(name):
    instrument, y = AS_NUMBERS[name]
    got = Level(VALUE, REFERENCE).score(POSTERIOR, instrument, PLACES)
    assert got == pytest.approx(_brute_force(instrument, y, REFERENCE), rel=0.4)


def test_numbers_by_the_general_way_are_numbers_by_their_own_formula():
    lab = gf.Point(0.5)
    for reference in (None, REFERENCE):
        goal = Level(VALUE, reference)
        watched = goal._watched(POSTERIOR, lab)
        general = goal._by_share(POSTERIOR, lab, PLACES, watched)
        np.testing.assert_allclose(general, goal.score(POSTERIOR, lab, PLACES), rtol=1e-9)


@pytest.mark.parametrize("h", [0.0, 0.3, -1.0, 2.5, -6.0])
@pytest.mark.parametrize("rho", [1e-9, 0.1, 0.7, 0.999, 1.0])
def test_the_share_of_an_event_equals_mpmath(h, rho):
    with mp.workdps(30):
        wanted = mp.quad(lambda t: mp.exp(-(mp.mpf(h) ** 2) / (1 + mp.sin(t))), [0, mp.asin(rho)]) / (2 * mp.pi)
    assert explained_of_event(np.array([h]), np.array([rho]))[0] == pytest.approx(float(wanted), rel=1e-9)


def test_a_number_without_noise_settles_all_that_is_unsettled_at_its_place():
    p = Level(VALUE).probability(POSTERIOR, PLACES)
    np.testing.assert_allclose(Level(VALUE).score(POSTERIOR, gf.Point(0.0), PLACES), p * (1 - p), rtol=1e-10)
    mean, sd = POSTERIOR.mean(PLACES), np.sqrt(POSTERIOR.variance(PLACES))
    np.testing.assert_allclose(p, ndtr((mean - VALUE) / sd))


def test_nothing_is_settled_where_everything_is_known():
    sure = gf.GP(gf.SE()).condition(gf.Data().add(gf.Point(0.0), [[0.0]], [0.3]))
    for instrument in (gf.Point(0.0), gf.Point(0.1), gf.Binary(), gf.Count()):
        assert Level(0.3).score(sure, instrument, [[0.0]]).tolist() == [0.0]
        assert Level(0.3, [[0.0]]).score(sure, instrument, [[0.0], [0.4]]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    "instrument", [gf.Point(0.2), gf.Binary(), gf.Interval(0.1, width=0.4), gf.Preference(0.3), gf.Detection()], ids=str
)
def test_every_instrument_may_ask_and_scores_conform(instrument):
    queries = PLACES if instrument.query == "place" else np.stack([PLACES[:3], PLACES[2:]], axis=1)
    check_acquisition(Level(VALUE, REFERENCE), POSTERIOR, instrument, queries)
    assert np.all(Level(VALUE, REFERENCE).score(POSTERIOR, instrument, queries) > 0.0)


def test_gradients_are_those_of_the_scores():
    goal, lab = Level(VALUE, REFERENCE), gf.Point(0.2)
    _, slopes = goal.score_and_gradient(POSTERIOR, lab, PLACES)
    up, down = (goal.score(POSTERIOR, lab, PLACES + step) for step in (1e-5, -1e-5))
    np.testing.assert_allclose(slopes[:, 0], (up - down) / 2e-5, rtol=1e-5, atol=1e-9)
    assert goal.score_and_gradient(POSTERIOR, gf.Binary(), PLACES) is None


def test_moving_the_level_with_the_function_changes_nothing():
    data = gf.Data().add(gf.Point(0.3), [[0.0], [0.7]], np.array([0.4, 1.3]) + 600.0)
    moved = gf.GP(gf.SE(0.6, 2.0), gf.ConstantMean(600.0)).condition(data)
    plain = gf.GP(gf.SE(0.6, 2.0)).condition(gf.Data().add(gf.Point(0.3), [[0.0], [0.7]], [0.4, 1.3]))
    here, there = (Level(v, REFERENCE).score(p, gf.Point(0.2), PLACES) for v, p in ((0.4, plain), (600.4, moved)))
    np.testing.assert_allclose(there, here, rtol=1e-9)


def test_a_level_says_what_it_needs():
    with pytest.raises(gf.InvalidInput, match=r"value: .*finite"):
        Level("high")
    with pytest.raises(gf.InvalidInput, match=r"reference: .*Level\(value, reference\)"):
        Level(0.5).score(POSTERIOR, gf.Preference(), np.zeros((1, 2, 1)))
