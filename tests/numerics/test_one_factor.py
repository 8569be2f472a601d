"""Orthants of variables with one factor in common: one integral, against nested ones and brute force."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from gainful.numerics.largest import first_is_largest, log_each_is_largest
from gainful.numerics.lower_orthant import lower_orthant
from gainful.numerics.one_factor import log_orthant_by_factor, one_factor, orthant_by_factor


def with_a_factor(n, k, seed=0):
    rng = np.random.default_rng(seed)
    loading, rest = rng.uniform(0.2, 3.0, (n, k)), rng.uniform(0.3, 3.0, (n, k))
    return 2.0 * rng.normal(size=(n, k)), loading[:, :, None] * loading[:, None, :] + rest[:, :, None] * np.eye(k)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_one_integral_is_the_nested_ones(k):
    m, cov = with_a_factor(40, k, seed=k)
    factor = one_factor(cov)
    assert factor.exact.all()
    rebuilt = factor.loading[:, :, None] * factor.loading[:, None, :] + factor.rest[:, :, None] * np.eye(k)
    np.testing.assert_allclose(rebuilt, cov, rtol=1e-12)
    one, nested = orthant_by_factor(m, factor), lower_orthant(m, cov)
    np.testing.assert_allclose(one.log_p, nested.log_p, atol=1e-8)
    np.testing.assert_allclose(one.slope, nested.slope, atol=1e-7)
    np.testing.assert_allclose(one.curvature, nested.curvature, atol=1e-6)
    np.testing.assert_allclose(log_orthant_by_factor(m, factor), one.log_p, atol=1e-12)


def test_it_agrees_with_the_library():
    m, cov = with_a_factor(5, 3, seed=9)
    theirs = [multivariate_normal.cdf(np.zeros(3), mean, c, abseps=1e-9) for mean, c in zip(m, cov, strict=True)]
    np.testing.assert_allclose(np.exp(orthant_by_factor(m, one_factor(cov)).log_p), theirs, atol=1e-5)


def test_without_a_factor_it_is_said_and_nested_integrals_serve():
    A = np.random.default_rng(3).normal(size=(30, 4, 4))
    cov = A @ np.swapaxes(A, 1, 2) + 0.1 * np.eye(4)
    turn = np.column_stack([-np.ones(3), np.eye(3)])
    exact = one_factor(turn @ cov @ turn.T).exact
    assert 0 < exact.sum() < 30
    m = np.random.default_rng(4).normal(size=(30, 4))
    found, nested = first_is_largest(m, cov), lower_orthant(m @ turn.T, turn @ cov @ turn.T)
    np.testing.assert_allclose(found.log_p, nested.log_p, atol=1e-7)
    np.testing.assert_allclose(np.exp(log_each_is_largest(m, cov)).sum(axis=1), 1.0, atol=1e-7)
    np.testing.assert_allclose(log_each_is_largest(m, cov)[:, 0], found.log_p, atol=1e-7)


def test_no_variables_are_no_trouble():
    assert orthant_by_factor(np.zeros((0, 3)), one_factor(np.zeros((0, 3, 3)))).slope.shape == (0, 3)
