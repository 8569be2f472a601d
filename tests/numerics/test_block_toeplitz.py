"""Block Toeplitz matrices against the same matrices written out."""

import numpy as np
import pytest

from gainful.numerics.block_toeplitz import BlockToeplitz

SHAPES = [(1,), (2,), (7,), (128,), (1, 3), (4, 5), (3, 1, 4), (3, 4, 2, 5)]


def written_out(c):
    at = np.stack(np.unravel_index(np.arange(c.size), c.shape), axis=1)
    apart = tuple(np.abs(at[:, None] - at[None]).transpose(2, 0, 1))
    return c[apart], apart


@pytest.mark.parametrize("shape", SHAPES)
def test_products_are_those_of_the_matrix(shape):
    rng = np.random.default_rng(len(shape))
    c, V = rng.normal(size=shape), rng.normal(size=(int(np.prod(shape)), 3))
    T = BlockToeplitz(c)
    assert T.dense() == pytest.approx(written_out(c)[0])
    assert T.times(V) == pytest.approx(T.dense() @ V, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_derivative_counts_how_often_each_distance_meets(shape):
    rng = np.random.default_rng(len(shape))
    c, (U, V) = rng.normal(size=shape), rng.normal(size=(2, int(np.prod(shape)), 3))
    expected = np.zeros(shape)
    np.add.at(expected, written_out(c)[1], U @ V.T)
    assert BlockToeplitz(c).pulled(U, V) == pytest.approx(expected, rel=1e-10, abs=1e-11)


def test_columns_beyond_what_there_is_room_for_are_taken_in_turn(monkeypatch):
    from gainful.numerics import memory

    rng = np.random.default_rng(0)
    c, V = rng.normal(size=(4, 5)), rng.normal(size=(20, 7))
    monkeypatch.setattr(memory, "WORKING", 8 * 1000)
    T = BlockToeplitz(c)
    assert T.times(V) == pytest.approx(T.dense() @ V, rel=1e-10)
