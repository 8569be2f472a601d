"""A mixture of posteriors: quantiles and bands, instruments of each part, shared predictions."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

import gainful as gf
from gainful.numerics.mixture_quantile import mixture_quantile

X = np.linspace(0.0, 1.0, 7)[:, None]
DATA = gf.Data().add(gf.Point(0.1), [[0.1], [0.6]], [1.0, -0.5]).add(gf.Binary(), [[0.8]], [True])


@pytest.fixture(scope="module")
def belief():
    gps = [gf.GP(gf.SE(0.1, 1.0)), gf.GP(gf.SE(0.6, 2.0)), gf.GP(gf.Matern(0.3, 0.5, nu=1.5), gf.ConstantMean(3.0))]
    return gf.Belief([gp.condition(DATA) for gp in gps], [0.2, 0.5, 0.3])


@pytest.mark.parametrize("q", [1e-12, 1e-3, 0.025, 0.5, 0.8, 0.975, 1.0 - 1e-9])
def test_a_quantile_has_just_so_much_of_the_mixture_below_it(q):
    rng = np.random.default_rng(0)
    w, m = rng.dirichlet(np.ones(5)), 3.0 * rng.standard_normal((5, 300))
    sd = np.exp(2.0 * rng.standard_normal((5, 300)))
    x = mixture_quantile(w, m, sd, q)
    np.testing.assert_allclose(w @ ndtr((x - m) / sd), q, rtol=1e-10)
    np.testing.assert_allclose(w @ ndtr((m - x) / sd), 1.0 - q, rtol=1e-10)
    shifted = mixture_quantile(w, 8.0 * m + 4.0, 8.0 * sd, q)
    np.testing.assert_allclose(shifted, 8.0 * x + 4.0, rtol=1e-9, atol=1e-9)


def test_quantiles_of_what_is_certain_are_the_values_themselves():
    m, none = np.array([[0.0], [1.0], [5.0]]), np.zeros((3, 1))
    w = np.array([0.2, 0.3, 0.5])
    for q, wanted in ((0.1, 0.0), (0.3, 1.0), (0.499, 1.0), (0.501, 5.0), (0.9, 5.0)):
        assert mixture_quantile(w, m, none, q)[0] == pytest.approx(wanted, abs=1e-12)
    gap = mixture_quantile(np.array([0.5, 0.5]), np.array([[0.0], [100.0]]), np.full((2, 1), 1e-3), 0.5)
    assert 0.0 < gap[0] < 100.0  # half is below, wherever between the two


def test_the_quantiles_of_a_belief_are_those_of_its_samples(belief):
    levels = [0.025, 0.3, 0.5, 0.975]
    got = belief.quantile(X, levels)
    assert got.shape == (4, 7)
    assert np.all(np.diff(got, axis=0) > 0.0)
    np.testing.assert_array_equal(belief.quantile(X, 0.3), got[1])
    drawn = belief.sample(X, 40_000, 0)
    for q, at in zip(levels, got, strict=True):
        np.testing.assert_allclose((drawn <= at).mean(axis=0), q, atol=0.012)
    low, high = belief.band(X)
    np.testing.assert_allclose(low, got[0], rtol=1e-12)
    np.testing.assert_allclose(high, got[3], rtol=1e-12)


def test_the_quantiles_of_one_posterior_are_normal(belief):
    one = belief.posteriors[1]
    wanted = one.mean(X) + np.sqrt(one.variance(X)) * ndtri(0.9)
    np.testing.assert_allclose(one.quantile(X, 0.9), wanted, rtol=1e-12)
    np.testing.assert_allclose(gf.Belief([one]).quantile(X, 0.9), wanted, rtol=1e-12)
    low, high = one.band(X, 0.5)
    np.testing.assert_allclose([low, high], one.quantile(X, [0.25, 0.75]), rtol=1e-12)


def test_the_quantiles_of_draws_are_those_of_their_mixture():
    post = gf.GP(gf.SE(0.3)).condition(DATA, gf.Sampled(200, 0))
    means, within = post.by_draw(X)
    for believed in (post, gf.Belief([post, post], [0.4, 0.6])):
        at = believed.quantile(X, 0.2)
        np.testing.assert_allclose(ndtr((at - means) / np.sqrt(within)).mean(axis=0), 0.2, atol=1e-9)


def test_what_is_no_probability_is_refused(belief):
    for believed in (belief, belief.posteriors[0]):
        for ask in (
            lambda b=believed: b.quantile(X, 1.0),
            lambda b=believed: b.quantile(X, [0.1, np.nan]),
            lambda b=believed: b.quantile(X, "half"),
            lambda b=believed: b.band(X, 0.0),
            lambda b=believed: b.band(X, "most"),
        ):
            with pytest.raises(gf.InvalidInput, match=r"level|q"):
                ask()


def test_marginals_follow_the_laws_of_total_expectation_and_variance(belief):
    pairs = np.stack([X[:3], X[3:6]], axis=1)
    drawn = belief.sample(pairs.reshape(-1, 1), 200_000, 0).reshape(-1, 3, 2)
    mean, variance = belief.marginals(gf.Preference(0.1), pairs)
    difference = drawn[..., 0] - drawn[..., 1]
    np.testing.assert_allclose(mean, difference.mean(axis=0), atol=0.02)
    np.testing.assert_allclose(variance, difference.var(axis=0), rtol=0.03)
    mean, cov = belief.marginals(gf.Detection(), pairs)
    np.testing.assert_allclose(mean, drawn.mean(axis=0), atol=0.02)
    for i in range(3):
        np.testing.assert_allclose(cov[i], belief.covariance(pairs[i]), rtol=1e-9, atol=1e-12)
    mean, variance = belief.marginals(gf.Point(0.1), X)
    np.testing.assert_allclose(mean, belief.mean(X), rtol=1e-12)
    np.testing.assert_allclose(variance, belief.variance(X), rtol=1e-12)


def test_places_with_their_predictions_are_asked_about_as_the_places_are(belief):
    here = belief.predict(X)
    assert here.mean.shape == (3, 7)
    assert belief.predict(here) is here
    # How many places are asked about at once decides the last digit on some processors.
    np.testing.assert_allclose(here[2:5].part(1).mean, belief.posteriors[1].mean(X[2:5]), rtol=1e-13)
    np.testing.assert_array_equal(np.asarray(here[[0, 3]]), X[[0, 3]])
    for instrument in (gf.Point(0.1), gf.Ordinal([0.0, 1.0], 0.2), gf.Binary()):
        np.testing.assert_allclose(gf.information(belief, instrument, here), gf.information(belief, instrument, X))
    parts = belief.each(gf.Binary(), here)
    assert all(p.posterior.marginals(p.instrument, p.places)[0] is p.places.mean for p in parts)


def test_an_instrument_of_one_part_is_found_by_its_label_and_kind(belief):
    mine = gf.Point(0.7, name="lab")
    several = gf.Belief(belief.posteriors, belief.weights, [{"lab": mine}, {}, {"lab": gf.Point(0.1, name="lab")}])
    lab = gf.Point(0.3, name="lab")
    assert several.instrument_of(0, lab) is mine
    assert several.instrument_of(1, lab) is lab
    assert several.instrument_of(0, gf.Binary(name="lab")) == gf.Binary(name="lab")  # of another kind
    assert several.instrument_of(0, gf.Point(0.3, name="other")).noise == 0.3
    assert several.effective == pytest.approx(1.0 / (0.04 + 0.25 + 0.09))
    leading = several.leading(2)
    assert leading.posteriors == several.posteriors[1:]
    assert leading.instrument_of(1, lab).noise == 0.1
    np.testing.assert_allclose(leading.weights, [0.625, 0.375])


def test_instruments_that_do_not_fit_are_refused(belief):
    for wrong in (
        "lab",
        [{}],
        [{"lab": 3.0}, {}, {}],
        [{}, {}, "lab"],
        [{"lab": gf.Point(0.1)}, {"lab": gf.Binary()}, {}],
        [{"look": gf.Ordinal([0.0])}, {"look": gf.Ordinal([0.0, 1.0])}, {}],
    ):
        with pytest.raises(gf.InvalidInput, match="instruments"):
            gf.Belief(belief.posteriors, belief.weights, wrong)


def test_answers_drawn_for_pending_queries_come_from_each_parts_own_instrument():
    """Of two parts that differ in their noise alone, a far reading leaves the noisy one."""
    post = gf.GP(gf.SE()).condition(gf.Data().add(gf.Point(0.01), [[0.0]], [0.0]))
    own = [{"lab": gf.Point(n, name="lab")} for n in (0.01, 50.0)]
    belief = gf.Belief([post, post], instruments=own)
    after = gf.inference.fantasy.sample_fantasies(belief, [gf.Query(gf.Point(1.0, name="lab"), [0.0])])
    heavy = np.array([each.weights[1] for each in after])
    assert (heavy > 0.99).sum() == 4  # as many draws as its weight is of eight
    assert (heavy < 0.01).sum() == 4
    assert all(each.instruments == belief.instruments for each in after)
    noises = {batch.instrument.noise for each in after for batch in each.posteriors[1].data.batches}
    assert noises == {0.01, 50.0}


def test_a_mixture_whose_parts_are_far_apart_has_its_quantile_without_a_warning():
    """Thirty-eight standard deviations from either part the density is the smallest number there is, and a Newton step
    would be endless: it is a bisection."""
    weights, mean, sd = np.array([0.5, 0.5]), np.array([[0.0], [78.0]]), np.ones((2, 1))
    with np.errstate(all="raise", under="ignore"):
        for q in (0.2, 0.4):
            x = mixture_quantile(weights, mean, sd, q)[0]
            assert weights @ ndtr(x - mean[:, 0]) == pytest.approx(q, abs=1e-12)
