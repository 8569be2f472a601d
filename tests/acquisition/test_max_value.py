"""What an answer tells about the best value: against integration by brute force, and the published formula."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad, simpson
from scipy.special import ndtr
from scipy.stats import norm

import gainful as gf
from gainful.acquisition.max_value import MaxValueEntropy, entropy_lost, values_of_best
from gainful.testing import check_acquisition

SPACE = gf.Space(gf.Real("x", 0, 1))


def by_brute_force(gamma, noise):
    """H[y] − H[y | f ≤ γ] for f ~ N(0, 1) and y = f + noise, in nats: sums over fine grids of both."""
    f = np.linspace(-9.0, gamma, 3001)
    y = np.linspace(-9.0 * np.hypot(1.0, noise), gamma + 9.0 * noise, 1501)
    density = simpson(norm.pdf(f) * norm.pdf(y[:, None], f, noise), x=f, axis=1) / ndtr(gamma)
    after = simpson(-density * np.log(np.maximum(density, 1e-300)), x=y)
    return 0.5 * np.log(2 * np.pi * np.e * (1 + noise**2)) - after


@pytest.mark.parametrize("gamma", [-1.5, 0.0, 0.7, 2.0])
@pytest.mark.parametrize("noise", [0.1, 0.5, 1.5])
def test_a_number_loses_what_integration_says(gamma, noise):
    found = entropy_lost(np.array([gamma]), np.array([1.0 / (1.0 + noise**2)]))[0]
    assert found == pytest.approx(by_brute_force(gamma, noise), abs=1e-6)


def test_without_noise_it_is_the_published_formula_and_with_a_little_it_comes_near():
    gamma = np.array([-3.0, -0.5, 0.0, 1.0, 4.0])
    published = gamma * norm.pdf(gamma) / (2 * ndtr(gamma)) - np.log(ndtr(gamma))
    np.testing.assert_allclose(entropy_lost(gamma, np.ones(5)), published, rtol=1e-12)
    np.testing.assert_allclose(entropy_lost(gamma, np.full(5, 1.0 - 1e-8)), published, atol=2e-3)


def test_both_ways_of_integrating_agree_where_they_meet():
    gamma = np.linspace(-3.0, 4.0, 15)
    below, above = (entropy_lost(gamma, np.full(15, 1.0 - noise**2)) for noise in (0.7 - 1e-9, 0.7 + 1e-9))
    np.testing.assert_allclose(below, above, atol=1e-7)


def test_the_values_of_the_best_are_quantiles_of_the_largest():
    rng = np.random.default_rng(0)
    mean, sd = rng.normal(size=20), rng.uniform(0.2, 1.5, 20)
    drawn = np.max(mean + sd * rng.normal(size=(200_000, 20)), axis=1)
    np.testing.assert_allclose(values_of_best(mean, sd, 4), np.quantile(drawn, [0.125, 0.375, 0.625, 0.875]), atol=0.02)
    assert values_of_best(np.array([1.0, 2.0]), np.zeros(2), 2) == pytest.approx([2.0, 2.0], abs=1e-6)


@pytest.mark.parametrize("instrument", [gf.Binary(threshold=0.3), gf.Ordinal(thresholds=[-0.5, 0.4], noise=0.5)])
@pytest.mark.parametrize("sign", [1, -1])
def test_other_answers_diverge_as_integration_says(instrument, sign):
    posterior = gf.GP(gf.SE(0.3, 1.0)).condition(gf.Data().add(gf.Point(0.1), [[0.2], [0.7]], [0.5, -0.4]))
    place, limit = np.array([[0.45]]), 0.9
    m, v = float(posterior.mean(place)[0]), float(posterior.variance(place)[0])
    goal = MaxValueEntropy(sign, over=[[0.5]], values=1, best={0: (limit,)})
    answers = instrument.outcomes(np.array([m]), np.array([v]))[0][:, 0]

    def chance(answer, low, high):
        inside = quad(lambda f: norm.pdf(f, m, np.sqrt(v)) * np.exp(
            instrument.log_prob(np.array([answer]), np.array([f]))[0]), low, high, limit=200)[0]  # fmt: skip
        return inside / (norm.cdf(high, m, np.sqrt(v)) - norm.cdf(low, m, np.sqrt(v)))

    ends = (m - 9 * np.sqrt(v), m + 9 * np.sqrt(v))
    cut = (ends[0], limit) if sign > 0 else (-limit, ends[1])
    before, after = (np.array([chance(a, *where) for a in answers]) for where in (ends, cut))
    found = goal.score(posterior, instrument, place)[0]
    assert found == pytest.approx(np.sum(after * np.log2(after / before)), abs=1e-5)


def test_it_is_an_acquisition_like_the_others():
    data = gf.Data().add(gf.Point(0.1, name="lab"), [[0.2], [0.5], [0.9]], [0.1, 0.6, -0.3])
    posterior = gf.GP(gf.SE(0.2, 1.0)).condition(data)
    goal = MaxValueEntropy(over=SPACE.candidates(40, 0)).prepare(posterior)
    check_acquisition(goal, posterior, gf.Point(0.1), [[0.1], [0.4], [0.77]])
    belief = gf.Belief([posterior, posterior], [0.3, 0.7])
    np.testing.assert_allclose(
        MaxValueEntropy(over=[[0.5]]).score(belief, gf.Point(0.1), [[0.4]]),
        MaxValueEntropy(over=[[0.5]]).score(posterior, gf.Point(0.1), [[0.4]]),
    )
    with pytest.raises(gf.InvalidInput, match="place by place"):
        goal.score(posterior, gf.Preference(), [[[0.1], [0.2]]])


def test_a_campaign_finds_the_best_place_by_it():
    campaign = gf.Campaign(SPACE, gf.Point(0.05), gf.GP(gf.SE(0.15, 1.0)), goal="max-value-entropy", seed=0)
    for _ in range(12):
        query = campaign.ask()
        campaign.tell(query, float(np.sin(7 * query.place[0]) + query.place[0]))
    assert campaign.best("maximise").place[0] == pytest.approx(1.0, abs=0.15)
    assert "bits about how good the best place is" in str(campaign.why(11))
