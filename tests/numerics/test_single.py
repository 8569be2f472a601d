"""A factor in single precision is that of a matrix nearby, taken as it is, in double precision."""

import numpy as np
import pytest

import gainful as gf
from gainful.numerics import single
from gainful.numerics.single import SingleFactor, factor_single


def matrix(N=70, seed=0, noise=0.1):
    X = np.random.default_rng(seed).uniform(size=(N, 2))
    return gf.SE((0.4, 0.6))(X) + noise**2 * np.eye(N)


@pytest.mark.parametrize("tile", [7, 32, 1024])
def test_all_that_a_factor_does_is_that_of_its_own_matrix_to_double_precision(tile, monkeypatch):
    monkeypatch.setattr(single, "_TILE", tile)
    B, rng = matrix(), np.random.default_rng(1)
    found = factor_single(lambda: B.astype(np.float32))
    L = found.lower.astype(float)
    assert found.lower.dtype == np.float32
    assert not np.triu(L, 1).any()
    P, V = L @ L.T, rng.normal(size=(70, 3))
    assert found.jitter == 0.0
    assert pytest.approx(B, abs=1e-5) == P
    assert found.log_det == pytest.approx(np.linalg.slogdet(P)[1], rel=1e-12)
    assert found.half(V) == pytest.approx(np.linalg.solve(L, V), rel=1e-9, abs=1e-9)
    assert found.half(V[:, 0]) == pytest.approx(np.linalg.solve(L, V[:, 0]), rel=1e-9, abs=1e-9)
    assert P @ found.solve(V) == pytest.approx(V, abs=1e-9)
    assert found.times(V) == pytest.approx(P @ V, rel=1e-12)
    inverse = found.lower_inverse()
    assert np.tril(inverse) == pytest.approx(np.tril(np.linalg.inv(P)), abs=2e-3)
    assert found.lower == pytest.approx(L)
    assert found.into_inverse() == pytest.approx(inverse)


def test_draws_have_its_covariance():
    found = factor_single(lambda: matrix(5).astype(np.float32))
    draws = found.sample(np.random.default_rng(0), 40_000)
    assert draws @ draws.T / 40_000 == pytest.approx(matrix(5), abs=0.05)


def test_a_diagonal_is_enlarged_where_single_precision_asks_for_it_and_refused_where_nothing_helps():
    B = matrix(noise=1e-5)
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(B.astype(np.float32))
    assert 0.0 < factor_single(lambda: B.astype(np.float32)).jitter <= 1e-4
    with pytest.raises(gf.NumericalError, match=r"even with its diagonal enlarged by 0\.001"):
        factor_single(lambda: -np.eye(3, dtype=np.float32))


def test_it_is_a_factor_of_half_the_bytes():
    found = factor_single(lambda: matrix().astype(np.float32))
    assert isinstance(found, SingleFactor)
    assert found.lower.nbytes == 4 * 70 * 70
