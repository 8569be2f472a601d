"""Lanczos decompositions against prescribed spectra and dense products."""

import numpy as np
import pytest

from gainful.errors import NumericalError
from gainful.numerics.lanczos import Outcome, lanczos


def with_spectrum(eigenvalues, seed=0):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(len(eigenvalues), len(eigenvalues))))[0]
    return (Q * eigenvalues) @ Q.T


def decompose(A, rank, start=None, rng=None):
    start = np.random.default_rng(1).normal(size=len(A)) if start is None else start
    return lanczos(rank)(lambda V: A @ V, start, rng)


@pytest.mark.parametrize("lowest", [1e-1, 1e-12], ids=["mild", "steep"])
@pytest.mark.parametrize("scale", [1.0, 1e-60, 1e60])
def test_the_basis_is_orthonormal_and_T_is_the_operator_on_it(lowest, scale):
    """In the steep spectrum the plain recurrence loses orthogonality after ten steps."""
    A = scale * with_spectrum(np.geomspace(lowest, 1.0, 100))
    found = decompose(A, 60)
    assert found.outcome is Outcome.TRUNCATED
    np.testing.assert_allclose(found.Q.T @ found.Q, np.eye(60), atol=1e-14)
    np.testing.assert_allclose(found.T.matrix / scale, found.Q.T @ A @ found.Q / scale, atol=1e-13)
    start = np.random.default_rng(1).normal(size=100)
    np.testing.assert_allclose(found.Q[:, 0], start / np.linalg.norm(start))


def test_n_steps_give_back_an_operator_with_distinct_eigenvalues():
    A = with_spectrum(np.linspace(-1.0, 3.0, 50))
    found = decompose(A, 80)
    assert found.rank == 50
    assert found.outcome is Outcome.EXHAUSTED
    np.testing.assert_allclose(found.times(np.eye(50)), A, atol=1e-12)


def test_moments_are_exact_up_to_twice_the_steps():
    """Gauss quadrature: e₁ᵀ T^j e₁ = uᵀ A^j u for j < 2 k, and not for j = 2 k."""
    A, u = with_spectrum(np.linspace(0.5, 2.0, 40)), np.random.default_rng(1).normal(size=40)
    u /= np.linalg.norm(u)
    T = decompose(A, 4, u).T.matrix
    moments = [np.linalg.matrix_power(T, j)[0, 0] / (u @ np.linalg.matrix_power(A, j) @ u) for j in range(9)]
    assert moments[:8] == pytest.approx([1.0] * 8, abs=1e-12)
    assert abs(moments[8] - 1.0) > 1e-6


def test_the_largest_eigenvalues_are_found_first():
    A = with_spectrum(np.concatenate([np.linspace(0.0, 1.0, 195), [5.0, 6.0, 7.0, 8.0, 9.0]]))
    assert decompose(A, 20).T.eigen()[0][-5:] == pytest.approx([5.0, 6.0, 7.0, 8.0, 9.0], abs=1e-8)


def test_the_space_of_one_start_ends_at_the_number_of_distinct_eigenvalues_and_says_so():
    A = with_spectrum(np.repeat([1.0, 2.0, 3.0, 4.0], 10))
    found = decompose(A, 30)
    assert found.outcome is Outcome.INVARIANT
    assert found.rank == 4
    assert found.residual < 1e-13
    assert "ended after 4 vectors" in found.message
    np.testing.assert_allclose(A @ found.Q, found.Q @ found.T.matrix, atol=1e-13)


def test_a_generator_leads_on_to_every_eigenvector_of_equal_eigenvalues():
    """The covariance of s tasks of one size has its one eigenvalue s times."""
    task = np.arange(60) % 6
    A = (task[:, None] == task).astype(float)
    assert np.linalg.norm(decompose(A, 20).times(np.eye(60)) - A) > 0.5 * np.linalg.norm(A)
    found = decompose(A, 20, rng=np.random.default_rng(2))
    assert found.outcome is Outcome.EXHAUSTED
    assert found.rank == 7  # and one where A is nothing, of which the start had a part
    np.testing.assert_allclose(found.times(np.eye(60)), A, atol=1e-13)
    few = decompose(A, 3, rng=np.random.default_rng(2))
    assert few.outcome is Outcome.TRUNCATED
    assert few.residual > 0.1


def test_an_operator_of_low_rank_is_exhausted():
    B = np.random.default_rng(3).normal(size=(100, 5))
    found = decompose(B @ B.T, 40, start=B @ np.ones(5), rng=np.random.default_rng(4))
    assert found.outcome is Outcome.EXHAUSTED
    assert found.rank in (5, 6)  # rounding before the last step can look like one direction more
    np.testing.assert_allclose(found.times(np.eye(100)), B @ B.T, atol=1e-11)


@pytest.mark.parametrize("rng", [None, np.random.default_rng(0)])
def test_nothing_decomposes_into_nothing(rng):
    zero = decompose(np.zeros((4, 4)), 3, np.zeros(4), rng)
    assert zero.rank == 0
    assert zero.times(np.ones((4, 2))).tolist() == np.zeros((4, 2)).tolist()
    assert zero.root.shape == (4, 0)


def test_a_start_of_nothing_is_replaced_where_there_is_a_generator():
    A = with_spectrum(np.linspace(1.0, 2.0, 8))
    np.testing.assert_allclose(decompose(A, 8, np.zeros(8), np.random.default_rng(5)).times(np.eye(8)), A, atol=1e-13)


def test_the_root_is_one_and_an_indefinite_operator_has_none():
    A = with_spectrum(np.concatenate([np.zeros(20), np.geomspace(1e-6, 1.0, 20)]))
    found = decompose(A, 15)
    np.testing.assert_allclose(found.root @ found.root.T, found.times(np.eye(40)), atol=1e-14)
    with pytest.raises(NumericalError, match="no real root"):
        _ = decompose(with_spectrum(np.linspace(-1.0, 1.0, 10)), 5).root
