"""Every smooth instrument obeys the laws of instruments."""

import numpy as np
import pytest

import gainful as gf
from gainful.testing import check_instrument
from gainful.testing.differences import assert_close, gradient

SMOOTH = [
    (gf.Point(0.5), [0.3, -1.2]),
    (gf.PointWithError(0.5), [[0.3, 0.4], [-1.2, 1.3]]),
    (gf.Interval(0.5), [[0.1, 0.7], [-np.inf, 0.2], [-0.4, np.inf]]),
    (gf.Ordinal([-0.4, 0.5, 0.9], 0.6), [1, 2, 3, 4]),
    (gf.Binary(), [True, False]),
    (gf.Binary(guess=0.2, lapse=0.05), [True, False]),
    (gf.Binary(guess=0.5), [True, False]),
    (gf.Preference(0.4), [True, False]),
]


@pytest.mark.parametrize(("instrument", "answers"), SMOOTH, ids=lambda v: str(v)[:40])
def test_instruments_obey_their_laws(instrument, answers):
    if isinstance(instrument, gf.Interval):
        with pytest.raises(gf.InvalidInput, match="width"):
            instrument.simulate(np.zeros(2), np.random.default_rng(0))
        instrument = gf.Interval(instrument.noise, width=0.6)
        answers = [[0.1, 0.7], [-0.3, 0.3]]
    check_instrument(instrument, answers)


def test_open_intervals_obey_the_derivative_laws():
    instrument, y = gf.Interval(0.5), np.array([[-np.inf, 0.2], [-0.4, np.inf], [-np.inf, np.inf]])
    m, v = np.array([0.3, -0.8, 0.1]), np.array([0.5, 1.0, 2.0])
    p = instrument.log_partition(y, m, v)
    assert_close(p.d1, gradient(lambda t: float(np.sum(instrument.log_partition(y, t, v).log_z)), m), 1e-7, "d1")
    assert p.log_z[2] == 0.0
    assert p.d2[2] == 0.0


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("answer", [0.0, 1.0])
@pytest.mark.parametrize("instrument", [gf.Detection(), gf.Detection(0.1, 0.05, threshold=0.3, noise=0.7)], ids=str)
def test_detection_derivatives_are_exact(k, answer, instrument):
    rng = np.random.default_rng(k)
    y = np.full(2, answer)
    m = rng.normal(size=(2, k))
    A = rng.normal(size=(2, k, k))
    v = A @ np.swapaxes(A, 1, 2)
    p = instrument.log_partition(y, m, v)
    assert_close(p.d1, gradient(lambda t: float(np.sum(instrument.log_partition(y, t, v).log_z)), m), 1e-7, "d1")
    for a in range(k):
        by_m = gradient(lambda t, a=a: float(np.sum(instrument.log_partition(y, t, v).d1[:, a])), m)
        assert_close(p.d2[:, a], by_m, 1e-6, "d2")
    d = instrument.derivatives(y, m)
    assert_close(d.d1, gradient(lambda g: float(np.sum(instrument.derivatives(y, g).log_p)), m), 1e-7, "d1 of log_prob")
    for a in range(k):
        by_g = gradient(lambda g, a=a: float(np.sum(instrument.derivatives(y, g).d1[:, a])), m)
        assert_close(d.d2[:, a], by_g, 1e-7, "d2 of log_prob")
        for b in range(k):
            by_g = gradient(lambda g, a=a, b=b: float(np.sum(instrument.derivatives(y, g).d2[:, a, b])), m)
            assert_close(d.d3[:, a, b], by_g, 1e-6, "d3 of log_prob")


def test_probabilities_of_all_answers_sum_to_one():
    m, v = np.array([-30.0, 0.2, 8.0]), np.array([0.5, 2.0, 100.0])
    for instrument in [gf.Ordinal([-0.4, 0.5], 0.1), gf.Ordinal([0.0], 0.0), gf.Binary(0.1, 0.2), gf.Preference(0.0)]:
        np.testing.assert_allclose(instrument.predict(m, v).probabilities.sum(axis=1), 1.0, rtol=1e-12)
    cov = np.stack([np.eye(2) + s for s in (0.0, 1.0, 3.0)])
    np.testing.assert_allclose(gf.Detection().predict(m[:, None] * [1.0, 0.5], cov).probabilities.sum(1), 1.0)


def test_interval_answers_have_a_density_that_integrates_to_one():
    answers = gf.Interval(0.1, width=0.6).predict(np.array([0.3]), np.array([0.5]))
    grid = np.linspace(-8, 8, 20001)
    density = np.exp([answers.log_prob(np.array([a]))[0] for a in grid[::10]])
    assert np.trapezoid(density, grid[::10]) == pytest.approx(1.0, abs=1e-9)


def test_simulated_answers_have_the_frequencies_that_are_predicted():
    rng = np.random.default_rng(0)
    g = np.full(40000, 0.3)
    zero = np.zeros(1)
    for instrument in [gf.Binary(0.1, 0.05), gf.Ordinal([-0.4, 0.5], 0.5), gf.Preference(0.5)]:
        predicted = instrument.predict(np.array([0.3]), zero)
        drawn = instrument.simulate(g, rng)
        share = [np.mean(drawn == value) for value in predicted.values]
        np.testing.assert_allclose(share, predicted.probabilities[0], atol=0.012)
    pairs = np.column_stack([g, -g])
    share = gf.Detection().simulate(pairs, rng).mean()
    assert share == pytest.approx(gf.Detection().predict(pairs[:1], np.zeros((1, 2, 2))).probability[0], abs=0.012)


def test_cost_and_rates_are_checked():
    for make in [lambda: gf.Point(0.1, cost=0), lambda: gf.Binary(0.6, 0.5), lambda: gf.Ordinal([0.5, 0.5]),
                 lambda: gf.Ordinal([]), lambda: gf.Interval(0.1, width=0.0), lambda: gf.Point(-0.1)]:  # fmt: skip
        with pytest.raises(gf.InvalidInput):
            make()
