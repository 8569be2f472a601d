"""Uncertainty sampling and the published closed form, against the definitions by enumeration and dense integration."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.special import ndtr

import gainful as gf
from gainful.acquisition.published.closed_form import BALDClosedForm, probit_information
from gainful.acquisition.uncertainty import Entropy, LeastConfidence, Margin
from gainful.information.single import information_given
from gainful.testing import check_acquisition

X = np.array([[0.0], [0.15], [0.4], [0.85], [1.6]])
PAIRS = np.stack([X[:-1], X[1:]], axis=1)
DISCRETE = [
    (gf.Binary(), X),
    (gf.Binary(0.1, 0.05), X),
    (gf.Ordinal([-0.4, 0.5, 0.7], 0.1), X),
    (gf.Preference(0.3), PAIRS),
    (gf.Detection(), PAIRS),
]
NUMBERS = [(gf.Point(0.3), X), (gf.Interval(0.2, width=0.6), X)]
GOALS = [LeastConfidence(), Margin(), Entropy()]


@pytest.fixture(scope="module")
def post():
    data = gf.Data().add(gf.Point(0.2), [[0.0], [0.5]], [1.0, -0.5]).add(gf.Binary(), [[0.8]] * 3, [True] * 3)
    return gf.GP(gf.SE(0.3, 2.0)).condition(data)


@pytest.fixture(scope="module")
def belief(post):
    return gf.Belief([post, gf.GP(gf.SE(0.1, 1.0), gf.ConstantMean(2.0)).condition(post.data)], [0.3, 0.7])


def _predicted(post, instrument, query, nodes=301):
    """P(answer) by a tensor grid over the values at the query's places, and the sentences that define the answers."""
    places = np.atleast_2d(query)
    z = np.linspace(-9, 9, nodes)
    weight = np.exp(-0.5 * z**2)
    weight /= weight.sum()
    mean, root = post.mean(places), np.linalg.cholesky(post.covariance(places) + 1e-14 * np.eye(len(places)))
    if len(places) == 1:
        f = mean + root[0, 0] * z[:, None]
    else:
        grid = np.stack(np.meshgrid(z, z, indexing="ij"), axis=-1).reshape(-1, 2)
        f, weight = mean + grid @ root.T, np.outer(weight, weight).ravel()
    if isinstance(instrument, gf.Ordinal):
        edges = [-np.inf, *instrument.thresholds, np.inf]
        p = [
            ndtr((b - f[:, 0]) / instrument.noise) - ndtr((a - f[:, 0]) / instrument.noise) for a, b in pairwise(edges)
        ]
    else:
        if isinstance(instrument, gf.Detection):
            yes = 1 - np.prod(ndtr(-f), axis=1)
        elif isinstance(instrument, gf.Preference):
            yes = ndtr((f[:, 0] - f[:, 1]) / (np.sqrt(2) * instrument.noise))
        else:
            yes = instrument.guess + (1 - instrument.guess - instrument.lapse) * ndtr(f[:, 0])
        p = [1 - yes, yes]
    return np.array([weight @ each for each in p])


@pytest.mark.parametrize(("instrument", "queries"), DISCRETE)
def test_scores_of_discrete_answers_are_those_of_the_enumerated_probabilities(post, belief, instrument, queries):
    for believed in (post, belief):
        parts = [(1.0, post)] if believed is post else list(zip(belief.weights, belief.posteriors, strict=True))
        p = np.array([sum(w * _predicted(part, instrument, q) for w, part in parts) for q in queries])
        top = -np.sort(-p, axis=1)
        wanted = {
            LeastConfidence(): 1 - top[:, 0],
            Margin(): 1 - (top[:, 0] - top[:, 1]),
            Entropy(): -np.sum(p * np.log2(p), axis=1),
        }
        for goal, scores in wanted.items():
            np.testing.assert_allclose(goal.score(believed, instrument, queries), scores, atol=1e-6)


def test_of_numbers_the_entropy_is_largest_where_the_variance_is(post):
    places = np.linspace(-1, 2, 301)[:, None]
    for instrument, _ in NUMBERS:
        bits = Entropy().score(post, instrument, places)
        np.testing.assert_array_equal(np.argsort(bits), np.argsort(post.variance(places)))
    variance = post.variance(X) + 0.09
    np.testing.assert_allclose(Entropy().score(post, gf.Point(0.3), X), 0.5 * np.log2(2 * np.pi * np.e * variance))


def test_of_numbers_the_entropy_is_the_integral_of_the_predictive_density(post, belief):
    y = np.linspace(-14, 14, 40001)
    for believed in (post, belief):
        for instrument, _ in NUMBERS:
            got = Entropy().score(believed, instrument, X[[2, 4]])
            for bits, place in zip(got, X[[2, 4]], strict=True):
                log_p = believed.answers(instrument, np.repeat(place[None], len(y), axis=0)).log_prob(y)
                p = np.exp(log_p)
                assert bits == pytest.approx(np.trapezoid(-p * log_p, y) / np.log(2), abs=1e-6)


def test_information_is_the_entropy_less_what_noise_leaves(post):
    """H[y] − I(y; f) does not depend on the place where noise does not: maximum entropy is BALD for numbers."""
    for instrument, _ in NUMBERS:
        left = Entropy().score(post, instrument, X) - gf.information(post, instrument, X)
        np.testing.assert_allclose(left, left[0], atol=1e-7)


def test_near_certainty_keeps_its_order():
    beliefs = [gf.GP(gf.SE(1.0, 1e-6), gf.ConstantMean(m)).condition(gf.Data()) for m in (9.0, 10.0, 12.0, 20.0)]
    for goal in GOALS:
        scores = [goal.score(sure, gf.Binary(), [[0.0]])[0] for sure in beliefs]
        assert np.all(np.diff(scores) < 0)
        assert scores[-1] > 0


@pytest.mark.parametrize("goal", GOALS, ids=lambda goal: type(goal).__name__)
def test_uncertainty_satisfies_what_every_goal_must(post, belief, goal):
    for instrument, queries in DISCRETE + (NUMBERS if isinstance(goal, Entropy) else []):
        check_acquisition(goal, post, instrument, queries)
        check_acquisition(goal, belief, instrument, queries)


def test_numbers_have_no_likeliest_answer(post):
    for goal in GOALS[:2]:
        for instrument, queries in NUMBERS:
            with pytest.raises(gf.InvalidInput, match="discrete"):
                goal.score(post, instrument, queries)
    with pytest.raises(gf.InvalidInput, match="width"):
        Entropy().score(post, gf.Interval(0.1), X)


def test_the_closed_form_is_within_its_published_error_everywhere():
    m, sd = np.meshgrid(np.linspace(0, 12, 121), np.geomspace(1e-4, 1e3, 120))
    m, v = m.ravel(), sd.ravel() ** 2
    exact = information_given(gf.Binary(), m, v)
    worst = np.max(np.abs(probit_information(m, v) - exact))
    assert 0.0025 < worst < 0.0027
    z, weight = np.polynomial.hermite_e.hermegauss(200)
    p = ndtr(2.05 + 1e-3 * z)
    direct = (weight / weight.sum()) @ (-p * np.log2(p) - (1 - p) * np.log2(1 - p))
    assert abs(np.exp(-(2.05**2) / (np.pi * np.log(2))) - direct) == pytest.approx(worst, abs=2e-5)


def test_the_closed_form_is_a_goal_with_its_derivative(post):
    goal = BALDClosedForm()
    check_acquisition(goal, post, gf.Binary(), X)
    check_acquisition(goal, post, gf.Preference(0.3), PAIRS)
    m, v = post.mean(X), post.variance(X)
    np.testing.assert_allclose(goal.score(post, gf.Binary(), X), probit_information(m, v))


def test_a_preference_is_a_yes_or_no_about_the_difference_in_units_of_its_noise(post):
    m, v = post.marginals(gf.Preference(0.3), PAIRS)
    scaled = probit_information(m / (0.3 * np.sqrt(2)), v / (2 * 0.09))
    got = BALDClosedForm().score(post, gf.Preference(0.3), PAIRS)
    np.testing.assert_allclose(got, scaled)
    np.testing.assert_allclose(got, BALDClosedForm().score(post, gf.Preference(0.3), PAIRS[:, ::-1]))
    np.testing.assert_allclose(got, gf.information(post, gf.Preference(0.3), PAIRS), atol=0.0027)


def test_the_closed_form_is_refused_where_it_was_not_published(post, belief):
    for believed, instrument, queries in (
        (post, gf.Binary(guess=0.1), X),
        (post, gf.Binary(lapse=0.1), X),
        (post, gf.Preference(0.0), PAIRS),
        (post, gf.Ordinal([0.0, 1.0], 1.0), X),  # one threshold at zero with unit noise would be the same yes/no
        (post, gf.Point(0.1), X),
        (belief, gf.Binary(guess=0.1), X),
    ):
        with pytest.raises(gf.InvalidInput, match="Learn"):
            BALDClosedForm().score(believed, instrument, queries)
