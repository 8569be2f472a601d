"""Toeplitz matrices and Kronecker products against their dense matrices, recursions and differences."""

import tracemalloc
from math import prod

import numpy as np
import pytest
from scipy.linalg import toeplitz

from gainful.errors import InvalidInput
from gainful.numerics import structured
from gainful.numerics.structured import Dense, Kronecker, Toeplitz

SIZES = [1, 2, 3, 17, 101, 128, 256, 257, 509, 1000]


@pytest.fixture(params=["by FFT", "by BLAS where it is small"])
def route(request, monkeypatch):
    if request.param == "by FFT":
        monkeypatch.setattr(structured, "_DENSE", 0)


def close(found, wanted, tolerance=1e-10):
    """Of one shape, and equal beside the largest of all numbers."""
    assert found.shape == wanted.shape
    assert found.dtype == np.float64
    scale = np.max(np.abs(wanted), initial=0.0)
    assert np.max(np.abs(found - wanted), initial=0.0) <= tolerance * scale


def a_toeplitz(m, rng):
    return Toeplitz(rng.normal(size=m))


def some_factors(sizes, rng):
    """Toeplitz and dense matrices in turn; the dense ones not symmetric."""
    return [a_toeplitz(m, rng) if i % 2 == 0 else Dense(rng.normal(size=(m, m))) for i, m in enumerate(sizes)]


@pytest.mark.usefixtures("route")
@pytest.mark.parametrize("m", SIZES)
@pytest.mark.parametrize("columns", [(), (0,), (1,), (5,), (700,)])
def test_a_toeplitz_product_is_that_of_the_dense_matrix(m, columns):
    rng = np.random.default_rng(m)
    T, V = a_toeplitz(m, rng), rng.normal(size=(m, *columns))
    assert T.size == m
    close(T.dense(), toeplitz(T.column), 0.0)
    close(T.times(V), toeplitz(T.column) @ V)
    close(T.times(np.asfortranarray(V)), toeplitz(T.column) @ V)


@pytest.mark.usefixtures("route")
@pytest.mark.parametrize("m", SIZES)
@pytest.mark.parametrize("columns", [(), (0,), (1,), (5,), (700,)])
def test_a_toeplitz_gradient_sums_the_outer_product_along_both_diagonals(m, columns):
    rng = np.random.default_rng(m + 1)
    U, V = rng.normal(size=(2, m, *columns))
    outer = U.reshape(m, -1) @ V.reshape(m, -1).T
    both = [np.trace(outer, k) + np.trace(outer, -k) * (k > 0) for k in range(m)]
    close(a_toeplitz(m, rng).pulled(U, V), np.array(both, dtype=float))


@pytest.mark.usefixtures("route")
@pytest.mark.parametrize("m", [1, 2, 3, 17, 31])
def test_a_toeplitz_gradient_is_the_difference_in_each_entry_of_the_column(m):
    rng = np.random.default_rng(m + 2)
    column, U, V = rng.normal(size=m), *rng.normal(size=(2, m, 3))

    def value(c):
        return np.sum(U * Toeplitz(c).times(V))

    # The value is linear in the column, so that a difference of any width is the derivative.
    differences = [0.5 * (value(column + e) - value(column - e)) for e in np.eye(m)]
    close(Toeplitz(column).pulled(U, V), np.array(differences), 1e-9)


def test_a_hundred_thousand_places_agree_with_a_recursion_and_need_no_matrix():
    m, rho = 100_000, 0.97
    v = np.random.default_rng(3).normal(size=m)
    T = Toeplitz(rho ** np.arange(m))
    tracemalloc.start()
    found, gradient = T.times(v), T.pulled(v, v)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200 * m  # bytes; the matrix has 800 kB per place

    ahead, behind = np.empty(m), np.empty(m)  # Σ_{j ≤ i} ρ^(i−j) v_j and Σ_{j ≥ i} ρ^(j−i) v_j
    left = right = 0.0
    for i in range(m):
        ahead[i] = left = v[i] + rho * left
        behind[m - 1 - i] = right = v[m - 1 - i] + rho * right
    close(found, ahead + behind - v)
    close(gradient[:3], np.array([v @ v, 2 * v[1:] @ v[:-1], 2 * v[2:] @ v[:-2]]))
    assert T.column @ gradient == pytest.approx(v @ found, rel=1e-10)


@pytest.mark.usefixtures("route")
@pytest.mark.parametrize("sizes", [(7,), (1, 5), (5, 1), (17, 13), (3, 300), (2, 3, 5), (7, 1, 11), (3, 2, 7, 5)])
@pytest.mark.parametrize("columns", [(), (0,), (1,), (4,)])
def test_a_kronecker_product_is_that_of_the_dense_matrix(sizes, columns):
    rng = np.random.default_rng(sum(sizes))
    K = Kronecker(some_factors(sizes, rng))
    V = rng.normal(size=(prod(sizes), *columns))
    matrix = np.ones((1, 1))
    for factor in K.factors:
        matrix = np.kron(matrix, factor.dense())
    assert K.size == prod(sizes)
    close(K.dense(), matrix, 1e-14)
    close(K.times(V), matrix @ V)
    close(K.times(np.asfortranarray(V)), matrix @ V)


@pytest.mark.usefixtures("route")
@pytest.mark.parametrize("sizes", [(7,), (1, 5), (5, 4), (2, 3, 5), (4, 1, 6), (3, 2, 4, 5), (2, 2, 3, 2, 3)])
@pytest.mark.parametrize("columns", [(), (3,)])
def test_the_gradients_of_a_kronecker_product_are_the_differences_in_each_number_of_each_factor(sizes, columns):
    rng = np.random.default_rng(sum(sizes) + 1)
    factors = some_factors(sizes, rng)
    U, V = rng.normal(size=(2, prod(sizes), *columns))
    gradients = Kronecker(factors).pulled(U, V)
    assert len(gradients) == len(factors)
    for d, (factor, gradient) in enumerate(zip(factors, gradients, strict=True)):
        kind = type(factor)
        numbers = factor.column if kind is Toeplitz else factor.matrix

        def value(changed, d=d, kind=kind):
            return np.sum(U * (Kronecker([*factors[:d], kind(changed), *factors[d + 1 :]]).dense() @ V))

        differences = np.empty_like(numbers)
        for place in np.ndindex(numbers.shape):
            e = np.zeros_like(numbers)
            e[place] = 1.0
            differences[place] = 0.5 * (value(numbers + e) - value(numbers - e))  # linear in each factor
        close(gradient, differences, 1e-9)


def test_the_first_factor_is_the_slowest_axis_of_the_grid():
    x, z = np.linspace(0, 1, 6), np.linspace(0, 2, 9)
    grid = np.stack([each.ravel() for each in np.meshgrid(x, z, indexing="ij")], axis=1)
    far = np.abs(grid[:, None] - grid) / [0.4, 0.7]
    kernel = np.exp(-0.5 * np.sum(far**2, axis=2))
    columns = [np.exp(-0.5 * ((axis - axis[0]) / length) ** 2) for axis, length in [(x, 0.4), (z, 0.7)]]
    close(Kronecker([Toeplitz(column) for column in columns]).times(np.eye(54)), kernel, 1e-13)


def test_dense_factors_multiply_and_differentiate_as_matrices_do():
    rng = np.random.default_rng(5)
    A, U, V, u, v = rng.normal(size=(4, 4)), *rng.normal(size=(2, 4, 3)), *rng.normal(size=(2, 4))
    close(Dense(A).times(V), A @ V, 1e-14)
    close(Dense(A).times(v), A @ v, 1e-14)
    close(Dense(A).pulled(U, V), U @ V.T, 1e-14)
    close(Dense(A).pulled(u, v), np.outer(u, v), 1e-14)


def test_what_was_given_may_change_afterwards_and_what_is_kept_cannot():
    column = np.array([2.0, 1.0])
    T = Toeplitz(column)
    column[:] = 0.0
    assert T.times(np.array([1.0, 0.0])).tolist() == [2.0, 1.0]
    with pytest.raises(ValueError, match="read-only"):
        T.column[0] = 1.0


@pytest.mark.usefixtures("route")
@pytest.mark.parametrize("shape", [(2,), (4,), (4, 2), (3, 1, 1), ()])
def test_a_vector_of_another_length_is_refused_and_not_filled_up(shape):
    for A in (Toeplitz(np.ones(3)), Dense(np.eye(3)), Kronecker([Toeplitz(np.ones(3))])):
        with pytest.raises(InvalidInput, match=r"expected shape \(3,\) or \(3, p\)"):
            A.times(np.ones(shape))
        with pytest.raises(InvalidInput, match=r"expected shape \(3,\) or \(3, p\)"):
            A.pulled(np.ones(3), np.ones(shape))
        with pytest.raises(InvalidInput, match=r"U: expected the shape of V, \(3, 1\), got shape \(3, 2\)"):
            A.pulled(np.ones((3, 2)), np.ones(3))


def test_a_matrix_beyond_memory_is_refused_in_words():
    T = Toeplitz(np.ones(40_000))
    for A in (T, Kronecker([T, T])):
        with pytest.raises(InvalidInput, match="use times"):
            A.dense()
