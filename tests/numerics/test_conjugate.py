"""Conjugate gradients against direct solutions, prescribed spectra and Lanczos's own matrices."""

import numpy as np
import pytest

import gainful as gf
from gainful.errors import NumericalError
from gainful.numerics.conjugate import Outcome, solve
from gainful.numerics.lanczos import lanczos
from gainful.numerics.pivoted import LowRankPlusDiagonal, pivoted_cholesky


def with_spectrum(eigenvalues, seed=0):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(len(eigenvalues), len(eigenvalues))))[0]
    return (Q * eigenvalues) @ Q.T


def counting(A):
    widths = []

    def apply(V):
        widths.append(V.shape[1])
        return A @ V

    return apply, widths


def test_every_column_is_what_a_direct_solver_finds():
    A, rng = with_spectrum(np.geomspace(1e-3, 10.0, 80)), np.random.default_rng(1)
    B = rng.normal(size=(80, 5)) * [1.0, 1e-150, 1e150, 1e-3, 1e3]
    done = solve(lambda V: A @ V, B, tolerance=1e-12)
    assert done.outcome is Outcome.CONVERGED
    assert np.all(done.residuals <= 1e-12)
    scale = np.max(np.abs(B), axis=0)
    np.testing.assert_allclose(done.x / scale, np.linalg.solve(A, B / scale), rtol=1e-7, atol=1e-8)
    alone = solve(lambda V: A @ V, B[:, 3], tolerance=1e-12)
    assert alone.x.shape == (80,)
    np.testing.assert_allclose(alone.x, done.x[:, 3], rtol=1e-7)


@pytest.mark.parametrize("distinct", [1, 3, 7])
def test_it_ends_after_as_many_steps_as_there_are_distinct_eigenvalues(distinct):
    A = with_spectrum(np.linspace(1.0, 5.0, distinct)[np.arange(60) % distinct])
    done = solve(lambda V: A @ V, np.random.default_rng(0).normal(size=(60, 3)), tolerance=1e-10)
    assert done.iterations == distinct
    assert [T.rank for T in done.tridiagonals] == [distinct] * 3


def test_the_error_falls_at_least_as_fast_as_the_condition_number_promises():
    A, b = with_spectrum(np.linspace(1.0, 100.0, 200)), np.random.default_rng(2).normal(size=200)
    exact = np.linalg.solve(A, b)
    start, rate = np.sqrt(exact @ A @ exact), (np.sqrt(100.0) - 1.0) / (np.sqrt(100.0) + 1.0)
    for k in (5, 15, 30):
        off = solve(lambda V: A @ V, b, tolerance=1e-14, most=k).x - exact
        assert np.sqrt(off @ A @ off) <= 2.0 * rate**k * start


def test_each_column_may_have_its_own_tolerance_and_what_is_left_is_the_true_residual():
    A, rng = with_spectrum(np.geomspace(1e-2, 10.0, 80)), np.random.default_rng(1)
    B, each = rng.normal(size=(80, 3)) * [1.0, 1e3, 0.0], np.array([1e-2, 1e-9, 1e-12])
    done = solve(lambda V: A @ V, B, tolerance=each)
    assert done
    assert np.all(done.residuals <= each)
    assert done.residuals[0] > 1e-4
    np.testing.assert_allclose(done.left, B - A @ done.x, atol=1e-9)


def test_a_column_that_has_converged_is_left_out_of_later_products():
    A = with_spectrum(np.geomspace(0.01, 1.0, 60))
    vectors = np.linalg.eigh(A)[1]
    apply, widths = counting(A)
    done = solve(apply, np.column_stack([vectors[:, 0], np.ones(60), vectors[:, 1] + vectors[:, 2]]), tolerance=1e-9)
    assert widths[:4] == [3, 2, 1, 1]
    assert widths[-1] == 3  # the check of all residuals
    assert len(widths) == done.iterations + 1
    assert [T.rank for T in done.tridiagonals] == [1, done.iterations, 2]


def test_nothing_asked_is_nothing_done():
    apply, widths = counting(np.eye(4))
    done = solve(apply, np.zeros((4, 2)), start=np.ones((4, 2)))
    assert done
    assert (done.x == 0.0).all()
    assert widths == []
    assert solve(apply, np.zeros((4, 0))).x.shape == (4, 0)


def test_a_solution_to_start_from_leaves_nothing_to_do_and_one_nearby_less():
    A, b = with_spectrum(np.geomspace(1e-3, 1.0, 100)), np.random.default_rng(3).normal(size=(100, 2))
    exact = np.linalg.solve(A, b)
    assert solve(lambda V: A @ V, b, start=exact).iterations == 0
    cold = solve(lambda V: A @ V, b)
    near = solve(lambda V: A @ V, b, start=exact * (1.0 + 1e-4))
    assert near
    assert near.iterations < 0.8 * cold.iterations
    np.testing.assert_allclose(near.x, exact, atol=1e-3 * np.abs(exact).max())


def test_a_start_that_costs_all_digits_is_recovered_from_by_beginning_again():
    A, b = with_spectrum(np.linspace(1.0, 5.0, 50)), np.random.default_rng(9).normal(size=50)
    done = solve(lambda V: A @ V, b, tolerance=1e-12, start=1e14 * np.ones(50))
    assert done.outcome is Outcome.CONVERGED
    np.testing.assert_allclose(done.x, np.linalg.solve(A, b), atol=1e-10)


@pytest.mark.parametrize("preconditioned", [False, True])
def test_the_coefficients_are_the_tridiagonal_matrix_of_lanczos(preconditioned):
    """Of P^-½ A P^-½ from P^-½ b, which need no root of P."""
    A, b = with_spectrum(np.linspace(1.0, 9.0, 40)), np.random.default_rng(4).normal(size=40)
    P = np.diag(np.linspace(0.5, 3.0, 40)) if preconditioned else np.eye(40)
    root = np.sqrt(np.diagonal(P))
    oracle = lanczos(12)(lambda V: (A @ (V / root[:, None])) / root[:, None], b / root).T.matrix
    found = solve(lambda V: A @ V, b, lambda R: R / np.diagonal(P)[:, None], 1e-14, 12).tridiagonals[0].matrix
    np.testing.assert_allclose(found, oracle, atol=1e-10)


def test_with_the_operator_itself_for_a_preconditioner_one_product_is_enough():
    A, B = with_spectrum(np.geomspace(1e-4, 1.0, 50)), np.random.default_rng(5).normal(size=(50, 3))
    done = solve(lambda V: A @ V, B, lambda R: np.linalg.solve(A, R), 1e-9)
    assert done.iterations == 1
    assert np.concatenate([T.alpha for T in done.tridiagonals]) == pytest.approx(1.0)


def test_too_few_products_are_said_with_the_residual_that_is_left():
    A, b = with_spectrum(np.geomspace(1e-6, 1.0, 100)), np.ones(100)
    done = solve(lambda V: A @ V, b, most=5)
    assert not done
    assert done.outcome is Outcome.STOPPED
    assert done.iterations == 5
    assert done.residuals[0] == pytest.approx(np.linalg.norm(b - A @ done.x) / 10.0)
    assert done.message.startswith("stopped after 5 products, relative residual ")


def test_where_double_precision_ends_the_true_residual_is_said_not_the_one_that_is_believed():
    A, b = with_spectrum(np.geomspace(1e-9, 1.0, 60)), np.random.default_rng(6).normal(size=60)
    done = solve(lambda V: A @ V, b, tolerance=1e-14, most=5000)
    assert done.outcome is Outcome.STALLED
    assert "no longer falls" in done.message
    longer = b - A.astype(np.longdouble) @ done.x.astype(np.longdouble)  # in double it is mostly rounding itself
    assert done.residuals[0] == pytest.approx(float(np.linalg.norm(longer) / np.linalg.norm(b)), rel=0.5)
    direct = np.linalg.norm(b - A @ np.linalg.solve(A, b)) / np.linalg.norm(b)
    assert 1e-14 < done.residuals[0] < 10.0 * direct


def test_a_tolerance_of_nothing_ends_too():
    A, b = with_spectrum(np.linspace(1.0, 2.0, 30)), np.ones(30)
    done = solve(lambda V: A @ V, b, tolerance=0.0)
    assert done.outcome is Outcome.STALLED
    assert done.residuals[0] < 1e-15


@pytest.mark.parametrize("lowest", [-0.1, 0.0])
def test_an_operator_that_is_not_positive_definite_is_found_out(lowest):
    A, rng = with_spectrum(np.concatenate([[lowest, lowest], np.linspace(1.0, 2.0, 38)])), np.random.default_rng(7)
    done = solve(lambda V: A @ V, rng.normal(size=(40, 2)), tolerance=1e-10)
    assert done.outcome is Outcome.NOT_POSITIVE
    assert done.residuals.min() > 1e-10
    inside = solve(lambda V: A @ V, A @ A @ rng.normal(size=40), tolerance=1e-8)  # a consistent system has a solution
    assert lowest < 0.0 or inside.outcome is Outcome.CONVERGED


def test_a_covariance_without_noise_and_of_low_rank_is_not_positive_rather_than_solved():
    B = np.random.default_rng(10).normal(size=(80, 20))
    done = solve(lambda V: B @ (B.T @ V), np.random.default_rng(11).normal(size=(80, 20)))
    assert {outcome.name for outcome in done.outcomes} == {"NOT_POSITIVE"}
    assert np.linalg.norm(done.x) < 1e3


def test_one_column_along_a_negative_direction_does_not_stop_the_others():
    A = np.diag([-1.0, 1.0, 2.0, 3.0])
    done = solve(lambda V: A @ V, np.eye(4))
    assert [outcome.name for outcome in done.outcomes] == ["NOT_POSITIVE", "CONVERGED", "CONVERGED", "CONVERGED"]
    np.testing.assert_allclose(done.x[:, 1:], np.linalg.inv(A)[:, 1:])


def test_a_preconditioner_that_is_not_positive_is_found_out():
    done = solve(lambda V: V, np.ones(3), lambda R: -R)
    assert done.outcome is Outcome.NOT_POSITIVE


def test_what_is_not_finite_is_refused_or_said():
    with pytest.raises(NumericalError, match="not finite"):
        solve(lambda V: V, np.array([1.0, np.nan]))
    assert solve(lambda V: V * np.nan, np.ones(3)).outcome is Outcome.NOT_POSITIVE


@pytest.mark.parametrize("noise", [1e-2, 1e-8])
def test_duplicates_and_constant_columns_are_solved_for_with_pivoted_cholesky_for_a_preconditioner(noise):
    """Half of all places twice, one dimension constant; answers that are constant, smooth, and nothing but noise."""
    rng = np.random.default_rng(8)
    X = np.column_stack([np.tile(rng.random((150, 2)), (2, 1)), np.full(300, 0.7)])
    K = gf.SE(0.3)(X)
    A = K + noise * np.eye(300)
    B = np.column_stack([np.ones(300), np.sin(5.0 * X[:, 0]), rng.normal(size=300)])
    few = pivoted_cholesky(np.diagonal(K), lambda i: K[:, i], rank=80)
    done = solve(lambda V: A @ V, B, LowRankPlusDiagonal(few.L, np.full(300, noise)).solve)
    alone = solve(lambda V: A @ V, B, most=300)
    assert done.outcome is Outcome.CONVERGED
    assert done.iterations < 15
    true = np.linalg.norm(B - A @ done.x, axis=0) / np.linalg.norm(B, axis=0)
    np.testing.assert_allclose(done.residuals, true, rtol=0.1)  # at a noise of 1e-8 A x is rounded to 1e-8 of its norm
    assert np.linalg.norm(done.x - np.linalg.solve(A, B)) < 1e-4 * np.linalg.norm(done.x)
    assert alone.outcome is (Outcome.CONVERGED if noise == 1e-2 else Outcome.STOPPED)
