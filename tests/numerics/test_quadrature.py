"""Expectations under a Gaussian against closed forms and an independent adaptive integrator."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr, xlogy

from gainful.errors import InvalidInput, NumericalError
from gainful.numerics.quadrature import adaptive_expectation, gauss_hermite


@pytest.mark.parametrize("n", [1, 5, 20, 60])
def test_gauss_hermite_is_exact_for_polynomials(n):
    nodes, weights = gauss_hermite(n)
    moment = 1.0
    for power in range(0, min(2 * n, 16), 2):
        assert weights @ nodes**power == pytest.approx(moment, rel=1e-12)
        moment *= power + 1


def test_adaptive_expectation_agrees_with_closed_forms():
    m, v = np.array([-1.0, 0.3, 4.0]), np.array([1e-4, 2.0, 50.0])
    got = adaptive_expectation(lambda g, which: ndtr(g), m, v)
    np.testing.assert_allclose(got, ndtr(m / np.sqrt(1 + v)), atol=1e-12)
    np.testing.assert_allclose(adaptive_expectation(lambda g, which: g**2, m, v), m**2 + v, rtol=1e-11)


@pytest.mark.parametrize("spread", [1e-3, 1.0, 1e3])
def test_features_far_narrower_than_the_gaussian_are_resolved(spread):
    """The entropy of a yes/no answer with unit noise, under a belief up to a thousand times as wide."""

    def entropy(g):
        p = ndtr(g)
        return -(xlogy(p, p) + xlogy(1 - p, 1 - p))

    m = 0.4
    breaks = np.array([[-8.0, -2.0, 2.0, 8.0]])
    got = adaptive_expectation(lambda g, which: entropy(g), [m], [spread**2], breaks=breaks)[0]

    def integrand(g):
        return entropy(g) * np.exp(-0.5 * ((g - m) / spread) ** 2) / (spread * np.sqrt(2 * np.pi))

    low, high = max(m - 12 * spread, -40.0), min(m + 12 * spread, 40.0)
    exact = quad(integrand, low, high, points=[m, min(max(0.0, low), high)], epsabs=1e-15, epsrel=1e-13, limit=500)[0]
    assert got == pytest.approx(exact, rel=1e-9, abs=1e-13)


def test_breaks_make_jumps_exact_and_each_expectation_its_own():
    m, v = np.array([0.0, 1.0, -2.0]), np.array([1.0, 0.25, 1e4])
    threshold = np.array([0.3, 0.9, 5.0])
    got = adaptive_expectation(lambda g, which: (g > threshold[which, None]) * 1.0, m, v, breaks=threshold[:, None])
    np.testing.assert_allclose(got, ndtr((m - threshold) / np.sqrt(v)), atol=1e-13)


def test_what_is_certain_needs_no_integration():
    assert adaptive_expectation(lambda g, which: np.exp(g), [1.5], [0.0])[0] == np.exp(1.5)


def test_bad_input_is_refused_and_a_hopeless_function_is_an_error():
    with pytest.raises(InvalidInput):
        adaptive_expectation(lambda g, which: g, [[0.0]], [1.0])
    with pytest.raises(InvalidInput):
        gauss_hermite(0)
    with pytest.raises(NumericalError, match="breaks"):
        adaptive_expectation(lambda g, which: np.sin(1e9 * g), np.zeros(64), np.ones(64))
