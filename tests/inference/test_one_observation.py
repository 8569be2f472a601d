"""One observation leaves nothing to approximate: EP's cavity is the prior, so it agrees with integration exactly."""

from __future__ import annotations

import itertools
from typing import Any

import mpmath as mp
import numpy as np
import oracles
import pytest

import gainful as gf

# Some answers here contradict the model on purpose, which is said in a warning.
pytestmark = pytest.mark.filterwarnings("ignore:the readings contradict the model")

INF = np.inf
PLACE = [[0.7]]
MEANS = (-3.0, 0.0, 3.0)
VARIANCES = (1e-2, 1.0, 1e4)
BELIEFS = list(itertools.product(MEANS, VARIANCES))


def assert_same(log_z: float, mean: float, variance: float, truth: oracles.Moments, size: float) -> None:
    """1e-9 in the log evidence, in the variance and in posterior standard deviations of the mean.

    A mean is a double, and an answer 40 prior standard deviations away known to a millionth has fewer digits left than
    that: four units in the last place of `size`, the largest number involved, are allowed to it.
    """
    assert abs(log_z - truth.log_z) <= 1e-9 * abs(truth.log_z) + 1e-14
    assert abs(variance - truth.variance) <= 1e-9 * truth.variance
    assert abs(mean - truth.mean) <= 1e-9 * mp.sqrt(truth.variance) + 4.0 * np.spacing(size)


def assert_exact_for_one(instrument: gf.Instrument, answer: Any, m: float, v: float) -> None:
    truth = oracles.line_moments(instrument, answer, m, v)
    gp = gf.GP(gf.SE(lengthscale=0.5, variance=v), mean=gf.ConstantMean(m))
    post = gp.condition(gf.Data().add(instrument, PLACE, [answer]), gf.EP())
    assert post.converged
    mean, variance = float(post.mean(PLACE)[0]), float(post.variance(PLACE)[0])
    ends = [abs(float(e)) for e in np.atleast_1d(answer) if np.isfinite(e)]
    assert_same(post.log_evidence, mean, variance, truth, max(abs(m), abs(mean), *ends))


@pytest.mark.parametrize(("m", "v"), BELIEFS)
@pytest.mark.parametrize("noise", [1.0, 1e-3])
def test_ep_is_exact_for_one_number(noise: float, m: float, v: float) -> None:
    assert_exact_for_one(gf.Point(noise=noise), 1.3, m, v)


@pytest.mark.parametrize(("m", "v"), BELIEFS)
def test_ep_is_exact_for_one_number_without_noise(m: float, v: float) -> None:
    assert_exact_for_one(gf.Point(noise=0.0), 1.3, m, v)


@pytest.mark.parametrize(("m", "v"), BELIEFS)
@pytest.mark.parametrize("answer", [True, False])
def test_ep_is_exact_for_one_yes_or_no(answer: bool, m: float, v: float) -> None:
    assert_exact_for_one(gf.Binary(), answer, m, v)


@pytest.mark.parametrize("v", VARIANCES)
@pytest.mark.parametrize(("answer", "m"), [(True, -3.0), (False, 3.0), (True, 3.0)])
@pytest.mark.parametrize("rates", [(0.1, 0.05), (0.25, 0.0), (0.0, 1e-6)], ids=str)
def test_ep_is_exact_for_one_yes_or_no_with_careless_answers(
    rates: tuple[float, float], answer: bool, m: float, v: float
) -> None:
    assert_exact_for_one(gf.Binary(guess=rates[0], lapse=rates[1]), answer, m, v)


@pytest.mark.parametrize("v", [1e-2, 1.0, 1e4])
@pytest.mark.parametrize("m", [-40.0, 40.0])
def test_ep_is_exact_for_a_yes_that_the_belief_all_but_excludes_or_takes_for_granted(m: float, v: float) -> None:
    assert_exact_for_one(gf.Binary(), True, m, v)
    assert_exact_for_one(gf.Binary(guess=0.02, lapse=0.02), True, m, v)


@pytest.mark.parametrize("rank", [1, 2, 3, 4])
@pytest.mark.parametrize(("m", "v"), [(-3.0, 1e-2), (3.0, 1.0), (0.0, 1.0), (-3.0, 1e4)])
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_ep_is_exact_for_one_rank(noise: float, m: float, v: float, rank: int) -> None:
    assert_exact_for_one(gf.Ordinal(thresholds=[-1.0, -0.4, 0.5], noise=noise), rank, m, v)


@pytest.mark.parametrize(("m", "v"), BELIEFS)
@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize("answer", [(-0.4, 0.5), (1.0, INF), (-INF, 1.0)], ids=str)
def test_ep_is_exact_for_one_interval(answer: tuple[float, float], noise: float, m: float, v: float) -> None:
    assert_exact_for_one(gf.Interval(noise=noise), answer, m, v)


@pytest.mark.parametrize("v", [1e-2, 1.0, 1e4])
@pytest.mark.parametrize("width", [1e-6, 1e-3, 1.0, INF])
@pytest.mark.parametrize("noise", [0.0, 1e-3, 1.0])
def test_ep_is_exact_for_an_interval_forty_prior_standard_deviations_away(noise: float, width: float, v: float) -> None:
    sd = float(np.sqrt(v))
    lower = 0.5 + 40.0 * sd
    assert_exact_for_one(gf.Interval(noise=noise), (lower, lower + width), 0.5, v)
    assert_exact_for_one(gf.Interval(noise=noise), (0.5 - 40.0 * sd - width, 0.5 - 40.0 * sd), 0.5, v)


@pytest.mark.parametrize("v", VARIANCES)
@pytest.mark.parametrize("width", [1e-6, 1e-4, 1e-2])
@pytest.mark.parametrize("noise", [0.0, 1e-6, 0.1])
def test_ep_is_exact_for_a_narrow_interval(noise: float, width: float, v: float) -> None:
    assert_exact_for_one(gf.Interval(noise=noise), (0.3, 0.3 + width), -1.0, v)


@pytest.mark.parametrize("v", [1e-2, 1.0, 1e4])
@pytest.mark.parametrize("noise", [0.0, 0.1, float(np.sqrt(0.5))])
@pytest.mark.parametrize("answer", [True, False])
@pytest.mark.parametrize("slope", [0.0, 5.0])
def test_ep_is_exact_for_one_preference_through_the_difference(
    slope: float, answer: bool, noise: float, v: float
) -> None:
    """Only d = f(u) − f(w) is seen, so f(u) given the answer follows from d by Gaussian regression of f(u) on d."""
    u, w = 0.2, 1.1
    pair = np.array([[[u], [w]]])
    gp = gf.GP(gf.SE(lengthscale=0.5, variance=v), mean=gf.LinearMean(slope, 1.0))
    instrument = gf.Preference(noise=noise)
    post = gp.condition(gf.Data().add(instrument, pair, [answer]), gf.EP())
    across = v * np.exp(-0.5 * ((u - w) / 0.5) ** 2)
    prior = 2.0 * (v - across)
    truth = oracles.line_moments(instrument, answer, slope * u - slope * w, prior)
    mean, variance = post.marginals(instrument, pair)
    size = abs(slope * (u - w)) + float(np.sqrt(v))
    assert_same(post.log_evidence, float(mean[0]), float(variance[0]), truth, size)
    gain = (v - across) / prior
    mean_u = slope * u + 1.0 + gain * (truth.mean - slope * (u - w))
    variance_u = v - gain**2 * (prior - truth.variance)
    assert abs(post.mean([[u]])[0] - mean_u) <= 1e-9 * mp.sqrt(variance_u)
    assert abs(post.variance([[u]])[0] - variance_u) <= 1e-9 * variance_u


@pytest.mark.parametrize("answer", [(0.3, 0.3 + 1e-6), (1.0, INF), (-0.4, 0.5)], ids=str)
def test_a_distant_place_learns_from_one_interval_by_regression_on_it(answer: tuple[float, float]) -> None:
    """E[f(x)] = m + (k/v)(E[g] − m) and Var[f(x)] = v − (k/v)² (v − Var[g]), whatever the likelihood of g is."""
    m, v, x = -1.0, 2.0, [[1.9]]
    instrument = gf.Interval(noise=0.0)
    truth = oracles.line_moments(instrument, answer, m, v)
    gp = gf.GP(gf.SE(lengthscale=0.8, variance=v), mean=gf.ConstantMean(m))
    post = gp.condition(gf.Data().add(instrument, PLACE, [answer]))
    gain = np.exp(-0.5 * ((1.9 - 0.7) / 0.8) ** 2)
    assert post.mean(x)[0] == pytest.approx(float(m + gain * (truth.mean - m)), rel=1e-9)
    assert post.variance(x)[0] == pytest.approx(float(v - gain**2 * (v - truth.variance)), rel=1e-9)
