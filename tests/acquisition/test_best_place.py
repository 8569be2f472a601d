"""What an answer tells about where the best place is: against beliefs conditioned on it, and integration."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import norm

import gainful as gf
from gainful.acquisition import BestPlace, MaxValueEntropy
from gainful.acquisition.best_place import Optima
from gainful.testing import check_acquisition

SPACE = gf.Space(gf.Real("x", 0, 1))
DATA = gf.Data().add(gf.Point(0.1, name="lab"), [[0.2], [0.7]], [0.5, -0.4])
GP = gf.GP(gf.SE(0.3, 1.0))
PLACE, THERE, VALUE = np.array([[0.45]]), np.array([[0.3]]), 0.9


def drawn(sign, posterior):
    """One draw: the best is at 0.3, and sign · f is 0.9 there."""
    best = Optima(THERE, np.array([VALUE]), posterior.mean(THERE), posterior.variance(THERE))
    return BestPlace(sign, over=[[0.5]], draws=1, best={0: best})


def conditioned(sign):
    """Mean and standard deviation of f at the place, if f is known there: by the GP itself."""
    known = GP.condition(DATA.add(gf.Point(1e-6, name="told"), THERE, [sign * VALUE]))
    return float(known.mean(PLACE)[0]), float(np.sqrt(known.variance(PLACE)[0]))


@pytest.mark.parametrize("noise", [0.1, 1.0])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_reading_loses_the_entropy_that_integration_says(noise, sign):
    posterior = GP.condition(DATA)
    mean, sd = conditioned(sign)
    limit = (sign * VALUE - mean) * sign

    def density(y):  # of a reading, f cut off where it would be better than the best
        within = np.hypot(sd, noise)
        post = sd**2 / within**2 * (y - mean), sd * noise / within
        return norm.pdf(y, mean, within) * ndtr((limit - sign * post[0]) / post[1]) / ndtr(limit / sd)

    ends = mean - 9 * np.hypot(sd, noise), mean + 9 * np.hypot(sd, noise)
    after = quad(lambda y: -density(y) * np.log2(max(density(y), 1e-300)), *ends, limit=400)[0]
    before = 0.5 * np.log2(2 * np.pi * np.e * (float(posterior.variance(PLACE)[0]) + noise**2))
    found = drawn(sign, posterior).score(posterior, gf.Point(noise), PLACE)[0]
    assert found == pytest.approx(max(before - after, 0.0), abs=1e-5)


@pytest.mark.parametrize("instrument", [gf.Binary(threshold=0.3), gf.Ordinal(thresholds=[-0.5, 0.4], noise=0.5)])
@pytest.mark.parametrize("sign", [1, -1])
def test_other_answers_diverge_as_integration_says(instrument, sign):
    posterior = GP.condition(DATA)
    m, sd = float(posterior.mean(PLACE)[0]), float(np.sqrt(posterior.variance(PLACE)[0]))
    answers = instrument.outcomes(np.array([m]), np.array([sd**2]))[0][:, 0]

    def chance(answer, mean, sd, low, high):
        inside = quad(lambda f: norm.pdf(f, mean, sd) * np.exp(
            instrument.log_prob(np.array([answer]), np.array([f]))[0]), low, high, limit=200)[0]  # fmt: skip
        return inside / (norm.cdf(high, mean, sd) - norm.cdf(low, mean, sd))

    mean, narrow = conditioned(sign)
    cut = (mean - 9 * narrow, VALUE) if sign > 0 else (-VALUE, mean + 9 * narrow)
    before = np.array([chance(a, m, sd, m - 9 * sd, m + 9 * sd) for a in answers])
    after = np.array([chance(a, mean, narrow, *cut) for a in answers])
    found = drawn(sign, posterior).score(posterior, instrument, PLACE)[0]
    assert found == pytest.approx(np.sum(after * np.log2(after / before)), abs=1e-4)


def test_draws_are_best_where_the_function_is():
    """How often each of a few places is the best, and how good it is on average, by a million draws of the belief."""
    posterior = GP.condition(DATA)
    places = np.array([[0.0], [0.2], [0.4], [0.7], [1.0]])
    f = np.random.default_rng(1).multivariate_normal(posterior.mean(places), posterior.covariance(places), 10**6)
    best = BestPlace(-1, over=places, draws=20_000).prepare(posterior).best[0]
    shares = [np.mean(np.all(best.places == place, axis=1)) for place in places]
    np.testing.assert_allclose(shares, np.bincount(np.argmin(f, axis=1), minlength=5) / 10**6, atol=0.012)
    assert best.values.mean() == pytest.approx(-f.min(axis=1).mean(), abs=0.02)


def test_the_place_tells_more_than_the_value_alone():
    """Both ask what is lost by the same cut; the place itself is known besides."""
    posterior = GP.condition(DATA)
    over = SPACE.candidates(40, 0)
    places = np.linspace(0.05, 0.95, 9)[:, None]
    both, value = (
        goal.score(posterior, gf.Point(0.1), places) for goal in (BestPlace(over=over), MaxValueEntropy(over=over))
    )
    assert both.mean() > value.mean()


def test_it_is_an_acquisition_like_the_others():
    posterior = GP.condition(DATA)
    goal = BestPlace(over=SPACE.candidates(40, 0)).prepare(posterior)
    check_acquisition(goal, posterior, gf.Point(0.1), [[0.1], [0.4], [0.77]])
    belief = gf.Belief([posterior, posterior], [0.3, 0.7])
    few = BestPlace(over=[[0.5], [0.9]])
    np.testing.assert_allclose(few.score(belief, gf.Point(0.1), PLACE), few.score(posterior, gf.Point(0.1), PLACE))
    known = GP.condition(gf.Data().add(gf.Point(0.0, name="exact"), [[0.5]], [1.0]))
    assert BestPlace(over=[[0.5]]).score(known, gf.Point(0.1), [[0.5]]).tolist() == [0.0]


def test_a_campaign_by_its_name_finds_the_top():
    campaign = gf.Campaign(SPACE, gf.Point(0.05), gf.GP(gf.SE(0.15, 1.0)), goal="best-place", seed=0)
    for _ in range(10):
        query = campaign.ask()
        campaign.tell(query, float(np.exp(-((query.place[0] - 0.62) ** 2) / 0.02)))
    assert abs(campaign.best().place[0] - 0.62) < 0.03
    assert "bits about where the best place is" in str(campaign.why(9))


def test_what_it_cannot_ask_is_said():
    posterior = GP.condition(DATA)
    with pytest.raises(gf.InvalidInput, match="place by place"):
        BestPlace(over=[[0.5]]).score(posterior, gf.Preference(), [[[0.1], [0.2]]])
    with pytest.raises(gf.InvalidInput, match="32 is usual"):
        BestPlace(draws=0)
