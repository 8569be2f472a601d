"""A set of places heard as one: P(yes | f) = 1 − Π Φ(−f_j)."""

from __future__ import annotations

import numpy as np
import oracles
import pytest
from oracles import Seen

import gainful as gf

TONES = gf.Detection()
PLACES = np.array([[0.0, 0.1], [0.5, -0.4], [1.6, 0.8], [-0.7, 1.9]])
BELIEFS = {
    "weak": (gf.SE(1.0, 0.5), gf.ConstantMean(0.0)),
    "wide": (gf.SE(1.0, 9.0), gf.ConstantMean(-1.0)),
    "sure of no": (gf.Matern(0.7, 1.0, nu=1.5), gf.ConstantMean(-4.0)),
    "sure of yes": (gf.SE(2.0, 1.0), gf.ConstantMean(3.0)),
    "sloping": (gf.Linear(0.3) + gf.SE(0.6, 1.0), gf.LinearMean((1.0, -2.0), 0.2)),
}


def one_set(k: int, answer: bool) -> gf.Data:
    return gf.Data().add(TONES, PLACES[None, :k], [answer])


def truth(kernel: gf.Kernel, mean: gf.Mean, k: int, answer: bool, spacing: float = 0.25) -> oracles.Moments:
    seen = [Seen(TONES, answer, tuple(range(k)))]
    return oracles.grid_moments(seen, mean(PLACES[:k]), kernel(PLACES[:k]), spacing)


def assert_moments(post: gf.Posterior, wanted: oracles.Moments, tolerance: float) -> None:
    k = len(wanted.mean)
    sd = np.sqrt(np.diagonal(wanted.variance))
    assert post.converged
    assert abs(post.log_evidence - wanted.log_z) <= tolerance * max(1.0, abs(wanted.log_z))
    assert np.max(np.abs(post.mean(PLACES[:k]) - wanted.mean) / sd) <= tolerance
    assert np.max(np.abs(post.covariance(PLACES[:k]) - wanted.variance) / np.outer(sd, sd)) <= tolerance
    np.testing.assert_allclose(post.variance(PLACES[:k]), np.diagonal(post.covariance(PLACES[:k])), rtol=1e-12)


@pytest.mark.parametrize("name", BELIEFS)
def test_ep_is_exact_for_one_yes_of_two_places(name: str) -> None:
    kernel, mean = BELIEFS[name]
    post = gf.GP(kernel, mean=mean).condition(one_set(2, True))
    assert_moments(post, truth(kernel, mean, 2, True, spacing=0.1), 1e-8)


@pytest.mark.parametrize("name", ["weak", "wide", "sloping"])
def test_ep_is_exact_for_one_yes_of_three_places(name: str) -> None:
    kernel, mean = BELIEFS[name]
    post = gf.GP(kernel, mean=mean).condition(one_set(3, True))
    assert_moments(post, truth(kernel, mean, 3, True), 1e-6)


@pytest.mark.parametrize("answer", [True, False])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("name", BELIEFS)
def test_the_predicted_probability_of_a_detection_is_an_integral(name: str, k: int, answer: bool) -> None:
    """Before any data, P(yes) and P(no) are the evidence of a yes and of a no, and they sum to one."""
    kernel, mean = BELIEFS[name]
    predicted = gf.GP(kernel, mean=mean).condition(gf.Data()).answers(TONES, PLACES[None, :k])
    wanted = truth(kernel, mean, k, answer, spacing=0.1 if k == 2 else 0.25).log_z
    assert predicted.log_prob([answer])[0] == pytest.approx(wanted, rel=1e-8)
    assert predicted.probabilities.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("name", BELIEFS)
def test_the_evidence_of_one_yes_is_its_predicted_probability(name: str) -> None:
    kernel, mean = BELIEFS[name]
    gp = gf.GP(kernel, mean=mean)
    for k in (1, 2, 3, 4):
        predicted = gp.condition(gf.Data().add(gf.Point(noise=1e6), PLACES[:1], [0.0])).answers(TONES, PLACES[None, :k])
        assert gp.condition(one_set(k, True)).log_evidence == pytest.approx(predicted.log_prob([True])[0], rel=1e-7)


CARELESS = {
    "guesses": gf.Detection(0.1),
    "lapses": gf.Detection(lapse=0.05),
    "both": gf.Detection(0.02, 0.04),
    "in a unit": gf.Detection(0.1, 0.05, threshold=0.4, noise=0.6),
}


@pytest.mark.parametrize("answer", [True, False])
@pytest.mark.parametrize("tones", CARELESS)
@pytest.mark.parametrize("name", BELIEFS)
def test_ep_is_exact_for_one_careless_answer_of_two_places(name: str, tones: str, answer: bool) -> None:
    """Guesses and lapses couple the places of a no as well: it keeps its block."""
    kernel, mean = BELIEFS[name]
    data = gf.Data().add(CARELESS[tones], PLACES[None, :2], [answer])
    seen = [Seen(CARELESS[tones], answer, (0, 1))]
    wanted = oracles.grid_moments(seen, mean(PLACES[:2]), kernel(PLACES[:2]), 0.1)
    assert_moments(gf.GP(kernel, mean=mean).condition(data), wanted, 1e-7)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_a_detection_in_another_unit_is_the_same_detection(k: int) -> None:
    """f in decibels with a spread of four, or f in units of that spread."""
    plain = gf.GP(gf.SE(0.8, 2.0), mean=gf.LinearMean((0.5, -0.3), -0.5)).condition(
        gf.Data().add(gf.Detection(0.05, 0.02), PLACES[None, :k], [True]).add(TONES, PLACES[None, 1:3], [False])
    )
    decibels = gf.GP(gf.SE(0.8, 2.0 * 16.0), mean=gf.LinearMean((2.0, -1.2), -2.0 + 10.0)).condition(
        gf.Data()
        .add(gf.Detection(0.05, 0.02, threshold=10.0, noise=4.0), PLACES[None, :k], [True])
        .add(gf.Detection(threshold=10.0, noise=4.0), PLACES[None, 1:3], [False])
    )
    assert decibels.log_evidence == pytest.approx(plain.log_evidence, rel=1e-9)
    np.testing.assert_allclose(decibels.mean(PLACES), 10.0 + 4.0 * plain.mean(PLACES), rtol=1e-8)
    np.testing.assert_allclose(decibels.variance(PLACES), 16.0 * plain.variance(PLACES), rtol=1e-8)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize("name", BELIEFS)
def test_a_no_is_a_no_at_every_place(name: str, k: int) -> None:
    kernel, mean = BELIEFS[name]
    gp = gf.GP(kernel, mean=mean)
    together = gp.condition(one_set(k, False))
    apart = gp.condition(gf.Data().add(gf.Binary(), PLACES[:k], [False] * k))
    assert together.log_evidence == pytest.approx(apart.log_evidence, rel=1e-10)
    np.testing.assert_allclose(together.mean(PLACES), apart.mean(PLACES), rtol=1e-10)
    np.testing.assert_allclose(together.covariance(PLACES), apart.covariance(PLACES), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("answer", [True, False])
def test_a_set_of_one_place_is_a_yes_or_no(answer: bool) -> None:
    gp = gf.GP(gf.SE(0.8, 2.0), mean=gf.ConstantMean(-0.5))
    one = gp.condition(one_set(1, answer))
    other = gp.condition(gf.Data().add(gf.Binary(), PLACES[:1], [answer]))
    assert one.log_evidence == pytest.approx(other.log_evidence, rel=1e-12)
    np.testing.assert_allclose(one.mean(PLACES), other.mean(PLACES), rtol=1e-12)
    np.testing.assert_allclose(one.variance(PLACES), other.variance(PLACES), rtol=1e-12)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_the_order_of_places_within_a_set_does_not_matter(k: int) -> None:
    gp = gf.GP(gf.SE(0.8, 2.0), mean=gf.LinearMean((0.5, -0.3), -0.5))
    forth = gp.condition(gf.Data().add(TONES, PLACES[None, :k], [True]))
    back = gp.condition(gf.Data().add(TONES, PLACES[None, :k][:, ::-1], [True]))
    assert forth.log_evidence == pytest.approx(back.log_evidence, rel=1e-9)
    np.testing.assert_allclose(forth.mean(PLACES), back.mean(PLACES), rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(forth.covariance(PLACES), back.covariance(PLACES), rtol=1e-8, atol=1e-9)


def test_two_coinciding_places_are_one_place_heard_twice() -> None:
    """With f₁ = f₂ a yes says 1 − Φ(−f)², in one dimension; the covariance of the two is singular."""
    kernel, m, v = gf.SE(1.0, 2.0), -0.5, 2.0
    twice = np.array([[[0.3, 0.0], [0.3, 0.0]]])
    post = gf.GP(kernel, mean=gf.ConstantMean(m)).condition(gf.Data().add(TONES, twice, [True]))
    f = np.linspace(m - 14.0, m + 14.0, 20001)
    values = oracles.log_likelihood(TONES, True, np.column_stack([f, f]))
    weight = np.exp(values - 0.5 * (f - m) ** 2 / v) / np.sqrt(2.0 * np.pi * v) * (f[1] - f[0])
    mean = weight @ f / weight.sum()
    assert post.log_evidence == pytest.approx(np.log(weight.sum()), rel=1e-8)
    assert post.mean(twice[0, :1])[0] == pytest.approx(mean, rel=1e-8)
    assert post.variance(twice[0, :1])[0] == pytest.approx(weight @ (f - mean) ** 2 / weight.sum(), rel=1e-8)


def test_a_yes_to_a_pair_with_one_hopeless_place_is_a_yes_to_the_other() -> None:
    kernel = gf.SE(0.5, 1.0)
    pair = np.array([[[0.0], [50.0]]])
    mean = gf.LinearMean(-1.0, 0.0)  # f(50) is about −50: never heard
    gp = gf.GP(kernel, mean=mean)
    both = gp.condition(gf.Data().add(TONES, pair, [True]))
    alone = gp.condition(gf.Data().add(gf.Binary(), pair[0, :1], [True]))
    assert both.log_evidence == pytest.approx(alone.log_evidence, rel=1e-10)
    np.testing.assert_allclose(both.mean([[0.0], [0.4]]), alone.mean([[0.0], [0.4]]), rtol=1e-9)


@pytest.mark.parametrize("m", [-8.0, -20.0, -37.0])
def test_a_yes_against_all_expectation_is_still_exact(m: float) -> None:
    kernel = gf.SE(1.0, 1.0)
    post = gf.GP(kernel, mean=gf.ConstantMean(m)).condition(one_set(2, True))
    assert_moments(post, truth(kernel, gf.ConstantMean(m), 2, True, spacing=0.08), 1e-7)
