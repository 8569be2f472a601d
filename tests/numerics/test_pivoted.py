"""Pivoted Cholesky against LAPACK's and its own theorems; its preconditioner against closed forms."""

import numpy as np
import pytest
from scipy.linalg import lapack

import gainful as gf
from gainful.errors import InvalidInput
from gainful.numerics.pivoted import LowRankPlusDiagonal, Outcome, pivoted_cholesky

RNG = np.random.default_rng(0)
PLACES = RNG.random((120, 2))
SMOOTH = gf.SE(0.3, 2.0)(PLACES)


def of(K, rank, tolerance=0.0):
    return pivoted_cholesky(np.diagonal(K), lambda i: K[:, i], rank, tolerance)


def test_what_is_left_out_is_positive_semidefinite_with_the_trace_that_is_said_and_zero_at_the_pivots():
    for rank in (1, 5, 25):
        found = of(SMOOTH, rank)
        left = SMOOTH - found.L @ found.L.T
        assert found.rank == rank
        assert found.outcome is Outcome.TRUNCATED
        assert np.linalg.eigvalsh(left)[0] > -1e-13
        assert found.trace_left == pytest.approx(np.trace(left), abs=1e-12)
        assert np.abs(left[found.pivots]).max() < 1e-13


def test_pivots_and_columns_are_those_of_lapack():
    rough = gf.Matern(0.2, nu=0.5)(PLACES)
    lower, order, _, _ = lapack.dpstrf(rough, lower=1)
    found = of(rough, 120)
    assert found.pivots.tolist() == (order - 1).tolist()
    np.testing.assert_allclose(found.L[order - 1], np.tril(lower), atol=1e-12)


def test_it_asks_for_one_column_each_and_ends_with_the_first_that_leaves_little_enough():
    asked = []

    def column(i):
        asked.append(i)
        return SMOOTH[:, i]

    found = pivoted_cholesky(np.diagonal(SMOOTH), column, 100, tolerance=1e-4)
    assert asked == found.pivots.tolist()
    assert found.outcome is Outcome.ENOUGH
    assert found.trace_left <= 1e-4 * np.trace(SMOOTH) < of(SMOOTH, found.rank - 1).trace_left
    assert found.message.startswith(f"{found.rank} columns leave ")


def test_it_ends_with_the_first_column_that_is_worth_less_than_was_asked_for():
    found = pivoted_cholesky(np.diagonal(SMOOTH), lambda i: SMOOTH[:, i], 100, worth=0.01)
    left = [of(SMOOTH, rank).trace_left for rank in range(1, found.rank + 1)]
    assert found.outcome is Outcome.ENOUGH
    assert left[-2] - left[-1] < 0.01 <= np.min(-np.diff(left[:-1]))


def test_duplicates_and_constant_columns_end_it_at_the_rank_that_there_is():
    twice = gf.Matern(0.5, nu=0.5)(np.vstack([PLACES[:40]] * 2))
    found = of(twice, 80)
    assert found.outcome is Outcome.EXHAUSTED
    assert found.rank == 40
    np.testing.assert_allclose(found.L @ found.L.T, twice, atol=1e-13)
    assert of(np.full((50, 50), 3.0), 20).rank == 1
    assert of(np.zeros((5, 5)), 3).rank == 0


def test_small_variances_beside_large_ones_keep_their_digits():
    scale = np.where(np.arange(120) < 60, 1e3, 1e-6)
    K = gf.Matern(0.3, nu=0.5)(PLACES) * np.outer(scale, scale)
    found = of(K, 120)
    np.testing.assert_allclose(found.L @ found.L.T / np.outer(scale, scale), K / np.outer(scale, scale), atol=1e-12)


def test_what_is_not_positive_semidefinite_is_found_out():
    assert of(np.array([[1.0, 2.0], [2.0, 1.0]]), 2).outcome is Outcome.NOT_POSITIVE


@pytest.fixture(params=[1e-8, 1e-2, "each its own"])
def noise(request):
    return np.geomspace(1e-8, 1.0, 120) if isinstance(request.param, str) else request.param


def test_the_preconditioner_solves_as_well_as_its_condition_allows(noise):
    P = LowRankPlusDiagonal(of(SMOOTH, 40).L, noise)
    dense = P.L @ P.L.T + np.diag(np.broadcast_to(noise, 120))
    V = RNG.normal(size=(120, 3))
    found = P.solve(V)
    norm = np.linalg.norm(dense, 2)
    assert np.linalg.norm(dense @ found - V) <= 1e-14 * norm * np.linalg.norm(found)
    np.testing.assert_allclose(P.times(V), dense @ V, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(P.solve(V[:, 0]), found[:, 0], rtol=1e-6)
    assert P.log_det == pytest.approx(np.linalg.slogdet(dense)[1], rel=1e-9)


def test_at_a_noise_of_1e_minus_8_smooth_right_hand_sides_keep_all_digits():
    """Woodbury's formula as it is printed leaves a residual of 1e-6 here."""
    P = LowRankPlusDiagonal(of(SMOOTH, 20).L, 1e-8)
    v = P.L @ RNG.normal(size=(20, 3))
    assert np.linalg.norm(P.times(P.solve(v)) - v) < 1e-12 * np.linalg.norm(v)


def test_the_log_determinant_has_its_closed_form():
    U = np.linalg.qr(RNG.normal(size=(90, 6)))[0]
    squared = np.geomspace(1e-6, 1e3, 6)
    found = LowRankPlusDiagonal(U * np.sqrt(squared), 1e-8).log_det
    assert found == pytest.approx(84 * np.log(1e-8) + np.log(squared + 1e-8).sum(), rel=1e-13)


def test_one_number_stands_for_the_noise_of_every_row_and_no_column_for_nothing_but_noise():
    v = np.arange(4.0)
    none = LowRankPlusDiagonal(np.zeros((4, 0)), 0.5)
    assert none.solve(v) == pytest.approx(2.0 * v, rel=1e-15)
    assert none.log_det == pytest.approx(4 * np.log(0.5))
    L = RNG.normal(size=(4, 2))
    np.testing.assert_array_equal(
        LowRankPlusDiagonal(L, 0.5).solve(v), LowRankPlusDiagonal(L, np.full(4, 0.5)).solve(v)
    )


def test_its_inverse_has_the_diagonal_and_the_largest_directions_that_are_said():
    P = LowRankPlusDiagonal(RNG.normal(size=(9, 3)) * [5.0, 1.0, 0.1], np.linspace(0.5, 2.0, 9))
    inverse = np.linalg.inv(P.times(np.eye(9)))
    assert P.inverse_diagonal == pytest.approx(np.diagonal(inverse), rel=1e-12)
    D = np.diag(np.sqrt(np.linspace(0.5, 2.0, 9)))
    values, vectors = np.linalg.eigh(np.linalg.solve(D, np.linalg.solve(D, P.times(np.eye(9))).T))
    for r in (0, 1, 3, 7):
        some = vectors[:, ::-1][:, : min(r, 3)]
        wanted = np.linalg.solve(D, some) / np.sqrt(values[::-1][: min(r, 3)])
        assert P.leading(r) @ P.leading(r).T == pytest.approx(wanted @ wanted.T, abs=1e-12)


def test_samples_have_its_covariance():
    P = LowRankPlusDiagonal(np.array([[1.0], [2.0], [-1.0]]), np.array([0.5, 1.0, 2.0]))
    draws = P.sample(np.random.default_rng(1), 100_000)
    dense = P.times(np.eye(3))
    error = np.sqrt((dense**2 + np.outer(np.diagonal(dense), np.diagonal(dense))) / 100_000)
    assert np.abs((draws @ draws.T / 100_000 - dense) / error).max() < 4.0


def test_noise_that_is_not_positive_is_refused():
    with pytest.raises(InvalidInput, match="noise"):
        LowRankPlusDiagonal(np.ones((2, 1)), np.array([1.0, 0.0]))
