"""Factors against dense linear algebra: solving, extending, removing, negative signs, reported jitter."""

import numpy as np
import pytest

from gainful.errors import NumericalError
from gainful.numerics.cholesky import extend, factor, remove


def _gram(n, rng, rank=None):
    A = rng.normal(size=(n, rank or n))
    return A @ A.T / n


def test_a_factor_solves_and_has_the_determinant():
    rng = np.random.default_rng(0)
    B = np.eye(30) + _gram(30, rng)
    f = factor(B)
    rhs = rng.normal(size=(30, 3))
    np.testing.assert_allclose(f.solve(rhs), np.linalg.solve(B, rhs), rtol=1e-10)
    np.testing.assert_allclose(f.square(f.half(rhs)), np.einsum("ij,ij->j", rhs, np.linalg.solve(B, rhs)), rtol=1e-10)
    assert f.log_det == pytest.approx(np.linalg.slogdet(B)[1])
    np.testing.assert_allclose(f.inverse(), np.linalg.inv(B), rtol=1e-9, atol=1e-12)
    assert f.jitter == 0.0


def test_negative_signs_are_factored_as_long_as_the_belief_is_proper():
    rng = np.random.default_rng(1)
    n, negative = 20, [3, 7, 15]
    sign, scale = np.ones(n), np.ones(n)
    sign[negative], scale[negative] = -1.0, 0.2
    B = np.diag(sign) + _gram(n, rng) * np.outer(scale, scale)
    f = factor(B, sign)
    rhs = rng.normal(size=n)
    np.testing.assert_allclose(f.solve(rhs), np.linalg.solve(B, rhs), rtol=1e-9)
    assert f.square(f.half(rhs)) == pytest.approx(rhs @ np.linalg.solve(B, rhs))
    assert f.log_det == pytest.approx(np.linalg.slogdet(B)[1])
    np.testing.assert_allclose(np.tril(f.into_inverse()), np.tril(np.linalg.inv(B)), rtol=1e-8, atol=1e-12)


def test_a_belief_widened_without_bound_is_an_error():
    with pytest.raises(NumericalError, match="log-concave"):
        factor(np.array([[-1.0 + 4.0]]), np.array([-1.0]))


@pytest.mark.parametrize("signed", [False, True])
def test_extending_equals_factoring_the_whole(signed):
    rng = np.random.default_rng(2)
    n = 25
    sign = np.ones(n)
    C = _gram(n, rng)
    if signed:
        sign[4] = -1.0
        C[4] *= 0.2
        C[:, 4] *= 0.2
    B = np.diag(sign) + C
    grown = extend(factor(B[:-3, :-3], sign[:-3]), B[-3:, :-3], B[-3:, -3:])
    rhs = rng.normal(size=n)
    np.testing.assert_allclose(grown.solve(rhs), np.linalg.solve(B, rhs), rtol=1e-9)
    assert grown.log_det == pytest.approx(np.linalg.slogdet(B)[1])


@pytest.mark.parametrize("index", [0, 1, 70, 149])
def test_removing_a_row_equals_factoring_what_is_left(index):
    rng = np.random.default_rng(3)
    B = np.eye(150) + _gram(150, rng)
    left = np.delete(np.arange(150), index)
    np.testing.assert_allclose(remove(factor(B), index).lower, factor(B[np.ix_(left, left)]).lower, atol=1e-12)


def test_extending_then_removing_returns_the_factor():
    rng = np.random.default_rng(4)
    B = np.eye(40) + _gram(40, rng)
    old = factor(B[:-1, :-1])
    np.testing.assert_allclose(remove(extend(old, B[-1:, :-1], B[-1:, -1:]), 39).lower, old.lower, atol=1e-14)


def test_jitter_is_used_only_when_needed_and_reported():
    rng = np.random.default_rng(5)
    singular = _gram(12, rng, rank=3)
    f = factor(singular)
    assert 0.0 < f.jitter <= 1e-12
    np.testing.assert_allclose(f.lower @ f.lower.T, singular, atol=1e-10)
    with pytest.raises(NumericalError, match="noise"):
        factor(np.array([[1.0, 2.0], [2.0, 1.0]]))


def test_a_matrix_that_may_be_overwritten_is_rebuilt_when_jitter_is_needed():
    rng = np.random.default_rng(6)
    singular = _gram(12, rng, rank=3)
    f = factor(singular.copy(), rebuild=lambda: singular.copy())
    assert f.jitter > 0.0
    np.testing.assert_allclose(f.lower @ f.lower.T, singular, atol=1e-10)


def test_nothing_to_factor_is_fine():
    f = factor(np.zeros((0, 0)))
    assert f.log_det == 0.0
    assert f.half(np.zeros((0, 4))).shape == (0, 4)


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_what_is_not_finite_has_no_factor(bad):
    with pytest.raises(NumericalError):
        factor(np.array([[1.0, 0.0], [0.0, bad]]))


def test_a_pivot_without_noise_that_is_rounding_needs_jitter_whatever_the_other_signs():
    rounding = 1.0 + np.finfo(float).eps
    B = np.array([[1.0, 1.0, 0.1], [1.0, rounding, 0.1], [0.1, 0.1, -0.9]])
    assert factor(B[:2, :2]).jitter == 0.0
    assert factor(B[:2, :2], np.array([0.0, 0.0])).jitter > 0.0
    assert factor(B, np.array([0.0, 0.0, -1.0])).jitter > 0.0
