"""Stochastic Lanczos quadrature against exact log determinants."""

import numpy as np
import pytest

import gainful as gf
from gainful.errors import InvalidInput
from gainful.numerics.conjugate import Outcome, solve
from gainful.numerics.log_determinant import estimate, log_determinant, probe
from gainful.numerics.pivoted import LowRankPlusDiagonal, pivoted_cholesky


def with_spectrum(eigenvalues, seed=0):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(len(eigenvalues), len(eigenvalues))))[0]
    return (Q * eigenvalues) @ Q.T


def covariance(n, noise, rank, lengthscale=0.2, twice=False):
    X = np.random.default_rng(n).random((n, 2))
    if twice:
        X[n // 2 :] = X[: n - n // 2]
    K = gf.SE(lengthscale)(X)
    L = pivoted_cholesky(np.diagonal(K), lambda i: K[:, i], rank).L
    return K + noise * np.eye(n), LowRankPlusDiagonal(L, noise)


def exact(A):
    return 2.0 * np.log(np.diagonal(np.linalg.cholesky(A))).sum()


@pytest.mark.parametrize("spectrum", [np.geomspace(1e-2, 10.0, 80), np.linspace(1.0, 2.0, 80)], ids=["steep", "flat"])
def test_the_estimate_is_unbiased_and_its_standard_error_is_true(spectrum):
    A, truth = with_spectrum(spectrum), np.log(spectrum).sum()
    rng = np.random.default_rng(0)
    found = [log_determinant(lambda V: A @ V, 80, rng, probes=10, tolerance=1e-3) for _ in range(60)]
    off = np.array([each.value - truth for each in found])
    spread = np.sqrt(np.mean([each.standard_error**2 for each in found]))
    assert abs(off.mean()) < 3.5 * spread / np.sqrt(60)
    assert off.std(ddof=1) == pytest.approx(spread, rel=0.35)


def test_a_preconditioned_estimate_is_unbiased_and_its_standard_error_is_true():
    A, P = covariance(150, 1e-3, rank=15)
    rng = np.random.default_rng(1)
    found = [log_determinant(lambda V: A @ V, 150, rng, 10, P, tolerance=1e-3) for _ in range(60)]
    off = np.array([each.value - exact(A) for each in found])
    spread = np.sqrt(np.mean([each.standard_error**2 for each in found]))
    assert abs(off.mean()) < 3.5 * spread / np.sqrt(60)
    assert off.std(ddof=1) == pytest.approx(spread, rel=0.35)


def test_at_2000_places_20_probes_are_within_a_percent_and_within_their_error():
    A, P = covariance(2000, 1e-2, rank=40)
    found = log_determinant(lambda V: A @ V, 2000, np.random.default_rng(2), 20, P)
    assert found.outcome is Outcome.CONVERGED
    assert found.probes == 20
    assert found.value == pytest.approx(exact(A), rel=0.01)
    assert abs(found.value - exact(A)) < 4.0 * found.standard_error < 0.01 * abs(exact(A))


def test_a_better_preconditioner_leaves_less_to_chance():
    errors = []
    for rank in (10, 60, 150):
        A, P = covariance(300, 1e-2, rank)
        found = log_determinant(lambda V, A=A: A @ V, 300, np.random.default_rng(3), 20, P)
        assert abs(found.value - exact(A)) < 4.0 * found.standard_error
        errors.append(found.standard_error)
    alone = log_determinant(lambda V: A @ V, 300, np.random.default_rng(3), 20)
    assert abs(alone.value - exact(A)) < 4.0 * alone.standard_error
    assert alone.standard_error > errors[0] > 5.0 * errors[1] > 100.0 * errors[2]


def test_duplicates_at_a_noise_of_1e_minus_8():
    A, P = covariance(400, 1e-8, rank=150, twice=True)
    found = log_determinant(lambda V: A @ V, 400, np.random.default_rng(4), 20, P)
    assert found.outcome is Outcome.CONVERGED
    assert abs(found.value - exact(A)) < max(4.0 * found.standard_error, 1e-4)
    assert found.standard_error < 1e-3 * abs(exact(A))


def test_signs_are_exact_where_the_logarithm_is_diagonal_and_a_preconditioner_where_it_is_the_operator():
    D = np.geomspace(1e-2, 1e2, 30)[::-1] * 0.7
    found = log_determinant(lambda V: D[:, None] * V, 30, np.random.default_rng(5), 3, tolerance=1e-12)
    assert found.value == pytest.approx(np.log(D).sum(), abs=1e-7)
    _, P = covariance(60, 1e-4, 20)
    itself = log_determinant(P.times, 60, np.random.default_rng(6), 3, P)
    assert itself.value == pytest.approx(P.log_det, rel=1e-9)
    assert itself.iterations == 1


def test_too_few_products_are_said_and_leave_the_value_too_high():
    A = with_spectrum(np.geomspace(1e-6, 1.0, 100))
    runs = [log_determinant(lambda V: A @ V, 100, np.random.default_rng(7), 5, most=most) for most in (3, 10, 1000)]
    assert [run.outcome for run in runs] == [Outcome.STOPPED, Outcome.STOPPED, Outcome.CONVERGED]
    assert runs[0].value > runs[1].value > runs[2].value


def test_what_is_not_positive_definite_has_no_logarithm():
    A = with_spectrum(np.concatenate([[-0.5], np.linspace(1.0, 2.0, 29)]))
    found = log_determinant(lambda V: A @ V, 30, np.random.default_rng(8), 4, tolerance=1e-8)
    assert found.outcome is Outcome.NOT_POSITIVE
    assert np.isnan(found.value)


def test_the_solve_for_the_data_carries_the_probes():
    A, P = covariance(200, 1e-2, 20)
    y = np.random.default_rng(9).normal(size=200)
    Z = probe(200, np.random.default_rng(10), 8, P)
    together = solve(lambda V: A @ V, np.column_stack([y, Z]), P.solve, 1e-6)
    found = estimate(together, P.log_det, first=1)
    alone = log_determinant(lambda V: A @ V, 200, np.random.default_rng(10), 8, P, 1e-6)
    assert found.value == pytest.approx(alone.value, rel=1e-9)
    assert found.standard_error == pytest.approx(alone.standard_error, rel=1e-6)
    np.testing.assert_allclose(together.x[:, 0], np.linalg.solve(A, y), rtol=1e-3, atol=1e-4)


def test_a_single_probe_is_refused():
    with pytest.raises(InvalidInput, match="probes"):
        log_determinant(lambda V: V, 3, np.random.default_rng(0), 1)
