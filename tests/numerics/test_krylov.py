"""GMRES against direct solutions."""

import numpy as np
import pytest

from gainful.numerics.krylov import gmres


@pytest.mark.parametrize("n", [1, 2, 30])
def test_it_solves_what_a_direct_solver_does(n):
    rng = np.random.default_rng(n)
    A, b = np.eye(n) + 0.3 * rng.normal(size=(n, n)) / np.sqrt(n), rng.normal(size=n)
    assert gmres(lambda v: A @ v, b, 1e-13) == pytest.approx(np.linalg.solve(A, b), rel=1e-9)


def test_the_tolerance_is_of_the_right_hand_side_and_few_products_are_enough():
    rng = np.random.default_rng(0)
    A, b = np.eye(200) + 0.2 * rng.normal(size=(200, 200)) / np.sqrt(200), rng.normal(size=200)
    products = []

    def apply(v):
        products.append(v)
        return A @ v

    x = gmres(apply, b, 1e-4)
    assert np.linalg.norm(A @ x - b) <= 1.001e-4 * np.linalg.norm(b)
    assert len(products) <= 8


def test_nothing_asked_is_nothing_done_and_what_cannot_be_matched_is_left():
    assert gmres(lambda v: v, np.zeros(3), 1e-10).tolist() == [0.0, 0.0, 0.0]
    singular = np.diag([1.0, 0.0])
    x = gmres(lambda v: singular @ v, np.array([2.0, 0.0]), 1e-10)
    assert x == pytest.approx([2.0, 0.0])
    assert np.all(np.isfinite(gmres(lambda v: 0.0 * v, np.array([1.0, 1.0]), 1e-10)))
